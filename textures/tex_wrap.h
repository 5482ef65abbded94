/* From a coordinate on one axis to the two texels that a bilinear tap blends there. */
#ifndef SORT_TEXTURES_TEX_WRAP_H
#define SORT_TEXTURES_TEX_WRAP_H

#include "textures/texcache.h"
#include <math.h>

typedef struct AxisTap {
    uint32_t first, second; /* texels; inside the level always */
    float fraction;         /* weight of the second */
    float slope_sign;       /* -1 where mirroring runs backwards; 0 where nothing can change */
    bool first_is_outside, second_is_outside; /* black stands in for them */
} AxisTap;

static inline uint32_t tap_clamp(int64_t texel, uint32_t count)
{
    return texel < 0 ? 0 : texel >= (int64_t)count ? count - 1 : (uint32_t)texel;
}

/* x: the coordinate in units of the whole axis, |x| <= 2^25; count: texels; wrap: not TEX_WRAP_FILE.
 * Doubles: x times 2^19 is exact to far below the spacing of the floats that coordinates come in. */
static inline AxisTap axis_tap_linear(double x, uint32_t count, TexWrap wrap)
{
    AxisTap tap = {.slope_sign = 1.0f};
    double n = (double)count;
    switch (wrap) {
    case TEX_WRAP_CLAMP:
        x = fmin(fmax(x, -1.0), 2.0);
        break;
    case TEX_WRAP_BLACK:
        x = fmin(fmax(x, -2.0), 3.0);
        break;
    case TEX_WRAP_MIRROR:
        x -= 2.0 * floor(0.5 * x);
        if (x > 1.0) {
            x = 2.0 - x;
            tap.slope_sign = -1.0f;
        }
        break;
    case TEX_WRAP_FILE:
    case TEX_WRAP_PERIODIC:
        x -= floor(x);
        break;
    }
    double p = x * n - 0.5;
    double base = floor(p);
    int64_t i = (int64_t)base;
    tap.fraction = (float)(p - base);
    if (tap.fraction >= 1.0f) { /* rounded up */
        i++;
        tap.fraction = 0.0f;
    }
    if (wrap == TEX_WRAP_PERIODIC) {
        tap.first = i < 0 ? count - 1 : (uint32_t)i;
        tap.first = tap.first >= count ? 0 : tap.first;
        tap.second = tap.first + 1 == count ? 0 : tap.first + 1;
        return tap;
    }
    tap.first = tap_clamp(i, count);
    tap.second = tap_clamp(i + 1, count);
    if (wrap == TEX_WRAP_BLACK) {
        tap.first_is_outside = i < 0 || i >= (int64_t)count;
        tap.second_is_outside = i + 1 < 0 || i + 1 >= (int64_t)count;
        if (tap.first_is_outside) /* no tile is wanted for a texel that is black anyway */
            tap.first = tap.second;
        else if (tap.second_is_outside)
            tap.second = tap.first;
    }
    return tap;
}

/* The texel that x falls into. */
static inline AxisTap axis_tap_closest(double x, uint32_t count, TexWrap wrap)
{
    AxisTap tap = axis_tap_linear(x, count, wrap);
    /* The texel's own weight is 1/2 or more; x exactly between two belongs to the second. */
    bool is_second = tap.fraction >= 0.5f;
    if (tap.slope_sign < 0.0f)
        is_second = tap.fraction > 0.5f;
    tap.first = is_second ? tap.second : tap.first;
    tap.second = tap.first;
    tap.first_is_outside = is_second ? tap.second_is_outside : tap.first_is_outside;
    tap.second_is_outside = tap.first_is_outside;
    tap.fraction = 0.0f;
    tap.slope_sign = 0.0f;
    return tap;
}

#endif
