/* The closures that are programs have the names, arguments and documentation of their rows in the closure table, by which
 * shaders call them. */
#include "sort/bsdf/closure_sources.h"
#include "sort/bsdf/closure_table.h"
#include "sort/shade/ssl_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What `prepare` reads besides the arguments of its closure. */
static const char *const of_the_point[] = {"_wo", "_Ng", "outside", "options", "blur"};

static bool is_of_the_point(const char *name)
{
    for (size_t i = 0; i < SORT_COUNT_OF(of_the_point); ++i)
        if (strcmp(of_the_point[i], name) == 0)
            return true;
    return false;
}

static const char *metadata(const SslUnitInfo *unit, const char *name)
{
    for (uint32_t i = 0; i < unit->metadata_count; ++i)
        if (strcmp(unit->metadata[i].name, name) == 0)
            return unit->metadata[i].value.s;
    return "";
}

/* Compares the arguments of the program in order. One that is a closure is no input of the program. */
static void compare_arguments(const SslUnitInfo *unit, const SslClosureRow *row, bool is_layer)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < unit->param_count; ++i) {
        const SslParamInfo *param = &unit->params[i];
        if (is_of_the_point(param->name))
            continue;
        assert_true(at < row->arg_count);
        assert_string_equal(param->name, row->args[at].name);
        assert_int_equal(param->type, row->args[at].type);
        ++at;
    }
    assert_int_equal(at + is_layer, row->arg_count);
    if (is_layer)
        assert_int_equal(row->args[at].type, SSL_CLOSURE);
}

static void compare_row(SslContext *ctx, SslSource source, const SslBsdfInfo *info, DiagList *diags)
{
    char shader[80];
    SslUnit *unit;
    StrBuf problems = {0};
    snprintf(shader, sizeof shader, "%s.prepare", info->name);
    source.shader = shader;
    Status status = ssl_unit_compile(ctx, &source, diags, &unit);
    diag_print(diags, &problems);
    assert_string_equal(strbuf_text(&problems), "");
    strbuf_free(&problems);
    assert_int_equal(status, STATUS_OK);
    const SslUnitInfo *described = ssl_unit_info(unit);
    assert_string_not_equal(metadata(described, "doc"), "");
    ClosureId id = closure_table_find(info->name);
    if (id != CLOSURE_COUNT) {
        const SslClosureRow *row = &closure_table_rows()[id];
        print_message("%s\n", info->name);
        compare_arguments(described, row, info->is_layer);
        assert_string_equal(metadata(described, "doc"), row->doc);
        assert_string_equal(metadata(described, "cite"), row->citation);
    }
    ssl_unit_release(unit);
}

static void test_bsdf_closures_have_the_rows_of_the_table(void **state)
{
    (void)state;
    Error err = {0};
    SslContext *ctx;
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_OK);
    for (uint32_t i = 0; closure_sources[i].name; ++i) {
        SslBsdfInfo info;
        uint32_t count;
        DiagList *diags = diag_list_create();
        SslSource source = {.name = closure_sources[i].name,
                            .text = {closure_sources[i].text, closure_sources[i].size_bytes}};
        assert_int_equal(ssl_source_bsdfs(ctx, &source, diags, &info, 1, &count), STATUS_OK);
        assert_int_equal(count, 1);
        compare_row(ctx, source, &info, diags);
        diag_list_destroy(diags);
    }
    ssl_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsdf_closures_have_the_rows_of_the_table)};
    return cmocka_run_group_tests_name("sort.bsdf_closure_rows", tests, NULL, NULL);
}
