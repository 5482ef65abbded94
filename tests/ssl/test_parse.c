/* The parser: shapes of trees as text, recovery, limits. Rejections with spans are in tests/ssl/reject. */
#include "ssl/ssl_limits.h"
#include "tests/ssl/front_fixture.h"

/* `text` as the one statement of a function, unchecked, from the line after the block's. */
static void assert_tree(const char *text, const char *expected)
{
    static const char block[] = "  block\n";
    Front f = front_begin();
    StrBuf out = {0};
    const char *source = arena_printf(f.arena, "void f() { %s }", text);
    SemaSource input = {str_from(source), diag_add_source(f.diags, "test.ssl", str_from(source))};
    Module *m = sema_parse(front_library()->module, &input, 1, f.arena, f.diags);
    ast_print(m->ast, &out);
    assert_int_equal(diag_count(f.diags), 0);
    const char *statement = strstr(strbuf_text(&out), block);
    assert_non_null(statement);
    assert_string_equal(statement + strlen(block), expected);
    strbuf_free(&out);
    front_end(&f);
}

static void test_parse_binds_operators_as_c(void **state)
{
    SORT_UNUSED(state);
    assert_tree("a = b + c * -d;", "    expression\n"
                                   "      assign =\n"
                                   "        name a\n"
                                   "        binary +\n"
                                   "          name b\n"
                                   "          binary *\n"
                                   "            name c\n"
                                   "            unary -\n"
                                   "              name d\n");
    assert_tree("a - b - c;", "    expression\n"
                              "      binary -\n"
                              "        binary -\n"
                              "          name a\n"
                              "          name b\n"
                              "        name c\n");
    assert_tree("a || b && c | d ^ e & f == g < h << i;", "    expression\n"
                                                          "      binary ||\n"
                                                          "        name a\n"
                                                          "        binary &&\n"
                                                          "          name b\n"
                                                          "          binary |\n"
                                                          "            name c\n"
                                                          "            binary ^\n"
                                                          "              name d\n"
                                                          "              binary &\n"
                                                          "                name e\n"
                                                          "                binary ==\n"
                                                          "                  name f\n"
                                                          "                  binary <\n"
                                                          "                    name g\n"
                                                          "                    binary <<\n"
                                                          "                      name h\n"
                                                          "                      name i\n");
    assert_tree("a[0].f(b).g;", "    expression\n"
                                "      member g\n"
                                "        call f\n"
                                "          index\n"
                                "            name a\n"
                                "            int 0\n"
                                "          name b\n");
    assert_tree("a ? b : c ? d : e;", "    expression\n"
                                      "      choice\n"
                                      "        name a\n"
                                      "        name b\n"
                                      "        choice\n"
                                      "          name c\n"
                                      "          name d\n"
                                      "          name e\n");
    assert_tree("a = b = c, d += e;", "    expression\n"
                                      "      binary ,\n"
                                      "        assign =\n"
                                      "          name a\n"
                                      "          assign =\n"
                                      "            name b\n"
                                      "            name c\n"
                                      "        assign +=\n"
                                      "          name d\n"
                                      "          name e\n");
}

static void test_parse_reads_postfix_and_prefix(void **state)
{
    SORT_UNUSED(state);
    assert_tree("-a.b[c]++;", "    expression\n"
                              "      unary -\n"
                              "        step after ++\n"
                              "          index\n"
                              "            member b\n"
                              "              name a\n"
                              "            name c\n");
    assert_tree("(float)a * float(b);", "    expression\n"
                                        "      binary *\n"
                                        "        construct\n"
                                        "          name a\n"
                                        "        construct\n"
                                        "          name b\n");
    assert_tree("(float(a));", "    expression\n"
                               "      construct\n"
                               "        name a\n");
}

static void test_parse_splits_closing_angles(void **state)
{
    SORT_UNUSED(state);
    assert_tree("global_value<normal>>a;", "    expression\n"
                                           "      binary >\n"
                                           "        global normal\n"
                                           "        name a\n");
    assert_tree("global_value<x>>=a;", "    expression\n"
                                       "      binary >=\n"
                                       "        global x\n"
                                       "        name a\n");
}

