/* fwd_diff and bwd_diff of random programs: the two are transposes of one another, and agree with derivatives that the
 * interpreter finds by dual numbers, in double; those with a plain form are those with guards; kernels agree with them at every width, to the bit with one another.
 * test_derive COUNT [SEED [KERNELS]] runs so many programs, and so many of them as kernels. */
#include "ssl/passes/pass.h"
#include "tests/ssl/front_fixture.h"
#include "tests/ssl/oracle/ir_eval.h"
#include "tests/ssl/random/writer_diff.h"
#include "tools/ssl_kit/grid_host.h"
#include <math.h>
#include <stdlib.h>

enum { JW, JW_SIZE, TV, VALUE, SAME, TWICE, OUTPUTS };

typedef struct Tally {
    uint32_t programs, compared, by_oracle, exact, plain;
    double worst_transpose, worst_oracle;
} Tally;

static bool is_ordinary(double x)
{
    return fabs(x) < 1e12;
}

/* Gives the textures of a GridHost that are not set. */
static void look_up_ramp(void *data, const SslTextureSite *site, const double coord[7],
                         double out[12])
{
    const double s = coord[0], t = coord[1];
    const double ramp[12] = {s, t, s + t, 1, 1, 0, 1, 0, 0, 1, 1, 0};
    SORT_UNUSED(data);
    SORT_UNUSED(site);
    memcpy(out, ramp, sizeof ramp);
}

/* Returns a complaint, or NULL. */
static const char *check_point(Front *f, const IrModule *m, double x, int32_t n, bool detaches,
                               Tally *tally)
{
    EvalPoint *point = ARENA_NEW(f->arena, EvalPoint);
    *point = (EvalPoint){.mode = EVAL_DUAL, .texture = look_up_ramp};
    point->globals[0][0][0] = x;
    point->globals[0][1][0] = 1; /* d x / d x */
    point->globals[2][0][0] = n;
    EvalResult r = ir_eval(m, point, f->arena);
    double out[OUTPUTS];
    for (uint32_t i = 0; i < OUTPUTS; ++i)
        out[i] = r.values[i].elements->v;
    double by_oracle = r.values[VALUE].elements->d[0];
    point->asks_guards = true;
    EvalResult guarded = ir_eval(m, point, f->arena);
    if (r.fault)
        return "a fault";
    for (uint32_t i = 0; i < OUTPUTS; ++i)
        if (!is_ordinary(out[i]))
            return NULL;
    for (uint32_t i = 0; i < OUTPUTS; ++i)
        if (out[i] != guarded.values[i].elements->v)
            return arena_printf(f->arena, "output %u is %.17g, and with guards %.17g", i, out[i],
                                guarded.values[i].elements->v);
    double scale = 1 + out[JW_SIZE];
    ++tally->compared;
    double transpose = fabs(out[JW] - out[TV]) / scale;
    tally->worst_transpose = fmax(tally->worst_transpose, transpose);
    /* The compiler folds constants in float, and more of them where more is inlined, which programs may amplify. Kernels
     * compute in float, too, and are held to equal bits. */
    if (fabs(out[VALUE] - out[SAME]) > 1e-3 * (1 + fabs(out[VALUE])))
        return arena_printf(f->arena, "value %.17g, by fwd_diff %.17g", out[VALUE], out[SAME]);
    if (fabs(out[TWICE] - 2 * out[JW]) > 1e-12 * scale)
        return arena_printf(f->arena, "fwd_diff %.17g, of tangents twice as long %.17g", out[JW],
                            out[TWICE]);
    if (transpose > 1e-12)
        return arena_printf(f->arena, "fwd_diff %.17g, bwd_diff %.17g", out[JW], out[TV]);
    if (detaches || !is_ordinary(by_oracle))
        return NULL;
    double difference = fabs(out[JW] - by_oracle) / scale;
    tally->worst_oracle = fmax(tally->worst_oracle, difference);
    ++tally->by_oracle;
    tally->exact += difference < 1e-12;
    return difference > 1e-3
               ? arena_printf(f->arena, "fwd_diff %.17g, interpreter %.17g", out[JW], by_oracle)
               : NULL;
}

