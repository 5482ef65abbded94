/* Loading packages: what a good one becomes. What bad ones are told stands in test_package_bad.c. */
#include "sort/scene/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/light/scene_bounds.h"
#include "sort/package/scene_load.h"
#include "tests/sort/package/package_kit.h"
#include "tests/sort/scene/scene_fixture.h"
#include "textures/texcache.h"
#include <unistd.h>

enum { SET_JSON_BYTES = 16384 };

static void check_good_scene(const Scene *s)
{
    assert_string_equal(s->name, "Everything");
    assert_int_equal(s->credit_count, 2);
    assert_string_equal(s->credits[1], "two");
    assert_int_equal(s->settings.width_px, 320);
    assert_int_equal(s->settings.height_px, 200);
    assert_int_equal(s->settings.samples, 7);
    assert_int_equal(s->settings.max_depth, 5);
    assert_int_equal(s->settings.seed, 9);
    assert_int_equal(s->settings.camera, 1);
    assert_int_equal(scene_find_camera(s, "Side"), 1);
    assert_int_equal(scene_find_camera(s, "side"), SCENE_NONE);
    const SceneCamera *side = &s->cameras[1];
    assert_true(side->aperture_radius_m == 0.25f && side->focus_distance_m == 3.0f);
    assert_true(side->lens_shift.x == 0.1f && side->lens_shift.y == -0.2f);
    assert_true(fabsf(side->fov_y_rad - 0.8813913f) < 1e-6f);
    assert_true(side->camera_to_world.m[0][2] == 1.0f); /* the scale is gone */
    assert_true(side->camera_to_world.m[0][3] == 4.0f);
    assert_true(s->cameras[0].focus_distance_m == 1.0f);

    assert_int_equal(s->mesh_count, 3); /* with the curves */
    const SceneMesh *quad = &s->meshes[0], *bare = &s->meshes[1];
    assert_int_equal(quad->uv_count, 1);
    assert_true(quad->positions[3] == 1.0f && quad->indices[5] == 3 && quad->uv[0][2] == 1.0f);
    assert_true(quad->tangents[7] == -1.0f && quad->material_indices[1] == 1);
    assert_null(bare->normals);
    assert_null(bare->tangents);
    assert_null(bare->material_indices);
    assert_int_equal(bare->uv_count, 0);
    /* Equal arrays are one. */
    assert_ptr_equal(bare->positions, quad->positions);
    assert_ptr_equal(bare->indices, quad->indices);
    /* The mesh, then points, numbers of points, uv, slot and attributes of the curves; the key is the points. */
    assert_int_equal(s->array_bytes, 48 + 24 + 48 + 64 + 32 + 4 + (48 + 4 + 8 + 2 + 36 + 4));
    for (int i = 0; i < 4; ++i) /* padding */
        assert_true(quad->positions[12 + i] == 0.0f);

    const SceneMesh *hair = &s->meshes[2];
    const SceneCurves *curves = hair->curves;
    assert_true(curves && curves->basis == SCENE_CURVE_LINEAR && curves->is_ribbon);
    assert_int_equal(hair->vertex_count, 3);
    assert_int_equal(curves->curve_count, 1);
    assert_int_equal(curves->segment_count, 2);
    assert_true(curves->segments[1] == 1 && curves->first_segment[1] == 2);
    assert_true(curves->points[4] == -1.0f && curves->points[7] == 1.0f);
    assert_int_equal(hair->later_count, 1);
    assert_ptr_equal(curves->later[0], curves->points);
    assert_true(hair->uv_count == 1 && hair->attribute_count == 2 && hair->material_indices);
    for (uint32_t i = 0; i < 2; ++i)
        assert_int_equal(hair->attributes[i].is_per_curve,
                         strcmp(hair->attributes[i].name, "per_curve") == 0);

    assert_int_equal(s->instance_count, 2);
    assert_int_equal(s->instances[0].mesh, 0);
    assert_int_equal(s->instances[0].material_count, 2);
    assert_int_equal(s->instances[0].materials[1], 1);
    assert_false(s->instances[0].is_mirrored);
    assert_true(s->instances[1].is_mirrored);
    assert_true(s->instances[1].world_to_object.m[0][0] == -0.5f);
    float3 corners[3];
    scene_triangle(s, 1, 1, corners);
    assert_true(corners[0].x == 7.0f && corners[1].x == 3.0f && corners[2].y == 1.0f);

    assert_int_equal(s->material_count, 4);
    assert_int_equal(s->group_count, 2);
    assert_ptr_equal(s->materials[2].node.group, &s->groups[0]);
    assert_int_equal(s->shader_count, 5);
    const SceneMaterial *red = &s->materials[0], *board = &s->materials[1];
    assert_true(s->shaders[red->node.shader_id].is_unit);
    assert_string_equal(s->shaders[red->node.shader_id].name, "gltf_pbr");
    assert_null(red->node.entry);
    assert_int_equal(red->node.value_count, 4);
    for (uint32_t i = 0; i < 4; ++i) {
        const char *name = red->node.values[i].param;
        const SslValue *v = &red->node.values[i].value;
        if (strcmp(name, "base_color") == 0)
            assert_true(v->type == SSL_FLOAT3 && v->f[0] == 0.8f);
        else if (strcmp(name, "metallic") == 0)
            assert_true(v->type == SSL_INT && v->i == 0);
        else if (strcmp(name, "roughness") == 0)
            assert_true(v->type == SSL_FLOAT && v->f[0] == 0.5f);
        else
            assert_true(strcmp(name, "thin") == 0 && v->type == SSL_BOOL && v->b);
    }
    assert_string_equal(s->shaders[board->node.shader_id].text.data, shader_text);
    assert_string_equal(board->node.entry, "board");
    assert_int_equal(board->node.texture_count, 3);
    assert_int_equal(s->texture_count, 3); /* srgb, raw, sky */
    const SceneTexture *sky = &s->textures[s->environment.texture];
    assert_string_equal(sky->name, "textures/sky.exr");
    assert_true(sky->wrap_u == SCENE_WRAP_PERIODIC && sky->wrap_v == SCENE_WRAP_CLAMP);
    for (uint32_t i = 0; i < 3; ++i) {
        const SslGroupTexture *b = &board->node.textures[i];
        const SceneTexture *t = &s->textures[b->id];
        char *data;
        size_t size;
        assert_int_equal(file_read(t->path, 100, &data, &size, NULL), STATUS_OK);
        assert_string_equal(data, texture_bytes);
        mem_free(data);
        if (strcmp(b->texture, "color_map") == 0)
            assert_true(t->color_space == SCENE_COLOR_SRGB && t->wrap_u == SCENE_WRAP_MIRROR &&
                        t->wrap_v == SCENE_WRAP_CLAMP);
        else
            assert_true(t->color_space == SCENE_COLOR_RAW && t->wrap_u == SCENE_WRAP_FILE);
    }

    assert_int_equal(s->light_count, 6);
    assert_true(s->lights[0].kind == SCENE_LIGHT_POINT && s->lights[0].emission.z == 3.0f);
    assert_true(s->lights[0].light_to_world.m[2][3] == 3.0f);
    assert_true(fabsf(s->lights[1].inner_angle_rad - 0.34906585f) < 1e-6f);
    assert_true(fabsf(s->lights[1].outer_angle_rad - 0.52359878f) < 1e-6f);
    assert_true(fabsf(s->lights[2].angle_rad - 0.00872665f) < 1e-7f);
    assert_true(s->lights[3].is_two_sided && s->lights[3].size_x_m == 2.0f);
    assert_true(s->lights[4].kind == SCENE_LIGHT_DISK && s->lights[4].size_x_m == 1.0f);
    assert_true(s->lights[5].kind == SCENE_LIGHT_SPHERE && s->lights[5].radius_m == 0.75f);
    assert_int_equal(s->portal_count, 1);
    assert_true(s->portals[0].size_y_m == 3.0f && s->portals[0].portal_to_world.m[1][3] == 7.0f);
    assert_true(s->environment.kind == SCENE_ENVIRONMENT_IMAGE);
    assert_true(s->environment.strength == 0.5f);
    assert_true(s->environment.world_to_environment.m[0][2] == -1.0f);

    float3 centre;
    float radius;
    scene_bounding_sphere(s, &centre, &radius);
    assert_true(radius > 3.9f && radius < 4.5f && fabsf(centre.x - 3.0f) < 1e-5f);
}

