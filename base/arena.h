/* A bump allocator: many allocations, one lifetime, freed together.
 *
 *   [chunk]->[chunk]->[chunk]     marks remember a position; rewinding gives back what came later
 *
 * Memory comes zeroed. Not thread-safe: one owner at a time. When out of memory, arena_alloc returns
 * NULL, unless arena_on_no_memory() set a jump: then it jumps there with value 1 and never returns
 * NULL. The SSL compiler uses this to do without checks (its one entry point frees the arena and
 * returns STATUS_NO_MEMORY). */
#ifndef SORT_BASE_ARENA_H
#define SORT_BASE_ARENA_H

#include "base/compiler.h"
#include <setjmp.h>

typedef struct Arena Arena;
typedef struct ArenaMark {
    void *chunk;
    size_t used_bytes;
} ArenaMark;

/* Returns NULL when out of memory. chunk_bytes 0: 64 KiB. limit_bytes 0: no limit; allocations beyond it count
 * as out of memory. */
Arena *arena_create(size_t chunk_bytes, size_t limit_bytes);
void arena_destroy(Arena *a); /* NULL is allowed */
/* Test hook: arenas created from now on take memory in chunks of this size, whatever size they were created
 * with. With 1 every allocation becomes one of mem_alloc and can be made to fail; 0 switches the hook off. */
void arena_test_chunk_bytes(size_t bytes);
void arena_on_no_memory(Arena *a, jmp_buf *jump);
/* Allocates zeroed bytes. align: a power of two, at most 4096. bytes 0 gives a valid pointer. */
void *arena_alloc(Arena *a, size_t bytes, size_t align);
/* Allocates an array. An overflow of count * bytes counts as out of memory. */
void *arena_alloc_array(Arena *a, size_t count, size_t bytes, size_t align);
char *arena_strndup(Arena *a, const char *text, size_t size_bytes);
char *arena_printf(Arena *a, const char *format, ...) SORT_PRINTF(2, 3);
ArenaMark arena_mark(const Arena *a);
/* Releases everything allocated after the mark; the memory is kept for reuse (and poisoned under ASan). */
void arena_rewind(Arena *a, ArenaMark mark);
void arena_reset(Arena *a);
size_t arena_used_bytes(const Arena *a);
size_t arena_high_water_bytes(const Arena *a);

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type), _Alignof(type)))
#define ARENA_ARRAY(arena, type, count)                                                            \
    ((type *)arena_alloc_array((arena), (count), sizeof(type), _Alignof(type)))

#endif
