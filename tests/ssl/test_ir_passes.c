/* The passes other than derivatives: specialisation, dead code, inlining, closures to lobe slots,
 * and the pipeline as a whole. */
#include "base/check.h"
#include "tests/ssl/oracle/ir_fixture.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static IrValue number(Fixture *f, float x)
{
    return ir_const_float(f->b, x);
}

/* --- specialisation --------------------------------------------------------------------------- */

static void test_bound_parameters_switch_code_off(void **state)
{
    SORT_UNUSED(state);
    for (int flag = 0; flag < 2; ++flag) {
        Fixture f;
        fixture_begin(&f);
        IrBuilder *b;
        IrFuncId id = fixture_func(&f, "pick", (IrType[]){IR_FLOAT}, 1, &b);
        IrValue r, rgba[4], x = ir_build_param(b, 0);
        ir_if_begin(b, ir_build_param_read(b, IR_BOOL, PARAM_FLAG, 0));
        ir_build_tex_auto(b, 0, (IrValue[]){x, x, ir_const_float(b, 0)}, rgba);
        ir_if_else(b, rgba, 1);
        IrValue n = ir_build1(b, IR_I2F, ir_build_param_read(b, IR_INT, PARAM_INT, 0));
        ir_if_end(b, &n, 1, &r);
        ir_build_end(b, &r, 1);
        IrValue arg = fixture_global(&f, G_X1, 0);
        ir_build_call(f.b, id, &arg, 1, (IrType[]){IR_FLOAT}, 1, &r);
        fixture_outputs(&f, &r, 1);
        const SslConstant constants[] = {
            {"flag", {.type = SSL_BOOL, .b = flag}},
            {"n", {.type = SSL_INT, .i = 5}},
            {"nobody", {.type = SSL_INT, .i = 1}},
        };
        fixture_run(&f, &(IrPipelineDesc){.constants = constants, .constant_count = 3});
        assert_int_equal(count_op(f.module, IR_PARAM), 0);
        assert_int_equal(count_op(f.module, IR_IF), 0);
        assert_int_equal(count_op(f.module, IR_TEX), flag);
        f.point.globals[G_X1][0][0] = 0.25;
        assert_true(fixture_value(&f, EVAL_FLOAT, 0) == (flag ? 0.25 : 5.0));
        assert_int_equal(f.report.values_shadowed, flag ? 2 : 0); /* x and the parameter */
        fixture_end(&f);
    }
}

static void test_bound_colour(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue r = ir_build_param_read(f.b, IR_FLOAT, PARAM_COLOR, 1);
    IrValue k = ir_build_param_read(f.b, IR_FLOAT, PARAM_K, 0);
    IrValue sum = ir_build2(f.b, IR_FADD, r, k);
    fixture_outputs(&f, &sum, 1);
    const SslConstant constants[] = {{"tint", {.type = SSL_COLOR, .f = {1, 2, 3}}},
                                     {"k", {.type = SSL_INT, .i = 4}}};
    fixture_run(&f, &(IrPipelineDesc){.constants = constants, .constant_count = 2});
    assert_true(fixture_value(&f, EVAL_FLOAT, 0) == 6.0);
    assert_int_equal(f.report.instructions, 2);
    fixture_end(&f);
}

/* --- dead code -------------------------------------------------------------------------------- */

