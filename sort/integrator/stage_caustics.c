#include "sort/integrator/caustics.h"

#include "sort/integrator/caustic_paths.h"

#include "sort/sampling/mis.h"

/* The chance of a walk from a surface that blurry lobes see. */
#define WALK_CHANCE 0.25f

Status caustics_create(Wave *w, Arena *arena, Error *err)
{
    bool exists = caustic_light_count(w->shared->lights) > 0 || w->shared->caustic_emission;
    if (!exists || !wave_gathers_light(w->shared) ||
        w->shared->view == WAVE_VIEW_LIGHT) /* paths of light find them without */
        return STATUS_OK;
    Caustics *c = ARENA_NEW(arena, Caustics);
    if (!c)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    c->trails = ARENA_ARRAY(arena, CausticTrail, w->capacity);
    c->rooms = ARENA_ARRAY(arena, uint32_t, w->capacity);
    c->of_light = ARENA_ARRAY(arena, bool, w->capacity);
    if (!c->trails || !c->rooms || !c->of_light)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    TRY(caustic_walker_create(w, arena, &c->walker, err));
    if (w->shared->caustic_emission && !(w->shadow.parts = ARENA_ARRAY(arena, float, w->capacity)))
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    w->caustics = c;
    return STATUS_OK;
}

void caustics_begin(Wave *w)
{
    for (uint32_t i = 0; i < w->count; ++i)
        w->caustics->trails[i] = (CausticTrail){.is_active = false};
}

/* --- paths that scattering finds -------------------------------------------------------------------- */

static bool is_caster(const Wave *w, uint32_t instance)
{
    return caustic_paths_exist(w) ? caustic_paths_cast(w, instance)
                                  : w->shared->scene->instances[instance].is_caustics_caster;
}

bool caustics_is_bent(const Wave *w, uint32_t i, uint32_t instance)
{
    return w->caustics->trails[i].is_active && is_caster(w, instance);
}

void caustics_leave(Wave *w, uint32_t i)
{
    w->caustics->trails[i].is_active &= w->caustics->trails[i].is_of_light;
}

void caustics_enter_body(Wave *w, uint32_t i)
{
    w->caustics->trails[i].is_active = w->caustics->trails[i].is_known = false;
}

/* Returns whether paths of light find what path i, which stands at a surface, is scattered to there through casters. */
static bool is_of_light(const Wave *w, uint32_t i)
{
    const Path *path = &w->paths[i];
    uint32_t instance = w->hits.shape[i];
    if (!caustic_paths_exist(w) || !caustic_paths_light(w, instance) ||
        caustic_paths_room(w, path->depth) == 0)
        return false;
    if (path->depth == 0)
        return path->history.portal == 0;
    return w->caustics->trails[i].is_known &&
           caustic_paths_know(w, hit_material(w->shared->scene, instance, w->hits.triangle[i]));
}

/* Returns whether the surface is a caster by lobes with a blur, too, as far as paths of light look for caustics. */
static bool is_blur(const Wave *w, SurfaceLane surface)
{
    return caustic_paths_exist(w) &&
           caustic_paths_blur(w, surface_instance(surface), surface.block->material);
}

/* Returns whether path i has come to a caster on the way from a receiver for which paths of light look. */
static bool may_follow_light(const Wave *w, uint32_t i, SurfaceLane surface)
{
    const CausticTrail *trail = &w->caustics->trails[i];
    return caustics_is_bent(w, i, surface_instance(surface)) && trail->is_of_light &&
           trail->count < trail->start.room;
}

/* Notes whether paths of light know that path i is scattered here. */
static void know(const Wave *w, uint32_t i, const BsdfBlock *block, SurfaceLane surface,
                 const BsdfDrawn *drawn)
{
    CausticTrail *trail = &w->caustics->trails[i];
    uint32_t flags = drawn->flags[surface.lane];
    bool passes = flags & SSL_LOBE_TRANSPARENT;
    if (w->paths[i].depth > 0) {
        uint32_t instance = surface_instance(surface);
        trail->is_known =
            trail->is_known && !passes &&
            caustic_paths_pass(w, instance, surface.block->material) &&
            (flags & SSL_LOBE_DELTA || caustic_paths_light(w, instance)) &&
            caustic_paths_return(w, block, surface, wide_get3(drawn->wi, surface.lane), flags);
    } else if (!passes) {
        trail->is_known = w->caustics->of_light[i] && !(flags & SSL_LOBE_DELTA);
        trail->seen_P = surface_vector(surface, surface.block->P);
        trail->seen_n = surface_vector(surface, surface.block->Ng);
        trail->seen_wi = wide_get3(drawn->wi, surface.lane);
        trail->seen_pdf = drawn->pdf[surface.lane];
    }
}

