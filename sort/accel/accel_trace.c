/* Batches through Embree.
 *
 * A ray's result may not depend on its company in the batch: pictures are to be the same bits
 * whatever the wave size and the order of paths (docs/decisions/0006-single-rays.md). Embree's
 * packets keep that promise in one hierarchy, but not below instances, where the rounding of the
 * transformed ray depends on who travels along.
 *
 *   nearest hits   single rays
 *   bundles        packets of ACCEL_PACKET with the COHERENT flag when nothing is instanced, moves or is a curve, else
 *                  single rays; without the flag where rays are apart. Who travels along is then part of the answer, at edges, and is the caller's to fix
 *                  (docs/decisions/0111-camera-rays-in-bundles.md)
 *   occlusion      packets of ACCEL_PACKET under the same condition, without that flag
 *
 * tests/sort/accel/test_accel.c holds this to the bit, with rays at edges, corners and coincident faces,
 * flattened and instanced.
 *
 * Rays pass through small groups of Embree's own structures. Filling all of a group before tracing
 * it matters: Embree reads four floats at once, and a ray that is traced right after its single
 * floats were written waits for the store buffer, a third of its time. */
#include "sort/accel/accel_state.h"

#include "base/check.h"
#include "base/simd.h"
#include <stddef.h>
#include <string.h>

void accel_thread_begin(void)
{
    thread_flush_denormals();
}

/* Embree's structures of N rays are arrays of N floats, field by field; its accessors are C++ only. */
enum {
    RAY_ORIGIN = 0,
    RAY_T_MIN = 3,
    RAY_DIRECTION = 4,
    RAY_T_MAX = 8,
    RAY_ID = 10,
    RAY_FIELDS = 12, /* the hit's begin here */
    HIT_NG = 0,
    HIT_U = 3,
    HIT_V = 4,
    HIT_PRIMITIVE = 5,
    HIT_GEOMETRY = 6,
    HIT_INSTANCE = 7
};

/* --- surfaces that were passed -------------------------------------------------------------- */

/* A few roundings of a distance: Embree compares distances before it divides them, and so meets or misses what is
 * equally far by chance. */
#define SAME_DISTANCE 0x1p-21f
/* A crossing that is nearer to one that was passed than these shares of the distance and of the segment is that one: Embree
 * finds crossings of round curves by iteration, which comes to others when the ray begins elsewhere. */
#define SAME_CROSSING_T 0x1p-12f
#define SAME_CROSSING_U 0x1p-9f

/* A share of the distance by which rays begin before what they have passed if there are round curves. */
#define CURVE_APPROACH 0x1p-9f

/* The state of one query for the nearest hit. */
typedef struct Query {
    struct RTCIntersectContext context; /* the first field: Embree hands it to callbacks */
    const Accel *accel;
    uint64_t open_sets; /* of a shadow ray */
    float past_t;
    RayPast past;
    float
        best_t; /* the nearest hit so far, by distance and order, of a ray that has passed something */
    uint64_t best;
} Query;

/* A place on a surface that Embree offers. */
typedef struct Crossing {
    uint64_t order;
    float t;
    float u; /* on a curve: along the segment */
    bool is_curve;
} Crossing;

/* A ray crosses a segment of a curve several times, another surface once. */
static bool is_same(const Crossing *c, float t, float u)
{
    return fabsf(c->t - t) <= SAME_CROSSING_T * t &&
           (!c->is_curve || fabsf(c->u - u) <= SAME_CROSSING_U);
}

/* Whether the ray may meet the surface, and then notes it as the nearest so far. *out_t becomes what Embree is to take for
 * the distance: for a ray that has passed something a little more, so that all that is equally far is offered. */
