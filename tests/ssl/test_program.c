/* The public interface of ssl/: from source to a kernel that runs, what the host is told about it, and
 * every refusal; out of memory at each allocation of a whole compile. */
#include "base/alloc.h"
#include "base/thread.h"
#include "ssl/ssl.h"
#include <stdio.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "x1", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "x2", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "position", .type = SSL_POINT, .has_derivs = true, .space = "world", .doc = ""},
    {.name = "depth", .type = SSL_INT, .space = "", .doc = ""},
};
enum { X1, X2, POSITION, DEPTH, GLOBAL_COUNT };

static const SslClosureArg lambert_args[] = {{"albedo", SSL_COLOR}, {"N", SSL_NORMAL}};
static const SslClosureArg color_args[] = {{"color", SSL_COLOR}};
static const SslClosureRow closures[] = {
    {.name = "Lambert", .args = lambert_args, .arg_count = 2},
    {.name = "Emission", .args = color_args, .arg_count = 1, .flags = SSL_CLOSURE_EMISSION},
    {.name = "Transparent", .args = color_args, .arg_count = 1, .flags = SSL_CLOSURE_TRANSPARENT},
};
enum { LAMBERT, EMISSION, TRANSPARENT };

static const SslContextDesc tables = {.size_bytes = sizeof tables,
                                      .globals = globals,
                                      .closures = closures,
                                      .global_count = SORT_COUNT_OF(globals),
                                      .closure_count = SORT_COUNT_OF(closures)};

static SslContext *context_of(void **state)
{
    return *state;
}

static int setup(void **state)
{
    Error err = {0};
    SslContext *ctx;
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    ssl_context_destroy(*state);
    return 0;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static void fail_with(const DiagList *diags)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    print_error("%s", strbuf_text(&text));
    strbuf_free(&text);
    fail();
}

static SslUnit *compile(SslContext *ctx, const char *source)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    SslSource src = {.name = "test.ssl", .text = str_from(source)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK)
        fail_with(diags);
    diag_list_destroy(diags);
    return unit;
}

