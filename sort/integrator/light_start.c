/* Where paths of light begin, and the lamps on their way. */
#include "sort/integrator/light_paths.h"

#include "sort/light/light_shape.h"
#include <string.h>

/* A disk that faces who looks, or a surface that rays meet. */
static void note_lamps(const Scene *scene, LightPaths *out)
{
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const SceneLight *light = &scene->lights[i];
        if (!light_shape_exists(light))
            continue;
        out->has_point_facing |=
            light->kind == SCENE_LIGHT_POINT || light->kind == SCENE_LIGHT_SPOT;
        out->has_lamps |= !light->visibility.is_permeable && !light->visibility.is_sampled_only;
    }
}

Status light_paths_create(Wave *w, Arena *arena, Error *err)
{
    if (w->shared->view != WAVE_VIEW_LIGHT)
        return STATUS_OK;
    ASSERT(w->shared->emission && camera_is_linkable(&w->shared->camera));
    LightPaths *p = ARENA_NEW(arena, LightPaths);
    if (!p)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    const FilmDesc *film = film_desc(w->shared->film);
    p->per_pixel = 1.0f / ((float)film->width * (float)film->height);
    p->trails = ARENA_ARRAY(arena, LightTrail, w->capacity);
    p->drawn = ARENA_ARRAY(arena, LightScatter, w->capacity);
    p->views = ARENA_ARRAY(arena, LightView, SHADE_CHUNK);
    p->links = ARENA_ARRAY(arena, CameraLink, SHADE_CHUNK);
    p->film_px = ARENA_ARRAY(arena, float2, w->capacity);
    if (!p->trails || !p->drawn || !p->views || !p->links || !p->film_px)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    note_lamps(w->shared->scene, p);
    w->light_paths = p;
    return STATUS_OK;
}

/* --- lamps ----------------------------------------------------------------------------------------- */

/* Draws what the ray of a path is drawn by. The samplers' 24 bits are too few for the choice among many triangles: the lower bits
 * come from a hash. */
static LightEmissionDraw draw_emission(const Wave *w, SampleKey key, float time)
{
    const Sampler *s = &w->shared->sampler;
    double choice = (double)sampler_1d(s, key, sample_dimension(0, SAMPLE_OPACITY));
    uint64_t bits = hash_mix64(key.stream + 0x9e3779b97f4a7c15u * ((uint64_t)key.index + 1));
    return (LightEmissionDraw){.choice = choice + (double)(int64_t)(bits >> 40) * 0x1p-48,
                               .place = sampler_2d(s, key, sample_dimension(0, SAMPLE_LIGHT_UV)),
                               .direction = sampler_2d(s, key, sample_dimension(0, SAMPLE_BSDF_UV)),
                               .side = sampler_1d(s, key, sample_dimension(0, SAMPLE_BSDF_SIDE)),
                               .time = time};
}

/* Begins a path at a mesh, whose surface is known better than its corners, and queues its emission. */
static void begin_at_mesh(Wave *w, uint32_t i, const EmittedRay *emitted, LightTrail *trail)
{
    const Scene *scene = w->shared->scene;
    const ShadeGlow *glow =
        &w->shared->glows[hit_material(scene, emitted->instance, emitted->triangle)];
    HitQuery query = {.instance = emitted->instance,
                      .triangle = emitted->triangle,
                      .b1 = emitted->b1,
                      .b2 = emitted->b2,
                      .t = 1.0f};
    Ray ray = {.origin = f3_add(emitted->from.P, emitted->direction),
               .direction = f3_neg(emitted->direction),
               .time = w->rays.time[i]};
    SurfaceHit hit;
    hit_surface(scene, &query, &ray, NULL, &hit);
    trail->from = hit_point(&hit);
    if (glow->is_constant)
        w->paths[i].beta =
            spectrum_mul(emitted->power, hit.is_backfacing ? glow->back : glow->front);
    else
        wave_begin_at_mesh(w, i, emitted->power, &query, &ray);
}

/* Begins path i along the ray. */
static void begin(Wave *w, uint32_t i, const EmittedRay *emitted)
{
    Path *path = &w->paths[i];
    LightTrail *trail = &w->light_paths->trails[i];
    *trail = (LightTrail){.from = emitted->from,
                          .is_infinite = emitted->is_infinite,
                          .light = emitted->light,
                          .place = emitted->from.P};
    path->beta = emitted->power;
    if (emitted->value == LIGHT_VALUE_MESH) {
        begin_at_mesh(w, i, emitted, trail);
    } else if (emitted->value == LIGHT_VALUE_ENVIRONMENT) {
        EnvironmentFootprint cell = lights_environment_cell(w->shared->lights, emitted->place.uv);
        wave_queue_sky(w, &(SkyLight){.path = i, .begins = true, .factor = emitted->power}, &cell);
    }
    bool has_surface = trail->from.error_m > 0.0f;
    float3 origin = has_surface ? ray_leave(&trail->from, emitted->direction) : trail->from.P;
    ray_batch_start(&w->rays, i, origin, emitted->direction, INFINITY, w->rays.time[i]);
}

