/* The printed form of diagnostics, to the letter. */
#include "base/alloc.h"
#include "base/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The span of the first occurrence of `word`. */
static Span span_of(uint32_t file, const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_non_null(at);
    uint32_t begin = (uint32_t)(at - text);
    return (Span){file, begin, begin + (uint32_t)strlen(word)};
}

static void check_print(const DiagList *list, const char *expected)
{
    StrBuf out = {0};
    diag_print(list, &out);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_free(&out);
}

/* One error on `word` in `text`, called a.ssl. */
static void check_one(const char *text, const char *word, const char *label, const char *expected)
{
    DiagList *list = diag_list_create();
    uint32_t file = diag_add_source(list, "a.ssl", str_from(text));
    diag_add(list, DIAG_ERROR, "S0001", span_of(file, text, word), "bad");
    if (label)
        diag_label(list, "%s", label);
    check_print(list, expected);
    diag_list_destroy(list);
}

static void test_diag_prints_as_documented(void **state)
{
    SORT_UNUSED(state);
    StrBuf text = {0};
    for (int i = 1; i < 14; ++i)
        strbuf_append_c(&text, "// a line\n");
    strbuf_append_c(&text, "    Ci = mix(base_color, diffuse(N), k);\n}\n");
    DiagList *list = diag_list_create();
    uint32_t file = diag_add_source(list, "cloth.ssl", str_from(text.data));
    assert_int_equal(file, 1);
    diag_add(list, DIAG_ERROR, "S0207", span_of(file, text.data, "diffuse(N)"),
             "no overload of '%s' accepts (color, closure, float)", "mix");
    diag_label(list, "this is a %s", "closure");
    diag_add(list, DIAG_NOTE, NULL, (Span){0}, "candidates are mix(float, float, float)");
    diag_add(list, DIAG_WARNING, "W0003", span_of(file, text.data, "k)"), "odd");
    strbuf_free(&text); /* the list has its own copy */
    check_print(list,
                "cloth.ssl:14:26: error[S0207]: no overload of 'mix' accepts (color, closure, "
                "float)\n"
                "   14 |     Ci = mix(base_color, diffuse(N), k);\n"
                "      |                          ^~~~~~~~~~ this is a closure\n"
                "note: candidates are mix(float, float, float)\n"
                "cloth.ssl:14:38: warning[W0003]: odd\n"
                "   14 |     Ci = mix(base_color, diffuse(N), k);\n"
                "      |                                      ^~\n");
    assert_int_equal(diag_count(list), 3);
    assert_int_equal(diag_error_count(list), 1);
    assert_string_equal(diag_get(list, 0)->code, "S0207");
    assert_string_equal(diag_get(list, 0)->label, "this is a closure");
    assert_string_equal(diag_source_name(list, 1), "cloth.ssl");
    diag_list_destroy(list);
}

static void test_diag_expands_tabs(void **state)
{
    SORT_UNUSED(state);
    check_one("\tx\ty = 1;\n", "y", NULL,
              "a.ssl:1:4: error[S0001]: bad\n"
              "    1 |     x   y = 1;\n"
              "      |         ^\n");
}

static void test_diag_counts_utf8_characters(void **state)
{
    SORT_UNUSED(state);
    check_one("a = \"\xe2\x82\xac\xc3\xa9\" + b;\r\n", "b", NULL,
              "a.ssl:1:12: error[S0001]: bad\n"
              "    1 | a = \"\xe2\x82\xac\xc3\xa9\" + b;\n"
              "      |            ^\n");
    /* broken UTF-8 and control characters cannot reach the terminal */
    check_one("a\x1b[31m\xff b", "b", NULL,
              "a.ssl:1:9: error[S0001]: bad\n"
              "    1 | a?[31m? b\n"
              "      |         ^\n");
}

static void test_diag_marks_several_lines(void **state)
{
    SORT_UNUSED(state);
    check_one("x\n  foo(a,\n\n    b,\n    c);\n", "foo(a,\n\n    b,\n    c)", "here",
              "a.ssl:2:3: error[S0001]: bad\n"
              "    2 |   foo(a,\n"
              "      |   ^~~~~~\n"
              "  ... |\n"
              "    5 |     c);\n"
              "      |     ~~ here\n");
    check_one("foo(a,\n  b);\n", "foo(a,\n  b)", NULL,
              "a.ssl:1:1: error[S0001]: bad\n"
              "    1 | foo(a,\n"
              "      | ^~~~~~\n"
              "    2 |   b);\n"
              "      |   ~~\n");
}

