/* Points on emissive meshes: those that light sampling drew, and those that paths met and that light sampling finds too. Where
 * a material's emission is not constant its kernel is called, once for all points of a stage. */
#include "sort/integrator/wave_state.h"

#include "sort/shade/footprint_ray.h"

/* Queues a point on a mesh that light sampling finds with density `pdf`, or would have found. Returns its place. */
static MeshLight *queue(Wave *w, uint32_t path, Spectrum factor, const HitQuery *query,
                        const Ray *ray, float pdf)
{
    ASSERT(w->mesh_light_count < 2 * w->capacity);
    MeshLight *light = &w->mesh_lights[w->mesh_light_count++];
    uint32_t material = hit_material(w->shared->scene, query->instance, query->triangle);
    *light = (MeshLight){.path = path, .factor = factor, .query = *query, .ray = *ray};
    light->query.parts =
        material_set_get(w->shared->materials, material)->programs[SSL_KERNEL_EMISSION].parts;
    if (light->query.parts & HIT_FOOTPRINT)
        footprint_light(ray->direction, pdf, &light->diff);
    light->history = w->paths[path].history;
    light->history.is_cone = true;
    return light;
}

/* Returns the place that light sampling drew. */
static HitQuery query_of(const LightRows *lights, uint32_t k)
{
    return (HitQuery){.instance = lights->instance[k],
                      .triangle = lights->triangle[k],
                      .b1 = lights->b1[k],
                      .b2 = lights->b2[k],
                      .t = lights->distance_m[k]};
}

void wave_find_end(const Wave *w, uint32_t i, float3 from, LightRows *lights, uint32_t lane)
{
    const Scene *scene = w->shared->scene;
    if (lights->value[lane] != LIGHT_VALUE_MESH ||
        !scene->meshes[scene->instances[lights->instance[lane]].mesh].curves)
        return;
    SurfaceHit end;
    Ray ray = {.origin = from, .direction = wide_get3(lights->wi, lane), .time = w->rays.time[i]};
    HitQuery query = query_of(lights, lane);
    hit_surface(scene, &query, &ray, NULL, &end);
    SurfacePoint point = hit_point(&end);
    wide_set3(lights->end, lane, point.P);
    wide_set3(lights->end_n, lane, point.n);
    lights->end_error_m[lane] = point.error_m;
}

void wave_send_to_mesh(Wave *w, uint32_t shadow, SurfaceLane surface, const LightRows *lights,
                       Spectrum factor)
{
    uint32_t k = surface.lane, i = w->shadow.lights[shadow].path;
    Ray ray = {.origin = surface_vector(surface, surface.block->P),
               .direction = wide_get3(lights->wi, k),
               .t_max = INFINITY,
               .time = w->rays.time[i]};
    HitQuery query = query_of(lights, k);
    query.depth = surface_depth(surface) + 1;
    MeshLight *mesh = queue(w, i, factor, &query, &ray, lights->pdf[k]);
    mesh->shadow = shadow;
    mesh->draw = wave_draw(&w->paths[i], WAVE_CROSSING_LIGHT);
    mesh->history.kind = 0;
}

void wave_begin_at_mesh(Wave *w, uint32_t i, Spectrum factor, const HitQuery *query, const Ray *ray)
{
    MeshLight *mesh = queue(w, i, factor, query, ray, INFINITY);
    mesh->begins = true;
    mesh->draw = wave_draw(&w->paths[i], WAVE_CROSSING_LIGHT);
    mesh->history.kind = 0;
}

/* Adds light of a mesh that the path's ray met, which light sampling finds too. depth: of the mesh. */
static void add_met(Wave *w, uint32_t i, uint32_t instance, uint32_t depth, Spectrum light)
{
    const SceneInstance *source = &w->shared->scene->instances[instance];
    const Path *path = &w->paths[i];
    uint32_t hidden = wave_hidden_kinds(path->history.kind, source->light_visibility.invisible_to);
    wave_add_light(w, path, light, (LightArrival){true, source->light_group, depth, hidden, NULL});
}

