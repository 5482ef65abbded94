#include "tests/ssl/oracle/ir_eval.h"
#include "base/check.h"
#include "ssl/ir/ir_fold.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct Frame {
    const IrFunc *func;
    EvalValue *values;
} Frame;

typedef struct Eval {
    const IrModule *module;
    const EvalPoint *point;
    Arena *arena;
    uint32_t budget, stack;
    const uint8_t *recursive; /* [function] */
    EvalResult result;
} Eval;

static bool is_dual(const Eval *e)
{
    return e->point->mode == EVAL_DUAL;
}

static EvalValue *run_func(Eval *e, const IrFunc *f, const EvalValue *args);
static void run_region(Eval *e, Frame *fr, IrRegionId region);

/* --- dual numbers ----------------------------------------------------------------------------- */

typedef struct Dual1 {
    double v, p, q; /* value; partials with respect to x and y */
} Dual1;

static double finite_or_zero(double p)
{
    return fabs(p) <= (double)FLT_MAX ? p : 0.0;
}

static Dual1 dual_pow(double x, double y)
{
    bool whole = y == trunc(y);
    Dual1 r = {x < 0 && !whole ? 0.0 : pow(x, y), 0, 0};
    if (x > 0 || (x < 0 && whole))
        r.p = y * pow(x, y - 1);
    if (x == 0)
        r.p = y == 1 ? 1 : 0;
    if (x > 0)
        r.q = r.v * log(x);
    return r;
}

static Dual1 dual_log(double x, double scale)
{
    bool clamped = x < (double)FLT_MIN;
    return (Dual1){scale * log(clamped ? (double)FLT_MIN : x), clamped ? 0 : scale / x, 0};
}

static bool dual_math(IrOp op, double x, double y, Dual1 *out)
{
    double r2 = x * x + y * y, c = fmin(fmax(x, -1), 1);
    double w = fabs(x) < 1 ? 1 / sqrt(1 - x * x) : 0;
    switch (op) {
#define RULE(name, value, px, py)                                                                  \
    case IR_##name:                                                                                \
        *out = (Dual1){(value), (px), (py)};                                                       \
        return true;
        RULE(FNEG, -x, -1, 0)
        RULE(FADD, x + y, 1, 1)
        RULE(FSUB, x - y, 1, -1)
        RULE(FMUL, x * y, y, x)
        RULE(FDIV, x / y, 1 / y, -x / (y * y))
        RULE(FMOD, fmod(x, y), 1, -trunc(x / y))
        RULE(FMIN, y < x ? y : x, !(y < x), y < x)
        RULE(FMAX, x > y ? x : y, x > y, !(x > y))
        RULE(FABS, fabs(x), x < 0 ? -1 : 1, 0)
        RULE(FLOOR, floor(x), 0, 0)
        RULE(CEIL, ceil(x), 0, 0)
        RULE(ROUND, round(x), 0, 0)
        RULE(TRUNC, trunc(x), 0, 0)
        RULE(SIGN, (x > 0) - (x < 0), 0, 0)
        RULE(SQRT, x < 0 ? 0 : sqrt(x), x > 0 ? 0.5 / sqrt(x) : 0, 0)
        RULE(INVSQRT, x <= 0 ? 0 : 1 / sqrt(x), x > 0 ? -0.5 / (x * sqrt(x)) : 0, 0)
        RULE(CBRT, cbrt(x), x != 0 ? 1 / (3 * cbrt(x) * cbrt(x)) : 0, 0)
        RULE(HYPOT, hypot(x, y), r2 > 0 ? x / hypot(x, y) : 0, r2 > 0 ? y / hypot(x, y) : 0)
        RULE(EXP, exp(x), exp(x), 0)
        RULE(EXP2, exp2(x), exp2(x) * log(2), 0)
        RULE(EXPM1, expm1(x), exp(x), 0)
        RULE(LOG1P, x <= -1 ? log((double)FLT_MIN) : log1p(x), x > -1 ? 1 / (1 + x) : 0, 0)
        RULE(SIN, sin(x), cos(x), 0)
        RULE(COS, cos(x), -sin(x), 0)
        RULE(TAN, tan(x), 1 / (cos(x) * cos(x)), 0)
        RULE(ASIN, asin(c), w, 0)
        RULE(ACOS, acos(c), -w, 0)
        RULE(ATAN, atan(x), 1 / (1 + x * x), 0)
        RULE(ATAN2, atan2(x, y), r2 > 0 ? y / r2 : 0, r2 > 0 ? -x / r2 : 0)
        RULE(SINH, sinh(x), cosh(x), 0)
        RULE(COSH, cosh(x), sinh(x), 0)
        RULE(TANH, tanh(x), 1 / (cosh(x) * cosh(x)), 0)
#undef RULE
    case IR_LOG:
        *out = dual_log(x, 1);
        return true;
    case IR_LOG2:
        *out = dual_log(x, 1 / log(2));
        return true;
    case IR_LOG10:
        *out = dual_log(x, 1 / log(10));
        return true;
    case IR_POW:
        *out = dual_pow(x, y);
        return true;
    default:
        return false;
    }
}

