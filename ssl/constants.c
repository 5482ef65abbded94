#include "ssl/constants.h"
#include <string.h>

static bool can_be_baked(SslType type)
{
    return type == SSL_BOOL || type == SSL_INT || type == SSL_STRING || type == SSL_FLOAT;
}

static Status check_constant(const SslUnitInfo *info, const SslConstant *constant,
                             uint32_t *out_param, Error *err)
{
    uint32_t at = 0;
    while (at < info->param_count && strcmp(info->params[at].name, constant->param) != 0)
        ++at;
    if (at == info->param_count)
        return error_set(err, STATUS_NOT_FOUND, "shader '%s' has no parameter '%s'", info->name,
                         constant->param);
    if (info->params[at].is_differentiated)
        return error_set(err, STATUS_INVALID,
                         "parameter '%s' is an input of a derivative: it cannot be a constant",
                         constant->param);
    SslType type = info->params[at].type;
    if (!can_be_baked(type))
        return error_set(
            err, STATUS_INVALID,
            "parameter '%s' is a %s; only bool, int, float and string parameters are baked",
            constant->param, ssl_value_name(type, info->params[at].shape));
    if (type != constant->value.type)
        return error_set(err, STATUS_INVALID, "parameter '%s' is a %s, not a %s", constant->param,
                         ssl_type_name(type), ssl_type_name(constant->value.type));
    *out_param = at;
    return STATUS_OK;
}

static bool is_switch(const SslValue *value)
{
    return value->type == SSL_BOOL || value->type == SSL_INT ||
           (value->type == SSL_FLOAT && (value->f[0] == 0.0f || value->f[0] == 1.0f));
}

/* Returns the value of a parameter that becomes a constant, or NULL. */
static const SslValue *baked_value(const SslParamInfo *param, const SslValue *listed,
                                   const SslBuildDesc *how)
{
    if (listed)
        return listed;
    if (!param->has_default || param->is_differentiated)
        return NULL;
    bool is_baked =
        param->type == SSL_STRING || (how->bake_switches && is_switch(&param->default_value));
    return is_baked ? &param->default_value : NULL;
}

Status constants_bind(const SslUnit *unit, const SslBuildDesc *how, Arena *arena,
                      const SslConstant **out_constants, uint32_t *out_count, Error *err)
{
    const SslUnitInfo *info = ssl_unit_info(unit);
    const SslValue **listed = ARENA_ARRAY(arena, const SslValue *, info->param_count);
    SslConstant *constants = ARENA_ARRAY(arena, SslConstant, info->param_count);
    uint32_t count = 0, param;
    for (uint32_t i = 0; i < how->constant_count; ++i) {
        TRY(check_constant(info, &how->constants[i], &param, err));
        listed[param] = &how->constants[i].value;
    }
    for (uint32_t i = 0; i < info->param_count; ++i) {
        const SslValue *value = baked_value(&info->params[i], listed[i], how);
        bool is_string = info->params[i].type == SSL_STRING;
        if (!value && is_string)
            return error_set(err, STATUS_INVALID,
                             "parameter '%s' is a string without a default: it must be among the "
                             "constants",
                             info->params[i].name);
        if (!value)
            continue;
        SslConstant *constant = &constants[count++];
        *constant = (SslConstant){info->params[i].name, *value};
        if (!is_string)
            continue;
        constant->value.type = SSL_INT;
        if (!string_ids_find(unit->ctx->lib->strings, value->s, &constant->value.i))
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *out_constants = constants;
    *out_count = count;
    return STATUS_OK;
}
