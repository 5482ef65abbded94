/* Bodies of functions with fused multiply-adds, for programs that are [Fused]: half the operations of rt_single.h, with errors below
 * 1 ulp. A fused multiply-add rounds once, so a remainder of a product or quotient is exact without splitting the factors. Where a CPU has
 * none, core_fma computes the same bits in double. */
#ifndef SSL_RT_FUSED_H
#define SSL_RT_FUSED_H

#include "ssl/rt/rt_single.h"

_Static_assert(DBL_MANT_DIG >= 2 * FLT_MANT_DIG + 2, "a double holds a product, and two bits more");

/* a b + c, rounded once. The product of floats is exact in double; the sum is rounded to odd, so that rounding it again, to float,
 * does as if it were exact [Boldo2008]. */
CORE float core_fma(float a, float b, float c)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    double product = (double)a * (double)b, sum = product + (double)c, back = sum - product;
    double lost = (product - (sum - back)) + ((double)c - back);
    uint64_t bits = core_bits(sum), step = (lost > 0.0) == (sum > 0.0) ? 1 : UINT64_MAX;
    int is_even = (bits & 1) == 0, is_lost = (lost > 0.0) | (lost < 0.0);
    return (float)core_from_bits(is_even & is_lost ? bits + step : bits);
#endif
}

CORE float fused_poly3(float x, float a, float b, float c)
{
    return core_fma(core_fma(c, x, b), x, a);
}

CORE float fused_poly5(float x, float a, float b, float c, float d, float e)
{
    float x2 = x * x;
    return core_fma(x2, core_fma(e, x2, core_fma(d, x, c)), core_fma(b, x, a));
}

CORE float fused_poly8(float x, float a, float b, float c, float d, float e, float f, float g,
                       float h)
{
    float x2 = x * x, upper = core_fma(core_fma(h, x, g), x2, core_fma(f, x, e));
    return core_fma(upper, x2 * x2, core_fma(core_fma(d, x, c), x2, core_fma(b, x, a)));
}

#define FUSED_POLY(count, x, ...) fused_poly##count(x, __VA_ARGS__)

/* --- exponentials, logarithm ---------------------------------------------------------------------- */

/* 2^whole e^r for |r| <= log(2)/2; the low 22 bits of `whole` count. */
CORE float fused_scaled_exp(float r, uint32_t whole)
{
    float near = 1.0f + r, lost = (1.0f - near) + r;
    float power = near + core_fma(r * r, FUSED_POLY(5, r, SINGLE_EXP), lost);
    uint32_t half = (uint32_t)((int32_t)whole >> 1);
    return single_from_bits(single_bits(power) + (half << 23)) *
           single_from_bits(((whole - half) << 23) + 0x3f800000u);
}

CORE float core_fused_exp(float x)
{
    float near = single_clamp(x, -104.0f, 89.0f);
    float shifted = core_fma(near, 0x1.715476p+0f, SINGLE_MAGIC), turns = shifted - SINGLE_MAGIC;
    float exact = core_fma(-turns, FUSED_LN_2_UPPER, near),
          r = core_fma(-turns, FUSED_LN_2_LOWER, exact);
    float power = fused_scaled_exp(r, single_bits(shifted));
    return x != x ? x : power;
}

CORE float core_fused_exp2(float x)
{
    float near = single_clamp(x, -152.0f, 130.0f), shifted = near + SINGLE_MAGIC;
    float rest = near - (shifted - SINGLE_MAGIC);
    float power = fused_scaled_exp(rest * 0x1.62e430p-1f, single_bits(shifted));
    return x != x ? x : power;
}

CORE float core_fused_log(float x)
{
    const uint32_t half_root = 0x3f3504f3u, one = 0x3f800000u;
    float positive = x < FLT_MIN ? FLT_MIN : x;
    uint32_t exponent = (single_bits(positive) - half_root + one) & 0xff800000u;
    float turns = (float)((int32_t)(exponent >> 23) - 127);
    float f = single_from_bits(single_bits(positive) - exponent + one) - 1.0f, f2 = f * f;
    float tail = core_fma(f2 * f, FUSED_POLY(8, f, SINGLE_LOG), turns * SINGLE_LN_2_LOWER);
    float result = core_fma(turns, SINGLE_LN_2_UPPER, f - core_fma(0.5f, f2, -tail));
    return x < INFINITY ? result : x;
}

/* --- circular functions ----------------------------------------------------------------------------- */

CORE Turned fused_turn(float x)
{
    float shifted = core_fma(x, 0x1.45f306p-1f, SINGLE_MAGIC), turns = shifted - SINGLE_MAGIC;
    float exact = core_fma(-turns, FUSED_HALF_PI_1, x), next = turns * FUSED_HALF_PI_2,
          r = exact - next;
    /* Beside a multiple of pi/2 r is much smaller than both, and exact, but r - exact would not be. */
    float lost = (exact - r) - next, next_rest = core_fma(turns, FUSED_HALF_PI_2, -next);
    float rest = core_fma(turns, FUSED_HALF_PI_3, next_rest) - lost;
    return (Turned){r, rest, r * r, single_bits(shifted)};
}

