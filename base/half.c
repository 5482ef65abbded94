#include "base/half.h"

half half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) /* NaN becomes quiet; the upper payload bits are kept */
        return (half)(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
    if (bits >= 0x477ff000u) /* 65520 and above round to infinity */
        return (half)(sign | 0x7c00u);
    uint32_t mantissa, shift, result;
    if (bits >= 0x38800000u) { /* normal halves: 2^-14 and above */
        mantissa = bits - 0x38000000u;
        shift = 13;
    } else if (bits >= 0x33000000u) { /* subnormal halves, from 2^-25 */
        mantissa = (bits & 0x7fffffu) | 0x800000u;
        shift = 126u - (bits >> 23);
    } else {
        return (half)sign;
    }
    /* Rounds to nearest, ties to even; a carry out of the mantissa correctly increments the exponent. */
    result = (mantissa + (1u << (shift - 1)) - 1u + ((mantissa >> shift) & 1u)) >> shift;
    return (half)(sign | result);
}

#if defined(__x86_64__)
#    include <immintrin.h>

__attribute__((target("avx,f16c"))) static size_t from_float_f16c(const float *values, size_t count,
                                                                  half *out_halves)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(out_halves + i), packed);
    }
    return i;
}

__attribute__((target("avx,f16c"))) static size_t to_float_f16c(const half *halves, size_t count,
                                                                float *out_values)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i packed = _mm_loadu_si128((const __m128i *)(halves + i));
        _mm256_storeu_ps(out_values + i, _mm256_cvtph_ps(packed));
    }
    return i;
}

static bool has_f16c(void)
{
    return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
}
#else
static size_t from_float_f16c(const float *values, size_t count, half *out_halves)
{
    (void)values, (void)count, (void)out_halves;
    return 0;
}

static size_t to_float_f16c(const half *halves, size_t count, float *out_values)
{
    (void)halves, (void)count, (void)out_values;
    return 0;
}

static bool has_f16c(void)
{
    return false;
}
#endif

void half_from_float_array(const float *values, size_t count, half *out_halves)
{
    size_t i = has_f16c() ? from_float_f16c(values, count, out_halves) : 0;
    for (; i < count; ++i)
        out_halves[i] = half_from_float(values[i]);
}

void half_to_float_array(const half *halves, size_t count, float *out_values)
{
    size_t i = has_f16c() ? to_float_f16c(halves, count, out_values) : 0;
    for (; i < count; ++i)
        out_values[i] = half_to_float(halves[i]);
}
