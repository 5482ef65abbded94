/* The rules. Where the derivative follows from the value (exp, tan, pow, roots), the value is used in place of another
 * call. Guards select zero without a branch: both sides are computed, and the builder folds a guard with a constant
 * argument. docs/internals/derivatives.md has the table of guards and of the values there. */
#include "ssl/passes/partials.h"
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/ir/ir_clone.h"
#include <float.h>
#include <math.h>

#define LN2     0.693147180559945f
#define LOG2_E  1.442695040888963f
#define LOG10_E 0.434294481903252f

/* Returns p where the condition holds, else 0. */
static IrValue where(IrBuilder *b, IrValue cond, IrValue p)
{
    return ir_build_select(b, cond, p, ir_const_float(b, 0.0f));
}

IrValue ir_finite(IrBuilder *b, IrValue v)
{
    IrValue size = ir_build1(b, IR_FABS, v);
    IrValue is_finite = ir_build2(b, IR_FLE, size, ir_const_float(b, FLT_MAX));
    return ir_build_guard(b, is_finite, v, ir_const_float(b, 0.0f));
}

static IrValue one_minus_square(IrBuilder *b, IrValue x)
{
    IrValue one = ir_const_float(b, 1.0f);
    return ir_mul(b, ir_sub(b, one, x), ir_add(b, one, x));
}

/* --- x / y, fmod, pow, atan2, hypot ----------------------------------------------------------- */

static IrValue subtract(IrBuilder *b, IrValue x, IrValue y)
{
    if (!y)
        return x;
    return x ? ir_sub(b, x, y) : ir_neg(b, y);
}

static IrValue sum(IrBuilder *b, IrValue x, IrValue y)
{
    return x && y ? ir_add(b, x, y) : x ? x : y;
}

/* x'/y - (y'/y) v, in this order: v/y alone may overflow where the product does not. */
static IrValue of_div(IrBuilder *b, const IrValue *a, IrValue v, const IrValue *t)
{
    ASSERT(t[0] || t[1]);
    IrValue inverse = ir_div(b, ir_const_float(b, 1.0f), a[1]);
    float known;
    if (!t[1] && ir_is_const_float(b, inverse, &known) && fabsf(known) <= FLT_MAX)
        return ir_mul(b, t[0], inverse);
    IrValue first = t[0] ? ir_finite(b, ir_mul(b, t[0], inverse)) : 0;
    IrValue second = t[1] ? ir_finite(b, ir_mul(b, ir_mul(b, t[1], inverse), v)) : 0;
    return subtract(b, first, second);
}

/* x' - trunc(x/y) y'. The quotient is (x - v)/y, which is whole but for rounding; trunc(x/y) itself
 * is off by one where x/y rounds up to a whole number. */
static IrValue of_fmod(IrBuilder *b, const IrValue *a, IrValue v, const IrValue *t)
{
    if (!t[1])
        return t[0];
    IrValue quotient = ir_div(b, ir_sub(b, a[0], v), a[1]);
    return subtract(b, t[0], ir_finite(b, ir_mul(b, ir_build1(b, IR_ROUND, quotient), t[1])));
}

static bool is_square(IrBuilder *b, const IrValue *pow_args)
{
    float exponent;
    return ir_is_const_float(b, pow_args[1], &exponent) && exponent == 2.0f;
}

/* x^e: e v x'/x, which keeps the sign at x < 0 with a whole e and is 0 where the value is held at 0; at
 * x = 0 it is x' for e = 1, else 0 (exact for e > 1, the guard for e < 1). With respect to e: v ln x e'
 * where x > 0. */
static IrValue of_pow(IrBuilder *b, const IrValue *a, IrValue v, const IrValue *t)
{
    IrValue zero = ir_const_float(b, 0.0f), one = ir_const_float(b, 1.0f), by_base = 0,
            by_exponent = 0;
    if (!t[1] && is_square(b, a)) {
        IrValue half = ir_mul(b, a[0], t[0]);
        return ir_add(b, half, half);
    }
    if (t[0])
        by_base = ir_mul(b, ir_mul(b, ir_div(b, t[0], a[0]), v), a[1]);
    if (t[1])
        by_exponent = where(b, ir_build2(b, IR_FGT, a[0], zero),
                            ir_mul(b, ir_mul(b, v, ir_build1(b, IR_LOG, a[0])), t[1]));
    IrValue p = ir_finite(b, sum(b, by_base, by_exponent));
    if (!t[0])
        return p;
    IrValue at_zero = where(b, ir_build2(b, IR_FEQ, a[1], one), t[0]);
    return ir_build_select(b, ir_build2(b, IR_FEQ, a[0], zero), at_zero, p);
}

