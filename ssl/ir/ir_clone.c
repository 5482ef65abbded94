/* The copier. Values cross a border where a region begins or ends: an IF's results, a loop's initial state, the
 * state that the body receives and passes on, and the loop's results. All four go through carry() and
 * receive(), so a pass that splits values states once how. Lists grow in the arena and are not freed; they are no
 * larger than the IR that is built from them. */
#include "ssl/ir/ir_clone.h"
#include "base/check.h"

typedef ARRAY(IrValue) ValueList;

IrClone ir_clone_begin(IrModule *m, const IrFunc *from, IrBuilder *to, const IrCloneHooks *hooks,
                       void *data)
{
    return (IrClone){.module = m,
                     .from = from,
                     .to = to,
                     .map = ARENA_ARRAY(m->arena, IrValue, from->values.count),
                     .hooks = hooks,
                     .data = data};
}

IrClone ir_clone_func(IrModule *m, const IrFunc *from, IrFuncId id, const IrCloneHooks *hooks,
                      void *data)
{
    const IrRegion *body = ir_region(from, from->body);
    IrType *params = ARENA_ARRAY(m->arena, IrType, body->param_count);
    for (uint32_t i = 0; i < body->param_count; ++i)
        params[i] = ir_type(from, body->param_first + i);
    IrBuilder *b = ir_build_begin(m, id, from->name, params, body->param_count);
    ir_build_like(b, from);
    IrClone c = ir_clone_begin(m, from, b, hooks, data);
    for (uint32_t i = 0; i < body->param_count; ++i)
        c.map[body->param_first + i] = ir_build_param(b, i);
    return c;
}

const IrValue *ir_yield_args(const IrFunc *f, IrRegionId region)
{
    ASSERT(ir_inst(f, ir_region(f, region)->last)->op == IR_YIELD);
    return ir_args(f, ir_inst(f, ir_region(f, region)->last));
}

IrValue ir_build_zero(IrBuilder *b, IrType type)
{
    if (ir_is_array(type)) {
        uint32_t count = ir_count(type);
        IrValue element = ir_build_zero(b, ir_scalar(ir_kind(type)));
        IrValue *elements = ARENA_ARRAY(ir_build_module(b)->arena, IrValue, count);
        for (uint32_t i = 0; i < count; ++i)
            elements[i] = element;
        return ir_build_array(b, ir_kind(type), elements, count);
    }
    switch (ir_kind(type)) {
    case IR_BOOL:
        return ir_const_bool(b, false);
    case IR_INT:
        return ir_const_int(b, 0);
    case IR_FLOAT:
        return ir_const_float(b, 0.0f);
    case IR_CLOSURE:
        break;
    }
    return ir_build_closure_zero(b);
}

const IrValue *ir_clone_args(IrClone *c, const IrInst *inst, IrValue small[IR_CLONE_SMALL])
{
    IrValue *args = inst->arg_count <= IR_CLONE_SMALL
                        ? small
                        : ARENA_ARRAY(c->module->arena, IrValue, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        args[i] = c->map[ir_args(c->from, inst)[i]];
        ASSERT(args[i]);
    }
    return args;
}

/* --- borders ---------------------------------------------------------------------------------- */

static bool is_live(const IrClone *c, IrValue v)
{
    return !c->live || c->live[v];
}

/* Returns the hooks if they carry values across borders, else NULL. */
static const IrCloneHooks *carrier(const IrClone *c)
{
    return c->hooks && c->hooks->carry ? c->hooks : NULL;
}

/* Appends the values that carry `source` across the border of `result`. */
static void carry(IrClone *c, IrValue result, IrValue source, ValueList *list)
{
    Arena *arena = c->module->arena;
    const IrCloneHooks *hooks = carrier(c);
    uint32_t count = hooks ? hooks->carry_count(c, result) : 1;
    if (count == 0)
        return;
    array_reserve(arena, list, list->count + count);
    if (hooks)
        hooks->carry(c, result, source, list->data + list->count);
    else
        list->data[list->count] = c->map[source];
    list->count += count;
}

/* Maps `target` to values that carry() made. Returns the number of values that it took. */
static uint32_t receive(IrClone *c, IrValue result, IrValue target, const IrValue *values)
{
    const IrCloneHooks *hooks = carrier(c);
    if (hooks) {
        hooks->receive(c, result, target, values);
        return hooks->carry_count(c, result);
    }
    ASSERT(values);
    c->map[target] = values[0];
    return 1;
}

/* --- IF --------------------------------------------------------------------------------------- */

static void copy_arm(IrClone *c, const IrInst *inst, IrRegionId region)
{
    ir_clone_insts(c, region);
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue result = inst->result_first + i;
        if (!is_live(c, result))
            continue;
        ValueList list = {0};
        carry(c, result, ir_yield_args(c->from, region)[i], &list);
        receive(c, result, result, list.data);
    }
}

