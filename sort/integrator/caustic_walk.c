#include "sort/integrator/caustic_walk.h"

#include "sort/shade/footprint_ray.h"

/* The most traces of a walk: 99 in 100 of those that arrive do by the ninth. What the others would find is left to scattering, but for
 * lights that rays do not meet. */
enum { TRACES_MAX = 10, TRACES_MAX_DELTA = 24 };
/* Newton's method has arrived when it would turn the beginning by less; it tries no larger turn, and no smaller fraction of a
 * step that did not help. */
#define ARRIVED_RAD  1e-5f
#define TURN_MAX_RAD 0.3f
#define FRACTION_MIN 0.02f
/* Footprints on the way are those of a sample of a diffuse lobe. */
#define SPREAD_RAD 0.5f
/* Normals that differ by less are the same. */
#define BENT_NORMAL 1e-4f

Status caustic_walker_create(const Wave *w, Arena *arena, CausticWalker *out, Error *err)
{
    uint32_t capacity = w->capacity, materials = w->shared->scene->material_count;
    TRY(ray_batch_create(arena, capacity, &out->rays, err));
    TRY(hit_batch_create(arena, capacity, &out->hits, err));
    out->walks = ARENA_ARRAY(arena, CausticWalk, capacity);
    out->active = ARENA_ARRAY(arena, uint32_t, capacity);
    out->kinds = ARENA_ARRAY(arena, uint8_t, capacity);
    out->may_bend = ARENA_ARRAY(arena, bool, materials + 1);
    if (!out->walks || !out->active || !out->kinds || !out->may_bend)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    for (uint32_t m = 0; m < materials; ++m)
        out->may_bend[m] =
            !material_set_get(w->shared->materials, m)->programs[SSL_KERNEL_SHADE].reads_bounces;
    return STATUS_OK;
}

/* --- traces ---------------------------------------------------------------------------------------- */

/* Begins a trace along wi, a unit vector. */
static void begin_trace(const Wave *w, CausticWalk *k, float3 wi)
{
    CausticAim *aim = &k->aim;
    aim->wi = wi;
    f3_frame(wi, &aim->x, &aim->y);
    k->ray = (Ray){.origin = ray_leave(&k->start.point, wi),
                   .direction = wi,
                   .t_max = INFINITY,
                   .time = w->rays.time[k->path]};
    k->diff = (RayDiff){.dDdx = f3_scale(aim->x, SPREAD_RAD), .dDdy = f3_scale(aim->y, SPREAD_RAD)};
    k->count = 0;
    k->weight = spectrum_splat(1.0f);
    k->chance = 1.0f;
    ++k->traces;
}

/* Tries a fraction of the step from the best beginning so far. */
static void try_step(const Wave *w, CausticWalk *k)
{
    const CausticAim *from = &k->best;
    float3 turned = f3_madd(from->wi, k->fraction * k->step.x, from->x);
    begin_trace(w, k, f3_normalize(f3_madd(turned, k->fraction * k->step.y, from->y)));
}

static bool has_traces_left(const CausticWalk *k)
{
    return k->traces < (k->target.is_delta ? TRACES_MAX_DELTA : TRACES_MAX);
}

/* Ends a trace that does not lead to the target: the next one takes half the step, if there was one. */
static void reject_trace(const Wave *w, CausticWalk *k)
{
    k->fraction *= 0.5f;
    if (isinf(k->best_miss) || k->fraction < FRACTION_MIN || !has_traces_left(k))
        k->state = CAUSTIC_LOST;
    else
        try_step(w, k);
}

static CausticEnd end_of(const CausticWalk *k)
{
    const float to_radians = 1.0f / SPREAD_RAD;
    return (CausticEnd){
        .origin = k->ray.origin,
        .direction = k->ray.direction,
        .d_origin = {f3_scale(k->diff.dOdx, to_radians), f3_scale(k->diff.dOdy, to_radians)},
        .d_direction = {f3_scale(k->diff.dDdx, to_radians), f3_scale(k->diff.dDdy, to_radians)}};
}

