/* Materials that are groups of units: the same picture as one shader by hand, textures and values of each
 * node, definitions used many times, and what is said when a description is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "tests/sort/render/render_kit.h"

static const char whole_ssl[] =
    "texture2d paint;\n"
    "shader whole(float scale = 3, float rough = 0.5, out closure surface)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    const color a = texture2d_sample<paint>(scale * uvw.x, scale * uvw.y);\n"
    "    surface = make_closure<OrenNayar>(a, rough, global_value<normal>);\n}\n";

/* The shader above, divided into three units. */
static const char parts_ssl[] =
    "texture2d image;\n"
    "shader place(float scale = 3, out float u, out float v)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    u = scale * uvw.x;\n    v = scale * uvw.y;\n}\n"
    "shader look(float u = 0, float v = 0, out color c, out float mean)\n{\n"
    "    c = texture2d_sample<image>(u, v);\n    mean = (c.r + c.g + c.b) / 3;\n}\n"
    "shader matte(color albedo = color(0.8), float rough = 0.5, out closure surface)\n{\n"
    "    surface = make_closure<OrenNayar>(albedo, rough, global_value<normal>);\n}\n"
    "shader blend(float fac = 0.5, closure a, closure b, out closure surface)\n{\n"
    "    surface = mix(a, b, fac);\n}\n";

#define PAINT       "{\"file\": \"textures/paint.png\"}"
#define PART(entry) "{\"shader\": \"shaders/parts.ssl\", \"entry\": \"" entry "\""

static void write_scene(const Kit *kit, const char *material, const char *groups)
{
    StrBuf meshes = {0};
    uint8_t pixels[64 * 64 * 3];
    for (size_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = (uint8_t)hash_mix64(i);
    kit_write_text(kit, "shaders/whole.ssl", whole_ssl);
    kit_write_text(kit, "shaders/parts.ssl", parts_ssl);
    kit_write_png(kit, "textures/paint.png", 64, 64, pixels);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -9}, {-3, -1, -9}});
    kit_write_scene(
        kit,
        &(KitScene){.width = 32,
                    .height = 24,
                    .samples = 4,
                    .max_depth = 3,
                    .eye = {0, 0.5f, 4},
                    .fov_y_degrees = 45,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}",
                    .materials = material,
                    .groups = groups,
                    .environment = "{\"color\": [0.3, 0.4, 0.5]}"});
    strbuf_free(&meshes);
}

static Hash128 picture(const char *material, const char *groups, RenderStats *out_stats)
{
    Kit kit;
    kit_begin(&kit);
    write_scene(&kit, material, groups);
    RenderOptions options = kit_options(&kit);
    Hash128 hash = kit_render_bits(&kit, &options, out_stats);
    kit_end(&kit);
    return hash;
}

static const char short_form[] =
    "{\"name\": \"m\", \"shader\": \"shaders/whole.ssl\", \"parameters\": {\"scale\": 2.5}, "
    "\"textures\": {\"paint\": " PAINT "}}";

static void test_groups_of_one_node_are_the_short_form(void **state)
{
    (void)state;
    Hash128 expected = picture(short_form, NULL, NULL);
    Hash128 values_inside = picture(
        "{\"name\": \"m\", \"group\": {\"nodes\": {\"all\": {\"shader\": \"shaders/whole.ssl\", "
        "\"parameters\": {\"scale\": 2.5}, \"textures\": {\"paint\": " PAINT "}}}, "
        "\"outputs\": {\"surface\": \"all.surface\"}}}",
        NULL, NULL);
    Hash128 values_outside =
        picture("{\"name\": \"m\", \"group\": \"one\", \"parameters\": {\"size\": 2.5}, "
                "\"textures\": {\"all.paint\": " PAINT "}}",
                "\"one\": {\"parameters\": {\"size\": {}}, \"nodes\": {\"all\": {\"shader\": "
                "\"shaders/whole.ssl\"}}, \"wires\": [[\"size\", \"all.scale\"]], "
                "\"outputs\": {\"surface\": \"all.surface\"}}",
                NULL);
    assert_true(hash128_equal(expected, values_inside));
    assert_true(hash128_equal(expected, values_outside));
}

static void test_groups_of_three_units_are_the_shader_by_hand(void **state)
{
    (void)state;
    Hash128 split = picture(
        "{\"name\": \"m\", \"group\": {\"nodes\": {"
        "\"place\": " PART(
            "place") ", \"parameters\": {\"scale\": 2.5}}, "
                     "\"look\": " PART(
                         "look") ", \"textures\": {\"image\": " PAINT "}}, "
                                 "\"dead\": " PART(
                                     "look") "}, "
                                             "\"matte\": " PART(
                                                 "matte") "}}, "
                                                          "\"wires\": [[\"place.u\", \"look.u\"], "
                                                          "[\"place.v\", \"look.v\"], "
                                                          "[\"look.c\", \"matte.albedo\"], "
                                                          "[\"place.u\", \"dead.u\"]], "
                                                          "\"outputs\": {\"surface\": "
                                                          "\"matte.surface\"}}}",
        NULL, NULL);
    assert_true(hash128_equal(picture(short_form, NULL, NULL), split));
}

