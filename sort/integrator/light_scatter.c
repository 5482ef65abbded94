/* Surfaces that paths of light meet: each joins its path to the lens, and scatters it. */
#include "sort/integrator/caustic_paths.h"

#include <string.h>

/* Light that comes in flatter than this is none: its share of a flat surface is lost in rounding. */
#define COS_MIN 1e-6f

/* --- what paths that look for caustics do ------------------------------------------------------------ */

static const SceneLightVisibility *visibility_of(const Wave *w, uint32_t i)
{
    const Scene *scene = w->shared->scene;
    uint32_t light = w->light_paths->trails[i].departure.light;
    if (light == CAUSTIC_SKY)
        return &scene->environment.visibility;
    return light & CAUSTIC_MESH ? &scene->instances[light & ~CAUSTIC_MESH].light_visibility
                                : &scene->lights[light].visibility;
}

/* Returns whether scattering may find path i if it has been scattered `more` times before the surface that path i has met. */
static bool has_room(const Wave *w, uint32_t i, uint32_t more)
{
    const Path *path = &w->paths[i];
    uint32_t spreads = w->light_paths->trails[i].is_spread || more > 0;
    return path->depth + more <= caustic_paths_room(w, spreads) + spreads &&
           wave_light_reaches(visibility_of(w, i), path->depth + more, 0);
}

/* Returns whether path i has come to a caster by all of its lobes. Behind a receiver casters are like other surfaces. */
static bool is_at_blur(const Wave *w, uint32_t i)
{
    return !w->light_paths->trails[i].is_spread &&
           caustic_paths_blur(w, w->hits.shape[i], w->materials[i]);
}

/* Paths that look for caustics are joined at receivers, once they come from casters. */
static bool is_joined(const Wave *w, uint32_t i)
{
    return !w->light_paths->is_for_caustics ||
           (w->paths[i].depth > 0 && caustic_paths_light(w, w->hits.shape[i]) &&
            !is_at_blur(w, i) && has_room(w, i, 0));
}

/* They go on at casters, and are spread at receivers. */
static bool is_scattered(const Wave *w, uint32_t i)
{
    return !w->light_paths->is_for_caustics ||
           caustic_paths_pass(w, w->hits.shape[i], w->materials[i]);
}

/* --- surfaces as others see them ------------------------------------------------------------------- */

/* Computes the surfaces of `count` <= SSL_BLOCK views of one material. is_seen: by the camera. */
static void find_views(const Wave *w, const LightView *views, uint32_t count, uint32_t material,
                       bool is_seen, SurfaceBlock *out)
{
    HitRays rays;
    uint32_t paths[SSL_BLOCK] = {0};
    for (uint32_t k = 0; k < count; ++k)
        paths[k] = views[k].path;
    wave_load_hits(&w->rays, &w->hits, paths, count, out);
    wave_load_rays(&w->rays, paths, count, &rays);
    out->material = material;
    for (uint32_t k = 0; k < count; ++k) {
        const Path *path = &w->paths[paths[k]];
        wide_set3(out->I, k, f3_neg(views[k].wo));
        out->length_m[k] = views[k].distance_m;
        rays.diff[k] = &views[k].diff;
        out->depth[k] = is_seen ? 0 : (int32_t)path->depth;
        out->draw[k] = wave_draw(path, 0);
        out->history[k] = is_seen ? (PathHistory){.kind = RAY_CAMERA} : path->history;
    }
    hit_surfaces(w->shared->scene, &rays, w->reads.surface[material], out);
}

/* Runs the kernel for `count` <= SHADE_CHUNK views, and then `settle` for each block of them. */
static void run_views(Wave *w, uint32_t count, uint32_t material, bool is_seen,
                      void (*settle)(Wave *w, const BsdfBlock *block, uint32_t first))
{
    const LightView *views = w->light_paths->views;
    if (count == 0)
        return;
    for (uint32_t first = 0; first < count; first += SSL_BLOCK)
        find_views(w, views + first, count - first < SSL_BLOCK ? count - first : SSL_BLOCK,
                   material, is_seen, &w->surfaces[first / SSL_BLOCK]);
    shade_run(w->shade, material, SSL_KERNEL_SHADE, w->surfaces, count);
    for (uint32_t first = 0; first < count; first += SSL_BLOCK)
        settle(w, shade_block(w->shade, first, NULL), first);
}

