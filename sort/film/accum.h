/* Exact sums of floats. A value is rounded once, to nearest, to a multiple of the quantum; from there on all
 * is integer addition, which is associative and commutative, so any order and any grouping give the same bits.
 * Values, header only. */
#ifndef SORT_FILM_ACCUM_H
#define SORT_FILM_ACCUM_H

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
    return (AccumWide){(uint64_t)((v - (double)whole) * 0x1p64), whole};
}

static inline AccumWide accum_wide_from_float(float value)
{
    return accum_wide_from_double((double)value);
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
