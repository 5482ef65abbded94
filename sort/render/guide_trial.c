#include "sort/render/guide_trial.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/render/training.h"

enum {
    /* Paths of a picture: one for four pixels of the frame, within limits. */
    PIXELS_A_PATH = 4,
    PATHS_MIN = 1 << 15,
    PATHS_MAX = 1 << 16,
    /* Samples of a pixel: nets make them the better the more there are, and guided directions less. */
    SAMPLES = 128,
    FIRST_SAMPLES = 16,
    WORST_PART = 100 /* one of so many pixels is left out */
};
/* The part of the error of the first samples above which a trial ends with them. */
#define LEFT_TO_GO_ON 0.85

/* The pictures: with the field and without, twice each. */
typedef enum Arm { GUIDED, UNGUIDED, ARMS } Arm;

typedef struct Pictures {
    Training of[ARMS][2];
    float *rgba[ARMS][2]; /* [pixels] */
    double *parts;        /* [pixels] */
    size_t pixels;
} Pictures;

static Status no_memory(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory trying path guiding");
}

static Status begin_picture(Render *r, Pictures *p, Arm arm, uint32_t which, Error *err)
{
    Training *t = &p->of[arm][which];
    ASSERT(arm < ARMS && which < 2);
    const FilmDesc *frame = film_desc(r->film);
    double paths = (double)frame->width * frame->height / PIXELS_A_PATH;
    paths = fmin(fmax(paths, PATHS_MIN), PATHS_MAX);
    TRY(training_begin(t, r, paths / SAMPLES, SAMPLES, 0, 0x747269616c + which, err));
    t->shared.caustic_emission = r->shared.caustic_emission;
    if (!t->shared.caustic_emission) /* there are no splats */
        TRY(training_narrow(t, err));
    p->pixels = (size_t)t->width * t->height;
    p->rgba[arm][which] = MEM_ARRAY(float, 4 * p->pixels);
    return p->rgba[arm][which] ? STATUS_OK : no_memory(err);
}

static Status begin_pictures(Render *r, const GuideField *field, Pictures *p, Error *err)
{
    for (uint32_t a = 0; a < ARMS; ++a)
        for (uint32_t k = 0; k < 2; ++k) {
            TRY(begin_picture(r, p, a, k, err));
            p->of[a][k].shared.guide = a == GUIDED ? field : NULL;
        }
    p->parts = MEM_ARRAY(double, p->pixels);
    return p->parts ? STATUS_OK : no_memory(err);
}

static Status go_on(Pictures *p, uint32_t first, uint32_t end, Error *err)
{
    for (uint32_t a = 0; a < ARMS; ++a)
        for (uint32_t k = 0; k < 2; ++k) {
            TRY(training_run(&p->of[a][k], first, end, err));
            film_resolve(p->of[a][k].film, p->rgba[a][k]);
        }
    return STATUS_OK;
}

static void end_pictures(Pictures *p)
{
    for (uint32_t a = 0; a < ARMS; ++a)
        for (uint32_t k = 0; k < 2; ++k) {
            if (p->of[a][k].render)
                training_end(&p->of[a][k]);
            mem_free(p->rgba[a][k]);
        }
    mem_free(p->parts);
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

/* Returns what the field leaves of the error. */
static double error_left(Pictures *p)
{
    double mean = 0.0;
    for (size_t i = 0; i < p->pixels; ++i)
        mean += mean_at(p, i) / (double)p->pixels;
    double without = difference(p, UNGUIDED, mean), with = difference(p, GUIDED, mean);
    return without > 0.0 ? with / without : 1.0;
}

static Status compare(Pictures *p, double *out_left, Error *err)
{
    TRY(go_on(p, 0, FIRST_SAMPLES, err));
    *out_left = error_left(p);
    if (*out_left > LEFT_TO_GO_ON)
        return STATUS_OK;
    TRY(go_on(p, FIRST_SAMPLES, SAMPLES, err));
    *out_left = error_left(p);
    return STATUS_OK;
}

Status guide_trial(Render *r, const GuideField *field, double *out_left, Error *err)
{
    Pictures p = {.pixels = 0};
    Status status = begin_pictures(r, field, &p, err);
    if (status == STATUS_OK)
        status = compare(&p, out_left, err);
    end_pictures(&p);
    return status;
}
