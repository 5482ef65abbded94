/* libsort-ssl through its header alone: results against closed forms, and every refusal with a text. The installed library is
 * tested by tests/install/check_libraries.py; this one runs under sanitizers. */
#include "ssl/api/sort_ssl.h"
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

enum { U, P, N, IS_BACK };

static const SortSslGlobal globals[] = {{"u", SORT_SSL_FLOAT, true},
                                        {"p", SORT_SSL_POINT, true},
                                        {"n", SORT_SSL_INT, false},
                                        {"is_back", SORT_SSL_BOOL, false}};
static const SortSslClosureArg glow_args[] = {{"color", SORT_SSL_COLOR}};
static const SortSslClosureArg sheet_args[] = {{"roughness", SORT_SSL_FLOAT},
                                               {"under", SORT_SSL_CLOSURE},
                                               {"count", SORT_SSL_INT},
                                               {"normal", SORT_SSL_NORMAL}};
static const SortSslClosure closures[] = {{"Glow", glow_args, 1, SORT_SSL_CLOSURE_EMISSION},
                                          {"Sheet", sheet_args, 4, 0}};
static const SortSslAttribute attributes[] = {{"time", SORT_SSL_FLOAT, false}};

static SortSslContextDesc host_desc(void)
{
    return (SortSslContextDesc){.size_bytes = sizeof(SortSslContextDesc),
                                .globals = globals,
                                .closures = closures,
                                .attributes = attributes,
                                .global_count = 4,
                                .closure_count = 2,
                                .attribute_count = 1};
}

static SortSslContext *new_context(void)
{
    SortSslContextDesc desc = host_desc();
    SortSslContext *ctx = NULL;
    assert_int_equal(sort_ssl_context_create(&desc, &ctx, NULL), SORT_SSL_OK);
    return ctx;
}

static SortSslSource source_of(const char *text)
{
    return (SortSslSource){sizeof(SortSslSource), "test.ssl", text, strlen(text), NULL};
}

/* The context goes at once: what was made of it keeps it. */
static SortSslProgram *new_program(const char *text, uint32_t lanes, SortSslUnit **out_unit)
{
    SortSslContext *ctx = new_context();
    SortSslSource source = source_of(text);
    SortSslUnit *unit = NULL;
    SortSslProgram *program = NULL;
    SortSslError err = {0};
    SortSslBuildDesc how = {.size_bytes = sizeof how, .lanes = lanes, .output_derivs = true};
    if (sort_ssl_unit_compile(ctx, &source, NULL, &unit, &err) ||
        sort_ssl_program_build(unit, &how, NULL, &program, &err))
        fail_msg("%s", err.text);
    sort_ssl_context_destroy(ctx);
    if (out_unit)
        *out_unit = unit;
    else
        sort_ssl_unit_destroy(unit);
    return program;
}

static SortSslBatch *new_batch(const SortSslProgram *program, uint32_t points)
{
    SortSslBatch *batch = NULL;
    assert_int_equal(sort_ssl_batch_create(program, points, &batch, NULL), SORT_SSL_OK);
    return batch;
}

#define REFUSED(expected, words, call)                                                             \
    do {                                                                                           \
        SortSslError err = {0};                                                                    \
        assert_int_equal(call, expected);                                                          \
        assert_int_equal(err.status, expected);                                                    \
        if (!strstr(err.text, words))                                                              \
            fail_msg("'%s' is not in '%s'", words, err.text);                                      \
    } while (0)

/* --- results --------------------------------------------------------------------------------- */

static void test_ssl_api_outputs(void **state)
{
    (void)state;
    const char *text =
        "shader s(float k = 2, float w[2] = {1, 3}, out float a, out color b, out int c)\n"
        "{ float u = global_value<u>; a = k * u * u + w[1]; b = color(u, w[0], sin(u));\n"
        "  c = global_value<n> + int(global_value<is_back>); }";
    static const uint32_t lane_counts[] = {1, 4, 8, 16};
    for (int l = 0; l < 4; ++l) {
        SortSslUnit *unit;
        SortSslProgram *program = new_program(text, lane_counts[l], &unit);
        SortSslBatch *batch = new_batch(program, 19); /* the second block is not full */
        SortSslParams *params = NULL;
        assert_int_equal(sort_ssl_params_create(program, &params, NULL), SORT_SSL_OK);
        assert_int_equal(sort_ssl_params_set(params, "k", &(double){5}, 1, NULL), SORT_SSL_OK);
        for (uint32_t i = 0; i < 19; ++i) {
            sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_VALUE, 0)[i % 16] = 0.125f * (float)i;
            sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_DDX, 0)[i % 16] = 0.5f;
            sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_DDY, 0)[i % 16] = -0.25f;
            sort_ssl_batch_global_int(batch, i / 16, N)[i % 16] = (int32_t)i;
            sort_ssl_batch_global_int(batch, i / 16, IS_BACK)[i % 16] = i & 1;
        }
        assert_int_equal(sort_ssl_batch_set_live(batch, 3, false, NULL), SORT_SSL_OK);
        SortSslRunDesc run = {.size_bytes = sizeof run, .params = params};
        assert_int_equal(sort_ssl_batch_run(batch, &run, NULL), SORT_SSL_OK);
        uint32_t a = sort_ssl_unit_find_output(unit, "a"), b = sort_ssl_unit_find_output(unit, "b");
        uint32_t c = sort_ssl_unit_find_output(unit, "c");
        for (uint32_t i = 0; i < 19; ++i) {
            float u = 0.125f * (float)i;
            uint32_t block = i / 16, lane = i % 16;
            if (i == 3)
                continue;
            assert_true(sort_ssl_batch_output(batch, block, a, SORT_SSL_VALUE, 0)[lane] ==
                        5 * u * u + 3);
            assert_true(sort_ssl_batch_output(batch, block, a, SORT_SSL_DDX, 0)[lane] == 5 * u);
            assert_true(sort_ssl_batch_output(batch, block, a, SORT_SSL_DDY, 0)[lane] == -2.5f * u);
            assert_float_equal(sort_ssl_batch_output(batch, block, b, SORT_SSL_VALUE, 2)[lane],
                               sinf(u), 1e-6);
            assert_float_equal(sort_ssl_batch_output(batch, block, b, SORT_SSL_DDX, 2)[lane],
                               0.5f * cosf(u), 1e-6);
            assert_int_equal(sort_ssl_batch_output_int(batch, block, c, 0)[lane], i + (i & 1));
            assert_false(sort_ssl_batch_fault(batch, i, NULL));
        }
        assert_null(sort_ssl_batch_output(batch, 0, c, SORT_SSL_VALUE, 0));
        assert_null(sort_ssl_batch_output(batch, 2, a, SORT_SSL_VALUE, 0));
        assert_null(sort_ssl_batch_output(batch, 0, b, SORT_SSL_VALUE, 3));
        assert_null(sort_ssl_batch_output_int(batch, 0, a, 0));
        assert_true(sort_ssl_program_reads_global(program, U, SORT_SSL_DDX));
        assert_false(sort_ssl_program_reads_global(program, P, SORT_SSL_VALUE));
        sort_ssl_unit_destroy(unit);
        sort_ssl_program_destroy(program);
        sort_ssl_params_destroy(params);
        sort_ssl_batch_destroy(batch);
    }
}

