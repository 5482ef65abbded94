/* Loops of all forms, with starts, steps and limits at which counters wrap: an index whose test is left out is in range in every turn, and
 * that of an ordinary loop is left out. The judge is the loop in C. */
#include "ssl/codegen/index_range.h"
#include "ssl/ir/ir_fold.h"
#include "tests/ssl/ir_kernel.h"
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

enum { COUNT = 8, TURNS_MAX = 64 };

typedef struct Case {
    int32_t init, step, limit;
    IrOp compare;
    bool is_asked_before, is_limit_first, is_limit_known;
} Case;

static bool compare(const Case *c, int32_t x)
{
    IrScalar args[3] = {{.i = c->is_limit_first ? c->limit : x},
                        {.i = c->is_limit_first ? x : c->limit}};
    IrScalar result;
    assert_true(ir_scalar_eval(c->compare, 0, args, &result));
    return result.b;
}

static int32_t add(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x + (uint32_t)y);
}

/* Whether an index is out of range in the first turns. */
static bool leaves_range(const Case *c)
{
    int32_t i = c->init;
    for (uint32_t turn = 0; turn < TURNS_MAX; ++turn) {
        if (c->is_asked_before && !compare(c, i))
            return false;
        if (i < 0 || i >= COUNT)
            return true;
        i = add(i, c->step);
        if (!c->is_asked_before && !compare(c, i))
            return false;
    }
    return false;
}

static IrValue build_compare(IrKernel *k, const Case *c, IrValue limit, IrValue x)
{
    return ir_build2(k->builder, c->compare, c->is_limit_first ? limit : x,
                     c->is_limit_first ? x : limit);
}

static bool is_test_left_out(const Case *c)
{
    IrKernel k;
    ir_kernel_begin(&k);
    IrBuilder *b = k.builder;
    uint32_t site = ir_add_fault_site(k.module, SSL_FAULT_LOOP, (Span){0});
    uint32_t index = ir_add_fault_site(k.module, SSL_FAULT_INDEX, (Span){0});
    IrValue step = ir_const_int(b, c->step), at, results[2];
    IrValue limit = c->is_limit_known ? ir_const_int(b, c->limit)
                                      : ir_build_global(b, IR_INT, ROW_I, IR_SHADOW_VALUE, 0);
    IrValue init[2] = {ir_const_int(b, c->init), ir_const_int(b, 0)}, s[2], next[2];
    ir_loop_begin(b, site, init, 2, s);
    IrValue go_on = 0;
    if (c->is_asked_before) {
        go_on = build_compare(&k, c, limit, s[0]);
        ir_if_begin(b, go_on);
        at = ir_build_bounds(b, s[0], COUNT, index);
        IrValue then_results[2] = {ir_build2(b, IR_IADD, s[0], step),
                                   ir_build2(b, IR_IADD, s[1], at)};
        ir_if_else(b, then_results, 2);
        ir_if_end(b, s, 2, next);
    } else {
        at = ir_build_bounds(b, s[0], COUNT, index);
        next[0] = ir_build2(b, IR_IADD, s[0], step);
        next[1] = ir_build2(b, IR_IADD, s[1], at);
        go_on = build_compare(&k, c, limit, next[0]);
    }
    ir_loop_end(b, go_on, next, 2, results);
    ir_kernel_end(&k, results, 2);
    const IrFunc *f = ir_func(k.module, k.module->entry);
    const bool *is_in_range = index_range_find(f, k.arena);
    bool is_left_out = false;
    for (IrInstId id = 1; id < f->insts.count; ++id) {
        assert_true(!is_in_range[id] || ir_inst(f, id)->op == IR_BOUNDS);
        is_left_out |= is_in_range[id];
    }
    ir_kernel_free(&k);
    return is_left_out;
}

static void test_no_test_is_left_out_in_vain(void **state)
{
    (void)state;
    static const int32_t numbers[] = {INT32_MIN, INT32_MIN + 1, -2,       -1, 0, 1, 2, 7, 8,
                                      9,         INT32_MAX - 1, INT32_MAX};
    static const IrOp operations[] = {IR_ILT, IR_ILE, IR_IGT, IR_IGE, IR_INE};
    enum { NUMBERS = SORT_COUNT_OF(numbers), OPERATIONS = SORT_COUNT_OF(operations) };
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < NUMBERS * NUMBERS * NUMBERS * OPERATIONS * 8; ++i) {
        uint32_t rest = i / 8;
        Case c = {
            .is_asked_before = i & 1, .is_limit_first = i >> 1 & 1, .is_limit_known = i >> 2 & 1};
        c.init = numbers[rest % NUMBERS], rest /= NUMBERS;
        c.step = numbers[rest % NUMBERS], rest /= NUMBERS;
        c.limit = numbers[rest % NUMBERS], rest /= NUMBERS;
        c.compare = operations[rest];
        bool is_left_out = is_test_left_out(&c);
        left_out += is_left_out;
        if (is_left_out && leaves_range(&c))
            fail_msg("from %d by %d to %d, operation %d, form %u: the index is out of range",
                     c.init, c.step, c.limit, (int)c.compare, i % 8);
    }
    assert_in_range(left_out, 500, UINT32_MAX);
}

static void test_ordinary_loops_need_no_test(void **state)
{
    (void)state;
    static const Case cases[] = {
        {0, 1, 8, IR_ILT, true, false, true},   {0, 1, 7, IR_ILE, true, false, true},
        {0, 2, 8, IR_ILT, true, false, true},   {7, -1, 0, IR_IGE, true, false, true},
        {7, -1, -1, IR_IGT, true, false, true}, {0, 1, 8, IR_ILT, false, false, true},
        {0, 1, 8, IR_IGT, true, true, true},    {7, -1, 0, IR_ILE, false, true, true},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        if (!is_test_left_out(&cases[i]))
            fail_msg("case %u has a test", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_test_is_left_out_in_vain),
        cmocka_unit_test(test_ordinary_loops_need_no_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
