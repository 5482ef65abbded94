/* The rules for edges of single operations. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/edges.h"
#include "ssl/passes/partials.h"

#include <float.h>

/* Returns x without derivatives, whatever its type. */
static IrValue detached(Edges *e, IrValue x)
{
    return derive_is_float(ir_build_type(e->b, x)) ? ir_build_detach(e->b, x) : x;
}

static IrValue here(Edges *e, IrValue v)
{
    return detached(e, e->clone->map[v]);
}

IrValue edges_there(Edges *e, IrValue v, uint32_t n)
{
    ASSERT(n < EDGE_NEIGHBOURS);
    return e->varies[v] ? e->copies[(size_t)v * EDGE_NEIGHBOURS + n] : here(e, v);
}

static IrValue shadow(const Edges *e, IrValue v, uint32_t n)
{
    return e->shadows[(size_t)v * EDGE_NEIGHBOURS + n];
}

static EdgeCause *cause_of(const Edges *e, IrValue v, uint32_t n)
{
    return &e->causes[(size_t)v * EDGE_NEIGHBOURS + n];
}

/* (x here - x there) / (y here - y there), or 0 where that is not finite. */
static IrValue secant(Edges *e, IrValue x, IrValue y)
{
    return ir_finite(e->b, ir_div(e->b, x, y));
}

IrValue edges_sum(Edges *e, IrValue x, IrValue y)
{
    if (!x || !y)
        return x ? x : y;
    return ir_each2(e->b, IR_FADD, x, y);
}

static IrValue both(Edges *e, IrValue x, IrValue y)
{
    return x && y ? ir_build2(e->b, IR_BAND, x, y) : x ? x : y;
}

IrValue edges_both(Edges *e, uint32_t n)
{
    return both(e, e->here, e->there[n]);
}

IrValue edges_term(Edges *e, const EdgeCause *cause, IrValue jump, uint32_t n)
{
    IrBuilder *b = e->b;
    if (!cause->cause)
        return 0;
    if (!ir_is_array(ir_build_type(b, jump))) {
        IrValue passes = edges_both(e, n), factor = ir_finite(b, ir_mul(e->b, jump, cause->slope));
        factor = passes ? ir_build_select(b, passes, factor, ir_const_float(e->b, 0.0f)) : factor;
        factor = ir_build_detach(b, factor);
        return ir_mul(e->b, factor, ir_sub(e->b, cause->cause, ir_build_detach(b, cause->cause)));
    }
    uint32_t count = ir_count(ir_build_type(b, jump));
    IrValue *terms = ARENA_ARRAY(e->derive->module->arena, IrValue, count);
    for (uint32_t i = 0; i < count; ++i)
        terms[i] =
            edges_term(e, cause, ir_build2(b, IR_ARRAY_GET, jump, ir_const_int(b, (int32_t)i)), n);
    return ir_build_array(b, IR_FLOAT, terms, count);
}

IrValue edges_choose(Edges *e, IrValue cond, IrValue x, IrValue y)
{
    if (x == y)
        return x;
    if (!ir_is_array(ir_build_type(e->b, x)))
        return ir_build_select(e->b, cond, x, y);
    IrValue chosen;
    ir_if_begin(e->b, cond);
    ir_if_else(e->b, &x, 1);
    ir_if_end(e->b, &y, 1, &chosen);
    return chosen;
}

EdgeCause edges_choose_cause(Edges *e, IrValue cond, EdgeCause x, EdgeCause y)
{
    ASSERT(ir_build_type(e->b, cond) == ir_scalar(IR_BOOL));
    IrValue zero = ir_const_float(e->b, 0.0f);
    const EdgeCause none = {zero, zero, zero};
    if (!x.cause && !y.cause)
        return x;
    x = x.cause ? x : none;
    y = y.cause ? y : none;
    return (EdgeCause){ir_build_select(e->b, cond, x.cause, y.cause),
                       ir_build_select(e->b, cond, x.slope, y.slope),
                       ir_build_select(e->b, cond, x.place, y.place)};
}

IrValue edges_differs(Edges *e, IrValue own, IrValue there)
{
    IrKind kind = ir_kind(ir_build_type(e->b, own));
    return ir_build2(e->b,
                     kind == IR_BOOL  ? IR_BXOR
                     : kind == IR_INT ? IR_INE
                                      : IR_FNE,
                     own, there);
}

