#include "tests/ssl/ir_oracle.h"
#include "base/check.h"
#include "tests/ssl/oracle/ir_eval.h"
#include <string.h>

typedef struct Oracle {
    const IrModule *module;
    const KernelLayout *layout;
    const SslBatch *batch;
    uint32_t block, lane;
} Oracle;

/* EvalTexture: through the batch's own service. */
static void look_up(void *data, const SslTextureSite *site, const double coord[7], double out[12])
{
    const Oracle *o = data;
    float coord_float[7], result[12] = {0};
    for (uint32_t i = 0; i < 7; ++i)
        coord_float[i] = (float)coord[i];
    SslTexCall call = {.block = o->block,
                       .lane_first = o->lane,
                       .lane_count = 1,
                       .lane_mask = 1,
                       .texture = o->batch->textures[site->texture],
                       .site = (uint32_t)(site - o->module->texture_sites.data),
                       .flags = SSL_TEX_WANT_DERIVS,
                       .coord = coord_float,
                       .result = result};
    o->batch->services->tex_lookup(o->batch->host, &call);
    for (uint32_t i = 0; i < 12; ++i)
        out[i] = (double)result[i];
}

static EvalScalar scalar_from_word(SslType type, uint32_t word)
{
    EvalScalar x = {0};
    memcpy(&x.f, &word, sizeof word);
    memcpy(&x.i, &word, sizeof word);
    x.b = word != 0;
    x.v = type == SSL_BOOL ? (double)x.b : type == SSL_INT ? (double)x.i : (double)x.f;
    return x;
}

static uint32_t word_at(const void *base, size_t offset_bytes)
{
    uint32_t word;
    memcpy(&word, (const char *)base + offset_bytes, sizeof word);
    return word;
}

static void read_inputs(const Oracle *o, EvalPoint *point)
{
    const IrModule *m = o->module;
    size_t block = (size_t)o->block * o->layout->globals.stride_bytes;
    for (uint32_t row = 0; row < m->global_count; ++row) {
        const SslGlobalRow *global = &m->globals[row];
        uint32_t scalars = ssl_type_scalars(global->type), line = 0;
        for (uint32_t shadow = 0; shadow < (global->has_derivs ? 3u : 1u); ++shadow)
            for (uint32_t i = 0; i < scalars; ++i, ++line) {
                size_t offset =
                    4 * (o->layout->globals.offset_floats[row] + line * SSL_BLOCK + o->lane);
                EvalScalar x =
                    scalar_from_word(global->type, word_at(o->batch->globals, block + offset));
                point->globals[row][shadow][i] = x.v;
            }
    }
    for (uint32_t i = 0; i < m->info.param_count; ++i)
        for (uint32_t j = 0; j < ssl_type_scalars(m->info.params[i].type); ++j)
            point->params[i][j] =
                scalar_from_word(m->info.params[i].type,
                                 word_at(o->batch->params, o->layout->param_offset[i] + 4 * j));
}

static void read_attributes(const Oracle *o, EvalPoint *point)
{
    const SslUnitInfo *info = &o->module->info;
    if (!o->batch->attributes)
        return;
    const char *block =
        (const char *)o->batch->attributes + (size_t)o->block * o->layout->attributes_stride_bytes;
    for (uint32_t slot = 0; slot < info->attribute_count; ++slot) {
        const SslAttributeSlot *where = &o->layout->attributes[slot];
        SslType type = info->attributes[slot].type;
        uint32_t scalars = ssl_type_scalars(type);
        uint32_t shadows = where->wants_derivs ? 3 : where->is_used ? 1 : 0;
        for (uint32_t i = 0; i < shadows * scalars; ++i)
            point->attributes[slot][i / scalars][i % scalars] =
                scalar_from_word(
                    type, word_at(block, where->offset_bytes + 4 * (i * SSL_BLOCK + o->lane)))
                    .v;
        if (where->wants_existence)
            point->attributes[slot][IR_SHADOW_EXISTS][0] =
                word_at(block, where->existence_offset_bytes + 4 * o->lane);
    }
}

static char *result_block(const Oracle *o)
{
    return (char *)o->batch->result + (size_t)o->block * o->layout->result_stride_bytes;
}

static void store(const Oracle *o, const EvalResult *r, uint32_t index, uint32_t offset)
{
    const IrFunc *f = ir_func(o->module, o->module->entry);
    const EvalScalar *x = r->values[index].elements;
    int32_t word = ir_kind(f->result_types[index]) == IR_BOOL ? x->b : x->i;
    if (ir_kind(f->result_types[index]) == IR_FLOAT)
        memcpy(&word, &x->f, sizeof word);
    memcpy(result_block(o) + offset + 4 * o->lane, &word, sizeof word);
}

static void store_results(const Oracle *o, const EvalResult *r)
{
    const IrModule *m = o->module;
    memcpy(result_block(o) + o->layout->fault_offset + 4 * o->lane, &r->fault, 4);
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *output = &m->outputs.data[i];
        for (uint32_t j = 0; output->type != SSL_CLOSURE && j < output->result_count; ++j)
            store(o, r, output->result_first + j,
                  o->layout->output_offset[i] + j * KERNEL_LANE_ROW_BYTES);
    }
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        const IrLobeSlot *slot = &m->slots.data[i];
        if (!r->values[slot->result_first].elements->b)
            continue;
        char *mask_at = result_block(o) + o->layout->lobes[i].mask_offset;
        uint16_t mask;
        memcpy(&mask, mask_at, sizeof mask);
        mask = (uint16_t)(mask | 1u << o->lane);
        memcpy(mask_at, &mask, sizeof mask);
        for (uint32_t j = 0; j < 3 + slot->arg_count; ++j)
            store(o, r, slot->result_first + 1 + j,
                  o->layout->lobes[i].weight_offset + j * KERNEL_LANE_ROW_BYTES);
    }
}

void ir_oracle_run(const IrModule *m, const KernelLayout *layout, const SslBatch *batch)
{
    Oracle o = {.module = m, .layout = layout, .batch = batch};
    Arena *arena = arena_create(0, 0);
    CHECK(arena);
    EvalPoint *point = ARENA_NEW(arena, EvalPoint);
    *point = (EvalPoint){.mode = EVAL_FLOAT,
                         .texture = look_up,
                         .texture_data = &o,
                         .loop_budget = batch->loop_budget,
                         .stack_bytes = batch->stack_bytes};
    ArenaMark mark = arena_mark(arena);
    for (o.block = 0; o.block < batch->block_count; ++o.block) {
        for (uint32_t i = 0; i < m->slots.count; ++i)
            memset(result_block(&o) + layout->lobes[i].mask_offset, 0, sizeof(uint16_t));
        for (o.lane = 0; o.lane < SSL_BLOCK; ++o.lane) {
            if (!(batch->live[o.block] >> o.lane & 1))
                continue;
            read_inputs(&o, point);
            read_attributes(&o, point);
            EvalResult result = ir_eval(m, point, arena);
            store_results(&o, &result);
            arena_rewind(arena, mark);
        }
    }
    arena_destroy(arena);
}
