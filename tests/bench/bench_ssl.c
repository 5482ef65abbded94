/* SSL: what compiling costs and what the code is worth.
 *
 * 1. Compile times, derivatives on: a small shader, the material units of ssl/units, and generated ones;
 *    without derivatives; and the second start, from the object cache, which compiles nothing. Totals and
 *    the front end in CPU time, LLVM's stages in elapsed time; "/ LLVM": all to what LLVM's passes and code
 *    generation alone take for this IR.
 * 2. The same work by one thread and by two.
 * 3. Nanoseconds a point of kernels beside the same mathematics in C (bench_ssl_kernels.c and
 *    bench_ssl_shaders.c). Largest difference of results: the C side calls the C library.
 * The least of several rounds. Ratios within one run count. bench_ssl_post: what derivatives cost. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "sort/shade/ssl_tables.h"
#include "ssl/ssl.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/bench_ssl_host.h"
#include "tests/bench/bench_ssl_kernels.h"
#include "tests/bench/bench_ssl_source.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 4096, BLOCKS = POINTS / SSL_BLOCK };

/* Set by main, once; generated shaders have this part of their statements. */
static uint32_t round_count = 5, pair_count = 3, part = 1;
static double run_seconds = 0.1;

static double least(double a, double b)
{
    return b < a ? b : a;
}

/* --- compile times ------------------------------------------------------------------------------ */

typedef struct CompileTimes {
    double total, front, passes, llvm_ir, optimise, codegen, link;
    double over_llvm; /* elapsed time of all, to that in LLVM's passes and code generation */
    uint32_t instructions;
} CompileTimes;

static CompileTimes measure_compile(const SslContextDesc *tables, const char *name,
                                    const char *source, bool without_derivatives)
{
    CompileTimes best = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 0};
    SslContext *ctx = bench_context(tables);
    const SslBuildDesc how = {.size_bytes = sizeof how, .without_derivatives = without_derivatives};
    for (uint32_t round = 0; round < round_count; ++round) {
        uint64_t start_ns = clock_now_ns();
        double start = bench_cpu_seconds();
        SslUnit *unit = bench_compile_unit(ctx, name, source);
        best.front = least(best.front, (bench_cpu_seconds() - start) * 1e3);
        SslProgram *program = bench_build(ctx, unit, &how);
        best.total = least(best.total, (bench_cpu_seconds() - start) * 1e3);
        const SslProgramInfo *info = ssl_program_info(program);
        double llvm_ms = info->times.optimise_ms + info->times.codegen_ms;
        best.over_llvm = least(best.over_llvm, clock_seconds_since(start_ns) * 1e3 / llvm_ms);
        best.passes = least(best.passes, info->times.ir_ms);
        best.llvm_ir = least(best.llvm_ir, info->times.llvm_ir_ms);
        best.optimise = least(best.optimise, info->times.optimise_ms);
        best.codegen = least(best.codegen, info->times.codegen_ms);
        best.link = least(best.link, info->times.link_ms);
        best.instructions = info->ir_instructions;
        ssl_program_release(program);
        ssl_unit_release(unit);
    }
    ssl_context_destroy(ctx);
    return best;
}

/* Starts with a full cache: the least time from source to kernel in a new context. */
static double measure_cached(const SslContextDesc *tables, const char *name, const char *source)
{
    char folder[PATH_BYTES];
    Error err = {0};
    if (file_make_temp_directory("bench-ssl", folder, &err) != STATUS_OK)
        bench_die("cache folder", &err, NULL);
    SslContextDesc with_cache = *tables;
    with_cache.cache_folder = folder;
    double best = 1e9;
    for (uint32_t round = 0; round < round_count + 1; ++round) {
        SslContext *ctx = bench_context(&with_cache);
        double start = bench_cpu_seconds();
        SslUnit *unit = bench_compile_unit(ctx, name, source);
        SslProgram *program = bench_build(ctx, unit, NULL);
        if (round > 0) {
            best = least(best, (bench_cpu_seconds() - start) * 1e3);
            if (!ssl_program_info(program)->times.from_cache)
                bench_die("the cache was not used", NULL, NULL);
        }
        ssl_program_release(program);
        ssl_unit_release(unit);
        ssl_context_destroy(ctx);
    }
    if (file_remove_tree(folder, &err) != STATUS_OK)
        bench_die("cache folder", &err, NULL);
    return best;
}