void caustics_follow(Wave *w, uint32_t i, const BsdfBlock *block, SurfaceLane surface,
                     const BsdfDrawn *drawn)
{
    const uint32_t bent = SSL_LOBE_DELTA | SSL_LOBE_TRANSMISSION;
    const Path *path = &w->paths[i];
    CausticTrail *trail = &w->caustics->trails[i];
    uint32_t k = surface.lane, flags = drawn->flags[k], room = w->caustics->rooms[i];
    bool is_bent = flags & SSL_LOBE_DELTA || is_blur(w, surface);
    bool begins = room > 0 && !is_bent && !(flags & SSL_LOBE_TRANSPARENT);
    bool may_follow =
        caustics_is_bent(w, i, surface_instance(surface)) && trail->count < trail->start.room;
    if (caustic_paths_exist(w))
        know(w, i, block, surface, drawn);
    if (is_bent && may_follow_light(w, i, surface)) {
        trail->is_active = trail->is_known;
        trail->last_P = surface_vector(surface, surface.block->P);
        trail->last_pdf = flags & SSL_LOBE_DELTA ? INFINITY : drawn->pdf[k];
        ++trail->count;
        return;
    }
    if (may_follow && !trail->is_of_light && (flags & (bent | SSL_LOBE_TRANSPARENT)) == bent) {
        ++trail->count;
        trail->pdf *= drawn->pdf[k];
        return;
    }
    trail->is_active = begins;
    if (!trail->is_active)
        return;
    trail->is_of_light = w->caustics->of_light[i];
    trail->count = 0;
    trail->start.room = room;
    if (trail->is_of_light)
        return;
    const SurfaceBlock *b = surface.block;
    trail->wi = wide_get3(drawn->wi, k);
    trail->pdf = drawn->pdf[k];
    trail->start = (CausticStart){
        .point = {surface_vector(surface, b->P), surface_vector(surface, b->Ng), b->error_m[k]},
        .depth = path->depth,
        .event = path->event,
        .room = room,
        .history = path->history};
}

/* --- walks -------------------------------------------------------------------------------------------- */

/* Returns the weight of a path that walks find with this density per solid angle, and scattering with the other. */
static float walk_weight(const Wave *w, const CausticWalk *k, float pdf)
{
    WaveStrategy strategy = w->shared->strategy;
    if (k->target.is_delta || strategy == WAVE_STRATEGY_LIGHTS)
        return 1.0f;
    return strategy == WAVE_STRATEGY_MIS ? mis_power(k->density, pdf) : 0.0f;
}

/* Adds light that scattering found. */
static void deliver_met(Wave *w, const CausticWalk *k)
{
    /* Rounding turns the beginning by less; two paths to one place are farther apart, but for those next to a fold, which
     * walks draw with nearly no density. */
    const float same_rad = 1e-4f;
    bool is_same = k->state == CAUSTIC_FOUND && k->count == k->met_count &&
                   f3_length(f3_sub(k->aim.wi, k->met_wi)) < same_rad;
    float weight = is_same ? 1.0f - walk_weight(w, k, k->met_pdf) : 1.0f;
    wave_add_light(w, &w->paths[k->path], spectrum_scale(k->light, weight), k->arrival);
}

/* Adds light that a walk found from the point of a BSDF. f: with the cosine; pdf: of its own sampling. */
static void deliver_found(Wave *w, const CausticWalk *k, BsdfPoint bsdf, Spectrum f, float pdf)
{
    const Path *path = &w->paths[k->path];
    uint32_t group, bounces = k->start.depth + 1 + k->count;
    const SceneLightVisibility *visibility =
        caustic_target_visibility(w->shared->lights, &k->target, &group);
    if (visibility->invisible_to & SCENE_RAYS_TRANSMISSION ||
        !wave_light_reaches(visibility, bounces - 1, 0)) /* walks are to lights for all link sets */
        return;
    float weight = walk_weight(w, k, pdf * k->chance) / k->density;
    Spectrum light = caustic_target_radiance(w->shared->lights, &k->target, k->ray.direction);
    light = spectrum_mul(spectrum_mul(light, k->weight), spectrum_mul(f, path->beta));
    light = spectrum_scale(light, weight);
    if (spectrum_is_black(light))
        return;
    LightArrival arrival = {.group = group, .bounces = bounces};
    LightKinds kinds;
    if (w->path_kinds) {
        kinds = kinds_of_light(w, path, bsdf, k->aim.wi, 0);
        arrival.kinds = &kinds;
    }
    wave_add_light(w, path, light, arrival);
}