static bool has_plain_form(const IrModule *m)
{
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        for (IrInstId i = 1; m->funcs.data[id] && i < m->funcs.data[id]->insts.count; ++i)
            if (ir_inst(m->funcs.data[id], i)->op == IR_APART)
                return true;
    return false;
}

static bool check_program(uint64_t seed, Tally *tally)
{
    Front f = front_begin();
    StrBuf text = {0};
    write_diff_program(seed, &text);
    IrModule *m = front_compile(&f, strbuf_text(&text));
    Error err = {0};
    const char *complaint = NULL;
    if (ir_derive(m, f.diags, &err) != STATUS_OK) {
        StrBuf out = {0};
        diag_print(f.diags, &out);
        complaint = arena_printf(f.arena, "refused: %s%s", err.text, strbuf_text(&out));
        strbuf_free(&out);
    }
    ++tally->programs;
    tally->plain += has_plain_form(m);
    for (uint32_t i = 0; i < 6 && !complaint; ++i)
        complaint = check_point(&f, m, (double)i * 0.37 - 1, (int32_t)i, seed % 4 == 0, tally);
    if (complaint)
        fprintf(stderr, "program %llu: %s\n%s\n", (unsigned long long)seed, complaint,
                strbuf_text(&text));
    strbuf_free(&text);
    front_end(&f);
    return complaint == NULL;
}

/* --- kernels ---------------------------------------------------------------------------------- */

enum { KERNEL_POINTS = 32, WIDTHS = 3 };
static const uint32_t widths[WIDTHS] = {1, 8, 16};

typedef struct Kernels {
    SslContext *ctx;
} Kernels;

