/* Memory that runs out: every allocation of ours fails once, for every step from a source to a kernel.
 * Arenas take their memory in the smallest pieces here, so that what they hand out counts too. Each time: a
 * clean error, nothing kept (the leak sanitizer sees to that), and the same works afterwards.
 *
 * `all` as argument tries every allocation; without it those at the beginning and then a part of them.
 * LLVM's own allocations are not ours: it aborts when one fails (docs/internals/jit.md). */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/path.h"
#include "ssl/ssl.h"
#include "ssl/ssl_group.h"
#include "ssl/ssl_sum.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static bool tries_all;

static const SslGlobalRow globals[] = {{"x", SSL_FLOAT, true, "", ""},
                                       {"P", SSL_POINT, true, "world", ""},
                                       {"n", SSL_INT, false, "", ""}};
static const SslClosureArg lambert[] = {{"albedo", SSL_COLOR}, {"N", SSL_NORMAL}};
static const SslClosureArg coat[] = {{"weight", SSL_FLOAT}, {"base", SSL_CLOSURE}};
static const SslClosureRow closures[] = {
    {.name = "Lambert", .args = lambert, .arg_count = 2},
    {.name = "Coat", .args = coat, .arg_count = 2},
};

/* All that the language has. */
static const char everything[] =
    "texture2d albedo, bump;\n"
    "struct Ray { point o; vector d; };\n"
    "struct Hit { Ray ray; float t[2][3]; };\n"
    "const Hit far = {{point(0), vector(1)}, {{1, 2, 3}, {4, 5, 6}}};\n"
    "const float widths[] = {0.5, 1 / 3.0, sqrt(2.0)};\n"
    "float f(float x, float y = 2);\n"
    "float f(float3 p) { return dot(p, p); }\n"
    "void split(Hit h, out float len, inout int calls) { len = length(h.ray.d); calls++; }\n"
    "float f(float x, float y) { for (int i = 0; i < 4; i++) { if (i == 2) continue; x += i;\n"
    "    if (x > 9) return x; if (x < -9) break; } return pow(x, y); }\n"
    "float deep(float x, int n) { return n <= 0 ? x : sin(deep(x * 0.5, n - 1)); }\n"
    "closure layer(closure base, float w) { return make_closure<Coat>(w, base); }\n"
    "[Differentiable] float wave(Ray r, no_diff int n)\n"
    "{ float s = 1; [MaxIters(8)] for (int i = 0; i < n; i++) { if (s > 9) break; s *= sin(r.o.x + "
    "s); }\n"
    "  return n > 0 ? s * detach(r.d.y) : wave(r, n + 1); }\n"
    "interface IWave : IDifferentiable { [Differentiable] float at(float x); }\n"
    "struct Sine<T : IDifferentiable> : IWave { T k; float[2] a;\n"
    "  [Differentiable] float at(float x) { return sin(a[0] * x); } U as<U>(U x) { return x; } };\n"
    "[Differentiable] float sum<W : IWave>(W w, float x) { return w.at(x) + w.at(2 * x); }\n"
    "T zero<T>() { T x = {}; return x; }\n"
    "shader all [[ string label = \"All\" ]] (\n"
    "    color tint = color(1, 0.5, 0) [[ string label = \"Tint\", float max = 1 ]],\n"
    "    bool flag = true, int count = 3, string mode = \"box\", matrix m = matrix(2),\n"
    "    out float o, out color c, out closure surface)\n"
    "{\n"
    "    Hit h = far;\n"
    "    int calls = global_value<n>;\n"
    "    h.t[calls & 1][count % 3] = global_value<x>;\n"
    "    split(h, o, calls);\n"
    "    float3 p = global_value<P>;\n"
    "    p.zx = p.xy * widths[1];\n"
    "    while (calls < 5 && flag) calls += 2;\n"
    "    do { o += f(p) + deep(p.x, count); } while (o < 1 && calls-- > 0);\n"
    "    c = texture2d_sample<albedo>(p.x + noise(p), p.y, wrap = \"clamp\", blur = 0.1)\n"
    "        * texture2d_sample_alpha<bump>(p.y, p.z, 1, 0, 0, 1);\n"
    "    o += ddx(c.r) + fwidth(p.x) + (mode == mode ? 1 : 0);\n"
    "    c = (m * float4(c, 1)).rgb * tint;\n"
    "    diff_pair<Ray> ray = diff_pair(h.ray);\n"
    "    bwd_diff(wave)(ray, count, 1);\n"
    "    o += fwd_diff(wave)(ray, calls).d + ray.d.o.x;\n"
    "    diff_pair<Sine<Ray>> sine = diff_pair(zero<Sine<Ray>>());\n"
    "    diff_pair<float> at = diff_pair(o);\n"
    "    bwd_diff(sum)(sine, at, 1);\n"
    "    o += sine.d.as<float>(sine.d.a[1]);\n"
    "    surface = flag ? layer(make_closure<Lambert>(c, normal(0, 0, 1)), o)\n"
    "                   : 0.5 * make_closure<Lambert>(tint, normal(0, 1, 0));\n"
    "}\n";

