#include "sort/shade/footprint_ray.h"

/* D' = D - 2 (D.n) n, so D'_x = D_x - 2 ((D.n) n_x + (D.n)_x n). */
static float3 reflect_derivative(float3 D, float3 dD, float3 n, float3 dn)
{
    float D_n = f3_dot(D, n);
    float D_n_x = f3_dot(dD, n) + f3_dot(D, dn);
    return f3_sub(dD, f3_scale(f3_add(f3_scale(dn, D_n), f3_scale(n, D_n_x)), 2.0f));
}

void footprint_reflect(const SurfaceHit *hit, float3 n, RayDiff *out)
{
    *out = (RayDiff){hit->dPdx, hit->dPdy, reflect_derivative(hit->I, hit->dIdx, n, hit->dNdx),
                     reflect_derivative(hit->I, hit->dIdy, n, hit->dNdy), hit->history.is_cone};
}

/* D' = e D - mu n with e = 1/eta, mu = e (D.n) - (D'.n);
 * mu_x = (e - e^2 (D.n)/(D'.n)) (D.n)_x. Here n is on the viewer's side, so D.n < 0 and D'.n < 0. */
static float3 refract_derivative(float3 D, float3 dD, float3 n, float3 dn, float3 wi, float e)
{
    float D_n = f3_dot(D, n), T_n = f3_dot(wi, n);
    float D_n_x = f3_dot(dD, n) + f3_dot(D, dn);
    float mu = e * D_n - T_n;
    float mu_x = fabsf(T_n) > 1e-6f ? (e - e * e * D_n / T_n) * D_n_x : 0.0f;
    return f3_sub(f3_scale(dD, e), f3_add(f3_scale(dn, mu), f3_scale(n, mu_x)));
}

void footprint_refract(const SurfaceHit *hit, float3 n, float3 wi, float eta, RayDiff *out)
{
    float e = 1.0f / eta;
    *out =
        (RayDiff){hit->dPdx, hit->dPdy, refract_derivative(hit->I, hit->dIdx, n, hit->dNdx, wi, e),
                  refract_derivative(hit->I, hit->dIdy, n, hit->dNdy, wi, e), hit->history.is_cone};
}

static float longer(float3 a, float3 b)
{
    return sqrtf(maxf(f3_length2(a), f3_length2(b)));
}

/* A round cone about wi: start width and spread, each as two vectors at right angles to wi. */
static void cone(float3 wi, float width, float spread, RayDiff *out)
{
    float3 s, t;
    spread = minf(spread, FOOTPRINT_SPREAD_MAX);
    f3_frame(wi, &s, &t);
    *out = (RayDiff){f3_scale(s, width), f3_scale(t, width), f3_scale(s, spread),
                     f3_scale(t, spread), true};
}

static float spread_of(float pdf)
{
    return FOOTPRINT_SPREAD * 2.0f / sqrtf(3.14159265f * maxf(pdf, 1e-6f));
}

float footprint_width(const SurfaceHit *hit)
{
    return sqrtf(f3_length(hit->dPdx) * f3_length(hit->dPdy));
}

void footprint_cone(float3 wi, float width, float pdf, RayDiff *out)
{
    cone(wi, width, spread_of(pdf), out);
}

void footprint_light(float3 wi, float pdf, RayDiff *out)
{
    cone(wi, 0.0f, FOOTPRINT_LIGHT * minf(spread_of(pdf), FOOTPRINT_SPREAD_MAX), out);
}

void footprint_scatter(const SurfaceHit *hit, float3 wi, float pdf, float pixel_scale, RayDiff *out)
{
    float scale = hit->history.is_cone ? 1.0f : pixel_scale;
    float spread = scale * longer(hit->dIdx, hit->dIdy);
    cone(wi, scale * footprint_width(hit), maxf(spread_of(pdf), spread), out);
}
