/* What the files of the package writer share. Private to them:
 *
 *   package_write.c      create, sink, finish; instances, cameras, lights
 *   package_names.c      names: clean, unique, fit for files
 *   package_meshes.c     SortMesh to a file of arrays and a record
 *   package_materials.c  SortMaterial to parameters of gltf_pbr; textures into the package
 *   package_frame.c      the camera and the light of files that have none
 *   package_records.c    the records to scene.json */
#ifndef SORT_SCENE_PACKAGE_WRITER_H
#define SORT_SCENE_PACKAGE_WRITER_H

#include "base/hash.h"
#include "base/path.h"
#include "sort/scene/package_records.h"
#include "sort/scene/package_write.h"
#include <stdio.h>

enum {
    PACKAGE_NAME_BYTES_MAX = 255,
    PACKAGE_SLUG_MAX = 40,
    PACKAGE_INSTANCES_MAX = 1 << 24,
    PACKAGE_OBJECTS_MAX = 1 << 20
};

/* Names that a section uses already: open addressing over 64 bits of a hash. */
typedef struct NameSet {
    uint64_t *hashes; /* owned; 0: empty */
    uint32_t count, capacity;
} NameSet;

/* A texture in the package, found again by its content's origin. */
typedef struct StoredTexture {
    Hash128 key;
    const char *file; /* arena; NULL: it could not be stored, which has been said */
} StoredTexture;

struct PackageWriter {
    const Log *log; /* borrowed */
    Arena *arena;   /* owned: all text and records */
    SortSceneSink sink;
    Error error; /* the first */
    PackageRecords records;
    NameSet mesh_names, instance_names, material_names, camera_names, light_names;
    ARRAY(StoredTexture) textures;
    uint64_t triangle_count;
    uint32_t texture_count;
    bool is_finished;
    bool has_made_up_camera, has_made_up_light;
    char folder[PATH_BYTES], partial[PATH_BYTES], source_folder[PATH_BYTES];
};

Status package_no_memory(Error *err);

/* At most `max` bytes of valid UTF-8 without control characters, and a NUL; bad bytes become '_'. */
void package_clean_name(const char *name, char *out, size_t max);
/* `name` made fit for its section: clean, not empty, unique by a number at the end. `ordinal` is the
 * object's number, which makes the search for a free one short. NULL: out of memory. */
const char *package_unique_name(PackageWriter *w, NameSet *set, const char *name,
                                const char *fallback, uint32_t ordinal);
/* Letters, digits, '-' and '_' of a name, for file names. */
void package_slug(const char *name, char out[PACKAGE_SLUG_MAX + 1]);

/* A file of the package, to be written by the stream; close notices every earlier error. */
Status package_open_part(const PackageWriter *w, const char *file, FILE **out_stream, Error *err);
Status package_close_part(FILE *stream, const char *file, Error *err);

bool package_all_finite(const float *values, size_t count);

Status package_add_mesh(PackageWriter *w, const SortMesh *m, uint32_t *out_id, Error *err);
Status package_add_material(PackageWriter *w, const SortMaterial *s, uint32_t *out_id, Error *err);

/* Nothing when the records have a camera, or something that shines. */
Status package_make_up_camera(PackageWriter *w, Error *err);
Status package_make_up_light(PackageWriter *w, Error *err);

#endif
