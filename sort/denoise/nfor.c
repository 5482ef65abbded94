#include "sort/denoise/nfor.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "sort/denoise/fireflies.h"
#include "sort/denoise/nfor_planes.h"
#include "sort/wide/wide.h"
#include <stdatomic.h>
#include <string.h>

enum { EVEN, ODD, HALVES };

/* The planes of a picture under way. Arrays of planes lie one behind the other. */
typedef struct Nfor {
    const NforInput *in;
    NforGrid g;
    const NforCode *code;
    float *all;                              /* owned */
    float *hole;                             /* 0, or NFOR_FAR */
    float *color[HALVES], *variance[HALVES]; /* [3] each */
    float *guide[HALVES], *guide_variance;   /* [NFOR_GUIDES] each; of a half */
    float *feature[HALVES]; /* [NFOR_GUIDES] each; filtered, then [EVEN] is the mean of both */
    float *fit[HALVES][NFOR_BANDWIDTHS]; /* [4] each: sums of colour and weight, then colour */
    float *error[NFOR_BANDWIDTHS], *spare;
    NforScratch *scratch; /* owned: [thread_count] */
    uint32_t thread_count;
} Nfor;

enum {
    PLANES = 1 + HALVES * 6 + (2 * HALVES + 1) * NFOR_GUIDES + HALVES * NFOR_BANDWIDTHS * 4 +
             NFOR_BANDWIDTHS + 1
};

/* Bandwidths, in units of the noise; in [Bitterli2016 sec. 5.2] they are 0.5 and 1. */
static const float bandwidths[NFOR_BANDWIDTHS] = {0.6f, 1.2f};

/* Values that differ by less, relative to their size, count as equal; so no variance is 0. */
#define EQUAL 1e-4f
#define TINY  1e-20f

static float *plane_of(const Nfor *n, float *planes, uint32_t index)
{
    return planes + index * n->g.float_count;
}

