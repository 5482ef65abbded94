/* The derivative passes: rules against closed forms and central differences (T16), lineage, demand,
 * functions, control flow, arrays, textures. Values are those of the interpreter after the
 * pipeline. */
#include "tests/ssl/oracle/ir_fixture.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fmax(1, fabs(want))))
        fail_msg("got %.9g, want %.9g", got, want);
}

static void seed(Fixture *f, uint32_t row, double value, double ddx, double ddy)
{
    f->point.globals[row][0][0] = value;
    f->point.globals[row][1][0] = ddx;
    f->point.globals[row][2][0] = ddy;
}

static IrValue number(Fixture *f, float x)
{
    return ir_const_float(f->b, x);
}

/* --- the post's worked example ---------------------------------------------------------------- */

static IrFuncId build_eval_practical(Fixture *f)
{
    IrBuilder *b;
    IrFuncId id = fixture_func(f, "eval_practical", (IrType[]){IR_FLOAT, IR_FLOAT}, 2, &b);
    IrValue x1 = ir_build_param(b, 0), x2 = ir_build_param(b, 1), one = ir_const_float(b, 1.0f);
    IrValue u =
        ir_build2(b, IR_FDIV, ir_build2(b, IR_FMUL, x1, x2), ir_build2(b, IR_FADD, x1, one));
    IrValue sum = ir_build2(b, IR_FADD, ir_build1(b, IR_SIN, u),
                            ir_build1(b, IR_LOG, ir_build2(b, IR_FADD, one, u)));
    IrValue left = ir_build2(b, IR_FSUB, sum, ir_build1(b, IR_EXP, x2));
    IrValue right = ir_build2(b, IR_FSUB, u, ir_build1(b, IR_TANH, x2));
    IrValue result = ir_build2(b, IR_FMUL, left, right);
    ir_build_end(b, &result, 1);
    return id;
}

static void test_worked_example(void **state)
{
    SORT_UNUSED(state);
    for (int merged = 0; merged < 2; ++merged) {
        Fixture f;
        fixture_begin(&f);
        IrFuncId eval = build_eval_practical(&f);
        IrValue args[2] = {fixture_global(&f, G_X1, 0), fixture_global(&f, G_X2, 0)}, v;
        ir_build_call(f.b, eval, args, 2, (IrType[]){IR_FLOAT}, 1, &v);
        IrValue out[2] = {v, ir_build1(f.b, IR_DDX, v)};
        fixture_outputs(&f, out, 2);
        seed(&f, G_X1, 1.5, 1, 0);
        seed(&f, G_X2, 0.5, 0, 0);
        assert_near(fixture_value(&f, EVAL_DUAL, 1), -0.10963349927997776, 1e-14);
        fixture_run(&f, &(IrPipelineDesc){.merged_summaries = merged});
        assert_near(fixture_value(&f, EVAL_FLOAT, 1), -0.10963349927997776, 1e-6);
        assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDX), 2);
        assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDY), 0);
        assert_int_equal(f.report.globals_derivs, 1u << G_X1 | 1u << G_X2);
        fixture_end(&f);
    }
}

/* --- every rule ------------------------------------------------------------------------------- */

typedef struct Rule {
    IrOp op;
    double x, y;   /* arguments; y unused by functions of one */
    double px, py; /* partials in closed form */
} Rule;

static void check_rule(const Rule *rule)
{
    bool binary = ir_op_info(rule->op)->signature[1] == 'f';
    for (int wrt = 0; wrt < (binary ? 2 : 1); ++wrt) {
        Fixture f;
        fixture_begin(&f);
        IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0);
        IrValue v = binary ? ir_build2(f.b, rule->op, x, y) : ir_build1(f.b, rule->op, x);
        IrValue out[2] = {ir_build1(f.b, IR_DDX, v), ir_build1(f.b, IR_DDY, v)};
        fixture_outputs(&f, out, 2);
        seed(&f, G_X1, rule->x, wrt == 0, wrt == 0 ? -3 : 0);
        seed(&f, G_X2, rule->y, wrt == 1, wrt == 1 ? -3 : 0);
        fixture_run(&f, NULL);
        double want = wrt == 0 ? rule->px : rule->py;
        double got = fixture_value(&f, EVAL_FLOAT, 0), got_y = fixture_value(&f, EVAL_FLOAT, 1);
        if (!(fabs(got - want) <= 4e-6 * fmax(fabs(want), 1e-6)))
            fail_msg("%s(%g, %g) argument %d: got %.9g, want %.9g", ir_op_info(rule->op)->mnemonic,
                     rule->x, rule->y, wrt, got, want);
        assert_near(got_y, -3 * got, 1e-6);
        fixture_end(&f);
    }
}

