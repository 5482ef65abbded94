#include "tools/ssl_kit/grid_host.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "sort/shade/site_options.h"
#include "sort/shade/ssl_tables.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692f

struct GridHost {
    SslProgram *program; /* held */
    const SslProgramInfo *info;
    const SslGlobalRow *rows;
    SslGlobalsLayout layout;
    SslServices services;
    SslBatch batch;
    GridTexture *texture;       /* [texture_count] */
    const TexPicture **picture; /* [texture_count] NULL: the texture is a formula */
    TexOptions *options;        /* [texture_site_count] of lookups in pictures */
    GridCaller caller;
    uint32_t *texture_id; /* [texture_count]: the identity */
    uint16_t *live;
    void *globals, *attributes, *result, *params;
    uint32_t *read; /* [read_count]: lines of a block of globals that the kernel reads */
    uint32_t read_count;
    uint32_t point_count, watched; /* UINT32_MAX: all */
    GridLookup *lookup;            /* [GRID_LOOKUPS_MAX] */
    uint64_t lookup_count;
};

/* --- textures --------------------------------------------------------------------------------- */

/* Writes the value, d/ds and d/dt, four channels each. */
static void sample(const GridTexture *texture, float s, float t, float out[12])
{
    memset(out, 0, 12 * sizeof *out);
    float *d_ds = out + 4, *d_dt = out + 8;
    switch (texture->kind) {
    case GRID_RAMP: {
        const float ramp[12] = {s, t, s + t, 1, 1, 0, 1, 0, 0, 1, 1, 0};
        memcpy(out, ramp, sizeof ramp);
        return;
    }
    case GRID_CONSTANT:
        memcpy(out, texture->value, sizeof texture->value);
        return;
    case GRID_CHECKER: {
        float sum = floorf(s * texture->count) + floorf(t * texture->count);
        out[0] = out[1] = out[2] = fmodf(sum, 2.0f) == 0.0f ? 1.0f : 0.0f;
        out[3] = 1.0f;
        return;
    }
    case GRID_WAVE:
        out[0] = sinf(TWO_PI * s);
        out[1] = cosf(TWO_PI * t);
        out[2] = s * t;
        out[3] = s;
        d_ds[0] = TWO_PI * cosf(TWO_PI * s);
        d_dt[1] = -TWO_PI * sinf(TWO_PI * t);
        d_ds[2] = t;
        d_dt[2] = s;
        d_ds[3] = 1.0f;
        return;
    }
    UNREACHABLE();
}

void grid_texture_sample(const GridTexture *texture, float s, float t, float out_rgba[4])
{
    float all[12];
    sample(texture, s, t, all);
    memcpy(out_rgba, all, 4 * sizeof *all);
}

static void record(GridHost *h, const SslTexCall *call, uint32_t lane)
{
    uint32_t point = call->block * SSL_BLOCK + call->lane_first + lane;
    if ((h->watched != UINT32_MAX && h->watched != point) || h->lookup_count++ >= GRID_LOOKUPS_MAX)
        return;
    GridLookup *lookup = &h->lookup[h->lookup_count - 1];
    *lookup = (GridLookup){.point = point, .texture = call->texture, .site = call->site};
    for (uint32_t i = 0; i < 7; ++i)
        lookup->coord[i] = call->coord[i * call->lane_count + lane];
}

static GridCaller *caller_of(SslHost *host)
{
    void *caller = host; /* as it was put into the batch */
    return caller;
}

static TexRequest request_of(const GridHost *h, const SslTexCall *call)
{
    return (TexRequest){.options = &h->options[call->site],
                        .lane_count = call->lane_count,
                        .lane_mask = call->lane_mask,
                        .with_derivs = (call->flags & SSL_TEX_WANT_DERIVS) != 0,
                        .coord = call->coord};
}

