/* Values that are equal in all lanes, in code of several: each is computed once, by the generators for one lane, and copied to all lanes for
 * those that want it so. What no one wants LLVM drops. */
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include "ssl/codegen/uniform.h"

void gen_find_uniform(Gen *g)
{
    if (!g->mask)
        return;
    const IrFunc *f = g->func;
    bool *is_table = ARENA_ARRAY(g->arena, bool, f->values.count);
    for (IrValue v = 1; v < f->values.count; ++v)
        is_table[v] = g->table[v] != NULL;
    g->is_uniform = uniform_find(f, g->layout->rows == NULL, is_table, g->arena);
    g->uniform = ARENA_ARRAY(g->arena, LLVMValueRef, f->values.count);
    g->is_read = ARENA_ARRAY(g->arena, bool, f->values.count);
    for (IrInstId id = 1; id < f->insts.count; ++id) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op == IR_ARRAY && is_table[inst->result_first])
            continue;
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            g->is_read[ir_args(f, inst)[i]] = true;
    }
}

LLVMTypeRef gen_uniform_type(const Gen *g, IrKind kind)
{
    CHECK(kind != IR_CLOSURE);
    return kind == IR_BOOL ? g->t_i1 : kind == IR_INT ? g->t_i32 : g->t_f32;
}

void gen_set_uniform(Gen *g, IrValue v, LLVMValueRef x)
{
    ASSERT(g->mask && x);
    g->uniform[v] = x;
    g->value[v] = gen_splat(g, x);
}

void gen_set_same(Gen *g, IrValue to, IrValue from)
{
    if (ir_is_array(ir_type(g->func, to)))
        return;
    g->value[to] = g->value[from];
    g->uniform[to] = g->is_uniform[to] ? g->uniform[from] : NULL;
}

/* Clamps an index to [0, count). The fault is that of a vector without a branch: LLVM 19 makes a choice of whole masks by one bit of a
 * branch that is short, and does not end on some of them. */
static LLVMValueRef gen_uniform_bounds(Gen *g, const IrInst *inst, LLVMValueRef index)
{
    LLVMBuilderRef builder = g->builder;
    if (gen_is_in_range(g, inst))
        return gen_keep_inside(g, inst, index);
    LLVMValueRef count = gen_i32(g, (uint32_t)inst->imm),
                 last = gen_i32(g, (uint32_t)inst->imm - 1);
    LLVMValueRef is_outside =
        LLVMBuildICmp(builder, LLVMIntUGE, gen_splat(g, index), gen_splat(g, count), "");
    gen_fault(g, inst->site, LLVMBuildAnd(builder, g->mask, is_outside, ""));
    LLVMValueRef is_below = LLVMBuildICmp(builder, LLVMIntSLT, index, gen_i32(g, 0), "");
    LLVMValueRef nearest = LLVMBuildSelect(builder, is_below, gen_i32(g, 0), last, "");
    LLVMValueRef is_inside = LLVMBuildICmp(builder, LLVMIntULT, index, count, "");
    return LLVMBuildSelect(builder, is_inside, index, nearest, "");
}

static LLVMValueRef gen_of_one(Gen *g, const IrInst *inst, LLVMValueRef x[3])
{
    const IrValue *args = ir_args(g->func, inst);
    if (inst->op == IR_BOUNDS)
        return gen_uniform_bounds(g, inst, x[0]);
    if (inst->op == IR_ARRAY_GET) {
        LLVMValueRef element = gen_table_element(g, args[0], x[1]);
        bool is_bool = ir_type(g->func, inst->result_first) == ir_scalar(IR_BOOL);
        return !is_bool ? element
                        : LLVMBuildICmp(g->builder, LLVMIntNE, element, gen_i32(g, 0), "");
    }
    const Gen all = *g;
    g->mask = NULL;
    g->lanes = 1;
    g->t_bool = g->t_i1;
    g->t_int = g->t_i32;
    g->t_float = g->t_f32;
    LLVMValueRef result = gen_scalar_op(g, inst, x[0], x[1], x[2]);
    g->mask = all.mask;
    g->lanes = all.lanes;
    g->t_bool = all.t_bool;
    g->t_int = all.t_int;
    g->t_float = all.t_float;
    return result;
}

void gen_uniform_op(Gen *g, const IrInst *inst)
{
    ASSERT(g->mask && inst->result_count == 1);
    const IrValue *args = ir_args(g->func, inst);
    if (inst->op == IR_PARAM && !g->is_read[inst->result_first])
        return; /* the element of a table: LLVM would keep it from here on instead of loading it where it is used */
    LLVMValueRef x[3] = {0};
    for (uint32_t i = 0; i < inst->arg_count && i < 3; ++i)
        x[i] = g->uniform[args[i]];
    gen_set_uniform(g, inst->result_first, gen_of_one(g, inst, x));
}
