/* The good package that tests of the reader spoil: packages/scene.json, with the files that it names.
 * Everything lives in one temporary folder of the test program. */
#ifndef SORT_TESTS_PACKAGE_KIT_H
#define SORT_TESTS_PACKAGE_KIT_H

#include "base/path.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"
#include "tests/sort/package/zip_forge.h"

/* Where the arrays lie in meshes/quad.bin; the slots are a zlib stream. */
enum {
    QUAD_POSITIONS = 0,
    QUAD_INDICES = 48,
    QUAD_NORMALS = 72,
    QUAD_TANGENTS = 120,
    QUAD_UV = 184,
    QUAD_SLOTS = 216,
    GOOD_ENTRIES = 5,
    KIT_MESSAGE_BYTES = 2048
};

extern char *good_json; /* packages/scene.json */
extern size_t good_json_bytes;
extern unsigned char quad_bin[256]; /* meshes/quad.bin */
extern size_t quad_bin_bytes;
extern const char shader_text[], texture_bytes[];

/* The group's set-up and tear-down. */
int package_kit_begin(void **state);
int package_kit_end(void **state);

/* The path of a file of the test's folder; good for three calls more. */
const char *package_kit_path(const char *name);
void package_kit_write(const char *folder, const char *name, const void *data, size_t size_bytes);
/* A folder with the good package, but for the scene.json and meshes/quad.bin given. */
void package_kit_write_all(const char *folder, const char *json, size_t json_bytes,
                           const unsigned char *quad, size_t quad_bytes);
/* Writes the package as entries of a zip. */
void package_kit_entries(const char *json, size_t json_bytes, const unsigned char *quad,
                         size_t quad_bytes, ForgeEntry out_entries[GOOD_ENTRIES]);

/* scene_load, with the message as it would be printed. */
Status package_kit_load(const char *path, const SceneLoadOptions *options, Scene **out_scene,
                        char message[KIT_MESSAGE_BYTES]);
/* Fails the test unless the status is the wanted one, and the message has these words and names scene.json. */
void package_kit_expect(const char *what, Status status, const char *message, Status wanted,
                        const char *words);

#endif