static void print_compile(const SslContextDesc *tables, const char *name, const char *source)
{
    CompileTimes on = measure_compile(tables, name, source, false);
    CompileTimes off = measure_compile(tables, name, source, true);
    double cached = measure_cached(tables, name, source);
    (void)printf("%-22s %6u %8.2f %7.2f %7.2f %7.2f %7.2f %7.2f %6.2fx %8.2f %6.2fx %8.2f\n", name,
                 on.instructions, on.total, on.front, on.passes, on.optimise,
                 on.codegen + on.llvm_ir, on.link, on.over_llvm, off.total, on.total / off.total,
                 cached);
}

static void bench_compile(void)
{
    SslContextDesc tables = {.size_bytes = sizeof tables};
    ssl_tables_describe(&tables);
    (void)printf("compile, ms\n%-22s %6s %8s %7s %7s %7s %7s %7s %7s %8s %7s %8s\n", "shader", "IR",
                 "total", "front", "passes", "optim.", "code", "link", "/ LLVM", "no deriv",
                 "ratio", "cached");
    print_compile(&tables, "textured Lambert",
                  "texture2d t;\n"
                  "shader main(out closure Ci) {\n"
                  "    const float3 uvw = global_value<uvw>;\n"
                  "    Ci = make_closure<Lambert>(texture2d_sample<t>(uvw.x * 2.0, uvw.y * 2.0),\n"
                  "                               global_value<normal>);\n"
                  "}\n");
    static const char *const units[] = {"gltf_pbr", "standard_surface"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(units); ++i) {
        char path[128], *text;
        size_t size;
        Error err = {0};
        (void)snprintf(path, sizeof path, "ssl/units/%s.ssl", units[i]);
        if (file_read(path, 1 << 20, &text, &size, &err) != STATUS_OK) {
            (void)printf("%-22s run this from the repository's root\n", units[i]);
            continue;
        }
        print_compile(&tables, units[i], text);
        mem_free(text);
    }
    static const struct {
        const char *name;
        uint32_t statements;
        Demand demand;
    } generated[] = {
        {"200, texture", 200, DEMAND_SOME},       {"C: 2000, no texture", 2000, DEMAND_NONE},
        {"D: 2000, texture", 2000, DEMAND_SOME},  {"E: 2000, folds to zero", 2000, DEMAND_CONSTANT},
        {"2000, all shadowed", 2000, DEMAND_ALL}, {"4000, all shadowed", 4000, DEMAND_ALL},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(generated); ++i) {
        char *text =
            bench_ssl_source(generated[i].statements / part, generated[i].demand, STATEMENT_HEAVY);
        print_compile(&tables, generated[i].name, text);
        mem_free(text);
    }
}

/* --- threads ------------------------------------------------------------------------------------ */

enum { PARALLEL_SHADERS = 8 };

typedef struct Parallel {
    SslContext *ctx;
    char *source[PARALLEL_SHADERS];
} Parallel;

static void compile_one(void *data, uint32_t index)
{
    const Parallel *p = data;
    SslUnit *unit = bench_compile_unit(p->ctx, "shader", p->source[index]);
    ssl_program_release(bench_build(p->ctx, unit, NULL));
    ssl_unit_release(unit);
}

/* Elapsed time, so it counts only on a machine with nothing else to do. */
static void bench_threads(void)
{
    SslContextDesc tables = {.size_bytes = sizeof tables};
    ssl_tables_describe(&tables);
    Parallel p = {.ctx = bench_context(&tables)};
    for (uint32_t i = 0; i < PARALLEL_SHADERS; ++i) /* of lengths of their own: nothing is shared */
        p.source[i] = bench_ssl_source(500 / part + i, DEMAND_SOME, STATEMENT_HEAVY);
    double seconds[2] = {1e9, 1e9};
    for (uint32_t round = 0; round < 2 * pair_count; ++round) {
        uint64_t start_ns = clock_now_ns();
        parallel_for(1 + round % 2, PARALLEL_SHADERS, compile_one, &p);
        seconds[round % 2] = least(seconds[round % 2], clock_seconds_since(start_ns));
    }
    (void)printf("\n%d shaders of 500 statements: one thread %.0f ms, two %.0f ms, %.2fx\n",
                 PARALLEL_SHADERS, seconds[0] * 1e3, seconds[1] * 1e3, seconds[0] / seconds[1]);
    for (uint32_t i = 0; i < PARALLEL_SHADERS; ++i)
        mem_free(p.source[i]);
    ssl_context_destroy(p.ctx);
}

