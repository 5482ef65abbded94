#include "base/alloc.h"
#include "base/check.h"
#include "base/temp_folder.h"
#include "base/thread.h"
#include "tools/ssl_kit/grid_edges.h"
#include "tools/ssl_kit/grid_sum.h"
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

/* Sums for the texels of each texture that is fitted, which one thread at a time uses. */
typedef struct TexelSums {
    SslTexelSum **by_slot; /* [unit->texture_count] */
    bool is_taken;
} TexelSums;

struct FitShader {
    FitShaderDesc desc;
    TexelSums *texels; /* [texels_count]; NULL: no texture is fitted */
    uint32_t texels_count;
    Mutex mutex;       /* of is_taken */
    TempFolder folder; /* of what exceeds the memory for these sums */
    double *by_place;  /* for the places of the largest texture */
    Side plain, backward, forward;
    /* With edges: `plain` also gives marks, and points that have an edge beside them are copied from `spread` to `swept`, whose
     * gradients count edges; `backward` is for the others. */
    Side swept;
    GridHost *spread;
    uint32_t *marks; /* [point_count] */
    uint32_t
        *near; /* [point_count]: of each chunk, in its part, the points with an edge beside them */
    uint32_t *near_firsts; /* [chunk_count + 1] of each chunk's among all */
    uint32_t swept_blocks;
    bool is_smooth;  /* `backward` is not zero everywhere */
    bool *is_shaken; /* [parameter of the unit]; NULL: none is */
    PictureLoss *loss;
    SslcPicture picture, tangent;
    float *adjoint;  /* as the picture */
    GridSum **sums;  /* [sum_count]: of the chunks, then, with edges, of chunks of `swept` */
    Error *errors;   /* [sum_count] of those sums */
    bool *has_fault; /* [sum_count] the chunk could not be shaded, or not be summed */
    uint32_t point_count, block_count, chunk_count, sum_count, adjoint_slot;
    uint32_t picture_output; /* of `plain`; its marks follow */
    uint64_t undefined_count;
    char undefined_text[UNDEFINED_TEXT];
};

/* --- building ----------------------------------------------------------------------------------- */

typedef Status CreateHost(SslProgram *p, const SslGlobalRow *rows, uint32_t row_count,
                          uint32_t point_count, GridHost **out_host, Error *err);

/* create: grid_host_create, or grid_host_create_points for a side of which only sums are asked. */
static Status build_side(FitShader *s, const SslUnit *unit, CreateHost *create, Side *side,
                         Error *err)
{
    const FitShaderDesc *d = &s->desc;
    side->program = sslc_build(d->file, unit, d->build, false);
    if (!side->program)
        return STATUS_SOURCE;
    TRY(create(side->program, d->file->tables.globals, d->file->tables.global_count, s->point_count,
               &side->host, err));
    grid_host_watch(side->host, GRID_WATCH_NONE);
    return sslc_grid_set(d->grid, d->file, side->program, side->host, err);
}

typedef enum Derived { FORWARD, BACKWARD, SWEPT, MARKED } Derived;

