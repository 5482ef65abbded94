/* A batch runs: its inputs are checked, and the kernel gets the host's texture lookup. */
#include "base/check.h"
#include "base/simd.h"
#include "base/thread.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/api/api_value.h"
#include <fenv.h>
#include <math.h>

enum { DEFAULT_LOOP_BUDGET = 1 << 20, DEFAULT_STACK_BYTES = 1 << 18 };

/* As ssl_flushed for each number of lines in some blocks: this thread flushes subnormal numbers, so a product with a 1 that compilers do
 * not know does it. */
static void flush_lines(float *first, size_t stride_bytes, uint32_t block_count,
                        uint32_t line_count)
{
    static const volatile float unknown = 1.0f;
    const f32x4 one = f32x4_splat(unknown);
    for (uint32_t block = 0; block < block_count; ++block) {
        float *line = first, *end = first + (size_t)line_count * SSL_BLOCK;
        for (; line < end; line += SSL_BLOCK)
            for (uint32_t i = 0; i < SSL_BLOCK; i += 4)
                f32x4_store(f32x4_load(line + i) * one, line + i);
        first += stride_bytes / sizeof *first;
    }
}

/* What is infinite or NaN is not 0 when it is multiplied by 0. */
static bool are_finite(const float *x, uint32_t count)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; ++i)
        others |= x[i] * 0.0f != 0.0f;
    return others == 0;
}

static SortSslStatus check_lines(const float *line, uint32_t line_count, uint32_t live,
                                 const char *name, uint32_t block, SortSslError *err)
{
    uint32_t end = line_count * SSL_BLOCK;
    for (uint32_t i = 0; i < end && !are_finite(line, end); ++i)
        if (live >> i % SSL_BLOCK & 1 && !isfinite(line[i]))
            return api_refuse(err, STATUS_INVALID, "a derivative of '%s' at point %u is not finite",
                              name, block * SSL_BLOCK + i % SSL_BLOCK);
    return SORT_SSL_OK;
}

/* Returns how many numbers of a global the kernel reads, and of how many of its derivatives. */
static uint32_t count_global(const SortSslBatch *batch, uint32_t row, uint32_t *out_derivs)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    const SslGlobalRow *global = &batch->program->ctx->globals[row];
    bool derivs = info->globals_derivs >> row & 1;
    bool is_read = (derivs || info->globals_value >> row & 1) && !api_is_discrete(global->type);
    uint32_t count = is_read ? ssl_type_scalars(global->type) : 0;
    *out_derivs = derivs ? 2 * count : 0;
    return count;
}

static uint32_t count_attribute(const SortSslBatch *batch, uint32_t index, uint32_t *out_derivs)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    const SslAttributeSlot *slot = &info->attributes[index];
    SslType type = info->unit->attributes[index].type;
    uint32_t count = slot->is_used && !api_is_discrete(type) ? ssl_type_scalars(type) : 0;
    *out_derivs = slot->wants_derivs ? 2 * count : 0;
    return count;
}

/* Derivatives that are not finite are refused. */
static SortSslStatus check_derivatives(SortSslBatch *batch, SortSslError *err)
{
    const SslUnitInfo *unit = ssl_program_info(batch->program->ssl)->unit;
    for (uint32_t row = 0; row < batch->program->ctx->global_count; ++row) {
        uint32_t derivs, count = count_global(batch, row, &derivs);
        for (uint32_t block = 0; block < batch->block_count && derivs; ++block)
            TRY_SSL(check_lines(api_global_line(batch, block, row, count), derivs,
                                batch->live[block], batch->program->ctx->globals[row].name, block,
                                err));
    }
    for (uint32_t i = 0; i < unit->attribute_count; ++i) {
        uint32_t derivs, count = count_attribute(batch, i, &derivs);
        for (uint32_t block = 0; block < batch->block_count && derivs; ++block)
            TRY_SSL(check_lines(api_attribute_line(batch, block, i, count), derivs,
                                batch->live[block], unit->attributes[i].name, block, err));
    }
    return SORT_SSL_OK;
}

