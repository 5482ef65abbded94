/* IEEE 754 binary16 and back.
 *
 * To half: rounds to nearest, ties to even; overflow gives infinity; NaN stays NaN (quiet, upper
 * payload bits kept). To float: exact. Subnormal halves are honoured whatever the thread's FTZ and
 * DAZ modes are, and the bulk forms give the same bits with and without the CPU's instructions. */
#ifndef SORT_BASE_HALF_H
#define SORT_BASE_HALF_H

#include "base/compiler.h"
#include <string.h>

typedef uint16_t half;    /* the bit pattern */
#define HALF_MAX 65504.0f /* the largest finite one */

half half_from_float(float value);

static inline float half_to_float(half h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 0x1fu;
    uint32_t mantissa = h & 0x3ffu;
    uint32_t bits;
    if (SORT_LIKELY(exponent - 1u < 30u)) {
        bits = ((exponent + 112u) << 23) | (mantissa << 13);
    } else if (exponent == 31) {
        bits = 0x7f800000u | (mantissa << 13) | (mantissa ? 0x00400000u : 0u);
    } else if (mantissa) {
        /* shift that moves the top bit to 2^10 */
        uint32_t shift = (uint32_t)__builtin_clz(mantissa) - 21u;
        bits = ((113u - shift) << 23) | (((mantissa << shift) & 0x3ffu) << 13);
    } else {
        bits = 0;
    }
    bits |= sign;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Convert `count` values; the arrays must not overlap. */
void half_from_float_array(const float *values, size_t count, half *out_halves);
void half_to_float_array(const half *halves, size_t count, float *out_values);

#endif
