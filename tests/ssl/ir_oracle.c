#include "tests/ssl/ir_oracle.h"
#include "base/check.h"
#include "ssl/ir/ir_fold.h"
#include <string.h>

typedef union Value {
    IrScalar scalar;
    const IrScalar *array; /* arena; never written after it was made */
} Value;

typedef struct Oracle {
    const IrModule *module;
    const IrFunc *func;
    const KernelLayout *layout;
    const SslBatch *batch;
    Arena *arena;
    Value *value;
    uint32_t block, lane, budget, fault;
} Oracle;

static const char *block_of(const void *base, uint32_t block, uint32_t stride)
{
    return (const char *)base + (size_t)block * stride;
}

static IrScalar load(IrKind kind, const void *from)
{
    IrScalar x = {0};
    if (kind == IR_BOOL) {
        int32_t word;
        memcpy(&word, from, 4);
        x.b = word != 0;
    } else {
        memcpy(&x, from, 4);
    }
    return x;
}

static void store(Oracle *o, IrValue v, uint32_t offset)
{
    IrScalar x = o->value[v].scalar;
    if (ir_kind(ir_type(o->func, v)) == IR_BOOL)
        x.i = x.b;
    char *to = (char *)o->batch->result + (size_t)o->block * o->layout->result_stride_bytes;
    memcpy(to + offset + 4 * o->lane, &x, 4);
}

static void set_fault(Oracle *o, uint32_t site)
{
    if (!o->fault)
        o->fault = 1 + site;
}

static IrScalar read_global(Oracle *o, const IrInst *inst)
{
    uint32_t row = ir_global_row(inst->imm);
    uint32_t component =
        ir_global_shadow(inst->imm) * ssl_type_scalars(o->module->globals[row].type) +
        ir_global_component(inst->imm);
    const char *block = block_of(o->batch->globals, o->block, o->layout->globals.stride_bytes);
    return load(ir_kind(ir_type(o->func, inst->result_first)),
                block +
                    4 * (o->layout->globals.offset_floats[row] + component * SSL_BLOCK + o->lane));
}

static IrScalar read_param(Oracle *o, const IrInst *inst)
{
    return load(ir_kind(ir_type(o->func, inst->result_first)),
                (const char *)o->batch->params +
                    o->layout->param_offset[ir_param_index(inst->imm)] +
                    4 * ir_param_component(inst->imm));
}

static void run_texture(Oracle *o, const IrInst *inst)
{
    float coord[7], result[12];
    for (uint32_t i = 0; i < 7; i++)
        coord[i] = o->value[ir_args(o->func, inst)[i]].scalar.f;
    uint32_t slot = o->module->texture_sites.data[inst->site].texture;
    SslTexCall call = {.block = o->block,
                       .lane_first = o->lane,
                       .lane_count = 1,
                       .lane_mask = 1,
                       .texture = o->batch->textures[slot],
                       .site = inst->site,
                       .flags = inst->op == IR_TEX_D ? SSL_TEX_WANT_DERIVS : 0,
                       .coord = coord,
                       .result = result};
    o->batch->services->tex_lookup(o->batch->host, &call);
    for (uint32_t i = 0; i < inst->result_count; i++)
        o->value[inst->result_first + i].scalar.f = result[i];
}

static const IrScalar *copy_array(Oracle *o, const IrInst *inst)
{
    const IrValue *args = ir_args(o->func, inst);
    uint32_t count = ir_count(ir_type(o->func, inst->result_first));
    IrScalar *array = ARENA_ARRAY(o->arena, IrScalar, count);
    if (inst->op == IR_ARRAY) {
        for (uint32_t i = 0; i < count; i++)
            array[i] = o->value[args[i]].scalar;
    } else {
        memcpy(array, o->value[args[0]].array, count * sizeof *array);
        array[o->value[args[1]].scalar.i] = o->value[args[2]].scalar;
    }
    return array;
}

static int32_t clamp_index(Oracle *o, const IrInst *inst, int32_t index)
{
    int32_t count = (int32_t)inst->imm;
    if (index >= 0 && index < count)
        return index;
    set_fault(o, inst->site);
    return index < 0 ? 0 : count - 1;
}

static const IrInst *run_region(Oracle *o, IrRegionId region);

static void assign(Oracle *o, IrValue to_first, const IrValue *from, uint32_t count)
{
    Value *copy = ARENA_ARRAY(o->arena, Value, count);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = o->value[from[i]];
    memcpy(o->value + to_first, copy, count * sizeof *copy);
}

static void run_loop(Oracle *o, const IrInst *inst)
{
    IrValue state = ir_region(o->func, inst->region_first)->param_first;
    assign(o, state, ir_args(o->func, inst), inst->arg_count);
    for (;;) {
        const IrValue *yielded = ir_args(o->func, run_region(o, inst->region_first));
        if (o->value[yielded[0]].scalar.b && o->budget == 0)
            set_fault(o, inst->site);
        if (!o->value[yielded[0]].scalar.b || o->budget == 0) {
            assign(o, inst->result_first, yielded + 1, inst->result_count);
            return;
        }
        o->budget--;
        assign(o, state, yielded + 1, inst->arg_count);
    }
}

