/* Discrete choice among weighted items in constant time [Walker1977, Vose1991]. Immutable after
 * creation: any thread. */
#ifndef SORT_SAMPLING_ALIAS_H
#define SORT_SAMPLING_ALIAS_H

#include "base/error.h"

typedef struct AliasTable AliasTable;

/* weights: finite, not negative, at least one positive, else STATUS_INVALID. *out_table is the
 * caller's: alias_destroy. */
Status alias_create(const float *weights, uint32_t count, AliasTable **out_table,
                    Error *err) SORT_MUST_CHECK;
void alias_destroy(AliasTable *t); /* NULL is fine */
/* u in [0, 1). out_pmf: the chosen item's probability (may be NULL). out_u_left: what is left of u,
 * again uniform in [0, 1) (may be NULL). An item of weight 0 is never chosen. */
uint32_t alias_sample(const AliasTable *t, float u, float *out_pmf, float *out_u_left);
float alias_pmf(const AliasTable *t, uint32_t item);
uint32_t alias_count(const AliasTable *t);

#endif