static void test_parse_tells_types_from_comparisons(void **state)
{
    SORT_UNUSED(state);
    assert_tree("a < b > (c);", "    expression\n"
                                "      call a<b>\n"
                                "        name c\n");
    assert_tree("a<b[2]>() < (c);", "    expression\n"
                                    "      binary <\n"
                                    "        call a<b[]>\n"
                                    "        name c\n");
    assert_tree("x.a<float[2]>(c);", "    expression\n"
                                     "      call a<float[]>\n"
                                     "        name x\n"
                                     "        name c\n");
    assert_tree("x = a<b<diff_pair<c>>>(d);", "    expression\n"
                                              "      assign =\n"
                                              "        name x\n"
                                              "        call a<b<diff_pair c>>\n"
                                              "          name d\n");
    assert_tree("a<b<c>>[2] d;", "    declare\n      var d\n");
    assert_tree("a < b > c;", "    declare\n      var c\n");
    assert_tree("x = a < b > c;", "    expression\n"
                                  "      assign =\n"
                                  "        name x\n"
                                  "        binary >\n"
                                  "          binary <\n"
                                  "            name a\n"
                                  "            name b\n"
                                  "          name c\n");
    assert_tree("f(a < b, c > (d));", "    expression\n"
                                      "      call f\n"
                                      "        binary <\n"
                                      "          name a\n"
                                      "          name b\n"
                                      "        binary >\n"
                                      "          name c\n"
                                      "          name d\n");
    assert_tree("a < b >> (c);", "    expression\n"
                                 "      binary <\n"
                                 "        name a\n"
                                 "        binary >>\n"
                                 "          name b\n"
                                 "          name c\n");
    assert_tree(
        "f(a < 2, c > (d)); } struct A<T> { T x; }; int g<T, U>(T x) { return g<A<T>, int>(x);",
        "    expression\n"
        "      call f\n"
        "        binary <\n"
        "          name a\n"
        "          int 2\n"
        "        binary >\n"
        "          name c\n"
        "          name d\n"
        "function g<T, U>\n"
        "  param x\n"
        "  block\n"
        "    return\n"
        "      call g<A<T>, int>\n"
        "        name x\n");
    assert_tree("f(g < a, c > (d)); } int g<T, U>(T x) { return 1;", "    expression\n"
                                                                     "      call f\n"
                                                                     "        call g<a, c>\n"
                                                                     "          name d\n"
                                                                     "function g<T, U>\n"
                                                                     "  param x\n"
                                                                     "  block\n"
                                                                     "    return\n"
                                                                     "      int 1\n");
}

static void test_parse_tells_declarations_from_expressions(void **state)
{
    SORT_UNUSED(state);
    assert_tree("Ray r;", "    declare\n      var r\n");
    assert_tree("r * s;", "    expression\n      binary *\n        name r\n        name s\n");
    assert_tree("const float a = 1, b[2];", "    declare\n"
                                            "      var const a\n"
                                            "        int 1\n"
                                            "      var const b\n");
}

static void test_parse_reads_texture_options(void **state)
{
    SORT_UNUSED(state);
    assert_tree("texture2d_sample<t>(u, v, wrap = \"clamp\", blur = x == y ? 1 : 0);",
                "    expression\n"
                "      texture texture2d_sample t\n"
                "        name u\n"
                "        name v\n"
                "        option wrap\n"
                "          string \"clamp\"\n"
                "        option blur\n"
                "          choice\n"
                "            binary ==\n"
                "              name x\n"
                "              name y\n"
                "            int 1\n"
                "            int 0\n");
}

static void test_parse_else_belongs_to_the_nearest_if(void **state)
{
    SORT_UNUSED(state);
    assert_tree("if (a) if (b) ; else return;", "    if\n"
                                                "      name a\n"
                                                "      if\n"
                                                "        name b\n"
                                                "        empty\n"
                                                "        return\n");
}

static void assert_messages(const char *text, const char *expected)
{
    Front f = front_begin();
    assert_string_equal(front_messages(&f, text), expected);
    front_end(&f);
}

static void test_parse_recovers_after_each_error(void **state)
{
    SORT_UNUSED(state);
    assert_messages("shader s(out float x) { x = ; x = 1; x = *; x = 2 3; }\n"
                    "float f( { }\n"
                    "struct A { int a b; };\n"
                    "float g(float y) { return y }\n",
                    "S0121 1:29 expected an expression, found ';'\n"
                    "S0121 1:42 expected an expression, found '*'\n"
                    "S0120 1:50 expected ';' after the expression, found a number\n"
                    "note 0:0 write an operator between the two, or ';' to end the statement\n"
                    "S0123 2:10 expected a type, found '{'\n"
                    "S0120 3:17 expected ';' after the member, found 'b'\n"
                    "note 0:0 write ',' between two names, or ';' after each declaration\n"
                    "S0120 4:28 expected ';' after 'return', found '}'\n");
    /* Text at the start of a line that begins no statement is skipped. */
    assert_messages("shader s() {\n]\n)\n}\n", "S0121 2:1 expected an expression, found ']'\n");
}

static void test_parse_stops_after_twenty_errors(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    const char *text = "shader s(out float x) {\n";
    for (int i = 0; i < 100; ++i)
        text = arena_printf(f.arena, "%sx = ;\n", text);
    front_messages(&f, arena_printf(f.arena, "%s}", text));
    assert_int_equal(diag_count(f.diags), DIAG_MAX_ERRORS);
    front_end(&f);
}