static const char broken[] =
    "struct S { float a; } \n shader s(out float o) { o = foo(1) + undefined; float x = \"s\"; }";

typedef struct Scene {
    const char *source, *cache;
    SslDumpStage stage;
    SslContext *ctx; /* of those that need one */
    SslUnit *unit;
    int32_t variant; /* of the program; 0: always the same */
} Scene;

static SslContextDesc describe(const char *cache)
{
    return (SslContextDesc){.size_bytes = sizeof(SslContextDesc),
                            .globals = globals,
                            .closures = closures,
                            .global_count = SORT_COUNT_OF(globals),
                            .closure_count = SORT_COUNT_OF(closures),
                            .cache_folder = cache};
}

/* --- the steps ---------------------------------------------------------------------------------- */

static Status make_context(Scene *s)
{
    const SslContextDesc desc = describe(s->cache);
    SslContext *ctx;
    Error err = {0};
    Status status = ssl_context_create(&desc, &ctx, &err);
    assert_true((status == STATUS_OK) == (ctx != NULL));
    ssl_context_destroy(ctx);
    return status;
}

static Status compile_source(Scene *s)
{
    const SslSource source = {.name = "test.ssl", .text = str_from(s->source)};
    SslUnit *unit = NULL;
    DiagList *diags = diag_list_create();
    if (!diags)
        return STATUS_NO_MEMORY;
    Status status = ssl_unit_compile(s->ctx, &source, diags, &unit);
    assert_true((status == STATUS_OK) == (unit != NULL));
    if (status == STATUS_SOURCE)
        assert_true(diag_error_count(diags) > 0);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return status;
}

/* A derivative of a unit, with a sum of what it gives. */
static Status differentiate(Scene *s)
{
    const SslDerivativeInput inputs[] = {{SSL_INPUT_PARAM, "k"}, {SSL_INPUT_PARAM, "w"}};
    const char *const outputs[] = {"o"};
    const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                   .is_backward = true,
                                   .inputs = inputs,
                                   .outputs = outputs,
                                   .input_count = 2,
                                   .output_count = 1};
    SslUnit *unit = NULL;
    Error err = {0};
    DiagList *diags = diag_list_create();
    if (!diags)
        return STATUS_NO_MEMORY;
    Status status = ssl_unit_differentiate(s->unit, &how, diags, &unit, &err);
    assert_true((status == STATUS_OK) == (unit != NULL));
    SslProgram *program = NULL;
    SslSum *sum = NULL;
    if (status == STATUS_OK)
        status = ssl_program_build(s->ctx, unit, NULL, diags, &program, &err);
    if (status == STATUS_OK)
        status = ssl_sum_create(program, &sum, &err);
    assert_true((status == STATUS_OK) == (sum != NULL));
    ssl_sum_destroy(sum);
    ssl_program_release(program);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return status;
}

static Status list_shaders(Scene *s)
{
    const SslSource source = {.name = "test.ssl", .text = str_from(s->source)};
    StrBuf names = {0};
    DiagList *diags = diag_list_create();
    Status status = diags ? ssl_source_shaders(s->ctx, &source, diags, &names) : STATUS_NO_MEMORY;
    if (status == STATUS_OK && names.failed)
        status = STATUS_NO_MEMORY;
    strbuf_free(&names);
    diag_list_destroy(diags);
    return status;
}

/* With all that the host may ask of a program. */
static Status build_program(Scene *s)
{
    SslProgram *program = NULL;
    Error err = {0};
    const SslBuildDesc how = {
        .size_bytes = sizeof how, .llvm_level = 1, .output_derivatives = true};
    Status status = ssl_program_build(s->ctx, s->unit, &how, NULL, &program, &err);
    assert_true((status == STATUS_OK) == (program != NULL));
    if (program) {
        const SslProgramInfo *info = ssl_program_info(program);
        float block[64];
        assert_true(info->params_bytes <= sizeof block);
        ssl_params_init(program, block);
        for (uint32_t i = 0; i < info->fault_site_count; ++i) {
            SslFaultInfo fault;
            ssl_fault_describe(program, i, &fault);
            assert_true(fault.line > 0);
        }
    } else {
        assert_true(err.text[0] != '\0');
    }
    ssl_program_release(program);
    return status;
}

