/* Structured control flow of several lanes at once, by masks.
 *
 * g->mask has the lanes that execute the current code. Computations are done in all lanes, because the values of the
 * other lanes are never used; only lasting effects (memory, faults, results, lookups) are masked. Every lane
 * therefore sees the writes of its own path through the shader, in order, and the reasoning of array_plan.h
 * about one lane holds for each of them.
 *
 *   IF:   both arms, each under its half of the mask; one that no lane enters is skipped, unless it is so
 *         short that asking costs more. Results are selected.
 *   LOOP: until no lane is left. A lane that is through keeps its state. Short ones: gen_unroll.c.
 *
 * Skipped arms give zeros, never poison: a mask and'ed with poison is poison. */
#include "base/check.h"
#include "ssl/codegen/gen.h"

/* Arms up to weight ARM_ALWAYS are computed without a test, and in functions of more than LONG_FUNCTION instructions, where
 * blocks and phis make LLVM slow, up to ARM_ALWAYS_LONG. ARM_HEAVY is the weight of expensive instructions. */
enum { ARM_ALWAYS = 12, ARM_ALWAYS_LONG = 24, LONG_FUNCTION = 8192, ARM_HEAVY = 1000 };

static uint32_t arm_limit(const Gen *g)
{
    return g->func->insts.count > LONG_FUNCTION ? ARM_ALWAYS_LONG : ARM_ALWAYS;
}

LLVMValueRef gen_any(Gen *g, LLVMValueRef mask)
{
    ASSERT(mask && g->lanes > 1);
    LLVMTypeRef bits = LLVMIntTypeInContext(g->context, g->lanes);
    LLVMValueRef word = LLVMBuildBitCast(g->builder, mask, bits, "");
    return LLVMBuildICmp(g->builder, LLVMIntNE, word, LLVMConstNull(bits), "");
}

void gen_store_masked(Gen *g, LLVMValueRef x, LLVMValueRef ptr, uint32_t align)
{
    if (g->mask && !g->mask_is_whole) {
        LLVMValueRef old = LLVMBuildLoad2(g->builder, LLVMTypeOf(x), ptr, "");
        LLVMSetAlignment(old, align);
        x = LLVMBuildSelect(g->builder, g->mask, x, old, "");
    }
    LLVMSetAlignment(LLVMBuildStore(g->builder, x, ptr), align);
}

/* Returns the cost of an instruction in comparison with a test and a jump. */
static uint32_t weight_of(const Gen *g, const IrInst *inst)
{
    switch ((IrOp)inst->op) {
    case IR_YIELD:
        return 0;
    case IR_ARRAY:
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
    case IR_FDIV:
    case IR_SQRT:
    case IR_INVSQRT:
    case IR_IDIV:
    case IR_IMOD:
        return 8;
    case IR_TEX:
    case IR_TEX_D:
    case IR_TEX_ADJ:
    case IR_ASK:
    case IR_LOOP:
#define RT_MATH1(name, f) case IR_##name:
#define RT_MATH2(name, f) case IR_##name:
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2
        return ARM_HEAVY;
    case IR_IF: {
        uint32_t weight = 2;
        for (uint32_t arm = 0; arm < 2 && weight <= arm_limit(g); ++arm)
            weight += gen_region_weight(g, inst->region_first + arm);
        return weight;
    }
    default:
        return 1;
    }
}

uint32_t gen_region_weight(const Gen *g, IrRegionId region)
{
    uint32_t weight = 0;
    for (IrInstId id = ir_region(g->func, region)->first; id && weight <= arm_limit(g);
         id = ir_inst(g->func, id)->next)
        weight += weight_of(g, ir_inst(g->func, id));
    return weight;
}

void gen_transfer_under(Gen *g, LLVMValueRef mask, const IrValue *from, IrValue to_first,
                        uint32_t count)
{
    ASSERT(mask && g->mask);
    LLVMValueRef mask_before = g->mask;
    bool was_whole = g->mask_is_whole;
    g->mask = mask;
    g->mask_is_whole = false;
    gen_array_transfer(g, from, to_first, count);
    g->mask = mask_before;
    g->mask_is_whole = was_whole;
}

/* Generates one arm. The values that it yields are in g->value afterwards; those that the arm computes itself are phis
 * that are also valid if the arm was skipped. */
