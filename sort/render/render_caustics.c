/* Whether paths of light look for caustics, and how many. A small picture tells how noisy the picture is beside its caustics, and
 * paths of light by how much those would vary with them and without. What is least is error times time. */
#include "sort/render/training.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include <stdlib.h>

enum {
    /* One path of the camera for each pixel of the frame, within limits, and one path of light for each. */
    PATHS_MIN = 1 << 14,
    PATHS_MAX = 1 << 15,
    SAMPLES = 8,
    PIXELS_A_BAD_ONE = 500,
    STRIDE_MIN = 2,
    STRIDE_MAX = 16
};
/* The work of shading a point, in rays. Paths of light shade each surface up to three times. */
#define POINT_COST 1.0
/* What else it takes to know what paths of light would find, of the time without it. */
#define WEIGHING_COST 0.25
/* What nets leave of the variance of independent samples: of 64 samples 0.4 to 0.7 in the scenes of scripts/race. Caustics are rare
 * events, of which they leave nearly all. */
#define NET_PART 0.5
/* The part of error times time that has to be gained. */
#define GAIN_MIN 0.3
/* The part of the paths of light that has to find what scattering hardly finds. With flags, walks look for it otherwise; without, few
 * splats tell of rare events that most pictures do not show. */
#define SHARE_MIN (1.0 / 32.0)
/* Without flags, a trial ends early where less of its first paths do. */
#define SHARE_TO_GO_ON (0.75 * SHARE_MIN)

/* What is known of a render: variances of one sample of each pixel, relative to the pixels, and work, in rays. */
typedef struct Trial {
    double rest; /* variance of paths from the camera, as far as paths of light do not take part */
    double alone, shared; /* variance of scattering's caustics */
    double light;         /* variance of paths of light, one for each sample */
    double work;          /* for each sample without paths of light */
    double light_work;    /* for each path of light */
    double share;         /* of the paths of light */
} Trial;

/* The two pictures. */
typedef struct Pictures {
    Training camera, light;
    double *scale; /* [pixels of each] 1 / the square of its brightness */
    double *parts; /* likewise */
    float *rgba, *variance;
} Pictures;

static double pixel_count(const Render *r)
{
    const FilmDesc *frame = film_desc(r->film);
    double paths = (double)frame->width * frame->height;
    return fmin(fmax(paths, PATHS_MIN), PATHS_MAX) / SAMPLES;
}

/* Returns the middle brightness of a pixel and those around it: a bright sample must not hide in the brightness of its own pixel.
 * */
static double middle_brightness(const Pictures *p, uint32_t x, uint32_t y)
{
    enum { REACH = 2, MOST = (2 * REACH + 1) * (2 * REACH + 1) };
    const uint32_t width = p->camera.width, height = p->camera.height;
    double values[MOST];
    size_t count = 0;
    for (uint32_t v = y > REACH ? y - REACH : 0; v < height && v <= y + REACH; ++v)
        for (uint32_t u = x > REACH ? x - REACH : 0; u < width && u <= x + REACH; ++u)
            values[count++] = fabs(training_brightness(p->rgba + 4 * ((size_t)v * width + u)));
    ASSERT(count > 0 && count <= MOST);
    qsort(values, count, sizeof *values, training_by_value);
    return values[count / 2];
}

/* Dark pixels count as if they had half of the mean. */
static void find_scales(const Pictures *p)
{
    const uint32_t width = p->camera.width, height = p->camera.height;
    double mean = 0.0, pixels = (double)width * height;
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x) {
            double here = middle_brightness(p, x, y);
            p->scale[(size_t)y * width + x] = here;
            mean += here / pixels;
        }
    for (size_t i = 0; i < (size_t)width * height; ++i) {
        double square = p->scale[i] * p->scale[i] + 0.25 * mean * mean;
        p->scale[i] = square > 0.0 ? 1.0 / square : 0.0;
    }
}

/* Returns the work in rays. */
static double work_of(const WaveCounters *c)
{
    return (double)c->rays + (double)c->shadow_rays + POINT_COST * (double)c->shade.points;
}

/* Renders samples [first, end) of a picture. *out_counts: what they took. */
static Status run(Training *t, uint32_t first, uint32_t end, WaveCounters *out_counts, Error *err)
{
    const WaveCounters before = t->render->stats.wave, *after = &t->render->stats.wave;
    TRY(training_run(t, first, end, err));
    *out_counts = (WaveCounters){.paths = after->paths - before.paths,
                                 .rays = after->rays - before.rays,
                                 .shadow_rays = after->shadow_rays - before.shadow_rays,
                                 .caustic_paths = after->caustic_paths - before.caustic_paths,
                                 .caustics_found = after->caustics_found - before.caustics_found,
                                 .shade.points = after->shade.points - before.shade.points};
    return STATUS_OK;
}

/* Returns the variance of paths from the camera but for the worst pixels, whose bright samples others would not have. */
static double rest_of(Pictures *p, size_t pixels)
{
    ASSERT(pixels > 0);
    for (size_t i = 0; i < pixels; ++i)
        p->parts[i] = SAMPLES * p->scale[i] * (double)p->variance[i];
    return training_sum_of_most(p->parts, pixels, PIXELS_A_BAD_ONE);
}

/* Adds part k of the paths of light, of which film_resolve tells the sum of those so far. */
static void add_part(Pictures *p, size_t pixels, uint32_t k, double parts[3][SAMPLES],
                     double sums[3])
{
    film_resolve(p->light.film, p->rgba);
    for (size_t c = 0; c < 3; ++c) {
        double sum = 0.0;
        for (size_t i = 0; i < pixels; ++i)
            sum += (k + 1) * p->scale[i] * (double)p->rgba[4 * i + c];
        parts[c][k] = sum - sums[c];
        sums[c] = sum;
    }
}