/* Returns whether the last part of the path, which meets this, comes to the light. */
static bool sees_target(const CausticWalk *k, uint32_t shape, float hit_t, float t)
{
    const float all_but_rounding = 1.0f - 1e-5f;
    if (shape == HIT_NONE)
        return k->target.kind == CAUSTIC_DIRECTION || k->target.is_delta;
    if (hit_is_light(shape) && (shape & ~HIT_LIGHT) == k->target.light)
        return true;
    return k->target.is_delta && hit_t > t * all_but_rounding;
}

/* Sets the step of Newton's method, in radians. Returns whether there is one. */
static bool find_step(const CausticMiss *miss, float2 *out_step)
{
    float2 x = miss->by_d[0], y = miss->by_d[1], r = miss->by;
    float det = x.x * y.y - x.y * y.x;
    *out_step = f2((r.y * y.x - r.x * y.y) / det, (r.x * x.y - r.y * x.x) / det);
    return isfinite(out_step->x) && isfinite(out_step->y);
}

/* Judges a trace whose last part, which meets the shape at hit_t, is no longer bent. */
static void finish_trace(const Wave *w, CausticWalk *k, uint32_t shape, float hit_t)
{
    CausticMiss miss;
    float2 step;
    CausticEnd end = end_of(k);
    const Lights *lights = w->shared->lights;
    if (k->count == 0 || !caustic_target_miss(lights, &k->target, &end, &miss) ||
        !find_step(&miss, &step)) {
        reject_trace(w, k);
        return;
    }
    float turn = f2_length(step), length = f2_length(miss.by);
    if (turn < ARRIVED_RAD) {
        k->density = caustic_target_density(lights, &k->target, &end, &miss);
        bool is_found = sees_target(k, shape, hit_t, miss.t) && k->density > 0.0f &&
                        isfinite(k->density) && k->chance > 0.0f;
        k->state = is_found ? CAUSTIC_FOUND : CAUSTIC_LOST;
    } else if (!(length < k->best_miss)) {
        reject_trace(w, k);
    } else if (!has_traces_left(k)) {
        k->state = CAUSTIC_LOST;
    } else {
        float shrink = minf(1.0f, TURN_MAX_RAD / turn);
        k->best = k->aim;
        k->best_miss = length;
        k->step = f2(step.x * shrink, step.y * shrink);
        k->fraction = 1.0f;
        try_step(w, k);
    }
}

/* --- surfaces on the way --------------------------------------------------------------------------- */

/* The lobes of a point by which light goes on. */
typedef struct Bend {
    uint32_t count;
    float u; /* chooses the last one */
} Bend;

static Bend find_bend(const BsdfBlock *block, uint32_t lane)
{
    const uint32_t wanted = SSL_LOBE_DELTA | SSL_LOBE_TRANSMISSION;
    Bend bend = {0, 0.0f};
    float before = 0.0f;
    for (uint32_t l = 0; l < block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &block->lobes[l];
        if (!(lobe->live >> lane & 1))
            continue;
        if ((lobe->def->flags & (wanted | SSL_LOBE_TRANSPARENT)) == wanted) {
            bend.u = (before + 0.5f * lobe->select[lane]) / block->select_sum[lane];
            ++bend.count;
        }
        before += lobe->select[lane];
    }
    return bend;
}

/* Draws the lobes that refract, at each point where there is one alone. Returns the lanes in which it does. */
static uint16_t draw_bends(const BsdfBlock *block, uint32_t count, BsdfDrawn *out)
{
    const float below_one = 0x1.fffffep-1f;
    alignas(64) BsdfRow u[3] = {{0}};
    uint32_t live = 0;
    for (uint32_t lane = 0; lane < count; ++lane) {
        Bend bend = find_bend(block, lane);
        live |= (uint32_t)(bend.count == 1) << lane;
        u[0][lane] = minf(bend.u, below_one);
        u[1][lane] = 0.5f;
        u[2][lane] = below_one; /* transmission rather than reflection */
    }
    return live ? bsdf_block_sample(block, u, (uint16_t)live, out) : 0;
}

