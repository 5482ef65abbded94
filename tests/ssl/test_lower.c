/* Lowering: the shape of the IR, as text. What it computes is tested by the files in tests/ssl/run. */
#include "tests/ssl/front_fixture.h"

/* The module's text without what stands before `from`. */
static void assert_ir(const char *source, const char *from, const char *expected)
{
    Front f = front_begin();
    StrBuf out = {0};
    ir_print_module(front_compile(&f, source), &out);
    const char *found = strstr(strbuf_text(&out), from);
    assert_non_null(found);
    assert_string_equal(found, expected);
    strbuf_free(&out);
    front_end(&f);
}

static uint32_t count_in(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        ++count;
    return count;
}

static void assert_count(const char *source, const char *word, uint32_t expected)
{
    Front f = front_begin();
    StrBuf out = {0};
    ir_print_module(front_compile(&f, source), &out);
    uint32_t found = count_in(strbuf_text(&out), word);
    if (found != expected)
        fail_msg("'%s' stands %u times, not %u, in\n%s", word, found, expected, strbuf_text(&out));
    strbuf_free(&out);
    front_end(&f);
}

static void test_lower_post_example(void **state)
{
    SORT_UNUSED(state);
    assert_ir("float eval_practical(float x1, float x2)\n"
              "{\n"
              "    const float u = x1 * x2 / (x1 + 1.f);\n"
              "    return (sin(u) + log(1.f + u) - exp(x2)) * (u - tanh(x2));\n"
              "}\n"
              "texture2d g_albedo;\n"
              "shader shader_entry(out closure output)\n"
              "{\n"
              "    const float3 fake_normal = vector(0.0f, 1.0f, 0.0f);\n"
              "    const float3 global_input_pos = global_value<P>;\n"
              "    const float x = global_input_pos.x;\n"
              "    const float y = global_input_pos.y;\n"
              "    const float z = global_input_pos.z;\n"
              "    const float v = eval_practical(y, z);\n"
              "    const color basecolor = texture2d_sample<g_albedo>(x, v);\n"
              "    output = make_closure<Lambert>(basecolor, fake_normal);\n"
              "}\n",
              "entry",
              "entry func @1 shader_entry() -> (closure)\n"
              "    %1 = const.b false\n"
              "    %3 = const.f 0\n"
              "    %4 = const.f 1\n"
              "    %2 = closure.0\n"
              "    %5 = global P.x\n"
              "    %6 = global P.y\n"
              "    %7 = global P.z\n"
              "    %8 = call @2 eval_practical %6, %7\n"
              "    %9, %10, %11, %12 = tex.auto g_albedo site 0 %5, %8, %3\n"
              "    %13 = closure Lambert %9, %10, %11, %3, %4, %3\n"
              "    yield %13\n"
              "func @2 eval_practical(%1: float, %2: float) -> (float)\n"
              "    %3 = const.b false\n"
              "    %4 = const.f 0\n"
              "    %6 = const.f 1\n"
              "    %18 = const.b true\n"
              "    %5 = fmul %1, %2\n"
              "    %7 = fadd %1, %6\n"
              "    %8 = fdiv %5, %7\n"
              "    %9 = sin %8\n"
              "    %10 = fadd %6, %8\n"
              "    %11 = log %10\n"
              "    %12 = fadd %9, %11\n"
              "    %13 = exp %2\n"
              "    %14 = fsub %12, %13\n"
              "    %15 = tanh %2\n"
              "    %16 = fsub %8, %15\n"
              "    %17 = fmul %14, %16\n"
              "    yield %17\n"
              "output output: results 0..0\n");
}

