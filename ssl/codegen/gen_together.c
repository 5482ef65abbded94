/* Control flow that all lanes of the mask take together, because what decides is equal in all of them: branches and loops, whose bodies keep
 * the mask, and whose states need no choice between lanes.
 *
 * Only budgets differ between lanes. In a loop without other loops, but for those that are unrolled and so take the same from the budget in each
 * turn, turns are counted and taken from all budgets after it. The least budget says when a lane has none left:
 *
 *   body: ..., go_on and next state
 *     go_on false -> leave -> end
 *     turns as many as the least budget is enough for -> spent: faults; no lane left -> end, else the least of the others
 *     -> turns + 1, body again */
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include <string.h>

typedef struct Phis {
    LLVMValueRef *phi; /* NULL of arrays */
    uint32_t count;
} Phis;

static bool is_array(const Gen *g, IrValue v)
{
    return ir_is_array(ir_type(g->func, v));
}

static LLVMValueRef any_form(const Gen *g, IrValue v, bool is_uniform)
{
    return is_uniform ? g->uniform[v] : g->value[v];
}

/* Phis for the scalars among values [first, first + count), at the builder's place. */
static Phis begin_phis(Gen *g, IrValue first, uint32_t count)
{
    Phis p = {ARENA_ARRAY(g->arena, LLVMValueRef, count + 1u), count};
    for (uint32_t i = 0; i < count; ++i) {
        IrKind kind = ir_kind(ir_type(g->func, first + i));
        if (!is_array(g, first + i))
            p.phi[i] = LLVMBuildPhi(
                g->builder,
                g->is_uniform[first + i] ? gen_uniform_type(g, kind) : gen_lane_type(g, kind), "");
    }
    for (uint32_t i = 0; i < count; ++i)
        if (p.phi[i] && g->is_uniform[first + i])
            gen_set_uniform(g, first + i, p.phi[i]);
        else
            g->value[first + i] = p.phi[i];
    return p;
}

static void add_incoming(Gen *g, Phis p, IrValue first, const IrValue *from,
                         LLVMBasicBlockRef block)
{
    for (uint32_t i = 0; i < p.count; ++i) {
        if (!p.phi[i])
            continue;
        LLVMValueRef x = any_form(g, from[i], g->is_uniform[first + i]);
        LLVMAddIncoming(p.phi[i], &x, &block, 1);
    }
}

void gen_if_together(Gen *g, const IrInst *inst)
{
    LLVMBasicBlockRef arm_block[2] = {gen_block(g, "then"), gen_block(g, "else")};
    LLVMBasicBlockRef arm_end[2], end = gen_block(g, "endif");
    const IrValue *yielded[2];
    LLVMBuildCondBr(g->builder, g->uniform[ir_args(g->func, inst)[0]], arm_block[0], arm_block[1]);
    for (uint32_t arm = 0; arm < 2; ++arm) {
        LLVMPositionBuilderAtEnd(g->builder, arm_block[arm]);
        yielded[arm] = ir_args(g->func, gen_region(g, inst->region_first + arm));
        gen_array_transfer(g, yielded[arm], inst->result_first, inst->result_count);
        arm_end[arm] = LLVMGetInsertBlock(g->builder);
        LLVMBuildBr(g->builder, end);
    }
    LLVMPositionBuilderAtEnd(g->builder, end);
    Phis results = begin_phis(g, inst->result_first, inst->result_count);
    for (uint32_t arm = 0; arm < 2; ++arm)
        add_incoming(g, results, inst->result_first, yielded[arm], arm_end[arm]);
}

/* --- budgets ------------------------------------------------------------------------------------ */

/* What each turn of a loop that counts them takes from the budget. */
typedef enum Inside {
    INSIDE_UNKNOWN, /* it does not count */
    INSIDE_EACH,    /* so much in each turn */
    INSIDE_GOING_ON /* and nothing in the last turn */
} Inside;

/* Loops inside have to be unrolled, and to run in each turn, or in all but the last one. *out_turns: what they take. */
static Inside plan_inside(Gen *g, IrRegionId body, uint32_t *out_turns)
{
    const IrRegion *r = ir_region(g->func, body);
    IrValue goes_on = ir_args(g->func, ir_inst(g->func, r->last))[0];
    *out_turns = 0;
    if (gen_plan_unrolled(g, body, body, out_turns))
        return INSIDE_EACH;
    const IrInst *own = NULL; /* the IF that asks whether the loop goes on */
    for (IrInstId id = r->first; id; id = ir_inst(g->func, id)->next) {
        const IrInst *inst = ir_inst(g->func, id);
        bool is_own = inst->op == IR_IF && ir_args(g->func, inst)[0] == goes_on && !own;
        own = is_own ? inst : own;
        if (inst->op == IR_LOOP)
            return INSIDE_UNKNOWN;
        for (uint32_t i = is_own ? 1 : 0; i < inst->region_count; ++i)
            if (!gen_has_no_loop(g, inst->region_first + i))
                return INSIDE_UNKNOWN;
    }
    *out_turns = 0;
    return own && gen_plan_unrolled(g, body, own->region_first, out_turns) ? INSIDE_GOING_ON
                                                                           : INSIDE_UNKNOWN;
}