static void test_rules_in_closed_form(void **state)
{
    SORT_UNUSED(state);
    const double e = 2.718281828459045, ln2 = 0.6931471805599453;
    const Rule rules[] = {
        {IR_FNEG, 2, 0, -1, 0},
        {IR_FADD, 2, 3, 1, 1},
        {IR_FSUB, 2, 3, 1, -1},
        {IR_FMUL, 2, 3, 3, 2},
        {IR_FDIV, 3, 4, 0.25, -3.0 / 16},
        {IR_FDIV, -3, 0.125, 8, 192},
        {IR_FMOD, 7.5, 2, 1, -3},
        {IR_FMOD, -7.5, 2, 1, 3},
        {IR_FMOD, 7.5, -2, 1, 3},
        {IR_FMOD, 0.5, 2, 1, 0},
        {IR_FMIN, 1, 2, 1, 0},
        {IR_FMIN, 2, 1, 0, 1},
        {IR_FMIN, 2, 2, 1, 0}, /* ties: min its first argument, max its second */
        {IR_FMAX, 1, 2, 0, 1},
        {IR_FMAX, 2, 1, 1, 0},
        {IR_FMAX, 2, 2, 0, 1},
        {IR_FABS, 2, 0, 1, 0},
        {IR_FABS, -2, 0, -1, 0},
        {IR_FABS, 0, 0, 1, 0},
        {IR_FLOOR, 1.5, 0, 0, 0},
        {IR_CEIL, 1.5, 0, 0, 0},
        {IR_ROUND, 1.25, 0, 0, 0},
        {IR_TRUNC, 1.5, 0, 0, 0},
        {IR_SIGN, 0, 0, 0, 0},
        {IR_SQRT, 4, 0, 0.25, 0},
        {IR_INVSQRT, 4, 0, -1.0 / 16, 0},
        {IR_CBRT, 8, 0, 1.0 / 12, 0},
        {IR_CBRT, -8, 0, 1.0 / 12, 0},
        {IR_HYPOT, 3, 4, 0.6, 0.8},
        {IR_EXP, 1, 0, e, 0},
        {IR_EXP2, 3, 0, 8 * ln2, 0},
        {IR_EXPM1, 1, 0, e, 0},
        {IR_LOG, 4, 0, 0.25, 0},
        {IR_LOG2, 4, 0, 0.25 / ln2, 0},
        {IR_LOG10, 4, 0, 0.25 / 2.302585092994046, 0},
        {IR_LOG1P, 3, 0, 0.25, 0},
        {IR_POW, 3, 2, 6, 9 * 1.0986122886681098},
        {IR_POW, 2, 0.5, 0.5 / 1.4142135623730951, 1.4142135623730951 * ln2},
        {IR_POW, 2, -1, -0.25, 0.5 * ln2},
        {IR_SIN, 1, 0, 0.5403023058681398, 0},
        {IR_COS, 1, 0, -0.8414709848078965, 0},
        {IR_TAN, 1, 0, 3.425518820814759, 0},
        {IR_ASIN, 0.6, 0, 1.25, 0},
        {IR_ACOS, 0.6, 0, -1.25, 0},
        {IR_ATAN, 2, 0, 0.2, 0},
        {IR_ATAN2, 1, 2, 0.4, -0.2},
        {IR_ATAN2, 3, -4, -4.0 / 25, -3.0 / 25},
        {IR_SINH, 1, 0, 1.5430806348152437, 0},
        {IR_COSH, 1, 0, 1.1752011936438014, 0},
        {IR_TANH, 1, 0, 0.41997434161402614, 0},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rules); ++i)
        check_rule(&rules[i]);
}

/* The derivative is zero where the value's guard has the upper hand, and finite everywhere. */
static void test_rules_at_singular_points(void **state)
{
    SORT_UNUSED(state);
    const double big = 3e38;
    const Rule rules[] = {
        {IR_FDIV, 1, 0, 0, 0},          {IR_FDIV, 0, 0, 0, 0},
        {IR_FDIV, big, 1e-30, 1e30, 0}, /* the other partial would overflow */
        {IR_FMOD, 1, 0, 1, 0},          {IR_SQRT, 0, 0, 0, 0},
        {IR_SQRT, -1, 0, 0, 0},         {IR_INVSQRT, 0, 0, 0, 0},
        {IR_INVSQRT, -1, 0, 0, 0},      {IR_CBRT, 0, 0, 0, 0},
        {IR_HYPOT, 0, 0, 0, 0},         {IR_LOG, 0, 0, 0, 0},
        {IR_LOG, -1, 0, 0, 0},          {IR_LOG2, 0, 0, 0, 0},
        {IR_LOG10, -2, 0, 0, 0},        {IR_LOG1P, -1, 0, 0, 0},
        {IR_LOG1P, -2, 0, 0, 0},        {IR_POW, 0, 0.5, 0, 0},
        {IR_POW, 0, 1, 1, 0},           {IR_POW, 0, 2, 0, 0},
        {IR_POW, 0, 3, 0, 0},           {IR_POW, 0, 0, 0, 0},
        {IR_POW, 0, -1, 0, 0},          {IR_POW, -2, 2, -4, 0}, /* whole exponent: e t^(e-1) */
        {IR_POW, -2, 3, 12, 0},         {IR_POW, -2, -1, -0.25, 0},
        {IR_POW, -2, 0.5, 0, 0},        {IR_ASIN, 1, 0, 0, 0},
        {IR_ASIN, -1, 0, 0, 0},         {IR_ASIN, 2, 0, 0, 0},
        {IR_ACOS, 1, 0, 0, 0},          {IR_ACOS, -3, 0, 0, 0},
        {IR_ATAN2, 0, 0, 0, 0},         {IR_ATAN2, 1e25, 1e25, 0, 0},
        {IR_EXP, 200, 0, 0, 0},         {IR_EXP2, 200, 0, 0, 0},
        {IR_SINH, 200, 0, 0, 0},        {IR_COSH, 200, 0, 0, 0},
        {IR_POW, big, 3, 0, 0},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rules); ++i)
        check_rule(&rules[i]);
}

