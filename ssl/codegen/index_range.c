/* One walk with intervals of ints. A state of a loop is bounded if it is a counter:
 *
 *   loop (i): c = i < n; j = if c then i + step else i; go on while c, with j
 *   loop (i): j = i + step; go on while j < n, with j
 *
 * or the same downwards, with a constant step. In the arm that i < n leads to, i is less than n. */
#include "ssl/codegen/index_range.h"
#include "ssl/ir/ir_clone.h"

typedef struct Interval {
    int64_t low, high;
} Interval;

static const Interval any_int = {INT32_MIN, INT32_MAX};

typedef struct Walk {
    const IrFunc *func;
    Interval *range; /* [values.count] */
    bool *is_in_range;
} Walk;

/* What wraps may be anything. */
static Interval interval(int64_t low, int64_t high)
{
    return low < INT32_MIN || high > INT32_MAX ? any_int : (Interval){low, high};
}

static Interval hull(Interval a, Interval b)
{
    return (Interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static Interval product(Interval a, Interval b)
{
    const int64_t x[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    Interval r = {x[0], x[0]};
    for (uint32_t i = 1; i < 4; ++i)
        r = hull(r, (Interval){x[i], x[i]});
    return interval(r.low, r.high);
}

static const IrInst *def_of(const Walk *w, IrValue v)
{
    return ir_inst(w->func, w->func->values.data[v].def);
}

static Interval range_of(const Walk *w, const IrInst *inst)
{
    const IrValue *args = ir_args(w->func, inst);
    Interval x[3] = {any_int, any_int, any_int};
    for (uint32_t i = 0; i < inst->arg_count && i < 3; ++i)
        x[i] = w->range[args[i]];
    switch ((IrOp)inst->op) {
    case IR_CONST_INT: {
        int64_t value = (int32_t)(uint32_t)inst->imm;
        return (Interval){value, value};
    }
    case IR_IADD:
        return interval(x[0].low + x[1].low, x[0].high + x[1].high);
    case IR_ISUB:
        return interval(x[0].low - x[1].high, x[0].high - x[1].low);
    case IR_INEG:
        return interval(-x[0].high, -x[0].low);
    case IR_IMUL:
        return product(x[0], x[1]);
    case IR_IMIN:
        return (Interval){x[0].low < x[1].low ? x[0].low : x[1].low,
                          x[0].high < x[1].high ? x[0].high : x[1].high};
    case IR_IMAX:
        return (Interval){x[0].low > x[1].low ? x[0].low : x[1].low,
                          x[0].high > x[1].high ? x[0].high : x[1].high};
    case IR_IAND: /* with a mask that is not negative */
        if (x[1].low >= 0)
            return (Interval){0, x[1].high};
        return x[0].low >= 0 ? (Interval){0, x[0].high} : any_int;
    case IR_IMOD:
        return x[0].low >= 0 && x[1].low > 0 ? (Interval){0, x[1].high - 1} : any_int;
    case IR_B2I:
        return (Interval){0, 1};
    case IR_SELECT:
        return hull(x[1], x[2]);
    case IR_BOUNDS:
        return (Interval){0, (int64_t)inst->imm - 1};
    default:
        return any_int;
    }
}

/* --- counters ------------------------------------------------------------------------------------- */

/* What a condition says of a value: that it is at most `last`, or at least, where it is a bound from below. */
typedef struct Limit {
    int64_t last;
    bool is_upper;
} Limit;

/* What `condition` says of `value`, which it may compare with something. */
static bool read_limit(const Walk *w, IrValue condition, IrValue value, Limit *out)
{
    if (!w->func->values.data[condition].def)
        return false;
    const IrInst *inst = def_of(w, condition);
    const IrValue *args = ir_args(w->func, inst);
    bool is_less = inst->op == IR_ILT || inst->op == IR_ILE;
    bool is_strict = inst->op == IR_ILT || inst->op == IR_IGT;
    if (!is_less && inst->op != IR_IGT && inst->op != IR_IGE)
        return false;
    uint32_t side = args[0] != value;
    if (args[side] != value)
        return false;
    Interval bound = w->range[args[1 - side]];
    out->is_upper = is_less == (side == 0);
    out->last = out->is_upper ? bound.high - is_strict : bound.low + is_strict;
    return true;
}

/* The constant that `v` is more than `from`; 0: it is no such sum. */
static int64_t step_of(const Walk *w, IrValue v, IrValue from)
{
    if (!w->func->values.data[v].def)
        return 0;
    const IrInst *inst = def_of(w, v);
    const IrValue *args = ir_args(w->func, inst);
    if (inst->op != IR_IADD && inst->op != IR_ISUB)
        return 0;
    IrValue other = args[0] == from ? args[1] : args[0];
    if ((args[0] != from && (args[1] != from || inst->op == IR_ISUB)) ||
        w->range[other].low != w->range[other].high)
        return 0;
    return inst->op == IR_ISUB ? -w->range[other].low : w->range[other].low;
}

/* The interval of a state that goes by `step` while the limit holds: for `init`, or for what has been asked for. */
static Interval counted_range(Interval init, Limit limit, int64_t step, bool is_asked_before)
{
    int64_t bound = limit.is_upper ? init.high : init.low, reached = limit.last;
    if (step == 0 || (step > 0) != limit.is_upper)
        return any_int;
    if (!is_asked_before && (bound > reached) == limit.is_upper)
        reached = bound; /* from where the first step goes */
    if (reached + step < INT32_MIN || reached + step > INT32_MAX)
        return any_int; /* the counter may wrap */
    int64_t last = is_asked_before ? limit.last + step : limit.last;
    return hull(init, (Interval){last, last});
}

static Interval state_range(const Walk *w, const IrInst *loop, uint32_t state)
{
    const IrFunc *f = w->func;
    IrValue param = ir_region(f, loop->region_first)->param_first + state;
    const IrValue *yielded = ir_yield_args(f, loop->region_first);
    IrValue go_on = yielded[0], next = yielded[1 + state];
    Limit limit;
    if (ir_type(f, param) != ir_scalar(IR_INT) || !f->values.data[next].def)
        return any_int;
    const IrInst *inst = def_of(w, next);
    bool is_asked_before = inst->op == IR_IF && ir_args(f, inst)[0] == go_on;
    if (is_asked_before) {
        uint32_t result = next - inst->result_first;
        if (ir_yield_args(f, inst->region_first + 1)[result] != param)
            return any_int;
        next = ir_yield_args(f, inst->region_first)[result];
    }
    if (!read_limit(w, go_on, is_asked_before ? param : next, &limit))
        return any_int;
    Interval init = w->range[ir_args(f, loop)[state]];
    return counted_range(init, limit, step_of(w, next, param), is_asked_before);
}

/* --- the walk -------------------------------------------------------------------------------------- */

static void walk_region(Walk *w, IrRegionId region);

/* The interval of a value where a condition that says something of it holds. */
static Interval limited(Interval x, Limit limit)
{
    if (limit.last < x.low || limit.last > x.high)
        return x;
    return limit.is_upper ? (Interval){x.low, limit.last} : (Interval){limit.last, x.high};
}

static void walk_if(Walk *w, const IrInst *inst)
{
    IrValue condition = ir_args(w->func, inst)[0], compared[2] = {0};
    IrInstId def = w->func->values.data[condition].def;
    const IrInst *comparison = def ? ir_inst(w->func, def) : NULL;
    for (uint32_t i = 0; i < 2 && comparison && comparison->arg_count == 2; ++i)
        compared[i] = ir_args(w->func, comparison)[i];
    Interval before[2] = {w->range[compared[0]], w->range[compared[1]]};
    Limit limit[2];
    bool is_limited[2];
    for (uint32_t i = 0; i < 2; ++i)
        is_limited[i] = compared[i] && read_limit(w, condition, compared[i], &limit[i]);
    for (uint32_t i = 0; i < 2; ++i)
        if (is_limited[i])
            w->range[compared[i]] = limited(before[i], limit[i]);
    walk_region(w, inst->region_first);
    for (uint32_t i = 0; i < 2; ++i)
        w->range[compared[i]] = before[i];
    walk_region(w, inst->region_first + 1);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        w->range[inst->result_first + i] =
            hull(w->range[ir_yield_args(w->func, inst->region_first)[i]],
                 w->range[ir_yield_args(w->func, inst->region_first + 1)[i]]);
}

static void walk_loop(Walk *w, const IrInst *inst)
{
    const IrRegion *body = ir_region(w->func, inst->region_first);
    for (uint32_t i = 0; i < body->param_count; ++i)
        w->range[body->param_first + i] = state_range(w, inst, i);
    walk_region(w, inst->region_first);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        w->range[inst->result_first + i] =
            w->range[ir_yield_args(w->func, inst->region_first)[1 + i]];
}

static void walk_region(Walk *w, IrRegionId region)
{
    const IrRegion *r = ir_region(w->func, region);
    for (IrInstId id = r->first; id; id = ir_inst(w->func, id)->next) {
        const IrInst *inst = ir_inst(w->func, id);
        if (inst->op == IR_IF) {
            walk_if(w, inst);
        } else if (inst->op == IR_LOOP) {
            walk_loop(w, inst);
        } else if (inst->result_count == 1) {
            w->range[inst->result_first] = range_of(w, inst);
            if (inst->op != IR_BOUNDS)
                continue;
            Interval index = w->range[ir_args(w->func, inst)[0]];
            w->is_in_range[id] = index.low >= 0 && index.high < (int64_t)inst->imm;
            if (w->is_in_range[id])
                w->range[inst->result_first] = index;
        }
    }
}

bool *index_range_find(const IrFunc *f, Arena *arena)
{
    Walk w = {f, ARENA_ARRAY(arena, Interval, f->values.count),
              ARENA_ARRAY(arena, bool, f->insts.count)};
    for (IrValue v = 0; v < f->values.count; ++v)
        w.range[v] = any_int;
    walk_region(&w, f->body);
    return w.is_in_range;
}
