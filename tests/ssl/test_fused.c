/* [Fused] shaders: the same bits at every width, for every CPU that the machine can stand for, alone, in groups and beside derivatives; and
 * where a sum is fused and where not. */
#include "base/check.h"
#include "base/hash.h"
#include "ssl/context.h"
#include "ssl/ssl_group.h"
#include "tools/ssl_kit/grid_host.h"
#include <float.h>
#include <stdio.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "uv", .type = SSL_FLOAT2, .has_derivs = true, .space = "", .doc = ""},
};
enum { UV, POINTS = 192, WORDS_MAX = 32 };

static SslContext *context_for(const char *cpu)
{
    const SslContextDesc tables = {.size_bytes = sizeof tables,
                                   .globals = globals,
                                   .global_count = SORT_COUNT_OF(globals),
                                   .cpu = cpu};
    Error err = {0};
    SslContext *ctx;
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return ctx;
}

static SslUnit *compile(SslContext *ctx, const char *text)
{
    SslUnit *unit;
    DiagList *diags = diag_list_create();
    const SslSource src = {.name = "test.ssl", .text = str_from(text)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK || diag_count(diags) > 0) {
        StrBuf said = {0};
        diag_print(diags, &said);
        print_error("%s", strbuf_text(&said));
        strbuf_free(&said);
        fail();
    }
    diag_list_destroy(diags);
    return unit;
}

/* The words of all outputs, which are floats, and of their derivatives. */
typedef struct Words {
    uint32_t count, of[WORDS_MAX][POINTS];
} Words;

static void read_slot(const GridHost *grid, SslOutputSlot slot, uint32_t scalars, Words *out)
{
    for (uint32_t k = 0; k < scalars; ++k, ++out->count) {
        ASSERT(out->count < WORDS_MAX);
        for (uint32_t point = 0; point < POINTS; ++point)
            out->of[out->count][point] = grid_host_word(grid, slot, k, point);
    }
}

/* Ordinary numbers, and very large, very small and special ones. */
static float input_number(uint32_t point, uint32_t component)
{
    static const float special[] = {0,        -0.0f, 1,   -1,       0x1p-120f,
                                    0x1p100f, 900,   -30, 0x1p-60f, 88.5f};
    uint64_t random = hash_mix64((uint64_t)point * 2 + component);
    if (random % 8 == 0)
        return special[(random >> 8) % SORT_COUNT_OF(special)];
    return ((float)(random >> 40) * 0x1p-24f - 0.375f) * (random & 16 ? 12.0f : 2.0f);
}

static void run(SslContext *ctx, SslUnit *unit, uint32_t lanes, Words *out)
{
    Error err = {0};
    SslProgram *program;
    GridHost *grid;
    const SslBuildDesc build = {
        .size_bytes = sizeof build, .lanes = lanes, .output_derivatives = true};
    if (ssl_program_build(ctx, unit, &build, NULL, &program, &err) != STATUS_OK ||
        grid_host_create(program, globals, SORT_COUNT_OF(globals), POINTS, &grid, &err) !=
            STATUS_OK)
        fail_msg("%s", err.text);
    for (uint32_t point = 0; point < POINTS; ++point)
        for (uint32_t k = 0; k < 2; ++k) {
            *grid_host_global(grid, UV, 0, k, point) = input_number(point, k);
            *grid_host_global(grid, UV, 1, k, point) = 0.25f;
            *grid_host_global(grid, UV, 2, k, point) = k ? -1.0f : 3.0f;
        }
    grid_host_run(grid);
    const SslProgramInfo *info = ssl_program_info(program);
    out->count = 0;
    for (uint32_t i = 0; i < info->unit->output_count; ++i) {
        const SslOutputInfo *o = &info->unit->outputs[i];
        uint32_t scalars = ssl_value_scalars(o->type, o->shape);
        read_slot(grid, info->outputs[i], scalars, out);
        read_slot(grid, info->outputs_ddx[i], scalars, out);
        read_slot(grid, info->outputs_ddy[i], scalars, out);
    }
    grid_host_destroy(grid);
    ssl_program_release(program);
}