/* --- run times ---------------------------------------------------------------------------------- */

typedef struct RunData {
    _Alignas(64) float globals[BLOCKS * BENCH_GLOBALS_FLOATS];
    _Alignas(64) float result[2][BLOCKS * 16 * SSL_BLOCK]; /* SSL's, C's */
    uint16_t live[BLOCKS];
    char params[64];
} RunData;

typedef struct RunJob {
    SslKernelFn kernel;
    SslBatch batch;
} RunJob;

static void run_job(void *data)
{
    const RunJob *j = data;
    j->kernel(&j->batch);
}

/* Largest difference of the two results, relative to 1 or the value. */
static double compare(const RunData *data, uint32_t out_floats)
{
    double worst = 0;
    for (size_t i = 0; i < (size_t)BLOCKS * (1 + out_floats) * SSL_BLOCK; ++i) {
        double a = (double)data->result[0][i], b = (double)data->result[1][i];
        double difference = fabs(a - b) / fmax(1.0, fabs(b));
        worst = fmax(worst, a == b || (isnan(a) && isnan(b)) ? 0.0 : difference);
    }
    return worst;
}

static void run_kernel(SslContext *ctx, const BenchKernel *k, RunData *data)
{
    SslUnit *unit = bench_compile_unit(ctx, k->name, k->ssl);
    SslProgram *program = bench_build(ctx, unit, NULL);
    const SslProgramInfo *info = ssl_program_info(program);
    if (info->result_stride_bytes != 64 * (1 + k->out_floats) ||
        info->params_bytes > sizeof data->params)
        bench_die("layout", NULL, NULL);
    ssl_params_init(program, data->params);
    SslBatch batch = {.globals = data->globals,
                      .live = data->live,
                      .params = data->params,
                      .block_count = BLOCKS,
                      .loop_budget = 1000000,
                      .stack_bytes = 1 << 16};
    double ns[2] = {1e9, 1e9};
    RunJob jobs[2] = {{ssl_program_kernel(program), batch}, {k->c, batch}};
    for (uint32_t round = 0; round < 2 * pair_count;
         ++round) { /* in turn, against drifting clocks */
        uint32_t i = round % 2;
        jobs[i].batch.result = data->result[i];
        ns[i] = least(ns[i], bench_time(run_job, &jobs[i], run_seconds) * 1e9 / POINTS);
    }
    (void)printf("%-24s %9.2f %9.2f %8.2fx   %.1e\n", k->name, ns[0], ns[1], ns[0] / ns[1],
                 compare(data, k->out_floats));
    ssl_program_release(program);
    ssl_unit_release(unit);
}

static void bench_run(void)
{
    static const SslGlobalRow rows[] = {
        {.name = "p", .type = SSL_POINT, .has_derivs = true, .space = "", .doc = ""},
        {.name = "N", .type = SSL_NORMAL, .has_derivs = true, .space = "", .doc = ""},
        {.name = "uv", .type = SSL_FLOAT2, .has_derivs = true, .space = "", .doc = ""}};
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = rows, .global_count = SORT_COUNT_OF(rows)};
    SslContext *ctx = bench_context(&tables);
    RunData *data = mem_alloc_aligned(sizeof *data, 64);
    if (!data)
        bench_die("out of memory", NULL, NULL);
    memset(data, 0, sizeof *data);
    uint32_t random = 1;
    for (uint32_t i = 0; i < SORT_COUNT_OF(data->globals); ++i) {
        random = random * 1664525u + 1013904223u;
        data->globals[i] = (float)(random >> 8) / 16777216.0f;
    }
    memset(data->live, 0xff, sizeof data->live);
    (void)printf("\nrun, ns a point; C: %s, -O3 -march=native\n%-24s %9s %9s %9s   %s\n",
                 bench_c_compiler, "kernel", "SSL", "C", "ratio", "difference");
    for (const BenchKernel *k = bench_kernels; k->name; ++k)
        run_kernel(ctx, k, data);
    for (const BenchKernel *k = bench_shaders; k->name; ++k)
        run_kernel(ctx, k, data);
    mem_free(data);
    ssl_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (bench_is_quick(argc, argv)) {
        round_count = pair_count = 1;
        part = 20;
        run_seconds = 0.0;
    }
    bench_compile();
    bench_threads();
    bench_run();
    return 0;
}
