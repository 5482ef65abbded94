/* Shades the surfaces that rays met: the path integrator's step.
 *
 * The rendering equation [Kajiya1986] at a surface point x, towards the viewer wo,
 *
 *     L(wo) = Le(wo) + integral over wi of f(wo, wi) L(wi) |cos wi|,
 *
 * is estimated along a path whose throughput `beta` is the product of f |cos| / pdf so far. At each surface
 *
 *     emission    sample += beta  w_b  Le                             add_emission
 *     one light   sample += beta  w_l  f(wi) |cos wi| Ll V / p_l      points_sample_lights; V is the shadow ray
 *     one lobe    beta   *= f(wi) |cos wi| / p_b                      scatter, which sends the ray along wi
 *
 * p_l and p_b are the solid-angle densities of light sampling and of the BSDF, and w_l and w_b their weights by the
 * power heuristic, for the environment by the balance heuristic [Veach1997 ch. 9]. w_b is that of the scatter that led here; it is 1 behind the camera and behind
 * delta lobes, which light sampling cannot draw.
 *
 * Emission kernels of meshes and lookups in the sky wait in queues until all paths of the stage are sampled. */
#include "sort/integrator/caustics.h"
#include "sort/integrator/points.h"

#include "sort/sampling/warp.h"
#include "sort/scene/neighbours.h"
#include "sort/shade/footprint_ray.h"
#include <string.h>

_Static_assert((int)SKY_ABOVE == (int)SSL_LOBE_REFLECTION &&
                   (int)SKY_BELOW == (int)SSL_LOBE_TRANSMISSION,
               "sides of lobes are those of the sky");

/* The mean over directions of the density of a cosine lobe, per steradian. */
#define DIFFUSE_PDF (0.5f * SORT_INV_PI)

/* --- first surface ---------------------------------------------------------------------------- */

static void store3(float *at, float3 v)
{
    at[0] = v.x, at[1] = v.y, at[2] = v.z;
}

static void record_ids(const Wave *w, FilmSample *sample, SurfaceLane surface)
{
    const WaveShared *s = w->shared;
    if (s->instance_ids)
        sample->ids[FILM_ID_OBJECT] = s->instance_ids[surface_instance(surface)];
    if (s->material_ids)
        sample->ids[FILM_ID_MATERIAL] = s->material_ids[surface.block->material];
}

_Static_assert((int)BSDF_AOVS_MAX == (int)FILM_SHADER_AOVS_MAX, "slots of Aov are layers");

static void record_shader_aovs(float *aov, BsdfPoint bsdf)
{
    for (uint32_t slot = 0; slot < BSDF_AOVS_MAX; ++slot)
        if (bsdf.block->aov_slots[bsdf.lane] >> slot & 1)
            store3(aov + (size_t)3 * slot,
                   spectrum_to_rgb(bsdf_point_row(bsdf, bsdf.block->aovs[slot])));
}

static void record_distance(const Wave *w, const Path *path, float3 P, BsdfPoint bsdf, float time,
                            bool is_transparent)
{
    float *aov = wave_sample(w, path->sample)->aov;
    float distance = camera_distance(&w->shared->camera, time, P);
    if (path->event == 0 || !is_transparent)
        aov[FILM_AT_DEPTH] = distance;
    if (!film_aovs_have(w->aovs, FILM_AOV_MIST))
        return;
    Spectrum seen =
        spectrum_mul(path->beta, spectrum_sub(spectrum_splat(1.0f), bsdf_point_transparency(bsdf)));
    aov[FILM_AT_MIST] -= spectrum_average(seen) * (1.0f - wave_mist(w, distance));
}

/* Records how the surface moves in the picture: from where the camera saw it in the previous frame, and to where it sees it in the
 * next one. A camera that does not see it there tells nothing of that frame. */
static void record_vector(const Wave *w, float aov[4], SurfaceLane surface, float time)
{
    const WaveShared *s = w->shared;
    const SurfaceBlock *b = surface.block;
    const ScenePlace place = {.instance = surface_instance(surface),
                              .triangle = surface_triangle(surface),
                              .b1 = b->b1[surface.lane],
                              .b2 = b->b2[surface.lane],
                              .P = surface_vector(surface, b->P),
                              .time = time};
    CameraView here = s->camera.key_count > 0 ? camera_view_at(&s->camera, time) : s->camera;
    float2 at, there;
    bool is_seen = camera_project(&here, scene_place_here(s->scene, &place), &at);
    for (uint32_t k = 0; k < 2; ++k, aov += 2) {
        float3 point = scene_place_at(s->scene, &place, (SceneNeighbour)k);
        float sign = k == SCENE_PREVIOUS ? 1.0f : -1.0f;
        aov[0] = aov[1] = 0.0f;
        if (!is_seen || !camera_project(&s->neighbours[k], point, &there))
            continue;
        aov[0] = sign * (there.x - at.x);
        aov[1] = sign * (at.y - there.y);
    }
}

/* Records the AOVs of a surface that the camera sees. It is called for each transparent surface on the way and for the
 * first other one, whose values stay. Depth is that of the first surface of all until one stops the path, so that
 * partly transparent surfaces in front of nothing have a depth too. */
