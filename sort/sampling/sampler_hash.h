/* Hashes of one dimension for the streams of many points, compiled for CPUs that multiply vectors of 64 bits: sampler_hash.inl. */
#ifndef SORT_SAMPLING_SAMPLER_HASH_H
#define SORT_SAMPLING_SAMPLER_HASH_H

#include "base/hash.h"
#include "sort/wide/wide.h"

static inline uint64_t sampler_hash(uint64_t stream, uint32_t dimension)
{
    return hash_mix64(stream + (dimension + 1ull) * 0x9e3779b97f4a7c15u);
}

/* A third seed, of a hash whose halves are the others. */
static inline uint32_t sampler_third_seed(uint64_t hash)
{
    return (uint32_t)(hash * 0xd6e8feb86659fd93u >> 32);
}

/* Sets the low and high halves of the hash of each stream, and the third seed. */
void sampler_hash_rows_v3(const uint64_t stream[SSL_BLOCK], uint32_t dimension, WideInts out_low,
                          WideInts out_high, WideInts out_third);
void sampler_hash_rows_v4(const uint64_t stream[SSL_BLOCK], uint32_t dimension, WideInts out_low,
                          WideInts out_high, WideInts out_third);

#endif