static LLVMValueRef load_budget(Gen *g)
{
    return LLVMBuildLoad2(g->builder, g->t_int, g->budget, "budget");
}

/* How many turns the least budget of the lanes is enough for; of no lanes: 0, so that a loop that no lane is in ends. */
static LLVMValueRef least_turns(Gen *g, LLVMValueRef lanes, uint32_t each)
{
    static const char name[] = "llvm.vector.reduce.umin";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->context, id, &g->t_int, 1);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(g->llvm, id, &g->t_int, 1);
    LLVMValueRef of_lanes =
        LLVMBuildSelect(g->builder, lanes, load_budget(g), LLVMConstAllOnes(g->t_int), "");
    LLVMValueRef least = LLVMBuildCall2(g->builder, type, function, &of_lanes, 1, "");
    if (each > 1)
        least = LLVMBuildUDiv(g->builder, least, gen_i32(g, each), "");
    return LLVMBuildSelect(g->builder, gen_any(g, lanes), least, gen_i32(g, 0), "");
}

/* How many turns a budget is enough for. */
static LLVMValueRef turns_of_budget(Gen *g, LLVMValueRef budget, uint32_t each)
{
    return each == 1 ? budget
                     : LLVMBuildUDiv(g->builder, budget, gen_const_int(g, (int32_t)each), "");
}

/* Takes the turns from the budgets of lanes. */
static void gen_pay(Gen *g, LLVMValueRef lanes, LLVMValueRef turns, uint32_t each)
{
    LLVMValueRef budget = load_budget(g);
    LLVMValueRef cost = LLVMBuildMul(g->builder, turns, gen_i32(g, each), "");
    LLVMValueRef left = LLVMBuildSub(g->builder, budget, gen_splat(g, cost), "");
    LLVMBuildStore(g->builder, LLVMBuildSelect(g->builder, lanes, left, budget, ""), g->budget);
}

/* Takes what the loops inside of one more turn do. */
static void gen_charge(Gen *g, const GenCharges *charges, LLVMValueRef lanes)
{
    LLVMValueRef mask = g->mask;
    g->mask = lanes;
    for (uint32_t i = 0; i < charges->count; ++i)
        gen_spend_all(g, charges->turns[i], charges->site[i]);
    g->mask = mask;
}

/* --- loops ---------------------------------------------------------------------------------------- */

typedef struct Loop {
    const IrInst *inst;
    const IrRegion *region;
    LLVMBasicBlockRef body, again, leave, end;
    LLVMValueRef active, turns,
        least; /* phis; the last two of a loop that counts: turns, and those for which the least budget is enough */
    Phis state;
    Inside inside;
    uint32_t each;      /* what a turn after which the loop goes on takes from the budget */
    GenCharges charges; /* of it, what loops inside take */
} Loop;

static void add(LLVMValueRef phi, LLVMValueRef x, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &x, &from, 1);
}

static void begin_loop(Gen *g, Loop *l)
{
    const IrValue *init = ir_args(g->func, l->inst);
    gen_array_transfer(g, init, l->region->param_first, l->inst->arg_count);
    LLVMValueRef least = l->inside ? least_turns(g, g->mask, l->each) : NULL;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder);
    LLVMBuildBr(g->builder, l->body);
    LLVMPositionBuilderAtEnd(g->builder, l->body);
    l->active = LLVMBuildPhi(g->builder, g->t_bool, "active");
    add(l->active, g->mask, before);
    if (l->inside) {
        l->turns = LLVMBuildPhi(g->builder, g->t_i32, "turns");
        l->least = LLVMBuildPhi(g->builder, g->t_i32, "least");
        add(l->turns, gen_i32(g, 0), before);
        add(l->least, least, before);
    }
    l->state = begin_phis(g, l->region->param_first, l->inst->arg_count);
    add_incoming(g, l->state, l->region->param_first, init, before);
    g->mask = l->active;
}

