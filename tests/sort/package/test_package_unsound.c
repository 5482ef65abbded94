/* Packages that can be read and cannot be rendered: shaders, groups, parameters and textures that do not fit
 * one another. Each is refused before a ray is traced, with material, node or line; the words are compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/error.h"
#include "tests/sort/render/render_kit.h"

static const char good_ssl[] =
    "texture2d paint;\n"
    "shader surface(float roughness = 0.5, color albedo = color(0.5), out closure Ci)\n"
    "{\n    Ci = make_closure<OrenNayar>(albedo * texture2d_sample<paint>(0.5, 0.5), roughness, "
    "global_value<normal>);\n}\n"
    "shader number(float a, out float value)\n{\n    value = 2 * a;\n}\n"
    "shader paintless(out closure Ci)\n{\n    Ci = make_closure<Lambert>(color(0.5), "
    "global_value<normal>);\n}\n";

#define SURFACE       "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"entry\": \"surface\""
#define PAINT         "\"textures\": {\"paint\": {\"file\": \"textures/p.png\"}}"
#define BOUND         SURFACE ", " PAINT
#define SHADER(entry) "{\"shader\": \"shaders/s.ssl\", \"entry\": \"" entry "\"}"
#define GROUP(rest)   "{\"name\": \"m\", \"group\": {" rest "}}"

typedef struct Unsound {
    const char *ssl;       /* shaders/s.ssl; NULL: the good one */
    const char *materials; /* NULL: one that names entry `surface` */
    const char *groups;
    const char *place, *words; /* both must be said */
} Unsound;