/* --- steps ------------------------------------------------------------------------------------- */

/* What steps: a float here (with derivatives, its jumps left out), its jumps, and its values at the neighbours. */
typedef struct Argument {
    IrValue value, shadows[EDGE_NEIGHBOURS], there[EDGE_NEIGHBOURS];
} Argument;

static Argument argument_of(Edges *e, IrValue v)
{
    Argument a = {.value = e->clone->map[v]};
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        a.shadows[n] = shadow(e, v, n);
        a.there[n] = edges_there(e, v, n);
    }
    return a;
}

static Argument difference_of(Edges *e, IrValue x, IrValue y)
{
    Argument a = argument_of(e, x), b = argument_of(e, y);
    a.value = ir_sub(e->b, a.value, b.value);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        a.there[n] = ir_sub(e->b, a.there[n], b.there[n]);
        if (b.shadows[n])
            a.shadows[n] = edges_sum(e, a.shadows[n], ir_neg(e->b, b.shadows[n]));
    }
    return a;
}

/* How much of an edge is seen along x: nearly all where its argument changes more along x, and 1 minus that along y. The change from
 * one to the other is smooth, since a sum over the pixels of an edge is a quadrature, and exact for smooth functions. */
static IrValue part_along_x(Edges *e, const Argument *a)
{
    IrValue x = ir_sub(e->b, a->there[0], a->there[1]), y = ir_sub(e->b, a->there[2], a->there[3]);
    IrValue ratio = ir_mul(e->b, ir_div(e->b, y, x), ir_div(e->b, y, x));
    IrValue part = ir_add(e->b, ir_const_float(e->b, 1.0f), ir_mul(e->b, ratio, ratio));
    return ir_finite(e->b, ir_div(e->b, ir_const_float(e->b, 1.0f), part));
}

/* c here - c there, as steep as the parabola through here, there and the neighbour on the other side is at `place`; as it is if that
 * makes much of a difference, since then there is no parabola. */
static IrValue way_at(Edges *e, IrValue way, IrValue other, IrValue place)
{
    IrBuilder *b = e->b;
    IrValue half = ir_const_float(e->b, 0.5f), ratio = ir_div(b, other, way);
    IrValue bend =
        ir_mul(e->b, ir_add(b, ir_const_float(e->b, 1.0f), ratio), ir_sub(e->b, place, half));
    IrValue is_small = ir_build2(b, IR_FLE, ir_build1(b, IR_FABS, bend), half);
    IrValue steeper = ir_mul(e->b, way, ir_add(b, ir_const_float(e->b, 1.0f), bend));
    return ir_build_select(b, is_small, steeper, way);
}

/* The causes of a step that is `steps[n]` at a neighbour. If it is where the argument's sign changes, the point and its neighbour see
 * as much of it as it is near to them, else half each. */
static void make_causes(Edges *e, const Argument *a, const IrValue *steps, bool is_sign,
                        EdgeCause *out)
{
    IrValue value = ir_build_detach(e->b, a->value), zero = ir_const_float(e->b, 0.0f);
    IrValue one = ir_const_float(e->b, 1.0f), half = ir_const_float(e->b, 0.5f),
            along_x = part_along_x(e, a);
    IrValue parts[2] = {along_x, ir_sub(e->b, one, along_x)};
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue counts = both(e, steps[n], edges_both(e, n));
        IrValue way = ir_sub(e->b, value, a->there[n]);
        IrValue place = is_sign ? ir_div(e->b, value, way) : half;
        IrValue part = ir_mul(e->b, parts[n / 2], ir_sub(e->b, one, place));
        if (is_sign)
            way = way_at(e, way, ir_sub(e->b, value, a->there[n ^ 1]), place);
        out[n].cause = edges_sum(e, a->value, a->shadows[n]);
        out[n].slope =
            ir_build_detach(e->b, ir_build_select(e->b, counts, secant(e, part, way), zero));
        out[n].place = ir_build_detach(e->b, place);
    }
}

static void find_toggles(Edges *e, IrValue v, IrValue *out)
{
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        out[n] = edges_differs(e, here(e, v), edges_there(e, v, n));
}