static size_t pixel_at(const Nfor *n, uint32_t x, uint32_t y)
{
    return nfor_at(&n->g, (int32_t)x, (int32_t)y);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What is larger is no light. Squares of differences of what is less are finite. */
#define HUGE_NUMBER 1e15f
/* Variance of pixels that take no part: whatever they are compared with is not unlike them. */
#define UNKNOWN (HUGE_NUMBER * HUGE_NUMBER)

static bool are_less(const float *values, uint32_t count, float most)
{
    bool all = true;
    for (uint32_t c = 0; c < count; ++c)
        all &= fabsf(values[c]) < most;
    return all;
}

static bool takes_part(const NforInput *in, size_t i)
{
    const float *const guides[] = {in->albedo, in->normal, in->odd_albedo, in->odd_normal};
    bool takes =
        in->even[4 * i + 3] > 0.0f && in->odd[4 * i + 3] > 0.0f &&
        are_less(in->even + 4 * i, 4, HUGE_NUMBER) && are_less(in->odd + 4 * i, 4, HUGE_NUMBER) &&
        are_less(in->variance + i, 1, UNKNOWN) && are_less(in->depth + i, 1, HUGE_NUMBER) &&
        are_less(in->odd_depth + i, 1, HUGE_NUMBER) &&
        (!in->light || are_less(in->light + 3 * i, 3, HUGE_NUMBER));
    for (size_t k = 0; k < SORT_COUNT_OF(guides); ++k)
        takes &= are_less(guides[k] + 3 * i, 3, HUGE_NUMBER);
    return takes;
}

/* A surface without end is a line in the picture as far as 1 / distance goes. */
static float nearness(float depth)
{
    return depth > 0.0f && depth < 1e10f ? 1.0f / depth : 0.0f;
}

/* Sets a guide of both halves from its means over all and over the odd samples. part: of the samples, that are odd. */
static void set_guide(const Nfor *n, uint32_t guide, size_t at, float all, float odd, float part)
{
    plane_of(n, n->guide[ODD], guide)[at] = odd;
    plane_of(n, n->guide[EVEN], guide)[at] = (all - part * odd) / (1.0f - part);
}

/* Returns the brightness that differs between the halves, scaled as said. */
static float halves_apart(const NforInput *in, size_t i, float even_scale, float odd_scale)
{
    float sum = 0.0f;
    for (uint32_t c = 0; c < 3; ++c)
        sum += fabsf(even_scale * in->even[4 * i + c] - odd_scale * in->odd[4 * i + c]);
    return sum;
}

static void read_colors(const Nfor *n, uint32_t x, uint32_t y, size_t i, size_t at)
{
    const NforInput *in = n->in;
    const FireflyPicture picture = {{in->even, in->odd}, in->width, in->height};
    float even = firefly_scale(&picture, EVEN, x, y), odd = firefly_scale(&picture, ODD, x, y);
    for (uint32_t c = 0; c < 3; ++c) {
        plane_of(n, n->color[EVEN], c)[at] = even * in->even[4 * i + c];
        plane_of(n, n->color[ODD], c)[at] = odd * in->odd[4 * i + c];
    }
    /* What was cut was the noise, too. */
    bool is_cut = even < 1.0f || odd < 1.0f;
    float left = is_cut ? halves_apart(in, i, even, odd) / halves_apart(in, i, 1.0f, 1.0f) : 1.0f;
    n->spare[at] = in->variance[i] * left * left;
}

static void read_guides(const Nfor *n, size_t i, size_t at)
{
    const NforInput *in = n->in;
    float even = in->even[4 * i + 3], odd = in->odd[4 * i + 3], part = odd / (even + odd);
    for (uint32_t c = 0; c < 3; ++c) {
        set_guide(n, c, at, in->albedo[3 * i + c], in->odd_albedo[3 * i + c], part);
        set_guide(n, 3 + c, at, in->normal[3 * i + c], in->odd_normal[3 * i + c], part);
    }
    set_guide(n, 6, at, nearness(in->depth[i]), nearness(in->odd_depth[i]), part);
}

static void read_row(void *data, uint32_t y)
{
    const Nfor *n = data;
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t i = (size_t)y * n->in->width + x, at = pixel_at(n, x, y);
        bool is_hole = !takes_part(n->in, i);
        n->hole[at] = is_hole ? NFOR_FAR : 0.0f;
        if (is_hole)
            continue;
        read_colors(n, x, y, i, at);
        read_guides(n, i, at);
    }
}

/* Everything outside the picture is a hole. */
static void close_border(Nfor *n)
{
    for (size_t i = 0; i < n->g.float_count; ++i)
        n->hole[i] = NFOR_FAR;
}

/* --- variances -------------------------------------------------------------------------------- */

/* The squared difference of both halves tells the variance of the mean without bias, but by two numbers alone; the samples'
 * own variance tells it by all, but of luminance, and as if they were independent. So the latter is scaled by the ratio of
 * the two around the pixel [Rousselle2012 sec. 5.1]. */
typedef struct VarianceWork {
    const Nfor *n;
    const float *sampled; /* of the mean luminance */
    const float *sampled_around;
    float *around[3]; /* the squares of the halves' difference, then their means */
} VarianceWork;

static float share(const NforInput *in, size_t i, uint32_t half)
{
    float even = in->even[4 * i + 3], odd = in->odd[4 * i + 3];
    return (half == ODD ? odd : even) / (even + odd);
}

static void set_squares(void *data, uint32_t y)
{
    const VarianceWork *w = data;
    const Nfor *n = w->n;
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t i = (size_t)y * n->in->width + x, at = pixel_at(n, x, y);
        float scale = n->hole[at] > 0.0f ? 0.0f : share(n->in, i, EVEN) * share(n->in, i, ODD);
        for (uint32_t c = 0; c < 3; ++c) {
            float d = plane_of(n, n->color[EVEN], c)[at] - plane_of(n, n->color[ODD], c)[at];
            w->around[c][at] = d * d * scale;
        }
    }
}

