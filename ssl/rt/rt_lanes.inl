/* The functions over RT_LANES lanes at once: rt_lanes_4.c, _8.c and _16.c set RT_LANES and are compiled
 * for machines with registers of that width. The loops have no branch, so compilers vectorise them; lanes
 * outside a body's domain are rare and go through the scalar function. */
#include "ssl/rt/rt.h"
#include "ssl/rt/rt_core.h"
#include "ssl/rt/rt_lanes.h"

_Static_assert(RT_LANES == 4 || RT_LANES == 8 || RT_LANES == 16, "rt_lanes.h declares these widths");

#define LANE_NAME(f)            LANE_NAME_OF(f, RT_LANES)
#define LANE_NAME_OF(f, lanes)  LANE_NAME_OF2(f, lanes)
#define LANE_NAME_OF2(f, lanes) rt_##f##_##lanes

#define RT_TOTAL1(name, f)                                                                         \
    void LANE_NAME(f)(const float *restrict x, float *restrict out)                                \
    {                                                                                              \
        for (uint32_t i = 0; i < RT_LANES; ++i)                                                    \
            out[i] = core_##f(x[i]);                                                               \
    }
#define RT_PARTIAL1(name, f, is)                                                                   \
    void LANE_NAME(f)(const float *restrict x, float *restrict out)                                \
    {                                                                                              \
        uint32_t others = 0;                                                                       \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            out[i] = core_##f(x[i]);                                                               \
            others += !CORE_IS_##is(x[i]);                                                         \
        }                                                                                          \
        for (uint32_t i = 0; i < RT_LANES && others; ++i)                                          \
            out[i] = rt_##f(x[i]);                                                                 \
    }
#define RT_TOTAL2(name, f)                                                                         \
    void LANE_NAME(f)(const float *restrict x, const float *restrict y, float *restrict out)       \
    {                                                                                              \
        for (uint32_t i = 0; i < RT_LANES; ++i)                                                    \
            out[i] = core_##f(x[i], y[i]);                                                         \
    }
#define RT_PARTIAL2(name, f, is)                                                                   \
    void LANE_NAME(f)(const float *restrict x, const float *restrict y, float *restrict out)       \
    {                                                                                              \
        uint32_t others = 0;                                                                       \
        for (uint32_t i = 0; i < RT_LANES; ++i) {                                                  \
            out[i] = core_##f(x[i], y[i]);                                                         \
            others += !CORE_IS_##is(x[i], y[i]);                                                   \
        }                                                                                          \
        for (uint32_t i = 0; i < RT_LANES && others; ++i)                                          \
            out[i] = rt_##f(x[i], y[i]);                                                           \
    }
#include "ssl/rt/rt_math.inc"

void LANE_NAME(sincos)(const float *restrict x, float *restrict out_sin, float *restrict out_cos)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < RT_LANES; ++i) {
        uint64_t quadrant;
        double r = core_reduce(x[i], &quadrant);
        out_sin[i] = core_sin_of(r, quadrant);
        out_cos[i] = core_sin_of(r, quadrant + 1);
        others += !CORE_IS_TRIG(x[i]);
    }
    for (uint32_t i = 0; i < RT_LANES && others; ++i)
        rt_sincos(x[i], &out_sin[i], &out_cos[i]);
}
