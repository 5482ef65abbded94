/* Coverages in closed form.
 *
 *   an edge    where c = y - x is positive: clamp(1/2 + c / w), w the length of c's gradient
 *   a period   the part of [t - w/2, t + w/2] in which low <= t - floor(t) < high: of a footprint of n whole periods and a rest
 *              r < 1, n (high - low) + r times what the rest has. The rest meets at most one rising and one falling edge
 *   parity     of a sum of floors: the mean of a product of signs, which is that of the means where the directions are independent
 *
 * A conjunction of two edges is between the product of both, right if they are at a right angle, and the smaller one or
 * the sum less 1, right if they are parallel: weighted by the cosine of the angle. The two ends are the bounds of
 * Frechet [Nelsen2006 ch. 2]. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/filter.h"

#define WIDTH_MAX 0x1p20f /* in periods; beyond, rounding leaves nothing of the phase */

/* NaN becomes `low`. */
static IrValue clamped(Filter *w, IrValue x, IrValue low, IrValue high)
{
    return ir_build2(w->b, IR_FMIN, ir_build2(w->b, IR_FMAX, x, low), high);
}

static IrValue unit(Filter *w, IrValue x)
{
    return clamped(w, x, ir_const_float(w->b, 0.0f), ir_const_float(w->b, 1.0f));
}

static IrValue one_minus(Filter *w, IrValue x)
{
    return ir_sub(w->b, ir_const_float(w->b, 1.0f), x);
}

static IrValue is_positive(Filter *w, IrValue x)
{
    return ir_build2(w->b, IR_FGT, x, ir_const_float(w->b, 0.0f));
}

static IrValue from_bool(Filter *w, IrValue x)
{
    return ir_build_select(w->b, x, ir_const_float(w->b, 1.0f), ir_const_float(w->b, 0.0f));
}

/* The coverage k of a footprint that is wider than 0 where `is_wide`; elsewhere that of a point. */
static Coverage covered(Filter *w, IrValue is_wide, IrValue k, IrValue plain)
{
    IrValue inside = ir_build2(w->b, IR_BAND, is_positive(w, k),
                               ir_build2(w->b, IR_FLT, k, ir_const_float(w->b, 1.0f)));
    IrValue soft = ir_build2(w->b, IR_BAND, is_wide, inside);
    return (Coverage){.k = ir_build_select(w->b, soft, k, from_bool(w, plain)), .is_soft = soft};
}

Coverage filter_hard(Filter *w, IrValue plain)
{
    return (Coverage){.k = from_bool(w, plain), .is_soft = ir_const_bool(w->b, false)};
}

/* What a pixel step to the side or down changes. */
static IrValue step(Filter *w, IrOp op, IrValue x)
{
    return ir_build_step(w->b, op, x);
}

/* The width of a footprint, for a gradient of that length per pixel. */
static IrValue footprint(Filter *w, IrValue length)
{
    if (w->footprint == UINT32_MAX)
        return length;
    return ir_mul(w->b, length, ir_build_global(w->b, IR_FLOAT, w->footprint, IR_SHADOW_VALUE, 0));
}

static IrValue width_of(Filter *w, IrValue t)
{
    IrValue length = ir_build2(w->b, IR_HYPOT, step(w, IR_DDX, t), step(w, IR_DDY, t));
    return ir_build2(w->b, IR_FMIN, footprint(w, length), ir_const_float(w->b, WIDTH_MAX));
}

/* --- one edge ----------------------------------------------------------------------------------- */

/* cells: what is compared is CELLS; where the footprint is half a period or more, it has many edges, and is not known. */
static Coverage of_edge(Filter *w, IrValue x, IrValue y, IrValue plain, const Shape *const cells[2])
{
    IrValue c = ir_sub(w->b, y, x);
    IrValue dx = step(w, IR_DDX, c), dy = step(w, IR_DDY, c);
    IrValue length = ir_build2(w->b, IR_HYPOT, dx, dy);
    IrValue wide = footprint(w, length);
    IrValue k = unit(w, ir_add(w->b, ir_const_float(w->b, 0.5f), ir_div(w->b, c, wide)));
    IrValue is_wide = is_positive(w, wide);
    for (uint32_t i = 0; i < 2; ++i)
        for (uint32_t j = 0; j < cells[i]->phase_count; ++j)
            is_wide = ir_build2(
                w->b, IR_BAND, is_wide,
                ir_build2(w->b, IR_FLT, width_of(w, cells[i]->t[j]), ir_const_float(w->b, 0.5f)));
    Coverage made = covered(w, is_wide, k, plain);
    made.dx = dx;
    made.dy = dy;
    made.width = length;
    return made;
}