static void gen_arm(Gen *g, IrRegionId region, const IrInst *inst, LLVMValueRef mask)
{
    ASSERT(mask && g->mask);
    const IrInst *yield = ir_inst(g->func, ir_region(g->func, region)->last);
    const IrValue *yielded = ir_args(g->func, yield);
    uint32_t weight = gen_region_weight(g, region);
    LLVMValueRef mask_before = g->mask;
    bool was_whole = g->mask_is_whole, is_skipped = weight > arm_limit(g);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder), end = NULL;
    bool *is_outer = ARENA_ARRAY(g->arena, bool, yield->arg_count + 1u);
    for (uint32_t i = 0; i < yield->arg_count; ++i)
        is_outer[i] = g->value[yielded[i]] != NULL;
    if (is_skipped) {
        LLVMBasicBlockRef arm = gen_block(g, "arm");
        end = gen_block(g, "arm.end");
        LLVMBuildCondBr(g->builder, gen_any(g, mask), arm, end);
        LLVMPositionBuilderAtEnd(g->builder, arm);
    }
    g->mask = mask;
    g->mask_is_whole = false;
    gen_region(g, region);
    gen_array_transfer(g, yielded, inst->result_first, inst->result_count);
    g->mask = mask_before;
    g->mask_is_whole = was_whole;
    if (!is_skipped)
        return;
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(g->builder), before};
    LLVMBuildBr(g->builder, end);
    LLVMPositionBuilderAtEnd(g->builder, end);
    for (uint32_t i = 0; i < yield->arg_count; ++i) {
        if (is_outer[i] || ir_is_array(ir_type(g->func, yielded[i])))
            continue;
        LLVMTypeRef type = LLVMTypeOf(g->value[yielded[i]]);
        LLVMValueRef values[2] = {g->value[yielded[i]], LLVMConstNull(type)};
        g->value[yielded[i]] = LLVMBuildPhi(g->builder, type, "");
        LLVMAddIncoming(g->value[yielded[i]], values, from, 2);
        for (uint32_t j = i + 1; j < yield->arg_count; ++j)
            is_outer[j] |= yielded[j] == yielded[i]; /* yielded twice: done */
    }
}

/* Generates the only arm of an IF whose condition is constant, as happens in unrolled loops. */
static void gen_one_arm(Gen *g, const IrInst *inst, bool condition)
{
    const IrInst *yield = gen_region(g, inst->region_first + (condition ? 0 : 1));
    const IrValue *yielded = ir_args(g->func, yield);
    gen_array_transfer(g, yielded, inst->result_first, inst->result_count);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        gen_set_same(g, inst->result_first + i, yielded[i]);
}

void gen_if_masked(Gen *g, const IrInst *inst)
{
    ASSERT(g->mask && inst->op == IR_IF && inst->region_count == 2);
    bool known;
    if (gen_is_constant_bool(g, ir_args(g->func, inst)[0], &known)) {
        gen_one_arm(g, inst, known);
        return;
    }
    IrValue asked = ir_args(g->func, inst)[0];
    if (g->is_uniform[asked] && (gen_region_weight(g, inst->region_first) > arm_limit(g) ||
                                 gen_region_weight(g, inst->region_first + 1) > arm_limit(g))) {
        gen_if_together(g, inst);
        return;
    }
    LLVMValueRef condition = g->value[asked];
    LLVMValueRef no = LLVMBuildNot(g->builder, condition, "");
    LLVMValueRef mask[2] = {LLVMBuildAnd(g->builder, g->mask, condition, ""),
                            LLVMBuildAnd(g->builder, g->mask, no, "")};
    const IrValue *yielded[2];
    for (uint32_t arm = 0; arm < 2; ++arm) {
        IrRegionId region = inst->region_first + arm;
        gen_arm(g, region, inst, mask[arm]);
        yielded[arm] = ir_args(g->func, ir_inst(g->func, ir_region(g->func, region)->last));
    }
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue result = inst->result_first + i;
        if (g->is_uniform[result])
            gen_set_uniform(g, result,
                            gen_choose(g, g->uniform[asked], g->uniform[yielded[0][i]],
                                       g->uniform[yielded[1][i]]));
        else if (!ir_is_array(ir_type(g->func, result)))
            g->value[result] =
                gen_choose(g, condition, g->value[yielded[0][i]], g->value[yielded[1][i]]);
    }
}

static bool is_scalar_param(const Gen *g, const IrRegion *region, uint32_t i)
{
    return !ir_is_array(ir_type(g->func, region->param_first + i));
}

LLVMValueRef gen_spend(Gen *g, LLVMValueRef go, uint32_t site)
{
    LLVMValueRef budget = LLVMBuildLoad2(g->builder, g->t_int, g->budget, "budget");
    LLVMValueRef none = LLVMBuildICmp(g->builder, LLVMIntEQ, budget, LLVMConstNull(g->t_int), "");
    gen_fault(g, site, LLVMBuildAnd(g->builder, go, none, ""));
    LLVMValueRef has = LLVMBuildNot(g->builder, none, "");
    go = LLVMBuildAnd(g->builder, go, has, "");
    LLVMValueRef step = LLVMBuildSExt(g->builder, go, g->t_int, "");
    LLVMBuildStore(g->builder, LLVMBuildAdd(g->builder, budget, step, ""), g->budget);
    return go;
}