static Status dump(Scene *s)
{
    const SslSource source = {.name = "test.ssl", .text = str_from(s->source)};
    const SslBuildDesc how = {.size_bytes = sizeof how, .llvm_level = 1};
    StrBuf text = {0};
    Error err = {0};
    DiagList *diags = diag_list_create();
    Status status =
        diags ? ssl_dump(s->ctx, &source, &how, s->stage, diags, &text, &err) : STATUS_NO_MEMORY;
    if (status == STATUS_OK && text.failed)
        status = STATUS_NO_MEMORY;
    strbuf_free(&text);
    diag_list_destroy(diags);
    return status;
}

static Status link_group(Scene *s)
{
    const SslGroupNode nodes[] = {{.name = "a", .unit = s->unit}, {.name = "b", .unit = s->unit}};
    const SslGroupWire wires[] = {{"a", "c", "b", "tint", NULL}};
    const SslGroupOutput outputs[] = {{"surface", "b", "surface", NULL}};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = "group",
                               .nodes = nodes,
                               .wires = wires,
                               .outputs = outputs,
                               .node_count = 2,
                               .wire_count = 1,
                               .output_count = 1};
    SslUnit *unit = NULL;
    DiagList *diags = diag_list_create();
    if (!diags)
        return STATUS_NO_MEMORY;
    Status status = ssl_group_link(s->ctx, &desc, NULL, diags, &unit);
    assert_true((status == STATUS_OK) == (unit != NULL));
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return status;
}

/* --- every allocation --------------------------------------------------------------------------- */

/* All of the first, then one in a few: a different part for each scene. */
static uint64_t next_allocation(uint64_t n, uint64_t stride)
{
    return tries_all || n < 60 ? n + 1 : n + stride;
}

/* `forgives`: an allocation that fails need not show, since the step can do without it. */
static void fail_everywhere(const char *name, Scene *s, Status (*step)(Scene *), Status without,
                            uint64_t stride, bool forgives)
{
    assert_int_equal(step(s), without);
    uint64_t tried = 0, count = 0;
    for (uint64_t n = 1;; n = next_allocation(n, stride)) {
        mem_fail_nth(n);
        Status status = step(s);
        count = mem_allocation_count();
        mem_fail_nth(0);
        if (count < n) {
            assert_int_equal(status, without);
            break;
        }
        ++tried;
        /* An error that was found before memory ran out may be reported instead. */
        if (status != STATUS_NO_MEMORY && !(forgives && status == STATUS_OK) &&
            !(without == STATUS_SOURCE && status == STATUS_SOURCE))
            fail_msg("%s: allocation %u fails: %s", name, (unsigned)n, status_name(status));
    }
    print_message("%s: %u of %u allocations failed\n", name, (unsigned)tried, (unsigned)count);
    assert_true(tried > 5);
    assert_int_equal(step(s), without);
}

