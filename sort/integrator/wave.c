#include "sort/integrator/caustics.h"
#include "sort/integrator/guiding.h"
#include "sort/integrator/light_paths.h"

#include "base/cast.h"
#include "base/clock.h"
#include "sort/sampling/mis.h"
#include <stddef.h>
#include <string.h>

const char *wave_stage_name(WaveStage stage)
{
    static const char *const names[WAVE_STAGE_COUNT] = {"camera", "intersect", "walk",
                                                        "escape", "caustics",  "surface",
                                                        "shadow", "advance",   "commit"};
    return names[stage];
}

/* Returns whether some rays do not see some instances. */
static bool hides_instances(const Scene *scene)
{
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        if (scene->instances[i].invisible_to != 0 || scene->instances[i].is_shadow_catcher)
            return true;
    return false;
}

/* Returns whether some bounced rays do not see some lights. */
static bool hides_lights(const Scene *scene)
{
    uint32_t hidden = scene->environment.visibility.invisible_to;
    for (uint32_t i = 0; i < scene->light_count; ++i)
        hidden |= scene->lights[i].visibility.invisible_to;
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        hidden |= scene->instances[i].light_visibility.invisible_to;
    return hidden & (uint32_t)SCENE_RAYS_BOUNCED;
}

static bool is_special(const SceneLightVisibility *v)
{
    return v->bounce_limit != 0 || v->unlit_sets != 0 || v->open_sets != 0 || v->is_shadowless ||
           v->is_sampled_only;
}

/* Sets what instances and lights ask of paths. */
static void note_instances(const Scene *scene, WaveReads *reads)
{
    reads->special_lights = is_special(&scene->environment.visibility);
    for (uint32_t i = 0; i < scene->light_count; ++i)
        reads->special_lights |= is_special(&scene->lights[i].visibility);
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        reads->holdouts |= instance->is_holdout;
        reads->link_sets |= instance->link_set != 0;
        reads->special_lights |= is_special(&instance->light_visibility);
    }
}

static uint32_t least_limit(const SceneSettings *s)
{
    uint32_t least = s->max_depth < s->max_diffuse ? s->max_depth : s->max_diffuse;
    least = least < s->max_glossy ? least : s->max_glossy;
    return least < s->max_transmission ? least : s->max_transmission;
}

static uint32_t parts_of_first_surface(const Wave *w)
{
    uint32_t parts = 0;
    if (!wave_gathers_light(w->shared) || film_aovs_have(w->aovs, FILM_AOV_DERIVATIVE))
        parts |= HIT_ALL;
    if (film_aovs_have(w->aovs, FILM_AOV_UV))
        parts |= HIT_UV;
    return parts;
}

/* The vertices of so many triangles stay in the caches next to a core. */
enum { VERTICES_NEAR_TRIANGLES = 8192 };

/* Whether the bundles of camera rays, of SSL_BLOCK pixels each, see so many triangles that each ray goes its own way. Searched for
 * together these cost more than one by one. Only scene and frame decide, since pictures have other bits at edges. */
static bool are_rays_apart(const WaveShared *s)
{
    enum { TRIANGLES_OF_A_BUNDLE = 1000 };
    const FilmDesc *film = film_desc(s->film);
    uint64_t pixels = (uint64_t)film->width * film->height;
    return accel_stats(s->accel).triangle_count > pixels / SSL_BLOCK * TRIANGLES_OF_A_BUNDLE;
}

