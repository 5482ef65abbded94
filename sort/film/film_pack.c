#include "sort/film/film_pack.h"

#include "base/check.h"
#include <string.h>

enum { BLOCK = 16, ALL_KEPT = 0xff };

typedef struct Kept {
    unsigned skipped,
        count; /* bytes in front that are left out, and bytes behind those that are kept */
} Kept;

static uint64_t load_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static Kept kept_of(const uint8_t *block)
{
    uint64_t lo = load_u64(block), hi = load_u64(block + 8);
    if ((lo | hi) == 0)
        return (Kept){0, 0};
    unsigned skipped = (unsigned)(lo ? __builtin_ctzll(lo) : 64 + __builtin_ctzll(hi)) / 8;
    /* Bits behind the sign are those of the number or, below zero, of its complement; the sign needs one more. */
    uint64_t sign = 0 - (hi >> 63), top = hi ^ sign, below = lo ^ sign;
    unsigned bits = top     ? 128 - (unsigned)__builtin_clzll(top)
                    : below ? 64 - (unsigned)__builtin_clzll(below)
                            : 0;
    unsigned end = bits / 8 + 1;
    ASSERT(end > skipped);
    return (Kept){skipped, end - skipped};
}

static size_t block_size(Kept k)
{
    return 1 + (k.count > 15 ? BLOCK : k.count);
}

size_t film_packed_size(const uint8_t *data, size_t size_bytes)
{
    size_t blocks = size_bytes / BLOCK, size = size_bytes % BLOCK;
    for (size_t i = 0; i < blocks; ++i)
        size += block_size(kept_of(data + i * BLOCK));
    return size;
}

size_t film_pack(const uint8_t *data, size_t size_bytes, uint8_t *out)
{
    uint8_t *at = out;
    size_t blocks = size_bytes / BLOCK;
    for (size_t i = 0; i < blocks; ++i) {
        const uint8_t *block = data + i * BLOCK;
        Kept k = kept_of(block);
        if (k.count > 15)
            k = (Kept){0, BLOCK};
        *at++ = (uint8_t)(k.count == BLOCK ? ALL_KEPT : k.skipped | k.count << 4);
        memcpy(at, block + k.skipped, k.count);
        at += k.count;
    }
    memcpy(at, data + blocks * BLOCK, size_bytes % BLOCK);
    return (size_t)(at - out) + size_bytes % BLOCK;
}

bool film_unpack(const uint8_t *packed, size_t packed_bytes, uint8_t *data, size_t size_bytes)
{
    const uint8_t *at = packed, *end = packed + packed_bytes;
    size_t blocks = size_bytes / BLOCK;
    for (size_t i = 0; i < blocks; ++i) {
        uint8_t *block = data + i * BLOCK;
        if (at == end)
            return false;
        unsigned control = *at++;
        Kept k = control == ALL_KEPT ? (Kept){0, BLOCK} : (Kept){control & 15, control >> 4};
        if (k.skipped + k.count > BLOCK || k.count > (size_t)(end - at))
            return false;
        bool is_negative = k.count && at[k.count - 1] & 0x80;
        memset(block, is_negative ? 0xff : 0, BLOCK);
        memset(block, 0, k.skipped);
        memcpy(block + k.skipped, at, k.count);
        at += k.count;
    }
    if ((size_t)(end - at) != size_bytes % BLOCK)
        return false;
    memcpy(data + blocks * BLOCK, at, size_bytes % BLOCK);
    return true;
}
