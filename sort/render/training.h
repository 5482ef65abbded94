/* Passes over a small picture of the scene before a render, from which it learns. Their samples are not part of the picture. They are
 * a function of the scene, the settings and the size of the render, not of which part of it is rendered, so that all parts of a
 * picture, and renders that go on, learn the same. Private to sort/render. */
#ifndef SORT_RENDER_TRAINING_H
#define SORT_RENDER_TRAINING_H

#include "sort/render/render_state.h"

/* `shared` is the render's with a film, a camera and random numbers of its own, and for the view of light; what is to be learned is set
 * there. */
typedef struct Training {
    Render *render;
    WaveShared shared;
    Schedule schedule;
    Film *film;
    uint32_t width, height;
    WaveCounters counted; /* of the render, which does not count what is thrown away */
} Training;

/* Prepares a small picture of the frame with about so many pixels, whose pixels will have `samples` samples. aovs: layers of its
 * film. seed: that of the random numbers, mixed with the render's. After an error, too, training_end ends it. Errors: memory. */
Status training_begin(Training *t, Render *r, double pixels, uint32_t samples, FilmAovSet aovs,
                      uint64_t seed, Error *err) SORT_MUST_CHECK;
/* Makes the samples of a pixel of the small picture those of one pixel of the frame: what lies beside that is no noise. Splats are not
 * for such a picture. Errors: memory. */
Status training_narrow(Training *t, Error *err) SORT_MUST_CHECK;
/* Renders samples [first, end) of its pixels. STATUS_CANCELLED: the render was stopped. */
Status training_run(Training *t, uint32_t first, uint32_t end, Error *err) SORT_MUST_CHECK;
void training_end(Training *t);

/* Returns the mean channel of a pixel. */
static inline double training_brightness(const float *rgba)
{
    return ((double)rgba[0] + (double)rgba[1] + (double)rgba[2]) / 3.0;
}

/* Sorts values, for qsort. */
int training_by_value(const void *a, const void *b);
/* Returns the sum of the values, which are sorted, without the largest: one of `worst_part`. */
double training_sum_of_most(double *values, size_t count, size_t worst_part);

#endif
