/* Rough diffuse reflection in Fujii's form of the Oren-Nayar model, which keeps the energy below 1 and has no
 * dark rim [OrenNayar1994, Fujii2012]: f = albedo (a + b s / t), with
 *   a = 1 / (pi + (pi/2 - 2/3) r),  b = r a,  s = wi.wo - cos_i cos_o,  t = 1 if s <= 0 else max(cos_i, cos_o).
 * Sampled by the cosine. */
#include "sort/bsdf/bsdf_lobes.h"

void oren_nayar_add(Bsdf *b, Spectrum weight, const OrenNayarArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, BSDF_MODEL_OREN_NAYAR, BSDF_REFLECTION | BSDF_DIFFUSE, &frame);
    if (!lobe)
        return;
    float r = clampf(args->roughness, 0.0f, 1.0f);
    lobe->oren_nayar.a = 1.0f / (SORT_PI + (0.5f * SORT_PI - 2.0f / 3.0f) * r);
    lobe->oren_nayar.b = r * lobe->oren_nayar.a;
    Spectrum albedo = spectrum_mul(weight, bsdf_albedo_argument(args->albedo));
    bsdf_lobe_finish(b, lobe, albedo, albedo);
}

LobeValue oren_nayar_eval(const BsdfLobe *lobe, float3 wi)
{
    float cos_i = wi.z, cos_o = maxf(lobe->frame.wo.z, 0.0f);
    float s = wi.x * lobe->frame.wo.x + wi.y * lobe->frame.wo.y;
    if (s > 0.0f)
        s /= maxf(cos_i, cos_o);
    float f = lobe->oren_nayar.a + lobe->oren_nayar.b * s;
    return (LobeValue){spectrum_scale(lobe->weight, maxf(f, 0.0f) * cos_i),
                       warp_hemisphere_cosine_pdf(cos_i)};
}
