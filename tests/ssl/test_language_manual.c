/* The examples of docs/ssl-language.md compile, against the renderer's tables, and those that are marked
 * `reject CODE` are refused with that code. The table of functions agrees with ssl_builtins.inc. */
#include "base/alloc.h"
#include "base/file.h"
#include "sort/shade/ssl_tables.h"
#include "tests/ssl/front_fixture.h"

static const char path[] = "docs/ssl-language.md";

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

static void check_example(const LowerTables *tables, Str text, const char *expected)
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

static void test_manual_examples(void **state)
{
    SORT_UNUSED(state);
    static const char fence[] = "\n```ssl", reject[] = " reject ";
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    const LowerTables tables = {desc.globals, desc.closures, desc.global_count, desc.closure_count};
    Front f = front_begin();
    uint32_t count = 0;
    for (const char *at = strstr(read_text(&f, path), fence); at; at = strstr(at, fence), count++) {
        const char *kind = at + strlen(fence), *begin = strchr(kind, '\n');
        const char *end = strstr(begin, "\n```");
        assert_non_null(end);
        char code[] = "none\0\0";
        if (strncmp(kind, reject, strlen(reject)) == 0)
            memcpy(code, kind + strlen(reject), 5);
        check_example(&tables, (Str){begin, (size_t)(end - begin)}, code);
        at = end;
    }
    assert_int_equal(count, 7);
    front_end(&f);
}

static void test_manual_names_every_builtin(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    const char *manual = read_text(&f, path);
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
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
    const char *manual = read_text(&f, "docs/ssl-library.md");
    const Ast *ast = front_library()->module->ast;
    for (uint32_t i = 0; i < ast->funcs.count; i++) {
        const char *name = ast->funcs.data[i]->name;
        if (*name != '_' && !strstr(manual, arena_printf(f.arena, "### `%s`\n", name)))
            fail_msg("the manual does not name '%s'", name);
    }
    front_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manual_examples),
        cmocka_unit_test(test_manual_names_every_builtin),
        cmocka_unit_test(test_manual_names_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