static bool is_ahead(Query *query, const Crossing *c, float *out_t)
{
    const RayPast *past = &query->past;
    float t = c->t;
    *out_t = t;
    if (past->first == 0)
        return true;
    if (t < query->past_t || (t == query->past_t && c->order < past->next))
        return false;
    if (c->order == past->first && is_same(c, past->first_t, past->first_u))
        return false;
    if (c->order + 1 == past->next && is_same(c, query->past_t, past->last_u))
        return false;
    if (query->best != 0 && (t > query->best_t || (t == query->best_t && c->order > query->best)))
        return false;
    query->best_t = t;
    query->best = c->order;
    *out_t = t + t * SAME_DISTANCE + query->accel->slack_m;
    return true;
}

/* Returns the geometry that a lane of a filter's arguments hit. */
static const GeometryInfo *geometry_hit(const Accel *accel, const unsigned *hit, uint32_t n,
                                        uint32_t lane)
{
    unsigned instance = hit[HIT_INSTANCE * n + lane];
    return &accel->geometry[instance != RTC_INVALID_GEOMETRY_ID ? instance
                                                                : hit[HIT_GEOMETRY * n + lane]];
}

/* Returns whether the geometry is an instance of one of the link sets. */
static bool is_in_sets(const Accel *accel, const GeometryInfo *info, uint64_t sets)
{
    return sets != 0 && !info->lights && sets >> accel->scene->instances[info->shape].link_set & 1;
}

/* Filter of rays that have passed something, or pass some instances. */
static void skip_past(const struct RTCFilterFunctionNArguments *args)
{
    Query *query = (Query *)args->context;
    uint32_t n = args->N;
    const unsigned *hit = (const unsigned *)args->hit;
    const float *numbers = (const float *)args->hit;
    float *ray = (float *)args->ray;
    for (uint32_t lane = 0; lane < n; ++lane) {
        const GeometryInfo *info = geometry_hit(query->accel, hit, n, lane);
        uint32_t primitive = hit[HIT_PRIMITIVE * n + lane];
        float u = numbers[HIT_U * n + lane], v = numbers[HIT_V * n + lane];
        uint32_t shape = shape_of(info, &primitive, &u, &v);
        Crossing c = {.order = surface_order(shape, primitive),
                      .t = ray[RAY_T_MAX * n + lane],
                      .u = u,
                      .is_curve = info->is_curve};
        if (args->valid[lane] && is_in_sets(query->accel, info, query->open_sets))
            args->valid[lane] = 0;
        if (args->valid[lane] && !is_ahead(query, &c, &ray[RAY_T_MAX * n + lane]))
            args->valid[lane] = 0;
    }
}

/* A query for many rays, one after the other: see query_ray. */
static void query_init(Query *query, const Accel *accel)
{
    *query = (Query){.accel = accel};
    rtcInitIntersectContext(&query->context);
}

static void query_ray(Query *query, const RayBatch *rays, uint32_t i)
{
    query->best = 0;
    query->past.first = 0;
    if (rays->has_past[i]) {
        query->past = rays->past[i];
        query->past_t = rays->t_min[i];
        if (query->past.next == 0) /* what is before the surface met first has not been passed */
            query->past_t -= query->accel->slack_m;
    }
    query->context.filter = rays->has_past[i] || query->open_sets != 0 ? skip_past : NULL;
}

/* Returns where Embree is to begin for a ray that has passed what lies before past_t: nearer, since others are as far away
 * as what was passed. */
static float begin_before(const Accel *accel, float past_t)
{
    ASSERT(past_t > -INFINITY);
    float back = past_t * SAME_DISTANCE + accel->slack_m;
    if (accel->widest_m >= 0.0f)
        back += past_t * CURVE_APPROACH + accel->widest_m;
    return maxf(past_t - back, 0.0f);
}

void ray_batch_pass(RayBatch *batch, const HitBatch *hits, uint32_t i)
{
    uint64_t order = surface_order(hits->shape[i], hits->triangle[i]);
    RayPast *past = &batch->past[i];
    float t = hits->t[i];
    ASSERT(order != 0); /* 0 stands for no surface */
    if (batch->has_past[i]) {
        past->next = order + 1;
        past->last_u = hits->b1[i];
        batch->t_min[i] = t;
    } else {
        batch->has_past[i] = true;
        *past = (RayPast){.first = order, .first_t = t, .first_u = hits->b1[i]};
        batch->t_min[i] = maxf(batch->t_min[i], t - t * SAME_DISTANCE);
    }
}