/* Subnormal numbers that a host wrote become zero. */
static void flush_inputs(SortSslBatch *batch, uint32_t first, uint32_t block_count)
{
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    for (uint32_t row = 0; row < batch->program->ctx->global_count; ++row) {
        uint32_t derivs, count = count_global(batch, row, &derivs);
        if (count)
            flush_lines(api_global_line(batch, first, row, 0),
                        batch->program->ctx->layout.stride_bytes, block_count, count + derivs);
    }
    for (uint32_t i = 0; i < info->unit->attribute_count; ++i) {
        uint32_t derivs, count = count_attribute(batch, i, &derivs);
        if (count)
            flush_lines(api_attribute_line(batch, first, i, 0), info->attributes_stride_bytes,
                        block_count, count + derivs);
    }
}

/* What a kernel's texture calls reach. */
typedef struct Run {
    SortSslTextureLookup texture_lookup, texture_adjoint;
    void *user;
    uint32_t first_block; /* of those that the kernel has */
} Run;

static void call_host(SortSslTextureLookup function, const Run *run, const SslTexCall *call)
{
    SortSslTextureCall out = {.size_bytes = sizeof out,
                              .texture = call->texture,
                              .site = call->site,
                              .first_point =
                                  (run->first_block + call->block) * SSL_BLOCK + call->lane_first,
                              .lane_count = call->lane_count,
                              .lane_mask = call->lane_mask,
                              .with_derivs = (call->flags & SSL_TEX_WANT_DERIVS) != 0,
                              .coord = call->coord,
                              .result = call->result};
    function(run->user, &out);
}

static const Run *run_of(SslHost *host)
{
    const void *own = host; /* as sort_ssl_batch_run gave it */
    return own;
}

static void look_up(SslHost *host, const SslTexCall *call)
{
    call_host(run_of(host)->texture_lookup, run_of(host), call);
}

static void add_adjoints(SslHost *host, const SslTexCall *call)
{
    call_host(run_of(host)->texture_adjoint, run_of(host), call);
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
    for (uint32_t i = 0; i < info->unit->texture_count && !desc->texture_adjoint; ++i)
        if (info->texels_have_adjoints[i])
            return api_refuse(
                err, STATUS_INVALID,
                "the derivative is one by the texels of '%s': texture_adjoint is NULL",
                info->unit->textures[i]);
    return SORT_SSL_OK;
}

/* The calling thread flushes subnormal numbers. A kernel has few blocks at a time, whose inputs are then still in the cache. */
static SortSslStatus run_flushed(SortSslBatch *batch, const SortSslRunDesc *desc,
                                 const SortSslParams *params, SortSslError *err)
{
    enum { BLOCKS = 16 };
    const SslProgramInfo *info = ssl_program_info(batch->program->ssl);
    uint32_t globals_bytes = batch->program->ctx->layout.stride_bytes;
    if (batch->is_unchecked)
        TRY_SSL(check_derivatives(batch, err));
    Run run = {desc->texture_lookup, desc->texture_adjoint, desc->user, 0};
    void *host = &run;
    SslServices services = {
        .size_bytes = sizeof services, .tex_lookup = look_up, .tex_adjoint = add_adjoints};
    for (uint32_t first = 0, count; first < batch->block_count; first += count) {
        uint32_t left = batch->block_count - first;
        count = left < BLOCKS ? left : BLOCKS;
        if (batch->is_unchecked)
            flush_inputs(batch, first, count);
        run.first_block = first;
        SslBatch points = {
            .globals = api_line(batch->globals, globals_bytes, first, 0, 0),
            .attributes = api_line(batch->attributes, info->attributes_stride_bytes, first, 0, 0),
            .live = batch->live + first,
            .result = api_line(batch->result, info->result_stride_bytes, first, 0, 0),
            .params = params->block,
            .textures = batch->textures,
            .services = &services,
            .host = host,
            .block_count = count,
            .loop_budget = desc->loop_budget ? desc->loop_budget : DEFAULT_LOOP_BUDGET,
            .stack_bytes = desc->stack_bytes ? desc->stack_bytes : DEFAULT_STACK_BYTES};
        ssl_program_kernel(batch->program->ssl)(&points);
    }
    return SORT_SSL_OK;
}

SortSslStatus sort_ssl_batch_run(SortSslBatch *batch, const SortSslRunDesc *desc, SortSslError *err)
{
    if (!batch)
        return api_refuse_null(err, "batch");
    SortSslRunDesc own = {.size_bytes = sizeof own};
    if (desc)
        TAKE_FROM(&own, desc, SortSslRunDesc, offsetof(SortSslRunDesc, texture_adjoint), err);
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
