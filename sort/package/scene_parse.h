/* scene.json to a Scene, except what lies in binary arrays. Private to sort/package.
 *
 *   scene_load.c     opens the package, calls scene_parse, reads the arrays that it asked for,
 *                    checks them against each other
 *   scene_parse.c    top level, settings, cameras
 *   parse_fields.c, parse_transform.c  what the fields of all sections are made of
 *   parse_meshes.c, parse_curves.c, parse_instances.c, parse_lights.c, parse_portals.c,
 *   parse_material.c
 *
 * Refusals name the file and the field path through base/json.h. Memory comes from one arena whose
 * exhaustion ends the parse by a jump, so nothing here checks for it. */
#ifndef SORT_PACKAGE_SCENE_PARSE_H
#define SORT_PACKAGE_SCENE_PARSE_H

#include "base/array.h"
#include "base/json.h"
#include "sort/package/name_index.h"
#include "sort/package/package_array.h"
#include "sort/package/package_names.h"
#include "sort/package/scene_load.h"
#include "sort/scene/scene.h"
#include <setjmp.h>

enum {
    SCENE_JSON_BYTES_MAX = 256 << 20,
    SCENE_SHADER_BYTES_MAX = 16 << 20,
    SCENE_INSTANCES_MAX = 1 << 24,
    SCENE_PORTALS_MAX = 1 << 10, /* light sampling weighs all of them */
    SCENE_SECTION_MAX = 1 << 20, /* of the other sections */
    SCENE_VERTICES_MAX = 0x7fffffff
};

typedef enum MeshArray {
    MESH_POSITIONS,
    MESH_INDICES,
    MESH_NORMALS,
    MESH_TANGENTS,
    MESH_UV,
    MESH_ATTRIBUTE,
    MESH_LATER_POSITIONS, /* set: which key */
    MESH_LATER_NORMALS,
    MESH_NEIGHBOUR_POSITIONS, /* set: a SceneNeighbour */
    MESH_MATERIAL_INDICES,
    CURVE_POINTS,
    CURVE_POINT_COUNTS,
    CURVE_LATER_POINTS,
    COPY_TRANSFORMS /* of instances: mesh is an index into SceneParser.copies */
} MeshArray;        /* ArrayRequest.tag */

/* A texture of a zip, or a file of a UDIM set, to be written to a folder. */
typedef struct TextureExtract {
    const char *file;    /* in the package */
    const char *texture; /* the same, or the set's pattern */
    const char *field;   /* who asked for it first */
    uint32_t file_id;    /* index into texture_paths */
} TextureExtract;

/* An entry of `instances` that stands for many: instances[first] to [first + count - 1], whose transforms are read with the
 * other arrays. */
typedef struct InstanceCopies {
    uint32_t entry; /* in scene.json */
    uint32_t first, count;
    const float *rows; /* [count][3][4], once they are read */
} InstanceCopies;

typedef struct SceneParser {
    Package *package;                /* borrowed */
    const SceneLoadOptions *options; /* borrowed */
    Arena *arena;                    /* borrowed; keeps what the Scene points at */
    Scene *scene;                    /* in the arena */
    JsonDoc *doc;                    /* owned */
    jmp_buf no_memory;

    SceneMesh *meshes;            /* the same as scene->meshes, to be filled in */
    uint32_t triangle_mesh_count; /* those behind are curves */
    ARRAY(ArrayRequest) arrays;
    ARRAY(InstanceCopies) copies; /* by entry */
    SceneInstance *instances;     /* the same as scene->instances, to be filled in */
    ARRAY(SceneTexture) textures;
    ARRAY(SceneShader) shaders;
    SslGroupReader groups; /* and the definitions that it has read */
    ARRAY(TextureExtract) extracts;
    ARRAY(const char *) texture_paths; /* by file id; NULL until extracted */
    ARRAY(uint32_t) texture_file;      /* by texture: its file id */

    NameIndex camera_names, mesh_names, curve_names, light_group_names, instance_names,
        material_names, light_names, portal_names;
    NameIndex shader_names, texture_keys, texture_files;
} SceneParser;

/* `text` is scene.json, `name` what messages call it. */
Status scene_parse(SceneParser *parser, const char *name, Str text, Error *err) SORT_MUST_CHECK;
/* After scene_parse: claims all files that the scene is read from (SceneLoadOptions.claims). */
Status scene_claim_files(const SceneParser *parser, Error *err) SORT_MUST_CHECK;
/* Frees what the parser owns. */
void scene_parser_free(SceneParser *parser);

/* --- for the parse_*.c files --- */

/* A status from below, told with the field that caused it. */
Status parse_at_field(const JsonCursor *c, Status status, Error *err) SORT_MUST_CHECK;
/* As json_fail, with another status. */
Status parse_refuse(const JsonCursor *c, Status status, Error *err, const char *format, ...)
    SORT_PRINTF(4, 5);
#define parse_refuse(...) error_failed(parse_refuse(__VA_ARGS__))
/* A required *name*, copied to the arena, new in its section. */
Status scene_parse_name(SceneParser *p, JsonCursor *object, NameIndex *names, const char **out_name,
                        Error *err) SORT_MUST_CHECK;
/* The index of the section's entry that the string under the cursor names. */
Status parse_reference(const JsonCursor *c, const NameIndex *names, const char *what,
                       uint32_t *out_index, Error *err) SORT_MUST_CHECK;

/* A name's length and characters. */
Status parse_check_name(const JsonCursor *c, const char *name, Error *err) SORT_MUST_CHECK;
/* Fields of `object` that leave the result alone when they are optional and absent: an angle between
 * `above` and `below` degrees, in radians; a number above 0; a colour without negative components. */
Status parse_degrees(JsonCursor *object, const char *field, JsonNeed need, double above,
                     double below, float *out_rad, Error *err) SORT_MUST_CHECK;
