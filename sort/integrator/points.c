/* Light sampling at the surfaces of a block: each draws one light, and a shadow ray carries what it brings. */
#include "sort/integrator/points.h"

#include "sort/integrator/caustics.h"
#include "sort/shade/footprint_ray.h"
#include <string.h>

/* --- drawing ------------------------------------------------------------------------------------- */

/* Returns whether the light shines on this path: PATH_ALONE sees no meshes but catchers and lamps. */
static bool is_lit_by(const Wave *w, const Path *path, const LightRows *lights, uint32_t lane)
{
    if (!(path->flags & PATH_ALONE) || lights->value[lane] != LIGHT_VALUE_MESH)
        return true;
    const SceneInstance *instance = &w->shared->scene->instances[lights->instance[lane]];
    return instance->is_shadow_catcher || instance->is_lamp;
}

/* Returns whether the light that was drawn for the path may shine on the surface where it is. */
static bool may_shine(const Wave *w, uint32_t i, SurfaceLane surface, const LightRows *lights)
{
    const Path *path = &w->paths[i];
    uint32_t k = surface.lane;
    return wave_light_reaches(lights->visibility[k], path->depth, points_link_set(w, surface)) &&
           is_lit_by(w, path, lights, k);
}

/* lights_sample_points, or lights_sample_lamps. */
typedef uint16_t LightsDraw(const Lights *lights, const LightQueries *queries, uint16_t live,
                            LightRows *out_rows);

/* Draws one light, and a direction to it, for each point of `live`. Returns those to which light may come. */
static uint16_t draw_lights(const Wave *w, LightsDraw *draw, const PointBlock *points,
                            const Facing *facing, const WideRow u[2], uint16_t live,
                            LightRows *lights)
{
    alignas(64) WideRow time = {0};
    for (uint32_t k = 0; k < points->count && w->reads.time; ++k)
        time[k] = w->rays.time[points->path[k]];
    const LightQueries queries = {.position = points->surfaces->P,
                                  .normal = facing->normal,
                                  .sides = facing->sides,
                                  .gloss = facing->has_gloss ? facing->gloss : NULL,
                                  .time = time,
                                  .u = u};
    uint16_t drawn = draw(w->shared->lights, &queries, live, lights);
    WIDE_EACH(k, w->reads.special_lights || w->reads.catchers ? drawn : 0)
    if (!may_shine(w, points->path[k], (SurfaceLane){points->surfaces, k}, lights))
        drawn = (uint16_t)(drawn & ~(1u << k));
    return drawn;
}

/* Takes the radiance of a place of the sky from the table where the lobes of the point cannot tell more. */
static void know_sky(const Wave *w, LightRows *lights, uint32_t k, float lobe_pdf)
{
    Spectrum radiance;
    if (lights->value[k] != LIGHT_VALUE_ENVIRONMENT ||
        !lights_know_sky(w->shared->lights, &lights->place[k], lobe_pdf, &radiance))
        return;
    SPECTRUM_EACH(c) lights->radiance[c][k] = radiance.c[c];
    lights->value[k] = LIGHT_VALUE_KNOWN;
}

/* --- weighing ------------------------------------------------------------------------------------ */

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

/* Leaves in f what reaches the lights' visible kinds of bounces. */
static void hide_kinds(const BsdfBlock *block, const LightRows *lights, uint16_t drawn,
                       BsdfRow f[3])
{
    WIDE_EACH(k, drawn)
    {
        Spectrum part =
            visible_f((BsdfPoint){block, k}, wide_get3(lights->wi, k),
                      lights->visibility[k]->invisible_to, (Spectrum){{f[0][k], f[1][k], f[2][k]}});
        SPECTRUM_EACH(c) f[c][k] = part.c[c];
    }
}