/* Sets what caustics vary by, once the first part of the paths of light is there. Few paths of light tell of light that scattering
 * meets once in very many renders: of the means over parts of the paths the middle one is what most renders show. *counts: what all
 * parts took. */
static Status find_noise(Pictures *p, size_t pixels, Trial *out, WaveCounters *counts, Error *err)
{
    double parts[3][SAMPLES], sums[3] = {0.0};
    add_part(p, pixels, 0, parts, sums);
    for (uint32_t k = 1; k < SAMPLES; ++k) {
        WaveCounters of_part;
        TRY(run(&p->light, k, k + 1, &of_part, err));
        wave_counters_add(counts, &of_part);
        add_part(p, pixels, k, parts, sums);
    }
    for (size_t c = 0; c < 3; ++c)
        qsort(parts[c], SAMPLES, sizeof *parts[c], training_by_value);
    out->alone = CAUSTIC_STRIDE_TRIED * parts[0][SAMPLES / 2];
    out->shared = CAUSTIC_STRIDE_TRIED * parts[1][SAMPLES / 2];
    out->light = parts[2][SAMPLES / 2];
    return STATUS_OK;
}

static double share_of(const WaveCounters *light)
{
    return (double)light->caustics_found / fmax((double)light->caustic_paths, 1.0);
}

/* *out_ends_early: all but out->share is unknown. */
static Status look(Render *r, Pictures *p, Trial *out, bool *out_ends_early, Error *err)
{
    const FilmAovSet variance = FILM_AOV_BIT(FILM_AOV_VARIANCE);
    WaveCounters camera, light;
    TRY(training_begin(&p->camera, r, pixel_count(r), SAMPLES, variance, 0x63617573746963, err));
    TRY(training_begin(&p->light, r, pixel_count(r), SAMPLES, 0, 0x6c6967687473, err));
    TRY(training_narrow(&p->camera, err));
    p->camera.shared.caustic_emission = p->light.shared.caustic_emission = r->caustic_emission;
    p->camera.shared.caustic_stride = CAUSTIC_STRIDE_TRIED;
    p->light.shared.caustic_stride = 0;
    size_t pixels = (size_t)p->camera.width * p->camera.height;
    TRY(run(&p->light, 0, 1, &light, err));
    out->share = share_of(&light);
    *out_ends_early = !r->has_flagged_casters && out->share < SHARE_TO_GO_ON;
    if (*out_ends_early)
        return STATUS_OK;
    p->scale = MEM_ARRAY(double, pixels);
    p->rgba = MEM_ARRAY(float, 4 * pixels);
    p->variance = MEM_ARRAY(float, pixels);
    p->parts = MEM_ARRAY(double, pixels);
    if (!p->parts || !p->scale || !p->rgba || !p->variance)
        return error_set(err, STATUS_NO_MEMORY, "out of memory looking for caustics");
    TRY(run(&p->camera, 0, SAMPLES, &camera, err));
    film_resolve(p->camera.film, p->rgba);
    film_resolve_aov(p->camera.film, FILM_AOV_VARIANCE, p->variance);
    find_scales(p);
    out->rest = NET_PART * rest_of(p, pixels);
    TRY(find_noise(p, pixels, out, &light, err));
    double paths = fmax((double)light.caustic_paths, 1.0);
    out->share = share_of(&light);
    out->light_work = work_of(&light) / paths;
    out->work = (work_of(&camera) - work_of(&light) * (double)camera.caustic_paths / paths) /
                fmax((double)camera.paths, 1.0);
    return STATUS_OK;
}

static Status measure(Render *r, Trial *out, bool *out_ends_early, Error *err)
{
    Pictures p = {.scale = NULL};
    *out = (Trial){.rest = 0.0};
    Status status = look(r, &p, out, out_ends_early, err);
    training_end(&p.light);
    training_end(&p.camera);
    mem_free(p.scale);
    mem_free(p.parts);
    mem_free(p.rgba);
    mem_free(p.variance);
    return status;
}

/* Returns for which stride error times time is least. */
static uint32_t best_stride(const Trial *t)
{
    double stride = sqrt((t->rest + t->shared) * t->light_work / (t->work * t->light));
    return stride >= STRIDE_MIN ? (uint32_t)fmin(stride, STRIDE_MAX) : STRIDE_MIN;
}

/* Returns error times time as a part of what it is without paths of light. */
static double product(const Trial *t, uint32_t stride)
{
    double error = t->rest + t->shared + t->light * stride;
    double time = t->work * (1.0 + WEIGHING_COST) + t->light_work / stride;
    return error * time / ((t->rest + t->alone) * t->work);
}

Status render_try_caustics(Render *r, Error *err)
{
    Trial trial;
    bool ends_early;
    uint64_t start = clock_now_ns();
    r->shared.caustic_emission = r->caustic_emission;
    if (!r->caustic_emission || r->options.strategy == WAVE_STRATEGY_BSDFS)
        return STATUS_OK;
    render_announce(r, "looking for caustics");
    TRY(measure(r, &trial, &ends_early, err));
    r->shared.caustic_stride = ends_early ? STRIDE_MAX : best_stride(&trial);
    double gain = ends_early ? 0.0 : 1.0 - product(&trial, r->shared.caustic_stride);
    r->stats.caustics = (RenderCausticStats){clock_seconds_since(start), trial.share, gain,
                                             r->shared.caustic_stride};
    bool is_worth = trial.share >= SHARE_MIN;
    if (!r->has_flagged_casters)
        is_worth = (is_worth && gain >= GAIN_MIN) || r->settings.caustics == SCENE_CAUSTICS_ALL;
    if (!is_worth)
        r->shared.caustic_emission = NULL;
    return STATUS_OK;
}
