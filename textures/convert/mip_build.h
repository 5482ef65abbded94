/* The levels of a mip pyramid, streamed: rows of level 0 go in, rows of all smaller levels come out
 * as soon as they are complete. Each level is the exact area average of the one before: a texel of a
 * level of n' texels covers n/n' texels of the one of n, with fractions where it cuts one (5 -> 2:
 * weights 2,2,1 and 1,2,2 over 5), so that means are kept at any size. Sums are doubles.
 *
 * With alpha weighting a colour is averaged by coverage: the sum of alpha x colour over the sum of
 * alpha; where alpha is 0 throughout, plainly. Negative alpha weighs nothing. One thread. */
#ifndef SORT_TEXTURES_CONVERT_MIP_BUILD_H
#define SORT_TEXTURES_CONVERT_MIP_BUILD_H

#include "base/error.h"

typedef struct MipBuilder MipBuilder;

typedef struct MipDesc {
    uint32_t width, height, channel_count;
    bool is_alpha_weighted; /* weighted by the last of 2 or 4 channels */
    /* Receives a row of `level`, which is at least 1, from the top row down. An error ends the push with that
     * error. */
    Status (*emit)(void *data, uint32_t level, const float *row, Error *err);
    void *data;
} MipDesc;

Status mip_builder_create(const MipDesc *desc, MipBuilder **out_builder,
                          Error *err) SORT_MUST_CHECK;
void mip_builder_destroy(MipBuilder *b); /* NULL is fine */
/* Feeds the next row of level 0: width * channel_count linear values. */
Status mip_builder_push(MipBuilder *b, const float *row, Error *err) SORT_MUST_CHECK;

/* The transpose of one step, without alpha weighting: adds to each texel of `fine` [height][width][channel_count] the texels of the
 * level below it, half as large, times its weights in them. */
void mip_pull(uint32_t width, uint32_t height, uint32_t channel_count, const double *coarse,
              double *fine);

#endif
