/* What the tests of the front end share: memory, diagnostics, a host's tables, compiling text to IR. */
#ifndef TESTS_SSL_FRONT_FIXTURE_H
#define TESTS_SSL_FRONT_FIXTURE_H

#include "ssl/lower/lower.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct Front {
    Arena *arena; /* ends the program when memory is out */
    DiagList *diags;
} Front;

Front front_begin(void);
void front_end(Front *f);

/* Globals x (float), P (point), n (int), b (bool); closures Lambert(color, normal), Glow(color). */
extern const LowerTables front_tables;
/* Made at the first call; lives until the program ends. */
const StdLib *front_library(void);

/* Compiles the only shader of a source. On an error, it prints the messages and fails the test. */
IrModule *front_compile(Front *f, const char *text);
/* The messages as "CODE line:column message\n" each; the source may be good. */
const char *front_messages(Front *f, const char *text);
const char *front_messages_of(Front *f, const char *text, const char *shader);

#endif