/* --- periods -------------------------------------------------------------------------------------- */

static IrValue to_nearest(Filter *w, IrValue x)
{
    return ir_sub(w->b, x, ir_build1(w->b, IR_FLOOR, ir_add(w->b, x, ir_const_float(w->b, 0.5f))));
}

/* The part of a footprint around t, of `wide` periods, in which low <= t - floor(t) < high. */
static IrValue pulse(Filter *w, IrValue t, IrValue wide, IrValue low, IrValue high)
{
    IrValue half = ir_const_float(w->b, 0.5f);
    IrValue duty = unit(w, ir_sub(w->b, high, low));
    IrValue whole = ir_build1(w->b, IR_FLOOR, wide);
    IrValue rest = ir_sub(w->b, wide, whole);
    IrValue centre = ir_add(w->b, t, ir_mul(w->b, whole, half));
    IrValue divisor = ir_build2(w->b, IR_FMAX, rest, ir_const_float(w->b, 1e-30f));
    IrValue from_rise = to_nearest(w, ir_sub(w->b, centre, low));
    IrValue from_fall = to_nearest(w, ir_sub(w->b, centre, high));
    IrValue risen = unit(w, ir_add(w->b, half, ir_div(w->b, from_rise, divisor)));
    IrValue fallen = unit(w, ir_add(w->b, half, ir_div(w->b, from_fall, divisor)));
    IrValue begin = from_bool(w, ir_build2(w->b, IR_FLT, from_rise, from_fall));
    IrValue in_rest = ir_mul(w->b, rest, ir_add(w->b, ir_sub(w->b, risen, fallen), begin));
    IrValue k = unit(w, ir_div(w->b, ir_add(w->b, ir_mul(w->b, whole, duty), in_rest), wide));
    IrValue is_part = ir_build2(w->b, IR_BAND, is_positive(w, duty),
                                ir_build2(w->b, IR_FLT, duty, ir_const_float(w->b, 1.0f)));
    return ir_build_select(w->b, is_part, k, duty);
}

static Coverage of_pulse(Filter *w, IrValue t, IrValue low, IrValue high, IrValue plain)
{
    IrValue wide = width_of(w, t);
    Coverage made = covered(w, is_positive(w, wide), pulse(w, t, wide, low, high), plain);
    made.t = t;
    made.t_width = wide;
    made.low = low;
    made.high = high;
    return made;
}

/* Both have the same phase: the part in which both hold. */
static Coverage of_both(Filter *w, const Coverage *x, const Coverage *y)
{
    ASSERT(x->t == y->t && x->t_width == y->t_width);
    IrValue low = ir_build2(w->b, IR_FMAX, x->low, y->low);
    IrValue high = ir_build2(w->b, IR_FMAX, low, ir_build2(w->b, IR_FMIN, x->high, y->high));
    IrValue soft = ir_build2(w->b, IR_BOR, x->is_soft, y->is_soft);
    IrValue k = pulse(w, x->t, x->t_width, low, high);
    return (Coverage){.k = ir_build_select(w->b, soft, k, ir_mul(w->b, x->k, y->k)),
                      .is_soft = soft,
                      .t = x->t,
                      .t_width = x->t_width,
                      .low = low,
                      .high = high};
}

/* A coverage of one of two intervals: `low` to `high` where is_inside, what is outside elsewhere. */
static Coverage of_interval(Filter *w, IrValue t, IrValue low, IrValue high, IrValue is_inside,
                            IrValue plain)
{
    bool known;
    if (ir_is_const_bool(w->b, is_inside, &known) && known)
        return of_pulse(w, t, low, high, plain);
    IrValue wide = width_of(w, t);
    IrValue k = pulse(w, t, wide, low, high);
    k = ir_build_select(w->b, is_inside, k, one_minus(w, k));
    return covered(w, is_positive(w, wide), k, plain);
}