/* Only what a loop assigns is carried. */
static void test_lower_loop_is_lean(void **state)
{
    SORT_UNUSED(state);
    assert_ir("shader main(out float sum) {\n"
              "    float step = global_value<x>, unused = 2;\n"
              "    sum = 0;\n"
              "    for (int i = 0; i < 3; i++) sum += step;\n"
              "}\n",
              "    %6",
              "    %6 = const.i 0\n"
              "    %9 = const.i 3\n"
              "    %12 = const.b true\n"
              "    %13 = const.i 1\n"
              "    %3 = global x\n"
              "    %18, %19 = loop fault 0 %2, %6\n"
              "    do (%7: float, %8: int)\n"
              "        %10 = ilt %8, %9\n"
              "        %15, %16, %17 = if %10\n"
              "        then\n"
              "            %11 = fadd %3, %7\n"
              "            %14 = iadd %8, %13\n"
              "            yield %11, %14, %12\n"
              "        else\n"
              "            yield %7, %8, %1\n"
              "        yield %10, %15, %16\n"
              "    yield %18\n"
              "output sum: results 0..0\n");
}

static void test_lower_early_return_goes_to_the_other_arm(void **state)
{
    SORT_UNUSED(state);
    assert_ir("float f(float x) { if (x < 0) return 1; x *= 2; return x; }\n"
              "shader main(out float y) { y = f(global_value<x>); }\n",
              "func @2",
              "func @2 f(%1: float) -> (float)\n"
              "    %2 = const.b false\n"
              "    %3 = const.f 0\n"
              "    %4 = const.i 0\n"
              "    %6 = const.i 1\n"
              "    %7 = const.f 1\n"
              "    %8 = const.b true\n"
              "    %9 = const.i 2\n"
              "    %10 = const.f 2\n"
              "    %5 = flt %1, %3\n"
              "    %12, %13 = if %5\n"
              "    then\n"
              "        yield %7, %1\n"
              "    else\n"
              "        %11 = fmul %1, %10\n"
              "        yield %11, %11\n"
              "    yield %12\n"
              "output y: results 0..0\n");
}

