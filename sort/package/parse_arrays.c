/* The fields that meshes and curves share: ARRAYs, uv, attributes, keys after the first. */
#include "base/check.h"
#include "sort/package/scene_parse.h"
#include <string.h>

Status parse_array(SceneParser *p, JsonCursor *c, const MeshArrayRule *rule, uint32_t mesh,
                   int32_t set, uint32_t elements, Error *err)
{
    ASSERT(mesh < p->scene->mesh_count);
    bool is_mesh = mesh < p->triangle_mesh_count;
    ArrayOwner owner = {.section = is_mesh ? "meshes" : "curves",
                        .what = is_mesh ? "the mesh" : "this entry",
                        .index = is_mesh ? mesh : mesh - p->triangle_mesh_count,
                        .key = mesh};
    return parse_owned_array(p, c, rule, &owner, set, elements, err);
}

Status parse_owned_array(SceneParser *p, JsonCursor *c, const MeshArrayRule *rule,
                         const ArrayOwner *owner, int32_t set, uint32_t elements, Error *err)
{
    static const char *const types[ARRAY_TYPE_COUNT] = {"float32", "uint32", "uint16"};
    static const char *const compressions[] = {"none", "zlib"};
    ASSERT((size_t)rule->type < SORT_COUNT_OF(types) && rule->components <= 4);
    uint32_t type, components, compression = 0;
    int64_t offset = 0, count, stored;
    JsonCursor file, field;
    const char *name;
    TRY(json_as_object(c, err));
    TRY(json_get_any(c, "file", JSON_REQUIRED, &file, err));
    TRY(json_as_string(&file, &name, err));
    TRY(parse_at_field(&file, package_check_name(name, err), err));
    TRY(json_get_int(c, "offset_bytes", JSON_OPTIONAL, 0, INT64_MAX, &offset, err));
    TRY(json_get_choice(c, "type", JSON_REQUIRED, types, ARRAY_TYPE_COUNT, &type, err));
    TRY(json_get_any(c, "type", JSON_REQUIRED, &field, err));
    if (type != (uint32_t)rule->type)
        return json_fail(&field, err, "must be \"%s\" here", types[rule->type]);
    TRY(json_get_u32(c, "components", JSON_REQUIRED, 1, 4, &components, err));
    TRY(json_get_any(c, "components", JSON_REQUIRED, &field, err));
    if (rule->components && components != rule->components)
        return json_fail(&field, err, "must be %u here", rule->components);
    TRY(json_get_int(c, "count", JSON_REQUIRED, 0, INT64_MAX, &count, err));
    TRY(json_get_any(c, "count", JSON_REQUIRED, &field, err));
    if (count != elements)
        return json_fail(&field, err, "is %lld, but %s has %u %s", (long long)count, owner->what,
                         elements, rule->elements);
    uint64_t size_bytes = (uint64_t)count * components * package_array_type_bytes((ArrayType)type);
    if (size_bytes > PACKAGE_ARRAY_BYTES_MAX)
        return parse_refuse(&field, STATUS_LIMIT, err, "the array has more than %llu bytes",
                            (unsigned long long)PACKAGE_ARRAY_BYTES_MAX);
    TRY(json_get_choice(c, "compression", JSON_OPTIONAL, compressions, SORT_COUNT_OF(compressions),
                        &compression, err));
    stored = (int64_t)size_bytes;
    JsonNeed need = compression ? JSON_REQUIRED : JSON_OPTIONAL;
    TRY(json_get_any(c, "stored_bytes", need, &field, err));
    if (json_exists(&field) && !compression)
        return json_fail(&field, err, "belongs to \"compression\": \"zlib\"");
    if (compression)
        TRY(json_as_int(&field, 1, INT64_MAX, &stored, err));
    TRY(json_finish(c, err));
    array_push(p->arena, &p->arrays,
               (ArrayRequest){.file = arena_strndup(p->arena, name, strlen(name)),
                              .offset_bytes = (uint64_t)offset,
                              .count = (uint64_t)count,
                              .stored_bytes = (uint64_t)stored,
                              .type = (ArrayType)type,
                              .components = components,
                              .is_zlib = compression != 0,
                              .mesh = owner->key,
                              .section = owner->section,
                              .index = owner->index,
                              .field = rule->field,
                              .set = set,
                              .tag = rule->tag});
    return STATUS_OK;
}