/* Independent of both the compiler's rules and the oracle's: the oracle's values, differenced. */
static void test_rules_against_central_differences(void **state)
{
    SORT_UNUSED(state);
    const double h = 1e-6, points[][2] = {{0.3, 0.7}, {1.7, 2.3}, {0.9, -1.1}, {-0.45, 1.6}};
    for (IrOp op = IR_FNEG; op <= IR_TANH; ++op) {
        bool binary = ir_op_info(op)->signature[1] == 'f';
        for (uint32_t i = 0; i < SORT_COUNT_OF(points); ++i) {
            double x = points[i][0], y = points[i][1], sides[2];
            if (x < 0 && (op == IR_LOG || op == IR_LOG2 || op == IR_LOG10 || op == IR_SQRT))
                continue;
            Fixture f;
            fixture_begin(&f);
            IrValue a = fixture_global(&f, G_X1, 0), c = fixture_global(&f, G_X2, 0);
            IrValue v = binary ? ir_build2(f.b, op, a, c) : ir_build1(f.b, op, a);
            IrValue out[2] = {v, ir_build1(f.b, IR_DDX, v)};
            fixture_outputs(&f, out, 2);
            for (int side = 0; side < 2; ++side) {
                double step = side ? h : -h;
                seed(&f, G_X1, x + step, 0, 0);
                seed(&f, G_X2, y - 0.5 * step, 0, 0);
                sides[side] = fixture_value(&f, EVAL_DUAL, 0);
            }
            seed(&f, G_X1, x, 1, 0);
            seed(&f, G_X2, y, -0.5, 0);
            double want = (sides[1] - sides[0]) / (2 * h);
            assert_near(fixture_value(&f, EVAL_DUAL, 1), want, 1e-5);
            fixture_run(&f, NULL);
            double got = fixture_value(&f, EVAL_FLOAT, 1);
            if (!(fabs(got - want) <= 1e-5 * fmax(1, fabs(want))))
                fail_msg("%s at %g, %g: got %.9g, differences give %.9g", ir_op_info(op)->mnemonic,
                         x, y, got, want);
            fixture_end(&f);
        }
    }
}

/* --- lineage and demand ----------------------------------------------------------------------- */

static void test_no_lineage_folds_to_zero(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue k = ir_build_param_read(f.b, IR_FLOAT, PARAM_K, 0);
    IrValue flat = fixture_global(&f, G_FLAT, 0);
    IrValue v = ir_build2(f.b, IR_FMUL, ir_build1(f.b, IR_SIN, k), ir_build1(f.b, IR_EXP, flat));
    IrValue floor_x = ir_build1(f.b, IR_FLOOR, fixture_global(&f, G_X1, 0));
    IrValue whole = ir_build1(f.b, IR_I2F, ir_build1(f.b, IR_F2I, fixture_global(&f, G_X1, 0)));
    IrValue out[4] = {ir_build1(f.b, IR_DDX, v), ir_build1(f.b, IR_DDX, number(&f, 3)),
                      ir_build1(f.b, IR_DDY, floor_x), ir_build1(f.b, IR_DDX, whole)};
    fixture_outputs(&f, out, 4);
    fixture_run(&f, NULL);
    for (uint32_t i = 0; i < 4; ++i)
        assert_near(fixture_value(&f, EVAL_FLOAT, i), 0, 0);
    assert_int_equal(f.report.instructions, 2); /* one constant and the yield */
    assert_int_equal(f.report.values_shadowed, 0);
    assert_int_equal(f.report.globals_value | f.report.globals_derivs, 0);
    fixture_end(&f);
}

static void test_demand_is_per_direction(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0);
    IrValue sx = ir_build1(f.b, IR_SIN, x), sy = ir_build1(f.b, IR_EXP, y);
    IrValue unused = ir_build1(f.b, IR_TAN, x);
    IrValue out[3] = {ir_build1(f.b, IR_DDX, sx), ir_build1(f.b, IR_DDY, sy), unused};
    fixture_outputs(&f, out, 3);
    fixture_run(&f, NULL);
    assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDX), 1);
    assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDY), 1);
    assert_int_equal(count_op(f.module, IR_COS), 1);
    assert_int_equal(count_op(f.module, IR_FMUL), 2);
    assert_int_equal(count_op(f.module, IR_SIN), 0); /* only its derivative is asked for */
    assert_int_equal(f.report.values, 7);            /* x y sin exp tan ddx ddy */
    assert_int_equal(f.report.values_shadowed, 4);
    fixture_end(&f);
}

static void test_demand_is_per_component(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue squares[3];
    for (uint32_t i = 0; i < 3; ++i) {
        IrValue p = fixture_global(&f, G_P, i);
        squares[i] = ir_build2(f.b, IR_FMUL, p, p);
    }
    IrValue array = ir_build_array(f.b, IR_FLOAT, squares, 3);
    IrValue y = ir_build2(f.b, IR_ARRAY_GET, array, ir_const_int(f.b, 1));
    IrValue out[4] = {ir_build1(f.b, IR_DDX, y), squares[0], squares[1], squares[2]};
    fixture_outputs(&f, out, 4);
    fixture_run(&f, NULL);
    assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDX), 1);
    f.point.globals[G_P][0][1] = 3;
    f.point.globals[G_P][1][1] = 2;
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), 12, 1e-6);
    fixture_end(&f);
}

