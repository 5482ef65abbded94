/* What Assimp does not carry over from a glTF file, read from its JSON: which extensions it uses and
 * requires, KHR_materials_emissive_strength, _ior, _transmission, and KHR_texture_transform in full.
 * Materials keep their index: Assimp's material i is the file's material i. */
#ifndef SORT_ASSIMP_GLTF_JSON_H
#define SORT_ASSIMP_GLTF_JSON_H

#include "plugins/sort_plugin.h"

typedef enum GltfSlot {
    GLTF_BASE_COLOR,
    GLTF_METALLIC_ROUGHNESS,
    GLTF_NORMAL,
    GLTF_OCCLUSION,
    GLTF_EMISSIVE,
    GLTF_TRANSMISSION,
    GLTF_SLOT_COUNT
} GltfSlot;

typedef struct GltfTexture {
    int uv_set;
    /* uv' = offset + R(rotation) (scale * uv), with v up; identity when the file has no transform */
    float scale[2], offset[2], rotation_rad;
} GltfTexture;

typedef struct GltfMaterial {
    float emissive_strength, ior, transmission;
    GltfTexture textures[GLTF_SLOT_COUNT];
} GltfMaterial;

typedef struct GltfInfo {
    GltfMaterial *materials; /* owned */
    uint32_t material_count;
} GltfInfo;

typedef void (*GltfWarn)(void *data, const char *text);

/* True for .gltf and .glb. */
bool gltf_is_gltf(const char *path);
/* Calls `warn` for each extension, and each sharing of a light or camera, that is lost. On success
 * gltf_info_free is due. SORT_ERROR_UNSUPPORTED: the file requires an extension that is not handled;
 * SORT_ERROR_OPEN, SORT_ERROR_FORMAT, SORT_ERROR_NO_MEMORY. */
SortResult gltf_info_read(const char *path, GltfWarn warn, void *warn_data, GltfInfo *out_info,
                          SortFailure *why);
void gltf_info_free(GltfInfo *info);

#endif