static void record_first_surface(const Wave *w, Path *path, SurfaceLane surface, BsdfPoint bsdf,
                                 uint32_t point, float time, bool is_transparent)
{
    const SurfaceBlock *b = surface.block;
    uint32_t k = surface.lane;
    float *aov = wave_sample(w, path->sample)->aov;
    float3 P = surface_vector(surface, b->P);
    if (w->keeps_aovs)
        record_distance(w, path, P, bsdf, time, is_transparent);
    if (is_transparent)
        return;
    path->flags |= PATH_SEEN;
    if (w->aovs & FILM_SHADER_AOVS)
        record_shader_aovs(aov + FILM_AT_SHADER_AOV_1, bsdf);
    record_ids(w, wave_sample(w, path->sample), surface);
    if (film_aovs_have(w->aovs, FILM_AOV_ALBEDO))
        store3(aov + FILM_AT_ALBEDO, spectrum_to_rgb(bsdf_point_albedo(bsdf)));
    if (film_aovs_have(w->aovs, FILM_AOV_UV))
        aov[FILM_AT_UV] = b->uv[0][k], aov[FILM_AT_UV + 1] = b->uv[1][k];
    if (film_aovs_have(w->aovs, FILM_AOV_DERIVATIVE)) {
        aov[FILM_AT_DERIVATIVE] = f2_length(f2(b->duvdx[0][k], b->duvdx[1][k]));
        aov[FILM_AT_DERIVATIVE + 1] = f2_length(f2(b->duvdy[0][k], b->duvdy[1][k]));
    }
    if (film_aovs_have(w->aovs, FILM_AOV_MIP))
        aov[FILM_AT_MIP] = w->levels->levels[point];
    if (film_aovs_have(w->aovs, FILM_AOV_POSITION))
        store3(aov + FILM_AT_POSITION, P);
    if (film_aovs_have(w->aovs, FILM_AOV_ROUGHNESS))
        aov[FILM_AT_ROUGHNESS] = bsdf_point_roughness(bsdf);
    if (film_aovs_have(w->aovs, FILM_AOV_VECTOR))
        record_vector(w, aov + FILM_AT_VECTOR, surface, time);
    if (film_aovs_have(w->aovs, FILM_AOV_NORMAL)) {
        float3 n = bsdf_point_normal(bsdf);
        store3(aov + FILM_AT_NORMAL, f3_length2(n) > 0.0f ? n : surface_vector(surface, b->N));
    }
}

/* --- scattering ------------------------------------------------------------------------------- */

/* Sets the footprint after a delta lobe; those after others are set for the whole block. */
static void next_footprint(SurfaceLane surface, const BsdfDrawn *drawn, RayDiff *out_diff)
{
    SurfaceHit hit = surface_get(surface);
    BsdfSample sample = bsdf_drawn_at(drawn, surface.lane);
    ASSERT(sample.flags & SSL_LOBE_DELTA);
    if (sample.flags & SSL_LOBE_TRANSMISSION)
        footprint_refract(&hit, sample.n, sample.wi, sample.eta, out_diff);
    else
        footprint_reflect(&hit, sample.n, out_diff);
}

/* Sets the footprints of the paths of `live` that no delta lobe scatters. Those at catchers keep theirs, since wave_catch sends
 * copies of them along their rays. */
static void scatter_footprints(Wave *w, const PointBlock *points, const BsdfDrawn *drawn,
                               uint16_t live)
{
    RayDiff *diffs[SSL_BLOCK];
    for (uint32_t k = 0; k < points->count; ++k) {
        Path *path = &w->paths[points->path[k]];
        diffs[k] = &path->diff;
        if (!(live >> k & 1))
            continue;
        if (drawn->flags[k] &
                (uint32_t)(SSL_LOBE_DELTA | SSL_LOBE_TRANSPARENT | SSL_LOBE_SUBSURFACE) ||
            wave_catches(w, path, (uint32_t)points->surfaces->instance[k]))
            live = (uint16_t)(live & ~(1u << k));
    }
    footprints_scatter(points->surfaces, drawn->wi, drawn->pdf, shade_pixel_scale(w->shade), live,
                       diffs);
}

/* Where rays leave the points of a block, how these are seen from there, and the densities of the rays' directions. */
typedef struct Exit {
    const WideRow *origin; /* [3] */
    const Facing *facing;
    const float *pdf; /* by lane */
} Exit;

/* Adds one, and stays at the largest number. */
static void count_up(uint16_t *count)
{
    *count = (uint16_t)(*count + (*count < UINT16_MAX));
}

static void record_scatter(PathHistory *history, uint32_t flags)
{
    if (flags & SSL_LOBE_TRANSPARENT) {
        count_up(&history->transparent);
        if (flags & SSL_LOBE_PORTAL)
            count_up(&history->portal);
        return;
    }
    bool is_diffuse = flags & SSL_LOBE_DIFFUSE;
    history->is_cone |= !(flags & SSL_LOBE_DELTA);
    history->kind = flags & SSL_LOBE_TRANSMISSION ? RAY_TRANSMISSION : RAY_REFLECTION;
    history->kind |= is_diffuse ? RAY_DIFFUSE : RAY_GLOSSY;
    if (flags & SSL_LOBE_DELTA)
        history->kind |= RAY_SINGULAR;
    count_up(flags & SSL_LOBE_TRANSMISSION ? &history->transmission
             : is_diffuse                  ? &history->diffuse
                                           : &history->glossy);
}

static bool is_at_limit(const WaveShared *s, const PathHistory *history)
{
    const SceneSettings *limit = s->settings;
    return history->diffuse >= limit->max_diffuse || history->glossy >= limit->max_glossy ||
           history->transmission >= limit->max_transmission;
}

