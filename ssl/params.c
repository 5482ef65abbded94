/* Filling a parameter block: four bytes a scalar, at the offsets that the program names. */
#include "base/check.h"
#include "ssl/context.h"
#include <string.h>

static bool is_triple(SslType type)
{
    return type == SSL_FLOAT3 || (type >= SSL_COLOR && type <= SSL_NORMAL);
}

/* `value` has the type of the parameter, or one of the same scalars. */
static void store_value(void *block, uint32_t offset_bytes, SslType type, const SslValue *value)
{
    char *to = (char *)block + offset_bytes;
    int32_t word = type == SSL_BOOL ? value->b : value->i;
    if (type == SSL_BOOL || type == SSL_INT)
        memcpy(to, &word, sizeof word);
    else
        memcpy(to, value->f, ssl_type_scalars(type) * sizeof(float));
}

void ssl_params_init(const SslProgram *p, void *block)
{
    const SslUnitInfo *unit = p->info.unit;
    if (p->info.params_bytes)
        memset(block, 0, p->info.params_bytes);
    for (uint32_t i = 0; i < unit->param_count; i++)
        if (unit->params[i].has_default)
            store_value(block, p->info.params[i].offset_bytes, unit->params[i].type,
                        &unit->params[i].default_value);
}

Status ssl_params_set(const SslProgram *p, void *block, uint32_t param, const SslValue *value,
                      Error *err)
{
    const SslUnitInfo *unit = p->info.unit;
    CHECK(param < unit->param_count);
    const SslParamInfo *info = &unit->params[param];
    SslValue converted = *value;
    if (info->type == SSL_FLOAT && value->type == SSL_INT) {
        converted = (SslValue){.type = SSL_FLOAT, .f = {(float)value->i}};
    } else if (info->type != value->type && !(is_triple(info->type) && is_triple(value->type))) {
        return error_set(err, STATUS_INVALID, "parameter '%s' is a %s, not a %s", info->name,
                         ssl_type_name(info->type), ssl_type_name(value->type));
    } else if (info->type == SSL_STRING) {
        return error_set(err, STATUS_INVALID,
                         "parameter '%s' is a string, which is baked when the program is built",
                         info->name);
    }
    store_value(block, p->info.params[param].offset_bytes, info->type, &converted);
    return STATUS_OK;
}
