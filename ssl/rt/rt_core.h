/* SSL's mathematical functions for one lane, without branches. Both the scalar and the vector functions that kernels call
 * are made of these bodies and of those of rt_single.h.
 *
 * The bodies of this file compute in double with polynomials of their own and round once to float, so that errors stay
 * below 0.51 ulp (docs/internals/jit.md has the table). No result depends on a C library or on fused multiply-adds,
 * because the files that include this one are compiled without contraction. rt_math.c makes scalar functions of the
 * bodies, and rt_lanes.inl makes loops that compilers vectorise, with equal bits at every width and on every machine.
 *
 * A body is correct on a domain that has nearly all arguments (CORE_IS_...). Outside the domain another function is
 * called lane by lane. Signs of zero are kept; a NaN gives a NaN. */
#ifndef SSL_RT_CORE_H
#define SSL_RT_CORE_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ssl/rt/rt_poly.inc"

_Static_assert(FLT_MANT_DIG == 24 && FLT_MAX_EXP == 128,
               "the polynomials are fitted to IEEE binary32");
_Static_assert(DBL_MANT_DIG == 53 && FLT_EVAL_METHOD == 0,
               "intermediate results are IEEE binary64, rounded at each step");

#define CORE static inline

CORE uint64_t core_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

CORE double core_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const double core_round_magic =
    0x1.8p52; /* x + it rounds x to a whole number in the low bits */
static const double core_log2_e = 0x1.71547652b82fep+0, core_ln_2 = 0x1.62e42fefa39efp-1;
static const double core_half_pi = 0x1.921fb54442d18p+0, core_pi = 0x1.921fb54442d18p+1;

#define CORE_SIGN UINT64_C(0x8000000000000000)

CORE double core_copysign(double magnitude, double sign)
{
    return core_from_bits((core_bits(magnitude) & ~CORE_SIGN) | (core_bits(sign) & CORE_SIGN));
}

/* Polynomials by Estrin's scheme: few steps in a row. Lowest coefficient first. */
CORE double core_poly4(double x, double a, double b, double c, double d)
{
    return (a + b * x) + (c + d * x) * (x * x);
}

CORE double core_poly6(double x, double a, double b, double c, double d, double e, double f)
{
    double x2 = x * x;
    return (a + b * x) + (c + d * x) * x2 + (e + f * x) * (x2 * x2);
}

CORE double core_poly7(double x, double a, double b, double c, double d, double e, double f,
                       double g)
{
    double x2 = x * x;
    return ((a + b * x) + (c + d * x) * x2) + ((e + f * x) + g * x2) * (x2 * x2);
}

CORE double core_poly8(double x, double a, double b, double c, double d, double e, double f,
                       double g, double h)
{
    double x2 = x * x;
    return ((a + b * x) + (c + d * x) * x2) + ((e + f * x) + (g + h * x) * x2) * (x2 * x2);
}

#define CORE_POLY(count, x, ...) core_poly##count(x, __VA_ARGS__)

