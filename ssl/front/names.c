#include "ssl/front/names.h"
#include "base/check.h"
#include "base/hash.h"

#include <string.h>

enum { FIRST_CAPACITY = 64 };

static uint64_t hash_text(Str text)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, then spread */
    for (size_t i = 0; i < text.size_bytes; ++i)
        h = (h ^ (unsigned char)text.data[i]) * 0x100000001b3u;
    return hash_mix64(h);
}

/* The slot that holds `text`, or the free one where it belongs. */
static uint32_t find_text(const Names *names, Str text)
{
    ASSERT((names->capacity & (names->capacity - 1)) == 0 && names->count < names->capacity);
    uint32_t mask = names->capacity - 1;
    uint32_t at = (uint32_t)hash_text(text) & mask;
    while (names->slots[at] && !str_equal_c(text, names->slots[at]))
        at = (at + 1) & mask;
    return at;
}

void names_init(Names *names, Arena *arena, const Names *parent)
{
    ASSERT(!parent || !parent->parent);
    *names = (Names){.arena = arena, .parent = parent, .capacity = FIRST_CAPACITY};
    names->slots = ARENA_ARRAY(arena, const char *, FIRST_CAPACITY);
}

static void grow_texts(Names *names)
{
    ASSERT(names->count <= names->capacity);
    const char **old = names->slots;
    uint32_t old_capacity = names->capacity;
    names->capacity *= 2;
    names->slots = ARENA_ARRAY(names->arena, const char *, names->capacity);
    for (uint32_t i = 0; i < old_capacity; ++i)
        if (old[i])
            names->slots[find_text(names, str_from(old[i]))] = old[i];
}

const char *names_intern(Names *names, Str text)
{
    if (names->parent) {
        const char *known = names->parent->slots[find_text(names->parent, text)];
        if (known)
            return known;
    }
    uint32_t at = find_text(names, text);
    if (!names->slots[at]) {
        if (++names->count * 2 > names->capacity) {
            grow_texts(names);
            at = find_text(names, text);
        }
        names->slots[at] = arena_strndup(names->arena, text.data, text.size_bytes);
    }
    return names->slots[at];
}

static struct NameMapEntry *find_entry(const NameMap *map, const char *name)
{
    ASSERT(name && map->count < map->capacity);
    uint32_t mask = map->capacity - 1;
    uint32_t at = (uint32_t)hash_mix64((uintptr_t)name) & mask;
    while (map->entries[at].name && map->entries[at].name != name)
        at = (at + 1) & mask;
    return &map->entries[at];
}

void name_map_init(NameMap *map, Arena *arena)
{
    *map = (NameMap){.arena = arena, .capacity = FIRST_CAPACITY};
    map->entries = ARENA_ARRAY(arena, struct NameMapEntry, FIRST_CAPACITY);
}

void *name_map_get(const NameMap *map, const char *name)
{
    return find_entry(map, name)->value;
}

void name_map_set(NameMap *map, const char *name, void *value)
{
    struct NameMapEntry *entry = find_entry(map, name);
    if (!entry->name && ++map->count * 2 > map->capacity) {
        NameMap grown = {.arena = map->arena, .capacity = map->capacity * 2, .count = map->count};
        grown.entries = ARENA_ARRAY(map->arena, struct NameMapEntry, grown.capacity);
        for (uint32_t i = 0; i < map->capacity; ++i)
            if (map->entries[i].name)
                *find_entry(&grown, map->entries[i].name) = map->entries[i];
        *map = grown;
        entry = find_entry(map, name);
    }
    *entry = (struct NameMapEntry){name, value};
}