/* Operations that meet floats but give none, or the other way round. */
static bool dual_test(IrOp op, const EvalScalar *a, EvalScalar *out)
{
    double x = a[0].v, y = a[1].v;
    switch (op) {
    case IR_FEQ:
        out->b = x == y;
        return true;
    case IR_FNE:
        out->b = x != y;
        return true;
    case IR_FLT:
        out->b = x < y;
        return true;
    case IR_FLE:
        out->b = x <= y;
        return true;
    case IR_FGT:
        out->b = x > y;
        return true;
    case IR_FGE:
        out->b = x >= y;
        return true;
    case IR_ISNAN:
        out->b = isnan(x);
        return true;
    case IR_ISINF:
        out->b = isinf(x);
        return true;
    case IR_I2F:
        out->v = a[0].i;
        return true;
    case IR_F2I:
    case IR_FBITS: {
        IrScalar s = {.f = (float)x}, r;
        ir_scalar_eval(op, 0, &s, &r);
        out->i = r.i;
        return true;
    default:
        break;
    }
    }
    return false;
}

static bool eval_dual(IrOp op, const EvalScalar *a, EvalScalar *out)
{
    Dual1 r;
    if (dual_test(op, a, out))
        return true;
    if (op == IR_FMA) {
        EvalScalar product;
        return eval_dual(IR_FMUL, a, &product) &&
               eval_dual(IR_FADD, (const EvalScalar[2]){product, a[2]}, out);
    }
    if (!dual_math(op, a[0].v, a[1].v, &r))
        return false;
    out->v = r.v;
    for (uint32_t k = 0; k < 2; ++k)
        out->d[k] = (a[0].d[k] != 0 ? finite_or_zero(r.p) * a[0].d[k] : 0) +
                    (a[1].d[k] != 0 ? finite_or_zero(r.q) * a[1].d[k] : 0);
    return true;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Adds what an operation decided, if it decides. */
static void note_decision(Eval *e, IrOp op, const EvalScalar *a, const EvalScalar *out)
{
    double x = a[0].v, y = a[1].v;
    uint64_t outcome;
    switch (op) {
    case IR_FEQ:
    case IR_FNE:
    case IR_FLT:
    case IR_FLE:
    case IR_FGT:
    case IR_FGE:
    case IR_ISNAN:
    case IR_ISINF:
        outcome = out->b;
        break;
    case IR_F2I:
    case IR_FBITS:
        outcome = (uint32_t)out->i;
        break;
    case IR_FLOOR:
    case IR_CEIL:
    case IR_ROUND:
    case IR_TRUNC:
    case IR_SIGN:
        outcome = bits_of(out->v);
        break;
    case IR_FMOD:
        outcome = bits_of(trunc(x / y));
        break;
    case IR_FMIN:
    case IR_FMAX:
        outcome = y < x;
        break;
    case IR_FABS:
        outcome = x < 0;
        break;
    default:
        return;
    }
    e->result.decisions = (e->result.decisions ^ outcome) * 0x9e3779b97f4a7c15u;
    e->result.decisions ^= e->result.decisions >> 32;
}

/* --- scalars ---------------------------------------------------------------------------------- */

static EvalScalar from_number(const Eval *e, IrKind kind, double x)
{
    EvalScalar s = {0};
    if (kind == IR_BOOL)
        s.b = x != 0;
    else if (kind == IR_INT)
        s.i = (int32_t)x;
    else if (is_dual(e))
        s.v = x;
    else
        s.f = (float)x;
    return s;
}

static EvalValue scalar_value(Eval *e, EvalScalar s)
{
    EvalScalar *element = ARENA_NEW(e->arena, EvalScalar);
    *element = s;
    return (EvalValue){.elements = element, .count = 1};
}

static IrScalar pack(IrKind kind, EvalScalar s)
{
    IrScalar r = {0};
    if (kind == IR_BOOL)
        r.b = s.b;
    else if (kind == IR_INT)
        r.i = s.i;
    else
        r.f = s.f;
    return r;
}

static EvalScalar unpack(IrKind kind, IrScalar s)
{
    EvalScalar r = {0};
    if (kind == IR_BOOL)
        r.b = s.b;
    else if (kind == IR_INT)
        r.i = s.i;
    else
        r.f = s.f;
    return r;
}

static bool is_zero_int(const EvalScalar *s)
{
    return s->is_constant && s->i == 0;
}

/* Whether the builder knows the result by one argument. */
static bool is_known_by_one(IrOp op, const EvalScalar *a)
{
    switch (op) {
    case IR_POW:
        return a[1].is_constant && a[1].v == 0;
    case IR_IMUL:
    case IR_IAND:
        return is_zero_int(&a[0]) || is_zero_int(&a[1]);
    case IR_BAND:
        return (a[0].is_constant && !a[0].b) || (a[1].is_constant && !a[1].b);
    case IR_BOR:
        return (a[0].is_constant && a[0].b) || (a[1].is_constant && a[1].b);
    default:
        return false;
    }
}

/* Computes in float what the builder folds, in double the rest. */
static EvalScalar fold_scalar(const Frame *fr, const IrInst *inst, const EvalScalar *a,
                              EvalScalar in_double)
{
    IrScalar packed[3], result;
    IrKind kind = ir_kind(ir_type(fr->func, inst->result_first));
    bool is_constant = inst->arg_count > 0;
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrKind own = ir_kind(ir_type(fr->func, ir_args(fr->func, inst)[i]));
        EvalScalar s = a[i];
        s.f = (float)s.v;
        packed[i] = pack(own, s);
        is_constant = is_constant && s.is_constant && (own != IR_FLOAT || ir_folds_float(s.f));
    }
    EvalScalar out = in_double;
    out.is_constant = is_known_by_one((IrOp)inst->op, a);
    if (!is_constant || !ir_scalar_eval((IrOp)inst->op, inst->imm, packed, &result) ||
        (kind == IR_FLOAT && !ir_folds_float(result.f)))
        return out;
    out = unpack(kind, result);
    out.v = (double)out.f;
    out.is_constant = true;
    return out;
}