static void test_switch_turns_derivatives_off(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), rgba[4];
    ir_build_tex_auto(f.b, 0, (IrValue[]){x, x, number(&f, 0)}, rgba);
    IrValue out[2] = {ir_build1(f.b, IR_DDX, ir_build1(f.b, IR_SIN, x)), rgba[0]};
    fixture_outputs(&f, out, 2);
    fixture_run(&f, &(IrPipelineDesc){.without_derivatives = true});
    assert_int_equal(f.report.globals_derivs, 0);
    assert_int_equal(f.report.values_shadowed, 0);
    assert_int_equal(count_op(f.module, IR_TEX), 1);
    seed(&f, G_X1, 0.5, 1, 1);
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), 0, 0);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), 0.5, 0);
    fixture_end(&f);
}

/* --- functions -------------------------------------------------------------------------------- */

/* The post's func(x, y, out ox, out oy), called twice with different needs. */
static void build_two_calls(Fixture *f)
{
    IrBuilder *b;
    IrFuncId func = fixture_func(f, "func", (IrType[]){IR_FLOAT, IR_FLOAT}, 2, &b);
    ir_build_end(b, (IrValue[]){ir_build_param(b, 0), ir_build_param(b, 1)}, 2);
    IrValue one = number(f, 1), first[2], second[2];
    const IrType types[2] = {IR_FLOAT, IR_FLOAT};
    ir_build_call(f->b, func, (IrValue[]){fixture_global(f, G_X1, 0), one}, 2, types, 2, first);
    ir_build_call(f->b, func, (IrValue[]){one, fixture_global(f, G_X2, 0)}, 2, types, 2, second);
    IrValue out[2] = {ir_build1(f->b, IR_DDX, first[0]), ir_build1(f->b, IR_DDX, second[1])};
    fixture_outputs(f, out, 2);
}

static void test_two_calls_reduce_to_two_loads(void **state)
{
    SORT_UNUSED(state);
    for (int merged = 0; merged < 2; ++merged) {
        Fixture f;
        fixture_begin(&f);
        build_two_calls(&f);
        fixture_run(&f, &(IrPipelineDesc){.merged_summaries = merged});
        assert_int_equal(f.report.instructions, 3); /* two loads and the yield with two results */
        assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDX), 2);
        assert_int_equal(f.report.globals_value, 0);
        seed(&f, G_X1, 9, 4, 5);
        seed(&f, G_X2, 9, 6, 7);
        assert_near(fixture_value(&f, EVAL_FLOAT, 0), 4, 0);
        assert_near(fixture_value(&f, EVAL_FLOAT, 1), 6, 0);
        fixture_end(&f);
    }
}

typedef struct Observed {
    uint32_t functions, params, results, shadowed;
} Observed;

static void observe_forward(void *data, const char *pass, const IrModule *m)
{
    Observed *o = data;
    if (pass[0] != 'f') /* forward */
        return;
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = m->funcs.data[id];
        if (!f || id == m->entry)
            continue;
        ++o->functions;
        o->params += ir_region(f, f->body)->param_count;
        o->results += f->result_count;
    }
}

/* Per call site: two clones of two parameters, each with one tangent. Merged: one clone with
 * both. */
static void test_clones_by_signature_or_merged(void **state)
{
    SORT_UNUSED(state);
    for (int merged = 0; merged < 2; ++merged) {
        Fixture f;
        Observed o = {0};
        fixture_begin(&f);
        build_two_calls(&f);
        fixture_run(&f, &(IrPipelineDesc){.merged_summaries = merged,
                                          .observe = observe_forward,
                                          .observe_data = &o});
        assert_int_equal(o.functions, merged ? 1 : 2);
        assert_int_equal(o.params, merged ? 4 : 6);
        assert_int_equal(o.results, merged ? 4 : 6);
        fixture_end(&f);
    }
}

/* wrap(x, y) = func(op(x), op(y)) */
static IrFuncId build_wrapper(Fixture *f, IrFuncId func, IrOp op)
{
    IrBuilder *b;
    const IrType types[2] = {IR_FLOAT, IR_FLOAT};
    IrFuncId id = fixture_func(f, "wrap", types, 2, &b);
    IrValue r[2],
        args[2] = {ir_build1(b, op, ir_build_param(b, 0)), ir_build1(b, op, ir_build_param(b, 1))};
    ir_build_call(b, func, args, 2, types, 2, r);
    ir_build_end(b, r, 2);
    return id;
}

/* Two functions call a third, one asking for the derivative of its first result, one for the
 * second's: merged, what the one asks reaches the arguments of the other, whichever comes first. */
