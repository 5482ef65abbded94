/* Folding of constants and identities.
 *
 * Folding must not change a bit of a result, so IEEE arithmetic limits it: x + 0 stays (-0 + 0 is +0), and so does
 * x * 0 (infinities, NaN, -0), but x - 0, x * 1 and x / 1 become x. Kernels flush subnormals, and the bits of a NaN
 * depend on the machine; therefore operations on constants whose arguments or result are subnormal or NaN are left
 * for run time. */
#include "ssl/ir/ir_fold.h"
#include "base/check.h"
#include "ssl/rt/rt.h"
#include <float.h>

/* --- what operations compute ------------------------------------------------------------------ */

#define FLOAT1(name, expression)                                                                   \
    case IR_##name: {                                                                              \
        float x = a[0].f;                                                                          \
        out->f = (expression);                                                                     \
        return true;                                                                               \
    }
#define FLOAT2(name, expression)                                                                   \
    case IR_##name: {                                                                              \
        float x = a[0].f, y = a[1].f;                                                              \
        out->f = (expression);                                                                     \
        return true;                                                                               \
    }
#define TEST2(name, member, type, operator)                                                        \
    case IR_##name: {                                                                              \
        type x = a[0].member, y = a[1].member;                                                     \
        out->b = x operator y;                                                                     \
        return true;                                                                               \
    }
#define INT2(name, expression)                                                                     \
    case IR_##name: {                                                                              \
        int32_t x = a[0].i, y = a[1].i;                                                            \
        out->i = (expression);                                                                     \
        return true;                                                                               \
    }

static bool eval_fused(IrOp op, const IrScalar *a, IrScalar *out)
{
    switch (op) {
#define RT_MATH1(name, f) FLOAT1(name, rt_##f(x))
#define RT_MATH2(name, f) FLOAT2(name, rt_##f(x, y))
#include "ssl/rt/rt_fused.inc"
#undef RT_MATH1
#undef RT_MATH2
    default:
        return false;
    }
}

static bool eval_math(IrOp op, const IrScalar *a, IrScalar *out)
{
    switch (op) {
#define RT_MATH1(name, f) FLOAT1(name, rt_##f(x))
#define RT_MATH2(name, f) FLOAT2(name, rt_##f(x, y))
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2
        FLOAT1(FNEG, -x)
        FLOAT2(FADD, x + y)
        FLOAT2(FSUB, x - y)
        FLOAT2(FMUL, x * y)
        FLOAT2(FDIV, x / y)
        FLOAT2(FMIN, rt_min(x, y))
        FLOAT2(FMAX, rt_max(x, y))
        FLOAT1(FABS, fabsf(x))
        FLOAT1(FLOOR, floorf(x))
        FLOAT1(CEIL, ceilf(x))
        FLOAT1(ROUND, roundf(x))
        FLOAT1(TRUNC, truncf(x))
        FLOAT1(SIGN, rt_sign(x))
        FLOAT1(SQRT, rt_sqrt(x))
        FLOAT1(INVSQRT, rt_inverse_sqrt(x))
    case IR_FMA:
        out->f = rt_fma(a[0].f, a[1].f, a[2].f);
        return true;
    default:
        return false;
    }
}

static bool eval_int(IrOp op, const IrScalar *a, IrScalar *out)
{
    switch (op) {
        INT2(IADD, rt_int_add(x, y))
        INT2(ISUB, rt_int_sub(x, y))
        INT2(IMUL, rt_int_mul(x, y))
        INT2(IDIV, rt_int_div(x, y))
        INT2(IMOD, rt_int_mod(x, y))
        INT2(IMIN, y < x ? y : x)
        INT2(IMAX, x > y ? x : y)
        INT2(IAND, x & y)
        INT2(IOR, x | y)
        INT2(IXOR, x ^ y)
        INT2(ISHL, rt_int_shl(x, y))
        INT2(ISHR, rt_int_shr(x, y))
        INT2(IUSHR, rt_int_ushr(x, y))
        TEST2(IEQ, i, int32_t, ==)
        TEST2(INE, i, int32_t, !=)
        TEST2(ILT, i, int32_t, <)
        TEST2(ILE, i, int32_t, <=)
        TEST2(IGT, i, int32_t, >)
        TEST2(IGE, i, int32_t, >=)
    case IR_INEG:
        out->i = rt_int_sub(0, a[0].i);
        return true;
    case IR_INOT:
        out->i = ~a[0].i;
        return true;
    default:
        return false;
    }
}

