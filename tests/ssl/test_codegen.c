/* Code generation on IR made by hand: every operation, control flow, arrays and their placement,
 * textures, lobes, faults; and random programs. The judge is the interpreter in ir_oracle.c, which
 * knows nothing of LLVM, and figures worked out here. */
#include "base/alloc.h"
#include "base/hash.h"
#include "ssl/ir/ir_fold.h"
#include "tests/ssl/ir_kernel.h"
#include <math.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static Jit *jit_of(void **state)
{
    return *state;
}

static int setup(void **state)
{
    Error err = {0};
    Jit *jit;
    if (jit_create(NULL, NULL, &jit, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    *state = jit;
    return 0;
}

static int teardown(void **state)
{
    jit_destroy(*state);
    return 0;
}

static IrValue global_f(IrKernel *k)
{
    return ir_build_global(k->builder, IR_FLOAT, ROW_F, IR_SHADOW_VALUE, 0);
}

static IrValue global_g(IrKernel *k)
{
    return ir_build_global(k->builder, IR_FLOAT, ROW_G, IR_SHADOW_VALUE, 0);
}

static IrValue global_i(IrKernel *k)
{
    return ir_build_global(k->builder, IR_INT, ROW_I, IR_SHADOW_VALUE, 0);
}

static IrValue global_b(IrKernel *k)
{
    return ir_build_global(k->builder, IR_BOOL, ROW_B, IR_SHADOW_VALUE, 0);
}

static IrValue int_of(IrKernel *k, int32_t x)
{
    return ir_const_int(k->builder, x);
}

static IrValue float_of(IrKernel *k, float x)
{
    return ir_const_float(k->builder, x);
}

static uint32_t new_fault(IrKernel *k, SslFaultKind kind)
{
    return ir_add_fault_site(k->module, kind, (Span){0});
}

/* --- operations ------------------------------------------------------------------------------- */

/* All scalar operations of the table in one kernel, on values with specials among them. */
static void test_every_scalar_operation(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue results[IR_OP_COUNT + 4];
    uint32_t count = 0;
    /* Ints of all sizes: small ones from the table, large ones from float bits. */
    IrValue large = ir_build1(k.builder, IR_FBITS, global_f(&k));
    IrValue ints[2] = {large, global_i(&k)};
    for (uint32_t op = IR_FNEG; op <= IR_FBITS; ++op) {
        const IrOpInfo *info = ir_op_info((IrOp)op);
        IrValue args[2];
        uint32_t arg_count = 0;
        for (const char *c = info->signature; *c != '>'; ++c, ++arg_count) {
            assert_true(arg_count < 2);
            args[arg_count] =
                *c == 'f'   ? (arg_count ? global_g(&k) : global_f(&k))
                : *c == 'i' ? ints[arg_count]
                            : (arg_count ? ir_build2(k.builder, IR_FLT, global_f(&k), global_g(&k))
                                         : global_b(&k));
        }
        results[count++] = arg_count == 1 ? ir_build1(k.builder, (IrOp)op, args[0])
                                          : ir_build2(k.builder, (IrOp)op, args[0], args[1]);
    }
    results[count++] = ir_build_select(k.builder, global_b(&k), global_f(&k), global_g(&k));
    results[count++] = ir_build_select(k.builder, global_b(&k), ints[0], ints[1]);
    results[count++] = ir_build2(k.builder, IR_IDIV, ints[1], ints[0]);
    ir_kernel_end(&k, results, count);
    ir_kernel_check_seeds(jit_of(state), &k, 20);
    ir_kernel_free(&k);
}

/* Compares operations with the figures that the table promises, not with another evaluator of SSL. */
static void test_guards_and_integer_corners(void **state)
{
    static const struct {
        IrOp op;
        float x, y, expected;
    } floats[] = {
        {IR_SQRT, -4.0f, 0, 0.0f},
        {IR_SQRT, 9.0f, 0, 3.0f},
        {IR_INVSQRT, 0.0f, 0, 0.0f},
        {IR_INVSQRT, -1.0f, 0, 0.0f},
        {IR_INVSQRT, 4.0f, 0, 0.5f},
        {IR_LOG, 0.0f, 0, -87.33654475f},
        {IR_LOG, -3.0f, 0, -87.33654475f},
        {IR_LOG2, 0.0f, 0, -126.0f},
        {IR_LOG1P, -1.0f, 0, -87.33654475f},
        {IR_ASIN, 2.0f, 0, 1.57079637f},
        {IR_ACOS, 1.5f, 0, 0.0f},
        {IR_ACOS, -1.5f, 0, 3.14159274f},
        {IR_POW, -2.0f, 0.5f, 0.0f},
        {IR_POW, -2.0f, 3.0f, -8.0f},
        {IR_FMOD, -5.5f, 2.0f, -1.5f},
        {IR_ROUND, 2.5f, 0, 3.0f},
        {IR_ROUND, -2.5f, 0, -3.0f},
        {IR_TRUNC, -2.7f, 0, -2.0f},
        {IR_SIGN, -0.0f, 0, 0.0f},
        {IR_FLOOR, -0.5f, 0, -1.0f},
    };
    static const struct {
        IrOp op;
        int32_t x, y, expected;
    } ints[] = {
        {IR_IDIV, 7, 0, 0},
        {IR_IMOD, 7, 0, 0},
        {IR_IDIV, INT32_MIN, -1, INT32_MIN},
        {IR_IMOD, INT32_MIN, -1, 0},
        {IR_IDIV, -7, 2, -3},
        {IR_IMOD, -7, 2, -1},
        {IR_ISHL, 1, 33, 2},
        {IR_ISHR, -8, 1, -4},
        {IR_IUSHR, -1, 28, 15},
        {IR_ISHR, -8, -31, -4},
        {IR_IADD, INT32_MAX, 1, INT32_MIN},
        {IR_IMUL, 65536, 65536, 0},
    };
    /* The arguments come through the globals, or all would be folded. */
    for (uint32_t i = 0; i < SORT_COUNT_OF(floats); ++i) {
        IrKernel k;
        ir_kernel_begin(&k);
        const char *signature = ir_op_info(floats[i].op)->signature;
        IrValue result = signature[1] == 'f'
                             ? ir_build2(k.builder, floats[i].op, global_f(&k), global_g(&k))
                             : ir_build1(k.builder, floats[i].op, global_f(&k));
        ir_kernel_end(&k, &result, 1);
        IrBatch b;
        ir_batch_init(&b, &k, 1);
        *ir_batch_global(&b, ROW_F, 0, 0, 0) = floats[i].x;
        *ir_batch_global(&b, ROW_G, 0, 0, 0) = floats[i].y;
        ir_kernel_run(jit_of(state), &k, &b, (JitOptions){.llvm_level = 3});
        float found = ir_batch_output_float(&b, 0, 0, 0);
        if (!(found - floats[i].expected <= 1e-5f && found - floats[i].expected >= -1e-5f))
            fail_msg("%s(%g, %g) = %g, not %g", ir_op_info(floats[i].op)->mnemonic,
                     (double)floats[i].x, (double)floats[i].y, (double)found,
                     (double)floats[i].expected);
        ir_batch_free(&b);
        ir_kernel_free(&k);
    }
    for (uint32_t i = 0; i < SORT_COUNT_OF(ints); ++i) {
        IrKernel k;
        ir_kernel_begin(&k);
        IrValue y = ir_build_param_read(k.builder, IR_INT, PARAM_I, 0);
        IrValue result = ir_build2(k.builder, ints[i].op, global_i(&k), y);
        ir_kernel_end(&k, &result, 1);
        IrBatch b;
        ir_batch_init(&b, &k, 1);
        memcpy(ir_batch_global(&b, ROW_I, 0, 0, 0), &ints[i].x, 4);
        b.params[1] = ints[i].y;
        ir_kernel_run(jit_of(state), &k, &b, (JitOptions){.llvm_level = 3});
        assert_int_equal((int32_t)ir_batch_output(&b, 0, 0, 0), ints[i].expected);
        ir_batch_free(&b);
        ir_kernel_free(&k);
    }
}

static void test_float_to_int_saturates(void **state)
{
    static const struct {
        float x;
        int32_t expected;
    } cases[] = {{3e9f, INT32_MAX},
                 {-3e9f, INT32_MIN},
                 {2147483648.0f, INT32_MAX},
                 {-2147483648.0f, INT32_MIN},
                 {1.9f, 1},
                 {-1.9f, -1},
                 {0.0f / 1.0f, 0}};
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue result = ir_build1(k.builder, IR_F2I, global_f(&k));
    ir_kernel_end(&k, &result, 1);
    IrBatch b;
    ir_batch_init(&b, &k, 1);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        *ir_batch_global(&b, ROW_F, 0, 0, i) = cases[i].x;
    *ir_batch_global(&b, ROW_F, 0, 0, 15) = NAN;
    ir_kernel_run(jit_of(state), &k, &b, (JitOptions){.llvm_level = 3});
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        assert_int_equal((int32_t)ir_batch_output(&b, 0, 0, i), cases[i].expected);
    assert_int_equal(ir_batch_output(&b, 0, 0, 15), 0);
    ir_batch_free(&b);
    ir_kernel_free(&k);
}

static void test_inputs_come_from_where_the_layout_says(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    IrValue results[] = {
        ir_build_global(b, IR_FLOAT, ROW_F, IR_SHADOW_DDX, 0),
        ir_build_global(b, IR_FLOAT, ROW_P, IR_SHADOW_VALUE, 2),
        ir_build_global(b, IR_FLOAT, ROW_P, IR_SHADOW_DDY, 1),
        global_i(&k),
        global_b(&k),
        ir_build_param_read(b, IR_FLOAT, PARAM_F, 0),
        ir_build_param_read(b, IR_INT, PARAM_I, 0),
        ir_build_param_read(b, IR_FLOAT, PARAM_C, 1),
        ir_build_param_read(b, IR_BOOL, PARAM_B, 0),
    };
    ir_kernel_end(&k, results, SORT_COUNT_OF(results));
    ir_kernel_check(jit_of(state), &k, 5);
    IrBatch batch;
    ir_batch_init(&batch, &k, 5);
    /* Independent of any code of ours: row p starts after f and g, which take 3 lines of 16 each. */
    float *words = batch.globals;
    words[(3 + 3 + 3 + 3 + 1) * 16 + 4] = 12.5f; /* p: value 3 lines, ddx 3 lines, ddy.y; lane 4 */
    words[(3 + 3 + 3 + 3 + 1) * 16 + 4 - 0] = 12.5f;
    ir_kernel_run(jit_of(state), &k, &batch, (JitOptions){.llvm_level = 3});
    assert_float_equal(ir_batch_output_float(&batch, 2, 0, 4), 12.5f, 0.0f);
    assert_float_equal(ir_batch_output_float(&batch, 5, 0, 4), 0.625f, 0.0f);
    assert_int_equal(ir_batch_output(&batch, 6, 0, 4), 7);
    assert_float_equal(ir_batch_output_float(&batch, 7, 0, 4), 0.5f, 0.0f);
    assert_int_equal(ir_batch_output(&batch, 8, 0, 4), 1);
    ir_batch_free(&batch);
    ir_kernel_free(&k);
}

static void test_dead_lanes_and_blocks_are_not_written(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue result = ir_build1(k.builder, IR_FNEG, global_f(&k));
    ir_kernel_end(&k, &result, 1);
    IrBatch b;
    ir_batch_init(&b, &k, 1);
    ir_kernel_run(jit_of(state), &k, &b, (JitOptions){.llvm_level = 3});
    for (uint32_t point = 0; point < IR_KERNEL_BLOCKS * SSL_BLOCK; ++point) {
        bool is_live = b.live[point / SSL_BLOCK] >> point % SSL_BLOCK & 1;
        if (!is_live) {
            assert_int_equal(ir_batch_output(&b, 0, 0, point), 0xa5a5a5a5u);
            assert_int_equal(ir_batch_fault(&b, point), 0xa5a5a5a5u);
        } else {
            assert_int_equal(ir_batch_fault(&b, point), 0);
        }
    }
    b.batch.block_count = 0;
    ir_kernel_run(jit_of(state), &k, &b, (JitOptions){.llvm_level = 3});
    assert_int_equal(ir_batch_fault(&b, 0), 0xa5a5a5a5u);
    ir_batch_free(&b);
    ir_kernel_free(&k);
}

/* --- control flow ----------------------------------------------------------------------------- */

/* i from 0 while i < limit: sum += i; returns the sum. */
static IrValue build_sum(IrKernel *k, IrValue limit, uint32_t site)
{
    IrBuilder *b = k->builder;
    IrValue init[2] = {int_of(k, 0), int_of(k, 0)}, s[2], out[2];
    ir_loop_begin(b, site, init, 2, s);
    IrValue next[2] = {ir_build2(b, IR_IADD, s[0], int_of(k, 1)),
                       ir_build2(b, IR_IADD, s[1], s[0])};
    ir_loop_end(b, ir_build2(b, IR_ILT, next[0], limit), next, 2, out);
    return out[1];
}

static void test_loops_and_branches(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t site = new_fault(&k, SSL_FAULT_LOOP);
    IrValue outer_init[2] = {int_of(&k, 0), float_of(&k, 1.0f)}, s[2], loop_out[2], if_out[2];
    ir_loop_begin(b, site, outer_init, 2, s);
    IrValue inner = build_sum(&k, s[0], site);
    ir_if_begin(b, ir_build2(b, IR_ILT, inner, global_i(&k)));
    IrValue then_results[2] = {ir_build2(b, IR_FADD, s[1], global_f(&k)), inner};
    ir_if_else(b, then_results, 2);
    IrValue else_results[2] = {ir_build2(b, IR_FMUL, s[1], float_of(&k, 0.5f)), int_of(&k, -1)};
    ir_if_end(b, else_results, 2, if_out);
    IrValue next[2] = {ir_build2(b, IR_IADD, s[0], int_of(&k, 1)), if_out[0]};
    ir_loop_end(b, ir_build2(b, IR_ILT, next[0], int_of(&k, 12)), next, 2, loop_out);
    IrValue results[3] = {loop_out[0], loop_out[1], build_sum(&k, global_i(&k), site)};
    ir_kernel_end(&k, results, 3);
    ir_kernel_check_seeds(jit_of(state), &k, 5);
    ir_kernel_free(&k);
}

static void test_loop_budget_is_shared_and_the_first_fault_wins(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    uint32_t first = new_fault(&k, SSL_FAULT_LOOP), second = new_fault(&k, SSL_FAULT_LOOP);
    uint32_t endless = new_fault(&k, SSL_FAULT_LOOP);
    assert_int_equal(first, 0);
    IrValue x = build_sum(&k, int_of(&k, 61), first);  /* 60 back-edges */
    IrValue y = build_sum(&k, int_of(&k, 51), second); /* 50 more */
    IrValue z = build_sum(&k, int_of(&k, INT32_MAX), endless);
    IrValue results[3] = {x, y, z};
    ir_kernel_end(&k, results, 3);
    IrBatch b;
    ir_batch_init(&b, &k, 1);
    static const struct {
        uint32_t budget, fault;
        int32_t sums[3];
    } cases[] = {
        {59, 1, {59 * 60 / 2, 0, 0}}, /* each later loop runs once and stops */
        {60, 2, {60 * 61 / 2, 0, 0}}, {109, 2, {1830, 49 * 50 / 2, 0}},
        {110, 3, {1830, 1275, 0}},    {120, 3, {1830, 1275, 55}},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        for (uint32_t lanes = 1; lanes <= 16; lanes *= 4) {
            b.batch.loop_budget = cases[i].budget;
            ir_kernel_run(jit_of(state), &k, &b, (JitOptions){.lanes = lanes});
            assert_int_equal(ir_batch_fault(&b, 0), cases[i].fault);
            for (uint32_t j = 0; j < 3; ++j)
                assert_int_equal((int32_t)ir_batch_output(&b, j, 0, 0), cases[i].sums[j]);
        }
    ir_batch_free(&b);
    ir_kernel_free(&k);
}

/* A loop that all lanes leave together, after loops that have taken unequal parts of their budgets: each lane has the fault that it has
 * alone, and the results of those without fault are equal. */
static void test_lanes_that_go_together_pay_alone(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t apart = new_fault(&k, SSL_FAULT_LOOP), together = new_fault(&k, SSL_FAULT_LOOP);
    uint32_t outer = new_fault(&k, SSL_FAULT_LOOP), last = new_fault(&k, SSL_FAULT_LOOP);
    IrValue x = build_sum(&k, ir_build2(b, IR_IMUL, global_i(&k), int_of(&k, 20)), apart);
    IrValue y = build_sum(&k, ir_build_param_read(b, IR_INT, PARAM_I, 0), together);
    IrValue init[2] = {int_of(&k, 0), int_of(&k, 0)}, s[2], nested[2];
    ir_loop_begin(b, outer, init, 2, s);
    IrValue inner = build_sum(&k, int_of(&k, 30), together);
    IrValue next[2] = {ir_build2(b, IR_IADD, s[0], int_of(&k, 1)),
                       ir_build2(b, IR_IADD, s[1], ir_build2(b, IR_IADD, inner, global_i(&k)))};
    ir_loop_end(b, ir_build2(b, IR_ILT, next[0], int_of(&k, 5)), next, 2, nested);
    IrValue z = build_sum(&k, int_of(&k, 750), last);
    IrValue results[4] = {x, y, nested[1], z};
    ir_kernel_end(&k, results, 4);
    uint32_t faults = 0, points = 0;
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        IrBatch alone, wide;
        ir_batch_init(&alone, &k, seed);
        ir_batch_init(&wide, &k, seed);
        ir_kernel_run(jit_of(state), &k, &alone, (JitOptions){.lanes = 1});
        ir_kernel_run(jit_of(state), &k, &wide, (JitOptions){.lanes = 4u << seed % 3});
        for (uint32_t i = 0; i < IR_KERNEL_BLOCKS * SSL_BLOCK; ++i) {
            if (!(alone.live[i / SSL_BLOCK] >> i % SSL_BLOCK & 1))
                continue;
            ++points;
            faults += ir_batch_fault(&alone, i) != 0;
            assert_int_equal(ir_batch_fault(&alone, i), ir_batch_fault(&wide, i));
            for (uint32_t j = 0; j < 4 && ir_batch_fault(&alone, i) == 0; ++j)
                assert_int_equal(ir_batch_output(&alone, j, 0, i), ir_batch_output(&wide, j, 0, i));
        }
        ir_batch_free(&alone);
        ir_batch_free(&wide);
    }
    assert_in_range(faults, points / 20, points / 2); /* the test has both kinds */
    ir_kernel_free(&k);
}

/* Branches and arrays by what is equal in all lanes, inside what is not, and after a loop that lanes leave one by one. */
static void test_what_lanes_share(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t site = new_fault(&k, SSL_FAULT_LOOP), index = new_fault(&k, SSL_FAULT_INDEX);
    IrValue same = ir_build_param_read(b, IR_INT, PARAM_I, 0), eight[8], s[3], out[3], if_out[2];
    for (uint32_t i = 0; i < 8; ++i)
        eight[i] = ir_build2(b, IR_FADD, global_f(&k), float_of(&k, (float)i));
    IrValue init[3] = {int_of(&k, 0), ir_build_array(b, IR_FLOAT, eight, 8), float_of(&k, 0.0f)};
    ir_loop_begin(b, site, init, 3, s);
    ir_if_begin(b, ir_build2(b, IR_ILT, s[0], ir_build2(b, IR_ISUB, same, int_of(&k, 4))));
    IrValue then_results[2] = {ir_build1(b, IR_SIN, s[2]), ir_build2(b, IR_IMUL, s[0], same)};
    ir_if_else(b, then_results, 2);
    IrValue else_results[2] = {ir_build1(b, IR_EXP, global_g(&k)), int_of(&k, 9)};
    ir_if_end(b, else_results, 2, if_out);
    IrValue at = ir_build_bounds(b, if_out[1], 8, index); /* 9 is out of range */
    IrValue element = ir_build2(b, IR_ARRAY_GET, s[1], at);
    IrValue next[3] = {
        ir_build2(b, IR_IADD, s[0], int_of(&k, 1)),
        ir_build3(b, IR_ARRAY_SET, s[1], at, ir_build2(b, IR_FADD, element, if_out[0])),
        ir_build2(b, IR_FADD, s[2], element)};
    ir_loop_end(b, ir_build2(b, IR_ILT, next[0], global_i(&k)), next, 3, out);
    IrValue results[10] = {out[0], out[2]};
    for (uint32_t i = 0; i < 8; ++i)
        results[2 + i] = ir_build2(b, IR_ARRAY_GET, out[1], int_of(&k, (int32_t)i));
    ir_kernel_end(&k, results, 10);
    ir_kernel_check_seeds(jit_of(state), &k, 6);
    ir_kernel_free(&k);
}

static void test_index_out_of_range_is_clamped_and_recorded(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t site = new_fault(&k, SSL_FAULT_INDEX), other = new_fault(&k, SSL_FAULT_INDEX);
    IrValue elements[4];
    for (int i = 0; i < 4; ++i)
        elements[i] = float_of(&k, 10.0f * (float)(i + 1));
    IrValue array = ir_build_array(b, IR_FLOAT, elements, 4);
    IrValue results[2];
    results[0] = ir_build2(b, IR_ARRAY_GET, array, ir_build_bounds(b, global_i(&k), 4, site));
    IrValue one_less = ir_build2(b, IR_ISUB, global_i(&k), int_of(&k, 1));
    results[1] = ir_build2(b, IR_ARRAY_GET, array, ir_build_bounds(b, one_less, 4, other));
    ir_kernel_end(&k, results, 2);
    ir_kernel_check(jit_of(state), &k, 3);
    IrBatch batch;
    ir_batch_init(&batch, &k, 3);
    static const struct {
        int32_t index;
        uint32_t fault;
        float values[2];
    } cases[] = {{-3, 1, {10, 10}}, {0, 2, {10, 10}},         {1, 0, {20, 10}}, {3, 0, {40, 30}},
                 {4, 1, {40, 40}},  {INT32_MIN, 1, {10, 40}}, {9, 1, {40, 40}}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        memcpy(ir_batch_global(&batch, ROW_I, 0, 0, i), &cases[i].index, 4);
    ir_kernel_run(jit_of(state), &k, &batch, (JitOptions){.llvm_level = 3});
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        assert_int_equal(ir_batch_fault(&batch, i), cases[i].fault);
        for (uint32_t j = 0; j < 2; ++j)
            assert_float_equal(ir_batch_output_float(&batch, j, 0, i), cases[i].values[j], 0.0f);
    }
    ir_batch_free(&batch);
    ir_kernel_free(&k);
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* How often `word` stands in the kernel's unoptimised LLVM IR of one lane. */
static uint32_t count_in_llvm(Jit *jit, const IrKernel *k, const char *word)
{
    KernelLayout layout;
    Error err = {0};
    StrBuf text = {0};
    kernel_layout_compute(k->module, NULL, k->arena, &layout);
    if (jit_dump(jit, k->module, &layout, (JitOptions){.lanes = 1}, SSL_DUMP_LLVM, &text, &err) !=
        STATUS_OK)
        fail_msg("%s", err.text);
    uint32_t count = 0;
    for (const char *at = strbuf_text(&text); (at = strstr(at, word)) != NULL; ++at)
        ++count;
    strbuf_free(&text);
    return count;
}

enum { SIZE = 8 };

static IrValue new_array(IrKernel *k)
{
    IrValue elements[SIZE];
    for (int32_t i = 0; i < SIZE; ++i)
        elements[i] = ir_build2(k->builder, IR_FMUL, global_f(k), float_of(k, (float)i));
    return ir_build_array(k->builder, IR_FLOAT, elements, SIZE);
}

static IrValue masked_index(IrKernel *k, IrValue x)
{
    return ir_build2(k->builder, IR_IAND, x, int_of(k, SIZE - 1));
}

static IrValue get(IrKernel *k, IrValue array, IrValue index)
{
    return ir_build2(k->builder, IR_ARRAY_GET, array, masked_index(k, index));
}

static IrValue set(IrKernel *k, IrValue array, IrValue index, IrValue x)
{
    return ir_build3(k->builder, IR_ARRAY_SET, array, masked_index(k, index), x);
}

/* for i < 20: a[i] = a[i + 3] + g, under a condition or not; the loop must not copy the array. */
static void build_array_loop(IrKernel *k, bool is_conditional, IrValue array, IrValue *out_array)
{
    IrBuilder *b = k->builder;
    uint32_t site = new_fault(k, SSL_FAULT_LOOP);
    IrValue init[2] = {int_of(k, 0), array}, s[2], out[2];
    ir_loop_begin(b, site, init, 2, s);
    IrValue next_array;
    IrValue x =
        ir_build2(b, IR_FADD, get(k, s[1], ir_build2(b, IR_IADD, s[0], int_of(k, 3))), global_g(k));
    if (is_conditional) {
        ir_if_begin(b, ir_build2(b, IR_FLT, x, float_of(k, 2.0f)));
        IrValue then_array = set(k, s[1], s[0], x);
        ir_if_else(b, &then_array, 1);
        ir_if_end(b, &s[1], 1, &next_array);
    } else {
        next_array = set(k, s[1], s[0], x);
    }
    IrValue next[2] = {ir_build2(b, IR_IADD, s[0], int_of(k, 1)), next_array};
    ir_loop_end(b, ir_build2(b, IR_ILT, next[0], int_of(k, 20)), next, 2, out);
    *out_array = out[1];
}

static void check_array_loop(void **state, bool is_conditional, bool keeps_old, uint32_t copies)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue array = new_array(&k), after;
    build_array_loop(&k, is_conditional, array, &after);
    IrValue results[3] = {get(&k, after, global_i(&k)), get(&k, after, int_of(&k, 2)),
                          keeps_old ? get(&k, array, global_i(&k)) : global_f(&k)};
    ir_kernel_end(&k, results, 3);
    ir_kernel_check_seeds(jit_of(state), &k, 4);
    assert_int_equal(count_in_llvm(jit_of(state), &k, "call void @llvm.memcpy"), copies);
    assert_int_equal(count_in_llvm(jit_of(state), &k, "alloca [8 x float]"), keeps_old ? 2 : 1);
    ir_kernel_free(&k);
}

static void test_array_updates_in_loops_are_in_place(void **state)
{
    check_array_loop(state, false, false, 0);
    check_array_loop(state, true, false, 0);
    check_array_loop(state, false, true,
                     1); /* the old array is read later: one copy, before the loop */
    check_array_loop(state, true, true, 1);
}

/* The old value is read after the set, in a loop: each turn must copy. */
static void test_array_old_value_survives_a_set(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue old = new_array(&k);
    IrValue changed = set(&k, old, global_i(&k), float_of(&k, 99.0f));
    IrValue changed_again = set(&k, changed, int_of(&k, 5), float_of(&k, -1.0f));
    IrValue results[3] = {get(&k, old, global_i(&k)), get(&k, changed, int_of(&k, 5)),
                          get(&k, changed_again, global_i(&k))};
    ir_kernel_end(&k, results, 3);
    ir_kernel_check(jit_of(state), &k, 8);
    ir_kernel_free(&k);
}

/* Two arrays that change places every turn: copies that must act as one. */
static void test_arrays_swapped_by_a_loop(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t site = new_fault(&k, SSL_FAULT_LOOP);
    IrValue first = new_array(&k);
    IrValue second = set(&k, new_array(&k), int_of(&k, 3), float_of(&k, 4.0f));
    IrValue init[4] = {int_of(&k, 0), first, second, second}, s[4], out[4];
    ir_loop_begin(b, site, init, 4, s);
    IrValue next[4] = {ir_build2(b, IR_IADD, s[0], int_of(&k, 1)), s[2],
                       set(&k, s[3], s[0], float_of(&k, 7.0f)), s[1]};
    ir_loop_end(b, ir_build2(b, IR_ILT, next[0], global_i(&k)), next, 4, out);
    IrValue results[6];
    for (int i = 0; i < 3; ++i) {
        results[2 * i] = get(&k, out[1 + i], int_of(&k, 3));
        results[2 * i + 1] = get(&k, out[1 + i], global_i(&k));
    }
    ir_kernel_end(&k, results, 6);
    ir_kernel_check_seeds(jit_of(state), &k, 4);
    ir_kernel_free(&k);
}

static void test_constant_arrays_and_arrays_of_bools(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue ints[SIZE], bools[SIZE], flags[SIZE];
    for (int32_t i = 0; i < SIZE; ++i) {
        ints[i] = int_of(&k, i * i);
        bools[i] = ir_const_bool(k.builder, i % 3 == 0);
        flags[i] = i % 2 ? global_b(&k) : ir_const_bool(k.builder, true);
    }
    IrValue table = ir_build_array(k.builder, IR_INT, ints, SIZE);
    IrValue bits = ir_build_array(k.builder, IR_BOOL, bools, SIZE);
    IrValue live = ir_build_array(k.builder, IR_BOOL, flags, SIZE);
    IrValue results[4] = {get(&k, table, global_i(&k)), get(&k, bits, global_i(&k)),
                          get(&k, set(&k, live, int_of(&k, 2), global_b(&k)), global_i(&k)),
                          get(&k, set(&k, table, int_of(&k, 1), global_i(&k)), global_i(&k))};
    ir_kernel_end(&k, results, 4);
    ir_kernel_check_seeds(jit_of(state), &k, 4);
    ir_kernel_free(&k);
}

static void test_too_much_stack_is_refused(void **state)
{
    enum { HUGE = 20000 };
    IrKernel k;
    ir_kernel_begin(&k);
    IrValue *elements = ARENA_ARRAY(k.arena, IrValue, HUGE);
    for (uint32_t i = 0; i < HUGE; ++i)
        elements[i] = global_f(&k);
    IrValue array = ir_build_array(k.builder, IR_FLOAT, elements, HUGE);
    IrValue result = get(&k, array, global_i(&k));
    ir_kernel_end(&k, &result, 1);
    KernelLayout layout;
    Error err = {0};
    SslBuildTimes times = {0};
    JitKernel *kernel;
    kernel_layout_compute(k.module, NULL, k.arena, &layout);
    assert_int_equal(
        jit_acquire(jit_of(state), k.module, &layout, (JitOptions){0}, &kernel, &times, &err),
        STATUS_LIMIT);
    assert_null(kernel);
    assert_string_equal(err.text, "the arrays of shader 'test' take 80000 bytes of stack; a kernel "
                                  "may take 65536");
    ir_kernel_free(&k);
}

/* sin and cos of one value in one place are one call; the bits are those of two. */
static void test_sin_and_cos_are_computed_together(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    IrValue sum = ir_build2(b, IR_FADD, global_f(&k), global_g(&k));
    IrValue results[5] = {ir_build1(b, IR_SIN, global_f(&k)), ir_build1(b, IR_COS, global_f(&k)),
                          ir_build1(b, IR_COS, global_g(&k))};
    ir_if_begin(b, global_b(&k));
    IrValue arm[2] = {ir_build1(b, IR_SIN, global_g(&k)), ir_build1(b, IR_COS, sum)};
    arm[1] = ir_build2(b, IR_FADD, arm[1], ir_build1(b, IR_SIN, sum));
    ir_if_else(b, arm, 2);
    arm[0] = ir_build1(b, IR_SIN, sum);
    arm[1] = float_of(&k, 0.0f);
    ir_if_end(b, arm, 2, results + 3);
    ir_kernel_end(&k, results, 5);
    ir_kernel_check_seeds(jit_of(state), &k, 4);
    assert_int_equal(count_in_llvm(jit_of(state), &k, "call float @rt_sincos"), 2);
    assert_int_equal(count_in_llvm(jit_of(state), &k, "call float @rt_sin("), 2);
    assert_int_equal(count_in_llvm(jit_of(state), &k, "call float @rt_cos("), 1);
    ir_kernel_free(&k);
}

/* --- textures and closures --------------------------------------------------------------------- */

static void test_textures(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t site0 = ir_add_texture_site(k.module, &(SslTextureSite){.texture = 1});
    uint32_t site1 = ir_add_texture_site(k.module, &(SslTextureSite){.texture = 0});
    IrValue coord[7], rgba[4], with_derivs[12];
    for (uint32_t i = 0; i < 7; ++i)
        coord[i] = ir_build2(b, IR_FADD, global_f(&k), float_of(&k, (float)i));
    ir_build_tex(b, site0, coord, rgba);
    ir_if_begin(b, global_b(&k));
    for (uint32_t i = 0; i < 7; ++i)
        coord[i] = ir_build2(b, IR_FMUL, rgba[i % 4], float_of(&k, 0.125f));
    ir_build_tex_d(b, site1, coord, with_derivs);
    ir_if_else(b, with_derivs, 12);
    IrValue zeros[12], results[16];
    for (uint32_t i = 0; i < 12; ++i)
        zeros[i] = float_of(&k, 0.0f);
    ir_if_end(b, zeros, 12, results);
    memcpy(results + 12, rgba, sizeof rgba);
    ir_kernel_end(&k, results, 16);
    ir_kernel_check_seeds(jit_of(state), &k, 4);
    ir_kernel_free(&k);
}

static void test_lobes(void **state)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    IrModule *m = k.module;
    array_push(k.arena, &m->outputs, (IrOutput){.name = "Ci", .type = SSL_CLOSURE});
    array_push(k.arena, &m->outputs,
               (IrOutput){.name = "alpha", .type = SSL_FLOAT, .result_count = 1});
    array_push(
        k.arena, &m->slots,
        (IrLobeSlot){.closure = CLOSURE_COAT, .parent = -1, .result_first = 1, .arg_count = 1});
    array_push(k.arena, &m->slots,
               (IrLobeSlot){.closure = CLOSURE_LAMBERT, .result_first = 6, .arg_count = 6});
    IrValue results[16] = {global_g(&k), ir_build2(b, IR_FLT, global_f(&k), global_g(&k))};
    for (uint32_t i = 2; i < 6; ++i)
        results[i] = ir_build2(b, IR_FMUL, global_g(&k), float_of(&k, (float)i));
    results[6] = global_b(&k);
    for (uint32_t i = 7; i < 16; ++i)
        results[i] = ir_build2(b, IR_FADD, global_f(&k), float_of(&k, (float)i));
    ir_kernel_end_raw(&k, results, 16);
    ir_kernel_check_seeds(jit_of(state), &k, 6);

    IrBatch batch;
    ir_batch_init(&batch, &k, 2);
    const SslLobeSlot *coat = &batch.layout.lobes[0], *lambert = &batch.layout.lobes[1];
    assert_int_equal(lambert->parent, 0);
    assert_int_equal(coat->weight_offset, 128); /* after the fault words and one output */
    assert_int_equal(coat->args_offset, 128 + 3 * 64);
    assert_int_equal(lambert->weight_offset, 128 + 4 * 64);
    assert_int_equal(lambert->mask_offset, 128 + 13 * 64 + 2);
    assert_int_equal(batch.layout.result_stride_bytes, 128 + 14 * 64);
    ir_kernel_run(jit_of(state), &k, &batch, (JitOptions){.llvm_level = 3});
    uint16_t mask, expected = 0;
    memcpy(&mask, (char *)batch.result + lambert->mask_offset, 2);
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane) {
        int32_t flag;
        memcpy(&flag, ir_batch_global(&batch, ROW_B, 0, 0, lane), 4);
        expected |= (uint16_t)((flag != 0) << lane);
    }
    assert_int_equal(mask, expected);
    memcpy(&mask, (char *)batch.result + batch.layout.result_stride_bytes + lambert->mask_offset,
           2);
    assert_int_equal(mask, 0); /* the block without live lanes */
    ir_batch_free(&batch);
    ir_kernel_free(&k);
}

