#include "sort/bsdf/fresnel.h"

/* Gauss-Legendre on [0, 1] [AbramowitzStegun1964 table 25.4, n = 4]. */
Spectrum fresnel_metal_average(Spectrum eta, Spectrum k)
{
    static const float x[4] = {0.069431844f, 0.330009478f, 0.669990522f, 0.930568156f};
    static const float w[4] = {0.173927423f, 0.326072577f, 0.326072577f, 0.173927423f};
    Spectrum sum = spectrum_splat(0.0f);
    for (int i = 0; i < 4; ++i)
        sum = spectrum_madd(sum, 2.0f * x[i] * w[i], fresnel_metal_spectrum(eta, k, x[i]));
    return sum;
}