static SslProgram *build(SslContext *ctx, const char *source, const SslBuildDesc *how)
{
    Error err = {0};
    SslProgram *program;
    SslUnit *unit = compile(ctx, source);
    if (ssl_program_build(ctx, unit, how, NULL, &program, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    ssl_unit_release(unit); /* the program holds what it needs */
    return program;
}

/* One block, lane 3 of it live. */
typedef struct Shot {
    _Alignas(64) float globals[64 * SSL_BLOCK];
    _Alignas(64) char result[64 * SSL_BLOCK * 4];
    _Alignas(16) char params[1024];
    SslGlobalsLayout layout;
    const SslProgramInfo *info;
} Shot;
enum { LANE = 3 };

static void shot_begin(Shot *shot, const SslProgram *program)
{
    memset(shot, 0, sizeof *shot);
    shot->info = ssl_program_info(program);
    ssl_globals_layout(globals, GLOBAL_COUNT, &shot->layout);
    assert_true(shot->layout.stride_bytes <= sizeof shot->globals);
    assert_true(shot->info->result_stride_bytes <= sizeof shot->result);
    assert_true(shot->info->params_bytes <= sizeof shot->params);
    ssl_params_init(program, shot->params);
}

static void shot_set(Shot *shot, uint32_t row, uint32_t line, float x)
{
    shot->globals[shot->layout.offset_floats[row] + line * SSL_BLOCK + LANE] = x;
}

static void shot_run(Shot *shot, const SslProgram *program, uint32_t loop_budget)
{
    const uint16_t live = 1u << LANE;
    const SslBatch batch = {.globals = shot->globals,
                            .live = &live,
                            .result = shot->result,
                            .params = shot->params,
                            .block_count = 1,
                            .loop_budget = loop_budget,
                            .stack_bytes = 1 << 16};
    ssl_program_kernel(program)(&batch);
}

static float shot_float(const Shot *shot, uint32_t offset, uint32_t line)
{
    float x;
    memcpy(&x, shot->result + offset + 4 * (line * SSL_BLOCK + LANE), sizeof x);
    return x;
}

static float shot_output(const Shot *shot, uint32_t output, uint32_t line)
{
    return shot_float(shot, shot->info->outputs[output].offset, line);
}

static bool shot_has_lobe(const Shot *shot, uint32_t lobe)
{
    uint16_t mask;
    memcpy(&mask, shot->result + shot->info->lobes[lobe].mask_offset, sizeof mask);
    assert_int_equal(mask & ~(1u << LANE), 0);
    return mask != 0;
}

/* --- the worked example ------------------------------------------------------------------------- */

static const char *const practical =
    "float eval_practical(float x1, float x2) {\n"
    "    float u = x1 * x2 / (x1 + 1.0f);\n"
    "    return (sin(u) + log(1.0f + u) - exp(x2)) * (u - tanh(x2));\n"
    "}\n"
    "shader main(out float o_df_dx1) {\n"
    "    o_df_dx1 = ddx(eval_practical(global_value<x1>, global_value<x2>));\n"
    "}\n";

static void test_worked_example(void **state)
{
    for (uint32_t level = 0; level <= 4; ++level) {
        SslBuildDesc how = {.size_bytes = sizeof how, .llvm_level = level};
        SslProgram *program = build(context_of(state), practical, &how);
        Shot shot;
        shot_begin(&shot, program);
        shot_set(&shot, X1, 0, 1.5f);
        shot_set(&shot, X2, 0, 0.5f);
        shot_set(&shot, X1, 1, 1.0f);
        shot_run(&shot, program, 100);
        assert_float_equal(shot_output(&shot, 0, 0), -0.1096335f, 5e-7f);
        const SslProgramInfo *info = ssl_program_info(program);
        assert_int_equal(info->globals_value, 1u << X1 | 1u << X2);
        assert_true(info->globals_derivs == (1u << X1 | 1u << X2));
        assert_true(info->values_shadowed > 0 && info->values_shadowed <= info->values);
        ssl_program_release(program);
    }
    SslBuildDesc how = {.size_bytes = sizeof how, .without_derivatives = true};
    SslProgram *program = build(context_of(state), practical, &how);
    assert_int_equal(ssl_program_info(program)->globals_derivs, 0);
    assert_int_equal(ssl_program_info(program)->values_shadowed, 0);
    ssl_program_release(program);
}

/* --- what the host is told ------------------------------------------------------------------------ */

static const char *const material =
    "texture2d g_base;\n"
    "texture2d g_unused;\n"
    "shader material(color tint = color(0.5, 0.25, 1), float scale = 2, int mode = 1,\n"
    "                bool flip = true, float dead = 7, out closure Ci, out float height) {\n"
    "    color base = tint;\n"
    "    if (mode == 1)\n"
    "        base = base * texture2d_sample<g_base>(global_value<position>.x * scale, 0.5);\n"
    "    height = flip ? -scale : scale;\n"
    "    Ci = make_closure<Lambert>(base, vector(0, 0, 1)) +\n"
    "         make_closure<Emission>(tint) + make_closure<Transparent>(color(0.125));\n"
    "}\n";

static void test_unit_info(void **state)
{
    SslUnit *unit = compile(context_of(state), material);
    const SslUnitInfo *info = ssl_unit_info(unit);
    assert_string_equal(info->name, "material");
    assert_int_equal(info->param_count, 5);
    assert_int_equal(info->output_count, 2);
    assert_int_equal(info->texture_count, 2);
    assert_string_equal(info->params[0].name, "tint");
    assert_int_equal(info->params[0].type, SSL_COLOR);
    assert_true(info->params[0].has_default);
    assert_float_equal(info->params[0].default_value.f[1], 0.25f, 0);
    assert_int_equal(info->params[2].default_value.i, 1);
    assert_true(info->params[3].default_value.b);
    assert_string_equal(info->outputs[0].name, "Ci");
    assert_int_equal(info->outputs[0].type, SSL_CLOSURE);
    assert_string_equal(info->textures[1], "g_unused");
    ssl_unit_release(unit);
}

static void test_program_info(void **state)
{
    SslProgram *program = build(context_of(state), material, NULL);
    const SslProgramInfo *info = ssl_program_info(program);
    assert_true(info->params[0].is_used && info->params[1].is_used && info->params[2].is_used);
    assert_false(info->params[4].is_used);
    assert_int_equal(info->params[1].offset_bytes, 12);
    assert_int_equal(info->params_bytes, 12 + 4 * 4);
    assert_true(info->texture_is_used[0]);
    assert_false(info->texture_is_used[1]);
    assert_int_equal(info->texture_site_count, 1);
    assert_int_equal(info->texture_sites[0].texture, 0);
    assert_int_equal(info->lobe_count, 3);
    assert_int_equal(info->globals_value, 1u << POSITION);
    assert_int_equal(info->globals_derivs, 1u << POSITION);
    assert_true(info->times.codegen_ms > 0 && info->times.ir_ms > 0);

    /* The baked switch takes the texture away, and with it the need for the position. */
    const SslConstant off = {"mode", {.type = SSL_INT, .i = 0}};
    const SslBuildDesc how = {.size_bytes = sizeof how, .constants = &off, .constant_count = 1};
    SslProgram *plain = build(context_of(state), material, &how);
    assert_false(ssl_program_info(plain)->texture_is_used[0]);
    assert_false(ssl_program_info(plain)->params[2].is_used);
    assert_int_equal(ssl_program_info(plain)->globals_value, 0);
    ssl_program_release(plain);

    const SslBuildDesc describe = {.size_bytes = sizeof describe, .without_code = true};
    SslProgram *described = build(context_of(state), material, &describe);
    const SslProgramInfo *same = ssl_program_info(described);
    assert_null(ssl_program_kernel(described));
    assert_true(same->times.codegen_ms == 0 && same->times.ir_ms > 0);
    assert_int_equal(same->values_shadowed, info->values_shadowed);
    assert_int_equal(same->ir_instructions, info->ir_instructions);
    assert_int_equal(same->lobe_count, info->lobe_count);
    assert_int_equal(same->globals_derivs, info->globals_derivs);
    ssl_program_release(described);
    ssl_program_release(program);
}

static void test_kinds_keep_what_they_are_for(void **state)
{
    static const struct {
        SslKernelKind kind;
        uint32_t closure;
        float argument;
    } cases[] = {{SSL_KERNEL_OPACITY, TRANSPARENT, 0.125f}, {SSL_KERNEL_EMISSION, EMISSION, 0.5f}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        SslBuildDesc how = {.size_bytes = sizeof how, .kind = cases[i].kind};
        SslProgram *program = build(context_of(state), material, &how);
        const SslProgramInfo *info = ssl_program_info(program);
        assert_int_equal(info->lobe_count, 1);
        assert_int_equal(info->lobes[0].closure, cases[i].closure);
        assert_false(info->texture_is_used[0]);
        Shot shot;
        shot_begin(&shot, program);
        shot_run(&shot, program, 0);
        assert_true(shot_has_lobe(&shot, 0));
        assert_float_equal(shot_float(&shot, info->lobes[0].weight_offset, 0), 1.0f, 0);
        assert_float_equal(shot_float(&shot, info->lobes[0].args_offset, 0), cases[i].argument, 0);
        ssl_program_release(program);
    }
}

static void assert_programs_equal(const SslProgram *p, const SslProgram *q)
{
    const SslProgramInfo *a = ssl_program_info(p), *b = ssl_program_info(q);
    assert_ptr_equal(ssl_program_kernel(p), ssl_program_kernel(q)); /* equal code is one kernel */
    assert_ptr_equal(a->unit, b->unit);
    assert_int_equal(a->params_bytes, b->params_bytes);
    for (uint32_t i = 0; i < a->unit->param_count; ++i)
        assert_memory_equal(&a->params[i], &b->params[i], sizeof a->params[i]);
    assert_int_equal(a->lobe_count, b->lobe_count);
    assert_int_equal(a->result_stride_bytes, b->result_stride_bytes);
    assert_int_equal(a->globals_value, b->globals_value);
    assert_int_equal(a->globals_derivs, b->globals_derivs);
    assert_int_equal(a->texture_site_count, b->texture_site_count);
    assert_int_equal(a->fault_site_count, b->fault_site_count);
    assert_int_equal(a->values, b->values);
    assert_int_equal(a->values_shadowed, b->values_shadowed);
    assert_int_equal(a->visits, b->visits);
    assert_int_equal(a->ir_instructions, b->ir_instructions);
}

/* Kernels of a specialised unit are those of the unit, with constants and without, whoever ends first. */
static void test_specialised_units_give_the_same_programs(void **state)
{
    const SslConstant mode = {"mode", {.type = SSL_INT, .i = 1}};
    SslUnit *unit = compile(context_of(state), material);
    for (uint32_t with = 0; with < 3; ++with) {
        Error err = {0};
        SslProgram *made[3], *expected;
        SslSpecialised *special;
        SslBuildDesc how = {.size_bytes = sizeof how, .bake_switches = with == 2};
        if (with == 1)
            how.constants = &mode, how.constant_count = 1;
        assert_int_equal(ssl_unit_specialise(unit, &how, NULL, &special, &err), STATUS_OK);
        for (uint32_t kind = 0; kind < 3; ++kind) {
            how.kind = (SslKernelKind)kind;
            assert_int_equal(ssl_specialised_build(special, &how, NULL, &made[kind], &err),
                             STATUS_OK);
        }
        ssl_specialised_destroy(special);
        for (uint32_t kind = 0; kind < 3; ++kind) {
            how.kind = (SslKernelKind)kind;
            assert_int_equal(
                ssl_program_build(context_of(state), unit, &how, NULL, &expected, &err), STATUS_OK);
            assert_programs_equal(made[kind], expected);
            ssl_program_release(expected);
            ssl_program_release(made[kind]);
        }
    }
    ssl_unit_release(unit);
}

static void test_lobes_of_branches(void **state)
{
    SslProgram *program =
        build(context_of(state),
              "shader s(out closure Ci) {\n"
              "    closure c = make_closure<Emission>(color(1, 2, 3));\n"
              "    if (global_value<x1> > 0)\n"
              "        c = c * 0.5 + make_closure<Lambert>(color(0.25), vector(0, 1, 0));\n"
              "    Ci = c;\n"
              "}\n",
              NULL);
    const SslProgramInfo *info = ssl_program_info(program);
    for (int side = 0; side < 2; ++side) {
        Shot shot;
        shot_begin(&shot, program);
        shot_set(&shot, X1, 0, side ? 1.0f : -1.0f);
        shot_run(&shot, program, 0);
        float emission = 0, lambert = 0;
        for (uint32_t i = 0; i < info->lobe_count; ++i)
            if (shot_has_lobe(&shot, i)) {
                float weight = shot_float(&shot, info->lobes[i].weight_offset, 0);
                *(info->lobes[i].closure == EMISSION ? &emission : &lambert) += weight;
            }
        assert_float_equal(emission, (side ? 0.5f : 1.0f), 0);
        assert_float_equal(lambert, (side ? 1.0f : 0.0f), 0);
    }
    ssl_program_release(program);
}

static void test_parameters(void **state)
{
    SslProgram *program = build(context_of(state), material, NULL);
    Error err = {0};
    Shot shot;
    shot_begin(&shot, program);
    float defaults[4];
    memcpy(defaults, shot.params, sizeof defaults);
    assert_float_equal(defaults[2], 1.0f, 0);
    assert_float_equal(defaults[3], 2.0f, 0);
    SslValue value = {.type = SSL_INT, .i = 5};
    assert_int_equal(ssl_params_set(program, shot.params, 1, &value, &err),
                     STATUS_OK); /* int -> float */
    value = (SslValue){.type = SSL_BOOL, .b = false};
    assert_int_equal(ssl_params_set(program, shot.params, 3, &value, &err), STATUS_OK);
    value = (SslValue){.type = SSL_VECTOR, .f = {1, 2, 3}};
    assert_int_equal(ssl_params_set(program, shot.params, 0, &value, &err), STATUS_OK);
    value = (SslValue){.type = SSL_INT, .i = 0};
    assert_int_equal(ssl_params_set(program, shot.params, 2, &value, &err), STATUS_OK);
    shot_run(&shot, program, 0);
    assert_float_equal(shot_output(&shot, 1, 0), 5.0f, 0);
    value = (SslValue){.type = SSL_FLOAT, .f = {1}};
    assert_int_equal(ssl_params_set(program, shot.params, 2, &value, &err), STATUS_INVALID);
    assert_string_equal(err.text, "parameter 'mode' is a int, not a float");
    ssl_program_release(program);
}

static void test_output_derivatives(void **state)
{
    SslBuildDesc how = {.size_bytes = sizeof how, .output_derivatives = true};
    SslProgram *program = build(context_of(state),
                                "shader s(out float a, out int n, out color c) {\n"
                                "    a = global_value<x1> * global_value<x1>;\n"
                                "    n = global_value<depth>;\n"
                                "    c = color(global_value<x2>, 1, a);\n"
                                "}\n",
                                &how);
    const SslProgramInfo *info = ssl_program_info(program);
    assert_int_equal(info->unit->output_count, 3);
    assert_int_equal(info->outputs_ddx[1].offset, 0);
    Shot shot;
    shot_begin(&shot, program);
    shot_set(&shot, X1, 0, 3.0f);
    shot_set(&shot, X1, 1, 1.0f);
    shot_set(&shot, X1, 2, 0.5f);
    shot_set(&shot, X2, 2, 8.0f);
    shot_run(&shot, program, 0);
    assert_float_equal(shot_output(&shot, 0, 0), 9.0f, 0);
    assert_float_equal(shot_float(&shot, info->outputs_ddx[0].offset, 0), 6.0f, 0);
    assert_float_equal(shot_float(&shot, info->outputs_ddy[0].offset, 0), 3.0f, 0);
    assert_float_equal(shot_float(&shot, info->outputs_ddx[2].offset, 0), 0.0f, 0);
    assert_float_equal(shot_float(&shot, info->outputs_ddy[2].offset, 0), 8.0f, 0);
    assert_float_equal(shot_float(&shot, info->outputs_ddy[2].offset, 1), 0.0f, 0);
    assert_float_equal(shot_float(&shot, info->outputs_ddy[2].offset, 2), 3.0f, 0);
    ssl_program_release(program);
}

static void test_faults_have_places(void **state)
{
    SslProgram *program = build(context_of(state),
                                "shader s(out float o) {\n"
                                "    float a[4] = {1, 2, 3, 4};\n"
                                "    o = a[global_value<depth>];\n"
                                "    while (o > 0)\n"
                                "        o += global_value<x1>;\n"
                                "}\n",
                                NULL);
    static const struct {
        int32_t depth;
        SslFaultKind kind;
        uint32_t line, column;
    } cases[] = {{4, SSL_FAULT_INDEX, 3, 11}, {0, SSL_FAULT_LOOP, 4, 5}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Shot shot;
        shot_begin(&shot, program);
        float word;
        memcpy(&word, &cases[i].depth, sizeof word);
        shot_set(&shot, DEPTH, 0, word);
        shot_run(&shot, program, 50);
        uint32_t fault;
        memcpy(&fault, shot.result + shot.info->fault_offset + 4 * LANE, sizeof fault);
        assert_in_range(fault, 1, shot.info->fault_site_count);
        SslFaultInfo info;
        ssl_fault_describe(program, fault - 1, &info);
        assert_int_equal(info.kind, cases[i].kind);
        assert_string_equal(info.source_name, "test.ssl");
        assert_int_equal(info.line, cases[i].line);
        assert_int_equal(info.column, cases[i].column);
        assert_true(strlen(info.text) > 10);
    }
    ssl_program_release(program);
}

static void test_equal_code_is_shared_across_sources(void **state)
{
    SslProgram *a =
        build(context_of(state), "shader a(out float o) { o = global_value<x1> * 2; }", NULL);
    SslProgram *b = build(context_of(state),
                          "// another file\nfloat twice(float x) { return 2 * x; }\n"
                          "shader b(out float result) { result = twice(global_value<x1>); }",
                          NULL);
    assert_ptr_equal(ssl_program_kernel(a), ssl_program_kernel(b));
    assert_true(ssl_program_info(b)->times.from_cache);
    SslProgram *again = ssl_program_retain(a);
    ssl_program_release(a);
    ssl_program_release(b);
    Shot shot;
    shot_begin(&shot, again);
    shot_set(&shot, X1, 0, 4.0f);
    shot_run(&shot, again, 0);
    assert_float_equal(shot_output(&shot, 0, 0), 8.0f, 0);
    ssl_program_release(again);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void test_source_errors(void **state)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    SslSource src = {.name = "bad.ssl",
                     .text = str_from("shader s(out float o) {\n    o = foo;\n}\n")};
    assert_int_equal(ssl_unit_compile(context_of(state), &src, diags, &unit), STATUS_SOURCE);
    assert_null(unit);
    assert_int_equal(diag_error_count(diags), 1);
    uint32_t line, column;
    diag_position(diags, diag_get(diags, 0)->span.file, diag_get(diags, 0)->span.begin, &line,
                  &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 9);
    diag_list_destroy(diags);
}

static void test_constants_are_checked(void **state)
{
    static const struct {
        SslConstant constant;
        Status status;
        const char *text;
    } cases[] = {
        {{"mood", {.type = SSL_INT}},
         STATUS_NOT_FOUND,
         "shader 'material' has no parameter 'mood'"},
        {{"tint", {.type = SSL_COLOR}},
         STATUS_INVALID,
         "parameter 'tint' is a color; only bool, int, float and string parameters are baked"},
        {{"scale", {.type = SSL_INT}}, STATUS_INVALID, "parameter 'scale' is a float, not a int"},
        {{"mode", {.type = SSL_BOOL}}, STATUS_INVALID, "parameter 'mode' is a int, not a bool"},
    };
    SslUnit *unit = compile(context_of(state), material);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        SslBuildDesc how = {
            .size_bytes = sizeof how, .constants = &cases[i].constant, .constant_count = 1};
        SslProgram *program;
        Error err = {0};
        assert_int_equal(ssl_program_build(context_of(state), unit, &how, NULL, &program, &err),
                         cases[i].status);
        assert_null(program);
        assert_string_equal(err.text, cases[i].text);
        SslSpecialised *special;
        Error again = {0};
        assert_int_equal(ssl_unit_specialise(unit, &how, NULL, &special, &again), cases[i].status);
        assert_null(special);
        assert_string_equal(again.text, cases[i].text);
    }
    ssl_unit_release(unit);
}

static void check_tables(SslContextDesc desc, const char *text)
{
    SslContext *ctx;
    Error err = {0};
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_INVALID);
    assert_null(ctx);
    assert_string_equal(err.text, text);
}

