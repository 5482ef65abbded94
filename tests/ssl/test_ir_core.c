/* Containers, builder, folding, verifier, printer, hash, copies. */
#include "ssl/ir/ir_fold.h"
#include "tests/ssl/oracle/ir_fixture.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* --- folding ---------------------------------------------------------------------------------- */

static void test_fold_keeps_what_ieee_keeps(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0);
    IrValue zero = ir_const_float(b, 0.0f), minus_zero = ir_const_float(b, -0.0f);
    IrValue one = ir_const_float(b, 1.0f), minus_one = ir_const_float(b, -1.0f);
    IrValue negated = ir_build1(b, IR_FNEG, x);
    /* exact for every x */
    assert_int_equal(ir_build2(b, IR_FADD, x, minus_zero), x);
    assert_int_equal(ir_build2(b, IR_FADD, minus_zero, x), x);
    assert_int_equal(ir_build2(b, IR_FSUB, x, zero), x);
    assert_int_equal(ir_build2(b, IR_FMUL, x, one), x);
    assert_int_equal(ir_build2(b, IR_FMUL, one, x), x);
    assert_int_equal(ir_build2(b, IR_FDIV, x, one), x);
    assert_int_equal(ir_build2(b, IR_FMUL, x, minus_one), negated);
    assert_int_equal(ir_build1(b, IR_FNEG, negated), x);
    assert_int_equal(ir_build2(b, IR_FADD, y, negated), ir_build2(b, IR_FSUB, y, x));
    assert_int_equal(ir_build2(b, IR_FSUB, y, negated), ir_build2(b, IR_FADD, x, y));
    assert_int_equal(ir_build2(b, IR_FMIN, x, x), x);
    assert_int_equal(ir_build2(b, IR_POW, x, one), x);
    /* not: -0, infinities and NaN would change */
    assert_int_not_equal(ir_build2(b, IR_FADD, x, zero), x);
    assert_int_not_equal(ir_build2(b, IR_FSUB, x, minus_zero), x);
    assert_int_not_equal(ir_build2(b, IR_FMUL, x, zero), zero);
    assert_int_not_equal(ir_build2(b, IR_FSUB, x, x), zero);
    assert_int_not_equal(ir_build2(b, IR_FDIV, x, x), one);
    assert_int_not_equal(ir_build2(b, IR_FSUB, zero, x), negated);
    bool known;
    assert_false(ir_is_const_bool(b, ir_build2(b, IR_FEQ, x, x), &known));
    fixture_end(&f);
}

static void test_fold_leaves_nan_and_subnormals_to_run_time(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    float x;
    IrValue zero = ir_const_float(b, 0.0f), tiny = ir_const_float(b, 1e-40f);
    IrValue small = ir_const_float(b, FLT_MIN), half = ir_const_float(b, 0.5f);
    assert_false(ir_is_const_float(b, ir_build2(b, IR_FDIV, zero, zero), &x));
    assert_false(ir_is_const_float(b, ir_build2(b, IR_FADD, tiny, half), &x));
    assert_false(ir_is_const_float(b, ir_build2(b, IR_FMUL, small, half), &x));
    assert_true(ir_is_const_float(b, ir_build2(b, IR_FDIV, half, zero), &x));
    assert_true(isinf(x));
    fixture_end(&f);
}

static void test_fold_choices_and_logic(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue c = fixture_global(&f, G_BOOL, 0), x = fixture_global(&f, G_X1, 0);
    IrValue y = fixture_global(&f, G_X2, 0), n = fixture_global(&f, G_INT, 0);
    IrValue t = ir_const_bool(b, true), no = ir_const_bool(b, false),
            not_c = ir_build1(b, IR_BNOT, c);
    assert_int_equal(ir_build_select(b, t, x, y), x);
    assert_int_equal(ir_build_select(b, no, x, y), y);
    assert_int_equal(ir_build_select(b, c, x, x), x);
    assert_int_equal(ir_build_select(b, not_c, x, y), ir_build_select(b, c, y, x));
    assert_int_equal(ir_build_select(b, c, t, no), c);
    assert_int_equal(ir_build_select(b, c, no, t), not_c);
    assert_int_equal(ir_build2(b, IR_BAND, c, t), c);
    assert_int_equal(ir_build2(b, IR_BAND, c, no), no);
    assert_int_equal(ir_build2(b, IR_BOR, c, no), c);
    assert_int_equal(ir_build2(b, IR_BXOR, c, t), not_c);
    assert_int_equal(ir_build1(b, IR_BNOT, not_c), c);
    assert_int_equal(ir_build2(b, IR_IADD, n, ir_const_int(b, 0)), n);
    assert_int_equal(ir_build2(b, IR_IMUL, n, ir_const_int(b, 0)), ir_const_int(b, 0));
    assert_int_equal(ir_build2(b, IR_IEQ, n, n), t);
    assert_int_equal(ir_build2(b, IR_ILT, n, n), no);
    int32_t i;
    assert_true(
        ir_is_const_int(b, ir_build2(b, IR_IDIV, ir_const_int(b, 7), ir_const_int(b, 0)), &i));
    assert_int_equal(i, 0);
    assert_true(ir_is_const_int(
        b, ir_build2(b, IR_IDIV, ir_const_int(b, INT32_MIN), ir_const_int(b, -1)), &i));
    assert_int_equal(i, INT32_MIN);
    fixture_end(&f);
}

