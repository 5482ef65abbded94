#include "ssl/passes/record_map.h"
#include "base/check.h"
#include "base/hash.h"
#include <string.h>

static uint64_t hash_key(uint64_t tag, const void *key, uint32_t key_bytes)
{
    const uint8_t *bytes = key;
    uint64_t h = hash_mix64(tag ^ ((uint64_t)key_bytes << 32));
    for (uint32_t at = 0; at < key_bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, key_bytes - at < 8 ? key_bytes - at : 8);
        h = hash_mix64(h ^ word);
    }
    return h;
}

/* Doubles the number of buckets and distributes all entries again. */
static void grow(RecordMap *m, Arena *arena)
{
    m->bucket_count = m->bucket_count ? 2 * m->bucket_count : 64;
    m->buckets = ARENA_ARRAY(arena, uint32_t, m->bucket_count);
    for (uint32_t i = 0; i < m->entries.count; ++i) {
        RecordEntry *e = &m->entries.data[i];
        uint32_t *bucket = &m->buckets[e->hash & (m->bucket_count - 1)];
        e->next = *bucket;
        *bucket = i + 1;
    }
}

void **record_map_slot(RecordMap *m, Arena *arena, uint64_t tag, const void *key,
                       uint32_t key_bytes)
{
    ASSERT(key || key_bytes == 0);
    uint64_t hash = hash_key(tag, key, key_bytes);
    if (m->entries.count >= m->bucket_count)
        grow(m, arena);
    uint32_t *bucket = &m->buckets[hash & (m->bucket_count - 1)];
    for (uint32_t at = *bucket; at; at = m->entries.data[at - 1].next) {
        RecordEntry *e = &m->entries.data[at - 1];
        if (e->hash == hash && e->tag == tag && e->key_bytes == key_bytes &&
            (key_bytes == 0 || memcmp(e->key, key, key_bytes) == 0))
            return &e->record;
    }
    uint8_t *copy = ARENA_ARRAY(arena, uint8_t, key_bytes);
    if (key_bytes)
        memcpy(copy, key, key_bytes);
    array_push(arena, &m->entries,
               (RecordEntry){
                   .hash = hash, .key = copy, .tag = tag, .key_bytes = key_bytes, .next = *bucket});
    *bucket = m->entries.count;
    return &m->entries.data[m->entries.count - 1].record;
}
