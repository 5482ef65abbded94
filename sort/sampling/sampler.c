/* The stateless samplers.
 *
 * Sobol [Burley2020]. Each dimension shuffles the sample index by one Owen scramble, takes the first
 * two Sobol dimensions of the shuffled index, and Owen-scrambles each. An Owen scramble is done as Laine and
 * Karras do it: on the bit-reversed number, with a hash in which every bit depends only on lower ones
 * [LaineKarras2011], constants of [Vegdahl2021]. Bit reversals cancel in pairs:
 *
 *   i' = rev(hash(rev(i)))          shuffled index
 *   x  = rev(hash(i'))              the first Sobol dimension is rev itself
 *   y  = rev(hash(pascal(i')))      the second is rev after Pascal's triangle mod 2
 *
 * which sampler.ssl computes for many points at once.
 *
 * Shuffling keeps aligned runs of 2^k indices together, so each such run is a scrambled (0,k,2)-net.
 *
 * Pairs of some dimensions share the shuffle of their path, and each takes the index in an order of its own: i' times a
 * triangular matrix of bits with ones on its diagonal, which keeps runs together, too. So each pair is a (0,2)-sequence as
 * before, and several of them are one digital net of four or more dimensions, whose matrices were searched for the least
 * variance of what depends on two or three pairs (net_orders). Two pairs of one order would be worse than padded ones:
 * where one is in a stratum, so is the other.
 *
 * Blue noise [Ahmed2020] is in the key alone. Pixels share one stream, and the index is the pixel's place in a
 * Z-order, then the sample in 2^m bits: runs of 2^m indices are pixels, runs of 4^k 2^m are squares of pixels,
 * and the shuffle of each dimension, which keeps them together, scrambles their order. What it cannot undo is
 * which pixels of a quad make a pair, since it exchanges halves: the Z-order itself chooses one of the three
 * ways, quad by quad. Together these are all 24 orders of four, each as likely as the others. */
#include "sort/sampling/sampler.h"

#include "base/bits.h"
#include "base/check.h"
#include "sort/sampling/sampler_hash.h"
#include <string.h>

/* The top 24 bits. */
static inline float to_unit(uint32_t x)
{
    return (float)(x >> 8) * 0x1p-24f;
}

static uint64_t independent_bits(SampleKey key, uint32_t dimension)
{
    return hash_mix64(sampler_hash(key.stream, dimension) + key.index * 0x9e3779b97f4a7c15u);
}

/* The fewest bits that hold `count` values. */
static uint32_t bits_for(uint32_t count)
{
    return count > 1 ? 32u - (uint32_t)__builtin_clz(count - 1u) : 0u;
}

/* The place of pixel (x, y) of a square of 2^levels x 2^levels, coarse levels first. */
static uint32_t pixel_order(uint32_t x, uint32_t y, uint32_t levels, uint64_t stream)
{
    /* By how quads are paired: which place the pixels (0,0), (1,0), (0,1), (1,1) take. */
    static const uint8_t places[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 3, 1}};
    uint32_t order = 0;
    for (uint32_t level = levels; level-- > 0;) {
        uint64_t h = hash_mix64(stream + ((uint64_t)(levels - level) << 32 | order));
        uint32_t pairing = (uint32_t)((h >> 32) * 3u >> 32);
        order = order << 2 | places[pairing][(y >> level & 1u) << 1 | (x >> level & 1u)];
    }
    return order;
}

SampleKey sampler_key(const Sampler *s, uint32_t x, uint32_t y, uint32_t index, uint32_t seed,
                      uint32_t samples)
{
    SampleKey key = sample_key(x, y, index, seed);
    ASSERT(s->kind < SAMPLER_KIND_COUNT);
    if (SORT_LIKELY(s->kind != SAMPLER_BLUE_NOISE))
        return key;
    uint32_t sample_bits = bits_for(samples), levels = (32u - sample_bits) / 2u;
    uint32_t in_square = (1u << levels) - 1u;
    ASSERT(index < samples && sample_bits <= 24);
    /* Squares that are far apart need not know of each other: each has a stream of its own. */
    key.stream = sample_key(x >> levels, y >> levels, 0, seed).stream;
    key.index =
        pixel_order(x & in_square, y & in_square, levels, key.stream) << sample_bits | index;
    return key;
}

