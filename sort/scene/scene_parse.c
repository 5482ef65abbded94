#include "sort/scene/scene_parse.h"

#include "base/cast.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

/* --- helpers of all parse files ------------------------------------------------------------- */

Status parse_at_field(const JsonCursor *c, Status status, Error *err)
{
    if (status == STATUS_OK || !err)
        return status;
    Error copy = *err;
    char field[JSON_PATH_MAX];
    return error_set_at(err, status, json_doc_name(c->doc), "%s: %s", json_path(c, field),
                        copy.text);
}

Status parse_refuse(const JsonCursor *c, Status status, Error *err, const char *format, ...)
{
    char text[ERROR_TEXT_MAX], field[JSON_PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set_at(err, status, json_doc_name(c->doc), "%s: %s", json_path(c, field), text);
}

static Status check_name(const JsonCursor *c, const char *name, Error *err)
{
    size_t bytes = strlen(name);
    if (bytes == 0 || bytes > SCENE_NAME_BYTES_MAX)
        return json_fail(c, err, "a name has 1 to %d bytes, this one %zu", SCENE_NAME_BYTES_MAX,
                         bytes);
    for (const char *s = name; *s; ++s) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return json_fail(c, err, "a name has no control characters");
    }
    return STATUS_OK;
}

Status scene_parse_name(SceneParser *p, JsonCursor *object, NameIndex *names, const char **out_name,
                        Error *err)
{
    JsonCursor c;
    const char *name;
    TRY(json_get_any(object, "name", JSON_REQUIRED, &c, err));
    TRY(json_as_string(&c, &name, err));
    TRY(check_name(&c, name, err));
    *out_name = arena_strndup(p->arena, name, strlen(name));
    uint32_t index;
    bool is_new;
    TRY(name_index_add(names, *out_name, &index, &is_new, err));
    return is_new ? STATUS_OK
                  : json_fail(&c, err, "'%s' is the name of entry %u already", name, index);
}

Status parse_reference(const JsonCursor *c, const NameIndex *names, const char *what,
                       uint32_t *out_index, Error *err)
{
    const char *name;
    TRY(json_as_string(c, &name, err));
    *out_index = name_index_find(names, name);
    if (*out_index != NAME_INDEX_ABSENT)
        return STATUS_OK;
    const char *near = suggest_nearest(name, names->names, names->count);
    return near ? json_fail(c, err, "there is no %s '%s'; did you mean '%s'?", what, name, near)
                : json_fail(c, err, "there is no %s '%s'", what, name);
}

Status parse_section(JsonCursor *root, const char *name, JsonNeed need, uint32_t most,
                     JsonCursor *out_array, uint32_t *out_count, Error *err)
{
    *out_count = 0;
    TRY(json_get_array(root, name, need, out_array, err));
    if (!json_exists(out_array))
        return STATUS_OK;
    *out_count = json_count(out_array);
    if (*out_count > most)
        return parse_refuse(out_array, STATUS_LIMIT, err, "has %u entries; at most %u are read",
                            *out_count, most);
    return STATUS_OK;
}