static void test_merged_demand_reaches_every_call(void **state)
{
    SORT_UNUSED(state);
    for (int merged = 0; merged < 2; ++merged) {
        for (uint32_t first = 0; first < 2; ++first) {
            Fixture f;
            fixture_begin(&f);
            IrBuilder *b;
            const IrType types[2] = {IR_FLOAT, IR_FLOAT};
            IrFuncId func = fixture_func(&f, "func", types, 2, &b);
            ir_build_end(b, (IrValue[]){ir_build_param(b, 0), ir_build_param(b, 1)}, 2);
            IrValue args[2] = {fixture_global(&f, G_X1, 0), fixture_global(&f, G_X2, 0)}, out[2];
            for (uint32_t i = 0; i < 2; ++i) {
                IrValue r[2];
                IrFuncId wrapper = build_wrapper(&f, func, i ? IR_COS : IR_SIN);
                ir_build_call(f.b, wrapper, args, 2, types, 2, r);
                out[i] = ir_build1(f.b, IR_DDX, r[i ? 1 - first : first]);
            }
            fixture_outputs(&f, out, 2);
            fixture_run(&f, &(IrPipelineDesc){.merged_summaries = merged});
            /* x1, x2 and two results; of each wrapper parameter, argument and result of one side,
             * or parameters and arguments of both; of func one parameter a call, or both */
            assert_int_equal(f.report.values_shadowed,
                             merged ? 4 + 2 * (4 + 1) + 2 * 2 : 4 + 2 * 3 + 2 * 1);
            fixture_end(&f);
        }
    }
}

/* Likewise lineage: what one caller brings in counts for the other. */
static void test_merged_lineage_reaches_every_call(void **state)
{
    SORT_UNUSED(state);
    for (int merged = 0; merged < 2; ++merged) {
        for (uint32_t flat = 0; flat < 2; ++flat) {
            Fixture f;
            fixture_begin(&f);
            IrBuilder *b;
            const IrType types[2] = {IR_FLOAT, IR_FLOAT};
            IrFuncId func = fixture_func(&f, "func", types, 2, &b);
            ir_build_end(b, (IrValue[]){ir_build_param(b, 0), ir_build_param(b, 1)}, 2);
            IrValue out[2];
            for (uint32_t i = 0; i < 2; ++i) {
                IrValue r[2], arg = fixture_global(&f, i == flat ? G_FLAT : G_X1, 0);
                IrFuncId wrapper = build_wrapper(&f, func, i ? IR_COS : IR_SIN);
                ir_build_call(f.b, wrapper, (IrValue[]){arg, arg}, 2, types, 2, r);
                out[i] = ir_build1(f.b, IR_DDX, r[0]);
            }
            fixture_outputs(&f, out, 2);
            fixture_run(&f, &(IrPipelineDesc){.merged_summaries = merged});
            /* x1, then result, parameter, argument, result of the inner call and its parameter;
             * merged, the flat side has results with lineage, and func's parameter, too */
            assert_int_equal(f.report.values_shadowed, merged ? 1 + 5 + 3 : 1 + 5);
            fixture_end(&f);
        }
    }
}

/* The clones are shared: many calls of one signature make one. */
static void test_equal_signatures_share_a_clone(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    Observed o = {0};
    fixture_begin(&f);
    IrFuncId eval = build_eval_practical(&f);
    IrValue v = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0);
    for (uint32_t i = 0; i < 8; ++i)
        ir_build_call(f.b, eval, (IrValue[]){v, y}, 2, (IrType[]){IR_FLOAT}, 1, &v);
    IrValue out = ir_build1(f.b, IR_DDX, v);
    fixture_outputs(&f, &out, 1);
    seed(&f, G_X1, 0.4, 1, 0);
    seed(&f, G_X2, 0.3, 0.5, 0);
    double want = fixture_value(&f, EVAL_DUAL, 0);
    fixture_run(&f, &(IrPipelineDesc){.observe = observe_forward, .observe_data = &o});
    assert_int_equal(o.functions, 1);
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), want, 1e-5);
    fixture_end(&f);
}

/* Union over callers needs a fixed point: the inner function is reached with and without
 * lineage. */
static void test_merged_summaries_reach_a_fixed_point(void **state)
{
    SORT_UNUSED(state);
    for (int merged = 0; merged < 2; ++merged) {
        Fixture f;
        fixture_begin(&f);
        IrBuilder *b;
        const IrType one[1] = {IR_FLOAT};
        IrFuncId inner = fixture_func(&f, "inner", one, 1, &b);
        IrValue v = ir_build1(b, IR_SIN, ir_build_param(b, 0));
        ir_build_end(b, &v, 1);
        IrFuncId outer = fixture_func(&f, "outer", one, 1, &b);
        ir_build_call(b, inner, (IrValue[]){ir_build_param(b, 0)}, 1, one, 1, &v);
        ir_build_end(b, &v, 1);
        IrValue a, c, x = fixture_global(&f, G_X1, 0);
        ir_build_call(f.b, outer, (IrValue[]){number(&f, 2)}, 1, one, 1, &a);
        ir_build_call(f.b, inner, &x, 1, one, 1, &c);
        IrValue out[2] = {ir_build1(f.b, IR_DDX, a), ir_build1(f.b, IR_DDX, c)};
        fixture_outputs(&f, out, 2);
        fixture_run(&f, &(IrPipelineDesc){.merged_summaries = merged});
        seed(&f, G_X1, 0.5, 1, 0);
        assert_near(fixture_value(&f, EVAL_FLOAT, 0), 0, 0);
        assert_near(fixture_value(&f, EVAL_FLOAT, 1), cos(0.5), 1e-6);
        fixture_end(&f);
    }
}

/* --- control flow ----------------------------------------------------------------------------- */

