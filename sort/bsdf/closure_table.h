/* The closure table in C: ids, argument structs, and the rows that the renderer hands to
 * ssl_context_create. All from closures.inc. Constant data: any thread. */
#ifndef SORT_BSDF_CLOSURE_TABLE_H
#define SORT_BSDF_CLOSURE_TABLE_H

#include "base/vec.h"
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

/* LambertArgs { float3 albedo; float3 N; } and so on: floats only, in the order of the row. The
 * closure that a layer covers is no number. */
#define CLOSURE_FIELD_float  float
#define CLOSURE_FIELD_color  float3
#define CLOSURE_FIELD_vector float3
#define CLOSURE_FIELD_normal float3
#define ARG(type, name)      CLOSURE_FIELD_##type name;
#define LAYER_OVER(name)
#define CLOSURE(id, name, flags, args, doc, citation)                                              \
    typedef struct name##Args {                                                                    \
        args                                                                                       \
    } name##Args;
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG

enum { CLOSURE_MAX_SCALARS = 32 };

/* [CLOSURE_COUNT] rows, row i being ClosureId i. Lives for ever. */
const SslClosureRow *closure_table_rows(void);
/* Floats of all arguments of a row. */
uint32_t closure_table_scalars(ClosureId id);
/* CLOSURE_COUNT when there is none. */
ClosureId closure_table_find(const char *name);

#endif
