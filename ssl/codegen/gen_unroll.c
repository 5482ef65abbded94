/* Unrolling of loops of several lanes that have few turns, a number known at compile time. In each copy of the body the
 * counter is a constant, so arrays have constant indices and LLVM can keep them in registers. LLVM cannot unroll
 * such a loop itself, because it cannot see that a masked loop ends for all lanes at once.
 *
 * The turns are counted by evaluating the loop's condition, starting from the constants in the initial state. The
 * budget is spent as in any loop: a lane without budget keeps its state from then on. */
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include "ssl/ir/ir_fold.h"

enum {
    TURNS_MAX = 16,
    TURNS_MAX_ARRAYS =
        17, /* of loops over arrays: sixteen elements, and the turn that finds the end */
    TURNS_MAX_SHORT = 33, /* of loops that are short in all */
    SIZE_MAX_SHORT = 250,
    TURNS_MAX_NUMBERS = 65, /* of loops that make numbers of their counters */
    SIZE_MAX_NUMBERS = 1200,
    SIZE_MAX_UNROLLED = 800, /* of up to TURNS_MAX turns */
    SIZE_MAX_ALL = 1 << 15,  /* in one kernel */
    SIZE_NEVER = 100000
};

/* --- how many turns --------------------------------------------------------------------------- */

typedef struct GenKnown {
    bool is_known;
    IrScalar x;
} GenKnown;
typedef GenKnown Known;

/* Returns the value as an LLVM constant of one lane, or NULL if it is no constant. */
static LLVMValueRef constant_of(const Gen *g, IrValue v, IrKind kind)
{
    LLVMValueRef x = g->value[v];
    if (!x || !LLVMIsConstant(x) || ir_type(g->func, v) != ir_scalar(kind))
        return NULL;
    if (g->mask)
        x = LLVMGetAggregateElement(x, 0); /* the same in all lanes: gen_splat made it */
    return x && LLVMIsAConstantInt(x) ? x : NULL;
}

bool gen_is_constant_int(const Gen *g, IrValue v, int32_t *out_x)
{
    LLVMValueRef x = constant_of(g, v, IR_INT);
    if (x)
        *out_x = (int32_t)LLVMConstIntGetSExtValue(x);
    return x != NULL;
}

bool gen_is_constant_bool(const Gen *g, IrValue v, bool *out_x)
{
    LLVMValueRef x = constant_of(g, v, IR_BOOL);
    if (x)
        *out_x = LLVMConstIntGetZExtValue(x) != 0;
    return x != NULL;
}

static Known known_before(const Gen *g, IrValue v)
{
    Known k = {0};
    k.is_known = ir_type(g->func, v) == ir_scalar(IR_BOOL) ? gen_is_constant_bool(g, v, &k.x.b)
                                                           : gen_is_constant_int(g, v, &k.x.i);
    return k;
}

/* Returns the size of a region in instructions, which is SIZE_NEVER or more if it must not be unrolled. */
static uint32_t size_of(const Gen *g, IrRegionId region)
{
    uint32_t size = 0;
    for (IrInstId id = ir_region(g->func, region)->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        uint32_t inner = 0;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            inner += size_of(g, inst->region_first + i);
        size += 1 + (inst->op == IR_LOOP ? 4 * inner : inner);
        if (ir_has_texture_site((IrOp)inst->op) || inst->op == IR_ASK || size > SIZE_MAX_UNROLLED)
            return SIZE_NEVER;
    }
    return size;
}

static Known known_now(const Gen *g, const Known *value, IrValue v)
{
    return g->value[v] ? known_before(g, v) : value[v];
}

static void evaluate_region(const Gen *g, IrRegionId region, Known *value);

/* The arm that is taken, if that is known. */
static void evaluate_if(const Gen *g, const IrInst *inst, Known *value)
{
    Known condition = known_now(g, value, ir_args(g->func, inst)[0]);
    if (!condition.is_known)
        return;
    IrRegionId arm = inst->region_first + (condition.x.b ? 0 : 1);
    evaluate_region(g, arm, value);
    const IrValue *yielded = ir_args(g->func, ir_inst(g->func, ir_region(g->func, arm)->last));
    for (uint32_t i = 0; i < inst->result_count; ++i)
        value[inst->result_first + i] = known_now(g, value, yielded[i]);
}

static void evaluate_region(const Gen *g, IrRegionId region, Known *value)
{
    const IrFunc *f = g->func;
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        const IrValue *args = ir_args(f, inst);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            value[inst->result_first + i].is_known = false;
        if (inst->op == IR_IF)
            evaluate_if(g, inst, value);
        IrScalar x[3];
        bool is_known = inst->region_count == 0 && inst->result_count == 1 &&
                        inst->arg_count <= 3 && inst->arg_count > 0;
        for (uint32_t i = 0; i < inst->arg_count && is_known; ++i) {
            Known k = known_now(g, value, args[i]);
            is_known = k.is_known;
            x[i] = k.x;
        }
        if (is_known)
            value[inst->result_first].is_known =
                ir_scalar_eval((IrOp)inst->op, inst->imm, x, &value[inst->result_first].x);
    }
}