static Status get_degrees(JsonCursor *object, const char *field, JsonNeed need, double above,
                          double below, float *out_rad, Error *err)
{
    JsonCursor c;
    TRY(json_get_any(object, field, need, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    double degrees;
    TRY(json_as_double(&c, above, below, &degrees, err));
    *out_rad = (float)(degrees * (3.14159265358979323846 / 180.0));
    return STATUS_OK;
}

/* A number above 0. */
static Status get_positive(JsonCursor *object, const char *field, JsonNeed need, float *out_value,
                           Error *err)
{
    JsonCursor c;
    TRY(json_get_any(object, field, need, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    TRY(json_as_float(&c, 0.0, (double)FLT_MAX, out_value, err));
    return *out_value > 0.0f ? STATUS_OK : json_fail(&c, err, "must be above 0");
}

static Status get_color(JsonCursor *object, const char *field, JsonNeed need, float3 *out_color,
                        Error *err)
{
    float c[3] = {out_color->x, out_color->y, out_color->z};
    TRY(json_get_floats(object, field, need, 0.0, (double)FLT_MAX, 3, c, err));
    *out_color = f3(c[0], c[1], c[2]);
    return STATUS_OK;
}

enum { LIGHT_GROUP_NAME_MAX = 63 }; /* it becomes part of a layer's name */

/* --- sections ------------------------------------------------------------------------------- */

static Status parse_settings(SceneParser *p, JsonCursor *root, Error *err)
{
    SceneSettings *s = &p->scene->settings;
    *s = (SceneSettings){.width_px = 1280,
                         .height_px = 720,
                         .samples = 64,
                         .max_depth = 8,
                         .max_diffuse = 1024,
                         .max_glossy = 1024,
                         .max_transmission = 1024,
                         .max_transparent = 128};
    JsonCursor settings, c;
    TRY(json_get_object(root, "settings", JSON_OPTIONAL, &settings, err));
    if (!json_exists(&settings))
        return STATUS_OK;
    TRY(json_get_array(&settings, "resolution", JSON_OPTIONAL, &c, err));
    if (json_exists(&c)) {
        if (json_count(&c) != 2)
            return json_fail(&c, err, "must be [width, height]");
        for (uint32_t k = 0; k < 2; ++k) {
            JsonCursor element;
            int64_t value;
            json_at(&c, k, &element);
            TRY(json_as_int(&element, 1, 65536, &value, err));
            *(k == 0 ? &s->width_px : &s->height_px) = (uint32_t)value;
        }
    }
    TRY(json_get_u32(&settings, "samples", JSON_OPTIONAL, 1, 1u << 24, &s->samples, err));
    TRY(json_get_u32(&settings, "max_depth", JSON_OPTIONAL, 1, 1024, &s->max_depth, err));
    TRY(json_get_u32(&settings, "max_diffuse", JSON_OPTIONAL, 1, 1024, &s->max_diffuse, err));
    TRY(json_get_u32(&settings, "max_glossy", JSON_OPTIONAL, 1, 1024, &s->max_glossy, err));
    TRY(json_get_u32(&settings, "max_transmission", JSON_OPTIONAL, 1, 1024, &s->max_transmission,
                     err));
    TRY(json_get_u32(&settings, "max_transparent", JSON_OPTIONAL, 0, 128, &s->max_transparent,
                     err));
    TRY(json_get_u32(&settings, "seed", JSON_OPTIONAL, 0, UINT32_MAX, &s->seed, err));
    TRY(json_get_bool(&settings, "transparent_film", JSON_OPTIONAL, &s->has_transparent_film, err));
    TRY(json_get_any(&settings, "camera", JSON_OPTIONAL, &c, err));
    if (json_exists(&c))
        TRY(parse_reference(&c, &p->camera_names, "camera", &s->camera, err));
    return json_finish(&settings, err);
}

/* [from, to] in degrees, inside [-limit, limit]. */
static Status get_angle_range(JsonCursor *object, const char *field, double limit, float2 *out_rad,
                              Error *err)
{
    const float to_rad = (float)(3.14159265358979323846 / 180.0);
    float range[2] = {-(float)limit, (float)limit};
    JsonCursor c;
    TRY(json_get_any(object, field, JSON_OPTIONAL, &c, err));
    if (json_exists(&c)) {
        TRY(json_as_floats(&c, -limit, limit, 2, range, err));
        if (!(range[1] - range[0] >= 1e-3f))
            return json_fail(&c, err, "must be [from, to] with from < to");
    }
    *out_rad = f2(range[0] * to_rad, range[1] * to_rad);
    return STATUS_OK;
}

static Status parse_lens(JsonCursor *c, SceneCamera *camera, Error *err)
{
    float shift[2] = {0, 0};
    JsonCursor blades;
    camera->focus_distance_m = 1.0f;
    TRY(json_get_float(c, "aperture_radius_m", JSON_OPTIONAL, 0.0, (double)FLT_MAX,
                       &camera->aperture_radius_m, err));
    TRY(get_positive(c, "focus_distance_m", JSON_OPTIONAL, &camera->focus_distance_m, err));
    TRY(json_get_floats(c, "lens_shift", JSON_OPTIONAL, -(double)FLT_MAX, (double)FLT_MAX, 2, shift,
                        err));
    camera->lens_shift = f2(shift[0], shift[1]);
    TRY(get_positive(c, "pixel_aspect", JSON_OPTIONAL, &camera->pixel_aspect, err));
    TRY(get_positive(c, "aperture_ratio", JSON_OPTIONAL, &camera->aperture_ratio, err));
    TRY(get_degrees(c, "aperture_rotation_degrees", JSON_OPTIONAL, -360.0, 360.0,
                    &camera->aperture_rotation_rad, err));
    TRY(json_get_any(c, "aperture_blades", JSON_OPTIONAL, &blades, err));
    if (json_exists(&blades)) {
        int64_t count;
        TRY(json_as_int(&blades, 0, 64, &count, err));
        if (count == 1 || count == 2)
            return json_fail(&blades, err, "must be 0, or 3 to 64");
        camera->aperture_blades = (uint32_t)count;
    }
    return STATUS_OK;
}

/* What belongs to the kind; angles end far from what cannot be drawn. */
static Status parse_projection(JsonCursor *c, SceneCamera *camera, Error *err)
{
    switch (camera->kind) {
    case SCENE_CAMERA_PERSPECTIVE:
        TRY(get_degrees(c, "fov_y_degrees", JSON_REQUIRED, 1e-4, 179.999, &camera->fov_y_rad, err));
        return parse_lens(c, camera, err);
    case SCENE_CAMERA_ORTHOGRAPHIC:
        TRY(get_positive(c, "height_m", JSON_REQUIRED, &camera->height_m, err));
        return parse_lens(c, camera, err);
    case SCENE_CAMERA_EQUIRECTANGULAR:
        TRY(get_angle_range(c, "longitude_degrees", 180.0, &camera->longitude_rad, err));
        return get_angle_range(c, "latitude_degrees", 90.0, &camera->latitude_rad, err);
    case SCENE_CAMERA_FISHEYE:
        return get_degrees(c, "fov_degrees", JSON_REQUIRED, 1e-4, 360.0, &camera->fov_rad, err);
    }
    return STATUS_OK;
}

static Status parse_camera(SceneParser *p, JsonCursor *c, SceneCamera *camera, Error *err)
{
    static const char *const kinds[] = {"perspective", "orthographic", "equirectangular",
                                        "fisheye"};
    uint32_t kind = 0;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->camera_names, &camera->name, err));
    TRY(json_get_choice(c, "type", JSON_OPTIONAL, kinds, SORT_COUNT_OF(kinds), &kind, err));
    camera->kind = (SceneCameraKind)kind;
    TRY(parse_camera_transform(p, c, camera, err));
    TRY(parse_projection(c, camera, err));
    return json_finish(c, err);
}

static Status parse_cameras(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array;
    uint32_t count;
    TRY(parse_section(root, "cameras", JSON_REQUIRED, SCENE_SECTION_MAX, &array, &count, err));
    if (count == 0)
        return json_fail(&array, err, "there must be a camera");
    SceneCamera *cameras = ARENA_ARRAY(p->arena, SceneCamera, count);
    for (uint32_t i = 0; i < count; ++i) {
        JsonCursor c;
        json_at(&array, i, &c);
        TRY(parse_camera(p, &c, &cameras[i], err));
    }
    p->scene->cameras = cameras;
    p->scene->camera_count = count;
    return STATUS_OK;
}

Status parse_array(SceneParser *p, JsonCursor *c, const MeshArrayRule *rule, uint32_t mesh,
                   int32_t set, uint32_t elements, Error *err)
{
    static const char *const types[ARRAY_TYPE_COUNT] = {"float32", "uint32", "uint16"};
    static const char *const compressions[] = {"none", "zlib"};
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
    bool is_mesh = mesh < p->triangle_mesh_count;
    if (count != elements)
        return json_fail(&field, err, "is %lld, but %s has %u %s", (long long)count,
                         is_mesh ? "the mesh" : "this entry", elements, rule->elements);
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
                              .mesh = mesh,
                              .section = is_mesh ? "meshes" : "curves",
                              .index = is_mesh ? mesh : mesh - p->triangle_mesh_count,
                              .field = rule->field,
                              .set = set,
                              .tag = rule->tag});
    return STATUS_OK;
}

