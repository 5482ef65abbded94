/* Ray intersection in batches. The only user of Embree.
 *
 *   Scene + AccelDesc --accel_create--> Accel   immutable, any thread
 *   RayBundle   --accel_intersect_bundle--> HitBatch   nearest hits of rays side by side
 *   RayBatch    --accel_intersect--> HitBatch   nearest hits
 *   ShadowBatch --accel_occluded-->  state      blocked, clear, or an alpha hit for shade to resolve
 *
 * Results of a ray do not depend on its company in a batch, nor on its place; in a bundle they may.
 *
 * Alpha is never evaluated here: materials that may be transparent are known by name (AccelDesc),
 * and a shadow ray stops at the nearest of their surfaces; shade multiplies the transmittance and
 * calls shadow_batch_continue.
 *
 * Batches are structures of arrays in a caller's arena; every array has room for a multiple of
 * ACCEL_PACKET. */
#ifndef SORT_ACCEL_ACCEL_H
#define SORT_ACCEL_ACCEL_H

#include "base/arena.h"
#include "sort/accel/accel_store.h"
#include "sort/scene/ray.h"
#include "sort/scene/scene.h"
#include <string.h>

enum { ACCEL_PACKET = 8 };

typedef struct RayBatch {
    uint32_t capacity;
    float *origin[3], *direction[3]; /* direction: unit */
    float *t_min, *t_max, *time;     /* t_max < t_min: a dead ray, hits nothing */
    bool
        *has_past; /* else the ray has passed nothing, and its past is not set: few rays have one */
    RayPast *past;
} RayBatch;

/* Rays that run side by side, such as those of a square of pixels, with unit directions. */
enum { RAY_BUNDLE = 2 * ACCEL_PACKET };
typedef struct RayBundle {
    _Alignas(32) float origin[3][RAY_BUNDLE];
    _Alignas(32) float direction[3][RAY_BUNDLE];
    _Alignas(32) float t_min[RAY_BUNDLE];
    _Alignas(32) float t_max[RAY_BUNDLE];
    _Alignas(32) float time[RAY_BUNDLE];
    /* The rays visit other parts of the scene soon, as they do where a pixel is larger than what it shows. They then have the hits of
     * single rays. */
    bool is_apart;
} RayBundle;

/* Hit.shape: HIT_NONE, an instance, or HIT_LIGHT | index into Scene.lights. */
#define HIT_NONE  0xffffffffu
#define HIT_LIGHT 0x80000000u

typedef struct HitBatch {
    uint32_t capacity;
    uint32_t *shape;
    uint32_t *triangle; /* of the instance's mesh, or segment of its curves; 0 for lights */
    float *t;
    float *b1, *b2; /* barycentrics: P = (1-b1-b2) corner0 + b1 corner1 + b2 corner2; 0 for lights.
                   * On curves b1 is u along the segment, and b2 is undefined */
} HitBatch;

static inline void hit_batch_copy(HitBatch *to, uint32_t i, const HitBatch *from, uint32_t k)
{
    to->shape[i] = from->shape[k], to->triangle[i] = from->triangle[k];
    to->t[i] = from->t[k], to->b1[i] = from->b1[k], to->b2[i] = from->b2[k];
}

static inline bool hit_is_light(uint32_t shape)
{
    return shape != HIT_NONE && (shape & HIT_LIGHT);
}
static inline bool hit_is_mesh(uint32_t shape)
{
    return !(shape & HIT_LIGHT);
}

typedef enum ShadowState {
    SHADOW_DEAD,    /* not a ray: left alone */
    SHADOW_QUEUED,  /* to be traced */
    SHADOW_ALPHA,   /* out: the nearest surface that may be transparent is in `hit`; nothing opaque
                     * lies on the way */
    SHADOW_RESUMED, /* to be traced on from there (shadow_batch_continue) */
    SHADOW_CLEAR,   /* out: unoccluded */
    SHADOW_BLOCKED  /* out: an opaque surface lies on the way */
} ShadowState;

typedef struct ShadowBatch {
    uint32_t capacity;
    RayBatch rays;
    HitBatch hits;       /* valid where state is SHADOW_ALPHA */
    uint8_t *state;      /* ShadowState */
    bool *is_alone;      /* the ray meets shadow catchers and lights alone */
    uint64_t *open_sets; /* instances of these link sets do not block the ray */
} ShadowBatch;

/* In `arena`, zeroed. STATUS_NO_MEMORY. */
Status ray_batch_create(Arena *arena, uint32_t capacity, RayBatch *out_batch,
                        Error *err) SORT_MUST_CHECK;
