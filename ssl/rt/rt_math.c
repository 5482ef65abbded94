/* The mathematics that kernels call: the C library's single-precision functions behind guards, so that
 * every function is total. The guards stand here and nowhere else. */
#include "ssl/rt/rt.h"
#include <float.h>

static float clamp_unit(float x)
{
    return x < -1.0f ? -1.0f : x > 1.0f ? 1.0f : x;
}

/* Those that need no guard. */
#define RT_MATH1(name, function)
#define RT_MATH2(name, function)
#define RT_LIBM1(name, function, libm)                                                             \
    float function(float x)                                                                        \
    {                                                                                              \
        return libm(x);                                                                            \
    }
#define RT_LIBM2(name, function, libm)                                                             \
    float function(float x, float y)                                                               \
    {                                                                                              \
        return libm(x, y);                                                                         \
    }
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2

/* glibc computes the pair with the code of each: equal for all floats, which was tried on every one. */
#if defined(__GLIBC__)
void sincosf(float x, float *out_sin, float *out_cos); /* an extension that the headers hide */
#endif

void rt_sincos(float x, float *out_sin, float *out_cos)
{
#if defined(__GLIBC__)
    sincosf(x, out_sin, out_cos);
#else
    *out_sin = sinf(x);
    *out_cos = cosf(x);
#endif
}

/* Logarithms start at the least normal number, which also keeps them finite under FTZ and DAZ. */
static float clamp_positive(float x)
{
    return x < FLT_MIN ? FLT_MIN : x;
}

float rt_log(float x)
{
    return logf(clamp_positive(x));
}

float rt_log2(float x)
{
    return log2f(clamp_positive(x));
}

float rt_log10(float x)
{
    return log10f(clamp_positive(x));
}

float rt_log1p(float x)
{
    return x <= -1.0f ? logf(FLT_MIN) : log1pf(x);
}

float rt_pow(float x, float y)
{
    if (x < 0.0f && y == y && y != truncf(y)) /* where C gives NaN though neither argument is one */
        return 0.0f;
    return powf(x, y);
}

float rt_asin(float x)
{
    return asinf(clamp_unit(x));
}

float rt_acos(float x)
{
    return acosf(clamp_unit(x));
}