/* The order in which a dimension takes the shared index: masks of bits for sampler.ssl. */
typedef struct NetOrder {
    bool is_shared; /* false: the dimension has a shuffle of its own */
    int32_t near, far;
} NetOrder;

#define NEAR(down1, down2, down3) ((down3) << 20 | (down2) << 10 | (down1))

/* Found one after the other, by climbing from random masks, each against those before it: the least sum over pairs of orders,
 * and over some triples, of the variance of a scrambled net [Owen1997] against that of padded pairs, for a function whose details
 * halve in variance with each halving of their size in any dimension. The mean over these pairs is 0.64 of padded pairs' with 64
 * samples, 0.51 with 256, 0.56 with 1,024 and 0.36 with 4,096. Boxes of 2^-10 of the volume are even in all pairs of orders in the end. */
static const NetOrder net_orders[] = {
    [SAMPLE_PIXEL] = {true, 0, 0},
    [SAMPLE_DIMENSION(0, SAMPLE_BSDF_UV)] = {true, NEAR(0x3cf, 0x34b, 0x229), 0x194195f},
    [SAMPLE_DIMENSION(0, SAMPLE_LIGHT_UV)] = {true, NEAR(0x326, 0x0e9, 0x02d), 0x035cb3b},
    [SAMPLE_DIMENSION(1, SAMPLE_BSDF_UV)] = {true, NEAR(0x32f, 0x040, 0x3a7), 0x02faa67},
    [SAMPLE_DIMENSION(1, SAMPLE_LIGHT_UV)] = {true, NEAR(0x200, 0x10f, 0x2ac), 0x186eb17},
    [SAMPLE_DIMENSION(2, SAMPLE_BSDF_UV)] = {true, NEAR(0x098, 0x07e, 0x3a3), 0x047223b},
};

static inline const NetOrder *net_order(uint32_t dimension)
{
    static const NetOrder padded = {false, 0, 0};
    return dimension < SORT_COUNT_OF(net_orders) ? &net_orders[dimension] : &padded;
}

/* What shuffles the index of a dimension of this order: its own hash, or what the path's dimensions share. */
static inline int32_t order_seed(SampleKey key, uint64_t h, const NetOrder *order)
{
    return (int32_t)(uint32_t)(order->is_shared ? key.stream : h);
}

static void gather(const SampleKey *key, uint32_t dimension, uint32_t lane, SamplerRows *rows)
{
    uint64_t h = sampler_hash(key->stream, dimension);
    const NetOrder *order = net_order(dimension);
    ASSERT(lane < SSL_BLOCK);
    rows->index[lane] = (int32_t)key->index;
    rows->order_seed[lane] = order_seed(*key, h, order);
    rows->near[lane] = order->near;
    rows->far[lane] = order->far;
    rows->x_seed[lane] = (int32_t)(h >> 32);
    rows->y_seed[lane] = (int32_t)sampler_third_seed(h);
}

/* Sets what a lane has of the second dimension of sampler_pairs. */
static void gather_second(const SampleKey *key, uint32_t dimension, uint32_t lane,
                          SamplerRows *rows)
{
    uint64_t h = sampler_hash(key->stream, dimension);
    const NetOrder *order = net_order(dimension);
    ASSERT(lane < SSL_BLOCK);
    rows->order_seed2[lane] = order_seed(*key, h, order);
    rows->near2[lane] = order->near;
    rows->far2[lane] = order->far;
    rows->x_seed2[lane] = (int32_t)(h >> 32);
    rows->y_seed2[lane] = (int32_t)sampler_third_seed(h);
}