/* Sends the walk on through a surface. Returns whether it is one that bends light as its normals tell. */
static bool bend(CausticWalk *k, SurfaceLane surface, const BsdfDrawn *drawn)
{
    const uint32_t wanted = SSL_LOBE_DELTA | SSL_LOBE_TRANSMISSION;
    BsdfSample sample = bsdf_drawn_at(drawn, surface.lane);
    SurfaceHit hit = surface_get(surface);
    if ((sample.flags & wanted) != wanted ||
        f3_length2(f3_sub(sample.n, hit.N)) > BENT_NORMAL * BENT_NORMAL)
        return false;
    footprint_refract(&hit, sample.n, sample.wi, sample.eta, &k->diff);
    k->diff.is_cone = false; /* derivatives of where the path goes, which a disc would not be */
    SurfacePoint point = hit_point(&hit);
    k->ray.origin = ray_leave(&point, sample.wi);
    k->ray.direction = sample.wi;
    k->weight = spectrum_scale(spectrum_mul(k->weight, sample.weight), sample.pdf);
    k->chance *= sample.pdf;
    ++k->count;
    return true;
}

/* The scatters behind a walk that has passed so many surfaces: first a diffuse one. */
static PathHistory history_at(const CausticStart *start, uint32_t passed)
{
    PathHistory history = start->history;
    history.is_cone = true;
    history.kind =
        passed == 0 ? RAY_REFLECTION | RAY_DIFFUSE : RAY_TRANSMISSION | RAY_GLOSSY | RAY_SINGULAR;
    history.diffuse = (uint16_t)(history.diffuse + (history.diffuse < UINT16_MAX));
    history.transmission = (uint16_t)minf((float)(history.transmission + passed), UINT16_MAX);
    return history;
}

/* Computes the surfaces that `count` <= SSL_BLOCK walks have met. slots: their rays. */
static void find_surfaces(const Wave *w, const CausticWalker *walker, const uint32_t *slots,
                          uint32_t count, uint32_t material, SurfaceBlock *out)
{
    HitRays rays;
    wave_load_hits(&walker->rays, &walker->hits, slots, count, out);
    wave_load_rays(&walker->rays, slots, count, &rays);
    out->material = material;
    for (uint32_t lane = 0; lane < count; ++lane) {
        const CausticWalk *k = &walker->walks[walker->active[slots[lane]]];
        rays.diff[lane] = &k->diff;
        out->depth[lane] = (int32_t)(k->start.depth + 1 + k->count);
        out->draw[lane] =
            (HitDraw){.key = w->paths[k->path].key, .event = k->start.event + 1 + k->count};
        out->history[lane] = history_at(&k->start, k->count);
    }
    hit_surfaces(w->shared->scene, &rays, w->reads.surface[material] | HIT_NORMAL | HIT_FOOTPRINT,
                 out);
}

/* Bends the walks of slots[0, n), which have met one material. */
static void bend_chunk(Wave *w, CausticWalker *walker, const uint32_t *slots, uint32_t n)
{
    static const float sharp[SSL_BLOCK];
    uint32_t material = w->materials[slots[0]];
    for (uint32_t first = 0; first < n; first += SSL_BLOCK)
        find_surfaces(w, walker, slots + first, n - first < SSL_BLOCK ? n - first : SSL_BLOCK,
                      material, &w->surfaces[first / SSL_BLOCK]);
    shade_run(w->shade, material, SSL_KERNEL_SHADE, w->surfaces, n);
    for (uint32_t first = 0; first < n; first += SSL_BLOCK) {
        const SurfaceBlock *surfaces = &w->surfaces[first / SSL_BLOCK];
        const BsdfBlock *block = shade_block(w->shade, first, sharp);
        BsdfDrawn drawn;
        uint16_t bent = draw_bends(block, surfaces->count, &drawn);
        for (uint32_t lane = 0; lane < surfaces->count; ++lane) {
            CausticWalk *k = &walker->walks[walker->active[slots[first + lane]]];
            if (!(bent >> lane & 1) || !bend(k, (SurfaceLane){surfaces, lane}, &drawn))
                reject_trace(w, k);
        }
    }
}

