/* The copy of a [Filtered] function. A choice by a bool with a coverage becomes a mix; an IF becomes one IF for each arm, entered
 * if the point takes the arm, or a part of its footprint does. */
#include "ssl/passes/filter.h"
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/report.h"
#include <float.h>
#include <string.h>

typedef ARRAY(IrValue) ValueList;

static bool is_bool(const Filter *w, IrValue v)
{
    return ir_type(w->f, v) == ir_scalar(IR_BOOL);
}

static const IrInst *definition(const Filter *w, IrValue v)
{
    return ir_inst(w->f, w->f->values.data[v].def); /* [0]: op 0, of a region's parameter */
}

FilterLibrary filter_library(const Filter *w, const IrInst *call)
{
    FilterLibrary name = LIBRARY_FRACT;
    while (name < LIBRARY_NONE && (call->op != IR_CALL || w->library[name] != call->imm))
        name = (FilterLibrary)(name + 1);
    return name;
}

static void find_library(Filter *w)
{
    static const char *const names[] = {"fract", "mod", "step"};
    for (IrFuncId id = 1; id < w->module->funcs.count; ++id) {
        const IrFunc *f = ir_func(w->module, id);
        for (size_t i = 0; f && f->is_library && i < SORT_COUNT_OF(names); ++i)
            if (strcmp(f->name, names[i]) == 0 && f->result_count == 1)
                w->library[i] = id;
    }
}

bool filter_is_step(const Filter *w, const IrInst *inst)
{
    switch (inst->op) {
    case IR_FLOOR:
    case IR_CEIL:
    case IR_ROUND:
    case IR_TRUNC:
    case IR_FMOD:
    case IR_F2I:
    case IR_FEQ:
    case IR_FNE:
    case IR_FLT:
    case IR_FLE:
    case IR_FGT:
    case IR_FGE:
        return true;
    default:
        return filter_library(w, inst) != LIBRARY_NONE;
    }
}

Operand filter_operand(const Filter *w, IrValue v)
{
    return (Operand){w->places[v] ? w->places[v] : w->clone->map[v], &w->shapes[v]};
}

IrValue filter_build(Filter *w, uint32_t op, const Operand *args, uint32_t count)
{
    IrValue values[3], result;
    ASSERT(count >= 1 && count <= 3);
    for (uint32_t i = 0; i < count; ++i)
        values[i] = args[i].v;
    if (op >= IR_OP_COUNT) {
        const IrType type = ir_scalar(IR_FLOAT);
        ir_build_call(w->b, w->library[op - IR_OP_COUNT], values, count, &type, 1, &result);
        return result;
    }
    return count == 1   ? ir_build1(w->b, (IrOp)op, values[0])
           : count == 2 ? ir_build2(w->b, (IrOp)op, values[0], values[1])
                        : ir_build3(w->b, (IrOp)op, values[0], values[1], values[2]);
}

/* --- what is looked at --------------------------------------------------------------------------- */

/* Whether a choice of a value of the type can be mixed. */
static bool can_mix(IrType type)
{
    return type == ir_scalar(IR_FLOAT) || type == ir_scalar(IR_CLOSURE);
}

static void need(Filter *w, IrValue v)
{
    if (!is_bool(w, v) || w->is_needed[v])
        return;
    w->is_needed[v] = 1;
    const IrInst *inst = definition(w, v);
    switch (inst->op) {
    case IR_BNOT:
    case IR_BAND:
    case IR_BOR:
    case IR_BXOR:
    case IR_SELECT:
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            need(w, ir_args(w->f, inst)[i]);
        break;
    case IR_IF:
        need(w, ir_args(w->f, inst)[0]);
        for (uint32_t i = 0; i < 2; ++i)
            need(w, ir_yield_args(w->f, inst->region_first + i)[v - inst->result_first]);
        break;
    default:
        break;
    }
}

/* Marks the bools that choose between floats or closures, or become floats. */
static void find_needed(Filter *w)
{
    for (IrInstId id = 1; id < w->f->insts.count; ++id) {
        const IrInst *inst = ir_inst(w->f, id);
        const IrValue *args = ir_args(w->f, inst);
        const IrInst *from = inst->op == IR_I2F ? definition(w, args[0]) : NULL;
        if (from && (from->op == IR_B2I || from->op == IR_SELECT))
            need(w, ir_args(w->f, from)[0]);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            if ((inst->op == IR_SELECT || inst->op == IR_IF) &&
                can_mix(ir_type(w->f, inst->result_first + i)))
                need(w, args[0]);
    }
}