static void test_diag_cuts_long_lines(void **state)
{
    SORT_UNUSED(state);
    char text[600];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    memcpy(text + 300, "HERE", 4);
    StrBuf expected = {0}; /* 40 columns before the span, 120 in all */
    strbuf_printf(&expected, "a.ssl:1:301: error[S0001]: bad\n    1 | ...%.120s...\n", text + 260);
    strbuf_printf(&expected, "      | %43s^~~~ label\n", "");
    check_one(text, "HERE", "label", expected.data);
    strbuf_free(&expected);
}

static void test_diag_positions_in_texts_of_no_list(void **state)
{
    SORT_UNUSED(state);
    static const char text[] = "a\r\n\n\xe2\x82\xac\xc3\xa9 b\xff\n c";
    DiagList *list = diag_list_create();
    uint32_t file = diag_add_source(list, "p.ssl", STR_LIT(text));
    for (uint32_t at = 0; at < sizeof text + 3; ++at) {
        uint32_t line, column, own_line, own_column;
        diag_position(list, file, at, &line, &column);
        diag_position_in(STR_LIT(text), at, &own_line, &own_column);
        assert_int_equal(own_line, line);
        assert_int_equal(own_column, column);
    }
    diag_list_destroy(list);
}

static void test_diag_at_the_edges(void **state)
{
    SORT_UNUSED(state);
    DiagList *list = diag_list_create();
    uint32_t file = diag_add_source(list, "e.ssl", STR_LIT("ab\n"));
    uint32_t empty = diag_add_source(list, "empty.ssl", STR_LIT(""));
    diag_add(list, DIAG_ERROR, "S1", (Span){file, 2, 2}, "at the line end");
    diag_add(list, DIAG_ERROR, "S2", (Span){file, 3, 3}, "at the file end");
    diag_add(list, DIAG_ERROR, "S3", (Span){file, 900, 7}, "beyond");
    diag_add(list, DIAG_ERROR, "S4", (Span){empty, 0, 0}, "empty");
    check_print(list, "e.ssl:1:3: error[S1]: at the line end\n"
                      "    1 | ab\n"
                      "      |   ^\n"
                      "e.ssl:2:1: error[S2]: at the file end\n"
                      "    2 | \n"
                      "      | ^\n"
                      "e.ssl:2:1: error[S3]: beyond\n"
                      "    2 | \n"
                      "      | ^\n"
                      "empty.ssl:1:1: error[S4]: empty\n"
                      "    1 | \n"
                      "      | ^\n");
    diag_list_destroy(list);
}

static void test_diag_keeps_twenty_errors(void **state)
{
    SORT_UNUSED(state);
    DiagList *list = diag_list_create();
    for (int i = 0; i < 25; ++i) {
        diag_add(list, DIAG_ERROR, "S1", (Span){0}, "error %d", i);
        diag_add(list, DIAG_NOTE, "", (Span){0}, "note %d", i);
        diag_label(list, "label");
    }
    assert_int_equal(diag_error_count(list), 25);
    assert_int_equal(diag_count(list), 2 * DIAG_MAX_ERRORS);
    StrBuf out = {0};
    diag_print(list, &out);
    assert_non_null(strstr(out.data, "error[S1]: error 19\nnote: note 19\n5 more errors are not "
                                     "shown\n"));
    assert_null(strstr(out.data, "error 20"));
    strbuf_free(&out);
    diag_list_destroy(list);
}

static void test_diag_counts_errors_without_memory(void **state)
{
    SORT_UNUSED(state);
    for (uint64_t n = 1; n < 8; ++n) {
        DiagList *list = diag_list_create();
        char big[10000];
        memset(big, 'x', sizeof big);
        mem_fail_nth(n);
        for (int i = 0; i < 5; ++i)
            diag_add(list, DIAG_ERROR, "S1", (Span){0}, "%.*s", (int)sizeof big, big);
        mem_fail_nth(0);
        assert_int_equal(diag_error_count(list), 5);
        StrBuf out = {0};
        diag_print(list, &out);
        assert_true(out.size_bytes > 0);
        strbuf_free(&out);
        diag_list_destroy(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diag_prints_as_documented),
        cmocka_unit_test(test_diag_expands_tabs),
        cmocka_unit_test(test_diag_counts_utf8_characters),
        cmocka_unit_test(test_diag_marks_several_lines),
        cmocka_unit_test(test_diag_cuts_long_lines),
        cmocka_unit_test(test_diag_positions_in_texts_of_no_list),
        cmocka_unit_test(test_diag_at_the_edges),
        cmocka_unit_test(test_diag_keeps_twenty_errors),
        cmocka_unit_test(test_diag_counts_errors_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