/* Returns whether the walk is bent where its ray, the one of a slot, has met something. Beyond the target it is not. */
static bool meets_caster(const Wave *w, CausticWalker *walker, const CausticWalk *k, uint32_t slot)
{
    const Scene *scene = w->shared->scene;
    uint32_t shape = walker->hits.shape[slot];
    float distance;
    if (!hit_is_mesh(shape) || shape == HIT_NONE || !scene->instances[shape].is_caustics_caster ||
        scene->meshes[scene->instances[shape].mesh].curves)
        return false;
    float3 way = caustic_target_way(w->shared->lights, &k->target, k->ray.origin, &distance);
    if (!isinf(distance))
        distance *= f3_dot(way, k->ray.direction);
    return walker->hits.t[slot] < distance;
}

/* --- all walks ------------------------------------------------------------------------------------- */

static void trace_active(Wave *w, CausticWalker *walker)
{
    for (uint32_t slot = 0; slot < walker->active_count; ++slot) {
        const CausticWalk *k = &walker->walks[walker->active[slot]];
        ray_batch_start(&walker->rays, slot, k->ray.origin, k->ray.direction, INFINITY,
                        k->ray.time);
        walker->kinds[slot] = k->count == 0 ? SCENE_RAYS_DIFFUSE : SCENE_RAYS_TRANSMISSION;
    }
    accel_intersect_as(w->shared->accel, &walker->rays, w->ray_kinds ? walker->kinds : NULL,
                       walker->active_count, &walker->hits);
    w->counters.rays += walker->active_count;
}

/* Takes each walk to its next surface or, if there is none, to its next trace or its end. */
static void advance_active(Wave *w, CausticWalker *walker)
{
    uint32_t bent = 0, n;
    for (uint32_t slot = 0; slot < walker->active_count; ++slot) {
        CausticWalk *k = &walker->walks[walker->active[slot]];
        if (!meets_caster(w, walker, k, slot)) {
            finish_trace(w, k, walker->hits.shape[slot], walker->hits.t[slot]);
            continue;
        }
        w->materials[slot] =
            hit_material(w->shared->scene, walker->hits.shape[slot], walker->hits.triangle[slot]);
        if (k->count == k->start.room || !walker->may_bend[w->materials[slot]])
            reject_trace(w, k);
        else
            w->members[bent++] = slot;
    }
    wave_group(w, bent);
    for (uint32_t begin = 0; (n = wave_chunk(w, begin, bent)) > 0; begin += n)
        bend_chunk(w, walker, w->order + begin, n);
}

static void begin_walks(const Wave *w, CausticWalker *walker)
{
    walker->active_count = 0;
    for (uint32_t index = 0; index < walker->walk_count; ++index) {
        CausticWalk *k = &walker->walks[index];
        float distance;
        bool may_bend = caustic_target_may_bend(w->shared->lights, &k->target, k->start.point.P);
        k->state = may_bend ? CAUSTIC_SEARCHING : CAUSTIC_LOST;
        k->best_miss = INFINITY;
        k->fraction = 1.0f;
        k->traces = 0;
        if (!may_bend)
            continue;
        begin_trace(w, k,
                    caustic_target_way(w->shared->lights, &k->target, k->start.point.P, &distance));
        walker->active[walker->active_count++] = index;
    }
}

void caustic_walks_run(Wave *w, CausticWalker *walker)
{
    ASSERT(walker->walk_count <= w->capacity);
    begin_walks(w, walker);
    while (walker->active_count > 0) {
        uint32_t kept = 0;
        trace_active(w, walker);
        advance_active(w, walker);
        for (uint32_t slot = 0; slot < walker->active_count; ++slot)
            if (walker->walks[walker->active[slot]].state == CAUSTIC_SEARCHING)
                walker->active[kept++] = walker->active[slot];
        walker->active_count = kept;
    }
}
