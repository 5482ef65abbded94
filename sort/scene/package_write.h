/* Writes a scene package (docs/scene-package.md) from the calls of a scene importer.
 *
 *   importer --sink--> PackageWriter --finish--> DIR/scene.json
 *                                                   meshes/NNNN_name.bin     one a mesh
 *                                                   textures/NNNN_name.png   encoded bytes as they were
 *
 * Mesh arrays and textures go to disk as they come; only the JSON and the vertices' bounds stay in
 * memory. The package grows in a temporary folder beside its final place and gets its name at the
 * end, so that a reader never meets half of one.
 *
 * What it does with the metal-rough model of SortMaterial: see ssl/units/gltf_pbr.ssl. What a
 * package cannot say is reported by a warning through the log: vertex colours, for one. Occlusion
 * maps are left out without a word: a path tracer finds occlusion by itself.
 *
 * Thread rule: one thread at a time. */
#ifndef SORT_SCENE_PACKAGE_WRITE_H
#define SORT_SCENE_PACKAGE_WRITE_H

#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "plugins/sort_plugin.h"

typedef struct PackageWriter PackageWriter;

typedef struct PackageWriteDesc {
    size_t size_bytes;  /* sizeof(PackageWriteDesc) */
    const char *folder; /* the package to make; must not exist; copied */
    /* The imported file; textures are found relative to its folder; its name is the default title
     * of the package. Copied. */
    const char *source;
    const Log *log; /* borrowed; may be NULL */
} PackageWriteDesc;

/* Makes the temporary folder. On success *out_writer is owned by the caller. Errors: STATUS_INVALID
 * when `folder`, or its partial form, is there already; STATUS_IO, STATUS_LIMIT, STATUS_NO_MEMORY. */
Status package_writer_create(const PackageWriteDesc *desc, PackageWriter **out_writer,
                             Error *err) SORT_MUST_CHECK;
/* "FOLDER.partial": where the package grows. Who runs a writer in a process that may die removes it
 * afterwards. */
Status package_partial_folder(const char *folder, char out_path[PATH_BYTES],
                              Error *err) SORT_MUST_CHECK;
/* Without a package_writer_finish that succeeded, nothing stays on disk. NULL is fine. */
void package_writer_destroy(PackageWriter *writer);

/* What to hand to an importer. Its functions return SORT_ERROR_SINK when writing fails, or what
 * came is broken (a mesh with an index out of range, positions that are not finite); the reason is
 * package_writer_error. Broken normals are repaired, with a warning. Borrowed: writer. */
const SortSceneSink *package_writer_sink(PackageWriter *writer);
/* code STATUS_OK as long as nothing went wrong. */
const Error *package_writer_error(const PackageWriter *writer);

typedef struct PackageWriteSummary {
    uint32_t mesh_count, instance_count, material_count, texture_count, light_count, camera_count;
    uint64_t triangle_count; /* of meshes, not of instances */
    bool has_made_up_camera, has_made_up_light;
} PackageWriteSummary;

/* Adds what the file lacks, and says so through the log: a camera that frames all instances from
 * the front, a little from above and from the right; a soft sky and a wide sun when nothing lights
 * the scene (no light; no material that emits without a map). Then writes scene.json and gives the
 * folder its name. Call it once. out_summary may be NULL. Errors: what the sink met, STATUS_FORMAT
 * when there is no geometry, STATUS_IO. */
Status package_writer_finish(PackageWriter *writer, PackageWriteSummary *out_summary,
                             Error *err) SORT_MUST_CHECK;

#endif
