/* Exact sums of floats. A value is rounded once, to nearest, to a multiple of the quantum; from there on all
 * is integer addition, which is associative and commutative, so any order and any grouping give the same bits.
 * Values, header only. */
#ifndef SORT_BASE_ACCUM_H
#define SORT_BASE_ACCUM_H

#include "base/compiler.h"
#include <math.h>

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

static inline AccumWide accum_wide_from_float(float value)
{
    return accum_wide_from_double((double)value);
}

/* Sums of lines of numbers, each |v| < ACCUM_LINE_MAX, to the bits that accum_wide_from_float of each would give. A number is
 * split at 2^-32 into two integers, below 2^49 and up to 2^31, which doubles sum exactly for ACCUM_LINES_MAX lines. */
enum { ACCUM_LINE = 16, ACCUM_LINES_MAX = 16 };
#define ACCUM_LINE_MAX 0x1p17f
typedef struct AccumLines {
    double high[ACCUM_LINE], low[ACCUM_LINE];
    uint32_t count; /* of lines */
} AccumLines;

/* At most ACCUM_LINES_MAX lines before accum_lines_flush. The loop is one of vectors. */
static inline void accum_lines_add(AccumLines *a, const float v[ACCUM_LINE])
{
    const double to_whole = 0x1.8p52; /* adding it rounds to an integer */
    for (int i = 0; i < ACCUM_LINE; ++i) {
        double x = (double)v[i] * 0x1p32, high = (x + to_whole) - to_whole;
        a->high[i] += high;
        a->low[i] += ((x - high) * 0x1p32 + to_whole) - to_whole;
    }
    ++a->count;
}

/* Hands the sums on, and begins anew. */
static inline void accum_lines_flush(AccumLines *a, AccumWide *out)
{
    int64_t high = 0, low = 0;
    for (int i = 0; i < ACCUM_LINE; ++i) {
        high += (int64_t)a->high[i];
        low += (int64_t)a->low[i];
    }
    accum_wide_add(out, (AccumWide){(uint64_t)high << 32, high >> 32});
    accum_wide_add(out, (AccumWide){(uint64_t)low, low < 0 ? -1 : 0});
    *a = (AccumLines){.count = 0};
}

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
