#include "sort/accel/accel_cpu.h"

#include "base/hash.h"
#include "sort/accel/accel_device.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#    include <immintrin.h>

static uint64_t add_float(uint64_t digest, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return hash_mix64(digest ^ bits);
}

static uint64_t approximations(uint64_t digest, float x)
{
    __m128 v = _mm_set_ss(x);
    digest = add_float(digest, _mm_cvtss_f32(_mm_rcp_ss(v)));
    return add_float(digest, _mm_cvtss_f32(_mm_rsqrt_ss(v)));
}

__attribute__((target("avx512f"))) static uint64_t approximations_of_avx512(uint64_t digest,
                                                                            float x)
{
    __m128 v = _mm_set_ss(x);
    digest = add_float(digest, _mm_cvtss_f32(_mm_rcp14_ss(v, v)));
    return add_float(digest, _mm_cvtss_f32(_mm_rsqrt14_ss(v, v)));
}

/* The results depend on the leading bits of the mantissa, and on whether the exponent is odd. */
static uint32_t digest_of_approximations(void)
{
    enum { STEPS = 4096 };
    uint64_t digest = 0;
    bool has_avx512 = __builtin_cpu_supports("avx512f");
    for (uint32_t i = 0; i < 3 * STEPS; ++i) {
        float x = 1.0f + (float)i * (1.0f / STEPS);
        digest = approximations(digest, x);
        if (has_avx512)
            digest = approximations_of_avx512(digest, x);
    }
    return (uint32_t)(digest >> 32);
}
#endif

void accel_cpu_class(const char *compiled_for, char out_class[ACCEL_CPU_CLASS_BYTES])
{
    (void)snprintf(out_class, ACCEL_CPU_CLASS_BYTES, "%s", compiled_for);
#if defined(__x86_64__)
    if (accel_baseline_isa(compiled_for))
        (void)snprintf(out_class, ACCEL_CPU_CLASS_BYTES, "%s-%08" PRIx32, compiled_for,
                       digest_of_approximations());
#endif
}
