/* The post's table: what derivatives cost shaders A to E, to compile and to run, beside the post's figures.
 *
 *   A  tiny, needs no derivatives          C  2,000 lines, needs none
 *   B  tiny, a texture                     D  2,000 lines, a texture whose coordinates are computed
 *                                          E  the same, from parameters: all derivatives fold to zero
 * "Off" is SslBuildDesc.without_derivatives, as the post measures it. Run times are CPU time a point:
 *   with the texture cache, hot, and a filter that asks for the same texels with derivatives and without;
 *   with a service that does nothing;
 *   with the cache's default filter, which has more to do where it is given a footprint: not the shader's cost.
 * IR and instructions are those of code for one lane, as the post's. The least of several rounds, in turn. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "sort/shade/ssl_tables.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/bench_ssl_host.h"
#include "tests/bench/bench_ssl_source.h"
#include "tests/bench/formula_texture.h"
#include <stdio.h>
#include <string.h>

enum { SERVICE_SAME_TEXELS, SERVICE_NOTHING, SERVICE_FOOTPRINT, SERVICES };
enum { BLOCKS = 64, POINTS = BLOCKS * SSL_BLOCK, SHADERS = 5, TEXTURE_SIZE = 1024 };

/* Set by main, once. */
static uint32_t round_count = 4, statement_count = 2000;
static double round_seconds = 0.06;

/* --- the host ------------------------------------------------------------------------------------- */

struct SslHost {
    TexCaller caller;
    TexOptions options;
    TexId texture;
};

static void look_up(SslHost *host, const SslTexCall *call)
{
    TexRequest request = {.texture = host->texture,
                          .options = &host->options,
                          .lane_count = call->lane_count,
                          .lane_mask = call->lane_mask,
                          .with_derivs = (call->flags & SSL_TEX_WANT_DERIVS) != 0,
                          .coord = call->coord};
    if (texcache_lookup(&host->caller, &request, call->result) != 0)
        bench_die("a lookup did not get its texels", NULL, NULL);
}

static void look_up_nothing(SslHost *host, const SslTexCall *call)
{
    SORT_UNUSED(host);
    for (uint32_t i = 0; i < 4 * call->lane_count; ++i)
        call->result[i] = 0.5f;
}

typedef struct Bench {
    SslContextDesc tables;
    SslGlobalsLayout layout;
    SslHost host;
    TexCache *cache;
    TexThread *thread;
    Waiter *waiter;
    char folder[PATH_BYTES];
    float *globals; /* [BLOCKS] */
    uint16_t live[BLOCKS];
} Bench;

static void open_texture(Bench *b)
{
    Error err = {0};
    char path[PATH_BYTES];
    TexCacheDesc desc = {.size_bytes = sizeof desc};
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
    if (file_make_temp_directory("bench-ssl-post", b->folder, &err) != STATUS_OK ||
        path_join(b->folder, "texture.stex", path, &err) != STATUS_OK ||
        formula_texture_write(path, TEXTURE_SIZE, 3, 0, &err) != STATUS_OK ||
        texcache_create(&desc, &b->cache, &err) != STATUS_OK ||
        texcache_open(b->cache, &what, &b->host.texture, &err) != STATUS_OK ||
        texcache_thread_create(b->cache, &b->thread, &err) != STATUS_OK ||
        waiter_create_for_thread(&b->waiter, &err) != STATUS_OK)
        bench_die("texture", &err, NULL);
    texcache_caller_init(&b->host.caller, b->thread, b->waiter);
}

/* Any numbers in [0, 1); derivatives of uvw a tenth of a texel. */
static void fill_globals(Bench *b)
{
    ssl_globals_layout(b->tables.globals, b->tables.global_count, &b->layout);
    size_t floats = (size_t)BLOCKS * b->layout.stride_bytes / 4;
    b->globals = mem_alloc_aligned(floats * 4, 64);
    if (!b->globals)
        bench_die("out of memory", NULL, NULL);
    uint32_t random = 1;
    for (size_t i = 0; i < floats; ++i) {
        random = random * 1664525u + 1013904223u;
        b->globals[i] = (float)(random >> 8) / 16777216.0f;
    }
    for (uint32_t block = 0; block < BLOCKS; ++block) {
        float *uvw =
            b->globals + block * b->layout.stride_bytes / 4 + b->layout.offset_floats[GLOBAL_uvw];
        for (uint32_t i = 3 * SSL_BLOCK; i < 9 * SSL_BLOCK; ++i)
            uvw[i] *= 0.1f / TEXTURE_SIZE;
    }
    memset(b->live, 0xff, sizeof b->live);
}

/* --- one shader, one way -------------------------------------------------------------------------- */

typedef struct Figures {
    double compile_ms, run_ns[SERVICES], ir_kib;
    uint32_t instructions;
} Figures;