static bool is_same(uint32_t x, uint32_t y)
{
    float a, b;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    return x == y || (a != a && b != b);
}

/* The first `count` words of both. */
static void compare(const Words *x, const Words *y, uint32_t count, const char *what,
                    uint32_t lanes)
{
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t point = 0; point < POINTS; ++point)
            if (!is_same(x->of[i][point], y->of[i][point]))
                fail_msg("%s, %u lanes, word %u, point %u (%a %a): %08x, not %08x", what, lanes, i,
                         point, (double)input_number(point, 0), (double)input_number(point, 1),
                         y->of[i][point], x->of[i][point]);
}

/* --- bits --------------------------------------------------------------------------------------- */

#define FUNCTION                                                                                   \
    "[Differentiable] float inner(float x, float y) { return mix(x, y, 0.3) * dot(float3(x, y, "   \
    "1.5), float3(0.2, x, y)); }\n"                                                                \
    "[Differentiable] float f(float x, float y)\n{\n"                                              \
    "    float s = 0.1, row[4];\n"                                                                 \
    "    [MaxIters(5)] for (int i = 0; i < 5; ++i) {\n"                                            \
    "        s = s * 0.7 + sin(y + s) * exp(-x * 0.2) + 0.3 * atan2(s, y) - x * cos(s);\n"         \
    "        row[i % 4] = s * y - float(i);\n"                                                     \
    "    }\n"                                                                                      \
    "    if (x * y > 0.2)\n        s += log(x * x + 1e-3) * exp2(y * 0.1) + atan(s);\n"            \
    "    return s + row[1] * 0.25 + inner(x, row[2]);\n}\n"

static const char with_derivatives[] = FUNCTION
    "[Fused] shader main(out float o, out float tangent, out float2 gradient, out float same)\n{\n"
    "    const float2 p = global_value<uv>;\n"
    "    o = f(p.x, p.y);\n"
    "    const diff_pair<float> d = fwd_diff(f)(diff_pair(p.x, 1.0), diff_pair(p.y, 0.5));\n"
    "    tangent = d.d;\n    same = d.p;\n"
    "    diff_pair<float> x = diff_pair(p.x), y = diff_pair(p.y);\n"
    "    bwd_diff(f)(x, y, 1.0);\n    gradient = float2(x.d, y.d);\n}\n";
static const char alone[] =
    FUNCTION "[Fused] shader main(out float o)\n{\n"
             "    const float2 p = global_value<uv>;\n    o = f(p.x, p.y);\n}\n";
static const char plain[] = FUNCTION "shader main(out float o)\n{\n"
                                     "    const float2 p = global_value<uv>;\n"
                                     "    o = f(p.x, p.y);\n}\n";

static bool can_run(const char *cpu)
{
#if defined(__x86_64__)
    bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512bw");
    return strcmp(cpu, "x86-64-v3") == 0 ? has_v3 : strcmp(cpu, "x86-64-v4") == 0 ? has_v4 : true;
#else
    SORT_UNUSED(cpu);
    return true;
#endif
}

static void test_fused_bits(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t widths[] = {1, 4, 8, 16};
    static Words first, other;
    for (const char *const *cpu = ssl_baseline_cpus(); *cpu; ++cpu) {
        if (!can_run(*cpu))
            continue;
        SslContext *ctx = context_for(*cpu);
        SslUnit *unit = compile(ctx, with_derivatives);
        for (uint32_t i = 0; i < SORT_COUNT_OF(widths); ++i) {
            run(ctx, unit, widths[i], first.count ? &other : &first);
            compare(&first, first.count && other.count ? &other : &first, first.count, *cpu,
                    widths[i]);
        }
        ssl_unit_release(unit);
        ssl_context_destroy(ctx);
    }
}

