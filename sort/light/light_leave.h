/* How rays leave lights; for light_emission.c and caustic_emission.c. */
#ifndef SORT_LIGHT_LIGHT_LEAVE_H
#define SORT_LIGHT_LIGHT_LEAVE_H

#include "sort/light/light_shape.h"
#include "sort/sampling/warp.h"

/* Turns a direction about +z to one about n. */
static inline float3 light_turn(float3 direction, float3 n)
{
    float3 s, t;
    f3_frame(n, &s, &t);
    return f3_normalize(warp_to_frame(direction, s, t, n));
}

/* Returns the place on a surface, whose coordinates are rounded. error_m: how far it may be from the surface besides. */
static inline SurfacePoint light_rounded_place(float3 P, float3 n, float error_m)
{
    float place = fabsf(n.x * P.x) + fabsf(n.y * P.y) + fabsf(n.z * P.z);
    return (SurfacePoint){.P = P, .n = n, .error_m = LIGHT_SHAPE_ROUNDING * place + error_m};
}

/* Returns a place on the disc of a radius around the centre, at right angles to n. */
static inline float3 light_disc_place(float3 centre, float radius_m, float3 n, float2 u)
{
    float3 x, y;
    float2 disc = warp_disk(u);
    f3_frame(n, &x, &y);
    return f3_madd(f3_madd(centre, radius_m * disc.x, x), radius_m * disc.y, y);
}

#endif