static bool arms_are_empty(const IrClone *c, const IrInst *inst)
{
    for (uint32_t i = 0; i < 2; ++i) {
        const IrRegion *r = ir_region(c->from, inst->region_first + i);
        if (r->first != r->last)
            return false;
    }
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (is_live(c, inst->result_first + i) &&
            ir_is_array(ir_type(c->from, inst->result_first + i)))
            return false;
    return true;
}

static void copy_as_select(IrClone *c, const IrInst *inst, IrValue cond)
{
    const IrValue *x = ir_yield_args(c->from, inst->region_first);
    const IrValue *y = ir_yield_args(c->from, inst->region_first + 1);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (is_live(c, inst->result_first + i))
            c->map[inst->result_first + i] =
                ir_build_select(c->to, cond, c->map[x[i]], c->map[y[i]]);
}

static void collect_yields(IrClone *c, const IrInst *inst, IrRegionId region, uint32_t lead,
                           ValueList *list)
{
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (is_live(c, inst->result_first + i))
            carry(c, inst->result_first + i, ir_yield_args(c->from, region)[i + lead], list);
}

static void copy_if(IrClone *c, const IrInst *inst)
{
    ASSERT(inst->region_count == 2 && c->map[ir_args(c->from, inst)[0]]);
    IrValue cond = c->map[ir_args(c->from, inst)[0]];
    IrRegionId then_region = inst->region_first, else_region = inst->region_first + 1;
    bool known;
    if (ir_is_const_bool(c->to, cond, &known)) {
        copy_arm(c, inst, known ? then_region : else_region);
        return;
    }
    if (!carrier(c) && arms_are_empty(c, inst)) {
        copy_as_select(c, inst, cond);
        return;
    }
    ValueList then_values = {0}, else_values = {0};
    ir_if_begin(c->to, cond);
    ir_clone_insts(c, then_region);
    collect_yields(c, inst, then_region, 0, &then_values);
    ir_if_else(c->to, then_values.data, then_values.count);
    ir_clone_insts(c, else_region);
    collect_yields(c, inst, else_region, 0, &else_values);
    CHECK(then_values.count == else_values.count);
    ir_build_span(c->to, inst->span);
    IrValue *results = ARENA_ARRAY(c->module->arena, IrValue, else_values.count);
    ir_if_end(c->to, else_values.data, else_values.count, results);
    for (uint32_t i = 0, at = 0; i < inst->result_count; ++i)
        if (is_live(c, inst->result_first + i))
            at += receive(c, inst->result_first + i, inst->result_first + i, results + at);
}

/* --- LOOP ------------------------------------------------------------------------------------- */

/* Returns whether the body passes a state on without a change. */
static bool is_invariant(const IrClone *c, const IrInst *inst, uint32_t state)
{
    IrRegionId body = inst->region_first;
    return ir_yield_args(c->from, body)[state + 1] == ir_region(c->from, body)->param_first + state;
}

static bool never_repeats(const IrClone *c, const IrInst *inst)
{
    ASSERT(inst->op == IR_LOOP && inst->region_count == 1);
    IrValue go_on = ir_yield_args(c->from, inst->region_first)[0];
    const IrInst *def = ir_inst(c->from, c->from->values.data[go_on].def);
    return def->op == IR_CONST_BOOL && def->imm == 0;
}

static void copy_body_once(IrClone *c, const IrInst *inst)
{
    IrRegionId body = inst->region_first;
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue result = inst->result_first + i, param = ir_region(c->from, body)->param_first + i;
        IrValue init = ir_args(c->from, inst)[i];
        if (!is_live(c, param))
            continue;
        ValueList list = {0};
        carry(c, result, init, &list);
        receive(c, result, param, list.data);
    }
    ir_clone_insts(c, body);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        if (!is_live(c, inst->result_first + i))
            continue;
        ValueList list = {0};
        carry(c, inst->result_first + i, ir_yield_args(c->from, body)[i + 1], &list);
        receive(c, inst->result_first + i, inst->result_first + i, list.data);
    }
}

/* A state is kept if the loop reads it or its last value is live. */
static bool keeps_state(const IrClone *c, const IrInst *inst, uint32_t state)
{
    IrValue param = ir_region(c->from, inst->region_first)->param_first + state;
    return is_live(c, inst->result_first + state) || is_live(c, param);
}

static void carry_init(IrClone *c, const IrInst *inst, uint32_t state, ValueList *list)
{
    IrValue param = ir_region(c->from, inst->region_first)->param_first + state;
    IrValue init = ir_args(c->from, inst)[state];
    if (carrier(c) || c->map[init])
        carry(c, inst->result_first + state, init, list);
    else /* the body overwrites the state before it reads it */
        array_push(c->module->arena, list, ir_build_zero(c->to, ir_type(c->from, param)));
}

