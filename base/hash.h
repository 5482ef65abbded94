/* Content hashes that name things on disk and over time, and a mixer for tables in memory.
 *
 * Hash128 is BLAKE2b with a 16-byte digest and no key [RFC7693], so that equal hashes may be taken
 * for equal content even when a file was made to deceive, and so that scripts can compute the same
 * value (`b2sum -l 128`, Python's hashlib.blake2b(digest_size=16)). About 1 GB/s a core. */
#ifndef SORT_BASE_HASH_H
#define SORT_BASE_HASH_H

#include "base/compiler.h"

enum { HASH128_TEXT_BYTES = 33 };

typedef struct Hash128 {
    uint8_t bytes[16]; /* in the digest's order, equal on every machine */
} Hash128;

/* Streaming state; hash128_begin initialises it, no clean-up is needed. One thread at a time. */
typedef struct HashState {
    uint64_t h[8];
    uint64_t total_bytes;
    uint8_t block[128];
    size_t block_used;
} HashState;

void hash128_begin(HashState *s);
void hash128_update(HashState *s, const void *data, size_t size_bytes);
/* Adds the string's length and then its bytes, so that adjacent strings cannot be confused. */
void hash128_update_text(HashState *s, const char *text);
/* Adds the value as eight little-endian bytes. */
void hash128_update_u64(HashState *s, uint64_t value);
/* Returns the digest. The state cannot be used afterwards. */
Hash128 hash128_end(HashState *s);
Hash128 hash128(const void *data, size_t size_bytes);

bool hash128_equal(Hash128 a, Hash128 b);
/* Returns the first eight bytes as a little-endian number, for tables keyed by hash. */
uint64_t hash128_low64(Hash128 h);
/* Writes 32 hexadecimal digits and a NUL. Returns `out`. */
const char *hash128_text(Hash128 h, char out[HASH128_TEXT_BYTES]);

/* Bijective finaliser of SplitMix64 [Steele2014]: spreads the bits of integer keys. Not a content
 * hash. */
static inline uint64_t hash_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
