/* Cloth: fibres that stand on the surface.
 *
 * Sheen [Estevez2017]: D = (2 + 1/alpha) sin^(1/alpha) / (2 pi), alpha = roughness^2, with the paper's fit of
 * Smith's Lambda. Its albedo is in a table, by which it covers what lies below; where it exceeds 1 (narrow, at the
 * last degrees of grazing) the lobe is scaled down.
 *
 * Velvet [Ashikhmin2000]: an inverted Gaussian, D = exp(-cot^2 / sigma^2) / (pi sigma^2 sin^4), with the shadowing
 * of V-grooves; as Blender has it.
 *
 * Both spread over the whole hemisphere and are drawn uniformly. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/sheen_shadowing.h"

#define SHEEN_ROUGHNESS_MIN 0.15f

bool uniform_sample(float2 u, LobeSample *out)
{
    float2 p = warp_circle(u.x);
    float cos_i = 1.0f - u.y, sin_i = sqrtf(maxf(1.0f - cos_i * cos_i, 0.0f));
    out->wi = f3(sin_i * p.x, sin_i * p.y, cos_i);
    return cos_i > 0.0f;
}

/* --- Sheen ------------------------------------------------------------------------------------ */

static float sheen_alpha(float roughness)
{
    return bsdf_alpha(maxf(roughness, SHEEN_ROUGHNESS_MIN));
}

/* 1 over the clamp to 1 of the albedo, and the albedo that is left. */
static float sheen_albedo(float alpha, float cos_o, float *out_scale)
{
    float e = albedo_sheen(alpha, clampf(cos_o, 0.0f, 1.0f));
    *out_scale = 1.0f / maxf(e, 1.0f);
    return minf(e, 1.0f);
}

LobeValue sheen_eval(const BsdfLobe *lobe, float3 wi)
{
    float3 wo = lobe->frame.wo, h = f3_normalize(f3_add(wo, wi));
    float sin2 = maxf(1.0f - h.z * h.z, 1e-12f), k = lobe->sheen.exponent;
    float d = (2.0f + k) * powf(sin2, 0.5f * k) * SORT_INV_2PI;
    float shadowing = 1.0f + lobe->sheen.lambda_o + sheen_lambda(lobe->sheen.alpha, wi.z);
    float f = lobe->sheen.scale * d / (shadowing * 4.0f * wo.z);
    return (LobeValue){spectrum_scale(lobe->weight, f), SORT_INV_2PI};
}

void sheen_add(Bsdf *b, Spectrum weight, const SheenArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_SHEEN, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    float alpha = sheen_alpha(args->roughness);
    lobe->sheen.alpha = alpha;
    lobe->sheen.exponent = 1.0f / alpha;
    lobe->sheen.lambda_o = sheen_lambda(alpha, frame.wo.z);
    float albedo = sheen_albedo(alpha, frame.wo.z, &lobe->sheen.scale);
    Spectrum color = spectrum_mul(weight, bsdf_albedo_argument(args->tint));
    bsdf_lobe_finish(b, lobe, color, spectrum_scale(color, albedo));
}

/* By the largest channel, so that a coloured sheen does not tint what is below with its complement. */
Spectrum sheen_base_factor(const Bsdf *b, const SheenArgs *args)
{
    float scale, cos_o = bsdf_frame(b, args->N, true).wo.z;
    float albedo = sheen_albedo(sheen_alpha(args->roughness), cos_o, &scale);
    return spectrum_splat(1.0f - spectrum_max(bsdf_albedo_argument(args->tint)) * albedo);
}

/* --- Velvet ----------------------------------------------------------------------------------- */

LobeValue velvet_eval(const BsdfLobe *lobe, float3 wi)
{
    float3 wo = lobe->frame.wo, h = f3_normalize(f3_add(wo, wi));
    float cos2 = h.z * h.z, sin2 = 1.0f - cos2, dot_oh = f3_dot(wo, h),
          inv = lobe->velvet.inv_sigma2;
    if (sin2 < 2e-5f || dot_oh < 1e-5f)
        return (LobeValue){spectrum_splat(0.0f), SORT_INV_2PI};
    float d = expf(-cos2 / sin2 * inv) * inv * SORT_INV_PI / (sin2 * sin2);
    float groove = 2.0f * h.z / dot_oh;
    float g = minf(1.0f, minf(groove * wo.z, groove * wi.z));
    return (LobeValue){spectrum_scale(lobe->weight, 0.25f * d * g / wo.z), SORT_INV_2PI};
}

void velvet_add(Bsdf *b, Spectrum weight, const VelvetArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_VELVET, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    float sigma = clampf(args->sigma, 0.01f, 1.0f);
    lobe->velvet.inv_sigma2 = 1.0f / (sigma * sigma);
    Spectrum color = spectrum_mul(weight, bsdf_albedo_argument(args->tint));
    /* Near the integral; it only steers sampling and the albedo AOV. */
    float m = 1.0f - minf(frame.wo.z, 1.0f);
    bsdf_lobe_finish(b, lobe, color, spectrum_scale(color, 0.2f * sigma + 0.8f * m * m));
}