static void test_ssl_api_closures_are_lobes(void **state)
{
    (void)state;
    SortSslUnit *unit;
    SortSslProgram *program =
        new_program("shader s(out closure c) {\n"
                    "  closure under = make_closure<Glow>(color(1, 2, 3));\n"
                    "  c = 0.5 * make_closure<Sheet>(global_value<u>, under, 7, normal(0, 0, 1));\n"
                    "  if (global_value<is_back>) c += make_closure<Glow>(color(4)); }",
                    0, &unit);
    SortSslBatch *batch = new_batch(program, 16);
    for (int i = 0; i < 16; ++i) {
        sort_ssl_batch_global(batch, 0, U, SORT_SSL_VALUE, 0)[i] = (float)i;
        sort_ssl_batch_global_int(batch, 0, IS_BACK)[i] = i % 2;
    }
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    SortSslProgramInfo info = {.size_bytes = sizeof info};
    assert_int_equal(sort_ssl_program_info(program, &info, NULL), SORT_SSL_OK);
    assert_int_equal(info.lobe_count, 3);
    int32_t sheet = -1;
    int seen = 0;
    for (uint32_t k = 0; k < info.lobe_count; ++k) {
        SortSslLobe lobe = {.size_bytes = sizeof lobe};
        assert_int_equal(sort_ssl_program_lobe(program, k, &lobe, NULL), SORT_SSL_OK);
        if (lobe.closure == 1) {
            sheet = (int32_t)k;
            seen |= 1;
            assert_int_equal(lobe.arg_count, 5);
            assert_int_equal(lobe.parent, -1);
            assert_int_equal(sort_ssl_batch_lobe_mask(batch, 0, k), 0xFFFF);
            assert_true(sort_ssl_batch_lobe_weight(batch, 0, k, 1)[3] == 0.5f);
            assert_true(sort_ssl_batch_lobe_arg(batch, 0, k, 0)[9] == 9.0f);
            assert_null(sort_ssl_batch_lobe_arg(batch, 0, k, 1));
            assert_int_equal(sort_ssl_batch_lobe_arg_int(batch, 0, k, 1)[9], 7);
            assert_true(sort_ssl_batch_lobe_arg(batch, 0, k, 4)[9] == 1.0f);
            assert_null(sort_ssl_batch_lobe_arg(batch, 0, k, 5));
        }
    }
    for (uint32_t k = 0; k < info.lobe_count; ++k) {
        SortSslLobe lobe = {.size_bytes = sizeof lobe};
        assert_int_equal(sort_ssl_program_lobe(program, k, &lobe, NULL), SORT_SSL_OK);
        if (lobe.closure == 0 && lobe.parent == sheet) {
            seen |= 2;
            assert_true(sort_ssl_batch_lobe_arg(batch, 0, k, 2)[0] == 3.0f);
        } else if (lobe.closure == 0) {
            seen |= 4;
            assert_int_equal(sort_ssl_batch_lobe_mask(batch, 0, k), 0xAAAA);
            assert_true(sort_ssl_batch_lobe_arg(batch, 0, k, 0)[1] == 4.0f);
        }
    }
    assert_int_equal(seen, 7);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
    sort_ssl_unit_destroy(unit);
}

/* Programs of one kind keep the closures of that kind; a closure that is no wire is none. */
static void test_ssl_api_kinds(void **state)
{
    (void)state;
    SortSslUnit *unit;
    SortSslProgram *all =
        new_program("shader s(closure under, out closure c) { c = make_closure<Glow>(color(2))\n"
                    "  + make_closure<Sheet>(1, under, 1, normal(0, 0, 1)); }",
                    0, &unit);
    SortSslBuildDesc how = {.size_bytes = sizeof how, .kind = SORT_SSL_EMISSION};
    SortSslProgram *emission = NULL;
    assert_int_equal(sort_ssl_program_build(unit, &how, NULL, &emission, NULL), SORT_SSL_OK);
    SortSslProgramInfo info = {.size_bytes = sizeof info};
    assert_int_equal(sort_ssl_program_info(all, &info, NULL), SORT_SSL_OK);
    assert_int_equal(info.lobe_count, 2);
    assert_int_equal(sort_ssl_program_info(emission, &info, NULL), SORT_SSL_OK);
    assert_int_equal(info.lobe_count, 1);
    SortSslBatch *batch = new_batch(emission, 1);
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_batch_lobe_mask(batch, 0, 0), 1);
    assert_true(sort_ssl_batch_lobe_arg(batch, 0, 0, 0)[0] == 2.0f);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(emission);
    sort_ssl_program_destroy(all);
    sort_ssl_unit_destroy(unit);
}

