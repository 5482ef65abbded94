/* The standard library: SSL sources (ssl/stdlib/<family>.ssl) embedded into the program, which each context parses and
 * checks once. Only the functions that a shader calls are lowered with it. */
#ifndef SSL_STDLIB_STDLIB_H
#define SSL_STDLIB_STDLIB_H

#include "base/embedded.h"
#include "base/error.h"
#include "ssl/sema/sema.h"
#include "ssl/string_ids.h"

/* Read-only once made, except for StringIds, which has a lock. Threads may share it. */
typedef struct StdLib {
    Arena *arena; /* owned; has the module */
    const Module *module;
    /* owned; one numbering for all shaders that are lowered with this library. */
    StringIds *strings;
} StdLib;

extern const EmbeddedText stdlib_sources[]; /* spans of file LIBRARY_FILE + index */

/* What sources that define scattering functions see besides: frames, distributions, tables. Other sources do not parse it. */
extern const EmbeddedText bsdf_sources[];

Status stdlib_create(StdLib **out_lib, Error *err) SORT_MUST_CHECK;
void stdlib_destroy(StdLib *lib); /* NULL is allowed */

#endif
