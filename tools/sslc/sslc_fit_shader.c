#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "tools/sslc/sslc_fit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BLOCKS = 32, UNDEFINED_TEXT = ERROR_TEXT_MAX };

/* A program with its points, all blocks of which chunks of threads run. */
typedef struct Side {
    SslUnit *unit; /* NULL: the caller's */
    SslProgram *program;
    GridHost *host;
} Side;

struct FitShader {
    FitShaderDesc desc;
    Side plain, backward, forward;
    PictureLoss *loss;
    FitPicture picture, tangent;
    float *adjoint;  /* as the picture */
    SslSum **sums;   /* [chunk_count] */
    Error *errors;   /* [chunk_count] of those sums */
    bool *has_fault; /* [chunk_count] the chunk could not be shaded, or not be summed */
    uint32_t point_count, block_count, chunk_count, adjoint_slot;
    uint64_t undefined_count;
    char undefined_text[UNDEFINED_TEXT];
};

/* --- building ----------------------------------------------------------------------------------- */

static Status build_side(FitShader *s, const SslUnit *unit, Side *side, Error *err)
{
    const FitShaderDesc *d = &s->desc;
    side->program = sslc_build(d->file, unit, d->build, false);
    if (!side->program)
        return STATUS_SOURCE;
    TRY(grid_host_create(side->program, d->file->tables.globals, d->file->tables.global_count,
                         s->point_count, &side->host, err));
    grid_host_watch(side->host, GRID_WATCH_NONE);
    return sslc_grid_set(d->grid, d->file, side->program, side->host, err);
}

static Status differentiate(FitShader *s, bool is_backward, Side *side, Error *err)
{
    const FitShaderDesc *d = &s->desc;
    const SslUnitInfo *info = ssl_unit_info(d->unit);
    SslDerivativeInput *inputs = MEM_ARRAY(SslDerivativeInput, info->param_count);
    DiagList *diags = diag_list_create();
    Status status = STATUS_NO_MEMORY;
    if (inputs && diags) {
        SslDerivativeDesc how = {.size_bytes = sizeof how,
                                 .is_backward = is_backward,
                                 .has_edges = is_backward && d->has_edges,
                                 .inputs = inputs,
                                 .outputs = &info->outputs[d->output].name,
                                 .output_count = 1};
        for (uint32_t i = 0; i < info->param_count; ++i)
            if (d->space->is_fitted[i])
                inputs[how.input_count++] =
                    (SslDerivativeInput){SSL_INPUT_PARAM, info->params[i].name};
        status = ssl_unit_differentiate(d->unit, &how, diags, &side->unit, err);
        sslc_print_diags(diags);
    } else {
        status = error_set(err, status, "out of memory");
    }
    diag_list_destroy(diags);
    mem_free(inputs);
    return status;
}

static Status allocate(FitShader *s, Error *err)
{
    size_t numbers = (size_t)s->point_count * s->picture.channels;
    s->picture.numbers = MEM_ARRAY(float, numbers);
    s->tangent.numbers = MEM_ARRAY(float, numbers);
    s->adjoint = MEM_ARRAY(float, numbers);
    s->sums = MEM_ARRAY(SslSum *, s->chunk_count);
    s->errors = MEM_ARRAY(Error, s->chunk_count);
    s->has_fault = MEM_ARRAY(bool, s->chunk_count);
    if (!s->picture.numbers || !s->tangent.numbers || !s->adjoint || !s->sums || !s->errors ||
        !s->has_fault)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    const PictureLossDesc loss = {.size_bytes = sizeof loss,
                                  .kind = s->desc.loss,
                                  .width = s->picture.width,
                                  .height = s->picture.height,
                                  .channels = s->picture.channels,
                                  .levels = s->desc.levels,
                                  .target = s->desc.target->numbers};
    return picture_loss_create(&loss, &s->loss, err);
}

static Status build(FitShader *s, Error *err)
{
    TRY(allocate(s, err));
    TRY(build_side(s, s->desc.unit, &s->plain, err));
    if (s->desc.needs_tangents) {
        TRY(differentiate(s, false, &s->forward, err));
        TRY(build_side(s, s->forward.unit, &s->forward, err));
    }
    if (!s->desc.needs_gradient)
        return STATUS_OK;
    TRY(differentiate(s, true, &s->backward, err));
    TRY(build_side(s, s->backward.unit, &s->backward, err));
    const SslUnitInfo *info = ssl_unit_info(s->backward.unit);
    s->adjoint_slot = info->attribute_count - 1; /* it is added after those of the shader */
    for (uint32_t i = 0; i < s->chunk_count; ++i)
        TRY(ssl_sum_create(s->backward.program, &s->sums[i], err));
    return STATUS_OK;
}