/* Footprints go on from surface to surface: if any kernel reads them, all surfaces have them. */
static bool note_reads(Wave *w, Arena *arena)
{
    const WaveShared *s = w->shared;
    WaveReads *reads = &w->reads;
    reads->shadow_footprints = material_set_parts(s->materials, SSL_KERNEL_OPACITY) & HIT_FOOTPRINT;
    reads->time = s->camera.key_count > 0 || accel_stats(s->accel).moving_count > 0;
    reads->first_surface = parts_of_first_surface(w);
    reads->catchers = film_desc(s->film)->has_catchers;
    reads->gloss = lights_heed_gloss(s->lights);
    reads->apart = are_rays_apart(s);
    reads->records = w->keeps_aovs || w->path_kinds || w->guides || w->levels || s->instance_ids ||
                     s->material_ids || !wave_gathers_light(s);
    note_instances(s->scene, reads);
    reads->least_limit = least_limit(s->settings);
    uint64_t triangles = 0;
    for (uint32_t i = 0; i < s->scene->mesh_count; ++i) {
        reads->curves = reads->curves || s->scene->meshes[i].curves;
        triangles += s->scene->meshes[i].triangle_count;
    }
    reads->far_vertices = triangles > VERTICES_NEAR_TRIANGLES;
    reads->path_footprints =
        reads->shadow_footprints ||
        material_set_parts(s->materials, SSL_KERNEL_SHADE) & HIT_FOOTPRINT ||
        material_set_parts(s->materials, SSL_KERNEL_EMISSION) & HIT_FOOTPRINT ||
        reads->first_surface & HIT_FOOTPRINT ||
        s->scene->environment.kind == SCENE_ENVIRONMENT_IMAGE;
    reads->surface = ARENA_ARRAY(arena, uint8_t, s->scene->material_count + 1);
    for (uint32_t m = 0; reads->surface && m < s->scene->material_count; ++m) {
        uint32_t parts = material_set_get(s->materials, m)->programs[SSL_KERNEL_SHADE].parts;
        parts |= HIT_NORMAL | (reads->path_footprints ? HIT_FOOTPRINT : 0);
        reads->surface[m] = (uint8_t)parts;
    }
    return reads->surface != NULL;
}

/* Two samples without AOVs fill a cache line. */
enum { SAMPLE_ALIGN = SORT_CACHE_LINE / 2 };

/* Returns whether some kernel of alpha reads how often a path was scattered or went straight on. */
static bool alpha_reads_counts(const WaveShared *s)
{
    for (uint32_t m = 0; m < s->scene->material_count; ++m)
        if (material_set_get(s->materials, m)->programs[SSL_KERNEL_OPACITY].reads_counts)
            return true;
    return false;
}

static Status create_queue(const Wave *w, Arena *arena, ShadowQueue *out_queue, Error *err)
{
    bool has_histories = alpha_reads_counts(w->shared);
    *out_queue = (ShadowQueue){.lights = ARENA_ARRAY(arena, ShadowLight, w->capacity),
                               .diffs = ARENA_ARRAY(arena, RayDiff, w->capacity)};
    if (has_histories)
        out_queue->histories = ARENA_ARRAY(arena, PathHistory, w->capacity);
    if (!out_queue->lights || !out_queue->diffs || (has_histories && !out_queue->histories))
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    return shadow_batch_create(arena, w->capacity, &out_queue->batch, err);
}

/* Creates the queue of the rays of a layer, if the film has it. */
static Status create_layer_queue(const Wave *w, FilmAov layer, Arena *arena,
                                 ShadowQueue **out_queue, Error *err)
{
    if (!film_aovs_have(w->aovs, layer))
        return STATUS_OK;
    if (!(*out_queue = ARENA_NEW(arena, ShadowQueue)))
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    return create_queue(w, arena, *out_queue, err);
}

