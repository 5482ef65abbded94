/* Shades the surfaces that rays met: the path integrator's step.
 *
 * The rendering equation [Kajiya1986] at a surface point x, towards the viewer wo,
 *
 *     L(wo) = Le(wo) + integral over wi of f(wo, wi) L(wi) |cos wi|,
 *
 * is estimated along a path whose throughput `beta` is the product of f |cos| / pdf so far. At each surface
 *
 *     emission    sample += beta  w_b  Le                             add_emission
 *     one light   sample += beta  w_l  f(wi) |cos wi| Ll V / p_l      sample_light; V is the shadow ray
 *     one lobe    beta   *= f(wi) |cos wi| / p_b                      scatter, which sends the ray along wi
 *
 * p_l and p_b are the solid-angle densities of light sampling and of the BSDF, and w_l and w_b their weights by the
 * power heuristic [Veach1997 ch. 9]. w_b is that of the scatter that led here; it is 1 behind the camera and behind
 * delta lobes, which light sampling cannot draw.
 *
 * Emission kernels of meshes and lookups in the sky wait in queues until all paths of the stage are sampled. */
#include "sort/integrator/wave_state.h"

#include "sort/sampling/warp.h"
#include "sort/shade/footprint_ray.h"

/* The points of a block: the paths that met them, and the surfaces. */
typedef struct PointBlock {
    uint32_t count;
    uint32_t path[SSL_BLOCK];
    const SurfaceHit *hit[SSL_BLOCK];
} PointBlock;

/* The mean over directions of the density of a cosine lobe, per steradian. */
#define DIFFUSE_PDF (0.5f * SORT_INV_PI)

/* --- first surface ---------------------------------------------------------------------------- */

static void store3(float *at, float3 v)
{
    at[0] = v.x, at[1] = v.y, at[2] = v.z;
}

static void record_ids(const Wave *w, FilmSample *sample, const SurfaceHit *hit)
{
    const WaveShared *s = w->shared;
    if (s->instance_ids)
        sample->ids[FILM_ID_OBJECT] = s->instance_ids[hit->instance];
    if (s->material_ids)
        sample->ids[FILM_ID_MATERIAL] = s->material_ids[hit->material];
}

_Static_assert((int)BSDF_AOVS_MAX == (int)FILM_SHADER_AOVS_MAX, "slots of Aov are layers");

static void record_shader_aovs(float *aov, BsdfPoint bsdf)
{
    for (uint32_t slot = 0; slot < BSDF_AOVS_MAX; ++slot)
        if (bsdf.block->aov_slots[bsdf.lane] >> slot & 1)
            store3(aov + (size_t)3 * slot,
                   spectrum_to_rgb(bsdf_point_row(bsdf, bsdf.block->aovs[slot])));
}

/* Records the AOVs of a surface that the camera sees. It is called for each transparent surface on the way and for the
 * first other one, whose values stay. Depth is that of the first surface of all until one stops the path, so that
 * partly transparent surfaces in front of nothing have a depth too. */
static void record_first_surface(const Wave *w, Path *path, const SurfaceHit *hit, BsdfPoint bsdf,
                                 uint32_t point, float time, bool is_transparent)
{
    float *aov = w->samples[path->sample].aov;
    float distance = camera_distance(&w->shared->camera, time, hit->P);
    if (path->event == 0 || !is_transparent)
        aov[FILM_AT_DEPTH] = distance;
    if (film_aovs_have(w->aovs, FILM_AOV_MIST)) {
        Spectrum seen = spectrum_mul(
            path->beta, spectrum_sub(spectrum_splat(1.0f), bsdf_point_transparency(bsdf)));
        aov[FILM_AT_MIST] -= spectrum_average(seen) * (1.0f - wave_mist(w, distance));
    }
    if (is_transparent)
        return;
    path->flags |= PATH_SEEN;
    if (w->aovs & FILM_SHADER_AOVS)
        record_shader_aovs(aov + FILM_AT_SHADER_AOV_1, bsdf);
    record_ids(w, &w->samples[path->sample], hit);
    if (film_aovs_have(w->aovs, FILM_AOV_ALBEDO))
        store3(aov + FILM_AT_ALBEDO, spectrum_to_rgb(bsdf_point_albedo(bsdf)));
    aov[FILM_AT_UV] = hit->uv.x, aov[FILM_AT_UV + 1] = hit->uv.y;
    if (film_aovs_have(w->aovs, FILM_AOV_DERIVATIVE)) {
        aov[FILM_AT_DERIVATIVE] = f2_length(hit->duvdx);
        aov[FILM_AT_DERIVATIVE + 1] = f2_length(hit->duvdy);
    }
    if (w->levels)
        aov[FILM_AT_MIP] = w->levels->levels[point];
    if (film_aovs_have(w->aovs, FILM_AOV_POSITION))
        store3(aov + FILM_AT_POSITION, hit->P);
    if (film_aovs_have(w->aovs, FILM_AOV_NORMAL)) {
        float3 n = bsdf_point_normal(bsdf);
        store3(aov + FILM_AT_NORMAL, f3_length2(n) > 0.0f ? n : hit->N);
    }
}

