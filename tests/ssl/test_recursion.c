/* Recursion against small stacks: on a fiber, at every level of optimisation, recursion without end stops at
 * the same depth, takes no more stack than the host stated, and says where. */
#include "base/fiber.h"
#include "ssl/ssl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "x", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "n", .type = SSL_INT, .space = "", .doc = ""},
};
static const SslClosureArg color_args[] = {{"color", SSL_COLOR}};
static const SslClosureRow closures[] = {{.name = "Emission", .args = color_args, .arg_count = 1}};

/* Each has one int output, how deep it went, as its first. */
static const struct {
    const char *name, *source;
} shaders[] = {
    {"plain", "int f(int n) { return 1 + f(n + 1); }\n"
              "shader s(out int depth) { depth = f(global_value<n>); }"},
    {"mutual", "int g(int n);\n"
               "int f(int n) { return 1 + g(n + 1); } int g(int n) { return 1 + f(n - 1); }\n"
               "shader s(out int depth) { depth = f(global_value<n>); }"},
    {"many values across the call",
     "int f(int n, float a, float b, float c, float d, out float sum) {\n"
     "  float e = sin(a), g = cos(b), h = sin(c), i = sqrt(d), j = a * b, k = c * d, l = a / c;\n"
     "  float m = pow(e, g), o = h - i, p = j - k, q = fmod(l, m);\n"
     "  int r = f(n + 1, b, c, d, a, sum) + 1;\n"
     "  sum += e * g + h / i - j * k + l * m + o - p + q + a - b * c / d;\n"
     "  return r; }\n"
     "shader s(out int depth, out float dx) { float sum; float x = global_value<x>;\n"
     "  depth = f(0, x, x + 1, x + 2, x + 3, sum); dx = ddx(sum); }"},
    {"arrays", "struct P { float a[20]; int b[3][2]; };\n"
               "int f(int n, P p, out P q) { P own = p; own.a[n % 20] += 1;\n"
               "  int d = 1 + f(n + 1, own, q); q.a[3] += own.a[n % 20] + p.a[n % 7];\n"
               "  q.b[n % 3][n % 2] = n; return d; }\n"
               "shader s(out int depth, out float y) { P p, q; depth = f(global_value<n>, p, q);\n"
               "  y = q.a[3] + q.b[0][0]; }"},
    {"textures", "texture2d t;\n"
                 "int f(float x, out float y) { int d = 1 + f(x * 0.5, y);\n"
                 "  y += texture2d_sample<t>(x, ddx(x)).r; return d; }\n"
                 "shader s(out int depth, out float y) { depth = f(global_value<x>, y); }"},
    {"closures", "int f(int n, inout closure c) { c += make_closure<Emission>(color(n));\n"
                 "  return 1 + f(n + 1, c); }\n"
                 "shader s(out int depth, out closure c) { depth = f(global_value<n>, c); }"},
    {"loops inside", "int f(int n) { int d = 0; float y = 0;\n"
                     "  for (int i = 0; i < 3; i++) { d = max(d, 1 + f(n + i)); y += d; }\n"
                     "  return y > 3 ? d : d; }\n"
                     "shader s(out int depth) { depth = f(global_value<n>); }"},
    {"a tree", "int f(int n) { return max(f(n + 1), f(n - 1)) + 1; }\n"
               "shader s(out int depth) { depth = f(global_value<n>); }"},
};

static void look_up(SslHost *host, const SslTexCall *call)
{
    SORT_UNUSED(host);
    for (uint32_t i = 0; i < (call->flags & SSL_TEX_WANT_DERIVS ? 12 : 4) * call->lane_count; ++i)
        call->result[i] = 0.5f;
}

typedef struct Run {
    SslKernelFn kernel;
    SslBatch batch;
} Run;

static void run(void *data)
{
    const Run *r = data;
    r->kernel(&r->batch);
}

typedef struct Stopped {
    int32_t depth;
    size_t peak_bytes;
    SslFaultInfo fault;
} Stopped;

