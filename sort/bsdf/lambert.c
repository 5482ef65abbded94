/* Ideal diffuse reflection and transmission: f = albedo / pi [Lambert1760]. */
#include "sort/bsdf/bsdf_lobes.h"

void lambert_add(Bsdf *b, Spectrum weight, const LambertArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_LAMBERT, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    Spectrum albedo = spectrum_mul(weight, bsdf_albedo_argument(args->albedo));
    bsdf_lobe_finish(b, lobe, spectrum_scale(albedo, SORT_INV_PI), albedo);
}

void translucent_add(Bsdf *b, Spectrum weight, const TranslucentArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, BSDF_MODEL_LAMBERT, BSDF_TRANSMISSION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    Spectrum albedo = spectrum_mul(weight, bsdf_albedo_argument(args->albedo));
    bsdf_lobe_finish(b, lobe, spectrum_scale(albedo, SORT_INV_PI), albedo);
}

LobeValue lambert_eval(const BsdfLobe *lobe, float3 wi)
{
    float cos_i = fabsf(wi.z);
    return (LobeValue){spectrum_scale(lobe->weight, cos_i), warp_hemisphere_cosine_pdf(cos_i)};
}

bool lambert_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    out->wi = warp_hemisphere_cosine(u);
    if (lobe->flags & BSDF_TRANSMISSION)
        out->wi.z = -out->wi.z;
    return true;
}
