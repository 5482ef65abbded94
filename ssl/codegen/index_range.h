/* Which indices are in range whatever the inputs are: those that are made of constants and of the counters of loops. Their test is left out. What conditions say
 * holds where they do: in code of several lanes, indices of lanes that a condition keeps out are still to be clamped. */
#ifndef SSL_INDEX_RANGE_H
#define SSL_INDEX_RANGE_H

#include "ssl/ir/ir.h"

/* Returns a flag for each instruction, in the arena: it is a BOUNDS that changes no index. */
bool *index_range_find(const IrFunc *f, Arena *arena);

#endif