/* One of three states is live; the second feeds only itself, and the third is never written. */
static void test_loop_state_that_feeds_only_itself_goes(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), s[4], r[4];
    ir_loop_begin(b, 0, (IrValue[]){x, x, x, ir_const_int(b, 0)}, 4, s);
    IrValue wanted = ir_build2(b, IR_FADD, s[0], s[2]);
    IrValue selfish = ir_build1(b, IR_SIN, ir_build2(b, IR_FMUL, s[1], s[0]));
    IrValue next = ir_build2(b, IR_IADD, s[3], ir_const_int(b, 1));
    ir_loop_end(b, ir_build2(b, IR_ILT, next, ir_const_int(b, 3)),
                (IrValue[]){wanted, selfish, s[2], next}, 4, r);
    IrValue unused[2];
    ir_loop_begin(b, 0, (IrValue[]){x}, 1, unused);
    IrValue more = ir_build1(b, IR_COS, unused[0]);
    ir_loop_end(b, ir_build2(b, IR_FLT, more, x), &more, 1, unused);
    fixture_outputs(&f, r, 1);
    fixture_run(&f, NULL);
    const IrFunc *entry = ir_func(f.module, f.module->entry);
    assert_int_equal(count_op(f.module, IR_LOOP), 1);
    assert_int_equal(count_op(f.module, IR_SIN) + count_op(f.module, IR_COS), 0);
    for (IrInstId i = 1; i < entry->insts.count; ++i)
        if (ir_inst(entry, i)->op == IR_LOOP)
            assert_int_equal(ir_inst(entry, i)->arg_count, 2);
    f.point.globals[G_X1][0][0] = 1.5;
    assert_true(fixture_value(&f, EVAL_FLOAT, 0) == 6.0);
    fixture_end(&f);
}

static void test_state_overwritten_before_it_is_read_needs_no_start(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), s[2], r[2];
    IrValue costly = ir_build1(b, IR_TAN, x);
    ir_loop_begin(b, 0, (IrValue[]){costly, ir_const_int(b, 0)}, 2, s);
    IrValue next = ir_build2(b, IR_IADD, s[1], ir_const_int(b, 1));
    IrValue v = ir_build2(b, IR_FMUL, x, ir_build1(b, IR_I2F, next));
    ir_loop_end(b, ir_build2(b, IR_ILT, next, ir_const_int(b, 3)), (IrValue[]){v, next}, 2, r);
    fixture_outputs(&f, r, 1);
    fixture_run(&f, NULL);
    assert_int_equal(count_op(f.module, IR_TAN), 0);
    f.point.globals[G_X1][0][0] = 2;
    assert_true(fixture_value(&f, EVAL_FLOAT, 0) == 6.0);
    fixture_end(&f);
}

static void test_loop_that_never_repeats_is_its_body(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), s, r;
    ir_loop_begin(b, 0, &x, 1, &s);
    IrValue v = ir_build2(b, IR_FMUL, s, s);
    ir_loop_end(b, ir_const_bool(b, false), &v, 1, &r);
    IrValue out[2] = {r, ir_build1(b, IR_DDX, r)};
    fixture_outputs(&f, out, 2);
    fixture_run(&f, NULL);
    assert_int_equal(count_op(f.module, IR_LOOP), 0);
    f.point.globals[G_X1][0][0] = 3;
    f.point.globals[G_X1][1][0] = 1;
    assert_true(fixture_value(&f, EVAL_FLOAT, 0) == 9.0);
    assert_true(fixture_value(&f, EVAL_FLOAT, 1) == 6.0);
    fixture_end(&f);
}

static void test_empty_arms_become_select(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0), r[2];
    ir_if_begin(f.b, fixture_global(&f, G_BOOL, 0));
    IrValue dead = ir_build1(f.b, IR_SIN, x);
    ir_if_else(f.b, (IrValue[]){x, dead}, 2);
    ir_if_end(f.b, (IrValue[]){y, y}, 2, r);
    fixture_outputs(&f, r, 1);
    fixture_run(&f, NULL);
    assert_int_equal(count_op(f.module, IR_IF) + count_op(f.module, IR_SIN), 0);
    assert_int_equal(count_op(f.module, IR_SELECT), 1);
    fixture_end(&f);
}

/* --- inlining --------------------------------------------------------------------------------- */

