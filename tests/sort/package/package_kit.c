#include "tests/sort/package/package_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/package/scene_load.h"

static char work[PATH_BYTES]; /* a private folder for all tests */

char *good_json;
size_t good_json_bytes;
unsigned char quad_bin[256];
size_t quad_bin_bytes;
const char shader_text[] = "shader board(out closure Ci) {}\n";
const char texture_bytes[] = "not really a png";
static const char sky_bytes[] = "not really an exr";

int package_kit_begin(void **state)
{
    (void)state;
    char *quad;
    if (file_read("tests/sort/packages/scene.json", 1 << 20, &good_json, &good_json_bytes, NULL) !=
            STATUS_OK ||
        file_read("tests/sort/packages/quad.bin", sizeof quad_bin, &quad, &quad_bin_bytes, NULL) !=
            STATUS_OK)
        return -1;
    memcpy(quad_bin, quad, quad_bin_bytes);
    mem_free(quad);
    return file_make_temp_directory("sort-test-package", work, NULL) == STATUS_OK ? 0 : -1;
}

int package_kit_end(void **state)
{
    (void)state;
    mem_free(good_json);
    return file_remove_tree(work, NULL) == STATUS_OK ? 0 : -1;
}

const char *package_kit_path(const char *name)
{
    static char paths[4][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    CHECK(path_join(work, name, path, NULL) == STATUS_OK);
    return path;
}

void package_kit_write(const char *folder, const char *name, const void *data, size_t size_bytes)
{
    char path[PATH_BYTES], parent[PATH_BYTES];
    CHECK(path_join(package_kit_path(folder), name, path, NULL) == STATUS_OK);
    Str dirname = path_dirname(path);
    snprintf(parent, sizeof parent, "%.*s", STR_ARG(dirname));
    CHECK(file_make_directories(parent, NULL) == STATUS_OK);
    FILE *out = fopen(path, "wb"); /* file_write would wait for the disk */
    CHECK(out && fwrite(data, 1, size_bytes, out) == size_bytes);
    CHECK(fclose(out) == 0);
}

void package_kit_write_all(const char *folder, const char *json, size_t json_bytes,
                           const unsigned char *quad, size_t quad_bytes)
{
    package_kit_write(folder, "scene.json", json, json_bytes);
    package_kit_write(folder, "meshes/quad.bin", quad, quad_bytes);
    package_kit_write(folder, "shaders/board.ssl", shader_text, strlen(shader_text));
    package_kit_write(folder, "textures/a.png", texture_bytes, strlen(texture_bytes));
    package_kit_write(folder, "textures/sky.exr", sky_bytes, sizeof sky_bytes - 1);
}

void package_kit_entries(const char *json, size_t json_bytes, const unsigned char *quad,
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

Status package_kit_load(const char *path, const SceneLoadOptions *options, Scene **out_scene,
                        char message[KIT_MESSAGE_BYTES])
{
    Error err = {0};
    Status status = scene_load(path, options, out_scene, &err);
    assert_int_equal(*out_scene != NULL, status == STATUS_OK);
    message[0] = '\0';
    if (status != STATUS_OK) {
        assert_int_equal(err.code, status);
        error_format(&err, message, KIT_MESSAGE_BYTES);
    }
    return status;
}

void package_kit_expect(const char *what, Status status, const char *message, Status wanted,
                        const char *words)
{
    if (status != wanted || !strstr(message, words) || !strstr(message, "scene.json"))
        fail_msg("%s: %s: '%s'\nwanted %s: '%s'", what, status_name(status), message,
                 status_name(wanted), words);
}
