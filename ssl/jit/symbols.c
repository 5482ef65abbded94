#include "ssl/jit/symbols.h"
#include "ssl/rt/rt.h"
#include "ssl/rt/rt_lanes.h"
#include <string.h>

#define SYMBOL(name, function) {name, (void (*)(void))(function)}
#if RT_HAS_WIDE_LANES
#    define WIDE_SYMBOLS(f) SYMBOL("rt_" #f "_8", rt_##f##_8), SYMBOL("rt_" #f "_16", rt_##f##_16)
#else
#    define WIDE_SYMBOLS(f)
#endif
#define LANE_SYMBOLS(f) SYMBOL("rt_" #f, rt_##f), SYMBOL("rt_" #f "_4", rt_##f##_4), WIDE_SYMBOLS(f)

const JitSymbol *jit_symbols(void)
{
    static const JitSymbol symbols[] = {
#define RT_MATH1(name, f) LANE_SYMBOLS(f),
#define RT_MATH2(name, f) LANE_SYMBOLS(f),
#define RT_WITH_FUSED
#include "ssl/rt/rt_math.inc"
#undef RT_WITH_FUSED
#undef RT_MATH1
#undef RT_MATH2
        LANE_SYMBOLS(sincos),
        LANE_SYMBOLS(fused_sincos),
        LANE_SYMBOLS(fma),
        /* Copies of arrays, and rounding where the CPU has no instruction for it. */
        SYMBOL("memcpy", memcpy),
        SYMBOL("memmove", memmove),
        SYMBOL("memset", memset),
        SYMBOL("floorf", floorf),
        SYMBOL("ceilf", ceilf),
        SYMBOL("truncf", truncf),
        SYMBOL("roundf", roundf),
        {NULL, NULL},
    };
    return symbols;
}
