/* Scalar operations: arithmetic, comparisons, conversions, mathematics. ir_ops.inc defines them, and rt/rt.h
 * implements them in C for the constant folder. */
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include "ssl/rt/rt_lanes.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- calls ------------------------------------------------------------------------------------ */

static void add_attribute(Gen *g, LLVMValueRef function, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->context, kind, value));
}

/* LLVM's encoding of memory(...): two bits per location, for read and write; the arguments' memory comes first. */
enum { MEMORY_NONE = 0, MEMORY_ARGUMENTS = 3 };

/* Declares a function of rt/. It always returns and has no other effect, so LLVM may share and hoist calls. */
static LLVMValueRef runtime_function(Gen *g, const char *name, LLVMTypeRef type, uint64_t memory)
{
    LLVMValueRef function = LLVMGetNamedFunction(g->llvm, name);
    if (function)
        return function;
    function = LLVMAddFunction(g->llvm, name, type);
    static const char *const facts[] = {"nounwind", "willreturn",   "nofree",
                                        "nosync",   "mustprogress", "nocallback"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(facts); ++i)
        add_attribute(g, function, facts[i], 0);
    add_attribute(g, function, "memory", memory);
    if (memory == MEMORY_NONE)
        add_attribute(g, function, "speculatable", 0);
    unsigned nocapture = LLVMGetEnumAttributeKindForName("nocapture", 9);
    for (uint32_t i = 0; i < LLVMCountParams(function) && memory != MEMORY_NONE; ++i)
        if (LLVMTypeOf(LLVMGetParam(function, i)) == g->t_ptr)
            LLVMAddAttributeAtIndex(function, 1 + i,
                                    LLVMCreateEnumAttribute(g->context, nocapture, 0));
    return function;
}

/* How many lanes a function of rt_lanes.h takes. */
static uint32_t math_width(const Gen *g)
{
    return g->lanes < g->math_lanes ? g->lanes : g->math_lanes;
}

/* Declares rt_NAME_W, or rt_NAME in code of one lane, for arguments that are floats; the last may be a pointer. */
static LLVMValueRef math_function(Gen *g, const char *name, const LLVMValueRef *args,
                                  uint32_t arg_count, LLVMTypeRef *out_type)
{
    char symbol[32];
    LLVMTypeRef type = LLVMFloatTypeInContext(g->context);
    (void)snprintf(symbol, sizeof symbol, "rt_%s", name);
    if (g->mask) {
        (void)snprintf(symbol, sizeof symbol, "rt_%s_%u", name, math_width(g));
        type = LLVMVectorType(type, math_width(g));
    }
    bool has_pointer = LLVMTypeOf(args[arg_count - 1]) == g->t_ptr;
    LLVMTypeRef params[3] = {type, type, type};
    if (has_pointer)
        params[arg_count - 1] = g->t_ptr;
    *out_type = LLVMFunctionType(type, params, arg_count, false);
    LLVMValueRef function =
        runtime_function(g, symbol, *out_type, has_pointer ? MEMORY_ARGUMENTS : MEMORY_NONE);
    if (RT_KEEPS_REGISTERS && g->mask && math_width(g) == 16)
        LLVMSetFunctionCallConv(function, LLVMIntelOCLBICallConv);
    return function;
}

/* Returns `count` lanes from lane `first` of a, and of b behind a if it is given. */
static LLVMValueRef some_lanes(Gen *g, LLVMValueRef a, LLVMValueRef b, uint32_t first,
                               uint32_t count)
{
    LLVMValueRef at[SSL_BLOCK];
    for (uint32_t i = 0; i < count; ++i)
        at[i] = gen_i32(g, first + i);
    return LLVMBuildShuffleVector(g->builder, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(at, count), "");
}