Status hit_batch_create(Arena *arena, uint32_t capacity, HitBatch *out_batch,
                        Error *err) SORT_MUST_CHECK;
Status shadow_batch_create(Arena *arena, uint32_t capacity, ShadowBatch *out_batch,
                           Error *err) SORT_MUST_CHECK;
static inline void ray_batch_set(RayBatch *b, uint32_t i, const Ray *ray)
{
    b->origin[0][i] = ray->origin.x, b->origin[1][i] = ray->origin.y;
    b->origin[2][i] = ray->origin.z;
    b->direction[0][i] = ray->direction.x, b->direction[1][i] = ray->direction.y;
    b->direction[2][i] = ray->direction.z;
    b->t_min[i] = ray->t_min, b->t_max[i] = ray->t_max, b->time[i] = ray->time;
    b->has_past[i] = ray->past.first != 0;
    if (b->has_past[i])
        b->past[i] = ray->past;
}
/* Sets ray i to one that begins: it has passed nothing. */
static inline void ray_batch_start(RayBatch *b, uint32_t i, float3 origin, float3 direction,
                                   float t_max, float time)
{
    b->origin[0][i] = origin.x, b->origin[1][i] = origin.y, b->origin[2][i] = origin.z;
    b->direction[0][i] = direction.x, b->direction[1][i] = direction.y;
    b->direction[2][i] = direction.z;
    b->t_min[i] = 0.0f, b->t_max[i] = t_max, b->time[i] = time;
    b->has_past[i] = false;
}
/* Starts rays [first, first + RAY_BUNDLE), those of a bundle. */
static inline void ray_batch_start_bundle(RayBatch *b, uint32_t first, const RayBundle *rays)
{
    for (uint32_t c = 0; c < 3; ++c) {
        memcpy(b->origin[c] + first, rays->origin[c], sizeof rays->origin[c]);
        memcpy(b->direction[c] + first, rays->direction[c], sizeof rays->direction[c]);
    }
    memcpy(b->t_min + first, rays->t_min, sizeof rays->t_min);
    memcpy(b->t_max + first, rays->t_max, sizeof rays->t_max);
    memcpy(b->time + first, rays->time, sizeof rays->time);
    memset(b->has_past + first, 0, RAY_BUNDLE * sizeof *b->has_past);
}
/* Sets where ray i goes, but not its time. ray_batch_begin makes it one that begins. */
static inline void ray_batch_aim(RayBatch *b, uint32_t i, float3 origin, float3 direction,
                                 float t_max)
{
    b->origin[0][i] = origin.x, b->origin[1][i] = origin.y, b->origin[2][i] = origin.z;
    b->direction[0][i] = direction.x, b->direction[1][i] = direction.y;
    b->direction[2][i] = direction.z;
    b->t_max[i] = t_max;
}
/* Makes rays [first, first + count) ones that have passed nothing. */
static inline void ray_batch_begin(RayBatch *b, uint32_t first, uint32_t count)
{
    memset(b->t_min + first, 0, count * sizeof *b->t_min);
    memset(b->has_past + first, 0, count * sizeof *b->has_past);
}
/* Sends ray i on from another place without an end, at its time. */
static inline void ray_batch_restart(RayBatch *b, uint32_t i, float3 origin, float3 direction)
{
    ray_batch_aim(b, i, origin, direction, INFINITY);
    b->t_min[i] = 0.0f;
    b->has_past[i] = false;
}
static inline Ray ray_batch_get(const RayBatch *b, uint32_t i)
{
    return (Ray){.origin = f3(b->origin[0][i], b->origin[1][i], b->origin[2][i]),
                 .direction = f3(b->direction[0][i], b->direction[1][i], b->direction[2][i]),
                 .t_min = b->t_min[i],
                 .t_max = b->t_max[i],
                 .time = b->time[i],
                 .past = b->has_past[i] ? b->past[i] : (RayPast){0}};
}
/* Copies ray `from` to the place of ray `to`. */
static inline void ray_batch_copy(RayBatch *b, uint32_t to, uint32_t from)
{
    for (uint32_t c = 0; c < 3; ++c) {
        b->origin[c][to] = b->origin[c][from];
        b->direction[c][to] = b->direction[c][from];
    }
    b->t_min[to] = b->t_min[from], b->t_max[to] = b->t_max[from], b->time[to] = b->time[from];
    b->has_past[to] = b->has_past[from];
    if (b->has_past[to])
        b->past[to] = b->past[from];
}
/* Sends ray i straight on through the surface that it has met, hits[i]. The origin stays, so that every surface keeps its
 * distance. The ray then meets the nearest surface that it has not met, by distance, and by instance and triangle among
 * equally far ones, so that it meets each of coplanar surfaces once. */