Status wave_create(const WaveShared *shared, ShadeContext *shade, LevelWatch *levels,
                   uint32_t sample_capacity, Arena *arena, Wave **out_wave, Error *err)
{
    bool has_catchers = film_desc(shared->film)->has_catchers;
    ASSERT(sample_capacity > 0);
    uint32_t capacity = has_catchers ? WAVE_PATHS_OF_A_CATCH * sample_capacity : sample_capacity;
    Wave *w = ARENA_NEW(arena, Wave);
    if (!w)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    *w = (Wave){.shared = shared,
                .shade = shade,
                .levels = levels,
                .capacity = capacity,
                .keeps_diffuse_fraction = hides_lights(shared->scene),
                .aovs = film_desc(shared->film)->aovs};
    w->keeps_aovs = w->aovs != 0 || has_catchers;
    TRY(ray_batch_create(arena, capacity, &w->rays, err));
    TRY(hit_batch_create(arena, capacity, &w->hits, err));
    if (has_catchers && shared->bake) {
        if (!(w->caught = ARENA_NEW(arena, HitBatch)))
            return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
        TRY(hit_batch_create(arena, capacity, w->caught, err));
    }
    TRY(create_queue(w, arena, &w->shadow, err));
    if (shared->sight && !(w->shadow.sight = ARENA_ARRAY(arena, uint32_t, capacity)))
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    TRY(create_layer_queue(w, FILM_AOV_AMBIENT_OCCLUSION, arena, &w->occlusion, err));
    TRY(create_layer_queue(w, FILM_AOV_SHADOW, arena, &w->lamp_shadows, err));
    w->paths = ARENA_ARRAY(arena, Path, capacity);
    w->sample_bytes =
        w->keeps_aovs ? sizeof(FilmSample) : size_align(offsetof(FilmSample, caught), SAMPLE_ALIGN);
    w->samples = arena_alloc_array(arena, sample_capacity, w->sample_bytes, SORT_CACHE_LINE);
    w->pixels = ARENA_ARRAY(arena, SamplePixel, sample_capacity);
    w->surfaces = arena_alloc(arena, SHADE_CHUNK / SSL_BLOCK * sizeof *w->surfaces, 64);
    w->materials = ARENA_ARRAY(arena, uint32_t, capacity);
    w->meetings = ARENA_ARRAY(arena, uint8_t, capacity);
    w->order = ARENA_ARRAY(arena, uint32_t, capacity);
    w->members = ARENA_ARRAY(arena, uint32_t, capacity);
    w->bucket = ARENA_ARRAY(arena, uint32_t, shared->scene->material_count + 1);
    w->skies = ARENA_ARRAY(arena, LightSky, capacity);
    w->sky_lights = ARENA_ARRAY(arena, SkyLight, capacity);
    w->sky_footprints = ARENA_ARRAY(arena, EnvironmentFootprint, capacity);
    w->sky_depths = ARENA_ARRAY(arena, uint32_t, capacity);
    w->sky_histories = ARENA_ARRAY(arena, PathHistory, capacity);
    w->mesh_lights = ARENA_ARRAY(arena, MeshLight, 2 * (size_t)capacity);
    if (w->aovs & FILM_LIGHT_PASSES && wave_gathers_light(shared)) {
        w->path_kinds = ARENA_ARRAY(arena, LightKinds, sample_capacity);
        w->light_kinds = ARENA_ARRAY(arena, LightKinds, capacity);
        if (!w->path_kinds || !w->light_kinds)
            return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    }
    if (w->aovs & FILM_DENOISING)
        w->guides = ARENA_ARRAY(arena, SampleGuide, sample_capacity);
    if (shared->learner)
        w->lessons = ARENA_ARRAY(arena, PathLesson, sample_capacity);
    if ((w->aovs & FILM_DENOISING && !w->guides) || (shared->learner && !w->lessons))
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    if (!w->paths || !w->samples || !w->pixels || !w->surfaces || !w->order || !w->members ||
        !w->bucket || !w->skies || !w->sky_lights || !w->sky_footprints || !w->sky_depths ||
        !w->sky_histories || !w->mesh_lights || !w->materials || !w->meetings ||
        !note_reads(w, arena) ||
        (hides_instances(shared->scene) && !(w->ray_kinds = ARENA_ARRAY(arena, uint8_t, capacity))))
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    w->adds_alone = !has_catchers && !w->lessons && !w->path_kinds &&
                    !(w->aovs & FILM_LIGHT_GROUPS) && isinf(shared->clamp_direct) &&
                    isinf(shared->clamp_indirect);
    TRY(caustics_create(w, arena, err));
    TRY(light_paths_create(w, arena, err));
    *out_wave = w;
    return STATUS_OK;
}

/* Returns the SceneRays that the path's ray counts as. Inside a body it counts as all of them, so that nothing hides. */
static uint8_t kind_of_ray(const Path *path)
{
    uint32_t history = path->history.kind;
    uint8_t kind = history & RAY_CAMERA         ? SCENE_RAYS_CAMERA
                   : history & RAY_TRANSMISSION ? SCENE_RAYS_TRANSMISSION
                   : history & RAY_DIFFUSE      ? SCENE_RAYS_DIFFUSE
                                                : SCENE_RAYS_GLOSSY;
    if (path->flags & PATH_INSIDE)
        kind = SCENE_RAYS_CAMERA | SCENE_RAYS_BOUNCED;
    return path->flags & PATH_ALONE ? ACCEL_ALONE(kind) : kind;
}

