/* The functions over RT_LANES lanes at once: rt_lanes_4.c, _8.c and _16.c set RT_LANES and are compiled
 * for machines with registers of that width. The loops have no branch, so compilers vectorise them and keep arguments and
 * results in registers; lanes outside a body's domain are rare and go through the scalar function. */
#include "ssl/rt/rt.h"
#include "ssl/rt/rt_lanes.h"
#include "ssl/rt/rt_fused.h"
#if RT_LANES > 4
#    include <immintrin.h>
#endif

_Static_assert(RT_LANES == 4 || RT_LANES == 8 || RT_LANES == 16, "rt_lanes.h declares these widths");

#define LANE_NAME(f)            LANE_NAME_OF(f, RT_LANES)
#define LANE_NAME_OF(f, lanes)  LANE_NAME_OF2(f, lanes)
#define LANE_NAME_OF2(f, lanes) rt_##f##_##lanes
#define LANES                   LANES_OF(RT_LANES)
#define LANES_OF(lanes)         LANES_OF2(lanes)
#define LANES_OF2(lanes)        RtLanes##lanes

typedef union Lanes {
    LANES all;
    float at[RT_LANES];
    uint32_t flags[RT_LANES];
} Lanes;
_Static_assert(sizeof(Lanes) == RT_LANES * sizeof(float), "a register has one float a lane and no more");

/* Whether a flag is not 0. */
static inline int any_lane(Lanes lanes)
{
#if RT_LANES == 16
    return _mm512_test_epi32_mask((__m512i)lanes.all, (__m512i)lanes.all) != 0;
#elif RT_LANES == 8
    return !_mm256_testz_si256((__m256i)lanes.all, (__m256i)lanes.all);
#else
    uint32_t any = 0;
    for (uint32_t i = 0; i < RT_LANES; ++i)
        any |= lanes.flags[i];
    return any != 0;
#endif
}

/* What stands around calls of functions outside of this file, which keep neither rsi nor, by chance, use the others. */
#if RT_LANES == 16 && RT_KEEPS_REGISTERS
#    define BEFORE_OTHERS()                                                                            \
        uint64_t rsi;                                                                              \
        __asm__ volatile("mov %%rsi, %0" : "=r"(rsi))
#    define AFTER_OTHERS() __asm__ volatile("mov %0, %%rsi" : : "r"(rsi))
#else
#    define BEFORE_OTHERS() (void)0
#    define AFTER_OTHERS()  (void)0
#endif

#define RT_TOTAL1(name, f)                                                                         \
    LANES LANE_NAME(f)(LANES all)                                                                  \
    {                                                                                              \
        Lanes x = {all}, out;                                                                      \
        for (uint32_t i = 0; i < RT_LANES; ++i)                                                    \
            out.at[i] = core_##f(x.at[i]);                                                         \
        return out.all;                                                                            \
    }
#ifdef RT_HAS_SCALING
#    define RT_POWER1(name, f)                                                                     \
        LANES LANE_NAME(f)(LANES x)                                                                \
        {                                                                                          \
            return scaling_##f(x);                                                                 \
        }
#else
#    define RT_POWER1 RT_TOTAL1
#endif
#define RT_PARTIAL1(name, f, is)                                                                   \
    static __attribute__((noinline)) LANES other_##f(LANES all)                                    \
    {                                                                                              \
        Lanes x = {all}, out;                                                                      \
        BEFORE_OTHERS();                                                                           \
        for (uint32_t i = 0; i < RT_LANES; ++i)                                                    \
            out.at[i] = rt_##f(x.at[i]);                                                           \
        AFTER_OTHERS();                                                                            \
        return out.all;                                                                            \
    }                                                                                              \
    LANES LANE_NAME(f)(LANES all)                                                                  \
    {                                                                                              \
        Lanes x = {all}, out, others;                                                              \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            out.at[i] = core_##f(x.at[i]);                                                         \
            others.flags[i] = (!CORE_IS_##is(x.at[i]));                                                      \
        }                                                                                          \
        return any_lane(others) ? other_##f(all) : out.all;                                                  \
    }