static EvalScalar eval_scalar(Eval *e, const Frame *fr, const IrInst *inst)
{
    EvalScalar a[3] = {0}, out = {0};
    IrScalar packed[3], result;
    ASSERT(inst->arg_count <= SORT_COUNT_OF(a));
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue v = ir_args(fr->func, inst)[i];
        a[i] = fr->values[v].elements[0];
        packed[i] = pack(ir_kind(ir_type(fr->func, v)), a[i]);
    }
    if (!is_dual(e) || !eval_dual((IrOp)inst->op, a, &out)) {
        CHECK(ir_scalar_eval((IrOp)inst->op, inst->imm, packed, &result));
        out = unpack(ir_kind(ir_type(fr->func, inst->result_first)), result);
    }
    if (e->point->folds)
        out = fold_scalar(fr, inst, a, out);
    if (is_dual(e))
        note_decision(e, (IrOp)inst->op, a, &out);
    return out;
}

/* --- inputs, textures ------------------------------------------------------------------------- */

static EvalScalar eval_global(const Eval *e, const IrInst *inst, IrKind kind)
{
    const double(*g)[16] = e->point->globals[ir_global_row(inst->imm)];
    uint32_t shadow = ir_global_shadow(inst->imm), component = ir_global_component(inst->imm);
    EvalScalar s = from_number(e, kind, g[shadow][component]);
    if (shadow == IR_SHADOW_VALUE && e->module->globals[ir_global_row(inst->imm)].has_derivs)
        for (uint32_t k = 0; k < 2; ++k)
            s.d[k] = g[IR_SHADOW_DDX + k][component];
    return s;
}