/* Counts a scatter in a path's history, and multiplies its throughput. */
static Path *count_scatter(Wave *w, uint32_t i, uint32_t k, const BsdfDrawn *drawn)
{
    Path *path = &w->paths[i];
    ASSERT(drawn->pdf[k] > 0.0f);
    SPECTRUM_EACH(c) path->beta.c[c] *= drawn->weight[c][k];
    ++path->event;
    record_scatter(&path->history, drawn->flags[k]);
    return path;
}

/* Sends the path straight on through a surface. That is no bounce: densities of lights go on referring to the last surface that
 * scattered, and the ray and its footprint stay as they are. */
static void pass_surface(Wave *w, uint32_t i, uint32_t k, const BsdfDrawn *drawn)
{
    Path *path = count_scatter(w, i, k, drawn);
    if (path->event > path->depth + WAVE_TRANSPARENT_MAX ||
        path->history.transparent > w->shared->settings->max_transparent)
        path->flags |= PATH_DEAD;
    ray_batch_pass(&w->rays, &w->hits, i);
}

/* Sends the path on from where a portal leads. Light sampling cannot find what it meets there, as behind a mirror; but it is no
 * bounce. What lies further away than rays go is black. */
static void leave_portal(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf,
                         const BsdfDrawn *drawn)
{
    Path *path = &w->paths[i];
    const SurfaceBlock *b = surface.block;
    const float3 P = surface_vector(surface, b->P), came = ray_batch_get(&w->rays, i).direction;
    const SurfacePoint here = {P, surface_vector(surface, b->Ng), b->error_m[surface.lane]};
    float3 place, along;
    bsdf_point_exit(bsdf, drawn->lobe[surface.lane], &place, &along);
    float most = f3_max_component(f3_abs(along));
    along = most >= FLT_MIN ? f3_normalize(f3_scale(along, 1.0f / most)) : came;
    bool is_here = f3_length(f3_sub(place, P)) <= here.error_m;
    if (w->reads.path_footprints)
        footprint_turn(w->hits.t[i], came, along, &path->diff);
    pass_surface(w, i, surface.lane, drawn);
    bool is_in_reach = f3_max_component(f3_abs(place)) < SCENE_REACH_MAX_M;
    path->flags |= PATH_SPECULAR | (is_in_reach ? 0 : PATH_DEAD);
    path->from = place;
    ray_batch_restart(&w->rays, i, is_here ? ray_leave(&here, along) : place, along);
}

/* Sends the path's ray along the direction in which it was scattered. */
static void bounce(Wave *w, uint32_t i, SurfaceLane surface, const Exit *exit,
                   const BsdfDrawn *drawn)
{
    uint32_t k = surface.lane;
    Path *path = count_scatter(w, i, k, drawn);
    uint32_t flags = path->flags & ~(uint32_t)PATH_SPECULAR;
    ++path->depth;
    if (!w->shared->scene->materials[surface.block->material].keeps_radiance)
        path->eta_scale *= drawn->eta[k] * drawn->eta[k];
    path->pdf = exit->pdf[k];
    path->from = surface_vector(surface, surface.block->P);
    path->from_n = wide_get3(exit->facing->normal, k);
    path->from_set = points_link_set(w, surface);
    path->from_sides = exit->facing->sides[k];
    if (w->reads.gloss)
        path->from_gloss = exit->facing->gloss[k];
    if (drawn->flags[k] & SSL_LOBE_DELTA)
        flags |= PATH_SPECULAR;
    else
        path->history.least_pdf = minf(path->history.least_pdf, drawn->pdf[k]);
    if (path->depth >= w->reads.least_limit &&
        (path->depth >= w->shared->settings->max_depth || is_at_limit(w->shared, &path->history)))
        flags |= PATH_LAST;
    path->flags = flags;
    float3 wi = wide_get3(drawn->wi, k);
    ASSERT(f3_is_unit(wi));
    ray_batch_restart(&w->rays, i, wide_get3(exit->origin, k), wi);
}

/* Enters a translucent body, where the path walks until it leaves by a diffuse bounce (leave_bodies). */
static void enter_body(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf,
                       const BsdfDrawn *drawn)
{
    Path *path = &w->paths[i];
    SurfaceHit hit = surface_get(surface);
    BsdfSample sample = bsdf_drawn_at(drawn, surface.lane);
    path->beta = spectrum_mul(path->beta, sample.weight);
    path->medium = bsdf_point_medium(bsdf, sample.lobe);
    path->body = hit.instance;
    path->walk_steps = 0;
    path->flags |= PATH_INSIDE;
    w->has_walks = true;
    if (w->caustics)
        caustics_enter_body(w, i);
    ++path->event;
    if (w->reads.path_footprints)
        footprint_scatter(&hit, sample.wi, DIFFUSE_PDF, 1.0f, &path->diff);
    /* The walk begins on the surface, which the first flight ignores: free paths may be shorter than the error. */
    float ignored_m = hit.error_m / maxf(fabsf(f3_dot(sample.wi, hit.Ng)), FLT_EPSILON);
    path->walk = (Walk){.out = hit.Ng};
    ray_batch_start(&w->rays, i, hit.P, sample.wi, INFINITY, w->rays.time[i]);
    w->rays.t_min[i] = ignored_m;
}

static void enter_bodies(Wave *w, const PointBlock *points, const BsdfBlock *block,
                         const BsdfDrawn *drawn, uint16_t entering)
{
    uint32_t paths[SSL_BLOCK], count = 0;
    WIDE_EACH(k, entering)
    {
        enter_body(w, points->path[k], (SurfaceLane){points->surfaces, k}, (BsdfPoint){block, k},
                   drawn);
        paths[count++] = points->path[k];
    }
    if (count > 0)
        wave_walk_begin(w, paths, count);
}

