/* The examples of the language's pages in docs/ compile, against the renderer's tables, and those that are marked
 * `reject CODE` are refused with that code. The table of functions agrees with ssl_builtins.inc. */
#include "base/alloc.h"
#include "base/file.h"
#include "sort/shade/ssl_tables.h"
#include "tests/ssl/front_fixture.h"
#include <stdio.h>

static const char reference[] = "docs/reference/ssl-language.md",
                  closures[] = "docs/reference/closures.md",
                  tutorial[] = "docs/manual/ssl-tutorial.md";

static const char *read_text(Front *f, const char *file)
{
    Error err = {0};
    char *text;
    size_t size;
    if (file_read(file, 1 << 20, &text, &size, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    const char *copy = arena_strndup(f->arena, text, size);
    mem_free(text);
    return copy;
}

static void check_example(const LowerTables *tables, const char *path, Str text,
                          const char *expected)
{
    Front f = front_begin();
    const SslSource source = {.name = path, .text = text};
    IrModule *m;
    StrBuf out = {0};
    Status status = lower_shader(front_library(), tables, &source, f.arena, f.diags, &m);
    const char *code = diag_count(f.diags) ? diag_get(f.diags, 0)->code : "none";
    diag_print(f.diags, &out);
    if (strcmp(code, expected) != 0 || (status == STATUS_OK) != (strcmp(expected, "none") == 0))
        fail_msg("expected %s, found %s in\n%.*s\n%s", expected, code, STR_ARG(text),
                 strbuf_text(&out));
    strbuf_free(&out);
    front_end(&f);
}

static void check_page(const char *path, uint32_t expected_count)
{
    static const char fence[] = "\n```ssl", reject[] = " reject ";
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    const LowerTables tables = {.globals = desc.globals,
                                .closures = desc.closures,
                                .attributes = desc.attributes,
                                .global_count = desc.global_count,
                                .closure_count = desc.closure_count,
                                .attribute_count = desc.attribute_count,
                                .questions = desc.questions,
                                .question_count = desc.question_count};
    Front f = front_begin();
    uint32_t count = 0;
    for (const char *at = strstr(read_text(&f, path), fence); at; at = strstr(at, fence), ++count) {
        const char *kind = at + strlen(fence), *begin = strchr(kind, '\n');
        const char *end = strstr(begin, "\n```");
        assert_non_null(end);
        char code[] = "none\0\0";
        if (strncmp(kind, reject, strlen(reject)) == 0)
            memcpy(code, kind + strlen(reject), 5);
        check_example(&tables, path, (Str){begin, (size_t)(end - begin)}, code);
        at = end;
    }
    assert_int_equal(count, expected_count);
    front_end(&f);
}

static void test_reference_examples(void **state)
{
    SORT_UNUSED(state);
    check_page(reference, 14);
}

static void test_tutorial_examples(void **state)
{
    SORT_UNUSED(state);
    check_page(tutorial, 6);
}

static void test_manual_names_every_builtin(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    const char *manual = read_text(&f, reference);
    for (size_t i = 0; i < BUILTIN_COUNT; ++i) {
        const Builtin *b = &builtins[i];
        if (!strstr(manual, arena_printf(f.arena, "| `%s(", b->name)) ||
            !strstr(manual, arena_printf(f.arena, "| %s |", b->domain)) ||
            (*b->derivative && !strstr(manual, arena_printf(f.arena, "| %s |", b->derivative))))
            fail_msg("the manual does not say what ssl_builtins.inc says of '%s'", b->name);
    }
    front_end(&f);
}

/* Every function of the library that is not a detail of another, which a leading _ says, has its place in
 * the manual that scripts/library-manual makes. */
static void test_manual_names_the_library(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    const char *manual = read_text(&f, "docs/reference/ssl-library.md");
    const Ast *ast = front_library()->module->ast;
    for (uint32_t i = 0; i < ast->funcs.count; ++i) {
        const char *name = ast->funcs.data[i]->name;
        if (*name != '_' && !strstr(manual, arena_printf(f.arena, "### `%s`\n", name)))
            fail_msg("the manual does not name '%s'", name);
    }
    front_end(&f);
}

/* The manual has this text, made of the host's tables: a change there prints what must stand in the manual. */
static void expect_text(const char *page, const char *manual, StrBuf *text)
{
    if (!strstr(manual, strbuf_text(text))) {
        fputs(strbuf_text(text), stdout); /* too long for a message of cmocka */
        fail_msg("%s must have the text above", page);
    }
    strbuf_free(text);
}

static void test_manual_lists_the_globals(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    StrBuf table = {0};
    for (uint32_t i = 0; i < desc.global_count; ++i) {
        const SslGlobalRow *row = &desc.globals[i];
        strbuf_printf(&table, "| `%s` | %s | %s | %s | %s |\n", row->name, ssl_type_name(row->type),
                      row->has_derivs ? "yes" : "no", row->space, row->doc);
    }
    expect_text(reference, read_text(&f, reference), &table);
    for (uint32_t i = 0; i < desc.attribute_count; ++i) {
        const SslAttributeRow *row = &desc.attributes[i];
        strbuf_printf(&table, "| `%s` | %s | %s | %s |\n", row->name, ssl_type_name(row->type),
                      row->has_derivs ? "yes" : "no", row->doc);
    }
    expect_text(reference, read_text(&f, reference), &table);
    front_end(&f);
}

static void test_manual_lists_the_questions(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    StrBuf table = {0};
    for (uint32_t i = 0; i < desc.question_count; ++i) {
        const SslQuestionRow *row = &desc.questions[i];
        strbuf_printf(&table, "| `%s(", row->name);
        for (uint32_t a = 0; a < row->arg_count; ++a)
            strbuf_printf(&table, "%s%s %s", a > 0 ? ", " : "", ssl_type_name(row->args[a].type),
                          row->args[a].name);
        strbuf_printf(&table, ")` | %s | %s |\n", ssl_type_name(row->result), row->doc);
    }
    expect_text(reference, read_text(&f, reference), &table);
    front_end(&f);
}

static void test_manual_lists_the_closures(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    const char *manual = read_text(&f, closures);
    for (uint32_t i = 0; i < desc.closure_count; ++i) {
        const SslClosureRow *row = &desc.closures[i];
        StrBuf line = {0};
        strbuf_printf(&line, "\n`%s(", row->name);
        for (uint32_t k = 0; k < row->arg_count; ++k)
            strbuf_printf(&line, "%s%s %s", k ? ", " : "", ssl_type_name(row->args[k].type),
                          row->args[k].name);
        strbuf_printf(&line, ")`: %s", row->doc);
        if (*row->citation)
            strbuf_printf(&line, " [%s]", row->citation);
        strbuf_printf(&line, "\n");
        expect_text(closures, manual, &line);
    }
    front_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_examples),
        cmocka_unit_test(test_tutorial_examples),
        cmocka_unit_test(test_manual_names_every_builtin),
        cmocka_unit_test(test_manual_names_the_library),
        cmocka_unit_test(test_manual_lists_the_globals),
        cmocka_unit_test(test_manual_lists_the_questions),
        cmocka_unit_test(test_manual_lists_the_closures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