/* r = s * t, with its derivatives. */
static void product(void *user, const SortSslTextureCall *call)
{
    *(uint32_t *)user += 1;
    assert_int_equal(call->size_bytes, sizeof *call);
    uint32_t n = call->lane_count;
    for (uint32_t i = 0; i < n; ++i) {
        if (!(call->lane_mask >> i & 1))
            continue;
        float s = call->coord[i], t = call->coord[n + i];
        assert_true(s == (float)(call->first_point + i));
        assert_true(call->coord[2 * n + i] == 0.5f); /* ds/dx */
        for (uint32_t row = 0; row < (call->with_derivs ? 12u : 4u); ++row)
            call->result[row * n + i] = 0;
        call->result[i] = s * t;
        if (call->with_derivs) {
            call->result[4 * n + i] = t;
            call->result[8 * n + i] = s;
        }
    }
}

static void test_ssl_api_textures(void **state)
{
    (void)state;
    SortSslUnit *unit;
    SortSslProgram *program = new_program("texture2d other, map;\nshader s(out float r)\n{\n"
                                          "  r = texture2d_sample<map>(global_value<u>,\n"
                                          "    3 * global_value<u>, filter = \"bilinear\").x;\n}",
                                          0, &unit);
    assert_string_equal(sort_ssl_unit_texture(unit, 1), "map");
    assert_null(sort_ssl_unit_texture(unit, 2));
    SortSslTextureSite site = {.size_bytes = sizeof site};
    assert_int_equal(sort_ssl_program_texture_site(program, 0, &site, NULL), SORT_SSL_OK);
    assert_int_equal(site.texture, 1);
    assert_string_equal(site.filter, "bilinear");
    assert_string_equal(site.wrap_s, "");
    assert_string_equal(site.file, "test.ssl");
    assert_int_equal(site.line, 4);
    enum { COUNT = 300 }; /* more than a kernel has at a time */
    SortSslBatch *batch = new_batch(program, COUNT);
    for (uint32_t i = 0; i < COUNT; ++i) {
        sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_VALUE, 0)[i % 16] = (float)i;
        sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_DDX, 0)[i % 16] = 0.5f;
    }
    REFUSED(SORT_SSL_INVALID, "texture_lookup is NULL", sort_ssl_batch_run(batch, NULL, &err));
    uint32_t calls = 0;
    SortSslRunDesc run = {.size_bytes = sizeof run, .texture_lookup = product, .user = &calls};
    assert_int_equal(sort_ssl_batch_run(batch, &run, NULL), SORT_SSL_OK);
    assert_true(calls > 0);
    for (uint32_t i = 0; i < COUNT; ++i) {
        float u = (float)i;
        assert_true(sort_ssl_batch_output(batch, i / 16, 0, SORT_SSL_VALUE, 0)[i % 16] ==
                    3 * u * u);
        assert_true(sort_ssl_batch_output(batch, i / 16, 0, SORT_SSL_DDX, 0)[i % 16] == 3 * u);
    }
    sort_ssl_batch_global(batch, 18, U, SORT_SSL_DDY, 0)[11] = NAN;
    sort_ssl_batch_global(batch, 0, U, SORT_SSL_VALUE, 0)[2] = 7;
    REFUSED(SORT_SSL_INVALID, "a derivative of 'u' at point 299 is not finite",
            sort_ssl_batch_run(batch, &run, &err));
    assert_true(sort_ssl_batch_output(batch, 0, 0, SORT_SSL_VALUE, 0)[2] == 12); /* nothing ran */
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
    sort_ssl_unit_destroy(unit);
}

static void test_ssl_api_attributes(void **state)
{
    (void)state;
    SortSslUnit *unit;
    SortSslProgram *program = new_program(
        "attribute float2 st = float2(3, 4);\nattribute int layer = 6;\n"
        "shader s(out float a, out int b, out bool has) { a = attribute<st>.y + attribute<time>;\n"
        "  b = attribute<layer>; has = attribute_exists<st>; }",
        0, &unit);
    uint32_t st = sort_ssl_unit_find_attribute(unit, "st"),
             layer = sort_ssl_unit_find_attribute(unit, "layer");
    uint32_t time = sort_ssl_unit_find_attribute(unit, "time");
    assert_int_equal(sort_ssl_unit_find_attribute(unit, "none"), SORT_SSL_NONE);
    SortSslAttributeInfo info = {.size_bytes = sizeof info};
    assert_int_equal(sort_ssl_unit_attribute(unit, time, &info, NULL), SORT_SSL_OK);
    assert_false(info.is_declared);
    SortSslBatch *batch = new_batch(program, 2);
    sort_ssl_batch_attribute(batch, 0, time, SORT_SSL_VALUE, 0)[1] = 0.5f;
    sort_ssl_batch_attribute(batch, 0, st, SORT_SSL_VALUE, 1)[1] = 8.0f;
    sort_ssl_batch_attribute(batch, 0, st, SORT_SSL_DDX, 1)[1] = 2.0f;
    sort_ssl_batch_attribute_int(batch, 0, layer)[1] = 9;
    sort_ssl_batch_attribute_exists(batch, 0, st)[1] = 1;
    assert_null(sort_ssl_batch_attribute_int(batch, 0, st));
    assert_null(sort_ssl_batch_attribute(batch, 0, layer, SORT_SSL_VALUE, 0));
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    const float *a = sort_ssl_batch_output(batch, 0, 0, SORT_SSL_VALUE, 0);
    assert_true(a[0] == 4.0f && a[1] == 8.5f); /* point 0 has nothing: defaults */
    assert_true(sort_ssl_batch_output(batch, 0, 0, SORT_SSL_DDX, 0)[1] == 2.0f);
    const int32_t *b = sort_ssl_batch_output_int(batch, 0, 1, 0),
                  *has = sort_ssl_batch_output_int(batch, 0, 2, 0);
    assert_true(b[0] == 6 && b[1] == 9 && has[0] == 0 && has[1] == 1);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
    sort_ssl_unit_destroy(unit);
}

