#include "sort/shade/footprint_ray.h"

#include "base/check.h"
#include "sort/shade/footprint_rows.h"
#include <string.h>

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

/* Turned as `from` is to `to`, by two mirrors: one across `from`, and one across what lies half way between both; for opposites across
 * anything at right angles. */
static float3 turn(float3 v, float3 from, float3 half)
{
    v = f3_madd(v, -2.0f * f3_dot(v, from), from);
    return f3_madd(v, -2.0f * f3_dot(v, half), half);
}

void footprint_turn(float t, float3 from, float3 to, RayDiff *diff)
{
    float3 sum = f3_add(from, to);
    float length = f3_length(sum);
    float3 half = f3_scale(sum, 1.0f / length), other;
    if (!(length > 1e-6f))
        f3_frame(from, &half, &other);
    diff->dOdx = turn(f3_madd(diff->dOdx, t, diff->dDdx), from, half);
    diff->dOdy = turn(f3_madd(diff->dOdy, t, diff->dDdy), from, half);
    diff->dDdx = turn(diff->dDdx, from, half);
    diff->dDdy = turn(diff->dDdy, from, half);
}

static RayDiff cone_of(const FootprintRows *rows, uint32_t lane)
{
    return (RayDiff){wide_get3(rows->Ox, lane), wide_get3(rows->Oy, lane),
                     wide_get3(rows->Dx, lane), wide_get3(rows->Dy, lane), true};
}

float footprint_width(const SurfaceHit *hit)
{
    return sqrtf(f3_length(hit->dPdx) * f3_length(hit->dPdy));
}

void footprint_cone(float3 wi, float width, float pdf, RayDiff *out)
{
    FootprintRows rows;
    wide_set3(rows.wi, 0, wi);
    rows.width[0] = width;
    rows.pdf[0] = pdf;
    footprint_cone_run(&rows, 1);
    *out = cone_of(&rows, 0);
}

void footprint_light(float3 wi, float pdf, RayDiff *out)
{
    FootprintRows rows;
    wide_set3(rows.wi, 0, wi);
    rows.pdf[0] = pdf;
    footprint_light_run(&rows, 1);
    *out = cone_of(&rows, 0);
}

void footprint_scatter(const SurfaceHit *hit, float3 wi, float pdf, float pixel_scale, RayDiff *out)
{
    FootprintRows rows;
    wide_set3(rows.wi, 0, wi);
    wide_set3(rows.dPdx, 0, hit->dPdx);
    wide_set3(rows.dPdy, 0, hit->dPdy);
    wide_set3(rows.dIdx, 0, hit->dIdx);
    wide_set3(rows.dIdy, 0, hit->dIdy);
    rows.pdf[0] = pdf;
    rows.scale[0] = hit->history.is_cone ? 1.0f : pixel_scale;
    footprint_scatter_run(&rows, 1);
    *out = cone_of(&rows, 0);
}

void footprints_scatter(const SurfaceBlock *surfaces, const WideRow wi[3], const WideRow pdf,
                        float pixel_scale, uint16_t live, RayDiff *const out_diffs[SSL_BLOCK])
{
    FootprintRows rows;
    ASSERT(live >> surfaces->count == 0);
    if (live == 0)
        return;
    memcpy(rows.wi, wi, sizeof rows.wi);
    memcpy(rows.pdf, pdf, sizeof rows.pdf);
    memcpy(rows.dPdx, surfaces->dPdx, sizeof rows.dPdx);
    memcpy(rows.dPdy, surfaces->dPdy, sizeof rows.dPdy);
    memcpy(rows.dIdx, surfaces->dIdx, sizeof rows.dIdx);
    memcpy(rows.dIdy, surfaces->dIdy, sizeof rows.dIdy);
    for (uint32_t k = 0; k < surfaces->count; ++k)
        rows.scale[k] = surfaces->history[k].is_cone ? 1.0f : pixel_scale;
    footprint_scatter_run(&rows, live);
    for (uint32_t lanes = live; lanes; lanes &= lanes - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(lanes);
        *out_diffs[k] = cone_of(&rows, k);
    }
}