static void set_variances(void *data, uint32_t y)
{
    const VarianceWork *w = data;
    const Nfor *n = w->n;
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t i = (size_t)y * n->in->width + x, at = pixel_at(n, x, y);
        for (uint32_t c = 0; c < 3 && n->hole[at] > 0.0f; ++c)
            plane_of(n, n->variance[EVEN], c)[at] = plane_of(n, n->variance[ODD], c)[at] = UNKNOWN;
        for (uint32_t c = 0; c < 3 && n->hole[at] == 0.0f; ++c) {
            float even = plane_of(n, n->color[EVEN], c)[at],
                  odd = plane_of(n, n->color[ODD], c)[at];
            float mean = share(n->in, i, EVEN) * even + share(n->in, i, ODD) * odd;
            float around = w->around[c][at], sampled = w->sampled_around[at];
            float v = sampled > 0.0f ? w->sampled[at] * (around / sampled) : around;
            float floor = EQUAL * EQUAL * mean * mean + TINY;
            for (uint32_t half = 0; half < HALVES; ++half)
                plane_of(n, n->variance[half], c)[at] = v / share(n->in, i, half) + floor;
        }
    }
}

enum { VARIANCE_RADIUS = 1 };

/* The samples' variance lies in `spare`. Other planes are free until later. */
static void estimate_variances(Nfor *n)
{
    float *sampled = n->fit[0][0], *around = plane_of(n, sampled, 1);
    float *squares = n->fit[0][1], *spare = n->fit[1][0];
    VarianceWork work = {
        n, sampled, around, {squares, plane_of(n, squares, 1), plane_of(n, squares, 2)}};
    memcpy(sampled, n->spare, n->g.float_count * sizeof *sampled);
    memcpy(around, n->spare, n->g.float_count * sizeof *around);
    nfor_each_row(&n->g, n->thread_count, set_squares, &work);
    nfor_blur(&n->g, around, spare, VARIANCE_RADIUS, n->thread_count);
    for (uint32_t c = 0; c < 3; ++c)
        nfor_blur(&n->g, work.around[c], spare, VARIANCE_RADIUS, n->thread_count);
    nfor_each_row(&n->g, n->thread_count, set_variances, &work);
}

typedef struct GuideWork {
    const Nfor *n;
    uint32_t guide;
} GuideWork;

static void set_guide_squares(void *data, uint32_t y)
{
    const GuideWork *w = data;
    const Nfor *n = w->n;
    const float *even = plane_of(n, n->guide[EVEN], w->guide);
    const float *odd = plane_of(n, n->guide[ODD], w->guide);
    float *to = plane_of(n, n->guide_variance, w->guide);
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t at = pixel_at(n, x, y);
        float d = even[at] - odd[at];
        to[at] = 0.5f * d * d;
    }
}

static void add_guide_floor(void *data, uint32_t y)
{
    const GuideWork *w = data;
    const Nfor *n = w->n;
    const float *even = plane_of(n, n->guide[EVEN], w->guide);
    float *to = plane_of(n, n->guide_variance, w->guide);
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t at = pixel_at(n, x, y);
        float scale = w->guide == NFOR_GUIDES - 1 ? even[at] : 1.0f;
        to[at] += EQUAL * EQUAL * scale * scale + TINY + (n->hole[at] > 0.0f ? UNKNOWN : 0.0f);
    }
}

static void estimate_guide_variances(Nfor *n)
{
    for (uint32_t k = 0; k < NFOR_GUIDES; ++k) {
        GuideWork work = {n, k};
        float *plane = plane_of(n, n->guide_variance, k);
        nfor_each_row(&n->g, n->thread_count, set_guide_squares, &work);
        nfor_blur(&n->g, plane, n->spare, 1, n->thread_count);
        nfor_each_row(&n->g, n->thread_count, add_guide_floor, &work);
    }
}

