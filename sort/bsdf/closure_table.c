#include "sort/bsdf/closure_table.h"

#include <string.h>

#define CLOSURE_SCALARS_float  1
#define CLOSURE_SCALARS_color  3
#define CLOSURE_SCALARS_vector 3
#define CLOSURE_SCALARS_normal 3
#define ARG(type, name)        +CLOSURE_SCALARS_##type
#define LAYER_OVER(name)
#define CLOSURE(id, name, flags, args, doc, citation)                                              \
    _Static_assert((0 args) <= CLOSURE_MAX_SCALARS, #name ": too many arguments");
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG

#define CLOSURE_TYPE_float  SSL_FLOAT
#define CLOSURE_TYPE_color  SSL_COLOR
#define CLOSURE_TYPE_vector SSL_VECTOR
#define CLOSURE_TYPE_normal SSL_NORMAL
#define ARG(type, name)     {#name, CLOSURE_TYPE_##type},
#define LAYER_OVER(name)    {#name, SSL_CLOSURE},
#define CLOSURE(id, name, flags, args, doc, citation)                                              \
    static const SslClosureArg args_##id[] = {args};
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG

static const SslClosureRow rows[CLOSURE_COUNT] = {
#define ARG(type, name)
#define LAYER_OVER(name)
#define CLOSURE(id, name, flags, args, doc, citation)                                              \
    {#name, args_##id, sizeof args_##id / sizeof args_##id[0], flags, doc, citation},
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG
};

static const uint32_t scalars[CLOSURE_COUNT] = {
#define ARG(type, name) +CLOSURE_SCALARS_##type
#define LAYER_OVER(name)
#define CLOSURE(id, name, flags, args, doc, citation) 0 args,
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG
};

const SslClosureRow *closure_table_rows(void)
{
    return rows;
}

uint32_t closure_table_scalars(ClosureId id)
{
    return scalars[id];
}

ClosureId closure_table_find(const char *name)
{
    uint32_t i = 0;
    while (i < CLOSURE_COUNT && strcmp(rows[i].name, name) != 0)
        ++i;
    return (ClosureId)i;
}