static void test_package_folder(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    package_kit_write_all("good", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    for (uint32_t threads = 0; threads < 3; ++threads) {
        SceneLoadOptions options = {.size_bytes = sizeof options, .thread_count = threads};
        if (package_kit_load(package_kit_path("good"), &options, &scene, message) != STATUS_OK)
            fail_msg("%s", message);
        check_good_scene(scene);
        scene_destroy(scene);
    }
    assert_int_equal(package_kit_load(package_kit_path("good/scene.json"), NULL, &scene, message),
                     STATUS_OK);
    scene_destroy(scene);
    scene_destroy(NULL);
}

static void test_package_zip(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    ForgeEntry entries[GOOD_ENTRIES];
    package_kit_entries(good_json, good_json_bytes, quad_bin, quad_bin_bytes, entries);
    const char *path = package_kit_path("good.zip");
    zip_forge(path, entries, GOOD_ENTRIES);
    if (package_kit_load(path, NULL, &scene, message) != STATUS_OK)
        fail_msg("%s", message);
    check_good_scene(scene);
    char extracted[PATH_BYTES];
    snprintf(extracted, sizeof extracted, "%s", scene->textures[0].path);
    assert_true(file_exists(extracted));
    scene_destroy(scene);
    assert_false(file_exists(extracted));

    /* Into a folder of the caller's choice, where they stay. */
    SceneLoadOptions options = {.size_bytes = sizeof options,
                                .extract_folder = package_kit_path("extracted")};
    assert_int_equal(package_kit_load(package_kit_path("good.zip"), &options, &scene, message),
                     STATUS_OK);
    snprintf(extracted, sizeof extracted, "%s", scene->textures[0].path);
    assert_non_null(strstr(extracted, "extracted/textures/"));
    check_good_scene(scene);
    scene_destroy(scene);
    assert_true(file_exists(extracted));
}

/* Textures that the package does not hold come from the folders the caller gives, in order. */
static void test_package_texture_path(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    package_kit_write_all("outside", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    assert_int_equal(file_remove(package_kit_path("outside/textures/a.png"), NULL), STATUS_OK);
    assert_int_equal(package_kit_load(package_kit_path("outside"), NULL, &scene, message),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "groups.Layer.nodes.base.textures.image.file"));
    assert_non_null(strstr(message, "no file 'textures/a.png' in the package"));
    package_kit_write("elsewhere", "textures/a.png", texture_bytes, strlen(texture_bytes));
    const char *folders[] = {package_kit_path("nowhere"), package_kit_path("elsewhere")};
    SceneLoadOptions options = {
        .size_bytes = sizeof options, .texture_paths = folders, .texture_path_count = 2};
    assert_int_equal(package_kit_load(package_kit_path("outside"), &options, &scene, message),
                     STATUS_OK);
    assert_non_null(strstr(scene->textures[0].path, "elsewhere/textures/a.png"));
    scene_destroy(scene);
    options.texture_path_count = 1;
    assert_int_equal(package_kit_load(package_kit_path("outside"), &options, &scene, message),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "or the 1 folders of --texture-path"));
}

