/* Which values are equal in all lanes that compute them: what is made of constants, parameters and the counters of loops alone, and not chosen
 * by something that differs. Code of several lanes computes them once (gen_uniform.c). */
#ifndef SSL_UNIFORM_H
#define SSL_UNIFORM_H

#include "ssl/ir/ir.h"

/* Returns a flag for each value, in the arena. are_params_equal: all points have the same parameters. An array is never equal in this sense,
 * but for those of `is_table` [values.count]: arrays that are only read, of elements that are equal. */
bool *uniform_find(const IrFunc *f, bool are_params_equal, const bool *is_table, Arena *arena);

#endif