/* Sets wl, the directions to where the light of the views of a block comes from. */
static void directions_back(const Wave *w, const LightView *views, uint32_t count, BsdfRow wl[3])
{
    memset(wl, 0, 3 * sizeof *wl);
    for (uint32_t k = 0; k < count; ++k)
        wide_set3(wl, k, f3_neg(ray_batch_get(&w->rays, views[k].path).direction));
}

/* Returns |we . Ng| / |wl . Ng|, or 0 where light comes in edge-on. */
static float cosine_ratio(SurfaceLane surface, float3 we, float3 wl)
{
    float3 n = surface_vector(surface, surface.block->Ng);
    float in = fabsf(f3_dot(wl, n));
    return in > COS_MIN ? fabsf(f3_dot(we, n)) / in : 0.0f;
}

static SurfacePoint point_of(SurfaceLane surface)
{
    const SurfaceBlock *b = surface.block;
    return (SurfacePoint){surface_vector(surface, b->P), surface_vector(surface, b->Ng),
                          b->error_m[surface.lane]};
}

/* --- the lens -------------------------------------------------------------------------------------- */

/* Returns whether the film has a pixel whose filter reaches the place. */
static bool is_on_film(const Wave *w, float2 film_px)
{
    const FilmDesc *film = film_desc(w->shared->film);
    float reach = 0.5f * w->shared->filter.width_px;
    float2 from = f2((float)film->x + 0.5f, (float)film->y + 0.5f);
    float2 size = f2((float)film->crop_width - 1.0f, (float)film->crop_height - 1.0f);
    return film_px.x + reach > from.x && film_px.x - reach < from.x + size.x &&
           film_px.y + reach > from.y && film_px.y - reach < from.y + size.y;
}

/* Joins path i, which is at a surface, to the lens. Returns whether the camera may see it. */
static bool join(const Wave *w, uint32_t i, SurfaceLane surface, LightView *view, CameraLink *link)
{
    const WaveShared *s = w->shared;
    const Path *path = &w->paths[i];
    float2 u = f2(0.0f, 0.0f);
    if (s->camera.lens_radius_m > 0.0f)
        u = sampler_2d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_LIGHT_UV));
    float3 P = surface_vector(surface, surface.block->P);
    if (!camera_link(&s->camera, P, u, w->rays.time[i], link) || !is_on_film(w, link->film_px))
        return false;
    *view = (LightView){.path = i,
                        .wo = f3_neg(link->direction),
                        .distance_m = link->distance_m,
                        .diff = link->diff};
    return true;
}

/* Sends the light of path i that a surface scatters to the lens along a shadow ray, which looks as the camera does. */
static void send_to_lens(Wave *w, uint32_t i, SurfaceLane surface, const CameraLink *link,
                         Spectrum light)
{
    const SurfacePoint at = point_of(surface);
    Ray ray = {.origin = link->origin, .t_min = link->t_min, .time = w->rays.time[i]};
    ray.t_max = ray_between(link->origin, ray_leave(&at, f3_neg(link->direction)), link->direction,
                            &ray.direction);
    uint32_t shadow = shadow_queue_add(w, &w->shadow, i, 0);
    w->shadow.lights[shadow].is_cone = false;
    w->shadow.diffs[shadow] = link->diff;
    w->light_paths->film_px[shadow] = link->film_px;
    ray_batch_set(&w->shadow.batch.rays, shadow, &ray);
    w->shadow.batch.open_sets[shadow] = 0;
    shadow_queue_set_light(&w->shadow, shadow, light, 0);
}

/* Returns where a path that looks for caustics is joined to the lens. pdf: with which scattering draws wl there. */
static CausticJoint joint_at(const Wave *w, uint32_t i, SurfaceLane surface, float3 wl, float pdf)
{
    float3 Ng = surface_vector(surface, surface.block->Ng);
    return (CausticJoint){.P = surface_vector(surface, surface.block->P),
                          .Ng = Ng,
                          .time = w->rays.time[i],
                          .pdf = pdf,
                          .arrival = w->light_paths->trails[i].density * fabsf(f3_dot(wl, Ng))};
}

/* Returns the part that a path has of light that scattering may find, too. pdf: as in joint_at. */
static Spectrum share(Wave *w, uint32_t i, SurfaceLane surface, float3 wl, float pdf,
                      Spectrum light)
{
    CausticJoint joint = joint_at(w, i, surface, wl, pdf);
    float weight = caustic_paths_weight(w, &joint);
    w->light_paths->is_found[w->shadow.count] = weight > 0.5f;
    if (w->light_paths->is_trial) {
        CausticNoise noise = caustic_paths_noise(w, &joint, spectrum_average(light));
        return spectrum_from_rgb(f3(noise.alone, noise.shared, noise.light));
    }
    return spectrum_scale(light, weight);
}