static SslContext *new_context(const char *cache)
{
    const SslContextDesc desc = describe(cache);
    SslContext *ctx;
    Error err = {0};
    if (ssl_context_create(&desc, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return ctx;
}

static SslUnit *compile_unit(SslContext *ctx, const char *text)
{
    const SslSource source = {.name = "test.ssl", .text = str_from(text)};
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    if (ssl_unit_compile(ctx, &source, diags, &unit) != STATUS_OK) {
        StrBuf out = {0};
        diag_print(diags, &out);
        fail_msg("%s", strbuf_text(&out));
    }
    diag_list_destroy(diags);
    return unit;
}

static void test_context(void **state)
{
    (void)state;
    Scene s = {0};
    fail_everywhere("context", &s, make_context, STATUS_OK, 53, false);
}

static void test_sources(void **state)
{
    (void)state;
    Scene s = {.source = everything, .ctx = new_context(NULL)};
    fail_everywhere("source", &s, compile_source, STATUS_OK, 7, false);
    fail_everywhere("names", &s, list_shaders, STATUS_OK, 17, false);
    s.source = broken;
    fail_everywhere("errors", &s, compile_source, STATUS_SOURCE, 1, false);
    ssl_context_destroy(s.ctx);
}

static void test_groups(void **state)
{
    (void)state;
    Scene s = {.ctx = new_context(NULL)};
    s.unit = compile_unit(s.ctx, everything);
    fail_everywhere("group", &s, link_group, STATUS_OK, 17, false);
    ssl_unit_release(s.unit);
    ssl_context_destroy(s.ctx);
}

/* Two nodes with parameters of the group: textures, derivatives of the source's own and those that it takes, and a warning. */
static SslUnit *new_group(SslContext *ctx)
{
    SslUnit *part = compile_unit(
        ctx,
        "texture2d image;\n"
        "[Differentiable] float seen(float x) { return texture2d_sample<image>(x, x).r * x; }\n"
        "diff_pair<float> own(diff_pair<float> x) { return diff_pair(x.p, x.d * seen(x.p)); }\n"
        "void back(inout diff_pair<float> x, float by) { x.d = by * seen(x.p); }\n"
        "[ForwardDerivative(own)] [BackwardDerivative(back)] float same(float x) { return x; }\n"
        "[Differentiable] float deep(float x, no_diff int n)\n"
        "{ return n <= 0 ? same(x) : x * deep(x * 0.5, n - 1); }\n"
        "shader s(float k = 2, float[3] w = {1, 2, 3}, out float o)\n"
        "{ diff_pair<float> x = diff_pair(k); bwd_diff(deep)(x, 2, 1.0);\n"
        "  o = w[1] * deep(k, 1) + detach(ddx(seen(x.d)));\n"
        "  for (int i = 0; i < w[0]; ++i) { if (o > 9) break; o = o * w[i] + sin(o); } }");
    const SslGroupParam params[] = {{.name = "k"}, {.name = "w"}};
    const SslGroupNode nodes[] = {{.name = "a", .unit = part}, {.name = "b", .unit = part}};
    const SslGroupWire wires[] = {{NULL, "k", "a", "k", NULL},
                                  {NULL, "w", "a", "w", NULL},
                                  {NULL, "w", "b", "w", NULL},
                                  {"a", "o", "b", "k", NULL}};
    const SslGroupOutput outputs[] = {{"o", "b", "o", NULL}};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = "group",
                               .params = params,
                               .nodes = nodes,
                               .wires = wires,
                               .outputs = outputs,
                               .param_count = 2,
                               .node_count = 2,
                               .wire_count = 4,
                               .output_count = 1};
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    assert_int_equal(ssl_group_link(ctx, &desc, NULL, diags, &unit), STATUS_OK);
    diag_list_destroy(diags);
    ssl_unit_release(part);
    return unit;
}

static void test_derivatives(void **state)
{
    (void)state;
    Scene s = {.ctx = new_context(NULL)};
    s.unit =
        compile_unit(s.ctx, "shader s(float k = 2, float[3] w = {1, 2, 3}, out float o) { o = k;\n"
                            "  for (int i = 0; i < 3; ++i) o = o * w[i] + sin(k); }");
    fail_everywhere("derivative", &s, differentiate, STATUS_OK, 37, false);
    ssl_unit_release(s.unit);
    s.unit = new_group(s.ctx);
    fail_everywhere("derivative of a group", &s, differentiate, STATUS_OK, 5, false);
    ssl_unit_release(s.unit);
    ssl_context_destroy(s.ctx);
}

/* Without a cache, with one that has nothing, and with one that has it. */
static void test_programs(void **state)
{
    (void)state;
    char folder[PATH_BYTES];
    Error err = {0};
    assert_int_equal(file_make_temp_directory("ssl-no-memory", folder, &err), STATUS_OK);
    Scene s = {.ctx = new_context(NULL)};
    s.unit = compile_unit(s.ctx, everything);
    fail_everywhere("program", &s, build_program, STATUS_OK, 83, false);
    ssl_unit_release(s.unit);
    ssl_context_destroy(s.ctx);
    s.ctx = new_context(folder);
    s.unit = compile_unit(s.ctx, everything);
    /* The first build fills the cache, the others find it there, or do without. */
    fail_everywhere("cached program", &s, build_program, STATUS_OK, 83, true);
    s.variant = 1;
    fail_everywhere("program that is put into the cache", &s, build_program, STATUS_OK, 83, true);
    ssl_unit_release(s.unit);
    ssl_context_destroy(s.ctx);
    assert_int_equal(file_remove_tree(folder, &err), STATUS_OK);
}

static void test_dumps(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        SslDumpStage stage;
        uint64_t stride;
    } stages[] = {{"tokens", SSL_DUMP_TOKENS, 23},
                  {"tree", SSL_DUMP_AST, 41},
                  {"passes", SSL_DUMP_IR_PASSES, 203},
                  {"LLVM IR", SSL_DUMP_LLVM, 203}};
    Scene s = {.source = everything, .ctx = new_context(NULL)};
    for (uint32_t i = 0; i < SORT_COUNT_OF(stages); ++i) {
        s.stage = stages[i].stage;
        fail_everywhere(stages[i].name, &s, dump, STATUS_OK, stages[i].stride, false);
    }
    ssl_context_destroy(s.ctx);
}

int main(int argc, char **argv)
{
    tries_all = argc > 1 && strcmp(argv[1], "all") == 0;
    arena_test_chunk_bytes(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context),  cmocka_unit_test(test_sources),
        cmocka_unit_test(test_groups),   cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_programs), cmocka_unit_test(test_dumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
