/* The stateless samplers.
 *
 * Sobol, padded [Burley2020]. Each dimension shuffles the sample index by one Owen scramble, takes the first
 * two Sobol dimensions of the shuffled index, and Owen-scrambles each. An Owen scramble is done as Laine and
 * Karras do it: on the bit-reversed number, with a hash in which every bit depends only on lower ones
 * [LaineKarras2011], constants of [Vegdahl2021]. Bit reversals cancel in pairs:
 *
 *   i' = rev(hash(rev(i)))          shuffled index
 *   x  = rev(hash(i'))              the first Sobol dimension is rev itself
 *   y  = rev(hash(pascal(i')))      the second is rev after Pascal's triangle mod 2
 *
 * Shuffling keeps aligned runs of 2^k indices together, so each such run is a scrambled (0,k,2)-net. */
#include "sort/sampling/sampler.h"

#include "base/check.h"
#include <string.h>

static inline uint32_t reverse_bits(uint32_t x)
{
    x = __builtin_bswap32(x);
    x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    return (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
}

/* Bit i of the result is bit i of x, flipped by a hash of the bits below it. */
static inline uint32_t scramble_reversed(uint32_t x, uint32_t seed)
{
    x ^= x * 0x3d20adeau;
    x += seed;
    x *= seed >> 16 | 1u;
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return x;
}

/* Multiplies by the matrix of binomials (k over j) mod 2, which is 1 where the bits of j are a subset of
 * those of k [Lucas1878]: a sum over supersets, in five butterfly steps. */
static inline uint32_t pascal_mod2(uint32_t x)
{
    x ^= x >> 1 & 0x55555555u;
    x ^= x >> 2 & 0x33333333u;
    x ^= x >> 4 & 0x0f0f0f0fu;
    x ^= x >> 8 & 0x00ff00ffu;
    return x ^ (x >> 16 & 0x0000ffffu);
}

static inline uint64_t dimension_hash(SampleKey key, uint32_t dimension)
{
    return hash_mix64(key.stream + (dimension + 1ull) * 0x9e3779b97f4a7c15u);
}

/* The top 24 bits. */
static inline float to_unit(uint32_t x)
{
    return (float)(x >> 8) * 0x1p-24f;
}

static float sobol_1d(SampleKey key, uint32_t dimension)
{
    uint64_t h = dimension_hash(key, dimension);
    uint32_t i = reverse_bits(scramble_reversed(reverse_bits(key.index), (uint32_t)h));
    return to_unit(reverse_bits(scramble_reversed(i, (uint32_t)(h >> 32))));
}

static float2 sobol_2d(SampleKey key, uint32_t dimension)
{
    uint64_t h = dimension_hash(key, dimension);
    uint32_t i = reverse_bits(scramble_reversed(reverse_bits(key.index), (uint32_t)h));
    uint32_t x = scramble_reversed(i, (uint32_t)(h >> 32));
    uint32_t y = scramble_reversed(pascal_mod2(i), (uint32_t)(h * 0xd6e8feb86659fd93u >> 32));
    return f2(to_unit(reverse_bits(x)), to_unit(reverse_bits(y)));
}

static uint64_t independent_bits(SampleKey key, uint32_t dimension)
{
    return hash_mix64(dimension_hash(key, dimension) + key.index * 0x9e3779b97f4a7c15u);
}

float sampler_1d(const Sampler *s, SampleKey key, uint32_t dimension)
{
    if (SORT_LIKELY(s->kind == SAMPLER_SOBOL))
        return sobol_1d(key, dimension);
    ASSERT(s->kind == SAMPLER_INDEPENDENT);
    return to_unit((uint32_t)(independent_bits(key, dimension) >> 32));
}

float2 sampler_2d(const Sampler *s, SampleKey key, uint32_t dimension)
{
    if (SORT_LIKELY(s->kind == SAMPLER_SOBOL))
        return sobol_2d(key, dimension);
    ASSERT(s->kind == SAMPLER_INDEPENDENT);
    uint64_t bits = independent_bits(key, dimension);
    return f2(to_unit((uint32_t)(bits >> 32)), to_unit((uint32_t)bits));
}

static const char *const sampler_names[SAMPLER_KIND_COUNT] = {"sobol", "independent"};

const char *sampler_name(SamplerKind kind)
{
    return (unsigned)kind < SAMPLER_KIND_COUNT ? sampler_names[kind] : NULL;
}

bool sampler_find(const char *name, SamplerKind *out_kind)
{
    for (int i = 0; i < SAMPLER_KIND_COUNT; ++i)
        if (strcmp(name, sampler_names[i]) == 0) {
            *out_kind = (SamplerKind)i;
            return true;
        }
    return false;
}
