/* Structured control flow as branches: the scalar form, where a lane goes its own way. */
#include "ssl/codegen/gen.h"

/* Empty phis for the scalars among values [first, first + count), at the builder's place. */
static void begin_phis(Gen *g, IrValue first, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        IrType type = ir_type(g->func, first + i);
        if (!ir_is_array(type))
            g->value[first + i] = LLVMBuildPhi(g->builder, gen_lane_type(g, ir_kind(type)), "");
    }
}

static void add_incoming(Gen *g, IrValue first, uint32_t count, const IrValue *from,
                         LLVMBasicBlockRef block)
{
    for (uint32_t i = 0; i < count; ++i)
        if (!ir_is_array(ir_type(g->func, first + i)))
            LLVMAddIncoming(g->value[first + i], &g->value[from[i]], &block, 1);
}

static void gen_if(Gen *g, const IrInst *inst)
{
    LLVMBasicBlockRef arm_block[2] = {gen_block(g, "then"), gen_block(g, "else")};
    LLVMBasicBlockRef arm_end[2], end = gen_block(g, "endif");
    const IrValue *yielded[2];
    LLVMBuildCondBr(g->builder, g->value[ir_args(g->func, inst)[0]], arm_block[0], arm_block[1]);
    for (uint32_t arm = 0; arm < 2; ++arm) {
        LLVMPositionBuilderAtEnd(g->builder, arm_block[arm]);
        yielded[arm] = ir_args(g->func, gen_region(g, inst->region_first + arm));
        gen_array_transfer(g, yielded[arm], inst->result_first, inst->result_count);
        arm_end[arm] = LLVMGetInsertBlock(g->builder);
        LLVMBuildBr(g->builder, end);
    }
    LLVMPositionBuilderAtEnd(g->builder, end);
    begin_phis(g, inst->result_first, inst->result_count);
    for (uint32_t arm = 0; arm < 2; ++arm)
        add_incoming(g, inst->result_first, inst->result_count, yielded[arm], arm_end[arm]);
}

/* body: ..., go_on and next state
 *   go_on false -> end;  budget spent -> fault, end;  else -> budget - 1, body again */
static void gen_loop(Gen *g, const IrInst *inst)
{
    const IrRegion *region = ir_region(g->func, inst->region_first);
    const IrValue *init = ir_args(g->func, inst);
    uint32_t count = inst->arg_count;
    LLVMBasicBlockRef body = gen_block(g, "loop"), more = gen_block(g, "loop.more");
    LLVMBasicBlockRef again = gen_block(g, "loop.again"), spent = gen_block(g, "loop.spent");
    LLVMBasicBlockRef end = gen_block(g, "endloop");

    gen_array_transfer(g, init, region->param_first, count);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder);
    LLVMBuildBr(g->builder, body);
    LLVMPositionBuilderAtEnd(g->builder, body);
    begin_phis(g, region->param_first, count);
    add_incoming(g, region->param_first, count, init, before);
    const IrValue *yielded = ir_args(g->func, gen_region(g, inst->region_first));
    const IrValue *next = yielded + 1;
    LLVMBuildCondBr(g->builder, g->value[yielded[0]], more, end);

    LLVMPositionBuilderAtEnd(g->builder, more);
    LLVMValueRef budget = LLVMBuildLoad2(g->builder, g->t_i32, g->budget, "budget");
    LLVMValueRef is_spent = LLVMBuildICmp(g->builder, LLVMIntEQ, budget, gen_i32(g, 0), "");
    LLVMBuildCondBr(g->builder, is_spent, spent, again);

    LLVMPositionBuilderAtEnd(g->builder, spent);
    gen_fault(g, inst->site, NULL);
    LLVMBuildBr(g->builder, end);

    LLVMPositionBuilderAtEnd(g->builder, again);
    LLVMBuildStore(g->builder, LLVMBuildSub(g->builder, budget, gen_i32(g, 1), ""), g->budget);
    gen_array_transfer(g, next, region->param_first, count);
    add_incoming(g, region->param_first, count, next, again);
    LLVMBuildBr(g->builder, body);

    /* Both ways here come from the end of the body, so the next state needs no phi. */
    LLVMPositionBuilderAtEnd(g->builder, end);
    for (uint32_t i = 0; i < count; ++i)
        g->value[inst->result_first + i] = g->value[next[i]];
    gen_array_transfer(g, next, inst->result_first, count);
}

/* About how many machine instructions it becomes, in so far as that is many. */
static uint32_t size_of(const Gen *g, const IrInst *inst)
{
    switch ((IrOp)inst->op) {
    case IR_CONST_BOOL:
    case IR_CONST_INT:
    case IR_CONST_FLOAT:
        return 0;
    case IR_ARRAY:
        return inst->arg_count;
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        return g->mask && g->is_uniform[ir_args(g->func, inst)[1]] ? 2 : 4 * g->lanes;
    case IR_IDIV:
    case IR_IMOD:
        return 16;
    case IR_TEX:
    case IR_TEX_D:
    case IR_TEX_ADJ:
    case IR_ASK:
        return 64;
    case IR_CALL:
#define RT_MATH1(name, f) case IR_##name:
#define RT_MATH2(name, f) case IR_##name:
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2
        return 16;
    default:
        return 2;
    }
}