/* Calls a function of rt_lanes.h as often as needed for all lanes. The last argument may be a pointer to one float a lane. */
static LLVMValueRef call_lanes(Gen *g, const char *name, LLVMValueRef *args, uint32_t arg_count)
{
    LLVMTypeRef type;
    LLVMValueRef function = math_function(g, name, args, arg_count, &type), parts[SSL_BLOCK];
    uint32_t width = math_width(g), count = g->lanes / width;
    CHECK(count > 0);
    for (uint32_t part = 0; part < count; ++part) {
        LLVMValueRef some[3];
        for (uint32_t i = 0; i < arg_count; ++i)
            some[i] = LLVMTypeOf(args[i]) == g->t_ptr ? gen_offset(g, args[i], 4 * part * width)
                      : count == 1                    ? args[i]
                                   : some_lanes(g, args[i], NULL, part * width, width);
        parts[part] = LLVMBuildCall2(g->builder, type, function, some, arg_count, "");
        LLVMSetInstructionCallConv(parts[part], LLVMGetFunctionCallConv(function));
    }
    for (; count > 1; count /= 2, width *= 2)
        for (uint32_t i = 0; i < count / 2; ++i)
            parts[i] = some_lanes(g, parts[(size_t)2 * i], parts[(size_t)2 * i + 1], 0, 2 * width);
    return parts[0];
}

/* Calls a function of rt/; `name` is without the prefix rt_. */
static LLVMValueRef gen_runtime_call(Gen *g, const char *name, LLVMValueRef *args,
                                     uint32_t arg_count)
{
    if (g->mask)
        return call_lanes(g, name, args, arg_count);
    LLVMTypeRef type;
    LLVMValueRef function = math_function(g, name, args, arg_count, &type);
    return LLVMBuildCall2(g->builder, type, function, args, arg_count, "");
}

LLVMValueRef gen_intrinsic(Gen *g, const char *name, LLVMTypeRef type, LLVMValueRef *args,
                           uint32_t arg_count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef overloads[2] = {type, g->t_float};
    /* Conversions are overloaded on the argument too. */
    size_t overload_count = type == g->t_float ? 1 : 2;
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(g->llvm, id, overloads, overload_count);
    LLVMTypeRef function_type = LLVMIntrinsicGetType(g->context, id, overloads, overload_count);
    return LLVMBuildCall2(g->builder, function_type, function, args, arg_count, "");
}

static LLVMValueRef gen_float_intrinsic(Gen *g, const char *name, LLVMValueRef x)
{
    return gen_intrinsic(g, name, g->t_float, &x, 1);
}

/* --- small helpers ---------------------------------------------------------------------------- */

static LLVMValueRef const_float(Gen *g, float x)
{
    return gen_const_float(g, x);
}

static LLVMValueRef const_int(Gen *g, int32_t x)
{
    return gen_const_int(g, x);
}

static LLVMValueRef compare_float(Gen *g, LLVMRealPredicate how, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFCmp(g->builder, how, a, b, "");
}

static LLVMValueRef compare_int(Gen *g, LLVMIntPredicate how, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(g->builder, how, a, b, "");
}

/* --- operations that take several instructions ------------------------------------------------- */

static LLVMValueRef gen_sign(Gen *g, LLVMValueRef x)
{
    LLVMValueRef zero = const_float(g, 0.0f);
    LLVMValueRef negative =
        gen_choose(g, compare_float(g, LLVMRealOLT, x, zero), const_float(g, -1.0f), zero);
    return gen_choose(g, compare_float(g, LLVMRealOGT, x, zero), const_float(g, 1.0f), negative);
}

static LLVMValueRef gen_sqrt(Gen *g, LLVMValueRef x)
{
    LLVMValueRef zero = const_float(g, 0.0f);
    return gen_choose(g, compare_float(g, LLVMRealOLT, x, zero), zero,
                      gen_float_intrinsic(g, "llvm.sqrt", x));
}