/* Gives the fault to the lanes of the mask whose budget ends with this turn, and returns the others. */
static LLVMValueRef gen_spent(Gen *g, const Loop *l, const IrValue *next)
{
    LLVMValueRef enough = turns_of_budget(g, load_budget(g), l->each);
    LLVMValueRef is_spent =
        LLVMBuildICmp(g->builder, LLVMIntEQ, enough, gen_splat(g, l->turns), "");
    LLVMValueRef spent = LLVMBuildAnd(g->builder, g->mask, is_spent, "");
    gen_pay(g, spent, l->turns, l->each);
    gen_charge(g, &l->charges, spent);
    gen_fault(g, l->inst->site, spent);
    LLVMBuildStore(g->builder,
                   LLVMBuildSelect(g->builder, spent, LLVMConstNull(g->t_int), load_budget(g), ""),
                   g->budget);
    gen_transfer_under(g, spent, next, l->inst->result_first, l->inst->arg_count);
    return LLVMBuildAnd(g->builder, g->mask, LLVMBuildNot(g->builder, spent, ""), "");
}

/* The lanes that may go on all do, but for those without budget. Ends in block `again`, of which it is the only way in. */
static void gen_counted_turn(Gen *g, Loop *l, const IrValue *next)
{
    LLVMBasicBlockRef spent = gen_block(g, "spent"), from = LLVMGetInsertBlock(g->builder);
    LLVMBuildCondBr(g->builder, LLVMBuildICmp(g->builder, LLVMIntEQ, l->turns, l->least, ""), spent,
                    l->again);
    LLVMPositionBuilderAtEnd(g->builder, spent);
    LLVMValueRef others = gen_spent(g, l, next);
    LLVMValueRef least = least_turns(g, others, l->each), any = gen_any(g, others);
    spent = LLVMGetInsertBlock(g->builder);
    LLVMBuildCondBr(g->builder, any, l->again, l->end);

    LLVMPositionBuilderAtEnd(g->builder, l->again);
    LLVMValueRef active = LLVMBuildPhi(g->builder, g->t_bool, "");
    LLVMValueRef new_least = LLVMBuildPhi(g->builder, g->t_i32, "");
    add(active, l->active, from);
    add(active, others, spent);
    add(new_least, l->least, from);
    add(new_least, least, spent);
    g->mask = active;
    gen_array_transfer(g, next, l->region->param_first, l->inst->arg_count);
    LLVMValueRef turns = LLVMBuildAdd(g->builder, l->turns, gen_i32(g, 1), "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(g->builder);
    add(l->active, active, latch);
    add(l->turns, turns, latch);
    add(l->least, new_least, latch);
}

static void gen_turn(Gen *g, Loop *l, const IrValue *next)
{
    LLVMValueRef again = gen_spend(g, l->active, l->inst->site);
    LLVMValueRef spent =
        LLVMBuildAnd(g->builder, l->active, LLVMBuildNot(g->builder, again, ""), "");
    gen_transfer_under(g, spent, next, l->inst->result_first, l->inst->arg_count);
    LLVMBuildCondBr(g->builder, gen_any(g, again), l->again, l->end);
    LLVMPositionBuilderAtEnd(g->builder, l->again);
    g->mask = again;
    gen_array_transfer(g, next, l->region->param_first, l->inst->arg_count);
    add(l->active, again, LLVMGetInsertBlock(g->builder));
}

void gen_loop_together(Gen *g, const IrInst *inst)
{
    ASSERT(g->mask && inst->op == IR_LOOP && inst->arg_count == inst->result_count);
    Loop l = {.inst = inst, .region = ir_region(g->func, inst->region_first)};
    l.inside = plan_inside(g, inst->region_first, &l.each);
    ++l.each;
    l.body = gen_block(g, "loop");
    l.again = gen_block(g, "loop.again");
    l.leave = gen_block(g, "loop.leave");
    l.end = gen_block(g, "endloop");
    LLVMBasicBlockRef more = gen_block(g, "loop.more");
    LLVMValueRef mask_before = g->mask;
    begin_loop(g, &l);
    GenCharges *charges_before = g->charges;
    g->charges = l.inside ? &l.charges : NULL;
    const IrValue *yielded = ir_args(g->func, gen_region(g, inst->region_first));
    g->charges = charges_before;
    const IrValue *next = yielded + 1;
    LLVMBuildCondBr(g->builder, g->uniform[yielded[0]], more, l.leave);

    LLVMPositionBuilderAtEnd(g->builder, l.leave);
    gen_array_transfer(g, next, inst->result_first, inst->arg_count);
    if (l.inside)
        gen_pay(g, l.active, l.turns, l.each);
    if (l.inside == INSIDE_EACH)
        gen_charge(g, &l.charges, l.active);
    LLVMBuildBr(g->builder, l.end);

    LLVMPositionBuilderAtEnd(g->builder, more);
    (l.inside ? gen_counted_turn : gen_turn)(g, &l, next);
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(g->builder);
    add_incoming(g, l.state, l.region->param_first, next, latch);
    LLVMBuildBr(g->builder, l.body);

    LLVMPositionBuilderAtEnd(g->builder, l.end);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        gen_set_same(g, inst->result_first + i, next[i]);
    g->mask = mask_before;
}
