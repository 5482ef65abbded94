/* What the files of the import sink share. Private to them:
 *
 *   import_sink.c        create, callbacks, finish; instances, cameras, lights
 *   import_meshes.c      SortMesh to an entry with arrays
 *   import_materials.c   SortMaterial to parameters of gltf_pbr; textures into the package
 *   import_frame.c       the camera and the light of files that have none */
#ifndef SORT_SCENE_IMPORT_STATE_H
#define SORT_SCENE_IMPORT_STATE_H

#include "base/array.h"
#include "base/hash.h"
#include "base/mat4.h"
#include "sort/scene/import_sink.h"
#include "sort/scene/package_write.h"

enum { IMPORT_OUTLINE = 98 };

typedef struct ImportedMesh {
    const char *name;
    uint32_t material;
    float3 outline[IMPORT_OUTLINE]; /* vertices that lie farthest in as many directions */
} ImportedMesh;

typedef struct ImportedInstance {
    uint32_t mesh;
    mat4 transform;
} ImportedInstance;

typedef struct ImportedMaterial {
    const char *name;
    bool lights_scene; /* emits all over, so that no light need be made up */
} ImportedMaterial;

/* A texture in the package, found again by its content's origin. */
typedef struct StoredTexture {
    Hash128 key;
    const char *file; /* arena; NULL: it could not be stored, which has been said */
} StoredTexture;

struct ImportSink {
    const Log *log;        /* borrowed */
    Arena *arena;          /* owned: all below */
    PackageWriter *writer; /* owned */
    SortSceneSink callbacks;
    ARRAY(ImportedMesh) meshes;
    ARRAY(ImportedInstance) instances;
    ARRAY(ImportedMaterial) materials;
    ARRAY(const char *) credits;
    ARRAY(StoredTexture) textures;
    uint32_t width_px, height_px;
    uint64_t triangle_count;
    uint32_t texture_count;
    bool has_made_up_camera, has_made_up_light;
    char source_folder[PATH_BYTES];
};

Status import_no_memory(Error *err);
bool import_all_finite(const float *values, size_t count);

Status import_add_mesh(ImportSink *sink, const SortMesh *m, uint32_t *out_id, Error *err);
Status import_add_material(ImportSink *sink, const SortMaterial *m, uint32_t *out_id, Error *err);

/* Fields "transform" and the like. */
void import_write_transform(JsonWriter *json, const mat4 *transform);

/* Nothing when the package has a camera, or something that shines. */
Status import_make_up_camera(ImportSink *sink, Error *err) SORT_MUST_CHECK;
void import_make_up_light(ImportSink *sink);

#endif