/* Sets the weights of light samples whose directions BSDF sampling draws with the densities bsdf_pdf per solid angle. */
static void weigh_samples(const Wave *w, const LightRows *lights, const BsdfRow bsdf_pdf,
                          uint16_t drawn, WideRow out_weight)
{
    WaveStrategy strategy = w->shared->strategy;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float ratio = bsdf_pdf[k] / lights->pdf[k];
        float rival = lights->is_environment[k] ? ratio : ratio * ratio;
        float weight = isinf(lights->pdf[k]) ? 1.0f : 1.0f / (1.0f + rival);
        weight = strategy == WAVE_STRATEGY_MIS ? weight : 0.0f;
        bool is_alone = lights->is_delta[k] | (strategy == WAVE_STRATEGY_LIGHTS);
        out_weight[k] = is_alone ? 1.0f : weight;
    }
    WIDE_EACH(k, w->reads.special_lights ? drawn : 0)
    {
        const SceneLightVisibility *visibility = lights->visibility[k];
        ASSERT(lights->pdf[k] > 0.0f && bsdf_pdf[k] >= 0.0f);
        if (visibility->is_shadowless | (visibility->open_sets != 0) | visibility->is_sampled_only)
            out_weight[k] = 1.0f;
    }
}

/* Sets by what the radiance of each light is multiplied apart from throughput and BSDF: weight over density. f: BSDF times
 * cosine. Returns the points to which light can contribute. */
static uint16_t weigh_lights(const Wave *w, const LightRows *lights, const BsdfRow f[3],
                             const BsdfRow bsdf_pdf, uint16_t drawn, WideRow out_scale)
{
    alignas(64) WideRow weight;
    weigh_samples(w, lights, bsdf_pdf, drawn, weight);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out_scale[k] = weight[k] / lights->pdf[k];
    return drawn & wide_nonzero3(f) & wide_positive(weight);
}

/* Sets which parts of the light that comes to casters paths of light leave, and leaves the others to them. pdf: with which scattering
 * draws its direction, without guiding. */
static void share_caustics(const Wave *w, const PointBlock *points, const BsdfBlock *block,
                           const LightRows *lights, const BsdfRow pdf, uint16_t drawn,
                           WideRow scale, WideRow out_part)
{
    WIDE_EACH(k, drawn)
    {
        SurfaceLane surface = {points->surfaces, k};
        out_part[k] = caustics_weight_of_sample(w, points->path[k], block, surface, lights, pdf[k]);
        scale[k] *= out_part[k];
    }
}

/* --- shadow rays ----------------------------------------------------------------------------------- */

/* Aims shadow rays of `live` at the ends of the lights; lights at infinity have none. */
static void aim_shadow_rays(const SurfaceBlock *surfaces, const LightRows *lights, uint16_t live,
                            RayRows *out)
{
    surfaces_leave_along(surfaces, lights->wi, out);
    memcpy(out->distance_m, lights->distance_m, sizeof out->distance_m);
    memcpy(out->end, lights->end, sizeof out->end);
    memcpy(out->end_n, lights->end_n, sizeof out->end_n);
    memcpy(out->end_error_m, lights->end_error_m, sizeof out->end_error_m);
    ray_aim_run(out, live);
}

/* Sets what only some scenes ask of the path's ray in a queue, which was started. */
static void tell_ray(const Wave *w, ShadowQueue *queue, uint32_t i, uint32_t shadow,
                     SurfaceLane surface, const LightRows *lights)
{
    uint32_t k = surface.lane;
    /* The rays to a delta light meet in a point or are parallel, so their cone has no width. */
    if (w->reads.shadow_footprints) {
        SurfaceHit hit = surface_get(surface);
        footprint_cone(wide_get3(lights->wi, k), footprint_width(&hit),
                       lights->is_delta[k] ? INFINITY : lights->pdf[k], &queue->diffs[shadow]);
    }
    if (w->reads.special_lights) {
        if (lights->visibility[k]->is_shadowless)
            queue->batch.rays.t_max[shadow] = -1.0f; /* an empty segment is clear */
        queue->batch.open_sets[shadow] = lights->visibility[k]->open_sets;
    }
    if (w->reads.catchers)
        queue->batch.is_alone[shadow] = w->paths[i].flags & PATH_ALONE;
    if (w->reads.time)
        queue->batch.rays.time[shadow] = w->rays.time[i];
}