typedef struct Job {
    Bench *bench;
    SslContext *ctx;
    const char *source;
    SslBuildDesc how;
    SslKernelFn kernel;
    SslBatch batch;
} Job;

static void run_compile(void *data)
{
    Job *j = data;
    SslUnit *unit = bench_compile_unit(j->ctx, "shader", j->source);
    SslProgram *program = bench_build(j->ctx, unit, &j->how);
    ssl_program_release(program);
    ssl_unit_release(unit);
}

static void run_kernel(void *data)
{
    const Job *j = data;
    j->kernel(&j->batch);
}

static double least(double a, double b)
{
    return b < a ? b : a;
}

static void measure_run(Job *j, Figures *f)
{
    SslUnit *unit = bench_compile_unit(j->ctx, "shader", j->source);
    SslProgram *program = bench_build(j->ctx, unit, &j->how);
    const SslProgramInfo *info = ssl_program_info(program);
    size_t result_bytes = (size_t)BLOCKS * info->result_stride_bytes;
    void *result = mem_alloc_aligned(result_bytes, 64),
         *params = mem_alloc(info->params_bytes + 1, 1);
    if (!result || !params)
        bench_die("out of memory", NULL, NULL);
    memset(result, 0, result_bytes);
    ssl_params_init(program, params);
    SslServices services[SERVICES] = {
        {.size_bytes = sizeof(SslServices), .tex_lookup = look_up},
        {.size_bytes = sizeof(SslServices), .tex_lookup = look_up_nothing},
        {.size_bytes = sizeof(SslServices), .tex_lookup = look_up}};
    const uint32_t slot = 0;
    j->kernel = ssl_program_kernel(program);
    j->batch = (SslBatch){.globals = j->bench->globals,
                          .live = j->bench->live,
                          .result = result,
                          .params = params,
                          .textures = &slot,
                          .host = &j->bench->host,
                          .block_count = BLOCKS,
                          .loop_budget = 1000000,
                          .stack_bytes = 1 << 16};
    for (uint32_t i = 0; i < SERVICES; ++i) {
        j->batch.services = &services[i];
        j->bench->host.options =
            i == SERVICE_SAME_TEXELS
                ? (TexOptions){.filter = TEX_FILTER_BILINEAR, .mip = TEX_MIP_OFF}
                : (TexOptions){0};
        double ns = bench_time(run_kernel, j, round_seconds) * 1e9 / POINTS;
        f->run_ns[i] = least(f->run_ns[i], ns);
    }
    mem_free(result);
    mem_free(params);
    ssl_program_release(program);
    ssl_unit_release(unit);
}

/* As the post counts them: the optimised LLVM module as text. Instructions are the indented lines. */
static void measure_ir(const Job *j, Figures *f)
{
    StrBuf text = {0};
    DiagList *diags = diag_list_create();
    Error err = {0};
    SslSource src = {.name = "shader", .text = str_from(j->source)};
    SslBuildDesc how = j->how;
    how.lanes = 1;
    if (ssl_dump(j->ctx, &src, &how, SSL_DUMP_LLVM_OPTIMISED, diags, &text, &err) != STATUS_OK)
        bench_die("dump", &err, diags);
    f->ir_kib = (double)strlen(strbuf_text(&text)) / 1024;
    for (const char *at = strbuf_text(&text); at; at = strchr(at, '\n')) {
        at += *at == '\n';
        f->instructions += strncmp(at, "  ", 2) == 0 && at[2] != ' ' && at[2] != ';';
    }
    diag_list_destroy(diags);
    strbuf_free(&text);
}

/* --- the table ------------------------------------------------------------------------------------ */

static void print_row(const char *name, const double *value, int digits, const char *unit)
{
    (void)printf("%-34s", name);
    for (uint32_t i = 0; i < SHADERS; ++i)
        (void)printf(" %9.*f%s", digits, value[i], unit);
    (void)printf("\n");
}

static void print_three(const char *name, int digits, double off[SHADERS], double on[SHADERS],
                        const double post[3][SHADERS])
{
    char row[64];
    double ratio[SHADERS];
    for (uint32_t i = 0; i < SHADERS; ++i)
        ratio[i] = on[i] / off[i];
    (void)snprintf(row, sizeof row, "%s, off", name);
    print_row(row, off, digits, " ");
    (void)snprintf(row, sizeof row, "%s, on", name);
    print_row(row, on, digits, " ");
    print_row("  ratio", ratio, 2, "x");
    if (!post)
        return;
    print_row("  the post: off", post[0], digits, " ");
    print_row("  the post: on", post[1], digits, " ");
    print_row("  the post: ratio", post[2], 2, "x");
}