/* atan2(y, x): (x y' - y x') / r^2 with r = hypot(x, y), whose square need not be a float; 0 at the
 * origin. */
static IrValue of_atan2(IrBuilder *b, const IrValue *a, const IrValue *t)
{
    IrValue r = ir_build2(b, IR_HYPOT, a[0], a[1]);
    IrValue first = t[0] ? ir_mul(b, ir_div(b, a[1], r), t[0]) : 0;
    IrValue second = t[1] ? ir_mul(b, ir_div(b, a[0], r), t[1]) : 0;
    return ir_finite(b, ir_div(b, subtract(b, first, second), r));
}

static IrValue of_hypot(IrBuilder *b, const IrValue *a, IrValue v, const IrValue *t)
{
    IrValue is_off = ir_build2(b, IR_FGT, v, ir_const_float(b, 0.0f)), part[2] = {0};
    for (uint32_t i = 0; i < 2; ++i)
        if (t[i])
            part[i] = ir_mul(b, where(b, is_off, ir_div(b, a[i], v)), t[i]);
    return sum(b, part[0], part[1]);
}

static IrValue tangent2(IrBuilder *b, IrOp op, const IrValue *a, IrValue v, const IrValue *t)
{
    switch (op) {
    case IR_FADD:
        return sum(b, t[0], t[1]);
    case IR_FSUB:
        return subtract(b, t[0], t[1]);
    case IR_FMUL:
        return sum(b, t[0] ? ir_mul(b, a[1], t[0]) : 0, t[1] ? ir_mul(b, a[0], t[1]) : 0);
    case IR_FDIV:
        return of_div(b, a, v, t);
    case IR_FMOD:
        return of_fmod(b, a, v, t);
    case IR_POW:
        return of_pow(b, a, v, t);
    case IR_ATAN2:
        return of_atan2(b, a, t);
    case IR_HYPOT:
        return of_hypot(b, a, v, t);
    default:
        UNREACHABLE();
    }
}

/* --- functions of one argument ---------------------------------------------------------------- */

/* scale / x from where logarithms are no longer clamped. */
static IrValue of_log(IrBuilder *b, IrValue x, float scale)
{
    IrValue in_domain = ir_build2(b, IR_FGE, x, ir_const_float(b, FLT_MIN));
    return where(b, in_domain, ir_div(b, ir_const_float(b, scale), x));
}

static IrValue of_root(IrBuilder *b, IrOp op, IrValue x, IrValue v)
{
    IrValue zero = ir_const_float(b, 0.0f);
    if (op == IR_SQRT)
        return where(b, ir_build2(b, IR_FGT, x, zero), ir_div(b, ir_const_float(b, 0.5f), v));
    return where(b, ir_build2(b, IR_FNE, x, zero),
                 ir_div(b, ir_const_float(b, 1.0f / 3.0f), ir_mul(b, v, v)));
}

/* The derivative by the argument, where it is finite or guarded to be so. */
static IrValue partial1(IrBuilder *b, IrOp op, IrValue x, IrValue v)
{
    IrValue zero = ir_const_float(b, 0.0f), one = ir_const_float(b, 1.0f);
    switch (op) {
    case IR_FNEG:
        return ir_const_float(b, -1.0f);
    case IR_FABS:
        return ir_build_select(b, ir_build2(b, IR_FLT, x, zero), ir_const_float(b, -1.0f), one);
    case IR_SQRT:
    case IR_CBRT:
        return of_root(b, op, x, v);
    case IR_EXP:
        return v;
    case IR_EXP2:
        return ir_mul(b, v, ir_const_float(b, LN2));
    case IR_EXPM1:
        return ir_add(b, v, one);
    case IR_LOG:
        return of_log(b, x, 1.0f);
    case IR_LOG2:
        return of_log(b, x, LOG2_E);
    case IR_LOG10:
        return of_log(b, x, LOG10_E);
    case IR_LOG1P:
        return where(b, ir_build2(b, IR_FGT, x, ir_const_float(b, -1.0f)),
                     ir_div(b, one, ir_add(b, one, x)));
    case IR_SIN:
        return ir_build1(b, IR_COS, x);
    case IR_COS:
        return ir_neg(b, ir_build1(b, IR_SIN, x));
    case IR_TAN:
        return ir_add(b, one, ir_mul(b, v, v));
    case IR_ASIN: /* INVSQRT is 0 from |x| = 1 on */
        return ir_build1(b, IR_INVSQRT, one_minus_square(b, x));
    case IR_ACOS:
        return ir_neg(b, ir_build1(b, IR_INVSQRT, one_minus_square(b, x)));
    case IR_SINH:
        return ir_build1(b, IR_COSH, x);
    case IR_COSH:
        return ir_build1(b, IR_SINH, x);
    case IR_TANH:
        return one_minus_square(b, v);
    default:
        UNREACHABLE();
    }
}