static void test_fold_arrays_at_constant_indices(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0);
    IrValue i0 = ir_const_int(b, 0), i1 = ir_const_int(b, 1);
    IrValue a = ir_build_array(b, IR_FLOAT, (IrValue[]){x, x, x}, 3);
    IrValue set = ir_build3(b, IR_ARRAY_SET, a, i1, y);
    assert_int_equal(ir_build2(b, IR_ARRAY_GET, set, i1), y);
    assert_int_equal(ir_build2(b, IR_ARRAY_GET, set, i0), x);
    IrValue index = ir_build_bounds(b, fixture_global(&f, G_INT, 0), 3, 1);
    IrValue dynamic = ir_build3(b, IR_ARRAY_SET, a, index, y);
    assert_int_equal(ir_build2(b, IR_ARRAY_GET, dynamic, index), y);
    IrValue read = ir_build2(b, IR_ARRAY_GET, dynamic, i1); /* may be either */
    assert_int_not_equal(read, x);
    assert_int_not_equal(read, y);
    IrValue two = ir_const_int(b, 2);
    assert_int_equal(ir_build_bounds(b, two, 3, 1), two);
    assert_int_not_equal(ir_build_bounds(b, two, 2, 1), two);
    fixture_end(&f);
}

/* Constant arguments give what the interpreter computes when it gets them at run time. */
static void test_fold_equals_evaluation(void **state)
{
    SORT_UNUSED(state);
    const float samples[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -2.5f, 3.0f, 1e30f, 7.25f, INFINITY};
    for (IrOp op = IR_FNEG; op <= IR_FBITS; ++op) {
        const char *s = ir_op_info(op)->signature;
        uint32_t count = (uint32_t)(strchr(s, '>') - s);
        for (uint32_t i = 0; i < SORT_COUNT_OF(samples) * SORT_COUNT_OF(samples); ++i) {
            Fixture f;
            fixture_begin(&f);
            IrValue args[2];
            IrScalar scalars[2], want, got = {0};
            for (uint32_t k = 0; k < count; ++k) {
                uint32_t pick = k == 0 ? i % SORT_COUNT_OF(samples) : i / SORT_COUNT_OF(samples);
                if (s[k] == 'b') {
                    scalars[k].b = pick & 1;
                    args[k] = ir_const_bool(f.b, scalars[k].b);
                } else if (s[k] == 'i') {
                    scalars[k].i = (int32_t)(pick * 0x11111111u - 5u);
                    args[k] = ir_const_int(f.b, scalars[k].i);
                } else {
                    scalars[k].f = samples[pick];
                    args[k] = ir_const_float(f.b, scalars[k].f);
                }
            }
            IrValue v =
                count == 1 ? ir_build1(f.b, op, args[0]) : ir_build2(f.b, op, args[0], args[1]);
            assert_true(ir_scalar_eval(op, 0, scalars, &want));
            bool known, same;
            if (s[count + 1] == 'b') {
                known = ir_is_const_bool(f.b, v, &got.b);
                same = got.b == want.b;
            } else if (s[count + 1] == 'i') {
                known = ir_is_const_int(f.b, v, &got.i);
                same = got.i == want.i;
            } else {
                known = ir_is_const_float(f.b, v, &got.f);
                same = memcmp(&got.f, &want.f, sizeof(float)) == 0;
                if (isnan(want.f) || (!isnormal(want.f) && want.f != 0 && !isinf(want.f)))
                    same = true, known = !known;
            }
            if (!known || !same)
                fail_msg("%s, sample %u", ir_op_info(op)->mnemonic, i);
            fixture_end(&f);
        }
    }
}