/* --- many lanes of one dimension ---------------------------------------------------------------- */

typedef void HashRows(const uint64_t stream[SSL_BLOCK], uint32_t dimension, WideInts out_low,
                      WideInts out_high, WideInts out_third);

/* NULL: one lane after the other is as fast. */
static HashRows *const hash_codes[WIDE_CLASSES] = {
#if defined(__x86_64__)
    NULL, sampler_hash_rows_v3, sampler_hash_rows_v4
#else
    NULL
#endif
};

/* Sets the index of each lane, and its stream. Returns whether all ask for one dimension. */
static bool gather_streams(const SampleKey *const keys[], const uint32_t dimensions[],
                           uint16_t live, SamplerRows *rows, uint64_t out_stream[SSL_BLOCK])
{
    ASSERT(live != 0);
    uint32_t first = dimensions[__builtin_ctz(live)], other = 0;
    WIDE_EACH(k, live)
    {
        other |= dimensions[k] ^ first;
        out_stream[k] = keys[k]->stream;
        rows->index[k] = (int32_t)keys[k]->index;
    }
    return other == 0;
}

/* Returns the code that hashes all lanes together; NULL if they are few, or the CPU has none. */
static HashRows *hash_together(uint16_t live)
{
    const uint32_t few = 4;
    return bit_count(live) > few ? hash_codes[wide_class_here()] : NULL;
}

static void fill(WideInts row, int32_t value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = value;
}

/* Sets what all lanes of a dimension are shuffled by, where `row` are the low halves of their hashes. */
static void set_order(const NetOrder *order, const uint64_t stream[SSL_BLOCK], WideInts row,
                      WideInts out_near, WideInts out_far)
{
    for (uint32_t k = 0; k < SSL_BLOCK && order->is_shared; ++k)
        row[k] = (int32_t)(uint32_t)stream[k];
    fill(out_near, order->near);
    fill(out_far, order->far);
}

/* live: not empty. */
static void gather_points(const SampleKey *const keys[], const uint32_t dimensions[], uint16_t live,
                          SamplerRows *rows)
{
    alignas(64) uint64_t stream[SSL_BLOCK];
    HashRows *code = hash_together(live);
    if (!code || !gather_streams(keys, dimensions, live, rows, stream)) {
        WIDE_EACH(k, live) gather(keys[k], dimensions[k], k, rows);
        return;
    }
    uint32_t dimension = dimensions[__builtin_ctz(live)];
    code(stream, dimension, rows->order_seed, rows->x_seed, rows->y_seed);
    set_order(net_order(dimension), stream, rows->order_seed, rows->near, rows->far);
}

/* Gathers the pairs of two dimensions. live: not empty. */
static void gather_pairs(const SampleKey *const keys[], const uint32_t dimensions[], uint32_t step,
                         uint16_t live, SamplerRows *rows)
{
    alignas(64) uint64_t stream[SSL_BLOCK];
    HashRows *code = hash_together(live);
    if (!code || !gather_streams(keys, dimensions, live, rows, stream)) {
        WIDE_EACH(k, live)
        {
            gather(keys[k], dimensions[k], k, rows);
            gather_second(keys[k], dimensions[k] + step, k, rows);
        }
        return;
    }
    uint32_t first = dimensions[__builtin_ctz(live)], second = first + step;
    code(stream, first, rows->order_seed, rows->x_seed, rows->y_seed);
    set_order(net_order(first), stream, rows->order_seed, rows->near, rows->far);
    code(stream, second, rows->order_seed2, rows->x_seed2, rows->y_seed2);
    set_order(net_order(second), stream, rows->order_seed2, rows->near2, rows->far2);
}

/* --- numbers -------------------------------------------------------------------------------------- */

