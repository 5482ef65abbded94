/* Paths that met a light's shape, or that left the scene: adds the light, and ends them. */
#include "sort/integrator/caustics.h"

/* Records that the camera ray left the scene; `beta` is the fraction that the surfaces on the way let through. */
static void record_nothing(const Wave *w, const Path *path)
{
    FilmSample *sample = wave_sample(w, path->sample);
    if (path->event == 0 && w->keeps_aovs)
        sample->aov[FILM_AT_DEPTH] = FILM_NO_DEPTH;
    const Scene *scene = w->shared->scene;
    if (scene->environment.kind == SCENE_ENVIRONMENT_NONE || w->shared->settings->transparent_film)
        sample->alpha -= spectrum_average(path->beta);
}

/* Queues the sky that a path meets. Camera rays, in mirrors too, look it up with the path's footprint, which is exact.
 * After a wider scatter the footprint is an estimate that would blur caustics over their edges, so such paths look up
 * the cell of the importance table, as light sampling does. */
static void meet_sky(Wave *w, const SkyLight *sky, float3 direction, float2 map_uv)
{
    const Path *path = &w->paths[sky->path];
    bool is_specular = path->flags & PATH_SPECULAR;
    EnvironmentFootprint footprint;
    if (is_specular && isinf(path->history.least_pdf))
        footprint = shade_environment_footprint(w->shade, direction, &path->diff, path->depth);
    else if (is_specular)
        footprint = lights_environment_cell(
            w->shared->lights, environment_uv(&w->shared->scene->environment, direction));
    else
        footprint = lights_environment_cell(w->shared->lights, map_uv);
    wave_queue_sky(w, sky, &footprint);
}

void wave_meet_infinity(Wave *w, uint32_t i, Spectrum factor, bool is_backdrop)
{
    const Lights *lights = w->shared->lights;
    const Path *path = &w->paths[i];
    const Ray ray = ray_batch_get(&w->rays, i);
    uint32_t count = wave_gathers_light(w->shared) ? lights_infinite_count(lights) : 0;
    bool competes = !(path->flags & PATH_SPECULAR);
    for (uint32_t k = 0; k < count; ++k) {
        LightHit hit;
        if (!lights_infinite_hit(lights, k, ray.direction, competes ? &w->skies[i] : NULL, &hit))
            continue;
        if (hit.is_environment && !(path->flags & PATH_SEEN) &&
            w->shared->settings->transparent_film)
            continue;
        float mis_weight = wave_path_mis_weight(w->shared, path, hit.pdf_solid_angle,
                                                hit.visibility, hit.is_environment);
        Spectrum part = spectrum_scale(factor, mis_weight);
        part = spectrum_mul(part, wave_visible_fraction(path, hit.visibility));
        if (hit.is_environment && w->caustics)
            part = spectrum_scale(part, caustics_weight_of_sky(w, i));
        uint32_t at = hit.is_environment ? FILM_AT_ENVIRONMENT : FILM_AT_EMISSION;
        if (spectrum_is_black(part))
            continue;
        if (hit.value == LIGHT_VALUE_ENVIRONMENT && competes &&
            lights_know_sky(lights, &hit.place, path->pdf, &hit.radiance))
            hit.value = LIGHT_VALUE_KNOWN;
        if (hit.value == LIGHT_VALUE_ENVIRONMENT)
            meet_sky(
                w,
                &(SkyLight){.path = i, .is_met = true, .is_backdrop = is_backdrop, .factor = part},
                ray.direction, hit.place.uv);
        else if (is_backdrop)
            wave_add_backdrop(w, path, spectrum_mul(part, hit.radiance), hit.light_group, at);
        else if (!caustics_take_seen(w, i, k, spectrum_mul(part, hit.radiance),
                                     &(LightArrival){true, hit.light_group, path->depth, 0, NULL}))
            wave_add_met(w, path, spectrum_mul(part, hit.radiance), hit.light_group, hit.visibility,
                         at);
    }
}

static void escape(Wave *w, uint32_t i)
{
    const Path *path = &w->paths[i];
    ASSERT(w->hits.shape[i] == HIT_NONE);
    wave_meet_infinity(w, i, path->beta, false);
    if (!(path->flags & PATH_SEEN))
        record_nothing(w, path);
}

