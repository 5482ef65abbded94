/* Colours of vertices, from files to packages to pictures: data/make_models.py says what is in the files. */
#include "base/alloc.h"
#include "base/file.h"
#include "sort/import/scene_import.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"
#include "tests/sort/render/render_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char heard[4096];

static void hear(void *data, LogLevel level, const char *text)
{
    (void)data;
    size_t size = strlen(heard);
    snprintf(heard + size, sizeof heard - size, "%s: %s\n", log_level_name(level), text);
}

/* Into kit->package. */
static void import(const Kit *kit, const char *model)
{
    const Log log = {.level = LOG_LEVEL_DEBUG, .write = hear};
    SceneImportOptions options = {.size_bytes = sizeof options, .log = &log};
    Error err = {0};
    heard[0] = '\0';
    assert_int_equal(file_remove_tree(kit->package, &err), STATUS_OK);
    if (scene_import_file(model, kit->package, &options, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
}

static Scene *load(const Kit *kit)
{
    Scene *scene = NULL;
    Error err = {0};
    if (scene_load(kit->package, NULL, &scene, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    return scene;
}

static const SceneMesh *mesh_of(const Scene *scene, const char *name)
{
    for (uint32_t i = 0; i < scene->mesh_count; ++i)
        if (strcmp(scene->meshes[i].name, name) == 0)
            return &scene->meshes[i];
    fail_msg("no mesh is called '%s'", name);
    return NULL;
}

static void expect_color(const Scene *scene, const char *mesh, uint32_t vertex,
                         const float expected[4])
{
    const SceneMesh *m = mesh_of(scene, mesh);
    assert_int_equal(m->attribute_count, 1);
    assert_string_equal(m->attributes[0].name, "vertex_color");
    assert_int_equal(m->attributes[0].components, 4);
    for (int k = 0; k < 4; ++k)
        assert_true(fabsf(m->attributes[0].values[4 * vertex + k] - expected[k]) < 1e-5f);
}

/* NULL: the material has no such parameter. */
static const SslGroupValue *parameter_of(const Scene *scene, const char *material, const char *name)
{
    for (uint32_t i = 0; i < scene->material_count; ++i)
        for (uint32_t k = 0; strcmp(scene->materials[i].name, material) == 0 &&
                             k < scene->materials[i].node.value_count;
             ++k)
            if (strcmp(scene->materials[i].node.values[k].param, name) == 0)
                return &scene->materials[i].node.values[k];
    return NULL;
}

/* --- glTF: linear, of all types ------------------------------------------------------------------- */

static void test_vertex_colors_of_gltf_are_linear(void **state)
{
    const Kit *kit = *state;
    import(kit, TEST_DATA_DIR "/colors.gltf");
    Scene *scene = load(kit);
    expect_color(scene, "times", 3, (float[4]){0.5f, 0.25f, 1, 1});
    expect_color(scene, "sign", 0,
                 (float[4]){0.5f, 0.25f, 1, 1}); /* three components in the file */
    expect_color(scene, "bytes", 0, (float[4]){1, 0, 0.2f, 1});
    expect_color(scene, "bytes", 1, (float[4]){0, 1, 0.2f, 0.8f});
    expect_color(scene, "bytes", 3, (float[4]){0, 0, 0, 0});
    expect_color(scene, "shorts", 2, (float[4]){1, 0, 0.2f, 1});
    assert_int_equal(mesh_of(scene, "product")->attribute_count, 0);
    assert_non_null(parameter_of(scene, "times", "has_vertex_colors"));
    assert_non_null(parameter_of(scene, "blended", "has_vertex_colors"));
    assert_null(parameter_of(scene, "product", "has_vertex_colors"));
    assert_non_null(parameter_of(scene, "sign", "has_vertex_emission"));
    assert_null(parameter_of(scene, "sign", "has_vertex_colors"));
    scene_destroy(scene);
}

/* --- PLY and OBJ: as displays show them ----------------------------------------------------------- */

static void test_vertex_colors_of_ply_are_the_base_color(void **state)
{
    const Kit *kit = *state;
    import(kit, TEST_DATA_DIR "/colors.ply");
    Scene *scene = load(kit);
    const SceneMaterial *m = &scene->materials[0];
    /* ((128/255 + 0.055) / 1.055)^2.4 */
    const float expected[4] = {0, 0.21586050f, 1, 1};
    expect_color(scene, scene->meshes[0].name, 0, expected);
    expect_color(scene, scene->meshes[0].name, 2, (float[4]){0, expected[1], 1, 0.2f});
    assert_non_null(parameter_of(scene, m->name, "has_vertex_colors"));
    const SslGroupValue *base = parameter_of(scene, m->name, "base_color");
    assert_non_null(base);
    for (int k = 0; k < 3; ++k)
        assert_true(base->value.f[k] == 1.0f);
    scene_destroy(scene);
}

/* A material is there, and MTL does not say that it has anything to do with the colours. */
static void test_vertex_colors_beside_a_material_stay_an_attribute(void **state)
{
    const Kit *kit = *state;
    import(kit, TEST_DATA_DIR "/colors.obj");
    Scene *scene = load(kit);
    expect_color(scene, scene->meshes[0].name, 1, (float[4]){0, 0.21404114f, 1, 1});
    assert_null(parameter_of(scene, "gray", "has_vertex_colors"));
    scene_destroy(scene);
}

/* --- what is seen --------------------------------------------------------------------------------- */

static void test_vertex_colors_multiply_the_base_color(void **state)
{
    enum { WIDTH = 64, HEIGHT = 16 };
    const Kit *kit = *state;
    import(kit, TEST_DATA_DIR "/colors.gltf");
    RenderOptions options = kit_options(kit);
    options.width_px = WIDTH;
    options.height_px = HEIGHT;
    SETTING_SET(options.settings, samples, 4);
    options.aovs = FILM_AOV_BIT(FILM_AOV_ALBEDO);
    uint32_t count;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count), *albedo = kit_aov(render, FILM_AOV_ALBEDO);
    assert_int_equal(count, WIDTH * HEIGHT);
    /* 8.1 m wide at the squares, 12.7 cm a pixel: "times" is the second quarter, "product" the third. */
    for (uint32_t y = 2; y < HEIGHT - 2; ++y)
        for (uint32_t x = WIDTH / 4 + 3; x < WIDTH / 2 - 3; ++x)
            for (uint32_t c = 0; c < 3; ++c) {
                float times = albedo[3 * (y * WIDTH + x) + c];
                float product = albedo[3 * (y * WIDTH + WIDTH - 1 - x) + c];
                assert_true(times > 0.1f && fabsf(times - product) < 1e-3f);
            }
    mem_free(rgba);
    mem_free(albedo);
    render_destroy(render);
}

static void test_vertex_colors_shine_where_nothing_lights(void **state)
{
    enum { SIDE = 16 };
    const Kit *kit = *state;
    import(kit, TEST_DATA_DIR "/colors.gltf");
    RenderOptions options = kit_options(kit);
    /* The square "sign" is 3 m to the right of the view's axis. */
    options.width_px = 20 * SIDE;
    options.height_px = SIDE;
    SETTING_SET(options.settings, samples, 1);
    uint32_t count;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    float seen = 2 * 5 * tanf(0.2f) * 20; /* metres across */
    const float *pixel =
        rgba + (size_t)4 * (SIDE / 2 * 20 * SIDE + (uint32_t)((3 / seen + 0.5f) * 20 * SIDE));
    const float expected[3] = {0.25f, 0.125f, 0.5f};
    for (int c = 0; c < 3; ++c)
        assert_true(fabsf(pixel[c] - expected[c]) < 1e-4f);
    mem_free(rgba);
    render_destroy(render);
}

static int setup(void **state)
{
    static Kit kit;
    kit_begin(&kit);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vertex_colors_of_gltf_are_linear),
        cmocka_unit_test(test_vertex_colors_of_ply_are_the_base_color),
        cmocka_unit_test(test_vertex_colors_beside_a_material_stay_an_attribute),
        cmocka_unit_test(test_vertex_colors_multiply_the_base_color),
        cmocka_unit_test(test_vertex_colors_shine_where_nothing_lights),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