/* Records the fraction that lights visible to diffuse bounces only, or to glossy ones only, are weighted by. */
static void record_diffuse_fraction(Path *path, BsdfPoint bsdf, const BsdfDrawn *drawn)
{
    BsdfSample sample = bsdf_drawn_at(drawn, bsdf.lane);
    path->diffuse = spectrum_splat(0.0f);
    if (sample.flags & (uint32_t)(SSL_LOBE_DELTA | SSL_LOBE_TRANSMISSION))
        return;
    Spectrum kinds[BSDF_KINDS];
    bsdf_point_sample_kinds(bsdf, sample.wi, sample.flags, sample.lobe, kinds);
    path->diffuse = kinds[BSDF_KIND_DIFFUSE];
}

/* Draws two pairs of random numbers for each point of `live`: for light sampling, as far as points of `lit` are among them, and
 * for the direction. */
static void draw_pairs(const Wave *w, const PointBlock *points, uint16_t lit, uint16_t live,
                       WideRow out_light[2], WideRow out_bsdf[2])
{
    const SampleKey *keys[SSL_BLOCK];
    uint32_t dimensions[SSL_BLOCK];
    SampleSlot first = lit ? SAMPLE_LIGHT_UV : SAMPLE_BSDF_UV;
    for (uint32_t k = 0; k < points->count; ++k) {
        const Path *path = &w->paths[points->path[k]];
        keys[k] = &path->key;
        dimensions[k] = sample_dimension(path->event, first);
    }
    if (lit)
        sampler_pairs_points(&w->shared->sampler, keys, dimensions,
                             SAMPLE_BSDF_UV - SAMPLE_LIGHT_UV, live, out_light, out_bsdf);
    else
        sampler_2d_points(&w->shared->sampler, keys, dimensions, live, out_bsdf);
}

/* Draws the directions of all points of `live` by the pairs in u. Returns those that have one. guidance: NULL where no field
 * takes part, whose mixtures set out_pdf. */
static uint16_t sample_bsdfs(const Wave *w, const PointBlock *points, const BsdfBlock *block,
                             Guidance *guidance, BsdfRow u[3], uint16_t live, BsdfDrawn *out,
                             WideRow out_pdf)
{
    live &= bsdf_block_scattering(block);
    WIDE_EACH(k, live & bsdf_block_third(block))
    {
        const Path *path = &w->paths[points->path[k]];
        u[2][k] = sampler_1d(&w->shared->sampler, path->key,
                             sample_dimension(path->event, SAMPLE_BSDF_SIDE));
    }
    return guidance ? guidance_sample(w, guidance, block, points->path, u, live, out, out_pdf)
                    : bsdf_block_sample(block, u, live, out);
}

/* Sends the paths of `going` along the directions that were drawn for them. */
static void continue_paths(Wave *w, const PointBlock *points, const BsdfBlock *block,
                           const BsdfDrawn *drawn, const Exit *exit, uint16_t going)
{
    const SurfaceBlock *surfaces = points->surfaces;
    uint16_t passing = going & points_with(drawn->flags, SSL_LOBE_TRANSPARENT);
    uint16_t entering = going & points_with(drawn->flags, SSL_LOBE_SUBSURFACE);
    uint16_t bouncing = going & (uint16_t)~(passing | entering);
    WIDE_EACH(k, w->reads.catchers ? going : 0)
    w->paths[points->path[k]].flags &= ~(uint32_t)PATH_AT_CATCHER;
    enter_bodies(w, points, block, drawn, entering);
    WIDE_EACH(k, w->keeps_diffuse_fraction ? bouncing : 0)
    record_diffuse_fraction(&w->paths[points->path[k]], (BsdfPoint){block, k}, drawn);
    WIDE_EACH(k, w->caustics ? passing | bouncing : 0)
    caustics_follow(w, points->path[k], block, (SurfaceLane){surfaces, k}, drawn);
    uint16_t leaping = passing & points_with(drawn->flags, SSL_LOBE_PORTAL);
    WIDE_EACH(k, passing & ~leaping) pass_surface(w, points->path[k], k, drawn);
    WIDE_EACH(k, leaping)
    leave_portal(w, points->path[k], (SurfaceLane){surfaces, k}, (BsdfPoint){block, k}, drawn);
    WIDE_EACH(k, bouncing) bounce(w, points->path[k], (SurfaceLane){surfaces, k}, exit, drawn);
    if (w->reads.path_footprints)
        WIDE_EACH(k, bouncing & points_with(drawn->flags, SSL_LOBE_DELTA))
    next_footprint((SurfaceLane){surfaces, k}, drawn, &w->paths[points->path[k]].diff);
}

/* Records the surface in the layers of what the camera sees, where it is. drawn: as in scatter. */
static void record_surface(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf,
                           const BsdfDrawn *drawn, uint32_t point, bool is_caught)
{
    Path *path = &w->paths[i];
    BsdfSample sample;
    const BsdfSample *along = NULL; /* a direction in which light is scattered */
    bool is_transparent = drawn && drawn->flags[surface.lane] & SSL_LOBE_TRANSPARENT;
    if (drawn && !is_transparent) {
        sample = bsdf_drawn_at(drawn, surface.lane);
        along = &sample;
    }
    if (!(path->flags & PATH_SEEN)) {
        if (w->path_kinds && !is_caught)
            kinds_record_surface(w, path, bsdf, along);
        if (w->occlusion)
            occlusion_record_surface(w, i, surface, bsdf);
        record_first_surface(w, path, surface, bsdf, point, w->rays.time[i], is_transparent);
    }
    if (w->guides && !is_transparent && !is_caught)
        guides_record_surface(w, i, surface, bsdf, along);
}

