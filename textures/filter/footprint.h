/* From the two derivative vectors of a lookup to the level and the probes that filter it.
 *
 * In texels of level 0 the pixel's step is J = [x-step y-step]; the footprint is the ellipse with
 * second moments M = J J^T + diag(blur^2), whose axes are the square roots of M's eigenvalues
 * (full widths: a step of 8 texels is 8 wide, level 3). Texels of either axis count as they are, so
 * long textures are filtered as finely as square ones. */
#ifndef SORT_TEXTURES_FILTER_FOOTPRINT_H
#define SORT_TEXTURES_FILTER_FOOTPRINT_H

#include "textures/texcache.h"

typedef struct Footprint {
    float level;          /* finest level used, fractional; within [0, level_count - 1] */
    uint32_t probe_count; /* 1 to TEX_MAX_PROBES */
    float axis_s, axis_v; /* from the first probe to the next, in s and in v = 1 - t */
    bool is_bad;          /* an input is not finite: the coarsest level stands in */
} Footprint;

/* Derivatives per pixel step and blur, in units of s and t. */
typedef struct FootprintInput {
    float ds_dx, dt_dx, ds_dy, dt_dy, blur;
} FootprintInput;

/* `filter` is not TEX_FILTER_DEFAULT. For filters that use one level, `level` is whole. */
void footprint_of(const FootprintInput *in, uint32_t width, uint32_t height, uint32_t level_count,
                  TexFilter filter, TexMip mip, float mip_bias, Footprint *out);

#endif