static Stopped run_on_fiber(const SslProgram *program, uint32_t stack_bytes)
{
    static _Alignas(64) float inputs[64 * SSL_BLOCK];
    static _Alignas(64) char result[1 << 16];
    const SslProgramInfo *info = ssl_program_info(program);
    assert_true(info->result_stride_bytes <= sizeof result);
    SslServices services = {.size_bytes = sizeof services, .tex_lookup = look_up};
    uint16_t live = 1u << 5;
    uint32_t texture = 0;
    Run r = {.kernel = ssl_program_kernel(program),
             .batch = {.globals = inputs,
                       .live = &live,
                       .result = result,
                       .textures = &texture,
                       .services = &services,
                       .block_count = 1,
                       .loop_budget = 100000,
                       .stack_bytes = stack_bytes}};
    Error err = {0};
    Fiber *fiber;
    assert_int_equal(fiber_create(run, &r, stack_bytes + 24 * 1024, &fiber, &err), STATUS_OK);
    fiber_resume(fiber);
    assert_true(fiber_is_done(fiber));
    Stopped out = {.peak_bytes = fiber_stack_peak_bytes(fiber)};
    fiber_destroy(fiber);
    uint32_t word;
    memcpy(&word, result + info->fault_offset + 5 * sizeof word, sizeof word);
    memcpy(&out.depth, result + info->outputs[0].offset + 5 * sizeof word, sizeof word);
    assert_true(word > 0);
    ssl_fault_describe(program, word - 1, &out.fault);
    return out;
}

static SslProgram *build(SslContext *ctx, const char *source, uint32_t level)
{
    DiagList *diags = diag_list_create();
    Error err = {0};
    SslUnit *unit;
    SslProgram *program;
    SslSource src = {.name = "deep.ssl", .text = str_from(source)};
    SslBuildDesc how = {.size_bytes = sizeof how, .llvm_level = level};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK)
        fail_msg("%s", diag_get(diags, 0)->message);
    if (ssl_program_build(ctx, unit, &how, NULL, &program, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return program;
}

static void test_recursion_stays_on_its_stack(void **state)
{
    enum { STACK = 32 * 1024, LEVELS = 5 };
    SORT_UNUSED(state);
    SslContextDesc desc = {.size_bytes = sizeof desc,
                           .globals = globals,
                           .global_count = SORT_COUNT_OF(globals),
                           .closures = closures,
                           .closure_count = SORT_COUNT_OF(closures)};
    SslContext *ctx;
    Error err = {0};
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_OK);
    for (uint32_t i = 0; i < SORT_COUNT_OF(shaders); ++i) {
        int32_t depth = 0;
        for (uint32_t level = 0; level < LEVELS; ++level) {
            SslProgram *program = build(ctx, shaders[i].source, level);
            Stopped at_once = run_on_fiber(program, 0);
            Stopped deep = run_on_fiber(program, STACK);
            assert_true(deep.fault.kind == SSL_FAULT_RECURSION ||
                        (i == 5 && deep.fault.kind == SSL_FAULT_CLOSURES));
            assert_true(deep.fault.line > 0);
            assert_string_equal(deep.fault.source_name, "deep.ssl");
            assert_true(deep.depth > 3);
            if (level == 0)
                depth = deep.depth;
            assert_int_equal(deep.depth, depth);
            size_t used = deep.peak_bytes - at_once.peak_bytes;
            if (used > STACK)
                fail_msg("'%s' at level %u: %zu bytes of stack", shaders[i].name, level, used);
            if (getenv("SORT_TEST_VERBOSE"))
                printf("%-28s level %u: depth %3d, planned %5d bytes a call, used %5zu\n",
                       shaders[i].name, level, deep.depth, STACK / deep.depth,
                       used / (size_t)deep.depth);
            ssl_program_release(program);
        }
    }
    ssl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_recursion_stays_on_its_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