/* The good scene with a UDIM set instead of a file. */
static size_t set_json(char out_json[SET_JSON_BYTES])
{
    size_t bytes = 0;
    for (const char *from = good_json; *from; ++from) {
        if (strncmp(from, "a.png", 5) == 0) {
            memcpy(out_json + bytes, "a.<UDIM>", sizeof "a.<UDIM>");
            bytes += 8;
            from += 1;
        }
        out_json[bytes++] = *from;
    }
    return bytes;
}

/* A name with <UDIM> stands for the files that are there, in one folder. */
static void test_package_texture_set(void **state)
{
    (void)state;
    char message[2048], json[SET_JSON_BYTES];
    size_t bytes = set_json(json);
    Scene *scene;
    package_kit_write_all("set", json, bytes, quad_bin, quad_bin_bytes);
    assert_int_equal(package_kit_load(package_kit_path("set"), NULL, &scene, message),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "no file of the UDIM set 'textures/a.<UDIM>.png'"));
    package_kit_write("set", "textures/a.1001.png", texture_bytes, strlen(texture_bytes));
    package_kit_write("set", "textures/a.1012.png", texture_bytes, strlen(texture_bytes));
    assert_int_equal(package_kit_load(package_kit_path("set"), NULL, &scene, message), STATUS_OK);
    assert_non_null(strstr(scene->textures[0].path, "set/textures/a.<UDIM>.png"));
    scene_destroy(scene);
    /* None of them may lie outside of the package. */
    assert_int_equal(symlink("/etc/hostname", package_kit_path("set/textures/a.1013.png")), 0);
    assert_int_not_equal(package_kit_load(package_kit_path("set"), NULL, &scene, message),
                         STATUS_OK);
    assert_non_null(strstr(message, "a.1013.png"));
}