/* Keeps the sign of zero. */
CORE float fused_sin_quarter(Turned t)
{
    float cube = t.r * t.square, cosine = core_fma(-0.5f, t.square, 1.0f);
    return t.r - core_fma(cube, FUSED_POLY(3, t.square, SINGLE_SIN), t.rest * cosine);
}

CORE float fused_cos_quarter(Turned t)
{
    float near = core_fma(-0.5f, t.square, 1.0f), lost = core_fma(-0.5f, t.square, 1.0f - near);
    return near + core_fma(t.square * t.square, FUSED_POLY(3, t.square, SINGLE_COS),
                           core_fma(t.rest, t.r, lost));
}

/* The sine of the angle and `more` quarters. */
CORE float fused_sin_of(Turned t, uint32_t more)
{
    uint32_t quadrant = t.turns + more;
    float value = quadrant & 1 ? fused_cos_quarter(t) : fused_sin_quarter(t);
    return single_flip(value, (quadrant & 2) << 30);
}

CORE float core_fused_sin(float x)
{
    return fused_sin_of(fused_turn(x), 0);
}

CORE float core_fused_cos(float x)
{
    return fused_sin_of(fused_turn(x), 1);
}

#define core_far_fused_sin core_far_sin
#define core_far_fused_cos core_far_cos

/* --- their inverses ----------------------------------------------------------------------------------- */

/* As single_angle, for high in [FUSED_RATIO_MIN, FUSED_RATIO_END). A quotient's remainder is exact. It is divided by what may be off by a
 * sixteenth, since it is so small beside the quotient: 1 / across is (0.95 - f / 2) 2^-n, if across is (1 + f) 2^n, to that accuracy, a difference
 * of bit patterns. The division waits for few operations: both forms of its arguments are there when is_middle is. */
CORE float fused_angle(float low, float high, int is_middle, uint32_t turned, uint32_t behind)
{
    float base = is_middle ? SINGLE_QUARTER_PI : 0.0f;
    base = turned ? 2.0f * SINGLE_QUARTER_PI - base : base;
    base = behind ? 4.0f * SINGLE_QUARTER_PI - base : base;
    uint32_t sign = (is_middle ? SINGLE_SIGN : 0) ^ turned ^ behind;
    float sum = high + low, across = is_middle ? sum : high;
    float across_rest = is_middle ? (high - sum) + low : 0.0f;
    float up = single_flip(is_middle ? high - low : low, sign), t = up / across, z = t * t;
    float inverse = single_from_bits(0x7ef30000u - single_bits(across));
    float rest = core_fma(-t, across_rest * inverse, base * SINGLE_PI_LACKS);
    float near = base + t,
          lost = ((base - near) + t) + core_fma(core_fma(-t, across, up), inverse, rest);
    return near + core_fma(-t * z, FUSED_POLY(5, z, SINGLE_ATAN), lost);
}

CORE float core_fused_atan(float x)
{
    float a = fabsf(x), near = a > 0x1p60f ? 0x1p60f : a;
    int is_steep = near > 1.0f;
    float low = is_steep ? 1.0f : near, high = is_steep ? near : 1.0f;
    return copysignf(fused_angle(low, high, low + low > high, is_steep ? SINGLE_SIGN : 0, 0), x);
}

/* Bits of 2^-80 and 2^120. */
#define FUSED_RATIO_MIN 0x17800000
#define FUSED_RATIO_END 0x7b800000

CORE int fused_is_ratio(int32_t larger)
{
    uint32_t above = (uint32_t)larger - FUSED_RATIO_MIN;
    return (above < FUSED_RATIO_END - FUSED_RATIO_MIN) | (larger == 0) | (larger > 0x7f800000);
}

/* Where the larger of both is in range, 0 or NaN. */
#define CORE_IS_FUSED_ATAN2(y, x) fused_is_ratio(single_larger(y, x))

CORE float core_fused_atan2(float y, float x)
{
    int32_t a = (int32_t)(single_bits(y) & ~SINGLE_SIGN),
            b = (int32_t)(single_bits(x) & ~SINGLE_SIGN), one_exponent = 0x00800000;
    int32_t at_least = b > FUSED_RATIO_MIN ? b : FUSED_RATIO_MIN,
            high = a > at_least ? a : at_least, low = a > b ? b : a;
    return copysignf(fused_angle(single_from_bits((uint32_t)low), single_from_bits((uint32_t)high),
                                 low > high - one_exponent, a > b ? SINGLE_SIGN : 0,
                                 single_bits(x) & SINGLE_SIGN),
                     y);
}

#endif
