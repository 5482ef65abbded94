/* The loads of a cache that knows the future: it evicts the item whose next access is furthest away
 * [Belady1966]. For items of equal size no policy loads less; for several sizes hardly any does. */
#ifndef SORT_TEXTURES_REPLAY_OPTIMAL_LOADS_H
#define SORT_TEXTURES_REPLAY_OPTIMAL_LOADS_H

#include "base/error.h"

typedef struct OptimalLoads OptimalLoads;

/* size_bytes: [item_count], copied. On success *out is the caller's (optimal_loads_destroy). */
Status optimal_loads_create(const uint32_t *size_bytes, uint32_t item_count, OptimalLoads **out,
                            Error *err) SORT_MUST_CHECK;
void optimal_loads_destroy(OptimalLoads *o); /* NULL is fine */
/* Adds an access. Memory: four bytes an access, eight from the first optimal_loads_count() on. Errors:
 * STATUS_LIMIT after 2^31 accesses. */
Status optimal_loads_access(OptimalLoads *o, uint32_t item, Error *err) SORT_MUST_CHECK;
/* Counts the loads of a cache of that size, which is at least the largest item. The time is proportional to the
 * accesses times the logarithm of the number of resident items. */
Status optimal_loads_count(OptimalLoads *o, uint64_t capacity_bytes, uint64_t *out_loads,
                           Error *err) SORT_MUST_CHECK;

#endif
