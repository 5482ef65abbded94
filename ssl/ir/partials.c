/* The rules. Where a value is at hand that the derivative can be had from (exp, tan, pow, roots), it is
 * used instead of another call. Guards are selections of zero, never branches: both sides are computed
 * and the builder folds them away where an argument is constant. Which guard stands where, and what
 * the value is there, is the table of docs/derivatives.md. */
#include "ssl/ir/partials.h"
#include "base/check.h"
#include <float.h>

#define LN2     0.693147180559945f
#define LOG2_E  1.442695040888963f
#define LOG10_E 0.434294481903252f

static IrValue number(IrBuilder *b, float x)
{
    return ir_const_float(b, x);
}

static IrValue add(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FADD, x, y);
}

static IrValue mul(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FMUL, x, y);
}

static IrValue over(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FDIV, x, y);
}

static IrValue negate(IrBuilder *b, IrValue x)
{
    return ir_build1(b, IR_FNEG, x);
}

/* p where the condition holds, else 0. */
static IrValue where(IrBuilder *b, IrValue cond, IrValue p)
{
    return ir_build_select(b, cond, p, number(b, 0.0f));
}

/* p, or 0 when it is an infinity or NaN. */
static IrValue finite(IrBuilder *b, IrValue p)
{
    IrValue size = ir_build1(b, IR_FABS, p);
    return where(b, ir_build2(b, IR_FLE, size, number(b, FLT_MAX)), p);
}

static IrValue one_minus_square(IrBuilder *b, IrValue x)
{
    IrValue one = number(b, 1.0f);
    return mul(b, ir_build2(b, IR_FSUB, one, x), add(b, one, x));
}

/* --- x / y, fmod, pow, atan2, hypot ----------------------------------------------------------- */

/* 1/y and -(x/y)/y; 0 at y = 0, where both overflow. */
static IrValue of_div(IrBuilder *b, const IrValue *a, IrValue v, uint32_t index)
{
    IrValue inverse = over(b, number(b, 1.0f), a[1]);
    if (index == 0)
        return finite(b, inverse);
    return negate(b, finite(b, mul(b, v, inverse)));
}

/* x - trunc(x/y) y. The quotient is (x - v)/y, which is whole but for rounding; trunc(x/y) itself
 * is off by one where x/y rounds up to a whole number. */
static IrValue of_fmod(IrBuilder *b, const IrValue *a, IrValue v, uint32_t index)
{
    IrValue one = number(b, 1.0f);
    if (index == 0)
        return one;
    IrValue quotient = over(b, ir_build2(b, IR_FSUB, a[0], v), a[1]);
    return negate(b, finite(b, ir_build1(b, IR_ROUND, quotient)));
}

/* t^e: e t^e / t, which keeps the sign at t < 0 with a whole e and is 0 where the value is held at
 * 0; at t = 0 it is 1 for e = 1, else 0 (exact for e > 1, the guard for e < 1). With respect to e:
 * t^e ln t where t > 0. */
static IrValue of_pow(IrBuilder *b, const IrValue *a, IrValue v, uint32_t index)
{
    IrValue zero = number(b, 0.0f), one = number(b, 1.0f);
    float exponent;
    if (index == 1) {
        IrValue p = mul(b, v, ir_build1(b, IR_LOG, a[0]));
        return where(b, ir_build2(b, IR_FGT, a[0], zero), finite(b, p));
    }
    if (ir_is_const_float(b, a[1], &exponent) && exponent == 2.0f)
        return finite(b, add(b, a[0], a[0]));
    IrValue at_zero = where(b, ir_build2(b, IR_FEQ, a[1], one), one);
    IrValue p = finite(b, over(b, mul(b, a[1], v), a[0]));
    return ir_build_select(b, ir_build2(b, IR_FEQ, a[0], zero), at_zero, p);
}

/* atan2(y, x): x / (x^2 + y^2) and -y / (x^2 + y^2); 0 at the origin. */
static IrValue of_atan2(IrBuilder *b, const IrValue *a, uint32_t index)
{
    IrValue square = add(b, mul(b, a[0], a[0]), mul(b, a[1], a[1]));
    IrValue is_off = ir_build2(b, IR_FGT, square, number(b, 0.0f));
    IrValue p = where(b, is_off, finite(b, over(b, a[1 - index], square)));
    return index == 0 ? p : negate(b, p);
}