/* Adds the light of `count` <= SSL_BLOCK walks whose surfaces are those of the kernel's run from `first` on. */
static void deliver_block(Wave *w, const uint32_t *walks, uint32_t count, uint32_t first)
{
    const CausticWalk *all = w->caustics->walker.walks;
    alignas(64) BsdfRow blur = {0}, wi[3] = {{0}}, f[3], pdf;
    for (uint32_t lane = 0; lane < count; ++lane) {
        blur[lane] = wave_least_alpha(w->shared, &w->paths[all[walks[lane]].path]);
        wide_set3(wi, lane, all[walks[lane]].aim.wi);
    }
    const BsdfBlock *block = shade_block(w->shade, first, blur);
    uint16_t live = (uint16_t)((1u << count) - 1u) & bsdf_block_smooth(block);
    if (live == 0)
        return;
    bsdf_block_eval(block, wi, live, f, pdf);
    WIDE_EACH(lane, live)
    deliver_found(w, &all[walks[lane]], (BsdfPoint){block, lane},
                  (Spectrum){{f[0][lane], f[1][lane], f[2][lane]}}, pdf[lane]);
}

/* Adds the light of walks[0, n), which began at one material. */
static void deliver_chunk(Wave *w, const uint32_t *walks, uint32_t n)
{
    uint32_t material = w->materials[walks[0]], paths[SHADE_CHUNK];
    ASSERT(n <= SHADE_CHUNK);
    for (uint32_t k = 0; k < n; ++k)
        paths[k] = w->caustics->walker.walks[walks[k]].path;
    for (uint32_t first = 0; first < n; first += SSL_BLOCK)
        wave_find_surfaces(w, paths + first, n - first < SSL_BLOCK ? n - first : SSL_BLOCK,
                           material, w->reads.surface[material], &w->surfaces[first / SSL_BLOCK]);
    shade_run(w->shade, material, SSL_KERNEL_SHADE, w->surfaces, n);
    for (uint32_t first = 0; first < n; first += SSL_BLOCK)
        deliver_block(w, walks + first, n - first < SSL_BLOCK ? n - first : SSL_BLOCK, first);
}

/* Walks all walks, adds their light, and empties the list. */
static void settle(Wave *w)
{
    CausticWalker *walker = &w->caustics->walker;
    uint32_t found = 0, n;
    caustic_walks_run(w, walker);
    for (uint32_t index = 0; index < walker->walk_count; ++index) {
        const CausticWalk *k = &walker->walks[index];
        if (k->is_met) {
            deliver_met(w, k);
        } else if (k->state == CAUSTIC_FOUND) {
            w->materials[index] =
                hit_material(w->shared->scene, w->hits.shape[k->path], w->hits.triangle[k->path]);
            w->members[found++] = index;
        }
    }
    wave_group(w, found);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, found)) > 0; begin += n)
        deliver_chunk(w, w->order + begin, n);
    walker->walk_count = 0;
}

/* Returns a place for a walk. */
static CausticWalk *add_walk(Wave *w)
{
    CausticWalker *walker = &w->caustics->walker;
    if (walker->walk_count == w->capacity)
        settle(w);
    return &walker->walks[walker->walk_count++];
}

/* Returns with which chance a walk begins: what blurry surfaces see of the walk's light is a small part of the picture's noise, and
 * walks take longer than all else. */
static float walk_chance(const PathHistory *history)
{
    return isinf(history->least_pdf) ? 1.0f : WALK_CHANCE;
}

/* Takes light of a target that path i has come to on its trail. */
static void take(Wave *w, uint32_t i, CausticTarget *target, Spectrum light,
                 const LightArrival *arrival)
{
    const CausticTrail *trail = &w->caustics->trails[i];
    target->pdf *= walk_chance(&trail->start.history);
    *add_walk(w) = (CausticWalk){.path = i,
                                 .start = trail->start,
                                 .target = *target,
                                 .is_met = true,
                                 .light = light,
                                 .arrival = *arrival,
                                 .met_wi = trail->wi,
                                 .met_pdf = trail->pdf,
                                 .met_count = trail->count};
}