bool ir_scalar_eval(IrOp op, uint64_t imm, const IrScalar *a, IrScalar *out)
{
    *out = (IrScalar){0};
    if (imm == IR_FUSED && eval_fused(op, a, out))
        return true;
    switch (op) {
        TEST2(FEQ, f, float, ==)
        TEST2(FNE, f, float, !=)
        TEST2(FLT, f, float, <)
        TEST2(FLE, f, float, <=)
        TEST2(FGT, f, float, >)
        TEST2(FGE, f, float, >=)
        TEST2(BXOR, b, bool, !=)
        TEST2(BAND, b, bool, &)
        TEST2(BOR, b, bool, |)
    case IR_ISNAN:
        out->b = isnan(a[0].f);
        return true;
    case IR_ISINF:
        out->b = isinf(a[0].f);
        return true;
    case IR_BNOT:
        out->b = !a[0].b;
        return true;
    case IR_I2F:
        out->f = (float)a[0].i;
        return true;
    case IR_F2I:
        out->i = rt_int_from_float(a[0].f);
        return true;
    case IR_B2I:
        out->i = a[0].b;
        return true;
    case IR_FBITS:
        out->i = rt_float_bits(a[0].f);
        return true;
    default:
        return eval_math(op, a, out) || eval_int(op, a, out);
    }
}

/* --- constants -------------------------------------------------------------------------------- */

bool ir_folds_float(float x)
{
    return x == 0.0f || isnormal(x) || isinf(x);
}

static bool constant_scalar(IrBuilder *b, IrValue v, IrScalar *out)
{
    switch (ir_build_type(b, v)) {
    case IR_BOOL:
        return ir_is_const_bool(b, v, &out->b);
    case IR_INT:
        return ir_is_const_int(b, v, &out->i);
    case IR_FLOAT:
        return ir_is_const_float(b, v, &out->f) && ir_folds_float(out->f);
    default:
        return false;
    }
}

static IrValue fold_constants(IrBuilder *b, IrOp op, uint64_t imm, const IrValue *args,
                              uint32_t arg_count)
{
    IrScalar scalars[3], result;
    if (arg_count == 0 || arg_count > SORT_COUNT_OF(scalars))
        return 0;
    for (uint32_t i = 0; i < arg_count; ++i)
        if (!constant_scalar(b, args[i], &scalars[i]))
            return 0;
    if (!ir_scalar_eval(op, imm, scalars, &result))
        return 0;
    switch (ir_op_info(op)->signature[arg_count + 1]) {
    case 'b':
        return ir_const_bool(b, result.b);
    case 'i':
        return ir_const_int(b, result.i);
    default:
        return ir_folds_float(result.f) ? ir_const_float(b, result.f) : 0;
    }
}

/* --- identities ------------------------------------------------------------------------------- */

static const IrInst *definition(IrBuilder *b, IrValue v)
{
    const IrFunc *f = ir_build_func(b);
    return ir_inst(f, f->values.data[v].def); /* [0]: op 0, of a region's parameter */
}

static bool is_op(IrBuilder *b, IrValue v, IrOp op, IrValue *out_arg)
{
    const IrInst *inst = definition(b, v);
    if (inst->op != op)
        return false;
    *out_arg = ir_args(ir_build_func(b), inst)[0];
    return true;
}

static bool is_float(IrBuilder *b, IrValue v, float wanted)
{
    float x;
    return ir_is_const_float(b, v, &x) && x == wanted && !signbit(x) == !signbit(wanted);
}

static bool is_int(IrBuilder *b, IrValue v, int32_t wanted)
{
    int32_t x;
    return ir_is_const_int(b, v, &x) && x == wanted;
}

static IrValue fold_add(IrBuilder *b, IrValue x, IrValue y)
{
    IrValue negated;
    if (is_float(b, y, -0.0f))
        return x;
    if (is_float(b, x, -0.0f))
        return y;
    if (is_op(b, y, IR_FNEG, &negated))
        return ir_build2(b, IR_FSUB, x, negated);
    if (is_op(b, x, IR_FNEG, &negated))
        return ir_build2(b, IR_FSUB, y, negated);
    return 0;
}

static IrValue fold_mul(IrBuilder *b, IrValue x, IrValue y)
{
    IrValue negated;
    if (is_float(b, y, 1.0f))
        return x;
    if (is_float(b, x, 1.0f))
        return y;
    if (is_float(b, y, -1.0f))
        return ir_build1(b, IR_FNEG, x);
    if (is_float(b, x, -1.0f))
        return ir_build1(b, IR_FNEG, y);
    if (is_op(b, x, IR_FNEG, &negated))
        return ir_build1(b, IR_FNEG, ir_build2(b, IR_FMUL, negated, y));
    if (is_op(b, y, IR_FNEG, &negated))
        return ir_build1(b, IR_FNEG, ir_build2(b, IR_FMUL, x, negated));
    return 0;
}