static void test_tables_are_checked(void **state)
{
    (void)state;
    SslGlobalRow rows[2] = {globals[X1], globals[X1]};
    SslContextDesc desc = {.size_bytes = sizeof desc, .globals = rows, .global_count = 2};
    check_tables(desc, "global 'x1' stands twice in the table");
    rows[1] = (SslGlobalRow){.name = "n", .type = SSL_INT, .has_derivs = true};
    check_tables(desc, "global 'n': a int has no derivatives");
    rows[1] = (SslGlobalRow){.name = "c", .type = SSL_CLOSURE};
    check_tables(desc, "global 'c' cannot be a closure");
    SslClosureRow rows_of_closures[2] = {closures[0], closures[0]};
    desc = (SslContextDesc){
        .size_bytes = sizeof desc, .closures = rows_of_closures, .closure_count = 2};
    check_tables(desc, "closure 'Lambert' stands twice in the table");
    desc = (SslContextDesc){.size_bytes = sizeof desc, .cpu = "8086"};
    SslContext *ctx;
    Error err = {0};
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "unknown CPU '8086'"));
}

/* Warnings of the passes go to any list, with the source that they speak of. */
static void test_warnings_of_passes_find_their_source(void **state)
{
    SslUnit *unit = compile(context_of(state), "shader s(out float o) {\n"
                                               "    o = ddx(ddx(global_value<x1>));\n"
                                               "}\n");
    DiagList *other = diag_list_create();
    (void)diag_add_source(other, "elsewhere.ssl", STR_LIT("shader t() {}\n"));
    SslProgram *program;
    Error err = {0};
    assert_int_equal(ssl_program_build(context_of(state), unit, NULL, other, &program, &err),
                     STATUS_OK);
    if (diag_count(other)) { /* the checker may have said it already, at compile time */
        assert_int_equal(diag_get(other, 0)->severity, DIAG_WARNING);
        assert_string_equal(diag_source_name(other, diag_get(other, 0)->span.file), "test.ssl");
    }
    ssl_program_release(program);
    uint32_t said = diag_count(other);
    const SslBuildDesc how = {.size_bytes = sizeof how};
    SslSpecialised *special;
    assert_int_equal(ssl_unit_specialise(unit, &how, other, &special, &err), STATUS_OK);
    assert_int_equal(diag_count(other), 2 * said);
    assert_int_equal(ssl_specialised_build(special, &how, other, &program, &err), STATUS_OK);
    assert_int_equal(diag_count(other), 2 * said); /* nothing is said twice */
    ssl_specialised_destroy(special);
    ssl_program_release(program);
    ssl_unit_release(unit);
    diag_list_destroy(other);
}

