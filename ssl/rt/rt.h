/* The functions that generated code calls, and the definition of SSL's scalar operations in C.
 *
 * The compiler folds constants with the functions that kernels call, so a constant argument and a computed one
 * give equal bits at every level of optimisation. All functions are pure and total; ir_ops.inc says what the
 * result is outside a function's domain. Results have equal bits on every machine.
 *
 * Any thread may call them. None waits or allocates. */
#ifndef SSL_RT_H
#define SSL_RT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

_Static_assert(sizeof(float) == 4, "rt_float_bits copies a float into an int");
_Static_assert((-1 >> 1) == -1, "rt_int_shr is arithmetic");

#define RT_MATH1(name, f) float rt_##f(float);
#define RT_MATH2(name, f) float rt_##f(float, float);
#define RT_WITH_FUSED
#include "ssl/rt/rt_math.inc"
#undef RT_WITH_FUSED
#undef RT_MATH1
#undef RT_MATH2

/* Returns rt_sin(x) and computes rt_cos(x), with equal bits and at little more than the cost of one. Derivatives need both. */
float rt_sincos(float x, float *out_cos);
float rt_fused_sincos(float x, float *out_cos);

/* Returns a b + c, rounded once. */
float rt_fma(float a, float b, float c);

/* Code generation expresses the operations below by instructions; the constant folder calls these functions. */

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

/* Rounds toward zero and saturates; NaN gives 0. */
static inline int32_t rt_int_from_float(float x)
{
    if (!(x > -2147483648.0f))
        return x <= -2147483648.0f ? INT32_MIN : 0;
    return x < 2147483648.0f ? (int32_t)x : INT32_MAX;
}

/* Returns the bit pattern, with that of +0 for -0 and one pattern for every NaN. */
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

/* a / 0 is 0; the only quotient that does not fit, INT32_MIN / -1, wraps. */
static inline int32_t rt_int_div(int32_t a, int32_t b)
{
    return b == 0 ? 0 : b == -1 ? rt_int_sub(0, a) : a / b;
}

/* The remainder has the sign of the dividend; a % 0 is 0. */
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
