/* Surfaces of SSL_BLOCK paths at once, as stage_surface.c shades them. Private to the stages in this folder. */
#ifndef SORT_INTEGRATOR_POINTS_H
#define SORT_INTEGRATOR_POINTS_H

#include "sort/integrator/guiding.h"

/* The surfaces of a block, and the paths that met them. */
typedef struct PointBlock {
    const SurfaceBlock *surfaces;
    const uint32_t *path; /* by lane */
    uint32_t count;
    uint32_t flags[SSL_BLOCK]; /* PathFlags of the paths when the block began, 0 in other lanes */
} PointBlock;

/* How the points of a block are seen by what light sampling and densities of lights ask for. */
typedef struct Facing {
    alignas(64) WideRow normal[3]; /* the shading normal on the viewer's side */
    uint32_t sides[SSL_BLOCK];     /* SkySides from which light counts */
    LightGloss gloss[SSL_BLOCK];   /* while WaveReads.gloss */
    bool has_gloss;                /* of some point */
} Facing;

/* Returns the lanes of flags that have this one. */
static inline uint16_t points_with(const uint32_t flags[SSL_BLOCK], uint32_t flag)
{
    WideInts mask;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        mask[k] = -((flags[k] & flag) != 0);
    return wide_lanes(mask);
}

/* Returns the link set of the instance that the surface belongs to. */
static inline uint32_t points_link_set(const Wave *w, SurfaceLane surface)
{
    return w->reads.link_sets ? w->shared->scene->instances[surface_instance(surface)].link_set : 0;
}

/* Samples one light for each point of `live`, and sends shadow rays to those that can contribute. guidance: NULL where no
 * field takes part; u: a pair of random numbers by lane. */
void points_sample_lights(Wave *w, const PointBlock *points, const BsdfBlock *block,
                          const Facing *facing, const Guidance *guidance, const WideRow u[2],
                          uint16_t live);
/* Samples one lamp for each point of `seen`, which the camera sees, directly or through transparent surfaces, and sends a ray of
 * Wave.lamp_shadows to it where the point scatters light from that side. */
void points_sample_lamps(Wave *w, const PointBlock *points, const BsdfBlock *block,
                         const Facing *facing, uint16_t seen);

#endif