static IrFuncId doubling_chain(Fixture *f, uint32_t depth)
{
    const IrType type[1] = {IR_FLOAT};
    IrFuncId callee = 0;
    for (uint32_t i = 0; i < depth; ++i) {
        IrBuilder *b;
        IrFuncId id = fixture_func(f, "step", type, 1, &b);
        IrValue v = ir_build1(b, IR_SIN, ir_build_param(b, 0));
        if (callee) {
            ir_build_call(b, callee, (IrValue[]){v}, 1, type, 1, &v);
            ir_build_call(b, callee, (IrValue[]){v}, 1, type, 1, &v);
        }
        ir_build_end(b, &v, 1);
        callee = id;
    }
    return callee;
}

static void test_inlining_is_bounded(void **state)
{
    SORT_UNUSED(state);
    for (int deep = 0; deep < 2; ++deep) {
        Fixture f;
        fixture_begin(&f);
        IrFuncId id = doubling_chain(&f, deep ? 40 : 5);
        IrValue v = fixture_global(&f, G_X1, 0);
        ir_build_call(f.b, id, (IrValue[]){v}, 1, (IrType[]){IR_FLOAT}, 1, &v);
        fixture_outputs(&f, &v, 1);
        IrReport report;
        Error err = {0};
        Status status = ir_pipeline(f.module, &(IrPipelineDesc){0}, f.diags, &report, &err);
        assert_int_equal(status, deep ? STATUS_SOURCE : STATUS_OK);
        if (deep)
            assert_string_equal(diag_get(f.diags, 0)->code, "S0603");
        else
            assert_int_equal(count_op(f.module, IR_SIN), 31);
        fixture_end(&f);
    }
}

/* Each function calls the next inside 40 branches. */
static void test_nesting_is_bounded(void **state)
{
    SORT_UNUSED(state);
    enum { BRANCHES = 40 };
    const IrType type[1] = {IR_FLOAT};
    for (uint32_t depth = 12; depth <= 13; ++depth) {
        Fixture f;
        fixture_begin(&f);
        IrFuncId callee = 0;
        for (uint32_t i = 0; i < depth; ++i) {
            IrBuilder *b;
            IrFuncId id = fixture_func(&f, "step", type, 1, &b);
            IrValue v = ir_build1(b, IR_SIN, ir_build_param(b, 0));
            for (uint32_t k = 0; k < BRANCHES; ++k)
                ir_if_begin(b, ir_build2(b, IR_FLT, v, ir_const_float(b, (float)k)));
            if (callee)
                ir_build_call(b, callee, (IrValue[]){v}, 1, type, 1, &v);
            for (uint32_t k = 0; k < BRANCHES; ++k) {
                ir_if_else(b, &v, 1);
                ir_if_end(b, (IrValue[]){ir_const_float(b, (float)k)}, 1, &v);
            }
            ir_build_end(b, &v, 1);
            callee = id;
        }
        IrValue v = fixture_global(&f, G_X1, 0);
        ir_build_call(f.b, callee, (IrValue[]){v}, 1, type, 1, &v);
        fixture_outputs(&f, &v, 1);
        IrReport report;
        Error err = {0};
        Status status = ir_pipeline(f.module, &(IrPipelineDesc){0}, f.diags, &report, &err);
        assert_int_equal(status, depth == 12 ? STATUS_OK : STATUS_SOURCE);
        if (depth > 12)
            assert_string_equal(diag_get(f.diags, 0)->code, "S0606");
        fixture_end(&f);
    }
}

/* --- closures --------------------------------------------------------------------------------- */

static IrValue lambert(Fixture *f, float r)
{
    IrValue args[6];
    for (uint32_t i = 0; i < 6; ++i)
        args[i] = number(f, r + (float)i);
    return ir_build_closure(f->b, C_LAMBERT, args, 6);
}

static IrValue emit(Fixture *f, IrValue strength)
{
    return ir_build_closure(f->b, C_EMIT, &strength, 1);
}

static IrValue scale(Fixture *f, IrValue c, IrValue w)
{
    return ir_build_closure_scale(f->b, c, w, w, w);
}

typedef struct Lobe {
    bool present;
    float weight[3], args[8];
} Lobe;