static void stage_intersect(Wave *w)
{
    for (uint32_t i = 0; w->ray_kinds && i < w->count; ++i)
        w->ray_kinds[i] = kind_of_ray(&w->paths[i]);
    accel_intersect_as(w->shared->accel, &w->rays, w->ray_kinds, w->count, &w->hits);
    w->counters.rays += w->count;
    for (uint32_t i = 0; w->caught && i < w->count; ++i)
        if (w->paths[i].flags & PATH_AT_CATCHER)
            hit_batch_copy(&w->hits, i, w->caught, i);
}

/* Commits the samples of the pixels that start together at sample k, pixel by pixel, and returns their number. stage_camera lists
 * them number by number, each time the same pixels. */
static uint32_t commit_pixels(Wave *w, uint32_t k)
{
    const SamplePixel *first = &w->pixels[k], *end = w->pixels + w->sample_count, *at = first;
    while (at < end && at->sample == first->sample)
        ++at;
    uint32_t pixels = (uint32_t)(at - first), samples = 1;
    for (; at < end && at->x == first->x && at->y == first->y; at += pixels)
        ++samples;
    for (uint32_t i = 0; i < pixels; ++i)
        film_commit_samples(w->shared->film, first[i].x, first[i].y, wave_sample(w, k + i),
                            pixels * w->sample_bytes, samples);
    return pixels * samples;
}

static void stage_commit(Wave *w)
{
    if (w->guides)
        guides_finish(w, w->sample_count);
    if (w->lessons)
        lessons_finish(w);
    for (uint32_t k = 0; k < w->sample_count;)
        k += commit_pixels(w, k);
}

/* Runs a stage and counts its time. */
static void timed(Wave *w, WaveStage stage, void (*run)(Wave *w))
{
    uint64_t start = clock_now_ns();
    run(w);
    w->counters.stage_ns[stage] += clock_now_ns() - start;
}

/* Makes the time since `start_ns`, in milliseconds, the colour of the only sample, for WAVE_VIEW_COST. */
static void record_cost(Wave *w, uint64_t start_ns)
{
    ASSERT(w->job.width == 1 && w->job.height == 1);
    float cost_ms = (float)((double)(clock_now_ns() - start_ns) * 1e-6);
    for (int c = 0; c < 3; ++c)
        wave_sample(w, 0)->rgb[c] = cost_ms;
    if (w->keeps_aovs)
        wave_sample(w, 0)->caught = (FilmCatch){0};
}

static bool is_stopped(const WaveShared *shared)
{
    return shared->stop && atomic_load_explicit(shared->stop, memory_order_relaxed);
}

/* Follows the paths of the camera to their ends. Returns false when it is stopped. */
static bool follow_paths(Wave *w)
{
    while (w->count > 0) {
        if (is_stopped(w->shared))
            return false;
        timed(w, WAVE_STAGE_WALK, stage_walk);
        timed(w, WAVE_STAGE_ESCAPE, stage_escape);
        if (w->caustics)
            timed(w, WAVE_STAGE_CAUSTICS, stage_caustics);
        timed(w, WAVE_STAGE_SURFACE, stage_surface);
        timed(w, WAVE_STAGE_SHADOW, stage_shadow);
        timed(w, WAVE_STAGE_ADVANCE, stage_advance);
        timed(w, WAVE_STAGE_INTERSECT, stage_intersect);
    }
    return true;
}

