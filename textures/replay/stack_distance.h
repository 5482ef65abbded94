/* Reuse distances of a sequence of accesses, in bytes [Mattson1970]: the bytes of distinct items accessed since
 * the last access to an item, including the item. A Fenwick tree over the times of last accesses [Fenwick1994]
 * sums the bytes after a given time. Times are renumbered when they run out, so memory is proportional to the
 * number of items, not of accesses. */
#ifndef SORT_TEXTURES_REPLAY_STACK_DISTANCE_H
#define SORT_TEXTURES_REPLAY_STACK_DISTANCE_H

#include "base/error.h"

typedef struct StackDistance {
    /* owned, by item; 0 if never accessed, else 1 + the place of its last access */
    uint32_t *moment_of;
    uint32_t *item_at;  /* owned, by place; UINT32_MAX for an access that is not the item's last */
    uint64_t *tree;     /* owned; Fenwick sums of bytes, [1 .. capacity] */
    uint32_t *bytes_at; /* owned */
    uint32_t capacity, used, live;
    uint64_t live_bytes;
} StackDistance;

#define STACK_DISTANCE_FIRST UINT64_MAX

Status stack_distance_init(StackDistance *d, uint32_t item_count, Error *err) SORT_MUST_CHECK;
void stack_distance_destroy(StackDistance *d);
/* Adds an access. *out_bytes is its reuse distance, or STACK_DISTANCE_FIRST at the item's first access. `bytes`
 * is the item's size, the same at every call. */
Status stack_distance_access(StackDistance *d, uint32_t item, uint32_t bytes, uint64_t *out_bytes,
                             Error *err) SORT_MUST_CHECK;

#endif
