/* Packages written from C: what is put in is what the reader gets out. With `--write FOLDER` the program makes one of them,
 * for check_schema.py. */
#include "sort/package/package_write.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/file.h"
#include "base/mat4.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sort/package/failed_allocations.h"

static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
static const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, uv[6] = {0, 0, 1, 0, 0.25f, 1};
static const uint32_t indices[3] = {0, 1, 2};
static const float weight[3] = {0.5f, 0.25f, 1};
static const float moved[9] = {0, 0, 1, 1, 0, 1, 0, 1, 1};
static const float hair[12] = {0, 0, 0, 0.1f, 0, 1, 0, 0.1f, 0, 2, 0, 0.05f};
static const uint32_t hair_points[1] = {3};
static const uint16_t hair_slots[1] = {1};
static const char shader[] = "surface plain(color albedo = color(0.5)) { }\n";

static char work[PATH_BYTES];

static void write_mesh(PackageWriter *w, const char **out_name)
{
    JsonWriter *json = package_writer_begin(w, PACKAGE_MESHES, "leaf/1", out_name);
    json_write_u64(json, "vertex_count", 3);
    json_write_u64(json, "triangle_count", 1);
    package_writer_array(w, "positions", PACKAGE_FLOAT32, 3, 3, positions);
    package_writer_array(w, "indices", PACKAGE_UINT32, 3, 1, indices);
    json_write_array(json, "uv");
    package_writer_array(w, NULL, PACKAGE_FLOAT32, 2, 3, uv);
    json_write_end(json);
    json_write_object(json, "attributes");
    package_writer_array(w, "weight", PACKAGE_FLOAT32, 1, 3, weight);
    json_write_end(json);
    json_write_array(json, "motion");
    json_write_object(json, NULL);
    package_writer_array(w, "positions", PACKAGE_FLOAT32, 3, 3, moved);
    json_write_end(json);
    json_write_end(json);
    package_writer_end(w);
}

static void write_curves(PackageWriter *w)
{
    JsonWriter *json = package_writer_begin(w, PACKAGE_CURVES, "hair", NULL);
    json_write_string(json, "basis", "linear");
    json_write_u64(json, "point_count", 3);
    json_write_u64(json, "curve_count", 1);
    package_writer_array(w, "points", PACKAGE_FLOAT32, 4, 3, hair);
    package_writer_array(w, "point_counts", PACKAGE_UINT32, 1, 1, hair_points);
    package_writer_array(w, "material_indices", PACKAGE_UINT16, 1, 1, hair_slots);
    package_writer_end(w);
}

static void write_instance(PackageWriter *w, const char *field, const char *shape)
{
    JsonWriter *json = package_writer_begin(w, PACKAGE_INSTANCES, shape, NULL);
    json_write_string(json, field, shape);
    json_write_floats(json, "transform", identity, 16);
    json_write_array(json, "materials");
    json_write_string(json, NULL, "plain");
    json_write_string(json, NULL, "plain");
    json_write_end(json);
    package_writer_end(w);
}

/* Two copies in one entry. */
static const float copies[24] = {1,  0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7,
                                 -2, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0};

static void write_copies(PackageWriter *w)
{
    JsonWriter *json = package_writer_begin(w, PACKAGE_INSTANCES, "many", NULL);
    json_write_string(json, "mesh", "leaf/1");
    package_writer_array(w, "transforms", PACKAGE_FLOAT32, 4, 6, copies);
    json_write_array(json, "materials");
    json_write_string(json, NULL, "plain");
    json_write_end(json);
    package_writer_end(w);
}

static void write_lights(PackageWriter *w)
{
    JsonWriter *json = package_writer_begin(w, PACKAGE_LIGHTS, "panel", NULL);
    json_write_string(json, "type", "area_rectangle");
    json_write_floats(json, "transform", identity, 16);
    json_write_floats(json, "radiance", (const float[]){1, 2, 3}, 3);
    json_write_floats(json, "size", (const float[]){0.5f, 2}, 2);
    json_write_float(json, "spread_degrees", 90);
    json_write_string(json, "light_group", "key");
    package_writer_end(w);
}

/* All sections, through the writer alone. */
static Status write_package(const char *folder, bool is_compressed, Error *err)
{
    const PackageWriteDesc desc = {
        .size_bytes = sizeof desc, .folder = folder, .is_compressed = is_compressed};
    PackageWriter *w;
    TRY(package_writer_create(&desc, &w, err));
    JsonWriter *json = package_writer_fields(w);
    json_write_string(json, "name", "by hand");
    json_write_object(json, "settings");
    json_write_u64(json, "samples", 3);
    json_write_end(json);
    FILE *stream;
    Status status = package_writer_open_file(w, "shaders/plain.ssl", &stream, err);
    if (status == STATUS_OK) {
        (void)fwrite(shader, 1, sizeof shader - 1, stream);
        status = package_writer_close_file(stream, "shaders/plain.ssl", err);
    }
    if (status != STATUS_OK)
        package_writer_fail(w, err);
    json = package_writer_begin(w, PACKAGE_CAMERAS, NULL, NULL);
    json_write_floats(json, "transform", identity, 16);
    json_write_float(json, "fov_y_degrees", 40);
    package_writer_end(w);
    json = package_writer_begin(w, PACKAGE_MATERIALS, "plain", NULL);
    json_write_string(json, "shader", "shaders/plain.ssl");
    package_writer_end(w);
    const char *first, *second;
    write_mesh(w, &first);
    write_mesh(w, &second);
    write_curves(w);
    write_instance(w, "mesh", first);
    write_instance(w, "mesh", second);
    write_copies(w);
    write_instance(w, "curves", "hair");
    write_lights(w);
    json = package_writer_fields(w);
    json_write_object(json, "environment");
    json_write_floats(json, "color", (const float[]){1, 1, 1}, 3);
    json_write_end(json);
    status = package_writer_finish(w, err);
    package_writer_destroy(w);
    return status;
}

