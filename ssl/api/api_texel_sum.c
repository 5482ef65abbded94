/* Exact sums by texel. */
#include "base/alloc.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/ssl_texel_sum.h"

struct SortSslTexelSum {
    SslTexelSum *ssl;
    uint64_t place_count;
};

SortSslStatus sort_ssl_texel_sum_create(const SortSslTexelSumDesc *desc, SortSslTexelSum **out_sum,
                                        SortSslError *err)
{
    if (!out_sum)
        return api_refuse_null(err, "out_sum");
    *out_sum = NULL;
    if (!desc)
        return api_refuse_null(err, "desc");
    SortSslTexelSumDesc own = {0};
    TAKE(&own, desc, SortSslTexelSumDesc, err);
    SortSslTexelSum *sum = MEM_NEW(SortSslTexelSum);
    if (!sum)
        return api_no_memory(err);
    const SslTexelSumDesc how = {.size_bytes = sizeof how,
                                 .place_count = own.place_count,
                                 .budget_bytes = own.budget_bytes,
                                 .folder = own.folder};
    Error error = {0};
    Status status = ssl_texel_sum_create(&how, &sum->ssl, &error);
    sum->place_count = own.place_count;
    if (status == STATUS_OK)
        *out_sum = sum;
    else
        mem_free(sum);
    return api_give_error(status, &error, err);
}

void sort_ssl_texel_sum_destroy(SortSslTexelSum *sum)
{
    if (!sum)
        return;
    ssl_texel_sum_destroy(sum->ssl);
    mem_free(sum);
}

static SortSslStatus check_places(const SortSslTexelSum *sum, uint64_t first, uint64_t count,
                                  SortSslError *err)
{
    if (first <= sum->place_count && count <= sum->place_count - first)
        return SORT_SSL_OK;
    return api_refuse(
        err, STATUS_INVALID, "%llu places from %llu on are out of range: there are %llu",
        (unsigned long long)count, (unsigned long long)first, (unsigned long long)sum->place_count);
}

SortSslStatus sort_ssl_texel_sum_add(SortSslTexelSum *sum, const uint64_t *places,
                                     uint32_t place_count, const float *numbers,
                                     uint32_t numbers_each, SortSslError *err)
{
    if (!sum || (place_count && (!places || !numbers)))
        return api_refuse_null(err, !sum ? "sum" : !places ? "places" : "numbers");
    Error error = {0};
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < place_count && status == STATUS_OK; ++i) {
        TRY_SSL(check_places(sum, places[i], numbers_each, err));
        status = ssl_texel_sum_add(sum->ssl, places[i], numbers + (size_t)i * numbers_each,
                                   numbers_each, &error);
    }
    return api_give_error(status, &error, err);
}

SortSslStatus sort_ssl_texel_sum_merge(SortSslTexelSum *sum, SortSslTexelSum *other,
                                       SortSslError *err)
{
    if (!sum || !other)
        return api_refuse_null(err, sum ? "other" : "sum");
    if (sum == other || sum->place_count != other->place_count)
        return api_refuse(err, STATUS_INVALID,
                          sum == other ? "a sum is added to itself"
                                       : "the sum is one of another number of places");
    Error error = {0};
    Status status = ssl_texel_sum_merge(sum->ssl, other->ssl, &error);
    return api_give_error(status, &error, err);
}

SortSslStatus sort_ssl_texel_sum_read(SortSslTexelSum *sum, uint64_t first_place, uint64_t count,
                                      double *out_values, SortSslError *err)
{
    if (!sum || (count && !out_values))
        return api_refuse_null(err, sum ? "out_values" : "sum");
    TRY_SSL(check_places(sum, first_place, count, err));
    Error error = {0};
    Status status = ssl_texel_sum_read(sum->ssl, first_place, count, out_values, &error);
    return api_give_error(status, &error, err);
}