/* Sends what the surfaces of a block scatter to the lens. */
static void splat_block(Wave *w, const BsdfBlock *block, uint32_t first)
{
    const SurfaceBlock *surfaces = &w->surfaces[first / SSL_BLOCK];
    const LightView *views = w->light_paths->views + first;
    alignas(64) BsdfRow wl[3], f[3], pdf;
    uint16_t live = (uint16_t)((1u << surfaces->count) - 1u) & bsdf_block_smooth(block);
    if (live == 0)
        return;
    directions_back(w, views, surfaces->count, wl);
    bsdf_block_eval(block, wl, live, f, pdf);
    live &= wide_nonzero3(f);
    WIDE_EACH(k, live)
    {
        SurfaceLane surface = {surfaces, k};
        const CameraLink *link = &w->light_paths->links[first + k];
        float scale = cosine_ratio(surface, views[k].wo, wide_get3(wl, k)) * link->px_per_sr *
                      w->light_paths->per_pixel;
        scale = scale / link->distance_m / link->distance_m;
        Spectrum light = w->paths[views[k].path].beta;
        SPECTRUM_EACH(c) light.c[c] = light.c[c] * f[c][k] * scale;
        if (w->light_paths->is_for_caustics)
            light = share(w, views[k].path, surface, wide_get3(wl, k), pdf[k], light);
        send_to_lens(w, views[k].path, surface, link, light);
    }
}

/* Joins the paths of the kernel's run to the lens. */
static void join_chunk(Wave *w, const uint32_t *paths, uint32_t n, uint32_t material)
{
    LightPaths *p = w->light_paths;
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; ++k) {
        SurfaceLane surface = {&w->surfaces[k / SSL_BLOCK], k % SSL_BLOCK};
        if (!p->trails[paths[k]].is_dark && is_joined(w, paths[k]))
            count += join(w, paths[k], surface, &p->views[count], &p->links[count]);
    }
    run_views(w, count, material, true, splat_block);
}

/* Adds light to the pixels whose filters reach the place. */
static void splat(const Wave *w, float2 film_px, Spectrum light, bool is_odd)
{
    const PixelFilter *filter = &w->shared->filter;
    const FilmDesc *film = film_desc(w->shared->film);
    float3 rgb = spectrum_to_rgb(light);
    float reach = 0.5f * filter->width_px;
    int64_t x0 = (int64_t)ceilf(film_px.x - reach - 0.5f);
    int64_t x1 = (int64_t)floorf(film_px.x + reach - 0.5f);
    int64_t y0 = (int64_t)ceilf(film_px.y - reach - 0.5f);
    int64_t y1 = (int64_t)floorf(film_px.y + reach - 0.5f);
    int64_t left = film->x, right = left + (int64_t)film->crop_width;
    int64_t top = film->y, bottom = top + (int64_t)film->crop_height;
    for (int64_t y = y0 > top ? y0 : top; y <= y1 && y < bottom; ++y) {
        float row =
            pixel_filter_value(filter->kind, filter->width_px, film_px.y - ((float)y + 0.5f));
        for (int64_t x = x0 > left ? x0 : left; x <= x1 && x < right; ++x) {
            float weight = row * pixel_filter_value(filter->kind, filter->width_px,
                                                    film_px.x - ((float)x + 0.5f));
            if (weight != 0.0f)
                film_splat(w->shared->film, (uint32_t)x, (uint32_t)y,
                           (const float[3]){rgb.x * weight, rgb.y * weight, rgb.z * weight},
                           is_odd);
        }
    }
}

/* Asks for the memory of the pixel in which a splat lies, if the film has it. */
static void prefetch_pixel(const Wave *w, float2 film_px)
{
    const FilmDesc *film = film_desc(w->shared->film);
    float x = film_px.x - (float)film->x, y = film_px.y - (float)film->y;
    if (x >= 0.0f && y >= 0.0f && x < (float)film->crop_width && y < (float)film->crop_height)
        film_splat_prefetch(w->shared->film, film->x + (uint32_t)x, film->y + (uint32_t)y);
}