/* --- value numbering -------------------------------------------------------------------------- */

static void test_numbering_is_scoped(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), y = fixture_global(&f, G_X2, 0), r[1];
    IrValue outer = ir_build2(b, IR_FADD, x, y);
    assert_int_equal(ir_build2(b, IR_FADD, y, x), outer); /* commutative */
    assert_int_not_equal(ir_build2(b, IR_FSUB, y, x), ir_build2(b, IR_FSUB, x, y));
    ir_if_begin(b, fixture_global(&f, G_BOOL, 0));
    assert_int_equal(ir_build2(b, IR_FADD, x, y), outer);
    IrValue in_then = ir_build1(b, IR_SIN, x), seven = ir_const_float(b, 7);
    assert_int_equal(ir_build1(b, IR_SIN, x), in_then);
    ir_if_else(b, &in_then, 1);
    IrValue in_else = ir_build1(b, IR_SIN, x);
    assert_int_not_equal(in_else, in_then);
    assert_int_equal(ir_const_float(b, 7), seven);
    ir_if_end(b, &in_else, 1, r);
    assert_int_not_equal(ir_build1(b, IR_SIN, x), in_then);
    IrValue out[3] = {r[0], outer, seven};
    fixture_outputs(&f, out, 3);
    fixture_end(&f);
}

static void test_if_result_without_a_choice(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    IrBuilder *b = f.b;
    IrValue x = fixture_global(&f, G_X1, 0), c = fixture_global(&f, G_BOOL, 0), r[3];
    IrValue yes = ir_const_bool(b, true), no = ir_const_bool(b, false);
    ir_if_begin(b, c);
    ir_if_else(b, (IrValue[]){x, yes, no}, 3);
    ir_if_end(b, (IrValue[]){x, no, yes}, 3, r);
    assert_int_equal(r[0], x);
    assert_int_equal(r[1], c);
    assert_int_equal(r[2], ir_build1(b, IR_BNOT, c));
    fixture_outputs(&f, r, 3);
    fixture_end(&f);
}

/* --- a module with one of everything ---------------------------------------------------------- */

static void build_sample(Fixture *f, Span span, float constant)
{
    IrBuilder *b;
    IrFuncId id = fixture_func(f, "twice", (IrType[]){IR_FLOAT}, 1, &b);
    IrValue v = ir_build2(b, IR_FADD, ir_build_param(b, 0), ir_build_param(b, 0));
    ir_build_end(b, &v, 1);
    b = f->b;
    ir_build_span(b, span);
    IrValue x = fixture_global(f, G_X1, 0), doubled, s[2], r[2], rgba[4], picked;
    ir_build_call(b, id, &x, 1, (IrType[]){IR_FLOAT}, 1, &doubled);
    ir_loop_begin(b, 0, (IrValue[]){doubled, ir_const_int(b, 0)}, 2, s);
    IrValue next = ir_build2(b, IR_IADD, s[1], ir_const_int(b, 1));
    IrValue scaled = ir_build2(b, IR_FMUL, s[0], ir_const_float(b, constant));
    ir_loop_end(b, ir_build2(b, IR_ILT, next, ir_const_int(b, 4)), (IrValue[]){scaled, next}, 2, r);
    IrValue index = ir_build_bounds(b, r[1], 2, 1);
    IrValue array = ir_build_array(b, IR_FLOAT, (IrValue[]){r[0], x}, 2);
    IrValue element = ir_build2(b, IR_ARRAY_GET, array, index);
    ir_build_tex_auto(b, 1, (IrValue[]){element, x, ir_const_float(b, 0)}, rgba);
    ir_if_begin(b, ir_build_param_read(b, IR_BOOL, PARAM_FLAG, 0));
    ir_if_else(b, rgba, 1);
    ir_if_end(b, (IrValue[]){ir_build1(b, IR_DDX, x)}, 1, &picked);
    IrValue closure = ir_build_closure(b, C_EMIT, &picked, 1);
    IrValue out[2] = {picked, ir_build_closure_scale(b, closure, x, x, x)};
    fixture_outputs(f, out, 2);
}

