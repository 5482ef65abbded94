/* The section `meshes`. */
#include "base/check.h"
#include "sort/package/scene_parse.h"

/* The keys of a mesh after the first: [{"positions": ARRAY, "normals": ARRAY}, ...] */
static Status parse_later_keys(SceneParser *p, JsonCursor *c, uint32_t index, Error *err)
{
    static const MeshArrayRule positions = {MESH_LATER_POSITIONS, "motion.positions", ARRAY_FLOAT32,
                                            3, "vertices"},
                               normals = {MESH_LATER_NORMALS, "motion.normals", ARRAY_FLOAT32, 3,
                                          "vertices"};
    ASSERT(index < p->triangle_mesh_count);
    SceneMesh *mesh = &p->meshes[index];
    JsonCursor array, key, field;
    uint32_t count;
    TRY(parse_later(c, &array, &count, err));
    TRY(json_get_any(c, "normals", JSON_OPTIONAL, &field, err));
    bool has_normals = json_exists(&field);
    mesh->later = count > 0 ? ARENA_ARRAY(p->arena, SceneMeshKey, count) : NULL;
    mesh->later_count = count;
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &key);
        TRY(json_as_object(&key, err));
        TRY(json_get_any(&key, "positions", JSON_REQUIRED, &field, err));
        TRY(parse_array(p, &field, &positions, index, (int32_t)i, mesh->vertex_count, err));
        if (has_normals) {
            TRY(json_get_any(&key, "normals", JSON_REQUIRED, &field, err));
            TRY(parse_array(p, &field, &normals, index, (int32_t)i, mesh->vertex_count, err));
        }
        TRY(json_finish(&key, err));
    }
    return STATUS_OK;
}

/* Where the vertices are in the frames before and after. */
static Status parse_neighbour_positions(SceneParser *p, JsonCursor *c, uint32_t index, Error *err)
{
    static const MeshArrayRule rules[2] = {
        {MESH_NEIGHBOUR_POSITIONS, "previous", ARRAY_FLOAT32, 3, "vertices"},
        {MESH_NEIGHBOUR_POSITIONS, "next", ARRAY_FLOAT32, 3, "vertices"}};
    JsonCursor fields[2];
    bool has;
    TRY(parse_neighbours(c, fields, &has, err));
    for (int32_t k = 0; has && k < 2; ++k)
        TRY(parse_array(p, &fields[k], &rules[k], index, k, p->meshes[index].vertex_count, err));
    return STATUS_OK;
}

static Status parse_mesh(SceneParser *p, JsonCursor *c, uint32_t index, Error *err)
{
    static const MeshArrayRule rules[] = {
        {MESH_POSITIONS, "positions", ARRAY_FLOAT32, 3, "vertices"},
        {MESH_INDICES, "indices", ARRAY_UINT32, 3, "triangles"},
        {MESH_NORMALS, "normals", ARRAY_FLOAT32, 3, "vertices"},
        {MESH_TANGENTS, "tangents", ARRAY_FLOAT32, 4, "vertices"},
        {MESH_MATERIAL_INDICES, "material_indices", ARRAY_UINT16, 1, "triangles"},
    };
    SceneMesh *mesh = &p->meshes[index];
    JsonCursor field;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->mesh_names, &mesh->name, err));
    TRY(json_get_u32(c, "vertex_count", JSON_REQUIRED, 1, SCENE_VERTICES_MAX, &mesh->vertex_count,
                     err));
    TRY(json_get_u32(c, "triangle_count", JSON_REQUIRED, 1, SCENE_VERTICES_MAX,
                     &mesh->triangle_count, err));
    for (uint32_t i = 0; i < SORT_COUNT_OF(rules); ++i) {
        const MeshArrayRule *rule = &rules[i];
        bool is_required = rule->tag == MESH_POSITIONS || rule->tag == MESH_INDICES;
        bool is_per_triangle = rule->tag == MESH_INDICES || rule->tag == MESH_MATERIAL_INDICES;
        uint32_t elements = is_per_triangle ? mesh->triangle_count : mesh->vertex_count;
        TRY(json_get_any(c, rule->field, is_required ? JSON_REQUIRED : JSON_OPTIONAL, &field, err));
        if (json_exists(&field))
            TRY(parse_array(p, &field, rule, index, -1, elements, err));
    }
    TRY(parse_uv(p, c, index, "vertices", mesh->vertex_count, err));
    TRY(parse_mesh_attributes(p, c, index, err));
    TRY(parse_later_keys(p, c, index, err));
    TRY(parse_neighbour_positions(p, c, index, err));
    return json_finish(c, err);
}

Status parse_meshes(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, curves, c;
    uint32_t count, curve_count;
    TRY(parse_section(root, "meshes", JSON_OPTIONAL, SCENE_SECTION_MAX, &array, &count, err));
    TRY(parse_section(root, "curves", JSON_OPTIONAL, SCENE_SECTION_MAX, &curves, &curve_count,
                      err));
    p->meshes = ARENA_ARRAY(p->arena, SceneMesh, count + curve_count);
    p->triangle_mesh_count = count;
    p->scene->meshes = p->meshes;
    p->scene->mesh_count = count + curve_count;
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_mesh(p, &c, i, err));
    }
    return curve_count > 0 ? parse_curves(p, &curves, count, err) : STATUS_OK;
}