static LLVMValueRef gen_inverse_sqrt(Gen *g, LLVMValueRef x)
{
    LLVMValueRef zero = const_float(g, 0.0f);
    LLVMValueRef inverse =
        LLVMBuildFDiv(g->builder, const_float(g, 1.0f), gen_float_intrinsic(g, "llvm.sqrt", x), "");
    return gen_choose(g, compare_float(g, LLVMRealOLE, x, zero), zero, inverse);
}

/* Rounds toward 0; a NaN gives 0, and a number out of range the nearest int. LLVM would split its own operation into
 * one per lane. */
static LLVMValueRef gen_float_to_int(Gen *g, LLVMValueRef x)
{
    if (g->lanes == 1)
        return gen_intrinsic(g, "llvm.fptosi.sat", g->t_int, &x, 1);
    LLVMValueRef least = const_float(g, -0x1p31f), past = const_float(g, 0x1p31f);
    LLVMValueRef is_large = compare_float(g, LLVMRealOGE, x, past);
    LLVMValueRef fits = LLVMBuildAnd(g->builder, compare_float(g, LLVMRealOGT, x, least),
                                     LLVMBuildNot(g->builder, is_large, ""), "");
    LLVMValueRef near = LLVMBuildFPToSI(g->builder, gen_choose(g, fits, x, least), g->t_int, "");
    near = gen_choose(g, is_large, const_int(g, INT32_MAX), near);
    return gen_choose(g, compare_float(g, LLVMRealUNO, x, x), const_int(g, 0), near);
}

static LLVMValueRef gen_fence(Gen *g, LLVMValueRef x)
{
    static const char name[] = "llvm.arithmetic.fence";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef type = LLVMTypeOf(x);
    return LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, &type, 1),
                          LLVMGetIntrinsicDeclaration(g->llvm, id, &type, 1), &x, 1, "");
}

/* The instruction of x86 for one number keeps the rest of a register, and so waits for what a function wrote there before: the
 * turns of a loop that calls one would run one after the other. That for four numbers does not; a fence hides from LLVM that one would do. */
static LLVMValueRef gen_int_to_float(Gen *g, LLVMValueRef x)
{
#if defined(__x86_64__)
    if (LLVMGetTypeKind(g->t_float) == LLVMFloatTypeKind && !LLVMIsConstant(x)) {
        LLVMTypeRef ints = LLVMVectorType(g->t_i32, 4), floats = LLVMVectorType(g->t_float, 4);
        LLVMValueRef four =
            LLVMBuildInsertElement(g->builder, LLVMConstNull(ints), x, gen_i32(g, 0), "");
        four = LLVMBuildSIToFP(g->builder, four, floats, "");
        four = gen_fence(g, four);
        return LLVMBuildExtractElement(g->builder, four, gen_i32(g, 0), "");
    }
#endif
    return LLVMBuildSIToFP(g->builder, x, g->t_float, "");
}

/* A float that LLVM does not know to be x. What is equal in all lanes, or no float, it may know. */
static LLVMValueRef gen_apart(Gen *g, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (type != g->t_float || (g->mask && g->lanes == 1) || LLVMIsConstant(x))
        return x;
    return gen_fence(g, x);
}

/* Returns a / b rounded toward 0, for b other than 0 and -1. It divides doubles, because processors have vector
 * divisions for these. A double holds every int, and a quotient of ints that is no int differs from the nearest int
 * by at least 2^-31 of its value, so rounding never yields a wrong int. */
static LLVMValueRef divide_ints(Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    if (LLVMIsConstant(b)) /* LLVM multiplies and shifts */
        return LLVMBuildSDiv(g->builder, a, b, "");
    LLVMTypeRef type = LLVMDoubleTypeInContext(g->context);
    if (g->lanes > 1)
        type = LLVMVectorType(type, g->lanes);
    LLVMValueRef quotient = LLVMBuildFDiv(g->builder, LLVMBuildSIToFP(g->builder, a, type, ""),
                                          LLVMBuildSIToFP(g->builder, b, type, ""), "");
    return LLVMBuildFPToSI(g->builder, quotient, g->t_int, "");
}

