/* Shapes of values, from those of an operation's arguments. A loop's states are taken as smooth inside of it. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/filter.h"
#include <math.h>
#include <string.h>

enum { CHOICES_DEEP = 2 };

static const char *const ROUNDED = "what is compared was rounded";
static const char *const CHOSEN = "a condition without coverage chose what is compared";
static const char *const TRUNCATED = "fmod has another period on each side of 0: write mod";
static const char *const LOOPED = "a loop made what is compared";
static const char *const CALLED =
    "the function that gave what is compared has steps of its own: write them in this function";

static Shape of_operation(Filter *w, uint32_t op, const Operand *args, uint32_t count);

static Shape jumps(const char *why)
{
    return (Shape){.kind = SHAPE_JUMPS, .why = why};
}

static bool has_period(const Shape *s)
{
    return s->kind == SHAPE_SAW || s->kind == SHAPE_TRIANGLE || s->kind == SHAPE_WAVE;
}

/* --- cells -------------------------------------------------------------------------------------- */

/* Adds to CELLS the phases of one of the values that it is computed from. */
static void add_cells(Shape *cells, const Shape *from)
{
    if (cells->kind == SHAPE_JUMPS || from->kind == SHAPE_SMOOTH)
        return;
    if (from->kind == SHAPE_EXTREME) {
        add_cells(cells, from->of[0].shape);
        add_cells(cells, from->of[1].shape);
        return;
    }
    if (!has_period(from) && from->kind != SHAPE_CELLS) {
        *cells = from->kind == SHAPE_JUMPS    ? *from
                 : from->kind == SHAPE_CHOICE ? jumps("a choice says what is read")
                                              : jumps(ROUNDED);
        return;
    }
    ASSERT(from->phase_count > 0);
    cells->kind = SHAPE_CELLS;
    for (uint32_t i = 0; i < from->phase_count; ++i) {
        uint32_t at = 0;
        while (at < cells->phase_count && cells->t[at] != from->t[i])
            ++at;
        if (at == FILTER_PHASES_MAX) {
            *cells = jumps("what is compared has too many periods");
            return;
        }
        cells->t[at] = from->t[i];
        cells->phase_count += at == cells->phase_count;
    }
}

/* Returns the shape of a value that is computed without jumps from others. */
static Shape of_values(const Operand *args, uint32_t count)
{
    Shape all = {0};
    for (uint32_t i = 0; i < count; ++i)
        add_cells(&all, args[i].shape);
    return all;
}

static Shape with_period(ShapeKind kind, IrValue t, IrValue offset, IrValue slope, IrValue centre)
{
    return (Shape){.kind = kind,
                   .t = {t},
                   .phase_count = 1,
                   .offset = offset,
                   .slope = slope,
                   .centre = centre};
}

/* Returns the shape of a rounding that has the parity of floor(t). */
static Shape whole(IrValue t)
{
    return (Shape){.kind = SHAPE_WHOLE, .t = {t}, .phase_count = 1};
}

/* Returns the shape of a value with the same parity. */
static Shape without_value(const Shape *s)
{
    Shape out = *s;
    out.is_floor = false;
    return out;
}

/* Whether a value is a constant whole number. */
static bool is_whole_number(Filter *w, IrValue v, int32_t *out_x)
{
    float x;
    if (ir_is_const_int(w->b, v, out_x))
        return true;
    if (!ir_is_const_float(w->b, v, &x) || fabsf(x) > 1e6f || x != floorf(x))
        return false;
    *out_x = (int32_t)x;
    return true;
}

/* --- sums --------------------------------------------------------------------------------------- */

/* Whether x is w t, for a t that was computed as x / w or as x times the inverse of w. */
static bool is_product(Filter *w, IrValue x, IrValue t, IrValue width)
{
    const IrFunc *to = ir_build_func(w->b);
    float a, b;
    if (ir_is_const_float(w->b, width, &a) && a == 1.0f && x == t)
        return true;
    const IrInst *inst = ir_inst(to, to->values.data[t].def);
    const IrValue *args = ir_args(to, inst);
    if (inst->op == IR_FDIV)
        return args[0] == x && args[1] == width;
    if (inst->op != IR_FMUL || !ir_is_const_float(w->b, width, &a))
        return false;
    for (uint32_t i = 0; i < 2; ++i)
        if (args[i] == x && ir_is_const_float(w->b, args[1 - i], &b))
            return fabsf(a * b - 1.0f) < 1e-6f;
    return false;
}