Status parse_positive(JsonCursor *object, const char *field, JsonNeed need, float *out_value,
                      Error *err) SORT_MUST_CHECK;
Status parse_color(JsonCursor *object, const char *field, JsonNeed need, float3 *out_color,
                   Error *err) SORT_MUST_CHECK;

/* The field `invisible_to`, of SceneRays: ["camera", "shadow"]; lights have no "shadow". */
Status parse_visibility(JsonCursor *c, bool has_shadow, uint32_t *out_rays,
                        Error *err) SORT_MUST_CHECK;

/* The field `transform`; *out_transform is left alone when it is optional and absent. */
Status parse_transform(JsonCursor *object, JsonNeed need, JsonCursor *out_cursor,
                       mat4 *out_transform, Error *err) SORT_MUST_CHECK;
/* Makes the axes exact unit vectors at right angles, and refuses what is far from it or mirrors. Axes of a camera may have any
 * length, and be left-handed. */
Status parse_rigid(const JsonCursor *c, bool is_camera, mat4 *transform,
                   Error *err) SORT_MUST_CHECK;
/* `transform` or `motion`. */
Status parse_instance_transform(SceneParser *p, JsonCursor *object, SceneInstance *instance,
                                Error *err) SORT_MUST_CHECK;
Status parse_camera_transform(SceneParser *p, JsonCursor *object, SceneCamera *camera,
                              Error *err) SORT_MUST_CHECK;

/* The fields `previous` and `next` of an object, by SceneNeighbour: none, then *out_has is false, or both. */
Status parse_neighbours(JsonCursor *object, JsonCursor out_fields[2], bool *out_has,
                        Error *err) SORT_MUST_CHECK;
/* The transforms that these are; *out_transforms stays when there are none. */
Status parse_neighbour_transforms(SceneParser *p, JsonCursor *object, const mat4 **out_transforms,
                                  Error *err) SORT_MUST_CHECK;

/* A section: an array of objects, at most `most`. */
Status parse_section(JsonCursor *root, const char *name, JsonNeed need, uint32_t most,
                     JsonCursor *out_array, uint32_t *out_count, Error *err) SORT_MUST_CHECK;

/* The rule for an ARRAY. */
typedef struct MeshArrayRule {
    MeshArray tag;
    const char *field;
    ArrayType type;
    uint32_t components;  /* 0: any */
    const char *elements; /* what there is one of, "vertices" */
} MeshArrayRule;

/* `c` stands on an ARRAY of Scene.meshes[mesh], as many elements as given. */
Status parse_array(SceneParser *p, JsonCursor *c, const MeshArrayRule *rule, uint32_t mesh,
                   int32_t set, uint32_t elements, Error *err) SORT_MUST_CHECK;
/* The owner of arrays, which messages call "section[index]". */
typedef struct ArrayOwner {
    const char *section, *what; /* "the mesh" */
    uint32_t index;
    uint32_t key; /* ArrayRequest.mesh */
} ArrayOwner;
Status parse_owned_array(SceneParser *p, JsonCursor *c, const MeshArrayRule *rule,
                         const ArrayOwner *owner, int32_t set, uint32_t elements,
                         Error *err) SORT_MUST_CHECK;
/* Gives instances that an entry stands for their transforms, when the arrays are read. */
Status instances_finish(SceneParser *p, Error *err) SORT_MUST_CHECK;
/* The field `uv`, per `elements`. */
Status parse_uv(SceneParser *p, JsonCursor *c, uint32_t index, const char *what, uint32_t elements,
                Error *err) SORT_MUST_CHECK;
/* The field `attributes`. */
Status parse_mesh_attributes(SceneParser *p, JsonCursor *c, uint32_t index,
                             Error *err) SORT_MUST_CHECK;
/* The field `motion` of what changes shape: keys after the first. *out_count 0: there are none. */
Status parse_later(JsonCursor *c, JsonCursor *out_array, uint32_t *out_count,
                   Error *err) SORT_MUST_CHECK;
/* Parses the section `meshes`, and after it `curves`. */
Status parse_meshes(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;
/* The section `curves` into p->meshes from `first` on. */
Status parse_curves(SceneParser *p, const JsonCursor *array, uint32_t first,
                    Error *err) SORT_MUST_CHECK;

/* Checks the arrays of curves[index] and lists their segments, in `arena`. */
Status curves_finish(Arena *arena, SceneMesh *mesh, uint32_t index, Error *err) SORT_MUST_CHECK;

/* A name that becomes part of a layer's; `what` it is of, for messages. The copy is the scene's. */
Status parse_layer_name(SceneParser *p, JsonCursor *field, const char *what, const char **out_name,
                        Error *err);
/* The field `light_group`: a name, which need not be declared; *out_group counts from 1. */
Status parse_light_group(SceneParser *p, JsonCursor *c, uint32_t *out_group,
                         Error *err) SORT_MUST_CHECK;
/* The field `light` of an instance: which paths its emission is for, and that it is a lamp. */
Status parse_emitted_paths(JsonCursor *c, SceneInstance *instance, Error *err) SORT_MUST_CHECK;
/* Lists the light groups in the scene when all have been met. */
void parse_light_groups_end(SceneParser *p);
Status parse_lights(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;
Status parse_environment(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;
Status parse_portals(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;
Status parse_cameras(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;
Status parse_instances(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;

Status parse_materials(SceneParser *p, JsonCursor *root, Error *err) SORT_MUST_CHECK;
/* has_wrap: false for the environment, whose wrap is fixed. */
Status parse_texture(SceneParser *p, JsonCursor *texture, bool has_wrap, uint32_t *out_texture,
                     Error *err) SORT_MUST_CHECK;

#endif
