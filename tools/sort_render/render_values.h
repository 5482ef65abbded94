/* Values of sort-render's options that are more than a number or a word. */
#ifndef SORT_TOOLS_SORT_RENDER_RENDER_VALUES_H
#define SORT_TOOLS_SORT_RENDER_RENDER_VALUES_H

#include "sort/render/render.h"
#include "sort/scene/settings.h"

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

/* A row of settings.inc, and where the value goes that takes the place of the package's. */
typedef struct SettingWord {
    SceneSettingId id;
    SceneSettingsChange *change;
} SettingWord;

/* Parsers for CliOption.parse; the type of *out stands after each. */
Status parse_probe(const char *text, void *out, Error *err) SORT_MUST_CHECK;   /* ProbePixel */
Status parse_size(const char *text, void *out, Error *err) SORT_MUST_CHECK;    /* RenderOptions */
Status parse_samples(const char *text, void *out, Error *err) SORT_MUST_CHECK; /* RenderOptions */
Status parse_frames(const char *text, void *out, Error *err) SORT_MUST_CHECK;  /* FrameRange */
Status parse_depth_bias(const char *text, void *out,
                        Error *err) SORT_MUST_CHECK;                        /* its depth_bias */
Status parse_crop(const char *text, void *out, Error *err) SORT_MUST_CHECK; /* RenderCrop */

Status parse_setting(const char *text, void *out, Error *err) SORT_MUST_CHECK; /* SettingWord */

/* Adds the names of a comma-separated list to the aovs and ids of r. */
Status add_aovs(const char *list, RenderOptions *r, Error *err) SORT_MUST_CHECK;
Status find_integrator(const char *name, WaveView *out_view, Error *err) SORT_MUST_CHECK;

#endif
