/* The scene as data: what a package says, checked, immutable once loaded.
 *
 *   package --scene_load--> Scene --+--> accel_create()      triangles and light shapes to Embree
 *                                   +--> (shade) binds       shaders, parameters, textures to SSL
 *                                   +--> lights_create()     what can be sampled, with probabilities
 *                                   +--> camera_view_init()  rays
 *
 * Everything is a plain struct; references between sections are indices, already checked. Nothing
 * here compiles shaders or opens textures: materials keep names and values, textures a file name.
 * Conventions (docs/reference/scene-package.md): metres, right-handed, y up, linear Rec. 709 colour, matrices
 * act on column vectors. All pointers are owned by the Scene.
 *
 * Thread rule: a Scene may be read from any thread. */
#ifndef SORT_SCENE_SCENE_H
#define SORT_SCENE_SCENE_H

#include "base/error.h"
#include "base/mat4.h"
#include "base/str.h"
#include "sort/scene/scene_missing.h"
#include "sort/scene/settings.h"
#include "ssl/ssl_group.h"

enum {
    SCENE_NONE = -1,
    SCENE_UV_SETS_MAX = 8,
    SCENE_MESH_ATTRIBUTES_MAX = 32,
    SCENE_MATERIAL_SLOTS_MAX = 65536,
    SCENE_LIGHT_GROUPS_MAX = 8,
    SCENE_SHADER_AOVS_MAX = 8,
    SCENE_KEYS_MAX = 129 /* of a motion; Embree's limit */
};

typedef enum SceneCameraKind {
    SCENE_CAMERA_PERSPECTIVE,
    SCENE_CAMERA_ORTHOGRAPHIC,
    SCENE_CAMERA_EQUIRECTANGULAR, /* longitude to the right, latitude up */
    SCENE_CAMERA_FISHEYE,
    SCENE_CAMERA_EQUIANGULAR /* the face of a cube, by the angles from its middle to its sides */
} SceneCameraKind;

/* How the angle from the axis grows with the distance r from the middle, in radii of the circle. */
typedef enum SceneFisheye {
    SCENE_FISHEYE_EQUIDISTANT, /* evenly */
    SCENE_FISHEYE_EQUISOLID,   /* as asin does: areas are solid angles; all around, a mirror ball */
    SCENE_FISHEYE_POLYNOMIAL   /* as of polynomial[]; r is in the units of the window */
} SceneFisheye;

typedef struct SceneCamera {
    const char *name;
    SceneCameraKind kind;
    mat4 camera_to_world; /* looks along -z, y up; rotation and translation only */
    const mat4
        *keys; /* [key_count] the same over the shutter (motion.h); camera_to_world is its middle */
    uint32_t key_count; /* 0: stands still */
    float fov_y_rad;    /* perspective: full vertical angle of the picture */
    float height_m;     /* orthographic: of the window */
    float fov_rad;      /* fisheye: full angle of the circle; polynomial: nothing beyond is seen */
    SceneFisheye fisheye;
    bool has_window;     /* fisheye; else the circle's diameter is the shorter side */
    float window[4];     /* what the picture shows: left, right, bottom, top; in radii */
    float polynomial[5]; /* fisheye: radians, of r^0 to r^4 */
    float2 longitude_rad, latitude_rad; /* equirectangular, equiangular: from, to; 0 is ahead */
    float aperture_radius_m, focus_distance_m; /* perspective, orthographic */
    uint32_t aperture_blades;    /* those two: corners of the aperture, at its radius; 0: round */
    float aperture_rotation_rad; /* of the first corner from the right, counter-clockwise */
    float aperture_ratio;        /* its height over its width; 0: 1 */
    float pixel_aspect;          /* those two: width of a pixel over its height; 0: 1 */
    /* What is met before a scatter is looked for between: distances along the axis of a perspective or orthographic camera,
     * of others from the camera itself. */
    float clip_near_m, clip_far_m;
    float2 lens_shift; /* those two: the window moves right and up by these widths and heights */
} SceneCamera;

/* Numbers at the vertices of a mesh, or of an instance, for attribute<name> in shaders. */
typedef struct SceneAttribute {
    const char *name;
    uint32_t components; /* 1 to 4 */
    bool is_per_curve;   /* of curves: one a curve instead of one a point */
    const float
        *values; /* [vertex_count or curve_count][components]; of an instance [components] */
} SceneAttribute;

