/* Loading packages: what a good one becomes, and that bad ones are refused with file and field. */
#include "sort/scene/scene.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/sort/scene_fixture.h"
#include "tests/sort/zip_forge.h"
#include "textures/texcache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char work[PATH_BYTES]; /* a private folder for all tests */

/* --- the good package ----------------------------------------------------------------------- */

/* meshes/quad.bin: positions 0, indices 48, normals 72, tangents 120, uv 184, slots (zlib) 216. */
enum { POSITIONS = 0, INDICES = 48, NORMALS = 72, TANGENTS = 120, UV = 184, SLOTS = 216 };

static const char scene_json[] =
    "{\n"
    " \"sort_package\": 1,\n"
    " \"name\": \"Everything\",\n"
    " \"credits\": [\"one\", \"two\"],\n"
    " \"settings\": {\"resolution\": [320, 200], \"samples\": 7, \"max_depth\": 5, \"seed\": 9,"
    " \"camera\": \"Side\"},\n"
    " \"cameras\": [\n"
    "  {\"name\": \"Main\", \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1],"
    " \"fov_y_degrees\": 40},\n"
    "  {\"name\": \"Side\", \"type\": \"perspective\","
    " \"transform\": [0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1], \"fov_y_degrees\": 50.5,"
    " \"aperture_radius_m\": 0.25, \"focus_distance_m\": 3, \"lens_shift\": [0.1, -0.2]}],\n"
    " \"meshes\": [\n"
    "  {\"name\": \"Quad\", \"vertex_count\": 4, \"triangle_count\": 2,\n"
    "   \"positions\": {\"file\": \"meshes/quad.bin\", \"type\": \"float32\", \"components\": 3,"
    " \"count\": 4},\n"
    "   \"indices\": {\"file\": \"meshes/quad.bin\", \"offset_bytes\": 48, \"type\": \"uint32\","
    " \"components\": 3, \"count\": 2},\n"
    "   \"normals\": {\"file\": \"meshes/quad.bin\", \"offset_bytes\": 72, \"type\": \"float32\","
    " \"components\": 3, \"count\": 4},\n"
    "   \"tangents\": {\"file\": \"meshes/quad.bin\", \"offset_bytes\": 120, \"type\": \"float32\","
    " \"components\": 4, \"count\": 4},\n"
    "   \"uv\": [{\"file\": \"meshes/quad.bin\", \"offset_bytes\": 184, \"type\": \"float32\","
    " \"components\": 2, \"count\": 4}],\n"
    "   \"material_indices\": {\"file\": \"meshes/quad.bin\", \"offset_bytes\": 216,"
    " \"type\": \"uint16\", \"components\": 1, \"count\": 2, \"compression\": \"zlib\","
    " \"stored_bytes\": 12}},\n"
    "  {\"name\": \"Bare\", \"vertex_count\": 4, \"triangle_count\": 2,\n"
    "   \"positions\": {\"file\": \"meshes/quad.bin\", \"offset_bytes\": 0, \"type\": \"float32\","
    " \"components\": 3, \"count\": 4, \"compression\": \"none\"},\n"
    "   \"indices\": {\"file\": \"meshes/quad.bin\", \"offset_bytes\": 48, \"type\": \"uint32\","
    " \"components\": 3, \"count\": 2}}],\n"
    " \"instances\": [\n"
    "  {\"name\": \"Left\", \"mesh\": \"Quad\", \"materials\": [\"Red\", \"Board\"]},\n"
    "  {\"name\": \"Right\", \"mesh\": \"Bare\", \"materials\": [\"Board\"],"
    " \"transform\": [-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]}],\n"
    " \"materials\": [\n"
    "  {\"name\": \"Red\", \"shader\": \"unit:gltf_pbr\","
    " \"parameters\": {\"base_color\": [0.8, 0.1, 0.1], \"metallic\": 0, \"roughness\": 0.5,"
    " \"thin\": true}},\n"
    "  {\"name\": \"Board\", \"shader\": \"shaders/board.ssl\", \"entry\": \"board\",\n"
    "   \"textures\": {\"color_map\": {\"file\": \"textures/a.png\", \"color_space\": \"srgb\","
    " \"wrap\": [\"mirror\", \"clamp\"]},\n"
    "    \"bump_map\": {\"file\": \"textures/a.png\", \"color_space\": \"raw\"},\n"
    "    \"again\": {\"file\": \"textures/a.png\", \"color_space\": \"raw\"}}}],\n"
    " \"lights\": [\n"
    "  {\"name\": \"P\", \"type\": \"point\", \"transform\": [1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1],"
    " \"intensity\": [1, 2, 3]},\n"
    "  {\"name\": \"S\", \"type\": \"spot\", \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1],"
    " \"intensity\": [1, 2, 3], \"outer_angle_degrees\": 30, \"inner_angle_degrees\": 20},\n"
    "  {\"name\": \"D\", \"type\": \"distant\","
    " \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], \"irradiance\": [1, 2, 3],"
    " \"angle_degrees\": 0.5},\n"
    "  {\"name\": \"R\", \"type\": \"area_rectangle\","
    " \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], \"radiance\": [4, 5, 6],"
    " \"size\": [2, 1], \"is_two_sided\": true},\n"
    "  {\"name\": \"K\", \"type\": \"area_disk\","
    " \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], \"radiance\": [4, 5, 6],"
    " \"radius_m\": 0.5},\n"
    "  {\"name\": \"B\", \"type\": \"sphere\","
    " \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], \"radiance\": [4, 5, 6],"
    " \"radius_m\": 0.75}],\n"
    " \"environment\": {\"image\": {\"file\": \"textures/sky.exr\"}, \"strength\": 0.5,"
    " \"transform\": [0,0,1,0, 0,1,0,0, -1,0,0,0, 0,0,0,1]},\n"
    " \"extras\": {\"anything\": [1, {\"goes\": null}]}\n"
    "}\n";

static unsigned char quad_bin[256];
static size_t quad_bin_bytes;

