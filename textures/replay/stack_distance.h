/* Reuse distances of a sequence of accesses, in bytes [Mattson1970]: how much different data was
 * touched since the last access to an item, itself included. A Fenwick tree over the moments of last
 * accesses [Fenwick1994] sums the bytes behind one; moments are renumbered when they run out, so memory
 * follows the number of items, not of accesses. */
#ifndef SORT_TEXTURES_REPLAY_STACK_DISTANCE_H
#define SORT_TEXTURES_REPLAY_STACK_DISTANCE_H

#include "base/error.h"

typedef struct StackDistance {
    uint32_t *moment_of; /* owned; by item; 0: never; else 1 + its place */
    uint32_t *item_at;   /* owned; by place; UINT32_MAX: of an access that is not the last */
    uint64_t *tree;      /* owned; Fenwick sums of bytes, [1 .. capacity] */
    uint32_t *bytes_at;  /* owned */
    uint32_t capacity, used, live;
    uint64_t live_bytes;
} StackDistance;

#define STACK_DISTANCE_FIRST UINT64_MAX

Status stack_distance_init(StackDistance *d, uint32_t item_count, Error *err) SORT_MUST_CHECK;
void stack_distance_destroy(StackDistance *d);
/* *out_bytes: STACK_DISTANCE_FIRST at an item's first access. bytes: the item's, always the same. */
Status stack_distance_access(StackDistance *d, uint32_t item, uint32_t bytes, uint64_t *out_bytes,
                             Error *err) SORT_MUST_CHECK;

#endif
