#include "sort/bsdf/closure_table.h"

#include "base/check.h"
#include <string.h>

uint32_t closure_find(const char *name)
{
    uint32_t i = 0;
    while (i < closure_count && strcmp(closure_rows[i].name, name) != 0)
        ++i;
    return i;
}

uint32_t closure_scalars(const SslClosureRow *row)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i)
        sum += row->args[i].type == SSL_CLOSURE ? 0 : ssl_type_scalars(row->args[i].type);
    ASSERT(sum <= CLOSURE_MAX_SCALARS);
    return sum;
}

bool closure_is_layer(const SslClosureRow *row)
{
    return row->arg_count > 0 && row->args[row->arg_count - 1].type == SSL_CLOSURE;
}