static void make_quad(void)
{
    const float positions[] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
    const uint32_t indices[] = {0, 1, 2, 0, 2, 3};
    const float normals[] = {0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    const float tangents[] = {1, 0, 0, 1, 1, 0, 0, -1, 0, 0, 0, 1, 1, 0, 0, 1};
    const float uv[] = {0, 0, 1, 0, 1, 1, 0, 1};
    const uint16_t slots[] = {0, 1};
    memcpy(quad_bin + POSITIONS, positions, sizeof positions);
    memcpy(quad_bin + INDICES, indices, sizeof indices);
    memcpy(quad_bin + NORMALS, normals, sizeof normals);
    memcpy(quad_bin + TANGENTS, tangents, sizeof tangents);
    memcpy(quad_bin + UV, uv, sizeof uv);
    uLongf size = sizeof quad_bin - SLOTS;
    CHECK(compress2(quad_bin + SLOTS, &size, (const unsigned char *)slots, sizeof slots, 9) ==
          Z_OK);
    CHECK(size == 12);
    quad_bin_bytes = SLOTS + size;
}

static const char shader_text[] = "shader board(out closure Ci) {}\n";
static const char texture_bytes[] = "not really a png";
static const char sky_bytes[] = "not really an exr";

static const char *in_work(const char *name)
{
    static char paths[4][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    CHECK(path_join(work, name, path, NULL) == STATUS_OK);
    return path;
}

static void write_in(const char *folder, const char *name, const void *data, size_t size_bytes)
{
    char path[PATH_BYTES], parent[PATH_BYTES];
    CHECK(path_join(in_work(folder), name, path, NULL) == STATUS_OK);
    Str dirname = path_dirname(path);
    snprintf(parent, sizeof parent, "%.*s", STR_ARG(dirname));
    CHECK(file_make_directories(parent, NULL) == STATUS_OK);
    FILE *out = fopen(path, "wb"); /* file_write would wait for the disk */
    CHECK(out && fwrite(data, 1, size_bytes, out) == size_bytes);
    CHECK(fclose(out) == 0);
}

/* A folder with the good package, but for the scene.json given. */
static void write_package(const char *folder, const char *json, size_t json_bytes,
                          const unsigned char *quad, size_t quad_bytes)
{
    write_in(folder, "scene.json", json, json_bytes);
    write_in(folder, "meshes/quad.bin", quad, quad_bytes);
    write_in(folder, "shaders/board.ssl", shader_text, sizeof shader_text - 1);
    write_in(folder, "textures/a.png", texture_bytes, sizeof texture_bytes - 1);
    write_in(folder, "textures/sky.exr", sky_bytes, sizeof sky_bytes - 1);
}

enum { GOOD_ENTRIES = 5 };

static void good_entries(const char *json, size_t json_bytes, const unsigned char *quad,
                         size_t quad_bytes, ForgeEntry out_entries[GOOD_ENTRIES])
{
    const ForgeEntry entries[GOOD_ENTRIES] = {
        {.name = "scene.json", .data = json, .size_bytes = json_bytes, .is_deflated = true},
        {.name = "meshes/quad.bin", .data = quad, .size_bytes = quad_bytes, .is_deflated = true},
        {.name = "shaders/board.ssl", .data = shader_text, .size_bytes = sizeof shader_text - 1},
        {.name = "textures/a.png", .data = texture_bytes, .size_bytes = sizeof texture_bytes - 1},
        {.name = "textures/sky.exr",
         .data = sky_bytes,
         .size_bytes = sizeof sky_bytes - 1,
         .is_deflated = true},
    };
    memcpy(out_entries, entries, sizeof entries);
}

static Status load(const char *path, const SceneLoadOptions *options, Scene **out_scene,
                   char message[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64])
{
    Error err = {0};
    Status status = scene_load(path, options, out_scene, &err);
    assert_int_equal(*out_scene != NULL, status == STATUS_OK);
    if (status != STATUS_OK) {
        assert_int_equal(err.code, status);
        error_format(&err, message, ERROR_PATH_MAX + ERROR_TEXT_MAX + 64);
    }
    return status;
}

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

    assert_int_equal(s->mesh_count, 2);
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
    assert_int_equal(s->array_bytes, 48 + 24 + 48 + 64 + 32 + 4);
    for (int i = 0; i < 4; ++i) /* padding */
        assert_true(quad->positions[12 + i] == 0.0f);

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

    assert_int_equal(s->material_count, 2);
    assert_int_equal(s->shader_count, 2);
    const SceneMaterial *red = &s->materials[0], *board = &s->materials[1];
    assert_true(s->shaders[red->shader].is_unit);
    assert_string_equal(s->shaders[red->shader].name, "gltf_pbr");
    assert_null(red->entry);
    assert_int_equal(red->parameter_count, 4);
    for (uint32_t i = 0; i < 4; ++i) {
        const char *name = red->parameters[i].param;
        const SslValue *v = &red->parameters[i].value;
        if (strcmp(name, "base_color") == 0)
            assert_true(v->type == SSL_FLOAT3 && v->f[0] == 0.8f);
        else if (strcmp(name, "metallic") == 0)
            assert_true(v->type == SSL_INT && v->i == 0);
        else if (strcmp(name, "roughness") == 0)
            assert_true(v->type == SSL_FLOAT && v->f[0] == 0.5f);
        else
            assert_true(strcmp(name, "thin") == 0 && v->type == SSL_BOOL && v->b);
    }
    assert_string_equal(s->shaders[board->shader].text.data, shader_text);
    assert_string_equal(board->entry, "board");
    assert_int_equal(board->texture_count, 3);
    assert_int_equal(s->texture_count, 3); /* srgb, raw, sky */
    const SceneTexture *sky = &s->textures[s->environment.texture];
    assert_string_equal(sky->name, "textures/sky.exr");
    assert_true(sky->wrap_u == SCENE_WRAP_PERIODIC && sky->wrap_v == SCENE_WRAP_CLAMP);
    for (uint32_t i = 0; i < 3; ++i) {
        const SslGroupTexture *b = &board->textures[i];
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
    assert_true(s->lights[4].kind == SCENE_LIGHT_DISK && s->lights[4].radius_m == 0.5f);
    assert_true(s->lights[5].kind == SCENE_LIGHT_SPHERE && s->lights[5].radius_m == 0.75f);
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
    write_package("good", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    for (uint32_t threads = 0; threads < 3; ++threads) {
        SceneLoadOptions options = {.size_bytes = sizeof options, .thread_count = threads};
        if (load(in_work("good"), &options, &scene, message) != STATUS_OK)
            fail_msg("%s", message);
        check_good_scene(scene);
        scene_destroy(scene);
    }
    assert_int_equal(load(in_work("good/scene.json"), NULL, &scene, message), STATUS_OK);
    scene_destroy(scene);
    scene_destroy(NULL);
}

static void test_package_zip(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    ForgeEntry entries[GOOD_ENTRIES];
    good_entries(scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes, entries);
    const char *path = in_work("good.zip");
    zip_forge(path, entries, GOOD_ENTRIES);
    if (load(path, NULL, &scene, message) != STATUS_OK)
        fail_msg("%s", message);
    check_good_scene(scene);
    char extracted[PATH_BYTES];
    snprintf(extracted, sizeof extracted, "%s", scene->textures[0].path);
    assert_true(file_exists(extracted));
    scene_destroy(scene);
    assert_false(file_exists(extracted));

    /* Into a folder of the caller's choice, where they stay. */
    SceneLoadOptions options = {.size_bytes = sizeof options,
                                .extract_folder = in_work("extracted")};
    assert_int_equal(load(in_work("good.zip"), &options, &scene, message), STATUS_OK);
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
    write_package("outside", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    assert_int_equal(file_remove(in_work("outside/textures/a.png"), NULL), STATUS_OK);
    assert_int_equal(load(in_work("outside"), NULL, &scene, message), STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "materials[1].textures."));
    assert_non_null(strstr(message, "no file 'textures/a.png' in the package"));
    write_in("elsewhere", "textures/a.png", texture_bytes, sizeof texture_bytes - 1);
    const char *folders[] = {in_work("nowhere"), in_work("elsewhere")};
    SceneLoadOptions options = {
        .size_bytes = sizeof options, .texture_paths = folders, .texture_path_count = 2};
    assert_int_equal(load(in_work("outside"), &options, &scene, message), STATUS_OK);
    assert_non_null(strstr(scene->textures[0].path, "elsewhere/textures/a.png"));
    scene_destroy(scene);
    options.texture_path_count = 1;
    assert_int_equal(load(in_work("outside"), &options, &scene, message), STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "or the 1 folders of --texture-path"));
}

/* The good scene with a UDIM set instead of a file. */
static size_t set_json(char out_json[2 * sizeof scene_json])
{
    size_t bytes = 0;
    for (const char *from = scene_json; *from; ++from) {
        if (strncmp(from, "a.png", 5) == 0) {
            memcpy(out_json + bytes, "a.<UDIM>", 8);
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
    char message[2048], json[2 * sizeof scene_json];
    size_t bytes = set_json(json);
    Scene *scene;
    write_package("set", json, bytes, quad_bin, quad_bin_bytes);
    assert_int_equal(load(in_work("set"), NULL, &scene, message), STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "no file of the UDIM set 'textures/a.<UDIM>.png'"));
    write_in("set", "textures/a.1001.png", texture_bytes, sizeof texture_bytes - 1);
    write_in("set", "textures/a.1012.png", texture_bytes, sizeof texture_bytes - 1);
    assert_int_equal(load(in_work("set"), NULL, &scene, message), STATUS_OK);
    assert_non_null(strstr(scene->textures[0].path, "set/textures/a.<UDIM>.png"));
    scene_destroy(scene);
    /* None of them may lie outside of the package. */
    assert_int_equal(symlink("/etc/hostname", in_work("set/textures/a.1013.png")), 0);
    assert_int_not_equal(load(in_work("set"), NULL, &scene, message), STATUS_OK);
    assert_non_null(strstr(message, "a.1013.png"));
}

/* Out of a zip all files of the set are extracted, next to each other, and nothing else is. */
static void test_package_texture_set_in_zip(void **state)
{
    (void)state;
    static const char other_bytes[] = "another picture";
    char message[2048], json[2 * sizeof scene_json], path[PATH_BYTES];
    size_t bytes = set_json(json), size_bytes;
    Scene *scene;
    ForgeEntry entries[GOOD_ENTRIES + 4];
    good_entries(json, bytes, quad_bin, quad_bin_bytes, entries);
    const char *zip = in_work("set.zip");
    zip_forge(zip, entries, GOOD_ENTRIES); /* textures/a.png is none of the set's */
    assert_int_equal(load(zip, NULL, &scene, message), STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "no file of the UDIM set 'textures/a.<UDIM>.png'"));

    const char *names[] = {"textures/a.1001.png", "textures/a.2000.png", "textures/a.2001.png",
                           "a.1002.png"};
    for (uint32_t i = 0; i < 4; ++i)
        entries[GOOD_ENTRIES + i] = (ForgeEntry){.name = names[i],
                                                 .data = other_bytes,
                                                 .size_bytes = sizeof other_bytes - 1,
                                                 .is_deflated = i == 1};
    zip_forge(zip, entries, GOOD_ENTRIES + 4);
    if (load(zip, NULL, &scene, message) != STATUS_OK)
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
    assert_int_not_equal(load(zip, NULL, &scene, message), STATUS_OK);
    assert_non_null(strstr(message, "'textures/a.2000.png' in the zip is a link"));

    /* A zip without the set: from a folder of --texture-path. */
    write_in("sets", "textures/a.1003.png", texture_bytes, sizeof texture_bytes - 1);
    const char *folders[] = {in_work("nowhere"), in_work("sets")};
    SceneLoadOptions options = {
        .size_bytes = sizeof options, .texture_paths = folders, .texture_path_count = 2};
    zip_forge(zip, entries, GOOD_ENTRIES);
    assert_int_equal(load(zip, &options, &scene, message), STATUS_OK);
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
    write_in("minimal", "scene.json", json, sizeof json - 1);
    assert_int_equal(load(in_work("minimal"), NULL, &scene, message), STATUS_OK);
    assert_int_equal(scene->settings.width_px, 1280);
    assert_int_equal(scene->settings.max_depth, 8);
    assert_int_equal(scene->environment.kind, SCENE_ENVIRONMENT_NONE);
    float3 centre;
    float radius;
    scene_bounding_sphere(scene, &centre, &radius);
    assert_true(radius == 0.0f);
    scene_destroy(scene);
}

/* --- bad descriptions ----------------------------------------------------------------------- */

typedef struct BadText {
    const char *find, *put; /* the first `find` of the good scene.json becomes `put` */
    Status status;
    const char *message; /* a part of it */
} BadText;

static const BadText bad_texts[] = {
    {"\"sort_package\": 1,", "\"sort_package\": 2,", STATUS_UNSUPPORTED, "sort_package: version 2"},
    {"\"sort_package\": 1,", "", STATUS_FORMAT, "field 'sort_package' is missing"},
    {"\"sort_package\": 1,", "\"sort_package\": \"1\",", STATUS_FORMAT, "sort_package: must be"},
    {"\"credits\"", "\"credit\"", STATUS_FORMAT, "unknown field 'credit'; did you mean 'credits'?"},
    {"\"name\": \"Everything\"", "\"name\": \"a\", \"name\": \"b\"", STATUS_FORMAT, "line 3"},
    {"[\"one\", \"two\"]", "[\"one\", 2]", STATUS_FORMAT, "credits[1]: must be a string"},
    {"{\n", "[\n", STATUS_FORMAT, "scene.json: line"},
    {"\"extras\": {", "\"extras\": }", STATUS_FORMAT, "scene.json: line"},
    /* settings */
    {"[320, 200]", "[320, 0]", STATUS_FORMAT, "settings.resolution[1]: must lie in [1, 65536]"},
    {"[320, 200]", "[320]", STATUS_FORMAT, "settings.resolution: must be [width, height]"},
    {"[320, 200]", "[320, 200.5]", STATUS_FORMAT, "settings.resolution[1]: must be an integer"},
    {"\"samples\": 7", "\"sample\": 7", STATUS_FORMAT,
     "settings: unknown field 'sample'; did you mean 'samples'?"},
    {"\"samples\": 7", "\"samples\": 0", STATUS_FORMAT, "settings.samples"},
    {"\"seed\": 9", "\"seed\": -1", STATUS_FORMAT, "settings.seed"},
    {"\"camera\": \"Side\"", "\"camera\": \"Sidd\"", STATUS_FORMAT,
     "settings.camera: there is no camera 'Sidd'; did you mean 'Side'?"},
    /* cameras */
    {"\"cameras\": [", "\"cameras\": [], \"notes\": [", STATUS_FORMAT,
     "cameras: there must be a camera"},
    {"\"name\": \"Side\"", "\"name\": \"Main\"", STATUS_FORMAT,
     "cameras[1].name: 'Main' is the name of entry 0 already"},
    {"\"name\": \"Main\"", "\"name\": \"\"", STATUS_FORMAT, "cameras[0].name: a name has 1 to 255"},
    {"\"name\": \"Main\"", "\"name\": \"a\\u0007b\"", STATUS_FORMAT, "no control characters"},
    {"\"perspective\"", "\"panoramic\"", STATUS_FORMAT,
     "cameras[1].type: unknown value 'panoramic'"},
    {"\"fov_y_degrees\": 40", "\"fov_y_degrees\": 180", STATUS_FORMAT, "cameras[0].fov_y_degrees"},
    {"\"fov_y_degrees\": 40", "\"fov_y_degrees\": 0", STATUS_FORMAT, "cameras[0].fov_y_degrees"},
    {"\"fov_y_degrees\": 40", "\"fov_degrees\": 40", STATUS_FORMAT,
     "cameras[0]: field 'fov_y_degrees' is missing"},
    {"\"perspective\"", "\"orthographic\"", STATUS_FORMAT,
     "cameras[1]: field 'height_m' is missing"},
    {"\"fov_y_degrees\": 40", "\"type\": \"orthographic\", \"height_m\": 0", STATUS_FORMAT,
     "cameras[0].height_m: must be above 0"},
    {"\"fov_y_degrees\": 40", "\"type\": \"fisheye\", \"fov_degrees\": 361", STATUS_FORMAT,
     "cameras[0].fov_degrees"},
    {"\"fov_y_degrees\": 40", "\"type\": \"equirectangular\", \"aperture_radius_m\": 1",
     STATUS_FORMAT, "cameras[0]: unknown field 'aperture_radius_m'"},
    {"\"fov_y_degrees\": 40", "\"type\": \"equirectangular\", \"longitude_degrees\": [90, -90]",
     STATUS_FORMAT, "cameras[0].longitude_degrees: must be [from, to]"},
    {"\"focus_distance_m\": 3", "\"focus_distance_m\": 0", STATUS_FORMAT,
     "cameras[1].focus_distance_m: must be above 0"},
    {"\"aperture_radius_m\": 0.25", "\"aperture_radius_m\": -0.25", STATUS_FORMAT,
     "cameras[1].aperture_radius_m: must"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,1,1]",
     STATUS_FORMAT, "cameras[1].transform: the last row must be 0 0 0 1"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,4, 0,2,0,0, 2,0,0,0, 0,0,0,1]", STATUS_FORMAT,
     "cameras[1].transform: the axes must be right-handed"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,1,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]",
     STATUS_FORMAT, "cameras[1].transform: the axes must be at right angles"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,4, 0,0,0,0, -2,0,0,0, 0,0,0,1]",
     STATUS_FORMAT, "cameras[1].transform: axis y has no usable length"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0]", STATUS_FORMAT,
     "cameras[1].transform: must have 16 numbers, has 15"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,1e39, 0,2,0,0, -2,0,0,0, 0,0,0,1]",
     STATUS_FORMAT, "cameras[1].transform[3]"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,1e999, 0,2,0,0, -2,0,0,0, 0,0,0,1]",
     STATUS_FORMAT, "scene.json: line"},
    {"[0,0,2,4, 0,2,0,0, -2,0,0,0, 0,0,0,1]", "[0,0,2,NaN, 0,2,0,0, -2,0,0,0, 0,0,0,1]",
     STATUS_FORMAT, "scene.json: line"},
    {"[0.1, -0.2]", "[0.1]", STATUS_FORMAT, "cameras[1].lens_shift: must have 2 numbers"},
    /* meshes and arrays */
    {"\"vertex_count\": 4", "\"vertex_count\": 0", STATUS_FORMAT, "meshes[0].vertex_count"},
    {"\"vertex_count\": 4", "\"vertex_count\": 5", STATUS_FORMAT,
     "meshes[0].positions.count: is 4, but the mesh has 5 vertices"},
    {"\"triangle_count\": 2", "\"triangle_count\": 1", STATUS_FORMAT,
     "meshes[0].indices.count: is 2, but the mesh has 1 triangles"},
    {"\"triangle_count\": 2", "\"triangle_count\": 3000000000", STATUS_FORMAT,
     "meshes[0].triangle_count"},
    {"\"type\": \"float32\", \"components\": 3", "\"type\": \"float64\", \"components\": 3",
     STATUS_FORMAT, "meshes[0].positions.type: unknown value 'float64'; did you mean 'float32'?"},
    {"\"type\": \"float32\", \"components\": 3", "\"type\": \"uint32\", \"components\": 3",
     STATUS_FORMAT, "meshes[0].positions.type: must be \"float32\" here"},
    {"\"type\": \"float32\", \"components\": 3", "\"type\": \"float32\", \"components\": 4",
     STATUS_FORMAT, "meshes[0].positions.components: must be 3 here"},
    {"\"positions\": {", "\"position\": {", STATUS_FORMAT,
     "meshes[0]: field 'positions' is missing; is 'position' meant?"},
    {"\"offset_bytes\": 48", "\"offset_bytes\": -48", STATUS_FORMAT,
     "meshes[0].indices.offset_bytes"},
    {"\"offset_bytes\": 184", "\"offset_bytes\": 200", STATUS_FORMAT,
     "meshes[0].uv[0]: 'meshes/quad.bin': the file has 228 bytes, too few for 32 from byte 200 on"},
    {"\"offset_bytes\": 184", "\"offset_bytes\": 9223372036854775807", STATUS_FORMAT,
     "meshes[0].uv[0]: 'meshes/quad.bin': the file has 228 bytes"},
    {"\"offset_bytes\": 48", "\"offset_byte\": 48", STATUS_FORMAT,
     "meshes[0].indices: unknown field 'offset_byte'; did you mean 'offset_bytes'?"},
    {"\"compression\": \"zlib\"", "\"compression\": \"lz4\"", STATUS_FORMAT,
     "meshes[0].material_indices.compression"},
    {"\"compression\": \"zlib\", \"stored_bytes\": 12", "\"compression\": \"zlib\"", STATUS_FORMAT,
     "meshes[0].material_indices: field 'stored_bytes' is missing"},
    {"\"compression\": \"zlib\",", "", STATUS_FORMAT,
     "meshes[0].material_indices.stored_bytes: belongs to"},
    {"\"stored_bytes\": 12", "\"stored_bytes\": 11", STATUS_FORMAT,
     "meshes[0].material_indices: 'meshes/quad.bin': the zlib stream of 11 bytes is cut off"},
    {"\"stored_bytes\": 12", "\"stored_bytes\": 13", STATUS_FORMAT,
     "meshes[0].material_indices: 'meshes/quad.bin': the file has 228 bytes"},
    {"\"offset_bytes\": 216,", "\"offset_bytes\": 215,", STATUS_FORMAT,
     "meshes[0].material_indices: 'meshes/quad.bin': is not a valid zlib stream"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"meshes/quadd.bin\", \"type\"",
     STATUS_NOT_FOUND, "meshes[0].positions: 'meshes/quadd.bin': no file"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"../secret.bin\", \"type\"",
     STATUS_FORMAT, "meshes[0].positions.file: the path '../secret.bin' is refused"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"meshes/../../secret.bin\", \"type\"",
     STATUS_FORMAT, "it goes up with '..'"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"/etc/passwd\", \"type\"",
     STATUS_FORMAT, "meshes[0].positions.file: the path '/etc/passwd' is refused: it is absolute"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"meshes\\\\quad.bin\", \"type\"",
     STATUS_FORMAT, "it has a backslash"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"\", \"type\"", STATUS_FORMAT,
     "it is empty"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"meshes//quad.bin\", \"type\"",
     STATUS_FORMAT, "has a component that is empty"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"./meshes/quad.bin\", \"type\"",
     STATUS_FORMAT, "has a component that is empty, '.'"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"meshes/qu:d.bin\", \"type\"",
     STATUS_FORMAT, "contains ':'"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": \"a\\u0001\", \"type\"", STATUS_FORMAT,
     "control character"},
    {"\"file\": \"meshes/quad.bin\", \"type\"", "\"file\": 7, \"type\"", STATUS_FORMAT,
     "meshes[0].positions.file: must be a string"},
    {"\"name\": \"Bare\"", "\"name\": \"Quad\"", STATUS_FORMAT, "meshes[1].name: 'Quad'"},
    /* instances */
    {"\"mesh\": \"Quad\"", "\"mesh\": \"Quat\"", STATUS_FORMAT,
     "instances[0].mesh: there is no mesh 'Quat'; did you mean 'Quad'?"},
    {"[\"Red\", \"Board\"]", "[\"Red\", \"Boards\"]", STATUS_FORMAT,
     "instances[0].materials[1]: there is no material 'Boards'; did you mean 'Board'?"},
    {"[\"Red\", \"Board\"]", "[\"Red\"]", STATUS_FORMAT,
     "instances[0].materials: has 1 entries, but mesh 'Quad' uses material index 1"},
    {"[\"Red\", \"Board\"]", "[]", STATUS_FORMAT, "instances[0].materials: must have 1 to"},
    {"[-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]", "[0,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]", STATUS_FORMAT,
     "instances[1].transform: has no inverse"},
    {"[-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]", "[-2,0,0,5, 0,1,0,0, 0,0,1,0, 1,0,0,1]",
     STATUS_FORMAT, "instances[1].transform: the last row"},
    {"[-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]", "\"scaled\"", STATUS_FORMAT,
     "instances[1].transform: must be an array of numbers"},
    /* motion */
    {"\"material_indices\": {", "\"motion\": [], \"material_indices\": {", STATUS_FORMAT,
     "meshes[0].motion: must have 1 to 128 keys"},
    {"\"material_indices\": {",
     "\"motion\": [{\"positions\": {\"file\": \"meshes/quad.bin\", \"type\": \"float32\", "
     "\"components\": 3, \"count\": 4}}], \"material_indices\": {",
     STATUS_FORMAT, "meshes[0].motion[0]: field 'normals' is missing"},
    {"\"material_indices\": {",
     "\"motion\": [{\"positions\": {\"file\": \"meshes/quad.bin\", \"type\": \"float32\", "
     "\"components\": 3, \"count\": 3}}], \"material_indices\": {",
     STATUS_FORMAT, "meshes[0].motion[0].positions.count: is 3, but the mesh has 4 vertices"},
    {"\"material_indices\": {",
     "\"motion\": [{\"positions\": {\"file\": \"meshes/quad.bin\", \"type\": \"float32\", "
     "\"components\": 3, \"count\": 4}, \"normals\": {\"file\": \"meshes/quad.bin\", \"type\": "
     "\"float32\", \"components\": 3, \"count\": 4}}], \"material_indices\": {",
     STATUS_FORMAT, "meshes[0].motion[0].normals: the normal of vertex 0 is neither"},
    {"\"transform\": [-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]", "\"motion\": []", STATUS_FORMAT,
     "instances[1].motion: must have 2 to 129 keys"},
    {"\"transform\": [-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]",
     "\"motion\": [[1,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1], [1,0,0,5]]", STATUS_FORMAT,
     "instances[1].motion[1]: must have 16 numbers"},
    {"\"transform\": [-2,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]",
     "\"motion\": [[1,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1], [-1,0,0,5, 0,-1,0,0, 0,0,1,0, 0,0,0,1]]",
     STATUS_FORMAT, "instances[1].motion: the object is flat at some time between two keys"},
    {"\"transform\": [-2,0,0,5,", "\"motion\": [], \"transform\": [-2,0,0,5,", STATUS_FORMAT,
     "instances[1].transform: there is a 'motion' already"},
    {"\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]",
     "\"motion\": [[1,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1], [-1,0,0,5, 0,-1,0,0, 0,0,1,0, 0,0,0,1]]",
     STATUS_FORMAT, "cameras[0].motion[1]: turns by 120 degrees or more"},
    {"\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]",
     "\"motion\": [[1,0,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1], [1,1,0,5, 0,1,0,0, 0,0,1,0, 0,0,0,1]]",
     STATUS_FORMAT, "cameras[0].motion[1]: the axes must be at right angles"},
    {"\"type\": \"point\", \"transform\": [1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1]",
     "\"type\": \"point\", \"transform\": [1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1], \"motion\": []",
     STATUS_FORMAT, "lights[0]: unknown field 'motion'"},
    /* materials */
    {"\"unit:gltf_pbr\"", "\"unit:gltf pbr\"", STATUS_FORMAT, "materials[0].shader"},
    {"\"unit:gltf_pbr\"", "\"gltf_pbr\"", STATUS_FORMAT,
     "materials[0].shader: 'gltf_pbr' is neither unit:NAME nor a file that ends in .ssl"},
    {"\"shaders/board.ssl\"", "\"shaders/bored.ssl\"", STATUS_NOT_FOUND,
     "materials[1].shader: no file 'shaders/bored.ssl'"},
    {"\"shaders/board.ssl\"", "\"../board.ssl\"", STATUS_FORMAT, "materials[1].shader: the path"},
    {"\"shader\": \"unit", "\"shadr\": \"unit", STATUS_FORMAT,
     "materials[0]: field 'shader' is missing; is 'shadr' meant?"},
    {"\"roughness\": 0.5", "\"roughness\": {}", STATUS_FORMAT,
     "materials[0].parameters.roughness: must be true, false, a number"},
    {"\"roughness\": 0.5", "\"roughness\": 1e300", STATUS_FORMAT,
     "materials[0].parameters.roughness"},
    {"\"metallic\": 0", "\"metallic\": 5000000000", STATUS_FORMAT,
     "materials[0].parameters.metallic"},
    {"\"metallic\": 0", "\"metallic\": null", STATUS_FORMAT, "materials[0].parameters.metallic"},
    {"\"color_space\": \"srgb\"", "\"color_space\": \"sRGB\"", STATUS_FORMAT,
     "materials[1].textures.color_map.color_space: unknown value 'sRGB'"},
    {"[\"mirror\", \"clamp\"]", "[\"mirror\", \"clmp\"]", STATUS_FORMAT,
     "materials[1].textures.color_map.wrap[1]: unknown value 'clmp'; did you mean 'clamp'?"},
    {"[\"mirror\", \"clamp\"]", "[\"mirror\"]", STATUS_FORMAT, "wrap: must be [u, v]"},
    {"\"textures/a.png\", \"color_space\": \"srgb\"", "\"textures\", \"color_space\": \"srgb\"",
     STATUS_FORMAT, "materials[1].textures.color_map.file"},
    {"\"textures/a.png\", \"color_space\": \"srgb\"", "\"../a.png\", \"color_space\": \"srgb\"",
     STATUS_FORMAT, "materials[1].textures.color_map.file: the path '../a.png' is refused"},
    /* lights */
    {"\"type\": \"point\"", "\"type\": \"omni\"", STATUS_FORMAT, "lights[0].type: unknown value"},
    {"\"intensity\": [1, 2, 3]}", "\"radiance\": [1, 2, 3]}", STATUS_FORMAT,
     "lights[0]: field 'intensity' is missing"},
    {"\"intensity\": [1, 2, 3]}", "\"intensity\": [1, 2, -3]}", STATUS_FORMAT,
     "lights[0].intensity[2]"},
    {"\"intensity\": [1, 2, 3]}", "\"intensity\": [1, 2, 3], \"radius_m\": 1}", STATUS_FORMAT,
     "lights[0]: unknown field 'radius_m'"},
    {"[1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1]", "[2,0,0,1, 0,2,0,2, 0,0,2,3, 0,0,0,1]", STATUS_FORMAT,
     "lights[0].transform: axis x has length 2"},
    {"\"inner_angle_degrees\": 20", "\"inner_angle_degrees\": 30", STATUS_FORMAT,
     "lights[1].inner_angle_degrees: must be below outer_angle_degrees"},
    {"\"outer_angle_degrees\": 30", "\"outer_angle_degrees\": 91", STATUS_FORMAT,
     "lights[1].outer_angle_degrees"},
    {"\"angle_degrees\": 0.5", "\"angle_degrees\": 180", STATUS_FORMAT, "lights[2].angle_degrees"},
    {"\"size\": [2, 1]", "\"size\": [2, 0]", STATUS_FORMAT, "lights[3].size: must be above 0"},
    {"\"radius_m\": 0.5", "\"radius_m\": 0", STATUS_FORMAT, "lights[4].radius_m: must be above 0"},
    {"\"radius_m\": 0.75", "\"radius_m\": \"big\"", STATUS_FORMAT, "lights[5].radius_m"},
    /* environment */
    {"\"strength\": 0.5", "\"strength\": -0.5", STATUS_FORMAT, "environment.strength"},
    {"\"strength\": 0.5", "\"color\": [1, 1, 1]", STATUS_FORMAT,
     "environment: must have either image or color"},
    {"\"image\": {\"file\": \"textures/sky.exr\"}, ", "", STATUS_FORMAT,
     "environment: must have either image or color"},
    {"\"file\": \"textures/sky.exr\"", "\"file\": \"textures/sky.exr\", \"wrap\": [1, 2]",
     STATUS_FORMAT, "environment.image: unknown field 'wrap'"},
    {"\"textures/sky.exr\"", "\"textures/skye.exr\"", STATUS_NOT_FOUND,
     "environment.image.file: no file 'textures/skye.exr'"},
    {"[0,0,1,0, 0,1,0,0, -1,0,0,0, 0,0,0,1]", "[0,0,1,5, 0,1,0,0, -1,0,0,0, 0,0,0,1]",
     STATUS_FORMAT, "environment.transform: must be a rotation"},
};

