/* A film to picture files. */
#ifndef SORT_RENDER_RENDER_OUTPUT_H
#define SORT_RENDER_RENDER_OUTPUT_H

#include "base/image/view_transform.h"
#include "sort/film/film.h"

typedef struct RenderExr {
    bool is_float; /* RGBA as float, too, as it is where a pixel is too bright for half */
    bool
        is_timeless; /* says neither when nor where it was made, nor how long it took: equal films are equal files */
    FilmAovSet hidden;     /* AOVs that the film holds and the file shall not have */
    const float *denoised; /* RGBA of a layer of that name, exposed; NULL: none */
} RenderExr;

/* Means as they are written: [crop_height][crop_width][channels]; light has the exposure. */
void render_output_resolve(const Film *film, float *out_rgba);
void render_output_resolve_aov(const Film *film, FilmAov aov, float *out_values);

/* Both multiply light by the shot's exposure. */

/* RGBA as half, AOVs as float layers, and as metadata the camera and what made the picture, by the names that OpenEXR
 * has for it. `how` may be NULL. */
Status render_output_exr(const Film *film, const char *path, const RenderExr *how,
                         Error *err) SORT_MUST_CHECK;
/* At most what its pixels take: they are compressed. */
uint64_t render_output_exr_bytes(const Film *film);
/* RGBA as floats and nothing else, rows from the bottom, for a program that shows the picture at once: the file is replaced
 * as a whole, without waiting for the disk. denoised: as in RenderExr; NULL: the film's own picture. */
Status render_output_pixels(const Film *film, const float *denoised, const char *path,
                            Error *err) SORT_MUST_CHECK;
/* A quick look: RGB through the view transform. denoised: as in RenderExr; NULL: the film's own picture. */
Status render_output_png(const Film *film, const float *denoised, const char *path,
                         const ViewTransform *view, Error *err) SORT_MUST_CHECK;

#endif