/* LLVM leaves a division by 0 and a quotient that does not fit undefined, so the divisor is replaced by 1 there. */
static LLVMValueRef gen_int_div(Gen *g, LLVMValueRef a, LLVMValueRef b, bool wants_remainder)
{
    LLVMValueRef zero = const_int(g, 0);
    LLVMValueRef is_zero = compare_int(g, LLVMIntEQ, b, zero);
    LLVMValueRef is_minus_one = compare_int(g, LLVMIntEQ, b, const_int(g, -1));
    LLVMValueRef is_special = LLVMBuildOr(g->builder, is_zero, is_minus_one, "");
    LLVMValueRef divisor = gen_choose(g, is_special, const_int(g, 1), b);
    LLVMValueRef quotient = divide_ints(g, a, divisor);
    if (wants_remainder) { /* the remainder of a division by 1 is 0, as required */
        LLVMValueRef whole = LLVMBuildMul(g->builder, quotient, divisor, "");
        return LLVMBuildSub(g->builder, a, whole, "");
    }
    LLVMValueRef negated = LLVMBuildNeg(g->builder, a, "");
    quotient = gen_choose(g, is_minus_one, negated, quotient);
    return gen_choose(g, is_zero, zero, quotient);
}

static LLVMValueRef shift_count(Gen *g, LLVMValueRef x)
{
    return LLVMBuildAnd(g->builder, x, const_int(g, 31), "");
}

static LLVMValueRef gen_float_bits(Gen *g, LLVMValueRef x)
{
    LLVMValueRef bits = LLVMBuildBitCast(g->builder, x, g->t_int, "");
    LLVMValueRef is_zero = compare_float(g, LLVMRealOEQ, x, const_float(g, 0.0f));
    LLVMValueRef is_nan = compare_float(g, LLVMRealUNO, x, x);
    bits = gen_choose(g, is_nan, const_int(g, 0x7fc00000), bits);
    return gen_choose(g, is_zero, const_int(g, 0), bits);
}

bool gen_is_in_range(const Gen *g, const IrInst *bounds)
{
    int32_t known;
    if (g->is_in_range[bounds - g->func->insts.data])
        return true;
    return gen_is_constant_int(g, ir_args(g->func, bounds)[0], &known) && known >= 0 &&
           (uint64_t)known < bounds->imm;
}

LLVMValueRef gen_keep_inside(Gen *g, const IrInst *bounds, LLVMValueRef index)
{
    LLVMTypeRef type = LLVMTypeOf(index);
    LLVMValueRef last = LLVMGetTypeKind(type) == LLVMVectorTypeKind
                            ? const_int(g, (int32_t)bounds->imm - 1)
                            : gen_i32(g, (uint32_t)bounds->imm - 1);
    if (!g->mask)
        return index;
    LLVMValueRef is_below = LLVMBuildICmp(g->builder, LLVMIntULT, index, last, "");
    return LLVMBuildSelect(g->builder, is_below, index, last, "");
}