static void test_dumps(void **state)
{
    static const struct {
        SslDumpStage stage;
        const char *word;
    } cases[] = {
        {SSL_DUMP_TOKENS, "eval_practical"},
        {SSL_DUMP_AST, "eval_practical"},
        {SSL_DUMP_IR, "call"},
        {SSL_DUMP_IR_PASSES, "; after "},
        {SSL_DUMP_IR_FINAL, "global"},
        {SSL_DUMP_LLVM, "define void @kernel"},
        {SSL_DUMP_LLVM_OPTIMISED, "rt_sin"},
        {SSL_DUMP_ASM, "kernel:"},
    };
    SslSource src = {.name = "test.ssl", .text = str_from(practical)};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        DiagList *diags = diag_list_create();
        StrBuf text = {0};
        Error err = {0};
        if (ssl_dump(context_of(state), &src, NULL, cases[i].stage, diags, &text, &err) !=
            STATUS_OK)
            fail_msg("stage %u: %s", i, err.text);
        if (!strstr(strbuf_text(&text), cases[i].word))
            fail_msg("stage %u has no '%s':\n%s", i, cases[i].word, strbuf_text(&text));
        strbuf_free(&text);
        diag_list_destroy(diags);
    }
}

static void test_shader_names(void **state)
{
    DiagList *diags = diag_list_create();
    StrBuf names = {0};
    SslSource src = {.name = "two.ssl",
                     .text = str_from("shader one(out float o) { o = 1; }\n"
                                      "shader two(out float o) { o = 2; }\n")};
    assert_int_equal(ssl_source_shaders(context_of(state), &src, diags, &names), STATUS_OK);
    assert_non_null(strstr(strbuf_text(&names), "one\ntwo"));
    strbuf_free(&names);
    SslUnit *unit;
    assert_int_equal(ssl_unit_compile(context_of(state), &src, diags, &unit), STATUS_SOURCE);
    src.shader = "two";
    assert_int_equal(ssl_unit_compile(context_of(state), &src, diags, &unit), STATUS_OK);
    assert_string_equal(ssl_unit_info(unit)->name, "two");
    ssl_unit_release(unit);
    diag_list_destroy(diags);
}