/* Marks an argument; returns whether that is new. */
static bool mark_place(Filter *w, IrValue v)
{
    IrKind kind = ir_kind(ir_type(w->f, v));
    if (w->is_place[v] || (kind != IR_FLOAT && kind != IR_INT))
        return false;
    w->is_place[v] = 1;
    return true;
}

/* Marks what the results of an IF or a LOOP come from. */
static bool mark_yields(Filter *w, const IrInst *inst, uint32_t i)
{
    bool is_loop = inst->op == IR_LOOP, has_new = false;
    for (uint32_t r = 0; r < inst->region_count; ++r)
        if (w->is_place[inst->result_first + i])
            has_new |= mark_place(w, ir_yield_args(w->f, inst->region_first + r)[i + is_loop]);
    return has_new;
}

/* Marks what leads to a comparison or a rounding. */
static void find_places(Filter *w)
{
    bool has_new = true;
    while (has_new) {
        has_new = false;
        for (IrInstId id = w->f->insts.count - 1; id > 0; --id) {
            const IrInst *inst = ir_inst(w->f, id);
            bool is_read = filter_is_step(w, inst) || inst->op == IR_TEX_AUTO || inst->op == IR_TEX;
            for (uint32_t i = 0; i < inst->result_count; ++i) {
                is_read = is_read || (w->is_place[inst->result_first + i] && !inst->region_count);
                has_new |= inst->region_count && mark_yields(w, inst, i);
            }
            for (uint32_t i = 0; i < inst->arg_count && is_read; ++i)
                has_new |= mark_place(w, ir_args(w->f, inst)[i]);
        }
    }
}

static bool any_varies(const Filter *w, const IrValue *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (w->varies[values[i]])
            return true;
    return false;
}

/* Notes of an instruction's results whether they may differ from point to point. */
static void find_varying(Filter *w, const IrInst *inst)
{
    bool all = inst->op == IR_GLOBAL || inst->op == IR_ATTRIBUTE || inst->op == IR_CALL ||
               any_varies(w, ir_args(w->f, inst), inst->arg_count);
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        bool varies = all;
        for (uint32_t r = 0; r < inst->region_count; ++r) {
            const IrValue *yields = ir_yield_args(w->f, inst->region_first + r);
            bool is_loop = inst->op == IR_LOOP;
            varies = varies || w->varies[yields[i + is_loop]] || (is_loop && w->varies[yields[0]]);
        }
        w->varies[inst->result_first + i] = varies;
    }
}

/* --- notes --------------------------------------------------------------------------------------- */

static void note(Filter *w, Span span, const char *rule, bool is_filtered)
{
    array_push(
        w->module->arena, &w->module->filter_notes,
        ((IrFilterNote){
            .function = w->f->name, .span = span, .rule = rule, .is_filtered = is_filtered}));
}

/* --- coverages of bools -------------------------------------------------------------------------- */

/* Whether x < y asks for the parity of x (1) or of y (2), which is 0 or 1. */
static uint32_t parity_side(Filter *w, Operand x, Operand y)
{
    float limit;
    if (x.shape->kind == SHAPE_ODD && !x.shape->has_sign && ir_is_const_float(w->b, y.v, &limit) &&
        limit > 0.0f && limit <= 1.0f)
        return 1;
    if (y.shape->kind == SHAPE_ODD && !y.shape->has_sign && ir_is_const_float(w->b, x.v, &limit) &&
        limit >= 0.0f && limit < 1.0f)
        return 2;
    return 0;
}

static Coverage compare(Filter *w, const IrInst *inst, bool is_turned)
{
    const IrValue *args = ir_args(w->f, inst);
    Operand x = filter_operand(w, args[is_turned]), y = filter_operand(w, args[!is_turned]);
    uint32_t side = parity_side(w, x, y);
    if (side > 0) {
        note(w, inst->span, "as the parity of whole numbers", true);
        return side == 1 ? filter_not(w, filter_odd(w, x.shape)) : filter_odd(w, y.shape);
    }
    const char *rule;
    Coverage made = filter_less(w, x, y, w->clone->map[inst->result_first], &rule);
    note(w, inst->span, rule, made.k != 0);
    return made;
}