static Shape sum_of_wholes(Filter *w, const Operand *args)
{
    Shape out = {.kind = SHAPE_WHOLE};
    for (uint32_t i = 0; i < 2; ++i) {
        const Shape *s = args[i].shape;
        int32_t x;
        if (is_whole_number(w, args[i].v, &x)) {
            out.is_flipped ^= x & 1;
            continue;
        }
        if (s->kind != SHAPE_WHOLE || out.phase_count + s->phase_count > FILTER_PHASES_MAX)
            return of_values(args, 2).kind == SHAPE_SMOOTH ? (Shape){0} : jumps(ROUNDED);
        out.is_flipped ^= s->is_flipped;
        for (uint32_t k = 0; k < s->phase_count; ++k)
            out.t[out.phase_count++] = s->t[k];
    }
    return out;
}

static Shape of_sum(Filter *w, uint32_t op, const Operand *args)
{
    const Shape *x = args[0].shape, *y = args[1].shape;
    bool is_difference = op == IR_FSUB;
    if (has_period(x) && y->kind == SHAPE_SMOOTH) {
        Shape out = *x;
        out.offset = ir_build2(w->b, (IrOp)op, x->offset, args[1].v);
        return out;
    }
    if (x->kind == SHAPE_SMOOTH && has_period(y)) {
        Shape out = *y;
        out.offset = ir_build2(w->b, (IrOp)op, args[0].v, y->offset);
        out.slope = is_difference ? ir_neg(w->b, y->slope) : y->slope;
        return out;
    }
    if (is_difference && x->kind == SHAPE_SMOOTH && y->is_floor) {
        IrValue width = y->kind == SHAPE_STEPS ? y->slope : ir_const_float(w->b, 1.0f);
        if (is_product(w, args[0].v, y->t[0], width))
            return with_period(SHAPE_SAW, y->t[0], ir_const_float(w->b, 0.0f), width, 0);
    }
    if (x->kind == SHAPE_WHOLE || y->kind == SHAPE_WHOLE)
        return sum_of_wholes(w, args);
    return of_values(args, 2);
}

/* --- products ----------------------------------------------------------------------------------- */

static Shape scaled(Filter *w, const Shape *s, IrOp op, IrValue by)
{
    Shape out = *s;
    out.offset = ir_build2(w->b, op, s->offset, by);
    out.slope = ir_build2(w->b, op, s->slope, by);
    return out;
}

static Shape of_product(Filter *w, const Operand *args)
{
    for (uint32_t i = 0; i < 2; ++i) {
        const Shape *x = args[i].shape;
        const Operand *other = &args[1 - i];
        int32_t factor;
        if (other->shape->kind != SHAPE_SMOOTH)
            continue;
        if (has_period(x))
            return scaled(w, x, IR_FMUL, other->v);
        if (x->kind == SHAPE_WHOLE && x->is_floor) {
            Shape out = *x;
            out.kind = SHAPE_STEPS;
            out.slope = other->v;
            return out;
        }
        if (x->kind == SHAPE_WHOLE && is_whole_number(w, other->v, &factor) && (factor & 1))
            return *x;
    }
    return of_values(args, 2);
}

/* --- one argument ------------------------------------------------------------------------------- */

static Shape of_abs(Filter *w, const Operand *arg)
{
    const Shape *x = arg->shape;
    if (x->kind == SHAPE_WHOLE)
        return without_value(x);
    if (x->kind != SHAPE_SAW)
        return of_values(arg, 1);
    IrValue centre = ir_neg(w->b, ir_div(w->b, x->offset, x->slope));
    return with_period(SHAPE_TRIANGLE, x->t[0], ir_const_float(w->b, 0.0f),
                       ir_build1(w->b, IR_FABS, x->slope), centre);
}

