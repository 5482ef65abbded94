/* Where all random numbers of a render come from. Stateless: a number is a pure function of
 * (SampleKey, dimension), the same on every thread and machine.
 *
 * sobol        each dimension is its own Owen-scrambled, shuffled (0,2)-sequence, padded [Burley2020]:
 *              any aligned run of 2^k samples of a pixel is stratified in every elementary interval,
 *              dimensions are independent of each other, and there is no table to run out of.
 * independent  a hash; for tests and comparisons.
 *
 * Any thread. */
#ifndef SORT_SAMPLING_SAMPLER_H
#define SORT_SAMPLING_SAMPLER_H

#include "base/vec.h"
#include "sort/sampling/sample_key.h"

typedef enum SamplerKind { SAMPLER_SOBOL = 0, SAMPLER_INDEPENDENT, SAMPLER_KIND_COUNT } SamplerKind;

/* Zero-initialised: the default sampler. */
typedef struct Sampler {
    SamplerKind kind;
} Sampler;

/* Numbers lie on the lattice k / 2^24, 0 <= k < 2^24. */
float sampler_1d(const Sampler *s, SampleKey key, uint32_t dimension);
float2 sampler_2d(const Sampler *s, SampleKey key, uint32_t dimension);

const char *sampler_name(SamplerKind kind); /* "sobol"; NULL past the last */
/* False when there is no such sampler; *out_kind is then untouched. */
bool sampler_find(const char *name, SamplerKind *out_kind);

#endif