static IrValue partial2(IrBuilder *b, IrOp op, const IrValue *a, IrValue v, uint32_t index)
{
    switch ((unsigned)op) {
    case IR_FADD:
        return number(b, 1.0f);
    case IR_FSUB:
        return number(b, index == 0 ? 1.0f : -1.0f);
    case IR_FMUL:
        return a[1 - index];
    case IR_FDIV:
        return of_div(b, a, v, index);
    case IR_FMOD:
        return of_fmod(b, a, v, index);
    case IR_POW:
        return of_pow(b, a, v, index);
    case IR_ATAN2:
        return of_atan2(b, a, index);
    case IR_HYPOT: {
        IrValue is_off = ir_build2(b, IR_FGT, v, number(b, 0.0f));
        return where(b, is_off, over(b, a[index], v));
    }
    }
    UNREACHABLE();
}

/* --- functions of one argument ---------------------------------------------------------------- */

/* scale / x from where logarithms are no longer clamped. */
static IrValue of_log(IrBuilder *b, IrValue x, float scale)
{
    IrValue in_domain = ir_build2(b, IR_FGE, x, number(b, FLT_MIN));
    return where(b, in_domain, over(b, number(b, scale), x));
}

static IrValue of_root(IrBuilder *b, IrOp op, IrValue x, IrValue v)
{
    IrValue zero = number(b, 0.0f), p;
    IrValue in_domain = ir_build2(b, op == IR_CBRT ? IR_FNE : IR_FGT, x, zero);
    if (op == IR_SQRT)
        p = over(b, number(b, 0.5f), v);
    else if (op == IR_INVSQRT)
        p = finite(b, mul(b, number(b, -0.5f), mul(b, v, mul(b, v, v))));
    else
        p = over(b, number(b, 1.0f / 3.0f), mul(b, v, v));
    return where(b, in_domain, p);
}

static IrValue partial1(IrBuilder *b, IrOp op, IrValue x, IrValue v)
{
    IrValue zero = number(b, 0.0f), one = number(b, 1.0f);
    switch ((unsigned)op) {
    case IR_FNEG:
        return number(b, -1.0f);
    case IR_FABS:
        return ir_build_select(b, ir_build2(b, IR_FLT, x, zero), number(b, -1.0f), one);
    case IR_SQRT:
    case IR_INVSQRT:
    case IR_CBRT:
        return of_root(b, op, x, v);
    case IR_EXP:
        return finite(b, v);
    case IR_EXP2:
        return finite(b, mul(b, v, number(b, LN2)));
    case IR_EXPM1:
        return finite(b, add(b, v, one));
    case IR_LOG:
        return of_log(b, x, 1.0f);
    case IR_LOG2:
        return of_log(b, x, LOG2_E);
    case IR_LOG10:
        return of_log(b, x, LOG10_E);
    case IR_LOG1P:
        return where(b, ir_build2(b, IR_FGT, x, number(b, -1.0f)), over(b, one, add(b, one, x)));
    case IR_SIN:
        return ir_build1(b, IR_COS, x);
    case IR_COS:
        return negate(b, ir_build1(b, IR_SIN, x));
    case IR_TAN:
        return add(b, one, mul(b, v, v));
    case IR_ASIN: /* INVSQRT is 0 from |x| = 1 on */
        return ir_build1(b, IR_INVSQRT, one_minus_square(b, x));
    case IR_ACOS:
        return negate(b, ir_build1(b, IR_INVSQRT, one_minus_square(b, x)));
    case IR_ATAN:
        return over(b, one, add(b, one, mul(b, x, x)));
    case IR_SINH:
        return finite(b, ir_build1(b, IR_COSH, x));
    case IR_COSH:
        return finite(b, ir_build1(b, IR_SINH, x));
    case IR_TANH:
        return one_minus_square(b, v);
    }
    UNREACHABLE();
}

IrValue ir_partial(IrBuilder *b, IrOp op, const IrValue *args, IrValue result, uint32_t index)
{
    ASSERT(ir_op_info(op)->flags & IR_FLAG_PARTIALS);
    if (ir_op_info(op)->signature[1] == '>')
        return partial1(b, op, args[0], result);
    return partial2(b, op, args, result, index);
}

bool ir_choice(IrBuilder *b, IrOp op, const IrValue *args, IrChoice *out)
{
    switch ((unsigned)op) {
    case IR_FMIN:
        *out = (IrChoice){ir_build2(b, IR_FLT, args[1], args[0]), 1, 0};
        return true;
    case IR_FMAX:
        *out = (IrChoice){ir_build2(b, IR_FGT, args[0], args[1]), 0, 1};
        return true;
    case IR_SELECT:
        *out = (IrChoice){args[0], 1, 2};
        return true;
    }
    return false;
}
