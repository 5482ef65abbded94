/* What a gradient by the parameters of a shader costs: nanoseconds a point of the shader, of its backward unit, and of the exact
 * sum of what that gives, for 5, 20 and 100 parameters; and how many evaluations of the shader the gradient is worth, where
 * central differences take two for each parameter. Then what it costs if the points belong to many instances, each with parameters
 * and sums of its own, as objects of one material in a scene [Bangaru2023 6.2]: one kernel serves them all. Kernels alternate, and the least of
 * several rounds counts. */
#include "ssl/ssl_sum.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/bench_ssl_host.h"
#include "tools/ssl_kit/grid_host.h"

enum { POINTS = 1024, SIZES = 3, PARAMS_OF_A_HILL = 5 };
enum { INSTANCES_MAX = 343, INSTANCE_COUNTS = 3 };
static const uint32_t instance_counts[INSTANCE_COUNTS] = {1, 49, INSTANCES_MAX};
static const uint32_t hill_counts[SIZES] = {1, 4, 20};
static const SslGlobalRow globals[] = {{"u", SSL_FLOAT2, false, "", ""}};

/* A landscape of hills, each with a place, a height, a width and a slope. */
static void write_source(uint32_t hills, StrBuf *out)
{
    strbuf_printf(
        out,
        "float hill(float2 p, float x, float y, float height, float width, float slope) {\n"
        "  const float dx = p.x - x, dy = p.y - y, d = (dx * dx + dy * dy) / (width * width);\n"
        "  return d > 9 ? 0.0 : (height + slope * dx) * exp(-d); }\n"
        "shader main(");
    for (uint32_t i = 0; i < hills; ++i)
        strbuf_printf(
            out,
            "float x%u = %.3f, float y%u = %.3f, float h%u = 0.7, float w%u = 0.25, float s%u "
            "= 0.3, ",
            i, (double)(i * 37 % 100) * 0.01, i, (double)(i * 61 % 100) * 0.01, i, i, i);
    strbuf_printf(out, "out float o) { const float2 p = global_value<u>; o = 0;\n");
    for (uint32_t i = 0; i < hills; ++i)
        strbuf_printf(out, "  o += hill(p, x%u, y%u, h%u, w%u, s%u);\n", i, i, i, i, i);
    strbuf_printf(out, "}\n");
}

static SslUnit *differentiate(const SslUnit *unit)
{
    const SslUnitInfo *info = ssl_unit_info(unit);
    SslDerivativeInput inputs[PARAMS_OF_A_HILL * 20];
    const char *const outputs[] = {"o"};
    for (uint32_t i = 0; i < info->param_count; ++i)
        inputs[i] = (SslDerivativeInput){SSL_INPUT_PARAM, info->params[i].name};
    const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                   .is_backward = true,
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

static GridHost *make_host(SslProgram *program)
{
    Error err = {0};
    GridHost *host;
    if (grid_host_create(program, globals, 1, POINTS, &host, &err) != STATUS_OK)
        bench_die("host", &err, NULL);
    for (uint32_t i = 0; i < POINTS; ++i) {
        *grid_host_global(host, 0, 0, 0, i) = (float)(i % 64) / 64.0f;
        *grid_host_global(host, 0, 0, 1, i) = (float)i / POINTS;
        if (ssl_program_info(program)->unit->attribute_count)
            *grid_host_attribute(host, 0, 0, 0, i) = 1.0f;
    }
    return host;
}

typedef struct Summed {
    GridHost *host;
    SslSum *sum;
} Summed;

static void run(void *data)
{
    grid_host_run(data);
}

static void add(void *data)
{
    const Summed *s = data;
    Error err = {0};
    ssl_sum_clear(s->sum);
    if (ssl_sum_add(s->sum, grid_host_batch(s->host), &err) != STATUS_OK)
        bench_die("sum", &err, NULL);
}

static void least(double *out, double seconds)
{
    double ns = seconds * 1e9 / POINTS;
    *out = *out == 0 || ns < *out ? ns : *out;
}

static void measure(uint32_t hills, uint32_t rounds, double seconds)
{
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 1};
    SslContext *ctx = bench_context(&tables);
    StrBuf source = {0};
    write_source(hills, &source);
    SslUnit *unit = bench_compile_unit(ctx, "hills", strbuf_text(&source));
    SslUnit *back = differentiate(unit);
    SslProgram *plain = bench_build(ctx, unit, NULL), *backward = bench_build(ctx, back, NULL);
    GridHost *values = make_host(plain);
    Summed summed = {.host = make_host(backward)};
    Error err = {0};
    if (ssl_sum_create(backward, &summed.sum, &err) != STATUS_OK)
        bench_die("sum", &err, NULL);
    double value_ns = 0, gradient_ns = 0, sum_ns = 0;
    for (uint32_t i = 0; i < rounds; ++i) {
        least(&value_ns, bench_time(run, values, seconds));
        least(&gradient_ns, bench_time(run, summed.host, seconds));
        least(&sum_ns, bench_time(add, &summed, seconds));
    }
    uint32_t params = hills * PARAMS_OF_A_HILL;
    printf("%10u  %9.2f  %13.2f  %7.2f  %12.2f  %19u\n", params, value_ns, gradient_ns, sum_ns,
           (gradient_ns + sum_ns) / value_ns, 2 * params);
    ssl_sum_destroy(summed.sum);
    grid_host_destroy(summed.host);
    grid_host_destroy(values);
    ssl_program_release(backward);
    ssl_program_release(plain);
    ssl_unit_release(back);
    ssl_unit_release(unit);
    strbuf_free(&source);
    ssl_context_destroy(ctx);
}

