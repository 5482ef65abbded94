/* What a gradient over edges costs: overlapping rings in flat colours on a picture, 8 parameters each. Per point: the picture, the
 * picture with marks, the exact gradient where every point pays for the sweep over its neighbours, and the one where only points
 * with an edge beside them do (grid_edges.h), as `sslc fit --edges` computes it. Then how many pictures that is worth, where
 * central differences take two for each parameter. Kernels alternate, and the least of several rounds counts. */
#include "base/alloc.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/bench_ssl_host.h"
#include "tools/ssl_kit/grid_edges.h"
#include "tools/ssl_kit/grid_sum.h"

enum { PARAMS_OF_A_RING = 8, RINGS_MAX = 10, CHUNK_BLOCKS = 32 };
static const uint32_t ring_counts[] = {2, 5, 10};
static const SslGlobalRow globals[] = {{"uv", SSL_FLOAT2, true, "", ""}};

static void write_source(uint32_t rings, StrBuf *out)
{
    strbuf_printf(out, "shader main(");
    for (uint32_t i = 0; i < rings; ++i)
        strbuf_printf(out,
                      "float x%u = %.3f, float y%u = %.3f, float inner%u = 0.13, float outer%u = "
                      "0.17, float tilt%u = %.1f, color paint%u = color(%.1f, 0.3, 0.6), ",
                      i, (double)(i * 37 % 100) * 0.015 + 0.25, i,
                      (double)(i * 61 % 100) * 0.005 + 0.25, i, i, i, i % 2 ? -1.0 : 1.0, i,
                      (double)i * 0.1);
    strbuf_printf(out, "out color o) { const float2 p = global_value<uv>; o = color(1);\n"
                       "  float top = -10; float d;\n");
    for (uint32_t i = 0; i < rings; ++i)
        strbuf_printf(out,
                      "  d = length(p - float2(x%u, y%u));\n"
                      "  if (d > inner%u && d < outer%u && tilt%u * (p.y - y%u) > top) {\n"
                      "    top = tilt%u * (p.y - y%u); o = paint%u; }\n",
                      i, i, i, i, i, i, i, i, i);
    strbuf_printf(out, "}\n");
}

typedef enum Kind { SMOOTH, SWEPT, MARKED } Kind;

static SslUnit *differentiate(const SslUnit *unit, Kind kind)
{
    const SslUnitInfo *info = ssl_unit_info(unit);
    SslDerivativeInput inputs[PARAMS_OF_A_RING * RINGS_MAX];
    const char *const outputs[] = {"o"};
    for (uint32_t i = 0; i < info->param_count; ++i)
        inputs[i] = (SslDerivativeInput){SSL_INPUT_PARAM, info->params[i].name};
    const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                   .is_backward = kind != MARKED,
                                   .has_edges = kind == SWEPT,
                                   .marks_edges = kind == MARKED,
                                   .inputs = inputs,
                                   .input_count = info->param_count,
                                   .outputs = outputs,
                                   .output_count = 1};
    Error err = {0};
    DiagList *diags = diag_list_create();
    SslUnit *made;
    if (ssl_unit_differentiate(unit, &how, diags, &made, &err) != STATUS_OK)
        bench_die("derivative", &err, diags);
    diag_list_destroy(diags);
    return made;
}

/* --- a program on the pixels of a picture ----------------------------------------------------------- */

typedef struct Side {
    SslUnit *unit;
    SslProgram *program;
    GridHost *host;
} Side;

static void place_points(GridHost *host, uint32_t width, uint32_t height)
{
    for (uint32_t i = 0; i < width * height; ++i) {
        float step = 1.0f / (float)height;
        *grid_host_global(host, 0, 0, 0, i) = ((float)(i % width) + 0.5f) * step;
        *grid_host_global(host, 0, 0, 1, i) = ((float)(i / width) + 0.5f) * step;
        *grid_host_global(host, 0, 1, 0, i) = step;
        *grid_host_global(host, 0, 2, 1, i) = step;
    }
    grid_host_watch(host, GRID_WATCH_NONE);
}

/* All adjoints are 1. */
static Side make_side(SslContext *ctx, SslUnit *unit, uint32_t width, uint32_t height)
{
    Side s = {.unit = unit, .program = bench_build(ctx, unit, NULL)};
    Error err = {0};
    if (grid_host_create(s.program, globals, 1, width * height, &s.host, &err) != STATUS_OK)
        bench_die("host", &err, NULL);
    place_points(s.host, width, height);
    for (uint32_t i = 0; i < ssl_unit_info(unit)->attribute_count; ++i)
        grid_host_set_attribute(s.host, i, 0, &(SslValue){.type = SSL_COLOR, .f = {1, 1, 1}});
    return s;
}

static void release(Side *s)
{
    grid_host_destroy(s->host);
    ssl_program_release(s->program);
    ssl_unit_release(s->unit);
}

/* --- what is measured ------------------------------------------------------------------------------- */

typedef struct Picture {
    uint32_t width, height, near_count;
    Side values, marked, smooth, swept, all;
    GridSum *smooth_sum, *swept_sum, *all_sum;
    uint32_t *marks, *near;
} Picture;

static void run_and_sum(GridHost *host, uint32_t blocks, GridSum *sum)
{
    Error err = {0};
    ssl_sum_clear(grid_sum_total(sum));
    if (grid_sum_run(sum, host, 0, blocks, &err) != STATUS_OK)
        bench_die("sum", &err, NULL);
}

