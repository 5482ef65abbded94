/* The sRGB transfer curve [IEC61966], in its piecewise form. */
#ifndef SORT_BASE_SRGB_H
#define SORT_BASE_SRGB_H

#include "base/compiler.h"
#include "ssl/rt/rt.h"
#include <math.h>

/* Decodes [0, 1] to linear [0, 1]. Values above 1 follow the curve, negative ones the straight part. */
static inline float srgb_to_linear(float encoded)
{
    return encoded <= 0.04045f ? encoded / 12.92f : rt_pow((encoded + 0.055f) / 1.055f, 2.4f);
}

/* Encodes a linear value: the inverse of srgb_to_linear. */
static inline float srgb_from_linear(float linear)
{
    return linear <= 0.0031308f ? linear * 12.92f : 1.055f * rt_pow(linear, 1.0f / 2.4f) - 0.055f;
}

#endif