static void start_path(Wave *w, uint32_t sample)
{
    const WaveShared *s = w->shared;
    uint32_t i = w->count;
    EmittedRay emitted;
    SampleKey key = sampler_key(&s->sampler, w->pixels[sample].x, w->pixels[sample].y,
                                w->pixels[sample].sample, s->seed, s->samples);
    float time = w->reads.time ? sampler_1d(&s->sampler, key, SAMPLE_TIME) : 0.0f;
    LightEmissionDraw draw = draw_emission(w, key, time);
    if (!light_emission_sample(s->emission, &draw, &emitted))
        return;
    Path *path = &w->paths[i];
    memset(path, 0, sizeof *path);
    path->key = key;
    path->sample = sample;
    path->event = 1; /* 0 has the numbers of the lamp */
    path->flags = PATH_SEEN;
    path->history.least_pdf = INFINITY;
    path->history.is_cone = true;
    w->rays.time[i] = time;
    ++w->count;
    begin(w, i, &emitted);
}

void light_paths_start(Wave *w)
{
    ASSERT(w->count == 0);
    w->light_paths->is_under_way = true;
    w->shadow.count = 0;
    for (uint32_t k = 0; k < w->sample_count; ++k)
        start_path(w, k);
    wave_evaluate_meshes(w);
    wave_evaluate_sky(w);
    /* Russian roulette looks at what is left of the power. */
    for (uint32_t i = 0; i < w->count; ++i) {
        float most = spectrum_max_abs(w->paths[i].beta);
        w->paths[i].eta_scale = most > 0.0f ? 1.0f / most : 1.0f;
    }
}

void light_paths_finish(Wave *w)
{
    w->light_paths->is_under_way = false;
}

/* --- lamps on the way ------------------------------------------------------------------------------ */

/* Sets the ray by which path tracing would look back along the last part of path i from the place that it met. */
static void look_back(Wave *w, uint32_t i, const SurfacePoint *at)
{
    const LightTrail *trail = &w->light_paths->trails[i];
    float3 back = f3_neg(ray_batch_get(&w->rays, i).direction);
    const SurfacePoint *end = &trail->from;
    Ray ray = {.origin = ray_leave(at, back),
               .direction = back,
               .t_max = INFINITY,
               .time = w->rays.time[i]};
    float3 to = end->error_m > 0.0f ? ray_leave(end, f3_neg(back)) : end->P;
    if (!trail->is_infinite)
        ray.t_max = ray_between(ray.origin, to, back, &ray.direction);
    uint32_t shadow = shadow_queue_add(w, &w->shadow, i, 0);
    ray_batch_set(&w->shadow.batch.rays, shadow, &ray);
    w->shadow.batch.open_sets[shadow] = 0;
}

/* Looks at the parts of `count` <= SSL_BLOCK paths that met surfaces. */
static void look_at_parts(Wave *w, const uint32_t *paths, uint32_t count)
{
    HitRays rays;
    SurfaceBlock *b = w->surfaces;
    LightPaths *p = w->light_paths;
    wave_load_hits(&w->rays, &w->hits, paths, count, b);
    wave_load_rays(&w->rays, paths, count, &rays);
    b->material = 0;
    hit_surfaces(w->shared->scene, &rays, 0, b);
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t i = paths[k];
        const SurfacePoint at = {wide_get3(b->P, k), wide_get3(b->Ng, k), b->error_m[k]};
        LightTrail *trail = &p->trails[i];
        float distance = f3_length(f3_sub(at.P, trail->place));
        trail->is_dark = trail->light != LIGHT_EMITTED_BY_NO_SHAPE &&
                         !light_emission_reaches(w->shared->emission, trail->light, at.P,
                                                 ray_batch_get(&w->rays, i).direction, distance);
        if (p->has_lamps)
            look_back(w, i, &at);
    }
}

/* Ends the paths whose last part a lamp blocks. */
static void end_blocked(Wave *w)
{
    uint32_t paths[SSL_BLOCK], count = 0;
    w->shadow.count = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        if (!(w->paths[i].flags & PATH_DEAD) && hit_is_mesh(w->hits.shape[i]))
            paths[count++] = i;
        if (count == SSL_BLOCK || (count > 0 && i + 1 == w->count)) {
            look_at_parts(w, paths, count);
            count = 0;
        }
    }
    (void)accel_occluded(w->shared->accel, &w->shadow.batch, w->shadow.count);
    for (uint32_t k = 0; k < w->shadow.count; ++k)
        if (w->shadow.batch.state[k] == SHADOW_BLOCKED)
            w->paths[w->shadow.lights[k].path].flags |= PATH_DEAD;
    w->counters.shadow_rays += w->shadow.count;
    w->shadow.count = 0;
}

void light_paths_pass_lamps(Wave *w)
{
    for (uint32_t i = 0; i < w->count; ++i) {
        uint32_t shape = w->hits.shape[i];
        if (shape == HIT_NONE || (hit_is_light(shape) && ++w->paths[i].walk_steps > WAVE_WALK_MAX))
            w->paths[i].flags |= PATH_DEAD;
        else if (hit_is_light(shape))
            ray_batch_pass(&w->rays, &w->hits, i);
    }
    if (w->light_paths->has_lamps || w->light_paths->has_point_facing)
        end_blocked(w);
}