/* --- tiles ------------------------------------------------------------------------------------ */

/* What is done to all tiles of a phase; each worker takes the next one. */
typedef struct TileWork {
    const Nfor *n;
    void (*run)(const struct TileWork *work, uint32_t tile_x, uint32_t tile_y,
                NforScratch *scratch);
    const void *task;
    float *const *fit;   /* [NFOR_BANDWIDTHS], of regressions */
    uint32_t step, x, y; /* of the phase: tiles (x + i step, y + k step) */
    _Atomic uint32_t next;
} TileWork;

static uint32_t steps_to(uint32_t count, uint32_t from, uint32_t step)
{
    return count > from ? (count - from + step - 1) / step : 0;
}

static void run_worker(void *data, uint32_t index)
{
    TileWork *w = data;
    const NforGrid *g = &w->n->g;
    uint32_t columns = steps_to(g->tiles_x, w->x, w->step);
    uint32_t count = columns * steps_to(g->tiles_y, w->y, w->step);
    thread_flush_denormals();
    for (uint32_t i; (i = atomic_fetch_add(&w->next, 1)) < count;)
        w->run(w, w->x + i % columns * w->step, w->y + i / columns * w->step,
               &w->n->scratch[index]);
}

static void run_phase(TileWork *w)
{
    atomic_store(&w->next, 0);
    parallel_for(w->n->thread_count, w->n->thread_count, run_worker, w);
}

static void run_mean(const TileWork *w, uint32_t tile_x, uint32_t tile_y, NforScratch *scratch)
{
    w->n->code->mean(&w->n->g, w->task, (int32_t)(tile_x * NFOR_TILE_WIDTH),
                     (int32_t)(tile_y * NFOR_TILE_HEIGHT), scratch);
}

static void filter(const Nfor *n, const NforMean *mean)
{
    TileWork work = {.n = n, .run = run_mean, .task = mean, .step = 1};
    run_phase(&work);
}

/* Adds a tile's predictions to the planes. */
static void add_predictions(const NforGrid *g, int32_t x, int32_t y,
                            float out[4][NFOR_OUT_HEIGHT][NFOR_OUT_WIDTH], float *planes)
{
    int32_t left = x - NFOR_RADIUS, top = y - NFOR_RADIUS;
    int32_t first = left < 0 ? -left : 0;
    int32_t end = NFOR_TILE_WIDTH + 2 * NFOR_RADIUS;
    if (end > (int32_t)g->width - left)
        end = (int32_t)g->width - left;
    for (uint32_t k = 0; k < 4; ++k)
        for (int32_t r = 0; r < NFOR_OUT_HEIGHT; ++r) {
            if (top + r < 0 || top + r >= (int32_t)g->height)
                continue;
            float *to = planes + k * g->float_count + nfor_at(g, 0, top + r) + left;
            for (int32_t c = first; c < end; ++c)
                to[c] += out[k][r][c];
        }
}

static void run_regression(const TileWork *w, uint32_t tile_x, uint32_t tile_y,
                           NforScratch *scratch)
{
    int32_t x = (int32_t)(tile_x * NFOR_TILE_WIDTH), y = (int32_t)(tile_y * NFOR_TILE_HEIGHT);
    w->n->code->regress(&w->n->g, w->task, x, y, scratch);
    for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
        add_predictions(&w->n->g, x, y, scratch->out[b], w->fit[b]);
}

/* In four phases, so that no two tiles under way predict a pixel in common, and each pixel adds in one order. */
static void regress(const Nfor *n, const NforRegression *regression, float *const *fit)
{
    TileWork work = {.n = n, .run = run_regression, .task = regression, .fit = fit, .step = 2};
    for (uint32_t phase = 0; phase < 4; ++phase) {
        work.x = phase & 1;
        work.y = phase >> 1;
        run_phase(&work);
    }
}

