/* Rays, their differentials, and where a ray may start. Header only. */
#ifndef SORT_SCENE_RAY_H
#define SORT_SCENE_RAY_H

#include "base/vec.h"
#include <string.h>

/* origin + t direction for t in (t_min, t_max); direction is a unit vector, so t is in metres. A ray
 * with t_max < t_min is dead: it hits nothing. */
typedef struct Ray {
    float3 origin, direction;
    float t_min, t_max; /* t_max may be INFINITY */
    float time;         /* [0, 1] over the shutter */
} Ray;

/* Derivatives of origin and (unit) direction by the film position, per pixel: x to the right, y
 * down [Igehy1999]. */
typedef struct RayDiff {
    float3 dOdx, dOdy, dDdx, dDdy;
} RayDiff;

/* Moves a point on a surface off it, to the side that `normal` (geometric, unit) points to, by more
 * than the rounding error of the point: 256 units in the last place of each coordinate, a fixed step
 * near the origin [Wachter2019]. Rays that start there use t_min = 0. To leave on the other side,
 * pass the opposite normal. */
static inline float3 ray_offset_origin(float3 point, float3 normal)
{
    const float near_origin = 1.0f / 32.0f, float_step = 1.0f / 65536.0f, int_step = 256.0f;
    float p[3] = {point.x, point.y, point.z}, n[3] = {normal.x, normal.y, normal.z}, out[3];
    for (int k = 0; k < 3; ++k) {
        int32_t bits, step = (int32_t)(int_step * n[k]);
        memcpy(&bits, &p[k], sizeof bits);
        bits += p[k] < 0.0f ? -step : step;
        float moved;
        memcpy(&moved, &bits, sizeof moved);
        out[k] = fabsf(p[k]) < near_origin ? p[k] + float_step * n[k] : moved;
    }
    return f3(out[0], out[1], out[2]);
}

/* Shadow rays stop this fraction of their length short of the light, so that they cannot meet the
 * light itself. */
#define RAY_SHADOW_REACH (1.0f - 1.0f / 8192.0f)

#endif