/* Returns whether the derivative can overflow although neither value nor argument is extreme. */
static bool may_overflow(IrOp op)
{
    switch (op) {
    case IR_EXP:
    case IR_EXP2:
    case IR_EXPM1:
    case IR_SINH:
    case IR_COSH:
        return true;
    default:
        return false;
    }
}

static IrValue tangent1(IrBuilder *b, IrOp op, IrValue x, IrValue v, IrValue t)
{
    /* v is 0 outside the domain. v^3 would overflow from 1e-26 down, where t is tiny, too. */
    if (op == IR_INVSQRT)
        return ir_finite(
            b, ir_mul(b, ir_mul(b, ir_mul(b, t, v), v), ir_mul(b, ir_const_float(b, -0.5f), v)));
    if (op == IR_ATAN) { /* the square of hypot need not be a float */
        IrValue r = ir_build2(b, IR_HYPOT, ir_const_float(b, 1.0f), x);
        return ir_div(b, ir_div(b, t, r), r);
    }
    IrValue p = ir_mul(b, partial1(b, op, x, v), t);
    return may_overflow(op) ? ir_finite(b, p) : p;
}

IrValue ir_tangent(IrBuilder *b, IrOp op, const IrValue *args, IrValue result,
                   const IrValue *tangents)
{
    ASSERT(ir_op_info(op)->flags & IR_FLAG_PARTIALS);
    if (op == IR_FMA)
        return sum(b, tangent2(b, IR_FMUL, args, 0, tangents), tangents[2]);
    if (op == IR_APART || op == IR_KEEP)
        return tangents[0];
    if (ir_op_info(op)->signature[1] == '>')
        return tangents[0] ? tangent1(b, op, args[0], result, tangents[0]) : 0;
    return tangents[0] || tangents[1] ? tangent2(b, op, args, result, tangents) : 0;
}

bool ir_choice(IrBuilder *b, IrOp op, const IrValue *args, IrChoice *out)
{
    switch (op) {
    case IR_FMIN:
        *out = (IrChoice){ir_build2(b, IR_FLT, args[1], args[0]), 1, 0};
        return true;
    case IR_FMAX:
        *out = (IrChoice){ir_build2(b, IR_FGT, args[0], args[1]), 0, 1};
        return true;
    case IR_SELECT:
        *out = (IrChoice){args[0], 1, 2};
        return true;
    default:
        return false;
    }
}

/* --- by paths --------------------------------------------------------------------------------- */

/* Returns a tangent times a factor, given as `product`, but 0 where that is NaN: 0 times infinity. The product is tested, not
 * whether one is 0, because this code may be differentiated itself: where it is finite its derivative stays as it is. If
 * `keeps_nan`, a tangent that is NaN already, because it overflowed both ways, stays NaN. */
static IrValue zero_wins(IrBuilder *b, IrValue tangent, IrValue product, bool keeps_nan)
{
    IrValue loses = ir_build1(b, IR_ISNAN, product);
    if (keeps_nan)
        loses =
            ir_build2(b, IR_BAND, loses, ir_build1(b, IR_BNOT, ir_build1(b, IR_ISNAN, tangent)));
    return ir_build_guard(b, loses, ir_const_float(b, 0.0f), product);
}

enum { BOUND_DEPTH = 6 };

/* Returns a bound of a value's size, if it is no NaN, whatever the inputs are: infinite if none is known. What is made of ints in a few
 * operations has one. */
static double bound_of(IrBuilder *b, IrValue v, uint32_t depth)
{
    float x;
    double size[3] = {0};
    if (ir_is_const_float(b, v, &x))
        return fabs((double)x);
    const IrFunc *f = ir_build_func(b);
    const IrInst *inst = ir_inst(f, f->values.data[v].def);
    bool is_made =
        inst->op == IR_FADD || inst->op == IR_FSUB || inst->op == IR_FMUL || inst->op == IR_FMA;
    for (uint32_t i = 0; i < inst->arg_count && is_made; ++i)
        size[i] = depth == 0 ? (double)INFINITY : bound_of(b, ir_args(f, inst)[i], depth - 1);
    switch (inst->op) {
    case IR_FADD:
    case IR_FSUB:
        return size[0] + size[1];
    case IR_FMUL:
    case IR_FMA:
        return size[0] * size[1] + size[2];
    case IR_I2F:
        return 0x1p31;
    case IR_INVSQRT:
        return 0x1p75;
    case IR_LOG:
        return 128;
    case IR_SIN:
    case IR_COS:
    case IR_ASIN:
    case IR_ACOS:
    case IR_ATAN:
    case IR_ATAN2:
    case IR_TANH:
        return 4;
    default:
        return (double)INFINITY;
    }
}