/* --- threads ---------------------------------------------------------------------------------- */

typedef struct Race {
    SslContext *ctx;
    SslUnit *shared;
    _Atomic uint32_t wrong;
} Race;

static void race_thread(void *data, uint32_t index)
{
    Race *race = data;
    char source[256];
    (void)snprintf(source, sizeof source,
                   "shader s(out float o) { o = global_value<x1> * %u.0 + sin(global_value<x2>); }",
                   index % 5);
    DiagList *diags = diag_list_create();
    SslSource src = {.name = "race.ssl", .text = str_from(source)};
    SslUnit *unit = NULL;
    SslProgram *program = NULL, *shared = NULL;
    if (ssl_unit_compile(race->ctx, &src, diags, &unit) != STATUS_OK ||
        ssl_program_build(race->ctx, unit, NULL, diags, &program, NULL) != STATUS_OK ||
        ssl_program_build(race->ctx, race->shared, NULL, diags, &shared, NULL) != STATUS_OK) {
        ++race->wrong;
    } else {
        Shot shot;
        shot_begin(&shot, program);
        shot_set(&shot, X1, 0, 2.0f);
        shot_run(&shot, program, 0);
        if (shot_output(&shot, 0, 0) != 2.0f * (float)(index % 5))
            ++race->wrong;
    }
    ssl_program_release(shared);
    ssl_program_release(program);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
}