/* x == y and x != y: of what is odd or even. */
static Coverage equal(Filter *w, const IrInst *inst, bool is_not)
{
    const IrValue *args = ir_args(w->f, inst);
    for (uint32_t i = 0; i < 2; ++i) {
        const Shape *x = &w->shapes[args[i]], *y = &w->shapes[args[1 - i]];
        IrValue other = w->clone->map[args[1 - i]];
        int32_t whole;
        float number;
        bool is_zero = (ir_is_const_int(w->b, other, &whole) && whole == 0) ||
                       (ir_is_const_float(w->b, other, &number) && number == 0.0f);
        bool is_one = (ir_is_const_int(w->b, other, &whole) && whole == 1) ||
                      (ir_is_const_float(w->b, other, &number) && number == 1.0f);
        if (x->kind != SHAPE_ODD)
            continue;
        if (!is_zero && (!is_one || x->has_sign) &&
            (y->kind != SHAPE_ODD || x->has_sign || y->has_sign))
            continue;
        note(w, inst->span, "as the parity of whole numbers", true);
        Coverage odd = filter_odd(w, x);
        if (!is_zero && !is_one) {
            Coverage differ = filter_xor(w, odd, filter_odd(w, y));
            return is_not ? differ : filter_not(w, differ);
        }
        return is_zero == is_not ? odd : filter_not(w, odd);
    }
    note(w, inst->span, "that two numbers are equal has no width", false);
    return (Coverage){0};
}

/* The coverage of a bool, or 1 or 0. */
static Coverage of_value(Filter *w, IrValue v)
{
    return w->coverages[v].k ? w->coverages[v] : filter_hard(w, w->clone->map[v]);
}

static Coverage of_logic(Filter *w, const IrInst *inst)
{
    const IrValue *args = ir_args(w->f, inst);
    bool has_any = false;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        has_any = has_any || w->coverages[args[i]].k;
    if (!has_any)
        return (Coverage){0};
    Coverage x = of_value(w, args[0]);
    if (inst->op == IR_BNOT)
        return filter_not(w, x);
    Coverage y = of_value(w, args[1]);
    switch (inst->op) {
    case IR_BAND:
        return filter_and(w, x, y);
    case IR_BOR:
        return filter_or(w, x, y);
    case IR_BXOR:
        return filter_xor(w, x, y);
    default:
        return filter_choice(w, x, y, of_value(w, args[2]));
    }
}

static Coverage cover(Filter *w, const IrInst *inst)
{
    if (!any_varies(w, ir_args(w->f, inst), inst->arg_count))
        return (Coverage){0};
    switch (inst->op) {
    case IR_FLT:
    case IR_FLE:
        return compare(w, inst, false);
    case IR_FGT:
    case IR_FGE:
        return compare(w, inst, true);
    case IR_FEQ:
    case IR_IEQ:
        return equal(w, inst, false);
    case IR_FNE:
    case IR_INE:
        return equal(w, inst, true);
    case IR_BNOT:
    case IR_BAND:
    case IR_BOR:
    case IR_BXOR:
    case IR_SELECT:
        return of_logic(w, inst);
    default:
        return (Coverage){0};
    }
}

/* --- mixes --------------------------------------------------------------------------------------- */

/* The condition without BNOT. */
static IrValue root_of(const Filter *w, IrValue cond, bool *out_is_turned)
{
    *out_is_turned = false;
    while (definition(w, cond)->op == IR_BNOT) {
        cond = ir_args(w->f, definition(w, cond))[0];
        *out_is_turned = !*out_is_turned;
    }
    return cond;
}

/* What v is where the condition holds, or does not: of what the same condition chose before, that choice. */
static IrValue under(const Filter *w, IrValue v, IrValue cond, bool holds)
{
    bool is_turned;
    IrValue root = root_of(w, cond, &is_turned);
    const FilterMix *mix = &w->mixes[v];
    if (mix->cond != root)
        return w->clone->map[v];
    return holds != is_turned ? mix->if_true : mix->if_false;
}

