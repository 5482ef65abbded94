/* Four floats in a register: vector types of GCC and Clang, which use the CPU's instructions or, where there are none,
 * scalar code. Operators work lane by lane, with the bits of the scalar operation. */
#ifndef SORT_BASE_SIMD_H
#define SORT_BASE_SIMD_H

#include "base/compiler.h"
#include <string.h>
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

typedef float f32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32))); /* in as many registers as it takes */
typedef uint16_t u16x4 __attribute__((vector_size(8)));
typedef uint8_t u8x4 __attribute__((vector_size(4)));

/* Loads from any address. */
static inline f32x4 f32x4_load(const void *at)
{
    f32x4 v;
    memcpy(&v, at, sizeof v);
    return v;
}

static inline i32x4 i32x4_load(const void *at)
{
    i32x4 v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* Returns the highest bits of the four numbers; that of number 0 is bit 0. */
static inline uint32_t i32x4_sign_bits(i32x4 v)
{
#if defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)v);
#else
    return (uint32_t)((v[0] < 0) | (v[1] < 0) << 1 | (v[2] < 0) << 2 | (v[3] < 0) << 3);
#endif
}

static inline void f32x4_store(f32x4 v, float *out)
{
    memcpy(out, &v, sizeof v);
}

static inline f32x4 f32x4_splat(float x)
{
    return (f32x4){x, x, x, x};
}

/* Return the lesser and the greater of two numbers, with the bits of minf and maxf (base/vec.h). */
static inline f32x4 f32x4_min(f32x4 a, f32x4 b)
{
#if defined(__SSE2__)
    return (f32x4)_mm_min_ps((__m128)a, (__m128)b);
#else
    i32x4 is_less = a < b;
    return (f32x4)(((i32x4)a & is_less) | ((i32x4)b & ~is_less));
#endif
}

static inline f32x4 f32x4_max(f32x4 a, f32x4 b)
{
#if defined(__SSE2__)
    return (f32x4)_mm_max_ps((__m128)a, (__m128)b);
#else
    i32x4 is_more = a > b;
    return (f32x4)(((i32x4)a & is_more) | ((i32x4)b & ~is_more));
#endif
}

/* Returns a where the mask is -1, and b where it is 0. */
static inline f32x4 f32x4_select(i32x4 mask, f32x4 a, f32x4 b)
{
    return (f32x4)(((i32x4)a & mask) | ((i32x4)b & ~mask));
}

/* Turns rows into columns. */
static inline void f32x4_transpose(f32x4 v[4])
{
    f32x4 a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
    f32x4 b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
    f32x4 c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
    f32x4 d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    v[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    v[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    v[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/* Loads and widens four integers. Spelled out for x86, where GCC 12 splits the general form. */
static inline f32x4 f32x4_from_u8(const uint8_t *at)
{
#if defined(__SSE2__)
    int32_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    __m128i zero = _mm_setzero_si128();
    __m128i words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero);
    return (f32x4)_mm_cvtepi32_ps(_mm_unpacklo_epi16(words, zero));
#else
    u8x4 v;
    memcpy(&v, at, sizeof v);
    return __builtin_convertvector(v, f32x4);
#endif
}

static inline i32x4 i32x4_from_u16(const void *at)
{
#if defined(__SSE2__)
    return (i32x4)_mm_unpacklo_epi16(_mm_loadl_epi64(at), _mm_setzero_si128());
#else
    u16x4 v;
    memcpy(&v, at, sizeof v);
    return __builtin_convertvector(v, i32x4);
#endif
}

#endif
