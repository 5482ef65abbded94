#include "sort/shade/ssl_tables.h"

#include "sort/bsdf/closure_table.h"

const SslGlobalRow sort_ssl_globals[GLOBAL_COUNT] = {
#define SORT_GLOBAL(name, type, has_derivs, space, doc) {#name, type, has_derivs, space, doc},
#include "sort/shade/globals.inc"
#undef SORT_GLOBAL
};

const SslAttributeRow sort_ssl_attributes[ATTRIBUTE_COUNT] = {
#define SORT_ATTRIBUTE(name, type, has_derivs, doc) {#name, type, has_derivs, doc},
#include "sort/shade/attributes.inc"
#undef SORT_ATTRIBUTE
};

void ssl_tables_describe(SslContextDesc *desc)
{
    desc->globals = sort_ssl_globals;
    desc->global_count = GLOBAL_COUNT;
    desc->attributes = sort_ssl_attributes;
    desc->attribute_count = ATTRIBUTE_COUNT;
    desc->closures = closure_rows;
    desc->closure_count = closure_count;
}