static Status differentiate(FitShader *s, Derived what, Side *side, Error *err)
{
    const FitShaderDesc *d = &s->desc;
    const SslUnitInfo *info = ssl_unit_info(d->unit);
    uint32_t room = info->param_count + info->texture_count;
    SslDerivativeInput *inputs = MEM_ARRAY(SslDerivativeInput, room);
    bool *has_noise = MEM_ARRAY(bool, room);
    DiagList *diags = diag_list_create();
    Status status = STATUS_NO_MEMORY;
    if (inputs && has_noise && diags) {
        SslDerivativeDesc how = {.size_bytes = sizeof how,
                                 .is_backward = what == BACKWARD || what == SWEPT,
                                 .has_edges = what == SWEPT,
                                 .marks_edges = what == MARKED,
                                 .has_noise = s->is_shaken ? has_noise : NULL,
                                 .inputs = inputs,
                                 .outputs = &info->outputs[d->output].name,
                                 .output_count = 1};
        for (uint32_t i = 0; i < info->param_count; ++i)
            if (d->space->is_fitted[i]) {
                has_noise[how.input_count] = s->is_shaken && s->is_shaken[i];
                inputs[how.input_count++] =
                    (SslDerivativeInput){SSL_INPUT_PARAM, info->params[i].name};
            }
        for (uint32_t i = 0; i < d->space->texture_count && what != FORWARD; ++i)
            inputs[how.input_count++] =
                (SslDerivativeInput){SSL_INPUT_TEXTURE, info->textures[d->space->textures[i].slot]};
        status = ssl_unit_differentiate(d->unit, &how, diags, &side->unit, err);
        sslc_print_diags(diags);
    } else {
        status = error_set(err, status, "out of memory");
    }
    diag_list_destroy(diags);
    mem_free(inputs);
    mem_free(has_noise);
    return status;
}

static bool has_edges(const FitShaderDesc *desc)
{
    return desc->has_edges && desc->needs_gradient;
}

static Status allocate(FitShader *s, Error *err)
{
    size_t numbers = (size_t)s->point_count * s->picture.channels;
    s->picture.numbers = MEM_ARRAY(float, numbers);
    s->tangent.numbers = MEM_ARRAY(float, numbers);
    s->adjoint = MEM_ARRAY(float, numbers);
    s->sums = MEM_ARRAY(GridSum *, s->sum_count);
    s->errors = MEM_ARRAY(Error, s->sum_count);
    s->has_fault = MEM_ARRAY(bool, s->sum_count);
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

static Status build_edges(FitShader *s, Error *err)
{
    const SslcFile *file = s->desc.file;
    s->marks = MEM_ARRAY(uint32_t, s->point_count);
    s->near = MEM_ARRAY(uint32_t, s->point_count);
    s->near_firsts = MEM_ARRAY(uint32_t, s->chunk_count + 1);
    if (!s->marks || !s->near || !s->near_firsts)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    TRY(differentiate(s, SWEPT, &s->swept, err));
    TRY(build_side(s, s->swept.unit, grid_host_create_points, &s->swept, err));
    TRY(grid_host_create_points(s->swept.program, file->tables.globals, file->tables.global_count,
                                s->point_count, &s->spread, err));
    TRY(sslc_grid_set(s->desc.grid, file, s->swept.program, s->spread, err));
    for (uint32_t i = s->chunk_count; i < s->sum_count; ++i)
        TRY(grid_sum_create(s->swept.program, CHUNK_BLOCKS, &s->sums[i], err));
    return STATUS_OK;
}

static Status create_texel_sums(FitShader *s, TexelSums *sums, uint64_t budget, Error *err)
{
    const FitSpace *space = s->desc.space;
    sums->by_slot = MEM_ARRAY(SslTexelSum *, space->unit->texture_count);
    if (!sums->by_slot)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < space->texture_count; ++i) {
        const FitTexture *texture = &space->textures[i];
        const SslTexelSumDesc desc = {.size_bytes = sizeof desc,
                                      .place_count = tex_picture_places(texture->picture),
                                      .budget_bytes = budget,
                                      .folder = s->folder.path[0] ? s->folder.path : NULL};
        TRY(ssl_texel_sum_create(&desc, &sums->by_slot[texture->slot], err));
    }
    return STATUS_OK;
}

/* As many sums as there are threads share the memory, in equal parts. places: of the largest texture */
static Status check_texel_memory(const FitShader *s, uint64_t places, Error *err)
{
    uint64_t sums = (uint64_t)s->texels_count * s->desc.space->texture_count;
    uint64_t least = sums * ssl_texel_sum_least(places);
    if (s->desc.texel_bytes >= least)
        return STATUS_OK;
    return error_set(err, STATUS_LIMIT,
                     "--texel-memory is too small: %u fitted textures in %u threads need %llu "
                     "bytes, fewer threads "
                     "fewer",
                     s->desc.space->texture_count, s->texels_count, (unsigned long long)least);
}