static void of_comparison(Edges *e, const IrInst *inst)
{
    Argument a = difference_of(e, ir_args(e->f, inst)[0], ir_args(e->f, inst)[1]);
    IrValue toggles[EDGE_NEIGHBOURS], v = inst->result_first;
    find_toggles(e, v, toggles);
    make_causes(e, &a, toggles, true, cause_of(e, v, 0));
}

/* Where a float steps by one, or by what `most` allows; a step of more is two edges in one pixel. */
static void of_rounding(Edges *e, const IrInst *inst)
{
    Argument a = argument_of(e, ir_args(e->f, inst)[0]);
    IrValue steps[EDGE_NEIGHBOURS], v = inst->result_first;
    EdgeCause causes[EDGE_NEIGHBOURS];
    bool is_int = inst->op == IR_F2I;
    float most = inst->op == IR_SIGN ? 2.0f : 1.0f;
    find_toggles(e, v, steps);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue x = here(e, v), y = edges_there(e, v, n);
        x = is_int ? ir_build1(e->b, IR_I2F, x) : x;
        y = is_int ? ir_build1(e->b, IR_I2F, y) : y;
        IrValue size = ir_build1(e->b, IR_FABS, ir_sub(e->b, x, y));
        steps[n] = both(e, steps[n], ir_build2(e->b, IR_FLE, size, ir_const_float(e->b, most)));
    }
    make_causes(e, &a, steps, inst->op == IR_SIGN, causes);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        if (is_int)
            *cause_of(e, v, n) = causes[n];
        else
            e->shadows[(size_t)v * EDGE_NEIGHBOURS + n] =
                edges_term(e, &causes[n], ir_sub(e->b, here(e, v), edges_there(e, v, n)), n);
    }
}

/* x - y q, where the quotient q steps as x / y does. What jumps in x and y themselves passes through as if q were constant. */
static void of_fmod(Edges *e, const IrInst *inst)
{
    IrBuilder *b = e->b;
    IrValue x = ir_args(e->f, inst)[0], y = ir_args(e->f, inst)[1], v = inst->result_first;
    Argument ratio = {.value = ir_div(b, e->clone->map[x], e->clone->map[y])};
    IrValue quotient, step[EDGE_NEIGHBOURS], toggles[EDGE_NEIGHBOURS], other[EDGE_NEIGHBOURS];
    EdgeCause causes[EDGE_NEIGHBOURS];
    quotient = ir_div(b, ir_sub(e->b, here(e, x), here(e, v)), here(e, y));
    quotient = ir_build1(b, IR_ROUND, quotient);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue xn = edges_there(e, x, n), yn = edges_there(e, y, n);
        ratio.there[n] = ir_div(b, xn, yn);
        other[n] = ir_build1(b, IR_ROUND, ir_div(b, ir_sub(e->b, xn, edges_there(e, v, n)), yn));
        step[n] = ir_sub(e->b, quotient, other[n]);
        toggles[n] =
            ir_build2(b, IR_FEQ, ir_build1(b, IR_FABS, step[n]), ir_const_float(e->b, 1.0f));
    }
    make_causes(e, &ratio, toggles, false, causes);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue jump = ir_neg(b, ir_mul(e->b, here(e, y), step[n]));
        IrValue passed = shadow(e, x, n);
        if (shadow(e, y, n))
            passed = edges_sum(
                e, passed, ir_neg(b, ir_mul(e->b, ir_build_detach(b, quotient), shadow(e, y, n))));
        e->shadows[(size_t)v * EDGE_NEIGHBOURS + n] =
            edges_sum(e, edges_term(e, &causes[n], jump, n), passed);
    }
}

/* --- bools and ints ------------------------------------------------------------------------------ */

/* Returns whether the first of two clauses that change together decides. An AND ends with the first that becomes false. */
static IrValue first_decides(Edges *e, const IrInst *inst, uint32_t n)
{
    const IrValue *args = ir_args(e->f, inst);
    IrBuilder *b = e->b;
    IrValue x = edges_differs(e, here(e, args[0]), edges_there(e, args[0], n));
    if (inst->op != IR_BAND && inst->op != IR_BOR)
        return x;
    IrValue y = edges_differs(e, here(e, args[1]), edges_there(e, args[1], n));
    IrValue is_earlier =
        ir_build2(b, IR_FLT, cause_of(e, args[0], n)->place, cause_of(e, args[1], n)->place);
    IrValue wants_later = here(e, inst->result_first);
    if (inst->op == IR_BAND)
        wants_later = ir_build1(b, IR_BNOT, wants_later);
    IrValue wins = ir_build2(b, IR_BXOR, is_earlier, wants_later);
    return ir_build2(b, IR_BAND, x, ir_build2(b, IR_BOR, ir_build1(b, IR_BNOT, y), wins));
}

