/* The state of the import sink. Private to its files:
 *
 *   import_sink.c        create, callbacks, finish; instances, cameras, lights
 *   import_meshes.c      SortMesh to an entry with arrays
 *   import_materials.c   SortMaterial to parameters of gltf_pbr; textures into the package
 *   import_frame.c       the camera and the light of files that have none */
#ifndef SORT_IMPORT_IMPORT_STATE_H
#define SORT_IMPORT_IMPORT_STATE_H

#include "base/array.h"
#include "base/hash.h"
#include "base/mat4.h"
#include "sort/import/import_sink.h"
#include "sort/package/package_write.h"

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

/* A texture in the package, found again by the file that it came from, or by its content. */
typedef struct StoredTexture {
    Hash128 key;
    const char *file; /* arena; nothing lies there when it is missing, which has been said */
} StoredTexture;

/* A light as import_judge_lights sees it. */
typedef struct ImportedLight {
    const char *name; /* arena */
    bool is_distant;
    float brightest; /* of its channels; W/sr, or W/m2 */
    float3 position;
} ImportedLight;

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
    ARRAY(ImportedLight) lights;
    ImportLightUnits light_units;
    uint32_t width_px, height_px;
    uint64_t triangle_count;
    uint32_t texture_count, missing_count;
    SceneMissing missing;
    bool has_made_up_camera, has_made_up_light;
    ImportFiles *files; /* borrowed; may be NULL */
};

Status import_no_memory(Error *err);
bool import_all_finite(const float *values, size_t count);

/* Says that a file cannot be had which something names, by the first 20 of them: an error or a warning, as the user
 * chose. `material` may be NULL. import_sink_finish fails then, or not. */
void import_note_missing(ImportSink *sink, const char *material, const char *what, const char *name,
                         const char *why);

Status import_add_mesh(ImportSink *sink, const SortMesh *m, uint32_t *out_id, Error *err);
Status import_add_material(ImportSink *sink, const SortMaterial *given, uint32_t *out_id,
                           Error *err);

/* Returns whether a camera stands where packages allow it, with room for what an orthographic one sees. */
bool import_is_in_reach(const mat4 *camera_to_world);
/* Fields "transform" and the like. */
void import_write_transform(JsonWriter *json, const mat4 *transform);

/* Nothing when the package has a camera, or something that shines. */
Status import_make_up_camera(ImportSink *sink, Error *err) SORT_MUST_CHECK;
void import_make_up_light(ImportSink *sink);
/* Warns when the brightest light of the file is out of all proportion. */
void import_judge_lights(const ImportSink *sink);

#endif
