/* The checker: limits, constants, overloads, what goes into the module's description. What it accepts and
 * refuses is mostly tested by the files in tests/ssl. */
#include "base/alloc.h"
#include "base/thread.h"
#include "ssl/ssl_limits.h"
#include "tests/ssl/front_fixture.h"
#include <math.h>

static void assert_messages(const char *text, const char *expected)
{
    Front f = front_begin();
    assert_string_equal(front_messages(&f, text), expected);
    front_end(&f);
}

/* --- constants -------------------------------------------------------------------------------- */

/* The default of a shader's parameter of that type. */
static SslValue constant_of(const char *type, const char *expression)
{
    Front f = front_begin();
    const char *text = arena_printf(f.arena,
                                    "struct S { float a; int b[2]; };\n"
                                    "const S s = {1.5, {7, 8}};\n"
                                    "const float table[2][2] = {{1, 2}, {3, 4}};\n"
                                    "shader main(%s p = %s, out float x) { x = 1; }",
                                    type, expression);
    const IrModule *m = front_compile(&f, text);
    SslValue value = m->info.params[0].default_value;
    assert_true(m->info.params[0].has_default);
    front_end(&f);
    return value;
}

static void test_constants_follow_the_rules_of_the_ir(void **state)
{
    SORT_UNUSED(state);
    assert_int_equal(constant_of("int", "7 / 2").i, 3);
    assert_int_equal(constant_of("int", "-7 / 2").i, -3);
    assert_int_equal(constant_of("int", "-7 % 2").i, -1);
    assert_int_equal(constant_of("int", "1 / 0").i, 0);
    assert_int_equal(constant_of("int", "1 % 0").i, 0);
    assert_int_equal(constant_of("int", "2147483647 + 1").i, INT32_MIN);
    assert_int_equal(constant_of("int", "-2147483648 / -1").i, INT32_MIN);
    assert_int_equal(constant_of("int", "-(-2147483648)").i, INT32_MIN);
    assert_int_equal(constant_of("int", "65536 * 65536").i, 0);
    assert_int_equal(constant_of("int", "1 << 33").i, 2);
    assert_int_equal(constant_of("int", "-8 >> 1").i, -4);
    assert_int_equal(constant_of("int", "ushr(-1, 31)").i, 1);
    assert_int_equal(constant_of("int", "~0 & 0xF0 | 3 ^ 1").i, 0xF2);
    assert_int_equal(constant_of("int", "int(2.9) + int(-2.9)").i, 0);
    assert_int_equal(constant_of("int", "int(1e20)").i, INT32_MAX);
    assert_int_equal(constant_of("int", "int(0.0 / 0.0)").i, 0);
    assert_int_equal(constant_of("int", "min(3, 4) * 10 + max(3, 4)").i, 34);
    assert_int_equal(constant_of("int", "(int)true + int(2)").i, 3);
    assert_int_equal(constant_of("int", "s.b[1]").i, 8);
    assert_true(constant_of("bool", "1 < 2 && !(2.0 < 1) || false").b);
    assert_true(constant_of("bool", "float3(1, 2, 3) == float3(1, 2, 3)").b);
    assert_true(constant_of("bool", "float2(1, 2) != float2(1, 3)").b);
    assert_false(constant_of("bool", "isnan(1.0) || isinf(1.0)").b);
    assert_true(constant_of("bool", "bool(2)").b);
    assert_true(constant_of("bool", "isinf(1.0 / 0)").b);
}