static void look_up_picture(GridHost *h, const TexPicture *picture, const SslTexCall *call)
{
    const TexRequest request = request_of(h, call);
    (void)tex_picture_lookup(picture, &request, call->result);
    for (uint32_t lane = 0; lane < call->lane_count; ++lane)
        if (call->lane_mask >> lane & 1)
            record(h, call, lane);
}

typedef struct TexelAddition {
    SslTexelSum *sum;
    Error *err;
} TexelAddition;

static void add_texels(void *data, uint64_t place, const float *numbers, uint32_t count)
{
    const TexelAddition *a = data;
    bool has_any = false;
    for (uint32_t i = 0; i < count; ++i)
        has_any |= numbers[i] != 0.0f;
    if (has_any && a->err->code == STATUS_OK)
        (void)!ssl_texel_sum_add(a->sum, place, numbers, count, a->err);
}

static void add_adjoints(SslHost *host, const SslTexCall *call)
{
    GridCaller *caller = caller_of(host);
    const TexPicture *picture = caller->host->picture[call->texture];
    SslTexelSum *sum = caller->texels ? caller->texels[call->texture] : NULL;
    if (!picture || !sum)
        return;
    TexelAddition addition = {sum, &caller->err};
    const TexRequest request = request_of(caller->host, call);
    tex_picture_spread(picture, &request, call->result, add_texels, &addition);
}

static void look_up(SslHost *host, const SslTexCall *call)
{
    GridHost *h = caller_of(host)->host;
    if (h->picture[call->texture]) {
        look_up_picture(h, h->picture[call->texture], call);
        return;
    }
    int32_t channel = h->info->texture_sites[call->site].channel;
    uint32_t rows = call->flags & SSL_TEX_WANT_DERIVS ? 12 : 4;
    for (uint32_t lane = 0; lane < call->lane_count; ++lane) {
        if (!(call->lane_mask >> lane & 1))
            continue;
        record(h, call, lane);
        float texel[12];
        sample(&h->texture[call->texture], call->coord[lane], call->coord[call->lane_count + lane],
               texel);
        for (uint32_t i = 0; i < rows; ++i) {
            uint32_t from = (uint32_t)channel + i % 4; /* channels past the last: 0 */
            call->result[i * call->lane_count + lane] = from < 4 ? texel[i / 4 * 4 + from] : 0.0f;
        }
    }
}

static bool parse_numbers(const char *text, float *out, uint32_t max, uint32_t *out_count)
{
    *out_count = 0;
    for (;;) {
        text += strspn(text, " \t,");
        if (!*text)
            return true;
        char *end;
        float x = strtof(text, &end);
        if (end == text || *out_count == max)
            return false;
        out[(*out_count)++] = x;
        text = end;
    }
}

Status grid_texture_parse(const char *text, GridTexture *out_texture, Error *err)
{
    static const char *const names[] = {"ramp", "constant", "checker", "wave"};
    static const uint32_t wanted[][2] = {{0, 0}, {3, 4}, {1, 1}, {0, 0}}; /* how many numbers */
    size_t word = strcspn(text, " \t,:");
    for (uint32_t kind = 0; kind < SORT_COUNT_OF(names); ++kind) {
        if (strlen(names[kind]) != word || strncmp(names[kind], text, word) != 0)
            continue;
        float numbers[4] = {0, 0, 0, 1};
        uint32_t count;
        const char *rest = text + word + (text[word] == ':' ? 1 : 0);
        if (!parse_numbers(rest, numbers, 4, &count) || count < wanted[kind][0] ||
            count > wanted[kind][1])
            break;
        *out_texture = (GridTexture){.kind = (GridTextureKind)kind, .count = numbers[0]};
        memcpy(out_texture->value, numbers, sizeof numbers);
        return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID,
                     "'%s' is no test texture; give ramp, wave, checker N or constant R G B A",
                     text);
}

/* --- the host --------------------------------------------------------------------------------- */

static uint32_t block_count(uint32_t point_count)
{
    return (point_count + SSL_BLOCK - 1) / SSL_BLOCK;
}