EdgeCause edges_cause_of_choice(Edges *e, IrValue cond, EdgeCause x, EdgeCause y, uint32_t n)
{
    IrValue value = here(e, cond);
    EdgeCause chosen = edges_choose_cause(e, value, x, y);
    IrValue toggles = edges_differs(e, value, edges_there(e, cond, n));
    return edges_choose_cause(e, toggles, *cause_of(e, cond, n), chosen);
}

static EdgeCause cause_of_discrete(Edges *e, const IrInst *inst, uint32_t n)
{
    const IrValue *args = ir_args(e->f, inst);
    EdgeCause causes[3] = {0};
    if (inst->op == IR_ARRAY || inst->op == IR_ARRAY_SET)
        return causes[0]; /* elements have none */
    ASSERT(inst->arg_count >= 1 && inst->arg_count <= 3);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        causes[i] = *cause_of(e, args[i], n);
    if (inst->op == IR_SELECT)
        return edges_cause_of_choice(e, args[0], causes[1], causes[2], n);
    if (causes[0].cause && inst->arg_count == 2 && causes[1].cause)
        return edges_choose_cause(e, first_decides(e, inst, n), causes[0], causes[1]);
    return causes[0].cause || inst->arg_count == 1 ? causes[0] : causes[1];
}

static void of_discrete(Edges *e, const IrInst *inst)
{
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        *cause_of(e, inst->result_first, n) = cause_of_discrete(e, inst, n);
}

/* --- floats -------------------------------------------------------------------------------------- */

/* A float that an int or a bool decides: I2F, TABLE, an element at an index. */
static IrValue of_index(Edges *e, const IrInst *inst, IrValue index, uint32_t n)
{
    IrValue v = inst->result_first, other = edges_there(e, v, n), value = here(e, v);
    if (inst->op == IR_ARRAY_GET) /* what would be read there at this index */
        value = ir_build2(e->b, IR_ARRAY_GET, edges_there(e, ir_args(e->f, inst)[0], n),
                          here(e, index));
    return edges_term(e, cause_of(e, index, n), ir_sub(e->b, value, other), n);
}

IrValue edges_jump(Edges *e, IrValue cond, IrValue x, IrValue x_there, IrValue y, IrValue y_there,
                   IrValue otherwise)
{
    IrBuilder *b = e->b;
    IrValue sum =
        ir_add(b, ir_sub(e->b, detached(e, x), detached(e, y)), ir_sub(e->b, x_there, y_there));
    IrValue half =
        ir_mul(e->b, sum,
               ir_build_select(b, cond, ir_const_float(e->b, 0.5f), ir_const_float(e->b, -0.5f)));
    IrValue size = ir_build1(b, IR_FABS, half);
    return ir_build_select(b, ir_build2(b, IR_FLE, size, ir_const_float(e->b, FLT_MAX)), half,
                           otherwise);
}

static IrValue of_select(Edges *e, const IrInst *inst, uint32_t n)
{
    const IrValue *a = ir_args(e->f, inst);
    IrValue cond = here(e, a[0]), zero = ir_const_float(e->b, 0.0f), jump = 0;
    IrValue x = edges_there(e, a[1], n), y = edges_there(e, a[2], n);
    if (cause_of(e, a[0], n)->cause) {
        IrValue toggles = edges_differs(e, cond, edges_there(e, a[0], n));
        IrValue size = ir_build_select(e->b, cond, ir_sub(e->b, x, y), ir_sub(e->b, y, x));
        if (!e->jumps[a[1]] && !e->jumps[a[2]])
            size = edges_jump(
                e, cond, here(e, a[1]), x, here(e, a[2]), y,
                ir_sub(e->b, here(e, inst->result_first), edges_there(e, inst->result_first, n)));
        jump = edges_term(e, cause_of(e, a[0], n), ir_build_select(e->b, toggles, size, zero), n);
    }
    IrValue sx = shadow(e, a[1], n), sy = shadow(e, a[2], n);
    if (sx || sy)
        jump = edges_sum(e, jump, ir_build_select(e->b, cond, sx ? sx : zero, sy ? sy : zero));
    return jump;
}

