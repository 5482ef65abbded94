/* The closures that the shaders of a scene may make: the built-in ones, and behind them the bsdfs that the sources of these
 * shaders define.
 *
 *   closure_list_create   reads the sources: rows for ssl_context_create
 *   closure_list_build    compiles the bsdfs with that context
 *   closure_list_defs     what shading runs, by the numbers of the rows
 *
 * One thread's until it is built; then any thread may read it. */
#ifndef SORT_BSDF_CLOSURE_LIST_H
#define SORT_BSDF_CLOSURE_LIST_H

#include "sort/bsdf/bsdf_program.h"
#include "sort/bsdf/closure_table.h"

typedef struct ClosureList ClosureList;

/* Reads the sources, whose texts are borrowed until the list is destroyed. A source with errors is left out: whoever compiles
 * its shaders reports them. Errors, with the name of the source as path: a bsdf that has the name of a built-in closure or that
 * two sources define (STATUS_INVALID), too many closures or arguments (STATUS_LIMIT), memory. */
Status closure_list_create(const SslSource *sources, uint32_t count, ClosureList **out_list,
                           Error *err) SORT_MUST_CHECK;
void closure_list_destroy(ClosureList *list); /* NULL is allowed */

/* Sets the closures of a description of a context. It refers to the list. */
void closure_list_describe(const ClosureList *list, SslContextDesc *desc);
/* Compiles the bsdfs of the sources on up to thread_count threads, and appends what the compiler says to `diagnostics`.
 * STATUS_SOURCE: it holds at least one error. The list holds programs of the context, and is destroyed before it. */
Status closure_list_build(ClosureList *list, SslContext *ctx, uint32_t thread_count,
                          StrBuf *diagnostics, Error *err) SORT_MUST_CHECK;
/* Appends a line for each place in the sources at which a bsdf had faults since it was built (bsdf_build_faults). */
void closure_list_faults(const ClosureList *list, StrBuf *out);
/* Sets these counts to zero. No bsdf may be running. */
void closure_list_clear_faults(ClosureList *list);
/* Returns how many bsdfs the sources define: their rows are the last ones. */
uint32_t closure_list_own_count(const ClosureList *list);
/* Returns the name of the source that defines the bsdf; own: its place among those. */
const char *closure_list_source(const ClosureList *list, uint32_t own);
/* Returns the definitions by closure, after closure_list_build; NULL for closures that scatter nothing. */
const BsdfDef *const *closure_list_defs(const ClosureList *list);

#endif
