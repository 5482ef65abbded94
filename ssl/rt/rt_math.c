/* The scalar functions, and their results outside the domains of rt_core.h. */
#include "ssl/rt/rt.h"
#include "ssl/rt/rt_fused.h"

/* --- angles beyond 2^20 --------------------------------------------------------------------------- */

/* The bits of 2/pi, after 32 zeros. */
static const uint32_t two_over_pi[] = {0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                       0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};

/* The reduction of [PayneHanek1983]: x = m 2^e; bits of 2^e 2/pi that are worth 4 or more cannot change
 * the quadrant, and so few of the others matter that 96 of them times m give the fraction to 2^-62. */
static double reduce_large(float x, uint64_t *out_quadrant)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    uint32_t shift = (bits >> 23 & 0xffu) - 150u + 30u; /* the first bit worth 2, after the zeros */
    uint64_t word[3];
    for (uint32_t i = 0; i < 3; ++i) {
        uint64_t pair =
            (uint64_t)two_over_pi[shift / 32 + i] << 32 | two_over_pi[shift / 32 + i + 1];
        word[i] = pair >> (32 - shift % 32) & 0xffffffffu;
    }
    uint64_t turns = (mantissa * word[0] << 32) + mantissa * word[1] + (mantissa * word[2] >> 32);
    uint64_t quadrant = (turns + (UINT64_C(1) << 61)) >> 62;
    double r = (double)(int64_t)(turns - (quadrant << 62)) * (core_half_pi * 0x1p-62);
    *out_quadrant = bits >> 31 ? 0 - quadrant : quadrant;
    return bits >> 31 ? -r : r;
}

static float not_a_number(float x)
{
    return x - x; /* of an infinity or NaN */
}

static float rt_other_sin(float x)
{
    uint64_t quadrant;
    if (!(fabsf(x) < INFINITY))
        return not_a_number(x);
    double r = reduce_large(x, &quadrant);
    return core_sin_of(r, quadrant);
}

static float rt_other_cos(float x)
{
    uint64_t quadrant;
    if (!(fabsf(x) < INFINITY))
        return not_a_number(x);
    double r = reduce_large(x, &quadrant);
    return core_sin_of(r, quadrant + 1);
}

static float rt_other_tan(float x)
{
    uint64_t quadrant;
    if (!(fabsf(x) < INFINITY))
        return not_a_number(x);
    double r = reduce_large(x, &quadrant);
    return core_tan_of(r, quadrant);
}

/* --- rules --------------------------------------------------------------------------------------- */

static float rt_other_fmod(float x, float y)
{
    return (float)fmod((double)x,
                       (double)y); /* exact, hence the same everywhere; fmodf would not flush */
}

/* Follows C's rules, except that a negative base with a fractional exponent gives 0. */
static float rt_other_pow(float x, float y)
{
    if (y == 0.0f || x == 1.0f)
        return 1.0f;
    if (x != x || y != y)
        return x + y;
    float base = fabsf(x);
    if (fabsf(y) == INFINITY)
        return base == 1.0f ? 1.0f : (base > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
    bool is_whole = y == truncf(y);
    if (x < 0.0f && !is_whole)
        return 0.0f;
    bool is_odd = is_whole && fabsf(y) < 0x1p24f && ((int32_t)y & 1);
    float power = base == INFINITY ? (y > 0.0f ? INFINITY : 0.0f)
                  : base == 0.0f   ? (y > 0.0f ? 0.0f : INFINITY)
                                   : core_pow(base, y);
    return is_odd ? copysignf(power, x) : power;
}

/* Beside an infinite number others count as 0. */
static float rt_other_atan2(float y, float x)
{
    float up = fabsf(y) == INFINITY ? 1.0f : y * 0.0f,
          across = fabsf(x) == INFINITY ? 1.0f : x * 0.0f;
    return core_atan2(copysignf(up, y), copysignf(across, x));
}

/* Beyond the range that core_fused_atan2 divides in: a number that is lost by the scaling is too small beside the other to count. */
static float rt_other_fused_atan2(float y, float x)
{
    int32_t larger = single_larger(y, x);
    if (larger == 0x7f800000)
        return rt_other_atan2(y, x);
    float scale = larger < FUSED_RATIO_MIN ? 0x1p80f : 0x1p-80f;
    return core_fused_atan2(y * scale, x * scale);
}

/* --- the functions ------------------------------------------------------------------------------- */

#define RT_TOTAL1(name, f)                                                                         \
    float rt_##f(float x)                                                                          \
    {                                                                                              \
        return core_##f(x);                                                                        \
    }
#define RT_POWER1 RT_TOTAL1
#define RT_PARTIAL1(name, f, is)                                                                   \
    float rt_##f(float x)                                                                          \
    {                                                                                              \
        return CORE_IS_##is(x) ? core_##f(x) : rt_other_##f(x);                                    \
    }
#define RT_ANGLE1(name, f)                                                                         \
    float rt_##f(float x)                                                                          \
    {                                                                                              \
        return CORE_IS_NEAR_ANGLE(x) ? core_##f(x)                                                 \
               : CORE_IS_ANGLE(x)    ? core_far_##f(x)                                             \
                                     : rt_other_##f(x);                                               \
    }
#define rt_other_fused_sin rt_other_sin
#define rt_other_fused_cos rt_other_cos
#define RT_TOTAL2(name, f)                                                                         \
    float rt_##f(float x, float y)                                                                 \
    {                                                                                              \
        return core_##f(x, y);                                                                     \
    }
#define RT_PARTIAL2(name, f, is)                                                                   \
    float rt_##f(float x, float y)                                                                 \
    {                                                                                              \
        return CORE_IS_##is(x, y) ? core_##f(x, y) : rt_other_##f(x, y);                           \
    }
#define RT_WITH_FUSED
#include "ssl/rt/rt_math.inc"
#undef RT_WITH_FUSED

#define SINCOS(prefix, turn, sin_of)                                                               \
    float rt_##prefix##sincos(float x, float *out_cos)                                             \
    {                                                                                              \
        if (!CORE_IS_NEAR_ANGLE(x)) {                                                              \
            *out_cos = rt_cos(x);                                                                  \
            return rt_sin(x);                                                                      \
        }                                                                                          \
        Turned t = turn(x);                                                                        \
        *out_cos = sin_of(t, 1);                                                                   \
        return sin_of(t, 0);                                                                       \
    }
SINCOS(, single_turn, single_sin_of)
SINCOS(fused_, fused_turn, fused_sin_of)

float rt_fma(float a, float b, float c)
{
    return core_fma(a, b, c);
}
