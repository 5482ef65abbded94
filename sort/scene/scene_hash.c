#include "sort/scene/scene_hash.h"

static void add_floats(HashState *h, const float *values, size_t count)
{
    hash128_update_u64(h, count);
    hash128_update(h, values, count * sizeof *values);
}

static void add_mesh(HashState *h, const SceneMesh *m)
{
    static const float none;
    size_t vertices = m->vertex_count, triangles = m->triangle_count;
    add_floats(h, m->positions, 3 * vertices);
    add_floats(h, m->normals ? m->normals : &none, m->normals ? 3 * vertices : 0);
    add_floats(h, m->tangents ? m->tangents : &none, m->tangents ? 4 * vertices : 0);
    for (uint32_t k = 0; k < m->uv_count; ++k)
        add_floats(h, m->uv[k], 2 * vertices);
    hash128_update(h, m->indices, 3 * triangles * sizeof *m->indices);
    hash128_update_u64(h, m->material_indices != NULL);
    if (m->material_indices)
        hash128_update(h, m->material_indices, triangles * sizeof *m->material_indices);
}

static void add_instance(HashState *h, const SceneInstance *i)
{
    hash128_update_text(h, i->name); /* global_value<object_random> depends on it */
    hash128_update_u64(h, i->mesh);
    hash128_update(h, i->materials, i->material_count * sizeof *i->materials);
    add_floats(h, &i->object_to_world.m[0][0], 16);
}

static void add_material(HashState *h, const Scene *scene, const SceneMaterial *m)
{
    const SceneShader *shader = &scene->shaders[m->shader];
    hash128_update_text(h, shader->name);
    hash128_update(h, shader->text.data, shader->text.size_bytes);
    hash128_update_text(h, m->entry ? m->entry : "");
    for (uint32_t k = 0; k < m->parameter_count; ++k) {
        const SceneParameter *p = &m->parameters[k];
        hash128_update_text(h, p->name);
        hash128_update_u64(h, (uint64_t)p->kind << 32 | (uint64_t)p->b);
        hash128_update_u64(h, (uint32_t)p->i);
        add_floats(h, p->f, p->count);
    }
    for (uint32_t k = 0; k < m->texture_count; ++k) {
        const SceneTexture *t = &scene->textures[m->textures[k].texture];
        hash128_update_text(h, m->textures[k].handle);
        hash128_update_text(h, t->name);
        hash128_update_u64(h, (uint64_t)t->color_space << 16 | (uint64_t)t->wrap_u << 8 |
                                  (uint64_t)t->wrap_v);
    }
}

static void add_light(HashState *h, const SceneLight *l)
{
    const float values[] = {l->emission.x,      l->emission.y,      l->emission.z,
                            l->inner_angle_rad, l->outer_angle_rad, l->angle_rad,
                            l->size_x_m,        l->size_y_m,        l->radius_m};
    hash128_update_u64(h, (uint64_t)l->kind << 1 | (uint64_t)l->is_two_sided);
    add_floats(h, &l->light_to_world.m[0][0], 16);
    add_floats(h, values, SORT_COUNT_OF(values));
}

Hash128 scene_hash(const Scene *scene)
{
    HashState h;
    hash128_begin(&h);
    for (uint32_t k = 0; k < scene->mesh_count; ++k)
        add_mesh(&h, &scene->meshes[k]);
    for (uint32_t k = 0; k < scene->instance_count; ++k)
        add_instance(&h, &scene->instances[k]);
    for (uint32_t k = 0; k < scene->material_count; ++k)
        add_material(&h, scene, &scene->materials[k]);
    for (uint32_t k = 0; k < scene->light_count; ++k)
        add_light(&h, &scene->lights[k]);
    const SceneEnvironment *e = &scene->environment;
    const float environment[] = {e->radiance.x, e->radiance.y, e->radiance.z, e->strength};
    hash128_update_u64(&h, (uint64_t)e->kind);
    add_floats(&h, environment, SORT_COUNT_OF(environment));
    add_floats(&h, &e->environment_to_world.m[0][0], 16);
    if (e->kind == SCENE_ENVIRONMENT_IMAGE)
        hash128_update_text(&h, scene->textures[e->texture].name);
    return hash128_end(&h);
}
