/* Data of a glTF file that Assimp gets wrong or loses, read from its JSON.
 *
 * Assimp 5.2 numbers materials, cameras and lights in the order in which nodes happen to use them,
 * keeps one user of each light and camera, doubles the position of cameras, approximates their angle,
 * and drops KHR_materials_emissive_strength and more. Therefore cameras, lights and the missing
 * properties of materials are read here. In the JSON that Assimp reads (assimp_io.h), nodes and
 * materials are renamed to their index, by which each is found again:
 *
 *   file.gltf --gltf_info_read--> GltfInfo {nodes, materials, cameras, lights, text} --> Assimp
 */
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
    char *name; /* owned; "" if it has none */
    float emissive_strength, ior, transmission;
    float specular, specular_color[3], clearcoat, clearcoat_roughness, sheen_color[3],
        sheen_roughness;
    bool has_volume; /* the material is solid: it has a thickness */
    bool is_unlit;
    GltfTexture textures[GLTF_SLOT_COUNT];
} GltfMaterial;

typedef struct GltfCamera {
    bool is_orthographic;
    float fov_y_rad, height_m, aspect; /* an aspect of 0 is unspecified */
} GltfCamera;

typedef struct GltfLight {
    SortLightKind kind;
    float color[3]; /* candela, lux */
    float inner_angle_rad, outer_angle_rad;
} GltfLight;

enum { GLTF_NONE = -1, GLTF_NODE_DEPTH_MAX = 1024 };

typedef struct GltfNode {
    char *name;        /* owned; "" if it has none */
    int camera, light; /* or GLTF_NONE */
} GltfNode;

typedef struct GltfInfo {
    GltfMaterial *materials; /* all owned */
    GltfCamera *cameras;
    GltfLight *lights;
    GltfNode *nodes;
    int material_count, camera_count, light_count, node_count;
    float lumens_per_watt; /* as in SortLight */
    /* Assimp reads this text instead of the file, followed by the file from tail_offset (-1: nothing). */
    char *text;
    size_t text_bytes;
    int64_t tail_offset;
} GltfInfo;

typedef void (*GltfWarn)(void *data, const char *text);

/* Returns true for .gltf and .glb. */
bool gltf_is_gltf(const char *path);
/* Reads a file. Calls `warn` for each extension, and each field of a material's extensions, that is lost.
 * gltf_info_free is required after a failure, too. Errors: SORT_ERROR_UNSUPPORTED if the file requires an
 * extension that is not supported, or nests nodes too deeply; SORT_ERROR_FORMAT, also for nodes that are no
 * trees; SORT_ERROR_OPEN, SORT_ERROR_NO_MEMORY. */
SortResult gltf_info_read(const SortHostApi *api, const char *path, GltfWarn warn, void *warn_data,
                          GltfInfo *out_info, SortFailure *why);
void gltf_info_free(GltfInfo *info);
/* Returns the index that a name in Assimp's scene represents; GLTF_NONE if it is none of ours. */
int gltf_index_of_name(const char *name, int count);

#endif