void light_paths_splat(Wave *w)
{
    enum { AHEAD = 16 };
    for (uint32_t k = 0; k < w->shadow.count; ++k) {
        if (k + AHEAD < w->shadow.count)
            prefetch_pixel(w, w->light_paths->film_px[k + AHEAD]);
        if (w->shadow.batch.state[k] == SHADOW_CLEAR) {
            const Path *path = &w->paths[w->shadow.lights[k].path];
            splat(w, w->light_paths->film_px[k], w->shadow.lights[k].light,
                  w->pixels[path->sample].sample & 1);
            w->counters.caustics_found +=
                w->light_paths->is_for_caustics && w->light_paths->is_found[k];
        }
    }
}

/* --- scattering ------------------------------------------------------------------------------------ */

/* Sends path i straight on. */
static void pass(Wave *w, uint32_t i, SurfaceLane surface)
{
    Path *path = &w->paths[i];
    LightTrail *trail = &w->light_paths->trails[i];
    ++path->event;
    if (path->event > path->depth + 1 + WAVE_TRANSPARENT_MAX)
        path->flags |= PATH_DEAD;
    trail->from = point_of(surface);
    trail->is_infinite = false;
    ray_batch_pass(&w->rays, &w->hits, i);
}

/* Sends path i along a direction in which it was scattered. */
static void bounce(Wave *w, uint32_t i, SurfaceLane surface, float3 wi)
{
    Path *path = &w->paths[i];
    const SurfacePoint at = point_of(surface);
    ++path->event;
    if (++path->depth >= w->shared->settings->max_depth)
        path->flags |= PATH_DEAD;
    LightTrail *trail = &w->light_paths->trails[i];
    trail->from = at;
    trail->is_infinite = trail->is_dark = false;
    trail->light = LIGHT_EMITTED_BY_NO_SHAPE;
    ray_batch_restart(&w->rays, i, ray_leave(&at, wi), wi);
}

/* Returns the factor on a path's power of a delta, apart from its weight. */
static float delta_ratio(const BsdfDelta *delta, float3 we, float3 wl)
{
    float out = fabsf(f3_dot(we, delta->n)), in = fabsf(f3_dot(wl, delta->n));
    return out > COS_MIN ? delta->eta * delta->eta * in / out : 0.0f;
}

/* Notes that a lobe with a blur scatters a path that looks for caustics: the first caster, or a receiver. pdf: with which scattering
 * draws wl there. */
static void spread(Wave *w, uint32_t i, SurfaceLane surface, float pdf)
{
    LightTrail *trail = &w->light_paths->trails[i];
    if (!is_at_blur(w, i)) {
        trail->is_spread = true;
    } else if (w->paths[i].depth == 0) {
        float3 P = surface_vector(surface, surface.block->P);
        trail->density *=
            caustic_emission_scattered(w->shared->caustic_emission, &trail->departure,
                                       f3_length(f3_sub(trail->departure.place, P)), pdf);
    }
}

/* Scatters the paths of a block along the directions that were drawn for them, whose viewers are there. */
static void scatter_block(Wave *w, const BsdfBlock *block, uint32_t first)
{
    const SurfaceBlock *surfaces = &w->surfaces[first / SSL_BLOCK];
    const LightView *views = w->light_paths->views + first;
    alignas(64) BsdfRow wl[3], f[3] = {{0}}, pdf;
    BsdfDelta deltas[SSL_BLOCK];
    uint16_t passing = 0, singular = 0, live = (uint16_t)((1u << surfaces->count) - 1u);
    WIDE_EACH(k, live)
    {
        uint32_t flags = w->light_paths->drawn[views[k].path].flags;
        bool passes = flags & SSL_LOBE_TRANSPARENT, is_delta = flags & SSL_LOBE_DELTA;
        passing = (uint16_t)(passing | (uint32_t)passes << k);
        singular = (uint16_t)(singular | (uint32_t)(is_delta && !passes) << k);
    }
    directions_back(w, views, surfaces->count, wl);
    uint16_t smooth = live & (uint16_t)~(passing | singular) & bsdf_block_smooth(block);
    if (smooth)
        bsdf_block_eval(block, wl, smooth, f, pdf);
    if (singular)
        (void)bsdf_block_deltas(block, wl, singular, deltas);
    WIDE_EACH(k, live)
    {
        SurfaceLane surface = {surfaces, k};
        uint32_t i = views[k].path;
        const LightScatter *drawn = &w->light_paths->drawn[i];
        Spectrum weight = {{f[0][k], f[1][k], f[2][k]}};
        float3 back = wide_get3(wl, k);
        float ratio = 1.0f;
        if (passing >> k & 1)
            weight = bsdf_point_transparency((BsdfPoint){block, k});
        else
            ratio = cosine_ratio(surface, drawn->wi, back);
        if (singular >> k & 1) {
            weight = deltas[k].weight;
            ratio *= delta_ratio(&deltas[k], drawn->wi, back);
        }
        if (w->light_paths->is_for_caustics && smooth >> k & 1)
            spread(w, i, surface, pdf[k]);
        Path *path = &w->paths[i];
        path->beta = spectrum_scale(spectrum_mul(path->beta, weight), ratio / drawn->pdf);
        bool returns = !w->light_paths->is_for_caustics ||
                       caustic_paths_return(w, block, surface, back, drawn->flags);
        if (!returns || !spectrum_is_finite(path->beta) || spectrum_is_black(path->beta))
            path->flags |= PATH_DEAD;
        else if (passing >> k & 1)
            pass(w, i, surface);
        else
            bounce(w, i, surface, drawn->wi);
    }
}