static void run_inst(Oracle *o, const IrInst *inst)
{
    const IrValue *args = ir_args(o->func, inst);
    Value *result = &o->value[inst->result_first];
    IrScalar x[3] = {0};
    switch (inst->op) {
    case IR_CONST_BOOL:
        result->scalar.b = inst->imm != 0;
        return;
    case IR_CONST_INT:
        result->scalar.i = (int32_t)(uint32_t)inst->imm;
        return;
    case IR_CONST_FLOAT:
        result->scalar.f = ir_imm_float(inst);
        return;
    case IR_GLOBAL:
        result->scalar = read_global(o, inst);
        return;
    case IR_PARAM:
        result->scalar = read_param(o, inst);
        return;
    case IR_SELECT:
        *result = o->value[args[0]].scalar.b ? o->value[args[1]] : o->value[args[2]];
        return;
    case IR_ARRAY:
    case IR_ARRAY_SET:
        result->array = copy_array(o, inst);
        return;
    case IR_ARRAY_GET:
        result->scalar = o->value[args[0]].array[o->value[args[1]].scalar.i];
        return;
    case IR_BOUNDS:
        result->scalar.i = clamp_index(o, inst, o->value[args[0]].scalar.i);
        return;
    case IR_TEX:
    case IR_TEX_D:
        run_texture(o, inst);
        return;
    case IR_IF: {
        IrRegionId arm = inst->region_first + (o->value[args[0]].scalar.b ? 0u : 1u);
        assign(o, inst->result_first, ir_args(o->func, run_region(o, arm)), inst->result_count);
        return;
    }
    case IR_LOOP:
        run_loop(o, inst);
        return;
    default:
        for (uint32_t i = 0; i < inst->arg_count; i++)
            x[i] = o->value[args[i]].scalar;
        CHECK(ir_scalar_eval((IrOp)inst->op, x, &result->scalar));
    }
}

static const IrInst *run_region(Oracle *o, IrRegionId region)
{
    for (IrInstId id = ir_region(o->func, region)->first;; id = ir_inst(o->func, id)->next) {
        const IrInst *inst = ir_inst(o->func, id);
        if (inst->op == IR_YIELD)
            return inst;
        run_inst(o, inst);
    }
}

static void store_results(Oracle *o, const IrValue *results)
{
    const IrModule *m = o->module;
    char *block = (char *)o->batch->result + (size_t)o->block * o->layout->result_stride_bytes;
    memcpy(block + o->layout->fault_offset + 4 * o->lane, &o->fault, 4);
    for (uint32_t i = 0; i < m->outputs.count; i++) {
        const IrOutput *output = &m->outputs.data[i];
        for (uint32_t j = 0; output->type != SSL_CLOSURE && j < output->result_count; j++)
            store(o, results[output->result_first + j],
                  o->layout->output_offset[i] + j * KERNEL_LANE_ROW_BYTES);
    }
    for (uint32_t i = 0; i < m->slots.count; i++) {
        const IrLobeSlot *slot = &m->slots.data[i];
        if (!o->value[results[slot->result_first]].scalar.b)
            continue;
        uint16_t mask;
        memcpy(&mask, block + o->layout->lobes[i].mask_offset, sizeof mask);
        mask = (uint16_t)(mask | 1u << o->lane);
        memcpy(block + o->layout->lobes[i].mask_offset, &mask, sizeof mask);
        for (uint32_t j = 0; j < 3 + slot->arg_count; j++)
            store(o, results[slot->result_first + 1 + j],
                  o->layout->lobes[i].weight_offset + j * KERNEL_LANE_ROW_BYTES);
    }
}

void ir_oracle_run(const IrModule *m, const KernelLayout *layout, const SslBatch *batch)
{
    Oracle o = {.module = m,
                .func = ir_func(m, m->entry),
                .layout = layout,
                .batch = batch,
                .arena = arena_create(0, 0)};
    o.value = ARENA_ARRAY(o.arena, Value, o.func->values.count);
    ArenaMark mark = arena_mark(o.arena);
    for (o.block = 0; o.block < batch->block_count; o.block++) {
        char *block = (char *)batch->result + (size_t)o.block * layout->result_stride_bytes;
        for (uint32_t i = 0; i < m->slots.count; i++)
            memset(block + layout->lobes[i].mask_offset, 0, sizeof(uint16_t));
        for (o.lane = 0; o.lane < SSL_BLOCK; o.lane++) {
            if (!(batch->live[o.block] >> o.lane & 1))
                continue;
            o.budget = batch->loop_budget;
            o.fault = 0;
            store_results(&o, ir_args(o.func, run_region(&o, o.func->body)));
            arena_rewind(o.arena, mark);
        }
    }
    arena_destroy(o.arena);
}
