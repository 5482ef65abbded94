#include "ssl/jit/symbols.h"
#include "ssl/rt/rt.h"
#include <string.h>

#define SYMBOL(name, function) {name, (void (*)(void))(function)}

const JitSymbol *jit_symbols(void)
{
    static const JitSymbol symbols[] = {
#define RT_MATH1(name, f) SYMBOL("rt_" #f, rt_##f),
#define RT_MATH2(name, f) SYMBOL("rt_" #f, rt_##f),
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2
        SYMBOL("rt_sincos", rt_sincos),
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