static Lobe lobe(Fixture *f, uint32_t slot)
{
    EvalResult r = fixture_eval(f, EVAL_FLOAT);
    const IrLobeSlot *s = &f->module->slots.data[slot];
    assert_true(slot < f->module->slots.count);
    Lobe out = {.present = r.values[s->result_first].elements[0].b};
    for (uint32_t i = 0; i < 3; ++i)
        out.weight[i] = r.values[s->result_first + 1 + i].elements[0].f;
    for (uint32_t i = 0; i < s->arg_count; ++i)
        out.args[i] = r.values[s->result_first + 4 + i].elements[0].f;
    return out;
}

/* mix(a, b, k) = a (1 - k) + b k */
static void test_mix_of_closures(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue k = fixture_global(&f, G_X1, 0);
    IrValue rest = ir_build2(f.b, IR_FSUB, number(&f, 1), k);
    IrValue zero = ir_build_closure_zero(f.b);
    IrValue a = scale(&f, lambert(&f, 1), rest), c = scale(&f, emit(&f, number(&f, 8)), k);
    IrValue mixed = ir_build2(f.b, IR_CLOSURE_ADD, a, c);
    mixed = ir_build2(f.b, IR_CLOSURE_ADD, mixed, zero);
    mixed = ir_build2(f.b, IR_CLOSURE_ADD, mixed, scale(&f, lambert(&f, 9), number(&f, 0)));
    mixed = ir_build_closure_scale(f.b, mixed, number(&f, 1), number(&f, 2), k);
    IrValue out[2] = {mixed, k};
    fixture_outputs(&f, out, 2);
    fixture_run(&f, NULL);
    f.point.globals[G_X1][0][0] = 0.25;
    assert_int_equal(f.module->slots.count, 2);
    assert_int_equal(f.module->slots.data[0].closure, C_LAMBERT);
    assert_int_equal(f.module->slots.data[0].arg_count, 6);
    assert_int_equal(f.module->slots.data[1].closure, C_EMIT);
    assert_int_equal(f.module->outputs.data[0].result_count, 0);
    assert_int_equal(f.module->outputs.data[1].result_count, 1);
    Lobe l = lobe(&f, 0), e = lobe(&f, 1);
    assert_true(l.present && e.present);
    assert_true(l.weight[0] == 0.75f && l.weight[1] == 1.5f && l.weight[2] == 0.1875f);
    assert_true(e.weight[0] == 0.25f && e.weight[1] == 0.5f && e.weight[2] == 0.0625f);
    assert_true(l.args[0] == 1 && l.args[5] == 6 && e.args[0] == 8);
    fixture_end(&f);
}

/* if (flag) c = lambert(1) + emit(x) else c = 2 lambert(10) */
static void test_arms_share_slots(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue x = fixture_global(&f, G_X1, 0), c;
    ir_if_begin(f.b, fixture_global(&f, G_BOOL, 0));
    IrValue sum =
        ir_build2(f.b, IR_CLOSURE_ADD, lambert(&f, 1), emit(&f, ir_build2(f.b, IR_FMUL, x, x)));
    ir_if_else(f.b, &sum, 1);
    IrValue other = scale(&f, lambert(&f, 10), number(&f, 2));
    ir_if_end(f.b, &other, 1, &c);
    fixture_outputs(&f, &c, 1);
    fixture_run(&f, NULL);
    assert_int_equal(f.module->slots.count, 2);
    f.point.globals[G_X1][0][0] = 3;
    f.point.globals[G_BOOL][0][0] = 1;
    Lobe l = lobe(&f, 0), e = lobe(&f, 1);
    assert_true(l.present && e.present && l.weight[0] == 1 && l.args[0] == 1 && e.args[0] == 9);
    f.point.globals[G_BOOL][0][0] = 0;
    l = lobe(&f, 0);
    e = lobe(&f, 1);
    assert_true(l.present && !e.present && l.weight[0] == 2 && l.args[0] == 10);
    fixture_end(&f);
}

