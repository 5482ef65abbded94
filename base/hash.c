/* BLAKE2b, unkeyed, 16-byte digest [RFC7693 section 3]. Little-endian hosts only, as all of
 * SORT. */
#include "base/hash.h"
#include "base/check.h"

#include <string.h>

enum { DIGEST_BYTES = 16, BLOCK_BYTES = 128, ROUNDS = 12 };

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* Message word schedule [RFC7693 section 2.7]; rounds 10 and 11 repeat 0 and 1. */
static const uint8_t sigma[ROUNDS][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static inline uint64_t rotate_right(uint64_t x, unsigned bits)
{
    return (x >> bits) | (x << (64 - bits));
}

#define MIX(a, b, c, d, x, y)                                                                      \
    do {                                                                                           \
        a = a + b + (x);                                                                           \
        d = rotate_right(d ^ a, 32);                                                               \
        c = c + d;                                                                                 \
        b = rotate_right(b ^ c, 24);                                                               \
        a = a + b + (y);                                                                           \
        d = rotate_right(d ^ a, 16);                                                               \
        c = c + d;                                                                                 \
        b = rotate_right(b ^ c, 63);                                                               \
    } while (0)

static void compress(HashState *s, const uint8_t *block, bool is_last)
{
    uint64_t m[16], v[16];
    memcpy(m, block, sizeof m);
    memcpy(v, s->h, sizeof s->h);
    memcpy(v + 8, initial, sizeof initial);
    v[12] ^= s->total_bytes; /* the upper half of the 128-bit counter stays 0 */
    if (is_last)
        v[14] = ~v[14];
    for (unsigned r = 0; r < ROUNDS; ++r) {
        const uint8_t *w = sigma[r];
        MIX(v[0], v[4], v[8], v[12], m[w[0]], m[w[1]]);
        MIX(v[1], v[5], v[9], v[13], m[w[2]], m[w[3]]);
        MIX(v[2], v[6], v[10], v[14], m[w[4]], m[w[5]]);
        MIX(v[3], v[7], v[11], v[15], m[w[6]], m[w[7]]);
        MIX(v[0], v[5], v[10], v[15], m[w[8]], m[w[9]]);
        MIX(v[1], v[6], v[11], v[12], m[w[10]], m[w[11]]);
        MIX(v[2], v[7], v[8], v[13], m[w[12]], m[w[13]]);
        MIX(v[3], v[4], v[9], v[14], m[w[14]], m[w[15]]);
    }
    for (unsigned i = 0; i < 8; ++i)
        s->h[i] ^= v[i] ^ v[i + 8];
}

void hash128_begin(HashState *s)
{
    memcpy(s->h, initial, sizeof s->h);
    s->h[0] ^= 0x01010000u ^ DIGEST_BYTES; /* the parameter block: fan-out 1, depth 1, no key */
    s->total_bytes = 0;
    s->block_used = 0;
}

void hash128_update(HashState *s, const void *data, size_t size_bytes)
{
    const uint8_t *bytes = data;
    while (size_bytes > 0) {
        /* A full block waits for more input, since the last one is compressed differently. */
        if (s->block_used == BLOCK_BYTES) {
            s->total_bytes += BLOCK_BYTES;
            compress(s, s->block, false);
            s->block_used = 0;
        }
        /* full blocks are compressed directly from the input */
        while (s->block_used == 0 && size_bytes > BLOCK_BYTES) {
            s->total_bytes += BLOCK_BYTES;
            compress(s, bytes, false);
            bytes += BLOCK_BYTES;
            size_bytes -= BLOCK_BYTES;
        }
        size_t part = BLOCK_BYTES - s->block_used;
        if (part > size_bytes)
            part = size_bytes;
        memcpy(s->block + s->block_used, bytes, part);
        s->block_used += part;
        bytes += part;
        size_bytes -= part;
    }
}

void hash128_update_u64(HashState *s, uint64_t value)
{
    hash128_update(s, &value, sizeof value);
}

void hash128_update_text(HashState *s, const char *text)
{
    size_t size_bytes = strlen(text);
    hash128_update_u64(s, size_bytes);
    hash128_update(s, text, size_bytes);
}

Hash128 hash128_end(HashState *s)
{
    Hash128 hash;
    s->total_bytes += s->block_used;
    memset(s->block + s->block_used, 0, BLOCK_BYTES - s->block_used);
    compress(s, s->block, true);
    memcpy(hash.bytes, s->h, sizeof hash.bytes);
    return hash;
}

Hash128 hash128(const void *data, size_t size_bytes)
{
    HashState s;
    hash128_begin(&s);
    hash128_update(&s, data, size_bytes);
    return hash128_end(&s);
}

bool hash128_equal(Hash128 a, Hash128 b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

uint64_t hash128_low64(Hash128 h)
{
    uint64_t low;
    memcpy(&low, h.bytes, sizeof low);
    return low;
}

const char *hash128_text(Hash128 h, char out[HASH128_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof h.bytes; ++i) {
        out[2 * i] = digits[h.bytes[i] >> 4];
        out[2 * i + 1] = digits[h.bytes[i] & 15];
    }
    out[HASH128_TEXT_BYTES - 1] = '\0';
    return out;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as the host has them");