static void test_lower_choice(void **state)
{
    SORT_UNUSED(state);
    static const char head[] = "shader main(out float y, out closure c) { float x = "
                               "global_value<x>; int a[2] = {1, 2}; int n = global_value<n>;";
    Front f = front_begin();
    const struct {
        const char *text, *word;
        uint32_t count;
    } cases[] = {
        /* cheap: a select; a function, a fault or an assignment: a branch */
        {"y = x > 0 ? x : 1 - x;", "select", 1},
        {"y = x > 0 ? x : 1 - x;", "if ", 0},
        {"y = x > 0 ? sin(x) : 1;", "if ", 1},
        {"y = x > 0 ? a[n] : 1;", "if ", 1},
        {"y = x > 0 ? (x = 2) : 1;", "if ", 1},
        {"y = x > 0 && x < 1 ? 1 : 2;", "band", 1},
        {"y = x > 0 && a[n] < 1 ? 1 : 2;", "if ", 1},
        {"c = x > 0 ? make_closure<Glow>(color(1)) : make_closure<Glow>(color(2));", "if ", 1},
        /* known: neither */
        {"y = true ? sin(x) : cos(x);", "if ", 0},
        {"y = true ? sin(x) : cos(x);", "cos", 0},
        {"y = false && a[n] > 0 ? 1 : 2;", "get", 0},
        {"if (1 < 2) y = 3; else y = sin(x);", "sin", 0},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        assert_count(arena_printf(f.arena, "%s %s }", head, cases[i].text), cases[i].word,
                     cases[i].count);
    front_end(&f);
}

static void test_lower_only_what_is_reached(void **state)
{
    SORT_UNUSED(state);
    static const char source[] = "float used(float x) { return helper(x) + helper(2); }\n"
                                 "float helper(float x) { return x; }\n"
                                 "float unused(float x) { return x; }\n"
                                 "shader main(out float y) { y = used(1) + used(2); }\n"
                                 "shader other(out float y) { y = unused(1); }\n";
    Front f = front_begin();
    SslSource input = {.name = "test.ssl", .text = STR_LIT(source), .shader = "main"};
    IrModule *m;
    assert_int_equal(lower_shader(front_library(), &front_tables, &input, f.arena, f.diags, &m),
                     STATUS_OK);
    assert_int_equal(m->funcs.count - 1, 3);
    assert_string_equal(ir_func(m, 1)->name, "main");
    assert_string_equal(ir_func(m, 2)->name, "used");
    assert_string_equal(ir_func(m, 3)->name, "helper");
    front_end(&f);
}

static void test_lower_textures(void **state)
{
    SORT_UNUSED(state);
    static const char head[] = "texture2d s, t; shader main(out color c, out float a) "
                               "{ float x = global_value<x>; ";
    Front f = front_begin();
    const struct {
        const char *text, *word;
        uint32_t count;
    } cases[] = {
        {"c = texture2d_sample<s>(x, 0);", "tex.auto s site 0", 1},
        /* equal calls are one lookup, whatever part of it they give */
        {"c = texture2d_sample<t>(x, x); a = texture2d_sample_alpha<t>(x, x);", "tex", 1},
        {"c = texture2d_sample<t>(x, x); a = texture2d_sample_alpha<t>(x, x, wrap = \"black\");",
         "tex.auto t site 1", 1},
        {"c = texture2d_sample<s>(x, x, 1, 2, 3, 4);", "tex s site 0", 1},
        {"c = texture2d_sample<s>(x, x, width = 2);", "ddx", 1},
        {"c = texture2d_sample<s>(x, x, width = 2);", "tex s site 0", 1},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        assert_count(arena_printf(f.arena, "%s %s }", head, cases[i].text), cases[i].word,
                     cases[i].count);
    front_end(&f);
}

static void test_lower_texture_options(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    const IrModule *m = front_compile(
        &f, "texture2d t; shader main(out float4 c) { c = texture2d_sample_rgba<t>(0, 0, "
            "wrap_v = \"clamp\", wrap_u = \"mirror\", filter = \"closest\", "
            "missing = color(1, 0.5, 0), missing_alpha = 0.25); }");
    const SslTextureSite *site = &m->texture_sites.data[0];
    assert_int_equal(m->texture_sites.count, 1);
    assert_string_equal(site->wrap_s, "mirror");
    assert_string_equal(site->wrap_t, "clamp");
    assert_string_equal(site->filter, "closest");
    assert_true(site->has_missing_color && site->missing_color[1] == 0.5f);
    assert_true(site->missing_color[3] == 0.25f);
    m = front_compile(&f, "texture2d t; shader main(out color c)\n"
                          "{ c = texture2d_sample<t>(0, 0, missing = color(0)); }");
    site = &m->texture_sites.data[0];
    assert_null(site->wrap_s);
    assert_null(site->filter);
    assert_true(site->missing_color[3] == 1.0f);
    assert_int_equal(site->span.begin, strlen("texture2d t; shader main(out color c)\n{ c = "));
    front_end(&f);
}

static void test_lower_dumps(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    StrBuf out = {0};
    SslSource source = {.name = "test.ssl",
                        .text = STR_LIT("shader main(out float y) { y = mix(1, 2, 0.5); }")};
    assert_int_equal(
        lower_dump_ast(front_library(), &front_tables, &source, f.arena, f.diags, &out), STATUS_OK);
    assert_string_equal(strbuf_text(&out), "shader main : void\n"
                                           "  param out y : float\n"
                                           "  block\n"
                                           "    expression\n"
                                           "      assign = : float\n"
                                           "        name y : float\n"
                                           "        call mix : float\n"
                                           "          convert : float\n"
                                           "            int 1 : int\n"
                                           "          convert : float\n"
                                           "            int 2 : int\n"
                                           "          float 0.5 : float\n");
    strbuf_clear(&out);
    assert_int_equal(lower_dump_tokens(&source, f.arena, f.diags, &out), STATUS_OK);
    assert_int_equal(count_in(strbuf_text(&out), "\n"), 21);
    strbuf_free(&out);
    front_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_post_example),
        cmocka_unit_test(test_lower_loop_is_lean),
        cmocka_unit_test(test_lower_early_return_goes_to_the_other_arm),
        cmocka_unit_test(test_lower_choice),
        cmocka_unit_test(test_lower_only_what_is_reached),
        cmocka_unit_test(test_lower_textures),
        cmocka_unit_test(test_lower_texture_options),
        cmocka_unit_test(test_lower_dumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
