/* Where in (and around) its pixel a sample goes: filter importance sampling [Ernst2006]. A sample adds
 * to one pixel only, with weight one, so pixels stay independent of each other.
 *
 * Immutable after pixel_filter_init: any thread. */
#ifndef SORT_FILM_PIXEL_FILTER_H
#define SORT_FILM_PIXEL_FILTER_H

#include "base/error.h"
#include "base/vec.h"
#include "sort/wide/wide.h"

typedef enum PixelFilterKind {
    PIXEL_FILTER_BLACKMAN_HARRIS = 0, /* [Harris1978], four terms */
    PIXEL_FILTER_BOX,
    PIXEL_FILTER_GAUSSIAN, /* standard deviation width/6, cut off at the width */
    PIXEL_FILTER_KIND_COUNT
} PixelFilterKind;

enum { PIXEL_FILTER_TABLE = 512 };
#define PIXEL_FILTER_WIDTH_MAX_PX 16.0f

typedef struct PixelFilter {
    PixelFilterKind kind;
    float width_px;                        /* full width */
    float inverse[PIXEL_FILTER_TABLE + 1]; /* of the distribution on [0, 1/2 width], in px */
} PixelFilter;

/* width_px: full width, (0, PIXEL_FILTER_WIDTH_MAX_PX]; 0: the kind's default (1.5, box 1, gaussian 2).
 * STATUS_INVALID otherwise. */
Status pixel_filter_init(PixelFilterKind kind, float width_px, PixelFilter *out_filter,
                         Error *err) SORT_MUST_CHECK;
/* Sets offsets from the pixels' centres along one axis, in pixels, in [-width/2, width/2], for the points of a block: u in [0, 1)
 * and offsets by lane. The filter is separable. Lanes whose u is no such number get some offset. */
void pixel_filter_sample(const PixelFilter *f, const WideRow u, WideRow out_offset_px);
/* The filter's value at distance x from the centre along one axis; integrates to 1 over the width. */
float pixel_filter_value(PixelFilterKind kind, float width_px, float x);

const char *pixel_filter_name(PixelFilterKind kind); /* "blackman-harris", "box", "gaussian" */
bool pixel_filter_find(const char *name, PixelFilterKind *out_kind);

#endif