static Shape of_negation(Filter *w, const Operand *arg)
{
    const Shape *x = arg->shape;
    if (x->kind == SHAPE_WHOLE)
        return without_value(x);
    return has_period(x) ? scaled(w, x, IR_FMUL, ir_const_float(w->b, -1.0f)) : of_values(arg, 1);
}

static Shape of_rounding(Filter *w, uint32_t op, const Operand *arg)
{
    const Shape *x = arg->shape;
    if (x->kind == SHAPE_WHOLE || x->kind == SHAPE_ODD || x->kind == SHAPE_JUMPS)
        return *x;
    if (x->kind != SHAPE_SMOOTH)
        return jumps(ROUNDED);
    switch (op) {
    case IR_FLOOR: {
        Shape out = whole(arg->v);
        out.is_floor = true;
        return out;
    }
    case IR_CEIL: /* -floor(-t) */
        return whole(ir_neg(w->b, arg->v));
    case IR_ROUND:
        return whole(ir_add(w->b, ir_build1(w->b, IR_FABS, arg->v), ir_const_float(w->b, 0.5f)));
    default: /* toward zero */
        return whole(ir_build1(w->b, IR_FABS, arg->v));
    }
}

static Shape of_wave(Filter *w, uint32_t op, const Operand *arg)
{
    if (arg->shape->kind != SHAPE_SMOOTH)
        return of_values(arg, 1);
    IrValue t = ir_mul(w->b, arg->v, ir_const_float(w->b, 0.159154943f));
    if (op == IR_COS)
        t = ir_add(w->b, t, ir_const_float(w->b, 0.25f));
    return with_period(SHAPE_WAVE, t, ir_const_float(w->b, 0.0f), ir_const_float(w->b, 1.0f), 0);
}

/* --- the smaller and the greater, remainders ------------------------------------------------------ */

static Operand *copy_operands(Filter *w, const Operand *args)
{
    Operand *out = ARENA_ARRAY(w->module->arena, Operand, 2);
    out[0] = args[0];
    out[1] = args[1];
    return out;
}

static Shape of_extreme(Filter *w, uint32_t op, const Operand *args)
{
    const Shape cells = of_values(args, 2);
    if (cells.kind != SHAPE_CELLS)
        return cells;
    return (Shape){
        .kind = SHAPE_EXTREME, .of = copy_operands(w, args), .is_minimum = op == IR_FMIN};
}

/* x % 2, x & 1, mod(x, 2). */
static Shape of_remainder(Filter *w, const Operand *args, int32_t by, bool has_sign)
{
    const Shape *x = args[0].shape;
    int32_t divisor;
    if (x->kind != SHAPE_WHOLE || !is_whole_number(w, args[1].v, &divisor) || divisor != by)
        return of_values(args, 2);
    Shape out = *x;
    out.kind = SHAPE_ODD;
    out.has_sign = has_sign;
    return out;
}

/* --- functions ------------------------------------------------------------------------------------ */

static Shape of_library(Filter *w, FilterLibrary name, const Operand *args)
{
    ASSERT(name < LIBRARY_NONE);
    const Shape *x = args[0].shape;
    IrValue zero = ir_const_float(w->b, 0.0f), one = ir_const_float(w->b, 1.0f);
    if (name == LIBRARY_STEP)
        return jumps(CHOSEN);
    if (x->kind == SHAPE_JUMPS)
        return *x;
    if (name == LIBRARY_FRACT)
        return x->kind == SHAPE_SMOOTH ? with_period(SHAPE_SAW, args[0].v, zero, one, 0)
                                       : jumps(ROUNDED);
    if (x->kind == SHAPE_WHOLE)
        return of_remainder(w, args, 2, false);
    if (x->kind != SHAPE_SMOOTH || args[1].shape->kind != SHAPE_SMOOTH)
        return jumps(ROUNDED);
    return with_period(SHAPE_SAW, ir_div(w->b, args[0].v, args[1].v), zero, args[1].v, 0);
}

/* Whether a function of the user, and what it calls, has no jumps of its own. */
static bool is_smooth(const Filter *w, IrFuncId func)
{
    const IrFunc *f = ir_func(w->module, func);
    if (!f || f->is_library)
        return true; /* noises are, though they round */
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        if (filter_is_step(w, inst) || inst->op == IR_SIGN)
            return false;
        if (inst->op == IR_CALL && inst->imm != func && !is_smooth(w, (IrFuncId)inst->imm))
            return false;
    }
    return true;
}