/* Returns the points of `live` whose paths meet shadow catchers. */
static uint16_t points_that_catch(const Wave *w, const PointBlock *points, uint16_t live)
{
    uint16_t caught = 0;
    if (w->reads.catchers)
        WIDE_EACH(k, live)
    if (wave_catches(w, &w->paths[points->path[k]], (uint32_t)points->surfaces->instance[k]))
        caught = (uint16_t)(caught | 1u << k);
    return caught;
}

/* Records the surfaces of `live` that the camera sees, and continues their paths along the directions that were drawn for those
 * of has_direction, or ends them. first: index of the block's first surface in the kernel's run. */
static void follow(Wave *w, const PointBlock *points, const BsdfBlock *block,
                   const BsdfDrawn *drawn, uint16_t has_direction, const Exit *exit, uint16_t live,
                   uint32_t first)
{
    const SurfaceBlock *surfaces = points->surfaces;
    uint16_t passing = has_direction & points_with(drawn->flags, SSL_LOBE_TRANSPARENT);
    uint16_t caught = points_that_catch(w, points, live);
    uint16_t unseen = live & (uint16_t)~points_with(points->flags, PATH_SEEN);
    if (w->lamp_shadows)
        points_sample_lamps(w, points, block, exit->facing, unseen);
    WIDE_EACH(k, caught)
    wave_catch(w, points->path[k], (BsdfPoint){block, k}, passing >> k & 1);
    WIDE_EACH(k, w->guides ? live : w->reads.records ? unseen : 0)
    record_surface(w, points->path[k], (SurfaceLane){surfaces, k}, (BsdfPoint){block, k},
                   has_direction >> k & 1 ? drawn : NULL, first + k, caught >> k & 1);
    WIDE_EACH(k, w->reads.records ? 0 : unseen & ~passing)
    w->paths[points->path[k]].flags |= PATH_SEEN;
    if (!wave_gathers_light(w->shared)) {
        WIDE_EACH(k, live & ~passing)
        wave_show(w, points->path[k], (SurfaceLane){surfaces, k}, first + k);
        live &= passing;
    }
    /* A path that was spawned at a catcher does not pass it: the path that spawned it does. */
    uint16_t stopped = (uint16_t)((passing & points_with(points->flags, PATH_AT_CATCHER)) |
                                  (~passing & (caught | points_with(points->flags, PATH_LAST))));
    uint16_t going = live & has_direction & (uint16_t)~stopped;
    WIDE_EACH(k, live & ~going) w->paths[points->path[k]].flags |= PATH_DEAD;
    continue_paths(w, points, block, drawn, exit, going);
}

/* --- the stage -------------------------------------------------------------------------------- */

/* Adds the emission of the surface, weighted against light sampling. A surface that light sampling may find too is
 * evaluated anew with the footprint that light sampling would use, so that both strategies see the same radiance. So is
 * a surface that a path meets by a delta lobe after a wider scatter, whose own footprint would blur caustics. */
static void add_emission(Wave *w, uint32_t i, SurfaceLane surface, Spectrum emission)
{
    const Path *path = &w->paths[i];
    const SurfaceBlock *b = surface.block;
    const SceneInstance *instance = &w->shared->scene->instances[surface_instance(surface)];
    const SceneLightVisibility *visibility = &instance->light_visibility;
    if (spectrum_is_black(emission) || visibility->is_sampled_only)
        return;
    /* Transparent surfaces may lie between here and the last scatter, which densities refer to. */
    float distance = f3_length(f3_sub(surface_vector(surface, b->P), path->from));
    float pdf = 0.0f;
    if (!(path->flags & PATH_SPECULAR)) {
        const MeshLightHit met = {surface_instance(surface),     surface_triangle(surface),
                                  b->b1[surface.lane],           b->b2[surface.lane],
                                  surface_vector(surface, b->I), distance};
        const LightQuery from = {path->from, path->from_n, path->from_sides, path->from_gloss};
        pdf = lights_mesh_pdf(w->shared->lights, &from, w->rays.time[i], &met);
    }
    float mis_weight =
        wave_path_mis_weight(w->shared, path, pdf, pdf > 0.0f ? visibility : NULL, false);
    Spectrum factor = spectrum_scale(path->beta, mis_weight);
    factor = spectrum_mul(factor, wave_visible_fraction(path, visibility));
    if (w->caustics)
        factor = spectrum_scale(factor, caustics_weight_of_mesh(w, i, surface));
    bool is_caustic = path->flags & PATH_SPECULAR && !isinf(path->history.least_pdf);
    if (pdf == 0.0f && !is_caustic)
        wave_add_met(w, path, spectrum_mul(factor, emission), instance->light_group, visibility,
                     FILM_AT_EMISSION);
    else if (!spectrum_is_black(factor))
        wave_meet_mesh(w, i, surface, factor, distance, pdf);
}

/* Takes a holdout that the camera sees out of the picture's alpha. */
static void cut_holdout(Wave *w, const Path *path, BsdfPoint bsdf)
{
    if (!(path->flags & PATH_SEEN) && !spectrum_is_black(bsdf_point_holdout(bsdf)))
        wave_sample(w, path->sample)->alpha -=
            spectrum_average(spectrum_mul(path->beta, bsdf_point_holdout(bsdf)));
}