#define RT_ANGLE1(name, f)                                                                         \
    static __attribute__((noinline)) LANES other_##f(LANES all, LANES near)                        \
    {                                                                                              \
        Lanes x = {all}, out = {near}, others;                                                     \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            out.at[i] = CORE_IS_NEAR_ANGLE(x.at[i]) ? out.at[i] : core_far_##f(x.at[i]);           \
            others.flags[i] = (!CORE_IS_NEAR_ANGLE(x.at[i]) & !CORE_IS_ANGLE(x.at[i]));                      \
        }                                                                                          \
        BEFORE_OTHERS();                                                                           \
        for (uint32_t i = 0; i < RT_LANES && any_lane(others); ++i)                                \
            out.at[i] = rt_##f(x.at[i]);                                                           \
        AFTER_OTHERS();                                                                            \
        return out.all;                                                                            \
    }                                                                                              \
    LANES LANE_NAME(f)(LANES all)                                                                  \
    {                                                                                              \
        Lanes x = {all}, out, others;                                                              \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            out.at[i] = core_##f(x.at[i]);                                                         \
            others.flags[i] = (!CORE_IS_NEAR_ANGLE(x.at[i]));                                                \
        }                                                                                          \
        return any_lane(others) ? other_##f(all, out.all) : out.all;                                         \
    }
#define RT_TOTAL2(name, f)                                                                         \
    LANES LANE_NAME(f)(LANES all_x, LANES all_y)                                                   \
    {                                                                                              \
        Lanes x = {all_x}, y = {all_y}, out;                                                       \
        for (uint32_t i = 0; i < RT_LANES; ++i)                                                    \
            out.at[i] = core_##f(x.at[i], y.at[i]);                                                \
        return out.all;                                                                            \
    }
#define RT_PARTIAL2(name, f, is)                                                                   \
    static __attribute__((noinline)) LANES other_##f(LANES all_x, LANES all_y)                     \
    {                                                                                              \
        Lanes x = {all_x}, y = {all_y}, out;                                                       \
        BEFORE_OTHERS();                                                                           \
        for (uint32_t i = 0; i < RT_LANES; ++i)                                                    \
            out.at[i] = rt_##f(x.at[i], y.at[i]);                                                  \
        AFTER_OTHERS();                                                                            \
        return out.all;                                                                            \
    }                                                                                              \
    LANES LANE_NAME(f)(LANES all_x, LANES all_y)                                                   \
    {                                                                                              \
        Lanes x = {all_x}, y = {all_y}, out, others;                                               \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            out.at[i] = core_##f(x.at[i], y.at[i]);                                                \
            others.flags[i] = (!CORE_IS_##is(x.at[i], y.at[i]));                                             \
        }                                                                                          \
        return any_lane(others) ? other_##f(all_x, all_y) : out.all;                                         \
    }
#define RT_WITH_FUSED
#include "ssl/rt/rt_math.inc"
#undef RT_WITH_FUSED

#define SINCOS(prefix, turn, sin_of)                                                               \
    LANES LANE_NAME(prefix##sincos)(LANES all, float *out_cos)                                     \
    {                                                                                              \
        Lanes x = {all}, sines, cosines, others;                                                   \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            Turned t = turn(x.at[i]);                                                              \
            sines.at[i] = sin_of(t, 0);                                                            \
            cosines.at[i] = sin_of(t, 1);                                                          \
            others.flags[i] = (!CORE_IS_NEAR_ANGLE(x.at[i]));                                      \
        }                                                                                          \
        if (any_lane(others)) {                                                                    \
            sines.all = other_##prefix##sin(all, sines.all);                                                 \
            cosines.all = other_##prefix##cos(all, cosines.all);                                             \
        }                                                                                          \
        memcpy(out_cos, &cosines, sizeof cosines);                                                 \
        return sines.all;                                                                          \
    }
SINCOS(, single_turn, single_sin_of)
SINCOS(fused_, fused_turn, fused_sin_of)

LANES LANE_NAME(fma)(LANES all_x, LANES all_y, LANES all_z)
{
    Lanes x = {all_x}, y = {all_y}, z = {all_z}, out;
    for (uint32_t i = 0; i < RT_LANES; ++i)
        out.at[i] = core_fma(x.at[i], y.at[i], z.at[i]);
    return out.all;
}
