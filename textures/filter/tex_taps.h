/* Which texels a lookup reads, told without reading them: for asking ahead, traces and the probe. */
#ifndef SORT_TEXTURES_FILTER_TEX_TAPS_H
#define SORT_TEXTURES_FILTER_TEX_TAPS_H

#include "textures/cache/texcache_state.h"

/* One tap: four texels of a level, some of which may be the same: left, right of the upper row, then
 * of the lower one. */
typedef struct TapTexels {
    uint32_t lane, level;
    uint32_t x[4], y[4];
    /* Of each texel in the lane's value; 0 where black stands in for it. They sum to 1 unless some
     * do. (STOCHASTIC: 1 for the chosen one.) */
    float weights[4];
} TapTexels;

/* Calls `visit` for the taps of all wanted lanes from `first_lane` on, in the order in which a lookup
 * samples them. Taps that are all black and lanes without a place have none. `texture`: not a UDIM
 * set. */
void taps_visit(Texture *texture, const TexRequest *r, uint32_t first_lane,
                void (*visit)(void *data, const TapTexels *tap), void *data);

/* The paged tiles that hold a tap's texels, each once, in the order in which they are asked for; none
 * for a level of the tail. Returns how many, at most 4. */
uint32_t tap_tiles(const Texture *texture, const TapTexels *tap, uint32_t out_tiles[4]);

#endif