static void test_closure_through_function_and_select(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b;
    IrFuncId id = fixture_func(&f, "tint", (IrType[]){IR_CLOSURE, IR_FLOAT}, 2, &b);
    IrValue k = ir_build_param(b, 1);
    IrValue r = ir_build_closure_scale(b, ir_build_param(b, 0), k, k, k);
    ir_build_end(b, &r, 1);
    IrValue x = fixture_global(&f, G_X1, 0), a, c;
    const IrType type[1] = {IR_CLOSURE};
    ir_build_call(f.b, id, (IrValue[]){lambert(&f, 1), x}, 2, type, 1, &a);
    ir_build_call(f.b, id, (IrValue[]){emit(&f, x), x}, 2, type, 1, &c);
    IrValue picked = ir_build_select(f.b, fixture_global(&f, G_BOOL, 0), a, c);
    fixture_outputs(&f, &picked, 1);
    fixture_run(&f, NULL);
    assert_int_equal(f.module->slots.count, 2);
    f.point.globals[G_X1][0][0] = 0.5;
    for (int flag = 0; flag < 2; ++flag) {
        f.point.globals[G_BOOL][0][0] = flag;
        assert_int_equal(lobe(&f, 0).present, flag);
        assert_int_equal(lobe(&f, 1).present, !flag);
        assert_true(lobe(&f, flag ? 0 : 1).weight[2] == 0.5f);
    }
    fixture_end(&f);
}

static void test_closure_inside_a_closure(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrValue k = number(&f, 0.25f);
    IrValue base = ir_build2(f.b, IR_CLOSURE_ADD, scale(&f, lambert(&f, 1), number(&f, 0.5f)),
                             emit(&f, number(&f, 7)));
    IrValue coat = ir_build_closure(f.b, C_COAT, (IrValue[]){number(&f, 0.1f), base}, 2);
    IrValue both = ir_build2(f.b, IR_CLOSURE_ADD, lambert(&f, 20), scale(&f, coat, k));
    fixture_outputs(&f, &both, 1);
    IrModule *copy = ir_module_clone(f.module, f.arena);
    fixture_run(&f, NULL);
    assert_int_equal(f.module->slots.count, 4);
    const int32_t parents[4] = {-1, -1, 1, 1};
    const uint32_t rows[4] = {C_LAMBERT, C_COAT, C_LAMBERT, C_EMIT};
    const float weights[4] = {1, 0.25f, 0.5f, 1}; /* what is in a closure has its own */
    for (uint32_t i = 0; i < 4; ++i) {
        assert_int_equal(f.module->slots.data[i].parent, parents[i]);
        assert_int_equal(f.module->slots.data[i].closure, rows[i]);
        assert_true(lobe(&f, i).weight[0] == weights[i]);
    }
    assert_int_equal(f.module->slots.data[1].arg_count, 1);
    f.module = copy; /* for emission: what emits, and what it stands in */
    fixture_run(&f, &(IrPipelineDesc){.kind = SSL_KERNEL_EMISSION});
    assert_int_equal(f.module->slots.count, 2);
    assert_int_equal(f.module->slots.data[0].closure, C_COAT);
    assert_int_equal(f.module->slots.data[1].closure, C_EMIT);
    assert_int_equal(f.module->slots.data[1].parent, 0);
    fixture_end(&f);
}

/* A closure that a loop replaces has a shape; one that it adds to has room for so many terms; one that it
 * puts around another has none. */
