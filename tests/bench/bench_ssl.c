/* SSL: what compiling costs and what the code is worth.
 *
 * 1. Compile times by stage, derivatives on: a small shader, the material units of ssl/units, and generated
 *    ones, among them shaders like C, D and E of the post; without derivatives; and the second start, from
 *    the object cache.
 * 2. Nanoseconds a point of kernels beside the same mathematics in C (bench_ssl_kernels.c).
 * The least of several rounds; one thread. Ratios within one run count. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "sort/shade/ssl_tables.h"
#include "ssl/ssl.h"
#include "tests/bench/bench_ssl_kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, POINTS = 4096, BLOCKS = POINTS / SSL_BLOCK };

static double least(double a, double b)
{
    return b < a ? b : a;
}

_Noreturn static void die(const char *what, const Error *err, const DiagList *diags)
{
    StrBuf text = {0};
    if (diags)
        diag_print(diags, &text);
    (void)fprintf(stderr, "bench_ssl: %s: %s\n%s", what, err ? err->text : "", strbuf_text(&text));
    exit(1);
}

static SslContext *create_context(const SslContextDesc *tables)
{
    SslContext *ctx;
    Error err = {0};
    if (ssl_context_create(tables, &ctx, &err) != STATUS_OK)
        die("context", &err, NULL);
    return ctx;
}

static SslUnit *compile(SslContext *ctx, const char *name, const char *source)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    SslSource src = {.name = name, .text = str_from(source)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK)
        die(name, NULL, diags);
    diag_list_destroy(diags);
    return unit;
}

static SslProgram *build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how)
{
    SslProgram *program;
    Error err = {0};
    if (ssl_program_build(ctx, unit, how, NULL, &program, &err) != STATUS_OK)
        die("build", &err, NULL);
    return program;
}

/* --- compile times ------------------------------------------------------------------------------ */

typedef struct CompileTimes {
    double total, front, passes, llvm_ir, optimise, codegen, link;
    uint32_t instructions;
} CompileTimes;

static CompileTimes measure_compile(const SslContextDesc *tables, const char *name,
                                    const char *source, bool without_derivatives)
{
    CompileTimes best = {1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 0};
    SslContext *ctx = create_context(tables);
    const SslBuildDesc how = {.size_bytes = sizeof how, .without_derivatives = without_derivatives};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t start_ns = clock_now_ns();
        SslUnit *unit = compile(ctx, name, source);
        double front = clock_seconds_since(start_ns) * 1e3;
        SslProgram *program = build(ctx, unit, &how);
        double total = clock_seconds_since(start_ns) * 1e3;
        const SslProgramInfo *info = ssl_program_info(program);
        best.total = least(best.total, total);
        best.front = least(best.front, front);
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
        die("cache folder", &err, NULL);
    SslContextDesc with_cache = *tables;
    with_cache.cache_folder = folder;
    double best = 1e9;
    for (uint32_t round = 0; round < ROUNDS + 1; round++) {
        SslContext *ctx = create_context(&with_cache);
        uint64_t start_ns = clock_now_ns();
        SslUnit *unit = compile(ctx, name, source);
        SslProgram *program = build(ctx, unit, NULL);
        if (round > 0) {
            best = least(best, clock_seconds_since(start_ns) * 1e3);
            if (!ssl_program_info(program)->times.from_cache)
                die("the cache was not used", NULL, NULL);
        }
        ssl_program_release(program);
        ssl_unit_release(unit);
        ssl_context_destroy(ctx);
    }
    if (file_remove_tree(folder, &err) != STATUS_OK)
        die("cache folder", &err, NULL);
    return best;
}

