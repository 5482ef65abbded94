/* The Beckmann distribution of microfacet normals, in the form that microfacet.h gives to GGX: a density D, a
 * stretched length s(w) with Smith's Lambda(w) = (s(w)/z - 1)/2, and sampling of the normals that a direction
 * sees. With s from here, ggx_g1, ggx_visibility and ggx_visible_pdf hold for Beckmann too, since they know of
 * the distribution only through s. Pure, header only. */
#ifndef SORT_BSDF_BECKMANN_H
#define SORT_BSDF_BECKMANN_H

#include "sort/sampling/warp.h"

#define BECKMANN_INV_SQRT_PI 0.56418958354775629f

/* D(h), h.z > 0 [Walter2007 eq. 25; Heitz2014 for two widths]. */
static inline float beckmann_d(float3 h, float alpha_x, float alpha_y)
{
    float cos2 = h.z * h.z, x = h.x / alpha_x, y = h.y / alpha_y;
    if (cos2 < 1e-8f)
        return 0.0f;
    return expf(-(x * x + y * y) / cos2) * SORT_INV_PI / (alpha_x * alpha_y * cos2 * cos2);
}

/* s(w) = r exp(-a^2) / sqrt(pi) + z erf(a), with r = |(ax x, ay y)| and a = z / r: z (1 + 2 Lambda) with the
 * exact Lambda [Heitz2014 eq. 68], without its tangent. */
static inline float beckmann_stretch(float3 w, float alpha_x, float alpha_y)
{
    float x = alpha_x * w.x, y = alpha_y * w.y, r = sqrtf(x * x + y * y), z = fabsf(w.z);
    if (r < 0.1f * z) /* a > 10: the rest is below rounding */
        return z;
    float a = z / r;
    return r * expf(-a * a) * BECKMANN_INV_SQRT_PI + z * erff(a);
}

/* A normal seen from wo, density ggx_visible_pdf(beckmann_d, ...) [Heitz2014b for the stretching and the
 * distribution of slopes; Jakob2014 for its inversion]. */
float3 beckmann_sample_visible(float3 wo, float alpha_x, float alpha_y, float2 u);

#endif