static void test_if_with_a_derivative_in_one_arm(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), flag = fixture_global(&f, G_BOOL, 0), r;
    ir_if_begin(f.b, flag);
    IrValue sine = ir_build1(f.b, IR_SIN, x);
    ir_if_else(f.b, &sine, 1);
    ir_if_end(f.b, (IrValue[]){number(&f, 7)}, 1, &r);
    IrValue out[2] = {r, ir_build1(f.b, IR_DDX, r)};
    fixture_outputs(&f, out, 2);
    fixture_run(&f, NULL);
    seed(&f, G_X1, 0.5, 2, 0);
    f.point.globals[G_BOOL][0][0] = 1;
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), sin(0.5), 1e-6);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), 2 * cos(0.5), 1e-6);
    f.point.globals[G_BOOL][0][0] = 0;
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), 7, 0);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), 0, 0);
    fixture_end(&f);
}

/* flag ? ddx(x) : ddy(y): on SSA, x needs d/dx only and y d/dy only. */
static void test_choice_of_derivatives_keeps_directions_apart(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = ir_build1(f.b, IR_SIN, fixture_global(&f, G_X1, 0));
    IrValue y = ir_build1(f.b, IR_SIN, fixture_global(&f, G_X2, 0)), r;
    ir_if_begin(f.b, fixture_global(&f, G_BOOL, 0));
    IrValue dx = ir_build1(f.b, IR_DDX, x);
    ir_if_else(f.b, &dx, 1);
    ir_if_end(f.b, (IrValue[]){ir_build1(f.b, IR_DDY, y)}, 1, &r);
    fixture_outputs(&f, &r, 1);
    fixture_run(&f, NULL);
    assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDX), 1);
    assert_int_equal(count_shadow_reads(f.module, IR_SHADOW_DDY), 1);
    fixture_end(&f);
}

/* v = x; for (i = 0; i < count; i++) { if (v > limit) break; v = v * x + k; } */
static IrValue build_power_loop(Fixture *f, float limit, IrValue *out_count)
{
    IrBuilder *b = f->b;
    IrValue x = fixture_global(f, G_X1, 0), k = ir_build_param_read(b, IR_FLOAT, PARAM_K, 0);
    IrValue init[4] = {x, ir_const_int(b, 0), x, k}, state[4], next[4], results[4], inner[2];
    ir_loop_begin(b, 0, init, 4, state); /* the last two never change */
    IrValue in_range = ir_build2(b, IR_ILT, state[1], fixture_global(f, G_INT, 0));
    IrValue below = ir_build2(b, IR_FLE, state[0], ir_const_float(b, limit));
    IrValue go = ir_build2(b, IR_BAND, in_range, below);
    ir_if_begin(b, go);
    IrValue grown = ir_build2(b, IR_FADD, ir_build2(b, IR_FMUL, state[0], state[2]), state[3]);
    ir_if_else(b, (IrValue[]){grown, ir_build2(b, IR_IADD, state[1], ir_const_int(b, 1))}, 2);
    ir_if_end(b, (IrValue[]){state[0], state[1]}, 2, inner);
    next[0] = inner[0];
    next[1] = inner[1];
    next[2] = state[2];
    next[3] = state[3];
    ir_loop_end(b, go, next, 4, results);
    *out_count = results[1];
    return results[0];
}

static void test_loop_with_early_exit(void **state)
{
    SORT_UNUSED(state);
    for (int count = 0; count < 6; ++count) {
        Fixture f;
        IrValue turns;
        fixture_begin(&f);
        IrValue v = build_power_loop(&f, 20.0f, &turns);
        IrValue out[3] = {v, ir_build1(f.b, IR_DDX, v), turns};
        fixture_outputs(&f, out, 3);
        fixture_run(&f, NULL);
        seed(&f, G_X1, 2, 1, 0);
        f.point.globals[G_INT][0][0] = count;
        f.point.params[PARAM_K][0].f = 1;
        double value = 2, slope = 1;
        int turn = 0;
        for (; turn < count && value <= 20; ++turn) {
            slope = slope * 2 + value;
            value = value * 2 + 1;
        }
        EvalResult r = fixture_eval(&f, EVAL_FLOAT);
        assert_near(eval_number(&f.point, &r, 0), value, 0);
        assert_near(eval_number(&f.point, &r, 1), slope, 0);
        assert_int_equal(r.values[2].elements[0].i, turn);
        const IrFunc *entry = ir_func(f.module, f.module->entry);
        for (IrInstId i = 1; i < entry->insts.count; ++i) /* value, count, one tangent */
            if (ir_inst(entry, i)->op == IR_LOOP)
                assert_int_equal(ir_inst(entry, i)->arg_count, 3);
        fixture_end(&f);
    }
}

/* a = b; b = sin(a) each turn: demand on a needs a turn more to reach b's first value. */
static void test_loop_state_feeds_other_state(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), s[3], r[3];
    ir_loop_begin(b, 0, (IrValue[]){ir_const_float(b, 0), x, ir_const_int(b, 0)}, 3, s);
    IrValue next = ir_build2(b, IR_IADD, s[2], ir_const_int(b, 1));
    IrValue go = ir_build2(b, IR_ILT, next, ir_const_int(b, 3));
    ir_loop_end(b, go, (IrValue[]){s[1], ir_build1(b, IR_SIN, s[0]), next}, 3, r);
    IrValue out[2] = {ir_build1(b, IR_DDX, r[0]), ir_build1(b, IR_DDY, r[1])};
    fixture_outputs(&f, out, 2);
    seed(&f, G_X1, 0.7, 1, 3);
    double want[2] = {fixture_value(&f, EVAL_DUAL, 0), fixture_value(&f, EVAL_DUAL, 1)};
    fixture_run(&f, NULL);
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), want[0], 1e-6);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), want[1], 1e-6);
    assert_true(want[0] != 0);
    fixture_end(&f);
}