static void list_read(GridHost *h, uint32_t row_count)
{
    for (uint32_t row = 0; row < row_count; ++row) {
        uint32_t scalars = ssl_type_scalars(h->rows[row].type);
        uint32_t first = h->layout.offset_floats[row] / SSL_BLOCK;
        for (uint32_t i = 0; i < scalars && h->info->globals_value >> row & 1; ++i)
            h->read[h->read_count++] = first + i;
        for (uint32_t i = scalars; i < 3 * scalars && h->info->globals_derivs >> row & 1; ++i)
            h->read[h->read_count++] = first + i;
    }
}

static Status allocate(GridHost *h, bool has_results, Error *err)
{
    uint32_t blocks = block_count(h->point_count);
    uint32_t texture_count = h->info->unit->texture_count;
    size_t globals_bytes = (size_t)blocks * h->layout.stride_bytes;
    size_t result_bytes = (size_t)blocks * h->info->result_stride_bytes;
    h->globals = mem_alloc_aligned(globals_bytes + SORT_CACHE_LINE, SORT_CACHE_LINE);
    h->result = has_results ? mem_alloc_aligned(result_bytes, SORT_CACHE_LINE) : NULL;
    size_t attributes_bytes = (size_t)blocks * h->info->attributes_stride_bytes;
    h->attributes = mem_alloc_aligned(attributes_bytes + SORT_CACHE_LINE, SORT_CACHE_LINE);
    h->params = mem_alloc(h->info->params_bytes + 4, 1);
    h->live = MEM_ARRAY(uint16_t, blocks);
    h->read = MEM_ARRAY(uint32_t, h->layout.stride_bytes / sizeof(float) / SSL_BLOCK);
    h->texture = MEM_ARRAY(GridTexture, texture_count);
    h->texture_id = MEM_ARRAY(uint32_t, texture_count);
    h->picture = MEM_ARRAY(const TexPicture *, texture_count);
    h->options = MEM_ARRAY(TexOptions, h->info->texture_site_count);
    h->lookup = MEM_ARRAY(GridLookup, GRID_LOOKUPS_MAX);
    if (!h->globals || !h->attributes || (has_results && !h->result) || !h->params || !h->live ||
        !h->read || !h->texture || !h->texture_id || !h->picture || !h->options || !h->lookup)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    memset(h->globals, 0, globals_bytes);
    memset(h->attributes, 0, attributes_bytes);
    if (has_results)
        memset(h->result, 0, result_bytes);
    return STATUS_OK;
}

static void set_sample_width(GridHost *h, uint32_t row_count)
{
    static const SslValue one = {.type = SSL_FLOAT, .f = {1}};
    for (uint32_t row = 0; row < row_count; ++row)
        if (strcmp(h->rows[row].name, SSL_SAMPLE_WIDTH) == 0 && h->rows[row].type == SSL_FLOAT)
            grid_host_set_global(h, row, 0, &one);
}

static Status create(SslProgram *p, const SslGlobalRow *rows, uint32_t row_count,
                     uint32_t point_count, bool has_results, GridHost **out_host, Error *err)
{
    *out_host = NULL;
    GridHost *h = MEM_NEW(GridHost);
    if (!h)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    h->program = ssl_program_retain(p);
    h->info = ssl_program_info(p);
    h->rows = rows;
    h->point_count = point_count;
    h->watched = UINT32_MAX;
    ssl_globals_layout(rows, row_count, &h->layout);
    Status status = allocate(h, has_results, err);
    if (status != STATUS_OK) {
        grid_host_destroy(h);
        return status;
    }
    list_read(h, row_count);
    set_sample_width(h, row_count);
    for (uint32_t i = 0; i < point_count; ++i)
        h->live[i / SSL_BLOCK] = (uint16_t)(h->live[i / SSL_BLOCK] | 1u << i % SSL_BLOCK);
    for (uint32_t i = 0; i < h->info->unit->texture_count; ++i)
        h->texture_id[i] = i;
    for (uint32_t i = 0; i < h->info->texture_site_count; ++i)
        site_options_apply(&h->info->texture_sites[i], &h->options[i]);
    ssl_params_init(p, h->params);
    for (uint32_t i = 0; i < h->info->unit->attribute_count; ++i) /* until it is given: missing */
        grid_host_set_attribute(h, i, 0, &h->info->unit->attributes[i].default_value);
    h->services = (SslServices){.size_bytes = sizeof(SslServices),
                                .tex_lookup = look_up,
                                .ask = ssl_tables_answer,
                                .tex_adjoint = add_adjoints};
    h->caller.host = h;
    void *host = &h->caller;
    h->batch = (SslBatch){.globals = h->globals,
                          .attributes = h->attributes,
                          .live = h->live,
                          .result = h->result,
                          .params = h->params,
                          .textures = h->texture_id,
                          .services = &h->services,
                          .host = host,
                          .block_count = block_count(point_count),
                          .loop_budget = 1u << 20,
                          .stack_bytes = 1u << 18};
    *out_host = h;
    return STATUS_OK;
}