static void test_threads_compile_side_by_side(void **state)
{
    Race race = {.ctx = context_of(state), .shared = compile(context_of(state), practical)};
    parallel_for(4, 40, race_thread, &race);
    assert_int_equal(race.wrong, 0);
    ssl_unit_release(race.shared);
}

/* --- out of memory ------------------------------------------------------------------------------ */

static Status specialise_once(const SslUnit *unit, DiagList *diags)
{
    const SslBuildDesc how = {.size_bytes = sizeof how, .kind = SSL_KERNEL_OPACITY};
    Error err = {0};
    SslSpecialised *special;
    SslProgram *program = NULL;
    Status status = ssl_unit_specialise(unit, &how, diags, &special, &err);
    assert_true((status == STATUS_OK) == (special != NULL));
    if (status == STATUS_OK)
        status = ssl_specialised_build(special, &how, diags, &program, &err);
    assert_true((status == STATUS_OK) == (program != NULL));
    ssl_specialised_destroy(special);
    ssl_program_release(program);
    return status;
}

/* A whole compile; the status of the first step that fails. */
static Status compile_once(SslContext *ctx, const char *source)
{
    Error err = {0};
    SslUnit *unit = NULL;
    SslProgram *program = NULL;
    DiagList *diags = diag_list_create();
    if (!diags)
        return STATUS_NO_MEMORY;
    SslSource src = {.name = "test.ssl", .text = str_from(source)};
    Status status = ssl_unit_compile(ctx, &src, diags, &unit);
    if (status == STATUS_OK)
        status = ssl_program_build(ctx, unit, NULL, diags, &program, &err);
    assert_true((status == STATUS_OK) == (program != NULL));
    ssl_program_release(program);
    if (status == STATUS_OK)
        status = specialise_once(unit, diags);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return status;
}