/* a[i % 4] += x * i in a loop, then a[j] for a j of run time. */
static void test_array_with_run_time_index_in_a_loop(void **state)
{
    SORT_UNUSED(state);
    for (int j = 0; j < 4; ++j) {
        Fixture f;
        fixture_begin(&f);
        IrBuilder *b = f.b;
        IrValue x = fixture_global(&f, G_X1, 0), zero = ir_const_float(b, 0), s[2], r[2];
        IrValue array = ir_build_array(b, IR_FLOAT, (IrValue[]){zero, zero, zero, x}, 4);
        ir_loop_begin(b, 0, (IrValue[]){array, ir_const_int(b, 0)}, 2, s);
        IrValue index = ir_build2(b, IR_IMOD, s[1], ir_const_int(b, 4));
        index = ir_build_bounds(b, index, 4, 1);
        IrValue term = ir_build2(b, IR_FMUL, x, ir_build1(b, IR_I2F, s[1]));
        IrValue sum = ir_build2(b, IR_FADD, ir_build2(b, IR_ARRAY_GET, s[0], index), term);
        IrValue stored = ir_build3(b, IR_ARRAY_SET, s[0], index, sum);
        IrValue next = ir_build2(b, IR_IADD, s[1], ir_const_int(b, 1));
        ir_loop_end(b, ir_build2(b, IR_ILT, next, ir_const_int(b, 10)), (IrValue[]){stored, next},
                    2, r);
        IrValue at = ir_build_bounds(b, fixture_global(&f, G_INT, 0), 4, 1);
        IrValue v = ir_build2(b, IR_ARRAY_GET, r[0], at);
        IrValue out[2] = {v, ir_build1(b, IR_DDX, v)};
        fixture_outputs(&f, out, 2);
        fixture_run(&f, NULL);
        seed(&f, G_X1, 2, 1, 0);
        f.point.globals[G_INT][0][0] = j;
        const double sums[4] = {0 + 4 + 8, 1 + 5 + 9, 2 + 6, 3 + 7 + 1};
        assert_near(fixture_value(&f, EVAL_FLOAT, 0), 2 * sums[j], 0);
        assert_near(fixture_value(&f, EVAL_FLOAT, 1), sums[j], 0);
        fixture_end(&f);
    }
}

/* --- textures --------------------------------------------------------------------------------- */

typedef struct Lookup {
    double coord[7];
} Lookup;

static void keep_lookup(void *data, const SslTextureSite *site, const double coord[7],
                        double out[12])
{
    Lookup *lookup = data;
    for (int i = 0; i < 7; ++i)
        lookup->coord[i] = coord[i];
    ramp_texture(NULL, site, coord, out);
}

static void test_texture_gets_its_footprint(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    Lookup lookup;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0), rgba[4];
    IrValue s = ir_build2(f.b, IR_FMUL, x, y), t = ir_build1(f.b, IR_SIN, x);
    ir_build_tex_auto(f.b, 0, (IrValue[]){s, t, number(&f, 0.125f)}, rgba);
    fixture_outputs(&f, rgba, 4);
    fixture_run(&f, NULL);
    assert_int_equal(count_op(f.module, IR_TEX), 1);
    assert_int_equal(count_op(f.module, IR_TEX_D), 0);
    assert_int_equal(f.report.globals_derivs, 1u << G_X1 | 1u << G_X2);
    f.point.texture = keep_lookup;
    f.point.texture_data = &lookup;
    seed(&f, G_X1, 2, 1, 0.5);
    seed(&f, G_X2, 3, 0.25, -1);
    fixture_eval(&f, EVAL_FLOAT);
    const double want[7] = {6,    sin(2), 1 * 3 + 2 * 0.25, cos(2), 0.5 * 3 - 2 * 1, 0.5 * cos(2),
                            0.125};
    for (int i = 0; i < 7; ++i)
        assert_near(lookup.coord[i], want[i], 1e-6);
    fixture_end(&f);
}

static void test_texture_without_lineage_has_no_footprint(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue rgba[4];
    IrValue k = ir_build_param_read(f.b, IR_FLOAT, PARAM_K, 0);
    ir_build_tex_auto(f.b, 0, (IrValue[]){k, number(&f, 0.5f), number(&f, 0)}, rgba);
    fixture_outputs(&f, rgba, 1);
    fixture_run(&f, NULL);
    assert_int_equal(f.report.values_shadowed, 0);
    assert_int_equal(f.report.globals_derivs, 0);
    fixture_end(&f);
}