Status grid_host_create(SslProgram *p, const SslGlobalRow *rows, uint32_t row_count,
                        uint32_t point_count, GridHost **out_host, Error *err)
{
    return create(p, rows, row_count, point_count, true, out_host, err);
}

Status grid_host_create_points(SslProgram *p, const SslGlobalRow *rows, uint32_t row_count,
                               uint32_t point_count, GridHost **out_host, Error *err)
{
    return create(p, rows, row_count, point_count, false, out_host, err);
}

void grid_host_destroy(GridHost *h)
{
    if (!h)
        return;
    ssl_program_release(h->program);
    mem_free(h->globals);
    mem_free(h->attributes);
    mem_free(h->result);
    mem_free(h->params);
    mem_free(h->live);
    mem_free(h->read);
    mem_free(h->texture);
    mem_free(h->texture_id);
    mem_free(h->picture);
    mem_free(h->options);
    mem_free(h->lookup);
    mem_free(h);
}

float *grid_host_global(GridHost *h, uint32_t row, uint32_t shadow, uint32_t component,
                        uint32_t point)
{
    CHECK(shadow == 0 || h->rows[row].has_derivs);
    ASSERT(shadow < 3 && point < h->point_count);
    ASSERT(component < ssl_type_scalars(h->rows[row].type));
    void *block = (char *)h->globals + (size_t)(point / SSL_BLOCK) * h->layout.stride_bytes;
    size_t line = (size_t)shadow * ssl_type_scalars(h->rows[row].type) + component;
    return (float *)block + h->layout.offset_floats[row] + line * SSL_BLOCK + point % SSL_BLOCK;
}

void grid_host_set_global(GridHost *h, uint32_t row, uint32_t shadow, const SslValue *value)
{
    SslType type = h->rows[row].type;
    int32_t word = type == SSL_BOOL ? value->b : value->i;
    for (uint32_t point = 0; point < h->point_count; ++point)
        for (uint32_t i = 0; i < ssl_type_scalars(type); ++i) {
            float number = ssl_flushed(value->f[i]);
            const void *from =
                type == SSL_BOOL || type == SSL_INT ? (const void *)&word : (const void *)&number;
            memcpy(grid_host_global(h, row, shadow, i, point), from, 4);
        }
}

static float *attribute_row(GridHost *h, uint32_t point, uint32_t offset_bytes, uint32_t row)
{
    char *block =
        (char *)h->attributes + (size_t)(point / SSL_BLOCK) * h->info->attributes_stride_bytes;
    void *slot = block + offset_bytes;
    return (float *)slot + (size_t)row * SSL_BLOCK + point % SSL_BLOCK;
}