/* Does so for a ray that brings light to the picture, and sets what else is asked of that. */
static void tell_shadow_ray(Wave *w, uint32_t i, uint32_t shadow, SurfaceLane surface,
                            BsdfPoint bsdf, const LightRows *lights)
{
    uint32_t k = surface.lane;
    if (w->path_kinds)
        w->light_kinds[shadow] = kinds_of_light(w, &w->paths[i], bsdf, wide_get3(lights->wi, k),
                                                lights->visibility[k]->invisible_to);
    tell_ray(w, &w->shadow, i, shadow, surface, lights);
    if (w->shadow.sight)
        w->shadow.sight[shadow] = lights_sight_index(w->shared->lights, lights, k);
}

/* Returns whether tell_shadow_ray has something to set. */
static bool has_to_tell(const Wave *w)
{
    return w->path_kinds || w->reads.shadow_footprints || w->reads.special_lights ||
           w->reads.catchers || w->reads.time || w->shadow.sight;
}

/* Returns `factor` times the light's radiance for path i. Radiance that takes a kernel or a lookup is queued, and multiplied in
 * later. */
SORT_ALWAYS_INLINE Spectrum light_of(Wave *w, uint32_t i, uint32_t shadow, SurfaceLane surface,
                                     const LightRows *lights, Spectrum factor)
{
    uint32_t k = surface.lane;
    switch (lights->value[k]) {
    case LIGHT_VALUE_KNOWN:
        return spectrum_mul(factor, light_radiance(lights, k));
    case LIGHT_VALUE_ENVIRONMENT: {
        EnvironmentFootprint cell = lights_environment_cell(w->shared->lights, lights->place[k].uv);
        wave_queue_sky(w, &(SkyLight){.path = i, .shadow = shadow, .factor = factor}, &cell);
        return factor;
    }
    case LIGHT_VALUE_MESH:
        break;
    }
    const ShadeGlow *glow = &w->shared->glows[lights->material[k]];
    if (glow->is_constant)
        return spectrum_mul(factor, lights->is_backfacing[k] ? glow->back : glow->front);
    wave_send_to_mesh(w, shadow, surface, lights, factor);
    return factor;
}

/* Sends a shadow ray that carries `factor` times the light's radiance. Returns its place. */
SORT_ALWAYS_INLINE uint32_t send_shadow_ray(Wave *w, uint32_t i, SurfaceLane surface,
                                            const LightRows *lights, const RayRows *aim,
                                            Spectrum factor)
{
    uint32_t k = surface.lane;
    uint32_t shadow = shadow_queue_add(w, &w->shadow, i, surface_depth(surface) + 1);
    Spectrum light = light_of(w, i, shadow, surface, lights, factor);
    ray_batch_aim(&w->shadow.batch.rays, shadow, wide_get3(aim->origin, k),
                  wide_get3(aim->direction, k), aim->t_max[k]);
    shadow_queue_set_light(&w->shadow, shadow, light, lights->light_group[k]);
    return shadow;
}

/* --- all of it ------------------------------------------------------------------------------------- */

void points_sample_lights(Wave *w, const PointBlock *points, const BsdfBlock *block,
                          const Facing *facing, const Guidance *guidance, const WideRow u[2],
                          uint16_t live)
{
    LightRows lights;
    alignas(64) BsdfRow f[3], own_pdf, pdf, scale, part;
    RayRows aim;
    uint16_t smooth = live & bsdf_block_smooth(block);
    uint16_t drawn =
        smooth ? draw_lights(w, lights_sample_points, points, facing, u, smooth, &lights) : 0;
    if (drawn == 0)
        return;
    bsdf_block_eval(block, lights.wi, drawn, f, pdf);
    if (w->shadow.parts)
        memcpy(own_pdf, pdf, sizeof own_pdf);
    if (guidance)
        guidance_mix(w, guidance, lights.wi, drawn, pdf);
    if (w->reads.curves)
        WIDE_EACH(k, drawn)
    wave_find_end(w, points->path[k], wide_get3(points->surfaces->P, k), &lights, k);
    aim_shadow_rays(points->surfaces, &lights, drawn, &aim);
    if (w->keeps_diffuse_fraction)
        hide_kinds(block, &lights, drawn, f);
    drawn = weigh_lights(w, &lights, f, pdf, drawn, scale);
    if (w->shadow.parts)
        share_caustics(w, points, block, &lights, own_pdf, drawn, scale, part);
    uint32_t first = w->shadow.count;
    bool tells = has_to_tell(w);
    WIDE_EACH(k, drawn)
    {
        uint32_t i = points->path[k];
        SurfaceLane surface = {points->surfaces, k};
        Spectrum factor = w->paths[i].beta;
        SPECTRUM_EACH(c) factor.c[c] = factor.c[c] * f[c][k] * scale[k];
        know_sky(w, &lights, k, pdf[k]);
        uint32_t shadow = send_shadow_ray(w, i, surface, &lights, &aim, factor);
        if (w->shadow.parts)
            w->shadow.parts[shadow] = part[k];
        if (tells)
            tell_shadow_ray(w, i, shadow, surface, (BsdfPoint){block, k}, &lights);
    }
    ray_batch_begin(&w->shadow.batch.rays, first, w->shadow.count - first);
}