/* Lets the ray go on through a light that does not stop it. Returns false when it has passed too many. */
static bool pass_light(Wave *w, uint32_t i)
{
    if (++w->paths[i].walk_steps > WAVE_WALK_MAX)
        return false;
    if (w->caustics)
        caustics_leave(w, i);
    ray_batch_pass(&w->rays, &w->hits, i);
    return true;
}

/* Adds the light of a shape that the ray met. Returns whether the path ends there. */
static bool meet_light(Wave *w, uint32_t i, const Ray *ray, uint32_t light)
{
    const Path *path = &w->paths[i];
    /* Densities refer to the last scatter; transparent surfaces may lie between. */
    float3 met = f3_madd(ray->origin, w->hits.t[i], ray->direction);
    float distance = f3_length(f3_sub(met, path->from));
    const LightQuery from = {path->from, path->from_n, path->from_sides, path->from_gloss};
    LightHit hit = lights_shape_hit(w->shared->lights, &from, light, ray->direction, distance);
    Spectrum part = wave_visible_fraction(path, hit.visibility);
    float mis_weight =
        wave_path_mis_weight(w->shared, path, hit.pdf_solid_angle, hit.visibility, false);
    Spectrum found =
        spectrum_scale(spectrum_mul(spectrum_mul(path->beta, part), hit.radiance), mis_weight);
    if (wave_gathers_light(w->shared) && !hit.is_beside &&
        !caustics_take_met(w, i, light, w->hits.t[i], found,
                           &(LightArrival){true, hit.light_group, path->depth, 0, NULL}))
        wave_add_met(w, path, found, hit.light_group, hit.visibility, FILM_AT_EMISSION);
    bool is_hidden = !(path->flags & PATH_SEEN) && hit.visibility->invisible_to & SCENE_RAYS_CAMERA;
    if (hit.is_beside || is_hidden || hit.visibility->is_permeable)
        return !pass_light(w, i);
    if (path->flags & PATH_SEEN || !w->keeps_aovs)
        return true;
    float *aov = wave_sample(w, path->sample)->aov;
    aov[FILM_AT_DEPTH] = camera_distance(&w->shared->camera, ray->time, met);
    aov[FILM_AT_MIST] -= spectrum_average(path->beta) * (1.0f - wave_mist(w, aov[FILM_AT_DEPTH]));
    return true;
}

static bool leaves_scene(const Wave *w, uint32_t i)
{
    return w->hits.shape[i] == HIT_NONE && !(w->paths[i].flags & PATH_INSIDE);
}

/* Finds where in the sky rays end, for those whose density in light sampling is asked for. */
static void find_skies(Wave *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->count; ++i)
        if (leaves_scene(w, i) && !(w->paths[i].flags & PATH_SPECULAR))
            w->members[count++] = i;
    for (uint32_t begin = 0; begin < count; begin += SSL_BLOCK) {
        EnvironmentRays rays;
        WideRow positions[3];
        LightSky skies[SSL_BLOCK];
        const uint32_t *paths = w->members + begin;
        uint32_t lanes = count - begin < SSL_BLOCK ? count - begin : SSL_BLOCK;
        for (uint32_t k = 0; k < lanes; ++k) {
            const Path *path = &w->paths[paths[k]];
            for (int c = 0; c < 3; ++c)
                rays.direction[c][k] = w->rays.direction[c][paths[k]];
            wide_set3(positions, k, path->from);
            wide_set3(rays.normal, k, path->from_n);
            rays.sides[k] = path->from_sides;
        }
        lights_find_sky(w->shared->lights, &rays, positions, (uint16_t)((1u << lanes) - 1), skies);
        for (uint32_t k = 0; k < lanes; ++k)
            w->skies[paths[k]] = skies[k];
    }
}

void stage_escape(Wave *w)
{
    if (wave_gathers_light(w->shared) && lights_infinite_count(w->shared->lights) > 0)
        find_skies(w);
    for (uint32_t i = 0; i < w->count; ++i) {
        uint32_t shape = w->hits.shape[i];
        Path *path = &w->paths[i];
        if ((shape != HIT_NONE && hit_is_mesh(shape)) || path->flags & PATH_INSIDE)
            continue;
        Ray ray = ray_batch_get(&w->rays, i);
        uint32_t light = shape & ~HIT_LIGHT;
        if (shape == HIT_NONE)
            escape(w, i);
        else if (!meet_light(w, i, &ray, light))
            continue;
        path->flags |= PATH_DEAD;
    }
    wave_evaluate_sky(w);
}