static void note_mix(Filter *w, IrValue v, IrValue cond, IrValue if_true, IrValue if_false)
{
    bool is_turned;
    IrValue root = root_of(w, cond, &is_turned);
    w->mixes[v] =
        is_turned ? (FilterMix){root, if_false, if_true} : (FilterMix){root, if_true, if_false};
}

static IrValue mix(Filter *w, const Coverage *c, IrValue plain, IrValue x, IrValue y)
{
    IrBuilder *b = w->b;
    ASSERT(c->k && c->is_soft);
    if (x == y)
        return x;
    if (ir_build_type(b, x) == ir_scalar(IR_CLOSURE)) {
        IrValue part = c->k, rest = ir_sub(b, ir_const_float(b, 1.0f), part);
        return ir_build2(b, IR_CLOSURE_ADD, ir_build_closure_scale(b, x, part, part, part),
                         ir_build_closure_scale(b, y, rest, rest, rest));
    }
    IrValue mean = ir_add(b, y, ir_mul(b, c->k, ir_sub(b, x, y)));
    IrValue is_finite =
        ir_build2(b, IR_FLE, ir_build1(b, IR_FABS, mean), ir_const_float(b, FLT_MAX));
    return ir_build_select(b, ir_build2(b, IR_BAND, c->is_soft, is_finite), mean,
                           ir_build_select(b, plain, x, y));
}

static bool is_never_soft(Filter *w, const Coverage *c)
{
    bool known;
    return !c->k || (ir_is_const_bool(w->b, c->is_soft, &known) && !known);
}

static void mix_select(Filter *w, const IrInst *inst)
{
    const IrValue *args = ir_args(w->f, inst);
    IrValue v = inst->result_first;
    const Coverage *c = &w->coverages[args[0]];
    if (is_never_soft(w, c))
        return;
    if (ir_type(w->f, v) == ir_scalar(IR_INT))
        w->shapes[v] =
            filter_choice_shape(w, c, filter_operand(w, args[1]), filter_operand(w, args[2]));
    if (!can_mix(ir_type(w->f, v)))
        return;
    IrValue x = under(w, args[1], args[0], true), y = under(w, args[2], args[0], false);
    w->places[v] = w->clone->map[v];
    w->shapes[v] =
        filter_choice_shape(w, c, filter_operand(w, args[1]), filter_operand(w, args[2]));
    w->clone->map[v] = mix(w, c, w->clone->map[args[0]], x, y);
    note_mix(w, v, args[0], x, y);
}

/* Returns the shape of a number that is 1 where the condition holds, else 0. */
static Shape of_bool(Filter *w, const Coverage *c)
{
    static const Shape smooth;
    return filter_choice_shape(w, c, (Operand){ir_const_float(w->b, 1.0f), &smooth},
                               (Operand){ir_const_float(w->b, 0.0f), &smooth});
}

/* float(cond ? x : y) of whole numbers. */
static void mix_whole(Filter *w, IrValue v, const IrInst *select)
{
    const IrValue *args = ir_args(w->f, select);
    const Coverage *c = &w->coverages[args[0]];
    if (is_never_soft(w, c))
        return;
    IrValue x = ir_build1(w->b, IR_I2F, w->clone->map[args[1]]);
    IrValue y = ir_build1(w->b, IR_I2F, w->clone->map[args[2]]);
    w->places[v] = w->clone->map[v];
    w->clone->map[v] = mix(w, c, w->clone->map[args[0]], x, y);
    note_mix(w, v, args[0], x, y);
}

/* float(bool), and float of what is chosen or odd. */
static void mix_number(Filter *w, const IrInst *inst)
{
    IrValue v = inst->result_first, arg = ir_args(w->f, inst)[0];
    const IrInst *from = definition(w, arg);
    Coverage c = {0};
    if (from->op == IR_SELECT) {
        mix_whole(w, v, from);
        return;
    }
    if (from->op == IR_B2I)
        c = w->coverages[ir_args(w->f, from)[0]];
    else if (w->shapes[arg].kind == SHAPE_ODD && !w->shapes[arg].has_sign) {
        c = filter_odd(w, &w->shapes[arg]);
        note(w, inst->span, "as the parity of whole numbers", true);
    }
    if (is_never_soft(w, &c))
        return;
    w->places[v] = w->clone->map[v];
    if (from->op == IR_B2I)
        w->shapes[v] = of_bool(w, &c);
    w->clone->map[v] = ir_build_select(w->b, c.is_soft, c.k, w->clone->map[v]);
}