static void test_closures_around_a_loop(void **state)
{
    enum { REPLACES, ADDS, NESTS, KINDS };
    SORT_UNUSED(state);
    for (int kind = 0; kind < KINDS; ++kind) {
        Fixture f;
        fixture_begin(&f);
        IrBuilder *b = f.b;
        IrValue x = fixture_global(&f, G_X1, 0), s[3], r[3];
        ir_loop_begin(b, 0, (IrValue[]){emit(&f, x), lambert(&f, 1), ir_const_int(b, 0)}, 3, s);
        IrValue n = ir_build1(b, IR_I2F, s[2]);
        IrValue fresh = emit(&f, n);
        IrValue next = ir_build2(b, IR_IADD, s[2], ir_const_int(b, 1));
        IrValue first = kind == REPLACES ? scale(&f, s[1], x)
                        : kind == ADDS   ? ir_build2(b, IR_CLOSURE_ADD, s[0], fresh)
                                         : ir_build_closure(b, C_COAT, (IrValue[]){x, s[0]}, 2);
        ir_build_span(b, (Span){0, 3, 4});
        ir_loop_end(b, ir_build2(b, IR_ILT, next, ir_const_int(b, 4)),
                    (IrValue[]){first, fresh, next}, 3, r);
        fixture_outputs(&f, r, 1);
        IrReport report;
        Error err = {0};
        Status status = ir_pipeline(f.module, &(IrPipelineDesc){0}, f.diags, &report, &err);
        assert_int_equal(status, kind == NESTS ? STATUS_SOURCE : STATUS_OK);
        f.point.globals[G_X1][0][0] = 0.5;
        if (kind == NESTS) {
            assert_string_equal(diag_get(f.diags, 0)->code, "S0602");
            assert_int_equal(diag_error_count(f.diags), 1);
        } else if (kind == REPLACES) {
            assert_int_equal(f.module->slots.count,
                             2); /* lambert's slot, never present at the end */
            assert_false(lobe(&f, 0).present);
            assert_true(lobe(&f, 1).present);
            assert_true(lobe(&f, 1).args[0] == 2 && lobe(&f, 1).weight[0] == 0.5f);
        } else {
            uint32_t present = 0;
            for (uint32_t i = 0; i < f.module->slots.count; ++i)
                present += lobe(&f, i).present;
            assert_int_equal(present, 5);
            assert_true(lobe(&f, 0).args[0] == 0.5f && lobe(&f, 4).args[0] == 3.0f);
        }
        fixture_end(&f);
    }
}

static void test_closures_that_do_not_fit(void **state)
{
    SORT_UNUSED(state);
    for (int kind = 0; kind < 3; ++kind) {
        Fixture f;
        fixture_begin(&f);
        IrValue c = emit(&f, fixture_global(&f, G_X1, 0));
        if (kind == 0) {
            for (uint32_t i = 0; i < 70; ++i)
                c = ir_build2(f.b, IR_CLOSURE_ADD, c, emit(&f, number(&f, (float)i)));
        } else if (kind == 1) {
            for (uint32_t i = 0; i < 40; ++i)
                c = ir_build2(f.b, IR_CLOSURE_ADD, c, c);
        } else {
            for (uint32_t i = 0; i < 10; ++i)
                c = ir_build_closure(f.b, C_COAT, (IrValue[]){number(&f, 1), c}, 2);
        }
        fixture_outputs(&f, &c, 1);
        IrReport report;
        Error err = {0};
        Status status = ir_pipeline(f.module, &(IrPipelineDesc){0}, f.diags, &report, &err);
        assert_int_equal(status, STATUS_SOURCE);
        assert_string_equal(diag_get(f.diags, 0)->code, kind == 2 ? "S0602" : "S0604");
        fixture_end(&f);
    }
}

