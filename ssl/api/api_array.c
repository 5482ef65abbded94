/* Inputs and outputs of all points of a batch at once, as arrays of doubles, for hosts that hold their data so. */
#include "base/check.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <string.h>

/* A global or an attribute of a batch. */
typedef struct Column {
    SortSslBatch *batch;
    bool is_attribute;
    uint32_t index;
    SortSslShadow shadow;
    const char *name;
    SslType type;
} Column;

/* NULL: the code does not read it. */
static void *column_line(const Column *to, uint32_t block, uint32_t component)
{
    if (api_is_discrete(to->type))
        return to->is_attribute ? sort_ssl_batch_attribute_int(to->batch, block, to->index)
                                : sort_ssl_batch_global_int(to->batch, block, to->index);
    return to->is_attribute
               ? api_batch_attribute(to->batch, block, to->index, to->shadow, component)
               : api_batch_global(to->batch, block, to->index, to->shadow, component);
}

/* Values may be infinite or NaN; a run refuses derivatives that are. */
static SortSslStatus check_numbers(const Column *to, const double *numbers, size_t count,
                                   SortSslError *err)
{
    size_t wanted = (size_t)to->batch->point_count * ssl_type_scalars(to->type);
    if (count != wanted)
        return api_refuse(err, STATUS_INVALID,
                          "'%s' of %u points is %zu numbers, not %zu: a %s has %u", to->name,
                          to->batch->point_count, wanted, count, ssl_type_name(to->type),
                          ssl_type_scalars(to->type));
    SslType kind = api_is_discrete(to->type) ? to->type : SSL_FLOAT;
    for (size_t i = 0; i < count; ++i)
        if (kind != SSL_FLOAT || numbers[i] - numbers[i] == 0.0)
            TRY_SSL(api_check_number(to->name, kind, numbers[i], err));
    return SORT_SSL_OK;
}

static SortSslStatus write_column(const Column *to, const double *numbers, size_t count,
                                  SortSslError *err)
{
    TRY_SSL(check_numbers(to, numbers, count, err));
    uint32_t components = ssl_type_scalars(to->type);
    bool is_discrete = api_is_discrete(to->type), all_finite = true;
    for (uint32_t point = 0; point < to->batch->point_count; point += SSL_BLOCK)
        for (uint32_t c = 0; c < components; ++c) {
            char *line = column_line(to, point / SSL_BLOCK, c);
            uint32_t end = to->batch->point_count - point;
            for (uint32_t lane = 0; line && lane < end && lane < SSL_BLOCK; ++lane) {
                double x = numbers[(size_t)(point + lane) * components + c];
                int32_t whole = is_discrete ? (int32_t)x : 0;
                float number = ssl_flushed((float)x);
                all_finite = all_finite && x - x == 0.0;
                memcpy(line + lane * sizeof number,
                       is_discrete ? (const void *)&whole : (const void *)&number, sizeof number);
            }
        }
    if (!all_finite && to->shadow != SORT_SSL_VALUE)
        to->batch->is_unchecked = true;
    return SORT_SSL_OK;
}

static SortSslStatus check_shadow(const Column *to, bool has_derivs, SortSslError *err)
{
    if ((uint32_t)to->shadow > SORT_SSL_DDY)
        return api_refuse(err, STATUS_INVALID, "%d is no SortSslShadow", (int)to->shadow);
    if (to->shadow != SORT_SSL_VALUE && !has_derivs)
        return api_refuse(err, STATUS_INVALID, "'%s' has no derivatives", to->name);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_batch_write_global(SortSslBatch *batch, uint32_t row, SortSslShadow shadow,
                                          const double *numbers, size_t count, SortSslError *err)
{
    if (!batch || !numbers)
        return api_refuse_null(err, batch ? "numbers" : "batch");
    TRY_SSL(api_check_index(row, batch->program->ctx->global_count, "global", err));
    const SslGlobalRow *global = &batch->program->ctx->globals[row];
    const Column to = {batch, false, row, shadow, global->name, global->type};
    TRY_SSL(check_shadow(&to, global->has_derivs, err));
    return write_column(&to, numbers, count, err);
}

SortSslStatus sort_ssl_batch_write_attribute(SortSslBatch *batch, uint32_t attribute,
                                             SortSslShadow shadow, const double *numbers,
                                             size_t count, SortSslError *err)
{
    if (!batch || !numbers)
        return api_refuse_null(err, batch ? "numbers" : "batch");
    const SslUnitInfo *unit = ssl_program_info(batch->program->ssl)->unit;
    TRY_SSL(api_check_index(attribute, unit->attribute_count, "attribute", err));
    const SslAttributeInfo *info = &unit->attributes[attribute];
    const Column to = {batch, true, attribute, shadow, info->name, info->type};
    TRY_SSL(check_shadow(&to, info->has_derivs, err));
    TRY_SSL(write_column(&to, numbers, count, err));
    for (uint32_t point = 0; point < batch->point_count; ++point) {
        int32_t *exists = sort_ssl_batch_attribute_exists(batch, point / SSL_BLOCK, attribute);
        if (exists)
            exists[point % SSL_BLOCK] = 1;
    }
    return SORT_SSL_OK;
}

/* Number n of an output at the points of a block. */
static void read_line(const SortSslBatch *batch, uint32_t block, uint32_t output,
                      SortSslShadow shadow, uint32_t n, double *to, uint32_t stride)
{
    const float *floats = sort_ssl_batch_output(batch, block, output, shadow, n);
    const int32_t *ints = sort_ssl_batch_output_int(batch, block, output, n);
    ASSERT(floats || ints);
    uint32_t end = batch->point_count - block * SSL_BLOCK;
    for (uint32_t lane = 0; lane < end && lane < SSL_BLOCK; ++lane)
        to[(size_t)lane * stride] = floats ? (double)floats[lane] : (double)ints[lane];
}

SortSslStatus sort_ssl_batch_read_output(const SortSslBatch *batch, uint32_t output,
                                         SortSslShadow shadow, double *out_numbers, size_t count,
                                         SortSslError *err)
{
    if (!batch || !out_numbers)
        return api_refuse_null(err, batch ? "out_numbers" : "batch");
    const SslUnitInfo *unit = ssl_program_info(batch->program->ssl)->unit;
    TRY_SSL(api_check_index(output, unit->output_count, "output", err));
    const SslOutputInfo *info = &unit->outputs[output];
    uint32_t numbers = ssl_value_scalars(info->type, info->shape);
    if (count != (size_t)batch->point_count * numbers || numbers == 0)
        return api_refuse(err, STATUS_INVALID,
                          "output '%s' of %u points is %zu numbers, not %zu: a %s has %u",
                          info->name, batch->point_count, (size_t)batch->point_count * numbers,
                          count, ssl_value_name(info->type, info->shape), numbers);
    if (shadow != SORT_SSL_VALUE && !sort_ssl_batch_output(batch, 0, output, shadow, 0))
        return api_refuse(err, STATUS_INVALID, "output '%s' has no derivatives", info->name);
    for (uint32_t block = 0; block < batch->block_count; ++block)
        for (uint32_t n = 0; n < numbers; ++n)
            read_line(batch, block, output, shadow, n,
                      out_numbers + (size_t)block * SSL_BLOCK * numbers + n, numbers);
    return SORT_SSL_OK;
}

uint32_t sort_ssl_batch_next_fault(const SortSslBatch *batch, uint32_t from_point)
{
    for (uint32_t point = from_point; batch && point < batch->point_count; ++point)
        if (sort_ssl_batch_fault(batch, point, NULL))
            return point;
    return SORT_SSL_NONE;
}