static void test_print(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    build_sample(&f, (Span){0}, 0.5f);
    assert_string_equal(fixture_text(&f),
                        "entry func @1 main() -> (float, closure)\n"
                        "    %3 = const.i 0\n"
                        "    %6 = const.i 1\n"
                        "    %8 = const.f 0.5\n"
                        "    %10 = const.i 4\n"
                        "    %17 = const.f 0\n"
                        "    %1 = global x1\n"
                        "    %2 = call @2 twice %1\n"
                        "    %12, %13 = loop fault 0 %2, %3\n"
                        "    do (%4: float, %5: int)\n"
                        "        %7 = iadd %5, %6\n"
                        "        %9 = fmul %4, %8\n"
                        "        %11 = ilt %7, %10\n"
                        "        yield %11, %9, %7\n"
                        "    %14 = bounds [2] fault 1 %13\n"
                        "    %15 = array %12, %1\n"
                        "    %16 = get %15, %14\n"
                        "    %18, %19, %20, %21 = tex.auto g_bump site 1 %16, %1, %17\n"
                        "    %22 = param flag\n"
                        "    %24 = if %22\n"
                        "    then\n"
                        "        yield %18\n"
                        "    else\n"
                        "        %23 = ddx %1\n"
                        "        yield %23\n"
                        "    %25 = closure Emit %24\n"
                        "    %26 = closure.scale %25, %1, %1, %1\n"
                        "    yield %24, %26\n"
                        "func @2 twice(%1: float) -> (float)\n"
                        "    %2 = fadd %1, %1\n"
                        "    yield %2\n"
                        "output o0: results 0..0\n"
                        "output o1: results 1..1\n");
    fixture_end(&f);
}

static void test_hash_sees_code_only(void **state)
{
    SORT_UNUSED(state);
    Fixture f[4];
    Hash128 h[4];
    for (int i = 0; i < 4; ++i)
        fixture_begin(&f[i]);
    build_sample(&f[0], (Span){0}, 0.5f);
    build_sample(&f[1], (Span){3, 5, 9}, 0.5f);
    for (int i = 0; i < 5; ++i) /* other numbers for the same values */
        ir_const_float(f[2].b, (float)i + 100);
    build_sample(&f[2], (Span){0}, 0.5f);
    f[2].module->funcs.data[1]->name = "other";
    build_sample(&f[3], (Span){0}, 0.25f);
    for (int i = 0; i < 4; ++i) {
        fixture_run(&f[i], NULL);
        h[i] = ir_hash(f[i].module);
    }
    assert_true(hash128_equal(h[0], h[1]));
    assert_true(hash128_equal(h[0], h[2]));
    assert_false(hash128_equal(h[0], h[3]));
    Hash128 again = ir_hash(f[0].module);
    assert_true(hash128_equal(h[0], again));
    f[0].module->texture_sites.data[1].texture = 0;
    assert_false(hash128_equal(h[0], ir_hash(f[0].module)));
    IrFunc *entry = f[1].module->funcs.data[f[1].module->entry];
    for (IrInstId i = 1; i < entry->insts.count; ++i)
        entry->insts.data[i].site += entry->insts.data[i].op == IR_LOOP;
    assert_false(hash128_equal(h[1], ir_hash(f[1].module)));
    for (int i = 0; i < 4; ++i)
        fixture_end(&f[i]);
}

static void test_clone_is_independent(void **state)
{
    SORT_UNUSED(state);
    Fixture f;
    fixture_begin(&f);
    build_sample(&f, (Span){0}, 0.5f);
    Arena *other = arena_create(0, 0);
    const char *before = fixture_text(&f);
    IrModule *copy = ir_module_clone(f.module, other);
    Hash128 hash = ir_hash(f.module);
    assert_true(hash128_equal(hash, ir_hash(copy)));
    fixture_run(&f, NULL);
    IrModule *run = f.module;
    f.module = copy;
    assert_string_equal(fixture_text(&f), before);
    assert_true(hash128_equal(hash, ir_hash(copy)));
    assert_false(hash128_equal(hash, ir_hash(run)));
    arena_destroy(other);
    fixture_end(&f);
}

/* --- the verifier ----------------------------------------------------------------------------- */

static IrInst *find_op(Fixture *f, IrOp op)
{
    IrFunc *main = f->module->funcs.data[1];
    for (IrInstId i = 1; i < main->insts.count; ++i)
        if (main->insts.data[i].op == op)
            return &main->insts.data[i];
    fail();
    return NULL;
}

static void set_arg(Fixture *f, IrOp op, uint32_t index, IrValue v)
{
    IrFunc *main = f->module->funcs.data[1];
    main->args.data[find_op(f, op)->arg_first + index] = v;
}

