/* A hash table from keys of any bytes to records. Analyses keep one record per pattern of arguments in it, and there
 * may be as many patterns as calls. All memory comes from the arena; entries are never removed. */
#ifndef SSL_PASSES_RECORD_MAP_H
#define SSL_PASSES_RECORD_MAP_H

#include "base/arena.h"
#include "base/array.h"
#include <stdint.h>

typedef struct RecordEntry {
    uint64_t hash;
    const void *key; /* a copy in the arena; the tag and these bytes together are the key */
    uint64_t tag;
    uint32_t key_bytes;
    uint32_t next; /* entry + 1 in the same bucket; 0: last */
    void *record;
} RecordEntry;

typedef struct RecordMap {
    uint32_t *buckets; /* entry + 1 */
    uint32_t bucket_count;
    ARRAY(RecordEntry) entries;
} RecordMap;

/* Returns the place of the record of (tag, key), which holds NULL until the caller stores a record. The pointer is
 * valid until the next call. The arena's out-of-memory jump must be set. */
void **record_map_slot(RecordMap *m, Arena *arena, uint64_t tag, const void *key,
                       uint32_t key_bytes);

/* Adds bits to a pattern, and returns whether it lacked any of them. */
static inline bool pattern_add(uint8_t *pattern, const uint8_t *bits, uint32_t count)
{
    uint8_t added = 0;
    for (uint32_t i = 0; i < count; ++i) {
        added |= bits[i] & (uint8_t)~pattern[i];
        pattern[i] |= bits[i];
    }
    return added != 0;
}

#endif
