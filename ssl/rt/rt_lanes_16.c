#define RT_LANES 16
#define RT_HAS_SCALING
#include "ssl/rt/rt_fused.h"
#include <immintrin.h>

/* core_exp, core_exp2 and their fused forms in instructions that compilers do not find: one scales by a power of two, for all exponents, and minima and
 * maxima return a NaN of their second operand. Each step gives the bits of the one that it stands for. */
typedef __m512 Wide;
_Static_assert(sizeof((const float[]){SINGLE_EXP}) == 5 * sizeof(float),
               "wide_scaled_exp takes five coefficients");

static inline Wide wide_all(float x)
{
    return _mm512_set1_ps(x);
}

static inline Wide wide_clamp(Wide x, float low, float high)
{
    return _mm512_max_ps(wide_all(low), _mm512_min_ps(wide_all(high), x));
}

static inline Wide wide_round(Wide x)
{
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* 2^turns e^(x - rest) */
static inline Wide wide_scaled_exp(Wide x, Wide rest, Wide turns)
{
    static const float c[] = {SINGLE_EXP};
    Wide r = x - rest, near = 1.0f + x, lost = (1.0f - near) + x, r2 = r * r;
    Wide poly = (c[0] + c[1] * r) + r2 * ((c[2] + c[3] * r) + c[4] * r2);
    return _mm512_scalef_ps(near + ((lost - rest) + r2 * poly), turns);
}

static Wide scaling_exp(Wide x)
{
    Wide near = wide_clamp(x, -104.0f, 89.0f), turns = wide_round(near * 0x1.715476p+0f);
    Wide exact = _mm512_fnmadd_ps(turns, wide_all(SINGLE_LN_2_UPPER), near);
    return wide_scaled_exp(exact, turns * SINGLE_LN_2_LOWER, turns);
}

static Wide scaling_exp2(Wide x)
{
    Wide near = wide_clamp(x, -152.0f, 130.0f), turns = wide_round(near), r = near - turns;
    return wide_scaled_exp(r * 0x1.62e430p-1f, r * 0x1.05c610p-29f, turns);
}

static inline Wide wide_fma(Wide a, Wide b, Wide c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* 2^turns e^r */
static inline Wide wide_fused_exp(Wide r, Wide turns)
{
    static const float c[] = {SINGLE_EXP};
    Wide near = 1.0f + r, lost = (1.0f - near) + r, r2 = r * r;
    Wide upper = wide_fma(wide_all(c[4]), r2, wide_fma(wide_all(c[3]), r, wide_all(c[2])));
    Wide poly = wide_fma(r2, upper, wide_fma(wide_all(c[1]), r, wide_all(c[0])));
    return _mm512_scalef_ps(near + wide_fma(r2, poly, lost), turns);
}

static Wide scaling_fused_exp(Wide x)
{
    const Wide magic = wide_all(SINGLE_MAGIC);
    Wide near = wide_clamp(x, -104.0f, 89.0f);
    Wide turns = wide_fma(near, wide_all(0x1.715476p+0f), magic) - magic;
    Wide exact = _mm512_fnmadd_ps(turns, wide_all(FUSED_LN_2_UPPER), near);
    return wide_fused_exp(_mm512_fnmadd_ps(turns, wide_all(FUSED_LN_2_LOWER), exact), turns);
}

static Wide scaling_fused_exp2(Wide x)
{
    Wide near = wide_clamp(x, -152.0f, 130.0f), turns = wide_round(near);
    return wide_fused_exp((near - turns) * 0x1.62e430p-1f, turns);
}

#include "ssl/rt/rt_lanes.inl"
