/* Checked sizes and narrowing. Sizes that come from files are multiplied and added through these,
 * so that an overflow is an error instead of a short buffer. */
#ifndef SORT_BASE_CAST_H
#define SORT_BASE_CAST_H

#include "base/check.h"

/* Returns false and leaves *out untouched if the exact result does not fit size_t. */
static inline SORT_MUST_CHECK bool size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline SORT_MUST_CHECK bool size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

/* Rounds up to a multiple of `align`, a power of two. The result must fit. */
static inline size_t size_align(size_t bytes, size_t align)
{
    ASSERT(align != 0 && (align & (align - 1)) == 0 && bytes <= SIZE_MAX - (align - 1));
    return (bytes + align - 1) & ~(align - 1);
}

/* For the owner of what others may only read. */
static inline void *cast_away_const(const void *pointer)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): compilers warn of a cast */
    return (void *)(uintptr_t)pointer;
}

/* Narrowing of values that the program's own logic keeps in range; values from outside are tested before. */
static inline uint32_t cast_u32(uint64_t value)
{
    CHECK(value <= UINT32_MAX);
    return (uint32_t)value;
}

static inline uint16_t cast_u16(uint64_t value)
{
    CHECK(value <= UINT16_MAX);
    return (uint16_t)value;
}

static inline int32_t cast_i32(int64_t value)
{
    CHECK(value >= INT32_MIN && value <= INT32_MAX);
    return (int32_t)value;
}

#endif
