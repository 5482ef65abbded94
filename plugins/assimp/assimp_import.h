/* State shared by the files of the Assimp importer: one import, from Assimp's scene to the sink. */
#ifndef SORT_ASSIMP_IMPORT_H
#define SORT_ASSIMP_IMPORT_H

#include "plugins/assimp/gltf_json.h"
#include "plugins/plugin_check.h"
#include "plugins/sort_plugin.h"
#include <assimp/scene.h>

typedef struct AssimpImport {
    const SortHostApi *api;
    const SortSceneSink *sink;
    SortFailure *why;
    const char *path;
    const struct aiScene *scene; /* borrowed */
    bool is_gltf;
    GltfInfo gltf; /* empty unless is_gltf */
    /* owned, by Assimp's index: the sink's id; ASSIMP_NO_ID if not sent yet */
    uint32_t *material_ids;
    uint32_t *mesh_ids; /* owned, likewise */
} AssimpImport;

#define ASSIMP_NO_ID UINT32_MAX

__attribute__((format(printf, 2, 3))) void assimp_warn(const AssimpImport *import,
                                                       const char *format, ...);
__attribute__((format(printf, 3, 4))) SortResult assimp_fail(const AssimpImport *import,
                                                             SortResult result, const char *format,
                                                             ...);

/* Return the sink's id of a material or mesh, which the first call sends. */
SortResult assimp_material(AssimpImport *import, uint32_t index, uint32_t *out_id);
SortResult assimp_mesh(AssimpImport *import, uint32_t index, uint32_t *out_id);

#endif
