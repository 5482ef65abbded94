/* The functions of kernels that compute in float: half the lanes' work of rt_core.h, with errors below 1 ulp instead of 0.51.
 *
 * What would be lost by rounding is carried along as a second number, "rest". It is exact without fused multiply-adds, because
 * the factors have so few bits that their products fit in a float [Dekker1971], so that all machines agree. Where even
 * this is not enough (logarithms that pow multiplies), a body computes in double. */
#ifndef SSL_RT_SINGLE_H
#define SSL_RT_SINGLE_H

#include "ssl/rt/rt_core.h"

CORE uint32_t single_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

CORE float single_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a - b c, whose product is exact, so that it makes no difference whether it is rounded. */
CORE float single_less(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(-b, c, a);
#else
    return a - b * c;
#endif
}

#define SINGLE_SIGN  0x80000000u
#define SINGLE_MAGIC 0x1.8p23f /* x + it rounds x to a whole number in the low bits */

/* x with the sign changed where `sign` is SINGLE_SIGN instead of 0. */
CORE float single_flip(float x, uint32_t sign)
{
    return single_from_bits(single_bits(x) ^ sign);
}

/* The upper 12 bits, so that products of two such numbers are exact. */
CORE float single_upper(float x)
{
    return single_from_bits(single_bits(x) & 0xfffff000u);
}

/* Polynomials by Estrin's scheme. Lowest coefficient first. */
CORE float single_poly3(float x, float a, float b, float c)
{
    return (a + b * x) + c * (x * x);
}

CORE float single_poly5(float x, float a, float b, float c, float d, float e)
{
    float x2 = x * x;
    return (a + b * x) + x2 * ((c + d * x) + e * x2);
}

CORE float single_poly8(float x, float a, float b, float c, float d, float e, float f, float g,
                        float h)
{
    float x2 = x * x;
    return ((a + b * x) + (c + d * x) * x2) + ((e + f * x) + (g + h * x) * x2) * (x2 * x2);
}

#define SINGLE_POLY(count, x, ...) single_poly##count(x, __VA_ARGS__)

/* --- exponentials ------------------------------------------------------------------------------- */

/* 2^whole e^(x - rest) for |x - rest| <= log(2)/2 and a small rest. The low 22 bits of `whole` count. Two factors make denormal
 * numbers and infinity. */
CORE float single_scaled_exp(float x, float rest, uint32_t whole)
{
    float r = x - rest, near = 1.0f + x, lost = (1.0f - near) + x;
    float power = near + ((lost - rest) + r * r * SINGLE_POLY(5, r, SINGLE_EXP));
    uint32_t half =
        (uint32_t)((int32_t)whole >> 1); /* the bits above the low ones are shifted out */
    return single_from_bits(single_bits(power) + (half << 23)) *
           single_from_bits(((whole - half) << 23) + 0x3f800000u);
}

