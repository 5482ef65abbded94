/* SSL sources for benchmarks: the five kinds of shader that the post measures, of any length. */
#ifndef TESTS_BENCH_SSL_SOURCE_H
#define TESTS_BENCH_SSL_SOURCE_H

#include "base/str.h"

/* How much of a shader the texture coordinates depend on. */
typedef enum Demand {
    DEMAND_NONE,     /* no texture: shader C of the post */
    DEMAND_SOME,     /* one statement in sixteen: D */
    DEMAND_CONSTANT, /* on parameters only, so all derivatives fold to zero: E */
    DEMAND_ALL       /* on every statement: the worst case */
} Demand;

/* The kinds of statements. */
typedef enum StatementKind {
    STATEMENT_LIGHT, /* a little more than one operation, as in the post: 2,000 lines, 2,500 instructions */
    STATEMENT_HEAVY /* five operations: functions, divisions, choices, branches */
} StatementKind;

/* Statements that depend on each other, one a line. The caller frees the text (mem_free). */
char *bench_ssl_source(uint32_t statements, Demand demand, StatementKind kind);

#endif
