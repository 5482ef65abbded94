/* What renders leave to the next one of nearly the same scene: a scene that is loaded again costs what has changed.
 *
 *   arrays of meshes       by content
 *   hierarchies of meshes  by arrays and place
 *   compiled shaders       by code, in one context for all scenes that define no closures
 *
 * Everything in the store is found by what it is made of, so that a render with a store has the bits of one without. One
 * thread at a time creates and destroys renders of a store. */
#ifndef SORT_RENDER_RENDER_STORE_H
#define SORT_RENDER_RENDER_STORE_H

#include "base/error.h"

typedef struct RenderStore RenderStore;

/* *out_store is the caller's. STATUS_NO_MEMORY. */
Status render_store_create(RenderStore **out_store, Error *err) SORT_MUST_CHECK;
/* No render may use it any more. NULL is fine. */
void render_store_destroy(RenderStore *store);

typedef struct RenderStoreStats {
    uint32_t array_count, mesh_count; /* that are held */
    uint64_t array_bytes;
    uint64_t built_meshes; /* hierarchies that were ever built */
} RenderStoreStats;
RenderStoreStats render_store_stats(RenderStore *store);

#endif