/* --- random numbers --------------------------------------------------------------------------- */

/* Draws the pair of a slot for each point of `live`. */
static void draw_pairs(const Wave *w, const PointBlock *points, SampleSlot slot, uint16_t live,
                       WideRow out_u[2])
{
    const SampleKey *keys[SSL_BLOCK];
    uint32_t dimensions[SSL_BLOCK];
    for (uint32_t k = 0; k < points->count; ++k) {
        const Path *path = &w->paths[points->path[k]];
        keys[k] = &path->key;
        dimensions[k] = sample_dimension(path->event, slot);
    }
    sampler_2d_points(&w->shared->sampler, keys, dimensions, live, out_u);
}

/* --- light sampling --------------------------------------------------------------------------- */

/* Aims the path's shadow ray at `end`, the point on the light; lights at infinity have none. */
static void aim_shadow_ray(Wave *w, uint32_t i, const SurfaceHit *hit, const LightSample *light,
                           const SurfacePoint *end)
{
    SurfacePoint begin = hit_point(hit);
    float3 origin = ray_leave(&begin, light->wi), direction = light->wi;
    float t_max = INFINITY;
    if (light->distance_m < INFINITY)
        t_max = ray_between(origin, ray_leave(end, f3_neg(light->wi)), light->wi, &direction);
    if (light->visibility->is_shadowless)
        t_max = -1.0f; /* an empty segment is clear */
    ray_batch_start(&w->shadow.rays, i, origin, direction, t_max, w->rays.time[i]);
    w->shadow.is_alone[i] = w->paths[i].flags & PATH_ALONE;
    w->shadow.state[i] = SHADOW_QUEUED;
}

/* Returns the constant emission of the side that the viewer sees. */
static Spectrum glow_of(const ShadeGlow *glow, const SurfaceHit *hit)
{
    ASSERT(glow->is_constant);
    return hit->is_backfacing ? glow->back : glow->front;
}

