/* Surfaces that rays met, as rows of SSL_BLOCK points (sort/wide/wide.h): SurfaceHit is one of them. */
#ifndef SORT_SHADE_SURFACE_BLOCK_H
#define SORT_SHADE_SURFACE_BLOCK_H

#include "base/check.h"
#include "sort/scene/ray_rows.h"
#include "sort/shade/hit.h"
#include "sort/wide/wide.h"

/* The fields are those of SurfaceHit, by lane. Rows of parts that were not asked for are undefined. */
typedef struct SurfaceBlock {
    alignas(64) WideInts instance;
    WideInts triangle, depth, is_backfacing;
    WideRow P[3], error_m, Ng_front[3], Ng[3], N[3], T[3], I[3];
    WideRow uv[2], tangent_sign, length_m;
    WideRow dPdx[3], dPdy[3], dNdx[3], dNdy[3], dTdx[3], dTdy[3], dIdx[3], dIdy[3];
    WideRow duvdx[2], duvdy[2];
    WideRow time; /* in the shutter, at which the surface stands */
    WideRow b1, b2, db1dx, db1dy, db2dx, db2dy;
    HitDraw draw[SSL_BLOCK];
    PathHistory history[SSL_BLOCK];
    uint32_t count; /* lanes [0, count) have a surface */
    uint32_t material;
} SurfaceBlock;

/* One surface of a block. */
typedef struct SurfaceLane {
    const SurfaceBlock *block;
    uint32_t lane;
} SurfaceLane;

static inline uint32_t surface_instance(SurfaceLane s)
{
    return (uint32_t)s.block->instance[s.lane];
}
static inline uint32_t surface_triangle(SurfaceLane s)
{
    return (uint32_t)s.block->triangle[s.lane];
}
static inline uint32_t surface_depth(SurfaceLane s)
{
    return (uint32_t)s.block->depth[s.lane];
}
/* Returns a vector of the surface. rows: a field of its block. */
static inline float3 surface_vector(SurfaceLane s, const WideRow rows[3])
{
    return wide_get3(rows, s.lane);
}
/* Sets where rays leave the surfaces of all lanes, and along what: P, n, error_m and wi. */
void surfaces_leave_along(const SurfaceBlock *b, const WideRow wi[3], RayRows *out_rows);

/* Returns the whole surface. */
SurfaceHit surface_get(SurfaceLane surface);
/* Sets a lane of the block, but not the block's material. */
void surface_set(SurfaceBlock *block, uint32_t lane, const SurfaceHit *hit);

/* The rays that met the surfaces of a block, by lane. */
typedef struct HitRays {
    WideRow origin[3];
    WideRow time; /* in the shutter, at which a moving instance stands */
    const RayDiff
        *diff[SSL_BLOCK]; /* the rays' differentials, which are read only for HIT_FOOTPRINT */
} HitRays;

/* Computes the surfaces of lanes [0, block->count), of which the caller has set instance, triangle, b1, b2, length_m and
 * the ray's direction I. A lane does not depend on the others. parts: HitParts of all lanes. Sets neither depth nor draw nor
 * history. Pure: any thread that flushes subnormal numbers. */
void hit_surfaces(const Scene *scene, const HitRays *rays, uint32_t parts, SurfaceBlock *block);

#endif
