/* The scene as data: the contents of a package, checked, and immutable once loaded.
 *
 *   package --scene_load--> Scene --+--> accel_create()      triangles and light shapes to Embree
 *                                   +--> (shade) binds       shaders, parameters, textures to SSL
 *                                   +--> lights_create()     light sources, with probabilities
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
    SCENE_LINK_SETS_MAX = 64,
    SCENE_KEYS_MAX = 129 /* keys of a motion: Embree's limit */
};

/* Coordinates in the world are smaller: Embree drops or refuses what lies farther out [rtcore: valid range of bounds]. */
#define SCENE_REACH_MAX_M 1e18f

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
    SCENE_FISHEYE_POLYNOMIAL   /* by polynomial[]; r is in the units of the window */
} SceneFisheye;

/* Frames beside the one that is rendered, where things are elsewhere (neighbours.h). */
typedef enum SceneNeighbour { SCENE_PREVIOUS, SCENE_NEXT } SceneNeighbour;

typedef struct SceneCamera {
    const char *name;
    SceneCameraKind kind;
    mat4 camera_to_world; /* looks along -z, y up; rotation and translation only */
    /* [key_count] camera_to_world over the shutter (motion.h), whose middle the field above is. 0: it stands still. */
    const mat4 *keys;
    uint32_t key_count;
    /* [2] by SceneNeighbour, without names and neighbours of their own; NULL: not known. */
    const struct SceneCamera *neighbours;
    float fov_y_rad; /* perspective: full vertical angle of the picture */
    float height_m;  /* orthographic: height of the window */
    float fov_rad;   /* fisheye: full angle of the circle, outside of which the picture is empty */
    SceneFisheye fisheye;
    bool has_window;     /* fisheye; else the circle's diameter is the shorter side */
    float window[4];     /* edges of the picture: left, right, bottom, top; in radii */
    float polynomial[5]; /* fisheye: the angle in radians, coefficients of r^0 to r^4 */
    float2 longitude_rad, latitude_rad; /* equirectangular, equiangular: from, to; 0 is ahead */
    float aperture_radius_m, focus_distance_m; /* perspective, orthographic */
    /* Perspective and orthographic: corners of the aperture, which lie at its radius (0: round), the angle of the first
     * one from the right, counter-clockwise, and the aperture's height over its width (0: 1). */
    uint32_t aperture_blades;
    float aperture_rotation_rad, aperture_ratio;
    /* Perspective and orthographic: width of a pixel over its height; 0: 1. */
    float pixel_aspect;
    /* Camera rays meet surfaces between these distances only: along the axis of a perspective or orthographic camera,
     * from the camera itself for the other kinds. */
    float clip_near_m, clip_far_m;
    /* Perspective and orthographic: the window moves right and up by these fractions of its width and height. */
    float2 lens_shift;
} SceneCamera;

/* Numbers at the vertices of a mesh, or of an instance, for attribute<name> in shaders. */
typedef struct SceneAttribute {
    const char *name;
    uint32_t components; /* 1 to 4 */
    /* The values of a mesh of curves belong to curves, not to points. */
    bool is_per_curve;
    /* [vertex_count or curve_count][components]; [components] for an instance. */
    const float *values;
} SceneAttribute;

typedef enum SceneCurveBasis {
    SCENE_CURVE_LINEAR,
    SCENE_CURVE_BEZIER,
    SCENE_CURVE_B_SPLINE,
    SCENE_CURVE_CATMULL_ROM
} SceneCurveBasis;

/* Hair, grass, wire. A curve is a run of control points, cut into segments of two (linear) or four points. curve.h has
 * the equations of a segment. */
