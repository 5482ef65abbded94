#include "textures/replay/stack_distance.h"
#include "base/alloc.h"
#include "base/check.h"
#include <string.h>

enum { CAPACITY_FIRST = 1 << 12 };
#define NO_ITEM UINT32_MAX

static void tree_add(StackDistance *d, uint32_t place, uint64_t bytes)
{
    for (uint32_t i = place + 1; i <= d->capacity; i += i & -i)
        d->tree[i] += bytes; /* wraps around when bytes are subtracted */
}

/* Returns the sum of the bytes at earlier places. */
static uint64_t tree_sum(const StackDistance *d, uint32_t place)
{
    uint64_t sum = 0;
    for (uint32_t i = place; i > 0; i -= i & -i)
        sum += d->tree[i];
    return sum;
}

static Status grow(StackDistance *d, uint32_t capacity, Error *err)
{
    uint32_t *item_at = mem_realloc(d->item_at, capacity, sizeof *item_at);
    if (item_at)
        d->item_at = item_at;
    uint32_t *bytes_at = mem_realloc(d->bytes_at, capacity, sizeof *bytes_at);
    if (bytes_at)
        d->bytes_at = bytes_at;
    uint64_t *tree = mem_realloc(d->tree, (size_t)capacity + 1, sizeof *tree);
    if (tree)
        d->tree = tree;
    if (!item_at || !bytes_at || !tree)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for reuse distances");
    d->capacity = capacity;
    return STATUS_OK;
}

/* Compacts the last accesses at the front, in their order. */
static Status renumber(StackDistance *d, Error *err)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < d->used; ++i) {
        uint32_t item = d->item_at[i];
        if (item == NO_ITEM)
            continue;
        d->item_at[used] = item;
        d->bytes_at[used] = d->bytes_at[i];
        d->moment_of[item] = ++used;
    }
    ASSERT(used == d->live);
    d->used = used;
    if (d->live > d->capacity / 2) {
        if (d->capacity > UINT32_MAX / 4)
            return error_set(err, STATUS_LIMIT, "too many items for reuse distances");
        TRY(grow(d, 2 * d->capacity, err));
    }
    memset(d->tree, 0, ((size_t)d->capacity + 1) * sizeof *d->tree);
    for (uint32_t i = 0; i < used; ++i) { /* each node is complete when it is added to its parent */
        uint32_t node = i + 1;
        d->tree[node] += d->bytes_at[i];
        uint32_t parent = node + (node & -node);
        if (parent <= d->capacity)
            d->tree[parent] += d->tree[node];
    }
    for (uint32_t node = used + 1; node <= d->capacity; ++node) {
        uint32_t parent = node + (node & -node);
        if (parent <= d->capacity)
            d->tree[parent] += d->tree[node];
    }
    return STATUS_OK;
}

Status stack_distance_init(StackDistance *d, uint32_t item_count, Error *err)
{
    *d = (StackDistance){0};
    d->moment_of = MEM_ARRAY(uint32_t, (size_t)item_count + 1);
    Status status = d->moment_of ? grow(d, CAPACITY_FIRST, err)
                                 : error_set(err, STATUS_NO_MEMORY,
                                             "out of memory for reuse "
                                             "distances");
    if (status == STATUS_OK)
        memset(d->tree, 0, ((size_t)d->capacity + 1) * sizeof *d->tree);
    else
        stack_distance_destroy(d);
    return status;
}

void stack_distance_destroy(StackDistance *d)
{
    mem_free(d->moment_of);
    mem_free(d->item_at);
    mem_free(d->bytes_at);
    mem_free(d->tree);
    *d = (StackDistance){0};
}

Status stack_distance_access(StackDistance *d, uint32_t item, uint32_t bytes, uint64_t *out_bytes,
                             Error *err)
{
    if (d->used == d->capacity)
        TRY(renumber(d, err));
    uint32_t moment = d->moment_of[item];
    *out_bytes = STACK_DISTANCE_FIRST;
    if (moment > 0) {
        uint32_t place = moment - 1;
        ASSERT(d->item_at[place] == item && d->bytes_at[place] == bytes);
        *out_bytes = d->live_bytes - tree_sum(d, place);
        tree_add(d, place, -(uint64_t)bytes);
        d->item_at[place] = NO_ITEM;
    } else {
        ++d->live;
        d->live_bytes += bytes;
    }
    uint32_t place = d->used++;
    d->item_at[place] = item;
    d->bytes_at[place] = bytes;
    d->moment_of[item] = place + 1;
    tree_add(d, place, bytes);
    return STATUS_OK;
}
