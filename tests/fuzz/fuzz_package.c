/* Fuzzes scene packages. The first byte says what of the good package (tests/sort/packages) is spoilt:
 *   0  edits of scene.json that know where its values are: one value is put in another's place, leaves, comes
 *      twice, or becomes one of a few numbers and strings that readers stumble over
 *   1  bytes of meshes/quad.bin, which may end early
 *   2  scene.json is the rest of the input
 *   3  bytes of the zip of the good package
 *   4  as 0, in a zip
 * No crash, no hang, no leak; a package that is read is what scene.h promises: indices in range, finite. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/str.h"
#include "sort/light/scene_bounds.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"
#include "sort/scene/scene_hash.h"
#include "tests/sort/package/zip_forge.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { VALUES_MAX = 1024, EDITS_MAX = 8, EDIT_BYTES = 4, ENTRIES = 5, QUAD_BYTES = 228 };

typedef struct Value {
    size_t begin, end;
} Value;

static char root[64];
static char *good, *quad, *zip;
static size_t good_bytes, quad_bytes, zip_bytes;
static Value values[VALUES_MAX];
static uint32_t value_count;

static const char *const odd[] = {"0",
                                  "-1",
                                  "1",
                                  "2",
                                  "4294967295",
                                  "4294967296",
                                  "9223372036854775807",
                                  "-9223372036854775808",
                                  "1e38",
                                  "1e-45",
                                  "-0.0",
                                  "0.5",
                                  "null",
                                  "true",
                                  "\"\"",
                                  "\"..\"",
                                  "\"a.<UDIM>.png\"",
                                  "\"meshes/quad.bin\"",
                                  "\"unit:\"",
                                  "[]",
                                  "{}",
                                  "[[]]",
                                  "[0,0,0,0, 0,0,0,0, 0,0,0,0, 0,0,0,1]",
                                  "\"Layer\""};

/* Where each value of a valid JSON text begins and ends; keys are none. */
static size_t find_values(const char *text, size_t at)
{
    while (isspace((unsigned char)text[at]))
        ++at;
    CHECK(value_count < VALUES_MAX);
    uint32_t index = value_count++;
    values[index].begin = at;
    if (text[at] == '{' || text[at] == '[') {
        bool is_object = text[at] == '{';
        for (++at; text[at] != '}' && text[at] != ']';) {
            if (text[at] == ',' || isspace((unsigned char)text[at])) {
                ++at;
                continue;
            }
            if (is_object) {
                for (++at; text[at] != '"'; ++at)
                    at += text[at] == '\\';
                at += 1 + strcspn(text + at, ":");
            }
            at = find_values(text, at);
        }
        ++at;
    } else if (text[at] == '"') {
        for (++at; text[at] != '"'; ++at)
            at += text[at] == '\\';
        ++at;
    } else {
        at += strcspn(text + at, ",]} \n");
    }
    values[index].end = at;
    return at;
}

static void write_in(const char *name, const void *data, size_t size_bytes)
{
    char path[PATH_BYTES];
    CHECK(path_join(root, name, path, NULL) == STATUS_OK);
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(data, 1, size_bytes, out) == size_bytes);
    CHECK(fclose(out) == 0);
}

static void make_folder(const char *name)
{
    char path[PATH_BYTES];
    CHECK(path_join(root, name, path, NULL) == STATUS_OK);
    CHECK(file_make_directories(path, NULL) == STATUS_OK);
}

static void write_zip(const char *json, size_t json_bytes)
{
    char path[PATH_BYTES];
    const ForgeEntry entries[ENTRIES] = {
        {.name = "scene.json", .data = json, .size_bytes = json_bytes, .is_deflated = true},
        {.name = "meshes/quad.bin", .data = quad, .size_bytes = quad_bytes, .is_deflated = true},
        {.name = "shaders/board.ssl", .data = "x", .size_bytes = 1},
        {.name = "textures/a.png", .data = "x", .size_bytes = 1},
        {.name = "textures/sky.exr", .data = "x", .size_bytes = 1},
    };
    CHECK(path_join(root, "p.zip", path, NULL) == STATUS_OK);
    zip_forge(path, entries, ENTRIES);
}