/* Where a value with a period is less than `limit`. */
static Coverage below(Filter *w, const Shape *s, IrValue limit, IrValue plain)
{
    IrValue zero = ir_const_float(w->b, 0.0f), one = ir_const_float(w->b, 1.0f);
    IrValue at = ir_div(w->b, ir_sub(w->b, limit, s->offset), s->slope);
    IrValue is_up = is_positive(w, s->slope);
    if (s->kind == SHAPE_SAW) {
        at = unit(w, at);
        return of_pulse(w, s->t[0], ir_build_select(w->b, is_up, zero, at),
                        ir_build_select(w->b, is_up, at, one), plain);
    }
    if (s->kind == SHAPE_TRIANGLE) {
        at = ir_build2(w->b, IR_FMAX, at, zero);
        return of_interval(w, s->t[0], unit(w, ir_sub(w->b, s->centre, at)),
                           unit(w, ir_add(w->b, s->centre, at)), is_up, plain);
    }
    ASSERT(s->kind == SHAPE_WAVE); /* above `at` around t = 1/4 */
    IrValue half_width =
        ir_mul(w->b, ir_build1(w->b, IR_ACOS, clamped(w, at, ir_const_float(w->b, -1.0f), one)),
               ir_const_float(w->b, 0.159154943f));
    IrValue quarter = ir_const_float(w->b, 0.25f);
    return of_interval(w, s->t[0], ir_sub(w->b, quarter, half_width),
                       ir_add(w->b, quarter, half_width), ir_build1(w->b, IR_BNOT, is_up), plain);
}

static bool has_period(ShapeKind kind)
{
    return kind == SHAPE_SAW || kind == SHAPE_TRIANGLE || kind == SHAPE_WAVE;
}

static Shape negated(Filter *w, const Shape *s)
{
    Shape out = *s;
    out.offset = ir_neg(w->b, s->offset);
    out.slope = ir_neg(w->b, s->slope);
    return out;
}

/* --- parity --------------------------------------------------------------------------------------- */

Coverage filter_odd(Filter *w, const Shape *x)
{
    ASSERT(x->kind == SHAPE_ODD && x->phase_count <= FILTER_PHASES_MAX);
    IrValue half = ir_const_float(w->b, 0.5f), one = ir_const_float(w->b, 1.0f),
            two = ir_const_float(w->b, 2.0f);
    IrValue sign = ir_const_float(w->b, x->is_flipped ? -1.0f : 1.0f),
            soft = ir_const_bool(w->b, false);
    for (uint32_t i = 0; i < x->phase_count; ++i) {
        IrValue t = ir_mul(w->b, x->t[i], half); /* even in the first half of its period */
        IrValue rest = ir_sub(w->b, t, ir_build1(w->b, IR_FLOOR, t));
        Coverage even =
            of_pulse(w, t, ir_const_float(w->b, 0.0f), half, ir_build2(w->b, IR_FLT, rest, half));
        sign = ir_mul(w->b, sign, ir_sub(w->b, ir_mul(w->b, two, even.k), one));
        soft = ir_build2(w->b, IR_BOR, soft, even.is_soft);
    }
    return (Coverage){.k = ir_mul(w->b, half, ir_sub(w->b, one, sign)), .is_soft = soft};
}

/* --- comparisons ---------------------------------------------------------------------------------- */

static IrValue less_than(Filter *w, Operand x, Operand y)
{
    return ir_build2(w->b, IR_FLT, x.v, y.v);
}

/* An extreme is less where either is, or where both are; a choice, where what is chosen is. */
static Coverage of_two(Filter *w, Operand x, Operand y, bool is_left, const char **out_rule)
{
    const Shape *s = is_left ? x.shape : y.shape;
    ASSERT(s->of);
    Coverage part[2];
    for (uint32_t i = 0; i < 2; ++i) {
        Operand left = is_left ? s->of[i] : x, right = is_left ? y : s->of[i];
        part[i] = filter_less(w, left, right, less_than(w, left, right), out_rule);
        if (!part[i].k)
            return (Coverage){0};
    }
    if (s->kind == SHAPE_CHOICE)
        return filter_choice(w, *s->cond, part[0], part[1]);
    return s->is_minimum == is_left ? filter_or(w, part[0], part[1])
                                    : filter_and(w, part[0], part[1]);
}

static bool has_two(const Shape *s)
{
    return s->kind == SHAPE_EXTREME || s->kind == SHAPE_CHOICE;
}

static bool is_unbroken(ShapeKind kind)
{
    return kind == SHAPE_SMOOTH || kind == SHAPE_CELLS;
}