/* Follows paths of light. Returns false when it is stopped. */
static bool follow_light(Wave *w)
{
    timed(w, WAVE_STAGE_CAMERA, light_paths_start);
    timed(w, WAVE_STAGE_ADVANCE, stage_advance); /* those without power end */
    timed(w, WAVE_STAGE_INTERSECT, stage_intersect);
    while (w->count > 0) {
        if (is_stopped(w->shared))
            return false;
        timed(w, WAVE_STAGE_ESCAPE, light_paths_pass_lamps);
        timed(w, WAVE_STAGE_SURFACE, light_paths_shade);
        timed(w, WAVE_STAGE_SHADOW, stage_shadow);
        timed(w, WAVE_STAGE_ADVANCE, stage_advance);
        timed(w, WAVE_STAGE_INTERSECT, stage_intersect);
    }
    light_paths_finish(w);
    return true;
}

void wave_run(Wave *w, const WaveJob *job)
{
    uint64_t start_ns = clock_now_ns();
    ASSERT(wave_job_samples(job) <= w->capacity);
    w->job = *job;
    timed(w, WAVE_STAGE_CAMERA, stage_camera);
    if (w->caustics)
        caustics_begin(w);
    if (w->light_paths && w->light_paths->is_trial)
        w->count = 0;
    if (!follow_paths(w))
        return;
    if (w->light_paths && !follow_light(w))
        return;
    if (w->shared->view == WAVE_VIEW_COST)
        record_cost(w, start_ns);
    timed(w, WAVE_STAGE_COMMIT, stage_commit);
}

WaveCounters wave_counters(const Wave *w)
{
    WaveCounters counters = w->counters;
    counters.shade = shade_counters(w->shade);
    return counters;
}

void wave_counters_add(WaveCounters *sum, const WaveCounters *c)
{
    sum->paths += c->paths;
    sum->rays += c->rays;
    sum->shadow_rays += c->shadow_rays;
    sum->bsdf_faults += c->bsdf_faults;
    sum->caustic_paths += c->caustic_paths;
    sum->caustics_found += c->caustics_found;
    for (int s = 0; s < WAVE_STAGE_COUNT; ++s)
        sum->stage_ns[s] += c->stage_ns[s];
    sum->shade.points += c->shade.points;
    sum->shade.kernel_calls += c->shade.kernel_calls;
    sum->shade.texture_calls += c->shade.texture_calls;
}

void wave_copy_path(Wave *w, uint32_t to, uint32_t from)
{
    const Path *source = &w->paths[from];
    Path *path = &w->paths[to];
    ASSERT(to != from && to < w->capacity && from < w->capacity);
    ray_batch_copy(&w->rays, to, from);
    memcpy(path, source, offsetof(Path, diff));
    if (w->caustics)
        w->caustics->trails[to] = w->caustics->trails[from];
    if (w->light_paths)
        w->light_paths->trails[to] = w->light_paths->trails[from];
    if (w->caught && source->flags & PATH_AT_CATCHER)
        hit_batch_copy(w->caught, to, w->caught, from);
    if (w->reads.path_footprints)
        path->diff = source->diff;
    if (source->flags & (PATH_INSIDE | PATH_LEAVING)) {
        path->medium = source->medium;
        path->body = source->body;
        path->walk = source->walk;
    }
}

void wave_group(Wave *w, uint32_t count)
{
    uint32_t materials = w->shared->scene->material_count;
    uint32_t *bucket = w->bucket;
    ASSERT(count <= w->capacity);
    /* Counting sort: bucket[m + 1] counts material m, then bucket[m] is where its next member goes. */
    memset(bucket, 0, (materials + 1) * sizeof *bucket);
    for (uint32_t i = 0; i < count; ++i)
        ++bucket[w->materials[w->members[i]] + 1];
    for (uint32_t m = 1; m < materials; ++m)
        bucket[m] += bucket[m - 1];
    for (uint32_t i = 0; i < count; ++i)
        w->order[bucket[w->materials[w->members[i]]]++] = w->members[i];
}

uint32_t wave_chunk(const Wave *w, uint32_t begin, uint32_t end)
{
    if (begin >= end)
        return 0;
    /* Where a bucket's next member would go, the members of its material end. */
    uint32_t material_end = w->bucket[w->materials[w->order[begin]]];
    ASSERT(begin < material_end && material_end <= end);
    return material_end - begin < SHADE_CHUNK ? material_end - begin : SHADE_CHUNK;
}