static bool has_trail(const Wave *w, uint32_t i)
{
    return w->caustics && w->caustics->trails[i].is_active && w->caustics->trails[i].count > 0;
}

/* Returns the weight of light of a departure that path i has found by a last caster at P, which draws its direction with the density
 * pdf. Paths of light share it. */
static float weight_of_met(const Wave *w, uint32_t i, const CausticDeparture *departure, float3 P,
                           float pdf)
{
    const CausticTrail *trail = &w->caustics->trails[i];
    float distance = f3_length(f3_sub(departure->place, P));
    float density = caustic_emission_density(w->shared->caustic_emission, departure, distance, pdf);
    float cosine = fabsf(f3_dot(trail->seen_wi, trail->seen_n));
    return 1.0f - caustic_paths_weight(w, &(CausticJoint){.P = trail->seen_P,
                                                          .Ng = trail->seen_n,
                                                          .time = w->rays.time[i],
                                                          .pdf = trail->seen_pdf,
                                                          .arrival = density * cosine});
}

/* Returns the weight of light that path i has come to. departure: but for its direction. */
static float weight_at_end(const Wave *w, uint32_t i, CausticDeparture departure)
{
    const CausticTrail *trail = &w->caustics->trails[i];
    departure.direction = f3_neg(ray_batch_get(&w->rays, i).direction);
    return weight_of_met(w, i, &departure, trail->last_P, trail->last_pdf);
}

static bool is_shared(const Wave *w, uint32_t i)
{
    return has_trail(w, i) && w->caustics->trails[i].is_of_light;
}

float caustics_weight_of_sky(const Wave *w, uint32_t i)
{
    CausticDeparture departure = {.light = CAUSTIC_SKY, .place = ray_batch_get(&w->rays, i).origin};
    return is_shared(w, i) ? weight_at_end(w, i, departure) : 1.0f;
}

float caustics_weight_of_mesh(const Wave *w, uint32_t i, SurfaceLane surface)
{
    const SurfaceBlock *b = surface.block;
    CausticDeparture departure = {.light = CAUSTIC_MESH | surface_instance(surface),
                                  .place = surface_vector(surface, b->P),
                                  .triangle = surface_triangle(surface),
                                  .normal = surface_vector(surface, b->Ng)};
    return is_shared(w, i) ? weight_at_end(w, i, departure) : 1.0f;
}

float caustics_weight_of_sample(const Wave *w, uint32_t i, const BsdfBlock *block,
                                SurfaceLane surface, const LightRows *lights, float pdf)
{
    uint32_t k = surface.lane, instance = surface_instance(surface);
    float3 P = surface_vector(surface, surface.block->P);
    if (!is_blur(w, surface) || !may_follow_light(w, i, surface) ||
        !w->caustics->trails[i].is_known ||
        !caustic_paths_pass(w, instance, surface.block->material) ||
        !caustic_paths_return(w, block, surface, wide_get3(lights->wi, k), 0))
        return 1.0f;
    CausticDeparture departure =
        caustic_emission_departure(w->shared->caustic_emission, lights, k, P);
    return weight_of_met(w, i, &departure, P, pdf);
}

/* Adds light that path i has found. */
static bool share(Wave *w, uint32_t i, uint32_t light_index, float3 place, Spectrum light,
                  const LightArrival *arrival)
{
    float weight = weight_at_end(w, i, (CausticDeparture){.light = light_index, .place = place});
    wave_add_light(w, &w->paths[i], spectrum_scale(light, weight), *arrival);
    return true;
}

bool caustics_take_met(Wave *w, uint32_t i, uint32_t light_index, float t, Spectrum light,
                       const LightArrival *arrival)
{
    CausticTarget target;
    if (!has_trail(w, i))
        return false;
    Ray ray = ray_batch_get(&w->rays, i);
    if (is_shared(w, i))
        return share(w, i, light_index, f3_madd(ray.origin, t, ray.direction), light, arrival);
    if (!caustic_target_met(w->shared->lights, light_index, w->caustics->trails[i].start.point.P,
                            &ray, t, &target))
        return false;
    take(w, i, &target, light, arrival);
    return true;
}