/* The good text with one replacement; owned by the caller. */
static char *replaced(const char *find, const char *put)
{
    const char *at = strstr(scene_json, find);
    if (!at)
        fail_msg("the test is wrong: no '%s'", find);
    StrBuf b = {0};
    strbuf_append(&b, (Str){scene_json, (size_t)(at - scene_json)});
    strbuf_append_c(&b, put);
    strbuf_append_c(&b, at + strlen(find));
    CHECK(!b.failed);
    return b.data;
}

static void expect(const char *what, Status status, const char *message, Status wanted,
                   const char *words)
{
    if (status != wanted || !strstr(message, words) || !strstr(message, "scene.json"))
        fail_msg("%s: %s: '%s'\nwanted %s: '%s'", what, status_name(status),
                 status == STATUS_OK ? "" : message, status_name(wanted), words);
}

static void test_package_bad_descriptions(void **state)
{
    (void)state;
    assert_true(SORT_COUNT_OF(bad_texts) >= 90);
    write_package("bad", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    for (size_t i = 0; i < SORT_COUNT_OF(bad_texts); ++i) {
        const BadText *bad = &bad_texts[i];
        char message[2048], in_zip[2048];
        Scene *scene;
        char *json = replaced(bad->find, bad->put);
        write_in("bad", "scene.json", json, strlen(json));
        Status status = load(in_work("bad"), NULL, &scene, message);
        scene_destroy(scene);
        expect(bad->put, status, message, bad->status, bad->message);
        /* The same in a zip; only the words for a file that is missing differ. */
        ForgeEntry entries[GOOD_ENTRIES];
        good_entries(json, strlen(json), quad_bin, quad_bin_bytes, entries);
        zip_forge(in_work("bad.zip"), entries, GOOD_ENTRIES);
        status = load(in_work("bad.zip"), NULL, &scene, in_zip);
        scene_destroy(scene);
        bool is_about_files = bad->status == STATUS_NOT_FOUND || strstr(bad->message, ".file");
        if (is_about_files)
            assert_int_not_equal(status, STATUS_OK);
        else
            expect(bad->put, status, in_zip, bad->status, bad->message);
        mem_free(json);
    }
}

/* --- bad arrays ----------------------------------------------------------------------------- */

static void test_package_bad_arrays(void **state)
{
    (void)state;
    const float nan_value = NAN, infinite = INFINITY, long_normal = 2.0f, half = 0.5f;
    const uint32_t four = 4, huge = 0xffffffffu;
    const struct {
        size_t at;
        const void *bytes;
        const char *message;
    } cases[] = {
        {POSITIONS + 4, &nan_value,
         "meshes[0].positions: 'meshes/quad.bin': element 0 is not finite"},
        {POSITIONS + 44, &infinite,
         "meshes[0].positions: 'meshes/quad.bin': element 3 is not finite"},
        {INDICES + 8, &four, "meshes[0].indices: triangle 0 names vertex 4, but the mesh has 4"},
        {INDICES + 20, &huge, "meshes[0].indices: triangle 1 names vertex 4294967295"},
        {NORMALS + 8, &long_normal, "meshes[0].normals: the normal of vertex 0 is neither of unit"},
        {NORMALS + 0, &nan_value, "meshes[0].normals: 'meshes/quad.bin': element 0 is not finite"},
        {TANGENTS + 12, &half, "meshes[0].tangents: the tangent of vertex 0"},
        {TANGENTS + 16, &half, "meshes[0].tangents: the tangent of vertex 1"},
        {UV + 28, &nan_value, "meshes[0].uv[0]: 'meshes/quad.bin': element 3 is not finite"},
        {SLOTS + 4, &huge, "meshes[0].material_indices: 'meshes/quad.bin'"},
        {SLOTS + 8, &huge, "meshes[0].material_indices: 'meshes/quad.bin'"}, /* its checksum */
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        unsigned char broken[sizeof quad_bin];
        char message[2048];
        Scene *scene;
        memcpy(broken, quad_bin, sizeof broken);
        memcpy(broken + cases[i].at, cases[i].bytes, 4);
        write_package("arrays", scene_json, sizeof scene_json - 1, broken, quad_bin_bytes);
        for (uint32_t threads = 1; threads <= 4; ++threads) {
            SceneLoadOptions options = {.size_bytes = sizeof options, .thread_count = threads};
            Status status = load(in_work("arrays"), &options, &scene, message);
            expect(cases[i].message, status, message, STATUS_FORMAT, cases[i].message);
        }
        ForgeEntry entries[GOOD_ENTRIES];
        good_entries(scene_json, sizeof scene_json - 1, broken, quad_bin_bytes, entries);
        zip_forge(in_work("arrays.zip"), entries, GOOD_ENTRIES);
        Status status = load(in_work("arrays.zip"), NULL, &scene, message);
        expect(cases[i].message, status, message, STATUS_FORMAT, cases[i].message);
    }
    /* Cut off at every length. */
    for (size_t size = 0; size < quad_bin_bytes; ++size) {
        char message[2048];
        Scene *scene;
        write_in("arrays", "meshes/quad.bin", quad_bin, size);
        Status status = load(in_work("arrays"), NULL, &scene, message);
        expect("cut", status, message, STATUS_FORMAT, "meshes[0].");
    }
}

/* A little zlib that claims to be, or becomes, a lot. */
static void test_package_array_bombs(void **state)
{
    (void)state;
    enum { REAL = 1 << 20 };
    unsigned char *zeros = MEM_ARRAY(unsigned char, REAL), *small = MEM_ARRAY(unsigned char, REAL);
    assert_non_null(zeros);
    assert_non_null(small);
    uLongf small_bytes = REAL;
    assert_int_equal(compress2(small, &small_bytes, zeros, REAL, 9), Z_OK);
    const char *camera = "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", \"fov_y_degrees\": "
                         "40, \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]}], ";
    const struct {
        uint32_t vertices;
        Status status;
        const char *message;
    } cases[] = {
        {2147483647, STATUS_LIMIT, "meshes[0].positions: 'b.bin': claims to inflate from"},
        {REAL / 12 - 1, STATUS_FORMAT, "meshes[0].positions: 'b.bin': inflates to more than"},
        {REAL / 12 + 9, STATUS_FORMAT, "meshes[0].positions: 'b.bin': inflates to 1048576 bytes"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        char message[2048];
        Scene *scene;
        StrBuf json = {0};
        strbuf_printf(
            &json,
            "%s\"meshes\": [{\"name\": \"M\", \"vertex_count\": %u, \"triangle_count\": 1,"
            " \"positions\": {\"file\": \"b.bin\", \"type\": \"float32\", \"components\":"
            " 3, \"count\": %u, \"compression\": \"zlib\", \"stored_bytes\": %lu},"
            " \"indices\": {\"file\": \"i.bin\", \"type\": \"uint32\", \"components\": 3,"
            " \"count\": 1}}]}",
            camera, cases[i].vertices, cases[i].vertices, small_bytes);
        write_in("bomb", "scene.json", json.data, json.size_bytes);
        write_in("bomb", "b.bin", small, small_bytes);
        write_in("bomb", "i.bin", zeros, 12);
        Status status = load(in_work("bomb"), NULL, &scene, message);
        expect("bomb", status, message, cases[i].status, cases[i].message);
        strbuf_free(&json);
    }
    /* Honest, but more than there is room for. */
    char message[2048];
    Scene *scene;
    SceneLoadOptions options = {.size_bytes = sizeof options, .array_bytes_max = 100};
    Status status = load(in_work("good"), &options, &scene, message);
    expect("room", status, message, STATUS_LIMIT, "the mesh arrays take 220 bytes");
    mem_free(zeros);
    mem_free(small);
}

/* --- bad folders and zips ------------------------------------------------------------------- */

static void test_package_bad_folders(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    assert_int_equal(load(in_work("no such"), NULL, &scene, message), STATUS_NOT_FOUND);
    assert_non_null(strstr(message, "no such file or folder"));
    assert_int_equal(file_make_directories(in_work("empty"), NULL), STATUS_OK);
    assert_int_equal(load(in_work("empty"), NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "there is no scene.json"));
    write_in("", "note.txt", "hello", 5);
    assert_int_equal(load(in_work("note.txt"), NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "neither a folder, nor a scene.json, nor a zip"));
    write_in("", "void.zip", "", 0);
    assert_int_equal(load(in_work("void.zip"), NULL, &scene, message), STATUS_FORMAT);
    write_in("", "fake.zip", "PK\003\004 and no more", 16);
    assert_int_equal(load(in_work("fake.zip"), NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "cannot be read as a zip"));

    /* Links that lead out; links that stay are fine. */
    write_in("", "secret.bin", quad_bin, quad_bin_bytes);
    write_package("links", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    assert_int_equal(rename(in_work("links/meshes/quad.bin"), in_work("links/real.bin")), 0);
    assert_int_equal(symlink("../real.bin", in_work("links/meshes/quad.bin")), 0);
    assert_int_equal(load(in_work("links"), NULL, &scene, message), STATUS_OK);
    scene_destroy(scene);
    assert_int_equal(file_remove(in_work("links/meshes/quad.bin"), NULL), STATUS_OK);
    assert_int_equal(symlink("../../secret.bin", in_work("links/meshes/quad.bin")), 0);
    Status status = load(in_work("links"), NULL, &scene, message);
    expect("link", status, message, STATUS_FORMAT, "meshes[0].positions: 'meshes/quad.bin'");
    assert_non_null(strstr(message, "symbolic link leads outside"));
    /* A pipe in place of a file must not hang. */
    assert_int_equal(file_remove(in_work("links/meshes/quad.bin"), NULL), STATUS_OK);
    assert_int_equal(mkfifo(in_work("links/meshes/quad.bin"), 0600), 0);
    status = load(in_work("links"), NULL, &scene, message);
    expect("pipe", status, message, STATUS_FORMAT, "is not a plain file");
    /* A shader that is not text. */
    write_package("binary", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    write_in("binary", "shaders/board.ssl", "sha\0der", 7);
    status = load(in_work("binary"), NULL, &scene, message);
    expect("text", status, message, STATUS_FORMAT,
           "materials[1].shader: 'shaders/board.ssl' is not");
    write_in("binary", "shaders/board.ssl", "\xff\xfe", 2);
    status = load(in_work("binary"), NULL, &scene, message);
    expect("text", status, message, STATUS_FORMAT, "is not UTF-8 text");
}

static void test_package_bad_zips(void **state)
{
    (void)state;
    ForgeEntry good[GOOD_ENTRIES], e[GOOD_ENTRIES];
    char message[2048];
    Scene *scene;
    const char *path = in_work("forged.zip");
    good_entries(scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes, good);
    enum { JSON, QUAD, SHADER, TEXTURE, SKY };
    const struct {
        uint32_t entry;
        ForgeEntry lie;
        Status status;
        const char *message;
    } cases[] = {
        {QUAD, {.unix_mode = 0120777}, STATUS_FORMAT, "is a link or no plain file"},
        {TEXTURE, {.unix_mode = 0120777}, STATUS_FORMAT, "is a link or no plain file"},
        {QUAD, {.flags = 1}, STATUS_UNSUPPORTED, "'meshes/quad.bin' in the zip is encrypted"},
        {QUAD, {.method = 12}, STATUS_UNSUPPORTED, "uses compression method 12"},
        {SKY, {.method = 12}, STATUS_UNSUPPORTED, "environment.image.file"},
        {QUAD, {.claimed_crc = 0x12345678}, STATUS_FORMAT, "damaged in the zip"},
        {SHADER, {.claimed_crc = 0x12345678}, STATUS_FORMAT, "materials[1].shader"},
        {SKY, {.claimed_crc = 0x12345678}, STATUS_FORMAT, "environment.image.file"},
        {QUAD, {.claimed_size = 400}, STATUS_FORMAT, "damaged in the zip"},
        {QUAD, {.claimed_size = 220}, STATUS_FORMAT, "meshes[0]"},
        {QUAD, {.claimed_size = 0xfffffff0u}, STATUS_LIMIT, "claims to inflate"},
        {JSON, {.claimed_size = 0xfffffff0u}, STATUS_LIMIT, "claims to inflate"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        memcpy(e, good, sizeof e);
        ForgeEntry *lie = &e[cases[i].entry];
        lie->claimed_crc = cases[i].lie.claimed_crc;
        lie->claimed_size = cases[i].lie.claimed_size;
        lie->method = cases[i].lie.method;
        lie->flags = cases[i].lie.flags;
        lie->unix_mode = cases[i].lie.unix_mode;
        zip_forge(path, e, GOOD_ENTRIES);
        Status status = load(path, NULL, &scene, message);
        if (status != cases[i].status || !strstr(message, cases[i].message))
            fail_msg("case %zu: %s: %s", i, status_name(status), message);
    }

    /* The folder zipped instead of its content. */
    memcpy(e, good, sizeof e);
    e[JSON].name = "chess/scene.json";
    zip_forge(path, e, GOOD_ENTRIES);
    assert_int_equal(load(path, NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(
        strstr(message, "holds 'chess/scene.json'; a package has scene.json at its root"));
    zip_forge(path, good + 1, GOOD_ENTRIES - 1);
    assert_int_equal(load(path, NULL, &scene, message), STATUS_FORMAT);
    assert_non_null(strstr(message, "there is no scene.json"));

    /* Cut off anywhere. */
    char *bytes;
    size_t size_bytes;
    zip_forge(path, good, GOOD_ENTRIES);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &size_bytes, NULL), STATUS_OK);
    for (size_t size = 0; size < size_bytes; size += 1 + size / 7) {
        write_in("", "cut.zip", bytes, size);
        assert_int_not_equal(load(in_work("cut.zip"), NULL, &scene, message), STATUS_OK);
    }
    mem_free(bytes);
}

/* Many names for the same bytes: each honest alone, together more than the zip can hold. */
static void test_package_overlapping_zip_bomb(void **state)
{
    (void)state;
    enum { COPIES = 64, BYTES = 1 << 20 };
    char *zeros = MEM_ARRAY(char, BYTES);
    ForgeEntry *entries = MEM_ARRAY(ForgeEntry, COPIES + 1);
    char(*names)[32] = mem_alloc(COPIES, sizeof *names);
    assert_true(zeros && entries && names);
    StrBuf json = {0};
    strbuf_append_c(&json,
                    "{\"sort_package\": 1, \"cameras\": [{\"name\": \"C\", \"fov_y_degrees\":"
                    " 40, \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,4, 0,0,0,1]}],"
                    " \"materials\": [{\"name\": \"M\", \"shader\": \"unit:u\","
                    " \"textures\": {");
    for (uint32_t i = 0; i < COPIES; ++i) {
        snprintf(names[i], sizeof names[i], "textures/%u.png", i);
        strbuf_printf(&json, "%s\"t%u\": {\"file\": \"%s\"}", i ? ", " : "", i, names[i]);
        entries[i + 1] = (ForgeEntry){.name = names[i],
                                      .data = zeros,
                                      .size_bytes = BYTES,
                                      .is_deflated = true,
                                      .repeats_of = i ? 2 : 0};
    }
    strbuf_append_c(&json, "}}]}");
    entries[0] = (ForgeEntry){.name = "scene.json",
                              .data = json.data,
                              .size_bytes = json.size_bytes,
                              .is_deflated = true};
    zip_forge(in_work("overlap.zip"), entries, COPIES + 1);
    char message[2048];
    Scene *scene;
    Status status = load(in_work("overlap.zip"), NULL, &scene, message);
    /* libzip may notice that local headers disagree before we count. */
    if (status == STATUS_LIMIT)
        assert_non_null(strstr(message, "entries share bytes"));
    else
        assert_int_equal(status, STATUS_FORMAT);
    strbuf_free(&json);
    mem_free(zeros);
    mem_free(entries);
    mem_free(names);
}

/* --- noise and memory ----------------------------------------------------------------------- */

/* No prefix of the text, and no flipped byte anywhere, may crash or hang; most are refused. */
static void test_package_noise(void **state)
{
    (void)state;
    char message[2048];
    Scene *scene;
    write_package("noise", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    const size_t json_bytes = sizeof scene_json - 1;
    for (size_t size = 0; size < json_bytes - 2; size += 13) {
        write_in("noise", "scene.json", scene_json, size);
        assert_int_equal(load(in_work("noise"), NULL, &scene, message), STATUS_FORMAT);
    }
    uint64_t random = 1;
    char *noisy = MEM_ARRAY(char, json_bytes);
    assert_non_null(noisy);
    uint32_t refused = 0;
    for (int i = 0; i < 1500; ++i) {
        memcpy(noisy, scene_json, json_bytes);
        for (int k = 0; k < 1 + i % 3; ++k) {
            size_t at = (size_t)(fixture_random(&random) * (float)json_bytes);
            noisy[at] =
                (char)(i % 2 ? (int)(256.0f * fixture_random(&random))
                             : "0123456789-.,:[]{}\"e"[(int)(20.0f * fixture_random(&random))]);
        }
        write_in("noise", "scene.json", noisy, json_bytes);
        refused += load(in_work("noise"), NULL, &scene, message) != STATUS_OK;
        scene_destroy(scene);
    }
    assert_true(refused > 500 && refused < 1500);
    mem_free(noisy);

    ForgeEntry entries[GOOD_ENTRIES];
    char *bytes;
    size_t size_bytes;
    good_entries(scene_json, json_bytes, quad_bin, quad_bin_bytes, entries);
    zip_forge(in_work("noise.zip"), entries, GOOD_ENTRIES);
    assert_int_equal(file_read(in_work("noise.zip"), 1 << 20, &bytes, &size_bytes, NULL),
                     STATUS_OK);
    for (int i = 0; i < 1500; ++i) {
        size_t at = (size_t)(fixture_random(&random) * (float)size_bytes);
        char keep = bytes[at];
        bytes[at] = (char)(int)(256.0f * fixture_random(&random));
        write_in("", "noise.zip", bytes, size_bytes);
        if (load(in_work("noise.zip"), NULL, &scene, message) == STATUS_OK)
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
    good_entries(scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes, entries);
    zip_forge(in_work("memory.zip"), entries, GOOD_ENTRIES);
    write_package("memory", scene_json, sizeof scene_json - 1, quad_bin, quad_bin_bytes);
    const char *paths[] = {in_work("memory"), in_work("memory.zip")};
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

static int set_up(void **state)
{
    (void)state;
    make_quad();
    return file_make_temp_directory("sort-test-package", work, NULL) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return file_remove_tree(work, NULL) == STATUS_OK ? 0 : -1;
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
        cmocka_unit_test(test_package_bad_descriptions),
        cmocka_unit_test(test_package_bad_arrays),
        cmocka_unit_test(test_package_array_bombs),
        cmocka_unit_test(test_package_bad_folders),
        cmocka_unit_test(test_package_bad_zips),
        cmocka_unit_test(test_package_overlapping_zip_bomb),
        cmocka_unit_test(test_package_noise),
        cmocka_unit_test(test_package_out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
