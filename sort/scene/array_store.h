/* Arrays that scenes share, by content: a scene that is loaded again holds the arrays of the one before where they are
 * equal, so that equal pointers mean equal arrays for as long as somebody holds them.
 *
 * Any thread. */
#ifndef SORT_SCENE_ARRAY_STORE_H
#define SORT_SCENE_ARRAY_STORE_H

#include "base/error.h"
#include "base/hash.h"

typedef struct ArrayStore ArrayStore;

/* *out_store is the caller's. STATUS_NO_MEMORY. */
Status array_store_create(ArrayStore **out_store, Error *err) SORT_MUST_CHECK;
/* No array may be held any more. NULL is fine. */
void array_store_destroy(ArrayStore *store);

/* Takes an array of mem_alloc_aligned. Returns the array of this content, which the caller then holds once more, until
 * array_store_release: this one, or an equal one, and then this one is freed. NULL: no memory; the array stays the caller's. */
void *array_store_take(ArrayStore *store, void *data, size_t size_bytes);
/* Gives an array that is held a name besides its content, such as the place in a file that it was read from, in place of an
 * earlier one. */
void array_store_name(ArrayStore *store, const void *data, Hash128 name);
/* Returns the array of this name, held once more by the caller; NULL: there is none. */
void *array_store_find(ArrayStore *store, Hash128 name);
/* Holds an array of the store once more. */
void array_store_retain(ArrayStore *store, const void *data);
/* Frees it when nobody holds it any more. NULL is fine. */
void array_store_release(ArrayStore *store, const void *data);

typedef struct ArrayStoreStats {
    uint32_t array_count;
    uint64_t size_bytes;
} ArrayStoreStats;
ArrayStoreStats array_store_stats(ArrayStore *store);

#endif
