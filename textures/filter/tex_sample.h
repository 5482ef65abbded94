/* A lane's taps, filtered. Inside of a lookup. */
#ifndef SORT_TEXTURES_FILTER_TEX_SAMPLE_H
#define SORT_TEXTURES_FILTER_TEX_SAMPLE_H

#include "textures/filter/tex_fetch.h"

/* rgba, and its derivatives by s and v; those only if the request wants them. */
typedef struct Sample {
    f32x4 value, d_ds, d_dv;
} Sample;

/* Asks for the texels of a lane that will be sampled soon. Within an epoch. */
void lookup_prefetch_lane(const Lookup *lk, const LanePlace *place);

/* Within an epoch, which is left and entered again when it has to wait. False: a tile has failed. */
bool lookup_sample_lane(Lookup *lk, const LanePlace *place, Sample *out);

#endif
