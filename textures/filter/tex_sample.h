/* Samples and filters the taps of a lane. Private to a lookup. */
#ifndef SORT_TEXTURES_FILTER_TEX_SAMPLE_H
#define SORT_TEXTURES_FILTER_TEX_SAMPLE_H

#include "textures/filter/tex_fetch.h"

/* rgba, and its derivatives by s and v, which are set only if the request asks for them. */
typedef struct Sample {
    f32x4 value, d_ds, d_dv;
} Sample;

/* Prefetches the texels of a lane that will be sampled soon, and keeps its first taps. Called within an epoch. */
void lookup_prefetch_lane(const Lookup *lk, LanePlace *place);

/* Samples a lane after lookup_prefetch_lane(). Called within an epoch, which is left and entered again if the lookup has to wait. Returns
 * false if a tile has failed. */
bool lookup_sample_lane(Lookup *lk, const LanePlace *place, Sample *out);

#endif