static void copy_loop(IrClone *c, const IrInst *inst)
{
    Arena *arena = c->module->arena;
    IrRegionId body = inst->region_first;
    IrValue param_first = ir_region(c->from, body)->param_first;
    if (never_repeats(c, inst)) {
        copy_body_once(c, inst);
        return;
    }
    ValueList init = {0}, next = {0};
    uint8_t *kept = ARENA_ARRAY(arena, uint8_t, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue result = inst->result_first + i;
        if (!keeps_state(c, inst, i))
            continue;
        if (is_invariant(c, inst, i)) {
            ValueList list = {0};
            carry_init(c, inst, i, &list);
            receive(c, result, param_first + i, list.data);
            receive(c, result, result, list.data);
            continue;
        }
        kept[i] = 1;
        carry_init(c, inst, i, &init);
    }
    IrValue *state = ARENA_ARRAY(arena, IrValue, init.count);
    ir_loop_begin(c->to, inst->site, init.data, init.count, state);
    for (uint32_t i = 0, at = 0; i < inst->arg_count; ++i)
        if (kept[i])
            at += receive(c, inst->result_first + i, param_first + i, state + at);
    ir_clone_insts(c, body);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (kept[i])
            carry(c, inst->result_first + i, ir_yield_args(c->from, body)[i + 1], &next);
    CHECK(init.count == next.count);
    ir_build_span(c->to, inst->span);
    IrValue *results = ARENA_ARRAY(arena, IrValue, next.count);
    ir_loop_end(c->to, c->map[ir_yield_args(c->from, body)[0]], next.data, next.count, results);
    for (uint32_t i = 0, at = 0; i < inst->arg_count; ++i)
        if (kept[i])
            at += receive(c, inst->result_first + i, inst->result_first + i, results + at);
}

/* --- the walk --------------------------------------------------------------------------------- */

void ir_clone_copy(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    if (inst->op == IR_IF) {
        copy_if(c, inst);
        return;
    }
    if (inst->op == IR_LOOP) {
        copy_loop(c, inst);
        return;
    }
    IrValue small_args[IR_CLONE_SMALL], small_results[IR_CLONE_SMALL];
    IrType small_types[IR_CLONE_SMALL];
    bool is_small = inst->result_count <= IR_CLONE_SMALL;
    Arena *arena = c->module->arena;
    IrType *types = is_small ? small_types : ARENA_ARRAY(arena, IrType, inst->result_count);
    IrValue *results = is_small ? small_results : ARENA_ARRAY(arena, IrValue, inst->result_count);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        types[i] = ir_type(c->from, inst->result_first + i);
    ir_build_inst(c->to,
                  &(IrNewInst){.op = (IrOp)inst->op,
                               .site = inst->site,
                               .imm = inst->imm,
                               .args = ir_clone_args(c, inst, small_args),
                               .types = types,
                               .arg_count = inst->arg_count,
                               .result_count = inst->result_count},
                  results);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        c->map[inst->result_first + i] = results[i];
}

static bool has_live_result(const IrClone *c, const IrInst *inst)
{
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (is_live(c, inst->result_first + i))
            return true;
    return inst->result_count == 0 && !c->live;
}

void ir_clone_insts(IrClone *c, IrRegionId region)
{
    const IrRegion *r = ir_region(c->from, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(c->from, id)->next) {
        const IrInst *inst = ir_inst(c->from, id);
        if (!has_live_result(c, inst))
            continue;
        ir_build_span(c->to, inst->span);
        if (!(c->hooks && c->hooks->visit && c->hooks->visit(c, id)))
            ir_clone_copy(c, id);
    }
}

void ir_clone_body(IrClone *c)
{
    const IrFunc *f = c->from;
    IrValue small[IR_CLONE_SMALL];
    const IrInst *yield = ir_inst(f, ir_region(f, f->body)->last);
    ir_clone_insts(c, f->body);
    ir_build_end(c->to, ir_clone_args(c, yield, small), yield->arg_count);
}

void ir_clone_inline(IrClone *c, IrInstId call, const IrFunc *callee, const uint8_t *live)
{
    const IrInst *inst = ir_inst(c->from, call);
    ASSERT(inst->op == IR_CALL);
    IrClone inner = ir_clone_begin(c->module, callee, c->to, c->hooks, c->data);
    inner.live = live;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        inner.map[ir_region(callee, callee->body)->param_first + i] =
            c->map[ir_args(c->from, inst)[i]];
    ir_clone_insts(&inner, callee->body);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        c->map[inst->result_first + i] = inner.map[ir_yield_args(callee, callee->body)[i]];
}