Status fit_shader_create(const FitShaderDesc *desc, FitShader **out_shader, Error *err)
{
    *out_shader = NULL;
    FitShader *s = MEM_NEW(FitShader);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    uint32_t points = desc->grid->width * desc->grid->height;
    uint32_t blocks = (points + SSL_BLOCK - 1) / SSL_BLOCK;
    *s = (FitShader){
        .desc = *desc,
        .picture = {desc->grid->width, desc->grid->height, desc->target->channels, NULL},
        .tangent = {desc->grid->width, desc->grid->height, desc->target->channels, NULL},
        .point_count = points,
        .block_count = blocks,
        .chunk_count = (blocks + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS};
    Status status = build(s, err);
    if (status == STATUS_OK)
        *out_shader = s;
    else
        fit_shader_destroy(s);
    return status;
}

static void free_side(Side *side)
{
    grid_host_destroy(side->host);
    ssl_program_release(side->program);
    ssl_unit_release(side->unit);
}

void fit_shader_destroy(FitShader *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->chunk_count && s->sums; ++i)
        ssl_sum_destroy(s->sums[i]);
    free_side(&s->plain);
    free_side(&s->backward);
    free_side(&s->forward);
    picture_loss_destroy(s->loss);
    mem_free(s->picture.numbers);
    mem_free(s->tangent.numbers);
    mem_free(s->adjoint);
    mem_free(s->sums);
    mem_free(s->errors);
    mem_free(s->has_fault);
    mem_free(s);
}

/* --- evaluating ---------------------------------------------------------------------------------- */

typedef struct Chunk {
    uint32_t first_block, block_count, first_point, end_point;
} Chunk;

static Chunk chunk_of(const FitShader *s, uint32_t index)
{
    ASSERT(index < s->chunk_count);
    uint32_t first = index * CHUNK_BLOCKS, left = s->block_count - first;
    Chunk c = {.first_block = first, .block_count = left < CHUNK_BLOCKS ? left : CHUNK_BLOCKS};
    c.first_point = first * SSL_BLOCK;
    c.end_point = (first + c.block_count) * SSL_BLOCK;
    c.end_point = c.end_point < s->point_count ? c.end_point : s->point_count;
    return c;
}

/* Runs a part of a side's points, and takes what an output of it gives. */
static void run_side(FitShader *s, const Side *side, uint32_t output, FitPicture *to,
                     uint32_t index)
{
    Chunk c = chunk_of(s, index);
    SslOutputSlot slot = ssl_program_info(side->program)->outputs[output];
    grid_host_run_blocks(side->host, c.first_block, c.block_count);
    s->has_fault[index] = false;
    for (uint32_t point = c.first_point; point < c.end_point; ++point) {
        s->has_fault[index] |= grid_host_fault(side->host, point) != 0;
        for (uint32_t k = 0; k < to->channels; ++k)
            to->numbers[(size_t)point * to->channels + k] =
                grid_host_float(side->host, slot, k, point);
    }
}

static void run_values(void *data, uint32_t index)
{
    FitShader *s = data;
    run_side(s, &s->plain, s->desc.output, &s->picture, index);
}

static void run_tangents(void *data, uint32_t index)
{
    FitShader *s = data;
    run_side(s, &s->forward, 1, &s->tangent, index); /* output 0 is the value */
}

static void run_gradients(void *data, uint32_t index)
{
    FitShader *s = data;
    Chunk c = chunk_of(s, index);
    for (uint32_t point = c.first_point; point < c.end_point; ++point)
        for (uint32_t k = 0; k < s->picture.channels; ++k) {
            float *at = grid_host_attribute(s->backward.host, s->adjoint_slot, 0, k, point);
            if (at)
                *at = ssl_flushed(s->adjoint[(size_t)point * s->picture.channels + k]);
        }
    grid_host_run_blocks(s->backward.host, c.first_block, c.block_count);
    ssl_sum_clear(s->sums[index]);
    s->errors[index] = (Error){0};
    const SslBatch part = grid_host_part(s->backward.host, c.first_block, c.block_count);
    s->has_fault[index] = ssl_sum_add(s->sums[index], &part, &s->errors[index]) != STATUS_OK;
}