Coverage filter_less(Filter *w, Operand x, Operand y, IrValue plain, const char **out_rule)
{
    const Shape *a = x.shape, *b = y.shape;
    *out_rule = a->kind == SHAPE_JUMPS ? a->why : b->kind == SHAPE_JUMPS ? b->why : NULL;
    if (*out_rule)
        return (Coverage){0};
    if (a->kind == SHAPE_CHOICE || (has_two(a) && b->kind == SHAPE_SMOOTH))
        return of_two(w, x, y, true, out_rule);
    if (b->kind == SHAPE_CHOICE || (has_two(b) && a->kind == SHAPE_SMOOTH))
        return of_two(w, x, y, false, out_rule);
    const Shape *const both[2] = {a, b};
    if (is_unbroken(a->kind) && is_unbroken(b->kind)) {
        *out_rule = a->phase_count || b->phase_count
                        ? "as an edge, where the footprint is less than half a period"
                        : "as an edge";
        return of_edge(w, x.v, y.v, plain, both);
    }
    *out_rule = "as intervals with a period";
    if (has_period(a->kind) && b->kind == SHAPE_SMOOTH)
        return below(w, a, y.v, plain);
    if (has_period(b->kind) && a->kind == SHAPE_SMOOTH) { /* -y < -x */
        const Shape turned = negated(w, b);
        return below(w, &turned, ir_neg(w->b, x.v), plain);
    }
    *out_rule = "both sides have periods, or one is a sum of roundings";
    return (Coverage){0};
}

/* --- && || ! ?: ----------------------------------------------------------------------------------- */

Coverage filter_not(Filter *w, Coverage x)
{
    Coverage out = {.k = one_minus(w, x.k), .is_soft = x.is_soft, .width = x.width};
    if (x.width) {
        out.dx = ir_neg(w->b, x.dx);
        out.dy = ir_neg(w->b, x.dy);
    }
    return out;
}

static IrValue either(Filter *w, IrValue x, IrValue y)
{
    return ir_build2(w->b, IR_BOR, x, y);
}

Coverage filter_and(Filter *w, Coverage x, Coverage y)
{
    ASSERT(x.k && y.k);
    if (x.t && x.t == y.t)
        return of_both(w, &x, &y);
    IrValue k = ir_mul(w->b, x.k, y.k);
    if (x.width && y.width) {
        IrValue zero = ir_const_float(w->b, 0.0f), one = ir_const_float(w->b, 1.0f);
        IrValue dot =
            ir_add(w->b, ir_mul(w->b, ir_div(w->b, x.dx, x.width), ir_div(w->b, y.dx, y.width)),
                   ir_mul(w->b, ir_div(w->b, x.dy, x.width), ir_div(w->b, y.dy, y.width)));
        IrValue cosine = clamped(w, dot, ir_const_float(w->b, -1.0f), one);
        IrValue least = ir_build2(w->b, IR_FMAX, ir_sub(w->b, ir_add(w->b, x.k, y.k), one), zero);
        IrValue parallel = ir_build_select(w->b, is_positive(w, cosine),
                                           ir_build2(w->b, IR_FMIN, x.k, y.k), least);
        IrValue weight = ir_build1(w->b, IR_FABS, cosine);
        k = ir_add(w->b, k, ir_mul(w->b, weight, ir_sub(w->b, parallel, k)));
    }
    return (Coverage){.k = k, .is_soft = either(w, x.is_soft, y.is_soft)};
}

Coverage filter_or(Filter *w, Coverage x, Coverage y)
{
    if (!(x.t && x.t == y.t))
        return filter_not(w, filter_and(w, filter_not(w, x), filter_not(w, y)));
    const Coverage both = of_both(w, &x, &y);
    return (Coverage){.k = ir_sub(w->b, ir_add(w->b, x.k, y.k), both.k), .is_soft = both.is_soft};
}

Coverage filter_xor(Filter *w, Coverage x, Coverage y)
{
    return filter_choice(w, x, filter_not(w, y), y);
}

Coverage filter_choice(Filter *w, Coverage cond, Coverage x, Coverage y)
{
    ASSERT(cond.k && x.k && y.k);
    IrValue k = ir_add(w->b, y.k, ir_mul(w->b, cond.k, ir_sub(w->b, x.k, y.k)));
    return (Coverage){.k = k, .is_soft = either(w, cond.is_soft, either(w, x.is_soft, y.is_soft))};
}
