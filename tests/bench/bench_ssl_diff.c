/* What derivatives in the language cost: nanoseconds a point and milliseconds to compile of a function, of fwd_diff of it with
 * one and with two tangents, and of bwd_diff, each as a ratio to the function. Targets: 2.0, 2.5 and 3; to compile 4. Kernels
 * alternate, and the least of several rounds counts. */
#include "tests/bench/bench_options.h"
#include "tests/bench/bench_ssl_host.h"
#include "tools/ssl_kit/grid_host.h"

enum { POINTS = 4096, KINDS = 4, FUNCTIONS = 3 };
static const char *const kinds[KINDS] = {"value", "1 tangent", "2 tangents", "backward"};
static const SslGlobalRow globals[] = {{"u", SSL_FLOAT3, false, "", ""}};

#define MAIN(body)                                                                                 \
    "shader main(out float3 o) { const float3 u = global_value<u>, n = normalize(float3(u.x, "     \
    "u.y, 1)), "                                                                                   \
    "v = normalize(float3(u.y, 0.2, 1)), b = float3(u.x, 0.5, 0.2); const float r = 0.2 + 0.5 * "  \
    "u.y, "                                                                                        \
    "m = u.x; " body " }"

static const char material[] =
    "[Differentiable] float3 f(float3 base, float rough, float metal, float3 n, float3 v) {\n"
    "  const float3 l = normalize(float3(0.3, 0.5, 0.8)), h = normalize(l + v);\n"
    "  const float nl = max(dot(n, l), 0.01), nv = max(dot(n, v), 0.01);\n"
    "  const float nh = max(dot(n, h), 0), vh = max(dot(v, h), 0), a = rough * rough, a2 = a * a;\n"
    "  const float d = nh * nh * (a2 - 1) + 1, ndf = a2 / (M_PI * d * d);\n"
    "  const float gl = nl / (nl + sqrt(a2 + (1 - a2) * nl * nl));\n"
    "  const float gv = nv / (nv + sqrt(a2 + (1 - a2) * nv * nv));\n"
    "  const float3 f0 = mix(float3(0.04), base, metal), fr = f0 + (float3(1) - f0) * pow(1 - vh, "
    "5);\n"
    "  return (base * ((1 - metal) / M_PI) + fr * (ndf * gl * gv / (4 * nl * nv))) * nl; }\n";
static const char series[] =
    "[Differentiable] float f(float x) { float s = 0, p = 1;\n"
    "  for (int i = 1; i <= 64; ++i) { p = p * x / float(i); s += sin(p + x); } return s; }\n";
static const char noises[] =
    "[Differentiable] float f(float3 p) { float s = 0, w = 1; for (int i = 0; i < 4; ++i) {\n"
    "  s += w * snoise(p); p *= 2; w *= 0.5; } return s; }\n";

