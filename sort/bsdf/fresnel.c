#include "sort/bsdf/fresnel.h"

/* Gauss-Legendre on [0, 1] [AbramowitzStegun1964 table 25.4, n = 4]. */
static const float gauss_x[4] = {0.069431844f, 0.330009478f, 0.669990522f, 0.930568156f};
static const float gauss_w[4] = {0.173927423f, 0.326072577f, 0.326072577f, 0.173927423f};

Spectrum fresnel_metal_average(Spectrum eta, Spectrum k)
{
    Spectrum sum = spectrum_splat(0.0f);
    for (int i = 0; i < 4; ++i)
        sum = spectrum_madd(sum, 2.0f * gauss_x[i] * gauss_w[i],
                            fresnel_metal_spectrum(eta, k, gauss_x[i]));
    return sum;
}

Spectrum fresnel_tinted_average(Spectrum f0, float eta)
{
    float cos_t, f_normal = fresnel_dielectric(1.0f, eta, &cos_t);
    Spectrum sum = spectrum_splat(0.0f);
    for (int i = 0; i < 4; ++i)
        sum = spectrum_madd(sum, 2.0f * gauss_x[i] * gauss_w[i],
                            fresnel_tinted(f0, eta, f_normal, gauss_x[i]));
    return sum;
}
