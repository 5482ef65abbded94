/* Counts of bits. */
#ifndef SORT_BASE_BITS_H
#define SORT_BASE_BITS_H

#include <stdint.h>

/* Returns how many bits of x are set, in a dozen instructions: the processors that every build supports have none for it, and the
 * compiler calls a function of its library. */
static inline uint32_t bit_count(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return x * 0x01010101u >> 24;
}

#endif