typedef enum SceneCurveBasis {
    SCENE_CURVE_LINEAR,
    SCENE_CURVE_BEZIER,
    SCENE_CURVE_B_SPLINE,
    SCENE_CURVE_CATMULL_ROM
} SceneCurveBasis;

/* Hair, grass, wire. A curve is a run of control points, cut into segments of two (linear) or four points; what
 * a segment is mathematically: curve.h. */
typedef struct SceneCurves {
    SceneCurveBasis basis;
    bool is_ribbon; /* flat, always facing who looks; else a tube, whose inside is not there */
    uint32_t curve_count, segment_count;
    const float *points;           /* [vertex_count][4] x, y, z, radius; object space */
    const float *const *later;     /* [later_count] the same, keys of the motion after the first */
    const uint32_t *point_counts;  /* [curve_count] */
    const uint32_t *segments;      /* [segment_count] index of its first point */
    const uint32_t *first_segment; /* [curve_count + 1] */
} SceneCurves;

/* What a mesh is later in the shutter. */
typedef struct SceneMeshKey {
    const float *positions, *normals; /* as in the mesh; normals NULL where its are */
} SceneMeshKey;

/* Triangles, or curves: then there are no triangles, vertices are control points, and uv and material_indices
 * are per curve. Triangles are counter-clockwise seen from the front, in object space. The arrays are padded so
 * that 16 bytes may be read at the last vertex. */
typedef struct SceneMesh {
    const char *name;
    const SceneCurves *curves; /* NULL: triangles */
    uint32_t vertex_count, triangle_count, uv_count;
    const float *positions;  /* [vertex_count][3] */
    const uint32_t *indices; /* [triangle_count][3], each < vertex_count */
    const float *normals;    /* [vertex_count][3] unit or zero (none), or NULL: flat faces */
    const float *tangents;   /* [vertex_count][4], w = handedness; zero or NULL: from uv */
    const float *uv[SCENE_UV_SETS_MAX]; /* [vertex_count][2] each; uv_count of them */
    const SceneAttribute *attributes;   /* [attribute_count] */
    uint32_t attribute_count;
    const uint16_t *material_indices; /* [triangle_count] slot of the instance, or NULL: all 0 */
    const SceneMeshKey
        *later; /* [later_count] keys of its motion; the first are positions and normals */
    uint32_t
        later_count; /* 0: keeps its shape; else vertices move linearly (motion.h); of curves, too */
} SceneMesh;

/* Rays that may not see an instance. */
typedef enum SceneRays {
    SCENE_RAYS_CAMERA = 1, /* and what it sees through transparent surfaces */
    SCENE_RAYS_DIFFUSE = 2,
    SCENE_RAYS_GLOSSY = 4, /* reflected, and not diffusely */
    SCENE_RAYS_TRANSMISSION = 8,
    SCENE_RAYS_SHADOW = 16, /* it throws no shadow */
    SCENE_RAYS_BOUNCED = SCENE_RAYS_DIFFUSE | SCENE_RAYS_GLOSSY | SCENE_RAYS_TRANSMISSION
} SceneRays;

/* Which paths a light is for, and what stops them. All zero: for all of them. */
typedef struct SceneLightVisibility {
    uint32_t
        invisible_to; /* SceneRays but for the shadow's: what comes this way from a surface, or to the
                            * camera, sees no light */
    uint32_t
        bounce_limit;  /* 0: none; else it lights surfaces that paths reach with fewer bounces */
    bool is_permeable; /* rays take its light along and go on through its surface */
    bool
        is_shadowless; /* nothing stops its light, but for what rays see by chance, as in mirrors */
    bool is_sampled_only; /* no ray meets it, as if it were a point */
} SceneLightVisibility;

