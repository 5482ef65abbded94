/* Paths that met no surface to shade: light shapes, and what lies at infinity. They end here. */
#include "sort/integrator/wave_state.h"

/* Nothing was met but surfaces that let all or some light through: `beta` is the share of it. */
static void record_nothing(const Wave *w, const Path *path)
{
    FilmSample *sample = &w->samples[path->sample];
    if (path->event == 0)
        sample->aov[FILM_AT_DEPTH] = FILM_NO_DEPTH;
    const Scene *scene = w->shared->scene;
    if (scene->environment.kind == SCENE_ENVIRONMENT_NONE || scene->settings.has_transparent_film)
        sample->alpha = 1.0f - spectrum_average(path->beta);
}

static void meet_sky(Wave *w, uint32_t i, const Ray *ray, float2 map_uv, Spectrum factor)
{
    const Path *path = &w->paths[i];
    EnvironmentFootprint footprint =
        path->flags & PATH_SPECULAR
            ? shade_environment_footprint(w->shade, ray->direction, &path->diff, path->depth)
            : environment_cell(map_uv);
    wave_note_sky(w, i, true, factor, &footprint);
}

static void escape(Wave *w, uint32_t i, const Ray *ray)
{
    const Lights *lights = w->shared->lights;
    const Path *path = &w->paths[i];
    uint32_t count = wave_gathers_light(w->shared) ? lights_infinite_count(lights) : 0;
    for (uint32_t k = 0; k < count; ++k) {
        LightValue kind;
        LightHit hit;
        if (!lights_infinite_hit(lights, path->from, path->from_n, k, ray->direction, &kind, &hit))
            continue;
        if (!(path->flags & PATH_SEEN) && !hit.is_camera_visible)
            continue;
        float share = wave_path_share(w->shared, path, hit.pdf_solid_angle);
        Spectrum factor = spectrum_scale(path->beta, share);
        if (share == 0.0f)
            continue;
        if (kind == LIGHT_VALUE_ENVIRONMENT)
            meet_sky(w, i, ray, hit.map_uv, factor);
        else
            wave_add_met(w, path, spectrum_mul(factor, hit.radiance), hit.light_group,
                         hit.is_environment ? FILM_AT_ENVIRONMENT : FILM_AT_EMISSION);
    }
    if (!(path->flags & PATH_SEEN))
        record_nothing(w, path);
}

/* The ray does not see this light: what lies behind it is met next. False: it makes no way, in steps too
 * small for the numbers of its place. */
static bool pass_light(Wave *w, uint32_t i, const Ray *ray, float t)
{
    Path *path = &w->paths[i];
    float3 met = f3_madd(ray->origin, t, ray->direction);
    Ray behind = {.origin = ray_offset_origin(met, ray->direction),
                  .direction = ray->direction,
                  .t_max = INFINITY,
                  .time = ray->time};
    if (++path->walk_steps > WAVE_WALK_MAX)
        return false;
    ray_batch_set(&w->rays, i, &behind);
    return true;
}

/* False: it is not there after all. */
static bool meet_light(Wave *w, const Path *path, const Ray *ray, uint32_t light, float t)
{
    /* Measured from the last scatter, since transparent surfaces may lie between. */
    float3 met = f3_madd(ray->origin, t, ray->direction);
    float distance = f3_length(f3_sub(met, path->from));
    LightHit hit = lights_shape_hit(w->shared->lights, path->from, path->from_n, light,
                                    ray->direction, distance);
    if (hit.is_beside)
        return false;
    float share = wave_path_share(w->shared, path, hit.pdf_solid_angle);
    if (w->shared->what == WAVE_VIEW_NONE)
        wave_add_met(w, path, spectrum_scale(spectrum_mul(path->beta, hit.radiance), share),
                     hit.light_group, FILM_AT_EMISSION);
    if (path->flags & PATH_SEEN)
        return true;
    float *aov = w->samples[path->sample].aov;
    aov[FILM_AT_DEPTH] = wave_camera_distance(w, ray->time, met);
    aov[FILM_AT_MIST] -= spectrum_average(path->beta) * (1.0f - wave_mist(w, aov[FILM_AT_DEPTH]));
    return true;
}

/* A light's surface was met. False: the path goes on behind it. */
static bool ends_at_light(Wave *w, uint32_t i, const Ray *ray, uint32_t light)
{
    const Path *path = &w->paths[i];
    float t = w->hits.t[i];
    bool is_seen = path->flags & PATH_SEEN || w->shared->scene->lights[light].is_camera_visible;
    return (is_seen && meet_light(w, path, ray, light, t)) || !pass_light(w, i, ray, t);
}

void stage_escape(Wave *w)
{
    for (uint32_t i = 0; i < w->count; ++i) {
        uint32_t shape = w->hits.shape[i];
        Path *path = &w->paths[i];
        if ((shape != HIT_NONE && hit_is_mesh(shape)) || path->flags & PATH_INSIDE)
            continue;
        Ray ray = ray_batch_get(&w->rays, i);
        uint32_t light = shape & ~HIT_LIGHT;
        if (shape == HIT_NONE)
            escape(w, i, &ray);
        else if (!ends_at_light(w, i, &ray, light))
            continue;
        path->flags |= PATH_DEAD;
    }
    wave_look_up_sky(w);
}