static Status build_texels(FitShader *s, Error *err)
{
    const FitSpace *space = s->desc.space;
    uint64_t most = 0;
    if (space->texture_count == 0)
        return STATUS_OK;
    uint32_t threads = s->desc.threads ? s->desc.threads : thread_cpu_count();
    s->texels_count = threads < s->chunk_count ? threads : s->chunk_count;
    for (uint32_t i = 0; i < space->texture_count; ++i) {
        uint64_t count = tex_picture_places(space->textures[i].picture);
        most = count > most ? count : most;
    }
    TRY(check_texel_memory(s, most, err));
    uint64_t budget = s->desc.texel_bytes / s->texels_count / space->texture_count;
    if (budget < ssl_texel_sum_most(most))
        TRY(temp_folder_create("fit", &s->folder, err));
    s->texels = MEM_ARRAY(TexelSums, s->texels_count);
    s->by_place = MEM_ARRAY(double, most);
    if (!s->texels || !s->by_place)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < s->texels_count; ++i)
        TRY(create_texel_sums(s, &s->texels[i], budget, err));
    return STATUS_OK;
}

static void free_texels(FitShader *s)
{
    Error ignored = {0};
    for (uint32_t i = 0; i < s->texels_count && s->texels; ++i) {
        for (uint32_t k = 0; s->texels[i].by_slot && k < s->desc.space->unit->texture_count; ++k)
            ssl_texel_sum_destroy(s->texels[i].by_slot[k]);
        mem_free(s->texels[i].by_slot);
    }
    mem_free(s->texels);
    mem_free(s->by_place);
    (void)!temp_folder_remove(&s->folder, &ignored);
}

static Status build_backward(FitShader *s, Error *err)
{
    TRY(build_texels(s, err));
    TRY(differentiate(s, BACKWARD, &s->backward, err));
    TRY(build_side(s, s->backward.unit, grid_host_create_points, &s->backward, err));
    const SslUnitInfo *info = ssl_unit_info(s->backward.unit);
    s->adjoint_slot = info->attribute_count - 1; /* it is added after those of the shader */
    for (uint32_t i = 0; i < info->output_count; ++i)
        s->is_smooth = s->is_smooth || !info->outputs[i].is_zero;
    for (uint32_t i = 0; i < s->chunk_count; ++i)
        TRY(grid_sum_create(s->backward.program, CHUNK_BLOCKS, &s->sums[i], err));
    return STATUS_OK;
}

/* Finds the parameters to shake: those that have no derivative but over edges. */
static Status choose_shaken(FitShader *s, Error *err)
{
    const FitSpace *space = s->desc.space;
    Side smooth = {0};
    bool has_any = false;
    bool *is_shaken = MEM_ARRAY(bool, space->unit->param_count);
    if (!is_shaken)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    Status status = differentiate(s, BACKWARD, &smooth, err);
    const SslUnitInfo *info = status == STATUS_OK ? ssl_unit_info(smooth.unit) : NULL;
    for (uint32_t i = 0, output = 0; i < space->unit->param_count && info; ++i)
        if (space->is_fitted[i]) {
            is_shaken[i] = info->outputs[output++].is_zero;
            has_any = has_any || is_shaken[i];
        }
    ssl_unit_release(smooth.unit);
    s->is_shaken = is_shaken;
    if (status == STATUS_OK && !has_any)
        return error_set(err, STATUS_INVALID,
                         "--noise: all parameters have derivatives without edges; noise is for "
                         "those that only comparisons read");
    return status;
}

