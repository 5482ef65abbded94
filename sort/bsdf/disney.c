/* The diffuse part, what of it is retro-reflection, and the sheen part of Blender's Principled BSDF [Burley2012 sec. 5.3; Blender2022]. FL, FV: Schlick's
 * weight of wi and wo; d: cosine between wi and the half vector.
 *   diffuse: (1 + (F90 - 1) FL) (1 + (F90 - 1) FV) / pi,  F90 = 0.5 + 2 roughness d^2
 *   retro:   the same less what it is at roughness 0
 *   sheen:   (1 - d)^5
 * Both drawn by the cosine. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

/* d^2 = (1 + wo.wi) / 2. */
static float half_cosine(const BsdfLobe *lobe, float3 wi)
{
    return sqrtf(maxf(0.5f * (1.0f + f3_dot(lobe->frame.wo, wi)), 0.0f));
}

LobeValue disney_diffuse_eval(const BsdfLobe *lobe, float3 wi)
{
    float d = half_cosine(lobe, wi), retro = 2.0f * lobe->disney.roughness * d * d;
    float FL = fresnel_schlick_weight(wi.z), FV = lobe->disney.fresnel_o;
    float f = (1.0f + (retro - 0.5f) * FL) * (1.0f + (retro - 0.5f) * FV);
    if (lobe->disney.is_retro)
        f = retro * (FL + FV + (retro - 1.0f) * FL * FV);
    return (LobeValue){spectrum_scale(lobe->weight, f * wi.z * SORT_INV_PI),
                       warp_hemisphere_cosine_pdf(wi.z)};
}

void disney_retro_add(Bsdf *b, Spectrum weight, const DisneyRetroArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, BSDF_MODEL_DISNEY_DIFFUSE, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    lobe->disney.is_retro = true;
    lobe->disney.roughness = clampf(args->roughness, 0.0f, 1.0f);
    lobe->disney.fresnel_o = fresnel_schlick_weight(frame.wo.z);
    Spectrum albedo = spectrum_mul(weight, bsdf_albedo_argument(args->albedo));
    /* Its albedo, roughly: it only steers sampling and the albedo AOV. */
    float returned = lobe->disney.roughness * (0.06f + 0.7f * lobe->disney.fresnel_o);
    bsdf_lobe_finish(b, lobe, albedo, spectrum_scale(albedo, returned));
}

void disney_diffuse_add(Bsdf *b, Spectrum weight, const DisneyDiffuseArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, BSDF_MODEL_DISNEY_DIFFUSE, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    lobe->disney.roughness = clampf(args->roughness, 0.0f, 1.0f);
    lobe->disney.fresnel_o = fresnel_schlick_weight(frame.wo.z);
    Spectrum albedo = spectrum_mul(weight, bsdf_albedo_argument(args->albedo));
    bsdf_lobe_finish(b, lobe, albedo, albedo);
}

LobeValue disney_sheen_eval(const BsdfLobe *lobe, float3 wi)
{
    float f = fresnel_schlick_weight(half_cosine(lobe, wi)) * wi.z;
    return (LobeValue){spectrum_scale(lobe->weight, f), warp_hemisphere_cosine_pdf(wi.z)};
}

void disney_sheen_add(Bsdf *b, Spectrum weight, const DisneySheenArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, BSDF_MODEL_DISNEY_SHEEN, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    Spectrum color = spectrum_mul(weight, bsdf_albedo_argument(args->tint));
    /* int (1 - d)^5 cos dwi, within 10 %: it only steers sampling and the albedo AOV. */
    float m = clampf(1.0f - frame.wo.z, 0.0f, 1.0f);
    bsdf_lobe_finish(b, lobe, color, spectrum_scale(color, 0.07f * m * m));
}
