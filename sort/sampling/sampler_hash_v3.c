#define SAMPLER_HASH_ROWS sampler_hash_rows_v3
#include "sort/sampling/sampler_hash.inl"
