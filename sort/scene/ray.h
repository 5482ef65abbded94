/* Rays, their differentials, and where a ray may start. Header only; ray.ssl computes the same for blocks of points. */
#ifndef SORT_SCENE_RAY_H
#define SORT_SCENE_RAY_H

#include "base/vec.h"
#include <float.h>

/* Surfaces that a ray has passed straight through; zeros: none. It has passed what lies before t_min, and at t_min what
 * is ordered before `next`: see ray_batch_pass (sort/accel/accel.h). */
typedef struct RayPast {
    uint64_t first; /* the one that it met first, which no order chose */
    uint64_t next;
    float first_t;
    float first_u,
        last_u; /* where along their segments it has passed curves, at first_t and at t_min */
} RayPast;

/* origin + t direction for t in (t_min, t_max); direction is a unit vector, so t is in metres. A ray
 * with t_max < t_min is dead: it hits nothing. */
typedef struct Ray {
    float3 origin, direction;
    float t_min, t_max; /* t_max may be INFINITY */
    float time;         /* [0, 1] over the shutter */
    RayPast past;
} Ray;

/* Derivatives of origin and (unit) direction by the film position, per pixel: x to the right, y
 * down [Igehy1999]. */
typedef struct RayDiff {
    float3 dOdx, dOdy, dDdx, dDdy;
    bool is_cone; /* of a scattered ray: a triangle cuts a disc out of it, see footprint_ray.h */
} RayDiff;

/* A point on a surface, as rays leave it and aim at it. */
typedef struct SurfacePoint {
    float3 P, n;   /* n: the unit geometric normal, on either side */
    float error_m; /* bounds the distance along n from P to the surface that rays meet */
} SurfacePoint;

/* Half the distance from 1 to the next float: the relative error of one operation. */
#define RAY_ROUNDING 0x1p-24f

/* The nearest float above x where `direction` is positive, and below x where it is negative [Rump2009]: a little more than
 * half of the last bit of x rounds to all of it. Numbers of less than 2^-102 move by the smallest normal number, since
 * smaller ones are flushed to zero. */
static inline float ray_round_toward(float x, float direction)
{
    float step = maxf(fabsf(x) * (RAY_ROUNDING * (1.0f + 2.0f * RAY_ROUNDING)), FLT_MIN);
    return direction == 0.0f ? x : x + copysignf(step, direction);
}

/* Moves a point off its surface to the side that `direction` points to, by its error: the nearest place where a ray
 * with t_min = 0 cannot meet the surface that it leaves, and a ray that ends there cannot meet the one that it aims at
 * [pbrt4 section 6.8.6]. */
static inline float3 ray_leave(const SurfacePoint *point, float3 direction)
{
    float side = f3_dot(direction, point->n) > 0.0f ? 1.0f : -1.0f;
    float3 moved = f3_madd(point->P, side * point->error_m, point->n);
    return f3(ray_round_toward(moved.x, side * point->n.x),
              ray_round_toward(moved.y, side * point->n.y),
              ray_round_toward(moved.z, side * point->n.z));
}

/* Returns the length of the ray from one place to another, as ray_leave gives them, which ends just before the second one;
 * -1, of a dead ray, when they are too near to each other for anything to lie between. wi: the direction that this is the
 * ray for; *out_direction is the same up to rounding. */
static inline float ray_between(float3 from, float3 to, float3 wi, float3 *out_direction)
{
    const float all_but_rounding = 1.0f - 8.0f * RAY_ROUNDING;
    float3 way = f3_sub(to, from);
    float distance = f3_length(way);
    bool is_ahead = f3_dot(way, wi) > 0.0f && distance > 0.0f;
    *out_direction = is_ahead ? f3_scale(way, 1.0f / distance) : wi;
    return is_ahead ? distance * all_but_rounding : -1.0f;
}

#endif
