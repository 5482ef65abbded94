/* Four floats in a register. Vector types of GCC and Clang, which every CPU's baseline has instructions for, or
 * which they take apart; operators work lane by lane, with the bits of the scalar operation. */
#ifndef SORT_BASE_SIMD_H
#define SORT_BASE_SIMD_H

#include "base/compiler.h"
#include <string.h>

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef uint8_t u8x4 __attribute__((vector_size(4)));

/* Loads from any address. */
static inline f32x4 f32x4_load(const void *at)
{
    f32x4 v;
    memcpy(&v, at, sizeof v);
    return v;
}

static inline void f32x4_store(f32x4 v, float *out)
{
    memcpy(out, &v, sizeof v);
}

static inline f32x4 f32x4_splat(float x)
{
    return (f32x4){x, x, x, x};
}

static inline f32x4 f32x4_from_u8(const uint8_t *at)
{
    u8x4 v;
    memcpy(&v, at, sizeof v);
    return __builtin_convertvector(v, f32x4);
}

static inline i32x4 i32x4_from_u16(const void *at)
{
    u16x4 v;
    memcpy(&v, at, sizeof v);
    return __builtin_convertvector(v, i32x4);
}

#endif