typedef struct SceneCurves {
    SceneCurveBasis basis;
    bool is_ribbon; /* flat, and faces the ray's origin; else a tube, which has no inside */
    uint32_t curve_count, segment_count;
    const float *points;           /* [vertex_count][4] x, y, z, radius; object space */
    const float *const *later;     /* [later_count] points at the later keys of the motion */
    const uint32_t *point_counts;  /* [curve_count] */
    const uint32_t *segments;      /* [segment_count] index of its first point */
    const uint32_t *first_segment; /* [curve_count + 1] */
} SceneCurves;

/* The vertices of a mesh at a later key of its motion. */
typedef struct SceneMeshKey {
    const float *positions, *normals; /* as in the mesh; normals are NULL if the mesh has none */
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
    /* [later_count] keys of the motion after the first, which is `positions` and `normals`. Vertices move linearly from
     * key to key (motion.h), control points of curves too. 0: the mesh keeps its shape. */
    const SceneMeshKey *later;
    uint32_t later_count;
    /* By SceneNeighbour: [vertex_count][3] positions there; NULL: not known. */
    const float *neighbours[2];
} SceneMesh;

/* Kinds of rays, for the visibility of instances and lights. */
typedef enum SceneRays {
    SCENE_RAYS_CAMERA = 1, /* also after transparent surfaces */
    SCENE_RAYS_DIFFUSE = 2,
    SCENE_RAYS_GLOSSY = 4, /* reflected by any lobe that is not diffuse */
    SCENE_RAYS_TRANSMISSION = 8,
    SCENE_RAYS_SHADOW = 16,
    SCENE_RAYS_BOUNCED = SCENE_RAYS_DIFFUSE | SCENE_RAYS_GLOSSY | SCENE_RAYS_TRANSMISSION
} SceneRays;

/* Which rays and paths see a light. All zero: all of them do. */
typedef struct SceneLightVisibility {
    /* SceneRays without SHADOW: rays of these kinds do not see the light, nor does light sampling for such bounces. */
    uint32_t invisible_to;
    /* The light illuminates surfaces that paths reach with fewer bounces than this; 0: no limit. */
    uint32_t bounce_limit;
    /* Rays pick up the light's radiance and go on through its surface. */
    bool is_permeable;
    /* Nothing blocks the light but for delta lobes, whose rays see it only where nothing lies between. */
    bool is_shadowless;
    /* Rays do not meet the light, as if it were a point. */
    bool is_sampled_only;
    /* Bits by SceneInstance.link_set: instances that the light does not illuminate; and that do not block it. Light that some
     * do not block is found by light sampling alone, but for delta lobes, whose rays see it where nothing lies between. */
    uint64_t unlit_sets, open_sets;
} SceneLightVisibility;