/* Out of a zip all files of the set are extracted, next to each other, and nothing else is. */
static void test_package_texture_set_in_zip(void **state)
{
    (void)state;
    static const char other_bytes[] = "another picture";
    char message[2048], json[SET_JSON_BYTES], path[PATH_BYTES];
    size_t bytes = set_json(json), size_bytes;
    Scene *scene;
    ForgeEntry entries[GOOD_ENTRIES + 4];
    package_kit_entries(json, bytes, quad_bin, quad_bin_bytes, entries);
    const char *zip = package_kit_path("set.zip");
    zip_forge(zip, entries, GOOD_ENTRIES); /* textures/a.png is none of the set's */
    assert_int_equal(package_kit_load(zip, NULL, &scene, message), STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "no file of the UDIM set 'textures/a.<UDIM>.png'"));

    const char *names[] = {"textures/a.1001.png", "textures/a.2000.png", "textures/a.2001.png",
                           "a.1002.png"};
    for (uint32_t i = 0; i < 4; ++i)
        entries[GOOD_ENTRIES + i] = (ForgeEntry){.name = names[i],
                                                 .data = other_bytes,
                                                 .size_bytes = sizeof other_bytes - 1,
                                                 .is_deflated = i == 1};
    zip_forge(zip, entries, GOOD_ENTRIES + 4);
    if (package_kit_load(zip, NULL, &scene, message) != STATUS_OK)
        fail_msg("%s", message);
    const char *pattern = scene->textures[0].path;
    assert_non_null(strstr(pattern, "/textures/a.<UDIM>.png"));
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    assert_int_equal(texcache_udim_list(pattern, is_present, &count, NULL), STATUS_OK);
    assert_int_equal(count, 2);
    assert_true(is_present[0] && is_present[999]);
    char *text;
    assert_int_equal(texcache_udim_path(pattern, 999, path, sizeof path, NULL), STATUS_OK);
    assert_int_equal(file_read(path, 1000, &text, &size_bytes, NULL), STATUS_OK);
    assert_string_equal(text, other_bytes);
    mem_free(text);
    scene_destroy(scene);
    assert_false(file_exists(path));

    /* The rules for files hold for each of the set. */
    entries[GOOD_ENTRIES + 1].unix_mode = 0120777;
    zip_forge(zip, entries, GOOD_ENTRIES + 4);
    assert_int_not_equal(package_kit_load(zip, NULL, &scene, message), STATUS_OK);
    assert_non_null(strstr(message, "'textures/a.2000.png' in the zip is a link"));

    /* A zip without the set: from a folder of --texture-path. */
    package_kit_write("sets", "textures/a.1003.png", texture_bytes, strlen(texture_bytes));
    const char *folders[] = {package_kit_path("nowhere"), package_kit_path("sets")};
    SceneLoadOptions options = {
        .size_bytes = sizeof options, .texture_paths = folders, .texture_path_count = 2};
    zip_forge(zip, entries, GOOD_ENTRIES);
    assert_int_equal(package_kit_load(zip, &options, &scene, message), STATUS_OK);
    assert_non_null(strstr(scene->textures[0].path, "sets/textures/a.<UDIM>.png"));
    scene_destroy(scene);
}

static void test_package_minimal(void **state)
{
    (void)state;
    static const char json[] =
        "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", \"fov_y_degrees\": 40,"
        " \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]}]}";
    char message[2048];
    Scene *scene;
    package_kit_write("minimal", "scene.json", json, sizeof json - 1);
    assert_int_equal(package_kit_load(package_kit_path("minimal"), NULL, &scene, message),
                     STATUS_OK);
    assert_int_equal(scene->settings.width_px, 1280);
    assert_int_equal(scene->settings.max_depth, 8);
    assert_int_equal(scene->environment.kind, SCENE_ENVIRONMENT_NONE);
    float3 centre;
    float radius;
    scene_bounding_sphere(scene, &centre, &radius);
    assert_true(radius == 0.0f);
    scene_destroy(scene);
}

