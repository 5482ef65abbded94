/* Filling of a parameter block, in which each scalar takes four bytes at the offset that the program states. */
#include "base/check.h"
#include "ssl/context.h"
#include <string.h>

static bool is_triple(SslType type)
{
    return type == SSL_FLOAT3 || (type >= SSL_COLOR && type <= SSL_NORMAL);
}

/* Writes the scalars of a value to `out` and returns their number, which is 0 for a value without scalars. */
static uint32_t numbers_of(const SslValue *value, double out[16])
{
    switch (value->type) {
    case SSL_STRUCT:
    case SSL_ARRAY:
        return value->count;
    case SSL_BOOL:
        out[0] = value->b;
        return 1;
    case SSL_INT:
        out[0] = value->i;
        return 1;
    default:
        break;
    }
    uint32_t count = ssl_type_scalars(value->type);
    for (uint32_t i = 0; i < count; ++i)
        out[i] = (double)value->f[i];
    return count;
}

bool ssl_value_fits(const SslValue *value, SslType type, const SslShape *shape)
{
    double numbers[16];
    if (type == SSL_STRUCT || type == SSL_ARRAY)
        return numbers_of(value, numbers) == shape->scalar_count;
    if (type == SSL_CLOSURE || type == SSL_TEXTURE2D)
        return false;
    return value->type == type || (type == SSL_FLOAT && value->type == SSL_INT) ||
           (is_triple(type) && is_triple(value->type));
}

/* Writes a value that fits the parameter. A float in the list of a struct or array is truncated where the member is
 * an int, and becomes 0 if it is out of range. */
static void store_value(void *block, uint32_t offset_bytes, SslType type, const SslShape *shape,
                        const SslValue *value)
{
    char *to = (char *)block + offset_bytes;
    double small[16];
    uint32_t count = numbers_of(value, small);
    bool is_list = value->type == SSL_STRUCT || value->type == SSL_ARRAY;
    for (uint32_t i = 0; i < count; ++i) {
        double x = is_list ? value->list[i] : small[i];
        float number = ssl_flushed((float)x);
        int32_t word = x >= INT32_MIN && x <= INT32_MAX ? (int32_t)x : 0;
        SslType kind = ssl_value_kind(type, shape, i);
        if (kind == SSL_BOOL)
            word = x != 0;
        if (kind == SSL_FLOAT)
            memcpy(to + (size_t)4 * i, &number, sizeof number);
        else
            memcpy(to + (size_t)4 * i, &word, sizeof word);
    }
}

void ssl_params_init(const SslProgram *p, void *block)
{
    const SslUnitInfo *unit = p->info.unit;
    if (p->info.params_bytes)
        memset(block, 0, p->info.params_bytes);
    for (uint32_t i = 0; i < unit->param_count; ++i)
        if (unit->params[i].has_default && unit->params[i].type != SSL_STRING)
            store_value(block, p->info.params[i].offset_bytes, unit->params[i].type,
                        unit->params[i].shape, &unit->params[i].default_value);
}

Status ssl_params_set(const SslProgram *p, void *block, uint32_t param, const SslValue *value,
                      Error *err)
{
    const SslUnitInfo *unit = p->info.unit;
    CHECK(param < unit->param_count);
    const SslParamInfo *info = &unit->params[param];
    if (info->type == SSL_STRING && value->type == SSL_STRING)
        return error_set(err, STATUS_INVALID,
                         "parameter '%s' is a string, which is baked when the program is built",
                         info->name);
    if (!ssl_value_fits(value, info->type, info->shape))
        return error_set(err, STATUS_INVALID, "parameter '%s' is a %s, not a %s", info->name,
                         ssl_value_name(info->type, info->shape), ssl_type_name(value->type));
    store_value(block, p->info.params[param].offset_bytes, info->type, info->shape, value);
    return STATUS_OK;
}