/* Returns whether a value is finite for any arguments of the operations that computed it, or NaN. */
static bool is_always_finite(IrBuilder *b, IrValue v)
{
    float x;
    return ir_is_const_float(b, v, &x) ? fabsf(x) <= FLT_MAX
                                       : bound_of(b, v, BOUND_DEPTH) < 0x1p126;
}

static IrValue times(IrBuilder *b, IrValue factor, IrValue tangent, bool keeps_nan)
{
    if (!tangent)
        return 0;
    IrValue product = ir_mul(b, factor, tangent);
    return is_always_finite(b, factor) ? product : zero_wins(b, tangent, product, keeps_nan);
}

IrValue ir_tangent_by_paths(IrBuilder *b, IrOp op, const IrValue *args, IrValue result,
                            const IrValue *tangents, bool keeps_nan)
{
    IrValue t = ir_tangent(b, op, args, result, tangents);
    switch (op) {
    case IR_FMUL:
        return sum(b, times(b, args[1], tangents[0], keeps_nan),
                   times(b, args[0], tangents[1], keeps_nan));
    case IR_FMA:
        return sum(b, ir_tangent_by_paths(b, IR_FMUL, args, 0, tangents, keeps_nan), tangents[2]);
    case IR_POW: /* only a square has no guard of its own */
        return t && !tangents[1] && is_square(b, args) ? zero_wins(b, tangents[0], t, keeps_nan)
                                                       : t;
    case IR_SQRT:
    case IR_CBRT:
    case IR_LOG:
    case IR_LOG2:
    case IR_LOG10:
    case IR_LOG1P:
    case IR_SIN:
    case IR_COS:
    case IR_TAN:
    case IR_ASIN:
    case IR_ACOS:
    case IR_ATAN:
    case IR_TANH:
        return t ? zero_wins(b, tangents[0], t, keeps_nan) : 0;
    case IR_HYPOT:
        if (!tangents[0] || !tangents[1])
            return zero_wins(b, sum(b, tangents[0], tangents[1]), t, keeps_nan);
        return sum(
            b,
            ir_tangent_by_paths(b, op, args, result, (const IrValue[]){tangents[0], 0}, keeps_nan),
            ir_tangent_by_paths(b, op, args, result, (const IrValue[]){0, tangents[1]}, keeps_nan));
    default:
        return t;
    }
}

/* --- of any operation ------------------------------------------------------------------------- */

IrValue ir_finite_all(IrBuilder *b, IrValue v)
{
    IrType type = ir_build_type(b, v);
    if (!ir_is_array(type))
        return ir_finite(b, v);
    uint32_t count = ir_count(type);
    IrValue *elements = ARENA_ARRAY(ir_build_module(b)->arena, IrValue, count);
    for (uint32_t i = 0; i < count; ++i)
        elements[i] = ir_finite(b, ir_build2(b, IR_ARRAY_GET, v, ir_const_int(b, (int32_t)i)));
    return ir_build_array(b, IR_FLOAT, elements, count);
}

/* Returns the tangent of an argument as a value, which may be of zeros. */
static IrValue or_zero(IrBuilder *b, IrValue arg, IrValue tangent)
{
    return tangent ? tangent : ir_build_zero(b, ir_build_type(b, arg));
}

IrValue ir_tangent_of_any(IrBuilder *b, IrOp op, const IrValue *args, uint32_t arg_count,
                          IrValue result, const IrValue *tangents, bool keeps_nan)
{
    IrChoice choice;
    switch (op) {
    case IR_DDX:
    case IR_DDY:
        return ir_build1(b, op, tangents[0]);
    case IR_ARRAY: {
        IrValue *elements = ARENA_ARRAY(ir_build_module(b)->arena, IrValue, arg_count);
        for (uint32_t i = 0; i < arg_count; ++i)
            elements[i] = or_zero(b, args[i], tangents[i]);
        return ir_build_array(b, IR_FLOAT, elements, arg_count);
    }
    case IR_ARRAY_GET:
        return ir_build2(b, op, tangents[0], args[1]);
    case IR_ARRAY_SET:
        return ir_build3(b, op, or_zero(b, args[0], tangents[0]), args[1],
                         or_zero(b, args[2], tangents[2]));
    default:
        break;
    }
    if (!ir_choice(b, op, args, &choice))
        return ir_tangent_by_paths(b, op, args, result, tangents, keeps_nan);
    IrValue x = or_zero(b, args[choice.if_true], tangents[choice.if_true]);
    return ir_build_select(b, choice.cond, x,
                           or_zero(b, args[choice.if_false], tangents[choice.if_false]));
}