static const char shader_a[] = "shader main(float k = 0.5, out closure Ci) {\n"
                               "    const float3 n = global_value<normal>;\n"
                               "    const float f = 0.5 + 0.5 * n.z;\n"
                               "    Ci = make_closure<Lambert>(color(f, f * k, 0.25), n);\n"
                               "}\n";
static const char shader_b[] =
    "texture2d t;\n"
    "shader main(out closure Ci) {\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    Ci = make_closure<Lambert>(texture2d_sample<t>(uvw.x * 2.0, uvw.y * 3.0),\n"
    "                               global_value<normal>);\n"
    "}\n";

static const double post_compile[3][SHADERS] = {{2.065, 2.249, 85.075, 80.528, 72.661},
                                                {2.254, 2.738, 98.070, 118.632, 145.920},
                                                {1.09, 1.22, 1.15, 1.47, 2.01}};
static const double post_instructions[3][SHADERS] = {
    {32, 39, 2463, 2307, 2054}, {32, 64, 2482, 2477, 2069}, {1.00, 1.64, 1.01, 1.07, 1.01}};
static const double post_run[3][SHADERS] = {{12.908, 13.637, 1304.191, 1216.939, 1069.439},
                                            {12.972, 15.009, 1296.968, 1277.411, 1083.544},
                                            {1.00, 1.10, 1.00, 1.05, 1.01}};
static const double post_ir[3][SHADERS] = {
    {2.1, 2.4, 93.9, 87.8, 77.8}, {2.1, 3.2, 94.7, 94.0, 78.5}, {1.00, 1.35, 1.01, 1.07, 1.01}};

static void measure(Bench *b, const char *source, Figures out[2])
{
    SslContext *ctx = bench_context(&b->tables);
    Job jobs[2];
    for (uint32_t on = 0; on < 2; ++on) {
        jobs[on] = (Job){.bench = b, .ctx = ctx, .source = source};
        jobs[on].how =
            (SslBuildDesc){.size_bytes = sizeof(SslBuildDesc), .without_derivatives = !on};
        out[on] = (Figures){.compile_ms = 1e9, .run_ns = {1e9, 1e9, 1e9}};
        measure_ir(&jobs[on], &out[on]);
    }
    for (uint32_t round = 0; round < 2 * round_count; ++round) {
        Job *j = &jobs[round % 2];
        Figures *f = &out[round % 2];
        f->compile_ms = least(f->compile_ms, bench_time(run_compile, j, 2 * round_seconds) * 1e3);
        measure_run(j, f);
    }
    ssl_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    if (bench_is_quick(argc, argv)) {
        round_count = 1;
        statement_count = 100;
        round_seconds = 0.0;
    }
    static Bench b = {.tables = {.size_bytes = sizeof b.tables}};
    ssl_tables_describe(&b.tables);
    open_texture(&b);
    fill_globals(&b);
    char *source[SHADERS] = {NULL, NULL,
                             bench_ssl_source(statement_count, DEMAND_NONE, STATEMENT_LIGHT),
                             bench_ssl_source(statement_count, DEMAND_SOME, STATEMENT_LIGHT),
                             bench_ssl_source(statement_count, DEMAND_CONSTANT, STATEMENT_LIGHT)};
    double value[6][2][SHADERS];
    for (uint32_t i = 0; i < SHADERS; ++i) {
        Figures f[2];
        measure(&b, i == 0 ? shader_a : i == 1 ? shader_b : source[i], f);
        for (uint32_t on = 0; on < 2; ++on) {
            value[0][on][i] = f[on].compile_ms;
            value[1][on][i] = f[on].instructions;
            value[2][on][i] = f[on].ir_kib;
            for (uint32_t k = 0; k < SERVICES; ++k)
                value[3 + k][on][i] = f[on].run_ns[k];
        }
    }
    (void)printf("derivatives off and on%12s %10s %10s %10s %10s %10s\n", "", "A", "B", "C", "D",
                 "E");
    print_three("compile, ms", 2, value[0][0], value[0][1], post_compile);
    print_three("instructions", 0, value[1][0], value[1][1], post_instructions);
    print_three("LLVM IR, KiB", 1, value[2][0], value[2][1], post_ir);
    print_three("run, ns", 2, value[3][0], value[3][1], post_run);
    print_three("run without the call, ns", 2, value[4][0], value[4][1], NULL);
    print_three("run with a footprint, ns", 2, value[5][0], value[5][1], NULL);

    for (uint32_t i = 0; i < SHADERS; ++i)
        mem_free(source[i]);
    mem_free(b.globals);
    waiter_destroy_for_thread(b.waiter);
    texcache_thread_destroy(b.thread);
    texcache_destroy(b.cache);
    Error err = {0};
    return file_remove_tree(b.folder, &err) == STATUS_OK ? 0 : 1;
}
