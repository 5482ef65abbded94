/* Where paths of light begin, and the lamps on their way. */
#include "sort/integrator/caustic_paths.h"

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
    bool is_for_caustics = w->shared->caustic_emission;
    if (w->shared->view != WAVE_VIEW_LIGHT && !is_for_caustics)
        return STATUS_OK;
    ASSERT(film_desc(w->shared->film)->has_splats);
    ASSERT(camera_is_linkable(&w->shared->camera));
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
    p->is_found = ARENA_ARRAY(arena, bool, w->capacity);
    if (!p->is_found || !p->trails || !p->drawn || !p->views || !p->links || !p->film_px)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    note_lamps(w->shared->scene, p);
    w->light_paths = p;
    p->stride = 1;
    p->is_for_caustics = is_for_caustics;
    return p->is_for_caustics ? caustic_paths_create(w, arena, err) : STATUS_OK;
}

/* --- lamps ----------------------------------------------------------------------------------------- */

/* Samples whose paths of light begin, and what their rays are drawn by. */
typedef struct StartBlock {
    uint32_t count;
    uint32_t sample[SSL_BLOCK]; /* Path.sample */
    SampleKey key[SSL_BLOCK];
    LightEmissionDraw draw[SSL_BLOCK];
} StartBlock;

static void draw_one(const Wave *w, const SampleKey *const keys[], uint16_t live, SampleSlot slot,
                     WideRow out_u)
{
    uint32_t dimensions[SSL_BLOCK];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        dimensions[k] = sample_dimension(0, slot);
    sampler_1d_points(&w->shared->sampler, keys, dimensions, live, out_u);
}

static void draw_pair(const Wave *w, const SampleKey *const keys[], uint16_t live, SampleSlot slot,
                      WideRow out_u[2])
{
    uint32_t dimensions[SSL_BLOCK];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        dimensions[k] = sample_dimension(0, slot);
    sampler_2d_points(&w->shared->sampler, keys, dimensions, live, out_u);
}

/* Draws what rays are drawn by. The samplers' 24 bits are too few for the choice among many triangles: the lower bits come from a
 * hash. */
static void draw_emissions(const Wave *w, StartBlock *b)
{
    const SampleKey *keys[SSL_BLOCK];
    alignas(64) WideRow choice, place[2], direction[2], side, time = {0};
    uint16_t live = (uint16_t)((1u << b->count) - 1u);
    for (uint32_t k = 0; k < b->count; ++k) {
        const SamplePixel *pixel = &w->pixels[b->sample[k]];
        b->key[k] = sampler_key(&w->shared->sampler, pixel->x, pixel->y, pixel->sample,
                                w->shared->seed, w->shared->samples);
        keys[k] = &b->key[k];
    }
    draw_one(w, keys, live, SAMPLE_OPACITY, choice);
    draw_pair(w, keys, live, SAMPLE_LIGHT_UV, place);
    draw_pair(w, keys, live, SAMPLE_BSDF_UV, direction);
    draw_one(w, keys, live, SAMPLE_BSDF_SIDE, side);
    if (w->reads.time) {
        uint32_t dimensions[SSL_BLOCK];
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            dimensions[k] = SAMPLE_TIME;
        sampler_1d_points(&w->shared->sampler, keys, dimensions, live, time);
    }
    for (uint32_t k = 0; k < b->count; ++k) {
        uint64_t bits =
            hash_mix64(b->key[k].stream + 0x9e3779b97f4a7c15u * ((uint64_t)b->key[k].index + 1));
        b->draw[k] = (LightEmissionDraw){.choice = (double)choice[k] +
                                                   (double)(int64_t)(bits >> 40) * 0x1p-48,
                                         .place = f2(place[0][k], place[1][k]),
                                         .direction = f2(direction[0][k], direction[1][k]),
                                         .side = side[k],
                                         .time = time[k]};
    }
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
    trail->from = emitted->from;
    trail->is_infinite = emitted->is_infinite;
    trail->light = emitted->light;
    trail->place = emitted->from.P;
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

/* Draws the ray of a path. False: there is none. */
static bool emit(const Wave *w, const LightEmissionDraw *draw, EmittedRay *out_ray,
                 LightTrail *out_trail)
{
    *out_trail = (LightTrail){.density = 0.0f};
    if (!w->light_paths->is_for_caustics)
        return light_emission_sample(w->shared->emission, draw, out_ray);
    return caustic_emission_sample(w->shared->caustic_emission, draw, out_ray,
                                   &out_trail->departure, &out_trail->density);
}

static void start_path(Wave *w, const StartBlock *b, uint32_t k)
{
    uint32_t i = w->count;
    EmittedRay emitted;
    LightTrail *trail = &w->light_paths->trails[i];
    if (!emit(w, &b->draw[k], &emitted, trail))
        return;
    Path *path = &w->paths[i];
    memset(path, 0, sizeof *path);
    path->key = b->key[k];
    path->sample = b->sample[k];
    path->event = 1; /* 0 has the numbers of the lamp */
    path->flags = PATH_SEEN;
    path->history.least_pdf = INFINITY;
    path->history.is_cone = true;
    w->rays.time[i] = b->draw[k].time;
    ++w->count;
    begin(w, i, &emitted);
}

static void start_block(Wave *w, StartBlock *b)
{
    uint64_t odd = 0;
    draw_emissions(w, b);
    for (uint32_t k = 0; k < b->count; ++k) {
        start_path(w, b, k);
        odd += w->pixels[b->sample[k]].sample & 1;
    }
    film_count_light_paths(w->shared->film, b->count, odd);
    w->counters.caustic_paths += w->light_paths->is_for_caustics ? b->count : 0;
    b->count = 0;
}

void light_paths_start(Wave *w)
{
    const uint64_t width = film_desc(w->shared->film)->width;
    StartBlock block;
    ASSERT(w->count == 0);
    w->light_paths->is_under_way = true;
    w->shadow.count = 0;
    block.count = 0;
    for (uint32_t k = 0; k < w->sample_count; ++k) {
        if ((w->pixels[k].y * width + w->pixels[k].x) % w->light_paths->stride != 0)
            continue;
        block.sample[block.count++] = k;
        if (block.count == SSL_BLOCK)
            start_block(w, &block);
    }
    if (block.count > 0)
        start_block(w, &block);
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
                         !light_emission_reaches(w->shared->lights, trail->light, at.P,
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