/* step(edge, x) of the library. */
static void mix_step(Filter *w, const IrInst *inst)
{
    const IrValue *args = ir_args(w->f, inst);
    IrValue v = inst->result_first;
    const char *rule;
    Operand edge = filter_operand(w, args[0]), x = filter_operand(w, args[1]);
    IrValue less = ir_build2(w->b, IR_FLT, x.v, edge.v);
    Coverage c = filter_less(w, x, edge, less, &rule);
    note(w, inst->span, rule, c.k != 0);
    if (is_never_soft(w, &c))
        return;
    c = filter_not(w, c);
    w->places[v] = w->clone->map[v];
    w->shapes[v] = of_bool(w, &c);
    w->clone->map[v] = ir_build_select(w->b, c.is_soft, c.k, w->clone->map[v]);
}

/* --- IF ------------------------------------------------------------------------------------------ */

enum { PARTS = 5 }; /* of a coverage that leaves an arm */

/* Copies an arm; what leaves it: each result, of places what is not mixed, and of a needed bool the parts of its coverage. */
static ValueList copy_arm(Filter *w, const IrInst *inst, uint32_t arm, bool *has_coverage,
                          bool *has_edge)
{
    Arena *arena = w->module->arena;
    IrRegionId region = inst->region_first + arm;
    IrValue cond = ir_args(w->f, inst)[0];
    ValueList out = {0};
    ir_clone_insts(w->clone, region);
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue v = ir_yield_args(w->f, region)[i];
        array_push(arena, &out, under(w, v, cond, arm == 0));
        if (w->is_place[inst->result_first + i])
            array_push(arena, &out, filter_operand(w, v).v);
        if (!w->is_needed[inst->result_first + i])
            continue;
        const Coverage c = of_value(w, v);
        has_coverage[i] = has_coverage[i] || w->coverages[v].k;
        has_edge[i] = c.width != 0;
        const IrValue none = ir_const_float(w->b, 0.0f);
        const IrValue parts[PARTS] = {c.k, c.is_soft, c.width ? c.dx : none, c.width ? c.dy : none,
                                      c.width ? c.width : none};
        for (uint32_t k = 0; k < PARTS; ++k)
            array_push(arena, &out, parts[k]);
    }
    return out;
}

static ValueList zeros_like(Filter *w, const ValueList *values)
{
    ValueList out = {0};
    for (uint32_t i = 0; i < values->count; ++i)
        array_push(w->module->arena, &out,
                   ir_build_zero(w->b, ir_build_type(w->b, values->data[i])));
    return out;
}

typedef struct Arms {
    ValueList given[2];
    bool *has_coverage, *has_edge[2]; /* [result] */
} Arms;

/* Runs each arm where a part of the footprint takes it. What an arm gives elsewhere is zero. */
static Arms run_both(Filter *w, const IrInst *inst, IrValue plain, IrValue soft)
{
    Arena *arena = w->module->arena;
    IrBuilder *b = w->b;
    Arms arms = {.has_coverage = ARENA_ARRAY(arena, bool, inst->result_count)};
    for (uint32_t arm = 0; arm < 2; ++arm) {
        IrValue taken = arm == 0 ? plain : ir_build1(b, IR_BNOT, plain);
        arms.has_edge[arm] = ARENA_ARRAY(arena, bool, inst->result_count);
        ir_if_begin(b, ir_build2(b, IR_BOR, taken, soft));
        ValueList values = copy_arm(w, inst, arm, arms.has_coverage, arms.has_edge[arm]);
        ir_if_else(b, values.data, values.count);
        ValueList zeros = zeros_like(w, &values);
        arms.given[arm].data = ARENA_ARRAY(arena, IrValue, values.count);
        arms.given[arm].count = values.count;
        ir_if_end(b, zeros.data, zeros.count, arms.given[arm].data);
    }
    return arms;
}

