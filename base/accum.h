/* Exact sums of floats. A value is rounded once, to nearest, to a multiple of the quantum; from there on all
 * is integer addition, which is associative and commutative, so any order and any grouping give the same bits.
 * Values, header only. */
#ifndef SORT_BASE_ACCUM_H
#define SORT_BASE_ACCUM_H

#include "base/simd.h"
#include <math.h>
#if defined(__x86_64__)
#    include <immintrin.h>
#endif

/* Two's complement, (hi 2^64 + lo) 2^-64: hi is the whole part, rounded down. */
typedef struct AccumWide {
    uint64_t lo;
    int64_t hi;
} AccumWide;

static inline void accum_wide_add(AccumWide *a, AccumWide b)
{
    a->lo += b.lo;
    /* As unsigned: sums of partial files may be anything, and wrap. */
    a->hi = (int64_t)((uint64_t)a->hi + (uint64_t)b.hi + (a->lo < b.lo));
}

static inline AccumWide accum_wide_negated(AccumWide a)
{
    uint64_t lo = ~a.lo + 1;
    return (AccumWide){lo, (int64_t)(~(uint64_t)a.hi + (lo == 0))};
}

/* |v| < 2^63. Below 2^-11 the product with 2^64 is rounded to an integer, which fits 53 bits; above, a double is
 * a multiple of 2^-63 and splits exactly. */
static inline AccumWide accum_wide_from_double(double v)
{
    if (fabs(v) < 0x1p-11) {
        int64_t q = llrint(v * 0x1p64);
        return (AccumWide){(uint64_t)q, q < 0 ? -1 : 0};
    }
    int64_t whole = (int64_t)v;
    whole -= v < (double)whole; /* down */
    return (AccumWide){(uint64_t)(int64_t)((v - (double)whole) * 0x1p63) << 1, whole};
}

/* From 2^-41 on, a float is a multiple of 2^-64, so that the product is exact up to 1/2. */
static inline AccumWide accum_wide_from_float(float value)
{
    double v = (double)value;
    if (fabs(v) >= 0.5)
        return accum_wide_from_double(v);
    int64_t q = llrint(v * 0x1p64);
    return (AccumWide){(uint64_t)q, q < 0 ? -1 : 0};
}

/* Lines of numbers, each |v| < ACCUM_LINE_MAX, are summed to the bits that accum_wide_from_float of each would give. A number is
 * split at 2^-32 into two integers, below 2^49 and up to 2^31, which doubles, or integers of 64 bits, sum exactly for ACCUM_LINES_MAX lines. */
enum { ACCUM_LINE = 16, ACCUM_LINES_MAX = 16 };
#define ACCUM_LINE_MAX 0x1p17f

static inline void accum_wide_add_halves(AccumWide *a, int64_t high, int64_t low)
{
    accum_wide_add(a, (AccumWide){(uint64_t)high << 32, high >> 32});
    accum_wide_add(a, (AccumWide){(uint64_t)low, low < 0 ? -1 : 0});
}

/* Four sums of such numbers. */
typedef struct AccumQuad {
    f64x4 high, low;
    i32x4 is_large; /* a number was not below ACCUM_LINE_MAX */
} AccumQuad;

static inline void accum_quad_take(AccumQuad *sums, f32x4 v)
{
    const double to_whole = 0x1.8p52; /* adding it rounds to an integer */
    const i32x4 limit =
        (i32x4)f32x4_splat(ACCUM_LINE_MAX); /* without sign, bits compare as numbers do */
    f64x4 x = __builtin_convertvector(v, f64x4) * 0x1p32, whole = (x + to_whole) - to_whole;
    sums->is_large |= ((i32x4)v & INT32_MAX) >= limit;
    sums->high += whole;
    sums->low += ((x - whole) * 0x1p32 + to_whole) - to_whole;
}

static inline bool accum_quad_holds(const AccumQuad *sums)
{
    return !(sums->is_large[0] | sums->is_large[1] | sums->is_large[2] | sums->is_large[3]);
}

/* Adds `count` lines of ACCUM_LINE numbers, at most ACCUM_LINES_MAX; four columns at a time, whose sums stay in registers.
 * Returns false, and adds nothing, if a number is not below ACCUM_LINE_MAX. */
static inline bool accum_lines_add(const float *const *lines, uint32_t count, AccumWide *out)
{
    int64_t all_high = 0, all_low = 0;
    for (uint32_t first = 0; first < ACCUM_LINE; first += 4) {
        AccumQuad sums = {.high = {0}};
        for (uint32_t i = 0; i < count; ++i)
            accum_quad_take(&sums, f32x4_load(lines[i] + first));
        if (!accum_quad_holds(&sums))
            return false;
        for (uint32_t i = 0; i < 4; ++i) {
            all_high += (int64_t)sums.high[i];
            all_low += (int64_t)sums.low[i];
        }
    }
    accum_wide_add_halves(out, all_high, all_low);
    return true;
}

/* Adds `count` quads of numbers, at most ACCUM_LINES_MAX, that stand `stride_bytes` apart, each number of a quad to a sum of its own. As
 * accum_lines_add. */