/* Numbers the pixels of a host that reads the numbers. */
static void number_pixels(const FitShader *s, const SslProgram *program, GridHost *host)
{
    const SslUnitInfo *unit = ssl_program_info(program)->unit;
    uint32_t slot = 0;
    while (slot < unit->attribute_count && strcmp(unit->attributes[slot].name, "pixel()") != 0)
        ++slot;
    for (uint32_t point = 0; point < s->point_count && slot < unit->attribute_count; ++point)
        for (uint32_t i = 0; i < 2; ++i) {
            uint32_t at = i == 0 ? point % s->picture.width : point / s->picture.width;
            float *value = grid_host_attribute(host, slot, 0, i, point);
            float *step = grid_host_attribute(host, slot, 1 + i, i, point);
            if (value)
                *value = (float)at;
            if (step)
                *step = 1;
        }
}

static Status set_noise(const FitShader *s, const Side *side, double part, uint32_t seed,
                        Error *err)
{
    const FitSpace *space = s->desc.space;
    void *block = grid_host_params(side->host);
    uint32_t param = space->unit->param_count; /* those of the noise follow, in order */
    for (uint32_t i = 0; i < space->unit->param_count; ++i) {
        double sizes[FIT_MAX_PARAMS] = {0};
        const SslParamInfo *info = &space->unit->params[i];
        SslValue value = {.type = info->type};
        if (!s->is_shaken[i])
            continue;
        for (uint32_t k = 0; k < space->count; ++k)
            if (space->numbers[k].param == i && space->numbers[k].number < FIT_MAX_PARAMS)
                sizes[space->numbers[k].number] =
                    part * s->desc.noise * (space->params[k].high - space->params[k].low);
        if (info->shape) {
            value.list = sizes;
            value.count = ssl_value_scalars(info->type, info->shape);
        } else {
            for (uint32_t k = 0; k < ssl_type_scalars(info->type); ++k)
                value.f[k] = ssl_flushed((float)sizes[k]);
        }
        TRY(ssl_params_set(side->program, block, param++, &value, err));
    }
    const SslValue number = {.type = SSL_INT, .i = (int32_t)seed};
    return ssl_params_set(side->program, block, param, &number, err);
}

void fit_shader_coarsen(FitShader *s, double part)
{
    ASSERT(part >= 0 && part <= 1);
    uint32_t last = picture_loss_levels(s->loss) - 1;
    uint32_t level = (uint32_t)(part * (last + 1));
    picture_loss_set_finest(s->loss, level < last ? level : last);
}

Status fit_shader_shake(FitShader *s, double part, uint32_t seed, Error *err)
{
    const Side *sides[] = {&s->plain, &s->backward, &s->swept};
    ASSERT(s->is_shaken);
    for (size_t i = 0; i < SORT_COUNT_OF(sides); ++i)
        TRY(set_noise(s, sides[i], part, seed, err));
    return STATUS_OK;
}

Status fit_shader_move(FitShader *s, double right, double down, Error *err)
{
    const Side spread = {.program = s->swept.program,
                         .host = s->spread}; /* from which `swept` is copied */
    const Side *sides[] = {&s->plain, &s->backward, &spread};
    SslcGrid grid = *s->desc.grid;
    float by_u = (float)right * (grid.u1 - grid.u0) / (float)grid.width;
    float by_v = (float)down * (grid.v1 - grid.v0) / (float)grid.height;
    grid.u0 += by_u;
    grid.u1 += by_u;
    grid.v0 -= by_v;
    grid.v1 -= by_v;
    for (size_t i = 0; i < SORT_COUNT_OF(sides); ++i)
        if (sides[i]->host)
            TRY(sslc_grid_set(&grid, s->desc.file, sides[i]->program, sides[i]->host, err));
    return STATUS_OK;
}