static const char *const sources[FUNCTIONS][1 + KINDS] = {
    {material, MAIN("o = f(b, r, m, n, v);"),
     MAIN("const diff_pair<float3> y = fwd_diff(f)(diff_pair(b, float3(u.z)), diff_pair(r, 1), "
          "diff_pair(m, u.x), diff_pair(n), diff_pair(v)); o = y.p + y.d;"),
     MAIN(
         "const diff_pair<float3> y = fwd_diff(f)(diff_pair(b, float3(u.z)), diff_pair(r, 1), "
         "diff_pair(m, u.x), diff_pair(n), diff_pair(v)), z = fwd_diff(f)(diff_pair(b, float3(1)), "
         "diff_pair(r, u.y), diff_pair(m, 1), diff_pair(n), diff_pair(v)); o = y.p + y.d + z.d;"),
     MAIN("diff_pair<float3> pb = diff_pair(b), pn = diff_pair(n), pv = diff_pair(v); "
          "diff_pair<float> pr = diff_pair(r), pm = diff_pair(m); "
          "bwd_diff(f)(pb, pr, pm, pn, pv, float3(1, u.x, u.y)); "
          "o = pb.d + pn.d + pv.d + float3(pr.d, pm.d, 0);")},
    {series, MAIN("o = float3(f(m));"),
     MAIN("const diff_pair<float> y = fwd_diff(f)(diff_pair(m, 1)); o = float3(y.p + y.d);"),
     MAIN("const diff_pair<float> y = fwd_diff(f)(diff_pair(m, 1)), z = fwd_diff(f)(diff_pair(m, "
          "r)); o = float3(y.p + y.d + z.d);"),
     MAIN("diff_pair<float> y = diff_pair(m); bwd_diff(f)(y, 1); o = float3(y.d);")},
    {noises, MAIN("o = float3(f(u));"),
     MAIN("const diff_pair<float> y = fwd_diff(f)(diff_pair(u, n)); o = float3(y.p + y.d);"),
     MAIN("const diff_pair<float> y = fwd_diff(f)(diff_pair(u, n)), z = fwd_diff(f)(diff_pair(u, "
          "v)); o = float3(y.p + y.d + z.d);"),
     MAIN("diff_pair<float3> y = diff_pair(u); bwd_diff(f)(y, 1); o = y.d;")},
};
static const char *const names[FUNCTIONS] = {"material", "series, 64 turns", "4 octaves of noise"};

static void run(void *data)
{
    grid_host_run(data);
}

static GridHost *make_host(SslProgram *program)
{
    Error err = {0};
    GridHost *host;
    if (grid_host_create(program, globals, 1, POINTS, &host, &err) != STATUS_OK)
        bench_die("host", &err, NULL);
    for (uint32_t i = 0; i < POINTS; ++i)
        for (uint32_t k = 0; k < 3; ++k)
            *grid_host_global(host, 0, 0, k, i) = (float)((i * (k + 7)) % 97 + 1) / 99.0f;
    return host;
}

static void measure(uint32_t function, uint32_t rounds, double seconds, double run_ns[KINDS],
                    double compile_ms[KINDS])
{
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 1};
    SslContext *ctx = bench_context(&tables);
    GridHost *hosts[KINDS];
    SslProgram *programs[KINDS];
    for (uint32_t k = 0; k < KINDS; ++k) {
        char source[4096];
        (void)snprintf(source, sizeof source, "%s%s", sources[function][0],
                       sources[function][1 + k]);
        double start = bench_cpu_seconds();
        SslUnit *unit = bench_compile_unit(ctx, names[function], source);
        programs[k] = bench_build(ctx, unit, NULL);
        compile_ms[k] = (bench_cpu_seconds() - start) * 1e3;
        ssl_unit_release(unit);
        hosts[k] = make_host(programs[k]);
        run_ns[k] = 1e9;
    }
    for (uint32_t round = 0; round < rounds; ++round)
        for (uint32_t k = 0; k < KINDS; ++k) {
            double ns = bench_time(run, hosts[k], seconds) * 1e9 / POINTS;
            run_ns[k] = ns < run_ns[k] ? ns : run_ns[k];
        }
    for (uint32_t k = 0; k < KINDS; ++k) {
        grid_host_destroy(hosts[k]);
        ssl_program_release(programs[k]);
    }
    ssl_context_destroy(ctx);
}

static void print_row(const char *what, const char *unit, const double value[KINDS])
{
    printf("%-20s", what);
    for (uint32_t k = 0; k < KINDS; ++k)
        printf("  %8.2f %s (%4.2f)", value[k], unit, value[k] / value[0]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    bool is_quick = bench_is_quick(argc, argv);
    printf("%-20s", "");
    for (uint32_t k = 0; k < KINDS; ++k)
        printf("  %18s", kinds[k]);
    putchar('\n');
    for (uint32_t i = 0; i < FUNCTIONS; ++i) {
        double run_ns[KINDS], compile_ms[KINDS];
        measure(i, is_quick ? 1 : 5, is_quick ? 0.0 : 0.05, run_ns, compile_ms);
        print_row(names[i], "ns", run_ns);
        print_row("  to compile", "ms", compile_ms);
    }
    return 0;
}
