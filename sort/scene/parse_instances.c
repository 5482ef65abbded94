/* The section `instances`. */
#include "sort/scene/scene_parse.h"
#include <float.h>
#include <string.h>

/* What it shows: one of `mesh` and `curves`. */
static Status parse_instance_of(SceneParser *p, JsonCursor *c, uint32_t *out_mesh, Error *err)
{
    JsonCursor mesh, curves;
    TRY(json_get_any(c, "mesh", JSON_OPTIONAL, &mesh, err));
    TRY(json_get_any(c, "curves", JSON_OPTIONAL, &curves, err));
    if (json_exists(&mesh) && json_exists(&curves))
        return json_fail(c, err, "must have either mesh or curves");
    if (json_exists(&curves)) {
        TRY(parse_reference(&curves, &p->curve_names, "entry of curves", out_mesh, err));
        *out_mesh += p->triangle_mesh_count;
        return STATUS_OK;
    }
    TRY(json_get_any(c, "mesh", JSON_REQUIRED, &mesh, err));
    return parse_reference(&mesh, &p->mesh_names, "mesh", out_mesh, err);
}

/* A number, or 1 to 4 of them. */
static Status parse_object_value(SceneParser *p, JsonCursor *c, SceneAttribute *out, Error *err)
{
    float *values = ARENA_ARRAY(p->arena, float, 4);
    out->values = values;
    out->components = 1;
    if (json_kind(c) != JSON_KIND_ARRAY)
        return json_as_float(c, -(double)FLT_MAX, (double)FLT_MAX, &values[0], err);
    out->components = json_count(c);
    if (out->components < 1 || out->components > 4)
        return json_fail(c, err, "must have 1 to 4 numbers");
    return json_as_floats(c, -(double)FLT_MAX, (double)FLT_MAX, out->components, values, err);
}

/* {"tint": [1, 0, 0], "age": 3, ...} */
static Status parse_object_attributes(SceneParser *p, JsonCursor *c, SceneInstance *instance,
                                      Error *err)
{
    JsonCursor object, value;
    JsonIter iter = {0}, count = {0};
    const char *name;
    uint32_t most = 0;
    TRY(json_get_object(c, "attributes", JSON_OPTIONAL, &object, err));
    if (!json_exists(&object))
        return STATUS_OK;
    while (json_next(&object, &count, &name, &value))
        ++most;
    if (most > SCENE_MESH_ATTRIBUTES_MAX)
        return parse_refuse(&object, STATUS_LIMIT, err, "has more than %d attributes",
                            SCENE_MESH_ATTRIBUTES_MAX);
    SceneAttribute *attributes = ARENA_ARRAY(p->arena, SceneAttribute, most);
    instance->attributes = attributes;
    while (json_next(&object, &iter, &name, &value)) {
        if (!*name || strlen(name) > SCENE_NAME_BYTES_MAX)
            return json_fail(&value, err, "a name has 1 to %d bytes", SCENE_NAME_BYTES_MAX);
        SceneAttribute *a = &attributes[instance->attribute_count++];
        a->name = arena_strndup(p->arena, name, strlen(name));
        TRY(parse_object_value(p, &value, a, err));
    }
    return STATUS_OK;
}

static Status parse_instance(SceneParser *p, JsonCursor *c, SceneInstance *out_instance, Error *err)
{
    JsonCursor field, element;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->instance_names, &out_instance->name, err));
    TRY(parse_instance_of(p, c, &out_instance->mesh, err));
    TRY(parse_instance_transform(p, c, out_instance, err));
    TRY(json_get_array(c, "materials", JSON_REQUIRED, &field, err));
    uint32_t count = json_count(&field);
    if (count == 0 || count > SCENE_MATERIAL_SLOTS_MAX)
        return json_fail(&field, err, "must have 1 to %d entries", SCENE_MATERIAL_SLOTS_MAX);
    uint32_t *materials = ARENA_ARRAY(p->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&field, i, &element);
        TRY(parse_reference(&element, &p->material_names, "material", &materials[i], err));
    }
    out_instance->materials = materials;
    out_instance->material_count = count;
    TRY(parse_object_attributes(p, c, out_instance, err));
    TRY(parse_light_group(p, c, &out_instance->light_group, err));
    TRY(parse_emitted_paths(c, out_instance, err));
    TRY(parse_visibility(c, true, &out_instance->invisible_to, err));
    TRY(json_get_bool(c, "is_holdout", JSON_OPTIONAL, &out_instance->is_holdout, err));
    TRY(json_get_bool(c, "is_shadow_catcher", JSON_OPTIONAL, &out_instance->is_shadow_catcher,
                      err));
    return json_finish(c, err);
}

Status parse_instances(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "instances", JSON_OPTIONAL, SCENE_INSTANCES_MAX, &array, &count, err));
    SceneInstance *instances = ARENA_ARRAY(p->arena, SceneInstance, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_instance(p, &c, &instances[i], err));
    }
    p->scene->instances = instances;
    p->scene->instance_count = count;
    return STATUS_OK;
}