static const char *package_path(const char *name)
{
    static char path[PATH_BYTES];
    assert_int_equal(path_join(work, name, path, NULL), STATUS_OK);
    return path;
}

static void check_scene(const Scene *s)
{
    assert_string_equal(s->name, "by hand");
    assert_int_equal(s->settings.samples, 3);
    assert_string_equal(s->cameras[0].name, "camera");
    assert_int_equal(s->mesh_count, 3);
    assert_string_equal(s->meshes[0].name, "leaf/1");
    assert_string_equal(s->meshes[1].name, "leaf/1 2");
    for (int m = 0; m < 2; ++m) {
        const SceneMesh *mesh = &s->meshes[m];
        assert_memory_equal(mesh->positions, positions, sizeof positions);
        assert_memory_equal(mesh->indices, indices, sizeof indices);
        assert_memory_equal(mesh->uv[0], uv, sizeof uv);
        assert_int_equal(mesh->attribute_count, 1);
        assert_int_equal(mesh->later_count, 1);
        assert_memory_equal(mesh->later[0].positions, moved, sizeof moved);
    }
    const SceneCurves *curves = s->meshes[2].curves;
    assert_int_equal(curves->curve_count, 1);
    assert_memory_equal(curves->points, hair, sizeof hair);
    assert_int_equal(s->meshes[2].material_indices[0], 1);
    assert_int_equal(s->instance_count, 5);
    assert_string_equal(s->instances[2].name, "many[0]");
    assert_string_equal(s->instances[3].name, "many[1]");
    assert_true(s->instances[2].object_to_world.m[1][3] == 6 && !s->instances[2].is_mirrored);
    assert_true(s->instances[3].world_to_object.m[0][0] == -0.5f && s->instances[3].is_mirrored);
    assert_true(s->instances[3].object_to_world.m[3][3] == 1 && s->instances[3].mesh == 0);
    assert_int_equal(s->instances[4].mesh, 2);
    assert_int_equal(s->instances[1].mesh, 1);
    assert_int_equal(s->lights[0].kind, SCENE_LIGHT_RECTANGLE);
    assert_true(s->lights[0].emission.z == 3 && s->lights[0].size_y_m == 2);
    assert_true(fabsf(s->lights[0].spread_rad - 1.5707963f) < 1e-6f);
    assert_int_equal(s->light_group_count, 1);
    assert_int_equal(s->environment.kind, SCENE_ENVIRONMENT_COLOR);
}

static void test_package_write_is_what_is_read(void **state)
{
    (void)state;
    for (int is_compressed = 0; is_compressed < 2; ++is_compressed) {
        const char *folder = package_path(is_compressed ? "zlib" : "plain");
        Error err = {0};
        if (write_package(folder, is_compressed, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        Scene *scene;
        if (scene_load(folder, NULL, &scene, &err) != STATUS_OK)
            fail_msg("%s: %s", err.path, err.text);
        check_scene(scene);
        scene_destroy(scene);
    }
}

static void test_package_write_never_overwrites(void **state)
{
    (void)state;
    Error err = {0};
    assert_int_equal(write_package(package_path("twice/"), false, &err), STATUS_OK);
    assert_int_equal(write_package(package_path("twice"), false, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "is there already"));
    assert_int_equal(file_make_directories(package_path("other.partial"), &err), STATUS_OK);
    assert_int_equal(write_package(package_path("other"), false, &err), STATUS_INVALID);
    assert_true(file_exists(package_path("other.partial")));
}

/* The first error is what finish gives back, and nothing is left on disk. */
static void test_package_write_keeps_the_first_error(void **state)
{
    (void)state;
    const PackageWriteDesc desc = {.size_bytes = sizeof desc, .folder = package_path("failed")};
    PackageWriter *w;
    Error err = {0}, why = {0};
    assert_int_equal(package_writer_create(&desc, &w, &err), STATUS_OK);
    assert_int_equal(package_writer_status(w, &err), STATUS_OK);
    FILE *stream;
    assert_int_equal(package_writer_open_file(w, "meshes", &stream, &err), STATUS_OK);
    assert_int_equal(package_writer_close_file(stream, "meshes", &err), STATUS_OK);
    write_mesh(w, NULL); /* whose file would lie in what is no folder */
    assert_int_equal(package_writer_status(w, &err), STATUS_IO);
    (void)error_set(&why, STATUS_FORMAT, "too late");
    assert_int_equal(package_writer_fail(w, &why), STATUS_FORMAT);
    write_curves(w);
    assert_int_equal(package_writer_finish(w, &err), STATUS_IO);
    assert_null(strstr(err.text, "too late"));
    package_writer_destroy(w);
    assert_false(file_exists(package_path("failed")));
    assert_false(file_exists(package_path("failed.partial")));
}

static Status write_compressed(Error *err)
{
    return write_package(package_path("no_memory"), true, err);
}

static void test_package_write_survives_each_failed_allocation(void **state)
{
    (void)state;
    assert_survives_failed_allocations(write_compressed, package_path("no_memory"));
}

static int set_up(void **state)
{
    (void)state;
    return file_make_temp_directory("sort-package-write-", work, NULL) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(work, NULL) != STATUS_OK;
}

int main(int argc, char **argv)
{
    Error err = {0};
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_package(argv[2], false, &err) != STATUS_OK;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package_write_is_what_is_read),
        cmocka_unit_test(test_package_write_never_overwrites),
        cmocka_unit_test(test_package_write_keeps_the_first_error),
        cmocka_unit_test(test_package_write_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