/* Clamps the index to [0, count). Code of one lane has a branch for indices out of range, which are rare. */
static LLVMValueRef gen_bounds(Gen *g, const IrInst *inst, LLVMValueRef index)
{
    LLVMValueRef count = const_int(g, (int32_t)inst->imm);
    if (gen_is_in_range(g, inst))
        return gen_keep_inside(g, inst, index);
    if (g->mask) {
        LLVMValueRef outside = compare_int(g, LLVMIntUGE, index, count);
        gen_fault(g, inst->site, LLVMBuildAnd(g->builder, g->mask, outside, ""));
        LLVMValueRef is_below = compare_int(g, LLVMIntSLT, index, const_int(g, 0));
        LLVMValueRef last = const_int(g, (int32_t)inst->imm - 1);
        return gen_choose(g, outside, gen_choose(g, is_below, const_int(g, 0), last), index);
    }
    LLVMBasicBlockRef outside = gen_block(g, "outside"), end = gen_block(g, "inside");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder);
    LLVMBuildCondBr(g->builder, compare_int(g, LLVMIntULT, index, count), end, outside);
    LLVMPositionBuilderAtEnd(g->builder, outside);
    gen_fault(g, inst->site, NULL);
    LLVMValueRef nearest = gen_choose(g, compare_int(g, LLVMIntSLT, index, const_int(g, 0)),
                                      const_int(g, 0), const_int(g, (int32_t)inst->imm - 1));
    outside = LLVMGetInsertBlock(g->builder);
    LLVMBuildBr(g->builder, end);
    LLVMPositionBuilderAtEnd(g->builder, end);
    LLVMValueRef safe = LLVMBuildPhi(g->builder, g->t_int, "index");
    LLVMAddIncoming(safe, (LLVMValueRef[]){index, nearest}, (LLVMBasicBlockRef[]){before, outside},
                    2);
    return safe;
}

/* --- sin and cos of one value --------------------------------------------------------------------- */

void gen_find_twins(Gen *g)
{
    const IrFunc *f = g->func;
    IrInstId *last[2] = {
        ARENA_ARRAY(g->arena, IrInstId, f->values.count),
        ARENA_ARRAY(g->arena, IrInstId, f->values.count)}; /* sin, cos of a value */
    g->twin = ARENA_ARRAY(g->arena, IrInstId, f->insts.count);
    for (IrInstId id = 1; id < f->insts.count; ++id) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op != IR_SIN && inst->op != IR_COS)
            continue;
        IrValue x = ir_args(f, inst)[0];
        IrInstId other = last[inst->op == IR_SIN][x];
        if (other && ir_inst(f, other)->parent == inst->parent &&
            ir_inst(f, other)->imm == inst->imm) {
            g->twin[id] = other;
            g->twin[other] = id;
        }
        last[inst->op == IR_COS][x] = id;
    }
}

/* Computes sin and cos of one value at the first of the two instructions. */
static void gen_sincos(Gen *g, const IrInst *inst, const IrInst *twin)
{
    if (g->value[inst->result_first])
        return;
    if (!g->cosine)
        g->cosine = gen_stack(g, g->t_float, "cosine");
    const IrInst *sine = inst->op == IR_SIN ? inst : twin,
                 *cosine = inst->op == IR_SIN ? twin : inst;
    LLVMValueRef args[2] = {g->value[ir_args(g->func, inst)[0]], g->cosine};
    const char *name = inst->imm == IR_FUSED ? "fused_sincos" : "sincos";
    g->value[sine->result_first] = gen_runtime_call(g, name, args, 2);
    g->value[cosine->result_first] = LLVMBuildLoad2(g->builder, g->t_float, g->cosine, "");
}

/* --- the table -------------------------------------------------------------------------------- */