void sampler_1d_points(const Sampler *s, const SampleKey *const keys[], const uint32_t dimensions[],
                       uint16_t live, WideRow out_u)
{
    SamplerRows rows;
    if (s->kind == SAMPLER_INDEPENDENT) {
        WIDE_EACH(k, live)
        out_u[k] = to_unit((uint32_t)(independent_bits(*keys[k], dimensions[k]) >> 32));
        return;
    }
    if (live == 0)
        return;
    gather_points(keys, dimensions, live, &rows);
    sampler_one_run(&rows, live);
    memcpy(out_u, rows.x, sizeof rows.x);
}

static void independent_2d(SampleKey key, uint32_t dimension, uint32_t lane, WideRow out_u[2])
{
    uint64_t bits = independent_bits(key, dimension);
    out_u[0][lane] = to_unit((uint32_t)(bits >> 32));
    out_u[1][lane] = to_unit((uint32_t)bits);
}

void sampler_2d_begin(const SampleKey *const keys[], uint32_t dimension, uint16_t live,
                      SamplerRows *rows)
{
    WIDE_EACH(k, live) gather(keys[k], dimension, k, rows);
}

void sampler_2d_next(const Sampler *s, const SampleKey *const keys[], uint32_t dimension,
                     uint16_t live, SamplerRows *rows, WideRow out_u[2])
{
    if (s->kind == SAMPLER_INDEPENDENT) {
        WIDE_EACH(k, live) independent_2d(*keys[k], dimension, k, out_u);
        return;
    }
    WIDE_EACH(k, live) rows->index[k] = (int32_t)keys[k]->index;
    sampler_pair_run(rows, live);
    memcpy(out_u[0], rows->x, sizeof rows->x);
    memcpy(out_u[1], rows->y, sizeof rows->y);
}

void sampler_2d_points(const Sampler *s, const SampleKey *const keys[], const uint32_t dimensions[],
                       uint16_t live, WideRow out_u[2])
{
    SamplerRows rows;
    if (s->kind == SAMPLER_INDEPENDENT) {
        WIDE_EACH(k, live) independent_2d(*keys[k], dimensions[k], k, out_u);
        return;
    }
    if (live == 0)
        return;
    gather_points(keys, dimensions, live, &rows);
    sampler_pair_run(&rows, live);
    memcpy(out_u[0], rows.x, sizeof rows.x);
    memcpy(out_u[1], rows.y, sizeof rows.y);
}

void sampler_pairs_points(const Sampler *s, const SampleKey *const keys[],
                          const uint32_t dimensions[], uint32_t step, uint16_t live,
                          WideRow out_u[2], WideRow out_u2[2])
{
    SamplerRows rows;
    if (s->kind == SAMPLER_INDEPENDENT) {
        uint32_t others[SSL_BLOCK];
        WIDE_EACH(k, live) others[k] = dimensions[k] + step;
        sampler_2d_points(s, keys, dimensions, live, out_u);
        sampler_2d_points(s, keys, others, live, out_u2);
        return;
    }
    if (live == 0)
        return;
    gather_pairs(keys, dimensions, step, live, &rows);
    sampler_pairs_run(&rows, live);
    memcpy(out_u[0], rows.x, sizeof rows.x);
    memcpy(out_u[1], rows.y, sizeof rows.y);
    memcpy(out_u2[0], rows.x2, sizeof rows.x2);
    memcpy(out_u2[1], rows.y2, sizeof rows.y2);
}

float sampler_1d(const Sampler *s, SampleKey key, uint32_t dimension)
{
    WideRow u;
    sampler_1d_points(s, &(const SampleKey *){&key}, &dimension, 1, u);
    return u[0];
}

float2 sampler_2d(const Sampler *s, SampleKey key, uint32_t dimension)
{
    WideRow u[2];
    sampler_2d_points(s, &(const SampleKey *){&key}, &dimension, 1, u);
    return f2(u[0][0], u[1][0]);
}

static const char *const sampler_names[SAMPLER_KIND_COUNT] = {"sobol", "independent", "blue-noise"};

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