/* --- round lights: user geometry ------------------------------------------------------------ */

static float3 lane_float3(const float *fields, uint32_t first, uint32_t n, uint32_t lane)
{
    return f3(fields[first * n + lane], fields[(first + 1) * n + lane],
              fields[(first + 2) * n + lane]);
}

static void set_lane_u32(float *fields, uint32_t field, uint32_t n, uint32_t lane, uint32_t value)
{
    memcpy(&fields[field * n + lane], &value, sizeof value);
}

void accel_light_bounds(const struct RTCBoundsFunctionArguments *args)
{
    const Accel *accel = args->geometryUserPtr;
    float3 lower, upper;
    light_shape_bounds(&accel->shapes[args->primID], &lower, &upper);
    *args->bounds_o = (struct RTCBounds){.lower_x = lower.x,
                                         .lower_y = lower.y,
                                         .lower_z = lower.z,
                                         .upper_x = upper.x,
                                         .upper_y = upper.y,
                                         .upper_z = upper.z};
}

static bool hit_lane(const LightShape *shape, const float *ray, uint32_t n, uint32_t lane,
                     float *out_t, float3 *out_ng)
{
    return light_shape_intersect(
        shape, lane_float3(ray, RAY_ORIGIN, n, lane), lane_float3(ray, RAY_DIRECTION, n, lane),
        ray[RAY_T_MIN * n + lane], ray[RAY_T_MAX * n + lane], out_t, out_ng);
}

void accel_light_intersect(const struct RTCIntersectFunctionNArguments *args)
{
    const Accel *accel = args->geometryUserPtr;
    uint32_t n = args->N;
    float *ray = (float *)args->rayhit, *hit = ray + (size_t)RAY_FIELDS * n;
    Crossing c = {.order = surface_order(HIT_LIGHT | accel->shape_light[args->primID], 0)};
    for (uint32_t lane = 0; lane < n; ++lane) {
        float t;
        float3 ng;
        if (!args->valid[lane] ||
            !hit_lane(&accel->shapes[args->primID], ray, n, lane, &c.t, &ng) ||
            !is_ahead((Query *)args->context, &c, &t))
            continue;
        ray[RAY_T_MAX * n + lane] = t;
        hit[HIT_U * n + lane] = hit[HIT_V * n + lane] = 0.0f;
        set_lane_u32(hit, HIT_PRIMITIVE, n, lane, args->primID);
        set_lane_u32(hit, HIT_GEOMETRY, n, lane, args->geomID);
        set_lane_u32(hit, HIT_INSTANCE, n, lane, args->context->instID[0]);
    }
}

void accel_light_occluded(const struct RTCOccludedFunctionNArguments *args)
{
    const Accel *accel = args->geometryUserPtr;
    uint32_t n = args->N;
    float *ray = (float *)args->ray;
    for (uint32_t lane = 0; lane < n; ++lane) {
        float t;
        float3 ng;
        if (accel->scene->lights[accel->shape_light[args->primID]].visibility.is_permeable)
            break;
        if (args->valid[lane] && hit_lane(&accel->shapes[args->primID], ray, n, lane, &t, &ng))
            ray[RAY_T_MAX * n + lane] = -INFINITY;
    }
}

/* --- what has one side ---------------------------------------------------------------------- */

void accel_skip_back(const struct RTCFilterFunctionNArguments *args)
{
    uint32_t n = args->N;
    const float *ray = (const float *)args->ray, *hit = (const float *)args->hit;
    for (uint32_t lane = 0; lane < n; ++lane) {
        if (args->valid[lane] && f3_dot(lane_float3(hit, HIT_NG, n, lane),
                                        lane_float3(ray, RAY_DIRECTION, n, lane)) > 0.0f)
            args->valid[lane] = 0;
    }
}

