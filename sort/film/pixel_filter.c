#include "sort/film/pixel_filter.h"

#include "base/simd.h"
#include "sort/sampling/turn.h"
#include "ssl/rt/rt.h"
#include <string.h>

typedef struct FilterKind {
    const char *name;
    float default_width_px;
} FilterKind;

static const FilterKind kinds[PIXEL_FILTER_KIND_COUNT] = {
    [PIXEL_FILTER_BLACKMAN_HARRIS] = {"blackman-harris", 1.5f},
    [PIXEL_FILTER_BOX] = {"box", 1.0f},
    [PIXEL_FILTER_GAUSSIAN] = {"gaussian", 2.0f},
};

/* Returns erf(x) for x in [0, 3], to 10 digits, by its power series. */
static double error_function(double x)
{
    double power = x, sum = 0.0;
    for (int n = 0; n < 60; ++n) {
        sum += power / (2 * n + 1);
        power *= -x * x / (n + 1);
    }
    return 2.0 / sqrt(TURN_PI) * sum;
}

/* Integral of the filter from its centre to x, both in units of the full width; 1/2 at x = 1/2. */
static double half_integral(PixelFilterKind kind, double x)
{
    switch (kind) {
    case PIXEL_FILTER_BLACKMAN_HARRIS: {
        /* 0.35875 + 0.48829 cos a + 0.14128 cos 2a + 0.01168 cos 3a, a = 2 pi x [Harris1978] */
        double a = 2.0 * TURN_PI * x;
        return x + (0.48829 * turn_unit(a).im + 0.5 * 0.14128 * turn_unit(2.0 * a).im +
                    0.01168 / 3.0 * turn_unit(3.0 * a).im) /
                       (2.0 * TURN_PI * 0.35875);
    }
    case PIXEL_FILTER_GAUSSIAN: /* three standard deviations to the edge */
        return 0.5 * error_function(6.0 * x / sqrt(2.0)) / error_function(3.0 / sqrt(2.0));
    case PIXEL_FILTER_BOX:
    case PIXEL_FILTER_KIND_COUNT:
        break;
    }
    return x;
}

float pixel_filter_value(PixelFilterKind kind, float width_px, float x)
{
    double t = (double)x / (double)width_px;
    if (fabs(t) > 0.5)
        return 0.0f;
    double density = 1.0;
    if (kind == PIXEL_FILTER_BLACKMAN_HARRIS) {
        double a = 2.0 * TURN_PI * fabs(t);
        density = 1.0 + (0.48829 * turn_unit(a).re + 0.14128 * turn_unit(2.0 * a).re +
                         0.01168 * turn_unit(3.0 * a).re) /
                            0.35875;
    } else if (kind == PIXEL_FILTER_GAUSSIAN) {
        density = (double)rt_exp((float)(-18.0 * t * t)) * 6.0 /
                  (sqrt(2.0 * TURN_PI) * error_function(3.0 / sqrt(2.0)));
    }
    return (float)(density / (double)width_px);
}

/* By bisection: once, and without care for slopes that vanish at the edge. */
static double invert(PixelFilterKind kind, double target)
{
    if (target <= 0.0)
        return 0.0;
    double low = 0.0, high = 0.5;
    for (int i = 0; i < 50; ++i) {
        double middle = 0.5 * (low + high);
        if (half_integral(kind, middle) < target)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

Status pixel_filter_init(PixelFilterKind kind, float width_px, PixelFilter *out_filter, Error *err)
{
    if ((unsigned)kind >= PIXEL_FILTER_KIND_COUNT)
        return error_set(err, STATUS_INVALID, "there is no pixel filter %d", (int)kind);
    if (width_px == 0.0f)
        width_px = kinds[kind].default_width_px;
    if (!(width_px > 0.0f && width_px <= PIXEL_FILTER_WIDTH_MAX_PX))
        return error_set(err, STATUS_INVALID, "pixel filter width %g; it must be in (0, %g]",
                         (double)width_px, (double)PIXEL_FILTER_WIDTH_MAX_PX);
    out_filter->kind = kind;
    out_filter->width_px = width_px;
    for (int i = 0; i <= PIXEL_FILTER_TABLE; ++i) {
        double target = 0.5 * (double)i / (double)PIXEL_FILTER_TABLE;
        out_filter->inverse[i] = (float)(invert(kind, target) * (double)width_px);
    }
    return STATUS_OK;
}

/* Returns the numbers of a table at four places. */
static inline f32x4 look_up(const float *table, i32x4 at)
{
    return (f32x4){table[at[0]], table[at[1]], table[at[2]], table[at[3]]};
}

void pixel_filter_sample(const PixelFilter *f, const WideRow u, WideRow out_offset_px)
{
    const f32x4 most = f32x4_splat((float)PIXEL_FILTER_TABLE);
    for (uint32_t k = 0; k < SSL_BLOCK; k += 4) {
        f32x4 side = 2.0f * f32x4_load(u + k) - 1.0f;
        f32x4 place = (f32x4)((i32x4)side & INT32_MAX) * most;
        i32x4 at = __builtin_convertvector(f32x4_select(place < most, place, most - 1.0f), i32x4);
        f32x4 part = place - __builtin_convertvector(at, f32x4);
        f32x4 low = look_up(f->inverse, at), high = look_up(f->inverse + 1, at);
        i32x4 size = (i32x4)(low + part * (high - low)) & INT32_MAX;
        f32x4_store((f32x4)(size | ((i32x4)side & INT32_MIN)), out_offset_px + k);
    }
}

const char *pixel_filter_name(PixelFilterKind kind)
{
    return (unsigned)kind < PIXEL_FILTER_KIND_COUNT ? kinds[kind].name : NULL;
}

bool pixel_filter_find(const char *name, PixelFilterKind *out_kind)
{
    for (int i = 0; i < PIXEL_FILTER_KIND_COUNT; ++i)
        if (strcmp(name, kinds[i].name) == 0) {
            *out_kind = (PixelFilterKind)i;
            return true;
        }
    return false;
}
