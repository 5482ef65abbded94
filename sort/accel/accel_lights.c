/* Lights that are surfaces, as geometries of the top scene behind the instances:
 *
 *   [instance_count]        spheres, disks and ellipses, as user geometry
 *   [instance_count + 1..]  rectangles, as two triangles or a pair each, as the scene's
 *                           triangles are, by what rays of theirs meet
 *
 * These share the hierarchy of the scene's, while user geometry has one of its own and a callback for each ray that
 * comes near. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/accel/accel_state.h"

/* Kinds of geometries of rectangles: a sum of these. */
enum { TWO_SIDED = 1, PERMEABLE = 2, RECTANGLE_KINDS = 4 };
_Static_assert(ACCEL_LIGHT_GEOMETRIES == 1 + RECTANGLE_KINDS, "one for round lights");

/* The geometry that a light belongs to, from 0; ACCEL_LIGHT_GEOMETRIES: none. */
static uint32_t geometry_of(const SceneLight *light)
{
    if (!light_shape_exists(light) || light->visibility.is_sampled_only)
        return ACCEL_LIGHT_GEOMETRIES;
    if (light->kind != SCENE_LIGHT_RECTANGLE)
        return 0;
    return 1u + (light->is_two_sided ? TWO_SIDED : 0u) +
           (light->visibility.is_permeable ? PERMEABLE : 0u);
}

static void attach(Accel *accel, RTCGeometry geometry, uint32_t k, GeometryInfo info)
{
    uint32_t id = accel->scene->instance_count + k;
    unsigned mask = MASK_RAYS;
    ASSERT(k < ACCEL_LIGHT_GEOMETRIES);
    if (k == 0 || !((k - 1) & PERMEABLE)) /* round lights tell for themselves what stops */
        mask |= MASK_OPAQUE;
    rtcSetGeometryMask(geometry, mask | mask << MASK_ALONE_SHIFT);
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(accel->top, geometry, id);
    rtcReleaseGeometry(geometry);
    accel->geometry[id] = info;
}

static Status attach_round(Accel *accel, const uint32_t *lights, uint32_t count, Error *err)
{
    accel->shapes = MEM_ARRAY(LightShape, count);
    accel->shape_count = count;
    if (!accel->shapes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u lights", count);
    for (uint32_t i = 0; i < count; ++i)
        light_shape_init(&accel->scene->lights[lights[i]], &accel->shapes[i]);
    RTCGeometry geometry = rtcNewGeometry(accel->device->device, RTC_GEOMETRY_TYPE_USER);
    if (!geometry)
        return STATUS_OK; /* Embree has said why */
    rtcSetGeometryUserPrimitiveCount(geometry, count);
    rtcSetGeometryUserData(geometry, accel);
    rtcSetGeometryBoundsFunction(geometry, accel_light_bounds, NULL);
    rtcSetGeometryIntersectFunction(geometry, accel_light_intersect);
    rtcSetGeometryOccludedFunction(geometry, accel_light_occluded);
    attach(accel, geometry, 0,
           (GeometryInfo){.shape = HIT_LIGHT, .lights = lights, .per_light = 1});
    return STATUS_OK;
}

static void attach_rectangles(Accel *accel, const uint32_t *lights, uint32_t count, uint32_t k)
{
    static const uint32_t triangles[6] = {0, 1, 2, 0, 2, 3}, pair[4] = {0, 1, 2, 3};
    const uint32_t *order = accel->has_pairs ? pair : triangles;
    uint32_t per_light = accel->has_pairs ? 1 : 2, per_face = accel->has_pairs ? 4 : 3;
    RTCGeometry geometry =
        rtcNewGeometry(accel->device->device,
                       accel->has_pairs ? RTC_GEOMETRY_TYPE_QUAD : RTC_GEOMETRY_TYPE_TRIANGLE);
    if (!geometry)
        return;
    float *vertices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0,
                                              RTC_FORMAT_FLOAT3, 3 * sizeof(float), 4ull * count);
    uint32_t *indices = rtcSetNewGeometryBuffer(
        geometry, RTC_BUFFER_TYPE_INDEX, 0, accel->has_pairs ? RTC_FORMAT_UINT4 : RTC_FORMAT_UINT3,
        per_face * sizeof(uint32_t), (size_t)per_light * count);
    for (uint32_t i = 0; vertices && indices && i < count; ++i) {
        LightShape shape;
        float3 corners[4];
        light_shape_init(&accel->scene->lights[lights[i]], &shape);
        light_shape_corners(&shape, corners);
        for (uint32_t c = 0; c < 4; ++c) {
            float *v = vertices + (size_t)3 * (4 * (size_t)i + c);
            v[0] = corners[c].x, v[1] = corners[c].y, v[2] = corners[c].z;
        }
        for (uint32_t c = 0; c < per_light * per_face; ++c)
            indices[(size_t)per_light * per_face * i + c] = 4 * i + order[c];
    }
    if (!((k - 1) & TWO_SIDED)) {
        rtcSetGeometryIntersectFilterFunction(geometry, accel_skip_back);
        rtcSetGeometryOccludedFilterFunction(geometry, accel_skip_back);
    }
    attach(accel, geometry, k,
           (GeometryInfo){.shape = HIT_LIGHT, .lights = lights, .per_light = per_light});
}

Status accel_attach_lights(Accel *accel, Error *err)
{
    const Scene *scene = accel->scene;
    uint32_t first = 0;
    accel->shape_light = MEM_ARRAY(uint32_t, (size_t)scene->light_count + 1);
    if (!accel->shape_light)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u lights", scene->light_count);
    for (uint32_t k = 0; k < ACCEL_LIGHT_GEOMETRIES; ++k) {
        uint32_t *lights = accel->shape_light + first, count = 0;
        for (uint32_t i = 0; i < scene->light_count; ++i)
            if (geometry_of(&scene->lights[i]) == k)
                lights[count++] = i;
        if (count > 0 && k == 0)
            TRY(attach_round(accel, lights, count, err));
        else if (count > 0)
            attach_rectangles(accel, lights, count, k);
        first += count;
    }
    return STATUS_OK;
}