float wave_least_alpha(const WaveShared *s, const Path *path)
{
    if (!(path->history.least_pdf < s->settings->filter_glossy))
        return 0.0f;
    return 0.5f * sqrtf(1.0f - path->history.least_pdf / s->settings->filter_glossy);
}

/* Returns whether the path takes light at the surface of a lane. */
static bool gathers_light(const Wave *w, const PointBlock *points, uint32_t k)
{
    return wave_gathers_light(w->shared) &&
           !(w->reads.catchers &&
             wave_catches(w, &w->paths[points->path[k]], (uint32_t)points->surfaces->instance[k]));
}

/* Takes objects that are holes in the picture out of it, where the camera sees them. Returns whether the path ends. */
static bool ends_at_hole(Wave *w, uint32_t i, uint32_t instance)
{
    Path *path = &w->paths[i];
    if (path->flags & PATH_SEEN || !w->shared->scene->instances[instance].is_holdout)
        return false;
    wave_sample(w, path->sample)->alpha -= spectrum_average(path->beta);
    path->flags |= PATH_DEAD;
    return true;
}

/* Begins a block of `count` <= SSL_BLOCK paths. */
static PointBlock begin_points(const Wave *w, const SurfaceBlock *surfaces, const uint32_t *paths,
                               uint32_t count)
{
    PointBlock points = {.surfaces = surfaces, .path = paths, .count = count};
    for (uint32_t k = 0; k < count; ++k)
        points.flags[k] = w->paths[paths[k]].flags;
    return points;
}

/* Counts the points of `live` whose closures had a fault. */
static void count_bsdf_faults(Wave *w, const BsdfBlock *block, uint16_t live)
{
    uint32_t any = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        any |= block->faults[k];
    if (SORT_LIKELY(any == 0))
        return;
    WIDE_EACH(k, live) w->counters.bsdf_faults += block->faults[k] != 0;
}

/* Adds what the surfaces of `live` emit. last: points whose paths are PATH_LAST. Returns the points whose paths go on. */
static uint16_t meet_surfaces(Wave *w, const PointBlock *points, const BsdfBlock *block,
                              uint16_t last, uint16_t live)
{
    uint16_t ends = live & last;
    uint16_t has_hole = block->has_holdout ? live & wide_nonzero3(block->holdout) : 0;
    uint16_t shines = block->has_emission ? live & wide_nonzero3(block->emission) : 0;
    count_bsdf_faults(w, block, live);
    WIDE_EACH(k, has_hole) cut_holdout(w, &w->paths[points->path[k]], (BsdfPoint){block, k});
    WIDE_EACH(k, shines)
    if (gathers_light(w, points, k))
        add_emission(w, points->path[k], (SurfaceLane){points->surfaces, k},
                     bsdf_point_emission((BsdfPoint){block, k}));
    if (block->has_transparency)
        ends = ends & (uint16_t)~wide_nonzero3(block->transparency);
    WIDE_EACH(k, ends) w->paths[points->path[k]].flags |= PATH_DEAD;
    return live & (uint16_t)~ends;
}

/* Returns the points of `lit` whose paths sample lights. */
static uint16_t points_to_light(const Wave *w, const PointBlock *points, uint16_t lit)
{
    for (uint32_t k = 0; k < points->count && w->reads.catchers; ++k)
        if (lit >> k & 1 && !gathers_light(w, points, k))
            lit = (uint16_t)(lit & ~(1u << k));
    return wave_gathers_light(w->shared) ? lit : 0;
}

/* A block of surfaces between the steps in which they are shaded. */
typedef struct Shading {
    PointBlock points;
    const BsdfBlock *block;
    Facing facing;
    Guidance guidance;
    alignas(64) BsdfRow u_light[2], u[3];
    uint16_t live, lit; /* the points that scatter, and those that sample lights */
    uint32_t first;     /* index of the block's first surface in the kernel's run */
} Shading;

/* Returns what the field knows of the block; NULL where no field takes part. */
static Guidance *guidance_of(const Wave *w, Shading *s)
{
    return w->shared->guide ? &s->guidance : NULL;
}

/* Finds the blurred reflection of each point. Returns whether there is one. */
static bool find_gloss(const BsdfBlock *block, LightGloss out_gloss[SSL_BLOCK])
{
    BsdfGloss gloss;
    uint16_t found = bsdf_block_gloss(block, &gloss);
    memset(out_gloss, 0, SSL_BLOCK * sizeof *out_gloss);
    WIDE_EACH(k, found)
    out_gloss[k] = light_gloss(wide_get3(gloss.mirror, k), gloss.alpha[k], gloss.share[k]);
    return found != 0;
}

/* Prepares what light sampling and scattering ask of the points of `live`. lit: those that sample lights, as far as they are
 * among them. */
static void prepare_points(const Wave *w, Shading *s, const BsdfBlock *block, uint16_t lit,
                           uint16_t live)
{
    const SurfaceBlock *surfaces = s->points.surfaces;
    s->block = block;
    s->live = live;
    s->lit = lit & live;
    memset(s->u, 0, sizeof s->u);
    bsdf_block_facing(block, surfaces->N, s->facing.normal);
    bsdf_block_sides(block, s->facing.sides);
    s->facing.has_gloss = w->reads.gloss && find_gloss(block, s->facing.gloss);
    if (w->shared->guide)
        guidance_find(w, surfaces, s->facing.normal, block, live, &s->guidance);
    draw_pairs(w, &s->points, s->lit, live, s->u_light, s->u);
}