static const Unsound cases[] = {
    /* shaders */
    {"", NULL, NULL, "materials[0]: 'shaders/s.ssl'", "no shader 'surface'"},
    {"shader surface(out closure Ci)\n{\n    Ci = 1;\n}\n", NULL, NULL,
     "shaders/s.ssl:3:", "closure"},
    {"shader surface(out closure Ci)\n{\n    Ci = make_closure<Lambrt>(color(1), "
     "global_value<normal>);\n}\n",
     NULL, NULL, "shaders/s.ssl:3:", "did you mean 'Lambert'"},
    {"shader surface(out closure Ci)\n{\n    Ci = make_closure<Lambert>(color(1));\n}\n", NULL,
     NULL, "shaders/s.ssl:3:", "Lambert"},
    {"shader surface(out closure Ci)\n{\n    float x = global_value<nrmal>.x;\n}\n", NULL, NULL,
     "shaders/s.ssl:3:", "did you mean 'normal'"},
    {"shader surface(out closure Ci)\n{\n", NULL, NULL, "shaders/s.ssl:", "error[S0"},
    {"shader surface(out float value)\n{\n    value = 1;\n}\n", NULL, NULL, "materials[0]",
     "closure"},
    {"shader surface(out closure Ci)\n{\n    Ci = make_closure<Emission>(color(1, 2));\n}\n", NULL,
     NULL, "shaders/s.ssl:3:", "color"},
    {"shader surface(out closure Ci)\n{\n    for (int i = 0; i < 3; ++i) Ci += 1;\n}\n", NULL, NULL,
     "shaders/s.ssl:3:", "error[S"},
    {"shader other(out closure Ci)\n{\n}\n", NULL, NULL, "materials[0]", "surface"},
    {"// \xc3\xa9t\xc3\xa9 \xe2\x82\xac\n@", NULL, NULL, "shaders/s.ssl:2:1", "error[S0"},
    /* entries, parameters, textures */
    {NULL, "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}", NULL, "materials[0]", "entry"},
    {NULL, "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"entry\": \"surfac\"}", NULL,
     "materials[0]", "did you mean 'surface'"},
    {NULL, "{\"name\": \"m\", \"shader\": \"unit:no_such_unit\"}", NULL, "materials[0]",
     "no_such_unit"},
    {NULL, BOUND ", \"parameters\": {\"roughnes\": 1}}", NULL, "materials[0].parameters.roughnes",
     "did you mean 'roughness'"},
    {NULL, BOUND ", \"parameters\": {\"roughness\": true}}", NULL,
     "materials[0].parameters.roughness", "bool"},
    {NULL, BOUND ", \"parameters\": {\"roughness\": \"0.5\"}}", NULL,
     "materials[0].parameters.roughness", "string"},
    {NULL, BOUND ", \"parameters\": {\"albedo\": [1, 1]}}", NULL, "materials[0].parameters.albedo",
     "float2"},
    {NULL, SURFACE "}", NULL, "materials[0].textures.paint", "must be bound"},
    {NULL, SURFACE ", \"textures\": {\"pain\": {\"file\": \"textures/p.png\"}}}", NULL,
     "materials[0].textures.pain", "did you mean 'paint'"},
    {NULL, BOUND ", \"attributes\": {\"tint\": \"Col\"}}", NULL, "materials[0].attributes.tint",
     "tint"},
    /* groups */
    {NULL, GROUP("\"nodes\": {\"a\": " SHADER("surface") "}, \"outputs\": {\"surface\": \"b.Ci\"}"),
     NULL, "materials[0]", "the group has no node 'b'"},
    {NULL, GROUP("\"nodes\": {\"a\": " SHADER("surface") "}, \"outputs\": {\"surface\": \"a.C\"}"),
     NULL, "materials[0]", "has no output 'C'"},
    {NULL,
     GROUP("\"nodes\": {\"a\": " SHADER("surface") ", \"n\": " SHADER(
         "number") "}, \"wires\": [[\"n.value\", \"a.rough\"]], \"outputs\": {\"surface\": "
                   "\"a.Ci\"}"),
     NULL, "materials[0]", "has no input 'rough'"},
    {NULL,
     GROUP("\"nodes\": {\"a\": " SHADER("surface") ", \"n\": " SHADER(
         "number") "}, \"wires\": [[\"a.Ci\", \"n.a\"]], \"outputs\": {\"surface\": \"a.Ci\"}"),
     NULL, "materials[0]", "cannot go into"},
    {NULL,
     GROUP("\"nodes\": {\"a\": " SHADER("surface") ", \"n\": " SHADER("number") ", \"o\": " SHADER(
         "number") "}, \"wires\": [[\"n.value\", \"o.a\"], [\"o.value\", \"n.a\"], [\"o.value\", "
                   "\"a.roughness\"]],"
                   " \"outputs\": {\"surface\": \"a.Ci\"}"),
     NULL, "materials[0]", "the wires lead in a circle"},
    {NULL,
     GROUP("\"nodes\": {\"a\": " SHADER("surface") ", \"n\": " SHADER(
         "number") "}, \"wires\": [[\"n.value\", \"a.roughness\"]], \"outputs\": {\"surface\": "
                   "\"a.Ci\"}"),
     NULL, "materials[0]", "'a'"},
    {NULL,
     GROUP("\"nodes\": {\"a\": " SHADER("surface") "}, \"wires\": [[\"p\", \"a.roughness\"], "
                                                   "[\"p\", \"a.roughness\"]], \"parameters\": "
                                                   "{\"p\": {\"default\": 1}}, \"outputs\": "
                                                   "{\"surface\": \"a.Ci\"}"),
     NULL, "materials[0]", "two parameters of the group end at input 'roughness'"},
    {NULL, GROUP("\"nodes\": {\"a\": {\"group\": \"G\"}}, \"outputs\": {\"surface\": \"a.s\"}"),
     "\"G\": {\"nodes\": {\"b\": {\"group\": \"H\"}}, \"outputs\": {\"s\": \"b.s\"}}, "
     "\"H\": {\"nodes\": {\"c\": {\"group\": \"G\"}}, \"outputs\": {\"s\": \"c.s\"}}",
     "groups.", "contains itself"},
    {NULL, GROUP("\"nodes\": {\"a\": {\"group\": \"G\"}}, \"outputs\": {\"surface\": \"a.s\"}"),
     "\"G\": {\"nodes\": {\"b\": {\"group\": \"G\"}}, \"outputs\": {\"s\": \"b.s\"}}", "groups.",
     "contains itself"},
    {NULL, GROUP("\"nodes\": {}, \"outputs\": {\"surface\": \"a.s\"}"), NULL, "materials[0]",
     "the group has no node 'a'"},
    {NULL,
     GROUP("\"nodes\": {\"a\": " SHADER("number") "}, \"outputs\": {\"surface\": \"a.value\"}"),
     NULL, "materials[0]", "a"},
    {NULL, "{\"name\": \"m\", \"group\": \"G\", \"parameters\": {\"a.roughnes\": 1}}",
     "\"G\": {\"nodes\": {\"a\": " SHADER("paintless") "}, \"outputs\": {\"surface\": \"a.Ci\"}}",
     "materials[0].parameters.a.roughnes", "roughnes"},
};

/* 1 when it was not refused as it should be. */
static uint32_t check(const Kit *kit, const Unsound *bad)
{
    StrBuf said = {0};
    kit_write_text(kit, "shaders/s.ssl", bad->ssl ? bad->ssl : good_ssl);
    kit_write_floor(kit, 8, bad->materials ? bad->materials : SURFACE "}", bad->groups);
    RenderOptions options = kit_options(kit);
    Render *render;
    Error err = {0};
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    Status status = render_create(&options, &render, &said, &err);
    strbuf_printf(&said, "\n%s", status == STATUS_OK ? "" : error_format(&err, text, sizeof text));
    if (status == STATUS_OK)
        render_destroy(render);
    bool is_refused = status != STATUS_OK && strstr(strbuf_text(&said), bad->place) &&
                      strstr(strbuf_text(&said), bad->words);
    if (!is_refused)
        print_error("case %zu: %s: '%s'\nwanted '%s' and '%s'\n", (size_t)(bad - cases),
                    status_name(status), strbuf_text(&said), bad->place, bad->words);
    strbuf_free(&said);
    return !is_refused;
}

static void test_package_unsound(void **state)
{
    (void)state;
    Kit kit;
    const uint8_t pixel[3] = {1, 2, 3};
    kit_begin(&kit);
    kit_write_png(&kit, "textures/p.png", 1, 1, pixel);
    uint32_t failures = 0;
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        failures += check(&kit, &cases[i]);
    kit_end(&kit);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package_unsound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
