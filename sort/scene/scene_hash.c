#include "sort/scene/scene_hash.h"

static void add_floats(HashState *h, const float *values, size_t count)
{
    hash128_update_u64(h, count);
    hash128_update(h, values, count * sizeof *values);
}

static void add_curves(HashState *h, const SceneMesh *m)
{
    const SceneCurves *c = m->curves;
    hash128_update_u64(h, (uint64_t)c->basis << 1 | (uint64_t)c->is_ribbon);
    for (uint32_t k = 0; k <= m->later_count; ++k)
        add_floats(h, k == 0 ? c->points : c->later[k - 1], 4 * (size_t)m->vertex_count);
    hash128_update(h, c->point_counts, c->curve_count * sizeof *c->point_counts);
    for (uint32_t k = 0; k < m->uv_count; ++k)
        add_floats(h, m->uv[k], 2 * (size_t)c->curve_count);
    for (uint32_t k = 0; k < m->attribute_count; ++k) {
        const SceneAttribute *a = &m->attributes[k];
        hash128_update_text(h, a->name);
        add_floats(h, a->values,
                   a->components * (size_t)(a->is_per_curve ? c->curve_count : m->vertex_count));
    }
    hash128_update_u64(h, m->material_indices != NULL);
    if (m->material_indices)
        hash128_update(h, m->material_indices, c->curve_count * sizeof *m->material_indices);
}

static void add_mesh(HashState *h, const SceneMesh *m)
{
    static const float none;
    size_t vertices = m->vertex_count, triangles = m->triangle_count;
    if (m->curves) {
        add_curves(h, m);
        return;
    }
    add_floats(h, m->positions, 3 * vertices);
    add_floats(h, m->normals ? m->normals : &none, m->normals ? 3 * vertices : 0);
    add_floats(h, m->tangents ? m->tangents : &none, m->tangents ? 4 * vertices : 0);
    for (uint32_t k = 0; k < m->uv_count; ++k)
        add_floats(h, m->uv[k], 2 * vertices);
    for (uint32_t k = 0; k < m->later_count; ++k) {
        const SceneMeshKey *key = &m->later[k];
        add_floats(h, key->positions, 3 * vertices);
        add_floats(h, key->normals ? key->normals : &none, key->normals ? 3 * vertices : 0);
    }
    for (uint32_t k = 0; k < 2 && m->neighbours[k]; ++k)
        add_floats(h, m->neighbours[k], 3 * vertices);
    for (uint32_t k = 0; k < m->attribute_count; ++k) {
        hash128_update_text(h, m->attributes[k].name);
        add_floats(h, m->attributes[k].values, m->attributes[k].components * vertices);
    }
    hash128_update(h, m->indices, 3 * triangles * sizeof *m->indices);
    hash128_update_u64(h, m->material_indices != NULL);
    if (m->material_indices)
        hash128_update(h, m->material_indices, triangles * sizeof *m->material_indices);
}

static void add_light_visibility(HashState *h, const SceneLightVisibility *p)
{
    hash128_update_u64(h, (uint64_t)p->bounce_limit << 32 | (uint64_t)p->invisible_to << 3 |
                              (uint64_t)p->is_permeable << 2 | (uint64_t)p->is_shadowless << 1 |
                              (uint64_t)p->is_sampled_only);
    /* Scenes without linked lights keep the identity that they had before there were any. */
    if (p->unlit_sets | p->open_sets) {
        hash128_update_u64(h, p->unlit_sets);
        hash128_update_u64(h, p->open_sets);
    }
}

static void add_instance(HashState *h, const SceneInstance *i)
{
    hash128_update_text(h, i->name); /* global_value<object_random> depends on it */
    hash128_update_u64(h, (uint64_t)i->mesh << 16 | (uint32_t)i->is_caustics_caster << 15 |
                              (uint32_t)i->is_caustics_receiver << 14 | i->invisible_to << 8 |
                              (uint32_t)i->is_holdout << 7 | (uint32_t)i->is_shadow_catcher << 6 |
                              (uint32_t)i->is_lamp << 5 | i->light_group);
    add_light_visibility(h, &i->light_visibility);
    if (i->link_set != 0)
        hash128_update_u64(h, i->link_set);
    hash128_update(h, i->materials, i->material_count * sizeof *i->materials);
    add_floats(h, &i->object_to_world.m[0][0], 16);
    for (uint32_t k = 0; k < i->key_count; ++k)
        add_floats(h, &i->keys[k].m[0][0], 16);
    for (uint32_t k = 0; k < 2 && i->neighbours; ++k)
        add_floats(h, &i->neighbours[k].m[0][0], 16);
    for (uint32_t k = 0; k < i->attribute_count; ++k) {
        hash128_update_text(h, i->attributes[k].name);
        add_floats(h, i->attributes[k].values, i->attributes[k].components);
    }
}

static void add_text(HashState *h, const char *text)
{
    hash128_update_text(h, text ? text : "");
}

static void add_value(HashState *h, const SslValue *v)
{
    hash128_update_u64(h, v->type);
    if (v->type == SSL_BOOL || v->type == SSL_INT)
        hash128_update_u64(h, v->type == SSL_BOOL ? v->b : (uint32_t)v->i);
    else if (v->type == SSL_STRING)
        add_text(h, v->s);
    else if (v->type == SSL_ARRAY || v->type == SSL_STRUCT)
        hash128_update(h, v->list, v->count * sizeof *v->list);
    else
        add_floats(h, v->f, ssl_type_scalars(v->type));
}

static void add_values(HashState *h, const SslGroupValue *values, uint32_t count)
{
    hash128_update_u64(h, count);
    for (uint32_t i = 0; i < count; ++i) {
        add_text(h, values[i].param);
        add_value(h, &values[i].value);
    }
}