/* The value of a function beside its derivatives, and that of a program without any. */
static void test_fused_beside_derivatives(void **state)
{
    SORT_UNUSED(state);
    static Words both, single, strict;
    SslContext *ctx = context_for(NULL);
    SslUnit *units[3] = {compile(ctx, with_derivatives), compile(ctx, alone), compile(ctx, plain)};
    run(ctx, units[0], 16, &both);
    run(ctx, units[1], 16, &single);
    run(ctx, units[2], 16, &strict);
    compare(&both, &single, 3, "alone", 16);
    uint32_t same = both.count - 3, differ = 0;
    for (uint32_t point = 0; point < POINTS; ++point) {
        assert_true(is_same(both.of[0][point], both.of[same][point]));
        differ += strict.of[0][point] != single.of[0][point];
    }
    assert_true(differ > POINTS / 4); /* it does something */
    for (uint32_t i = 0; i < 3; ++i)
        ssl_unit_release(units[i]);
    ssl_context_destroy(ctx);
}

/* --- what is fused -------------------------------------------------------------------------------- */

static void test_fused_sums(void **state)
{
    SORT_UNUSED(state);
    /* (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24, of which a float keeps the first two. */
    static const char text[] = "float product(float x, float y) { return x * y; }\n"
                               "%sshader main(out float a, out float b, out float c, out float d, "
                               "out float e, out float f)\n{\n"
                               "    const float x = 1.000244140625 + 0 * global_value<uv>.x, y = "
                               "1.00048828125 + 0 * global_value<uv>.y;\n"
                               "    a = x * x - y; b = y - x * x; c = -y + x * x; d = x * x - x * "
                               "x; e = product(x, x) - y;\n"
                               "    f = cross(float3(x, y, 3), float3(x, y, 3)).z;\n}\n";
    static const double wanted[2][6] = {{0, 0, 0, 0, 0, 0}, {0x1p-24, -0x1p-24, 0x1p-24, 0, 0, 0}};
    SslContext *ctx = context_for(NULL);
    for (uint32_t fused = 0; fused < 2; ++fused) {
        static Words words;
        char source[1024];
        (void)snprintf(source, sizeof source, text, fused ? "[Fused] " : "");
        SslUnit *unit = compile(ctx, source);
        run(ctx, unit, 8, &words);
        for (uint32_t i = 0; i < 6; ++i) {
            float found;
            memcpy(&found, &words.of[3 * i][2], sizeof found);
            assert_true((double)found == wanted[fused][i]);
        }
        ssl_unit_release(unit);
    }
    ssl_context_destroy(ctx);
}

/* Units of both kinds in a group call the same functions of the library, and keep their bits. */
static void test_fused_in_a_group(void **state)
{
    SORT_UNUSED(state);
    static Words words[3];
    SslContext *ctx = context_for(NULL);
    SslUnit *units[2] = {compile(ctx, alone), compile(ctx, plain)}, *group;
    const SslGroupNode nodes[2] = {{.name = "one", .unit = units[0]},
                                   {.name = "two", .unit = units[1]}};
    const SslGroupOutput outputs[2] = {{.name = "a", .node = "one", .output = "o"},
                                       {.name = "b", .node = "two", .output = "o"}};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = "both",
                               .nodes = nodes,
                               .node_count = 2,
                               .outputs = outputs,
                               .output_count = 2};
    const SslGroupHost host = {.size_bytes = sizeof host};
    DiagList *diags = diag_list_create();
    assert_int_equal(ssl_group_link(ctx, &desc, &host, diags, &group), STATUS_OK);
    run(ctx, units[0], 16, &words[0]);
    run(ctx, units[1], 16, &words[1]);
    run(ctx, group, 16, &words[2]);
    for (uint32_t point = 0; point < POINTS; ++point) {
        assert_true(is_same(words[2].of[0][point], words[0].of[0][point]));
        assert_true(is_same(words[2].of[3][point], words[1].of[0][point]));
    }
    diag_list_destroy(diags);
    ssl_unit_release(group);
    ssl_unit_release(units[0]);
    ssl_unit_release(units[1]);
    ssl_context_destroy(ctx);
}

