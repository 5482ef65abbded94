/* What the IR passes cost, with and without derivatives: shaders A to E in the manner of the
 * ancestor's measurements (A tiny without need of derivatives, B tiny with, C to E of 2,000
 * statements: C without need, D with, E with need but no lineage), and F: 64 calls of a
 * 100-statement function with different needs, with one clone a signature and with merged
 * summaries. Code generation is not in it. */
#include "base/clock.h"
#include "tests/bench/bench_options.h"
#include "tests/ssl/oracle/ir_random.h"
#include <stdio.h>

enum { CALLS = 64 };

/* Set by main, once; each shader has this part of its statements. */
static uint32_t round_count = 15, part = 1;

typedef struct Shader {
    const char *name;
    uint32_t statements;
    bool has_sink, has_lineage, has_calls;
} Shader;

/* Statements that each use the one before, so that all of them matter. */
static IrValue chain(IrBuilder *b, IrValue x, IrValue y, uint32_t statements, uint64_t *state)
{
    static const IrOp unary[] = {IR_SIN, IR_COS, IR_TANH, IR_ATAN, IR_FABS, IR_EXP};
    IrValue recent[4] = {x, y, x, y};
    for (uint32_t i = 0; i < statements; ++i) {
        IrValue v = recent[i & 3], w = recent[random_next(state, 4)], k, r;
        k = ir_const_float(b, (float)random_next(state, 64) / 64.0f);
        switch (random_next(state, 8)) {
        case 0:
            v = ir_build1(b, unary[random_next(state, SORT_COUNT_OF(unary))], v);
            break;
        case 1:
            v = ir_build2(b, IR_FDIV, v, ir_build2(b, IR_FADD, ir_build1(b, IR_FABS, w), k));
            break;
        case 2:
            ir_if_begin(b, ir_build2(b, IR_FLT, v, k));
            r = ir_build2(b, IR_FMUL, v, w);
            ir_if_else(b, &r, 1);
            r = ir_build2(b, IR_FSUB, v, w);
            ir_if_end(b, &r, 1, &v);
            break;
        case 3:
            v = ir_build2(b, IR_FMAX, ir_build2(b, IR_FMIN, v, w), k);
            break;
        default:
            v = ir_build2(b, IR_FADD, ir_build2(b, IR_FMUL, v, k), w);
        }
        recent[i & 3] = v;
    }
    return ir_build2(b, IR_FADD, ir_build2(b, IR_FADD, recent[0], recent[1]),
                     ir_build2(b, IR_FADD, recent[2], recent[3]));
}

static IrValue call_many(Fixture *f, IrValue x, IrValue y, uint64_t *state)
{
    IrBuilder *b;
    IrFuncId id = fixture_func(f, "callee", (IrType[]){IR_FLOAT, IR_FLOAT}, 2, &b);
    IrValue results[2] = {chain(b, ir_build_param(b, 0), ir_build_param(b, 1), 50, state),
                          chain(b, ir_build_param(b, 1), ir_build_param(b, 0), 50, state)};
    ir_build_end(b, results, 2);
    IrValue sum = x, k = ir_const_float(f->b, 0.25f);
    for (uint32_t i = 0; i < CALLS; ++i) {
        IrValue args[2] = {i & 1 ? x : k, i & 2 ? k : y};
        ir_build_call(f->b, id, args, 2, (IrType[]){IR_FLOAT, IR_FLOAT}, 2, results);
        sum = i & 4 ? ir_build2(f->b, IR_FADD, sum, results[i >> 3 & 1]) : sum;
    }
    return sum;
}

static void build(Fixture *f, const Shader *s)
{
    uint64_t state = 7;
    IrValue x = fixture_global(f, s->has_lineage ? G_X1 : G_FLAT, 0);
    IrValue y = fixture_global(f, s->has_lineage ? G_X2 : G_FLAT, 0), rgba[4];
    IrValue v =
        s->has_calls ? call_many(f, x, y, &state) : chain(f->b, x, y, s->statements / part, &state);
    ir_build_tex_auto(f->b, 0, (IrValue[]){s->has_sink ? v : x, y, ir_const_float(f->b, 0)}, rgba);
    IrValue out[2] = {rgba[0], v};
    fixture_outputs(f, out, 2);
}

static double run_ms(const Shader *s, bool without, bool merged, IrReport *report,
                     double *out_verify_ms, double *out_mib)
{
    double best = 1e30;
    *out_verify_ms = 1e30;
    for (uint32_t round = 0; round < round_count; ++round) {
        Fixture f;
        fixture_begin(&f);
        build(&f, s);
        uint64_t start = clock_now_ns();
        fixture_run(&f,
                    &(IrPipelineDesc){.without_derivatives = without, .merged_summaries = merged});
        double ms = clock_seconds_since(start) * 1e3;
        best = ms < best ? ms : best;
        Error err = {0};
        start = clock_now_ns();
        Status status = ir_verify(f.module, &err);
        ms = clock_seconds_since(start) * 1e3;
        if (status != STATUS_OK) {
            fprintf(stderr, "bench_ir: %s: %s\n", s->name, err.text);
            exit(1);
        }
        *out_verify_ms = ms < *out_verify_ms ? ms : *out_verify_ms;
        *report = f.report;
        *out_mib = (double)arena_high_water_bytes(f.arena) / (1 << 20);
        fixture_end(&f);
    }
    return best;
}

int main(int argc, char **argv)
{
    if (bench_is_quick(argc, argv)) {
        round_count = 1;
        part = 8;
    }
    static const Shader shaders[] = {
        {"A tiny, no need", 8, false, true, false},
        {"B tiny, derivatives", 8, true, true, false},
        {"C long, no need", 2000, false, true, false},
        {"D long, derivatives", 2000, true, true, false},
        {"E long, no lineage", 2000, true, false, false},
        {"D x 4", 8000, true, true, false},
        {"F calls", 0, true, true, true},
    };
    printf("%-22s %-9s %8s %8s %7s %8s %8s %8s %8s %7s\n", "shader", "summaries", "off ms", "on ms",
           "ratio", "verify", "inst", "values", "shadowed", "MiB");
    for (uint32_t i = 0; i < SORT_COUNT_OF(shaders); ++i) {
        for (int merged = 0; merged <= shaders[i].has_calls; ++merged) {
            IrReport report;
            double verify_ms, mib;
            double off = run_ms(&shaders[i], true, merged, &report, &verify_ms, &mib);
            double on = run_ms(&shaders[i], false, merged, &report, &verify_ms, &mib);
            printf("%-22s %-9s %8.3f %8.3f %7.2f %8.3f %8u %8u %8u %7.1f\n", shaders[i].name,
                   merged ? "merged" : "by call", off, on, on / off, verify_ms, report.instructions,
                   report.values, report.values_shadowed, mib);
        }
    }
    return 0;
}