/* One turn with `state`, which becomes the next one. False: the condition is not known. */
static bool evaluate_turn(const Gen *g, IrRegionId region, Known *value, Known *state,
                          bool *out_goes_on)
{
    const IrRegion *body = ir_region(g->func, region);
    for (uint32_t i = 0; i < body->param_count; ++i)
        value[body->param_first + i] = state[i];
    evaluate_region(g, region, value);
    const IrValue *yielded = ir_args(g->func, ir_inst(g->func, body->last));
    for (uint32_t i = 0; i < body->param_count; ++i)
        state[i] = known_now(g, value, yielded[1 + i]);
    Known goes_on = known_now(g, value, yielded[0]);
    *out_goes_on = goes_on.x.b;
    return goes_on.is_known;
}

/* Whether an int that is known in each turn is converted to a float, of which more is computed: unrolled, that is constant. */
static bool makes_numbers(const Gen *g, IrRegionId region, const Known *value)
{
    for (IrInstId id = ir_region(g->func, region)->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        if (inst->op == IR_I2F && known_now(g, value, ir_args(g->func, inst)[0]).is_known)
            return true;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            if (makes_numbers(g, inst->region_first + i, value))
                return true;
    }
    return false;
}

static bool reads_arrays(const Gen *g, IrRegionId region)
{
    for (IrInstId id = ir_region(g->func, region)->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        if (inst->op == IR_ARRAY_GET || inst->op == IR_ARRAY_SET)
            return true;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            if (reads_arrays(g, inst->region_first + i))
                return true;
    }
    return false;
}

/* The most instructions that a loop of so many turns may become. */
static uint32_t most_size(uint32_t turns, bool is_over_arrays, bool makes_numbers_of_counters)
{
    if (turns <= (is_over_arrays ? TURNS_MAX_ARRAYS : TURNS_MAX))
        return SIZE_MAX_UNROLLED;
    if (turns <= TURNS_MAX_NUMBERS && makes_numbers_of_counters)
        return SIZE_MAX_NUMBERS;
    return turns <= TURNS_MAX_SHORT ? SIZE_MAX_SHORT : 0;
}

static uint32_t constant_turns(Gen *g, const IrInst *loop)
{
    const IrValue *init = ir_args(g->func, loop);
    bool starts_known = false;
    Known *state = ARENA_ARRAY(g->arena, Known, loop->arg_count);
    for (uint32_t i = 0; i < loop->arg_count; ++i) {
        state[i] = known_before(g, init[i]);
        starts_known |= state[i].is_known;
    }
    uint32_t size = starts_known ? size_of(g, loop->region_first) : SIZE_NEVER;
    if (size > SIZE_MAX_UNROLLED)
        return 0;
    gen_forget_region(g, loop->region_first);
    if (!g->known)
        g->known = ARENA_ARRAY(g->arena, Known, g->func->values.count);
    Known *value = g->known;
    bool goes_on = true, numbers = false, arrays = reads_arrays(g, loop->region_first);
    for (uint32_t turns = 1; turns * size <= most_size(turns, arrays, numbers); ++turns) {
        if (g->unrolled + turns * size > SIZE_MAX_ALL)
            return 0;
        if (!evaluate_turn(g, loop->region_first, value, state, &goes_on))
            return 0;
        numbers = turns == 1 ? makes_numbers(g, loop->region_first, value) : numbers;
        if (!goes_on) {
            g->unrolled += turns * size;
            return turns;
        }
    }
    return 0;
}

/* --- the turns -------------------------------------------------------------------------------- */

void gen_forget_region(Gen *g, IrRegionId region)
{
    const IrRegion *r = ir_region(g->func, region);
    for (uint32_t i = 0; i < r->param_count; ++i)
        g->value[r->param_first + i] = g->uniform[r->param_first + i] = NULL;
    for (IrInstId id = r->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            g->value[inst->result_first + i] = g->uniform[inst->result_first + i] = NULL;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            gen_forget_region(g, inst->region_first + i);
    }
}

bool gen_has_no_loop(const Gen *g, IrRegionId region)
{
    for (IrInstId id = ir_region(g->func, region)->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        if (inst->op == IR_LOOP)
            return false;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            if (!gen_has_no_loop(g, inst->region_first + i))
                return false;
    }
    return true;
}

/* Whether nothing in the region can be a fault, or takes from the budget. */
static bool is_without_fault(const Gen *g, IrRegionId region)
{
    for (IrInstId id = ir_region(g->func, region)->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        if (inst->op == IR_LOOP ||
            (inst->op == IR_BOUNDS && !g->is_in_range[inst - g->func->insts.data]))
            return false;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            if (!is_without_fault(g, inst->region_first + i))
                return false;
    }
    return true;
}

static void forget_known(const Gen *g, IrRegionId region)
{
    const IrRegion *r = ir_region(g->func, region);
    for (uint32_t i = 0; i < r->param_count && g->known; ++i)
        g->known[r->param_first + i].is_known = false;
    for (IrInstId id = r->first; id && g->known; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            g->known[inst->result_first + i].is_known = false;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            forget_known(g, inst->region_first + i);
    }
}