/* --- nearest hits --------------------------------------------------------------------------- */

/* Stores what a ray met at distance t. */
static inline void store_surface(const GeometryInfo *info, uint32_t primitive, float t, float u,
                                 float v, HitBatch *hits, uint32_t i)
{
    hits->shape[i] = shape_of(info, &primitive, &u, &v);
    hits->triangle[i] = primitive;
    hits->t[i] = t;
    hits->b1[i] = info->lights ? 0.0f : u;
    hits->b2[i] = info->lights ? 0.0f : v;
}

SORT_ALWAYS_INLINE void store_hit(const Accel *accel, const struct RTCRayHit *p, HitBatch *hits,
                                  uint32_t i)
{
    const struct RTCHit *hit = &p->hit;
    if (hit->geomID == RTC_INVALID_GEOMETRY_ID) {
        hits->shape[i] = HIT_NONE;
        return;
    }
    bool is_instanced = hit->instID[0] != RTC_INVALID_GEOMETRY_ID;
    const GeometryInfo *info = &accel->geometry[is_instanced ? hit->instID[0] : hit->geomID];
    store_surface(info, hit->primID, p->ray.tfar, hit->u, hit->v, hits, i);
}

/* Indices of rays, collected until there are enough to trace. */
enum { GROUP = 16 };
typedef struct Group {
    uint32_t ray[GROUP];
    uint32_t count;
} Group;

static void load_ray(struct RTCRay *p, const RayBatch *rays, uint32_t i, uint32_t mask)
{
    p->org_x = rays->origin[0][i];
    p->org_y = rays->origin[1][i];
    p->org_z = rays->origin[2][i];
    p->tnear = rays->t_min[i];
    p->dir_x = rays->direction[0][i];
    p->dir_y = rays->direction[1][i];
    p->dir_z = rays->direction[2][i];
    p->time = rays->time[i];
    p->tfar = rays->t_max[i];
    p->mask = mask;
    p->id = 0;
    p->flags = 0;
}

/* The fields of a ray are three quads, of which four rays that follow one another in the batch are four rows of each. */
_Static_assert(offsetof(struct RTCRay, org_x) == 0 && offsetof(struct RTCRay, tnear) == 12 &&
                   offsetof(struct RTCRay, dir_x) == 16 && offsetof(struct RTCRay, time) == 28 &&
                   offsetof(struct RTCRay, tfar) == 32 && offsetof(struct RTCRay, flags) == 44,
               "a ray begins with three quads");

static void load_four_rays(struct RTCRayHit p[4], const RayBatch *rays, uint32_t first)
{
    f32x4 from[4] = {f32x4_load(rays->origin[0] + first), f32x4_load(rays->origin[1] + first),
                     f32x4_load(rays->origin[2] + first), f32x4_load(rays->t_min + first)};
    f32x4 to[4] = {f32x4_load(rays->direction[0] + first), f32x4_load(rays->direction[1] + first),
                   f32x4_load(rays->direction[2] + first), f32x4_load(rays->time + first)};
    f32x4_transpose(from);
    f32x4_transpose(to);
    for (uint32_t k = 0; k < 4; ++k) {
        f32x4_store(from[k], &p[k].ray.org_x);
        f32x4_store(to[k], &p[k].ray.dir_x);
    }
}

/* Loads the rays of a group. masks: by ray. */
static void load_group(struct RTCRayHit p[GROUP], const Group *group, const RayBatch *rays,
                       const uint32_t masks[GROUP])
{
    uint32_t first = group->ray[0], k = 0;
    bool is_run = group->count > 0 && group->ray[group->count - 1] - first == group->count - 1;
    for (; is_run && k + 4 <= group->count; k += 4)
        load_four_rays(p + k, rays, first + k);
    for (uint32_t j = 0; j < k; ++j) {
        p[j].ray.tfar = rays->t_max[first + j];
        p[j].ray.mask = masks[j];
        p[j].ray.id = p[j].ray.flags = 0;
    }
    for (; k < group->count; ++k)
        load_ray(&p[k].ray, rays, group->ray[k], masks[k]);
    for (k = 0; k < group->count; ++k)
        p[k].hit.geomID = p[k].hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
}

