/* The standard library: SSL text (ssl/stdlib/<family>.ssl) that is part of the program, parsed and checked
 * once a context. Only what a shader calls is lowered with it. */
#ifndef SSL_STDLIB_STDLIB_H
#define SSL_STDLIB_STDLIB_H

#include "base/embedded.h"
#include "base/error.h"
#include "ssl/sema/sema.h"
#include "ssl/string_ids.h"

/* Read-only once made, but for what StringIds guards itself: shared by threads. */
typedef struct StdLib {
    Arena *arena; /* owned: the module */
    const Module *module;
    StringIds *strings; /* owned: one numbering for all that is lowered with this library */
} StdLib;

extern const EmbeddedText stdlib_sources[]; /* spans of file LIBRARY_FILE + index */

Status stdlib_create(StdLib **out_lib, Error *err) SORT_MUST_CHECK;
void stdlib_destroy(StdLib *lib); /* NULL is fine */

#endif
