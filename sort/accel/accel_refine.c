/* Building well what was built roughly: the same triangles, in another scene of Embree, which takes the place of the rough one in
 * the store and in the top scene. */
#include "sort/accel/accel_state.h"

/* A hierarchy is in use once for each mesh and each instance that has it. */
uint64_t accel_rough_triangles(const Accel *accel)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < accel->scene->mesh_count; ++i)
        count += accel_stored_rough_triangles(accel->stored_meshes[i]);
    for (uint32_t i = 0; i < accel->scene->instance_count; ++i)
        count += accel_stored_rough_triangles(accel->stored_instances[i]);
    return count;
}

/* RTCProgressMonitorFunction: false ends the building. */
static bool goes_on(void *data, double done)
{
    const _Atomic bool *stop = data;
    SORT_UNUSED(done);
    return !atomic_load(stop);
}

/* Returns the hierarchy of a rough one's geometry, built well; NULL: the building was stopped, or failed, which the device knows. */
static RTCScene built_well(const Accel *accel, const StoredMesh *rough, const _Atomic bool *stop)
{
    RTCScene scene = accel_device_scene(accel->device);
    RTCGeometry geometry = rtcGetGeometry(accel_stored_scene(rough), 0);
    union {
        const void *constant;
        void *data;
    } monitor = {.constant = stop};
    if (!scene)
        return NULL;
    rtcSetGeometryBuildQuality(geometry, RTC_BUILD_QUALITY_MEDIUM);
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(scene, geometry, 0);
    if (stop)
        rtcSetSceneProgressMonitorFunction(scene, goes_on, monitor.data);
    rtcCommitScene(scene);
    rtcSetSceneProgressMonitorFunction(scene, NULL, NULL);
    if (accel_device_status(accel->device, "", NULL) == STATUS_OK)
        return scene;
    rtcReleaseScene(scene);
    return NULL;
}

static Status refine(Accel *accel, StoredMesh *stored, const _Atomic bool *stop, Error *err)
{
    if (accel_stored_rough_triangles(stored) == 0)
        return STATUS_OK;
    if (stop && atomic_load(stop))
        return error_set(err, STATUS_CANCELLED, "cancelled");
    RTCScene scene = built_well(accel, stored, stop);
    if (scene) {
        accel_store_refine(accel->store, stored, scene);
        return STATUS_OK;
    }
    Status status = accel_device_status(accel->device, "building the hierarchy of a mesh", err);
    accel_device_forget(accel->device);
    return stop && atomic_load(stop) ? error_set(err, STATUS_CANCELLED, "cancelled") : status;
}

static Status refine_all(Accel *accel, const _Atomic bool *stop, Error *err)
{
    for (uint32_t i = 0; i < accel->scene->mesh_count; ++i)
        TRY(refine(accel, accel->stored_meshes[i], stop, err));
    for (uint32_t i = 0; i < accel->scene->instance_count; ++i)
        TRY(refine(accel, accel->stored_instances[i], stop, err));
    return STATUS_OK;
}

/* Places in the top scene what the store now has. */
static void place(Accel *accel, uint32_t instance)
{
    uint32_t mesh = accel->scene->instances[instance].mesh;
    const StoredMesh *stored = accel->stored_instances[instance];
    stored = stored ? stored : accel->stored_meshes[mesh];
    if (!stored)
        return;
    RTCGeometry geometry = rtcGetGeometry(accel->top, instance);
    rtcSetGeometryInstancedScene(geometry, accel_stored_scene(stored));
    rtcCommitGeometry(geometry);
}

Status accel_refine(Accel *accel, const _Atomic bool *stop, Error *err)
{
    Status status = refine_all(accel, stop, err);
    for (uint32_t i = 0; i < accel->scene->mesh_count; ++i) {
        if (!accel->stored_meshes[i])
            continue;
        rtcReleaseScene(accel->mesh_scenes[i]);
        accel->mesh_scenes[i] = accel_stored_scene(accel->stored_meshes[i]);
        rtcRetainScene(accel->mesh_scenes[i]);
    }
    for (uint32_t i = 0; i < accel->scene->instance_count; ++i)
        place(accel, i);
    rtcCommitScene(accel->top);
    Status placed = accel_device_status(accel->device, "building the hierarchy", err);
    return status != STATUS_OK ? status : placed;
}