static EvalScalar eval_attribute(const Eval *e, const IrInst *inst, IrKind kind)
{
    uint32_t slot = ir_global_row(inst->imm), shadow = ir_global_shadow(inst->imm);
    uint32_t component = ir_global_component(inst->imm);
    const double(*a)[4] = e->point->attributes[slot];
    EvalScalar s = from_number(e, kind, a[shadow][component]);
    if (shadow == IR_SHADOW_VALUE && e->module->info.attributes[slot].has_derivs)
        for (uint32_t k = 0; k < 2; ++k)
            s.d[k] = a[IR_SHADOW_DDX + k][component];
    return s;
}

static double number_of(const Eval *e, EvalScalar x)
{
    return is_dual(e) ? x.v : (double)x.f;
}

/* Reads 3 or 7 coordinates. */
static void eval_coordinates(const Eval *e, const Frame *fr, const IrInst *inst, uint32_t count,
                             EvalScalar in[7], double coord[7])
{
    for (uint32_t i = 0; i < count; ++i)
        in[i] = fr->values[ir_args(fr->func, inst)[i]].elements[0];
    for (uint32_t i = 0; i < count; ++i)
        coord[i] = number_of(e, in[i]);
    if (count == 3) {
        coord[6] = coord[2];
        for (uint32_t i = 0; i < 4; ++i)
            coord[2 + i] = in[i & 1].d[i >> 1];
    }
}

static void eval_texels(Eval *e, Frame *fr, const IrInst *inst)
{
    const SslTextureSite *site = &e->module->texture_sites.data[inst->site];
    uint32_t coords = inst->arg_count == IR_TEX_ADJ_AUTO ? 3 : 7, count = inst->arg_count - coords;
    EvalScalar in[7] = {0};
    double coord[7] = {0}, adjoints[12];
    eval_coordinates(e, fr, inst, coords, in, coord);
    for (uint32_t i = 0; i < count; ++i) {
        const EvalValue *given = &fr->values[ir_args(fr->func, inst)[coords + i]];
        adjoints[i] = number_of(e, given->elements[0]);
        if (i < 4)
            fr->values[inst->result_first + i] = *given;
    }
    CHECK(e->point->texels && count <= 12);
    e->point->texels(e->point->texture_data, site, coord, adjoints, count);
}

static void eval_texture(Eval *e, Frame *fr, const IrInst *inst)
{
    const SslTextureSite *site = &e->module->texture_sites.data[inst->site];
    EvalScalar in[7] = {0};
    double coord[7] = {0}, out[12] = {0};
    eval_coordinates(e, fr, inst, inst->arg_count, in, coord);
    CHECK(e->point->texture);
    e->point->texture(e->point->texture_data, site, coord, out);
    ++e->result.lookups;
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        EvalScalar s = from_number(e, IR_FLOAT, out[i]);
        for (uint32_t k = 0; k < 2 && i < 4; ++k)
            s.d[k] = out[4 + i] * in[0].d[k] + out[8 + i] * in[1].d[k];
        fr->values[inst->result_first + i] = scalar_value(e, s);
    }
}

/* --- arrays, closures ------------------------------------------------------------------------- */

/* The value as what the builder does not know. */
static EvalValue unknown(const Eval *e, EvalValue v)
{
    if (!e->point->folds || !v.elements)
        return v;
    EvalScalar *elements = ARENA_ARRAY(e->arena, EvalScalar, v.count);
    for (uint32_t i = 0; i < v.count; ++i) {
        elements[i] = v.elements[i];
        elements[i].is_constant = false;
    }
    v.elements = elements;
    return v;
}

static EvalValue eval_closure_array(Eval *e, const Frame *fr, const IrInst *inst)
{
    const IrValue *args = ir_args(fr->func, inst);
    EvalValue v = {0};
    if (inst->op == IR_ARRAY_GET)
        return fr->values[args[0]].closures[fr->values[args[1]].elements[0].i];
    v.count = ir_count(ir_type(fr->func, inst->result_first));
    EvalValue *closures = ARENA_ARRAY(e->arena, EvalValue, v.count);
    for (uint32_t i = 0; i < v.count; ++i)
        closures[i] = inst->op == IR_ARRAY ? fr->values[args[i]] : fr->values[args[0]].closures[i];
    if (inst->op == IR_ARRAY_SET)
        closures[fr->values[args[1]].elements[0].i] = fr->values[args[2]];
    v.closures = closures;
    return v;
}