/* Samples a light for each point that is to. */
static void light_points(Wave *w, Shading *s)
{
    points_sample_lights(w, &s->points, s->block, &s->facing, guidance_of(w, s), s->u_light,
                         s->lit);
}

/* Samples a direction for each point, and sends its path there. */
static void scatter_points(Wave *w, Shading *s)
{
    BsdfDrawn drawn;
    WideRow mixed;
    RayRows out;
    Guidance *guidance = guidance_of(w, s);
    const PointBlock *points = &s->points;
    const Exit exit = {
        .origin = out.origin, .facing = &s->facing, .pdf = guidance ? mixed : drawn.pdf};
    uint16_t has_direction =
        sample_bsdfs(w, points, s->block, guidance, s->u, s->live, &drawn, mixed);
    surfaces_leave_along(points->surfaces, drawn.wi, &out);
    ray_leave_run(&out, has_direction);
    if (w->reads.path_footprints)
        scatter_footprints(w, points, &drawn, has_direction);
    follow(w, points, s->block, &drawn, has_direction, &exit, s->live, s->first);
    WIDE_EACH(k, w->lessons ? has_direction : 0)
    {
        BsdfSample sample = bsdf_drawn_at(&drawn, k);
        lessons_add_vertex(w, points->path[k], (SurfaceLane){points->surfaces, k}, &sample,
                           guidance);
    }
}

/* Begins to shade the surfaces [first, first + SSL_BLOCK) of the kernel's run: adds what they emit, and prepares the rest. */
static void begin_shading(Wave *w, const SurfaceBlock *surfaces, const uint32_t *paths,
                          uint32_t first, Shading *out)
{
    const PointBlock *points = &out->points;
    out->points = begin_points(w, surfaces, paths, surfaces->count);
    out->first = first;
    alignas(64) BsdfRow blur = {0};
    uint16_t live = (uint16_t)((1u << points->count) - 1u);
    uint16_t last = points_with(points->flags, PATH_LAST);
    for (uint32_t k = 0; k < points->count && w->shared->settings->filter_glossy > 0.0f; ++k) {
        uint32_t i = points->path[k], instance = (uint32_t)points->surfaces->instance[k];
        bool is_bent = w->caustics && caustics_is_bent(w, i, instance);
        blur[k] = is_bent ? 0.0f : wave_least_alpha(w->shared, &w->paths[i]);
    }
    for (uint32_t k = 0; k < points->count && w->reads.holdouts; ++k)
        if (ends_at_hole(w, points->path[k], (uint32_t)points->surfaces->instance[k]))
            live = (uint16_t)(live & ~(1u << k));
    const BsdfBlock *block = shade_block(w->shade, first, blur);
    live = meet_surfaces(w, points, block, last, live);
    prepare_points(w, out, block, points_to_light(w, points, live & (uint16_t)~last), live);
}

/* Shades the surfaces that n paths met, of the kernel's run. Each step passes over a few blocks before the next one begins,
 * since all of them together are more code than a core's first cache holds. */
static void shade_points(Wave *w, const uint32_t *paths, uint32_t n)
{
    Shading blocks[SHADE_BLOCKS];
    for (uint32_t first = 0; first < n;) {
        uint32_t count = 0;
        for (; count < SHADE_BLOCKS && first < n; ++count, first += SSL_BLOCK)
            begin_shading(w, &w->surfaces[first / SSL_BLOCK], paths + first, first, &blocks[count]);
        for (uint32_t b = 0; b < count; ++b)
            light_points(w, &blocks[b]);
        for (uint32_t b = 0; b < count; ++b)
            scatter_points(w, &blocks[b]);
    }
}

/* --- finding surfaces --------------------------------------------------------------------------- */

/* Prefetches the vertices that hits a few places further on will read. */
static void prefetch_hits(const Wave *w, uint32_t at, uint32_t end)
{
    enum { INDICES_AHEAD = 12, VERTICES_AHEAD = 6 };
    const HitBatch *hits = &w->hits;
    if (at + INDICES_AHEAD < end) {
        uint32_t far = w->order[at + INDICES_AHEAD];
        hit_prefetch_indices(w->shared->scene, hits->shape[far], hits->triangle[far]);
    }
    if (at + VERTICES_AHEAD < end) {
        uint32_t near = w->order[at + VERTICES_AHEAD];
        hit_prefetch_vertices(w->shared->scene, hits->shape[near], hits->triangle[near]);
    }
}

void wave_find_surfaces(const Wave *w, const uint32_t *paths, uint32_t count, uint32_t material,
                        uint32_t parts, SurfaceBlock *out)
{
    HitRays rays;
    wave_load_hits(&w->rays, &w->hits, paths, count, out);
    if (w->reads.curves || w->reads.time)
        wave_load_rays(&w->rays, paths, count, &rays);
    else
        memset(rays.time, 0, sizeof rays.time);
    out->material = material;
    for (uint32_t k = 0; k < count; ++k) {
        const Path *path = &w->paths[paths[k]];
        rays.diff[k] = &path->diff;
        out->depth[k] = (int32_t)path->depth;
        out->draw[k] = wave_draw(path, 0);
        out->history[k] = path->history;
    }
    hit_surfaces(w->shared->scene, &rays, parts, out);
}

/* Leaves the bodies that paths have walked through, by a diffuse lobe on the outside, whatever the surface's own closures
 * are. Seen from outside this ends one reflection by the body, so the lobe reflects. */