/* --- random programs ---------------------------------------------------------------------------- */

typedef struct Generator {
    IrKernel *k;
    uint64_t random;
    IrValue floats[64], ints[64], bools[64], arrays[64]; /* in sight */
    uint32_t float_count, int_count, bool_count, array_count, statements;
} Generator;

static uint32_t draw(Generator *g, uint32_t below)
{
    return (uint32_t)(hash_mix64(g->random++) >> 33) % below;
}

#define PICK(g, kind) ((g)->kind##s[draw((g), (g)->kind##_count)])
#define OFFER(g, kind, value)                                                                      \
    offer((g), (g)->kind##s, &(g)->kind##_count, SORT_COUNT_OF((g)->kind##s), (value))

static void offer(Generator *g, IrValue *values, uint32_t *count, uint32_t capacity, IrValue v)
{
    values[*count < capacity ? (*count)++ : draw(g, capacity)] = v;
}

static void generate_statements(Generator *g, uint32_t depth, uint32_t count);

static void generate_scalar(Generator *g)
{
    IrBuilder *b = g->k->builder;
    static const IrOp float_ops[] = {IR_FADD, IR_FSUB, IR_FMUL, IR_FMIN, IR_FMAX};
    static const IrOp int_ops[] = {IR_IADD, IR_ISUB, IR_IMUL, IR_IXOR, IR_IMOD};
    switch (draw(g, 5)) {
    case 0:
        OFFER(g, float, ir_build2(b, float_ops[draw(g, 5)], PICK(g, float), PICK(g, float)));
        break;
    case 1:
        OFFER(g, int, ir_build2(b, int_ops[draw(g, 5)], PICK(g, int), PICK(g, int)));
        break;
    case 2:
        OFFER(g, bool, ir_build2(b, IR_FLT, PICK(g, float), PICK(g, float)));
        break;
    case 3:
        OFFER(g, float, get(g->k, PICK(g, array), PICK(g, int)));
        break;
    default:
        OFFER(g, bool, ir_build2(b, IR_BXOR, PICK(g, bool), PICK(g, bool)));
    }
}

/* Values made in a region leave sight with it; `saved` is what was in sight before. */
static void leave(Generator *g, const Generator *saved)
{
    uint64_t random = g->random;
    uint32_t statements = g->statements;
    *g = *saved;
    g->random = random;
    g->statements = statements;
}

static void generate_if(Generator *g, uint32_t depth)
{
    IrBuilder *b = g->k->builder;
    Generator saved = *g;
    IrValue arm[4], out[4];
    ir_if_begin(b, PICK(g, bool));
    for (uint32_t i = 0; i < 2; ++i) {
        generate_statements(g, depth + 1, 3);
        arm[0] = PICK(g, array);
        arm[1] = PICK(g, float);
        arm[2] = PICK(g, array);
        arm[3] = PICK(g, int);
        leave(g, &saved);
        if (i == 0)
            ir_if_else(b, arm, 4);
    }
    ir_if_end(b, arm, 4, out);
    OFFER(g, array, out[0]);
    OFFER(g, float, out[1]);
    OFFER(g, array, out[2]);
    OFFER(g, int, out[3]);
}

static void generate_loop(Generator *g, uint32_t depth)
{
    IrBuilder *b = g->k->builder;
    IrValue init[5] = {int_of(g->k, 0), PICK(g, array), PICK(g, array), PICK(g, float),
                       PICK(g, array)};
    IrValue state[5], next[5], out[5];
    Generator saved = *g;
    ir_loop_begin(b, new_fault(g->k, SSL_FAULT_LOOP), init, 5, state);
    OFFER(g, array, state[1]);
    OFFER(g, array, state[2]);
    OFFER(g, float, state[3]);
    OFFER(g, array, state[4]);
    OFFER(g, int, state[0]);
    generate_statements(g, depth + 1, 4);
    next[0] = ir_build2(b, IR_IADD, state[0], int_of(g->k, 1));
    next[1] = PICK(g, array);
    next[2] = PICK(g, array);
    next[3] = PICK(g, float);
    next[4] = PICK(g, array);
    IrValue go_on = ir_build2(b, IR_ILT, next[0], int_of(g->k, 1 + (int32_t)draw(g, 4)));
    leave(g, &saved);
    ir_loop_end(b, go_on, next, 5, out);
    OFFER(g, int, out[0]);
    OFFER(g, array, out[1]);
    OFFER(g, array, out[2]);
    OFFER(g, float, out[3]);
    OFFER(g, array, out[4]);
}

static void generate_statements(Generator *g, uint32_t depth, uint32_t count)
{
    for (uint32_t i = 0; i < count && g->statements < 120; ++i) {
        ++g->statements;
        uint32_t choice = draw(g, 10);
        if (choice == 0 && depth < 4)
            generate_if(g, depth);
        else if (choice == 1 && depth < 4)
            generate_loop(g, depth);
        else if (choice < 6)
            OFFER(g, array, set(g->k, PICK(g, array), PICK(g, int), PICK(g, float)));
        else
            generate_scalar(g);
    }
}

static void test_random_programs(void **state)
{
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        IrKernel k;
        ir_kernel_begin(&k);
        Generator g = {.k = &k, .random = seed << 32};
        OFFER(&g, float, global_f(&k));
        OFFER(&g, float, global_g(&k));
        OFFER(&g, int, global_i(&k));
        OFFER(&g, int, int_of(&k, 5));
        OFFER(&g, bool, global_b(&k));
        OFFER(&g, array, new_array(&k));
        OFFER(&g, array, set(&k, new_array(&k), int_of(&k, 1), float_of(&k, 0.25f)));
        generate_statements(&g, 0, 40);
        IrValue results[40];
        uint32_t count = 0;
        for (uint32_t i = 0; i < g.array_count && count < 32; ++i)
            results[count++] = get(&k, g.arrays[i], global_i(&k));
        for (uint32_t i = 0; i < 8; ++i)
            results[count++] = PICK(&g, float);
        ir_kernel_end(&k, results, count);
        ir_kernel_check(jit_of(state), &k, seed);
        ir_kernel_free(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_scalar_operation),
        cmocka_unit_test(test_guards_and_integer_corners),
        cmocka_unit_test(test_float_to_int_saturates),
        cmocka_unit_test(test_inputs_come_from_where_the_layout_says),
        cmocka_unit_test(test_dead_lanes_and_blocks_are_not_written),
        cmocka_unit_test(test_loops_and_branches),
        cmocka_unit_test(test_loop_budget_is_shared_and_the_first_fault_wins),
        cmocka_unit_test(test_lanes_that_go_together_pay_alone),
        cmocka_unit_test(test_what_lanes_share),
        cmocka_unit_test(test_index_out_of_range_is_clamped_and_recorded),
        cmocka_unit_test(test_array_updates_in_loops_are_in_place),
        cmocka_unit_test(test_array_old_value_survives_a_set),
        cmocka_unit_test(test_arrays_swapped_by_a_loop),
        cmocka_unit_test(test_constant_arrays_and_arrays_of_bools),
        cmocka_unit_test(test_too_much_stack_is_refused),
        cmocka_unit_test(test_sin_and_cos_are_computed_together),
        cmocka_unit_test(test_textures),
        cmocka_unit_test(test_lobes),
        cmocka_unit_test(test_random_programs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