/* --- features --------------------------------------------------------------------------------- */

enum { GUIDE_RADIUS = 5, GUIDE_PATCH_RADIUS = 3 };
#define GUIDE_BANDWIDTH 0.5f

/* The guides of each half, filtered by the weights of the other, which noise in the former cannot deceive. */
static void filter_guides(const Nfor *n)
{
    static const uint32_t groups[][2] = {{0, 3}, {3, 3}, {6, 1}}; /* first, and how many */
    ASSERT(6 + 1 == NFOR_GUIDES);
    for (uint32_t half = 0; half < HALVES; ++half)
        for (size_t k = 0; k < SORT_COUNT_OF(groups); ++k) {
            NforMean mean = {.look = {.channel_count = groups[k][1],
                                      .hole = n->hole,
                                      .radius = GUIDE_RADIUS,
                                      .patch_radius = GUIDE_PATCH_RADIUS},
                             .bandwidth = GUIDE_BANDWIDTH};
            for (uint32_t c = 0; c < groups[k][1]; ++c) {
                uint32_t guide = groups[k][0] + c;
                mean.look.value[c] = plane_of(n, n->guide[!half], guide);
                mean.look.variance[c] = plane_of(n, n->guide_variance, guide);
                mean.from[c] = plane_of(n, n->guide[half], guide);
                mean.to[c] = plane_of(n, n->feature[half], guide);
            }
            filter(n, &mean);
        }
}

static void mix_features_row(void *data, uint32_t y)
{
    const Nfor *n = data;
    for (uint32_t k = 0; k < NFOR_GUIDES; ++k) {
        float *even = plane_of(n, n->feature[EVEN], k) + pixel_at(n, 0, y);
        const float *odd = plane_of(n, n->feature[ODD], k) + pixel_at(n, 0, y);
        for (uint32_t x = 0; x < n->in->width; ++x)
            even[x] = 0.5f * (even[x] + odd[x]);
    }
}

/* --- fits ------------------------------------------------------------------------------------- */

static void divide_fits_row(void *data, uint32_t y)
{
    const Nfor *n = data;
    for (uint32_t half = 0; half < HALVES; ++half)
        for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
            for (uint32_t x = 0; x < n->in->width; ++x) {
                size_t at = pixel_at(n, x, y);
                float weight = plane_of(n, n->fit[half][b], 3)[at];
                for (uint32_t c = 0; c < 3; ++c) {
                    float *color = plane_of(n, n->fit[half][b], c) + at;
                    *color = weight > 0.0f ? *color / weight : plane_of(n, n->color[half], c)[at];
                }
            }
}

/* Fits the colours of each half by the weights of the other. */
static void fit_halves(Nfor *n)
{
    memset(n->fit[EVEN][0], 0,
           (size_t)HALVES * NFOR_BANDWIDTHS * 4 * n->g.float_count * sizeof(float));
    for (uint32_t half = 0; half < HALVES; ++half) {
        NforRegression regression = {.look = {.channel_count = 3,
                                              .hole = n->hole,
                                              .radius = NFOR_RADIUS,
                                              .patch_radius = NFOR_PATCH_RADIUS}};
        memcpy(regression.bandwidth, bandwidths, sizeof bandwidths);
        for (uint32_t c = 0; c < 3; ++c) {
            regression.look.value[c] = plane_of(n, n->color[!half], c);
            regression.look.variance[c] = plane_of(n, n->variance[!half], c);
            regression.color[c] = plane_of(n, n->color[half], c);
        }
        for (uint32_t k = 0; k < NFOR_GUIDES; ++k)
            regression.guide[k] = plane_of(n, n->feature[EVEN], k);
        regress(n, &regression, n->fit[half]);
    }
    nfor_each_row(&n->g, n->thread_count, divide_fits_row, n);
}