static void assert_floats(const char *type, const char *expression, const float *expected,
                          uint32_t count)
{
    SslValue value = constant_of(type, expression);
    for (uint32_t i = 0; i < count; ++i)
        if (fabsf(value.f[i] - expected[i]) > 1e-6f * fabsf(expected[i]))
            fail_msg("%s: component %u is %g, not %g", expression, i, (double)value.f[i],
                     (double)expected[i]);
}
#define FLOATS(type, expression, ...)                                                              \
    assert_floats(type, expression, (const float[]){__VA_ARGS__},                                  \
                  sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

static void test_constants_of_floats_and_vectors(void **state)
{
    SORT_UNUSED(state);
    FLOATS("float", "1", 1);
    FLOATS("float", "1 / 4", 0);
    FLOATS("float", "1 / 4.0", 0.25f);
    FLOATS("float", "M_PI / 2", 1.5707963f);
    FLOATS("float", "sqrt(2) * pow(2, 3)", 11.3137085f);
    FLOATS("float", "sqrt(-1)", 0);
    FLOATS("float", "true ? 1 : 2.5", 1);
    FLOATS("float", "s.a + table[1][0]", 4.5f);
    FLOATS("float3", "float3(1)", 1, 1, 1);
    FLOATS("color", "color(1, 2, 3) * 2 + 1", 3, 5, 7);
    FLOATS("float4", "float4(float2(1, 2), (color(3, 4, 5)).bg)", 1, 2, 5, 4);
    FLOATS("float2", "-float2(1, 2).yx", -2, -1);
    FLOATS("vector", "max(float3(1, 5, 3), 2)", 2, 5, 3);
    FLOATS("matrix", "matrix(2)", 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2);
}

/* --- the module's description ------------------------------------------------------------------ */

static void test_module_describes_the_shader(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    const IrModule *m = front_compile(
        &f, "texture2d first, second;\n"
            "texture2d third;\n"
            "shader wood [[ string label = \"Wood\", int version = 2 ]]\n"
            "    (color tint = color(1, 0.5, 0.25) [[ string label = \"Tint\", float min = 0 ]],\n"
            "     out closure surface, int rings, bool knots = true, out float3 debug, out int n)\n"
            "{ surface = make_closure<Glow>(tint); debug = tint; n = knots ? rings : 0; }");
    const SslUnitInfo *info = &m->info;
    assert_string_equal(info->name, "wood");
    assert_int_equal(info->texture_count, 3);
    assert_string_equal(info->textures[1], "second");
    assert_int_equal(info->metadata_count, 2);
    assert_string_equal(info->metadata[0].name, "label");
    assert_string_equal(info->metadata[0].value.s, "Wood");
    assert_int_equal(info->metadata[1].value.i, 2);
    assert_int_equal(info->param_count, 3);
    assert_string_equal(info->params[0].name, "tint");
    assert_int_equal(info->params[0].type, SSL_COLOR);
    assert_true(info->params[0].default_value.f[1] == 0.5f);
    assert_int_equal(info->params[0].metadata_count, 2);
    assert_string_equal(info->params[0].metadata[1].name, "min");
    assert_int_equal(info->params[0].metadata[1].value.type, SSL_FLOAT);
    assert_false(info->params[1].has_default);
    assert_true(info->params[2].default_value.b);
    assert_int_equal(info->output_count, 3);
    assert_int_equal(info->outputs[1].type, SSL_FLOAT3);
    assert_int_equal(m->outputs.count, 3);
    assert_int_equal(m->outputs.data[1].result_first, 1);
    assert_int_equal(m->outputs.data[1].result_count, 3);
    assert_int_equal(m->outputs.data[2].result_first, 4);
    front_end(&f);
}

static void test_shaders_are_listed_and_chosen(void **state)
{
    SORT_UNUSED(state);
    static const char text[] = "shader a(out float x) { x = 1; }\n"
                               "float f() { return 1; }\n"
                               "shader b(out float x) { x = 2; }\n";
    Front f = front_begin();
    StrBuf out = {0};
    SslSource source = {.name = "two.ssl", .text = STR_LIT(text)};
    assert_int_equal(lower_list_shaders(&source, f.arena, f.diags, &out), STATUS_OK);
    assert_string_equal(strbuf_text(&out), "a\nb\n");
    IrModule *m;
    source.shader = "b";
    assert_int_equal(lower_shader(front_library(), &front_tables, &source, f.arena, f.diags, &m),
                     STATUS_OK);
    assert_string_equal(m->info.name, "b");
    source.shader = "c";
    assert_int_equal(lower_shader(front_library(), &front_tables, &source, f.arena, f.diags, &m),
                     STATUS_SOURCE);
    assert_string_equal(diag_get(f.diags, 0)->code, "S0510");
    strbuf_free(&out);
    front_end(&f);
}

/* A list that is full already refuses the next source instead of checking only a part of it. */
static void test_full_list_refuses(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    for (int i = 0; i < DIAG_MAX_ERRORS; ++i)
        diag_add(f.diags, DIAG_ERROR, "S0000", (Span){0}, "earlier");
    IrModule *m;
    SslSource source = {.name = "good.ssl", .text = STR_LIT("shader a(out float x) { x = 1; }")};
    assert_int_equal(lower_shader(front_library(), &front_tables, &source, f.arena, f.diags, &m),
                     STATUS_SOURCE);
    front_end(&f);
}

/* --- overloads --------------------------------------------------------------------------------- */

static void test_overload_prefers_fewer_conversions(void **state)
{
    SORT_UNUSED(state);
    assert_messages("float f(int x) { return 1; }\n"
                    "float f(float x) { return 2; }\n"
                    "float f(float3 x) { return 3; }\n"
                    "float g(float x, float y) { return 1; }\n"
                    "float g(int x, float y) { return 2; }\n"
                    "shader s(out float x) { x = f(1) + f(1.0) + f(color(1)) + g(1, 1); }",
                    "");
    assert_messages("float g(float x, int y) { return 1; }\n"
                    "float g(int x, float y) { return 2; }\n"
                    "shader s(out float x) { x = g(1, 1); }",
                    "S0208 3:29 call of 'g' with (int, int) is ambiguous\n"
                    "note 1:7 candidate: float g(float x, int y)\n"
                    "note 2:7 candidate: float g(int x, float y)\n");
}

static void test_overload_lets_a_file_replace_the_library(void **state)
{
    SORT_UNUSED(state);
    Front f = front_begin();
    StrBuf out = {0};
    const IrModule *m = front_compile(&f, "float clamp(float x, float a, float b) { return 42; }\n"
                                          "float sqrt(float x) { return 43; }\n"
                                          "shader s(out float x, out float y)\n"
                                          "{ x = clamp(x, 0.0, 1.0); y = sqrt(4.0); }");
    ir_print_module(m, &out);
    assert_non_null(strstr(strbuf_text(&out), "const.f 42"));
    assert_non_null(strstr(strbuf_text(&out), "const.f 43"));
    strbuf_free(&out);
    front_end(&f);
}

/* --- limits ------------------------------------------------------------------------------------ */

typedef const char *(*LineFn)(Arena *arena, uint32_t index);

/* The first message of lines made by `line`, between `before` and `after`. */
static void assert_first_code(const char *before, LineFn line, uint32_t count, const char *after,
                              const char *code)
{
    Front f = front_begin();
    StrBuf text = {0};
    strbuf_append_c(&text, before);
    for (uint32_t i = 0; i < count; ++i)
        strbuf_append_c(&text, line(f.arena, i));
    strbuf_append_c(&text, after);
    front_messages(&f, strbuf_text(&text));
    assert_string_equal(diag_count(f.diags) ? diag_get(f.diags, 0)->code : "none", code);
    strbuf_free(&text);
    front_end(&f);
}

static const char *call_next(Arena *a, uint32_t i)
{
    return arena_printf(a, "float f%u(float x) { return f%u(x); }\n", i, i + 1);
}

static const char *call_previous(Arena *a, uint32_t i)
{
    return arena_printf(a, "float f%u(float x) { return f%u(x); }\n", i + 1, i);
}

static const char *struct_of_previous(Arena *a, uint32_t i)
{
    return arena_printf(a, "struct S%u { S%u s; };\n", i + 1, i);
}

static const char *double_previous(Arena *a, uint32_t i)
{
    return arena_printf(a, "struct S%u { S%u s[2]; };\n", i + 1, i);
}

static const char *big_array(Arena *a, uint32_t i)
{
    return arena_printf(a, "float a%u[4000]; a%u[0] = 1; x += a%u[int(x)];\n", i, i, i);
}

static const char *texture(Arena *a, uint32_t i)
{
    return arena_printf(a, "texture2d t%u;\n", i);
}

static const char *early_return(Arena *a, uint32_t i)
{
    return arena_printf(a, "if (global_value<n> == %u) return;\n", i);
}

static void test_limits_have_messages(void **state)
{
    SORT_UNUSED(state);
    static const char shader[] = "shader s(out float x) { x = 1; }";
    assert_first_code("float f0(float x) { return x; }", call_previous, SSL_MAX_CALL_DEPTH - 2,
                      shader, "none");
    assert_first_code("float f0(float x) { return x; }", call_previous, SSL_MAX_CALL_DEPTH + 1,
                      shader, "S0409");
    assert_first_code("", call_next, 50000, "float f50000(float x) { return x; } shader s() { }",
                      "S0409");
    assert_first_code("struct S0 { float x; };", struct_of_previous, SSL_MAX_STRUCT_NESTING - 1,
                      shader, "none");
    assert_first_code("struct S0 { float x; };", struct_of_previous, 50000, shader, "S0411");
    assert_first_code("struct S0 { float x; };", double_previous, 12, shader, "none");
    assert_first_code("struct S0 { float x; };", double_previous, 13, shader, "S0406");
    assert_first_code("shader s(out float x) {", big_array, 8, "}", "none");
    assert_first_code("shader s(out float x) {", big_array, 9, "}", "S0407");
    assert_first_code("", texture, SSL_MAX_TEXTURES, shader, "none");
    assert_first_code("", texture, SSL_MAX_TEXTURES + 1, shader, "S0408");
    assert_first_code("shader s(out float x) {", early_return, SSL_MAX_REGIONS - 1, "x = 2; }",
                      "none");
    assert_first_code("shader s(out float x) {", early_return, SSL_MAX_REGIONS + 1, "x = 2; }",
                      "S0412");
}

/* --- out of memory ------------------------------------------------------------------------------- */

static const char everything[] =
    "struct S { float a; int b[2]; };\n"
    "texture2d t;\n"
    "const float k[2] = {1, 2};\n"
    "float f(float x, inout S s) { for (int i = 0; i < 3; i++) { if (x > 2) break; x += k[i]; }\n"
    "    s.b[1]++; return x; }\n"
    "interface IOf { float of(float x); }\n"
    "struct P<T> : IOf { T a[2]; float of(float x) { return x; } T last() { return a[1]; } U "
    "as<U>(U x) { return x; } };\n"
    "float g<T, U : IOf>(P<T> p, U u) { return u.of(1) + p.as<float>(2); }\n"
    "shader main(float p = 1 [[ string label = \"p\" ]], out closure c)\n"
    "{ S s = {1, {2, 3}}; P<P<S>> n = {}; s.a += g(n, n.last()); color q = "
    "texture2d_sample<t>(f(p, s), 0.5, wrap = \"clamp\");\n"
    "  c = make_closure<Lambert>(mix(q, color(1), 0.5), normal(0, 0, 1)) * (p > 1 ? 2 : 1); }";

/* Returns at the jump when memory is out. A function of its own: nothing it changes is read after. */
static Status compile_in(Arena *arena, DiagList *diags)
{
    jmp_buf no_memory;
    IrModule *m;
    if (setjmp(no_memory))
        return STATUS_NO_MEMORY;
    arena_on_no_memory(arena, &no_memory);
    const SslSource source = {.name = "test.ssl", .text = STR_LIT(everything)};
    return lower_shader(front_library(), &front_tables, &source, arena, diags, &m);
}

static void test_survives_each_failing_allocation(void **state)
{
    SORT_UNUSED(state);
    front_library();
    for (uint64_t nth = 1;; ++nth) {
        mem_fail_nth(nth);
        Arena *arena = arena_create(256, 0);
        DiagList *diags = arena ? diag_list_create() : NULL;
        Status status = diags ? compile_in(arena, diags) : STATUS_NO_MEMORY;
        bool is_done = mem_allocation_count() < nth;
        mem_fail_nth(0);
        assert_true(is_done ? status == STATUS_OK : status != STATUS_SOURCE);
        diag_list_destroy(diags);
        arena_destroy(arena);
        if (is_done)
            break;
        assert_true(nth < 100000);
    }
}

static void compile_once(void *data, uint32_t index)
{
    Status *status = data;
    Arena *arena = arena_create(0, 0);
    DiagList *diags = diag_list_create();
    status[index] = arena && diags ? compile_in(arena, diags) : STATUS_NO_MEMORY;
    diag_list_destroy(diags);
    arena_destroy(arena);
}

/* The library's tree is shared and only read: the thread sanitizer watches. */
static void test_threads_share_the_library(void **state)
{
    SORT_UNUSED(state);
    Status status[32];
    front_library();
    parallel_for(4, SORT_COUNT_OF(status), compile_once, status);
    for (size_t i = 0; i < SORT_COUNT_OF(status); ++i)
        assert_int_equal(status[i], STATUS_OK);
}

static void test_library_survives_each_failing_allocation(void **state)
{
    SORT_UNUSED(state);
    for (uint64_t nth = 1;; ++nth) {
        StdLib *library;
        Error err = {0};
        mem_fail_nth(nth);
        Status status = stdlib_create(&library, &err);
        bool is_done = mem_allocation_count() < nth;
        mem_fail_nth(0);
        if (status == STATUS_OK)
            stdlib_destroy(library);
        else
            assert_int_equal(err.code, STATUS_NO_MEMORY);
        if (is_done)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_follow_the_rules_of_the_ir),
        cmocka_unit_test(test_constants_of_floats_and_vectors),
        cmocka_unit_test(test_module_describes_the_shader),
        cmocka_unit_test(test_shaders_are_listed_and_chosen),
        cmocka_unit_test(test_full_list_refuses),
        cmocka_unit_test(test_overload_prefers_fewer_conversions),
        cmocka_unit_test(test_overload_lets_a_file_replace_the_library),
        cmocka_unit_test(test_limits_have_messages),
        cmocka_unit_test(test_survives_each_failing_allocation),
        cmocka_unit_test(test_threads_share_the_library),
        cmocka_unit_test(test_library_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
