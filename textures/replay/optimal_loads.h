/* What a cache would load that knew the future: of what it holds it throws out what is wanted last [Belady1966]. With items of
 * one size nothing can load less; with several sizes hardly anything. */
#ifndef SORT_TEXTURES_REPLAY_OPTIMAL_LOADS_H
#define SORT_TEXTURES_REPLAY_OPTIMAL_LOADS_H

#include "base/error.h"

typedef struct OptimalLoads OptimalLoads;

/* size_bytes: [item_count], of each item; copied. On success *out is the caller's (optimal_loads_destroy). */
Status optimal_loads_create(const uint32_t *size_bytes, uint32_t item_count, OptimalLoads **out,
                            Error *err) SORT_MUST_CHECK;
void optimal_loads_destroy(OptimalLoads *o); /* NULL is fine */
/* The next access. Takes four bytes, eight from the first count on. STATUS_LIMIT after 2^31. */
Status optimal_loads_access(OptimalLoads *o, uint32_t item, Error *err) SORT_MUST_CHECK;
/* Loads of a cache of that size, which holds any one item. Time: accesses times the logarithm of the items held. */
Status optimal_loads_count(OptimalLoads *o, uint64_t capacity_bytes, uint64_t *out_loads,
                           Error *err) SORT_MUST_CHECK;

#endif
