/* Chunks form a list in the order of use:
 *
 *   first ... [full] -> [current: used | free] -> [kept] -> [kept]
 *
 * Allocation bumps `current`; when it is full, the first kept chunk that is large enough moves up,
 * else a new one is made. Rewinding moves `current` back and keeps what follows. A chunk records
 * how far it was ever written (`dirty`): memory past that is still zero from the system, so that only
 * reused memory is cleared. Under the address sanitizer free memory is poisoned and 16 bytes
 * stay poisoned between neighbours; in builds with assertions rewound memory is filled with
 * 0xCD. */
#include "base/arena.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/cast.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#if SORT_ASAN
#    include <sanitizer/asan_interface.h>
enum { RED_ZONE = 16 };
#else
#    define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)(address), (void)(bytes))
#    define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
enum { RED_ZONE = 0 };
#endif

enum { CHUNK_DEFAULT = 64 * 1024, ALIGN_MAX = 4096 };

typedef struct Chunk {
    struct Chunk *next;
    size_t capacity, used, dirty;
    size_t before_bytes; /* bytes used in the chunks before this one */
    _Alignas(max_align_t) unsigned char data[];
} Chunk;

struct Arena {
    Chunk *first, *current; /* `current` is NULL while nothing is in use */
    size_t chunk_bytes, limit_bytes, high_water;
    jmp_buf *jump;
};

/* A test hook like that of alloc.c: the only mutable global state here, read once for each arena. */
static _Atomic size_t test_chunk_bytes;

void arena_test_chunk_bytes(size_t bytes)
{
    atomic_store(&test_chunk_bytes, bytes);
}

Arena *arena_create(size_t chunk_bytes, size_t limit_bytes)
{
    size_t forced = atomic_load_explicit(&test_chunk_bytes, memory_order_relaxed);
    Arena *a = MEM_NEW(Arena);
    if (!a)
        return NULL;
    a->chunk_bytes = forced ? forced : chunk_bytes ? chunk_bytes : CHUNK_DEFAULT;
    a->limit_bytes = limit_bytes ? limit_bytes : SIZE_MAX;
    return a;
}

void arena_destroy(Arena *a)
{
    if (!a)
        return;
    for (Chunk *chunk = a->first, *next; chunk; chunk = next) {
        next = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->capacity);
        mem_free(chunk);
    }
    mem_free(a);
}

void arena_on_no_memory(Arena *a, jmp_buf *jump)
{
    a->jump = jump;
}

static void *out_of_memory(Arena *a)
{
    if (a->jump)
        longjmp(*a->jump, 1);
    return NULL;
}

/* Computes where `bytes` would start in this chunk. Returns false if they do not fit. */
static bool fit(const Chunk *chunk, size_t used, size_t bytes, size_t align, size_t *out_start)
{
    uintptr_t base = (uintptr_t)chunk->data;
    size_t start = (size_t)(((base + used + align - 1) & ~(uintptr_t)(align - 1)) - base);
    size_t end;
    if (!size_add(start, bytes, &end) || end > chunk->capacity)
        return false;
    *out_start = start;
    return true;
}

static Chunk *chunk_create(Arena *a, size_t bytes, size_t align)
{
    size_t capacity, total;
    if (!size_add(bytes, align > _Alignof(max_align_t) ? align : 0, &capacity))
        return NULL;
    if (capacity < a->chunk_bytes)
        capacity = a->chunk_bytes;
    if (!size_add(capacity, sizeof(Chunk), &total))
        return NULL;
    Chunk *chunk = mem_alloc(1, total);
    if (!chunk)
        return NULL;
    chunk->capacity = capacity;
    ASAN_POISON_MEMORY_REGION(chunk->data, capacity);
    return chunk;
}

/* Makes a chunk with room for the request the current one: a kept chunk or a new one. */
static bool advance(Arena *a, size_t bytes, size_t align)
{
    Chunk **link = a->current ? &a->current->next : &a->first;
    Chunk *chunk = NULL;
    size_t start;
    for (Chunk **kept = link; *kept; kept = &(*kept)->next)
        if (fit(*kept, 0, bytes, align, &start)) {
            chunk = *kept;
            *kept = chunk->next;
            break;
        }
    if (!chunk && !(chunk = chunk_create(a, bytes, align)))
        return false;
    chunk->next = *link;
    *link = chunk;
    chunk->used = 0;
    chunk->before_bytes = arena_used_bytes(a);
    a->current = chunk;
    return true;
}

