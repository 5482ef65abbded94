/* A film to picture files. */
#ifndef SORT_RENDER_RENDER_OUTPUT_H
#define SORT_RENDER_RENDER_OUTPUT_H

#include "base/image/view_transform.h"
#include "sort/film/film.h"

/* RGBA as half, AOVs as float layers, and what made the picture as metadata. */
Status render_output_exr(const Film *film, const char *path, Error *err) SORT_MUST_CHECK;
/* At most what its pixels take: they are compressed. */
uint64_t render_output_exr_bytes(const Film *film);
/* A quick look: RGB through the view transform. */
Status render_output_png(const Film *film, const char *path, const ViewTransform *view,
                         Error *err) SORT_MUST_CHECK;

#endif