static void print_compile(const SslContextDesc *tables, const char *name, const char *source)
{
    CompileTimes on = measure_compile(tables, name, source, false);
    CompileTimes off = measure_compile(tables, name, source, true);
    double cached = measure_cached(tables, name, source);
    double llvm = on.llvm_ir + on.optimise + on.codegen + on.link;
    (void)printf("%-22s %6u %8.2f %7.2f %7.2f %7.2f %7.2f %7.2f %6.0f%% %8.2f %6.2fx %8.2f\n", name,
                 on.instructions, on.total, on.front, on.passes, on.optimise,
                 on.codegen + on.llvm_ir, on.link, 100.0 * llvm / on.total, off.total,
                 on.total / off.total, cached);
}

/* How much of a generated shader the texture coordinates depend on. */
typedef enum Demand {
    DEMAND_NONE,     /* no texture: shader C of the post */
    DEMAND_SOME,     /* one statement in sixteen: D */
    DEMAND_CONSTANT, /* on parameters only, so all derivatives fold to zero: E */
    DEMAND_ALL       /* on every statement: the worst case */
} Demand;

static void add_statement(StrBuf *text, uint32_t i, const char *a, const char *b, const char *c)
{
    uint32_t k = i % 61 + 1;
    switch (i % 6) {
    case 0:
        strbuf_printf(text, "    %s = %s * 0.75 + %s * %u.0 / 64.0;\n", a, a, b, k);
        break;
    case 1:
        strbuf_printf(text, "    %s = sin(%s * 0.5 + %s) + %u.0 / 32.0;\n", b, b, c, k);
        break;
    case 2:
        strbuf_printf(text, "    %s = max(%s * 0.5, %s) - %u.0 / 128.0;\n", c, c, a, k);
        break;
    case 3:
        strbuf_printf(text, "    %s = sqrt(abs(%s * %s) + %u.0);\n", a, a, b, k);
        break;
    case 4:
        strbuf_printf(text, "    %s = %s > %s ? %s - %s * 0.25 : %s + %s / %u.5;\n", b, a, c, b, a,
                      b, c, k);
        break;
    default:
        strbuf_printf(text, "    if (%s > 0.25) %s = %s * 0.5 + %s * %u.0 / 16.0;\n", b, c, c, a,
                      k);
    }
}

/* Statements that depend on each other, with the mix of a material. */
static char *generate(uint32_t statements, Demand demand)
{
    StrBuf text = {0};
    strbuf_append_c(&text,
                    "texture2d t;\nshader main(float k = 0.5, out float o) {\n"
                    "    float a = global_value<uvw>.x;\n    float b = global_value<uvw>.y;\n"
                    "    float c = global_value<position>.x;\n");
    strbuf_append_c(&text, demand == DEMAND_CONSTANT
                               ? "    float u = k; float v = k * 2.0; float w = k + 1.0;\n"
                               : "    float u = a; float v = b; float w = c;\n");
    for (uint32_t i = 0; i < statements; i++)
        if (demand == DEMAND_CONSTANT || (demand == DEMAND_SOME && i / 6 % 16 == 0))
            add_statement(&text, i, "u", "v", "w");
        else
            add_statement(&text, i, "a", "b", "c");
    strbuf_append_c(&text, demand == DEMAND_NONE ? "    o = a + b + c;\n}\n"
                           : demand == DEMAND_ALL
                               ? "    o = texture2d_sample<t>(a, b).x + c;\n}\n"
                               : "    o = texture2d_sample<t>(u, v).x + a + c;\n}\n");
    return text.data;
}

static void bench_compile(void)
{
    SslContextDesc tables = {.size_bytes = sizeof tables};
    ssl_tables_describe(&tables);
    (void)printf("compile, ms\n%-22s %6s %8s %7s %7s %7s %7s %7s %7s %8s %7s %8s\n", "shader", "IR",
                 "total", "front", "passes", "optim.", "code", "link", "LLVM", "no deriv", "ratio",
                 "cached");
    print_compile(&tables, "textured Lambert",
                  "texture2d t;\n"
                  "shader main(out closure Ci) {\n"
                  "    const float3 uvw = global_value<uvw>;\n"
                  "    Ci = make_closure<Lambert>(texture2d_sample<t>(uvw.x * 2.0, uvw.y * 2.0),\n"
                  "                               global_value<normal>);\n"
                  "}\n");
    static const char *const units[] = {"gltf_pbr", "standard_surface"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(units); i++) {
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
        {"2000, all shadowed", 2000, DEMAND_ALL},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(generated); i++) {
        char *text = generate(generated[i].statements, generated[i].demand);
        print_compile(&tables, generated[i].name, text);
        mem_free(text);
    }
}

