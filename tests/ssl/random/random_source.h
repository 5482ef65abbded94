/* Random SSL programs that are well typed, as text.
 *
 * A program has one shader, with the parameters and outputs of random_params and random_outputs, and
 * reads the globals of random_tables. Everything ends: loops count to small numbers. */
#ifndef TESTS_SSL_RANDOM_RANDOM_SOURCE_H
#define TESTS_SSL_RANDOM_RANDOM_SOURCE_H

#include "base/str.h"
#include "ssl/lower/lower.h"
#include "tests/ssl/random/choices.h"

typedef struct RandomSize {
    uint32_t functions, statements; /* most functions, and statements of each */
    bool is_fused;                  /* the shader is [Fused] */
} RandomSize;

/* Globals gf, gg (float), gp (point), gv (float2) with derivatives, gc (color), gn (int), gb (bool)
 * without; closures Lambert(color, normal), Glow(color), Coat(float, closure). */
extern const LowerTables random_tables;

/* A shader of the derivatives of a random function (random_derivative.c). */
void random_derivative_source(Choices *choices, const RandomSize *size, Arena *arena, StrBuf *out);
void random_source(Choices *choices, const RandomSize *size, Arena *arena, StrBuf *out);

#endif
