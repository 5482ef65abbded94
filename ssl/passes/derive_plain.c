/* Derivatives without guards, where that is as good.
 *
 * Nearly all tangents are finite, and yet each of their products is tested, so that an exact zero wins, and quotients are made finite
 * (partials.h). All that derivatives do with tangents carries what is infinite or NaN on: sums, products and quotients of them, and choices that do not
 * ask for them. So where what comes out without a guard is finite, none would have acted. A derivative becomes
 *
 *   plain results;  if (apart(one is not finite)) the derivative with guards, of apart(parameters)
 *
 * Whether tangents meet such operations alone is read from the code. Without APART LLVM would keep the values of the plain form until the end, for
 * the arm that hardly any point enters. Sums of guarded products are no fused multiply-adds; those of plain ones are, in [Fused]
 * shaders. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/derive.h"
#include "ssl/passes/pass.h"
#include <stdio.h>

enum {
    INSTRUCTIONS_MAX = 2048, /* of a derivative: longer ones would take too long to compile */
    ELEMENTS_MAX = 256,      /* of arrays that loops change, of which there would be two */
    RESULTS_MAX = 64,        /* that are asked whether they are finite */
    GUARDS_MIN = 6,          /* fewer cost as much as the question */
    GUARDS_IN_LOOP = 16,     /* for how many one in a loop counts */
    /* A program with plain forms has no more instructions, as SSL_MAX_INSTRUCTIONS counts. LLVM may have four for each, and
     * can compile those. What is longer has no plain forms. */
    EXPANDED_MAX = SSL_MAX_CODE / 4
};

static bool is_guard(const IrInst *inst)
{
    return inst->op == IR_SELECT && inst->imm == IR_GUARD;
}

/* --- whether it pays -------------------------------------------------------------------------- */

static uint32_t count_guards(const IrFunc *f, IrRegionId region, uint32_t weight)
{
    uint32_t count = 0;
    for (IrInstId id = ir_region(f, region)->first; id; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        count += is_guard(inst) ? weight : 0;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            count += count_guards(f, inst->region_first + i,
                                  inst->op == IR_LOOP ? GUARDS_IN_LOOP : weight);
    }
    return count;
}

static bool is_worthwhile(const IrFunc *f)
{
    if (f->insts.count > INSTRUCTIONS_MAX)
        return false;
    uint32_t elements = 0;
    for (IrInstId id = 1; id < f->insts.count; ++id)
        for (uint32_t i = 0; i < ir_inst(f, id)->result_count && ir_inst(f, id)->op == IR_LOOP;
             ++i) {
            IrType type = ir_type(f, ir_inst(f, id)->result_first + i);
            elements += ir_is_array(type) ? ir_count(type) : 0;
        }
    if (elements > ELEMENTS_MAX)
        return false;
    return count_guards(f, f->body, 1) >= GUARDS_MIN;
}

/* --- the plain form --------------------------------------------------------------------------- */

static bool drop_guard(IrClone *c, IrInstId id)
{
    const IrFunc *f = c->from;
    const IrInst *inst = ir_inst(f, id);
    const IrValue *args = ir_args(f, inst);
    if (is_guard(inst)) {
        float x;
        bool is_zero = ir_is_const_float(c->to, c->map[args[1]], &x) && x == 0.0f;
        c->map[inst->result_first] = c->map[args[is_zero ? 2 : 1]];
        return true;
    }
    if (inst->op != IR_FADD && inst->op != IR_FSUB)
        return false;
    bool had_guard = is_guard(ir_inst(f, f->values.data[args[0]].def)) ||
                     is_guard(ir_inst(f, f->values.data[args[1]].def));
    if (had_guard)
        c->map[inst->result_first] =
            (inst->op == IR_FADD ? ir_add : ir_sub)(c->to, c->map[args[0]], c->map[args[1]]);
    return had_guard;
}

/* What tangents without guards reach. */
typedef struct Reach {
    const IrFunc *func;
    const uint8_t *live;
    uint8_t *reached; /* [value] */
    bool changed, is_hidden;
} Reach;

static void reach(Reach *r, IrValue v, bool is_reached)
{
    if (!is_reached || r->reached[v])
        return;
    r->reached[v] = 1;
    r->changed = true;
}

/* Whether a result is infinite or NaN where an argument that is reached is. */
static bool carries_on(const Reach *r, const IrInst *inst)
{
    const IrValue *args = ir_args(r->func, inst);
    switch (inst->op) {
    case IR_FADD:
    case IR_FSUB:
    case IR_FNEG:
    case IR_FMUL:
    case IR_FMA:
    case IR_SELECT:
    case IR_ARRAY:
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        return true;
    case IR_FDIV:
        return !r->reached[args[1]];
    default:
        return false;
    }
}