/* --- shadows alone --------------------------------------------------------------------------------- */

/* Returns whether a point scatters light that comes along wi: on its bright side, or around a fibre. What enters a body counts as
 * scattered where it enters. */
static bool takes_light(const BsdfBlock *block, const SurfaceBlock *surfaces, const Facing *facing,
                        uint32_t k, float3 wi)
{
    const uint32_t smooth = SSL_LOBE_DIFFUSE | SSL_LOBE_GLOSSY;
    bool is_body = block->flags[k] & SSL_LOBE_SUBSURFACE, is_smooth = block->flags[k] & smooth;
    if (is_smooth && facing->sides[k] == SKY_ALL_AROUND)
        return true;
    uint32_t sides = (is_smooth ? facing->sides[k] : 0) | (is_body ? SKY_ABOVE : 0);
    float by_normal = f3_dot(wide_get3(facing->normal, k), wi),
          by_surface = f3_dot(wide_get3(surfaces->Ng, k), wi);
    return (sides & SKY_ABOVE && by_normal > 0.0f && by_surface > 0.0f) ||
           (sides & SKY_BELOW && by_normal < 0.0f && by_surface < 0.0f);
}

/* Returns the part of a path's sample that stops at a surface. */
static Spectrum part_seen(const Path *path, BsdfPoint bsdf)
{
    Spectrum gone = spectrum_add(bsdf_point_transparency(bsdf), bsdf_point_holdout(bsdf));
    return spectrum_mul(path->beta, spectrum_sub(spectrum_splat(1.0f), gone));
}

void points_sample_lamps(Wave *w, const PointBlock *points, const BsdfBlock *block,
                         const Facing *facing, uint16_t seen)
{
    LightRows lights;
    RayRows aim;
    alignas(64) WideRow u[2];
    const SampleKey *keys[SSL_BLOCK];
    uint32_t dimensions[SSL_BLOCK];
    ShadowQueue *queue = w->lamp_shadows;
    for (uint32_t k = 0; k < points->count; ++k) {
        const Path *path = &w->paths[points->path[k]];
        keys[k] = &path->key;
        dimensions[k] = sample_dimension(path->event, SAMPLE_LAMP_UV);
    }
    if (seen == 0)
        return;
    sampler_2d_points(&w->shared->sampler, keys, dimensions, seen, u);
    uint16_t drawn = draw_lights(w, lights_sample_lamps, points, facing, u, seen, &lights);
    if (drawn == 0)
        return;
    aim_shadow_rays(points->surfaces, &lights, drawn, &aim);
    uint32_t first = queue->count;
    WIDE_EACH(k, drawn)
    {
        uint32_t i = points->path[k];
        SurfaceLane surface = {points->surfaces, k};
        if (!takes_light(block, points->surfaces, facing, k, wide_get3(lights.wi, k)))
            continue;
        uint32_t shadow = shadow_queue_add(w, queue, i, surface_depth(surface) + 1);
        ray_batch_aim(&queue->batch.rays, shadow, wide_get3(aim.origin, k),
                      wide_get3(aim.direction, k), aim.t_max[k]);
        shadow_queue_set_light(queue, shadow, part_seen(&w->paths[i], (BsdfPoint){block, k}), 0);
        tell_ray(w, queue, i, shadow, surface, &lights);
    }
    ray_batch_begin(&queue->batch.rays, first, queue->count - first);
}