float *grid_host_attribute(GridHost *h, uint32_t slot, uint32_t shadow, uint32_t component,
                           uint32_t point)
{
    ASSERT(slot < h->info->unit->attribute_count && shadow < 3 && point < h->point_count);
    const SslAttributeSlot *where = &h->info->attributes[slot];
    if (shadow ? !where->wants_derivs : !where->is_used)
        return NULL;
    uint32_t scalars = ssl_type_scalars(h->info->unit->attributes[slot].type);
    return attribute_row(h, point, where->offset_bytes, shadow * scalars + component);
}

void grid_host_set_attribute(GridHost *h, uint32_t slot, uint32_t shadow, const SslValue *value)
{
    SslType type = h->info->unit->attributes[slot].type;
    int32_t word = type == SSL_BOOL ? value->b : value->i;
    for (uint32_t point = 0; point < h->point_count; ++point)
        for (uint32_t i = 0; i < ssl_type_scalars(type); ++i) {
            float *at = grid_host_attribute(h, slot, shadow, i, point);
            float number = ssl_flushed(value->f[i]);
            const void *from =
                type == SSL_BOOL || type == SSL_INT ? (const void *)&word : (const void *)&number;
            if (at)
                memcpy(at, from, 4);
        }
}

void grid_host_attribute_exists(GridHost *h, uint32_t slot, bool exists)
{
    ASSERT(slot < h->info->unit->attribute_count);
    const SslAttributeSlot *where = &h->info->attributes[slot];
    int32_t word = exists;
    for (uint32_t point = 0; point < h->point_count && where->wants_existence; ++point)
        memcpy(attribute_row(h, point, where->existence_offset_bytes, 0), &word, sizeof word);
}

static void copy_number(char *to, uint32_t to_point, const char *from, uint32_t from_point,
                        uint32_t line)
{
    size_t bytes = (size_t)line * SSL_BLOCK * 4;
    memcpy(to + bytes + (to_point % SSL_BLOCK) * (size_t)4,
           from + bytes + (from_point % SSL_BLOCK) * (size_t)4, 4);
}

void grid_host_copy_point(GridHost *h, uint32_t to, const GridHost *other, uint32_t from)
{
    CHECK(h->program == other->program);
    ASSERT(to < h->point_count && from < other->point_count);
    size_t stride = h->layout.stride_bytes;
    char *to_block = (char *)h->globals + to / SSL_BLOCK * stride;
    const char *from_block = (const char *)other->globals + from / SSL_BLOCK * stride;
    for (uint32_t i = 0; i < h->read_count; ++i)
        copy_number(to_block, to, from_block, from, h->read[i]);
    stride = h->info->attributes_stride_bytes;
    to_block = (char *)h->attributes + to / SSL_BLOCK * stride;
    from_block = (const char *)other->attributes + from / SSL_BLOCK * stride;
    for (uint32_t i = 0; i < stride / SSL_BLOCK / 4; ++i)
        copy_number(to_block, to, from_block, from, i);
}

void grid_host_set_live(GridHost *h, uint32_t block, uint16_t lanes)
{
    CHECK(block < h->batch.block_count);
    h->live[block] = lanes;
}

void grid_host_set_texture(GridHost *h, uint32_t slot, const GridTexture *texture)
{
    CHECK(slot < h->info->unit->texture_count);
    h->texture[slot] = *texture;
}

void grid_host_set_picture(GridHost *h, uint32_t slot, const TexPicture *picture)
{
    CHECK(slot < h->info->unit->texture_count);
    h->picture[slot] = picture;
}

GridCaller *grid_host_caller(GridHost *h)
{
    return &h->caller;
}

void *grid_host_params(GridHost *h)
{
    return h->params;
}

void grid_host_set_loop_budget(GridHost *h, uint32_t budget)
{
    h->batch.loop_budget = budget;
}

void grid_host_set_stack(GridHost *h, uint32_t bytes)
{
    h->batch.stack_bytes = bytes;
}

void grid_host_watch(GridHost *h, uint32_t point)
{
    h->watched = point;
}

void grid_host_run(GridHost *h)
{
    h->lookup_count = 0;
    thread_flush_denormals();
    ssl_program_kernel(h->program)(&h->batch);
}

