/* Surfaces of SSL_BLOCK paths at once, as stage_surface.c shades them. Private to the stages in this folder. */
#ifndef SORT_INTEGRATOR_POINTS_H
#define SORT_INTEGRATOR_POINTS_H

#include "sort/integrator/guiding.h"

/* The surfaces of a block, and the paths that met them. */
typedef struct PointBlock {
    const SurfaceBlock *surfaces;
    const uint32_t *path; /* by lane */
    uint32_t count;
} PointBlock;

/* How the points of a block are seen by what light sampling and densities of lights ask for. */
typedef struct Facing {
    alignas(64) WideRow normal[3]; /* the shading normal on the viewer's side */
    uint32_t sides[SSL_BLOCK];     /* SkySides from which light counts */
} Facing;

/* Returns the link set of the instance that the surface belongs to. */
static inline uint32_t points_link_set(const Wave *w, SurfaceLane surface)
{
    return w->shared->scene->instances[surface_instance(surface)].link_set;
}

/* Draws the pair of a slot for each point of `live`. */
void points_draw_pairs(const Wave *w, const PointBlock *points, SampleSlot slot, uint16_t live,
                       WideRow out_u[2]);
/* Samples one light for each point of `live`, and sends shadow rays to those that can contribute. guidance: NULL where no
 * field takes part. */
void points_sample_lights(Wave *w, const PointBlock *points, const BsdfBlock *block,
                          const Facing *facing, const Guidance *guidance, uint16_t live);

#endif