/* The first message of `before`, `count` times `middle`, `after`. */
static void assert_first_code(const char *before, const char *middle, size_t count,
                              const char *after, const char *code)
{
    Front f = front_begin();
    StrBuf text = {0};
    strbuf_append_c(&text, before);
    for (size_t i = 0; i < count; ++i)
        strbuf_append_c(&text, middle);
    strbuf_append_c(&text, after);
    front_messages(&f, strbuf_text(&text));
    const char *found = diag_count(f.diags) ? diag_get(f.diags, 0)->code : "none";
    assert_string_equal(found, code);
    strbuf_free(&text);
    front_end(&f);
}

#define IN_SHADER(text) "shader s(out float x, out bool b) { b = false; x = 1; " text

static void test_parse_limits_nesting(void **state)
{
    SORT_UNUSED(state);
    const size_t far = 100000;
    assert_first_code(IN_SHADER("x = "), "(", far, "", "S0404");
    assert_first_code(IN_SHADER("x = "), "- ", far, "1;}", "S0404");
    assert_first_code(IN_SHADER("x = "), "(float)", far, "1;}", "S0404");
    assert_first_code(IN_SHADER("x = "), "abs(", far, "", "S0404");
    assert_first_code(IN_SHADER("x = "), "x = ", far, "1;}", "S0404");
    assert_first_code(IN_SHADER("x = "), "b ? 1 : ", far, "1;}", "S0404");
    assert_first_code(IN_SHADER("x = "), "b ? ", far, "1;}", "S0404");
    assert_first_code(IN_SHADER("x = "), "1 + ", far, "1;}",
                      "none"); /* a sum is no deeper than its terms */
    assert_first_code(IN_SHADER("x = 1"), ", 1", far, ";}", "none");
    assert_first_code(IN_SHADER("x = x"), "[0]", far, ";}", "S0404");
    assert_first_code(IN_SHADER("x = x"), ".x", far, ";}", "S0404");
    assert_first_code(IN_SHADER("x"), "++", far, ";}", "S0404");
    assert_first_code(IN_SHADER(""), "{", far, "", "S0404");
    assert_first_code(IN_SHADER(""), "if (b) ", far, ";}", "S0404");
    assert_first_code(IN_SHADER(""), "if (b) {} else ", far, ";}", "none");
    assert_first_code(IN_SHADER(""), "while (b) ", far, ";}", "S0404");
    assert_first_code(IN_SHADER(""), "do ", far, ";}", "S0404");
    assert_first_code(IN_SHADER("float a[1] = "), "{", far, "", "S0404");
    assert_first_code(IN_SHADER("float a[1"), "[1", far, "", "S0404");
    /* Just below the limits it compiles. */
    assert_first_code(IN_SHADER("x = "), "- ", SSL_MAX_NESTING - 4, "1;}", "none");
    assert_first_code(IN_SHADER("x = "), "1 + ", SSL_MAX_EXPR_DEPTH - 2, "1;}", "none");
    assert_first_code(IN_SHADER(""), "if (x > 0) ", SSL_MAX_NESTING - 4, "x = 1;}", "none");
    assert_first_code(IN_SHADER(""), "while (x < 0) ", SSL_MAX_NESTING - 4, "x += 1;}", "none");
}

static void test_parse_limits_parameters(void **state)
{
    SORT_UNUSED(state);
    assert_first_code("float f(float a", ", float a", 300, ") { return 1; }", "S0405");
    assert_first_code(IN_SHADER("x = max(1"), ", 1", 300, ");}", "S0405");
    assert_first_code(IN_SHADER("x = float3(1"), ", 1", 300, ").x;}", "S0405");
}

/* Long but flat sources are no problem. */
static void test_parse_takes_long_sources(void **state)
{
    SORT_UNUSED(state);
    assert_first_code(IN_SHADER(""), "x += 1;\n", 100000, "}", "none");
    assert_first_code(IN_SHADER(""), "{ float y = x; x = y; }\n", 20000, "}", "none");
    assert_first_code("", "// comment\n", 100000, IN_SHADER("}"), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_binds_operators_as_c),
        cmocka_unit_test(test_parse_reads_postfix_and_prefix),
        cmocka_unit_test(test_parse_splits_closing_angles),
        cmocka_unit_test(test_parse_tells_types_from_comparisons),
        cmocka_unit_test(test_parse_tells_declarations_from_expressions),
        cmocka_unit_test(test_parse_reads_texture_options),
        cmocka_unit_test(test_parse_else_belongs_to_the_nearest_if),
        cmocka_unit_test(test_parse_recovers_after_each_error),
        cmocka_unit_test(test_parse_stops_after_twenty_errors),
        cmocka_unit_test(test_parse_limits_nesting),
        cmocka_unit_test(test_parse_limits_parameters),
        cmocka_unit_test(test_parse_takes_long_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
