/* Interned texts: equal texts from one table (or its parent) have equal pointers, so that the rest of
 * the front end compares names as pointers. */
#ifndef SSL_FRONT_NAMES_H
#define SSL_FRONT_NAMES_H

#include "base/arena.h"
#include "base/str.h"

typedef struct Names {
    Arena *arena;               /* borrowed; its out-of-memory jump is set */
    const struct Names *parent; /* borrowed, only read: the standard library's; may be NULL */
    const char **slots;         /* open addressing; a power of two; arena */
    uint32_t capacity, count;
} Names;

void names_init(Names *names, Arena *arena, const Names *parent);
/* Returns the interned text, which is NUL-terminated and lives as long as the arena. */
const char *names_intern(Names *names, Str text);

/* A map from interned names to pointers, as declarations. Its memory is in the arena. */
typedef struct NameMap {
    Arena *arena;
    struct NameMapEntry {
        const char *name;
        void *value;
    } *entries;
    uint32_t capacity, count;
} NameMap;

void name_map_init(NameMap *map, Arena *arena);
void *name_map_get(const NameMap *map, const char *name);       /* NULL: none */
void name_map_set(NameMap *map, const char *name, void *value); /* NULL removes the name */

#endif