static void run(void *data)
{
    grid_host_run(data);
}

static void run_all(void *data)
{
    Picture *p = data;
    run_and_sum(p->all.host, p->width * p->height / SSL_BLOCK, p->all_sum);
}

static void run_where_edges_are(void *data)
{
    Picture *p = data;
    uint32_t points = p->width * p->height;
    const GridMarks marks = {p->marks, p->width, p->height};
    const SslOutputSlot slot = ssl_program_info(p->marked.program)->outputs[1];
    for (uint32_t first = 0; first < points / SSL_BLOCK; first += CHUNK_BLOCKS) {
        uint32_t left = points / SSL_BLOCK - first,
                 count = left < CHUNK_BLOCKS ? left : CHUNK_BLOCKS;
        grid_host_run_blocks(p->marked.host, first, count);
        grid_host_words(p->marked.host, slot, 0, first * SSL_BLOCK, count * SSL_BLOCK,
                        p->marks + first * SSL_BLOCK);
    }
    p->near_count = grid_edges_find(&marks, p->smooth.host, 0, points, p->near);
    grid_edges_gather(p->swept.host, 0, p->all.host, p->near, p->near_count);
    run_and_sum(p->smooth.host, points / SSL_BLOCK, p->smooth_sum);
    run_and_sum(p->swept.host, grid_edges_keep(p->swept.host, p->near_count), p->swept_sum);
}

static void least(double *out, double seconds, uint32_t points)
{
    double ns = seconds * 1e9 / points;
    *out = *out == 0 || ns < *out ? ns : *out;
}

static GridSum *make_sum(const Side *side)
{
    Error err = {0};
    GridSum *sum;
    if (grid_sum_create(side->program, CHUNK_BLOCKS, &sum, &err) != STATUS_OK)
        bench_die("sum", &err, NULL);
    return sum;
}

static void measure_picture(Picture *p, uint32_t params, uint32_t rounds, double seconds)
{
    uint32_t points = p->width * p->height;
    double value = 0, marked = 0, all = 0, gradient = 0;
    for (uint32_t i = 0; i < rounds; ++i) {
        least(&value, bench_time(run, p->values.host, seconds), points);
        least(&marked, bench_time(run, p->marked.host, seconds), points);
        least(&all, bench_time(run_all, p, seconds), points);
        least(&gradient, bench_time(run_where_edges_are, p, seconds), points);
    }
    printf("%10u  %8.1f %%  %9.2f  %9.2f  %9.2f  %12.2f  %12.2f  %16.2f  %19u\n", params,
           100.0 * p->near_count / points, value, marked, all, gradient, all / value,
           gradient / value, 2 * params);
}

static void measure(SslContext *ctx, uint32_t rings, bool is_quick)
{
    StrBuf source = {0};
    write_source(rings, &source);
    SslUnit *unit = bench_compile_unit(ctx, "rings", strbuf_text(&source));
    Picture p = {.width = is_quick ? 32 : 640, .height = is_quick ? 16 : 320};
    p.marked = make_side(ctx, differentiate(unit, MARKED), p.width, p.height);
    p.smooth = make_side(ctx, differentiate(unit, SMOOTH), p.width, p.height);
    p.all = make_side(ctx, differentiate(unit, SWEPT), p.width, p.height);
    p.swept =
        (Side){.unit = ssl_unit_retain(p.all.unit), .program = ssl_program_retain(p.all.program)};
    Error err = {0};
    if (grid_host_create(p.swept.program, globals, 1, p.width * p.height, &p.swept.host, &err) !=
        STATUS_OK)
        bench_die("host", &err, NULL);
    grid_host_watch(p.swept.host, GRID_WATCH_NONE);
    p.values = make_side(ctx, unit, p.width, p.height);
    p.smooth_sum = make_sum(&p.smooth);
    p.swept_sum = make_sum(&p.swept);
    p.all_sum = make_sum(&p.all);
    p.marks = MEM_ARRAY(uint32_t, p.width *p.height);
    p.near = MEM_ARRAY(uint32_t, p.width *p.height);
    if (!p.marks || !p.near)
        bench_die("memory", &err, NULL);
    measure_picture(&p, rings * PARAMS_OF_A_RING, is_quick ? 1 : 5, is_quick ? 0.0 : 0.05);
    grid_sum_destroy(p.smooth_sum);
    grid_sum_destroy(p.swept_sum);
    grid_sum_destroy(p.all_sum);
    Side *sides[] = {&p.values, &p.marked, &p.smooth, &p.swept, &p.all};
    for (size_t i = 0; i < SORT_COUNT_OF(sides); ++i)
        release(sides[i]);
    mem_free(p.marks);
    mem_free(p.near);
    strbuf_free(&source);
}

int main(int argc, char **argv)
{
    bool is_quick = bench_is_quick(argc, argv);
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 1};
    SslContext *ctx = bench_context(&tables);
    printf("%10s  %10s  %9s  %9s  %9s  %12s  %12s  %16s  %19s\n", "parameters", "near edges",
           "value, ns", "marks, ns", "all, ns", "gradient, ns", "all / value", "gradient / value",
           "differences / value");
    for (size_t i = 0; i < (is_quick ? 1 : SORT_COUNT_OF(ring_counts)); ++i)
        measure(ctx, ring_counts[i], is_quick);
    ssl_context_destroy(ctx);
    return 0;
}