static void break_module(Fixture *f, uint32_t kind)
{
    IrModule *m = f->module;
    IrFunc *main = m->funcs.data[1];
    IrInst *loop = find_op(f, IR_LOOP), *branch = find_op(f, IR_IF);
    switch (kind) {
    case 0:
        find_op(f, IR_BOUNDS)->op = IR_OP_COUNT;
        break;
    case 1: /* int where float is wanted */
        set_arg(f, IR_TEX_AUTO, 0, loop->result_first + 1);
        break;
    case 2: /* before its definition */
        set_arg(f, IR_BOUNDS, 0, find_op(f, IR_CLOSURE_MAKE)->result_first);
        break;
    case 3: /* from inside the loop */
        set_arg(f, IR_TEX_AUTO, 0, find_op(f, IR_FMUL)->result_first);
        break;
    case 4: /* from the other arm: yield of the first names ddx of the second */
        main->args.data[main->insts.data[main->regions.data[branch->region_first].last].arg_first] =
            find_op(f, IR_DDX)->result_first;
        break;
    case 5:
        main->regions.data[branch->region_first].last = 0;
        break;
    case 6:
        main->regions.data[loop->region_first].owner = 1;
        break;
    case 7:
        find_op(f, IR_TEX_AUTO)->site = 99;
        break;
    case 8:
        m->texture_sites.data[1].texture = 99;
        break;
    case 9:
        find_op(f, IR_BOUNDS)->site = 99;
        break;
    case 10:
        find_op(f, IR_GLOBAL)->imm = ir_global_imm(G_X1, 0, 1);
        break;
    case 11:
        find_op(f, IR_GLOBAL)->imm = ir_global_imm(G_FLAT, IR_SHADOW_DDX, 0);
        break;
    case 12:
        find_op(f, IR_GLOBAL)->imm = ir_global_imm(G_INT, 0, 0);
        break;
    case 13:
        find_op(f, IR_PARAM)->imm = ir_param_imm(PARAM_K, 0);
        break;
    case 14:
        find_op(f, IR_CLOSURE_MAKE)->imm = C_LAMBERT;
        break;
    case 15:
        find_op(f, IR_CALL)->imm = 77;
        break;
    case 16:
        m->funcs.data[2] = NULL;
        break;
    case 17: /* recursion without a fault site */
        m->funcs.data[2] = main;
        find_op(f, IR_CALL)->arg_count = 0;
        break;
    case 18: /* first state's type */
        set_arg(f, IR_LOOP, 0, find_op(f, IR_CONST_INT)->result_first);
        break;
    case 19: /* go_on */
        main->args.data[main->insts.data[main->regions.data[loop->region_first].last].arg_first] =
            find_op(f, IR_GLOBAL)->result_first;
        break;
    case 20: /* constant index */
        set_arg(f, IR_ARRAY_GET, 1, find_op(f, IR_ILT)->result_first - 1);
        break;
    case 21:
        m->outputs.data[1].result_first = 0;
        break;
    case 22:
        m->outputs.count = 1;
        break;
    case 23:
        main->insts.data[find_op(f, IR_BOUNDS)->next].prev = 1;
        break;
    case 24:
        find_op(f, IR_TEX_AUTO)->result_count = 3;
        break;
    case 25:
        m->entry = 2;
        break;
    case 26:
        find_op(f, IR_FMUL)->parent = main->body;
        break;
    case 27:
        main->values.data[find_op(f, IR_FMUL)->result_first].type = ir_array(IR_FLOAT, 3);
        break;
    default:
        break;
    }
}

static void test_verifier_refuses(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t kind = 0; kind <= 27; ++kind) {
        Fixture f;
        Error err = {0};
        fixture_begin(&f);
        build_sample(&f, (Span){0}, 0.5f);
        break_module(&f, kind);
        if (ir_verify(f.module, &err) != STATUS_INTERNAL)
            fail_msg("defect %u was not seen", kind);
        assert_true(strlen(err.text) > 10);
        fixture_end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_keeps_what_ieee_keeps),
        cmocka_unit_test(test_fold_leaves_nan_and_subnormals_to_run_time),
        cmocka_unit_test(test_fold_choices_and_logic),
        cmocka_unit_test(test_fold_arrays_at_constant_indices),
        cmocka_unit_test(test_fold_equals_evaluation),
        cmocka_unit_test(test_numbering_is_scoped),
        cmocka_unit_test(test_if_result_without_a_choice),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_hash_sees_code_only),
        cmocka_unit_test(test_clone_is_independent),
        cmocka_unit_test(test_verifier_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
