/* Disney's clear coat [Burley2012 sec. 5.4 and app. B.2]: half vectors by GTR1,
 *   D = (alpha^2 - 1) / (pi ln(alpha^2) (1 + (alpha^2 - 1) cos^2)),
 * Smith's shadowing of GGX with alpha 0.25, Fresnel of index 1.5. Drawn by D cos. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

#define CLEARCOAT_SHADOWING 0.25f
#define CLEARCOAT_IOR       1.5f
#define CLEARCOAT_ALPHA_MAX 0.999f /* the limit of D at 1 is uniform */

static float gtr1(const BsdfLobe *lobe, float cos_h)
{
    float a2 = lobe->clearcoat.alpha * lobe->clearcoat.alpha;
    return (a2 - 1.0f) * SORT_INV_PI / (lobe->clearcoat.log * (1.0f + (a2 - 1.0f) * cos_h * cos_h));
}

LobeValue clearcoat_eval(const BsdfLobe *lobe, float3 wi)
{
    float3 wo = lobe->frame.wo, h = f3_normalize(f3_add(wo, wi));
    float dot_oh = minf(f3_dot(wo, h), 1.0f), cos_t, d = gtr1(lobe, minf(h.z, 1.0f));
    float visibility = ggx_visibility(wo.z, lobe->clearcoat.s_o, wi.z,
                                      ggx_stretch(wi, CLEARCOAT_SHADOWING, CLEARCOAT_SHADOWING));
    float f = fresnel_dielectric(dot_oh, CLEARCOAT_IOR, &cos_t);
    return (LobeValue){spectrum_scale(lobe->weight, f * d * visibility * wi.z),
                       d * h.z / (4.0f * dot_oh)};
}

/* The distribution of cos^2: (1 - alpha^(2 (1 - u))) / (1 - alpha^2). */
bool clearcoat_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    float a2 = lobe->clearcoat.alpha * lobe->clearcoat.alpha;
    float sin2 = (expf(lobe->clearcoat.log * (1.0f - u.y)) - a2) / (1.0f - a2);
    sin2 = clampf(sin2, 0.0f, 1.0f);
    float2 p = warp_circle(u.x);
    float sin_h = sqrtf(sin2);
    float3 h = f3(sin_h * p.x, sin_h * p.y, sqrtf(1.0f - sin2));
    float dot_oh = f3_dot(wo, h);
    out->wi = f3_sub(f3_scale(h, 2.0f * dot_oh), wo);
    return dot_oh > 0.0f && out->wi.z > 0.0f;
}

void clearcoat_add(Bsdf *b, Spectrum weight, const ClearcoatArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, BSDF_MODEL_CLEARCOAT, BSDF_REFLECTION | BSDF_GLOSSY, &frame);
    if (!lobe)
        return;
    float alpha =
              clampf(bsdf_facet_alpha(b, args->roughness), BSDF_ALPHA_DELTA, CLEARCOAT_ALPHA_MAX),
          cos_t;
    lobe->clearcoat.alpha = alpha;
    lobe->clearcoat.log = 2.0f * logf(alpha);
    lobe->clearcoat.s_o = ggx_stretch(frame.wo, CLEARCOAT_SHADOWING, CLEARCOAT_SHADOWING);
    float albedo = fresnel_dielectric(frame.wo.z, CLEARCOAT_IOR, &cos_t);
    bsdf_lobe_finish(b, lobe, weight, spectrum_scale(weight, albedo));
}