static void test_kinds_keep_what_they_need(void **state)
{
    SORT_UNUSED(state);
    for (SslKernelKind kind = SSL_KERNEL_SHADE; kind <= SSL_KERNEL_EMISSION; ++kind) {
        Fixture f;
        fixture_begin(&f);
        IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0), rgba[4];
        ir_build_tex_auto(f.b, 0, (IrValue[]){x, y, number(&f, 0)}, rgba);
        IrValue clear = ir_build_closure(f.b, C_CLEAR, NULL, 0);
        IrValue sum = ir_build2(f.b, IR_CLOSURE_ADD, scale(&f, clear, y),
                                emit(&f, ir_build1(f.b, IR_EXP, x)));
        sum = ir_build2(f.b, IR_CLOSURE_ADD, sum, scale(&f, lambert(&f, 1), rgba[0]));
        IrValue out[2] = {sum, rgba[1]};
        fixture_outputs(&f, out, 2);
        fixture_run(&f, &(IrPipelineDesc){.kind = kind});
        bool shade = kind == SSL_KERNEL_SHADE, emission = kind == SSL_KERNEL_EMISSION;
        assert_int_equal(f.module->slots.count, shade ? 3 : 1);
        assert_int_equal(f.module->outputs.count, 2);
        assert_int_equal(f.module->outputs.data[1].result_count, shade ? 1 : 0);
        assert_int_equal(count_op(f.module, IR_TEX), shade ? 1 : 0);
        assert_int_equal(count_op(f.module, IR_EXP), shade || emission ? 1 : 0);
        if (!shade) {
            assert_int_equal(f.module->slots.data[0].closure, emission ? C_EMIT : C_CLEAR);
            assert_int_equal(f.report.globals_value, emission ? 1u << G_X1 : 1u << G_X2);
            assert_int_equal(f.report.globals_derivs, 0);
        }
        fixture_end(&f);
    }
}

/* --- the pipeline ----------------------------------------------------------------------------- */

static void collect_names(void *data, const char *pass, const IrModule *m)
{
    SORT_UNUSED(m);
    strncat(data, pass, 100);
    strncat(data, " ", 2);
}

static void build_something(Fixture *f)
{
    IrFuncId id = doubling_chain(f, 4);
    IrValue x = fixture_global(f, G_X1, 0), v, rgba[4];
    ir_build_call(f->b, id, &x, 1, (IrType[]){IR_FLOAT}, 1, &v);
    ir_build_tex_auto(f->b, 0, (IrValue[]){x, v, number(f, 0)}, rgba);
    IrValue out[2] = {rgba[0], scale(f, lambert(f, 1), rgba[1])};
    fixture_outputs(f, out, 2);
}

static void test_observer_sees_each_pass(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    char names[200] = "";
    fixture_begin(&f);
    build_something(&f);
    fixture_run(&f, &(IrPipelineDesc){.observe = collect_names, .observe_data = names});
    assert_string_equal(names, "lower specialise split_arrays forward inline closure_slots ");
    fixture_end(&f);
}

/* Out of memory at every size of arena: the jump is taken, nothing else happens. */
static void test_out_of_memory_jumps(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    build_something(&f);
    volatile uint32_t failures = 0;
    volatile bool done = false;
    for (volatile size_t limit = 4096; !done; limit += 4096) {
        jmp_buf jump;
        Arena *arena = arena_create(4096, limit);
        CHECK(arena);
        arena_on_no_memory(arena, &jump);
        if (setjmp(jump) == 0) {
            IrModule *m = ir_module_clone(f.module, arena);
            IrReport report;
            Error err = {0};
            assert_int_equal(ir_pipeline(m, &(IrPipelineDesc){0}, f.diags, &report, &err),
                             STATUS_OK);
            done = true;
        } else {
            ++failures;
        }
        arena_destroy(arena);
    }
    assert_true(failures > 3);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_parameters_switch_code_off),
        cmocka_unit_test(test_bound_colour),
        cmocka_unit_test(test_loop_state_that_feeds_only_itself_goes),
        cmocka_unit_test(test_state_overwritten_before_it_is_read_needs_no_start),
        cmocka_unit_test(test_loop_that_never_repeats_is_its_body),
        cmocka_unit_test(test_empty_arms_become_select),
        cmocka_unit_test(test_inlining_is_bounded),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_mix_of_closures),
        cmocka_unit_test(test_arms_share_slots),
        cmocka_unit_test(test_closure_through_function_and_select),
        cmocka_unit_test(test_closure_inside_a_closure),
        cmocka_unit_test(test_closures_around_a_loop),
        cmocka_unit_test(test_closures_that_do_not_fit),
        cmocka_unit_test(test_kinds_keep_what_they_need),
        cmocka_unit_test(test_observer_sees_each_pass),
        cmocka_unit_test(test_out_of_memory_jumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
