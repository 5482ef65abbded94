/* What generated code may call, and the one definition of SSL's scalar operations outside LLVM.
 *
 * The compiler folds constants with these functions and kernels call the same ones, so a constant
 * and a computed argument give equal bits, at every optimisation level. All are pure and total:
 * outside a function's domain the result is what ir_ops.inc says. Bits are the same on every machine.
 *
 * Any thread. Nothing here waits, allocates or sets errno that anybody reads. */
#ifndef SSL_RT_H
#define SSL_RT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RT_MATH1(name, f) float rt_##f(float);
#define RT_MATH2(name, f) float rt_##f(float, float);
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2

/* rt_sin(x) and rt_cos(x), the same bits, for little more than one: derivatives need both. */
void rt_sincos(float x, float *out_sin, float *out_cos);

/* Operations that code generation writes as instructions; here for the constant folder. */

static inline float rt_min(float a, float b)
{
    return b < a ? b : a;
}

static inline float rt_max(float a, float b)
{
    return a > b ? a : b;
}

static inline float rt_sign(float x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

static inline float rt_sqrt(float x)
{
    return x < 0.0f ? 0.0f : sqrtf(x);
}

static inline float rt_inverse_sqrt(float x)
{
    return x <= 0.0f ? 0.0f : 1.0f / sqrtf(x);
}

/* Toward zero, saturating; NaN gives 0. */
static inline int32_t rt_int_from_float(float x)
{
    if (!(x > -2147483648.0f))
        return x <= -2147483648.0f ? INT32_MIN : 0;
    return x < 2147483648.0f ? (int32_t)x : INT32_MAX;
}

/* The bit pattern; -0 as +0, every NaN as one NaN. */
static inline int32_t rt_float_bits(float x)
{
    if (x == 0.0f)
        return 0;
    if (x != x)
        return 0x7fc00000;
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline int32_t rt_int_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t rt_int_sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t rt_int_mul(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

/* x / 0 = 0; the one quotient that does not fit wraps. */
static inline int32_t rt_int_div(int32_t a, int32_t b)
{
    return b == 0 ? 0 : b == -1 ? rt_int_sub(0, a) : a / b;
}

/* Sign of the dividend; x % 0 = 0. */
static inline int32_t rt_int_mod(int32_t a, int32_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* Shift counts are taken modulo 32. */
static inline int32_t rt_int_shl(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a << ((uint32_t)b & 31u));
}

static inline int32_t rt_int_shr(int32_t a, int32_t b)
{
    return a >> ((uint32_t)b & 31u); /* arithmetic on every compiler that we build with */
}

static inline int32_t rt_int_ushr(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a >> ((uint32_t)b & 31u));
}

#endif
