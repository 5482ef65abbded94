/* The closures that shaders of every scene may make, as rows that the renderer hands to ssl_context_create: first those that
 * scatter nothing (closure_sums.inc), then the bsdfs of sort/bsdf/closures in the order of their files. Shaders call them by
 * name; a place in the table means nothing but in the process that has the table, and other rows may follow these in a table of
 * a scene. Constant data: any thread. */
#ifndef SORT_BSDF_CLOSURE_TABLE_H
#define SORT_BSDF_CLOSURE_TABLE_H

#include "ssl/ssl.h"

/* The closures that scatter nothing, by their places in the table. */
typedef enum ClosureSum {
#define CLOSURE_SUM(id, name, flags, args, doc, citation) CLOSURE_##id,
#include "sort/bsdf/closure_sums.inc"
#undef CLOSURE_SUM
    CLOSURE_SUMS
} ClosureSum;

enum { CLOSURE_MAX_SCALARS = 32 };

extern const SslClosureRow closure_rows[]; /* [closure_count]; lives for ever */
extern const uint32_t closure_count;

/* Returns the place of the closure in the table; closure_count: there is none of that name. */
uint32_t closure_find(const char *name);
/* Returns how many numbers all arguments of a row have; a closure that a layer covers is none. */
uint32_t closure_scalars(const SslClosureRow *row);
/* Returns whether the closure is a layer over another one, its last argument. */
bool closure_is_layer(const SslClosureRow *row);

#endif
