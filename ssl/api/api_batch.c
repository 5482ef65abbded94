/* Batches: the memory of points, and the lines that a host writes before a run. */
#include "base/alloc.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <string.h>

/* Zeroed, for blocks; kernels read whole lines of the cache. */
static void *allocate_blocks(uint32_t block_count, uint32_t stride_bytes)
{
    size_t bytes = (size_t)block_count * stride_bytes + SORT_CACHE_LINE;
    void *memory = mem_alloc_aligned(bytes, SORT_CACHE_LINE);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

float *api_line(void *blocks, uint32_t stride_bytes, uint32_t block, size_t offset_bytes,
                uint32_t line)
{
    void *at = (char *)blocks + (size_t)block * stride_bytes + offset_bytes;
    return (float *)at + (size_t)line * SSL_BLOCK;
}

/* Lines of ints are read and written as such. */
static int32_t *ints_of(void *line)
{
    return line;
}

/* Attributes that the host does not fill have their defaults. */
static void fill_attributes(SortSslBatch *batch)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    for (uint32_t i = 0; i < info->unit->attribute_count; ++i) {
        const SslAttributeInfo *attribute = &info->unit->attributes[i];
        const SslValue *value = &attribute->default_value;
        uint32_t count = info->attributes[i].is_used ? ssl_type_scalars(attribute->type) : 0;
        for (uint32_t k = 0; k < count; ++k)
            for (uint32_t point = 0; point < batch->block_count * SSL_BLOCK; ++point) {
                float number = ssl_flushed(value->f[k]);
                int32_t word = attribute->type == SSL_BOOL ? value->b : value->i;
                const void *from =
                    api_is_discrete(attribute->type) ? (const void *)&word : (const void *)&number;
                memcpy(api_line(batch->attributes, info->attributes_stride_bytes, point / SSL_BLOCK,
                                info->attributes[i].offset_bytes, k) +
                           point % SSL_BLOCK,
                       from, sizeof number);
            }
    }
}

SortSslStatus sort_ssl_batch_create(const SortSslProgram *program, uint32_t point_count,
                                    SortSslBatch **out_batch, SortSslError *err)
{
    if (!out_batch)
        return api_refuse_null(err, "out_batch");
    *out_batch = NULL;
    if (!program)
        return api_refuse_null(err, "program");
    if (point_count == 0 || point_count > UINT32_MAX - SSL_BLOCK)
        return api_refuse(err, STATUS_INVALID, "a batch of %u points", point_count);
    const SslProgramInfo *info = ssl_program_info(program->ssl);
    SortSslBatch *batch = MEM_NEW(SortSslBatch);
    if (!batch)
        return api_no_memory(err);
    uint32_t blocks = (point_count + SSL_BLOCK - 1) / SSL_BLOCK;
    batch->program = api_hold_program(program);
    batch->point_count = point_count;
    batch->block_count = blocks;
    batch->globals = allocate_blocks(blocks, program->ctx->layout.stride_bytes);
    batch->attributes = allocate_blocks(blocks, info->attributes_stride_bytes);
    batch->result = allocate_blocks(blocks, info->result_stride_bytes);
    batch->live = MEM_ARRAY(uint16_t, blocks);
    batch->textures = MEM_ARRAY(uint32_t, info->unit->texture_count);
    if (!batch->globals || !batch->attributes || !batch->result || !batch->live ||
        !batch->textures) {
        sort_ssl_batch_destroy(batch);
        return api_no_memory(err);
    }
    for (uint32_t i = 0; i < point_count; ++i)
        batch->live[i / SSL_BLOCK] = (uint16_t)(batch->live[i / SSL_BLOCK] | 1u << i % SSL_BLOCK);
    for (uint32_t i = 0; i < info->unit->texture_count; ++i)
        batch->textures[i] = i;
    fill_attributes(batch);
    *out_batch = batch;
    return SORT_SSL_OK;
}

void sort_ssl_batch_destroy(SortSslBatch *batch)
{
    if (!batch)
        return;
    sort_ssl_program_destroy(batch->program);
    mem_free(batch->globals);
    mem_free(batch->attributes);
    mem_free(batch->result);
    mem_free(batch->live);
    mem_free(batch->textures);
    mem_free(batch);
}

float *api_global_line(const SortSslBatch *batch, uint32_t block, uint32_t row, uint32_t line)
{
    const SslGlobalsLayout *layout = &batch->program->ctx->layout;
    return api_line(batch->globals, layout->stride_bytes, block,
                    (size_t)layout->offset_floats[row] * sizeof(float), line);
}