/* --- instances ------------------------------------------------------------------------------------ */

/* As many batches of points as the most instances, shared out among `count` of them. */
typedef struct Instances {
    SslProgram *program;
    GridHost *host; /* of one batch */
    uint32_t count;
    SslSum *sums[INSTANCES_MAX];
} Instances;

static void begin_instance(const Instances *s, uint32_t instance)
{
    const SslUnitInfo *info = ssl_program_info(s->program)->unit;
    Error err = {0};
    for (uint32_t p = 0; p < info->param_count; ++p) {
        SslValue value = info->params[p].default_value;
        value.f[0] += 1e-3f * (float)instance;
        if (ssl_params_set(s->program, grid_host_params(s->host), p, &value, &err) != STATUS_OK)
            bench_die("parameter", &err, NULL);
    }
    ssl_sum_clear(s->sums[instance]);
}

/* Gives each instance its parameters, runs the kernel on its points, and adds up the gradients. */
static void step(void *data)
{
    const Instances *s = data;
    for (uint32_t i = 0; i < INSTANCES_MAX; ++i) {
        uint32_t instance = i * s->count / INSTANCES_MAX;
        Error err = {0};
        if (i == 0 || instance != (i - 1) * s->count / INSTANCES_MAX)
            begin_instance(s, instance);
        grid_host_run(s->host);
        if (ssl_sum_add(s->sums[instance], grid_host_batch(s->host), &err) != STATUS_OK)
            bench_die("sum", &err, NULL);
    }
}

static void measure_instances(uint32_t rounds, double seconds)
{
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 1};
    SslContext *ctx = bench_context(&tables);
    StrBuf source = {0};
    write_source(hill_counts[1], &source);
    SslUnit *unit = bench_compile_unit(ctx, "hills", strbuf_text(&source));
    SslUnit *back = differentiate(unit);
    Instances s = {.program = bench_build(ctx, back, NULL)};
    Error err = {0};
    s.host = make_host(s.program);
    for (uint32_t i = 0; i < INSTANCES_MAX; ++i)
        if (ssl_sum_create(s.program, &s.sums[i], &err) != STATUS_OK)
            bench_die("sum", &err, NULL);
    double ns[INSTANCE_COUNTS] = {0};
    for (uint32_t round = 0; round < rounds; ++round)
        for (uint32_t i = 0; i < INSTANCE_COUNTS; ++i) {
            s.count = instance_counts[i];
            double found = bench_time(step, &s, seconds) * 1e9 / (INSTANCES_MAX * POINTS);
            ns[i] = round == 0 || found < ns[i] ? found : ns[i];
        }
    printf("\n%10s  %9s  %5s\n", "instances", "all, ns", "ratio");
    for (uint32_t i = 0; i < INSTANCE_COUNTS; ++i)
        printf("%10u  %9.2f  %5.2f\n", instance_counts[i], ns[i], ns[i] / ns[0]);
    for (uint32_t i = 0; i < INSTANCES_MAX; ++i)
        ssl_sum_destroy(s.sums[i]);
    grid_host_destroy(s.host);
    ssl_program_release(s.program);
    ssl_unit_release(back);
    ssl_unit_release(unit);
    strbuf_free(&source);
    ssl_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    bool is_quick = bench_is_quick(argc, argv);
    printf("%10s  %9s  %13s  %7s  %12s  %19s\n", "parameters", "value, ns", "gradients, ns",
           "sum, ns", "all / value", "differences / value");
    for (uint32_t i = 0; i < SIZES; ++i)
        measure(hill_counts[i], is_quick ? 1 : 7, is_quick ? 0.0 : 0.03);
    measure_instances(is_quick ? 1 : 7, is_quick ? 0.0 : 0.03);
    return 0;
}
