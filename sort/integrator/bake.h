/* Rays that see the points of a table (sort/scene/bake_table.h), for the camera stage. */
#ifndef SORT_INTEGRATOR_BAKE_H
#define SORT_INTEGRATOR_BAKE_H

#include "sort/integrator/wave.h"

/* Where rays meet the table's points, by lane: as in HitBatch. */
typedef struct BakeHits {
    uint32_t triangle[SSL_BLOCK];
    WideRow b1, b2;
} BakeHits;

/* Makes the rays of a block of pixels, pixel k at (x[k], y[k]), at the film positions and times of rows. Sets rows as camera_rays does,
 * with differentials that carry the pixel to its footprint on the surface, and for tables that show surfaces *out_hits, each a metre
 * from its ray's origin. Returns the lanes of `live` that show something: triangles without an area, which have no normal, do not. */
uint16_t bake_rays(const WaveShared *s, const uint32_t x[SSL_BLOCK], const uint32_t y[SSL_BLOCK],
                   uint16_t live, CameraRows *rows, BakeHits *out_hits);
/* Sets hit `to` of the batch to a lane's. */
void bake_set_hit(const WaveShared *s, const BakeHits *hits, uint32_t lane, HitBatch *out,
                  uint32_t to);

#endif
