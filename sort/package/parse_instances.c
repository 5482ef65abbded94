/* The section `instances`. */
#include "sort/package/scene_parse.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

/* Parses the mesh of an instance: one of the fields `mesh` and `curves`. */
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

enum { COPY_NUMBER_BYTES = 12 }; /* "[4294967295]" */

/* `transforms`: an ARRAY of rows, three a copy. */
static Status parse_copies(SceneParser *p, JsonCursor *c, uint32_t entry, const char *name,
                           JsonCursor *array, Error *err)
{
    static const MeshArrayRule rule = {COPY_TRANSFORMS, "transforms", ARRAY_FLOAT32, 4, "rows"};
    static const char *const others[] = {"transform", "motion", "previous", "next"};
    JsonCursor field;
    int64_t rows;
    for (size_t i = 0; i < SORT_COUNT_OF(others); ++i) {
        TRY(json_get_any(c, others[i], JSON_OPTIONAL, &field, err));
        if (json_exists(&field))
            return json_fail(&field, err, "there are 'transforms' already: give one of the two");
    }
    TRY(json_as_object(array, err));
    TRY(json_get_any(array, "count", JSON_REQUIRED, &field, err));
    TRY(json_as_int(&field, 3, 3 * (int64_t)SCENE_INSTANCES_MAX, &rows, err));
    if (rows % 3 != 0)
        return json_fail(&field, err, "is %lld, but each copy has 3 rows", (long long)rows);
    if (strlen(name) + COPY_NUMBER_BYTES > SCENE_NAME_BYTES_MAX)
        return json_fail(c, err, "the name leaves no room for the numbers of its copies");
    ArrayOwner owner = {"instances", "this entry", entry, p->copies.count};
    TRY(parse_owned_array(p, array, &rule, &owner, -1, (uint32_t)rows, err));
    array_push(p->arena, &p->copies,
               (InstanceCopies){.entry = entry, .count = (uint32_t)(rows / 3)});
    return STATUS_OK;
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

static Status parse_instance(SceneParser *p, JsonCursor *c, uint32_t entry,
                             SceneInstance *out_instance, Error *err)
{
    JsonCursor field, element;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->instance_names, &out_instance->name, err));
    TRY(parse_instance_of(p, c, &out_instance->mesh, err));
    TRY(json_get_any(c, "transforms", JSON_OPTIONAL, &field, err));
    if (json_exists(&field))
        TRY(parse_copies(p, c, entry, out_instance->name, &field, err));
    else
        TRY(parse_instance_transform(p, c, out_instance, err));
    TRY(parse_neighbour_transforms(p, c, &out_instance->neighbours, err));
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
    TRY(json_get_u32(c, "link_set", JSON_OPTIONAL, 0, SCENE_LINK_SETS_MAX - 1,
                     &out_instance->link_set, err));
    TRY(json_get_bool(c, "is_holdout", JSON_OPTIONAL, &out_instance->is_holdout, err));
    TRY(json_get_bool(c, "is_shadow_catcher", JSON_OPTIONAL, &out_instance->is_shadow_catcher,
                      err));
    TRY(json_get_bool(c, "is_caustics_caster", JSON_OPTIONAL, &out_instance->is_caustics_caster,
                      err));
    TRY(json_get_bool(c, "is_caustics_receiver", JSON_OPTIONAL, &out_instance->is_caustics_receiver,
                      err));
    return json_finish(c, err);
}

/* "grass[17]", which no other instance may be called. */
static Status name_copy(SceneParser *p, const InstanceCopies *copies, uint32_t k,
                        SceneInstance *instance, Error *err)
{
    char name[SCENE_NAME_BYTES_MAX + 1];
    int length = snprintf(name, sizeof name, "%s[%u]", instance->name, k);
    uint32_t taken = name_index_find(&p->instance_names, name);
    if (taken != NAME_INDEX_ABSENT)
        return error_set_at(err, STATUS_FORMAT, json_doc_name(p->doc),
                            "instances[%u].name: '%s' is the name of a copy of instances[%u]",
                            taken, name, copies->entry);
    instance->name = arena_strndup(p->arena, name, (size_t)length);
    return STATUS_OK;
}

/* Puts the copies in the place of their entries. */
static Status expand_copies(SceneParser *p, Error *err)
{
    const SceneInstance *entries = p->scene->instances;
    uint32_t entry_count = p->scene->instance_count;
    uint64_t total = entry_count;
    for (uint32_t i = 0; i < p->copies.count; ++i)
        total += p->copies.data[i].count - 1;
    if (total > SCENE_INSTANCES_MAX)
        return error_set_at(err, STATUS_LIMIT, json_doc_name(p->doc),
                            "instances: there are %llu with all copies; at most %d are read",
                            (unsigned long long)total, SCENE_INSTANCES_MAX);
    SceneInstance *instances = ARENA_ARRAY(p->arena, SceneInstance, total);
    InstanceCopies *copies = p->copies.data, *end = copies + p->copies.count;
    uint32_t at = 0;
    for (uint32_t entry = 0; entry < entry_count; ++entry) {
        bool is_one = copies == end || copies->entry != entry;
        if (is_one) {
            instances[at++] = entries[entry];
            continue;
        }
        copies->first = at;
        for (uint32_t k = 0; k < copies->count; ++k) {
            instances[at] = entries[entry];
            TRY(name_copy(p, copies, k, &instances[at++], err));
        }
        ++copies;
    }
    p->instances = instances;
    p->scene->instances = instances;
    p->scene->instance_count = at;
    return STATUS_OK;
}

Status instances_finish(SceneParser *p, Error *err)
{
    if (p->copies.count > 0)
        TRY(expand_copies(p, err));
    for (uint32_t i = 0; i < p->copies.count; ++i) {
        const InstanceCopies *c = &p->copies.data[i];
        for (uint32_t k = 0; k < c->count; ++k) {
            mat4 transform = mat4_identity();
            SceneInstance *instance = &p->instances[c->first + k];
            memcpy(transform.m, c->rows + 12 * (size_t)k, 12 * sizeof(float));
            if (!scene_instance_set_transform(instance, transform) ||
                !mat4_is_finite(instance->world_to_object))
                return error_set(err, STATUS_FORMAT,
                                 "instances[%u].transforms: number %u has no inverse: it flattens "
                                 "the object",
                                 c->entry, k);
        }
    }
    return STATUS_OK;
}

Status parse_instances(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "instances", JSON_OPTIONAL, SCENE_INSTANCES_MAX, &array, &count, err));
    SceneInstance *instances = ARENA_ARRAY(p->arena, SceneInstance, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_instance(p, &c, i, &instances[i], err));
    }
    p->scene->instances = instances;
    p->scene->instance_count = count;
    return STATUS_OK;
}