static EvalValue eval_array(Eval *e, const Frame *fr, const IrInst *inst)
{
    const IrValue *args = ir_args(fr->func, inst);
    EvalValue v = {0};
    IrType type = ir_type(fr->func, inst->op == IR_ARRAY_GET ? args[0] : inst->result_first);
    if (ir_kind(type) == IR_CLOSURE)
        return eval_closure_array(e, fr, inst);
    if (inst->op == IR_ARRAY_GET) {
        uint32_t index = (uint32_t)fr->values[args[1]].elements[0].i;
        CHECK(index < fr->values[args[0]].count);
        EvalScalar s = fr->values[args[0]].elements[index];
        s.is_constant = s.is_constant && fr->values[args[1]].elements[0].is_constant;
        return scalar_value(e, s);
    }
    v.count = ir_count(ir_type(fr->func, inst->result_first));
    EvalScalar *elements = ARENA_ARRAY(e->arena, EvalScalar, v.count);
    for (uint32_t i = 0; i < v.count; ++i)
        elements[i] = inst->op == IR_ARRAY ? fr->values[args[i]].elements[0]
                                           : fr->values[args[0]].elements[i];
    if (inst->op == IR_ARRAY_SET) {
        uint32_t index = (uint32_t)fr->values[args[1]].elements[0].i;
        CHECK(index < v.count);
        elements[index] = fr->values[args[2]].elements[0];
    }
    v.elements = elements;
    bool is_known = inst->op == IR_ARRAY || fr->values[args[1]].elements[0].is_constant;
    return is_known ? v : unknown(e, v);
}

static double product(const Eval *e, EvalScalar x, EvalScalar y)
{
    return is_dual(e) ? x.v * y.v : (double)(x.f * y.f);
}

static EvalValue eval_closure(Eval *e, const Frame *fr, const IrInst *inst)
{
    const IrValue *args = ir_args(fr->func, inst);
    EvalValue v = {0};
    EvalTerm *terms;
    switch (inst->op) {
    case IR_CLOSURE_ZERO:
        return v;
    case IR_CLOSURE_MAKE: {
        EvalScalar *scalars = ARENA_ARRAY(e->arena, EvalScalar, inst->arg_count);
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            scalars[i] = fr->values[args[i]].elements[0];
        terms = ARENA_NEW(e->arena, EvalTerm);
        *terms =
            (EvalTerm){.row = (uint32_t)inst->imm, .args = scalars, .arg_count = inst->arg_count};
        for (uint32_t k = 0; k < 3; ++k)
            terms->weight[k] = from_number(e, IR_FLOAT, 1);
        v.term_count = 1;
        break;
    }
    case IR_CLOSURE_ADD: {
        const EvalValue *x = &fr->values[args[0]], *y = &fr->values[args[1]];
        v.term_count = x->term_count + y->term_count;
        terms = ARENA_ARRAY(e->arena, EvalTerm, v.term_count);
        for (uint32_t i = 0; i < v.term_count; ++i)
            terms[i] = i < x->term_count ? x->terms[i] : y->terms[i - x->term_count];
        break;
    }
    default: /* SCALE */
        v.term_count = fr->values[args[0]].term_count;
        terms = ARENA_ARRAY(e->arena, EvalTerm, v.term_count);
        for (uint32_t i = 0; i < v.term_count; ++i) {
            terms[i] = fr->values[args[0]].terms[i];
            for (uint32_t k = 0; k < 3; ++k)
                terms[i].weight[k] = from_number(
                    e, IR_FLOAT,
                    product(e, terms[i].weight[k], fr->values[args[1 + k]].elements[0]));
        }
    }
    v.terms = terms;
    return v;
}

/* --- control ---------------------------------------------------------------------------------- */

static void record_fault(Eval *e, uint32_t site)
{
    if (!e->result.fault)
        e->result.fault = 1 + site;
}

