/* Import from end to end: this program is parent and child. The packages are read back with
 * scene_load, which checks every rule of the format. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/process.h"
#include "sort/import/import_sink.h"
#include "sort/import/scene_import.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sort/package/failed_allocations.h"

static char work[PATH_BYTES]; /* a private folder for all tests */
static char heard[16384];     /* what was logged */

static void hear(void *data, LogLevel level, const char *text)
{
    (void)data;
    size_t size = strlen(heard);
    snprintf(heard + size, sizeof heard - size, "%s: %s\n", log_level_name(level), text);
}

static const Log test_log = {.level = LOG_LEVEL_DEBUG, .write = hear};

static void expect_heard(const char *words)
{
    if (!strstr(heard, words))
        fail_msg("'%s' is not in '%s'", words, heard);
}

static const char *package_path(const char *name)
{
    static char path[PATH_BYTES];
    assert_int_equal(path_join(work, name, path, NULL), STATUS_OK);
    return path;
}

static SceneMissing missing = SCENE_MISSING_ERROR; /* for all imports */

static Status import(const char *model, const char *package, Error *err)
{
    static const char *const folders[] = {TEST_PLUGIN_DIR "/crash", TEST_PLUGIN_DIR "/balloon",
                                          TEST_PLUGIN_DIR "/pry"};
    SceneImportOptions options = {.size_bytes = sizeof options,
                                  .log = &test_log,
                                  .plugin_folders = folders,
                                  .plugin_folder_count = SORT_COUNT_OF(folders),
                                  .memory_limit_bytes = SORT_ASAN || SORT_TSAN ? 0 : 2ull << 30,
                                  .missing = missing,
                                  .timeout_ms = 60000};
    heard[0] = '\0';
    *err = (Error){0};
    return scene_import_in_child(model, package_path(package), &options, err);
}