static void test_ssl_api_faults(void **state)
{
    (void)state;
    SortSslProgram *program = new_program(
        "shader s(out float a)\n{\n  float w[3] = {1, 2, 3};\n  a = w[global_value<n>];\n"
        "  int i = 0; while (i >= 0 && global_value<is_back>) i = (i + 1) % 100;\n  a += i;\n}",
        0, NULL);
    SortSslBatch *batch = new_batch(program, 3);
    sort_ssl_batch_global_int(batch, 0, N)[1] = 50;
    sort_ssl_batch_global_int(batch, 0, IS_BACK)[2] = 1;
    SortSslRunDesc run = {.size_bytes = sizeof run, .loop_budget = 1000};
    assert_int_equal(sort_ssl_batch_run(batch, &run, NULL), SORT_SSL_OK);
    SortSslFault fault = {.size_bytes = sizeof fault};
    assert_false(sort_ssl_batch_fault(batch, 0, &fault));
    assert_true(sort_ssl_batch_fault(batch, 1, &fault));
    assert_int_equal(fault.kind, SORT_SSL_FAULT_INDEX);
    assert_string_equal(fault.file, "test.ssl");
    assert_int_equal(fault.line, 4);
    assert_true(sort_ssl_batch_output(batch, 0, 0, SORT_SSL_VALUE, 0)[1] == 3.0f); /* the nearest */
    assert_true(sort_ssl_batch_fault(batch, 2, &fault));
    assert_int_equal(fault.kind, SORT_SSL_FAULT_LOOP);
    assert_false(sort_ssl_batch_fault(batch, 3, &fault));
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
}

