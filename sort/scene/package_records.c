#include "sort/scene/package_records.h"
#include "base/json_write.h"

static void write_numbers(JsonWriter *w, const char *name, const float *values, uint32_t count)
{
    json_write_array(w, name);
    for (uint32_t i = 0; i < count; i++)
        json_write_float(w, NULL, values[i]);
    json_write_end(w);
}

static void write_color(JsonWriter *w, const char *name, float3 c)
{
    write_numbers(w, name, (float[3]){c.x, c.y, c.z}, 3);
}

static void write_transform(JsonWriter *w, const mat4 *transform)
{
    write_numbers(w, "transform", &transform->m[0][0], 16);
}

static void write_array(JsonWriter *w, const char *name, const char *file, const PackageArray *a)
{
    if (!a->type)
        return;
    json_write_object(w, name);
    json_write_string(w, "file", file);
    json_write_u64(w, "offset_bytes", a->offset_bytes);
    json_write_string(w, "type", a->type);
    json_write_u64(w, "components", a->components);
    json_write_u64(w, "count", a->count);
    json_write_end(w);
}

static void write_mesh(JsonWriter *w, const PackageMesh *mesh)
{
    json_write_object(w, NULL);
    json_write_string(w, "name", mesh->name);
    json_write_u64(w, "vertex_count", mesh->vertex_count);
    json_write_u64(w, "triangle_count", mesh->triangle_count);
    write_array(w, "positions", mesh->file, &mesh->positions);
    write_array(w, "indices", mesh->file, &mesh->indices);
    write_array(w, "normals", mesh->file, &mesh->normals);
    write_array(w, "tangents", mesh->file, &mesh->tangents);
    if (mesh->uv.type) {
        json_write_array(w, "uv");
        write_array(w, NULL, mesh->file, &mesh->uv);
        json_write_end(w);
    }
    if (mesh->colors.type) {
        json_write_object(w, "attributes");
        write_array(w, "vertex_color", mesh->file, &mesh->colors); /* as gltf_pbr.ssl calls it */
        json_write_end(w);
    }
    json_write_end(w);
}

static void write_instance(JsonWriter *w, const PackageRecords *r, const PackageInstance *instance)
{
    const PackageMesh *mesh = &r->meshes.data[instance->mesh];
    json_write_object(w, NULL);
    json_write_string(w, "name", instance->name);
    json_write_string(w, "mesh", mesh->name);
    write_transform(w, &instance->transform);
    json_write_array(w, "materials");
    json_write_string(w, NULL, r->materials.data[mesh->material].name);
    json_write_end(w);
    json_write_end(w);
}

static void write_parameter(JsonWriter *w, const PackageParameter *p)
{
    if (p->kind == PACKAGE_BOOL)
        json_write_bool(w, p->name, p->values[0] != 0.0f);
    else if (p->kind == PACKAGE_INT)
        json_write_i64(w, p->name, (int64_t)p->values[0]);
    else if (p->count == 1)
        json_write_float(w, p->name, p->values[0]);
    else
        write_numbers(w, p->name, p->values, p->count);
}

static void write_binding(JsonWriter *w, const PackageBinding *b)
{
    json_write_object(w, b->handle);
    json_write_string(w, "file", b->file);
    json_write_string(w, "color_space", b->color_space);
    json_write_array(w, "wrap");
    json_write_string(w, NULL, b->wrap_u);
    json_write_string(w, NULL, b->wrap_v);
    json_write_end(w);
    json_write_end(w);
}

static void write_material(JsonWriter *w, const PackageMaterial *m)
{
    json_write_object(w, NULL);
    json_write_string(w, "name", m->name);
    json_write_string(w, "shader", m->shader);
    json_write_object(w, "parameters");
    for (uint32_t i = 0; i < m->parameter_count; i++)
        write_parameter(w, &m->parameters[i]);
    json_write_end(w);
    json_write_object(w, "textures");
    for (uint32_t i = 0; i < m->binding_count; i++)
        write_binding(w, &m->bindings[i]);
    json_write_end(w);
    json_write_end(w);
}

static void write_camera(JsonWriter *w, const PackageCamera *camera)
{
    json_write_object(w, NULL);
    json_write_string(w, "name", camera->name);
    json_write_string(w, "type", camera->height_m > 0 ? "orthographic" : "perspective");
    write_transform(w, &camera->transform);
    if (camera->height_m > 0)
        json_write_float(w, "height_m", camera->height_m);
    else
        json_write_float(w, "fov_y_degrees", camera->fov_y_deg);
    json_write_end(w);
}

static void write_light(JsonWriter *w, const PackageLight *light)
{
    json_write_object(w, NULL);
    json_write_string(w, "name", light->name);
    json_write_string(w, "type", light->type);
    write_transform(w, &light->transform);
    write_color(w, light->color_field, light->color);
    if (light->outer_angle_deg > 0.0f) {
        json_write_float(w, "inner_angle_degrees", light->inner_angle_deg);
        json_write_float(w, "outer_angle_degrees", light->outer_angle_deg);
    }
    if (light->angle_deg > 0.0f)
        json_write_float(w, "angle_degrees", light->angle_deg);
    json_write_end(w);
}

void package_records_to_json(const PackageRecords *r, StrBuf *out)
{
    JsonWriter writer = json_writer(out, JSON_INDENTED), *w = &writer;
    json_write_object(w, NULL);
    json_write_u64(w, "sort_package", 1);
    json_write_string(w, "name", r->name);
    json_write_array(w, "credits");
    for (uint32_t i = 0; i < r->credits.count; i++)
        json_write_string(w, NULL, r->credits.data[i]);
    json_write_end(w);
    json_write_object(w, "settings");
    json_write_array(w, "resolution");
    json_write_u64(w, NULL, r->width_px);
    json_write_u64(w, NULL, r->height_px);
    json_write_end(w);
    json_write_end(w);
    json_write_array(w, "cameras");
    for (uint32_t i = 0; i < r->cameras.count; i++)
        write_camera(w, &r->cameras.data[i]);
    json_write_end(w);
    json_write_array(w, "meshes");
    for (uint32_t i = 0; i < r->meshes.count; i++)
        write_mesh(w, &r->meshes.data[i]);
    json_write_end(w);
    json_write_array(w, "instances");
    for (uint32_t i = 0; i < r->instances.count; i++)
        write_instance(w, r, &r->instances.data[i]);
    json_write_end(w);
    json_write_array(w, "materials");
    for (uint32_t i = 0; i < r->materials.count; i++)
        write_material(w, &r->materials.data[i]);
    json_write_end(w);
    json_write_array(w, "lights");
    for (uint32_t i = 0; i < r->lights.count; i++)
        write_light(w, &r->lights.data[i]);
    json_write_end(w);
    if (r->has_environment) {
        json_write_object(w, "environment");
        write_color(w, "color", r->environment_color);
        json_write_end(w);
    }
    json_write_end(w);
    strbuf_append_char(out, '\n');
}