#define TAKES                                                                                      \
    "shader main(out float o, out float2 tangent, out float2 gradient)\n{\n"                       \
    "    const float2 p = global_value<uv>;\n    o = f(p.x, p.y);\n"                               \
    "    tangent.x = fwd_diff(f)(diff_pair(p.x, 1.0), diff_pair(p.y, 0.5)).d;\n"                   \
    "    tangent.y = fwd_diff(f)(diff_pair(p.x, 0.3), diff_pair(p.y, p.x)).d;\n"                   \
    "    diff_pair<float> x = diff_pair(p.x), y = diff_pair(p.y);\n"                               \
    "    bwd_diff(f)(x, y, 1.0);\n    gradient = float2(x.d, y.d);\n}\n"
enum { TAKES_OUTPUTS = 3, TAKES_WORDS = 15 };

/* Derivatives that units of both kinds take have their bits in a group, and in a group of it. */
static void test_fused_derivatives_in_a_group(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t values[] = {0, 3, 4, 9, 10}; /* words that are no derivatives by pixels */
    static const char *const names[] = {"o", "tangent", "gradient", "o2", "tangent2", "gradient2"};
    static Words words[3];
    SslContext *ctx = context_for(NULL);
    SslUnit *units[2] = {compile(ctx, FUNCTION "[Fused] " TAKES), compile(ctx, FUNCTION TAKES)};
    const SslGroupNode nodes[2] = {{.name = "one", .unit = units[0]},
                                   {.name = "two", .unit = units[1]}};
    SslGroupOutput outputs[2 * TAKES_OUTPUTS], again[2 * TAKES_OUTPUTS];
    for (uint32_t i = 0; i < 2 * TAKES_OUTPUTS; ++i) {
        outputs[i] = (SslGroupOutput){.name = names[i],
                                      .node = nodes[i / TAKES_OUTPUTS].name,
                                      .output = names[i % TAKES_OUTPUTS]};
        again[i] = (SslGroupOutput){.name = names[i], .node = "", .output = names[i]};
    }
    SslGroupDesc desc = {.size_bytes = sizeof desc,
                         .name = "both",
                         .nodes = nodes,
                         .node_count = 2,
                         .outputs = outputs,
                         .output_count = 2 * TAKES_OUTPUTS};
    SslUnit *inner, *outer;
    DiagList *diags = diag_list_create();
    assert_int_equal(ssl_group_link(ctx, &desc, NULL, diags, &inner), STATUS_OK);
    const SslGroupNode node = {.name = "", .unit = inner};
    desc.nodes = &node;
    desc.node_count = 1;
    desc.outputs = again;
    assert_int_equal(ssl_group_link(ctx, &desc, NULL, diags, &outer), STATUS_OK);
    run(ctx, units[0], 16, &words[0]);
    run(ctx, units[1], 16, &words[1]);
    run(ctx, outer, 16, &words[2]);
    uint32_t other = 0;
    for (uint32_t unit = 0; unit < 2; ++unit)
        for (uint32_t i = 0; i < SORT_COUNT_OF(values); ++i)
            for (uint32_t point = 0; point < POINTS; ++point) {
                uint32_t word = words[unit].of[values[i]][point];
                assert_true(is_same(words[2].of[unit * TAKES_WORDS + values[i]][point], word));
                other += !is_same(words[1 - unit].of[values[i]][point], word);
            }
    assert_true(other > POINTS); /* the two kinds differ */
    diag_list_destroy(diags);
    ssl_unit_release(outer);
    ssl_unit_release(inner);
    ssl_unit_release(units[0]);
    ssl_unit_release(units[1]);
    ssl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fused_bits),
        cmocka_unit_test(test_fused_beside_derivatives),
        cmocka_unit_test(test_fused_sums),
        cmocka_unit_test(test_fused_in_a_group),
        cmocka_unit_test(test_fused_derivatives_in_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
