/* Straight through: alpha. */
#include "sort/bsdf/bsdf_lobes.h"

void transparent_add(Bsdf *b, Spectrum weight, const TransparentArgs *args)
{
    BsdfFrame frame = bsdf_frame(b, b->Ng, false);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_TRANSPARENT,
                                     BSDF_TRANSMISSION | BSDF_DELTA | BSDF_TRANSPARENT, &frame);
    if (!lobe)
        return;
    Spectrum t = spectrum_mul(weight, bsdf_albedo_argument(args->transmittance));
    b->transparency = spectrum_add(b->transparency, t);
    bsdf_lobe_finish(b, lobe, t, t);
}

bool transparent_sample(const BsdfLobe *lobe, LobeSample *out)
{
    out->wi = f3_neg(lobe->frame.wo);
    out->probability = 1.0f;
    out->weight = lobe->weight;
    return true;
}
