/* Properties of the pipeline on random modules.
 *
 * Values: what the pipeline makes computes bit for bit what went in, closures included, whatever
 * the summaries. Derivatives: evaluated in double, the code that the forward pass emitted gives
 * what dual numbers give. Ill-conditioned points are skipped, and few. */
#include "tests/ssl/oracle/ir_random.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MODULES = 400, POINTS = 6 };

static bool same_float(float x, float y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

/* --- closures --------------------------------------------------------------------------------- */

typedef struct FlatTerm {
    uint32_t row, count;
    float numbers[12]; /* weight, arguments */
} FlatTerm;

static bool is_dark(const FlatTerm *t)
{
    return t->numbers[0] == 0 && t->numbers[1] == 0 && t->numbers[2] == 0;
}

/* NaN bits are the machine's. */
static float canonical(float x)
{
    return isnan(x) ? NAN : x;
}

static int compare_terms(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(FlatTerm));
}

static uint32_t flatten_value(const EvalValue *v, FlatTerm *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->term_count; ++i) {
        const EvalTerm *t = &v->terms[i];
        FlatTerm *o = &out[count];
        memset(o, 0, sizeof *o);
        o->row = t->row;
        for (uint32_t k = 0; k < 3; ++k)
            o->numbers[o->count++] = canonical(t->weight[k].f);
        for (uint32_t k = 0; k < t->arg_count; ++k)
            o->numbers[o->count++] = canonical(t->args[k].f);
        count += !is_dark(o);
    }
    qsort(out, count, sizeof *out, compare_terms);
    return count;
}

static uint32_t flatten_slots(const IrModule *m, const EvalResult *r, FlatTerm *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        const IrLobeSlot *s = &m->slots.data[i];
        FlatTerm *o = &out[count];
        memset(o, 0, sizeof *o);
        o->row = s->closure;
        for (uint32_t k = 0; k < 3 + s->arg_count; ++k)
            o->numbers[o->count++] = canonical(r->values[s->result_first + 1 + k].elements[0].f);
        count += r->values[s->result_first].elements[0].b && !is_dark(o);
    }
    qsort(out, count, sizeof *out, compare_terms);
    return count;
}

/* --- values ----------------------------------------------------------------------------------- */

static void compare_values(Fixture *f, const IrModule *before, uint64_t seed)
{
    enum { TERMS_MAX = 600 };
    static FlatTerm want[TERMS_MAX], got[TERMS_MAX];
    f->point.mode = EVAL_FLOAT;
    EvalResult a = ir_eval(before, &f->point, f->arena);
    EvalResult b = ir_eval(f->module, &f->point, f->arena);
    for (uint32_t i = 0; i < 6; ++i) {
        const EvalScalar *x = a.values[i].elements;
        const EvalScalar *y = b.values[f->module->outputs.data[i].result_first].elements;
        if (!same_float(x->f, y->f) || x->i != y->i || x->b != y->b)
            fail_msg("seed %llu output %u: %.9g %d %d became %.9g %d %d", (unsigned long long)seed,
                     i, (double)x->f, x->i, x->b, (double)y->f, y->i, y->b);
    }
    uint32_t count = flatten_value(&a.values[6], want);
    if (count != flatten_slots(f->module, &b, got) || memcmp(want, got, count * sizeof *want) != 0)
        fail_msg("seed %llu: closures differ (%u terms)", (unsigned long long)seed, count);
    assert_true(b.instructions <= 3 * a.instructions + 50 || f->report.values_shadowed > 0);
    if (b.fault) /* what remains faults only where the original did */
        assert_true(a.fault);
}

static void run_values(const RandomDesc *desc, const IrPipelineDesc *pipeline)
{
    Fixture f;
    fixture_begin(&f);
    random_module(&f, desc);
    IrModule *before = ir_module_clone(f.module, f.arena);
    fixture_run(&f, pipeline);
    uint64_t state = desc->seed;
    for (uint32_t i = 0; i < POINTS; ++i) {
        ArenaMark mark = arena_mark(f.arena);
        random_point(&f, &state);
        compare_values(&f, before, desc->seed);
        arena_rewind(f.arena, mark);
    }
    fixture_end(&f);
}