static const IrValue *yields_of(const Frame *fr, IrRegionId region)
{
    return ir_args(fr->func, ir_inst(fr->func, ir_region(fr->func, region)->last));
}

static void run_loop(Eval *e, Frame *fr, const IrInst *inst)
{
    IrRegionId body = inst->region_first;
    IrValue param = ir_region(fr->func, body)->param_first;
    uint32_t count = inst->arg_count;
    const IrValue *yields = yields_of(fr, body);
    EvalValue *next = ARENA_ARRAY(e->arena, EvalValue, count);
    for (uint32_t i = 0; i < count; ++i)
        next[i] = fr->values[ir_args(fr->func, inst)[i]];
    for (bool go_on = true; go_on;) {
        for (uint32_t i = 0; i < count; ++i)
            fr->values[param + i] =
                yields[1 + i] == param + i ? next[i] : unknown(e, next[i]); /* does it change? */
        run_region(e, fr, body);
        for (uint32_t i = 0; i < count; ++i)
            next[i] = fr->values[yields[i + 1]];
        go_on = fr->values[yields[0]].elements[0].b;
        if (go_on && e->budget-- == 0) {
            record_fault(e, inst->site);
            e->budget = 0;
            go_on = false;
        }
    }
    for (uint32_t i = 0; i < count; ++i)
        fr->values[inst->result_first + i] =
            yields[1 + i] == param + i ? next[i] : unknown(e, next[i]);
}

static void run_if(Eval *e, Frame *fr, const IrInst *inst)
{
    EvalScalar cond = fr->values[ir_args(fr->func, inst)[0]].elements[0];
    IrRegionId region = inst->region_first + (cond.b ? 0 : 1);
    run_region(e, fr, region);
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        EvalValue v = fr->values[yields_of(fr, region)[i]];
        fr->values[inst->result_first + i] = cond.is_constant ? v : unknown(e, v);
    }
}

static EvalValue zero_value(Eval *e, IrType type)
{
    EvalValue v = {.count = ir_is_array(type) ? ir_count(type) : 1};
    v.elements = ARENA_ARRAY(e->arena, EvalScalar, v.count);
    v.closures = ARENA_ARRAY(e->arena, EvalValue, v.count);
    return v;
}

/* A recursive call that may not be made. */
static void refuse_call(Eval *e, Frame *fr, const IrInst *inst)
{
    record_fault(e, inst->site);
    e->budget = 0;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        fr->values[inst->result_first + i] =
            zero_value(e, ir_type(fr->func, inst->result_first + i));
}