/* --- choice ----------------------------------------------------------------------------------- */

/* The squared error of a fit, estimated without bias by the other half, of which its noise is taken away; relative to the
 * brightness. */
static float error_at(const Nfor *n, uint32_t b, size_t at)
{
    float error = 0.0f;
    for (uint32_t c = 0; c < 3; ++c) {
        float scale = TINY;
        for (uint32_t half = 0; half < HALVES; ++half)
            scale += plane_of(n, n->fit[half][0], c)[at] * plane_of(n, n->fit[half][0], c)[at] +
                     plane_of(n, n->variance[half], c)[at];
        for (uint32_t half = 0; half < HALVES; ++half) {
            float d = plane_of(n, n->fit[half][b], c)[at] - plane_of(n, n->color[!half], c)[at];
            error += (d * d - plane_of(n, n->variance[!half], c)[at]) / scale;
        }
    }
    return error;
}

static void set_errors_row(void *data, uint32_t y)
{
    const Nfor *n = data;
    for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
        for (uint32_t x = 0; x < n->in->width; ++x) {
            size_t at = pixel_at(n, x, y);
            n->error[b][at] = n->hole[at] > 0.0f ? 0.0f : error_at(n, b, at);
        }
}

/* The errors become shares: 1 for the least one. */
static void choose_row(void *data, uint32_t y)
{
    const Nfor *n = data;
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t at = pixel_at(n, x, y);
        uint32_t best = 0;
        for (uint32_t b = 1; b < NFOR_BANDWIDTHS; ++b)
            if (n->error[b][at] < n->error[best][at])
                best = b;
        for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
            n->error[b][at] = b == best ? 1.0f : 0.0f;
    }
}

enum { ERROR_RADIUS = 3, CHOICE_RADIUS = 2 };

static void choose_bandwidths(Nfor *n)
{
    nfor_each_row(&n->g, n->thread_count, set_errors_row, n);
    for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
        nfor_blur(&n->g, n->error[b], n->spare, ERROR_RADIUS, n->thread_count);
    nfor_each_row(&n->g, n->thread_count, choose_row, n);
    for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
        nfor_blur(&n->g, n->error[b], n->spare, CHOICE_RADIUS, n->thread_count);
}

/* --- result ----------------------------------------------------------------------------------- */

typedef struct Result {
    const Nfor *n;
    float *rgb;
    uint32_t stride;
} Result;

/* Returns the mean of the fits of both halves, by the shares of bandwidths. */
static float mix_fits(const Nfor *n, size_t i, size_t at, uint32_t c)
{
    float sum = 0.0f, shares = 0.0f;
    for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b) {
        float even = plane_of(n, n->fit[EVEN][b], c)[at], odd = plane_of(n, n->fit[ODD][b], c)[at];
        sum += n->error[b][at] * (share(n->in, i, EVEN) * even + share(n->in, i, ODD) * odd);
        shares += n->error[b][at];
    }
    return sum / shares;
}

/* Returns the least that a pixel can be: below 0 only where samples are. A linear fit goes below beside black, as at edges of a
 * transparent film, and curves and logarithms of compositors make bright or empty dots of that. */
static float least_of(const Nfor *n, size_t i, uint32_t c)
{
    return minf(minf(n->in->even[4 * i + c], n->in->odd[4 * i + c]), 0.0f);
}

static void write_row(void *data, uint32_t y)
{
    const Result *r = data;
    const Nfor *n = r->n;
    for (uint32_t x = 0; x < n->in->width; ++x) {
        size_t i = (size_t)y * n->in->width + x, at = pixel_at(n, x, y);
        if (n->hole[at] > 0.0f)
            continue;
        for (uint32_t c = 0; c < 3; ++c)
            r->rgb[i * r->stride + c] = maxf(mix_fits(n, i, at, c), least_of(n, i, c)) +
                                        (n->in->light ? n->in->light[3 * i + c] : 0.0f);
    }
}