void gen_border(Gen *g)
{
    LLVMValueRef ptr = gen_offset(g, g->batch, offsetof(SslBatch, block_count));
    LLVMValueRef count = LLVMBuildLoad2(g->builder, g->t_i32, ptr, "");
    LLVMSetVolatile(count, true);
    LLVMValueRef is_none = LLVMBuildICmp(g->builder, LLVMIntEQ, count, gen_i32(g, 0), "");
    LLVMBasicBlockRef never = gen_block(g, "never"), next = gen_block(g, "next");
    LLVMBuildCondBr(g->builder, is_none, never, next);
    LLVMPositionBuilderAtEnd(g->builder, never);
    static const char name[] = "llvm.debugtrap";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, NULL, 0),
                   LLVMGetIntrinsicDeclaration(g->llvm, id, NULL, 0), NULL, 0, "");
    LLVMBuildBr(g->builder, next);
    LLVMPositionBuilderAtEnd(g->builder, next);
    g->since_border = 0;
    g->has_border = true;
}

/* Another value of the type of `x`, made of it. */
static LLVMValueRef gen_opposite(Gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMStructTypeKind) {
        LLVMValueRef all = LLVMGetPoison(type);
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); ++i) {
            LLVMValueRef element = gen_opposite(g, LLVMBuildExtractValue(g->builder, x, i, ""));
            all = LLVMBuildInsertValue(g->builder, all, element, i, "");
        }
        return all;
    }
    if (kind == LLVMVectorTypeKind)
        kind = LLVMGetTypeKind(LLVMGetElementType(type));
    return kind == LLVMFloatTypeKind ? LLVMBuildFNeg(g->builder, x, "")
                                     : LLVMBuildNot(g->builder, x, "");
}

/* Both ways to the return use `x`. If only one did, LLVM would cut the edge, move all of the code into the cut, and
 * take the square of its length for it. */
LLVMValueRef gen_last_border(Gen *g, LLVMValueRef x)
{
    if (!g->has_border)
        return x;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->builder);
    gen_border(g);
    if (!x)
        return NULL;
    LLVMBasicBlockRef next = LLVMGetInsertBlock(g->builder);
    LLVMBasicBlockRef never = LLVMGetPreviousBasicBlock(next);
    LLVMPositionBuilderBefore(g->builder, LLVMGetBasicBlockTerminator(never));
    LLVMBasicBlockRef blocks[2] = {from, never};
    LLVMValueRef values[2] = {x, gen_opposite(g, x)};
    LLVMPositionBuilderAtEnd(g->builder, next);
    x = LLVMBuildPhi(g->builder, LLVMTypeOf(x), "");
    LLVMAddIncoming(x, values, blocks, 2);
    return x;
}

void gen_border_when_due(Gen *g, uint32_t size)
{
    enum { BLOCK_INSTRUCTIONS = 1024 };
    g->since_border += size;
    if (g->since_border >= BLOCK_INSTRUCTIONS)
        gen_border(g);
}

/* Whether it is the arm of an IF that hardly any point enters. */
static bool is_apart(const Gen *g, IrRegionId region)
{
    const IrFunc *f = g->func;
    IrInstId owner = ir_region(f, region)->owner;
    if (!owner || ir_inst(f, owner)->op != IR_IF || ir_inst(f, owner)->region_first != region)
        return false;
    IrInstId condition = f->values.data[ir_args(f, ir_inst(f, owner))[0]].def;
    return condition && ir_inst(f, condition)->op == IR_APART;
}

static const IrInst *gen_insts(Gen *g, IrRegionId region)
{
    const IrFunc *f = g->func;
    for (IrInstId id = ir_region(f, region)->first;; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        gen_border_when_due(g, size_of(g, inst));
        switch (inst->op) {
        case IR_YIELD:
            return inst;
        case IR_IF:
            (g->mask ? gen_if_masked : gen_if)(g, inst);
            break;
        case IR_LOOP:
            (g->mask ? gen_loop_masked : gen_loop)(g, inst);
            break;
        case IR_CALL:
            gen_call(g, inst);
            break;
        default:
            gen_op(g, inst);
        }
        if (region == f->body && g->first_result)
            gen_store_outputs(g, inst);
    }
}

const IrInst *gen_region(Gen *g, IrRegionId region)
{
    bool was_apart = g->is_apart;
    g->is_apart = was_apart || is_apart(g, region);
    const IrInst *yield = gen_insts(g, region);
    g->is_apart = was_apart;
    return yield;
}