/* The host's modes neither decide bits nor are lost. */
static void test_ssl_api_floating_point_modes(void **state)
{
    (void)state;
    SortSslProgram *program =
        new_program("shader s(out float a, out float b) { a = global_value<u> / 3;\n"
                    "  b = global_value<u> * 1e-38 * 0.1 * 1e10; }",
                    0, NULL);
    SortSslBatch *batch = new_batch(program, 1);
    float *u = sort_ssl_batch_global(batch, 0, U, SORT_SSL_VALUE, 0);
    const float *a = sort_ssl_batch_output(batch, 0, 0, SORT_SSL_VALUE, 0);
    u[0] = 1;
    fesetround(FE_UPWARD);
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    assert_int_equal(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    assert_true(a[0] == 1.0f / 3.0f);
    assert_true(sort_ssl_batch_output(batch, 0, 1, SORT_SSL_VALUE, 0)[0] == 0.0f);
    volatile float small = FLT_MIN;
    assert_true(small / 2 > 0); /* subnormal numbers are back */
    u[0] = FLT_MIN / 2;
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    assert_true(a[0] == 0.0f && u[0] == 0.0f);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
}

/* --- what units tell, diagnostics, refusals ----------------------------------------------------- */

static void test_ssl_api_unit_info(void **state)
{
    (void)state;
    SortSslUnit *unit;
    SortSslProgram *program = new_program("shader s(float a, color c = color(0.25, 0.5, 1), string "
                                          "name = \"one\", bool b = true, int i = -3,\n"
                                          "  float w[2] = {5, 6}, out float o) { o = a + c.x + "
                                          "w[1] + (name == \"two\" ? 100 : 0) + (b ? i : 0); }",
                                          0, &unit);
    SortSslUnitInfo info = {.size_bytes = sizeof info};
    assert_int_equal(sort_ssl_unit_info(unit, &info, NULL), SORT_SSL_OK);
    assert_string_equal(info.name, "s");
    assert_int_equal(info.param_count, 6);
    SortSslParam param = {.size_bytes = sizeof param};
    assert_int_equal(sort_ssl_unit_param(unit, 0, &param, NULL), SORT_SSL_OK);
    assert_false(param.has_default);
    assert_int_equal(
        sort_ssl_unit_param(unit, sort_ssl_unit_find_param(unit, "name"), &param, NULL),
        SORT_SSL_OK);
    assert_string_equal(param.default_text, "one");
    assert_int_equal(param.number_count, 0);
    assert_int_equal(sort_ssl_unit_param(unit, 5, &param, NULL), SORT_SSL_OK);
    assert_string_equal(param.type_name, "float[2]");
    double numbers[3];
    assert_int_equal(sort_ssl_unit_param_default(unit, 1, numbers, 3, NULL), SORT_SSL_OK);
    assert_true(numbers[0] == 0.25 && numbers[2] == 1);
    assert_int_equal(sort_ssl_unit_param_default(unit, 5, numbers, 2, NULL), SORT_SSL_OK);
    assert_true(numbers[0] == 5 && numbers[1] == 6);
    assert_int_equal(sort_ssl_unit_param_default(unit, 4, numbers, 1, NULL), SORT_SSL_OK);
    assert_true(numbers[0] == -3);
    REFUSED(SORT_SSL_NOT_FOUND, "no default",
            sort_ssl_unit_param_default(unit, 0, numbers, 1, &err));
    REFUSED(SORT_SSL_INVALID, "of 3 numbers, not of 2",
            sort_ssl_unit_param_default(unit, 1, numbers, 2, &err));
    REFUSED(SORT_SSL_INVALID, "there is no parameter 6",
            sort_ssl_unit_param(unit, 6, &param, &err));

    SortSslBatch *batch = new_batch(program, 1);
    REFUSED(SORT_SSL_INVALID, "'a' has no default", sort_ssl_batch_run(batch, NULL, &err));
    SortSslParams *params = NULL;
    assert_int_equal(sort_ssl_params_create(program, &params, NULL), SORT_SSL_OK);
    SortSslRunDesc run = {.size_bytes = sizeof run, .params = params};
    assert_int_equal(sort_ssl_params_set(params, "a", &(double){10}, 1, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_params_set(params, "w", (double[]){7, 8}, 2, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_params_set(params, "i", &(double){40}, 1, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_batch_run(batch, &run, NULL), SORT_SSL_OK);
    assert_true(sort_ssl_batch_output(batch, 0, 0, SORT_SSL_VALUE, 0)[0] == 10 + 0.25f + 8 + 40);
    REFUSED(SORT_SSL_NOT_FOUND, "no parameter 'z'",
            sort_ssl_params_set(params, "z", numbers, 1, &err));
    REFUSED(SORT_SSL_INVALID, "of 3 numbers, not of 1",
            sort_ssl_params_set(params, "c", numbers, 1, &err));
    REFUSED(SORT_SSL_INVALID, "0.5 is no int",
            sort_ssl_params_set(params, "i", &(double){0.5}, 1, &err));
    REFUSED(SORT_SSL_INVALID, "is no int",
            sort_ssl_params_set(params, "i", &(double){3e9}, 1, &err));
    REFUSED(SORT_SSL_INVALID, "2 is no bool",
            sort_ssl_params_set(params, "b", &(double){2}, 1, &err));
    REFUSED(SORT_SSL_INVALID, "range of a float",
            sort_ssl_params_set(params, "a", &(double){1e39}, 1, &err));
    REFUSED(SORT_SSL_INVALID, "range of a float",
            sort_ssl_params_set(params, "a", &(double){(double)NAN}, 1, &err));
    REFUSED(SORT_SSL_INVALID, "not set by numbers",
            sort_ssl_params_set(params, "name", numbers, 1, &err));

    /* Baked: the text is another, and the switch is gone. */
    SortSslConstant constants[] = {{"name", 0, "two"}, {"b", 0, NULL}, {"a", 1, NULL}};
    SortSslBuildDesc how = {.size_bytes = sizeof how, .constants = constants, .constant_count = 3};
    SortSslProgram *baked = NULL;
    assert_int_equal(sort_ssl_program_build(unit, &how, NULL, &baked, NULL), SORT_SSL_OK);
    SortSslBatch *other = new_batch(baked, 1);
    REFUSED(SORT_SSL_INVALID, "another program", sort_ssl_batch_run(other, &run, &err));
    assert_int_equal(sort_ssl_batch_run(other, NULL, NULL), SORT_SSL_OK);
    assert_true(sort_ssl_batch_output(other, 0, 0, SORT_SSL_VALUE, 0)[0] == 1 + 0.25f + 6 + 100);
    assert_null(sort_ssl_batch_output(other, 0, 0, SORT_SSL_DDX, 0)); /* not asked for */
    sort_ssl_batch_destroy(other);
    sort_ssl_program_destroy(baked);
    SortSslProgram *none = program;
    constants[0].text = NULL;
    REFUSED(SORT_SSL_INVALID, "needs a text",
            sort_ssl_program_build(unit, &how, NULL, &none, &err));
    assert_null(none);
    constants[0] = (SortSslConstant){"c", 1, NULL};
    REFUSED(SORT_SSL_INVALID, "is a color", sort_ssl_program_build(unit, &how, NULL, &none, &err));
    constants[0].name = "z";
    REFUSED(SORT_SSL_NOT_FOUND, "'z'", sort_ssl_program_build(unit, &how, NULL, &none, &err));
    how = (SortSslBuildDesc){.size_bytes = sizeof how, .lanes = 3};
    REFUSED(SORT_SSL_INVALID, "3 lanes", sort_ssl_program_build(unit, &how, NULL, &none, &err));
    how = (SortSslBuildDesc){.size_bytes = sizeof how, .llvm_level = 5};
    REFUSED(SORT_SSL_INVALID, "LLVM level of 5",
            sort_ssl_program_build(unit, &how, NULL, &none, &err));
    sort_ssl_params_destroy(params);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
    sort_ssl_unit_destroy(unit);
}

static void test_ssl_api_diagnostics(void **state)
{
    (void)state;
    SortSslContext *ctx = new_context();
    SortSslDiags *diags = NULL;
    assert_int_equal(sort_ssl_diags_create(&diags, NULL), SORT_SSL_OK);
    SortSslSource source = source_of("shader s(out float a)\n{\n    a = nothing;\n}\n");
    SortSslUnit *unit = NULL;
    REFUSED(SORT_SSL_SOURCE, "test.ssl:3:9: error[",
            sort_ssl_unit_compile(ctx, &source, diags, &unit, &err));
    REFUSED(SORT_SSL_SOURCE, "nothing", sort_ssl_unit_compile(ctx, &source, NULL, &unit, &err));
    assert_null(unit);
    assert_int_equal(sort_ssl_diags_error_count(diags), 1);
    SortSslDiag diag = {.size_bytes = sizeof diag};
    assert_int_equal(sort_ssl_diags_get(diags, 0, &diag, NULL), SORT_SSL_OK);
    assert_int_equal(diag.severity, SORT_SSL_ERROR);
    assert_string_equal(diag.file, "test.ssl");
    assert_true(diag.code[0] == 'S' && diag.line == 3 && diag.column == 9 && diag.end_column == 16);
    assert_non_null(strstr(sort_ssl_diags_text(diags), "a = nothing;"));
    REFUSED(SORT_SSL_INVALID, "there is no diagnostic",
            sort_ssl_diags_get(diags, sort_ssl_diags_count(diags), &diag, &err));
    /* The second source of a list: its own first error. */
    source = source_of("shader");
    REFUSED(SORT_SSL_SOURCE,
            "test.ssl:1:", sort_ssl_unit_compile(ctx, &source, diags, &unit, &err));
    source = source_of("shader a(out float x) { x = 1; } shader b(out float x) { x = 2; }");
    source.shader = "c";
    assert_int_equal(sort_ssl_unit_compile(ctx, &source, diags, &unit, NULL), SORT_SSL_SOURCE);
    source.shader = "b";
    assert_int_equal(sort_ssl_unit_compile(ctx, &source, diags, &unit, NULL), SORT_SSL_OK);
    sort_ssl_unit_destroy(unit);
    source =
        source_of("T twice<T>(T x) { return x; } shader s(out float x) { int n; x = twice(1.0); }");
    assert_int_equal(sort_ssl_unit_compile(ctx, &source, diags, &unit, NULL), SORT_SSL_OK);
    assert_non_null(strstr(sort_ssl_diags_text(diags), "'n' is never used"));
    sort_ssl_unit_destroy(unit);
    source = source_of("");
    source.text = NULL;
    assert_int_equal(sort_ssl_unit_compile(ctx, &source, NULL, &unit, NULL), SORT_SSL_SOURCE);
    source.text_bytes = 1;
    REFUSED(SORT_SSL_INVALID, "text of the",
            sort_ssl_unit_compile(ctx, &source, NULL, &unit, &err));
    source.text = "";
    source.text_bytes = SIZE_MAX; /* not read */
    REFUSED(SORT_SSL_LIMIT, "at most 4194304",
            sort_ssl_unit_compile(ctx, &source, NULL, &unit, &err));
    sort_ssl_diags_destroy(diags);
    sort_ssl_context_destroy(ctx);
}

static void test_ssl_api_refuses_hosts(void **state)
{
    (void)state;
    SortSslContext *ctx = NULL;
    SortSslContextDesc desc = host_desc();
    ++desc.size_bytes;
    REFUSED(SORT_SSL_INVALID, "size_bytes of SortSslContextDesc",
            sort_ssl_context_create(&desc, &ctx, &err));
    desc.size_bytes = 0;
    REFUSED(SORT_SSL_INVALID, "size_bytes", sort_ssl_context_create(&desc, &ctx, &err));
    desc = host_desc();
    desc.global_count = 65;
    REFUSED(SORT_SSL_LIMIT, "65 globals", sort_ssl_context_create(&desc, &ctx, &err));
    desc = host_desc();
    desc.closures = NULL;
    REFUSED(SORT_SSL_INVALID, "is NULL", sort_ssl_context_create(&desc, &ctx, &err));
    desc = host_desc();
    desc.cpu = "abacus";
    REFUSED(SORT_SSL_INVALID, "abacus", sort_ssl_context_create(&desc, &ctx, &err));
    SortSslGlobal rows[2] = {{"a", SORT_SSL_FLOAT, true}, {NULL, SORT_SSL_FLOAT, false}};
    desc = (SortSslContextDesc){.size_bytes = sizeof desc, .globals = rows, .global_count = 2};
    REFUSED(SORT_SSL_INVALID, "has no name", sort_ssl_context_create(&desc, &ctx, &err));
    rows[1].name = "a";
    REFUSED(SORT_SSL_INVALID, "stands twice", sort_ssl_context_create(&desc, &ctx, &err));
    rows[1] = (SortSslGlobal){"b", (SortSslType)17, false};
    REFUSED(SORT_SSL_INVALID, "17 is no SortSslType", sort_ssl_context_create(&desc, &ctx, &err));
    rows[1] = (SortSslGlobal){"b", SORT_SSL_CLOSURE, false};
    REFUSED(SORT_SSL_INVALID, "cannot be a closure", sort_ssl_context_create(&desc, &ctx, &err));
    rows[1] = (SortSslGlobal){"b", SORT_SSL_INT, true};
    REFUSED(SORT_SSL_INVALID, "no derivatives", sort_ssl_context_create(&desc, &ctx, &err));
    assert_null(ctx);
    assert_int_equal(sort_ssl_context_create(NULL, &ctx, NULL), SORT_SSL_OK); /* no tables at all */
    REFUSED(SORT_SSL_INVALID, "out_context is NULL", sort_ssl_context_create(NULL, NULL, &err));
    REFUSED(SORT_SSL_INVALID, "source is NULL",
            sort_ssl_unit_compile(ctx, NULL, NULL, &(SortSslUnit *){0}, &err));
    REFUSED(SORT_SSL_INVALID, "unit is NULL",
            sort_ssl_program_build(NULL, NULL, NULL, &(SortSslProgram *){0}, &err));
    REFUSED(SORT_SSL_INVALID, "program is NULL",
            sort_ssl_batch_create(NULL, 1, &(SortSslBatch *){0}, &err));
    REFUSED(SORT_SSL_INVALID, "batch is NULL", sort_ssl_batch_run(NULL, NULL, &err));
    REFUSED(SORT_SSL_INVALID, "params is NULL",
            sort_ssl_params_set(NULL, "a", &(double){0}, 1, &err));
    assert_int_equal(sort_ssl_unit_find_param(NULL, "a"), SORT_SSL_NONE);
    assert_null(sort_ssl_batch_output(NULL, 0, 0, SORT_SSL_VALUE, 0));
    assert_string_equal(sort_ssl_diags_text(NULL), "");
    sort_ssl_context_destroy(NULL);
    sort_ssl_context_destroy(ctx);

    SortSslProgram *program =
        new_program("shader s(out float a) { a = global_value<u>; }", 0, NULL);
    REFUSED(SORT_SSL_INVALID, "0 points",
            sort_ssl_batch_create(program, 0, &(SortSslBatch *){0}, &err));
    SortSslBatch *batch = new_batch(program, 3);
    sort_ssl_batch_global(batch, 0, U, SORT_SSL_DDX, 0)[2] = INFINITY;
    REFUSED(SORT_SSL_INVALID, "derivative of 'u' at point 2",
            sort_ssl_batch_run(batch, NULL, &err));
    assert_int_equal(sort_ssl_batch_set_live(batch, 2, false, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    REFUSED(SORT_SSL_INVALID, "there is no point 3", sort_ssl_batch_set_live(batch, 3, true, &err));
    assert_null(sort_ssl_batch_global(batch, 1, U, SORT_SSL_VALUE, 0));
    assert_null(sort_ssl_batch_global(batch, 0, U, SORT_SSL_VALUE, 1));
    assert_null(sort_ssl_batch_global(batch, 0, N, SORT_SSL_VALUE, 0));
    assert_null(sort_ssl_batch_global(batch, 0, 4, SORT_SSL_VALUE, 0));
    assert_null(sort_ssl_batch_global_int(batch, 0, U));
    SortSslFault fault = {.size_bytes = 1};
    assert_false(sort_ssl_batch_fault(batch, 0, &fault));
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
}

/* --- derivatives of units ------------------------------------------------------------------- */

static void test_ssl_api_gradients(void **state)
{
    (void)state;
    SortSslUnit *unit, *back, *none;
    SortSslError wrong = {0};
    SortSslProgram *plain =
        new_program("shader s(float k = 3, float step = 0.5, out float a)\n"
                    "{ float u = global_value<u>; a = u > step ? k * k * u : k; }",
                    0, &unit);
    const SortSslInput inputs[] = {{SORT_SSL_INPUT_PARAM, "k"}, {SORT_SSL_INPUT_PARAM, "step"}};
    const char *outputs[] = {"a"};
    SortSslDerivativeDesc how = {.size_bytes = sizeof how,
                                 .is_backward = true,
                                 .inputs = inputs,
                                 .outputs = outputs,
                                 .input_count = 2,
                                 .output_count = 1};
    if (sort_ssl_unit_differentiate(unit, &how, NULL, &back, &wrong))
        fail_msg("%s", wrong.text);
    assert_false(sort_ssl_unit_output_is_zero(back, 0));
    assert_true(sort_ssl_unit_output_is_zero(back, 1));
    assert_false(sort_ssl_unit_output_is_zero(back, 2));
    SortSslProgram *program = NULL;
    assert_int_equal(sort_ssl_program_build(back, NULL, NULL, &program, NULL), SORT_SSL_OK);
    SortSslBatch *batch = new_batch(program, 20);
    uint32_t adjoint = sort_ssl_unit_find_attribute(back, "adjoint(a)");
    double expected = 0;
    for (uint32_t i = 0; i < 20; ++i) {
        float u = 0.05f * (float)i;
        sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_VALUE, 0)[i % 16] = u;
        sort_ssl_batch_attribute(batch, i / 16, adjoint, SORT_SSL_VALUE, 0)[i % 16] = (float)i;
        expected += (double)i * (u > 0.5f ? 6 * (double)u : 1);
    }
    SortSslSum *sum, *other;
    double total;
    assert_int_equal(sort_ssl_sum_create(program, &sum, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_sum_create(program, &other, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_sum_add(sum, batch, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_sum_add(other, batch, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_sum_value(sum, 0, 0, &total, NULL), SORT_SSL_OK);
    assert_true(total > expected - 1e-4 && total < expected + 1e-4);
    assert_int_equal(sort_ssl_sum_merge(sum, other, NULL), SORT_SSL_OK);
    double twice;
    assert_int_equal(sort_ssl_sum_value(sum, 0, 0, &twice, NULL), SORT_SSL_OK);
    assert_true(twice == 2 * total);

    sort_ssl_batch_attribute(batch, 1, adjoint, SORT_SSL_VALUE, 0)[2] = INFINITY;
    assert_int_equal(sort_ssl_batch_run(batch, NULL, NULL), SORT_SSL_OK);
    REFUSED(SORT_SSL_INVALID, "adjoint(a) at point 18 is inf", sort_ssl_sum_add(sum, batch, &err));
    SortSslBatch *foreign = new_batch(plain, 1);
    REFUSED(SORT_SSL_INVALID, "another program", sort_ssl_sum_add(sum, foreign, &err));
    REFUSED(SORT_SSL_INVALID, "no output 2", sort_ssl_sum_value(sum, 2, 0, &total, &err));
    REFUSED(SORT_SSL_INVALID, "no number 1", sort_ssl_sum_value(sum, 0, 1, &total, &err));
    REFUSED(SORT_SSL_INVALID, "out_value", sort_ssl_sum_value(sum, 0, 0, NULL, &err));
    REFUSED(SORT_SSL_INVALID, "batch", sort_ssl_sum_add(sum, NULL, &err));
    REFUSED(SORT_SSL_INVALID, "other", sort_ssl_sum_merge(sum, NULL, &err));
    REFUSED(SORT_SSL_INVALID, "program", sort_ssl_sum_create(NULL, &(SortSslSum *){0}, &err));

    how.inputs = (const SortSslInput[]){{SORT_SSL_INPUT_TEXTURE, "wood"}};
    how.input_count = 1;
    REFUSED(SORT_SSL_NOT_FOUND, "no texture 'wood'",
            sort_ssl_unit_differentiate(unit, &how, NULL, &none, &err));
    assert_null(none);
    how.inputs = (const SortSslInput[]){{SORT_SSL_INPUT_PARAM, NULL}};
    REFUSED(SORT_SSL_INVALID, "name of a SortSslInput",
            sort_ssl_unit_differentiate(unit, &how, NULL, &none, &err));
    how.inputs = NULL;
    REFUSED(SORT_SSL_INVALID, "inputs", sort_ssl_unit_differentiate(unit, &how, NULL, &none, &err));
    REFUSED(SORT_SSL_INVALID, "how", sort_ssl_unit_differentiate(unit, NULL, NULL, &none, &err));
    sort_ssl_sum_destroy(sum);
    sort_ssl_sum_destroy(other);
    sort_ssl_batch_destroy(foreign);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
    sort_ssl_program_destroy(plain);
    sort_ssl_unit_destroy(back);
    sort_ssl_unit_destroy(unit);
}

/* A texture of four texels in a row, of which a lookup reads the one under s. */
enum { ROW_TEXELS = 4 };
typedef struct Row {
    float texels[ROW_TEXELS];
    SortSslTexelSum *sum;
} Row;

static uint64_t texel_of(const SortSslTextureCall *call, uint32_t lane)
{
    return (uint64_t)(call->coord[lane] * ROW_TEXELS);
}

static void row_lookup(void *user, const SortSslTextureCall *call)
{
    const Row *row = user;
    for (uint32_t i = 0; i < 4 * call->lane_count; ++i)
        if (call->lane_mask >> i % call->lane_count & 1)
            call->result[i] = row->texels[texel_of(call, i % call->lane_count)];
}

static void row_adjoint(void *user, const SortSslTextureCall *call)
{
    const Row *row = user;
    for (uint32_t lane = 0; lane < call->lane_count; ++lane) {
        uint64_t place = texel_of(call, lane);
        if (call->lane_mask >> lane & 1)
            assert_int_equal(
                sort_ssl_texel_sum_add(row->sum, &place, 1, &call->result[lane], 1, NULL),
                SORT_SSL_OK);
    }
}

static void test_ssl_api_texels(void **state)
{
    (void)state;
    SortSslUnit *unit, *back;
    SortSslProgram *program =
        new_program("texture2d wood; shader s(out float a)\n"
                    "{ float r = texture2d_sample<wood>(global_value<u>, 0).r; "
                    "a = r * r; }",
                    0, &unit);
    sort_ssl_program_destroy(program);
    const SortSslInput input = {SORT_SSL_INPUT_TEXTURE, "wood"};
    const char *output = "a";
    const SortSslDerivativeDesc how = {.size_bytes = sizeof how,
                                       .is_backward = true,
                                       .inputs = &input,
                                       .outputs = &output,
                                       .input_count = 1,
                                       .output_count = 1};
    assert_int_equal(sort_ssl_unit_differentiate(unit, &how, NULL, &back, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_unit_find_output(back, "gradient(texture2d<wood>)"), 0);
    assert_int_equal(sort_ssl_program_build(back, NULL, NULL, &program, NULL), SORT_SSL_OK);
    enum { COUNT = 300 };
    SortSslBatch *batch = new_batch(program, COUNT);
    uint32_t adjoint = sort_ssl_unit_find_attribute(back, "adjoint(a)");
    Row row = {.texels = {1, 2, 3, 4}};
    double expected[ROW_TEXELS] = {0}, found[ROW_TEXELS], whole;
    for (uint32_t i = 0; i < COUNT; ++i) {
        sort_ssl_batch_global(batch, i / 16, U, SORT_SSL_VALUE, 0)[i % 16] = (float)i / COUNT;
        sort_ssl_batch_attribute(batch, i / 16, adjoint, SORT_SSL_VALUE, 0)[i % 16] = 0.5f;
        uint32_t texel = i * ROW_TEXELS / COUNT;
        expected[texel] += (double)row.texels[texel];
    }
    SortSslRunDesc run = {.size_bytes = sizeof run, .texture_lookup = row_lookup, .user = &row};
    REFUSED(SORT_SSL_INVALID, "by the texels of 'wood': texture_adjoint is NULL",
            sort_ssl_batch_run(batch, &run, &err));
    run.texture_adjoint = row_adjoint;
    run.size_bytes = offsetof(SortSslRunDesc, texture_adjoint); /* a host of before there was one */
    REFUSED(SORT_SSL_INVALID, "texture_adjoint is NULL", sort_ssl_batch_run(batch, &run, &err));
    run.size_bytes = sizeof run;
    const SortSslTexelSumDesc sums = {.size_bytes = sizeof sums, .place_count = ROW_TEXELS};
    assert_int_equal(sort_ssl_texel_sum_create(&sums, &row.sum, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_batch_run(batch, &run, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_texel_sum_read(row.sum, 0, ROW_TEXELS, found, NULL), SORT_SSL_OK);
    assert_memory_equal(found, expected, sizeof found);
    /* The shader's own output is the gradient by what is added to all texels. */
    SortSslSum *total;
    assert_int_equal(sort_ssl_sum_create(program, &total, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_sum_add(total, batch, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_sum_value(total, 0, 0, &whole, NULL), SORT_SSL_OK);
    assert_true(whole == expected[0] + expected[1] + expected[2] + expected[3]);

    SortSslTexelSum *other;
    assert_int_equal(sort_ssl_texel_sum_create(&sums, &other, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_texel_sum_merge(other, row.sum, NULL), SORT_SSL_OK);
    assert_int_equal(sort_ssl_texel_sum_read(other, 3, 1, found, NULL), SORT_SSL_OK);
    assert_true(found[0] == expected[3]);
    const uint64_t beyond = ROW_TEXELS;
    const float infinite = INFINITY;
    REFUSED(SORT_SSL_INVALID, "out of range",
            sort_ssl_texel_sum_add(other, &beyond, 1, &infinite, 1, &err));
    REFUSED(SORT_SSL_INVALID, "is inf, which cannot be summed",
            sort_ssl_texel_sum_add(other, &(uint64_t){1}, 1, &infinite, 1, &err));
    REFUSED(SORT_SSL_INVALID, "out of range", sort_ssl_texel_sum_read(other, 2, 3, found, &err));
    REFUSED(SORT_SSL_INVALID, "itself", sort_ssl_texel_sum_merge(other, other, &err));
    sort_ssl_texel_sum_destroy(other);
    REFUSED(SORT_SSL_INVALID, "desc", sort_ssl_texel_sum_create(NULL, &other, &err));
    sort_ssl_sum_destroy(total);
    sort_ssl_texel_sum_destroy(row.sum);
    sort_ssl_batch_destroy(batch);
    sort_ssl_program_destroy(program);
    sort_ssl_unit_destroy(back);
    sort_ssl_unit_destroy(unit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ssl_api_outputs),
        cmocka_unit_test(test_ssl_api_closures_are_lobes),
        cmocka_unit_test(test_ssl_api_textures),
        cmocka_unit_test(test_ssl_api_attributes),
        cmocka_unit_test(test_ssl_api_faults),
        cmocka_unit_test(test_ssl_api_floating_point_modes),
        cmocka_unit_test(test_ssl_api_unit_info),
        cmocka_unit_test(test_ssl_api_diagnostics),
        cmocka_unit_test(test_ssl_api_refuses_hosts),
        cmocka_unit_test(test_ssl_api_kinds),
        cmocka_unit_test(test_ssl_api_gradients),
        cmocka_unit_test(test_ssl_api_texels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
