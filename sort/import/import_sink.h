/* Writes a scene package from the calls of a scene importer.
 *
 *   importer --sink--> ImportSink --finish--> DIR/scene.json
 *                                                meshes/NNNN_name.bin     one a mesh
 *                                                textures/NNNN_name.png   encoded bytes as they were
 *
 * The sink writes as it is called, through package_write.h, and keeps only the bounds that a default camera must see.
 *
 * The metal-rough model of SortMaterial becomes ssl/units/gltf_pbr.ssl. Occlusion maps are left out without a warning,
 * because a path tracer computes occlusion.
 *
 * Thread rule: one thread at a time. */
#ifndef SORT_IMPORT_IMPORT_SINK_H
#define SORT_IMPORT_IMPORT_SINK_H

#include "base/error.h"
#include "base/log.h"
#include "plugins/sort_plugin.h"
#include "sort/import/import_files.h"
#include "sort/scene/scene_missing.h"

typedef struct ImportSink ImportSink;

/* The units of lights in a file. Emission of materials is kept as it is. */
typedef enum ImportLightUnits {
    IMPORT_LIGHTS_AUTO, /* as whoever wrote the file counted (SortLight.lumens_per_watt) */
    IMPORT_LIGHTS_NITS, /* one lux, one candela and one nit of emission are one alike, as glTF says */
    IMPORT_LIGHTS_WATTS, /* 683 lumens are a watt, and emission is radiance */
    IMPORT_LIGHTS_COUNT
} ImportLightUnits;
extern const char *const import_light_units_names[]; /* ending in NULL */

typedef struct ImportSinkDesc {
    size_t size_bytes;  /* sizeof(ImportSinkDesc) */
    const char *folder; /* the package to make; must not exist; copied */
    const char *source; /* the imported file: its name is the title of the package; copied */
    const Log *log;     /* borrowed; may be NULL */
    ImportFiles
        *files; /* borrowed: where textures are found; NULL: nowhere, but for embedded ones */
    SceneMissing missing;
    ImportLightUnits light_units;
} ImportSinkDesc;

/* On success *out_sink is owned by the caller. Errors: those of package_writer_create. */
Status import_sink_create(const ImportSinkDesc *desc, ImportSink **out_sink,
                          Error *err) SORT_MUST_CHECK;
/* Without an import_sink_finish that succeeded, nothing stays on disk. NULL is fine. */
void import_sink_destroy(ImportSink *sink);

/* Returns the callbacks for an importer. They return SORT_ERROR_SINK when writing fails or data is broken (a mesh with an
 * index out of range, positions that are not finite); the reason is
 * import_sink_status. Broken normals are repaired, with a warning. Borrowed: sink. */
const SortSceneSink *import_sink_callbacks(ImportSink *sink);
/* STATUS_OK as long as nothing went wrong; else *err (may be NULL) says what. */
Status import_sink_status(const ImportSink *sink, Error *err);

typedef struct ImportSummary {
    uint32_t mesh_count, instance_count, material_count, texture_count, light_count, camera_count;
    uint64_t triangle_count; /* of meshes, not of instances */
    uint32_t missing_count;  /* files that the scene file names and that cannot be had */
    bool has_made_up_camera, has_made_up_light;
} ImportSummary;

/* Adds what the file lacks, and says so through the log: a camera that frames all instances from
 * the front, a little from above and from the right; a soft sky and a wide sun when nothing lights
 * the scene (no light; no material that emits without a map). Says when the lights are much too bright or too dim for
 * a picture at exposure 0. Then finishes the package. Call it once.
 * out_summary may be NULL. Errors: what the sink met, STATUS_FORMAT when there is no geometry, STATUS_NOT_FOUND when
 * something is missing and may not be, those of package_writer_finish. */
Status import_sink_finish(ImportSink *sink, ImportSummary *out_summary, Error *err) SORT_MUST_CHECK;

#endif
