/* A closure that is added to the table while the program runs: its source alone says how shaders call it and what it does. */
#include "sort/bsdf/bsdf_wide.h"
#include "sort/sampling/warp.h"
#include "sort/shade/ssl_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char added[] =
    "bsdf Wax(color albedo, float share, normal N, closure base)\n"
    "    [[ string doc = \"Returns a \\\"share\\\" of albedo.\", string cite = \"Lambert1760\" ]]\n"
    "{\n"
    "    const color reflected = albedo * share;\n"
    "    base_factor = color(1) - reflected;\n"
    "    lobe diffuse reflection\n"
    "    {\n"
    "        albedo = reflected;\n"
    "        eval { f_cos = reflected * wi.z * M_1_PI; }\n"
    "    }\n"
    "}\n"
    "bsdf Pane(float x) { lobe delta transmission transparent { sample { weight = color(x); } } "
    "}\n";

typedef struct Fixture {
    Arena *arena;
    DiagList *diags;
    SslContext *plain; /* of the built-in closures */
    SslSource source;
} Fixture;

static Fixture *create(void)
{
    static Fixture f;
    Error err = {0};
    SslContextDesc desc = {.size_bytes = sizeof desc};
    f = (Fixture){.arena = arena_create(0, 0),
                  .diags = diag_list_create(),
                  .source = {.name = "wax.ssl", .text = {added, sizeof added - 1}}};
    ssl_tables_describe(&desc);
    assert_int_equal(ssl_context_create(&desc, &f.plain, &err), STATUS_OK);
    return &f;
}

static void destroy(Fixture *f)
{
    ssl_context_destroy(f->plain);
    diag_list_destroy(f->diags);
    arena_destroy(f->arena);
}

static void test_closure_is_described_by_its_source(void **state)
{
    (void)state;
    static const SslType types[] = {SSL_COLOR, SSL_FLOAT, SSL_NORMAL, SSL_CLOSURE};
    static const char *const names[] = {"albedo", "share", "N", "base"};
    Fixture *f = create();
    SslClosureRow row;
    assert_int_equal(ssl_source_closure(f->plain, &f->source, "Wax", f->diags, f->arena, &row),
                     STATUS_OK);
    assert_string_equal(row.name, "Wax");
    assert_string_equal(row.doc, "Returns a \"share\" of albedo.");
    assert_string_equal(row.citation, "Lambert1760");
    assert_int_equal(row.arg_count, 4);
    for (uint32_t i = 0; i < 4; ++i) {
        assert_string_equal(row.args[i].name, names[i]);
        assert_int_equal(row.args[i].type, types[i]);
    }
    assert_true(closure_is_layer(&row) && row.flags == 0);
    assert_int_equal(closure_scalars(&row), 7);
    assert_int_equal(ssl_source_closure(f->plain, &f->source, "Pane", f->diags, f->arena, &row),
                     STATUS_OK);
    assert_string_equal(row.doc, "");
    assert_true(!closure_is_layer(&row) && row.flags == SSL_CLOSURE_TRANSPARENT);
    assert_int_equal(ssl_source_closure(f->plain, &f->source, "Glue", f->diags, f->arena, &row),
                     STATUS_NOT_FOUND);
    f->source.text.size_bytes /= 2;
    assert_int_equal(ssl_source_closure(f->plain, &f->source, "Wax", f->diags, f->arena, &row),
                     STATUS_SOURCE);
    destroy(f);
}

/* Makes a context whose table has the closure behind the built-in ones. */
static SslContext *extend(Fixture *f, SslClosureRow *rows)
{
    Error err = {0};
    SslContext *ctx;
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    memcpy(rows, closure_rows, closure_count * sizeof *rows);
    assert_int_equal(
        ssl_source_closure(f->plain, &f->source, "Wax", f->diags, f->arena, &rows[closure_count]),
        STATUS_OK);
    desc.closures = rows;
    desc.closure_count = closure_count + 1;
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_OK);
    return ctx;
}

static void test_closure_is_called_by_shaders(void **state)
{
    (void)state;
    static const char text[] =
        "shader s(out closure surface)\n{\n"
        "    surface = make_closure<Wax>(color(0.5), 0.25, global_value<normal>,\n"
        "                                make_closure<Emission>(color(1)));\n}\n";
    Error err = {0};
    Fixture *f = create();
    SslUnit *unit;
    SslProgram *program;
    SslClosureRow rows[SSL_MAX_CLOSURES];
    SslBuildDesc how = {.size_bytes = sizeof how};
    SslSource shader = {.name = "s.ssl", .text = {text, sizeof text - 1}, .shader = "s"};
    assert_int_equal(ssl_unit_compile(f->plain, &shader, f->diags, &unit), STATUS_SOURCE);
    SslContext *ctx = extend(f, rows);
    assert_int_equal(ssl_unit_compile(ctx, &shader, f->diags, &unit), STATUS_OK);
    assert_int_equal(ssl_program_build(ctx, unit, &how, f->diags, &program, &err), STATUS_OK);
    const SslProgramInfo *info = ssl_program_info(program);
    assert_int_equal(info->lobe_count, 2);
    assert_int_equal(info->lobes[0].closure, closure_count);
    assert_int_equal(info->lobes[1].closure, CLOSURE_EMISSION);
    assert_int_equal(info->lobes[1].parent, 0);
    ssl_program_release(program);
    ssl_unit_release(unit);
    ssl_context_destroy(ctx);
    destroy(f);
}

static void test_closure_scatters(void **state)
{
    (void)state;
    static alignas(64) BsdfRow args[7], weight[3], wi[3], f_cos[3], pdf;
    Error err = {0};
    Fixture *f = create();
    SslBsdfInfo infos[2];
    BsdfBuild *build;
    uint32_t count;
    assert_int_equal(ssl_source_bsdfs(f->plain, &f->source, f->diags, infos, 2, &count), STATUS_OK);
    assert_int_equal(count, 2);
    assert_int_equal(bsdf_build(f->plain, &f->source, &infos[0], 0, f->diags, &build, &err),
                     STATUS_OK);
    const BsdfDef *def = bsdf_build_def(build);
    BsdfBlock *b = bsdf_block_create(f->arena, 1, def->lobe_count, def->state_rows);
    assert_non_null(b);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        b->view.wo[2][i] = b->view.Ng[2][i] = wi[2][i] = args[6][i] = 1.0f;
        for (uint32_t c = 0; c < 3; ++c)
            args[c][i] = 0.5f, weight[c][i] = 1.0f;
        args[3][i] = (float)i / SSL_BLOCK;
    }
    bsdf_block_begin(b);
    const BsdfTerm *term = bsdf_block_add(b, def, args[0], weight[0], 0xffff);
    bsdf_block_eval(b, wi, 0xffff, f_cos, pdf);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float reflected = 0.5f * (float)i / SSL_BLOCK;
        assert_float_equal(f_cos[0][i], reflected * SORT_INV_PI, 1e-6f);
        assert_float_equal(bsdf_term_base_factor(term)[i], 1.0f - reflected, 1e-6f);
        assert_float_equal(pdf[i], i > 0 ? SORT_INV_PI : 0.0f, 1e-6f);
    }
    bsdf_build_destroy(build);
    destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closure_is_described_by_its_source),
        cmocka_unit_test(test_closure_is_called_by_shaders),
        cmocka_unit_test(test_closure_scatters),
    };
    return cmocka_run_group_tests_name("sort.closure_added", tests, NULL, NULL);
}
