#include "sort/sampling/warp.h"

#include <float.h>

/* The square's concentric squares become the disk's concentric circles [Shirley1997]; r signed, so that two
 * cases do for four quadrants. */
float2 warp_disk(float2 u)
{
    float a = 2.0f * u.x - 1.0f, b = 2.0f * u.y - 1.0f;
    bool is_wide = fabsf(a) > fabsf(b);
    float r = is_wide ? a : b, across = is_wide ? b : a;
    if (r == 0.0f)
        return f2(0.0f, 0.0f);
    float c, s;
    warp_cos_sin(SORT_PI / 4.0f * (across / r), &c, &s);
    return f2(r * (is_wide ? c : s), r * (is_wide ? s : c));
}

float3 warp_hemisphere_cosine(float2 u)
{
    float2 d = warp_disk(u);
    return f3(d.x, d.y, sqrtf(maxf(1.0f - d.x * d.x - d.y * d.y, 0.0f)));
}

/* On a sphere, area is proportional to height: 1 - cos = m r^2 for a uniform disk point of
 * radius r, and sin = sqrt((1 - cos)(1 + cos)). */
float3 warp_cone(float2 u, float one_minus_cos_max)
{
    float2 d = warp_disk(u);
    float one_minus_cos = one_minus_cos_max * minf(d.x * d.x + d.y * d.y, 1.0f);
    float scale = sqrtf(one_minus_cos_max * (2.0f - one_minus_cos));
    return f3(d.x * scale, d.y * scale, 1.0f - one_minus_cos);
}

float3 warp_sphere(float2 u)
{
    return warp_cone(u, 2.0f);
}

float2 warp_triangle(float2 u)
{
    if (u.y > u.x) {
        u.x *= 0.5f;
        u.y -= u.x;
    } else {
        u.y *= 0.5f;
        u.x -= u.y;
    }
    return u;
}
