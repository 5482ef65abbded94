/* A film to picture files. */
#ifndef SORT_RENDER_RENDER_OUTPUT_H
#define SORT_RENDER_RENDER_OUTPUT_H

#include "base/image/view_transform.h"
#include "sort/film/film.h"

typedef struct RenderExr {
    bool is_float; /* RGBA as float, too */
    bool
        is_timeless; /* says neither when nor where it was made, nor how long it took: equal films are equal files */
} RenderExr;

/* Both multiply light by the shot's exposure. */

/* RGBA as half, AOVs as float layers, and as metadata the camera and what made the picture, by the names that OpenEXR
 * has for it. `how` may be NULL. */
Status render_output_exr(const Film *film, const char *path, const RenderExr *how,
                         Error *err) SORT_MUST_CHECK;
/* At most what its pixels take: they are compressed. */
uint64_t render_output_exr_bytes(const Film *film);
/* A quick look: RGB through the view transform. */
Status render_output_png(const Film *film, const char *path, const ViewTransform *view,
                         Error *err) SORT_MUST_CHECK;

#endif
