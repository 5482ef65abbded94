/* The entry to a translucent body: a diffuse direction into it, and the medium that it finds there. The walk is the
 * integrator's. */
#include "sort/bsdf/bsdf_lobes.h"

/* Below this, walks are kept at it and their weight shrinks instead. */
#define ALBEDO_MIN 0.2f
#define ALBEDO_MAX 0.99999f

static float polynomial(const float *c, float g)
{
    float y = c[7];
    for (int i = 6; i >= 0; --i)
        y = y * g + c[i];
    return y;
}

/* The albedo of single scattering for which a half-space returns `albedo`, a fit by [Wrenninge2017 table 1]. */
static float single_scattering_albedo(float albedo, float g)
{
    static const float a[8] = {1.8260523782f,   -1.28451056436f, -1.79904629312f, 9.19393289202f,
                               -22.8215585862f, 32.0234874259f,  -23.6264803333f, 7.21067002658f};
    static const float b[8] = {
        0.0f,           31.1491581433f,  -201.847017512f, 841.576016723f, -2018.09288505f,
        2731.71560286f, -1935.41424244f, 559.009054474f};
    static const float c[8] = {1.09686102424f, -0.394704063468f, 1.05258115941f, -8.83963712726f,
                               28.8643230661f, -46.8802913581f,  38.5402837518f, -12.7181042538f};
    static const float d[8] = {0.496310210422f, 0.360146581622f, -2.15139309747f, 17.8896899217f,
                               -55.2984010333f, 82.065982243f,   -58.5106008578f, 15.8478295021f};
    static const float e[8] = {
        0.0f,           76.7316253952f,  -594.356773233f, 2448.8834203f, -5576.68528998f,
        7116.60171912f, -4763.54467887f, 1303.5318055f};
    static const float f[8] = {2.40602999408f, -2.51814844609f, 9.18494908356f, -79.2191708682f,
                               259.082868209f, -403.613804597f, 302.85712436f,  -87.4370473567f};
    float b_g = 4.98511194385f + 0.127355959438f * expf(polynomial(b, g));
    float e_g = 4.23190299701f + 0.00310603949088f * expf(polynomial(e, g));
    float blend = sqrtf(sqrtf(albedo));
    float low = polynomial(a, g) * powf(atanf(b_g * albedo), polynomial(c, g));
    float high = polynomial(d, g) * powf(atanf(e_g * albedo), polynomial(f, g));
    return (1.0f - blend) * low + blend * high;
}

void subsurface_add(Bsdf *b, Spectrum weight, const SubsurfaceArgs *args)
{
    if (b->init_flags & BSDF_FIBRE) {
        lambert_add(b, weight, &(LambertArgs){.albedo = args->albedo, .N = args->N});
        return;
    }
    BsdfFrame frame = bsdf_frame(b, args->N, false);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_SUBSURFACE,
                                     BSDF_TRANSMISSION | BSDF_DELTA | BSDF_SUBSURFACE, &frame);
    if (!lobe)
        return;
    Spectrum albedo = bsdf_albedo_argument(args->albedo), factor;
    Spectrum radius = spectrum_clamp(spectrum_from_rgb(args->radius), 1e-7f, 1e7f);
    float g = clampf(args->anisotropy, 0.0f, 0.9f);
    SPECTRUM_EACH(i)
    {
        /* Half-spaces of albedo 1 return all; the fit gives 0.9996. */
        float single = albedo.c[i] >= 1.0f ? 1.0f : single_scattering_albedo(albedo.c[i], g);
        factor.c[i] = minf(single / ALBEDO_MIN, 1.0f);
        lobe->medium.albedo.c[i] =
            clampf(single, ALBEDO_MIN, albedo.c[i] >= 1.0f ? 1.0f : ALBEDO_MAX);
        lobe->medium.sigma_t.c[i] = 1.0f / (radius.c[i] * (1.0f - g));
    }
    lobe->medium.g = g;
    bsdf_lobe_finish(b, lobe, spectrum_mul(weight, factor), spectrum_mul(weight, albedo));
}

bool subsurface_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    out->wi = warp_hemisphere_cosine(u);
    out->wi.z = -out->wi.z;
    out->probability = 1.0f;
    out->weight = lobe->weight;
    return true;
}
