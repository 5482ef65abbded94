/* Distributions of microfacet normals: GGX here, Beckmann in beckmann.h, and the choice between them. Smith's
 * shadowing with correlated heights, and sampling of the normals that a direction sees. In a frame whose z is
 * the surface normal; alpha_x, alpha_y > 0; directions are unit and above the surface (z > 0) unless said
 * otherwise. Pure, header only, since this is the inner loop.
 *
 * Everything is written with a stretched length s(w), for which Smith's Lambda(w) = (s(w)/z - 1)/2; for GGX it
 * is s(w) = sqrt(ax^2 x^2 + ay^2 y^2 + z^2). That form has no tangent, hence no trouble at grazing angles. */
#ifndef SORT_BSDF_MICROFACET_H
#define SORT_BSDF_MICROFACET_H

#include "sort/bsdf/beckmann.h"

/* s(w); w.z of either sign. */
static inline float ggx_stretch(float3 w, float alpha_x, float alpha_y)
{
    float x = alpha_x * w.x, y = alpha_y * w.y;
    return sqrtf(x * x + y * y + w.z * w.z);
}

/* D(h) [Walter2007 eq. 33; Heitz2014 for two widths]. Integrates to 1 against h.z. */
static inline float ggx_d(float3 h, float alpha_x, float alpha_y)
{
    float x = h.x / alpha_x, y = h.y / alpha_y;
    float e = x * x + y * y + h.z * h.z;
    return SORT_INV_PI / (alpha_x * alpha_y * e * e);
}

/* G1(w) = 1 / (1 + Lambda(w)) [Heitz2014 eq. 43]. */
static inline float ggx_g1(float cos_w, float s_w)
{
    return 2.0f * cos_w / (cos_w + s_w);
}

/* G2(o, i) / (4 cos_o cos_i), G2 = 1 / (1 + Lambda(o) + Lambda(i)) [Heitz2014 eq. 99]; cosines positive. */
static inline float ggx_visibility(float cos_o, float s_o, float cos_i, float s_i)
{
    return 0.5f / (cos_o * s_i + cos_i * s_o);
}

/* Density per solid angle of h with which ggx_sample_visible draws it: G1(o) (o.h) D(h) / cos_o
 * [Heitz2018 eq. 3]. d = ggx_d(h), dot_oh > 0. */
static inline float ggx_visible_pdf(float d, float dot_oh, float cos_o, float s_o)
{
    return 2.0f * d * dot_oh / (cos_o + s_o);
}

/* A microfacet normal seen from wo: reflect the stretched direction's hemisphere off a uniform point of the
 * spherical cap [Dupuy2023]. */
static inline float3 ggx_sample_visible(float3 wo, float s_o, float alpha_x, float alpha_y,
                                        float2 u)
{
    float inv = 1.0f / s_o;
    float3 o = f3(alpha_x * wo.x * inv, alpha_y * wo.y * inv, wo.z * inv);
    float z = (1.0f - u.y) * (1.0f + o.z) - o.z;
    float r = sqrtf(maxf(1.0f - z * z, 0.0f));
    float2 p = warp_circle(u.x);
    return f3_normalize(
        f3(alpha_x * (r * p.x + o.x), alpha_y * (r * p.y + o.y), maxf(z + o.z, 1e-7f)));
}

/* --- the choice ---------------------------------------------------------------------------- */

typedef enum MicrofacetKind { MICROFACET_GGX, MICROFACET_BECKMANN } MicrofacetKind;

static inline float microfacet_d(MicrofacetKind kind, float3 h, float alpha_x, float alpha_y)
{
    return kind == MICROFACET_GGX ? ggx_d(h, alpha_x, alpha_y) : beckmann_d(h, alpha_x, alpha_y);
}
static inline float microfacet_stretch(MicrofacetKind kind, float3 w, float alpha_x, float alpha_y)
{
    return kind == MICROFACET_GGX ? ggx_stretch(w, alpha_x, alpha_y)
                                  : beckmann_stretch(w, alpha_x, alpha_y);
}
static inline float3 microfacet_sample_visible(MicrofacetKind kind, float3 wo, float s_o,
                                               float alpha_x, float alpha_y, float2 u)
{
    return kind == MICROFACET_GGX ? ggx_sample_visible(wo, s_o, alpha_x, alpha_y, u)
                                  : beckmann_sample_visible(wo, alpha_x, alpha_y, u);
}

#endif