static void add_textures(HashState *h, const Scene *scene, const SslGroupTexture *textures,
                         uint32_t count)
{
    hash128_update_u64(h, count);
    for (uint32_t i = 0; i < count; ++i) {
        const SceneTexture *t = &scene->textures[textures[i].id];
        add_text(h, textures[i].texture);
        add_text(h, t->name);
        hash128_update_u64(h, (uint64_t)t->color_space << 16 | (uint64_t)t->wrap_u << 8 |
                                  (uint64_t)t->wrap_v);
    }
}

static void add_shader(HashState *h, const Scene *scene, uint32_t shader, const char *entry)
{
    add_text(h, scene->shaders[shader].name);
    hash128_update(h, scene->shaders[shader].text.data, scene->shaders[shader].text.size_bytes);
    add_text(h, entry);
}

static void add_bindings(HashState *h, const Scene *scene, const SslGroupNode *node)
{
    add_values(h, node->values, node->value_count);
    add_textures(h, scene, node->textures, node->texture_count);
    for (uint32_t i = 0; i < node->attribute_count; ++i) {
        add_text(h, node->attributes[i].attribute);
        add_text(h, node->attributes[i].binds);
    }
}

/* Groups inside it by name: all of the scene's are hashed, too. */
static void add_group(HashState *h, const Scene *scene, const SslGroupDesc *group)
{
    add_text(h, group->name);
    hash128_update_u64(h, group->node_count);
    for (uint32_t i = 0; i < group->node_count; ++i) {
        const SslGroupNode *node = &group->nodes[i];
        add_text(h, node->name);
        if (node->group)
            add_text(h, node->group->name);
        else
            add_shader(h, scene, node->shader_id, node->entry);
        add_bindings(h, scene, node);
    }
    hash128_update_u64(h, group->wire_count);
    for (uint32_t i = 0; i < group->wire_count; ++i) {
        add_text(h, group->wires[i].from_node);
        add_text(h, group->wires[i].from);
        add_text(h, group->wires[i].to_node);
        add_text(h, group->wires[i].to);
    }
    for (uint32_t i = 0; i < group->param_count; ++i) {
        add_text(h, group->params[i].name);
        hash128_update_u64(h, group->params[i].type);
        if (group->params[i].has_default)
            add_value(h, &group->params[i].default_value);
    }
    for (uint32_t i = 0; i < group->output_count; ++i) {
        add_text(h, group->outputs[i].name);
        add_text(h, group->outputs[i].node);
        add_text(h, group->outputs[i].output);
    }
}

static void add_material(HashState *h, const Scene *scene, const SceneMaterial *m)
{
    if (m->node.group)
        add_group(h, scene, m->node.group);
    else
        add_shader(h, scene, m->node.shader_id, m->node.entry);
    hash128_update_u64(h, m->shadows_bumps);
    hash128_update_u64(h, m->soft_bump_shadows);
    hash128_update_u64(h, m->keeps_radiance);
    add_bindings(h, scene, &m->node);
}

static void add_light(HashState *h, const SceneLight *l)
{
    const float values[] = {l->emission.x,      l->emission.y, l->emission.z, l->inner_angle_rad,
                            l->outer_angle_rad, l->angle_rad,  l->size_x_m,   l->size_y_m,
                            l->radius_m,        l->spread_rad};
    hash128_update_u64(h, (uint64_t)l->falloff << 8 | (uint64_t)l->kind << 2 |
                              (uint64_t)l->is_caustics_light << 1 | (uint64_t)l->is_two_sided);
    hash128_update_u64(h, (uint64_t)l->material << 32 | l->light_group);
    add_light_visibility(h, &l->visibility);
    add_floats(h, &l->light_to_world.m[0][0], 16);
    add_floats(h, values, SORT_COUNT_OF(values));
}

static void add_portal(HashState *h, const ScenePortal *p)
{
    const float size[] = {p->size_x_m, p->size_y_m};
    add_floats(h, &p->portal_to_world.m[0][0], 16);
    add_floats(h, size, SORT_COUNT_OF(size));
}

Hash128 scene_hash(const Scene *scene)
{
    HashState h;
    hash128_begin(&h);
    for (uint32_t k = 0; k < scene->mesh_count; ++k)
        add_mesh(&h, &scene->meshes[k]);
    for (uint32_t k = 0; k < scene->instance_count; ++k)
        add_instance(&h, &scene->instances[k]);
    for (uint32_t k = 0; k < scene->group_count; ++k)
        add_group(&h, scene, &scene->groups[k]);
    for (uint32_t k = 0; k < scene->material_count; ++k)
        add_material(&h, scene, &scene->materials[k]);
    for (uint32_t k = 0; k < scene->light_count; ++k)
        add_light(&h, &scene->lights[k]);
    const SceneEnvironment *e = &scene->environment;
    const float environment[] = {e->radiance.x, e->radiance.y, e->radiance.z, e->strength};
    hash128_update_u64(&h, (uint64_t)e->is_caustics_light << 16 | (uint64_t)e->kind << 8 |
                               e->light_group);
    add_light_visibility(&h, &e->visibility);
    add_floats(&h, environment, SORT_COUNT_OF(environment));
    add_floats(&h, &e->environment_to_world.m[0][0], 16);
    if (e->kind == SCENE_ENVIRONMENT_IMAGE)
        hash128_update_text(&h, scene->textures[e->texture].name);
    if (e->kind == SCENE_ENVIRONMENT_MATERIAL)
        hash128_update_u64(&h, e->material);
    for (uint32_t k = 0; k < scene->portal_count; ++k)
        add_portal(&h, &scene->portals[k]);
    return hash128_end(&h);
}