static void run_call(Eval *e, Frame *fr, const IrInst *inst)
{
    uint32_t frame = ir_frame_bytes(ir_func(e->module, (IrFuncId)inst->imm));
    if (e->recursive[inst->imm]) {
        if (e->budget == 0 || e->stack < frame) {
            refuse_call(e, fr, inst);
            return;
        }
        --e->budget;
        e->stack -= frame;
    }
    EvalValue *args = ARENA_ARRAY(e->arena, EvalValue, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        args[i] = fr->values[ir_args(fr->func, inst)[i]];
    const EvalValue *results = run_func(e, ir_func(e->module, (IrFuncId)inst->imm), args);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        fr->values[inst->result_first + i] = results[i];
    if (e->recursive[inst->imm])
        e->stack += frame;
}

static EvalValue eval_select(Eval *e, const Frame *fr, const IrInst *inst)
{
    const IrValue *args = ir_args(fr->func, inst);
    EvalScalar cond = fr->values[args[0]].elements[0];
    EvalValue v = fr->values[args[cond.b ? 1 : 2]];
    return cond.is_constant || args[1] == args[2] ? v : unknown(e, v);
}

static EvalValue eval_bounds(Eval *e, const Frame *fr, const IrInst *inst)
{
    EvalScalar s = fr->values[ir_args(fr->func, inst)[0]].elements[0];
    int32_t clamped = s.i < 0 ? 0 : (uint64_t)s.i >= inst->imm ? (int32_t)inst->imm - 1 : s.i;
    if (clamped != s.i)
        record_fault(e, inst->site);
    s.i = clamped;
    return scalar_value(e, s);
}

/* Everything with one result. */
static EvalValue eval_value(Eval *e, const Frame *fr, const IrInst *inst)
{
    IrType type = ir_type(fr->func, inst->result_first);
    const IrValue *args = ir_args(fr->func, inst);
    EvalScalar s = {0};
    switch (inst->op) {
    case IR_CONST_BOOL:
        s.b = inst->imm != 0;
        s.is_constant = true;
        break;
    case IR_CONST_INT:
        s.i = (int32_t)(uint32_t)inst->imm;
        s.is_constant = true;
        break;
    case IR_CONST_FLOAT:
        s = from_number(e, IR_FLOAT, (double)ir_imm_float(inst));
        if (!is_dual(e))
            s.f = ir_imm_float(inst);
        s.is_constant = true;
        break;
    case IR_GLOBAL:
        s = eval_global(e, inst, ir_kind(type));
        break;
    case IR_ATTRIBUTE:
        s = eval_attribute(e, inst, ir_kind(type));
        break;
    case IR_PARAM:
        s = e->point->params[ir_param_index(inst->imm)][ir_param_component(inst->imm)];
        break;
    case IR_DDX:
    case IR_DDY:
        s.v = fr->values[args[0]].elements[0].d[inst->op == IR_DDX ? 0 : 1];
        break;
    case IR_SELECT:
        return eval_select(e, fr, inst);
    case IR_DETACH:
        return fr->values[args[0]];
    case IR_APART:
        s = fr->values[args[0]].elements[0];
        s.b |= e->point->asks_guards && type == ir_scalar(IR_BOOL);
        break;
    case IR_BOUNDS:
        return eval_bounds(e, fr, inst);
    case IR_ARRAY:
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        return eval_array(e, fr, inst);
    case IR_CLOSURE_ZERO:
    case IR_CLOSURE_MAKE:
    case IR_CLOSURE_ADD:
    case IR_CLOSURE_SCALE:
        return eval_closure(e, fr, inst);
    default:
        s = eval_scalar(e, fr, inst);
    }
    return scalar_value(e, s);
}

static void run_region(Eval *e, Frame *fr, IrRegionId region)
{
    const IrRegion *r = ir_region(fr->func, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(fr->func, id)->next) {
        const IrInst *inst = ir_inst(fr->func, id);
        ++e->result.instructions;
        switch (inst->op) {
        case IR_IF:
            run_if(e, fr, inst);
            break;
        case IR_LOOP:
            run_loop(e, fr, inst);
            break;
        case IR_CALL:
            run_call(e, fr, inst);
            break;
        case IR_TEX_AUTO:
        case IR_TEX_AUTO_D:
        case IR_TEX:
        case IR_TEX_D:
            eval_texture(e, fr, inst);
            break;
        case IR_TEX_ADJ:
            eval_texels(e, fr, inst);
            break;
        default:
            fr->values[inst->result_first] = eval_value(e, fr, inst);
        }
    }
}

static EvalValue *run_func(Eval *e, const IrFunc *f, const EvalValue *args)
{
    Frame fr = {f, ARENA_ARRAY(e->arena, EvalValue, f->values.count)};
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        fr.values[body->param_first + i] = args[i];
    run_region(e, &fr, f->body);
    EvalValue *results = ARENA_ARRAY(e->arena, EvalValue, f->result_count);
    for (uint32_t i = 0; i < f->result_count; ++i)
        results[i] = fr.values[yields_of(&fr, f->body)[i]];
    return results;
}

EvalResult ir_eval(const IrModule *m, const EvalPoint *point, Arena *arena)
{
    Eval e = {.module = m,
              .point = point,
              .arena = arena,
              .budget = point->loop_budget ? point->loop_budget : 100000,
              .stack = point->stack_bytes ? point->stack_bytes : 100000,
              .recursive = ir_recursive_funcs(m)};
    const IrFunc *f = ir_func(m, m->entry);
    e.result.values = run_func(&e, f, NULL);
    e.result.count = f->result_count;
    return e.result;
}

double eval_number(const EvalPoint *point, const EvalResult *r, uint32_t index)
{
    CHECK(index < r->count && r->values[index].count == 1);
    const EvalScalar *s = &r->values[index].elements[0];
    return point->mode == EVAL_DUAL ? s->v : (double)s->f;
}