static bool has_global(const SortSslBatch *batch, uint32_t block, uint32_t row)
{
    return batch && block < batch->block_count && row < batch->program->ctx->global_count;
}

float *api_batch_global(const SortSslBatch *batch, uint32_t block, uint32_t row,
                        SortSslShadow shadow, uint32_t component)
{
    if (!has_global(batch, block, row) || (uint32_t)shadow > SORT_SSL_DDY)
        return NULL;
    const SslGlobalRow *global = &batch->program->ctx->globals[row];
    uint32_t count = ssl_type_scalars(global->type);
    if (component >= count || api_is_discrete(global->type) ||
        (shadow != SORT_SSL_VALUE && !global->has_derivs))
        return NULL;
    return api_global_line(batch, block, row, (uint32_t)shadow * count + component);
}

/* The host may write by the pointer at any time. */
static float *hand_out(SortSslBatch *batch, float *line)
{
    if (line)
        batch->is_unchecked = true;
    return line;
}

float *sort_ssl_batch_global(SortSslBatch *batch, uint32_t block, uint32_t row,
                             SortSslShadow shadow, uint32_t component)
{
    return hand_out(batch, api_batch_global(batch, block, row, shadow, component));
}

int32_t *sort_ssl_batch_global_int(SortSslBatch *batch, uint32_t block, uint32_t row)
{
    if (!has_global(batch, block, row) || !api_is_discrete(batch->program->ctx->globals[row].type))
        return NULL;
    return ints_of(api_global_line(batch, block, row, 0));
}

float *api_attribute_line(const SortSslBatch *batch, uint32_t block, uint32_t attribute,
                          uint32_t line)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return api_line(batch->attributes, info->attributes_stride_bytes, block,
                    info->attributes[attribute].offset_bytes, line);
}

/* NULL: there is no such attribute or block. */
static const SslAttributeSlot *find_attribute(const SortSslBatch *batch, uint32_t block,
                                              uint32_t attribute)
{
    if (!batch || block >= batch->block_count)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return attribute < info->unit->attribute_count ? &info->attributes[attribute] : NULL;
}

static SslType attribute_type(const SortSslBatch *batch, uint32_t attribute)
{
    return ssl_program_info(batch->program->ssl)->unit->attributes[attribute].type;
}

float *api_batch_attribute(const SortSslBatch *batch, uint32_t block, uint32_t attribute,
                           SortSslShadow shadow, uint32_t component)
{
    const SslAttributeSlot *slot = find_attribute(batch, block, attribute);
    if (!slot || (uint32_t)shadow > SORT_SSL_DDY || !slot->is_used ||
        (shadow != SORT_SSL_VALUE && !slot->wants_derivs))
        return NULL;
    SslType type = attribute_type(batch, attribute);
    uint32_t count = ssl_type_scalars(type);
    if (component >= count || api_is_discrete(type))
        return NULL;
    return api_attribute_line(batch, block, attribute, (uint32_t)shadow * count + component);
}

float *sort_ssl_batch_attribute(SortSslBatch *batch, uint32_t block, uint32_t attribute,
                                SortSslShadow shadow, uint32_t component)
{
    return hand_out(batch, api_batch_attribute(batch, block, attribute, shadow, component));
}

int32_t *sort_ssl_batch_attribute_int(SortSslBatch *batch, uint32_t block, uint32_t attribute)
{
    const SslAttributeSlot *slot = find_attribute(batch, block, attribute);
    if (!slot || !slot->is_used || !api_is_discrete(attribute_type(batch, attribute)))
        return NULL;
    return ints_of(api_attribute_line(batch, block, attribute, 0));
}

int32_t *sort_ssl_batch_attribute_exists(SortSslBatch *batch, uint32_t block, uint32_t attribute)
{
    const SslAttributeSlot *slot = find_attribute(batch, block, attribute);
    if (!slot || !slot->wants_existence)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return ints_of(api_line(batch->attributes, info->attributes_stride_bytes, block,
                            slot->existence_offset_bytes, 0));
}

SortSslStatus sort_ssl_batch_set_live(SortSslBatch *batch, uint32_t point, bool is_live,
                                      SortSslError *err)
{
    if (!batch)
        return api_refuse_null(err, "batch");
    TRY_SSL(api_check_index(point, batch->point_count, "point", err));
    uint32_t bit = 1u << point % SSL_BLOCK, mask = batch->live[point / SSL_BLOCK];
    batch->live[point / SSL_BLOCK] = (uint16_t)(is_live ? mask | bit : mask & ~bit);
    return SORT_SSL_OK;
}