void wave_meet_mesh(Wave *w, uint32_t i, SurfaceLane surface, Spectrum factor, float distance_m,
                    float pdf)
{
    const SurfaceBlock *b = surface.block;
    const ShadeGlow *glow = &w->shared->glows[b->material];
    uint32_t k = surface.lane;
    if (glow->is_constant) {
        add_met(w, i, surface_instance(surface), surface_depth(surface),
                spectrum_mul(factor, b->is_backfacing[k] ? glow->back : glow->front));
        return;
    }
    Ray ray = {.origin = w->paths[i].from,
               .direction = surface_vector(surface, b->I),
               .t_max = INFINITY,
               .time = w->rays.time[i]};
    HitQuery query = {.instance = surface_instance(surface),
                      .triangle = surface_triangle(surface),
                      .b1 = w->hits.b1[i],
                      .b2 = w->hits.b2[i],
                      .t = distance_m,
                      .depth = surface_depth(surface)};
    MeshLight *mesh = queue(w, i, factor, &query, &ray, pdf);
    mesh->is_met = true;
    mesh->draw = b->draw[k];
}

static void deliver(Wave *w, const MeshLight *mesh, Spectrum radiance)
{
    Spectrum light = spectrum_mul(mesh->factor, radiance);
    ASSERT(mesh->path < w->count);
    if (mesh->begins)
        w->paths[mesh->path].beta = light;
    else if (mesh->is_met)
        add_met(w, mesh->path, mesh->query.instance, mesh->query.depth, light);
    else
        shadow_queue_set_light(&w->shadow, mesh->shadow, light,
                               w->shared->scene->instances[mesh->query.instance].light_group);
}

/* Computes the surfaces of `count` <= SSL_BLOCK queued points of one material. */
static void find(const Wave *w, const MeshLight *lights, uint32_t count, uint32_t material,
                 SurfaceBlock *out)
{
    HitRays rays;
    ASSERT(count > 0 && count <= SSL_BLOCK);
    for (uint32_t k = 0; k < count; ++k) {
        const MeshLight *mesh = &lights[k];
        out->instance[k] = (int32_t)mesh->query.instance;
        out->triangle[k] = (int32_t)mesh->query.triangle;
        out->depth[k] = (int32_t)mesh->query.depth;
        out->b1[k] = mesh->query.b1, out->b2[k] = mesh->query.b2;
        out->length_m[k] = mesh->query.t;
        out->draw[k] = mesh->draw;
        out->history[k] = mesh->history;
        wide_set3(out->I, k, mesh->ray.direction);
        wide_set3(rays.origin, k, mesh->ray.origin);
        rays.time[k] = mesh->ray.time;
        rays.diff[k] = &mesh->diff;
    }
    out->count = count;
    out->material = material;
    hit_surfaces(w->shared->scene, &rays, lights->query.parts, out);
}

/* Lists are short, and a render has few emissive materials: points are not sorted by material. */
void wave_evaluate_meshes(Wave *w)
{
    const Scene *scene = w->shared->scene;
    for (uint32_t begin = 0; begin < w->mesh_light_count;) {
        const MeshLight *mesh = &w->mesh_lights[begin];
        uint32_t material = hit_material(scene, mesh->query.instance, mesh->query.triangle);
        uint32_t count = 0;
        while (begin + count < w->mesh_light_count && count < SHADE_CHUNK &&
               hit_material(scene, mesh[count].query.instance, mesh[count].query.triangle) ==
                   material)
            ++count;
        for (uint32_t k = 0; k < count; k += SSL_BLOCK)
            find(w, mesh + k, count - k < SSL_BLOCK ? count - k : SSL_BLOCK, material,
                 &w->surfaces[k / SSL_BLOCK]);
        bool emits = shade_run(w->shade, material, SSL_KERNEL_EMISSION, w->surfaces, count);
        for (uint32_t k = 0; k < count; ++k)
            deliver(w, &mesh[k], emits ? shade_emission(w->shade, k) : spectrum_splat(0.0f));
        begin += count;
    }
    w->mesh_light_count = 0;
}