/* The secant of a result by argument i, the arguments after it taken here, those before it there. */
static IrValue secant_by(Edges *e, const IrInst *inst, uint32_t i, uint32_t n)
{
    const IrValue *a = ir_args(e->f, inst);
    IrValue way = ir_sub(e->b, here(e, a[i]), edges_there(e, a[i], n)), first, last;
    if (inst->op == IR_FMUL || inst->op == IR_FMA)
        return i == 0 ? here(e, a[1]) : edges_there(e, a[0], n);
    if (inst->arg_count == 1)
        return secant(
            e, ir_sub(e->b, here(e, inst->result_first), edges_there(e, inst->result_first, n)),
            way);
    IrValue between = ir_build2(e->b, (IrOp)inst->op, edges_there(e, a[0], n), here(e, a[1]));
    first = i == 0 ? here(e, inst->result_first) : between;
    last = i == 0 ? between : edges_there(e, inst->result_first, n);
    return secant(e, ir_sub(e->b, first, last), way);
}

static IrValue of_function(Edges *e, const IrInst *inst, uint32_t n)
{
    const IrValue *a = ir_args(e->f, inst);
    IrValue sum = 0;
    ASSERT(inst->arg_count <= 3);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue s = shadow(e, a[i], n);
        if (!s)
            continue;
        if (inst->op == IR_FNEG || (inst->op == IR_FSUB && i == 1))
            s = ir_neg(e->b, s);
        else if (inst->op != IR_FADD && inst->op != IR_FSUB && !(inst->op == IR_FMA && i == 2))
            s = ir_mul(e->b, ir_build_detach(e->b, secant_by(e, inst, i, n)), s);
        sum = edges_sum(e, sum, s);
    }
    return sum;
}

static IrValue shadow_or_zero(Edges *e, IrValue v, uint32_t n)
{
    IrValue s = shadow(e, v, n);
    return s ? s : ir_build_zero(e->b, ir_type(e->f, v));
}

static IrValue of_array(Edges *e, const IrInst *inst, uint32_t n)
{
    const IrValue *a = ir_args(e->f, inst);
    if (inst->op == IR_ARRAY) {
        IrValue *elements = ARENA_ARRAY(e->derive->module->arena, IrValue, inst->arg_count);
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            elements[i] = shadow_or_zero(e, a[i], n);
        return ir_build_array(e->b, IR_FLOAT, elements, inst->arg_count);
    }
    IrValue index = e->clone->map[a[1]];
    if (inst->op == IR_ARRAY_SET)
        return ir_build3(e->b, IR_ARRAY_SET, shadow_or_zero(e, a[0], n), index,
                         shadow_or_zero(e, a[2], n));
    IrValue s = shadow(e, a[0], n);
    return edges_sum(e, s ? ir_build2(e->b, IR_ARRAY_GET, s, index) : 0,
                     of_index(e, inst, a[1], n));
}

static IrValue of_float(Edges *e, const IrInst *inst, uint32_t n)
{
    switch (inst->op) {
    case IR_SELECT:
        return of_select(e, inst, n);
    case IR_I2F:
    case IR_TABLE:
        return of_index(e, inst, ir_args(e->f, inst)[0], n);
    case IR_ARRAY:
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        return of_array(e, inst, n);
    default:
        return of_function(e, inst, n);
    }
}

void edges_apply(Edges *e, const IrInst *inst)
{
    IrValue v = inst->result_first;
    bool is_float = derive_is_float(ir_type(e->f, v));
    if (inst->op >= IR_FEQ && inst->op <= IR_FGE)
        of_comparison(e, inst);
    else if (inst->op == IR_F2I || (inst->op >= IR_FLOOR && inst->op <= IR_SIGN))
        of_rounding(e, inst);
    else if (inst->op == IR_FMOD)
        of_fmod(e, inst);
    else if (!is_float)
        of_discrete(e, inst);
    else
        for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
            e->shadows[(size_t)v * EDGE_NEIGHBOURS + n] = of_float(e, inst, n);
}
