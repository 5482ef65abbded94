/* Values of sort-render's options that are more than a number or a word. */
#ifndef SORT_TOOLS_RENDER_VALUES_H
#define SORT_TOOLS_RENDER_VALUES_H

#include "sort/render/render.h"

/* A pixel of --probe. */
typedef struct ProbePixel {
    bool is_wanted;
    uint32_t x, y;
} ProbePixel;

/* --frame: first, and every step'th after it up to last. */
typedef struct FrameRange {
    bool is_wanted;
    uint32_t first, last, step;
} FrameRange;

/* As CliOption.parse wants them; `out` is said behind. */
Status parse_probe(const char *text, void *out, Error *err) SORT_MUST_CHECK;   /* ProbePixel */
Status parse_size(const char *text, void *out, Error *err) SORT_MUST_CHECK;    /* RenderOptions */
Status parse_samples(const char *text, void *out, Error *err) SORT_MUST_CHECK; /* RenderOptions */
Status parse_frames(const char *text, void *out, Error *err) SORT_MUST_CHECK;  /* FrameRange */
Status parse_depth_bias(const char *text, void *out,
                        Error *err) SORT_MUST_CHECK;                        /* its depth_bias */
Status parse_crop(const char *text, void *out, Error *err) SORT_MUST_CHECK; /* RenderCrop */

/* Names with commas between them, to aovs and ids of `options`. */
Status add_aovs(const char *list, RenderOptions *options, Error *err) SORT_MUST_CHECK;
Status find_integrator(const char *name, WaveView *out_view, Error *err) SORT_MUST_CHECK;

#endif
