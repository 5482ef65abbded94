#include "sort/film/film_ids.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include <string.h>

enum { TABLE_FIRST = 1024 };

void id_table_init(IdTable *t)
{
    *t = (IdTable){0};
    mutex_init(&t->lock);
}

void id_table_destroy(IdTable *t)
{
    mem_free(t->entries);
    mutex_destroy(&t->lock);
}

void id_table_clear(IdTable *t)
{
    mem_free(t->entries);
    t->entries = NULL;
    t->capacity = t->count = 0;
    t->has_failed = false;
}

/* The entry of (place, id), or the free one where it would go. All of one place follow each other, with others
 * between, up to a free one. */
static IdOverflow *find(IdOverflow *entries, size_t capacity, uint64_t place, uint32_t id)
{
    ASSERT(capacity > 0 && (capacity & (capacity - 1)) == 0);
    size_t i = (size_t)hash_mix64(place) & (capacity - 1);
    while (entries[i].entry.count && (entries[i].place != place || entries[i].entry.id != id))
        i = (i + 1) & (capacity - 1);
    return &entries[i];
}

static bool grow(IdTable *t)
{
    if (2 * (t->count + 1) <= t->capacity)
        return true;
    size_t capacity = t->capacity ? 2 * t->capacity : TABLE_FIRST;
    IdOverflow *entries = MEM_ARRAY(IdOverflow, capacity);
    if (!entries)
        return false;
    for (size_t i = 0; i < t->capacity; ++i)
        if (t->entries[i].entry.count)
            *find(entries, capacity, t->entries[i].place, t->entries[i].entry.id) = t->entries[i];
    mem_free(t->entries);
    t->entries = entries;
    t->capacity = capacity;
    return true;
}

void id_table_add(IdTable *t, uint64_t place, uint32_t id, uint32_t count)
{
    mutex_lock(&t->lock);
    if (grow(t)) {
        IdOverflow *e = find(t->entries, t->capacity, place, id);
        t->count += e->entry.count == 0;
        *e = (IdOverflow){place, {id, e->entry.count + count}};
    } else {
        t->has_failed = true;
    }
    mutex_unlock(&t->lock);
}

void id_count_add(IdTable *table, IdCount slots[FILM_ID_SLOTS], uint64_t place, uint32_t id,
                  uint32_t count)
{
    for (uint32_t i = 0; i < FILM_ID_SLOTS; ++i) {
        if (slots[i].count > 0 && slots[i].id != id)
            continue;
        slots[i] = (IdCount){id, slots[i].count + count};
        return;
    }
    id_table_add(table, place, id, count);
}

static bool is_before(IdCount a, IdCount b)
{
    return a.count != b.count ? a.count > b.count : a.id < b.id;
}

/* Inserts into a ranked list of `*count` entries that keeps the first `room`. */
static void rank(IdCount *list, uint32_t *count, uint32_t room, IdCount entry)
{
    uint32_t i = *count < room ? (*count)++ : room;
    if (i == room) {
        if (room == 0 || !is_before(entry, list[room - 1]))
            return;
        --i;
    }
    for (; i > 0 && is_before(entry, list[i - 1]); --i)
        list[i] = list[i - 1];
    list[i] = entry;
}

uint32_t id_count_ranked(const IdTable *table, const IdCount slots[FILM_ID_SLOTS], uint64_t place,
                         IdCount *out, uint32_t room)
{
    uint32_t count = 0;
    bool is_full = true;
    for (uint32_t i = 0; i < FILM_ID_SLOTS; ++i) {
        is_full = is_full && slots[i].count > 0;
        if (slots[i].count > 0)
            rank(out, &count, room, slots[i]);
    }
    if (!is_full || table->capacity == 0)
        return count;
    size_t mask = table->capacity - 1, at = (size_t)hash_mix64(place) & mask;
    for (; table->entries[at].entry.count; at = (at + 1) & mask)
        if (table->entries[at].place == place)
            rank(out, &count, room, table->entries[at].entry);
    return count;
}
