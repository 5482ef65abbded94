/* How rays leave lights; for light_emission.c and caustic_emission.c. */
#ifndef SORT_LIGHT_LIGHT_LEAVE_H
#define SORT_LIGHT_LIGHT_LEAVE_H

#include "sort/light/light_emission.h"
#include "sort/light/light_shape.h"
#include "sort/light/light_state.h"
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

/* Draws a place on triangle k of a mesh that emits, and sets what `ray` says of it. Returns the place; *out_across: at right angles
 * to the triangle, in front where it is not mirrored, and as long as twice its area. */
static inline float3 light_triangle_place(const Scene *scene, const Source *s, uint32_t k,
                                          const LightEmissionDraw *draw, EmittedRay *ray,
                                          float3 *out_across)
{
    float3 p[3];
    float2 b = warp_triangle(draw->place);
    ray->value = LIGHT_VALUE_MESH;
    ray->instance = s->instance;
    ray->triangle = s->triangles[k];
    ray->b1 = b.x, ray->b2 = b.y;
    scene_triangle_at(scene, s->instance, ray->triangle, draw->time, p);
    float3 edge1 = f3_sub(p[1], p[0]), edge2 = f3_sub(p[2], p[0]);
    *out_across = f3_cross(edge1, edge2);
    return f3_madd(f3_madd(p[0], b.x, edge1), b.y, edge2);
}

#endif
