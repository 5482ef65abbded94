/* Random modules for property tests: functions that call one another, branches, loops with early
 * exits, arrays with run-time indices, textures, closures, derivatives. Every program ends; equal
 * seeds give equal modules. */
#ifndef TESTS_SSL_IR_RANDOM_H
#define TESTS_SSL_IR_RANDOM_H

#include "tests/ssl/oracle/ir_fixture.h"

typedef struct RandomDesc {
    uint64_t seed;
    uint32_t functions, statements; /* statements of each function's body, about */
    bool with_derivatives;          /* DDX and DDY appear */
    bool smooth; /* only operations that are well conditioned: for comparing numbers */
} RandomDesc;

uint32_t random_next(uint64_t *state, uint32_t bound);
/* Builds into a fixture that was just begun. Outputs: four floats, an int, a bool, a closure. */
void random_module(Fixture *f, const RandomDesc *desc);
/* Random values for all globals, with tangents, and parameters. */
void random_point(Fixture *f, uint64_t *state);

#endif