void ray_batch_pass(RayBatch *batch, const HitBatch *hits, uint32_t index);
/* Sends a ray on through its alpha hit, which has let some light through. */
void shadow_batch_continue(ShadowBatch *batch, uint32_t index);

typedef struct Accel Accel;

typedef struct AccelDesc {
    size_t size_bytes;  /* sizeof(AccelDesc) */
    const Scene *scene; /* borrowed: its arrays are used in place */
    /* [material_count] true: may be transparent; NULL: none is. */
    const bool *material_has_alpha;
    uint32_t thread_count; /* for building; 0: one a CPU */
    /* "x86-64-v3": the instructions of that baseline, so that rays have the same bits on all machines that
     * have it; another name, or NULL: the best of this machine. */
    const char *cpu_class;
    /* Borrowed, NULL: none. Has the hierarchies that are instanced, and its device is used: thread_count and cpu_class are
     * its own. */
    AccelStore *store;
    /* With a store: it also has one for each flattened mesh, so that little is built when little has changed. Rays are then
     * slower, those of large meshes until accel_refine even more, and may meet surfaces that coincide in another order. */
    bool is_in_parts;
} AccelDesc;

typedef struct AccelStats {
    uint64_t memory_bytes;        /* Embree's and ours, arrays of the Scene not counted */
    uint64_t triangle_count;      /* as built: flattened copies counted each */
    uint64_t curve_segment_count; /* as built, too */
    uint32_t flattened_count, instanced_count; /* instances by kind */
    uint32_t moving_count; /* of both: instances that move, or whose mesh does */
} AccelStats;

/* Builds the acceleration structure. *out_accel is the caller's. Errors of Embree are returned as STATUS_NO_MEMORY or
 * STATUS_INTERNAL with its message. */
Status accel_create(const AccelDesc *desc, Accel **out_accel, Error *err) SORT_MUST_CHECK;
void accel_destroy(Accel *accel); /* NULL is fine */
AccelStats accel_stats(const Accel *accel);

/* Returns the triangles of the hierarchies that are rough: those of parts with many triangles are at first, so that an edit of
 * them is seen soon. */
uint64_t accel_rough_triangles(const Accel *accel);
/* Builds these well; no thread may trace meanwhile. What a ray hits does not change, but for surfaces that coincide and edges.
 * stop: borrowed, NULL: none; set, it ends the building at once with STATUS_CANCELLED, and what was rough may still be. Other
 * errors: as accel_create. */
Status accel_refine(Accel *accel, const _Atomic bool *stop, Error *err) SORT_MUST_CHECK;

/* Flushes denormals to zero in the calling thread, as Embree requires it, for all code that runs there. Call it at the start of every worker thread, before it makes fibers: they
 * inherit it (base/thread.h, thread_flush_denormals). */
void accel_thread_begin(void);

/* Nearest hits of rays [0, count). Triangles with zero area are never hit; both sides are. Round curves are hit
 * from outside only. */
void accel_intersect(const Accel *accel, const RayBatch *rays, uint32_t count, HitBatch *out_hits);
/* Nearest hits among the instances that are visible to the rays: ray i counts as kinds[i], one or several SceneRays without
 * SHADOW. A ray of ACCEL_ALONE(kinds) sees only the shadow catchers and lights among them. kinds NULL: rays see all. */
#define ACCEL_ALONE(kinds) ((uint8_t)((kinds) << 4))
void accel_intersect_as(const Accel *accel, const RayBatch *rays, const uint8_t *kinds,
                        uint32_t count, HitBatch *out_hits);

/* Nearest hits of the rays of the bits `live`, which have passed nothing, and count as `kinds`. Those of the bits `wanted`,
 * which are among them, are written to out_hits, ray k to the place to[k]. The rays search the scene together, for a
 * fraction of the time: which of two triangles is named where they meet may depend on all that are live. */
void accel_intersect_bundle(const Accel *accel, const RayBundle *rays, uint16_t live,
                            uint16_t wanted, uint8_t kinds, HitBatch *out_hits,
                            const uint32_t to[RAY_BUNDLE]);

/* Traces the rays of [0, count) that are QUEUED or RESUMED; each becomes CLEAR, BLOCKED or ALPHA. Returns whether any may have
 * become ALPHA. */
bool accel_occluded(const Accel *accel, ShadowBatch *batch, uint32_t count);

#endif