/* --- all together ----------------------------------------------------------------------------- */

static const NforCode *code_for(const NforInput *in)
{
#if defined(__x86_64__)
    static const NforCode *const codes[WIDE_CLASSES] = {&nfor_rows, &nfor_rows_v3, &nfor_rows_v4};
    ASSERT(in->cpu_class <= wide_class_here() + 1);
    return codes[in->cpu_class > 0 ? in->cpu_class - 1 : wide_class_here()];
#else
    SORT_UNUSED(in);
    return &nfor_rows;
#endif
}

static Status allocate(Nfor *n, Error *err)
{
    n->all = nfor_planes(&n->g, PLANES);
    n->scratch = mem_alloc_aligned(n->thread_count * sizeof *n->scratch, 64);
    if (!n->all || !n->scratch)
        return error_set(err, STATUS_NO_MEMORY, "no memory to denoise %u x %u pixels", n->in->width,
                         n->in->height);
    float *at = n->all;
    size_t plane = n->g.float_count;
    n->hole = at, at += plane;
    n->spare = at, at += plane;
    for (uint32_t half = 0; half < HALVES; ++half) {
        n->color[half] = at, at += 3 * plane;
        n->variance[half] = at, at += 3 * plane;
        n->guide[half] = at, at += NFOR_GUIDES * plane;
        n->feature[half] = at, at += NFOR_GUIDES * plane;
    }
    n->guide_variance = at, at += NFOR_GUIDES * plane;
    for (uint32_t half = 0; half < HALVES; ++half)
        for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b, at += 4 * plane)
            n->fit[half][b] = at;
    for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b, at += plane)
        n->error[b] = at;
    ASSERT(at == n->all + PLANES * plane);
    return STATUS_OK;
}

static bool has_pixels(const NforInput *in)
{
    for (size_t i = 0; i < (size_t)in->width * in->height; ++i)
        if (takes_part(in, i))
            return true;
    return false;
}

static void denoise(Nfor *n, float *out_rgb, uint32_t stride)
{
    uint32_t threads = n->thread_count;
    close_border(n);
    nfor_each_row(&n->g, threads, read_row, n);
    estimate_variances(n);
    estimate_guide_variances(n);
    for (uint32_t half = 0; half < HALVES; ++half) {
        nfor_extend(&n->g, n->color[half], 3, threads);
        nfor_extend(&n->g, n->variance[half], 3, threads);
        nfor_extend(&n->g, n->guide[half], NFOR_GUIDES, threads);
    }
    nfor_extend(&n->g, n->guide_variance, NFOR_GUIDES, threads);
    filter_guides(n);
    nfor_each_row(&n->g, threads, mix_features_row, n);
    nfor_extend(&n->g, n->feature[EVEN], NFOR_GUIDES, threads);
    fit_halves(n);
    choose_bandwidths(n);
    nfor_each_row(&n->g, threads, write_row, &(Result){n, out_rgb, stride});
}

Status nfor_denoise(const NforInput *input, float *out_rgb, uint32_t stride, Error *err)
{
    ASSERT(input->size_bytes == sizeof *input && stride >= 3);
    if (input->width == 0 || input->height == 0 || input->width > 65535 || input->height > 65535)
        return error_set(err, STATUS_INVALID, "a picture of %u x %u pixels cannot be denoised",
                         input->width, input->height);
    if (!has_pixels(input))
        return error_set(
            err, STATUS_INVALID,
            "no pixel has samples in both halves: denoising takes two samples or more");
    Nfor n = {.in = input, .g = nfor_grid(input->width, input->height), .code = code_for(input)};
    n.thread_count = input->thread_count ? input->thread_count : thread_cpu_count();
    Status status = allocate(&n, err);
    if (status == STATUS_OK)
        denoise(&n, out_rgb, stride);
    mem_free(n.all);
    mem_free(n.scratch);
    return status;
}
