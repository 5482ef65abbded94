/* The loop over streams. sampler_hash_v3.c and sampler_hash_v4.c compile it for their class of CPUs, under the name
 * SAMPLER_HASH_ROWS; the compiler computes as many at once as the CPU has lanes. */
#include "sort/sampling/sampler_hash.h"

void SAMPLER_HASH_ROWS(const uint64_t stream[SSL_BLOCK], uint32_t dimension,
                       int32_t out_low[restrict SSL_BLOCK], int32_t out_high[restrict SSL_BLOCK],
                       int32_t out_third[restrict SSL_BLOCK])
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        uint64_t hash = sampler_hash(stream[k], dimension);
        out_low[k] = (int32_t)(uint32_t)hash;
        out_high[k] = (int32_t)(uint32_t)(hash >> 32);
        out_third[k] = (int32_t)sampler_third_seed(hash);
    }
}