void gen_spend_all(Gen *g, uint32_t turns, uint32_t site)
{
    LLVMValueRef budget = LLVMBuildLoad2(g->builder, g->t_int, g->budget, "budget");
    LLVMValueRef count = gen_const_int(g, (int32_t)turns);
    LLVMValueRef lacks = LLVMBuildICmp(g->builder, LLVMIntULT, budget, count, "");
    gen_fault(g, site, LLVMBuildAnd(g->builder, g->mask, lacks, ""));
    LLVMValueRef left = LLVMBuildSelect(g->builder, lacks, LLVMConstNull(g->t_int),
                                        LLVMBuildSub(g->builder, budget, count, ""), "");
    LLVMBuildStore(g->builder, LLVMBuildSelect(g->builder, g->mask, left, budget, ""), g->budget);
}

/* Where lanes leave the loop one by one. A state that is equal in the lanes that are left is of one lane, and of all lanes only if the loop
 * leaves it behind. */
void gen_loop_masked(Gen *g, const IrInst *inst)
{
    ASSERT(g->mask && inst->op == IR_LOOP && inst->arg_count == inst->result_count);
    if (gen_loop_unrolled(g, inst))
        return;
    const IrRegion *region = ir_region(g->func, inst->region_first);
    if (g->is_uniform[ir_args(g->func, ir_inst(g->func, region->last))[0]]) {
        gen_loop_together(g, inst);
        return;
    }
    const IrValue *init = ir_args(g->func, inst);
    uint32_t count = inst->arg_count;
    LLVMValueRef mask_before = g->mask;
    bool was_whole = g->mask_is_whole;
    LLVMBasicBlockRef body = gen_block(g, "loop"), end = gen_block(g, "endloop");
    LLVMValueRef *state = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    LLVMValueRef *common = ARENA_ARRAY(g->arena, LLVMValueRef, count);

    gen_array_transfer(g, init, region->param_first, count);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder);
    LLVMBuildBr(g->builder, body);
    LLVMPositionBuilderAtEnd(g->builder, body);
    LLVMValueRef active = LLVMBuildPhi(g->builder, g->t_bool, "active");
    LLVMAddIncoming(active, &g->mask, &before, 1);
    for (uint32_t i = 0; i < count; ++i) {
        IrValue param = region->param_first + i;
        IrKind kind = ir_kind(ir_type(g->func, param));
        if (!is_scalar_param(g, region, i))
            continue;
        if (g->is_uniform[param]) {
            common[i] = LLVMBuildPhi(g->builder, gen_uniform_type(g, kind), "");
            LLVMAddIncoming(common[i], &g->uniform[init[i]], &before, 1);
        }
        if (!g->is_uniform[param] || g->is_read[inst->result_first + i]) {
            state[i] = LLVMBuildPhi(g->builder, gen_lane_type(g, kind), "");
            LLVMAddIncoming(state[i], &g->value[init[i]], &before, 1);
            g->value[param] = state[i];
        }
    }
    for (uint32_t i = 0; i < count; ++i)
        if (common[i])
            gen_set_uniform(g, region->param_first + i, common[i]);
    g->mask = active;
    g->mask_is_whole = false;
    const IrValue *yielded = ir_args(g->func, gen_region(g, inst->region_first));
    const IrValue *next = yielded + 1;
    LLVMValueRef again = LLVMBuildAnd(g->builder, active, g->value[yielded[0]], "");
    again = gen_spend(g, again, inst->site);
    LLVMValueRef stays = LLVMBuildNot(g->builder, again, "");
    gen_transfer_under(g, LLVMBuildAnd(g->builder, active, stays, ""), next, inst->result_first,
                       count);
    gen_transfer_under(g, again, next, region->param_first, count);
    LLVMValueRef *kept = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    for (uint32_t i = 0; i < count; ++i)
        if (state[i])
            kept[i] = g->value[next[i]] == state[i]
                          ? state[i]
                          : gen_choose(g, active, g->value[next[i]], state[i]);
    LLVMValueRef any = gen_any(g, again);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(g->builder);
    LLVMBuildCondBr(g->builder, any, body, end);
    LLVMAddIncoming(active, &again, &latch, 1);
    LLVMPositionBuilderAtEnd(g->builder, end);
    for (uint32_t i = 0; i < count; ++i) {
        if (common[i])
            LLVMAddIncoming(common[i], &g->uniform[next[i]], &latch, 1);
        if (!state[i])
            continue;
        LLVMAddIncoming(state[i], &kept[i], &latch, 1);
        g->value[inst->result_first + i] = kept[i];
    }
    g->mask = mask_before;
    g->mask_is_whole = was_whole;
}
