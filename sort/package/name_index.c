#include "sort/package/name_index.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include <string.h>

/* The slot that holds `name`, or the free one where it would go. */
static uint32_t find_slot(const NameIndex *n, const char *name)
{
    uint32_t mask = n->slot_count - 1;
    ASSERT(n->slot_count > n->count && (n->slot_count & mask) == 0);
    uint32_t slot = (uint32_t)hash128_low64(hash128(name, strlen(name))) & mask;
    while (n->slots[slot] != 0 && strcmp(n->names[n->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

/* Room for one more, with at most half of the slots taken. */
static bool grow(NameIndex *n)
{
    if (n->count < n->capacity)
        return true;
    if (n->capacity >= 1u << 29)
        return false;
    uint32_t capacity = n->capacity ? 2 * n->capacity : 32, slot_count = 2 * capacity;
    const char **names = mem_realloc((void *)n->names, capacity, sizeof *names);
    if (!names)
        return false;
    n->names = names;
    uint32_t *slots = MEM_ARRAY(uint32_t, slot_count);
    if (!slots)
        return false;
    mem_free(n->slots);
    n->slots = slots;
    n->slot_count = slot_count;
    n->capacity = capacity;
    for (uint32_t i = 0; i < n->count; ++i)
        slots[find_slot(n, names[i])] = i + 1;
    return true;
}

Status name_index_add(NameIndex *names, const char *name, uint32_t *out_index, bool *out_is_new,
                      Error *err)
{
    if (!grow(names))
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u names", names->count + 1);
    uint32_t slot = find_slot(names, name);
    *out_is_new = names->slots[slot] == 0;
    if (*out_is_new) {
        names->names[names->count++] = name;
        names->slots[slot] = names->count;
    }
    ASSERT(names->slots[slot] > 0 && names->slots[slot] <= names->count);
    *out_index = names->slots[slot] - 1;
    return STATUS_OK;
}

uint32_t name_index_find(const NameIndex *names, const char *name)
{
    if (names->count == 0)
        return NAME_INDEX_ABSENT;
    uint32_t slot = find_slot(names, name);
    return names->slots[slot] ? names->slots[slot] - 1 : (uint32_t)NAME_INDEX_ABSENT;
}

void name_index_free(NameIndex *names)
{
    mem_free((void *)names->names);
    mem_free(names->slots);
    *names = (NameIndex){0};
}