/* The functions of the run time, by operation. */
#define RT_MATH1(name, f)                                                                          \
    case IR_##name:                                                                                \
        return gen_runtime_call(g, #f, (LLVMValueRef[]){a}, 1);
#define RT_MATH2(name, f)                                                                          \
    case IR_##name:                                                                                \
        return gen_runtime_call(g, #f, (LLVMValueRef[]){a, b}, 2);

/* The four functions below return the result of an operation of their kind, or NULL for other operations. */

static LLVMValueRef gen_float_op(Gen *g, IrOp op, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = g->builder;
    switch ((int)op) {
    case IR_FNEG:
        return LLVMBuildFNeg(builder, a, "");
    case IR_FADD:
        return LLVMBuildFAdd(builder, a, b, "");
    case IR_FSUB:
        return LLVMBuildFSub(builder, a, b, "");
    case IR_FMUL:
        return LLVMBuildFMul(builder, a, b, "");
    case IR_FDIV:
        return LLVMBuildFDiv(builder, a, b, "");
    case IR_FMIN:
        return gen_choose(g, compare_float(g, LLVMRealOLT, b, a), b, a);
    case IR_FMAX:
        return gen_choose(g, compare_float(g, LLVMRealOGT, a, b), a, b);
    case IR_FABS:
        return gen_float_intrinsic(g, "llvm.fabs", a);
    case IR_FLOOR:
        return gen_float_intrinsic(g, "llvm.floor", a);
    case IR_CEIL:
        return gen_float_intrinsic(g, "llvm.ceil", a);
    case IR_ROUND:
        return gen_float_intrinsic(g, "llvm.round", a);
    case IR_TRUNC:
        return gen_float_intrinsic(g, "llvm.trunc", a);
    case IR_SIGN:
        return gen_sign(g, a);
    case IR_SQRT:
        return gen_sqrt(g, a);
    case IR_INVSQRT:
        return gen_inverse_sqrt(g, a);
#include "ssl/rt/rt_math.inc"
    default:
        return NULL;
    }
}

static LLVMValueRef gen_fused_op(Gen *g, IrOp op, LLVMValueRef a, LLVMValueRef b)
{
    switch (op) {
#include "ssl/rt/rt_fused.inc"
    default:
        return NULL;
    }
}
#undef RT_MATH1
#undef RT_MATH2

static LLVMValueRef gen_multiply_add(Gen *g, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef args[3] = {a, b, c};
    return g->has_fma ? gen_intrinsic(g, "llvm.fma", g->t_float, args, 3)
                      : gen_runtime_call(g, "fma", args, 3);
}

static LLVMValueRef gen_int_op(Gen *g, IrOp op, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = g->builder;
    switch ((int)op) {
    case IR_INEG:
        return LLVMBuildNeg(builder, a, "");
    case IR_IADD:
        return LLVMBuildAdd(builder, a, b, "");
    case IR_ISUB:
        return LLVMBuildSub(builder, a, b, "");
    case IR_IMUL:
        return LLVMBuildMul(builder, a, b, "");
    case IR_IDIV:
        return gen_int_div(g, a, b, false);
    case IR_IMOD:
        return gen_int_div(g, a, b, true);
    case IR_IMIN:
        return gen_choose(g, compare_int(g, LLVMIntSLT, b, a), b, a);
    case IR_IMAX:
        return gen_choose(g, compare_int(g, LLVMIntSLT, a, b), b, a);
    case IR_IAND:
    case IR_BAND:
        return LLVMBuildAnd(builder, a, b, "");
    case IR_IOR:
    case IR_BOR:
        return LLVMBuildOr(builder, a, b, "");
    case IR_IXOR:
    case IR_BXOR:
        return LLVMBuildXor(builder, a, b, "");
    case IR_INOT:
    case IR_BNOT:
        return LLVMBuildNot(builder, a, "");
    case IR_ISHL:
        return LLVMBuildShl(builder, a, shift_count(g, b), "");
    case IR_ISHR:
        return LLVMBuildAShr(builder, a, shift_count(g, b), "");
    case IR_IUSHR:
        return LLVMBuildLShr(builder, a, shift_count(g, b), "");
    default:
        return NULL;
    }
}

static LLVMValueRef gen_comparison(Gen *g, IrOp op, LLVMValueRef a, LLVMValueRef b)
{
    switch ((int)op) {
    case IR_FEQ:
        return compare_float(g, LLVMRealOEQ, a, b);
    case IR_FNE:
        return compare_float(g, LLVMRealUNE, a, b);
    case IR_FLT:
        return compare_float(g, LLVMRealOLT, a, b);
    case IR_FLE:
        return compare_float(g, LLVMRealOLE, a, b);
    case IR_FGT:
        return compare_float(g, LLVMRealOGT, a, b);
    case IR_FGE:
        return compare_float(g, LLVMRealOGE, a, b);
    case IR_ISNAN:
        return compare_float(g, LLVMRealUNO, a, a);
    case IR_ISINF:
        return compare_float(g, LLVMRealOEQ, gen_float_intrinsic(g, "llvm.fabs", a),
                             const_float(g, INFINITY));
    case IR_IEQ:
        return compare_int(g, LLVMIntEQ, a, b);
    case IR_INE:
        return compare_int(g, LLVMIntNE, a, b);
    case IR_ILT:
        return compare_int(g, LLVMIntSLT, a, b);
    case IR_ILE:
        return compare_int(g, LLVMIntSLE, a, b);
    case IR_IGT:
        return compare_int(g, LLVMIntSGT, a, b);
    case IR_IGE:
        return compare_int(g, LLVMIntSGE, a, b);
    default:
        return NULL;
    }
}

/* --- choices ---------------------------------------------------------------------------------- */

/* Whether it is isnan(x) ? 0 : x, of which derivatives are full. */
static bool is_zero_for_nan(const Gen *g, const IrInst *inst)
{
    const IrValue *args = ir_args(g->func, inst);
    IrInstId test = g->func->values.data[args[0]].def, zero = g->func->values.data[args[1]].def;
    return test && zero && ir_inst(g->func, test)->op == IR_ISNAN &&
           ir_args(g->func, ir_inst(g->func, test))[0] == args[2] &&
           ir_inst(g->func, zero)->op == IR_CONST_FLOAT && ir_inst(g->func, zero)->imm == 0;
}

/* One instruction of AVX-512 instead of a comparison and a choice. */
static LLVMValueRef gen_zero_for_nan(Gen *g, LLVMValueRef x)
{
    static const char name[] = "llvm.x86.avx512.mask.fixupimm.ps.512";
    enum { ROUNDING_AS_SET = 4 };
    const uint32_t classes =
        0x88; /* a digit for each class of number: of both kinds of NaN zero, of others as they are */
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMValueRef args[6] = {x,
                            x,
                            gen_splat(g, gen_i32(g, classes)),
                            gen_i32(g, 0),
                            LLVMConstAllOnes(LLVMInt16TypeInContext(g->context)),
                            gen_i32(g, ROUNDING_AS_SET)};
    return LLVMBuildCall2(g->builder, LLVMIntrinsicGetType(g->context, id, NULL, 0),
                          LLVMGetIntrinsicDeclaration(g->llvm, id, NULL, 0), args, 6, "");
}

static LLVMValueRef gen_select(Gen *g, const IrInst *inst, LLVMValueRef cond, LLVMValueRef x,
                               LLVMValueRef y)
{
    bool has_avx512 = g->lanes == 16 && g->math_lanes == 16;
    if (has_avx512 && LLVMTypeOf(y) == g->t_float && is_zero_for_nan(g, inst))
        return gen_zero_for_nan(g, y);
    return gen_choose(g, cond, x, y);
}

/* Constants, inputs, conversions and choices. */
static LLVMValueRef gen_other_op(Gen *g, const IrInst *inst, LLVMValueRef a, LLVMValueRef b,
                                 LLVMValueRef c)
{
    switch ((int)inst->op) {
    case IR_CONST_BOOL:
        return gen_splat(g, LLVMConstInt(g->t_i1, inst->imm != 0, false));
    case IR_CONST_INT:
        return const_int(g, (int32_t)(uint32_t)inst->imm);
    case IR_CONST_FLOAT:
        return const_float(g, ir_imm_float(inst));
    case IR_GLOBAL:
        return gen_global(g, inst);
    case IR_ATTRIBUTE:
        return gen_attribute(g, inst);
    case IR_PARAM:
        return gen_param(g, inst);
    case IR_TABLE:
        return gen_table(g, inst, a);
    case IR_I2F:
        return gen_int_to_float(g, a);
    case IR_F2I:
        return gen_float_to_int(g, a);
    case IR_B2I:
        return gen_bool_to_int(g, a);
    case IR_FBITS:
        return gen_float_bits(g, a);
    case IR_SELECT:
        return gen_select(g, inst, a, b, c);
    case IR_BOUNDS:
        return gen_bounds(g, inst, a);
    case IR_FMA:
        return gen_multiply_add(g, a, b, c);
    case IR_APART:
        return gen_apart(g, a);
    default:
        return NULL;
    }
}

/* Array, texture and control operations have generators of their own, and no other operation is left after the pipeline. */
LLVMValueRef gen_scalar_op(Gen *g, const IrInst *inst, LLVMValueRef a, LLVMValueRef b,
                           LLVMValueRef c)
{
    IrOp op = (IrOp)inst->op;
    LLVMValueRef result = inst->imm == IR_FUSED ? gen_fused_op(g, op, a, b) : NULL;
    if (!result)
        result = gen_float_op(g, op, a, b);
    if (!result)
        result = gen_int_op(g, op, a, b);
    if (!result)
        result = gen_comparison(g, op, a, b);
    if (!result)
        result = gen_other_op(g, inst, a, b, c);
    CHECK(result);
    return result;
}

/* Nanoseconds from the arguments of a function of 16 lanes to its result, more or less; 0: it is none. */
static uint32_t latency_of(const IrInst *inst)
{
    switch ((IrOp)inst->op) {
    case IR_EXP:
    case IR_EXP2:
        return 12;
    case IR_SIN:
    case IR_COS:
    case IR_LOG:
        return 16;
    case IR_ASIN:
    case IR_ACOS:
    case IR_ATAN:
    case IR_ATAN2:
        return 24;
    case IR_POW:
    case IR_TAN:
    case IR_SINH:
    case IR_COSH:
    case IR_TANH:
        return 32;
    default:
        return 0;
    }
}

/* Calls the functions behind a call first that take longer and have all their arguments: the processor would get to them late, and what reads
 * the results of both would wait. */
static void gen_longer(Gen *g, const IrInst *inst)
{
    enum { LOOK_AHEAD = 64 };
    const IrFunc *f = g->func;
    uint32_t latency = latency_of(inst), ahead = 0;
    for (IrInstId id = inst->next; latency && id && ahead < LOOK_AHEAD;
         id = ir_inst(f, id)->next, ++ahead) {
        const IrInst *other = ir_inst(f, id);
        if (latency_of(other) <= latency || g->value[other->result_first] ||
            g->is_uniform[other->result_first])
            continue;
        bool has_args = true;
        for (uint32_t i = 0; i < other->arg_count; ++i)
            has_args = has_args && g->value[ir_args(f, other)[i]];
        if (has_args)
            gen_op(g, other);
    }
}

void gen_op(Gen *g, const IrInst *inst)
{
    if (g->mask && inst->result_count == 1 && g->is_uniform[inst->result_first] &&
        inst->op != IR_ARRAY) {
        gen_uniform_op(g, inst);
        return;
    }
    switch (inst->op) {
    case IR_ARRAY:
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        gen_array_op(g, inst);
        return;
    case IR_TEX:
    case IR_TEX_D:
    case IR_TEX_ADJ:
        gen_texture(g, inst);
        return;
    case IR_ASK:
        gen_question(g, inst);
        return;
    default:
        break;
    }
    IrInstId twin = g->twin[inst - g->func->insts.data];
    if (twin) {
        gen_sincos(g, inst, ir_inst(g->func, twin));
        return;
    }
    if (g->mask && latency_of(inst)) {
        if (g->value[inst->result_first])
            return;
        gen_longer(g, inst);
    }
    const IrValue *args = ir_args(g->func, inst);
    LLVMValueRef x[3] = {0};
    for (uint32_t i = 0; i < inst->arg_count && i < 3; ++i)
        x[i] = g->value[args[i]];
    g->value[inst->result_first] = gen_scalar_op(g, inst, x[0], x[1], x[2]);
}