bool gen_plan_unrolled(Gen *g, IrRegionId outer, IrRegionId region, uint32_t *turns)
{
    uint32_t count = 0;
    gen_forget_region(g, outer);
    for (IrInstId id = ir_region(g->func, region)->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        for (uint32_t i = 0; i < inst->region_count && inst->op != IR_LOOP; ++i)
            if (!gen_has_no_loop(g, inst->region_first + i))
                return false;
        if (inst->op != IR_LOOP)
            continue;
        forget_known(g, outer);
        uint32_t planned = count++ < GEN_CHARGES_MAX && is_without_fault(g, inst->region_first)
                               ? constant_turns(g, inst)
                               : 0;
        if (planned == 0)
            return false;
        *turns += planned - 1;
        if (!g->planned)
            g->planned = ARENA_ARRAY(g->arena, uint32_t, g->func->insts.count);
        g->planned[id] = planned;
    }
    return true;
}

/* All turns by all lanes: a lane whose budget is too small has its fault before them. */
static void gen_turns_together(Gen *g, const IrInst *inst, uint32_t turns)
{
    const IrRegion *region = ir_region(g->func, inst->region_first);
    const IrValue *from = ir_args(g->func, inst);
    uint32_t count = inst->arg_count;
    LLVMValueRef *state = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    LLVMValueRef *common = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    if (turns > 1 && g->charges) {
        GenCharges *charges = g->charges;
        ASSERT(charges->count < GEN_CHARGES_MAX);
        charges->turns[charges->count] = turns - 1;
        charges->site[charges->count++] = inst->site;
    } else if (turns > 1) {
        gen_spend_all(g, turns - 1, inst->site);
    }
    for (uint32_t turn = 1; turn <= turns; ++turn) {
        gen_array_transfer(g, from, region->param_first, count);
        for (uint32_t i = 0; i < count; ++i) {
            state[i] = g->value[from[i]];
            common[i] = g->uniform[from[i]];
        }
        gen_forget_region(g, inst->region_first);
        for (uint32_t i = 0; i < count; ++i) {
            g->value[region->param_first + i] = state[i];
            g->uniform[region->param_first + i] = common[i];
        }
        from = ir_args(g->func, gen_region(g, inst->region_first)) + 1;
    }
    gen_array_transfer(g, from, inst->result_first, count);
    for (uint32_t i = 0; i < count; ++i)
        gen_set_same(g, inst->result_first + i, from[i]);
}

bool gen_loop_unrolled(Gen *g, const IrInst *inst)
{
    ASSERT(g->mask && inst->op == IR_LOOP);
    IrInstId id = (IrInstId)(inst - g->func->insts.data);
    uint32_t planned = g->planned ? g->planned[id] : 0,
             turns = planned ? planned : constant_turns(g, inst);
    if (turns == 0)
        return false;
    if (planned)
        g->planned[id] = 0;
    if (is_without_fault(g, inst->region_first)) {
        gen_turns_together(g, inst, turns);
        return true;
    }
    const IrRegion *region = ir_region(g->func, inst->region_first);
    const IrValue *init = ir_args(g->func, inst);
    uint32_t count = inst->arg_count;
    LLVMValueRef mask_before = g->mask, active = g->mask;
    bool was_whole = g->mask_is_whole;
    LLVMValueRef *state = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    LLVMValueRef *kept = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    LLVMValueRef *common = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    gen_array_transfer(g, init, region->param_first, count);
    for (uint32_t i = 0; i < count; ++i) {
        state[i] = g->value[init[i]];
        common[i] = g->uniform[init[i]];
    }
    for (uint32_t turn = 1; turn <= turns; ++turn) {
        gen_forget_region(g, inst->region_first);
        for (uint32_t i = 0; i < count; ++i) {
            g->value[region->param_first + i] = state[i];
            g->uniform[region->param_first + i] = common[i];
        }
        g->mask = active;
        g->mask_is_whole = false;
        const IrValue *next = ir_args(g->func, gen_region(g, inst->region_first)) + 1;
        for (uint32_t i = 0; i < count; ++i) {
            state[i] = g->value[next[i]];
            common[i] = g->uniform[next[i]];
            if (state[i]) /* else an array */
                kept[i] = turn == 1 ? state[i] : gen_choose(g, active, state[i], kept[i]);
        }
        if (turn == turns) {
            gen_transfer_under(g, active, next, inst->result_first, count);
            break;
        }
        LLVMValueRef again = gen_spend(g, active, inst->site);
        LLVMValueRef leaves =
            LLVMBuildAnd(g->builder, active, LLVMBuildNot(g->builder, again, ""), "");
        gen_transfer_under(g, leaves, next, inst->result_first, count);
        gen_transfer_under(g, again, next, region->param_first, count);
        active = again;
    }
    for (uint32_t i = 0; i < count; ++i) {
        g->value[inst->result_first + i] = kept[i];
        if (g->is_uniform[inst->result_first + i])
            gen_set_uniform(g, inst->result_first + i, common[i]);
    }
    g->mask = mask_before;
    g->mask_is_whole = was_whole;
    return true;
}
