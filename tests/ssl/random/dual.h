/* Dual numbers with error bounds: a value and its derivatives in two directions, as SSL defines them
 * (docs/internals/derivatives.md), by rules that stand here alone and not in the compiler. */
#ifndef TESTS_SSL_RANDOM_DUAL_H
#define TESTS_SSL_RANDOM_DUAL_H

#include "tests/ssl/random/bounded.h"
#include <stdint.h>

enum { DUAL_DIRECTIONS = 2 };

typedef struct Dual {
    Bounded v, d[DUAL_DIRECTIONS];
} Dual;

/* What an evaluation was decided by: equal for two evaluations that took the same branches and the same
 * side of every kink and step. */
typedef struct Decisions {
    uint64_t hash;
    /* A decision lay within its error bound: the program may have taken the other. */
    bool is_doubtful;
} Decisions;

void decide(Decisions *d, int64_t outcome, bool is_known);

Dual dual_of(double v); /* exact, derivatives 0 */
Dual dual_neg(Dual a);
Dual dual_add(Dual a, Dual b);
Dual dual_sub(Dual a, Dual b);
Dual dual_mul(Dual a, Dual b);
/* As it may be in a [Fused] shader: rounded, or exact in a sum. */
Dual dual_mul_fused(Dual a, Dual b);
Dual dual_div(Dual a, Dual b);

/* A function of ssl_builtins.inc that takes one float and gives one; false: none of that name. */
bool dual_function(const char *name, Dual x, Decisions *decisions, Dual *out);
/* A function of ssl_builtins.inc that takes two floats and gives one. */
bool dual_function2(const char *name, Dual x, Dual y, Decisions *decisions, Dual *out);

#endif