/* --- choices -------------------------------------------------------------------------------------- */

Shape filter_choice_shape(Filter *w, const Coverage *cond, Operand if_true, Operand if_false)
{
    const Operand both[2] = {if_true, if_false};
    ASSERT(cond->k && if_true.v && if_false.v);
    Coverage *kept = ARENA_NEW(w->module->arena, Coverage);
    *kept = *cond;
    return (Shape){.kind = SHAPE_CHOICE, .of = copy_operands(w, both), .cond = kept};
}

static uint32_t depth_of(const Shape *s)
{
    if (s->kind != SHAPE_CHOICE)
        return 0;
    uint32_t x = depth_of(s->of[0].shape), y = depth_of(s->of[1].shape);
    return 1 + (x > y ? x : y);
}

/* 1 or 0 by parity, as a choice of these. */
static Shape from_parity(Filter *w, const Operand *x)
{
    static const Shape smooth;
    bool is_int = ir_build_type(w->b, x->v) == ir_scalar(IR_INT);
    IrValue one = is_int ? ir_const_int(w->b, 1) : ir_const_float(w->b, 1.0f);
    IrValue zero = is_int ? ir_const_int(w->b, 0) : ir_const_float(w->b, 0.0f);
    const Coverage odd = filter_odd(w, x->shape);
    return filter_choice_shape(w, &odd, (Operand){one, &smooth}, (Operand){zero, &smooth});
}

/* An operation on a choice is a choice of what it gives for either. */
static Shape over_choice(Filter *w, uint32_t op, const Operand *args, uint32_t count,
                         const Coverage *cond)
{
    Operand made[2];
    ASSERT(count <= 3 && cond->k);
    for (uint32_t side = 0; side < 2; ++side) {
        Operand own[3];
        for (uint32_t i = 0; i < count; ++i) {
            const Shape *s = args[i].shape;
            own[i] = s->kind == SHAPE_CHOICE && s->cond == cond ? s->of[side] : args[i];
        }
        Shape *shape = ARENA_NEW(w->module->arena, Shape);
        *shape = of_operation(w, op, own, count);
        made[side] = (Operand){filter_build(w, op, own, count), shape};
    }
    return filter_choice_shape(w, cond, made[0], made[1]);
}

/* Takes arguments that are choices apart; false: there are none. */
static bool find_choice(Filter *w, uint32_t op, const Operand *args, uint32_t count, Shape *out)
{
    Operand own[3];
    Shape parity[3];
    const Coverage *cond = NULL;
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < count; ++i) {
        own[i] = args[i];
        bool is_parity = args[i].shape->kind == SHAPE_ODD && !args[i].shape->has_sign &&
                         op != IR_I2F && op != IR_F2I && op != IR_FLOOR;
        if (is_parity) {
            parity[i] = from_parity(w, &args[i]);
            own[i].shape = &parity[i];
        }
        uint32_t deep = depth_of(own[i].shape);
        deepest = deep > deepest ? deep : deepest;
        if (deep > 0 && !cond)
            cond = own[i].shape->cond;
    }
    if (!cond)
        return false;
    *out = deepest > CHOICES_DEEP ? jumps("more than two choices lead to what is compared")
                                  : over_choice(w, op, own, count, cond);
    return true;
}

static Shape of_loop(const Filter *w, const IrInst *inst, uint32_t i)
{
    ASSERT(inst->op == IR_LOOP && i < inst->result_count);
    const IrValue *yields = ir_yield_args(w->f, inst->region_first);
    if (w->varies[yields[0]])
        return jumps(LOOPED);
    return w->shapes[yields[1 + i]].kind == SHAPE_SMOOTH ? (Shape){0} : jumps(LOOPED);
}

/* --- any operation ---------------------------------------------------------------------------------- */