/* Queues a point on a mesh that light sampling finds with density `pdf`, or would have found. Returns its place. */
static MeshLight *queue_mesh_light(Wave *w, uint32_t path, Spectrum factor, const HitQuery *query,
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

/* Returns the point of a curve that was drawn, where a shadow ray ends. */
static SurfacePoint end_on_curve(const Wave *w, const HitQuery *query, const Ray *ray)
{
    SurfaceHit end;
    hit_surface(w->shared->scene, query, ray, NULL, &end);
    return hit_point(&end);
}

/* Aims at a point on a mesh, whose radiance is multiplied into `factor` if it is known without its kernel and queued
 * otherwise. Returns the factor. */
static Spectrum send_to_mesh(Wave *w, uint32_t i, const SurfaceHit *hit, const LightSample *light,
                             Spectrum factor, SurfacePoint *out_end)
{
    const Scene *scene = w->shared->scene;
    Ray ray = {
        .origin = hit->P, .direction = light->wi, .t_max = INFINITY, .time = w->rays.time[i]};
    HitQuery query = {.instance = light->instance,
                      .triangle = light->triangle,
                      .b1 = light->b1,
                      .b2 = light->b2,
                      .t = light->distance_m,
                      .depth = hit->depth + 1};
    const ShadeGlow *glow =
        &w->shared->glows[hit_material(scene, light->instance, light->triangle)];
    if (scene->meshes[scene->instances[light->instance].mesh].curves)
        *out_end = end_on_curve(w, &query, &ray);
    if (glow->is_constant)
        return spectrum_mul(factor, light->is_backfacing ? glow->back : glow->front);
    MeshLight *mesh = queue_mesh_light(w, i, factor, &query, &ray, light->pdf_solid_angle);
    mesh->draw = wave_draw(&w->paths[i], WAVE_CROSSING_LIGHT);
    mesh->history.kind = 0;
    return factor;
}

/* Sends a shadow ray that carries `factor` times the light's radiance. Radiance that takes a kernel or a lookup is
 * queued, and multiplied in later. */
static void send_shadow_ray(Wave *w, uint32_t i, const SurfaceHit *hit, const LightSample *light,
                            Spectrum factor)
{
    ShadowLight *out = &w->lights[i];
    SurfacePoint end = light->end;
    /* The rays to a delta light meet in a point or are parallel, so their cone has no width. */
    if (w->reads.shadow_footprints)
        footprint_cone(light->wi, footprint_width(hit),
                       light->is_delta ? INFINITY : light->pdf_solid_angle, &out->diff);
    out->depth = hit->depth + 1;
    /* Samples of one pixel share the shadow ray's footprint if they share that of the surface. */
    out->is_cone = w->paths[i].history.is_cone;
    switch (light->value) {
    case LIGHT_VALUE_KNOWN:
        factor = spectrum_mul(factor, light->radiance);
        break;
    case LIGHT_VALUE_ENVIRONMENT: {
        EnvironmentFootprint cell = environment_cell(light->map_uv);
        wave_queue_sky(w, &(SkyLight){.path = i, .factor = factor}, &cell);
        break;
    }
    case LIGHT_VALUE_MESH:
        factor = send_to_mesh(w, i, hit, light, factor, &end);
        break;
    }
    aim_shadow_ray(w, i, hit, light, &end);
    wave_set_shadow_light(w, i, factor, light->light_group);
}

/* Returns the part of f that reaches the light's visible kinds of bounces. */
static Spectrum visible_f(BsdfPoint bsdf, float3 wi, uint32_t invisible_to, Spectrum f)
{
    uint32_t reflected = invisible_to & (uint32_t)(SCENE_RAYS_DIFFUSE | SCENE_RAYS_GLOSSY);
    if (!(invisible_to & (uint32_t)SCENE_RAYS_BOUNCED))
        return f;
    if (bsdf_point_is_transmitted(bsdf, wi))
        return invisible_to & SCENE_RAYS_TRANSMISSION ? spectrum_splat(0.0f) : f;
    if (reflected == 0)
        return f;
    if (reflected == (SCENE_RAYS_DIFFUSE | SCENE_RAYS_GLOSSY))
        return spectrum_splat(0.0f);
    Spectrum kinds[BSDF_KINDS];
    bsdf_point_eval_kinds(bsdf, wi, kinds);
    Spectrum diffuse = kinds[BSDF_KIND_DIFFUSE];
    return reflected == SCENE_RAYS_GLOSSY ? diffuse : spectrum_sub(f, diffuse);
}

/* Returns whether the light shines on this path: PATH_ALONE sees no meshes but catchers and lamps. */
static bool is_lit_by(const Wave *w, const Path *path, const LightSample *light)
{
    if (!(path->flags & PATH_ALONE) || light->value != LIGHT_VALUE_MESH)
        return true;
    const SceneInstance *instance = &w->shared->scene->instances[light->instance];
    return instance->is_shadow_catcher || instance->is_lamp;
}

/* Returns whether a light that was drawn for the path may shine on it. */
static bool may_shine(const Wave *w, uint32_t i, const LightSample *light)
{
    const Path *path = &w->paths[i];
    return wave_light_reaches(light->visibility, path->depth) && is_lit_by(w, path, light);
}

/* Draws one light, and a direction to it, for each point of `live`. Returns those to which light may come. */
static uint16_t draw_lights(const Wave *w, const PointBlock *points, const BsdfBlock *block,
                            uint16_t live, LightSample lights[SSL_BLOCK])
{
    const WaveShared *s = w->shared;
    LightQuery queries[SSL_BLOCK];
    alignas(64) WideRow u[2];
    for (uint32_t k = 0; k < points->count; ++k)
        if (!bsdf_point_has_smooth((BsdfPoint){block, k}))
            live = (uint16_t)(live & ~(1u << k));
    draw_pairs(w, points, SAMPLE_LIGHT_UV, live, u);
    for (uint32_t k = 0; k < points->count; ++k)
        if (live >> k & 1) {
            const SurfaceHit *hit = points->hit[k];
            queries[k] =
                (LightQuery){hit->P, hit->N, w->rays.time[points->path[k]], f2(u[0][k], u[1][k])};
        }
    uint16_t drawn = lights_sample_points(s->lights, queries, live, lights);
    for (uint32_t k = 0; k < points->count; ++k)
        if (drawn >> k & 1 && !may_shine(w, points->path[k], &lights[k]))
            drawn = (uint16_t)(drawn & ~(1u << k));
    return drawn;
}

/* Sends the shadow ray to a light that was drawn, if it can contribute. f: the BSDF times the cosine; pdf: the density with
 * which the BSDF's own sampling draws the light's direction. */
static void weigh_light(Wave *w, uint32_t i, const SurfaceHit *hit, BsdfPoint bsdf,
                        const LightSample *light, Spectrum f, float pdf)
{
    f = visible_f(bsdf, light->wi, light->visibility->invisible_to, f);
    float mis_weight = wave_light_mis_weight(w->shared, light, pdf);
    if (spectrum_is_black(f) || mis_weight == 0.0f)
        return;
    if (w->path_kinds)
        kinds_record_light(w, i, bsdf, light);
    send_shadow_ray(
        w, i, hit, light,
        spectrum_scale(spectrum_mul(w->paths[i].beta, f), mis_weight / light->pdf_solid_angle));
}

/* Samples one light for each point of `live`. */
static void sample_lights(Wave *w, const PointBlock *points, const BsdfBlock *block, uint16_t live)
{
    LightSample lights[SSL_BLOCK];
    alignas(64) BsdfRow wi[3] = {{0}}, f[3], pdf;
    uint16_t drawn = draw_lights(w, points, block, live, lights);
    for (uint32_t k = 0; k < points->count; ++k)
        if (drawn >> k & 1)
            wi[0][k] = lights[k].wi.x, wi[1][k] = lights[k].wi.y, wi[2][k] = lights[k].wi.z;
    if (drawn == 0)
        return;
    bsdf_block_eval(block, wi, drawn, f, pdf);
    for (uint32_t k = 0; k < points->count; ++k)
        if (drawn >> k & 1)
            weigh_light(w, points->path[k], points->hit[k], (BsdfPoint){block, k}, &lights[k],
                        (Spectrum){{f[0][k], f[1][k], f[2][k]}}, pdf[k]);
}

/* Adds light of a mesh that the path's ray met, which light sampling finds too. */
static void add_met_mesh(Wave *w, uint32_t path, const SurfaceHit *hit, Spectrum light)
{
    const SceneInstance *source = &w->shared->scene->instances[hit->instance];
    uint32_t hidden = wave_hidden_kinds(hit->history.kind, source->light_visibility.invisible_to);
    wave_add_light(w, &w->paths[path], light,
                   (LightArrival){true, source->light_group, hit->depth, hidden});
}

static void deliver_mesh_light(Wave *w, const MeshLight *mesh, const SurfaceHit *hit,
                               Spectrum radiance)
{
    const SceneInstance *source = &w->shared->scene->instances[hit->instance];
    Spectrum light = spectrum_mul(mesh->factor, radiance);
    ASSERT(mesh->path < w->count);
    if (mesh->is_met)
        add_met_mesh(w, mesh->path, hit, light);
    else
        wave_set_shadow_light(w, mesh->path, light, source->light_group);
}

/* Computes the surfaces of the queued lights [begin, begin + count) for the kernel. */
static void find_mesh_lights(const Wave *w, uint32_t begin, uint32_t count)
{
    HitTask tasks[SSL_BLOCK];
    uint32_t n;
    for (uint32_t first = 0; first < count; first += n) {
        n = count - first < SSL_BLOCK ? count - first : SSL_BLOCK;
        for (uint32_t k = 0; k < n; ++k) {
            const MeshLight *mesh = &w->mesh_lights[begin + first + k];
            tasks[k] =
                (HitTask){mesh->query, &mesh->ray, &mesh->diff, &w->light_surfaces[first + k]};
        }
        hit_surfaces(w->shared->scene, tasks, n);
        for (uint32_t k = 0; k < n; ++k) {
            const MeshLight *mesh = &w->mesh_lights[begin + first + k];
            w->light_surfaces[first + k].draw = mesh->draw;
            w->light_surfaces[first + k].history = mesh->history;
        }
    }
}

/* Evaluates the queued mesh lights, by one kernel call for each run of one material: lists are short, and a render has
 * few emissive materials. */
static void evaluate_mesh_lights(Wave *w)
{
    const Scene *scene = w->shared->scene;
    const SurfaceHit *hits[SHADE_CHUNK];
    for (uint32_t begin = 0; begin < w->mesh_light_count;) {
        const MeshLight *mesh = &w->mesh_lights[begin];
        uint32_t material = hit_material(scene, mesh->query.instance, mesh->query.triangle);
        uint32_t count = 0;
        while (begin + count < w->mesh_light_count && count < SHADE_CHUNK &&
               hit_material(scene, mesh[count].query.instance, mesh[count].query.triangle) ==
                   material) {
            hits[count] = &w->light_surfaces[count];
            ++count;
        }
        find_mesh_lights(w, begin, count);
        bool emits = shade_run(w->shade, material, SSL_KERNEL_EMISSION, hits, count);
        for (uint32_t k = 0; k < count; ++k)
            deliver_mesh_light(w, &mesh[k], hits[k],
                               emits ? shade_emission(w->shade, k) : spectrum_splat(0.0f));
        begin += count;
    }
    w->mesh_light_count = 0;
}

/* --- scattering ------------------------------------------------------------------------------- */

static void next_footprint(const SurfaceHit *hit, const BsdfSample *sample, float pixel_scale,
                           RayDiff *out_diff)
{
    if ((sample->flags & BSDF_DELTA) && (sample->flags & BSDF_TRANSMISSION))
        footprint_refract(hit, sample->n, sample->wi, sample->eta, out_diff);
    else if (sample->flags & BSDF_DELTA)
        footprint_reflect(hit, sample->n, out_diff);
    else
        footprint_scatter(hit, sample->wi, sample->pdf, pixel_scale, out_diff);
}

/* Adds one, and stays at the largest number. */
static void count_up(uint16_t *count)
{
    *count = (uint16_t)(*count + (*count < UINT16_MAX));
}

static void record_scatter(PathHistory *history, uint32_t flags)
{
    if (flags & BSDF_TRANSPARENT) {
        count_up(&history->transparent);
        return;
    }
    bool is_diffuse = flags & BSDF_DIFFUSE;
    history->is_cone |= !(flags & BSDF_DELTA);
    history->kind = flags & BSDF_TRANSMISSION ? RAY_TRANSMISSION : RAY_REFLECTION;
    history->kind |= is_diffuse ? RAY_DIFFUSE : RAY_GLOSSY;
    if (flags & BSDF_DELTA)
        history->kind |= RAY_SINGULAR;
    count_up(flags & BSDF_TRANSMISSION ? &history->transmission
             : is_diffuse              ? &history->diffuse
                                       : &history->glossy);
}

static bool is_at_limit(const WaveShared *s, const PathHistory *history)
{
    const SceneSettings *limit = s->settings;
    return history->diffuse >= limit->max_diffuse || history->glossy >= limit->max_glossy ||
           history->transmission >= limit->max_transmission;
}

/* Updates the path's state, without its ray, after a scatter. Passing straight through a surface is no bounce:
 * densities of lights go on referring to the last surface that scattered. */
static void update_path(const Wave *w, Path *path, const SurfaceHit *hit, const BsdfSample *sample)
{
    ASSERT(sample->pdf > 0.0f);
    path->beta = spectrum_mul(path->beta, sample->weight);
    ++path->event;
    record_scatter(&path->history, sample->flags);
    if (sample->flags & BSDF_TRANSPARENT) {
        if (path->event > path->depth + WAVE_TRANSPARENT_MAX ||
            path->history.transparent > w->shared->settings->max_transparent)
            path->flags |= PATH_DEAD;
        return;
    }
    ++path->depth;
    path->eta_scale *= sample->eta * sample->eta;
    path->pdf = sample->pdf;
    path->from = hit->P;
    path->from_n = hit->N;
    path->flags &= ~(uint32_t)PATH_SPECULAR;
    if (sample->flags & BSDF_DELTA)
        path->flags |= PATH_SPECULAR;
    else
        path->least_pdf = minf(path->least_pdf, sample->pdf);
    if (path->depth >= w->shared->settings->max_depth || is_at_limit(w->shared, &path->history))
        path->flags |= PATH_LAST;
}

/* Enters a translucent body, where the path walks until it leaves by a diffuse bounce (leave_body). */
static void enter_body(Wave *w, uint32_t i, const SurfaceHit *hit, BsdfPoint bsdf,
                       const BsdfSample *sample)
{
    Path *path = &w->paths[i];
    path->beta = spectrum_mul(path->beta, sample->weight);
    path->medium = bsdf_point_medium(bsdf, sample->lobe);
    path->body = hit->instance;
    path->walk_steps = 0;
    path->flags |= PATH_INSIDE;
    ++path->event;
    if (w->reads.path_footprints)
        footprint_scatter(hit, sample->wi, DIFFUSE_PDF, 1.0f, &path->diff);
    /* The walk begins on the surface, which the first flight ignores: free paths may be shorter than the error. */
    float ignored_m = hit->error_m / maxf(fabsf(f3_dot(sample->wi, hit->Ng)), FLT_EPSILON);
    wave_walk(w, i, hit->P, sample->wi, ignored_m);
}

/* Records the fraction that lights visible to diffuse bounces only, or to glossy ones only, are weighted by. */
static void record_diffuse_fraction(Path *path, BsdfPoint bsdf, const BsdfSample *sample)
{
    path->diffuse = spectrum_splat(0.0f);
    if (sample->flags & (uint32_t)(BSDF_DELTA | BSDF_TRANSMISSION))
        return;
    Spectrum kinds[BSDF_KINDS];
    bsdf_point_sample_kinds(bsdf, sample->wi, sample->flags, sample->lobe, kinds);
    path->diffuse = kinds[BSDF_KIND_DIFFUSE];
}

/* Draws the directions of all points of `live`. Returns those that have one. */
static uint16_t sample_bsdfs(const Wave *w, const PointBlock *points, const BsdfBlock *block,
                             uint16_t live, BsdfDrawn *out)
{
    alignas(64) BsdfRow u[3] = {{0}};
    for (uint32_t k = 0; k < points->count; ++k)
        if (block->counts[k] == 0)
            live = (uint16_t)(live & ~(1u << k));
    draw_pairs(w, points, SAMPLE_BSDF_UV, live, u);
    for (uint32_t k = 0; k < points->count; ++k) {
        const Path *path = &w->paths[points->path[k]];
        if (live >> k & 1 && bsdf_point_needs_side((BsdfPoint){block, k}))
            u[2][k] = sampler_1d(&w->shared->sampler, path->key,
                                 sample_dimension(path->event, SAMPLE_BSDF_SIDE));
    }
    return bsdf_block_sample(block, u, live, out);
}

static BsdfSample drawn_sample(const BsdfDrawn *d, uint32_t k)
{
    return (BsdfSample){.wi = f3(d->wi[0][k], d->wi[1][k], d->wi[2][k]),
                        .weight = {{d->weight[0][k], d->weight[1][k], d->weight[2][k]}},
                        .pdf = d->pdf[k],
                        .eta = d->eta[k],
                        .flags = d->flags[k],
                        .n = f3(d->n[0][k], d->n[1][k], d->n[2][k]),
                        .lobe = d->lobe[k]};
}

/* Sends the path's ray along the sampled direction. */
static void continue_path(Wave *w, uint32_t i, const SurfaceHit *hit, BsdfPoint bsdf,
                          const BsdfSample *sample)
{
    Path *path = &w->paths[i];
    bool is_transparent = sample->flags & BSDF_TRANSPARENT;
    path->flags &= ~(uint32_t)PATH_AT_CATCHER;
    if (sample->flags & BSDF_SUBSURFACE) {
        enter_body(w, i, hit, bsdf, sample);
        return;
    }
    if (w->keeps_diffuse_fraction && !is_transparent)
        record_diffuse_fraction(path, bsdf, sample);
    update_path(w, path, hit, sample);
    if (is_transparent) { /* the ray and its footprint stay as they are */
        ray_batch_pass(&w->rays, &w->hits, i);
        return;
    }
    if (w->reads.path_footprints)
        next_footprint(hit, sample, shade_pixel_scale(w->shade), &path->diff);
    SurfacePoint surface = hit_point(hit);
    ASSERT(f3_is_unit(sample->wi));
    ray_batch_start(&w->rays, i, ray_leave(&surface, sample->wi), sample->wi, INFINITY,
                    w->rays.time[i]);
}

/* Records the surface if the camera sees it, and continues the path along the sampled direction or ends it. sample: NULL
 * where none was drawn; point: index of the surface in the kernel's run. */
static void scatter(Wave *w, uint32_t i, const SurfaceHit *hit, BsdfPoint bsdf,
                    const BsdfSample *sample, uint32_t point)
{
    Path *path = &w->paths[i];
    bool is_transparent = sample && (sample->flags & BSDF_TRANSPARENT);
    bool is_caught = wave_catches(w, path, hit);

    if (is_caught)
        wave_catch(w, i, bsdf, is_transparent);
    if (!(path->flags & PATH_SEEN)) {
        if (w->path_kinds && !is_caught)
            kinds_record_surface(w, path, bsdf, is_transparent ? NULL : sample);
        record_first_surface(w, path, hit, bsdf, point, w->rays.time[i], is_transparent);
    }
    if (!wave_gathers_light(w->shared) && !is_transparent) {
        wave_show(w, i, hit, point);
        return;
    }

    /* A path that was spawned at a catcher does not pass it: the path that spawned it does. */
    bool is_stopped =
        is_transparent ? path->flags & PATH_AT_CATCHER : is_caught || path->flags & PATH_LAST;
    if (sample && !is_stopped)
        continue_path(w, i, hit, bsdf, sample);
    else
        path->flags |= PATH_DEAD;
}

/* --- the stage -------------------------------------------------------------------------------- */

/* Adds the emission of the surface, weighted against light sampling. A surface that light sampling may find too is
 * evaluated anew with the footprint that light sampling would use, so that both strategies see the same radiance. So is
 * a surface that a path meets by a delta lobe after a wider scatter, whose own footprint would blur caustics. */
static void add_emission(Wave *w, uint32_t i, const SurfaceHit *hit, Spectrum emission)
{
    const Path *path = &w->paths[i];
    const SceneLightVisibility *visibility =
        &w->shared->scene->instances[hit->instance].light_visibility;
    if (spectrum_is_black(emission) || visibility->is_sampled_only)
        return;
    /* Transparent surfaces may lie between here and the last scatter, which densities refer to. */
    float distance = f3_length(f3_sub(hit->P, path->from));
    float pdf = path->flags & PATH_SPECULAR
                    ? 0.0f
                    : lights_mesh_pdf(w->shared->lights, path->from, path->from_n, w->rays.time[i],
                                      &(MeshLightHit){hit->instance, hit->triangle, hit->b1, hit->I,
                                                      distance, hit->Ng});
    float mis_weight = wave_path_mis_weight(w->shared, path, pdf, pdf > 0.0f ? visibility : NULL);
    Spectrum factor = spectrum_scale(path->beta, mis_weight);
    factor = spectrum_mul(factor, wave_visible_fraction(path, visibility));
    bool is_caustic = path->flags & PATH_SPECULAR && !isinf(path->least_pdf);
    const ShadeGlow *glow = &w->shared->glows[hit->material];
    if (pdf == 0.0f && !is_caustic) {
        wave_add_met(w, path, spectrum_mul(factor, emission),
                     w->shared->scene->instances[hit->instance].light_group, visibility,
                     FILM_AT_EMISSION);
    } else if (!spectrum_is_black(factor) && glow->is_constant) {
        add_met_mesh(w, i, hit, spectrum_mul(factor, glow_of(glow, hit)));
    } else if (!spectrum_is_black(factor)) {
        Ray ray = {
            .origin = path->from, .direction = hit->I, .t_max = INFINITY, .time = w->rays.time[i]};
        HitQuery query = wave_hit_query(&w->hits, i, hit->depth);
        query.t = distance;
        MeshLight *mesh = queue_mesh_light(w, i, factor, &query, &ray, pdf);
        mesh->is_met = true;
        mesh->draw = hit->draw;
    }
}

/* Takes a holdout that the camera sees out of the picture's alpha. */
static void cut_holdout(Wave *w, const Path *path, BsdfPoint bsdf)
{
    if (!(path->flags & PATH_SEEN) && !spectrum_is_black(bsdf_point_holdout(bsdf)))
        w->samples[path->sample].alpha -=
            spectrum_average(spectrum_mul(path->beta, bsdf_point_holdout(bsdf)));
}

/* Returns the least roughness (alpha) of microfacet lobes at this surface. After wide scatters sharp reflections are
 * blurred, as in Cycles: they would be noise. */
static float least_alpha(const WaveShared *s, const Path *path)
{
    float sharp = path->least_pdf < s->settings->filter_glossy
                      ? path->least_pdf / s->settings->filter_glossy
                      : 1.0f;
    return 0.5f * sqrtf(1.0f - sharp);
}

static bool gathers_light(const Wave *w, const Path *path, const SurfaceHit *hit)
{
    return wave_gathers_light(w->shared) && !wave_catches(w, path, hit);
}

/* Takes objects that are holes in the picture out of it, where the camera sees them. Returns whether the path ends. */
static bool ends_at_hole(Wave *w, uint32_t i, const SurfaceHit *hit)
{
    Path *path = &w->paths[i];
    if (!w->shared->scene->instances[hit->instance].is_holdout || path->flags & PATH_SEEN)
        return false;
    w->samples[path->sample].alpha -= spectrum_average(path->beta);
    path->flags |= PATH_DEAD;
    return true;
}

/* Adds emission. Returns whether the path goes on. */
static bool meet_surface(Wave *w, uint32_t i, const SurfaceHit *hit, BsdfPoint bsdf)
{
    Path *path = &w->paths[i];
    w->counters.bsdf_faults += bsdf.block->faults[bsdf.lane] != 0;
    cut_holdout(w, path, bsdf);
    if (gathers_light(w, path, hit))
        add_emission(w, i, hit, bsdf_point_emission(bsdf));
    if (!(path->flags & PATH_LAST) || !spectrum_is_black(bsdf_point_transparency(bsdf)))
        return true;
    path->flags |= PATH_DEAD;
    return false;
}

/* Samples a light for each point of `lit` and a direction for each of `live`, and scatters. first: index of the block's
 * first surface in the kernel's run. */
static void scatter_block(Wave *w, const PointBlock *points, const BsdfBlock *block, uint16_t lit,
                          uint16_t live, uint32_t first)
{
    BsdfDrawn drawn;
    sample_lights(w, points, block, lit & live);
    uint16_t has_direction = sample_bsdfs(w, points, block, live, &drawn);
    for (uint32_t k = 0; k < points->count; ++k) {
        BsdfSample sample;
        bool is_drawn = has_direction >> k & 1;
        if (!(live >> k & 1))
            continue;
        if (is_drawn)
            sample = drawn_sample(&drawn, k);
        scatter(w, points->path[k], points->hit[k], (BsdfPoint){block, k},
                is_drawn ? &sample : NULL, first + k);
    }
}

/* Returns the points whose paths may still sample lights. */
static uint16_t points_to_light(const Wave *w, const PointBlock *points)
{
    uint16_t lit = 0;
    for (uint32_t k = 0; k < points->count; ++k) {
        const Path *path = &w->paths[points->path[k]];
        if (!(path->flags & PATH_LAST) && gathers_light(w, path, points->hit[k]))
            lit = (uint16_t)(lit | 1u << k);
    }
    return lit;
}

/* Shades the surfaces [first, first + SSL_BLOCK) of the kernel's run. */
static void shade_points(Wave *w, const PointBlock *points, uint32_t first)
{
    alignas(64) BsdfRow blur = {0};
    uint16_t live = 0;
    for (uint32_t k = 0; k < points->count; ++k) {
        blur[k] = least_alpha(w->shared, &w->paths[points->path[k]]);
        if (!ends_at_hole(w, points->path[k], points->hit[k]))
            live = (uint16_t)(live | 1u << k);
    }
    const BsdfBlock *block = shade_block(w->shade, first, blur);
    for (uint32_t k = 0; k < points->count; ++k)
        if (live >> k & 1 &&
            !meet_surface(w, points->path[k], points->hit[k], (BsdfPoint){block, k}))
            live = (uint16_t)(live & ~(1u << k));
    scatter_block(w, points, block, points_to_light(w, points), live, first);
}

/* Leaves the bodies that paths have walked through, by a diffuse lobe on the outside, whatever the surface's own closures
 * are. Seen from outside this ends one reflection by the body, so the lobe reflects. */
static void leave_bodies(Wave *w)
{
    PointBlock points = {0};
    for (uint32_t i = 0; i < w->count; ++i) {
        if (w->paths[i].flags & PATH_LEAVING && !(w->paths[i].flags & PATH_DEAD)) {
            w->paths[i].flags &= ~(uint32_t)PATH_LEAVING;
            points.path[points.count] = i;
            points.hit[points.count++] = &w->surfaces[i];
        }
        if (points.count == SSL_BLOCK || (points.count > 0 && i + 1 == w->count)) {
            uint16_t all = (uint16_t)((1u << points.count) - 1u);
            scatter_block(w, &points, shade_white(w->shade, points.hit, points.count), all, all, 0);
            points.count = 0;
        }
    }
}

/* Prefetches the vertices that hits a few places further on will read. */
static void prefetch_hits(const Wave *w, uint32_t i)
{
    enum { INDICES_AHEAD = 12, VERTICES_AHEAD = 6 };
    const HitBatch *hits = &w->hits;
    uint32_t far = i + INDICES_AHEAD, near = i + VERTICES_AHEAD;
    if (far < w->count && hit_is_mesh(hits->shape[far]))
        hit_prefetch_indices(w->shared->scene, hits->shape[far], hits->triangle[far]);
    if (near < w->count && hit_is_mesh(hits->shape[near]))
        hit_prefetch_vertices(w->shared->scene, hits->shape[near], hits->triangle[near]);
}

/* Returns the HitParts that the path needs of the surface that it met. */
static uint32_t parts_of_surface(const Wave *w, uint32_t i)
{
    uint32_t material = hit_material(w->shared->scene, w->hits.shape[i], w->hits.triangle[i]);
    uint32_t parts = w->reads.surface[material];
    return w->paths[i].flags & PATH_SEEN ? parts : parts | w->reads.first_surface;
}

/* Returns whether the surface only adds a known emission, and nothing of it is recorded. */
static bool only_glows(const Wave *w, uint32_t i)
{
    return w->paths[i].flags & PATH_SEEN && w->shared->glows[w->surfaces[i].material].is_all;
}

/* Ends a path at such a surface, without its kernel. */
static void end_at_glow(Wave *w, uint32_t i)
{
    const SurfaceHit *hit = &w->surfaces[i];
    add_emission(w, i, hit, glow_of(&w->shared->glows[hit->material], hit));
    w->paths[i].flags |= PATH_DEAD;
}

/* The surfaces that are computed next, and the rays that met them. */
typedef struct MeetBlock {
    uint32_t count;
    uint32_t path[SSL_BLOCK];
    Ray rays[SSL_BLOCK];
    HitTask tasks[SSL_BLOCK];
} MeetBlock;

static void meet(Wave *w, MeetBlock *block, uint32_t i)
{
    uint32_t k = block->count++;
    HitQuery query = wave_hit_query(&w->hits, i, w->paths[i].depth);
    query.parts = parts_of_surface(w, i);
    block->path[k] = i;
    block->rays[k] = ray_batch_get(&w->rays, i);
    block->tasks[k] = (HitTask){query, &block->rays[k], &w->paths[i].diff, &w->surfaces[i]};
}

/* Computes the surfaces of the block, lists the paths whose material has to be shaded in w->members[count...], and empties
 * the block. Returns the new count. */
static uint32_t finish_meeting(Wave *w, MeetBlock *block, uint32_t count)
{
    hit_surfaces(w->shared->scene, block->tasks, block->count);
    for (uint32_t k = 0; k < block->count; ++k) {
        uint32_t i = block->path[k];
        w->surfaces[i].draw = wave_draw(&w->paths[i], 0);
        w->surfaces[i].history = w->paths[i].history;
        if (w->paths[i].flags & PATH_LEAVING)
            continue;
        if (only_glows(w, i))
            end_at_glow(w, i);
        else
            w->members[count++] = i;
    }
    block->count = 0;
    return count;
}

/* Computes the geometry of all surfaces that rays met, and lists the paths whose material has to be shaded in
 * w->members. Returns their number. */
static uint32_t resolve_hits(Wave *w)
{
    MeetBlock block;
    uint32_t count = 0;
    block.count = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        prefetch_hits(w, i);
        w->shadow.state[i] = SHADOW_DEAD;
        if (w->paths[i].flags & (PATH_DEAD | PATH_INSIDE) || !hit_is_mesh(w->hits.shape[i]))
            continue;
        meet(w, &block, i);
        if (block.count == SSL_BLOCK)
            count = finish_meeting(w, &block, count);
    }
    return finish_meeting(w, &block, count);
}