static void clean_up(void)
{
    Status status = file_remove_tree(root, NULL);
    SORT_UNUSED(status);
    mem_free(good);
    mem_free(quad);
    mem_free(zip);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    SORT_UNUSED(argc);
    SORT_UNUSED(argv);
    snprintf(root, sizeof root, "/tmp/fuzz-package-%ld", (long)getpid());
    CHECK(atexit(clean_up) == 0);
    make_folder("meshes");
    make_folder("shaders");
    make_folder("textures");
    CHECK(file_read(SORT_PACKAGES "/scene.json", 1 << 20, &good, &good_bytes, NULL) == STATUS_OK);
    CHECK(file_read(SORT_PACKAGES "/quad.bin", 1 << 20, &quad, &quad_bytes, NULL) == STATUS_OK);
    CHECK(quad_bytes == QUAD_BYTES);
    find_values(good, 0);
    write_in("shaders/board.ssl", "x", 1);
    write_in("textures/a.png", "x", 1);
    write_in("textures/sky.exr", "x", 1);
    write_zip(good, good_bytes);
    char path[PATH_BYTES];
    CHECK(path_join(root, "p.zip", path, NULL) == STATUS_OK);
    CHECK(file_read(path, 1 << 20, &zip, &zip_bytes, NULL) == STATUS_OK);
    return 0;
}

/* --- what must hold of a scene that was read ------------------------------------------------- */

static void check_mesh(const SceneMesh *mesh)
{
    if (mesh->curves) /* points of their own, no triangles */
        return;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; ++i)
        CHECK(mesh->indices[i] < mesh->vertex_count);
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; ++i)
        CHECK(isfinite(mesh->positions[i]) && (!mesh->normals || isfinite(mesh->normals[i])));
}

static void check_instance(const Scene *scene, const SceneInstance *instance)
{
    CHECK(instance->mesh < scene->mesh_count);
    for (uint32_t i = 0; i < instance->material_count; ++i)
        CHECK(instance->materials[i] < scene->material_count);
    for (int i = 0; i < 16; ++i) {
        CHECK(isfinite(instance->object_to_world.m[i / 4][i % 4]));
        CHECK(isfinite(instance->world_to_object.m[i / 4][i % 4]));
    }
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    for (uint32_t i = 0; mesh->material_indices && i < mesh->triangle_count; ++i)
        CHECK(mesh->material_indices[i] < instance->material_count);
}

static void check_portal(const ScenePortal *portal)
{
    CHECK(portal->size_x_m > 0.0f && portal->size_x_m <= 1e9f);
    CHECK(portal->size_y_m > 0.0f && portal->size_y_m <= 1e9f);
    for (int i = 0; i < 16; ++i)
        CHECK(isfinite(portal->portal_to_world.m[i / 4][i % 4]));
}

static void check_scene(const Scene *scene)
{
    float3 centre;
    float radius;
    for (uint32_t i = 0; i < scene->mesh_count; ++i)
        check_mesh(&scene->meshes[i]);
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        check_instance(scene, &scene->instances[i]);
    for (uint32_t i = 0; i < scene->portal_count; ++i)
        check_portal(&scene->portals[i]);
    for (uint32_t i = 0; i < scene->texture_count; ++i)
        CHECK(scene->textures[i].path);
    for (uint32_t i = 0; i < scene->material_count; ++i)
        CHECK(scene->materials[i].node.group ||
              scene->materials[i].node.shader_id < scene->shader_count);
    CHECK(scene->settings.camera < scene->camera_count);
    scene_bounding_sphere(scene, &centre, &radius);
}