/* Counts a place where the loss has no number. */
static void note_undefined(FitShader *s, const char *text)
{
    if (s->undefined_count++ == 0)
        (void)snprintf(s->undefined_text, sizeof s->undefined_text, "%s", text);
}

static void describe_fault(FitShader *s)
{
    for (uint32_t point = 0; point < s->point_count; ++point) {
        uint32_t site = grid_host_fault(s->plain.host, point);
        if (site == 0)
            continue;
        SslFaultInfo fault;
        char text[UNDEFINED_TEXT];
        ssl_fault_describe(s->plain.program, site - 1, &fault);
        (void)snprintf(text, sizeof text, "%s:%u:%u: %s", fault.source_name, fault.line,
                       fault.column, fault.text);
        note_undefined(s, text);
        return;
    }
}

static Status evaluate_gradient(FitShader *s, const double *x, double *out_value,
                                double *out_gradient, Error *err)
{
    const FitSpace *space = s->desc.space;
    TRY(fit_space_set(space, s->backward.program, grid_host_params(s->backward.host), x, err));
    parallel_for(s->desc.threads, s->chunk_count, run_gradients, s);
    for (uint32_t i = 0; i < s->chunk_count; ++i)
        if (s->has_fault[i]) {
            note_undefined(s, s->errors[i].text);
            *out_value = (double)NAN;
            return STATUS_OK;
        }
    for (uint32_t i = 1; i < s->chunk_count; ++i)
        TRY(ssl_sum_merge(s->sums[0], s->sums[i], err));
    uint32_t output = 0; /* one for each parameter that is fitted, in order */
    for (uint32_t param = 0; param < space->unit->param_count; ++param) {
        if (!space->is_fitted[param])
            continue;
        for (uint32_t i = 0; i < space->count; ++i)
            if (space->numbers[i].param == param)
                out_gradient[i] = ssl_sum_value(s->sums[0], output, space->numbers[i].number);
        ++output;
    }
    return STATUS_OK;
}

Status fit_shader_evaluate(void *data, const double *x, double *out_value, double *out_gradient,
                           Error *err)
{
    FitShader *s = data;
    TRY(fit_space_set(s->desc.space, s->plain.program, grid_host_params(s->plain.host), x, err));
    parallel_for(s->desc.threads, s->chunk_count, run_values, s);
    for (uint32_t i = 0; i < s->chunk_count; ++i)
        if (s->has_fault[i]) {
            describe_fault(s);
            *out_value = (double)NAN;
            return STATUS_OK;
        }
    *out_value = picture_loss_value(s->loss, s->picture.numbers, out_gradient ? s->adjoint : NULL);
    if (!isfinite(*out_value)) {
        note_undefined(s, "the picture is not finite");
        return STATUS_OK;
    }
    return out_gradient ? evaluate_gradient(s, x, out_value, out_gradient, err) : STATUS_OK;
}

Status fit_shader_tangent(FitShader *s, const double *x, uint32_t number, const FitPicture **out,
                          Error *err)
{
    ASSERT(s->desc.needs_tangents);
    void *block = grid_host_params(s->forward.host);
    TRY(fit_space_set(s->desc.space, s->forward.program, block, x, err));
    TRY(fit_space_set_direction(s->desc.space, s->forward.program, block, number, err));
    parallel_for(s->desc.threads, s->chunk_count, run_tangents, s);
    *out = &s->tangent;
    return STATUS_OK;
}

const FitPicture *fit_shader_picture(const FitShader *s)
{
    return &s->picture;
}

uint64_t fit_shader_undefined(const FitShader *s, const char **out_text)
{
    *out_text = s->undefined_text;
    return s->undefined_count;
}

bool fit_shader_is_flat(const FitShader *s, uint32_t number)
{
    const SslUnitInfo *info = ssl_unit_info(s->backward.unit);
    uint32_t output = 0;
    ASSERT(number < s->desc.space->count);
    for (uint32_t param = 0; param < s->desc.space->numbers[number].param; ++param)
        output += s->desc.space->is_fitted[param];
    return info->outputs[output].is_zero;
}
