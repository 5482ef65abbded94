/* Cubic kernels over four texels of an axis: weights, and their derivatives by position. With
 * fraction x from the second texel to the third:
 *
 *   Catmull-Rom: the interpolating cubic with B = 0, C = 1/2 of [Mitchell1988 eq. 8]
 *   B-spline:    the smooth one with B = 1, C = 0
 *
 * Both reproduce constants and linear ramps. */
#ifndef SORT_TEXTURES_FILTER_TEX_CUBIC_H
#define SORT_TEXTURES_FILTER_TEX_CUBIC_H

#include "textures/filter/tex_wrap.h"

typedef struct CubicTap {
    uint32_t texels[4]; /* always inside the level */
    uint32_t outside;   /* bit i: texel i is replaced by black */
    float weights[4], slopes[4];
} CubicTap;

/* Maps texel number i of an infinite row to a texel of the level. */
static inline uint32_t cubic_wrap(int64_t i, int64_t count, TexWrap wrap, bool *out_is_outside)
{
    *out_is_outside = false;
    if (i >= 0 && i < count)
        return (uint32_t)i;
    switch (wrap) {
    case TEX_WRAP_CLAMP:
        break;
    case TEX_WRAP_BLACK:
        *out_is_outside = true;
        break;
    case TEX_WRAP_MIRROR:
        i = (i % (2 * count) + 2 * count) % (2 * count);
        return (uint32_t)(i < count ? i : 2 * count - 1 - i);
    case TEX_WRAP_FILE:
    case TEX_WRAP_PERIODIC:
        return (uint32_t)((i % count + count) % count);
    }
    return (uint32_t)(i < 0 ? 0 : count - 1);
}

static inline void cubic_weights(TexFilter filter, float x, float weights[4], float slopes[4])
{
    float x2 = x * x, x3 = x2 * x;
    if (filter == TEX_FILTER_CATMULL_ROM) {
        weights[0] = 0.5f * (-x + 2.0f * x2 - x3);
        weights[1] = 0.5f * (2.0f - 5.0f * x2 + 3.0f * x3);
        weights[2] = 0.5f * (x + 4.0f * x2 - 3.0f * x3);
        weights[3] = 0.5f * (x3 - x2);
        slopes[0] = 0.5f * (-1.0f + 4.0f * x - 3.0f * x2);
        slopes[1] = 0.5f * (-10.0f * x + 9.0f * x2);
        slopes[2] = 0.5f * (1.0f + 8.0f * x - 9.0f * x2);
        slopes[3] = 0.5f * (3.0f * x2 - 2.0f * x);
        return;
    }
    const float sixth = 1.0f / 6.0f;
    float y = 1.0f - x;
    weights[0] = sixth * y * y * y;
    weights[1] = sixth * (4.0f - 6.0f * x2 + 3.0f * x3);
    weights[2] = sixth * (1.0f + 3.0f * x + 3.0f * x2 - 3.0f * x3);
    weights[3] = sixth * x3;
    slopes[0] = -0.5f * y * y;
    slopes[1] = 0.5f * (3.0f * x2 - 4.0f * x);
    slopes[2] = 0.5f * (1.0f + 2.0f * x - 3.0f * x2);
    slopes[3] = 0.5f * x2;
}

/* Computes the tap at x, in units of the whole axis, |x| <= 2^25. `filter` is one of the two cubic filters. */
static inline CubicTap cubic_tap(double x, uint32_t count, TexWrap wrap, TexFilter filter)
{
    ASSERT(count > 0 && filter >= TEX_FILTER_CATMULL_ROM);
    CubicTap tap = {.outside = 0};
    double p = x * (double)count - 0.5, base = tap_floor(p);
    for (int64_t k = 0; k < 4; ++k) {
        bool is_outside;
        tap.texels[k] = cubic_wrap((int64_t)base - 1 + k, (int64_t)count, wrap, &is_outside);
        ASSERT(tap.texels[k] < count);
        tap.outside |= (uint32_t)is_outside << k;
    }
    cubic_weights(filter, (float)(p - base), tap.weights, tap.slopes);
    return tap;
}

#endif