/* masks: of each ray of the group. open_sets: by ray; NULL: none. */
static void intersect_group(const Accel *accel, const Group *group, const RayBatch *rays,
                            const uint32_t masks[GROUP], const uint64_t *open_sets, HitBatch *hits)
{
    struct RTCRayHit p[GROUP];
    Query query;
    query_init(&query, accel);
    load_group(p, group, rays, masks);
    for (uint32_t k = 0; k < group->count; ++k) {
        query.open_sets = open_sets ? open_sets[group->ray[k]] : 0;
        query_ray(&query, rays, group->ray[k]);
        if (query.past.first != 0)
            p[k].ray.tnear = begin_before(accel, query.past_t);
        rtcIntersect1(accel->top, &query.context, &p[k]);
        if (query.best != 0)
            p[k].ray.tfar = query.best_t;
    }
    for (uint32_t k = 0; k < group->count; ++k)
        store_hit(accel, &p[k], hits, group->ray[k]);
}

void accel_intersect(const Accel *accel, const RayBatch *rays, uint32_t count, HitBatch *out_hits)
{
    accel_intersect_as(accel, rays, NULL, count, out_hits);
}

void accel_intersect_as(const Accel *accel, const RayBatch *rays, const uint8_t *kinds,
                        uint32_t count, HitBatch *out_hits)
{
    CHECK(count <= rays->capacity && count <= out_hits->capacity);
    for (uint32_t begin = 0, n; begin < count; begin += n) {
        Group group = {.count = 0};
        uint32_t masks[GROUP];
        n = count - begin < GROUP ? count - begin : GROUP;
        for (uint32_t i = begin; i < begin + n; ++i) {
            if (SORT_UNLIKELY(rays->t_max[i] < rays->t_min[i])) {
                out_hits->shape[i] = HIT_NONE;
                continue;
            }
            masks[group.count] = kinds ? mask_of_kinds(kinds[i]) : MASK_ALL;
            group.ray[group.count++] = i;
        }
        intersect_group(accel, &group, rays, masks, NULL, out_hits);
    }
}

/* --- bundles -------------------------------------------------------------------------------- */

/* Whether rays may search together with the same result: inside instances, packets have other roundings than single
 * rays; Embree has no packets for curves that would be faster. */
static bool has_packets(const Accel *accel)
{
    return accel->stats.instanced_count == 0 && accel->stats.moving_count == 0 &&
           accel->stats.curve_segment_count == 0;
}

/* Fills a packet with rays [first, first + ACCEL_PACKET). */
static void load_packet(struct RTCRayHit8 *p, const RayBundle *rays, uint32_t first, uint32_t mask)
{
    enum { ROW_BYTES = ACCEL_PACKET * sizeof(float) };
    memcpy(p->ray.org_x, rays->origin[0] + first, ROW_BYTES);
    memcpy(p->ray.org_y, rays->origin[1] + first, ROW_BYTES);
    memcpy(p->ray.org_z, rays->origin[2] + first, ROW_BYTES);
    memcpy(p->ray.dir_x, rays->direction[0] + first, ROW_BYTES);
    memcpy(p->ray.dir_y, rays->direction[1] + first, ROW_BYTES);
    memcpy(p->ray.dir_z, rays->direction[2] + first, ROW_BYTES);
    memcpy(p->ray.tnear, rays->t_min + first, ROW_BYTES);
    memcpy(p->ray.tfar, rays->t_max + first, ROW_BYTES);
    memcpy(p->ray.time, rays->time + first, ROW_BYTES);
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane) {
        p->ray.mask[lane] = mask;
        p->ray.id[lane] = p->ray.flags[lane] = 0;
        p->hit.geomID[lane] = p->hit.instID[0][lane] = RTC_INVALID_GEOMETRY_ID;
    }
}

