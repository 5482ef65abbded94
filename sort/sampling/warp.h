/* From the unit square to the shapes that a path tracer samples, each with its density. All maps are
 * continuous and measure-preserving, so stratified points stay stratified. z is the pole. Pure. */
#ifndef SORT_SAMPLING_WARP_H
#define SORT_SAMPLING_WARP_H

#include "base/vec.h"

#define SORT_PI      3.14159265358979323846f
#define SORT_INV_PI  0.31830988618379067154f
#define SORT_INV_2PI 0.15915494309189533577f
#define SORT_INV_4PI 0.07957747154594766788f

/* Cosine and sine of x in [-pi/4, pi/4], within 1e-7 [Moshier1992]. Short, and the same bits
 * everywhere. */
static inline void warp_cos_sin(float x, float *out_cos, float *out_sin)
{
    float z = x * x;
    *out_sin = x + x * z * (-1.6666654611e-1f + z * (8.3321608736e-3f - z * 1.9515295891e-4f));
    *out_cos =
        1.0f - 0.5f * z +
        z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
}

/* The point of the unit circle at angle 2 pi u, u in [0, 1]. Density 1/(2 pi). */
static inline float2 warp_circle(float u)
{
    int quarter = (int)(4.0f * u + 0.5f);
    float c, s;
    warp_cos_sin(2.0f * SORT_PI * (u - 0.25f * (float)quarter), &c, &s);
    float x = quarter & 1 ? -s : c, y = quarter & 1 ? c : s;
    return quarter & 2 ? f2(-x, -y) : f2(x, y);
}

/* Unit disk, concentric map [Shirley1997]. Density 1/pi. */
float2 warp_disk(float2 u);

/* Hemisphere by the cosine [Malley1988]. Density cos/pi, per solid angle. */
float3 warp_hemisphere_cosine(float2 u);

/* The unit sphere. Density 1/(4 pi). */
float3 warp_sphere(float2 u);

/* Cone of half angle a around +z, given 1 - cos a (keep it accurate: 2 sin^2(a/2)), in (0, 2].
 * Uniform in solid angle, density warp_cone_pdf. Accurate for a sun's disk and smaller. */
float3 warp_cone(float2 u, float one_minus_cos_max);
static inline float warp_cone_pdf(float one_minus_cos_max)
{
    return SORT_INV_2PI / one_minus_cos_max;
}

/* Barycentrics (b1, b2) of a uniform point of a triangle, b0 = 1 - b1 - b2 [Heitz2019]. Density 1/area. */
float2 warp_triangle(float2 u);

/* A direction in the frame (s, t, n) to the frame's outer space. */
static inline float3 warp_to_frame(float3 v, float3 s, float3 t, float3 n)
{
    return f3_madd(f3_madd(f3_scale(s, v.x), v.y, t), v.z, n);
}

#endif
