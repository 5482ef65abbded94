/* The standard library: SSL sources (ssl/stdlib/<family>.ssl) embedded into the program, which each context parses and
 * checks once. Only the functions that a shader calls are lowered with it. */
#ifndef SSL_STDLIB_STDLIB_H
#define SSL_STDLIB_STDLIB_H

#include "base/embedded.h"
#include "base/error.h"
#include "ssl/sema/sema.h"
#include "ssl/string_ids.h"

/* The library with what sources that define scattering functions see besides: frames, distributions, tables. */
typedef struct BsdfLibrary BsdfLibrary;

/* Read-only once made, except for StringIds and BsdfLibrary, which have locks. Threads may share it. */
typedef struct StdLib {
    Arena *arena; /* owned; has the module */
    const Module *module;
    /* owned; one numbering for all shaders that are lowered with this library. */
    StringIds *strings;
    BsdfLibrary *bsdf; /* owned */
} StdLib;

Status stdlib_create(StdLib **out_lib, Error *err) SORT_MUST_CHECK;
void stdlib_destroy(StdLib *lib); /* NULL is allowed */

/* Returns the module that a source sees: one that defines scattering functions sees ssl/stdlib/bsdf besides, which the first
 * such source parses for all. STATUS_NO_MEMORY is the only error. */
Status stdlib_module_for(const StdLib *lib, Str source, const Module **out_module) SORT_MUST_CHECK;

/* Returns the text that spans of this file number refer to, and its path: "stdlib/math.ssl". */
const EmbeddedText *stdlib_text(uint32_t file);
const char *stdlib_path(uint32_t file, Arena *arena);

#endif
