/* The structure that accel_build.c makes and accel_trace.c reads. Private to sort/accel. */
#ifndef SORT_ACCEL_ACCEL_STATE_H
#define SORT_ACCEL_ACCEL_STATE_H

#include "sort/accel/accel.h"
#include "sort/accel/accel_stored.h"
#include "sort/accel/triangle_pairs.h"
#include "sort/light/light_shape.h"

/* Ray masks. A geometry that throws shadows has one of the first two, and above them a bit for each of SceneRays
 * that see it. Shadow catchers, lamps and lights have them all a second time, for rays that meet nothing else. */
enum {
    MASK_OPAQUE = 1,
    MASK_ALPHA = 2,
    MASK_RAYS_SHIFT = 2,
    MASK_RAYS = (SCENE_RAYS_CAMERA | SCENE_RAYS_BOUNCED) << MASK_RAYS_SHIFT,
    MASK_ALONE_SHIFT = 16,
    MASK_ALL = 0x7fffffff
};
_Static_assert(MASK_RAYS >> MASK_RAYS_SHIFT == 15, "ACCEL_ALONE moves four bits");

/* Returns the mask of a ray that counts as `kinds` in accel_intersect_as. */
static inline uint32_t mask_of_kinds(uint8_t kinds)
{
    uint32_t any = kinds & 15u, alone = (uint32_t)kinds >> 4;
    return any << MASK_RAYS_SHIFT | alone << (MASK_RAYS_SHIFT + MASK_ALONE_SHIFT);
}

/* By geometry id of the top scene. */
typedef struct GeometryInfo {
    uint32_t shape; /* HitBatch.shape; of the light geometry: HIT_LIGHT, the primitive says which */
    bool is_curve;
    /* Indices into Scene.lights, one for each per_light primitives of a geometry of lights; else NULL. */
    const uint32_t *lights;
    uint32_t per_light;
    /* TrianglePairs.triangles, by primitive, borrowed; NULL: primitives are triangles or no mesh's. */
    const uint32_t *pairs;
} GeometryInfo;

/* Geometries of lights, behind those of instances (accel_lights.c). */
enum { ACCEL_LIGHT_GEOMETRIES = 5 };

struct Accel {
    const Scene *scene;     /* borrowed */
    AccelDevice own_device; /* closed with a store */
    AccelDevice *device;    /* that, or the store's */
    AccelStore *store;      /* borrowed; NULL: none */
    bool is_in_parts;
    RTCScene top;
    bool has_pairs;        /* triangles of the top scene are in pairs */
    TrianglePairs *pairs;  /* [mesh_count], zeros where no hierarchy of this Accel is of pairs */
    RTCScene *mesh_scenes; /* [mesh_count], NULL for flattened meshes */
    StoredMesh **stored_meshes;    /* [mesh_count], in use where mesh_scenes are the store's */
    StoredMesh **stored_instances; /* [instance_count], in use where the instance is_placed */
    float *curve_scales;           /* [mesh_count] what Embree has curves larger by; 1 for others */
    GeometryInfo *geometry;        /* [geometry_count] */
    LightShape *shapes;            /* [shape_count]: primitives of the first geometry of lights */
    uint32_t *shape_light;         /* owned; GeometryInfo.lights of all geometries of lights */
    uint32_t geometry_count, shape_count;
    bool has_alpha;
    /* Bounds the distance between where rays meet a surface below an instance and the instance's bounds, which Embree
     * takes in world space; 0 without instances. */
    float slack_m;
    /* The widest of round curves; negative if there are none. Embree finds their crossings by iteration, which fails or
     * comes to another number where the ray begins nearer than about this to them. */
    float widest_m;
    AccelStats stats;
};

/* Returns the order in which a ray meets equally far surfaces, from the smallest; never 0. */
static inline uint64_t surface_order(uint32_t shape, uint32_t triangle)
{
    return ((uint64_t)shape << 32 | triangle) + 1;
}

/* Returns HitBatch.shape of a primitive, and changes it into HitBatch.triangle; *u and *v, where it was hit, become barycentrics
 * of that. */
static inline uint32_t shape_of(const GeometryInfo *info, uint32_t *primitive, float *u, float *v)
{
    if (info->pairs)
        *primitive = triangle_of_pair(info->pairs[*primitive], u, v);
    if (!info->lights)
        return info->shape;
    uint32_t light = info->lights[*primitive / info->per_light];
    *primitive = 0;
    return HIT_LIGHT | light;
}

Status accel_attach_lights(Accel *accel, Error *err) SORT_MUST_CHECK;
/* Callbacks of the geometry of round lights; its user data is the Accel. */
void accel_light_bounds(const struct RTCBoundsFunctionArguments *args);
void accel_light_intersect(const struct RTCIntersectFunctionNArguments *args);
void accel_light_occluded(const struct RTCOccludedFunctionNArguments *args);

/* Filter of round curves and of lights with one side: no ray meets them from behind. */
void accel_skip_back(const struct RTCFilterFunctionNArguments *args);

#endif