void wave_load_hits(const RayBatch *rays, const HitBatch *hits, const uint32_t *paths,
                    uint32_t count, SurfaceBlock *out)
{
    ASSERT(count <= SSL_BLOCK);
    for (uint32_t k = 0; k < count; ++k) {
        uint32_t i = paths[k];
        ASSERT(hit_is_mesh(hits->shape[i]));
        out->instance[k] = (int32_t)hits->shape[i];
        out->triangle[k] = (int32_t)hits->triangle[i];
        out->b1[k] = hits->b1[i];
        out->b2[k] = hits->b2[i];
        out->length_m[k] = hits->t[i];
        for (uint32_t c = 0; c < 3; ++c)
            out->I[c][k] = rays->direction[c][i];
    }
    out->count = count;
}

void wave_load_rays(const RayBatch *rays, const uint32_t *paths, uint32_t count, HitRays *out)
{
    ASSERT(count <= SSL_BLOCK);
    for (uint32_t k = 0; k < count; ++k) {
        out->time[k] = rays->time[paths[k]];
        for (uint32_t c = 0; c < 3; ++c)
            out->origin[c][k] = rays->origin[c][paths[k]];
    }
}

/* Scales light down to the limit of its mean channel, which keeps its colour: the picture gets darker, and has fewer
 * fireflies. */
static float3 clamp_light(const WaveShared *s, Spectrum radiance, uint32_t bounces)
{
    float3 rgb = spectrum_to_rgb(radiance);
    float mean = (fabsf(rgb.x) + fabsf(rgb.y) + fabsf(rgb.z)) * (1.0f / 3.0f);
    float most = bounces > 1 ? s->clamp_indirect : s->clamp_direct;
    return mean > most ? f3_scale(rgb, most / mean) : rgb;
}

static void add3(float sum[3], float3 rgb)
{
    sum[0] += rgb.x;
    sum[1] += rgb.y;
    sum[2] += rgb.z;
}

static void add_to_group(Wave *w, const Path *path, float3 rgb, uint32_t light_group)
{
    if (w->aovs & FILM_LIGHT_GROUPS)
        add3(wave_sample(w, path->sample)->aov + FILM_AT_LIGHT_REST + (size_t)3 * light_group, rgb);
}

void wave_add_clamped(Wave *w, const Path *path, Spectrum radiance, LightArrival how)
{
    float3 rgb = clamp_light(w->shared, radiance, how.bounces);
    FilmSample *sample = wave_sample(w, path->sample);
    ASSERT(how.group <= SCENE_LIGHT_GROUPS_MAX);
    if (path->flags & PATH_CAUGHT) {
        add3(path->flags & PATH_ALONE ? sample->caught.alone : sample->caught.lit, rgb);
        return;
    }
    add3(sample->rgb, rgb);
    add_to_group(w, path, rgb, how.group);
    if (w->lessons)
        lessons_add_light(w, path, rgb);
    if (w->path_kinds)
        kinds_add_light(w, path, rgb, how);
}

void wave_add_met(Wave *w, const Path *path, Spectrum radiance, uint32_t light_group,
                  const SceneLightVisibility *visibility, uint32_t at)
{
    uint32_t hidden = wave_hidden_kinds(path->history.kind, visibility->invisible_to);
    wave_add_light(w, path, radiance, (LightArrival){true, light_group, path->depth, hidden, NULL});
    const FilmAovSet seen = FILM_AOV_BIT(FILM_AOV_EMISSION) | FILM_AOV_BIT(FILM_AOV_ENVIRONMENT) |
                            FILM_AOV_BIT(FILM_AOV_DENOISING_LIGHT);
    if (path->flags & PATH_SEEN || !(w->aovs & seen))
        return;
    float3 rgb = clamp_light(w->shared, radiance, path->depth);
    float *aov = wave_sample(w, path->sample)->aov;
    add3(aov + at, rgb);
    if (!(path->flags & PATH_CAUGHT))
        add3(aov + FILM_AT_DENOISING_LIGHT, rgb);
}