/* ddx of a texel by d/ds and d/dt; and a lookup at coordinates that came from a texture. */
static void test_texture_results_follow_the_chain_rule(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    Lookup lookup;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0), rgba[4], second[4];
    IrValue blur = number(&f, 0), two_x = ir_build2(f.b, IR_FADD, x, x);
    ir_build_tex_auto(f.b, 0, (IrValue[]){two_x, y, blur}, rgba); /* 2x, y, 2xy, 1 */
    ir_build_tex_auto(f.b, 1, (IrValue[]){rgba[2], y, blur}, second);
    IrValue out[4] = {ir_build1(f.b, IR_DDX, rgba[2]), ir_build1(f.b, IR_DDX, rgba[3]), second[0],
                      second[1]};
    fixture_outputs(&f, out, 4);
    fixture_run(&f, NULL);
    assert_int_equal(count_op(f.module, IR_TEX_D), 1);
    assert_int_equal(count_op(f.module, IR_TEX), 1);
    f.point.texture = keep_lookup;
    f.point.texture_data = &lookup;
    seed(&f, G_X1, 2, 1, 0);
    seed(&f, G_X2, 3, 0.5, 1);
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), 2 * 3 + 4 * 0.5, 1e-6);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), 0, 0);
    const double want[7] = {12, 3, 8, 0.5, 4, 1, 0}; /* of the dependent lookup */
    for (int i = 0; i < 7; ++i)
        assert_near(lookup.coord[i], want[i], 1e-6);
    fixture_end(&f);
}

static void test_explicit_footprint_stands_and_differentiates(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    Lookup lookup;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), rgba[4], coord[7] = {x, number(&f, 0.5f)};
    for (uint32_t i = 2; i < 7; ++i)
        coord[i] = number(&f, (float)i);
    ir_build_tex(f.b, 0, coord, rgba);
    IrValue out[2] = {rgba[0], ir_build1(f.b, IR_DDX, rgba[0])};
    fixture_outputs(&f, out, 2);
    fixture_run(&f, NULL);
    f.point.texture = keep_lookup;
    f.point.texture_data = &lookup;
    seed(&f, G_X1, 0.25, 3, 0);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), 3, 0);
    for (int i = 2; i < 7; ++i)
        assert_near(lookup.coord[i], i, 0);
    fixture_end(&f);
}

/* --- second order ----------------------------------------------------------------------------- */

static void test_nested_ddx_is_zero_with_a_warning(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0);
    IrValue first = ir_build1(f.b, IR_DDX, ir_build2(f.b, IR_FMUL, x, x));
    ir_build_span(f.b, (Span){0, 10, 20});
    IrValue out[2] = {ir_build1(f.b, IR_DDX, first), first};
    fixture_outputs(&f, out, 2);
    fixture_run(&f, NULL);
    seed(&f, G_X1, 3, 1, 0);
    assert_near(fixture_value(&f, EVAL_FLOAT, 0), 0, 0);
    assert_near(fixture_value(&f, EVAL_FLOAT, 1), 6, 0);
    assert_int_equal(diag_count(f.diags), 1);
    const Diag *d = diag_get(f.diags, 0);
    assert_int_equal(d->severity, DIAG_WARNING);
    assert_string_equal(d->code, "S0601");
    assert_int_equal(d->span.begin, 10);
    assert_int_equal(d->span.end, 20);
    fixture_end(&f);
}

/* s = x + ddx(x * x): the footprint of x remains; nothing to warn of. */
static void test_coordinate_from_derivatives_keeps_the_rest(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    Lookup lookup;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), rgba[4];
    IrValue s = ir_build2(f.b, IR_FADD, x, ir_build1(f.b, IR_DDX, ir_build2(f.b, IR_FMUL, x, x)));
    ir_build_tex_auto(f.b, 0, (IrValue[]){s, number(&f, 0), number(&f, 0)}, rgba);
    fixture_outputs(&f, rgba, 1);
    fixture_run(&f, NULL);
    f.point.texture = keep_lookup;
    f.point.texture_data = &lookup;
    seed(&f, G_X1, 3, 0.5, 0.25);
    fixture_eval(&f, EVAL_FLOAT);
    assert_near(lookup.coord[0], 6, 0);
    assert_near(lookup.coord[2], 0.5, 0);
    assert_near(lookup.coord[4], 0.25, 0);
    assert_int_equal(diag_count(f.diags), 0);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_rules_in_closed_form),
        cmocka_unit_test(test_rules_at_singular_points),
        cmocka_unit_test(test_rules_against_central_differences),
        cmocka_unit_test(test_no_lineage_folds_to_zero),
        cmocka_unit_test(test_demand_is_per_direction),
        cmocka_unit_test(test_demand_is_per_component),
        cmocka_unit_test(test_switch_turns_derivatives_off),
        cmocka_unit_test(test_two_calls_reduce_to_two_loads),
        cmocka_unit_test(test_clones_by_signature_or_merged),
        cmocka_unit_test(test_merged_demand_reaches_every_call),
        cmocka_unit_test(test_merged_lineage_reaches_every_call),
        cmocka_unit_test(test_equal_signatures_share_a_clone),
        cmocka_unit_test(test_merged_summaries_reach_a_fixed_point),
        cmocka_unit_test(test_if_with_a_derivative_in_one_arm),
        cmocka_unit_test(test_choice_of_derivatives_keeps_directions_apart),
        cmocka_unit_test(test_loop_with_early_exit),
        cmocka_unit_test(test_loop_state_feeds_other_state),
        cmocka_unit_test(test_array_with_run_time_index_in_a_loop),
        cmocka_unit_test(test_texture_gets_its_footprint),
        cmocka_unit_test(test_texture_without_lineage_has_no_footprint),
        cmocka_unit_test(test_texture_results_follow_the_chain_rule),
        cmocka_unit_test(test_explicit_footprint_stands_and_differentiates),
        cmocka_unit_test(test_nested_ddx_is_zero_with_a_warning),
        cmocka_unit_test(test_coordinate_from_derivatives_keeps_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
