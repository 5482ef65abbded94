#include "sort/render/guide_trial.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/render/training.h"

enum {
    /* Paths of a picture: one of so many of the render, within limits. */
    PATHS_A_TRIED_PATH = 400,
    PATHS_MIN = 1 << 13,
    PATHS_MAX = 1 << 16,
    /* Samples of a pixel: those of the render, which nets make the better the more there are, up to so many. */
    SAMPLES_MAX = 128,
    WORST_PART = 100 /* one of so many pixels is left out */
};

/* The pictures: with the field and without, twice each. */
typedef enum Arm { GUIDED, UNGUIDED, ARMS } Arm;

typedef struct Pictures {
    size_t pixels;
    float *rgba[ARMS][2];
    double *parts; /* [pixels] */
} Pictures;

static Status render_one(Render *r, const GuideField *field, uint32_t which, Pictures *p,
                         float **out_rgba, Error *err)
{
    Training t;
    const FilmDesc *frame = film_desc(r->film);
    const uint32_t samples = r->samples < SAMPLES_MAX ? r->samples : SAMPLES_MAX;
    double paths = (double)frame->width * frame->height * r->samples / PATHS_A_TRIED_PATH;
    paths = fmin(fmax(paths, PATHS_MIN), PATHS_MAX);
    Status status = training_begin(&t, r, paths / samples, samples, 0, 0x747269616c + which, err);
    t.shared.guide = field;
    t.shared.caustic_emission = r->shared.caustic_emission;
    if (status == STATUS_OK && !t.shared.caustic_emission) /* there are no splats */
        status = training_narrow(&t, err);
    if (status == STATUS_OK) {
        p->pixels = (size_t)t.width * t.height;
        *out_rgba = MEM_ARRAY(float, 4 * p->pixels);
        if (!*out_rgba)
            status = error_set(err, STATUS_NO_MEMORY, "out of memory trying path guiding");
    }
    if (status == STATUS_OK)
        status = training_run(&t, 0, samples, err);
    if (status == STATUS_OK)
        film_resolve(t.film, *out_rgba);
    training_end(&t);
    return status;
}

static double mean_at(const Pictures *p, size_t pixel)
{
    double sum = 0.0;
    for (uint32_t a = 0; a < ARMS; ++a)
        for (uint32_t k = 0; k < 2; ++k)
            sum += fabs(training_brightness(p->rgba[a][k] + 4 * pixel));
    return sum / (2.0 * ARMS);
}

/* Returns the sum over the pixels, but for the worst, of squared differences of the two pictures, relative to the pixels. Dark pixels
 * count as if they had half of the mean. */
static double difference(Pictures *p, Arm arm, double mean)
{
    ASSERT(p->pixels > 0 && p->rgba[arm][0] && p->rgba[arm][1]);
    for (size_t i = 0; i < p->pixels; ++i) {
        double here = mean_at(p, i), square = here * here + 0.25 * mean * mean, d2 = 0.0;
        for (size_t c = 0; c < 3; ++c) {
            double d = (double)p->rgba[arm][0][4 * i + c] - (double)p->rgba[arm][1][4 * i + c];
            d2 += d * d;
        }
        p->parts[i] = square > 0.0 ? d2 / square : 0.0;
    }
    return training_sum_of_most(p->parts, p->pixels, WORST_PART);
}

static Status compare(Pictures *p, double *out_left, Error *err)
{
    double mean = 0.0;
    p->parts = MEM_ARRAY(double, p->pixels);
    if (!p->parts)
        return error_set(err, STATUS_NO_MEMORY, "out of memory trying path guiding");
    for (size_t i = 0; i < p->pixels; ++i)
        mean += mean_at(p, i) / (double)p->pixels;
    double without = difference(p, UNGUIDED, mean), with = difference(p, GUIDED, mean);
    *out_left = without > 0.0 ? with / without : 1.0;
    return STATUS_OK;
}

Status guide_trial(Render *r, const GuideField *field, double *out_left, Error *err)
{
    Pictures p = {.pixels = 0};
    Status status = STATUS_OK;
    for (uint32_t a = 0; status == STATUS_OK && a < ARMS; ++a)
        for (uint32_t k = 0; status == STATUS_OK && k < 2; ++k)
            status = render_one(r, a == GUIDED ? field : NULL, k, &p, &p.rgba[a][k], err);
    if (status == STATUS_OK)
        status = compare(&p, out_left, err);
    for (uint32_t a = 0; a < ARMS; ++a)
        for (uint32_t k = 0; k < 2; ++k)
            mem_free(p.rgba[a][k]);
    mem_free(p.parts);
    return status;
}