/* --- noise and memory ----------------------------------------------------------------------- */

/* No prefix of the text, and no flipped byte anywhere, may crash or hang; most are refused. */
static void test_package_noise(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    package_kit_write_all("noise", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    const size_t json_bytes = good_json_bytes;
    for (size_t size = 0; size < json_bytes - 2; size += 13) {
        package_kit_write("noise", "scene.json", good_json, size);
        assert_int_equal(package_kit_load(package_kit_path("noise"), NULL, &scene, message),
                         STATUS_FORMAT);
    }
    uint64_t random = 1;
    char *noisy = MEM_ARRAY(char, json_bytes);
    assert_non_null(noisy);
    uint32_t refused = 0;
    for (int i = 0; i < 1500; ++i) {
        memcpy(noisy, good_json, json_bytes);
        for (int k = 0; k < 1 + i % 3; ++k) {
            size_t at = (size_t)(fixture_random(&random) * (float)json_bytes);
            noisy[at] =
                (char)(i % 2 ? (int)(256.0f * fixture_random(&random))
                             : "0123456789-.,:[]{}\"e"[(int)(20.0f * fixture_random(&random))]);
        }
        package_kit_write("noise", "scene.json", noisy, json_bytes);
        refused += package_kit_load(package_kit_path("noise"), NULL, &scene, message) != STATUS_OK;
        scene_destroy(scene);
    }
    assert_true(refused > 500 && refused < 1500);
    mem_free(noisy);

    ForgeEntry entries[GOOD_ENTRIES];
    char *bytes;
    size_t size_bytes;
    package_kit_entries(good_json, json_bytes, quad_bin, quad_bin_bytes, entries);
    zip_forge(package_kit_path("noise.zip"), entries, GOOD_ENTRIES);
    assert_int_equal(file_read(package_kit_path("noise.zip"), 1 << 20, &bytes, &size_bytes, NULL),
                     STATUS_OK);
    for (int i = 0; i < 1500; ++i) {
        size_t at = (size_t)(fixture_random(&random) * (float)size_bytes);
        char keep = bytes[at];
        bytes[at] = (char)(int)(256.0f * fixture_random(&random));
        package_kit_write("", "noise.zip", bytes, size_bytes);
        if (package_kit_load(package_kit_path("noise.zip"), NULL, &scene, message) == STATUS_OK)
            scene_destroy(scene);
        bytes[at] = keep;
    }
    mem_free(bytes);
}

/* Every allocation of ours may fail once. */
static void test_package_out_of_memory(void **state)
{
    (void)state;
    ForgeEntry entries[GOOD_ENTRIES];
    package_kit_entries(good_json, good_json_bytes, quad_bin, quad_bin_bytes, entries);
    zip_forge(package_kit_path("memory.zip"), entries, GOOD_ENTRIES);
    package_kit_write_all("memory", good_json, good_json_bytes, quad_bin, quad_bin_bytes);
    const char *paths[] = {package_kit_path("memory"), package_kit_path("memory.zip")};
    SceneLoadOptions options = {.size_bytes = sizeof options, .thread_count = 1};
    for (int which = 0; which < 2; ++which) {
        uint32_t failures = 0;
        for (uint64_t n = 1;; ++n) {
            Scene *scene;
            Error err = {0};
            mem_fail_nth(n);
            Status status = scene_load(paths[which], &options, &scene, &err);
            bool is_past = mem_allocation_count() < n;
            mem_fail_nth(0);
            assert_true(status == STATUS_OK || status == STATUS_NO_MEMORY);
            assert_int_equal(scene != NULL, status == STATUS_OK);
            failures += status != STATUS_OK;
            scene_destroy(scene);
            if (is_past)
                break;
            assert_true(n < 10000);
        }
        assert_true(failures > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package_folder),
        cmocka_unit_test(test_package_zip),
        cmocka_unit_test(test_package_texture_path),
        cmocka_unit_test(test_package_texture_set),
        cmocka_unit_test(test_package_texture_set_in_zip),
        cmocka_unit_test(test_package_minimal),
        cmocka_unit_test(test_package_noise),
        cmocka_unit_test(test_package_out_of_memory),
    };
    return cmocka_run_group_tests(tests, package_kit_begin, package_kit_end);
}
