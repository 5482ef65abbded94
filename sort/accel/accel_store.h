/* Hierarchies of meshes that outlive the Accel they were built for: a scene that has changed a little builds little.
 *
 *   AccelDesc.store --accel_create--> what has the same arrays and the same place is taken from the store, what is
 *                                     missing is built into it; accel_destroy frees what no other Accel uses
 *
 * The arrays of the scenes are those of one ArrayStore: an equal pointer is an equal array, as long as somebody holds
 * it, and the hierarchies do. One thread at a time creates and destroys Accels of a store; any may trace. */
#ifndef SORT_ACCEL_ACCEL_STORE_H
#define SORT_ACCEL_ACCEL_STORE_H

#include "sort/scene/array_store.h"

typedef struct AccelStore AccelStore;

/* arrays: borrowed. thread_count, cpu_class: as in AccelDesc, for all Accels of the store. *out_store is the caller's. Errors: as
 * accel_create. */
Status accel_store_create(ArrayStore *arrays, uint32_t thread_count, const char *cpu_class,
                          AccelStore **out_store, Error *err) SORT_MUST_CHECK;
/* No Accel may use it any more. NULL is fine. */
void accel_store_destroy(AccelStore *store);

typedef struct AccelStoreStats {
    uint32_t mesh_count;  /* hierarchies that are held */
    uint64_t built_count; /* were ever built */
} AccelStoreStats;
AccelStoreStats accel_store_stats(AccelStore *store);

#endif