static inline bool accum_quads_add(const void *quads, size_t stride_bytes, uint32_t count,
                                   AccumWide out[4])
{
    const unsigned char *at = quads;
    AccumQuad sums = {.high = {0}};
    for (uint32_t i = 0; i < count; ++i, at += stride_bytes)
        accum_quad_take(&sums, f32x4_load(at));
    if (!accum_quad_holds(&sums))
        return false;
    for (uint32_t i = 0; i < 4; ++i)
        accum_wide_add_halves(&out[i], (int64_t)sums.high[i], (int64_t)sums.low[i]);
    return true;
}

#if defined(__x86_64__)
/* Products are exact, so that fused operations have the bits of accum_lines_add; they need two thirds of its time. */
__attribute__((target("avx2,fma"))) static inline bool
accum_lines_add_avx2(const float *const *lines, uint32_t count, AccumWide *out)
{
    const __m256d to_whole = _mm256_set1_pd(0x1.8p52), shift = _mm256_set1_pd(0x1p32);
    const __m128i unsigned_bits = _mm_set1_epi32(INT32_MAX);
    const __m128i limit = _mm_castps_si128(_mm_set1_ps(ACCUM_LINE_MAX));
    int64_t all_high = 0, all_low = 0;
    for (uint32_t first = 0; first < ACCUM_LINE; first += 4) {
        __m256d high = _mm256_setzero_pd(), low = _mm256_setzero_pd();
        __m128i size = _mm_setzero_si128();
        for (uint32_t i = 0; i < count; ++i) {
            __m128 v = (__m128)f32x4_load(lines[i] + first);
            size = _mm_max_epi32(size, _mm_and_si128(_mm_castps_si128(v), unsigned_bits));
            __m256d x = _mm256_cvtps_pd(v);
            __m256d whole = _mm256_sub_pd(_mm256_fmadd_pd(x, shift, to_whole), to_whole);
            __m256d rest = _mm256_fmsub_pd(x, shift, whole);
            high = _mm256_add_pd(high, whole);
            low =
                _mm256_add_pd(low, _mm256_sub_pd(_mm256_fmadd_pd(rest, shift, to_whole), to_whole));
        }
        if (_mm_movemask_epi8(_mm_cmpgt_epi32(limit, size)) != UINT16_MAX)
            return false;
        for (uint32_t i = 0; i < 4; ++i) {
            all_high += (int64_t)((f64x4)high)[i];
            all_low += (int64_t)((f64x4)low)[i];
        }
    }
    accum_wide_add_halves(out, all_high, all_low);
    return true;
}

/* All columns at once. The bits of an integer that stands in a double of 2^52 to 2^53 are the integer and a constant, so that bits
 * are added, and the constants taken off at the end. */
__attribute__((target("avx512f"))) static inline bool
accum_lines_add_avx512(const float *const *lines, uint32_t count, AccumWide *out)
{
    const __m512d to_whole = _mm512_set1_pd(0x1.8p52), shift = _mm512_set1_pd(0x1p32);
    const __m512i unsigned_bits = _mm512_set1_epi32(INT32_MAX);
    const __m512i limit = _mm512_castps_si512(_mm512_set1_ps(ACCUM_LINE_MAX));
    __m512i size = _mm512_setzero_si512(), high[2] = {size, size}, low[2] = {size, size};
    for (uint32_t i = 0; i < count; ++i) {
        __m512 v = _mm512_loadu_ps(lines[i]);
        size = _mm512_max_epi32(size, _mm512_and_si512(_mm512_castps_si512(v), unsigned_bits));
        const __m256 halves[2] = {_mm512_castps512_ps256(v),
                                  _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1))};
        for (uint32_t k = 0; k < 2; ++k) {
            __m512d x = _mm512_cvtps_pd(halves[k]), t = _mm512_fmadd_pd(x, shift, to_whole);
            __m512d rest = _mm512_fmsub_pd(x, shift, _mm512_sub_pd(t, to_whole));
            high[k] = _mm512_add_epi64(high[k], _mm512_castpd_si512(t));
            low[k] = _mm512_add_epi64(low[k],
                                      _mm512_castpd_si512(_mm512_fmadd_pd(rest, shift, to_whole)));
        }
    }
    if (_mm512_cmpge_epi32_mask(size, limit) != 0)
        return false;
    const uint64_t constants = (uint64_t)count * ACCUM_LINE * 0x4338000000000000u;
    accum_wide_add_halves(
        out,
        (int64_t)((uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(high[0], high[1])) -
                  constants),
        (int64_t)((uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(low[0], low[1])) - constants));
    return true;
}
#endif

/* To nearest but for a last rounding, also for small negative sums. */
static inline double accum_wide_to_double(AccumWide a)
{
    bool is_negative = a.hi < 0;
    uint64_t lo = a.lo, hi = (uint64_t)a.hi;
    if (is_negative) {
        lo = ~lo + 1;
        hi = ~hi + (lo == 0);
    }
    double magnitude = (double)hi + (double)lo * 0x1p-64;
    return is_negative ? -magnitude : magnitude;
}

/* A multiple of 2^-32, |value| <= 2^6. */
static inline int64_t accum_narrow_from_float(float value)
{
    return llrint((double)value * 0x1p32);
}

static inline double accum_narrow_to_double(int64_t a)
{
    return (double)a * 0x1p-32;
}

#endif
