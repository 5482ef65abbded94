/* The closure table in C: ids, and the rows that the renderer hands to
 * ssl_context_create. All from closures.inc. Constant data: any thread. */
#ifndef SORT_BSDF_CLOSURE_TABLE_H
#define SORT_BSDF_CLOSURE_TABLE_H

#include "ssl/ssl.h"

typedef enum ClosureId {
#define ARG(type, name)
#define LAYER_OVER(name)
#define CLOSURE(id, name, flags, args, doc, citation) CLOSURE_##id,
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG
    CLOSURE_COUNT
} ClosureId;

enum { CLOSURE_MAX_SCALARS = 32 };

/* [CLOSURE_COUNT] rows, row i being ClosureId i. Lives for ever. */
const SslClosureRow *closure_table_rows(void);
/* Floats of all arguments of a row. */
uint32_t closure_table_scalars(ClosureId id);
/* CLOSURE_COUNT when there is none. */
ClosureId closure_table_find(const char *name);

#endif