static void run_kernel(const Kernels *k, const SslUnit *unit, uint32_t lanes, uint32_t level,
                       uint32_t words[KERNEL_POINTS][OUTPUTS])
{
    Error err = {0};
    SslProgram *program;
    GridHost *grid;
    const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = lanes, .llvm_level = level};
    if (ssl_program_build(k->ctx, unit, &how, NULL, &program, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(grid_host_create(program, front_tables.globals, front_tables.global_count,
                                      KERNEL_POINTS, &grid, &err),
                     STATUS_OK);
    for (uint32_t i = 0; i < KERNEL_POINTS; ++i) {
        int32_t n = (int32_t)(i % 6);
        *grid_host_global(grid, 0, 0, 0, i) = (float)i * 0.0625f - 1;
        memcpy(grid_host_global(grid, 2, 0, 0, i), &n, sizeof n);
    }
    grid_host_run(grid);
    for (uint32_t i = 0; i < KERNEL_POINTS; ++i) {
        assert_int_equal(grid_host_fault(grid, i), 0);
        for (uint32_t o = 0; o < OUTPUTS; ++o)
            words[i][o] = grid_host_word(grid, ssl_program_info(program)->outputs[o], 0, i);
    }
    grid_host_destroy(grid);
    ssl_program_release(program);
}

static float as_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Runs a program at every width, and without optimisation; returns a complaint, or NULL. */
static const char *check_kernels(Front *f, const Kernels *k, const char *text)
{
    uint32_t words[WIDTHS + 1][KERNEL_POINTS][OUTPUTS];
    const SslSource source = {.name = "random.ssl", .text = str_from(text)};
    SslUnit *unit;
    if (ssl_unit_compile(k->ctx, &source, f->diags, &unit) != STATUS_OK)
        return "refused";
    for (uint32_t i = 0; i <= WIDTHS; ++i)
        run_kernel(k, unit, i < WIDTHS ? widths[i] : 16, i < WIDTHS ? 0 : 1, words[i]);
    ssl_unit_release(unit);
    for (uint32_t i = 0; i < KERNEL_POINTS; ++i) {
        float jw = as_float(words[0][i][JW]), tv = as_float(words[0][i][TV]);
        float size = 1 + as_float(words[0][i][JW_SIZE]);
        for (uint32_t o = 0; o < OUTPUTS; ++o)
            for (uint32_t w = 1; w <= WIDTHS; ++w)
                if (words[w][i][o] != words[0][i][o] && !isnan(as_float(words[0][i][o])))
                    return arena_printf(f->arena, "point %u: %.9g with one lane, %.9g with %u", i,
                                        (double)as_float(words[0][i][o]),
                                        (double)as_float(words[w][i][o]),
                                        w < WIDTHS ? widths[w] : 0);
        if (size < 1e5f && fabsf(jw - tv) > 1e-4f * size)
            return arena_printf(f->arena, "point %u: fwd_diff %.9g, bwd_diff %.9g", i, (double)jw,
                                (double)tv);
    }
    return NULL;
}

static uint64_t first_seed = 1;
static uint32_t program_count = 400, kernel_count = 5;

static void test_random_programs(void **state)
{
    SORT_UNUSED(state);
    Tally tally = {0};
    uint32_t bad = 0;
    for (uint32_t i = 0; i < program_count && bad < 3; ++i)
        bad += !check_program(first_seed + i, &tally);
    print_message("%u programs, %u with a plain form, %u points, %u by the interpreter, %u of them "
                  "to 1e-12; worst %.3g and %.3g\n",
                  tally.programs, tally.plain, tally.compared, tally.by_oracle, tally.exact,
                  tally.worst_transpose, tally.worst_oracle);
    assert_int_equal(bad, 0);
    assert_true(tally.compared > 2 * tally.programs);
    assert_true(2 * tally.plain > tally.programs);
    assert_true(tally.exact > 0.98 * tally.by_oracle || tally.by_oracle < 100);
}

static void test_random_kernels(void **state)
{
    SORT_UNUSED(state);
    const SslContextDesc desc = {.size_bytes = sizeof desc,
                                 .globals = front_tables.globals,
                                 .global_count = front_tables.global_count,
                                 .closures = front_tables.closures,
                                 .closure_count = front_tables.closure_count};
    Kernels k = {0};
    Error err = {0};
    uint32_t bad = 0;
    assert_int_equal(ssl_context_create(&desc, &k.ctx, &err), STATUS_OK);
    for (uint32_t i = 0; i < kernel_count && bad < 3; ++i) {
        Front f = front_begin();
        StrBuf text = {0};
        write_diff_program(first_seed + i, &text);
        const char *complaint = check_kernels(&f, &k, strbuf_text(&text));
        if (complaint)
            fprintf(stderr, "program %llu: %s\n%s\n", (unsigned long long)first_seed + i, complaint,
                    strbuf_text(&text));
        bad += complaint != NULL;
        strbuf_free(&text);
        front_end(&f);
    }
    ssl_context_destroy(k.ctx);
    assert_int_equal(bad, 0);
}

/* --- what does not change --------------------------------------------------------------------- */

static void test_other_programs_keep_their_ir(void **state)
{
    static const char source[] =
        "struct S { float a; int detach; };\n"
        "float diff_pair(float fwd_diff, float no_diff) { return fwd_diff < no_diff ? 1.0 : 0.0; "
        "}\n"
        "float f(float x) { float s = x; for (int i = 0; i < 9; ++i) s += sin(s) * ddx(x); return "
        "s; }\n"
        "shader main(out float a, out float b) { S detach = {global_value<x>, 2};\n"
        "  a = f(detach.a); b = diff_pair(a, float(detach.detach)); }\n";
    SORT_UNUSED(state);
    Front f = front_begin();
    StrBuf before = {0}, after = {0};
    Error err = {0};
    IrModule *m = front_compile(&f, source);
    ir_print_module(m, &before);
    assert_int_equal(ir_derive(m, f.diags, &err), STATUS_OK);
    ir_print_module(m, &after);
    assert_string_equal(strbuf_text(&before), strbuf_text(&after));
    strbuf_free(&before);
    strbuf_free(&after);
    front_end(&f);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        program_count = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        kernel_count = (uint32_t)strtoul(argv[3], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_random_kernels),
        cmocka_unit_test(test_other_programs_keep_their_ir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