static void reach_region(Reach *r, IrRegionId region);

static void reach_control(Reach *r, const IrInst *inst)
{
    const IrFunc *f = r->func;
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    for (uint32_t k = 0; k < inst->region_count; ++k) {
        IrRegionId region = inst->region_first + k;
        const IrRegion *body = ir_region(f, region);
        const IrValue *yields = ir_yield_args(f, region) + lead;
        for (uint32_t i = 0; i < body->param_count; ++i)
            reach(r, body->param_first + i,
                  r->reached[ir_args(f, inst)[i]] || r->reached[yields[i]]);
        reach_region(r, region);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            reach(r, inst->result_first + i, r->reached[yields[i]]);
    }
}

static void reach_region(Reach *r, IrRegionId region)
{
    const IrFunc *f = r->func;
    const IrRegion *body = ir_region(f, region);
    for (IrInstId id = body->first; id != body->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        bool is_any = false, is_live = false;
        if (inst->region_count) {
            reach_control(r, inst);
            continue;
        }
        for (uint32_t i = 0; i < inst->result_count; ++i)
            is_live = is_live || r->live[inst->result_first + i];
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            is_any = is_any || r->reached[ir_args(f, inst)[i]];
        if (!is_any || !is_live)
            continue;
        r->is_hidden = r->is_hidden || !carries_on(r, inst);
        if (r->is_hidden)
            for (uint32_t i = 0; i < inst->result_count; ++i)
                reach(r, inst->result_first + i, true);
    }
}

/* Finds what values of the plain form depend on guarded ones. Returns false if something hides that they are infinite or NaN. */
static bool find_reach(Reach *r)
{
    do {
        r->changed = false;
        reach_region(r, r->func->body);
    } while (r->changed && !r->is_hidden);
    return !r->is_hidden;
}

/* --- both forms ------------------------------------------------------------------------------- */

/* Marks the results of calls of `id` that a function reads. Returns whether there is a call. */
static bool mark_used(IrModule *m, const IrFunc *caller, IrFuncId id, uint8_t *used)
{
    uint8_t *is_read = NULL; /* [value of caller] */
    for (IrInstId i = 1; i < caller->insts.count; ++i) {
        const IrInst *call = ir_inst(caller, i);
        if (call->op != IR_CALL || call->imm != id)
            continue;
        if (!is_read) {
            is_read = ARENA_ARRAY(m->arena, uint8_t, caller->values.count);
            for (IrInstId k = 1; k < caller->insts.count; ++k)
                for (uint32_t n = 0; n < ir_inst(caller, k)->arg_count; ++n)
                    is_read[ir_args(caller, ir_inst(caller, k))[n]] = 1;
        }
        for (uint32_t k = 0; k < call->result_count; ++k)
            used[k] |= is_read[call->result_first + k];
    }
    return is_read != NULL;
}

uint8_t *derive_used_results(IrModule *m, IrFuncId id)
{
    uint32_t count = ir_func(m, id)->result_count;
    uint8_t *used = ARENA_ARRAY(m->arena, uint8_t, count);
    bool has_call = false;
    for (IrFuncId caller = 1; caller < m->funcs.count; ++caller)
        if (m->funcs.data[caller])
            has_call |= mark_used(m, m->funcs.data[caller], id, used);
    for (uint32_t i = 0; i < count && !has_call; ++i)
        used[i] = 1;
    return used;
}

/* Returns the sum of floats, in pairs, so that none waits for all others: it is infinite or NaN if one of them is. */
static IrValue sum_of(IrBuilder *b, IrValue *v, uint32_t count)
{
    ASSERT(count > 0);
    for (; count > 1; count = (count + 1) / 2)
        for (uint32_t i = 0; i < count / 2; ++i)
            v[i] = ir_build2(b, IR_FADD, v[i], v[count - 1 - i]);
    return v[0];
}