CORE float single_clamp(float x, float low, float high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

CORE float core_exp(float x)
{
    float near = single_clamp(x, -104.0f, 89.0f); /* beyond, results are 0 and infinity */
    float shifted = near * 0x1.715476p+0f + SINGLE_MAGIC, turns = shifted - SINGLE_MAGIC;
    float power = single_scaled_exp(single_less(near, turns, SINGLE_LN_2_UPPER),
                                    turns * SINGLE_LN_2_LOWER, single_bits(shifted));
    return x != x ? x : power;
}

/* 2^x of a double, from +-200 on what rounds to 0 or infinity. */
CORE float single_power_of_2(double x)
{
    double near = core_clamp(x, -200.0, 200.0), shifted = near + core_round_magic;
    float r = (float)((near - (shifted - core_round_magic)) * core_ln_2);
    return single_scaled_exp(r, 0.0f, (uint32_t)core_bits(shifted));
}

CORE float core_exp2(float x)
{
    float near = single_clamp(x, -152.0f, 130.0f);
    float shifted = near + SINGLE_MAGIC, r = near - (shifted - SINGLE_MAGIC);
    float upper = r * 0x1.62e430p-1f, rest = r * 0x1.05c610p-29f; /* log 2 and what it lacks */
    float power = single_scaled_exp(upper, rest, single_bits(shifted));
    return x != x ? x : power;
}

/* --- logarithms --------------------------------------------------------------------------------- */

CORE float core_log(float x)
{
    const uint32_t half_root = 0x3f3504f3u, one = 0x3f800000u;
    float positive = x < FLT_MIN ? FLT_MIN : x;
    uint32_t exponent = (single_bits(positive) - half_root + one) & 0xff800000u;
    float turns = (float)((int32_t)(exponent >> 23) - 127);
    float f = single_from_bits(single_bits(positive) - exponent + one) - 1.0f, f2 = f * f;
    float tail = f2 * (f * SINGLE_POLY(8, f, SINGLE_LOG)) + turns * SINGLE_LN_2_LOWER;
    float result = turns * SINGLE_LN_2_UPPER + (f - (0.5f * f2 - tail));
    return x < INFINITY ? result : x;
}

/* The ordinary case of pow; the rest are rules, not mathematics. */
#define CORE_IS_POW(x, y)                                                                          \
    ((x) >= 0.0f && (x) < INFINITY && fabsf(y) < INFINITY && ((x) > 0.0f || (y) >= 0.0f))

CORE float core_pow(float x, float y)
{
    double exponent, f = core_split_mantissa((double)x, &exponent) - 1.0;
    double s = f / (f + 2.0), z = s * s, twice = s * (2.0 * core_log2_e);
    double log2_x = exponent + (twice + twice * (z * CORE_POLY(4, z, POLY_POW_LOG)));
    float power = single_power_of_2((double)y * log2_x);
    return x == 0.0f && y > 0.0f ? 0.0f : power;
}

/* --- circular functions --------------------------------------------------------------------------- */

/* For these angles the multiples of the first three parts of pi/2 are exact. A NaN needs no other function. */
#define CORE_IS_NEAR_ANGLE(x) (!(fabsf(x) > 800.0f))

/* An angle less the nearest multiple of pi/2 (`turns`, of which the low two bits count): r - rest. */
typedef struct Turned {
    float r, rest, square;
    uint32_t turns;
} Turned;

CORE Turned single_turn(float x)
{
    float shifted = x * 0x1.45f306p-1f + SINGLE_MAGIC, turns = shifted - SINGLE_MAGIC;
    float a = single_less(single_less(x, turns, SINGLE_HALF_PI_1), turns, SINGLE_HALF_PI_2),
          b = turns * SINGLE_HALF_PI_3, r = single_less(a, turns, SINGLE_HALF_PI_3);
    return (Turned){r, (b - (a - r)) + turns * SINGLE_HALF_PI_4, r * r, single_bits(shifted)};
}

CORE float single_sin_quarter(Turned t)
{
    float cosine = single_less(1.0f, t.square, 0.5f); /* so much of the rest counts */
    return t.r - (t.r * t.square * SINGLE_POLY(3, t.square, SINGLE_SIN) +
                  t.rest * cosine); /* keeps the sign of zero */
}

CORE float single_cos_quarter(Turned t)
{
    float near = single_less(1.0f, t.square, 0.5f), lost = single_less(1.0f - near, t.square, 0.5f);
    return near +
           ((lost + t.rest * t.r) + t.square * t.square * SINGLE_POLY(3, t.square, SINGLE_COS));
}

/* The sine of the angle and `more` quarters. */
CORE float single_sin_of(Turned t, uint32_t more)
{
    uint32_t quadrant = t.turns + more;
    float value = quadrant & 1 ? single_cos_quarter(t) : single_sin_quarter(t);
    return single_flip(value, (quadrant & 2) << 30);
}

CORE float core_sin(float x)
{
    return single_sin_of(single_turn(x), 0);
}

CORE float core_cos(float x)
{
    return single_sin_of(single_turn(x), 1);
}

/* --- and their inverses --------------------------------------------------------------------------- */

/* base + x + rest, for a base that is 0 or larger than x, and a multiple of SINGLE_QUARTER_PI, which lacks some bits. */
CORE float single_from_base(float base, float x, float rest)
{
    float near = base + x, lost = (base - near) + x;
    return near + (lost + (base * SINGLE_PI_LACKS + rest));
}

/* asin t = t + rest, of t = x for x <= 1/2, else of t = sqrt((1 - x) / 2), which is (pi/2 - asin x) / 2. x is in [0, 1]. */
CORE float single_asin_half(float x, float *out_rest)
{
    int is_large = x > 0.5f;
    float z = is_large ? 0.5f * (1.0f - x) : x * x, root = sqrtf(z), upper = single_upper(root);
    float lost = (single_less(z, upper, upper) - (root - upper) * (root + upper)) /
                 (root < 0x1p-20f ? 1.0f : root + root);
    float t = is_large ? root : x;
    *out_rest = t * z * SINGLE_POLY(5, z, SINGLE_ASIN) + (is_large ? lost : 0.0f);
    return t;
}

CORE float core_asin(float x)
{
    float a = single_clamp(fabsf(x), 0.0f, 1.0f), rest, t = single_asin_half(a, &rest);
    float factor = a > 0.5f ? -2.0f : 1.0f, base = a > 0.5f ? 2.0f * SINGLE_QUARTER_PI : 0.0f;
    return copysignf(single_from_base(base, factor * t, factor * rest), x);
}

CORE float core_acos(float x)
{
    float a = single_clamp(fabsf(x), 0.0f, 1.0f), rest, t = single_asin_half(a, &rest);
    float factor = a > 0.5f ? 2.0f : -1.0f, far = x < 0.0f ? 4.0f * SINGLE_QUARTER_PI : 0.0f;
    factor = x < 0.0f ? -factor : factor;
    return single_from_base(a > 0.5f ? far : 2.0f * SINGLE_QUARTER_PI, factor * t, factor * rest);
}

/* atan(low / high), or what it lacks to pi/2 if `turned` is SINGLE_SIGN, or both less than pi if `behind` is: an angle in [0, pi].
 * 0 <= low <= high, and high is in [2^-23, 2^60], so that the remainder of the division does not vanish. is_middle:
 * whether 2 low > high. Then the ratio t becomes (1 - t) / (1 + t), whose angle is what that of t lacks to pi/4. */
CORE float single_angle(float low, float high, int is_middle, uint32_t turned, uint32_t behind)
{
    float base = is_middle ? SINGLE_QUARTER_PI : 0.0f;
    base = turned ? 2.0f * SINGLE_QUARTER_PI - base : base;
    base = behind ? 4.0f * SINGLE_QUARTER_PI - base : base;
    uint32_t sign = (is_middle ? SINGLE_SIGN : 0) ^ turned ^ behind;
    float up = single_flip(is_middle ? high - low : low, sign),
          across = is_middle ? high + low : high;
    float across_upper = single_upper(across),
          across_rest = (high - across_upper) + (is_middle ? low : 0.0f);
    float t = up / across, inverse = 1.0f / across, upper = single_upper(t), z = t * t;
    float rest = (single_less(up, upper, across_upper) - upper * across_rest) *
                 inverse; /* t = upper + rest, to 34 bits */
    float near = base + upper, lost = ((base - near) + upper) + (base * SINGLE_PI_LACKS + rest);
    return near + (lost - t * z * SINGLE_POLY(5, z, SINGLE_ATAN));
}

CORE float core_atan(float x)
{
    float a = fabsf(x), near = a > 0x1p60f ? 0x1p60f : a;
    int is_steep = near > 1.0f;
    float low = is_steep ? 1.0f : near, high = is_steep ? near : 1.0f;
    return copysignf(single_angle(low, high, low + low > high, is_steep ? SINGLE_SIGN : 0, 0), x);
}

/* Numbers without sign are in the order of their bits, a NaN last. */
CORE int32_t single_larger(float x, float y)
{
    int32_t a = (int32_t)(single_bits(x) & ~SINGLE_SIGN),
            b = (int32_t)(single_bits(y) & ~SINGLE_SIGN);
    return a > b ? a : b;
}

#define CORE_IS_ATAN2(y, x) (single_larger(y, x) != 0x7f800000)

/* A ratio low <= high of an angle in the first octant. `turned`: SINGLE_SIGN if y is the larger. */
typedef struct Ratio {
    float low, high;
    int is_middle; /* whether 2 low > high */
    uint32_t turned;
} Ratio;

/* The larger becomes about 2^power, so that no bits of the other are lost that count. */
CORE Ratio single_ratio(float y, float x, int32_t power)
{
    int32_t a = (int32_t)(single_bits(y) & ~SINGLE_SIGN),
            b = (int32_t)(single_bits(x) & ~SINGLE_SIGN);
    int32_t larger = single_larger(y, x), exponent = larger & 0x7f800000, least = power << 23;
    float low = single_from_bits((uint32_t)(a > b ? b : a)),
          high = single_from_bits((uint32_t)larger);
    uint32_t shift = (uint32_t)(exponent > least ? exponent : least);
    float scale = single_from_bits(((uint32_t)(254 + power) << 23) - shift);
    int32_t scaled = (int32_t)single_bits(high * scale), not_0 = 0x34000000; /* 2^-23 */
    float across = single_from_bits((uint32_t)(scaled > not_0 ? scaled : not_0));
    return (Ratio){low * scale, across, low + low > high, a > b ? SINGLE_SIGN : 0};
}

CORE float core_atan2(float y, float x)
{
    Ratio r = single_ratio(y, x, 24);
    return copysignf(
        single_angle(r.low, r.high, r.is_middle, r.turned, single_bits(x) & SINGLE_SIGN), y);
}

#endif