static Coverage take_coverage(const Arms *arms, uint32_t arm, uint32_t at, uint32_t result)
{
    ASSERT(at + PARTS <= arms->given[arm].count);
    const IrValue *v = arms->given[arm].data + at;
    Coverage c = {.k = v[0], .is_soft = v[1]};
    if (arms->has_edge[arm][result]) {
        c.dx = v[2];
        c.dy = v[3];
        c.width = v[4];
    }
    return c;
}

/* && and || are IFs with a constant in one arm. */
static Coverage join_coverages(Filter *w, const IrInst *inst, const Coverage *cond, uint32_t i,
                               Coverage x, Coverage y)
{
    const IrInst *first = definition(w, ir_yield_args(w->f, inst->region_first)[i]);
    const IrInst *second = definition(w, ir_yield_args(w->f, inst->region_first + 1)[i]);
    if (second->op == IR_CONST_BOOL && second->imm == 0)
        return filter_and(w, *cond, x);
    if (first->op == IR_CONST_BOOL && first->imm == 1)
        return filter_or(w, *cond, y);
    return filter_choice(w, *cond, x, y);
}

static IrValue choose(Filter *w, IrValue cond, IrValue x, IrValue y)
{
    IrValue result;
    if (!ir_is_array(ir_build_type(w->b, x)))
        return ir_build_select(w->b, cond, x, y);
    ir_if_begin(w->b, cond);
    ir_if_else(w->b, &x, 1);
    ir_if_end(w->b, &y, 1, &result);
    return result;
}

/* The shape that an arm's result has outside of the arm: what is known of its parts stays inside. */
static const Shape *shape_outside(const Filter *w, const IrInst *inst, uint32_t arm, uint32_t i)
{
    static const Shape smooth, jumps = {.kind = SHAPE_JUMPS, .why = "an if chose what is compared"};
    IrValue v = ir_yield_args(w->f, inst->region_first + arm)[i];
    return w->shapes[v].kind == SHAPE_SMOOTH ? &smooth : &jumps;
}

/* Replaces an IF whose condition has a coverage, or which gives a bool that may have one. */
static bool mix_if(Filter *w, const IrInst *inst)
{
    IrBuilder *b = w->b;
    IrValue *map = w->clone->map, cond = ir_args(w->f, inst)[0], plain = map[cond];
    bool known, is_asked = false;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        is_asked = is_asked || w->is_needed[inst->result_first + i] ||
                   (w->coverages[cond].k && can_mix(ir_type(w->f, inst->result_first + i)));
    if (!is_asked || ir_is_const_bool(b, plain, &known))
        return false;
    const Coverage c = of_value(w, cond);
    const Span span = inst->span;
    Arms arms = run_both(w, inst, plain, c.is_soft);
    ir_build_span(b, span);
    for (uint32_t i = 0, at = 0; i < inst->result_count; ++i) {
        IrValue v = inst->result_first + i;
        IrValue x = arms.given[0].data[at], y = arms.given[1].data[at];
        ++at;
        if (can_mix(ir_type(w->f, v))) {
            map[v] = mix(w, &c, plain, x, y);
            note_mix(w, v, cond, x, y);
        } else {
            map[v] = choose(w, plain, x, y);
        }
        if (w->is_place[v]) {
            const Operand then_place = {arms.given[0].data[at], shape_outside(w, inst, 0, i)};
            const Operand else_place = {arms.given[1].data[at], shape_outside(w, inst, 1, i)};
            ++at;
            w->places[v] = choose(w, plain, then_place.v, else_place.v);
            w->shapes[v] = w->coverages[cond].k ? filter_choice_shape(w, &c, then_place, else_place)
                                                : filter_if_shape(w, inst, i);
        }
        if (!w->is_needed[v])
            continue;
        Coverage then_part = take_coverage(&arms, 0, at, i);
        Coverage else_part = take_coverage(&arms, 1, at, i);
        at += PARTS;
        if (w->coverages[cond].k || arms.has_coverage[i])
            w->coverages[v] = join_coverages(w, inst, &c, i, then_part, else_part);
    }
    return true;
}

/* --- the copy ------------------------------------------------------------------------------------ */