/* Returns whether a path goes on by a lobe with these SSL_LOBE_*: if it looks for caustics by one of a caster, which lets paths of
 * the camera see the light, and behind casters by any. */
static bool goes_on(const Wave *w, uint32_t i, uint32_t flags)
{
    const Path *path = &w->paths[i];
    const bool is_delta = flags & SSL_LOBE_DELTA;
    if (!w->light_paths->is_for_caustics)
        return flags != 0;
    if (flags == 0 || flags & SSL_LOBE_TRANSPARENT)
        return false;
    const bool is_bent = is_delta || is_at_blur(w, i);
    if (is_bent ? w->light_paths->trails[i].is_spread
                : path->depth > 0 && caustic_paths_light(w, w->hits.shape[i]))
        return has_room(w, i, 1);
    const SceneLightVisibility *visibility = visibility_of(w, i);
    uint32_t ray = flags & SSL_LOBE_TRANSMISSION ? SCENE_RAYS_TRANSMISSION : SCENE_RAYS_GLOSSY;
    bool is_seen = path->depth > 0 || !(visibility->invisible_to & ray);
    return is_bent && is_seen && caustic_paths_cast(w, w->hits.shape[i]) &&
           path->depth < caustic_paths_room(w, 0);
}

/* Scatters the paths of the kernel's run, or ends them. */
static void scatter_chunk(Wave *w, const uint32_t *paths, uint32_t n, uint32_t material)
{
    LightPaths *p = w->light_paths;
    uint32_t count = 0;
    for (uint32_t k = 0; k < n; ++k) {
        const LightScatter *drawn = &p->drawn[paths[k]];
        if (is_scattered(w, paths[k]) && drawn->pdf > 0.0f && goes_on(w, paths[k], drawn->flags))
            p->views[count++] = (LightView){.path = paths[k], .wo = drawn->wi, .distance_m = 1.0f};
        else
            w->paths[paths[k]].flags |= PATH_DEAD;
    }
    run_views(w, count, material, false, scatter_block);
}

/* --- the stage ------------------------------------------------------------------------------------- */

static void shade_chunk(Wave *w, const uint32_t *paths, uint32_t n)
{
    uint32_t material = w->materials[paths[0]];
    bool scatters = false;
    for (uint32_t k = 0; k < n; ++k)
        scatters |= is_scattered(w, paths[k]);
    for (uint32_t first = 0; first < n; first += SSL_BLOCK)
        wave_find_surfaces(w, paths + first, n - first < SSL_BLOCK ? n - first : SSL_BLOCK,
                           material, w->reads.surface[material], &w->surfaces[first / SSL_BLOCK]);
    if (scatters) {
        shade_run(w->shade, material, SSL_KERNEL_SHADE, w->surfaces, n);
        for (uint32_t first = 0; first < n; first += SSL_BLOCK)
            light_paths_draw(w, paths + first, first, material);
    }
    join_chunk(w, paths, n, material);
    scatter_chunk(w, paths, n, material);
}

void light_paths_shade(Wave *w)
{
    uint32_t count = 0, n;
    w->shadow.count = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        if (w->paths[i].flags & PATH_DEAD || !hit_is_mesh(w->hits.shape[i]))
            continue;
        w->materials[i] = hit_material(w->shared->scene, w->hits.shape[i], w->hits.triangle[i]);
        if (is_joined(w, i) || is_scattered(w, i))
            w->members[count++] = i;
        else
            w->paths[i].flags |= PATH_DEAD;
    }
    wave_group(w, count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count)) > 0; begin += n)
        shade_chunk(w, w->order + begin, n);
}