static Scene *import_and_load(const char *model, const char *package)
{
    Error err;
    Scene *scene = NULL;
    if (import(model, package, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    if (scene_load(package_path(package), NULL, &scene, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    return scene;
}

static const SceneMaterial *material_of(const Scene *scene, const char *name)
{
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (strcmp(scene->materials[i].name, name) == 0)
            return &scene->materials[i];
    fail_msg("no material is called '%s'", name);
    return NULL;
}

static const SslGroupValue *parameter_of(const SceneMaterial *m, const char *name)
{
    for (uint32_t i = 0; i < m->node.value_count; ++i)
        if (strcmp(m->node.values[i].param, name) == 0)
            return &m->node.values[i];
    return NULL;
}

static const SceneTexture *texture_of(const Scene *scene, const SceneMaterial *m,
                                      const char *handle)
{
    for (uint32_t i = 0; i < m->node.texture_count; ++i)
        if (strcmp(m->node.textures[i].texture, handle) == 0)
            return &scene->textures[m->node.textures[i].id];
    return NULL;
}

static void expect_float(const SceneMaterial *m, const char *name, float wanted)
{
    const SslGroupValue *p = parameter_of(m, name);
    float x = !p ? NAN : p->value.type == SSL_INT ? (float)p->value.i : p->value.f[0];
    if (!(fabsf(x - wanted) < 1e-6f))
        fail_msg("%s is %g, not %g", name, (double)x, (double)wanted);
}

static void test_import_gltf_makes_a_package_that_loads(void **state)
{
    (void)state;
    Scene *scene = import_and_load(TEST_DATA_DIR "/scene.gltf", "gltf");
    assert_string_equal(scene->name, "scene.gltf");
    assert_int_equal(scene->credit_count, 1);
    assert_string_equal(scene->credits[0], "2024 A. Modeller, CC0");
    assert_int_equal(scene->mesh_count, 2);
    assert_int_equal(scene->instance_count, 4);
    assert_int_equal(scene->material_count, 2);
    assert_int_equal(scene->texture_count, 2); /* one image, as sRGB and as raw */
    assert_int_equal(scene->light_count, 4);
    assert_int_equal(scene->camera_count, 2);
    assert_string_equal(scene->cameras[0].name, "view");
    assert_string_equal(scene->cameras[1].name, "view 2");
    assert_true(fabsf(scene->cameras[0].fov_y_rad - 0.8f) < 1e-5f);
    assert_int_equal(scene->settings.width_px, 1280);
    assert_int_equal(scene->settings.height_px, 640); /* aspect 2 */
    assert_int_equal(scene->environment.kind, SCENE_ENVIRONMENT_NONE);

    const SceneMaterial *m = material_of(scene, "painted");
    assert_string_equal(scene->shaders[m->node.shader_id].name, "gltf_pbr");
    assert_true(scene->shaders[m->node.shader_id].is_unit);
    expect_float(m, "metallic", 0.3f);
    expect_float(m, "roughness", 0.4f);
    expect_float(m, "ior", 1.33f);
    expect_float(m, "normal_scale", 0.5f);
    expect_float(m, "alpha", 0.8f);
    expect_float(m, "alpha_cutoff", 0.25f);
    assert_int_equal(parameter_of(m, "alpha_mode")->value.i, 1);
    assert_true(parameter_of(m, "has_uv_transforms")->value.b);
    assert_true(parameter_of(m, "has_metallic_roughness_texture")->value.b);
    assert_null(parameter_of(m, "has_metallic_texture"));
    assert_null(parameter_of(m, "emission"));
    const SceneTexture *base = texture_of(scene, m, "base_color_texture");
    assert_int_equal(base->color_space, SCENE_COLOR_SRGB);
    assert_int_equal(base->wrap_u, SCENE_WRAP_CLAMP);
    assert_int_equal(base->wrap_v, SCENE_WRAP_MIRROR);
    assert_int_equal(texture_of(scene, m, "normal_texture")->color_space, SCENE_COLOR_RAW);
    uint64_t copied, original;
    assert_int_equal(file_size(base->path, &copied, NULL), STATUS_OK);
    assert_int_equal(file_size(TEST_DATA_DIR "/corner colors.png", &original, NULL), STATUS_OK);
    assert_int_equal(copied, original);

    const SceneMaterial *glowing = material_of(scene, "glowing");
    expect_float(glowing, "emission_strength", 7);
    expect_heard("warning: the extension KHR_materials_iridescence is not supported");
    expect_heard("info: imported 4 triangles in 2 meshes, 4 instances");
    assert_null(strstr(heard, "made up"));
    assert_false(file_exists(package_path("gltf.partial")));
    scene_destroy(scene);
}

static void expect_floats(const SceneMaterial *m, const char *name, const float *wanted, int count)
{
    const SslGroupValue *p = parameter_of(m, name);
    assert_non_null(p);
    for (int i = 0; i < count; ++i)
        if (!(fabsf(p->value.f[i] - wanted[i]) < 1e-6f))
            fail_msg("%s[%d] is %g, not %g", name, i, (double)p->value.f[i], (double)wanted[i]);
}

static void test_import_gltf_layers_become_parameters(void **state)
{
    (void)state;
    Scene *scene = import_and_load(TEST_DATA_DIR "/layers.gltf", "layers");
    const SceneMaterial *m = material_of(scene, "lacquer");
    expect_float(m, "clearcoat", 0.75f);
    expect_float(m, "clearcoat_roughness", 0.2f);
    expect_float(m, "specular", 0.5f);
    expect_floats(m, "specular_color", (float[]){1, 0.5f, 0.25f}, 3);
    m = material_of(scene, "cloth");
    expect_floats(m, "sheen_color", (float[]){0.1f, 0.2f, 0.3f}, 3);
    expect_float(m, "sheen_roughness", 0.6f);
    assert_true(parameter_of(m, "has_sheen")->value.b);
    assert_null(parameter_of(m, "specular"));
    assert_true(parameter_of(material_of(scene, "pane"), "thin_walled")->value.b);
    m = material_of(scene, "block");
    expect_float(m, "transmission", 1);
    assert_null(parameter_of(m, "thin_walled"));
    /* unlit: black, without reflection, emitting its own texture, which also gives its alpha */
    m = material_of(scene, "sign");
    expect_floats(m, "base_color", (float[]){0, 0, 0}, 3);
    expect_floats(m, "emission", (float[]){0.2f, 0.4f, 0.6f}, 3);
    expect_floats(m, "emission_uv", (float[]){2, 1, 0.25f, 0}, 4);
    expect_float(m, "emission_strength", 1);
    expect_float(m, "specular", 0);
    expect_float(m, "metallic", 0);
    expect_float(m, "alpha", 0.5f);
    assert_ptr_equal(texture_of(scene, m, "emission_texture"),
                     texture_of(scene, m, "base_color_texture"));
    assert_null(texture_of(scene, m, "normal_texture"));
    scene_destroy(scene);
}

static void test_import_glb_keeps_embedded_images_as_they_are(void **state)
{
    (void)state;
    Scene *scene = import_and_load(TEST_DATA_DIR "/scene.glb", "glb");
    const SceneTexture *base =
        texture_of(scene, material_of(scene, "painted"), "base_color_texture");
    char *copied, *original;
    size_t copied_bytes, original_bytes;
    assert_int_equal(file_read(base->path, 1 << 20, &copied, &copied_bytes, NULL), STATUS_OK);
    assert_int_equal(
        file_read(TEST_DATA_DIR "/corner colors.png", 1 << 20, &original, &original_bytes, NULL),
        STATUS_OK);
    assert_int_equal(copied_bytes, original_bytes);
    assert_memory_equal(copied, original, original_bytes);
    assert_true(path_has_extension(base->path, ".png"));
    mem_free(copied);
    mem_free(original);
    scene_destroy(scene);
}

/* A point of the scene on the film, in picture heights from the middle. */
static float2 project(const SceneCamera *camera, float3 p)
{
    mat4 inverse;
    assert_true(mat4_inverse(camera->camera_to_world, &inverse));
    float3 v = mat4_point(&inverse, p);
    assert_true(v.z < 0);
    float slope = 2.0f * tanf(0.5f * camera->fov_y_rad);
    return f2(v.x / -v.z / slope, v.y / -v.z / slope);
}

static void test_import_makes_up_a_camera_and_a_light_and_says_so(void **state)
{
    (void)state;
    Scene *scene = import_and_load(TEST_DATA_DIR "/tri.stl", "stl");
    expect_heard("warning: the file has no camera; one was made up");
    expect_heard("warning: nothing lights the scene; a soft sky and a wide sun were made up");
    assert_int_equal(scene->camera_count, 1);
    assert_int_equal(scene->light_count, 1);
    assert_int_equal(scene->environment.kind, SCENE_ENVIRONMENT_COLOR);
    assert_int_equal(scene->settings.width_px, 1280);
    /* All is in the picture (16:9), and nearly fills it one way. */
    const float half_width = 0.5f * 1280 / 720;
    float fill = 0;
    static const float3 corners[] = {{0, 0, 0}, {2, 0, 0}, {0, 2, 0}};
    for (size_t i = 0; i < 3; ++i) {
        float2 film = project(&scene->cameras[0], corners[i]);
        fill = fmaxf(fill, fmaxf(fabsf(film.x) / half_width, fabsf(film.y) / 0.5f));
    }
    assert_true(fabsf(fill - 0.9f) < 1e-3f);
    /* the sun comes from above, from the left and from the front */
    float3 z = mat4_vector(&scene->lights[0].light_to_world, f3(0, 0, 1));
    assert_true(z.x < 0 && z.y > 0 && z.z > 0);
    scene_destroy(scene);
}

static void test_import_says_what_a_package_cannot_hold(void **state)
{
    (void)state;
    Scene *scene = import_and_load(TEST_DATA_DIR "/tri.ply", "ply");
    assert_null(scene->meshes[0].normals);
    scene_destroy(scene);
    missing = SCENE_MISSING_MAGENTA;
    Error err;
    const SceneLoadOptions load = {.size_bytes = sizeof load, .missing = missing};
    if (import(TEST_DATA_DIR "/quad.obj", "obj", &err) != STATUS_OK ||
        scene_load(package_path("obj"), &load, &scene, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    missing = SCENE_MISSING_ERROR;
    expect_heard("warning: material 'lamp': texture 'missing.png' is not there");
    assert_int_equal(scene->missing_count, 1);
    assert_null(strstr(heard, "nothing lights")); /* the lamp does */
    const SceneMaterial *m = material_of(scene, "plain");
    assert_int_equal(parameter_of(m, "alpha_mode")->value.i, 2);
    expect_float(m, "alpha", 0.5f);
    assert_null(parameter_of(m, "has_uv_transforms"));
    scene_destroy(scene);
}

static void expect_failure(const char *model, Status status, const char *words)
{
    Error err;
    assert_int_equal(import(model, "failed", &err), status);
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX];
    if (!strstr(error_format(&err, text, sizeof text), words))
        fail_msg("'%s' is not in '%s'", words, text);
    assert_false(file_exists(package_path("failed")));
    assert_false(file_exists(package_path("failed.partial")));
}

static void test_import_fails_with_words_and_leaves_nothing(void **state)
{
    (void)state;
    expect_failure("no_such_model.gltf", STATUS_NOT_FOUND, "cannot be opened for reading");
    expect_failure(TEST_DATA_DIR "/quad.obj", STATUS_NOT_FOUND, "1 file that the scene names");
    expect_heard("error: material 'lamp': texture 'missing.png' is not there");
    expect_failure(TEST_DATA_DIR "/broken.gltf", STATUS_FORMAT, "broken.gltf: JSON, line 2");
    expect_failure(TEST_DATA_DIR "/draco.gltf", STATUS_UNSUPPORTED, "KHR_draco_mesh_compression");
    expect_failure(TEST_DATA_DIR "/text.png", STATUS_UNSUPPORTED,
                   "no scene importer plugin handles '.png' files");
    expect_failure(TEST_DATA_DIR "/points.obj", STATUS_FORMAT, "No meshes remaining");
}

/* A file for one of the plugins that go wrong. */
static const char *model_that(const char *suffix)
{
    static char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/model.%s", work, suffix);
    assert_int_equal(file_write(path, "x", 1, NULL), STATUS_OK);
    return path;
}

static void test_import_survives_a_crash_of_the_plugin(void **state)
{
    (void)state;
    expect_failure(
        model_that("crash"), STATUS_INTERNAL,
        "model.crash: cannot be imported: the importing process failed: killed by signal 6");
    expect_heard("warning: about to go wrong");
}

static void test_import_stops_a_plugin_that_balloons(void **state)
{
    (void)state;
    if (SORT_ASAN || SORT_TSAN)
        skip(); /* sanitizers reserve more than any limit */
    expect_failure(model_that("balloon"), STATUS_NO_MEMORY, "out of memory");
}

static void test_import_keeps_a_plugin_to_its_files(void **state)
{
    (void)state;
    Error err;
    assert_int_not_equal(import(model_that("pry"), "pried", &err), STATUS_OK);
    expect_heard("read the scene");
    if (strstr(heard, "without a sandbox"))
        skip(); /* this kernel has no Landlock */
    assert_null(strstr(heard, "read /etc/passwd"));
    assert_null(strstr(heard, "wrote beside"));
    assert_null(strstr(heard, "ran a program"));
}

static void test_import_refuses_a_folder_that_is_there(void **state)
{
    (void)state;
    assert_int_equal(file_make_directories(package_path("taken"), NULL), STATUS_OK);
    Error err;
    assert_int_equal(import(TEST_DATA_DIR "/tri.stl", "taken", &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "is there already"));
    assert_true(file_exists(package_path("taken")));
}

static void test_import_tells_packages_from_models(void **state)
{
    (void)state;
    assert_true(scene_import_is_package(work));
    assert_true(scene_import_is_package("x/scene.json"));
    assert_true(scene_import_is_package("x.ZIP"));
    assert_false(scene_import_is_package("x.gltf"));
}

/* --- the sink by itself ------------------------------------------------------------------ */

static const float triangle_positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
static const uint32_t triangle_indices[3] = {0, 1, 2};

static ImportSink *begin(const char *package)
{
    ImportSinkDesc desc = {.size_bytes = sizeof desc,
                           .folder = package_path(package),
                           .source = TEST_DATA_DIR "/by_hand",
                           .log = &test_log};
    ImportSink *import;
    Error err = {0};
    heard[0] = '\0';
    if (import_sink_create(&desc, &import, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return import;
}

static uint32_t add_material(const SortSceneSink *sink, const char *name)
{
    SortMaterial m = {.size_bytes = sizeof m,
                      .name = name,
                      .base_color = {1, 1, 1, 1},
                      .ior = 1.5f,
                      .specular = 1};
    uint32_t id = UINT32_MAX;
    assert_int_equal(sink->material(sink->sink, &m, &id), SORT_OK);
    return id;
}

static SortMesh triangle(void)
{
    return (SortMesh){.size_bytes = sizeof(SortMesh),
                      .name = "triangle",
                      .vertex_count = 3,
                      .triangle_count = 1,
                      .positions = triangle_positions,
                      .indices = triangle_indices};
}

static void test_import_sink_makes_names_unique_and_clean(void **state)
{
    (void)state;
    ImportSink *import = begin("names");
    const SortSceneSink *sink = import_sink_callbacks(import);
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    add_material(sink, "same");
    add_material(sink, "same");
    add_material(sink, "same 2");
    add_material(sink, "");
    add_material(sink, "bad \xff\n\"name\" \xc3\xa9");
    add_material(sink, longest);
    SortMesh mesh = triangle();
    uint32_t id;
    assert_int_equal(sink->mesh(sink->sink, &mesh, &id), SORT_OK);
    SortInstance instance = {.size_bytes = sizeof instance,
                             .name = "many",
                             .mesh = id,
                             .transform = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    for (int i = 0; i < 1000; ++i)
        assert_int_equal(sink->instance(sink->sink, &instance), SORT_OK);
    Error err = {0};
    assert_int_equal(import_sink_finish(import, NULL, &err), STATUS_OK);
    import_sink_destroy(import);
    Scene *scene;
    if (scene_load(package_path("names"), NULL, &scene, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    material_of(scene, "same");
    material_of(scene, "same 2");
    material_of(scene, "same 2 3");
    material_of(scene, "material");
    material_of(scene, "bad __\"name\" \xc3\xa9");
    assert_int_equal(scene->instance_count, 1000);
    scene_destroy(scene);
}

static void test_import_sink_refuses_broken_meshes(void **state)
{
    (void)state;
    const float infinite[9] = {0, 0, 0, INFINITY, 0, 0, 0, 1, 0};
    const uint32_t outside[3] = {0, 1, 3};
    static const char *const words[] = {"triangle 0 names vertex 3 of 3",
                                        "a position is not finite", "names material 5 of 1",
                                        "0 vertices"};
    for (int fault = 0; fault < 4; ++fault) {
        ImportSink *import = begin("refused");
        const SortSceneSink *sink = import_sink_callbacks(import);
        add_material(sink, "m");
        SortMesh mesh = triangle();
        if (fault == 0)
            mesh.indices = outside;
        else if (fault == 1)
            mesh.positions = infinite;
        else if (fault == 2)
            mesh.material = 5;
        else
            mesh.vertex_count = 0;
        uint32_t id;
        assert_int_equal(sink->mesh(sink->sink, &mesh, &id), SORT_ERROR_SINK);
        Error err = {0};
        assert_int_not_equal(import_sink_status(import, &err), STATUS_OK);
        assert_non_null(strstr(err.text, words[fault]));
        assert_int_not_equal(import_sink_finish(import, NULL, &err), STATUS_OK);
        assert_non_null(strstr(err.text, words[fault]));
        import_sink_destroy(import);
        assert_false(file_exists(package_path("refused")));
        assert_false(file_exists(package_path("refused.partial")));
    }
}

static void test_import_sink_repairs_normals(void **state)
{
    (void)state;
    ImportSink *import = begin("normals");
    const SortSceneSink *sink = import_sink_callbacks(import);
    add_material(sink, "m");
    const float normals[9] = {0, 0, 0, NAN, 0, 0, 0, 3, 4}, uv[6] = {0, 0, NAN, 0, 0, 1};
    SortMesh mesh = triangle();
    mesh.normals = normals;
    mesh.uv = uv;
    uint32_t id;
    assert_int_equal(sink->mesh(sink->sink, &mesh, &id), SORT_OK);
    SortInstance hidden = {.size_bytes = sizeof hidden, .name = "flat", .mesh = id};
    hidden.transform[15] = 1;
    assert_int_equal(sink->instance(sink->sink, &hidden), SORT_OK);
    SortInstance seen = hidden;
    seen.transform[0] = seen.transform[5] = seen.transform[10] = 2;
    assert_int_equal(sink->instance(sink->sink, &seen), SORT_OK);
    Error err = {0};
    assert_int_equal(import_sink_finish(import, NULL, &err), STATUS_OK);
    import_sink_destroy(import);
    expect_heard("2 broken normals were made anew");
    expect_heard("its uv are not all finite");
    expect_heard("instance 'flat' has a transform without inverse");
    Scene *scene;
    assert_int_equal(scene_load(package_path("normals"), NULL, &scene, &err), STATUS_OK);
    const float wanted[9] = {0, 0, 1, 0, 0, 1, 0, 0.6f, 0.8f};
    for (int i = 0; i < 9; ++i)
        assert_true(fabsf(scene->meshes[0].normals[i] - wanted[i]) < 1e-6f);
    assert_int_equal(scene->meshes[0].uv_count, 0);
    assert_int_equal(scene->instance_count, 1);
    scene_destroy(scene);
}

static Status write_once(Error *err)
{
    const ImportFilesDesc files_desc = {.size_bytes = sizeof files_desc,
                                        .source = TEST_DATA_DIR "/tri.stl"};
    ImportFiles *files;
    TRY(import_files_create(&files_desc, &files, err));
    ImportSinkDesc desc = {.size_bytes = sizeof desc,
                           .folder = package_path("no_memory"),
                           .source = TEST_DATA_DIR "/by_hand",
                           .files = files};
    ImportSink *import;
    Status status = import_sink_create(&desc, &import, err);
    if (status != STATUS_OK) {
        import_files_destroy(files);
        return status;
    }
    const SortSceneSink *sink = import_sink_callbacks(import);
    const float normals[9] = {0};
    SortMaterial material = {
        .size_bytes = sizeof material, .name = "m", .ior = 1.5f, .specular = 1};
    material.base_color_texture = (SortTextureRef){.path = "corner colors.png"};
    SortMesh mesh = triangle();
    mesh.normals = normals;
    SortInstance instance = {.size_bytes = sizeof instance,
                             .name = "i",
                             .transform = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    sink->credit(sink->sink, "somebody");
    if (sink->material(sink->sink, &material, &mesh.material) != SORT_OK ||
        sink->mesh(sink->sink, &mesh, &instance.mesh) != SORT_OK ||
        sink->instance(sink->sink, &instance) != SORT_OK) {
        status = import_sink_status(import, err);
    } else {
        status = import_sink_finish(import, NULL, err);
    }
    import_sink_destroy(import);
    import_files_destroy(files);
    return status;
}

static void test_import_sink_survives_each_failed_allocation(void **state)
{
    (void)state;
    assert_survives_failed_allocations(write_once, package_path("no_memory"));
}

static int set_up(void **state)
{
    (void)state;
    return file_make_temp_directory("sort-import-test-", work, NULL) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(work, NULL) != STATUS_OK;
}

/* Imports as sort-render does, as far as tests need it: --import PATH --export-package FOLDER, then pairs. */
static int child(int argc, char **argv)
{
    const char *folders[8];
    SceneImportOptions options = {.size_bytes = sizeof options, .plugin_folders = folders};
    for (int i = 5; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--plugin-path") == 0 && options.plugin_folder_count < 8)
            folders[options.plugin_folder_count++] = argv[i + 1];
        else if (strcmp(argv[i], "--missing") == 0 && strcmp(argv[i + 1], "magenta") == 0)
            options.missing = SCENE_MISSING_MAGENTA;
    }
    return scene_import_main(argv[2], argv[4], &options);
}

int main(int argc, char **argv)
{
    if (argc >= 6 && strcmp(argv[1], "--import-child") == 0)
        return child(argc - 1, argv + 1);
    /* A child that is not understood must not run the tests, which have children. */
    if (argc > 1)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_gltf_makes_a_package_that_loads),
        cmocka_unit_test(test_import_gltf_layers_become_parameters),
        cmocka_unit_test(test_import_glb_keeps_embedded_images_as_they_are),
        cmocka_unit_test(test_import_makes_up_a_camera_and_a_light_and_says_so),
        cmocka_unit_test(test_import_says_what_a_package_cannot_hold),
        cmocka_unit_test(test_import_fails_with_words_and_leaves_nothing),
        cmocka_unit_test(test_import_survives_a_crash_of_the_plugin),
        cmocka_unit_test(test_import_stops_a_plugin_that_balloons),
        cmocka_unit_test(test_import_keeps_a_plugin_to_its_files),
        cmocka_unit_test(test_import_refuses_a_folder_that_is_there),
        cmocka_unit_test(test_import_tells_packages_from_models),
        cmocka_unit_test(test_import_sink_makes_names_unique_and_clean),
        cmocka_unit_test(test_import_sink_refuses_broken_meshes),
        cmocka_unit_test(test_import_sink_repairs_normals),
        cmocka_unit_test(test_import_sink_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