static void test_values_are_kept(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t i = 0; i < MODULES; ++i) {
        RandomDesc desc = {.seed = i, .functions = i % 4, .statements = 20 + i % 50};
        run_values(&desc, &(IrPipelineDesc){.merged_summaries = i & 1});
        desc.with_derivatives = true;
        run_values(&desc, &(IrPipelineDesc){.without_derivatives = true});
    }
}

/* --- derivatives ------------------------------------------------------------------------------ */

typedef struct Tally {
    uint32_t compared, skipped, nonzero;
} Tally;

static void compare_derivatives(Fixture *f, const IrModule *before, uint64_t seed, Tally *tally)
{
    f->point.mode = EVAL_DUAL;
    EvalResult a = ir_eval(before, &f->point, f->arena);
    EvalResult b = ir_eval(f->module, &f->point, f->arena);
    for (uint32_t i = 0; i < 4; ++i) {
        double want = eval_number(&f->point, &a, i);
        double got = eval_number(&f->point, &b, f->module->outputs.data[i].result_first);
        if (!(fabs(want) < 1e4)) {
            ++tally->skipped;
            continue;
        }
        ++tally->compared;
        tally->nonzero += want != 0;
        if (!(fabs(got - want) <= 2e-5 * fmax(1, fabs(want))))
            fail_msg("seed %llu output %u: got %.12g, dual numbers give %.12g",
                     (unsigned long long)seed, i, got, want);
    }
}

static void test_derivatives_equal_dual_numbers(void **state)
{
    SORT_UNUSED(state);
    Tally tally = {0};
    for (uint32_t i = 0; i < MODULES; ++i) {
        Fixture f;
        RandomDesc desc = {.seed = 10000 + i,
                           .functions = i % 4,
                           .statements = 20 + i % 40,
                           .with_derivatives = true,
                           .smooth = true};
        fixture_begin(&f);
        random_module(&f, &desc);
        IrModule *before = ir_module_clone(f.module, f.arena);
        fixture_run(&f, &(IrPipelineDesc){.merged_summaries = i & 1});
        uint64_t point_state = desc.seed;
        for (uint32_t k = 0; k < POINTS; ++k) {
            ArenaMark mark = arena_mark(f.arena);
            random_point(&f, &point_state);
            compare_derivatives(&f, before, desc.seed, &tally);
            arena_rewind(f.arena, mark);
        }
        fixture_end(&f);
    }
    print_message("%u compared, %u of them not zero, %u skipped\n", tally.compared, tally.nonzero,
                  tally.skipped);
    assert_true(tally.skipped * 20 < tally.compared);
    assert_true(tally.nonzero * 3 > tally.compared);
}

/* Both ways of summarising give the same numbers, and merging never shadows less. */
static void test_merged_and_specialised_agree(void **state)
{
    SORT_UNUSED(state);
    uint64_t merged_total = 0, special_total = 0;
    for (uint32_t i = 0; i < MODULES / 2; ++i) {
        Fixture f[2];
        RandomDesc desc = {.seed = 20000 + i,
                           .functions = 4,
                           .statements = 25,
                           .with_derivatives = true,
                           .smooth = true};
        for (int merged = 0; merged < 2; ++merged) {
            fixture_begin(&f[merged]);
            random_module(&f[merged], &desc);
            fixture_run(&f[merged], &(IrPipelineDesc){.merged_summaries = merged});
        }
        assert_int_equal(f[0].report.values, f[1].report.values);
        assert_true(f[0].report.values_shadowed <= f[1].report.values_shadowed);
        special_total += f[0].report.values_shadowed;
        merged_total += f[1].report.values_shadowed;
        uint64_t s0 = i, s1 = i;
        random_point(&f[0], &s0);
        random_point(&f[1], &s1);
        for (uint32_t k = 0; k < 4; ++k) {
            double x = fixture_value(&f[0], EVAL_DUAL, f[0].module->outputs.data[k].result_first);
            double y = fixture_value(&f[1], EVAL_DUAL, f[1].module->outputs.data[k].result_first);
            assert_true(fabs(x - y) <= 1e-9 * fmax(1, fabs(x)) || !(fabs(x) < 1e6));
        }
        fixture_end(&f[0]);
        fixture_end(&f[1]);
    }
    assert_true(special_total < merged_total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_kept),
        cmocka_unit_test(test_derivatives_equal_dual_numbers),
        cmocka_unit_test(test_merged_and_specialised_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