/* --- run times ---------------------------------------------------------------------------------- */

typedef struct RunData {
    _Alignas(64) float globals[BLOCKS * BENCH_GLOBALS_FLOATS];
    _Alignas(64) float result[2][BLOCKS * 16 * SSL_BLOCK]; /* SSL's, C's */
    uint16_t live[BLOCKS];
    char params[64];
} RunData;

static double measure_run(SslKernelFn kernel, const SslBatch *batch)
{
    kernel(batch);
    double best_s = 1e9;
    uint64_t start_ns = clock_now_ns();
    do {
        uint64_t round_ns = clock_now_ns();
        kernel(batch);
        best_s = least(best_s, clock_seconds_since(round_ns));
    } while (clock_seconds_since(start_ns) < 0.3);
    return best_s * 1e9 / POINTS;
}

/* Largest difference of the two results, relative to 1 or the value. */
static double compare(const RunData *data, uint32_t out_floats)
{
    double worst = 0;
    for (size_t i = 0; i < (size_t)BLOCKS * (1 + out_floats) * SSL_BLOCK; i++) {
        double a = (double)data->result[0][i], b = (double)data->result[1][i];
        double difference = fabs(a - b) / fmax(1.0, fabs(b));
        worst = fmax(worst, a == b || (isnan(a) && isnan(b)) ? 0.0 : difference);
    }
    return worst;
}

static void run_kernel(SslContext *ctx, const BenchKernel *k, RunData *data)
{
    SslUnit *unit = compile(ctx, k->name, k->ssl);
    SslProgram *program = build(ctx, unit, NULL);
    const SslProgramInfo *info = ssl_program_info(program);
    if (info->result_stride_bytes != 64 * (1 + k->out_floats) ||
        info->params_bytes > sizeof data->params)
        die("layout", NULL, NULL);
    ssl_params_init(program, data->params);
    SslBatch batch = {.globals = data->globals,
                      .live = data->live,
                      .params = data->params,
                      .block_count = BLOCKS,
                      .loop_budget = 1000000,
                      .stack_bytes = 1 << 16};
    double ns[2] = {1e9, 1e9};
    SslKernelFn kernels[2] = {ssl_program_kernel(program), k->c};
    for (uint32_t round = 0; round < 3; round++) /* in turn, against drifting clocks */
        for (uint32_t i = 0; i < 2; i++) {
            batch.result = data->result[i];
            ns[i] = least(ns[i], measure_run(kernels[i], &batch));
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
    SslContext *ctx = create_context(&tables);
    RunData *data = mem_alloc_aligned(sizeof *data, 64);
    if (!data)
        die("out of memory", NULL, NULL);
    memset(data, 0, sizeof *data);
    uint32_t random = 1;
    for (uint32_t i = 0; i < SORT_COUNT_OF(data->globals); i++) {
        random = random * 1664525u + 1013904223u;
        data->globals[i] = (float)(random >> 8) / 16777216.0f;
    }
    memset(data->live, 0xff, sizeof data->live);
    (void)printf("\nrun, ns a point; C: %s, -O3 -march=native\n%-24s %9s %9s %9s   %s\n",
                 bench_c_compiler, "kernel", "SSL", "C", "ratio", "difference");
    for (const BenchKernel *k = bench_kernels; k->name; k++)
        run_kernel(ctx, k, data);
    mem_free(data);
    ssl_context_destroy(ctx);
}

int main(void)
{
    bench_compile();
    bench_run();
    return 0;
}
