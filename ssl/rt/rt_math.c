/* The mathematics that kernels call: the C library's single-precision functions behind guards, so that
 * every function is total. The guards stand here and nowhere else. */
#include "ssl/rt/rt.h"
#include <float.h>

static float clamp_unit(float x)
{
    return x < -1.0f ? -1.0f : x > 1.0f ? 1.0f : x;
}

/* Logarithms start at the least normal number, which also keeps them finite under FTZ and DAZ. */
static float clamp_positive(float x)
{
    return x < FLT_MIN ? FLT_MIN : x;
}

float rt_fmod(float x, float y)
{
    return fmodf(x, y);
}

float rt_cbrt(float x)
{
    return cbrtf(x);
}

float rt_hypot(float x, float y)
{
    return hypotf(x, y);
}

float rt_exp(float x)
{
    return expf(x);
}

float rt_exp2(float x)
{
    return exp2f(x);
}

float rt_expm1(float x)
{
    return expm1f(x);
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

float rt_sin(float x)
{
    return sinf(x);
}

float rt_cos(float x)
{
    return cosf(x);
}

float rt_tan(float x)
{
    return tanf(x);
}

float rt_asin(float x)
{
    return asinf(clamp_unit(x));
}

float rt_acos(float x)
{
    return acosf(clamp_unit(x));
}

float rt_atan(float x)
{
    return atanf(x);
}

float rt_atan2(float y, float x)
{
    return atan2f(y, x);
}

float rt_sinh(float x)
{
    return sinhf(x);
}

float rt_cosh(float x)
{
    return coshf(x);
}

float rt_tanh(float x)
{
    return tanhf(x);
}