typedef struct SceneInstance {
    const char *name;
    uint32_t mesh;
    uint32_t material_count;          /* every material index of the mesh is below it */
    const uint32_t *materials;        /* [material_count] index into Scene.materials, by slot */
    const SceneAttribute *attributes; /* [attribute_count] of the whole object: one value each */
    uint32_t attribute_count;
    uint32_t light_group;                  /* of what it emits, as SceneLight.light_group */
    SceneLightVisibility light_visibility; /* the same; it is never permeable */
    uint32_t invisible_to;                 /* SceneRays */
    bool is_holdout;                       /* the camera sees a hole in the picture */
    bool is_shadow_catcher; /* the camera sees, of it, what light others take from it (film.h) */
    bool is_lamp;           /* its light is no other object's, to them */
    mat4 object_to_world, world_to_object; /* of one that moves: in the middle of the shutter */
    bool
        is_mirrored; /* negative determinant: world winding is clockwise; the front stays the front */
    const mat4 *keys;   /* [key_count] object to world over the shutter, see motion.h */
    uint32_t key_count; /* 0: stands still */
} SceneInstance;

/* A texture as materials and the environment name it. Equal ones are one entry. */
typedef enum SceneColorSpace {
    SCENE_COLOR_AUTO, /* what the file says */
    SCENE_COLOR_SRGB,
    SCENE_COLOR_LINEAR,
    SCENE_COLOR_RAW /* data: no conversion */
} SceneColorSpace;

typedef enum SceneWrap {
    SCENE_WRAP_FILE, /* what the file says */
    SCENE_WRAP_PERIODIC,
    SCENE_WRAP_CLAMP,
    SCENE_WRAP_MIRROR,
    SCENE_WRAP_BLACK
} SceneWrap;

typedef struct SceneTexture {
    const char *name; /* as in the package, for messages */
    const char
        *path; /* a file on disk: inside the package folder, extracted, or of --texture-path */
    bool is_missing; /* there is none; path is "" */
    SceneColorSpace color_space;
    SceneWrap wrap_u, wrap_v;
} SceneTexture;

/* SSL source of the package, or the name of a unit of SORT's library. Equal ones are one entry. */
typedef struct SceneShader {
    const char *name; /* "shaders/board.ssl"; for a unit its name alone: "gltf_pbr" */
    bool is_unit;
    Str text; /* UTF-8, NUL-terminated; empty for units */
} SceneShader;

typedef struct SceneAttributeBinding {
    const char *name;   /* of the attribute in the SSL source; in a group "node.attribute" */
    const char *source; /* in the mesh */
} SceneAttributeBinding;

/* One use of a shader, or of a group of them; in other words a node without wires. In groups, too,
 * SslGroupNode.shader_id is an index into Scene.shaders, and SslGroupTexture.id one into
 * Scene.textures. */
typedef struct SceneMaterial {
    const char *name;
    const SslGroupDesc *group; /* one of Scene.groups, or the material's own; NULL: */
    uint32_t shader;           /* index into Scene.shaders */
    const char *entry;         /* which shader of the file, or NULL */
    const SslGroupValue *parameters;
    const SslGroupTexture *textures;
    const SceneAttributeBinding *attributes;
    uint32_t parameter_count, texture_count, attribute_count;
    bool shadows_bumps; /* see bsdf_shadow_bumps */
    const char *place;  /* "materials[3]" */
} SceneMaterial;

typedef enum SceneLightKind {
    SCENE_LIGHT_POINT,
    SCENE_LIGHT_SPOT,
    SCENE_LIGHT_DISTANT,
    SCENE_LIGHT_RECTANGLE,
    SCENE_LIGHT_DISK, /* or ellipse */
    SCENE_LIGHT_SPHERE
} SceneLightKind;

/* How a spot fades between its angles, with t = (cos a - cos outer) / (cos inner - cos outer). */
typedef enum SceneFalloff {
    SCENE_FALLOFF_SQUARE,       /* t^2 */
    SCENE_FALLOFF_SMOOTH,       /* 3 t^2 - 2 t^3 */
    SCENE_FALLOFF_SMOOTH_COSINE /* the same times cos a, inside too */
} SceneFalloff;

typedef struct SceneLight {
    const char *name;
    SceneLightKind kind;
    mat4 light_to_world; /* rotation and translation only; shines along -z */
    float3 emission; /* point, spot: intensity W/sr; distant: irradiance W/m2; others: radiance */
    float inner_angle_rad, outer_angle_rad; /* spot: half angles from the axis */
    float angle_rad;          /* distant: full angle of the disk in the sky; 0: delta */
    float size_x_m, size_y_m; /* rectangle, disk (its diameters): centred in the xy plane */
    float spread_rad;         /* those: full angle of the cone that they shine into; 0: all of it */
    SceneFalloff falloff;     /* spot */
    float radius_m;       /* sphere; point, spot: of a disk that faces whoever looks; may be 0 */
    bool is_two_sided;    /* rectangle, disk */
    uint32_t material;    /* index into Scene.materials + 1: what it emits is a factor; 0: none */
    uint32_t light_group; /* 0: none; else light_groups[light_group - 1] of the scene */
    SceneLightVisibility visibility;
} SceneLight;