typedef struct SceneInstance {
    const char *name;
    uint32_t mesh;
    /* [material_count] index into Scene.materials, by slot. Every slot that the mesh names exists. */
    uint32_t material_count;
    const uint32_t *materials;
    /* [attribute_count] attributes of the whole object, with one value each. */
    const SceneAttribute *attributes;
    uint32_t attribute_count;
    /* Light group and visibility of the light that it emits, as in SceneLight; it is never permeable. */
    uint32_t light_group;
    SceneLightVisibility light_visibility;
    /* The set that lights know the instance by, below SCENE_LINK_SETS_MAX. */
    uint32_t link_set;
    /* SceneRays that do not see the instance. */
    uint32_t invisible_to;
    /* The camera sees a hole in the picture in its place. */
    bool is_holdout;
    /* The camera sees only the light that other objects take away from it (film.h). */
    bool is_shadow_catcher;
    /* Shadow catchers count its light as a lamp's, not as one that another object brings. */
    bool is_lamp;
    /* Light that it refracts is looked for from the surfaces of receivers (sort/integrator/caustics.h). */
    bool is_caustics_caster, is_caustics_receiver;
    /* The transform; of an instance that moves, the one in the middle of the shutter. */
    mat4 object_to_world, world_to_object;
    /* The determinant is negative, so that triangles are clockwise in world space; their front stays the front. */
    bool is_mirrored;
    /* [key_count] object to world over the shutter, see motion.h; 0: it stands still. */
    const mat4 *keys;
    uint32_t key_count;
    /* [2] by SceneNeighbour: object to world there; NULL: not known. */
    const mat4 *neighbours;
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

/* One use of a shader, or of a group of them: a node without wires. In it, and in the nodes of groups,
 * shader_id is an index into Scene.shaders, and SslGroupTexture.id one into Scene.textures. */
typedef struct SceneMaterial {
    const char *name;
    SslGroupNode node;      /* its group is one of Scene.groups, or the material's own */
    bool shadows_bumps;     /* diffuse light fades at its own normal: see BsdfView.unbent */
    bool soft_bump_shadows; /* as on a rough surface; not by the angle alone */
    bool keeps_radiance;    /* of refracted light, which else changes with the index squared */
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
    float radius_m;    /* sphere; point, spot: of the disk that faces the ray's origin; may be 0 */
    bool is_two_sided; /* rectangle, disk */
    /* It is looked for through casters of caustics. */
    bool is_caustics_light;
    /* Index into Scene.materials + 1 of the material whose emission multiplies `emission`; 0: none. */
    uint32_t material;
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
    SceneLightVisibility visibility; /* only invisible_to, bounce_limit and unlit_sets */
    bool is_caustics_light;          /* as SceneLight.is_caustics_light */
    uint32_t material; /* kind MATERIAL: index into Scene.materials of the emitting one */
    mat4 environment_to_world, world_to_environment; /* rotations */
} SceneEnvironment;

/* A rectangle where light of the environment comes in, such as a window: it tells light sampling where to look, and is
 * nothing else. */
typedef struct ScenePortal {
    const char *name;
    mat4 portal_to_world;     /* rotation and translation only; light comes in along -z */
    float size_x_m, size_y_m; /* centred in the xy plane */
} ScenePortal;

typedef struct SceneStorage SceneStorage; /* owns the memory of a Scene */

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
    const ScenePortal *portals;
    uint32_t credit_count, camera_count, mesh_count, instance_count, material_count, shader_count,
        group_count, texture_count, light_count, portal_count;
    SceneEnvironment environment;
    SceneSettings settings;
    uint64_t array_bytes; /* memory of all mesh arrays */
    /* The most memory that any one structure built from the scene may take, by the size of its files; 0: no limit. */
    uint64_t memory_limit_bytes;
    uint32_t missing_count; /* texture files that do not exist, the environment's included */
    SceneStorage *storage;
} Scene;

/* NULL is fine. Nothing that borrows the scene may be in use. */
void scene_destroy(Scene *scene);

/* Index of the camera called `name`, or SCENE_NONE. */
int64_t scene_find_camera(const Scene *scene, const char *name);

/* Sets both matrices and is_mirrored. False when the transform has no inverse. */
bool scene_instance_set_transform(SceneInstance *instance, mat4 object_to_world);

/* Makes the instance move: both matrices become those of the middle of the shutter. `keys` are borrowed for as long as
 * the instance is used. Returns false when the transform has no inverse at some time (motion_is_invertible). */
bool scene_instance_set_motion(SceneInstance *instance, const mat4 *keys, uint32_t key_count);

/* Returns a copy of the instance as it stands at `time` in [0, 1] of the shutter, without keys. */
SceneInstance scene_instance_at(const SceneInstance *instance, float time);

/* Returns the number of triangles or curve segments; and the material slot of one of them. */
uint32_t scene_primitive_count(const SceneMesh *mesh);
uint32_t scene_material_slot(const SceneMesh *mesh, uint32_t primitive);

/* Returns whether the instance or its mesh moves. */
bool scene_instance_moves(const Scene *scene, uint32_t instance);

/* Returns the positions of three vertices at `time` in [0, 1] of the shutter, in object space; and their normals, which
 * the mesh must have. */
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