/* A definition twice in a group, with textures of their own; mixed half and half with itself it is what it
 * was. */
static void test_groups_inside_groups(void **state)
{
    (void)state;
    RenderStats stats;
    Hash128 nested = picture(
        "{\"name\": \"m\", \"group\": {\"nodes\": {"
        "\"a\": {\"group\": \"layer\", \"textures\": {\"look.image\": " PAINT "}}, "
        "\"b\": {\"group\": \"layer\", \"parameters\": {\"size\": 1}}, "
        "\"blend\": " PART(
            "blend") ", \"parameters\": {\"fac\": 0}}}, "
                     "\"wires\": [[\"a.surface\", \"blend.a\"], [\"b.surface\", \"blend.b\"]], "
                     "\"outputs\": {\"surface\": \"blend.surface\"}}}",
        "\"layer\": {\"parameters\": {\"size\": {\"default\": 2.5}}, \"nodes\": {"
        "\"place\": " PART("place") "}, \"look\": " PART(
            "look") "}, "
                    "\"matte\": " PART(
                        "matte") "}}, "
                                 "\"wires\": [[\"size\", \"place.scale\"], [\"place.u\", "
                                 "\"look.u\"], "
                                 "[\"place.v\", \"look.v\"], [\"look.c\", \"matte.albedo\"]], "
                                 "\"outputs\": {\"surface\": \"matte.surface\", \"mean\": "
                                 "\"look.mean\"}}",
        &stats);
    assert_true(hash128_equal(picture(short_form, NULL, NULL), nested));
}

typedef struct Mistake {
    const char *material, *groups;
    const char *says[4];
} Mistake;

#define GROUP(nodes, wires)                                                                        \
    "{\"name\": \"m\", \"group\": {\"nodes\": {" nodes "}, \"wires\": [" wires                     \
    "], \"outputs\": {\"surface\": \"matte.surface\"}}}"

static const Mistake mistakes[] = {
    {GROUP("\"matte\": " PART("matte") "}", "[\"look.c\", \"matte.albedo\"]"),
     NULL,
     {"S0703", "the group has no node 'look'", "materials[0].group.wires[0]", "material 'm'"}},
    {GROUP("\"matte\": " PART("matte") ", \"parameters\": {\"albedoo\": 1}}", ""),
     NULL,
     {"S0705", "node 'matte' (matte) has no input 'albedoo'", "did you mean 'albedo'",
      "materials[0].group.nodes.matte.parameters.albedoo"}},
    {GROUP("\"matte\": " PART("matte") "}, \"b\": " PART("blend") "}",
           "[\"b.surface\", \"matte.rough\"]"),
     NULL,
     {"S0710", "'surface' of node 'b' is a closure", "'rough' of node 'matte', which is a float"}},
    {GROUP("\"matte\": " PART("matte") "}, \"look\": " PART("look") "}",
           "[\"look.c\", \"matte.albedo\"]"),
     NULL,
     {"materials[0].textures.look.image", "must be bound", "material 'm'"}},
    {GROUP("\"matte\": {\"shader\": \"shaders/none.ssl\"}", ""),
     NULL,
     {"materials[0].group.nodes.matte.shader", "no file 'shaders/none.ssl'"}},
    {GROUP("\"matte\": {\"entry\": \"matte\"}", ""),
     NULL,
     {"materials[0].group.nodes.matte", "needs a 'shader' or a 'group'"}},
    {"{\"name\": \"m\", \"group\": \"layr\"}",
     "\"layer\": {\"outputs\": {}}",
     {"materials[0].group", "there is no group 'layr'; did you mean 'layer'?"}},
    {"{\"name\": \"m\", \"group\": \"layer\"}",
     "\"layer\": {\"nodes\": {\"l\": " PART("look") "}}, \"outputs\": {\"c\": \"l.c\"}}",
     {"materials[0].group.outputs.surface", "must be a closure"}},
};

static void test_groups_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < SORT_COUNT_OF(mistakes); ++i) {
        Kit kit;
        KitSaid said;
        const char *says[5] = {mistakes[i].says[0], mistakes[i].says[1], mistakes[i].says[2],
                               mistakes[i].says[3], NULL};
        kit_begin(&kit);
        write_scene(&kit, mistakes[i].material, mistakes[i].groups);
        kit_run(&kit, NULL, &said);
        kit_assert_says(&said, 1, says);
        kit_end(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_one_node_are_the_short_form),
        cmocka_unit_test(test_groups_of_three_units_are_the_shader_by_hand),
        cmocka_unit_test(test_groups_inside_groups),
        cmocka_unit_test(test_groups_mistakes),
    };
    return cmocka_run_group_tests_name("render_groups", tests, NULL, NULL);
}