typedef enum SceneEnvironmentKind {
    SCENE_ENVIRONMENT_NONE,
    SCENE_ENVIRONMENT_COLOR,
    SCENE_ENVIRONMENT_IMAGE,
    SCENE_ENVIRONMENT_MATERIAL
} SceneEnvironmentKind;

typedef struct SceneEnvironment {
    SceneEnvironmentKind kind;
    float3 radiance;                 /* kind COLOR: with the strength multiplied in */
    float strength;                  /* kind IMAGE: factor on the image; else 1 */
    uint32_t texture;                /* kind IMAGE: index into Scene.textures */
    uint32_t light_group;            /* as SceneLight.light_group */
    SceneLightVisibility visibility; /* only the first two */
    uint32_t material;               /* kind MATERIAL: index into Scene.materials; what it emits */
    mat4 environment_to_world, world_to_environment; /* rotations */
} SceneEnvironment;

typedef struct SceneStorage SceneStorage; /* the memory behind it all */

typedef struct Scene {
    const char *name;
    const char *const *credits;
    const char *const
        *light_groups; /* [light_group_count] names, in the order in which they come */
    uint32_t light_group_count;
    const char *const *shader_aovs; /* [shader_aov_count] names, by slot of closure Aov */
    uint32_t shader_aov_count;
    const SceneCamera *cameras;
    const SceneMesh *meshes; /* triangles first, then curves */
    const SceneInstance *instances;
    const SceneMaterial *materials;
    const SceneShader *shaders;
    const SslGroupDesc *groups; /* that materials and one another name */
    const SceneTexture *textures;
    const SceneLight *lights;
    uint32_t credit_count, camera_count, mesh_count, instance_count, material_count, shader_count,
        group_count, texture_count, light_count;
    SceneEnvironment environment;
    SceneSettings settings;
    uint64_t array_bytes; /* memory of all mesh arrays */
    uint64_t
        memory_limit_bytes; /* for any one thing that is built from it: what the size of its files explains; 0: none */
    uint32_t missing_count; /* texture files that are not there (an environment's among them) */
    SceneStorage *storage;
} Scene;

void scene_destroy(Scene *scene); /* NULL is fine; nothing made from it may be in use */

/* Index of the camera called `name`, or SCENE_NONE. */
int64_t scene_find_camera(const Scene *scene, const char *name);

/* Sets both matrices and is_mirrored. False when the transform has no inverse. */
bool scene_instance_set_transform(SceneInstance *instance, mat4 object_to_world);

/* Makes it move: both matrices become those of the middle of the shutter. `keys` are borrowed for as long as
 * the instance is used. False when it has no inverse at some time (motion_is_invertible). */
bool scene_instance_set_motion(SceneInstance *instance, const mat4 *keys, uint32_t key_count);

/* The instance as it stands at `time` in [0, 1] of the shutter: without keys. */
SceneInstance scene_instance_at(const SceneInstance *instance, float time);

/* Triangles, or segments of curves, that it has; and the material slot of one of them. */
uint32_t scene_primitive_count(const SceneMesh *mesh);
uint32_t scene_material_slot(const SceneMesh *mesh, uint32_t primitive);

/* It or its mesh moves. */
bool scene_instance_moves(const Scene *scene, uint32_t instance);

/* The positions (normals: of a mesh that has them) of three vertices at `time`, in object space. */
void scene_mesh_positions_at(const SceneMesh *mesh, const uint32_t vertices[3], float time,
                             float3 out_positions[3]);
void scene_mesh_normals_at(const SceneMesh *mesh, const uint32_t vertices[3], float time,
                           float3 out_normals[3]);

/* World-space corners of a triangle, at `time` in [0, 1] of the shutter, or in its middle. */
void scene_triangle_at(const Scene *scene, uint32_t instance, uint32_t triangle, float time,
                       float3 out_corners[3]);
void scene_triangle(const Scene *scene, uint32_t instance, uint32_t triangle,
                    float3 out_corners[3]);

#endif