/* Finds the elements that the attribute under `value` has one value for. On curves its count tells points from curves. */
static void attribute_rule(const SceneMesh *mesh, JsonCursor value, MeshArrayRule *out_rule,
                           uint32_t *out_elements, SceneAttribute *out_attribute)
{
    JsonCursor field;
    Error ignored;
    int64_t count = 0;
    *out_rule = (MeshArrayRule){MESH_ATTRIBUTE, "attributes", ARRAY_FLOAT32, 0,
                                mesh->curves ? "points" : "vertices"};
    *out_elements = mesh->vertex_count;
    if (!mesh->curves ||
        json_get_any(&value, "count", JSON_OPTIONAL, &field, &ignored) != STATUS_OK ||
        !json_exists(&field) || json_as_int(&field, 0, INT64_MAX, &count, &ignored) != STATUS_OK ||
        count != mesh->curves->curve_count)
        return;
    out_attribute->is_per_curve = true;
    *out_elements = mesh->curves->curve_count;
    out_rule->elements = "curves";
}

/* {"Col": ARRAY of 1 to 4 components, ...} */
Status parse_mesh_attributes(SceneParser *p, JsonCursor *c, uint32_t index, Error *err)
{
    ASSERT(index < p->scene->mesh_count);
    SceneMesh *mesh = &p->meshes[index];
    MeshArrayRule rule;
    JsonCursor object, value, field;
    JsonIter iter = {0};
    const char *name;
    uint32_t elements;
    TRY(json_get_object(c, "attributes", JSON_OPTIONAL, &object, err));
    if (!json_exists(&object))
        return STATUS_OK;
    SceneAttribute *attributes = ARENA_ARRAY(p->arena, SceneAttribute, SCENE_MESH_ATTRIBUTES_MAX);
    mesh->attributes = attributes;
    while (json_next(&object, &iter, &name, &value)) {
        if (mesh->attribute_count == SCENE_MESH_ATTRIBUTES_MAX)
            return parse_refuse(&object, STATUS_LIMIT, err, "has more than %d attributes",
                                SCENE_MESH_ATTRIBUTES_MAX);
        if (!*name || strlen(name) > SCENE_NAME_BYTES_MAX)
            return json_fail(&value, err, "a name has 1 to %d bytes", SCENE_NAME_BYTES_MAX);
        SceneAttribute *a = &attributes[mesh->attribute_count];
        a->name = arena_strndup(p->arena, name, strlen(name));
        TRY(json_as_object(&value, err));
        TRY(json_get_u32(&value, "components", JSON_REQUIRED, 1, 4, &a->components, err));
        attribute_rule(mesh, value, &rule, &elements, a);
        field = value;
        TRY(parse_array(p, &field, &rule, index, (int32_t)mesh->attribute_count, elements, err));
        ++mesh->attribute_count;
    }
    return STATUS_OK;
}

Status parse_uv(SceneParser *p, JsonCursor *c, uint32_t index, const char *what, uint32_t elements,
                Error *err)
{
    const MeshArrayRule rule = {MESH_UV, "uv", ARRAY_FLOAT32, 2, what};
    ASSERT(index < p->scene->mesh_count);
    SceneMesh *mesh = &p->meshes[index];
    JsonCursor field, element;
    TRY(json_get_array(c, "uv", JSON_OPTIONAL, &field, err));
    mesh->uv_count = json_exists(&field) ? json_count(&field) : 0;
    if (mesh->uv_count > SCENE_UV_SETS_MAX)
        return parse_refuse(&field, STATUS_LIMIT, err, "has %u sets; at most %d are read",
                            mesh->uv_count, SCENE_UV_SETS_MAX);
    for (uint32_t i = 0; i < mesh->uv_count; ++i) {
        json_at(&field, i, &element);
        TRY(parse_array(p, &element, &rule, index, (int32_t)i, elements, err));
    }
    return STATUS_OK;
}

Status parse_later(JsonCursor *c, JsonCursor *out_array, uint32_t *out_count, Error *err)
{
    *out_count = 0;
    TRY(json_get_array(c, "motion", JSON_OPTIONAL, out_array, err));
    if (!json_exists(out_array))
        return STATUS_OK;
    *out_count = json_count(out_array);
    if (*out_count < 1 || *out_count >= SCENE_KEYS_MAX)
        return json_fail(out_array, err, "must have 1 to %d keys", SCENE_KEYS_MAX - 1);
    return STATUS_OK;
}