/* Returns whether one of the values, floats or arrays of them, is infinite or NaN. */
static IrValue is_any_lost(IrBuilder *b, const IrValue *values, uint32_t count)
{
    ARRAY(IrValue) floats = {0};
    Arena *arena = ir_build_module(b)->arena;
    for (uint32_t i = 0; i < count; ++i) {
        IrType type = ir_build_type(b, values[i]);
        if (!ir_is_array(type))
            array_push(arena, &floats, values[i]);
        for (uint32_t k = 0; ir_is_array(type) && k < ir_count(type); ++k)
            array_push(arena, &floats,
                       ir_build2(b, IR_ARRAY_GET, values[i], ir_const_int(b, (int32_t)k)));
    }
    IrValue sum = sum_of(b, floats.data, floats.count);
    return ir_build1(b, IR_ISNAN, ir_mul(b, sum, ir_const_float(b, 0.0f)));
}

/* Builds the derivative anew of its plain form and itself. asked[result]: whether it depends on guards, and is read. */
static void build_both(IrModule *m, IrFuncId id, const IrFunc *guarded, const Reach *plain,
                       const uint8_t *asked)
{
    const IrRegion *body = ir_region(guarded, guarded->body);
    const IrFunc *f = plain->func;
    ASSERT(f->result_count == guarded->result_count);
    IrClone first = ir_clone_func(m, f, id, NULL, NULL);
    IrBuilder *b = first.to;
    first.live = plain->live;
    ir_clone_insts(&first, f->body);
    ARRAY(IrValue) values = {0}, others = {0}, results = {0};
    for (uint32_t i = 0; i < f->result_count; ++i)
        if (asked[i])
            array_push(m->arena, &values, first.map[ir_yield_args(f, f->body)[i]]);
    ir_if_begin(b, ir_build1(b, IR_APART, is_any_lost(b, values.data, values.count)));
    IrClone second = ir_clone_begin(m, guarded, b, NULL, NULL);
    for (uint32_t i = 0; i < body->param_count; ++i) {
        IrValue param = ir_build_param(b, i);
        bool is_float = ir_type(guarded, body->param_first + i) == ir_scalar(IR_FLOAT);
        second.map[body->param_first + i] = is_float ? ir_build1(b, IR_APART, param) : param;
    }
    ir_clone_insts(&second, guarded->body);
    for (uint32_t i = 0; i < f->result_count; ++i)
        if (asked[i])
            array_push(m->arena, &others, second.map[ir_yield_args(guarded, guarded->body)[i]]);
    ir_if_else(b, others.data, others.count);
    ir_if_end(b, values.data, values.count, values.data);
    for (uint32_t i = 0, at = 0; i < f->result_count; ++i)
        array_push(m->arena, &results,
                   asked[i] ? values.data[at++] : first.map[ir_yield_args(f, f->body)[i]]);
    ir_build_end(b, results.data, results.count);
}

void derive_plain(Derive *d, IrFuncId id, const uint8_t *used)
{
    static const IrCloneHooks hooks = {.visit = drop_guard};
    IrModule *m = d->module;
    const IrFunc *guarded = ir_func(m, id);

    if (d->has_failed || !is_worthwhile(guarded))
        return;
    IrFuncId scratch = ir_reserve_func(m);
    IrClone c = ir_clone_func(m, guarded, scratch, &hooks, NULL);
    ir_clone_body(&c);
    const IrFunc *f = ir_func(m, scratch);
    m->funcs.data[scratch] = NULL;
    Reach r = {.func = f,
               .live = ir_live_values(m, f),
               .reached = ARENA_ARRAY(m->arena, uint8_t, f->values.count)};
    for (IrInstId i = 1; i < guarded->insts.count; ++i)
        if (is_guard(ir_inst(guarded, i)) && c.map[ir_inst(guarded, i)->result_first])
            r.reached[c.map[ir_inst(guarded, i)->result_first]] = 1;
    if (!find_reach(&r))
        return;
    uint8_t *asked = ARENA_ARRAY(m->arena, uint8_t, f->result_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->result_count; ++i) {
        asked[i] = used[i] && r.reached[ir_yield_args(f, f->body)[i]];
        if (asked[i])
            count += ir_is_array(f->result_types[i]) ? ir_count(f->result_types[i]) : 1;
    }
    if (count == 0 || count > RESULTS_MAX)
        return;
    array_push(m->arena, &d->plain_forms, ((PlainForm){id, m->funcs.data[id]}));
    build_both(m, id, guarded, &r, asked);
}

void derive_limit_plain(Derive *d)
{
    IrModule *m = d->module;
    if (d->plain_forms.count == 0 || ir_expanded_size(m) <= EXPANDED_MAX)
        return;
    for (uint32_t i = 0; i < d->plain_forms.count; ++i)
        m->funcs.data[d->plain_forms.data[i].id] = d->plain_forms.data[i].guarded;
}
