/* A table from keys of any bytes to records, for analyses that keep one record a pattern of arguments: there may be
 * as many patterns as calls. Memory is the arena's; nothing is taken out. */
#ifndef SSL_PASSES_RECORD_MAP_H
#define SSL_PASSES_RECORD_MAP_H

#include "base/arena.h"
#include "base/array.h"
#include <stdint.h>

typedef struct RecordEntry {
    uint64_t hash;
    const void *key; /* copied; tag and bytes make the key */
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

/* Where the record of (tag, key) stands; it is NULL until the caller puts one there. Valid until the next call.
 * arena: with arena_on_no_memory. */
void **record_map_slot(RecordMap *m, Arena *arena, uint64_t tag, const void *key,
                       uint32_t key_bytes);

#endif