static void leave_bodies(Wave *w, const uint32_t *paths, uint32_t count)
{
    uint16_t all = (uint16_t)((1u << count) - 1u);
    for (uint32_t k = 0; k < count; ++k)
        w->paths[paths[k]].flags &= ~(uint32_t)PATH_LEAVING;
    Shading leaving = {.points = begin_points(w, w->surfaces, paths, count)};
    wave_find_surfaces(w, paths, count, w->materials[paths[0]],
                       HIT_NORMAL | (w->reads.path_footprints ? HIT_FOOTPRINT : 0), w->surfaces);
    prepare_points(w, &leaving, shade_white(w->shade, w->surfaces), all, all);
    light_points(w, &leaving);
    scatter_points(w, &leaving);
}

/* Ends paths at surfaces that only add a known emission, without their kernel. */
static void end_at_glow(Wave *w, const uint32_t *paths, uint32_t count)
{
    const ShadeGlow *glow = &w->shared->glows[w->materials[paths[0]]];
    ASSERT(glow->is_constant);
    wave_find_surfaces(w, paths, count, w->materials[paths[0]], 0, w->surfaces);
    for (uint32_t k = 0; k < count; ++k) {
        bool is_back = w->surfaces->is_backfacing[k] != 0;
        add_emission(w, paths[k], (SurfaceLane){w->surfaces, k},
                     is_back ? glow->back : glow->front);
        w->paths[paths[k]].flags |= PATH_DEAD;
    }
}

/* Returns what happens to path i, whose material it notes. */
static WaveMeeting meet(const Wave *w, uint32_t i)
{
    const Path *path = &w->paths[i];
    if (path->flags & (PATH_DEAD | PATH_INSIDE) || !hit_is_mesh(w->hits.shape[i]))
        return MEET_NOTHING;
    uint32_t material = hit_material(w->shared->scene, w->hits.shape[i], w->hits.triangle[i]);
    w->materials[i] = material;
    if (path->flags & PATH_LEAVING)
        return MEET_AND_LEAVE_BODY;
    /* Nothing is recorded of what the path meets after the first surface. */
    bool only_glows = path->flags & PATH_SEEN && w->shared->glows[material].is_all;
    return only_glows ? MEET_AND_GLOW : MEET_AND_SHADE;
}

/* Groups the paths with this meeting by material into w->order. Returns their number. */
static uint32_t group_paths(Wave *w, WaveMeeting meeting)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->count; ++i) { /* no branch: meetings are as good as random */
        w->members[count] = i;
        count += w->meetings[i] == (uint8_t)meeting;
    }
    wave_group(w, count);
    return count;
}

/* Runs a function on the paths with this meeting, in blocks of one material. */
static void for_blocks(Wave *w, WaveMeeting meeting,
                       void (*run)(Wave *w, const uint32_t *paths, uint32_t count))
{
    uint32_t count = group_paths(w, meeting), n;
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count)) > 0; begin += n)
        for (uint32_t k = 0; k < n; k += SSL_BLOCK)
            run(w, w->order + begin + k, n - k < SSL_BLOCK ? n - k : SSL_BLOCK);
}

/* --- the stage ---------------------------------------------------------------------------------- */

/* Shades the surfaces that w->order[begin, begin + n) met, which have one material. end: of the order. */
static void shade_chunk(Wave *w, uint32_t begin, uint32_t n, uint32_t end)
{
    const uint32_t *paths = w->order + begin;
    uint32_t material = w->materials[paths[0]];
    bool has_first = false, asks = w->levels || w->reads.first_surface;
    for (uint32_t k = 0; asks && !has_first && k < n; ++k)
        has_first = !(w->paths[paths[k]].flags & PATH_SEEN);
    uint32_t parts = w->reads.surface[material] | (has_first ? w->reads.first_surface : 0);
    for (uint32_t first = 0; first < n; first += SSL_BLOCK) {
        uint32_t count = n - first < SSL_BLOCK ? n - first : SSL_BLOCK;
        for (uint32_t k = 0; k < count && w->reads.far_vertices; ++k)
            prefetch_hits(w, begin + first + k, end);
        wave_find_surfaces(w, paths + first, count, material, parts,
                           &w->surfaces[first / SSL_BLOCK]);
    }
    bool is_watched = w->levels && has_first;
    if (is_watched)
        level_watch_begin(w->levels);
    shade_run(w->shade, material, SSL_KERNEL_SHADE, w->surfaces, n);
    shade_points(w, paths, n);
    if (is_watched)
        level_watch_end(w->levels);
}

void stage_surface(Wave *w)
{
    uint32_t counts[MEET_COUNT] = {0}, n;
    w->shadow.count = 0;
    if (w->occlusion)
        w->occlusion->count = 0;
    if (w->lamp_shadows)
        w->lamp_shadows->count = 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        WaveMeeting meeting = meet(w, i);
        w->meetings[i] = (uint8_t)meeting;
        ++counts[meeting];
    }
    if (counts[MEET_AND_GLOW] > 0)
        for_blocks(w, MEET_AND_GLOW, end_at_glow);
    if (counts[MEET_AND_LEAVE_BODY] > 0)
        for_blocks(w, MEET_AND_LEAVE_BODY, leave_bodies);
    uint32_t count = group_paths(w, MEET_AND_SHADE);
    ASSERT(count <= w->count);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, count)) > 0; begin += n)
        shade_chunk(w, begin, n, count);
    wave_evaluate_meshes(w);
    wave_evaluate_sky(w);
}
