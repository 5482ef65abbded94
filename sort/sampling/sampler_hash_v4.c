#define SAMPLER_HASH_ROWS sampler_hash_rows_v4
#include "sort/sampling/sampler_hash.inl"