static Status build(FitShader *s, Error *err)
{
    TRY(allocate(s, err));
    if (has_edges(&s->desc) && s->desc.noise > 0)
        TRY(choose_shaken(s, err));
    if (has_edges(&s->desc)) {
        TRY(differentiate(s, MARKED, &s->plain, err));
        s->picture_output = 0;
    }
    TRY(build_side(s, has_edges(&s->desc) ? s->plain.unit : s->desc.unit, grid_host_create,
                   &s->plain, err));
    if (s->desc.needs_tangents) {
        TRY(differentiate(s, FORWARD, &s->forward, err));
        TRY(build_side(s, s->forward.unit, grid_host_create, &s->forward, err));
    }
    if (s->desc.needs_gradient)
        TRY(build_backward(s, err));
    if (!has_edges(&s->desc))
        return STATUS_OK;
    TRY(build_edges(s, err));
    number_pixels(s, s->plain.program, s->plain.host);
    number_pixels(s, s->backward.program, s->backward.host);
    number_pixels(s, s->swept.program, s->spread);
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
    uint32_t chunks = (blocks + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS;
    *s = (FitShader){
        .desc = *desc,
        .picture = {desc->grid->width, desc->grid->height, desc->target->channels, NULL},
        .tangent = {desc->grid->width, desc->grid->height, desc->target->channels, NULL},
        .point_count = points,
        .block_count = blocks,
        .chunk_count = chunks,
        .sum_count = chunks * (has_edges(desc) ? 2 : 1),
        .picture_output = desc->output};
    mutex_init(&s->mutex);
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
    for (uint32_t i = 0; i < s->sum_count && s->sums; ++i)
        grid_sum_destroy(s->sums[i]);
    free_side(&s->plain);
    free_side(&s->backward);
    free_side(&s->forward);
    free_side(&s->swept);
    grid_host_destroy(s->spread);
    mem_free(s->marks);
    mem_free(s->near);
    mem_free(s->near_firsts);
    mem_free(s->is_shaken);
    picture_loss_destroy(s->loss);
    free_texels(s);
    mutex_destroy(&s->mutex);
    mem_free(s->picture.numbers);
    mem_free(s->tangent.numbers);
    mem_free(s->adjoint);
    mem_free(s->sums);
    mem_free(s->errors);
    mem_free(s->has_fault);
    mem_free(s);
}

/* --- chunks -------------------------------------------------------------------------------------- */

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
static void run_side(FitShader *s, const Side *side, uint32_t output, SslcPicture *to,
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
    run_side(s, &s->plain, s->picture_output, &s->picture, index);
    Chunk c = chunk_of(s, index);
    if (!s->marks)
        return;
    SslOutputSlot slot = ssl_program_info(s->plain.program)->outputs[s->picture_output + 1];
    grid_host_words(s->plain.host, slot, 0, c.first_point, c.end_point - c.first_point,
                    s->marks + c.first_point);
}

static void run_tangents(void *data, uint32_t index)
{
    FitShader *s = data;
    run_side(s, &s->forward, 1, &s->tangent, index); /* output 0 is the value */
}

static void set_adjoint(FitShader *s, const Side *side, uint32_t at_point, uint32_t point)
{
    for (uint32_t k = 0; k < s->picture.channels; ++k) {
        float *at = grid_host_attribute(side->host, s->adjoint_slot, 0, k, at_point);
        if (at)
            *at = ssl_flushed(s->adjoint[(size_t)point * s->picture.channels + k]);
    }
}

/* Takes sums that no other thread has, of which there are as many as threads; NULL: no texture is fitted. */
static TexelSums *take_texels(FitShader *s)
{
    uint32_t i = 0;
    if (!s->texels)
        return NULL;
    mutex_lock(&s->mutex);
    while (s->texels[i].is_taken)
        CHECK(++i < s->texels_count);
    s->texels[i].is_taken = true;
    mutex_unlock(&s->mutex);
    return &s->texels[i];
}

static void give_texels_back(FitShader *s, TexelSums *texels)
{
    if (!texels)
        return;
    mutex_lock(&s->mutex);
    texels->is_taken = false;
    mutex_unlock(&s->mutex);
}

static void sum_blocks(FitShader *s, const Side *side, uint32_t first, uint32_t count, uint32_t sum)
{
    TexelSums *texels = take_texels(s);
    grid_sum_set_texels(s->sums[sum], texels ? texels->by_slot : NULL);
    s->has_fault[sum] =
        grid_sum_run(s->sums[sum], side->host, first, count, &s->errors[sum]) != STATUS_OK;
    give_texels_back(s, texels);
}

static void clear_sum(FitShader *s, uint32_t sum)
{
    ssl_sum_clear(grid_sum_total(s->sums[sum]));
    s->errors[sum] = (Error){0};
    s->has_fault[sum] = false;
}

static void run_gradients(void *data, uint32_t index)
{
    FitShader *s = data;
    Chunk c = chunk_of(s, index);
    clear_sum(s, index);
    if (!s->is_smooth)
        return;
    for (uint32_t point = c.first_point; point < c.end_point; ++point)
        set_adjoint(s, &s->backward, point, point);
    sum_blocks(s, &s->backward, c.first_block, c.block_count, index);
}

/* --- edges: gradients that count them where there are any -------------------------------------- */

/* Lists the points of a chunk that are near an edge; the others remain for `backward`. */
static void find_near(void *data, uint32_t index)
{
    FitShader *s = data;
    Chunk c = chunk_of(s, index);
    const GridMarks marks = {s->marks, s->picture.width, s->picture.height};
    s->near_firsts[index + 1] = grid_edges_find(&marks, s->backward.host, c.first_block,
                                                c.end_point, s->near + c.first_point);
}

static void gather_near(void *data, uint32_t index)
{
    FitShader *s = data;
    const uint32_t *near = s->near + chunk_of(s, index).first_point;
    uint32_t first = s->near_firsts[index], count = s->near_firsts[index + 1] - first;
    grid_edges_gather(s->swept.host, first, s->spread, near, count);
    for (uint32_t i = 0; i < count; ++i)
        set_adjoint(s, &s->swept, first + i, near[i]);
}

static void run_swept(void *data, uint32_t index)
{
    FitShader *s = data;
    uint32_t first = index * CHUNK_BLOCKS, left = s->swept_blocks - first;
    sum_blocks(s, &s->swept, first, left < CHUNK_BLOCKS ? left : CHUNK_BLOCKS,
               s->chunk_count + index);
}

static void sweep(FitShader *s)
{
    parallel_for(s->desc.threads, s->chunk_count, find_near, s);
    for (uint32_t i = 0; i < s->chunk_count; ++i)
        s->near_firsts[i + 1] += s->near_firsts[i];
    parallel_for(s->desc.threads, s->chunk_count, gather_near, s);
    s->swept_blocks = grid_edges_keep(s->swept.host, s->near_firsts[s->chunk_count]);
    for (uint32_t i = s->chunk_count; i < s->sum_count; ++i)
        clear_sum(s, i);
    uint32_t chunks = (s->swept_blocks + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS;
    parallel_for(s->desc.threads, chunks, run_swept, s);
}

/* --- evaluating ---------------------------------------------------------------------------------- */

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

static void clear_texels(FitShader *s)
{
    const FitSpace *space = s->desc.space;
    for (uint32_t i = 0; i < s->texels_count; ++i)
        for (uint32_t k = 0; k < space->texture_count; ++k)
            ssl_texel_sum_clear(s->texels[i].by_slot[space->textures[k].slot]);
}

/* The gradient by a texture's level 0, to which the other levels' goes. */
static Status read_texels(FitShader *s, uint32_t texture, double *out_gradient, Error *err)
{
    const FitSpace *space = s->desc.space;
    const FitTexture *t = &space->textures[texture];
    SslTexelSum *total = s->texels[0].by_slot[t->slot];
    for (uint32_t i = 1; i < s->texels_count; ++i)
        TRY(ssl_texel_sum_merge(total, s->texels[i].by_slot[t->slot], err));
    TRY(ssl_texel_sum_read(total, 0, tex_picture_places(t->picture), s->by_place, err));
    tex_picture_pull(t->picture, s->by_place);
    memcpy(out_gradient + t->first, s->by_place,
           space->fields[texture].count * sizeof *out_gradient);
    return STATUS_OK;
}

static Status evaluate_gradient(FitShader *s, const double *x, double *out_value,
                                double *out_gradient, Error *err)
{
    const FitSpace *space = s->desc.space;
    clear_texels(s);
    TRY(fit_space_set(space, s->backward.program, grid_host_params(s->backward.host), x, err));
    if (s->swept.program) {
        TRY(fit_space_set(space, s->swept.program, grid_host_params(s->swept.host), x, err));
        sweep(s);
    }
    parallel_for(s->desc.threads, s->chunk_count, run_gradients, s);
    for (uint32_t i = 0; i < s->sum_count; ++i)
        if (s->has_fault[i] && s->errors[i].code != STATUS_INVALID) {
            *err = s->errors[i];
            return err->code;
        } else if (s->has_fault[i]) {
            note_undefined(s, s->errors[i].text);
            *out_value = (double)NAN;
            return STATUS_OK;
        }
    SslSum *total = grid_sum_total(s->sums[0]);
    for (uint32_t i = 1; i < s->sum_count; ++i)
        TRY(ssl_sum_merge(total, grid_sum_total(s->sums[i]), err));
    uint32_t output = 0; /* one for each parameter that is fitted, in order */
    for (uint32_t param = 0; param < space->unit->param_count; ++param) {
        if (!space->is_fitted[param])
            continue;
        for (uint32_t i = 0; i < space->count; ++i)
            if (space->numbers[i].param == param)
                out_gradient[i] = ssl_sum_value(total, output, space->numbers[i].number);
        ++output;
    }
    for (uint32_t i = 0; i < space->texture_count; ++i)
        TRY(read_texels(s, i, out_gradient, err));
    return STATUS_OK;
}

Status fit_shader_evaluate(void *data, const double *x, double *out_value, double *out_gradient,
                           Error *err)
{
    FitShader *s = data;
    TRY(fit_space_set_textures(s->desc.space, x, err));
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

Status fit_shader_tangent(FitShader *s, const double *x, uint32_t number, const SslcPicture **out,
                          Error *err)
{
    ASSERT(s->desc.needs_tangents);
    void *block = grid_host_params(s->forward.host);
    TRY(fit_space_set_textures(s->desc.space, x, err));
    TRY(fit_space_set(s->desc.space, s->forward.program, block, x, err));
    TRY(fit_space_set_direction(s->desc.space, s->forward.program, block, number, err));
    parallel_for(s->desc.threads, s->chunk_count, run_tangents, s);
    *out = &s->tangent;
    return STATUS_OK;
}

const SslcPicture *fit_shader_picture(const FitShader *s)
{
    return &s->picture;
}

uint64_t fit_shader_undefined(const FitShader *s, const char **out_text)
{
    *out_text = s->undefined_text;
    return s->undefined_count;
}

/* The interface of the gradients. */
static const SslUnitInfo *gradient_info(const FitShader *s)
{
    return ssl_unit_info(s->swept.unit ? s->swept.unit : s->backward.unit);
}

bool fit_shader_is_texture_flat(const FitShader *s, uint32_t texture)
{
    const SslUnitInfo *info = gradient_info(s); /* parameters come first */
    uint32_t count = s->desc.space->texture_count;
    ASSERT(texture < count && count <= info->output_count);
    return info->outputs[info->output_count - count + texture].is_zero;
}

bool fit_shader_is_flat(const FitShader *s, uint32_t number)
{
    const SslUnitInfo *info = gradient_info(s);
    uint32_t output = 0;
    ASSERT(number < s->desc.space->count);
    for (uint32_t param = 0; param < s->desc.space->numbers[number].param; ++param)
        output += s->desc.space->is_fitted[param];
    return info->outputs[output].is_zero;
}
