/* What a package writer keeps in memory until it writes scene.json: one record for each object of
 * docs/scene-package.md, in the same words, already checked. Private to package_write.c and
 * package_records.c. All text lives in the writer's arena. */
#ifndef SORT_SCENE_PACKAGE_RECORDS_H
#define SORT_SCENE_PACKAGE_RECORDS_H

#include "base/array.h"
#include "base/mat4.h"
#include "base/str.h"

enum { PACKAGE_PARAMETERS_MAX = 48, PACKAGE_BINDINGS_MAX = 8, PACKAGE_OUTLINE = 98 };

typedef struct PackageArray {
    const char *type; /* "float32"; NULL: there is no such array */
    uint64_t offset_bytes;
    uint32_t components, count;
} PackageArray;

typedef struct PackageMesh {
    const char *name, *file;
    uint32_t vertex_count, triangle_count;
    PackageArray positions, indices, normals, tangents, uv, colors;
    uint32_t material;               /* the slot's, for its instances */
    float3 outline[PACKAGE_OUTLINE]; /* vertices that lie farthest in as many directions */
} PackageMesh;

typedef struct PackageInstance {
    const char *name;
    uint32_t mesh;
    mat4 transform;
} PackageInstance;

typedef enum PackageValueKind { PACKAGE_BOOL, PACKAGE_INT, PACKAGE_FLOATS } PackageValueKind;

typedef struct PackageParameter {
    const char *name; /* static */
    PackageValueKind kind;
    uint32_t count; /* of numbers; 1: not an array */
    float values[4];
} PackageParameter;

typedef struct PackageBinding {
    const char *handle; /* static */
    const char *file;
    const char *color_space, *wrap_u, *wrap_v; /* static */
} PackageBinding;

typedef struct PackageMaterial {
    const char *name, *shader; /* shader: static */
    PackageParameter parameters[PACKAGE_PARAMETERS_MAX];
    PackageBinding bindings[PACKAGE_BINDINGS_MAX];
    uint32_t parameter_count, binding_count;
    bool lights_scene; /* emits all over, so that no light need be made up */
} PackageMaterial;

typedef struct PackageCamera {
    const char *name;
    mat4 transform;
    float fov_y_deg;
    float height_m; /* above 0: orthographic, fov_y_deg without effect */
} PackageCamera;

typedef struct PackageLight {
    const char *name, *type; /* type: static */
    const char *color_field; /* static: "intensity" or "irradiance" */
    mat4 transform;
    float3 color;
    float inner_angle_deg, outer_angle_deg; /* spot */
    float angle_deg;                        /* distant */
} PackageLight;

typedef struct PackageRecords {
    const char *name;
    ARRAY(const char *) credits;
    uint32_t width_px, height_px;
    ARRAY(PackageMesh) meshes;
    ARRAY(PackageInstance) instances;
    ARRAY(PackageMaterial) materials;
    ARRAY(PackageCamera) cameras;
    ARRAY(PackageLight) lights;
    bool has_environment;
    float3 environment_color;
} PackageRecords;

/* scene.json as text. Out of memory: out->failed. */
void package_records_to_json(const PackageRecords *records, StrBuf *out);

#endif
