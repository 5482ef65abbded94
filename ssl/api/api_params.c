/* The parameters of a program as a kernel reads them. */
#include "base/alloc.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <string.h>

SortSslStatus sort_ssl_params_create(const SortSslProgram *program, SortSslParams **out_params,
                                     SortSslError *err)
{
    if (!out_params)
        return api_refuse_null(err, "out_params");
    *out_params = NULL;
    if (!program)
        return api_refuse_null(err, "program");
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    SortSslParams *params = MEM_NEW(SortSslParams);
    if (params) {
        params->is_set = MEM_ARRAY(bool, info->unit->param_count);
        params->block = mem_alloc(info->params_bytes, 1);
        params->program = api_hold_program(program);
    }
    if (!params || !params->is_set || !params->block) {
        sort_ssl_params_destroy(params);
        return api_no_memory(err);
    }
    ssl_params_init(program->ssl, params->block);
    for (uint32_t i = 0; i < info->unit->param_count; ++i)
        params->is_set[i] =
            info->unit->params[i].has_default || !info->params[i].is_used ||
            ssl_value_scalars(info->unit->params[i].type, info->unit->params[i].shape) == 0;
    *out_params = params;
    return SORT_SSL_OK;
}

void sort_ssl_params_destroy(SortSslParams *params)
{
    if (!params)
        return;
    sort_ssl_program_destroy(params->program);
    mem_free(params->is_set);
    mem_free(params->block);
    mem_free(params);
}

SortSslStatus sort_ssl_params_set(SortSslParams *params, const char *name, const double *numbers,
                                  uint32_t count, SortSslError *err)
{
    if (!params || !name || !numbers)
        return api_refuse_null(err, !params ? "params" : !name ? "name" : "numbers");
    const SslUnitInfo *unit = ssl_program_info(params->program->ssl)->unit;
    uint32_t at = 0;
    while (at < unit->param_count && strcmp(unit->params[at].name, name) != 0)
        ++at;
    if (at == unit->param_count)
        return api_refuse(err, STATUS_NOT_FOUND, "shader '%s' has no parameter '%s'", unit->name,
                          name);
    const SslParamInfo *info = &unit->params[at];
    uint32_t wanted = ssl_value_scalars(info->type, info->shape);
    const char *type = ssl_value_name(info->type, info->shape);
    if (wanted == 0)
        return api_refuse(err, STATUS_INVALID,
                          "parameter '%s' is a %s, which is not set by numbers", name, type);
    if (count != wanted)
        return api_refuse(err, STATUS_INVALID, "parameter '%s' is a %s of %u numbers, not of %u",
                          name, type, wanted, count);
    for (uint32_t i = 0; i < count; ++i)
        TRY_SSL(
            api_check_number(name, ssl_value_kind(info->type, info->shape, i), numbers[i], err));
    SslValue value = api_make_value(info->type, numbers, count);
    Error error = {0};
    Status status = ssl_params_set(params->program->ssl, params->block, at, &value, &error);
    if (status == STATUS_OK)
        params->is_set[at] = true;
    return api_give_error(status, &error, err);
}
