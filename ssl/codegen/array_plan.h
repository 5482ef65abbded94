/* The plan of which array values share memory.
 *
 * Arrays are values in the IR: `set` makes a new array. In machine code a set should write only one element, so
 * the old and the new array must share their memory, which is correct only if the old one is not read later.
 * The plan computes where each array value is live. It merges the two sides of every set, loop entry,
 * back-edge and branch result if their lifetimes do not overlap: the usual coalescing on the way out of SSA,
 * on live ranges with holes [Wimmer2010]. Values that cannot be merged are copied. */
#ifndef SSL_ARRAY_PLAN_H
#define SSL_ARRAY_PLAN_H

#include "ssl/ir/ir.h"

enum { ARRAY_PLAN_NO_SLOT = UINT32_MAX };

typedef struct ArrayPlan {
    uint32_t *slot_of; /* [values.count]; ARRAY_PLAN_NO_SLOT for scalars; arena */
    IrType *slot_type; /* [slot_count]; arena */
    uint32_t slot_count;
} ArrayPlan;

ArrayPlan *array_plan_create(const IrFunc *f, Arena *arena);

#endif
