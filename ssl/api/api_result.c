/* The results of a run: outputs, lobes, faults. */
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <string.h>

static const float *result_line(const SortSslBatch *batch, uint32_t block, uint32_t offset_bytes,
                                uint32_t line)
{
    return api_line(batch->result, ssl_program_info(batch->program->ssl)->result_stride_bytes,
                    block, offset_bytes, line);
}

/* Where a number of an output lies and what it is. NULL: it is not there. */
static const float *find_output(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                SortSslShadow shadow, uint32_t number, SslType *out_kind)
{
    if (!batch || block >= batch->block_count || (uint32_t)shadow > SORT_SSL_DDY)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    if (output >= info->unit->output_count)
        return NULL;
    const SslOutputInfo *what = &info->unit->outputs[output];
    if (number >= ssl_value_scalars(what->type, what->shape))
        return NULL;
    *out_kind = ssl_value_kind(what->type, what->shape, number);
    const SslOutputSlot *slots = shadow == SORT_SSL_VALUE ? info->outputs
                                 : shadow == SORT_SSL_DDX ? info->outputs_ddx
                                                          : info->outputs_ddy;
    if (!slots || (shadow != SORT_SSL_VALUE && !slots[output].offset))
        return NULL;
    return result_line(batch, block, slots[output].offset, number);
}

const float *sort_ssl_batch_output(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                   SortSslShadow shadow, uint32_t number)
{
    SslType kind = SSL_VOID;
    const float *line = find_output(batch, block, output, shadow, number, &kind);
    return kind == SSL_FLOAT ? line : NULL;
}

const int32_t *sort_ssl_batch_output_int(const SortSslBatch *batch, uint32_t block, uint32_t output,
                                         uint32_t number)
{
    SslType kind = SSL_VOID;
    const void *line = find_output(batch, block, output, SORT_SSL_VALUE, number, &kind);
    return api_is_discrete(kind) ? line : NULL;
}

/* NULL: there is no such block or lobe. */
static const SslLobeSlot *find_lobe(const SortSslBatch *batch, uint32_t block, uint32_t lobe)
{
    if (!batch || block >= batch->block_count)
        return NULL;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    return lobe < info->lobe_count ? &info->lobes[lobe] : NULL;
}

uint32_t sort_ssl_batch_lobe_mask(const SortSslBatch *batch, uint32_t block, uint32_t lobe)
{
    const SslLobeSlot *slot = find_lobe(batch, block, lobe);
    uint16_t mask = 0;
    if (slot)
        memcpy(&mask, result_line(batch, block, slot->mask_offset, 0), sizeof mask);
    return slot ? mask & batch->live[block] : 0;
}

const float *sort_ssl_batch_lobe_weight(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                        uint32_t component)
{
    const SslLobeSlot *slot = find_lobe(batch, block, lobe);
    return slot && component < 3 ? result_line(batch, block, slot->weight_offset, component) : NULL;
}

static const float *find_lobe_arg(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                  uint32_t number, SslType *out_kind)
{
    const SslLobeSlot *slot = find_lobe(batch, block, lobe);
    if (!slot || number >= api_lobe_numbers(batch->program, lobe, number, out_kind))
        return NULL;
    return result_line(batch, block, slot->args_offset, number);
}

const float *sort_ssl_batch_lobe_arg(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                     uint32_t number)
{
    SslType kind = SSL_VOID;
    const float *line = find_lobe_arg(batch, block, lobe, number, &kind);
    return kind == SSL_FLOAT ? line : NULL;
}

const int32_t *sort_ssl_batch_lobe_arg_int(const SortSslBatch *batch, uint32_t block, uint32_t lobe,
                                           uint32_t number)
{
    SslType kind = SSL_VOID;
    const void *line = find_lobe_arg(batch, block, lobe, number, &kind);
    return api_is_discrete(kind) ? line : NULL;
}

bool sort_ssl_batch_fault(const SortSslBatch *batch, uint32_t point, SortSslFault *out)
{
    if (!batch || point >= batch->point_count ||
        !(batch->live[point / SSL_BLOCK] >> point % SSL_BLOCK & 1))
        return false;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    uint32_t site;
    memcpy(&site, result_line(batch, point / SSL_BLOCK, info->fault_offset, 0) + point % SSL_BLOCK,
           sizeof site);
    if (site == 0 || site > info->fault_site_count)
        return false;
    if (out && api_check_size(out, sizeof *out, sizeof *out, "SortSslFault", NULL) == SORT_SSL_OK) {
        SslFaultInfo fault;
        ssl_fault_describe(batch->program->ssl, site - 1, &fault);
        GIVE(out, SortSslFault, .kind = (SortSslFaultKind)fault.kind, .file = fault.source_name,
             .line = fault.line, .column = fault.column, .text = fault.text);
    }
    return true;
}