static void load(const char *name)
{
    char path[PATH_BYTES];
    const SceneLoadOptions options = {
        .size_bytes = sizeof options, .thread_count = 1, .array_bytes_max = 1 << 24};
    Scene *scene;
    Error err = {0};
    CHECK(path_join(root, name, path, NULL) == STATUS_OK);
    Status status = scene_load(path, &options, &scene, &err);
    CHECK((status == STATUS_OK) == (scene != NULL));
    CHECK(status == STATUS_OK || err.text[0]);
    if (scene)
        check_scene(scene);
    scene_destroy(scene);
}

/* --- edits ------------------------------------------------------------------------------------ */

typedef struct Edit {
    uint32_t value;
    Str put;
} Edit;

/* Records of EDIT_BYTES: which value (two bytes), what becomes of it, with which other. */
static uint32_t read_edits(const uint8_t *data, size_t size, Edit *out_edits)
{
    uint32_t count = 0;
    for (; size >= EDIT_BYTES && count < EDITS_MAX; data += EDIT_BYTES, size -= EDIT_BYTES) {
        Edit *edit = &out_edits[count++];
        uint32_t other = (uint32_t)(data[2] >> 1 << 8 | data[3]) % value_count;
        edit->value = (uint32_t)(data[0] << 8 | data[1]) % value_count;
        edit->put = data[2] & 1 ? str_from(odd[data[3] % SORT_COUNT_OF(odd)])
                                : (Str){good + values[other].begin,
                                        values[other].end - values[other].begin};
    }
    return count;
}

/* Edits inside of a value that is replaced are lost. */
static void apply_edits(const Edit *edits, uint32_t count, StrBuf *out)
{
    for (size_t at = 0; at < good_bytes;) {
        const Edit *here = NULL;
        for (uint32_t i = 0; i < count && !here; ++i)
            here = values[edits[i].value].begin == at ? &edits[i] : NULL;
        if (here) {
            strbuf_append(out, here->put);
            at = values[here->value].end;
        } else {
            strbuf_append(out, (Str){good + at++, 1});
        }
    }
    CHECK(!out->failed);
}

static void load_edited(const uint8_t *data, size_t size, bool is_zip)
{
    Edit edits[EDITS_MAX];
    StrBuf json = {0};
    apply_edits(edits, read_edits(data, size, edits), &json);
    if (is_zip) {
        write_zip(json.data, json.size_bytes);
    } else {
        write_in("scene.json", json.data, json.size_bytes);
        write_in("meshes/quad.bin", quad, quad_bytes);
    }
    strbuf_free(&json);
    load(is_zip ? "p.zip" : "scene.json");
}

/* The input over a copy of `bytes`: place (two bytes), flags, then what is written there. */
static char *overlay(const uint8_t *data, size_t size, const char *bytes, size_t room,
                     size_t *out_bytes)
{
    size_t at = ((size_t)data[0] | (size_t)data[1] << 8) % room;
    size_t count = size - 3 < room - at ? size - 3 : room - at;
    char *copy = mem_alloc(1, room);
    CHECK(copy);
    memcpy(copy, bytes, room);
    memcpy(copy + at, data + 3, count);
    *out_bytes = data[2] & 1 ? at + count : room;
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    char *bytes = NULL;
    size_t bytes_used = 0;
    switch (data[0] % 5) {
    case 0:
    case 4:
        load_edited(data + 1, size - 1, data[0] % 5 == 4);
        break;
    case 1:
        bytes = overlay(data + 1, size - 1, quad, quad_bytes, &bytes_used);
        write_in("scene.json", good, good_bytes);
        write_in("meshes/quad.bin", bytes, bytes_used);
        load("scene.json");
        break;
    case 2:
        write_in("scene.json", data + 1, size - 1);
        write_in("meshes/quad.bin", quad, quad_bytes);
        load("scene.json");
        break;
    default:
        bytes = overlay(data + 1, size - 1, zip, zip_bytes, &bytes_used);
        write_in("p.zip", bytes, bytes_used);
        load("p.zip");
        break;
    }
    mem_free(bytes);
    return 0;
}
