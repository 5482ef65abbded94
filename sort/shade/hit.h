/* A hit made into a surface: world-space geometry with its derivatives by the film position.
 *
 * Derivatives are analytic limits [Igehy1999]: the ray's differential is carried to the triangle's plane,
 * barycentric derivatives follow from the Gram matrix of the edges, and everything interpolated follows
 * from those. Unit vectors go through the Jacobian of normalisation. Degenerate triangles get zeros. On curves
 * the plane is the tangent plane, and what bends is differentiated along the curve and around it. */
#ifndef SORT_SHADE_HIT_H
#define SORT_SHADE_HIT_H

#include "sort/sampling/sample_key.h"
#include "sort/scene/ray.h"
#include "sort/scene/scene.h"

/* What stochastic texture filters draw their numbers by: the path's sample, and which of its surfaces
 * this is (shadow rays count theirs apart). All zero will do where nothing is averaged. */
typedef struct HitDraw {
    SampleKey key;
    uint32_t event, crossing; /* crossing: 0, or along a shadow ray from 1 */
} HitDraw;

/* How a ray came to the surface: global_value<ray_kind>. */
typedef enum RayKind {
    RAY_CAMERA = 1, /* until the first bounce */
    RAY_SHADOW = 2, /* on its way to a light */
    RAY_DIFFUSE = 4,
    RAY_GLOSSY = 8, /* all that is not diffuse */
    RAY_SINGULAR = 16,
    RAY_REFLECTION = 32,
    RAY_TRANSMISSION = 64
} RayKind;

/* What lies behind a path. The counts stop at 65535. */
typedef struct PathHistory {
    uint32_t kind; /* RayKind; 0 where light sampling looks at a light */
    uint16_t diffuse, glossy, transmission, transparent;
    /* The footprint is the cone of one scattered sample, and not a pixel's: see shade_footprint_scale. */
    bool is_cone;
} PathHistory;

#define HIT_NO_INSTANCE UINT32_MAX /* SurfaceHit.instance of the environment */

typedef struct SurfaceHit {
    float3 P;
    float error_m; /* bounds the distance along Ng between P and the surface that rays meet */
    float3
        Ng_front; /* unit geometric normal toward the front of the triangle; of curves: outwards */
    float3 Ng;    /* the same on the viewer's side */
    float3 N, T;  /* unit shading normal on Ng's side; unit tangent at right angles to it */
    float3 I;     /* unit, from the viewer to P */
    float2 uv;
    float tangent_sign; /* bitangent = tangent_sign * cross(N, T) */
    float3 dPdx, dPdy, dNdx, dNdy, dTdx, dTdy, dIdx, dIdy;
    float2 duvdx, duvdy;
    /* Barycentrics of the second and third corner, and their derivatives. On curves b1 is u along the segment, and
     * b2 where across it the ray hits: -1 to 1, positive towards cross(-I, along the curve). */
    float b1, b2;
    float db1dx, db1dy, db2dx, db2dy;
    bool is_backfacing;
    uint32_t instance, triangle, material, depth; /* triangle: or segment of curves */
    float length_m;                               /* of the ray */
    HitDraw draw; /* these two zero from hit_surface; the caller's */
    PathHistory history;
} SurfaceHit;

/* Where rays leave the surface, and arrive at it. */
static inline SurfacePoint hit_point(const SurfaceHit *hit)
{
    return (SurfacePoint){.P = hit->P, .n = hit->Ng, .error_m = hit->error_m};
}

/* The point (b1, b2) of a triangle, or that at b1 of a segment of curves, seen along `ray` at distance t; of an instance that moves, as it stands at ray->time. `diff` belongs to `ray`. */
void hit_surface(const Scene *scene, uint32_t instance, uint32_t triangle, float b1, float b2,
                 float t, const Ray *ray, const RayDiff *diff, uint32_t depth, SurfaceHit *out_hit);

/* Asks for the memory that hit_surface will read of a triangle: first for its indices, and when they are there for its
 * vertices. Meshes are larger than caches, and their hits are all over them. Curves are left alone. */
void hit_prefetch_indices(const Scene *scene, uint32_t instance, uint32_t triangle);
void hit_prefetch_vertices(const Scene *scene, uint32_t instance, uint32_t triangle);

#endif