bool caustics_take_seen(Wave *w, uint32_t i, uint32_t source, Spectrum light,
                        const LightArrival *arrival)
{
    CausticTarget target;
    uint32_t distant;
    Ray ray = ray_batch_get(&w->rays, i);
    float3 direction = ray.direction;
    if (is_shared(w, i))
        return caustic_distant_light(w->shared->lights, source, &distant) &&
               share(w, i, distant, ray.origin, light, arrival);
    if (!has_trail(w, i) || !caustic_target_seen(w->shared->lights, source, direction, &target))
        return false;
    take(w, i, &target, light, arrival);
    return true;
}

/* --- the stage ------------------------------------------------------------------------------------------ */

/* Returns how many surfaces a walk that begins where path i stands may pass; 0: none begins. Whatever lobe scatters the path here,
 * none of its limits ends it on that way: then scattering finds all that walks do. can_walk: there are lights for walks.
 * *out_of_light: paths of light look there, not walks. */
static uint32_t room_at(const Wave *w, uint32_t i, bool can_walk, bool *out_of_light)
{
    const uint32_t others =
        PATH_DEAD | PATH_INSIDE | PATH_LEAVING | PATH_LAST | PATH_CAUGHT | PATH_ALONE;
    const Path *path = &w->paths[i];
    const SceneSettings *limit = w->shared->settings;
    *out_of_light = false;
    if (path->flags & others || !hit_is_mesh(w->hits.shape[i]))
        return 0;
    const SceneInstance *instance = &w->shared->scene->instances[w->hits.shape[i]];
    bool of_light = is_of_light(w, i);
    if (!of_light && !can_walk)
        return 0;
    if ((!instance->is_caustics_receiver && !of_light) || wave_catches(w, path, w->hits.shape[i]) ||
        (instance->is_holdout && !(path->flags & PATH_SEEN)))
        return 0;
    const PathHistory *history = &path->history;
    if (history->diffuse + 1u >= limit->max_diffuse || history->glossy + 1u >= limit->max_glossy ||
        history->transmission + 1u >= limit->max_transmission ||
        path->depth + 1 >= limit->max_depth)
        return 0;
    *out_of_light = of_light;
    if (of_light)
        return caustic_paths_room(w, path->depth);
    uint32_t room = minu(limit->max_depth - path->depth - 1,
                         limit->max_transmission - history->transmission - 1);
    return minu(room, CAUSTIC_SURFACES_MAX);
}

/* Begins walks from the points of `count` <= SSL_BLOCK paths. */
static void begin_walks(Wave *w, const uint32_t *paths, uint32_t count)
{
    HitRays rays;
    SurfaceBlock *b = w->surfaces;
    CausticTarget target;
    const Lights *lights = w->shared->lights;
    if (w->caustics->walker.walk_count + count > w->capacity)
        settle(w); /* here, since it uses the block */
    wave_load_hits(&w->rays, &w->hits, paths, count, b);
    wave_load_rays(&w->rays, paths, count, &rays);
    b->material = 0;
    hit_surfaces(w->shared->scene, &rays, 0, b);
    for (uint32_t k = 0; k < count; ++k) {
        const Path *path = &w->paths[paths[k]];
        float3 P = wide_get3(b->P, k);
        float2 u = sampler_2d(&w->shared->sampler, path->key,
                              sample_dimension(path->event, SAMPLE_CAUSTIC_UV));
        float chance = walk_chance(&path->history);
        if (u.x >= chance)
            continue;
        u.x = minf(u.x / chance, 0x1.fffffep-1f);
        if (!caustic_target_sample(lights, P, u, &target) ||
            !caustic_target_may_bend(lights, &target, P))
            continue;
        target.pdf *= chance;
        *add_walk(w) = (CausticWalk){.path = paths[k],
                                     .start = {.point = {P, wide_get3(b->Ng, k), b->error_m[k]},
                                               .depth = path->depth,
                                               .event = path->event,
                                               .room = w->caustics->rooms[paths[k]],
                                               .history = path->history},
                                     .target = target};
    }
}

void stage_caustics(Wave *w)
{
    uint32_t paths[SSL_BLOCK], count = 0;
    bool can_walk = caustic_light_count(w->shared->lights) > 0;
    for (uint32_t i = 0; i < w->count; ++i) {
        w->caustics->rooms[i] = room_at(w, i, can_walk, &w->caustics->of_light[i]);
        if (w->caustics->rooms[i] > 0 && !w->caustics->of_light[i])
            paths[count++] = i;
        if (count == SSL_BLOCK) {
            begin_walks(w, paths, count);
            count = 0;
        }
    }
    if (count > 0)
        begin_walks(w, paths, count);
    settle(w);
}