CORE double core_clamp(double x, double low, double high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

/* --- exponentials ------------------------------------------------------------------------------- */

/* x = whole + rest / log2(e), both for log2(e) x = y: 2^whole as a double, and rest. |y| <= 250. */
CORE double core_split_power(double y, double *out_rest)
{
    double shifted = y + core_round_magic;
    *out_rest = (y - (shifted - core_round_magic)) * core_ln_2;
    return core_from_bits((core_bits(shifted) + 1023) << 52);
}

/* 2^y; from +-200 on, what rounds to 0 or infinity. */
CORE double core_power_of_2(double y)
{
    double r, scale = core_split_power(core_clamp(y, -200.0, 200.0), &r);
    return scale * (1.0 + r * CORE_POLY(8, r, POLY_EXPM1));
}

/* e^x - 1, near 0 too. */
CORE double core_expm1_double(double x)
{
    double r, scale = core_split_power(core_clamp(x, -150.0, 150.0) * core_log2_e, &r);
    return scale * (r * CORE_POLY(8, r, POLY_EXPM1)) + (scale - 1.0);
}

CORE float core_expm1(float x)
{
    return x == 0.0f ? x : (float)core_expm1_double((double)x);
}

CORE float core_sinh(float x)
{
    double e = core_expm1_double(core_clamp(fabs((double)x), 0.0, 100.0));
    return (float)core_copysign(0.5 * (e + e / (e + 1.0)), (double)x);
}

CORE float core_cosh(float x)
{
    double e = core_power_of_2(fabs((double)x) * core_log2_e);
    return (float)(0.5 * (e + 1.0 / e));
}

CORE float core_tanh(float x)
{
    double e = core_expm1_double(2.0 * core_clamp(fabs((double)x), 0.0, 20.0));
    return (float)core_copysign(e / (e + 2.0), (double)x);
}

/* --- logarithms --------------------------------------------------------------------------------- */

/* x = 2^exponent m with m in [sqrt 1/2, sqrt 2); x is positive and normal. Returns m. */
CORE double core_split_mantissa(double x, double *out_exponent)
{
    const uint64_t half_root = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    uint64_t biased = (core_bits(x) - half_root + one) >> 52;
    *out_exponent = core_from_bits(UINT64_C(0x4330000000000000) | biased) - (0x1p52 + 1023.0);
    return core_from_bits(core_bits(x) - (biased << 52) + one);
}

/* log(1 + f) for 1 + f in [sqrt 1/2, sqrt 2) */
CORE double core_log_near_1(double f)
{
    double s = f / (f + 2.0), z = s * s;
    return 2.0 * s + 2.0 * s * (z * CORE_POLY(6, z, POLY_LOG));
}

/* Logarithms start at the least normal number, which also keeps them finite under FTZ and DAZ. */
CORE double core_positive(float x)
{
    return (double)(x < FLT_MIN ? FLT_MIN : x);
}

CORE float core_unless_infinite(float x, double result)
{
    return x < INFINITY ? (float)result : x;
}

CORE float core_log2(float x)
{
    double exponent, m = core_split_mantissa(core_positive(x), &exponent);
    return core_unless_infinite(x, exponent + core_log_near_1(m - 1.0) * core_log2_e);
}

CORE float core_log10(float x)
{
    double exponent, m = core_split_mantissa(core_positive(x), &exponent);
    return core_unless_infinite(x, exponent * 0x1.34413509f79ffp-2 +
                                       core_log_near_1(m - 1.0) * 0x1.bcb7b1526e50ep-2);
}

CORE float core_log1p(float x)
{
    double exponent, f = x <= -1.0f ? (double)FLT_MIN - 1.0 : (double)x;
    double one_and_f = x <= -1.0f ? (double)FLT_MIN : 1.0 + f;
    double m = core_split_mantissa(one_and_f, &exponent);
    double result = exponent * core_ln_2 + core_log_near_1(exponent == 0.0 ? f : m - 1.0);
    return x == 0.0f ? x : core_unless_infinite(x, result);
}

/* --- roots, remainder --------------------------------------------------------------------------- */

/* A third of the exponent by a division of the upper bits, then Halley's iteration twice: 5, 15, 45 bits. */
CORE float core_cbrt(float x)
{
    double a = fabs((double)x);
    uint64_t upper = core_bits(a) >> 32;
    double t = core_from_bits((((upper * UINT64_C(0xaaaaaaab)) >> 33) + 715094163) << 32);
    for (int i = 0; i < 2; ++i) {
        double cube = t * t * t;
        t *= (a + a + cube) / (a + cube + cube);
    }
    return a > 0.0 && a < (double)INFINITY ? (float)core_copysign(t, (double)x) : x;
}

CORE float core_hypot(float x, float y)
{
    double a = (double)x, b = (double)y;
    float root = (float)sqrt(a * a + b * b);
    return fabsf(x) == INFINITY || fabsf(y) == INFINITY ? INFINITY : root;
}

/* Exact: the product of a quotient below 2^28 and a float fits in a double. The nearest whole quotient is the one rounded
 * down or the next. */
#define CORE_FMOD_LIMIT 0x1p28
#define CORE_IS_FMOD(x, y)                                                                         \
    (fabs((double)(x)) / fabs((double)(y)) < CORE_FMOD_LIMIT && fabsf(y) < INFINITY)

CORE float core_fmod(float x, float y)
{
    double a = fabs((double)x), b = fabs((double)y), quotient = a / b;
    quotient = quotient < CORE_FMOD_LIMIT ? quotient : 0.0;
    double rest = a - ((quotient + core_round_magic) - core_round_magic) * b;
    rest = rest < 0.0 ? rest + b : rest;
    return (float)core_copysign(rest, (double)x);
}

/* --- circular functions --------------------------------------------------------------------------- */

/* The largest angle for which multiples of the upper part of pi/2, which has 33 bits, are exact. */
#define CORE_ANGLE_LIMIT   0x1p20f
#define CORE_IS_ANGLE(x)   (fabsf(x) <= CORE_ANGLE_LIMIT)
#define CORE_HALF_PI_UPPER 0x1.921fb544p+0
#define CORE_HALF_PI_LOWER 0x1.0b4611a626331p-34

/* x less the nearest multiple of pi/2; which one, in the low two bits. */
CORE double core_reduce(float x, uint64_t *out_quadrant)
{
    double shifted = (double)x * 0x1.45f306dc9c883p-1 + core_round_magic;
    double turns = shifted - core_round_magic;
    *out_quadrant = core_bits(shifted);
    return ((double)x - turns * CORE_HALF_PI_UPPER) - turns * CORE_HALF_PI_LOWER;
}

CORE double core_sin_quarter(double r)
{
    double z = r * r;
    return r * (1.0 + z * CORE_POLY(4, z, POLY_SIN)); /* keeps the sign of zero */
}

CORE double core_cos_quarter(double r)
{
    double z = r * r;
    return (1.0 - 0.5 * z) + z * z * CORE_POLY(4, z, POLY_COS);
}

/* The sine of r + quadrant pi/2. */
CORE float core_sin_of(double r, uint64_t quadrant)
{
    double value = quadrant & 1 ? core_cos_quarter(r) : core_sin_quarter(r);
    return (float)core_from_bits(core_bits(value) ^ (quadrant & 2) << 62);
}

CORE float core_tan_of(double r, uint64_t quadrant)
{
    double s = core_sin_quarter(r), c = core_cos_quarter(r);
    return (float)(quadrant & 1 ? -c / s : s / c);
}

CORE float core_far_sin(float x)
{
    uint64_t quadrant;
    double r = core_reduce(x, &quadrant);
    return core_sin_of(r, quadrant);
}

CORE float core_far_cos(float x)
{
    uint64_t quadrant;
    double r = core_reduce(x, &quadrant);
    return core_sin_of(r, quadrant + 1);
}

CORE float core_tan(float x)
{
    uint64_t quadrant;
    double r = core_reduce(x, &quadrant);
    return core_tan_of(r, quadrant);
}

#endif