/* Rays [first, first + ACCEL_PACKET). */
static void intersect_packet(const Accel *accel, const RayBundle *rays, uint32_t first,
                             uint32_t live, uint32_t wanted, uint32_t mask, HitBatch *hits,
                             const uint32_t *to)
{
    _Alignas(32) int valid[ACCEL_PACKET];
    struct RTCRayHit8 p;
    Query query;
    query_init(&query, accel);
    if (!rays->is_apart)
        query.context.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
    load_packet(&p, rays, first, mask);
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane)
        valid[lane] = -(int)(live >> lane & 1);
    rtcIntersect8(valid, accel->top, &query.context, &p);
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane) {
        uint32_t i = to[first + lane], geometry = p.hit.geomID[lane];
        uint32_t placed = p.hit.instID[0][lane];
        if (!(wanted >> lane & 1))
            continue;
        if (geometry == RTC_INVALID_GEOMETRY_ID)
            hits->shape[i] = HIT_NONE;
        else
            store_surface(&accel->geometry[placed != RTC_INVALID_GEOMETRY_ID ? placed : geometry],
                          p.hit.primID[lane], p.ray.tfar[lane], p.hit.u[lane], p.hit.v[lane], hits,
                          i);
    }
}

static void intersect_bundle_singly(const Accel *accel, const RayBundle *rays, uint32_t wanted,
                                    uint32_t mask, HitBatch *hits, const uint32_t *to)
{
    Query query;
    query_init(&query, accel);
    for (uint32_t k = 0; k < RAY_BUNDLE; ++k) {
        if (!(wanted >> k & 1))
            continue;
        struct RTCRayHit p = {
            .ray = {.org_x = rays->origin[0][k],
                    .org_y = rays->origin[1][k],
                    .org_z = rays->origin[2][k],
                    .tnear = rays->t_min[k],
                    .dir_x = rays->direction[0][k],
                    .dir_y = rays->direction[1][k],
                    .dir_z = rays->direction[2][k],
                    .time = rays->time[k],
                    .tfar = rays->t_max[k],
                    .mask = mask},
            .hit = {.geomID = RTC_INVALID_GEOMETRY_ID, .instID = {RTC_INVALID_GEOMETRY_ID}}};
        rtcIntersect1(accel->top, &query.context, &p);
        store_hit(accel, &p, hits, to[k]);
    }
}

void accel_intersect_bundle(const Accel *accel, const RayBundle *rays, uint16_t live,
                            uint16_t wanted, uint8_t kinds, HitBatch *out_hits,
                            const uint32_t to[RAY_BUNDLE])
{
    enum { HALF = (1u << ACCEL_PACKET) - 1 };
    uint32_t mask = mask_of_kinds(kinds), mine = live, hit = wanted;
    CHECK((wanted & ~live) == 0);
    for (uint32_t k = 0; k < RAY_BUNDLE; ++k) {
        if (!(mine >> k & 1) || rays->t_min[k] <= rays->t_max[k])
            continue;
        if (hit >> k & 1)
            out_hits->shape[to[k]] = HIT_NONE;
        mine &= ~(1u << k), hit &= ~(1u << k);
    }
    if (!has_packets(accel)) {
        intersect_bundle_singly(accel, rays, hit, mask, out_hits, to);
        return;
    }
    for (uint32_t first = 0; first < RAY_BUNDLE; first += ACCEL_PACKET)
        if (hit >> first & HALF)
            intersect_packet(accel, rays, first, mine >> first & HALF, hit >> first & HALF, mask,
                             out_hits, to);
}

/* --- shadow rays ---------------------------------------------------------------------------- */

/* mask: MASK_OPAQUE or MASK_ALPHA. */
static uint32_t shadow_mask(const ShadowBatch *batch, uint32_t i, uint32_t mask)
{
    return batch->is_alone[i] ? mask << MASK_ALONE_SHIFT : mask;
}