/* Returns whether the camera may see one of the surfaces of w->order[begin, begin + count). */
static bool has_first_surface(const Wave *w, uint32_t begin, uint32_t count)
{
    for (uint32_t k = 0; k < count; ++k)
        if (!(w->paths[w->order[begin + k]].flags & PATH_SEEN))
            return true;
    return false;
}

void stage_surface(Wave *w)
{
    const SurfaceHit *hits[SHADE_CHUNK];
    uint32_t n, count = resolve_hits(w);
    leave_bodies(w);
    wave_group(w, count);
    ASSERT(count <= w->count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count, hits)) > 0; begin += n) {
        if (w->levels && has_first_surface(w, begin, n))
            level_watch_begin(w->levels);
        shade_run(w->shade, hits[0]->material, SSL_KERNEL_SHADE, hits, n);
        for (uint32_t first = 0; first < n; first += SSL_BLOCK) {
            PointBlock points = {.count = n - first < SSL_BLOCK ? n - first : SSL_BLOCK};
            for (uint32_t k = 0; k < points.count; ++k) {
                points.path[k] = w->order[begin + first + k];
                points.hit[k] = hits[first + k];
            }
            shade_points(w, &points, first);
        }
        if (w->levels)
            level_watch_end(w->levels);
    }
    evaluate_mesh_lights(w);
    wave_evaluate_sky(w);
}