void wave_add_backdrop(Wave *w, const Path *path, Spectrum radiance, uint32_t light_group,
                       uint32_t at)
{
    float3 rgb = clamp_light(w->shared, radiance, path->depth);
    ASSERT(film_desc(w->shared->film)->has_catchers);
    add3(wave_sample(w, path->sample)->caught.backdrop, rgb);
    add_to_group(w, path, rgb, light_group);
    add3(wave_sample(w, path->sample)->aov + at, rgb);
}

void wave_queue_sky(Wave *w, const SkyLight *sky, const EnvironmentFootprint *footprint)
{
    const Path *path = &w->paths[sky->path];
    ASSERT(sky->path < w->count && w->sky_light_count < w->capacity);
    w->sky_depths[w->sky_light_count] = path->depth + !sky->is_met;
    w->sky_histories[w->sky_light_count] = path->history;
    if (!sky->is_met) {
        w->sky_histories[w->sky_light_count].kind = 0;
        w->sky_histories[w->sky_light_count].is_cone = true;
    }
    w->sky_footprints[w->sky_light_count] = *footprint;
    w->sky_lights[w->sky_light_count++] = *sky;
}

static void deliver_sky(Wave *w, const SkyLight *sky, Spectrum light)
{
    const SceneEnvironment *environment = &w->shared->scene->environment;
    uint32_t group = environment->light_group;
    if (sky->begins)
        w->paths[sky->path].beta = light;
    else if (sky->is_backdrop)
        wave_add_backdrop(w, &w->paths[sky->path], light, group, FILM_AT_ENVIRONMENT);
    else if (sky->is_met)
        wave_add_met(w, &w->paths[sky->path], light, group, &environment->visibility,
                     FILM_AT_ENVIRONMENT);
    else
        shadow_queue_set_light(&w->shadow, sky->shadow, light, group);
}

void wave_evaluate_sky(Wave *w)
{
    enum { GROUP = 64 };
    Spectrum radiance[GROUP];
    uint32_t n;
    for (uint32_t begin = 0; begin < w->sky_light_count; begin += n) {
        const SkyLight *sky = &w->sky_lights[begin];
        n = w->sky_light_count - begin < GROUP ? w->sky_light_count - begin : GROUP;
        shade_environment(w->shade, w->sky_footprints + begin, w->sky_depths + begin,
                          w->sky_histories + begin, n, radiance);
        for (uint32_t k = 0; k < n; ++k)
            deliver_sky(w, &sky[k], spectrum_mul(sky[k].factor, radiance[k]));
    }
    w->sky_light_count = 0;
}

static float heuristic(bool is_environment, float pdf, float pdf_other)
{
    return is_environment ? mis_balance(pdf, pdf_other) : mis_power(pdf, pdf_other);
}

Spectrum wave_visible_fraction(const Path *path, const SceneLightVisibility *visibility)
{
    uint32_t kind = path->history.kind, hidden = visibility->invisible_to;
    bool sees;
    if (!(kind & RAY_CAMERA) && !wave_light_reaches(visibility, path->depth - 1, path->from_set))
        return spectrum_splat(0.0f);
    if (kind & RAY_CAMERA)
        sees = !(hidden & SCENE_RAYS_CAMERA);
    else if (kind & RAY_TRANSMISSION)
        sees = !(hidden & SCENE_RAYS_TRANSMISSION);
    else if (kind & RAY_SINGULAR)
        sees = !(hidden & SCENE_RAYS_GLOSSY);
    else
        return wave_part_of_kinds(hidden, path->diffuse);
    return spectrum_splat(sees ? 1.0f : 0.0f);
}

float wave_path_mis_weight(const WaveShared *s, const Path *path, float light_pdf,
                           const SceneLightVisibility *visibility, bool is_environment)
{
    if (path->flags & PATH_SPECULAR)
        return 1.0f;
    ASSERT(path->pdf > 0.0f && light_pdf >= 0.0f);
    if (visibility && (visibility->is_shadowless || visibility->open_sets))
        return 0.0f; /* light sampling finds all of it */
    if (s->strategy == WAVE_STRATEGY_BSDFS)
        return 1.0f;
    return s->strategy == WAVE_STRATEGY_MIS ? heuristic(is_environment, path->pdf, light_pdf)
                                            : 0.0f;
}
