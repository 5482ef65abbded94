/* Units: a source compiled, and what its shader declares. */
#include "base/alloc.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/ssl_limits.h"
#include <string.h>

SortSslStatus sort_ssl_unit_compile(SortSslContext *ctx, const SortSslSource *source,
                                    SortSslDiags *diags, SortSslUnit **out_unit, SortSslError *err)
{
    if (!out_unit)
        return api_refuse_null(err, "out_unit");
    *out_unit = NULL;
    if (!ctx || !source)
        return api_refuse_null(err, ctx ? "source" : "ctx");
    SortSslSource own = {0};
    TAKE(&own, source, SortSslSource, err);
    if (!own.text && own.text_bytes)
        return api_refuse_null(err, "text of the SortSslSource");
    const char *name = own.name ? own.name : "source";
    if (own.text_bytes > SSL_MAX_SOURCE_BYTES)
        return api_refuse(err, STATUS_LIMIT, "%s: a source of %zu bytes; at most %d are possible",
                          name, own.text_bytes, SSL_MAX_SOURCE_BYTES);
    SortSslUnit *unit = MEM_NEW(SortSslUnit);
    DiagList *list = diags ? diags->list : diag_list_create();
    uint32_t first = list ? diag_count(list) : 0;
    Status status = STATUS_NO_MEMORY;
    if (unit && list)
        status = ssl_unit_compile(ctx->ssl,
                                  &(SslSource){.name = name,
                                               .text = {own.text ? own.text : "", own.text_bytes},
                                               .shader = own.shader},
                                  list, &unit->ssl);
    SortSslStatus result = (SortSslStatus)status;
    if (status == STATUS_OK) {
        unit->ctx = api_hold_context(ctx);
        *out_unit = unit;
    } else {
        mem_free(unit);
        result = list ? api_give_source_error(status, list, first, &(Error){0}, err)
                      : api_no_memory(err);
    }
    if (!diags)
        diag_list_destroy(list);
    return result;
}

void sort_ssl_unit_destroy(SortSslUnit *unit)
{
    if (!unit)
        return;
    ssl_unit_release(unit->ssl);
    sort_ssl_context_destroy(unit->ctx);
    mem_free(unit);
}

SortSslStatus sort_ssl_unit_info(const SortSslUnit *unit, SortSslUnitInfo *out, SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslUnitInfo, err);
    const SslUnitInfo *info = ssl_unit_info(unit->ssl);
    GIVE(out, SortSslUnitInfo, .name = info->name, .param_count = info->param_count,
         .output_count = info->output_count, .texture_count = info->texture_count,
         .attribute_count = info->attribute_count);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_param(const SortSslUnit *unit, uint32_t index, SortSslParam *out,
                                  SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslParam, err);
    TRY_SSL(api_check_index(index, ssl_unit_info(unit->ssl)->param_count, "parameter", err));
    const SslParamInfo *info = &ssl_unit_info(unit->ssl)->params[index];
    bool is_text = info->has_default && info->type == SSL_STRING;
    GIVE(out, SortSslParam, .name = info->name,
         .type_name = ssl_value_name(info->type, info->shape), .type = (SortSslType)info->type,
         .number_count = ssl_value_scalars(info->type, info->shape),
         .has_default = info->has_default, .default_text = is_text ? info->default_value.s : NULL);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_output(const SortSslUnit *unit, uint32_t index, SortSslOutput *out,
                                   SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslOutput, err);
    TRY_SSL(api_check_index(index, ssl_unit_info(unit->ssl)->output_count, "output", err));
    const SslOutputInfo *info = &ssl_unit_info(unit->ssl)->outputs[index];
    GIVE(out, SortSslOutput, .name = info->name,
         .type_name = ssl_value_name(info->type, info->shape), .type = (SortSslType)info->type,
         .number_count = ssl_value_scalars(info->type, info->shape));
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_attribute(const SortSslUnit *unit, uint32_t index,
                                      SortSslAttributeInfo *out, SortSslError *err)
{
    CHECK_OUT(unit, out, SortSslAttributeInfo, err);
    TRY_SSL(api_check_index(index, ssl_unit_info(unit->ssl)->attribute_count, "attribute", err));
    const SslAttributeInfo *info = &ssl_unit_info(unit->ssl)->attributes[index];
    GIVE(out, SortSslAttributeInfo, .name = info->name, .type = (SortSslType)info->type,
         .has_derivs = info->has_derivs, .is_declared = info->is_declared);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_unit_param_default(const SortSslUnit *unit, uint32_t index,
                                          double *out_numbers, uint32_t count, SortSslError *err)
{
    if (!unit || !out_numbers)
        return api_refuse_null(err, unit ? "out_numbers" : "unit");
    TRY_SSL(api_check_index(index, ssl_unit_info(unit->ssl)->param_count, "parameter", err));
    const SslParamInfo *info = &ssl_unit_info(unit->ssl)->params[index];
    uint32_t numbers = ssl_value_scalars(info->type, info->shape);
    if (count != numbers || numbers == 0)
        return api_refuse(err, STATUS_INVALID, "parameter '%s' is a %s of %u numbers, not of %u",
                          info->name, ssl_value_name(info->type, info->shape), numbers, count);
    if (!info->has_default)
        return api_refuse(err, STATUS_NOT_FOUND, "parameter '%s' has no default", info->name);
    const SslValue *value = &info->default_value;
    bool is_list = value->type == SSL_STRUCT || value->type == SSL_ARRAY;
    for (uint32_t i = 0; i < count; ++i)
        out_numbers[i] = is_list                   ? value->list[i]
                         : value->type == SSL_BOOL ? (double)value->b
                         : value->type == SSL_INT  ? (double)value->i
                                                   : (double)value->f[i];
    return SORT_SSL_OK;
}

const char *sort_ssl_unit_texture(const SortSslUnit *unit, uint32_t index)
{
    const SslUnitInfo *info = unit ? ssl_unit_info(unit->ssl) : NULL;
    return info && index < info->texture_count ? info->textures[index] : NULL;
}

#define FIND(unit, table, name)                                                                    \
    do {                                                                                           \
        const SslUnitInfo *find_in = unit ? ssl_unit_info(unit->ssl) : NULL;                       \
        for (uint32_t i = 0; find_in && name && i < find_in->table##_count; ++i)                   \
            if (strcmp(find_in->table##s[i].name, name) == 0)                                      \
                return i;                                                                          \
        return SORT_SSL_NONE;                                                                      \
    } while (0)

uint32_t sort_ssl_unit_find_param(const SortSslUnit *unit, const char *name)
{
    FIND(unit, param, name);
}

uint32_t sort_ssl_unit_find_output(const SortSslUnit *unit, const char *name)
{
    FIND(unit, output, name);
}

uint32_t sort_ssl_unit_find_attribute(const SortSslUnit *unit, const char *name)
{
    FIND(unit, attribute, name);
}