/* Exchanges the copies of places that an instruction reads for what they are without being mixed, and back. */
static void swap_places(Filter *w, const IrInst *inst)
{
    bool reads_places = filter_is_step(w, inst) || inst->op == IR_TEX_AUTO || inst->op == IR_TEX;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        reads_places = reads_places || w->is_place[inst->result_first + i];
    for (uint32_t i = 0; i < inst->arg_count && reads_places && !inst->region_count; ++i) {
        IrValue v = ir_args(w->f, inst)[i], mixed = w->clone->map[v];
        bool is_repeated = false;
        for (uint32_t k = 0; k < i; ++k)
            is_repeated = is_repeated || ir_args(w->f, inst)[k] == v;
        if (w->places[v] && !is_repeated) {
            w->clone->map[v] = w->places[v];
            w->places[v] = mixed;
        }
    }
}

static bool visit(IrClone *clone, IrInstId id)
{
    Filter *w = clone->data;
    const IrInst *inst = ir_inst(w->f, id);
    if (inst->op == IR_LOOP) { /* inside, what it carries may differ */
        const IrRegion *body = ir_region(w->f, inst->region_first);
        for (uint32_t i = 0; i < body->param_count; ++i)
            w->varies[body->param_first + i] = 1;
    }
    if (inst->region_count) {
        bool is_mixed = inst->op == IR_IF && mix_if(w, inst);
        if (!is_mixed)
            ir_clone_copy(clone, id);
        find_varying(w, inst);
        if (!is_mixed)
            filter_find_shape(w, inst);
        return true;
    }
    swap_places(w, inst);
    ir_clone_copy(clone, id);
    swap_places(w, inst);
    find_varying(w, inst);
    filter_find_shape(w, inst);
    if (inst->result_count == 1 && w->is_needed[inst->result_first])
        w->coverages[inst->result_first] = cover(w, inst);
    if (inst->op == IR_SELECT)
        mix_select(w, inst);
    else if (inst->op == IR_I2F)
        mix_number(w, inst);
    else if (filter_library(w, inst) == LIBRARY_STEP)
        mix_step(w, inst);
    return true;
}

static uint32_t find_footprint(const IrModule *m)
{
    for (uint32_t i = 0; i < m->global_count; ++i)
        if (strcmp(m->globals[i].name, SSL_SAMPLE_WIDTH) == 0 && m->globals[i].type == SSL_FLOAT)
            return i;
    return UINT32_MAX;
}

static void filter_function(IrModule *m, IrFuncId id)
{
    static const IrCloneHooks hooks = {.visit = visit};
    const IrFunc *f = ir_func(m, id);
    uint32_t count = f->values.count, notes = m->filter_notes.count;
    Filter w = {.module = m,
                .f = f,
                .is_needed = ARENA_ARRAY(m->arena, uint8_t, count),
                .varies = ARENA_ARRAY(m->arena, uint8_t, count),
                .shapes = ARENA_ARRAY(m->arena, Shape, count),
                .coverages = ARENA_ARRAY(m->arena, Coverage, count),
                .mixes = ARENA_ARRAY(m->arena, FilterMix, count),
                .is_place = ARENA_ARRAY(m->arena, uint8_t, count),
                .places = ARENA_ARRAY(m->arena, IrValue, count),
                .footprint = find_footprint(m)};
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        w.varies[body->param_first + i] = 1;
    find_library(&w);
    find_needed(&w);
    find_places(&w);
    IrClone c = ir_clone_func(m, f, id, &hooks, &w);
    w.clone = &c;
    w.b = c.to;
    ir_clone_body(&c);
    if (m->filter_notes.count == notes)
        note(&w, f->span, "nothing in it chooses between floats or closures", false);
}

Status ir_filter(IrModule *m, DiagList *diags, Error *err)
{
    bool has_any = false;
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = m->funcs.data[id];
        if (!f || !f->is_filtered)
            continue;
        has_any = true;
        uint32_t first = m->filter_notes.count, filtered = 0;
        filter_function(m, id);
        for (uint32_t i = first; i < m->filter_notes.count; ++i)
            filtered += m->filter_notes.data[i].is_filtered;
        if (filtered == 0)
            report(diags, FILTERED_NOTHING, f->span, f->name, m->filter_notes.data[first].rule);
    }
    if (has_any && m->derivatives.count == 0 && ir_verify(m, err) != STATUS_OK)
        return error_prefix(err, "after pass %s", "filter");
    return STATUS_OK;
}