/* What the attribute under `value` has one number of each of: its count says so where there are curves. */
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
        if (!*name || strlen(name) > 255)
            return json_fail(&value, err, "a name has 1 to 255 bytes");
        SceneAttribute *a = &attributes[mesh->attribute_count];
        a->name = arena_strndup(p->arena, name, strlen(name));
        TRY(json_as_object(&value, err));
        TRY(json_get_u32(&value, "components", JSON_REQUIRED, 1, 4, &a->components, err));
        attribute_rule(mesh, value, &rule, &elements, a);
        field = value;
        TRY(parse_array(p, &field, &rule, index, (int32_t)mesh->attribute_count, elements, err));
        mesh->attribute_count++;
    }
    return STATUS_OK;
}

Status parse_uv(SceneParser *p, JsonCursor *c, uint32_t index, const char *what, uint32_t elements,
                Error *err)
{
    const MeshArrayRule rule = {MESH_UV, "uv", ARRAY_FLOAT32, 2, what};
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

/* The keys of a mesh after the first: [{"positions": ARRAY, "normals": ARRAY}, ...] */
static Status parse_later_keys(SceneParser *p, JsonCursor *c, uint32_t index, Error *err)
{
    static const MeshArrayRule positions = {MESH_LATER_POSITIONS, "motion.positions", ARRAY_FLOAT32,
                                            3, "vertices"},
                               normals = {MESH_LATER_NORMALS, "motion.normals", ARRAY_FLOAT32, 3,
                                          "vertices"};
    SceneMesh *mesh = &p->meshes[index];
    JsonCursor array, key, field;
    TRY(json_get_array(c, "motion", JSON_OPTIONAL, &array, err));
    if (!json_exists(&array))
        return STATUS_OK;
    uint32_t count = json_count(&array);
    if (count < 1 || count >= SCENE_KEYS_MAX)
        return json_fail(&array, err, "must have 1 to %d keys", SCENE_KEYS_MAX - 1);
    TRY(json_get_any(c, "normals", JSON_OPTIONAL, &field, err));
    bool has_normals = json_exists(&field);
    mesh->later = ARENA_ARRAY(p->arena, SceneMeshKey, count);
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
    return json_finish(c, err);
}

/* What instances show: meshes, and behind them curves. */
static Status parse_meshes(SceneParser *p, JsonCursor *root, Error *err)
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

/* The field `light_group`: a name, which need not be declared. */
static Status parse_light_group(SceneParser *p, JsonCursor *c, uint32_t *out_group, Error *err)
{
    JsonCursor field;
    const char *name;
    uint32_t index;
    bool is_new;
    TRY(json_get_any(c, "light_group", JSON_OPTIONAL, &field, err));
    if (!json_exists(&field))
        return STATUS_OK;
    TRY(json_as_string(&field, &name, err));
    TRY(check_name(&field, name, err));
    if (strlen(name) > LIGHT_GROUP_NAME_MAX || strchr(name, '.'))
        return json_fail(&field, err, "the name of a light group has at most %d bytes and no dot",
                         LIGHT_GROUP_NAME_MAX);
    index = name_index_find(&p->light_group_names, name);
    if (index == NAME_INDEX_ABSENT) {
        const char *copy = arena_strndup(p->arena, name, strlen(name));
        TRY(name_index_add(&p->light_group_names, copy, &index, &is_new, err));
        if (index >= SCENE_LIGHT_GROUPS_MAX)
            return parse_refuse(&field, STATUS_LIMIT, err, "there are more than %d light groups",
                                SCENE_LIGHT_GROUPS_MAX);
    }
    *out_group = index + 1;
    return STATUS_OK;
}

/* The field `invisible_to`: ["camera", "shadow"] */
static Status parse_visibility(JsonCursor *c, uint32_t *out_rays, Error *err)
{
    static const char *const names[] = {"camera", "diffuse", "glossy", "transmission", "shadow"};
    JsonCursor array, element;
    TRY(json_get_array(c, "invisible_to", JSON_OPTIONAL, &array, err));
    for (uint32_t i = 0; json_exists(&array) && i < json_count(&array); ++i) {
        const char *name;
        uint32_t k = 0;
        json_at(&array, i, &element);
        TRY(json_as_string(&element, &name, err));
        while (k < SORT_COUNT_OF(names) && strcmp(name, names[k]) != 0)
            ++k;
        if (k == SORT_COUNT_OF(names))
            return json_fail(&element, err,
                             "must be camera, diffuse, glossy, transmission or shadow");
        *out_rays |= 1u << k;
    }
    return STATUS_OK;
}

static void list_light_groups(SceneParser *p)
{
    uint32_t count = p->light_group_names.count;
    const char **names = ARENA_ARRAY(p->arena, const char *, count);
    for (uint32_t i = 0; i < count; ++i)
        names[i] = p->light_group_names.names[i];
    p->scene->light_groups = names;
    p->scene->light_group_count = count;
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
    TRY(parse_visibility(c, &out_instance->invisible_to, err));
    TRY(json_get_bool(c, "is_holdout", JSON_OPTIONAL, &out_instance->is_holdout, err));
    return json_finish(c, err);
}

static Status parse_instances(SceneParser *p, JsonCursor *root, Error *err)
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

static Status parse_light(SceneParser *p, JsonCursor *c, SceneLight *out_light, Error *err)
{
    static const char *const types[] = {"point",          "spot",      "distant",
                                        "area_rectangle", "area_disk", "sphere"};
    static const SceneLightKind kinds[] = {SCENE_LIGHT_POINT,   SCENE_LIGHT_SPOT,
                                           SCENE_LIGHT_DISTANT, SCENE_LIGHT_RECTANGLE,
                                           SCENE_LIGHT_DISK,    SCENE_LIGHT_SPHERE};
    SceneLight *light = out_light;
    uint32_t type;
    JsonCursor field;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->light_names, &light->name, err));
    TRY(json_get_choice(c, "type", JSON_REQUIRED, types, SORT_COUNT_OF(types), &type, err));
    light->kind = kinds[type];
    TRY(parse_transform(c, JSON_REQUIRED, &field, &light->light_to_world, err));
    TRY(parse_rigid(&field, false, &light->light_to_world, err));
    TRY(parse_light_group(p, c, &light->light_group, err));
    light->is_camera_visible = true;
    TRY(json_get_bool(c, "is_camera_visible", JSON_OPTIONAL, &light->is_camera_visible, err));
    switch (light->kind) {
    case SCENE_LIGHT_POINT:
        TRY(get_color(c, "intensity", JSON_REQUIRED, &light->emission, err));
        break;
    case SCENE_LIGHT_SPOT:
        TRY(get_color(c, "intensity", JSON_REQUIRED, &light->emission, err));
        TRY(get_degrees(c, "outer_angle_degrees", JSON_REQUIRED, 1e-4, 90.0,
                        &light->outer_angle_rad, err));
        TRY(get_degrees(c, "inner_angle_degrees", JSON_OPTIONAL, 0.0, 90.0, &light->inner_angle_rad,
                        err));
        TRY(json_get_any(c, "inner_angle_degrees", JSON_OPTIONAL, &field, err));
        if (light->inner_angle_rad >= light->outer_angle_rad)
            return json_fail(&field, err, "must be below outer_angle_degrees");
        break;
    case SCENE_LIGHT_DISTANT:
        TRY(get_color(c, "irradiance", JSON_REQUIRED, &light->emission, err));
        TRY(get_degrees(c, "angle_degrees", JSON_OPTIONAL, 0.0, 179.999, &light->angle_rad, err));
        break;
    case SCENE_LIGHT_RECTANGLE: {
        float size[2];
        TRY(get_color(c, "radiance", JSON_REQUIRED, &light->emission, err));
        TRY(json_get_any(c, "size", JSON_REQUIRED, &field, err));
        TRY(json_as_floats(&field, 0.0, (double)FLT_MAX, 2, size, err));
        if (!(size[0] > 0.0f && size[1] > 0.0f))
            return json_fail(&field, err, "must be above 0");
        light->size_x_m = size[0], light->size_y_m = size[1];
        TRY(json_get_bool(c, "is_two_sided", JSON_OPTIONAL, &light->is_two_sided, err));
        break;
    }
    case SCENE_LIGHT_DISK:
        TRY(get_color(c, "radiance", JSON_REQUIRED, &light->emission, err));
        TRY(get_positive(c, "radius_m", JSON_REQUIRED, &light->radius_m, err));
        TRY(json_get_bool(c, "is_two_sided", JSON_OPTIONAL, &light->is_two_sided, err));
        break;
    case SCENE_LIGHT_SPHERE:
        TRY(get_color(c, "radiance", JSON_REQUIRED, &light->emission, err));
        TRY(get_positive(c, "radius_m", JSON_REQUIRED, &light->radius_m, err));
        break;
    }
    return json_finish(c, err);
}

