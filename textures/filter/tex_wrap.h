/* Maps a coordinate on one axis to the two texels that a bilinear tap blends. */
#ifndef SORT_TEXTURES_FILTER_TEX_WRAP_H
#define SORT_TEXTURES_FILTER_TEX_WRAP_H

#include "base/check.h"
#include "textures/texcache.h"

enum { TAP_FIRST_OUTSIDE = 1u, TAP_SECOND_OUTSIDE = 2u };

typedef struct AxisTap {
    uint32_t first, second; /* texels, always inside the level */
    float fraction;         /* weight of the second texel */
    /* -1 where mirroring reverses the axis; 0 where the value is constant */
    float slope_sign;
    uint32_t outside; /* TAP_*_OUTSIDE: the texel is replaced by black */
} AxisTap;

/* floor() without a library call, for |x| < 2^62. */
static inline double tap_floor(double x)
{
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

static inline double tap_limit(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* x: the coordinate in units of the whole axis, |x| <= 2^25; count: texels; wrap: not TEX_WRAP_FILE.
 * The computation uses doubles, in which x times 2^19 is far more precise than the input's floats.
 *
 * With p = x count + 1/2, the tap blends texels floor(p) - 1 and floor(p) by the fraction of p. */
static inline AxisTap axis_tap_linear(double x, uint32_t count, TexWrap wrap)
{
    ASSERT(count > 0 && wrap != TEX_WRAP_FILE && x >= -0x1p25 && x <= 0x1p25);
    AxisTap tap = {.slope_sign = 1.0f};
    double n = (double)count;
    if (SORT_UNLIKELY(wrap == TEX_WRAP_BLACK)) {
        double p = tap_limit(x * n + 0.5, -1.0, n + 1.0);
        double base = tap_floor(p);
        int32_t j = (int32_t)base;
        tap.fraction = (float)(p - base);
        tap.outside = ((uint32_t)(j - 1) >= count ? TAP_FIRST_OUTSIDE : 0u) |
                      ((uint32_t)j >= count ? TAP_SECOND_OUTSIDE : 0u);
        /* No tile is requested for a texel that is replaced by black. */
        tap.second = tap.outside & TAP_SECOND_OUTSIDE ? count - 1 : (uint32_t)j;
        tap.first = tap.outside & TAP_FIRST_OUTSIDE ? tap.second : (uint32_t)j - 1;
        if (tap.outside & TAP_SECOND_OUTSIDE)
            tap.second = tap.first;
        ASSERT(tap.outside == 3u || (tap.first < count && tap.second < count));
        return tap;
    }
    if (wrap == TEX_WRAP_MIRROR) {
        x -= 2.0 * tap_floor(0.5 * x);
        if (x > 1.0) {
            x = 2.0 - x;
            tap.slope_sign = -1.0f;
        }
    } else if (wrap == TEX_WRAP_PERIODIC && !(x >= 0.0 && x < 1.0)) {
        x -= tap_floor(x);
    }
    double p = x * n + 0.5;
    if (wrap == TEX_WRAP_CLAMP)
        p = tap_limit(p, 0.0, n);
    uint32_t j = (uint32_t)(int32_t)p; /* 0 <= p < n + 1 */
    tap.fraction = (float)(p - (double)(int32_t)j);
    bool is_periodic = wrap == TEX_WRAP_PERIODIC;
    tap.first = j > 0 ? j - 1 : is_periodic ? count - 1 : 0;
    tap.second = j < count ? j : is_periodic ? 0 : count - 1;
    ASSERT(tap.first < count && tap.second < count);
    ASSERT(tap.fraction >= 0.0f && tap.fraction <= 1.0f);
    return tap;
}

/* Returns the texel that contains x. */
static inline AxisTap axis_tap_closest(double x, uint32_t count, TexWrap wrap)
{
    AxisTap tap = axis_tap_linear(x, count, wrap);
    /* The containing texel has a weight of 1/2 or more; x exactly between two belongs to the second. */
    bool is_second = tap.fraction >= 0.5f;
    if (tap.slope_sign < 0.0f)
        is_second = tap.fraction > 0.5f;
    if (is_second)
        tap.first = tap.second;
    else
        tap.second = tap.first;
    uint32_t is_outside = tap.outside & (is_second ? TAP_SECOND_OUTSIDE : TAP_FIRST_OUTSIDE);
    tap.outside = is_outside ? TAP_FIRST_OUTSIDE | TAP_SECOND_OUTSIDE : 0;
    tap.fraction = 0.0f;
    tap.slope_sign = 0.0f;
    return tap;
}

#endif