static IrValue fold_float(IrBuilder *b, IrOp op, const IrValue *a)
{
    IrValue inner;
    switch (op) {
    case IR_FADD:
        return fold_add(b, a[0], a[1]);
    case IR_FSUB:
        if (is_float(b, a[1], 0.0f))
            return a[0];
        return is_op(b, a[1], IR_FNEG, &inner) ? ir_build2(b, IR_FADD, a[0], inner) : 0;
    case IR_FMUL:
        return fold_mul(b, a[0], a[1]);
    case IR_FDIV:
        return is_float(b, a[1], 1.0f) ? a[0] : 0;
    case IR_FNEG:
        return is_op(b, a[0], IR_FNEG, &inner) ? inner : 0;
    case IR_FABS: /* that of -x stays: at 0 its derivative is -x', that of x is x' */
        return definition(b, a[0])->op == IR_FABS ? a[0] : 0;
    case IR_FMIN:
    case IR_FMAX:
        return a[0] == a[1] ? a[0] : 0;
    case IR_POW: /* both exact in C, for NaN too */
        if (is_float(b, a[1], 1.0f))
            return a[0];
        return is_float(b, a[1], 0.0f) ? ir_const_float(b, 1.0f) : 0;
    default:
        return 0;
    }
}

/* Returns whether a comparison tests if a derivative from the host is finite. It always is (ssl_kernel.h). */
static bool is_known_finite(IrBuilder *b, const IrValue *a)
{
    IrValue x;
    if (!is_op(b, a[0], IR_FABS, &x) || !is_float(b, a[1], FLT_MAX))
        return false;
    while (is_op(b, x, IR_FNEG, &x))
        ;
    const IrInst *inst = definition(b, x);
    uint32_t shadow = ir_global_shadow(inst->imm);
    return (inst->op == IR_GLOBAL || inst->op == IR_ATTRIBUTE) &&
           (shadow == IR_SHADOW_DDX || shadow == IR_SHADOW_DDY);
}

static IrValue fold_int(IrBuilder *b, IrOp op, const IrValue *a)
{
    switch (op) {
    case IR_IADD:
    case IR_IOR:
    case IR_IXOR:
        return is_int(b, a[1], 0) ? a[0] : is_int(b, a[0], 0) ? a[1] : 0;
    case IR_ISUB:
    case IR_ISHL:
    case IR_ISHR:
    case IR_IUSHR:
        return is_int(b, a[1], 0) ? a[0] : 0;
    case IR_IMUL:
        if (is_int(b, a[0], 0) || is_int(b, a[1], 0))
            return ir_const_int(b, 0);
        return is_int(b, a[1], 1) ? a[0] : is_int(b, a[0], 1) ? a[1] : 0;
    case IR_IDIV:
        return is_int(b, a[1], 1) ? a[0] : 0;
    case IR_IMIN:
    case IR_IMAX:
        return a[0] == a[1] ? a[0] : 0;
    case IR_IAND:
        if (is_int(b, a[0], 0) || is_int(b, a[1], 0))
            return ir_const_int(b, 0);
        return a[0] == a[1] ? a[0] : 0;
    case IR_IEQ:
    case IR_ILE:
    case IR_IGE:
        return a[0] == a[1] ? ir_const_bool(b, true) : 0;
    case IR_INE:
    case IR_ILT:
    case IR_IGT:
        return a[0] == a[1] ? ir_const_bool(b, false) : 0;
    default:
        return 0;
    }
}

static IrValue fold_bool(IrBuilder *b, IrOp op, const IrValue *a)
{
    IrValue inner;
    bool x;
    if (op == IR_BNOT)
        return is_op(b, a[0], IR_BNOT, &inner) ? inner : 0;
    for (uint32_t i = 0; i < 2; ++i) {
        if (!ir_is_const_bool(b, a[i], &x))
            continue;
        IrValue other = a[1 - i];
        switch (op) {
        case IR_BAND:
            return x ? other : a[i];
        case IR_BOR:
            return x ? a[i] : other;
        case IR_BXOR:
            return x ? ir_build1(b, IR_BNOT, other) : other;
        default:
            break;
        }
    }
    if (a[0] == a[1])
        return op == IR_BXOR ? ir_const_bool(b, false) : a[0];
    return 0;
}