static Status parse_lights(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "lights", JSON_OPTIONAL, SCENE_SECTION_MAX, &array, &count, err));
    SceneLight *lights = ARENA_ARRAY(p->arena, SceneLight, count);
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &c);
        TRY(parse_light(p, &c, &lights[i], err));
    }
    p->scene->lights = lights;
    p->scene->light_count = count;
    return STATUS_OK;
}

static Status parse_environment(SceneParser *p, JsonCursor *root, Error *err)
{
    SceneEnvironment *e = &p->scene->environment;
    e->environment_to_world = mat4_identity();
    e->world_to_environment = mat4_identity();
    JsonCursor c, image, color, material, field;
    TRY(json_get_object(root, "environment", JSON_OPTIONAL, &c, err));
    if (!json_exists(&c))
        return STATUS_OK;
    e->strength = 1.0f;
    TRY(parse_light_group(p, &c, &e->light_group, err));
    TRY(json_get_any(&c, "image", JSON_OPTIONAL, &image, err));
    TRY(json_get_any(&c, "color", JSON_OPTIONAL, &color, err));
    TRY(json_get_any(&c, "material", JSON_OPTIONAL, &material, err));
    if (json_exists(&image) + json_exists(&color) + json_exists(&material) != 1)
        return json_fail(&c, err, "must have one of image, color and material");
    TRY(json_get_float(&c, "strength", JSON_OPTIONAL, 0.0, (double)FLT_MAX, &e->strength, err));
    if (json_exists(&color)) {
        float3 radiance = f3(0, 0, 0);
        TRY(get_color(&c, "color", JSON_REQUIRED, &radiance, err));
        e->kind = SCENE_ENVIRONMENT_COLOR;
        e->radiance = f3_scale(radiance, e->strength);
        if (!f3_is_finite(e->radiance))
            return json_fail(&color, err, "times strength is beyond any number");
    } else if (json_exists(&material)) {
        e->kind = SCENE_ENVIRONMENT_MATERIAL;
        if (e->strength != 1.0f)
            return json_fail(&c, err, "strength belongs to image and color");
        TRY(parse_reference(&material, &p->material_names, "material", &e->material, err));
    } else {
        e->kind = SCENE_ENVIRONMENT_IMAGE;
        TRY(parse_texture(p, &image, false, &e->texture, err));
    }
    TRY(parse_transform(&c, JSON_OPTIONAL, &field, &e->environment_to_world, err));
    if (json_exists(&field)) {
        if (f3_length2(mat4_point(&e->environment_to_world, f3(0, 0, 0))) != 0.0f)
            return json_fail(&field, err, "must be a rotation: the environment is infinitely far");
        TRY(parse_rigid(&field, false, &e->environment_to_world, err));
        e->world_to_environment = mat4_transpose(e->environment_to_world);
    }
    return json_finish(&c, err);
}