SslBatch grid_host_part(const GridHost *h, uint32_t first, uint32_t count)
{
    ASSERT(first + count <= h->batch.block_count);
    SslBatch part = h->batch;
    part.globals = (const char *)h->globals + (size_t)first * h->layout.stride_bytes;
    part.attributes =
        (const char *)h->attributes + (size_t)first * h->info->attributes_stride_bytes;
    part.live += first;
    part.result =
        h->result ? (char *)h->result + (size_t)first * h->info->result_stride_bytes : NULL;
    part.block_count = count;
    return part;
}

void grid_host_run_blocks(GridHost *h, uint32_t first, uint32_t count)
{
    SslBatch part = grid_host_part(h, first, count);
    thread_flush_denormals();
    ssl_program_kernel(h->program)(&part);
}

const SslBatch *grid_host_batch(const GridHost *h)
{
    return &h->batch;
}

/* --- results ---------------------------------------------------------------------------------- */

static const char *block_at(const GridHost *h, uint32_t point)
{
    return (const char *)h->result + (size_t)(point / SSL_BLOCK) * h->info->result_stride_bytes;
}

static uint32_t word_at(const GridHost *h, uint32_t offset_bytes, uint32_t line, uint32_t point)
{
    uint32_t word;
    ASSERT(point < h->point_count);
    size_t at = (size_t)line * SSL_BLOCK + point % SSL_BLOCK;
    memcpy(&word, block_at(h, point) + offset_bytes + at * sizeof word, sizeof word);
    return word;
}

static float float_at(const GridHost *h, uint32_t offset_bytes, uint32_t line, uint32_t point)
{
    uint32_t word = word_at(h, offset_bytes, line, point);
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

uint32_t grid_host_word(const GridHost *h, SslOutputSlot slot, uint32_t component, uint32_t point)
{
    return word_at(h, slot.offset, component, point);
}

void grid_host_words(const GridHost *h, SslOutputSlot slot, uint32_t component, uint32_t first,
                     uint32_t count, uint32_t *out_words)
{
    CHECK(first % SSL_BLOCK == 0 && first <= h->point_count && count <= h->point_count - first);
    for (uint32_t i = 0; i < count; i += SSL_BLOCK) {
        const char *line = block_at(h, first + i) + slot.offset + (size_t)component * SSL_BLOCK * 4;
        memcpy(out_words + i, line, 4 * (size_t)(count - i < SSL_BLOCK ? count - i : SSL_BLOCK));
    }
}

float grid_host_float(const GridHost *h, SslOutputSlot slot, uint32_t component, uint32_t point)
{
    return float_at(h, slot.offset, component, point);
}

uint32_t grid_host_fault(const GridHost *h, uint32_t point)
{
    return word_at(h, h->info->fault_offset, 0, point);
}

bool grid_host_has_lobe(const GridHost *h, uint32_t lobe, uint32_t point)
{
    uint16_t mask;
    ASSERT(lobe < h->info->lobe_count && point < h->point_count);
    memcpy(&mask, block_at(h, point) + h->info->lobes[lobe].mask_offset, sizeof mask);
    return mask >> point % SSL_BLOCK & 1;
}

float grid_host_lobe_weight(const GridHost *h, uint32_t lobe, uint32_t component, uint32_t point)
{
    ASSERT(lobe < h->info->lobe_count && component < 3);
    return float_at(h, h->info->lobes[lobe].weight_offset, component, point);
}

float grid_host_lobe_arg(const GridHost *h, uint32_t lobe, uint32_t index, uint32_t point)
{
    return float_at(h, h->info->lobes[lobe].args_offset, index, point);
}

const GridLookup *grid_host_lookups(const GridHost *h, uint32_t *out_kept, uint64_t *out_count)
{
    *out_count = h->lookup_count;
    *out_kept = h->lookup_count < GRID_LOOKUPS_MAX ? (uint32_t)h->lookup_count : GRID_LOOKUPS_MAX;
    return h->lookup;
}