/* op: of the IR, or IR_OP_COUNT and a FilterLibrary. */
static Shape of_operation(Filter *w, uint32_t op, const Operand *args, uint32_t count)
{
    Shape choice;
    if (count <= 3 && find_choice(w, op, args, count, &choice))
        return choice;
    if (op >= IR_OP_COUNT)
        return of_library(w, (FilterLibrary)(op - IR_OP_COUNT), args);
    switch (op) {
    case IR_FADD:
    case IR_FSUB:
        return of_sum(w, op, args);
    case IR_IADD:
    case IR_ISUB:
    case IR_IXOR:
        return sum_of_wholes(w, args);
    case IR_FNEG:
    case IR_INEG:
        return of_negation(w, args);
    case IR_FMUL:
        return of_product(w, args);
    case IR_FDIV:
        return has_period(args[0].shape) && args[1].shape->kind == SHAPE_SMOOTH
                   ? scaled(w, args[0].shape, IR_FDIV, args[1].v)
                   : of_values(args, 2);
    case IR_FABS:
        return of_abs(w, args);
    case IR_FMIN:
    case IR_FMAX:
        return of_extreme(w, op, args);
    case IR_FLOOR:
    case IR_CEIL:
    case IR_ROUND:
    case IR_TRUNC:
    case IR_F2I:
        return of_rounding(w, op, args);
    case IR_SIN:
    case IR_COS:
        return of_wave(w, op, args);
    case IR_I2F:
        return *args[0].shape;
    case IR_IMOD:
        return of_remainder(w, args, 2, true);
    case IR_IAND:
        return of_remainder(w, args, 1, false);
    case IR_FMOD:
        return jumps(TRUNCATED);
    case IR_SIGN:
        return jumps(CHOSEN);
    default:
        return of_values(args, count);
    }
}

/* Whether operations are made anew from the arguments alone, and have one result. */
static bool is_of_arguments(const IrInst *inst)
{
    switch (inst->op) {
    case IR_TABLE:
    case IR_BOUNDS:
    case IR_TEX_AUTO:
    case IR_TEX:
    case IR_TEX_D:
    case IR_ASK:
    case IR_DETACH:
    case IR_APART:
        return false;
    default:
        return true;
    }
}

static Shape of_inst(Filter *w, const IrInst *inst)
{
    Operand *args = ARENA_ARRAY(w->module->arena, Operand, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        args[i] = filter_operand(w, ir_args(w->f, inst)[i]);
    if (inst->op == IR_SELECT ||
        inst->op == IR_B2I) /* filter.c knows better where there is a coverage */
        return w->varies[ir_args(w->f, inst)[0]] ? jumps(CHOSEN)
                                                 : of_values(args + 1, inst->arg_count - 1);
    if (inst->op != IR_CALL)
        return is_of_arguments(inst) ? of_operation(w, inst->op, args, inst->arg_count)
                                     : of_values(args, inst->arg_count);
    FilterLibrary name = filter_library(w, inst);
    if (name != LIBRARY_NONE)
        return of_operation(w, IR_OP_COUNT + (uint32_t)name, args, inst->arg_count);
    return is_smooth(w, (IrFuncId)inst->imm) ? of_values(args, inst->arg_count) : jumps(CALLED);
}

Shape filter_if_shape(const Filter *w, const IrInst *inst, uint32_t i)
{
    ASSERT(inst->op == IR_IF && inst->region_count == 2 && i < inst->result_count);
    if (w->varies[ir_args(w->f, inst)[0]])
        return jumps(CHOSEN);
    for (uint32_t arm = 0; arm < 2; ++arm)
        if (w->shapes[ir_yield_args(w->f, inst->region_first + arm)[i]].kind != SHAPE_SMOOTH)
            return jumps("an if chose what is compared");
    return (Shape){0};
}

void filter_find_shape(Filter *w, const IrInst *inst)
{
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue v = inst->result_first + i;
        IrKind kind = ir_kind(ir_type(w->f, v));
        if (ir_is_array(ir_type(w->f, v)) || (kind != IR_FLOAT && kind != IR_INT) || !w->varies[v])
            continue;
        if (inst->op == IR_IF)
            w->shapes[v] = filter_if_shape(w, inst, i);
        else if (inst->op == IR_LOOP)
            w->shapes[v] = of_loop(w, inst, i);
        else
            w->shapes[v] = of_inst(w, inst);
    }
}