static void check_out_of_memory(SslContext *ctx, const char *source, Status without)
{
    assert_int_equal(compile_once(ctx, source), without);
    for (uint64_t n = 1;; ++n) {
        mem_fail_nth(n);
        Status status = compile_once(ctx, source);
        uint64_t count = mem_allocation_count();
        mem_fail_nth(0);
        if (count < n) { /* nothing failed any more */
            assert_int_equal(status, without);
            assert_true(n > 5);
            return;
        }
        /* A diagnostic that could not be kept still counts as an error. */
        if (status != STATUS_NO_MEMORY && status != without)
            fail_msg("allocation %u of %u fails: %s", (unsigned)n, (unsigned)count,
                     status_name(status));
        if (status == STATUS_OK)
            fail_msg("allocation %u of %u fails, and nobody notices", (unsigned)n, (unsigned)count);
    }
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    check_out_of_memory(context_of(state), practical, STATUS_OK);
    check_out_of_memory(context_of(state), material, STATUS_OK);
    check_out_of_memory(context_of(state), "shader s(out float o) { o = foo; }", STATUS_SOURCE);
}

static void test_out_of_memory_in_a_new_context(void **state)
{
    (void)state;
    for (uint64_t n = 1;; ++n) {
        SslContext *ctx;
        Error err = {0};
        mem_fail_nth(n);
        Status status = ssl_context_create(&tables, &ctx, &err);
        uint64_t count = mem_allocation_count();
        mem_fail_nth(0);
        if (count < n) {
            assert_int_equal(status, STATUS_OK);
            ssl_context_destroy(ctx);
            assert_true(n > 3);
            return;
        }
        if (status != STATUS_NO_MEMORY)
            fail_msg("allocation %u fails: %s", (unsigned)n, status_name(status));
        assert_null(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_unit_info),
        cmocka_unit_test(test_program_info),
        cmocka_unit_test(test_kinds_keep_what_they_are_for),
        cmocka_unit_test(test_specialised_units_give_the_same_programs),
        cmocka_unit_test(test_lobes_of_branches),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_output_derivatives),
        cmocka_unit_test(test_faults_have_places),
        cmocka_unit_test(test_equal_code_is_shared_across_sources),
        cmocka_unit_test(test_source_errors),
        cmocka_unit_test(test_constants_are_checked),
        cmocka_unit_test(test_tables_are_checked),
        cmocka_unit_test(test_warnings_of_passes_find_their_source),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_shader_names),
        cmocka_unit_test(test_threads_compile_side_by_side),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
        cmocka_unit_test(test_out_of_memory_in_a_new_context),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
