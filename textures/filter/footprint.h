/* Computes the level and the probes of a lookup from its two derivative vectors.
 *
 * In texels of level 0 the pixel's step is J = [x-step y-step]; the footprint is the ellipse with
 * second moments M = J J^T + diag(blur^2), whose axes are the square roots of M's eigenvalues (as
 * full widths: a step of 8 texels is 8 wide and selects level 3). Each axis is measured in its own
 * texels, so elongated textures are filtered as finely as square ones. */
#ifndef SORT_TEXTURES_FILTER_FOOTPRINT_H
#define SORT_TEXTURES_FILTER_FOOTPRINT_H

#include "textures/texcache.h"

/* TexOptions with all defaults resolved. */
typedef struct LookupOptions {
    TexWrap wrap_s, wrap_t;
    TexFilter filter;
    TexMip mip;
    float mip_bias;
} LookupOptions;

typedef struct Footprint {
    float level;          /* the finest level used, fractional, in [0, level_count - 1] */
    uint32_t probe_count; /* 1 to TEX_MAX_PROBES */
    float axis_s, axis_v; /* the step from one probe to the next, in s and in v = 1 - t */
    bool is_bad;          /* an input was not finite; the coarsest level is used */
} Footprint;

/* Derivatives per pixel step and blur, in units of s and t. */
typedef struct FootprintInput {
    float ds_dx, dt_dx, ds_dy, dt_dy, blur;
} FootprintInput;

/* Computes the footprint for a texture of width x height texels by the filter, the mip mode and the bias of `options`. For filters that use a single level, `level` is whole. */
void footprint_of(const FootprintInput *in, uint32_t width, uint32_t height, uint32_t level_count,
                  const LookupOptions *options, Footprint *f);

/* Footprints by lane. */
typedef struct FootprintRows {
    float level[TEX_MAX_LANES], axis_s[TEX_MAX_LANES], axis_v[TEX_MAX_LANES];
    uint32_t probe_count[TEX_MAX_LANES], is_bad[TEX_MAX_LANES];
} FootprintRows;

static inline void footprint_at(const FootprintRows *rows, uint32_t lane, Footprint *out)
{
    out->level = rows->level[lane];
    out->probe_count = rows->probe_count[lane];
    out->axis_s = rows->axis_s[lane];
    out->axis_v = rows->axis_v[lane];
    out->is_bad = rows->is_bad[lane];
}

/* Computes the footprints of `count` lanes at once, as footprint_of() does, for the anisotropic filter with mip levels. derivs:
 * [5][count], by rows as in FootprintInput. */
void footprints_of(const float *derivs, uint32_t count, uint32_t width, uint32_t height,
                   uint32_t level_count, const LookupOptions *options, FootprintRows *out);

#endif
