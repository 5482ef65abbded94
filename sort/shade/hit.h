/* From a ray's hit to a surface point: world-space geometry with its derivatives by the film position.
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

/* The key of the random numbers that stochastic texture filters draw: the path's sample and the number of its surface;
 * shadow rays count theirs apart. It may be zero where no samples are averaged. */
typedef struct HitDraw {
    SampleKey key;
    uint32_t event, crossing; /* crossing: 0, or along a shadow ray from 1 */
} HitDraw;

/* How a ray came to the surface: global_value<ray_kind>. */
typedef enum RayKind {
    RAY_CAMERA = 1, /* until the first bounce */
    RAY_SHADOW = 2, /* on its way to a light */
    RAY_DIFFUSE = 4,
    RAY_GLOSSY = 8, /* every lobe that is not diffuse */
    RAY_SINGULAR = 16,
    RAY_REFLECTION = 32,
    RAY_TRANSMISSION = 64
} RayKind;

/* The scatters that a path has behind it, counted by kind. The counts stop at 65535. */
typedef struct PathHistory {
    /* RayKind of the ray; 0 for the emission that light sampling evaluates. */
    uint32_t kind;
    uint16_t diffuse, glossy, transmission, transparent;
    uint16_t portal; /* among those that are transparent */
    /* The footprint is the cone of one scattered sample, not a pixel's: see shade_footprint_scale. */
    bool is_cone;
    /* The smallest density of all scatters that were no deltas; INFINITY before the first. */
    float least_pdf;
} PathHistory;

#define HIT_NO_INSTANCE UINT32_MAX /* SurfaceHit.instance of the environment */

/* The parts of a SurfaceHit that take work and that not every use reads. What is not asked for is zero. */
typedef enum HitParts {
    HIT_NORMAL = 1,    /* N */
    HIT_UV = 2,        /* uv */
    HIT_TANGENT = 4,   /* T and tangent_sign; needs HIT_NORMAL */
    HIT_FOOTPRINT = 8, /* the derivatives of P, I, the barycentrics and of the parts above */
    HIT_ALL = 15
} HitParts;

/* A place that a ray meets, and what of the surface there will be read. */
typedef struct HitQuery {
    uint32_t instance, triangle; /* triangle: or segment of curves */
    /* Barycentrics of the second and third corner; b1 of curves: u along the segment. */
    float b1, b2;
    float t;        /* along the ray, in metres */
    uint32_t depth; /* bounces before this surface */
    uint32_t parts; /* HitParts */
} HitQuery;

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
    /* hit_surface leaves these two zero; the caller sets them. */
    HitDraw draw;
    PathHistory history;
} SurfaceHit;

/* Returns the point where rays leave the surface and arrive at it. */
static inline SurfacePoint hit_point(const SurfaceHit *hit)
{
    return (SurfacePoint){.P = hit->P, .n = hit->Ng, .error_m = hit->error_m};
}

/* Computes the surface that a ray meets; hit_surfaces (surface_block.h) does it for many. diff: the ray's differential, which
 * is read only for HIT_FOOTPRINT. Pure: any thread that flushes subnormal numbers. */
void hit_surface(const Scene *scene, const HitQuery *query, const Ray *ray, const RayDiff *diff,
                 SurfaceHit *out_hit);

/* Returns the material of a triangle or segment of an instance. */
static inline uint32_t hit_material(const Scene *scene, uint32_t instance, uint32_t triangle)
{
    const SceneInstance *i = &scene->instances[instance];
    if (i->material_count == 1)
        return i->materials[0];
    return i->materials[scene_material_slot(&scene->meshes[i->mesh], triangle)];
}

/* Prefetch the memory that hit_surface reads of a triangle: first its indices and, when these have arrived, its vertices.
 * Meshes are larger than the processor's caches, and hits are scattered over them. Curves are not prefetched. */
void hit_prefetch_indices(const Scene *scene, uint32_t instance, uint32_t triangle);
void hit_prefetch_vertices(const Scene *scene, uint32_t instance, uint32_t triangle);

#endif