/* The state of queries for shadow rays, whose RTCRay.id is their place in the batch. */
typedef struct ShadowQuery {
    struct RTCIntersectContext context; /* the first field: Embree hands it to callbacks */
    const Accel *accel;
    const uint64_t *open_sets;
} ShadowQuery;

/* Filter of shadow rays that some instances do not block. */
static void skip_open(const struct RTCFilterFunctionNArguments *args)
{
    const ShadowQuery *query = (const ShadowQuery *)args->context;
    const unsigned *hit = (const unsigned *)args->hit, *ray = (const unsigned *)args->ray;
    for (uint32_t lane = 0; lane < args->N; ++lane)
        if (args->valid[lane] &&
            is_in_sets(query->accel, geometry_hit(query->accel, hit, args->N, lane),
                       query->open_sets[ray[RAY_ID * args->N + lane]]))
            args->valid[lane] = 0;
}

static void shadow_query_init(ShadowQuery *query, const Accel *accel, const ShadowBatch *batch,
                              const Group *group)
{
    uint64_t any = 0;
    *query = (ShadowQuery){.accel = accel, .open_sets = batch->open_sets};
    rtcInitIntersectContext(&query->context);
    for (uint32_t k = 0; k < group->count; ++k)
        any |= batch->open_sets[group->ray[k]];
    query->context.filter = any != 0 ? skip_open : NULL;
}

/* out_blocked: per ray of the group. */
static void occlude_singles(const Accel *accel, const Group *group, const ShadowBatch *batch,
                            bool *out_blocked)
{
    struct RTCRay p[GROUP];
    ShadowQuery query;
    shadow_query_init(&query, accel, batch, group);
    for (uint32_t k = 0; k < group->count; ++k) {
        load_ray(&p[k], &batch->rays, group->ray[k],
                 shadow_mask(batch, group->ray[k], MASK_OPAQUE));
        p[k].id = group->ray[k];
    }
    for (uint32_t k = 0; k < group->count; ++k) {
        rtcOccluded1(accel->top, &query.context, &p[k]);
        out_blocked[k] = p[k].tfar < 0.0f;
    }
}

/* Opaque surfaces, any of them. What gets through is clear, or has to be followed through surfaces
 * with alpha. */
static void occlude_group(const Accel *accel, const Group *group, ShadowBatch *batch)
{
    bool blocked[GROUP];
    occlude_singles(accel, group, batch, blocked);
    for (uint32_t k = 0; k < group->count; ++k) {
        ShadowState through = accel->has_alpha ? SHADOW_RESUMED : SHADOW_CLEAR;
        batch->state[group->ray[k]] = (uint8_t)(blocked[k] ? SHADOW_BLOCKED : through);
    }
}

static void alpha_group(const Accel *accel, const Group *group, ShadowBatch *batch)
{
    uint32_t masks[GROUP];
    for (uint32_t k = 0; k < group->count; ++k)
        masks[k] = shadow_mask(batch, group->ray[k], MASK_ALPHA);
    intersect_group(accel, group, &batch->rays, masks, batch->open_sets, &batch->hits);
    for (uint32_t k = 0; k < group->count; ++k) {
        uint32_t i = group->ray[k];
        batch->state[i] = (uint8_t)(batch->hits.shape[i] == HIT_NONE ? SHADOW_CLEAR : SHADOW_ALPHA);
    }
}

/* An empty segment (t_max < t_min) is clear. */
static void trace_state(const Accel *accel, ShadowBatch *batch, uint32_t count, ShadowState state,
                        void (*trace)(const Accel *, const Group *, ShadowBatch *))
{
    Group group = {.count = 0};
    for (uint32_t i = 0; i < count; ++i) {
        if (batch->state[i] == (uint8_t)state) {
            if (batch->rays.t_max[i] < batch->rays.t_min[i])
                batch->state[i] = SHADOW_CLEAR;
            else
                group.ray[group.count++] = i;
        }
        if (group.count == GROUP || i + 1 == count) {
            trace(accel, &group, batch);
            group.count = 0;
        }
    }
}