static IrValue fold_select(IrBuilder *b, const IrValue *a)
{
    IrValue inner;
    bool x, y;
    if (ir_is_const_bool(b, a[0], &x))
        return x ? a[1] : a[2];
    if (a[1] == a[2])
        return a[1];
    if (is_op(b, a[0], IR_BNOT, &inner))
        return ir_build_select(b, inner, a[2], a[1]);
    if (ir_is_const_bool(b, a[1], &x) && ir_is_const_bool(b, a[2], &y))
        return x ? a[0] : ir_build1(b, IR_BNOT, a[0]);
    return 0;
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* Limits that keep building linear: the number of writes through which a read looks back, and the largest array for
 * which a write at a constant index makes a new ARRAY. */
enum { LOOK_BACK_MAX = 32, EXPLODE_MAX = 16 };

static IrValue fold_get(IrBuilder *b, const IrValue *a)
{
    const IrFunc *f = ir_build_func(b);
    IrValue array = a[0];
    int32_t index, other;
    bool is_const = ir_is_const_int(b, a[1], &index);
    for (uint32_t i = 0; i < LOOK_BACK_MAX; ++i) {
        const IrInst *inst = definition(b, array);
        const IrValue *args = ir_args(f, inst);
        if (inst->op == IR_ARRAY && is_const && (uint32_t)index < inst->arg_count)
            return args[index];
        if (inst->op != IR_ARRAY_SET)
            break;
        if (args[1] == a[1])
            return args[2];
        if (!is_const || !ir_is_const_int(b, args[1], &other))
            break;
        array = args[0]; /* a write elsewhere */
    }
    return array != a[0] ? ir_build2(b, IR_ARRAY_GET, array, a[1]) : 0;
}

static IrValue fold_set(IrBuilder *b, const IrValue *a)
{
    const IrFunc *f = ir_build_func(b);
    int32_t index;
    const IrInst *inst = definition(b, a[0]);
    if (inst->op != IR_ARRAY || inst->arg_count > EXPLODE_MAX ||
        !ir_is_const_int(b, a[1], &index) || (uint32_t)index >= inst->arg_count)
        return 0;
    IrValue elements[EXPLODE_MAX];
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        elements[i] = i == (uint32_t)index ? a[2] : ir_args(f, inst)[i];
    return ir_build_array(b, ir_kind(ir_build_type(b, a[0])), elements, inst->arg_count);
}

/* --- closures --------------------------------------------------------------------------------- */

static IrValue fold_closure(IrBuilder *b, IrOp op, const IrValue *a)
{
    bool zero_x = definition(b, a[0])->op == IR_CLOSURE_ZERO;
    if (op == IR_CLOSURE_ADD) {
        if (zero_x)
            return a[1];
        return definition(b, a[1])->op == IR_CLOSURE_ZERO ? a[0] : 0;
    }
    uint32_t ones = 0, zeros = 0;
    for (uint32_t i = 1; i <= 3; ++i) {
        float x;
        bool is_const = ir_is_const_float(b, a[i], &x);
        ones += is_const && x == 1.0f;
        zeros += is_const && x == 0.0f;
    }
    if (zero_x || ones == 3)
        return a[0];
    return zeros == 3 ? ir_build_closure_zero(b) : 0;
}

IrValue ir_fold(IrBuilder *b, IrOp op, uint64_t imm, const IrValue *args, uint32_t arg_count)
{
    IrValue v = fold_constants(b, op, imm, args, arg_count);
    int32_t index;
    IrScalar known;
    if (v)
        return v;
    if (op >= IR_FNEG && op <= IR_TANH)
        return fold_float(b, op, args);
    if (op >= IR_INEG && op <= IR_IGE)
        return fold_int(b, op, args);
    switch (op) {
    case IR_FLE:
        return is_known_finite(b, args) ? ir_const_bool(b, true) : 0;
    case IR_BNOT:
    case IR_BAND:
    case IR_BOR:
    case IR_BXOR:
        return fold_bool(b, op, args);
    case IR_SELECT:
        return fold_select(b, args);
    case IR_APART:
    case IR_KEEP:
        return constant_scalar(b, args[0], &known) ? args[0] : 0;
    case IR_ARRAY_GET:
        return fold_get(b, args);
    case IR_ARRAY_SET:
        return fold_set(b, args);
    case IR_BOUNDS:
        return ir_is_const_int(b, args[0], &index) && index >= 0 && (uint64_t)index < imm ? args[0]
                                                                                          : 0;
    case IR_CLOSURE_ADD:
    case IR_CLOSURE_SCALE:
        return fold_closure(b, op, args);
    default:
        return 0;
    }
}
