/* Path guiding: scattered rays that a field of light (sort/guide) draws, and what paths teach it. Private to the stages.
 *
 * At each point a direction is drawn by the field with a chance c, and otherwise by the surface's own sampling. Its density is
 * that of the mixture, (1 - c) p_bsdf + c p_field, whichever drew it, and so is what light sampling weighs against. Deltas and
 * bodies belong to the surface's own sampling. */
#ifndef SORT_INTEGRATOR_GUIDING_H
#define SORT_INTEGRATOR_GUIDING_H

#include "sort/integrator/wave_state.h"

/* What the field knows of the points of a block. */
typedef struct Guidance {
    alignas(64) WideRow chance; /* that the field draws; 0: it takes no part */
    WideRow share;              /* of the surface's own sampling, without deltas */
    WideRow position[3];        /* of the points */
    WideRow density;            /* of the field, of the directions that guidance_sample has drawn */
    uint32_t region[SSL_BLOCK];
    uint16_t lanes; /* those with a chance */
} Guidance;

/* Finds the points of `live` in the field. normal: on the viewer's side. */
void guidance_find(const Wave *w, const SurfaceBlock *surfaces, const WideRow normal[3],
                   const BsdfBlock *block, uint16_t live, Guidance *out);
/* Turns densities of the surfaces' own sampling into those of the mixture, in the lanes of `live`. */
void guidance_mix(const Wave *w, const Guidance *guidance, const WideRow wi[3], uint16_t live,
                  WideRow pdf);
/* As bsdf_block_sample, by the mixture, and sets guidance->density. paths: of the lanes. out_drawn->pdf is that of the surfaces' own
 * sampling, out_pdf that of the mixture. */
uint16_t guidance_sample(const Wave *w, Guidance *guidance, const BsdfBlock *block,
                         const uint32_t *paths, BsdfRow u[3], uint16_t live, BsdfDrawn *out_drawn,
                         WideRow out_pdf);

/* --- what paths teach; only while Wave.lessons is not NULL ------------------------------------------ */

/* Begins the lessons of a sample. */
void lessons_begin(Wave *w, uint32_t sample);
/* Adds the vertex at which path i has just been scattered. guidance: NULL, or of the point's block. */
void lessons_add_vertex(Wave *w, uint32_t i, SurfaceLane surface, const BsdfSample *sample,
                        const Guidance *guidance);
/* Light that comes from now on is found behind the vertices that were added so far. */
void lessons_advance(Wave *w);
/* Adds light that reached the camera along the path. */
void lessons_add_light(Wave *w, const Path *path, float3 rgb);
/* Teaches the field what the samples of the job have found. */
void lessons_finish(Wave *w);

#endif