void *arena_alloc(Arena *a, size_t bytes, size_t align)
{
    ASSERT(align != 0 && (align & (align - 1)) == 0 && align <= ALIGN_MAX);
    size_t padded, start;
    if (!size_add(bytes, RED_ZONE, &padded))
        return out_of_memory(a);
    if (!a->current || !fit(a->current, a->current->used, padded, align, &start)) {
        /* A request that overflows or exceeds the limit is refused before a chunk is made for it. */
        size_t total;
        if (!size_add(arena_used_bytes(a), bytes, &total) || total > a->limit_bytes ||
            !advance(a, padded, align) || !fit(a->current, 0, padded, align, &start))
            return out_of_memory(a);
    }
    Chunk *chunk = a->current;
    size_t end = start + padded;
    if (chunk->before_bytes + end - RED_ZONE > a->limit_bytes)
        return out_of_memory(a);
    unsigned char *block = chunk->data + start;
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    if (start < chunk->dirty)
        memset(block, 0, bytes < chunk->dirty - start ? bytes : chunk->dirty - start);
    chunk->used = end;
    if (chunk->dirty < end)
        chunk->dirty = end;
    if (chunk->before_bytes + end > a->high_water)
        a->high_water = chunk->before_bytes + end;
    return block;
}

void *arena_alloc_array(Arena *a, size_t count, size_t bytes, size_t align)
{
    size_t total;
    if (!size_mul(count, bytes, &total))
        return out_of_memory(a);
    return arena_alloc(a, total, align);
}

char *arena_strndup(Arena *a, const char *text, size_t size_bytes)
{
    char *copy = size_bytes < SIZE_MAX ? arena_alloc(a, size_bytes + 1, 1) : out_of_memory(a);
    if (copy && size_bytes > 0)
        memcpy(copy, text, size_bytes);
    return copy;
}

char *arena_printf(Arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return out_of_memory(a);
    char *text = arena_alloc(a, (size_t)length + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    (void)vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

ArenaMark arena_mark(const Arena *a)
{
    return (ArenaMark){a->current, a->current ? a->current->used : 0};
}

static void chunk_forget(Chunk *chunk, size_t from)
{
#if SORT_ASSERTIONS
    ASAN_UNPOISON_MEMORY_REGION(chunk->data + from, chunk->used - from);
    memset(chunk->data + from, 0xcd, chunk->used - from);
#endif
    ASAN_POISON_MEMORY_REGION(chunk->data + from, chunk->used - from);
    chunk->used = from;
}

void arena_rewind(Arena *a, ArenaMark mark)
{
    if (!a->current)
        return;
    Chunk *target = mark.chunk;
    if (target != a->current)
        for (Chunk *chunk = target ? target->next : a->first;; chunk = chunk->next) {
            chunk_forget(chunk, 0);
            if (chunk == a->current)
                break;
        }
    if (target)
        chunk_forget(target, mark.used_bytes);
    a->current = target;
}

void arena_reset(Arena *a)
{
    arena_rewind(a, (ArenaMark){NULL, 0});
}

size_t arena_used_bytes(const Arena *a)
{
    return a->current ? a->current->before_bytes + a->current->used : 0;
}

size_t arena_high_water_bytes(const Arena *a)
{
    return a->high_water;
}

enum { ARRAY_LEAST = 8 };

bool array_grow(Arena *arena, void **data, uint32_t *capacity, uint32_t count, uint32_t wanted,
                size_t element_bytes, size_t align)
{
    if (wanted <= *capacity)
        return true;
    uint32_t grown = *capacity <= UINT32_MAX / 2 ? *capacity * 2 : UINT32_MAX;
    if (grown < wanted)
        grown = wanted;
    if (grown < ARRAY_LEAST)
        grown = ARRAY_LEAST;
    void *block = arena_alloc_array(arena, grown, element_bytes, align);
    if (!block)
        return false;
    if (count > 0)
        memcpy(block, *data, count * element_bytes);
    *data = block;
    *capacity = grown;
    return true;
}
