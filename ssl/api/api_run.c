/* A batch runs: its inputs are checked, and the kernel gets the host's texture lookup. */
#include "base/check.h"
#include "base/thread.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <fenv.h>
#include <math.h>

enum { DEFAULT_LOOP_BUDGET = 1 << 20, DEFAULT_STACK_BYTES = 1 << 18 };

/* As ssl_flushed for each number: this thread flushes subnormal numbers, so a product with a 1 that compilers do not know does it. */
static void flush_numbers(float *x, uint32_t count)
{
    static const volatile float unknown = 1.0f;
    const float one = unknown;
    for (uint32_t i = 0; i < count; ++i)
        x[i] *= one;
}

/* What is infinite or NaN is not 0 when it is multiplied by 0. */
static bool are_finite(const float *x, uint32_t count)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; ++i)
        others |= x[i] * 0.0f != 0.0f;
    return others == 0;
}

/* Makes what kernels may be given of what a host wrote to `line`, which has numbers of all lanes: subnormal numbers become zero,
 * derivatives, those from line deriv_first on, that are not finite are refused. */
static SortSslStatus check_lines(float *line, uint32_t line_count, uint32_t deriv_first,
                                 uint32_t live, const char *name, uint32_t block, SortSslError *err)
{
    uint32_t end = line_count * SSL_BLOCK, i = deriv_first * SSL_BLOCK;
    flush_numbers(line, end);
    if (i >= end || are_finite(line + i, end - i))
        return SORT_SSL_OK;
    for (; i < end; ++i)
        if (live >> i % SSL_BLOCK & 1 && !isfinite(line[i]))
            return api_refuse(err, STATUS_INVALID, "a derivative of '%s' at point %u is not finite",
                              name, block * SSL_BLOCK + i % SSL_BLOCK);
    return SORT_SSL_OK;
}

static SortSslStatus check_global(SortSslBatch *batch, uint32_t row, SortSslError *err)
{
    const SortSslContext *ctx = batch->program->ctx;
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    const SslGlobalRow *global = &ctx->globals[row];
    bool derivs = info->globals_derivs >> row & 1;
    if (api_is_discrete(global->type) || !(derivs || info->globals_value >> row & 1))
        return SORT_SSL_OK;
    uint32_t count = ssl_type_scalars(global->type);
    for (uint32_t block = 0; block < batch->block_count; ++block)
        TRY_SSL(check_lines(api_global_line(batch, block, row, 0), derivs ? 3 * count : count,
                            count, batch->live[block], global->name, block, err));
    return SORT_SSL_OK;
}

static SortSslStatus check_attribute(SortSslBatch *batch, uint32_t index, SortSslError *err)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    const SslAttributeInfo *attribute = &info->unit->attributes[index];
    const SslAttributeSlot *slot = &info->attributes[index];
    if (!slot->is_used || api_is_discrete(attribute->type))
        return SORT_SSL_OK;
    uint32_t count = ssl_type_scalars(attribute->type);
    for (uint32_t block = 0; block < batch->block_count; ++block)
        TRY_SSL(check_lines(api_attribute_line(batch, block, index, 0),
                            slot->wants_derivs ? 3 * count : count, count, batch->live[block],
                            attribute->name, block, err));
    return SORT_SSL_OK;
}

static SortSslStatus check_inputs(SortSslBatch *batch, SortSslError *err)
{
    for (uint32_t row = 0; row < batch->program->ctx->global_count; ++row)
        TRY_SSL(check_global(batch, row, err));
    for (uint32_t i = 0; i < ssl_program_info(batch->program->ssl)->unit->attribute_count; ++i)
        TRY_SSL(check_attribute(batch, i, err));
    return SORT_SSL_OK;
}

/* What a kernel's texture calls reach. */
typedef struct Run {
    SortSslTextureLookup texture_lookup;
    void *user;
} Run;

static void look_up(SslHost *host, const SslTexCall *call)
{
    const void *own = host; /* as sort_ssl_batch_run gave it */
    const Run *run = own;
    SortSslTextureCall out = {.size_bytes = sizeof out,
                              .texture = call->texture,
                              .site = call->site,
                              .first_point = call->block * SSL_BLOCK + call->lane_first,
                              .lane_count = call->lane_count,
                              .lane_mask = call->lane_mask,
                              .with_derivs = (call->flags & SSL_TEX_WANT_DERIVS) != 0,
                              .coord = call->coord,
                              .result = call->result};
    run->texture_lookup(run->user, &out);
}

static SortSslStatus check_run(const SortSslBatch *batch, const SortSslRunDesc *desc,
                               const SortSslParams *params, SortSslError *err)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    if (params->program != batch->program)
        return api_refuse(err, STATUS_INVALID, "the parameters are those of another program");
    for (uint32_t i = 0; i < info->unit->param_count; ++i)
        if (!params->is_set[i])
            return api_refuse(err, STATUS_INVALID, "parameter '%s' has no default and was not set",
                              info->unit->params[i].name);
    if (info->texture_site_count && !desc->texture_lookup)
        return api_refuse(err, STATUS_INVALID,
                          "shader '%s' looks up textures: texture_lookup is NULL",
                          info->unit->name);
    return SORT_SSL_OK;
}

/* The calling thread flushes subnormal numbers. */
static SortSslStatus run_flushed(SortSslBatch *batch, const SortSslRunDesc *desc,
                                 const SortSslParams *params, SortSslError *err)
{
    TRY_SSL(check_inputs(batch, err));
    Run run = {desc->texture_lookup, desc->user};
    void *host = &run;
    SslServices services = {.size_bytes = sizeof services, .tex_lookup = look_up};
    SslBatch points = {.globals = batch->globals,
                       .attributes = batch->attributes,
                       .live = batch->live,
                       .result = batch->result,
                       .params = params->block,
                       .textures = batch->textures,
                       .services = &services,
                       .host = host,
                       .block_count = batch->block_count,
                       .loop_budget = desc->loop_budget ? desc->loop_budget : DEFAULT_LOOP_BUDGET,
                       .stack_bytes = desc->stack_bytes ? desc->stack_bytes : DEFAULT_STACK_BYTES};
    ssl_program_kernel(batch->program->ssl)(&points);
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_batch_run(SortSslBatch *batch, const SortSslRunDesc *desc, SortSslError *err)
{
    if (!batch)
        return api_refuse_null(err, "batch");
    SortSslRunDesc own = {.size_bytes = sizeof own};
    if (desc)
        TAKE(&own, desc, SortSslRunDesc, err);
    SortSslParams *defaults = NULL;
    if (!own.params)
        TRY_SSL(sort_ssl_params_create(batch->program, &defaults, err));
    const SortSslParams *params = own.params ? own.params : defaults;
    ASSERT(params);
    SortSslStatus status = check_run(batch, &own, params, err);
    if (status == SORT_SSL_OK) {
        fenv_t modes;
        (void)fegetenv(&modes);
        (void)fesetenv(FE_DFL_ENV);
        thread_flush_denormals();
        status = run_flushed(batch, &own, params, err);
        (void)fesetenv(&modes);
    }
    sort_ssl_params_destroy(defaults);
    return status;
}
