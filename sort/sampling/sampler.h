/* Where all random numbers of a render come from. Stateless: a number is a pure function of
 * (SampleKey, dimension), the same on every thread and machine.
 *
 * sobol        each dimension is its own Owen-scrambled, shuffled (0,2)-sequence [Burley2020]: any aligned run of 2^k
 *              samples of a pixel is stratified in every elementary interval. The pairs that decide most of a
 *              picture's noise, of the pixel and of the first surfaces, are stratified against one another, too
 *              (decision 0150); other dimensions are padded: independent of all others. There is no table to
 *              run out of.
 * independent  a hash; for tests and comparisons.
 * blue-noise   sobol's numbers, handed out along a scrambled Z-order of the pixels [Ahmed2020]: the samples of
 *              all pixels of an aligned square of 2^k x 2^k are one stratified set, so that what one pixel gets
 *              too much of its neighbours get too little, and the error is high-frequency grain. It is so once
 *              all samples of a pixel are taken, best with a power of two of them; before, it is sobol.
 *
 * Any thread that flushes subnormal numbers (base/thread.h). */
#ifndef SORT_SAMPLING_SAMPLER_H
#define SORT_SAMPLING_SAMPLER_H

#include "base/vec.h"
#include "sort/sampling/sample_key.h"
#include "sort/sampling/sampler_rows.h"
#include "sort/wide/wide.h"

typedef enum SamplerKind {
    SAMPLER_SOBOL = 0,
    SAMPLER_INDEPENDENT,
    SAMPLER_BLUE_NOISE,
    SAMPLER_KIND_COUNT
} SamplerKind;

/* Zero-initialised: the default sampler. */
typedef struct Sampler {
    SamplerKind kind;
} Sampler;

/* The key of sample `index` of a pixel, below 65536, for numbers of this sampler. samples: that the whole render takes of
 * each pixel, however many of them are taken here; index < samples <= 2^24. For blue-noise the key depends on it. The next
 * sample of the pixel has the same key but for SampleKey.index, which is the next one. */
SampleKey sampler_key(const Sampler *s, uint32_t x, uint32_t y, uint32_t index, uint32_t seed,
                      uint32_t samples);

/* Numbers for the lanes of `live`, of which lane k asks for keys[k] and dimensions[k]. They lie on the lattice k / 2^24,
 * 0 <= k < 2^24. */
void sampler_1d_points(const Sampler *s, const SampleKey *const keys[], const uint32_t dimensions[],
                       uint16_t live, WideRow out_u);
void sampler_2d_points(const Sampler *s, const SampleKey *const keys[], const uint32_t dimensions[],
                       uint16_t live, WideRow out_u[2]);
/* Pairs of one dimension for samples that follow one another, in less time: sampler_2d_begin prepares `rows` for the first samples of
 * some pixels, and sampler_2d_next draws for these keys and then for those of later samples of the same pixels and lanes. */
void sampler_2d_begin(const SampleKey *const keys[], uint32_t dimension, uint16_t live,
                      SamplerRows *rows);
void sampler_2d_next(const Sampler *s, const SampleKey *const keys[], uint32_t dimension,
                     uint16_t live, SamplerRows *rows, WideRow out_u[2]);
/* Pairs of two dimensions for each lane, dimensions[k] and the one `step` after it, in less time than one by one. */
void sampler_pairs_points(const Sampler *s, const SampleKey *const keys[],
                          const uint32_t dimensions[], uint32_t step, uint16_t live,
                          WideRow out_u[2], WideRow out_u2[2]);
/* One number, one pair. */
float sampler_1d(const Sampler *s, SampleKey key, uint32_t dimension);
float2 sampler_2d(const Sampler *s, SampleKey key, uint32_t dimension);

const char *sampler_name(SamplerKind kind); /* "sobol"; NULL past the last */
/* False when there is no such sampler; *out_kind is then untouched. */
bool sampler_find(const char *name, SamplerKind *out_kind);

#endif