/* Fills a packet with the rays from `first` on, some of which are no rays. */
static void load_shadow_packet(struct RTCRay8 *p, const ShadowBatch *batch, uint32_t first)
{
    enum { ROW_BYTES = ACCEL_PACKET * sizeof(float) };
    const RayBatch *rays = &batch->rays;
    memcpy(p->org_x, rays->origin[0] + first, ROW_BYTES);
    memcpy(p->org_y, rays->origin[1] + first, ROW_BYTES);
    memcpy(p->org_z, rays->origin[2] + first, ROW_BYTES);
    memcpy(p->tnear, rays->t_min + first, ROW_BYTES);
    memcpy(p->dir_x, rays->direction[0] + first, ROW_BYTES);
    memcpy(p->dir_y, rays->direction[1] + first, ROW_BYTES);
    memcpy(p->dir_z, rays->direction[2] + first, ROW_BYTES);
    memcpy(p->time, rays->time + first, ROW_BYTES);
    memcpy(p->tfar, rays->t_max + first, ROW_BYTES);
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane) {
        p->mask[lane] = shadow_mask(batch, first + lane, MASK_OPAQUE);
        p->id[lane] = first + lane;
        p->flags[lane] = 0;
    }
}

/* Traces the QUEUED ones of rays [first, first + ACCEL_PACKET), as far as there are `count`, side by side: any opaque surface
 * blocks one, so that nothing depends on its company. */
static void occlude_packet(const Accel *accel, ShadowBatch *batch, uint32_t first, uint32_t count)
{
    _Alignas(32) int valid[ACCEL_PACKET];
    struct RTCRay8 p;
    ShadowQuery query = {.accel = accel, .open_sets = batch->open_sets};
    uint8_t *state = batch->state + first;
    uint8_t through = accel->has_alpha ? SHADOW_RESUMED : SHADOW_CLEAR;
    int queued[ACCEL_PACKET], any = 0;
    uint64_t open_sets = 0;
    load_shadow_packet(&p, batch, first);
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane) /* loops of vectors: all lanes */
        queued[lane] = -((state[lane] == SHADOW_QUEUED) & (first + lane < count));
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane) {
        valid[lane] = queued[lane] & -!(p.tfar[lane] < p.tnear[lane]);
        any |= valid[lane];
    }
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane)
        open_sets |= batch->open_sets[first + lane];
    if (any) {
        rtcInitIntersectContext(&query.context);
        query.context.filter = open_sets != 0 ? skip_open : NULL;
        rtcOccluded8(valid, accel->top, &query.context, &p);
    }
    for (uint32_t lane = 0; lane < ACCEL_PACKET; ++lane) {
        uint8_t traced = p.tfar[lane] < 0.0f ? SHADOW_BLOCKED : through;
        traced = valid[lane] ? traced : SHADOW_CLEAR;
        state[lane] = queued[lane] ? traced : state[lane];
    }
}

bool accel_occluded(const Accel *accel, ShadowBatch *batch, uint32_t count)
{
    CHECK(count <= batch->capacity);
    if (has_packets(accel))
        for (uint32_t first = 0; first < count; first += ACCEL_PACKET)
            occlude_packet(accel, batch, first, count);
    else
        trace_state(accel, batch, count, SHADOW_QUEUED, occlude_group);
    if (accel->has_alpha)
        trace_state(accel, batch, count, SHADOW_RESUMED, alpha_group);
    return accel->has_alpha;
}

void shadow_batch_continue(ShadowBatch *batch, uint32_t index)
{
    CHECK(batch->state[index] == SHADOW_ALPHA);
    ray_batch_pass(&batch->rays, &batch->hits, index);
    batch->state[index] = SHADOW_RESUMED;
}