static Status parse_credits(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array, c;
    uint32_t count;
    TRY(parse_section(root, "credits", JSON_OPTIONAL, SCENE_SECTION_MAX, &array, &count, err));
    const char **credits = ARENA_ARRAY(p->arena, const char *, count);
    for (uint32_t i = 0; i < count; ++i) {
        const char *text;
        json_at(&array, i, &c);
        TRY(json_as_string(&c, &text, err));
        credits[i] = arena_strndup(p->arena, text, strlen(text));
    }
    p->scene->credits = credits;
    p->scene->credit_count = count;
    return STATUS_OK;
}

static Status parse_root(SceneParser *p, Error *err)
{
    JsonCursor root, extras;
    int64_t version;
    const char *name = "";
    TRY(json_root_object(p->doc, &root, err));
    TRY(json_get_int(&root, "sort_package", JSON_REQUIRED, 1, INT64_MAX, &version, err));
    if (version != 1)
        return error_set_at(err, STATUS_UNSUPPORTED, json_doc_name(p->doc),
                            "sort_package: version %lld; this renderer reads version 1",
                            (long long)version);
    TRY(json_get_string(&root, "name", JSON_OPTIONAL, &name, err));
    p->scene->name = arena_strndup(p->arena, name, strlen(name));
    TRY(parse_credits(p, &root, err));
    TRY(parse_cameras(p, &root, err));
    TRY(parse_settings(p, &root, err));
    TRY(parse_materials(p, &root, err));
    TRY(parse_meshes(p, &root, err));
    TRY(parse_instances(p, &root, err));
    TRY(parse_lights(p, &root, err));
    TRY(parse_environment(p, &root, err));
    list_light_groups(p);
    TRY(json_get_any(&root, "extras", JSON_OPTIONAL, &extras, err));
    return json_finish(&root, err);
}

Status scene_parse(SceneParser *parser, const char *name, Str text, Error *err)
{
    TRY(json_parse(name, text, &parser->doc, err));
    if (setjmp(parser->no_memory)) {
        arena_on_no_memory(parser->arena, NULL);
        return error_set_at(err, STATUS_NO_MEMORY, name, "no memory for the scene's description");
    }
    arena_on_no_memory(parser->arena, &parser->no_memory);
    Status status = parse_root(parser, err);
    arena_on_no_memory(parser->arena, NULL);
    return status;
}

void scene_parser_free(SceneParser *parser)
{
    NameIndex *names[] = {&parser->camera_names,   &parser->mesh_names,
                          &parser->curve_names,    &parser->light_group_names,
                          &parser->instance_names, &parser->material_names,
                          &parser->light_names,    &parser->shader_names,
                          &parser->texture_keys,   &parser->texture_files};
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i)
        name_index_free(names[i]);
    json_destroy(parser->doc);
    parser->doc = NULL;
}
