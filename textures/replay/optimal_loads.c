#include "textures/replay/optimal_loads.h"
#include "base/alloc.h"
#include "base/check.h"
#include <string.h>

enum { CAPACITY_FIRST = 1 << 16 };
#define ACCESSES_MAX ((size_t)1 << 31)
#define NEVER        UINT32_MAX
#define NOT_HELD     UINT32_MAX

/* A heap of the resident items; the item whose next access is furthest in the future is on top. */
typedef struct Heap {
    uint32_t *items;    /* [held] */
    uint32_t *place_of; /* [item_count]; NOT_HELD if the item is not resident */
    uint32_t *wanted;   /* [item_count]; the number of the item's next access */
    uint32_t count;
} Heap;

struct OptimalLoads {
    uint32_t item_count;
    uint32_t *size_bytes; /* this and all pointers below are owned */
    uint32_t *accesses, *next;
    size_t count, capacity;
    bool has_next; /* `next` has been computed for all accesses */
    Heap heap;
};

Status optimal_loads_create(const uint32_t *size_bytes, uint32_t item_count, OptimalLoads **out,
                            Error *err)
{
    *out = NULL;
    OptimalLoads *o = MEM_NEW(OptimalLoads);
    if (!o)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    o->item_count = item_count;
    o->size_bytes = mem_alloc((size_t)item_count + 1, sizeof *o->size_bytes);
    o->heap.items = mem_alloc((size_t)item_count + 1, sizeof *o->heap.items);
    o->heap.place_of = mem_alloc((size_t)item_count + 1, sizeof *o->heap.place_of);
    o->heap.wanted = mem_alloc((size_t)item_count + 1, sizeof *o->heap.wanted);
    if (!o->size_bytes || !o->heap.items || !o->heap.place_of || !o->heap.wanted) {
        optimal_loads_destroy(o);
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    }
    memcpy(o->size_bytes, size_bytes, item_count * sizeof *size_bytes);
    *out = o;
    return STATUS_OK;
}

void optimal_loads_destroy(OptimalLoads *o)
{
    if (!o)
        return;
    mem_free(o->size_bytes);
    mem_free(o->accesses);
    mem_free(o->next);
    mem_free(o->heap.items);
    mem_free(o->heap.place_of);
    mem_free(o->heap.wanted);
    mem_free(o);
}

Status optimal_loads_access(OptimalLoads *o, uint32_t item, Error *err)
{
    ASSERT(item < o->item_count);
    if (o->count > 0 && o->accesses[o->count - 1] == item)
        return STATUS_OK; /* the item is still resident */
    if (o->count == ACCESSES_MAX)
        return error_set(err, STATUS_LIMIT, "the trace asks for more than 2^31 tiles");
    if (o->count == o->capacity) {
        size_t capacity = o->capacity ? 2 * o->capacity : CAPACITY_FIRST;
        uint32_t *grown = mem_realloc(o->accesses, capacity, sizeof *grown);
        if (!grown)
            return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
        o->accesses = grown;
        o->capacity = capacity;
    }
    o->accesses[o->count++] = item;
    o->has_next = false;
    return STATUS_OK;
}

/* Computes for each access when its item is accessed next. */
static Status find_next(OptimalLoads *o, Error *err)
{
    if (o->has_next)
        return STATUS_OK;
    mem_free(o->next);
    o->next = mem_alloc(o->count + 1, sizeof *o->next);
    if (!o->next)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    for (uint32_t i = 0; i < o->item_count; ++i)
        o->heap.wanted[i] = NEVER;
    for (size_t i = o->count; i-- > 0;) {
        o->next[i] = o->heap.wanted[o->accesses[i]];
        o->heap.wanted[o->accesses[i]] = (uint32_t)i;
    }
    o->has_next = true;
    return STATUS_OK;
}

/* --- the heap ----------------------------------------------------------------------------- */

static void put(Heap *h, uint32_t place, uint32_t item)
{
    ASSERT(place < h->count);
    h->items[place] = item;
    h->place_of[item] = place;
}

static void sift_up(Heap *h, uint32_t place)
{
    uint32_t item = h->items[place];
    while (place > 0 && h->wanted[h->items[(place - 1) / 2]] < h->wanted[item]) {
        put(h, place, h->items[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(h, place, item);
}

static void sift_down(Heap *h, uint32_t place)
{
    uint32_t item = h->items[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= h->count)
            break;
        if (child + 1 < h->count && h->wanted[h->items[child + 1]] > h->wanted[h->items[child]])
            ++child;
        if (h->wanted[h->items[child]] <= h->wanted[item])
            break;
        put(h, place, h->items[child]);
        place = child;
    }
    put(h, place, item);
}

static uint32_t pop(Heap *h)
{
    ASSERT(h->count > 0);
    uint32_t item = h->items[0];
    h->place_of[item] = NOT_HELD;
    if (--h->count > 0) {
        put(h, 0, h->items[h->count]);
        sift_down(h, 0);
    }
    return item;
}

Status optimal_loads_count(OptimalLoads *o, uint64_t capacity_bytes, uint64_t *out_loads,
                           Error *err)
{
    TRY(find_next(o, err));
    Heap *h = &o->heap;
    uint64_t held_bytes = 0, loads = 0;
    h->count = 0;
    for (uint32_t i = 0; i < o->item_count; ++i)
        h->place_of[i] = NOT_HELD;
    for (size_t i = 0; i < o->count; ++i) {
        uint32_t item = o->accesses[i];
        h->wanted[item] = o->next[i];
        if (h->place_of[item] != NOT_HELD) {
            sift_up(h, h->place_of[item]); /* its next access is now later */
            continue;
        }
        ++loads;
        held_bytes += o->size_bytes[item];
        while (held_bytes > capacity_bytes && h->count > 0)
            held_bytes -= o->size_bytes[pop(h)];
        put(h, h->count++, item);
        sift_up(h, h->count - 1);
    }
    ASSERT(loads <= o->count && (held_bytes <= capacity_bytes || h->count == 1));
    *out_loads = loads;
    return STATUS_OK;
}
