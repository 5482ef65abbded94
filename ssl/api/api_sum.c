/* Exact sums of results. */
#include "base/alloc.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/ssl_sum.h"

struct SortSslSum {
    SortSslProgram *program; /* held */
    SslSum *ssl;
};

SortSslStatus sort_ssl_sum_create(const SortSslProgram *program, SortSslSum **out_sum,
                                  SortSslError *err)
{
    if (!out_sum)
        return api_refuse_null(err, "out_sum");
    *out_sum = NULL;
    if (!program)
        return api_refuse_null(err, "program");
    SortSslSum *sum = MEM_NEW(SortSslSum);
    if (!sum)
        return api_no_memory(err);
    Error error = {0};
    Status status = ssl_sum_create(program->ssl, &sum->ssl, &error);
    if (status == STATUS_OK) {
        sum->program = api_hold_program(program);
        *out_sum = sum;
    } else {
        mem_free(sum);
    }
    return api_give_error(status, &error, err);
}

void sort_ssl_sum_destroy(SortSslSum *sum)
{
    if (!sum)
        return;
    ssl_sum_destroy(sum->ssl);
    sort_ssl_program_destroy(sum->program);
    mem_free(sum);
}

SortSslStatus sort_ssl_sum_add(SortSslSum *sum, const SortSslBatch *batch, SortSslError *err)
{
    if (!sum || !batch)
        return api_refuse_null(err, sum ? "batch" : "sum");
    if (batch->program != sum->program)
        return api_refuse(err, STATUS_INVALID, "the batch is one of another program");
    const SslBatch points = {.attributes = batch->attributes,
                             .live = batch->live,
                             .result = batch->result,
                             .block_count = batch->block_count};
    Error error = {0};
    Status status = ssl_sum_add(sum->ssl, &points, &error);
    return api_give_error(status, &error, err);
}

SortSslStatus sort_ssl_sum_merge(SortSslSum *sum, const SortSslSum *other, SortSslError *err)
{
    if (!sum || !other)
        return api_refuse_null(err, sum ? "other" : "sum");
    if (other->program != sum->program)
        return api_refuse(err, STATUS_INVALID, "the sum is one of another program");
    Error error = {0};
    Status status = ssl_sum_merge(sum->ssl, other->ssl, &error);
    return api_give_error(status, &error, err);
}

SortSslStatus sort_ssl_sum_value(const SortSslSum *sum, uint32_t output, uint32_t number,
                                 double *out_value, SortSslError *err)
{
    if (!sum || !out_value)
        return api_refuse_null(err, sum ? "out_value" : "sum");
    const SslUnitInfo *unit = ssl_program_info(sum->program->ssl)->unit;
    TRY_SSL(api_check_index(output, unit->output_count, "output", err));
    const SslOutputInfo *info = &unit->outputs[output];
    TRY_SSL(api_check_index(number, ssl_value_scalars(info->type, info->shape), "number", err));
    *out_value = ssl_sum_value(sum->ssl, output, number);
    return SORT_SSL_OK;
}
