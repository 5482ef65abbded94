/* Scene to Embree.
 *
 *   top scene:  [geometry 0 .. instance_count-1]  instance i: its triangles in world space
 *                                                 (flattened), or a reference to its mesh's scene
 *               [geometry instance_count ..]      lights (accel_lights.c)
 *
 * A ray pays several times for an instanced object: transforming it, a second hierarchy, overlapping
 * bounds. So meshes that are used once are flattened, and so are the others as long as the copies
 * together stay below a limit. Flattened or not is decided by counts alone, the same on every
 * machine. What moves is flattened into one set of vertices a key, which Embree interpolates; that is
 * the same motion as that of the interpolated matrix, since both are linear.
 *
 * Triangles are pairs where that pays (triangle_pairs.h).
 *
 * Curves are shared with Embree as they are, and instanced unless they stand where they are defined: a radius has
 * no meaning under a transform that stretches. Linear tubes of very short or long segments are instanced in another size.
 *
 * The robust flag is set: without it rays slip through shared edges. */
#include "sort/accel/accel_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/scene_bounds.h"

/* Triangles that flattening may add beyond one copy of each mesh: about 200 MB of hierarchy. */
enum { FLATTEN_EXTRA_TRIANGLES = 1 << 21 };

/* A hierarchy of its own costs a ray more than a few triangles, and memory. */
enum { PART_TRIANGLES_MIN = 16 };

/* Fewer are built well in a few milliseconds. */
enum { ROUGH_TRIANGLES_MIN = 1 << 16 };

/* --- geometry ------------------------------------------------------------------------------- */

static const float *positions_of_key(const SceneMesh *mesh, uint32_t key)
{
    return key == 0 || mesh->later_count == 0 ? mesh->positions : mesh->later[key - 1].positions;
}

/* The vertices of a key of the mesh, moved, as time step `step`. False on failure. */
static bool add_moved_vertices(RTCGeometry geometry, const SceneMesh *mesh, const mat4 *transform,
                               uint32_t step)
{
    const float *positions = positions_of_key(mesh, step);
    float *moved =
        rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, step, RTC_FORMAT_FLOAT3,
                                3 * sizeof(float), mesh->vertex_count);
    for (size_t i = 0; moved && i < mesh->vertex_count; ++i) {
        const float *p = &positions[3 * i];
        float3 q = mat4_point(transform, f3(p[0], p[1], p[2]));
        moved[3 * i] = q.x, moved[3 * i + 1] = q.y, moved[3 * i + 2] = q.z;
    }
    return moved != NULL;
}

/* Triangles of a mesh, sharing its arrays, as pairs if there are any; with `instance`, moved to world space. Keys become time
 * steps: those of the mesh or those of the instance, never both. NULL on failure. */
static RTCGeometry new_triangles(Accel *accel, const SceneMesh *mesh, const TrianglePairs *pairs,
                                 const SceneInstance *instance)
{
    const size_t vertex_bytes = 3 * sizeof(float);
    RTCGeometry geometry =
        rtcNewGeometry(accel->device->device,
                       pairs->count > 0 ? RTC_GEOMETRY_TYPE_QUAD : RTC_GEOMETRY_TYPE_TRIANGLE);
    if (!geometry)
        return NULL;
    if (pairs->count > 0)
        rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT4,
                                   pairs->corners, 0, sizeof *pairs->corners, pairs->count);
    else
        rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                   mesh->indices, 0, 3 * sizeof(uint32_t), mesh->triangle_count);
    uint32_t instance_keys = instance ? instance->key_count : 0;
    uint32_t steps = instance_keys > 0 ? instance_keys : mesh->later_count + 1;
    if (steps > 1)
        rtcSetGeometryTimeStepCount(geometry, steps);
    for (uint32_t step = 0; step < steps; ++step) {
        if (!instance) {
            rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, step, RTC_FORMAT_FLOAT3,
                                       positions_of_key(mesh, step), 0, vertex_bytes,
                                       mesh->vertex_count);
        } else if (!add_moved_vertices(geometry, mesh,
                                       instance_keys > 0 ? &instance->keys[step]
                                                         : &instance->object_to_world,
                                       step)) {
            rtcReleaseGeometry(geometry);
            return NULL;
        }
    }
    return geometry;
}

static enum RTCGeometryType curve_type(const SceneCurves *curves)
{
    bool flat = curves->is_ribbon;
    switch (curves->basis) {
    case SCENE_CURVE_LINEAR:
        return flat ? RTC_GEOMETRY_TYPE_FLAT_LINEAR_CURVE : RTC_GEOMETRY_TYPE_ROUND_LINEAR_CURVE;
    case SCENE_CURVE_BEZIER:
        return flat ? RTC_GEOMETRY_TYPE_FLAT_BEZIER_CURVE : RTC_GEOMETRY_TYPE_ROUND_BEZIER_CURVE;
    case SCENE_CURVE_B_SPLINE:
        return flat ? RTC_GEOMETRY_TYPE_FLAT_BSPLINE_CURVE : RTC_GEOMETRY_TYPE_ROUND_BSPLINE_CURVE;
    case SCENE_CURVE_CATMULL_ROM:
        return flat ? RTC_GEOMETRY_TYPE_FLAT_CATMULL_ROM_CURVE
                    : RTC_GEOMETRY_TYPE_ROUND_CATMULL_ROM_CURVE;
    }
    return RTC_GEOMETRY_TYPE_FLAT_LINEAR_CURVE;
}

/* Which linear segments go on at their ends. False: no memory. */
static bool add_neighbours(RTCGeometry geometry, const SceneCurves *curves)
{
    unsigned char *flags = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_FLAGS, 0,
                                                   RTC_FORMAT_UCHAR, 1, curves->segment_count);
    for (uint32_t i = 0; flags && i < curves->curve_count; ++i) {
        uint32_t first = curves->first_segment[i], end = curves->first_segment[i + 1];
        for (uint32_t k = first; k < end; ++k)
            flags[k] = (unsigned char)((k > first ? RTC_CURVE_FLAG_NEIGHBOR_LEFT : 0) |
                                       (k + 1 < end ? RTC_CURVE_FLAG_NEIGHBOR_RIGHT : 0));
    }
    return flags != NULL;
}

/* Returns the power of two by which Embree gets the points of a mesh of curves larger than they are. Its intersection of linear tubes takes
 * products of eight lengths, so segments far from 1 unit are met beside themselves. */
static float curve_scale(const SceneMesh *mesh)
{
    enum { RANGE = 5 }; /* powers of two around 1 that need no scale */
    const SceneCurves *curves = mesh->curves;
    double length = 0.0;
    int exponent;
    if (!curves || curves->is_ribbon || curves->basis != SCENE_CURVE_LINEAR)
        return 1.0f;
    for (uint32_t i = 0; i < curves->segment_count; ++i) {
        const float *p = &curves->points[4 * (size_t)curves->segments[i]], *q = p + 4;
        length += (double)f3_length(f3(q[0] - p[0], q[1] - p[1], q[2] - p[2]));
    }
    if (!(length > 0.0) || !isfinite(length))
        return 1.0f;
    (void)frexp(length / curves->segment_count, &exponent);
    return exponent >= -RANGE && exponent <= RANGE ? 1.0f : ldexpf(1.0f, -exponent);
}

/* Sets the points of a key as Embree is to have them. False on failure. */
static bool add_curve_points(RTCGeometry geometry, const SceneMesh *mesh, uint32_t key, float scale)
{
    const float *points = key == 0 ? mesh->curves->points : mesh->curves->later[key - 1];
    const size_t point_bytes = 4 * sizeof(float), count = 4 * (size_t)mesh->vertex_count;
    if (scale == 1.0f) {
        rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, key, RTC_FORMAT_FLOAT4, points,
                                   0, point_bytes, mesh->vertex_count);
        return true;
    }
    float *scaled = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, key,
                                            RTC_FORMAT_FLOAT4, point_bytes, mesh->vertex_count);
    for (size_t i = 0; scaled && i < count; ++i)
        scaled[i] = scale * points[i];
    return scaled != NULL;
}

/* Curves, sharing their arrays unless they are scaled. NULL on failure. */
static RTCGeometry new_curves(Accel *accel, uint32_t mesh_index)
{
    const SceneMesh *mesh = &accel->scene->meshes[mesh_index];
    const SceneCurves *curves = mesh->curves;
    const float scale = accel->curve_scales[mesh_index];
    bool is_complete = true;
    RTCGeometry geometry = rtcNewGeometry(accel->device->device, curve_type(curves));
    if (!geometry)
        return NULL;
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT,
                               curves->segments, 0, sizeof(uint32_t), curves->segment_count);
    if (mesh->later_count > 0)
        rtcSetGeometryTimeStepCount(geometry, mesh->later_count + 1);
    for (uint32_t key = 0; is_complete && key <= mesh->later_count; ++key)
        is_complete = add_curve_points(geometry, mesh, key, scale);
    if (is_complete && curves->basis == SCENE_CURVE_LINEAR)
        is_complete = add_neighbours(geometry, curves);
    if (!is_complete) {
        rtcReleaseGeometry(geometry);
        return NULL;
    }
    if (!curves->is_ribbon) {
        rtcSetGeometryIntersectFilterFunction(geometry, accel_skip_back);
        rtcSetGeometryOccludedFilterFunction(geometry, accel_skip_back);
    }
    return geometry;
}

static bool is_identity(const mat4 *m)
{
    mat4 identity = mat4_identity();
    for (int row = 0; row < 4; ++row) {
        for (int column = 0; column < 4; ++column) {
            if (m->m[row][column] != identity.m[row][column])
                return false;
        }
    }
    return true;
}

/* Whether a hierarchy that a mesh has for itself is one of pairs. */
static bool is_of_pairs(const SceneMesh *mesh)
{
    PairCounts counts = {0};
    triangle_pairs_estimate(mesh, &counts);
    return triangle_pairs_pay(&counts);
}

/* Finds the pairs of a mesh, none unless `in_pairs`. False: no memory, which the device then knows. */
static bool find_pairs(Accel *accel, const SceneMesh *mesh, bool in_pairs, TrianglePairs *out_pairs)
{
    *out_pairs = (TrianglePairs){0};
    if (!in_pairs || triangle_pairs_find(mesh, out_pairs))
        return true;
    accel_device_no_memory(accel->device);
    return false;
}

/* Whether the hierarchy is built roughly until pictures are worth a better one (accel_refine). Embree builds those of moving
 * triangles in one way only. */
static bool is_rough_at_first(const Accel *accel, const SceneMesh *mesh,
                              const SceneInstance *instance)
{
    bool moves = mesh->later_count > 0 || (instance && instance->key_count > 0);
    return accel->is_in_parts && !moves && mesh->triangle_count >= ROUGH_TRIANGLES_MIN;
}

/* Triangles, or pairs of them, that a store has, or gets, as a hierarchy of its own, which is used until the Accel ends. NULL on
 * failure. */
static StoredMesh *stored_triangles(Accel *accel, const SceneMesh *mesh,
                                    const SceneInstance *instance, bool in_pairs)
{
    Hash128 key = accel_store_key(mesh, instance, in_pairs);
    StoredMesh *stored = accel_store_find(accel->store, key);
    TrianglePairs pairs;
    if (stored)
        return stored;
    if (!find_pairs(accel, mesh, in_pairs, &pairs))
        return NULL;
    bool is_rough = is_rough_at_first(accel, mesh, instance);
    RTCScene scene =
        is_rough ? accel_device_rough_scene(accel->device) : accel_device_scene(accel->device);
    RTCGeometry geometry = new_triangles(accel, mesh, &pairs, instance);
    if (!geometry || !scene) {
        rtcReleaseScene(scene);
        triangle_pairs_free(&pairs);
        return NULL;
    }
    rtcSetGeometryBuildQuality(geometry,
                               is_rough ? RTC_BUILD_QUALITY_LOW : RTC_BUILD_QUALITY_MEDIUM);
    rtcSetGeometryMask(geometry, MASK_ALL);
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(scene, geometry, 0);
    rtcReleaseGeometry(geometry);
    rtcCommitScene(scene);
    stored = accel_store_add(accel->store, key, mesh, &pairs, scene, is_rough);
    if (!stored)
        accel_device_no_memory(accel->device);
    return stored;
}

/* A hierarchy that stands where the scene has it. NULL on failure. */
static RTCGeometry new_placed(Accel *accel, RTCScene scene)
{
    const mat4 identity = mat4_identity();
    RTCGeometry geometry = rtcNewGeometry(accel->device->device, RTC_GEOMETRY_TYPE_INSTANCE);
    if (!geometry)
        return NULL;
    rtcSetGeometryInstancedScene(geometry, scene);
    rtcSetGeometryTransform(geometry, 0, RTC_FORMAT_FLOAT3X4_ROW_MAJOR, identity.m);
    return geometry;
}

/* Places what Embree has in another size than the scene. */
static void set_transform(RTCGeometry geometry, uint32_t key, const mat4 *object_to_world,
                          float scale)
{
    mat4 m = *object_to_world;
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
            m.m[row][column] /= scale; /* a power of two */
    rtcSetGeometryTransform(geometry, key, RTC_FORMAT_FLOAT3X4_ROW_MAJOR, m.m);
}

static RTCGeometry new_instance(Accel *accel, const SceneInstance *instance)
{
    const float scale = accel->curve_scales[instance->mesh];
    RTCGeometry geometry = rtcNewGeometry(accel->device->device, RTC_GEOMETRY_TYPE_INSTANCE);
    if (!geometry)
        return NULL;
    rtcSetGeometryInstancedScene(geometry, accel->mesh_scenes[instance->mesh]);
    if (instance->key_count > 0)
        rtcSetGeometryTimeStepCount(geometry, instance->key_count);
    for (uint32_t k = 0; k < instance->key_count; ++k)
        set_transform(geometry, k, &instance->keys[k], scale);
    if (instance->key_count == 0)
        set_transform(geometry, 0, &instance->object_to_world, scale);
    return geometry;
}

/* One whose materials may be transparent anywhere counts as transparent everywhere. */
static bool has_alpha(const AccelDesc *desc, const SceneInstance *instance)
{
    for (uint32_t k = 0; desc->material_has_alpha && k < instance->material_count; ++k) {
        if (desc->material_has_alpha[instance->materials[k]])
            return true;
    }
    return false;
}

static unsigned geometry_mask(const AccelDesc *desc, const SceneInstance *instance)
{
    unsigned mask = MASK_RAYS & ~(instance->invisible_to << MASK_RAYS_SHIFT);
    if (!(instance->invisible_to & SCENE_RAYS_SHADOW))
        mask |= has_alpha(desc, instance) ? MASK_ALPHA : MASK_OPAQUE;
    bool is_alone = instance->is_shadow_catcher || instance->is_lamp;
    return is_alone ? mask | mask << MASK_ALONE_SHIFT : mask;
}

/* Copies of vertices that flattening makes. */
#define NEVER_FLATTENED UINT32_MAX

/* A mesh with keys in an instance with keys moves on curves: Embree has them for instances only. */
static void count_use(const Accel *accel, const SceneInstance *instance, uint32_t *uses)
{
    const SceneMesh *mesh = &accel->scene->meshes[instance->mesh];
    uint32_t keys = instance->key_count > 0 ? instance->key_count : mesh->later_count + 1;
    uint32_t *count = &uses[instance->mesh];
    bool stays = instance->key_count == 0 && is_identity(&instance->object_to_world);
    if ((instance->key_count > 0 && mesh->later_count > 0) ||
        (mesh->curves && (!stays || accel->curve_scales[instance->mesh] != 1.0f)))
        *count = NEVER_FLATTENED;
    else if (*count != NEVER_FLATTENED)
        *count += keys;
}

/* Returns the memory of a flattened copy, in triangles: vertices that no triangle names are copied too. */
static uint32_t copy_size(const SceneMesh *mesh)
{
    uint32_t by_vertices = mesh->vertex_count / 3;
    if (mesh->curves)
        return mesh->curves->segment_count;
    return mesh->triangle_count > by_vertices ? mesh->triangle_count : by_vertices;
}

static bool make_mesh_scene(Accel *accel, uint32_t i)
{
    const SceneMesh *mesh = &accel->scene->meshes[i];
    if (accel->store && !mesh->curves) {
        accel->stored_meshes[i] = stored_triangles(accel, mesh, NULL, is_of_pairs(mesh));
        if (!accel->stored_meshes[i])
            return false;
        accel->mesh_scenes[i] = accel_stored_scene(accel->stored_meshes[i]);
        rtcRetainScene(accel->mesh_scenes[i]);
        return true;
    }
    if (!mesh->curves && !find_pairs(accel, mesh, is_of_pairs(mesh), &accel->pairs[i]))
        return false;
    RTCGeometry geometry =
        mesh->curves ? new_curves(accel, i) : new_triangles(accel, mesh, &accel->pairs[i], NULL);
    RTCScene mesh_scene = accel_device_scene(accel->device);
    accel->mesh_scenes[i] = mesh_scene;
    if (!geometry || !mesh_scene)
        return false;
    rtcSetGeometryMask(geometry, MASK_ALL);
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(mesh_scene, geometry, 0);
    rtcReleaseGeometry(geometry);
    rtcCommitScene(mesh_scene);
    return true;
}

/* Decides by counts: mesh_scenes of flattened meshes stay NULL. */
static Status make_mesh_scenes(Accel *accel, Error *err)
{
    const Scene *scene = accel->scene;
    uint32_t *uses = MEM_ARRAY(uint32_t, (size_t)scene->mesh_count + 1);
    if (!uses)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u meshes", scene->mesh_count);
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        count_use(accel, &scene->instances[i], uses);
    uint64_t extra_left = FLATTEN_EXTRA_TRIANGLES;
    for (uint32_t i = 0; i < scene->mesh_count; ++i) {
        const SceneMesh *mesh = &scene->meshes[i];
        bool is_instanced = uses[i] == NEVER_FLATTENED;
        uint64_t extra = uses[i] > 1 ? (uint64_t)(uses[i] - 1) * copy_size(mesh) : 0;
        if (!is_instanced && extra <= extra_left) {
            extra_left -= extra;
            continue;
        }
        if (!make_mesh_scene(accel, i))
            break; /* Embree has said why */
        accel->stats.triangle_count += mesh->triangle_count;
        accel->stats.curve_segment_count += mesh->curves ? mesh->curves->segment_count : 0;
    }
    mem_free(uses);
    return accel_device_status(accel->device, "building the hierarchy of a mesh", err);
}

/* --- the top scene -------------------------------------------------------------------------- */

static bool is_flattened(const Accel *accel, const SceneInstance *instance)
{
    return !accel->mesh_scenes[instance->mesh];
}

/* Whether a flattened instance has a hierarchy of its own, which a store has. */
static bool is_placed(const Accel *accel, const SceneInstance *instance)
{
    const SceneMesh *mesh = &accel->scene->meshes[instance->mesh];
    return is_flattened(accel, instance) && accel->is_in_parts && !mesh->curves &&
           mesh->triangle_count >= PART_TRIANGLES_MIN;
}

/* Whether the triangles of the top scene are in pairs, as they are if that pays for all of them together: a ray searches one
 * hierarchy for triangles and one for pairs. Hierarchies that stand for a part of it do the same, so that rays have the
 * same bits. Decided by the scene alone. */
static bool is_top_of_pairs(const Accel *accel)
{
    const Scene *scene = accel->scene;
    PairCounts counts = {0};
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneMesh *mesh = &scene->meshes[scene->instances[i].mesh];
        if (is_flattened(accel, &scene->instances[i]) && !mesh->curves)
            triangle_pairs_estimate(mesh, &counts);
    }
    return triangle_pairs_pay(&counts);
}

typedef struct PairJobs {
    Accel *accel;
    const bool *is_wanted; /* by mesh */
} PairJobs;

static void find_wanted_pairs(void *data, uint32_t mesh)
{
    PairJobs *jobs = data;
    Accel *accel = jobs->accel;
    if (jobs->is_wanted[mesh])
        (void)find_pairs(accel, &accel->scene->meshes[mesh], true, &accel->pairs[mesh]);
}

/* Finds the pairs of meshes that are in the top scene themselves. */
static Status find_pairs_of_top(Accel *accel, uint32_t thread_count, Error *err)
{
    const Scene *scene = accel->scene;
    bool *is_wanted = MEM_ARRAY(bool, (size_t)scene->mesh_count + 1);
    if (!is_wanted)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u meshes", scene->mesh_count);
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        is_wanted[instance->mesh] |= is_flattened(accel, instance) && !is_placed(accel, instance) &&
                                     !scene->meshes[instance->mesh].curves;
    }
    PairJobs jobs = {.accel = accel, .is_wanted = is_wanted};
    parallel_for(thread_count, scene->mesh_count, find_wanted_pairs, &jobs);
    mem_free(is_wanted);
    return accel_device_status(accel->device, "finding pairs of triangles", err);
}

typedef struct AttachJobs {
    Accel *accel;
    const AccelDesc *desc;
} AttachJobs;

/* Returns where an instance has its hierarchy, and sets what is known of it; NULL on failure. */
static RTCGeometry new_geometry(Accel *accel, uint32_t index, GeometryInfo *info)
{
    const SceneInstance *instance = &accel->scene->instances[index];
    const SceneMesh *mesh = &accel->scene->meshes[instance->mesh];
    bool stays = instance->key_count == 0 && is_identity(&instance->object_to_world);
    *info = (GeometryInfo){.shape = index, .is_curve = mesh->curves != NULL};
    if (mesh->curves)
        return is_flattened(accel, instance) ? new_curves(accel, instance->mesh)
                                             : new_instance(accel, instance);
    if (is_placed(accel, instance)) {
        StoredMesh *stored =
            stored_triangles(accel, mesh, stays ? NULL : instance, accel->has_pairs);
        accel->stored_instances[index] = stored;
        info->pairs = stored ? accel_stored_pairs(stored) : NULL;
        return stored ? new_placed(accel, accel_stored_scene(stored)) : NULL;
    }
    const TrianglePairs *pairs = &accel->pairs[instance->mesh];
    const StoredMesh *stored = accel->stored_meshes[instance->mesh];
    info->pairs = stored ? accel_stored_pairs(stored) : pairs->triangles;
    return is_flattened(accel, instance)
               ? new_triangles(accel, mesh, pairs, stays ? NULL : instance)
               : new_instance(accel, instance);
}

static void attach_instance(void *data, uint32_t index)
{
    AttachJobs *jobs = data;
    Accel *accel = jobs->accel;
    RTCGeometry geometry = new_geometry(accel, index, &accel->geometry[index]);
    if (!geometry)
        return; /* the device's status says why */
    rtcSetGeometryMask(geometry, geometry_mask(jobs->desc, &accel->scene->instances[index]));
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(accel->top, geometry, index);
    rtcReleaseGeometry(geometry);
}

static void count_instances(Accel *accel, const AccelDesc *desc)
{
    const Scene *scene = accel->scene;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        accel->has_alpha = accel->has_alpha || has_alpha(desc, instance);
        accel->stats.moving_count += scene_instance_moves(scene, i);
        if (!is_flattened(accel, instance)) {
            ++accel->stats.instanced_count;
        } else {
            ++accel->stats.flattened_count;
            const SceneMesh *mesh = &scene->meshes[instance->mesh];
            accel->stats.triangle_count += mesh->triangle_count;
            accel->stats.curve_segment_count += mesh->curves ? mesh->curves->segment_count : 0;
        }
    }
}

/* reach_m: of the scene, from the origin. */
static float instance_slack(const Accel *accel, float reach_m)
{
    const float operations = 16.0f;
    ASSERT(reach_m >= 0.0f && reach_m < SCENE_REACH_MAX_M);
    float farthest_m = -reach_m;
    for (uint32_t i = 0; i < accel->scene->instance_count; ++i) {
        const SceneInstance *instance = &accel->scene->instances[i];
        const float(*m)[4] = instance->object_to_world.m;
        if (!is_flattened(accel, instance))
            farthest_m = maxf(farthest_m, f3_length(f3(m[0][3], m[1][3], m[2][3])));
    }
    return operations * RAY_ROUNDING * (reach_m + farthest_m);
}

static float widest_curve(const Scene *scene)
{
    float radius = -1.0f, scale = 0.0f;
    for (uint32_t i = 0; i < scene->mesh_count; ++i) {
        const SceneMesh *mesh = &scene->meshes[i];
        for (size_t k = 0; mesh->curves && !mesh->curves->is_ribbon && k < mesh->vertex_count; ++k)
            radius = maxf(radius, mesh->curves->points[4 * k + 3]);
    }
    for (uint32_t i = 0; radius >= 0.0f && i < scene->instance_count; ++i) {
        const float(*m)[4] = scene->instances[i].object_to_world.m;
        for (int axis = 0; scene->meshes[scene->instances[i].mesh].curves && axis < 3; ++axis)
            scale = maxf(scale, f3_length(f3(m[0][axis], m[1][axis], m[2][axis])));
    }
    return radius * (radius >= 0.0f ? scale : 1.0f);
}

static Status open_device(Accel *accel, const AccelDesc *desc, Error *err)
{
    accel->store = desc->store;
    accel->is_in_parts = desc->store && desc->is_in_parts;
    if (!desc->store) {
        accel->device = &accel->own_device;
        return accel_device_open(accel->device, desc->thread_count, desc->cpu_class, err);
    }
    accel->device = accel_store_device(desc->store);
    accel_device_forget(accel->device);
    return STATUS_OK;
}

static Status build(Accel *accel, const AccelDesc *desc, Error *err)
{
    const Scene *scene = desc->scene;
    float3 centre;
    float radius;
    scene_bounding_sphere(scene, &centre, &radius);
    if (!(f3_length(centre) + radius < SCENE_REACH_MAX_M))
        return error_set(err, STATUS_LIMIT,
                         "the scene reaches out farther than %g m, where rays have no precision",
                         (double)SCENE_REACH_MAX_M);
    TRY(open_device(accel, desc, err));
    accel->stored_meshes = MEM_ARRAY(StoredMesh *, (size_t)scene->mesh_count + 1);
    accel->stored_instances = MEM_ARRAY(StoredMesh *, (size_t)scene->instance_count + 1);
    accel->geometry_count = scene->instance_count + ACCEL_LIGHT_GEOMETRIES;
    accel->mesh_scenes = MEM_ARRAY(RTCScene, (size_t)scene->mesh_count + 1);
    accel->geometry = MEM_ARRAY(GeometryInfo, accel->geometry_count);
    accel->pairs = MEM_ARRAY(TrianglePairs, (size_t)scene->mesh_count + 1);
    accel->curve_scales = MEM_ARRAY(float, (size_t)scene->mesh_count + 1);
    if (!accel->mesh_scenes || !accel->curve_scales || !accel->pairs || !accel->geometry ||
        !accel->stored_meshes || !accel->stored_instances)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u instances",
                         scene->instance_count);
    for (uint32_t i = 0; i < scene->mesh_count; ++i)
        accel->curve_scales[i] = curve_scale(&scene->meshes[i]);
    TRY(make_mesh_scenes(accel, err));
    accel->top = accel_device_scene(accel->device);
    TRY(accel_device_status(accel->device, "making a scene", err));
    accel->has_pairs = is_top_of_pairs(accel);
    if (accel->has_pairs)
        TRY(find_pairs_of_top(accel, desc->thread_count, err));
    AttachJobs jobs = {.accel = accel, .desc = desc};
    parallel_for(desc->thread_count, scene->instance_count, attach_instance, &jobs);
    TRY(accel_device_status(accel->device, "adding instances", err));
    TRY(accel_attach_lights(accel, err));
    TRY(accel_device_status(accel->device, "adding the lights", err));
    rtcCommitScene(accel->top);
    TRY(accel_device_status(accel->device, "building the hierarchy", err));
    count_instances(accel, desc);
    accel->widest_m = widest_curve(scene);
    accel->slack_m = instance_slack(accel, f3_length(centre) + radius);
    return STATUS_OK;
}

Status accel_create(const AccelDesc *desc, Accel **out_accel, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->scene);
    *out_accel = NULL;
    Accel *accel = MEM_NEW(Accel);
    if (!accel)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the ray accelerator");
    accel->scene = desc->scene;
    Status status = build(accel, desc, err);
    if (status != STATUS_OK) {
        accel_destroy(accel);
        return status;
    }
    *out_accel = accel;
    return STATUS_OK;
}

void accel_destroy(Accel *accel)
{
    if (!accel)
        return;
    if (accel->top)
        rtcReleaseScene(accel->top);
    for (uint32_t i = 0; accel->mesh_scenes && i < accel->scene->mesh_count; ++i) {
        if (accel->mesh_scenes[i])
            rtcReleaseScene(accel->mesh_scenes[i]);
    }
    for (uint32_t i = 0; accel->stored_meshes && i < accel->scene->mesh_count; ++i)
        accel_store_release(accel->store, accel->stored_meshes[i]);
    for (uint32_t i = 0; accel->stored_instances && i < accel->scene->instance_count; ++i)
        accel_store_release(accel->store, accel->stored_instances[i]);
    if (accel->device == &accel->own_device)
        accel_device_close(accel->device);
    mem_free((void *)accel->stored_meshes);
    mem_free((void *)accel->stored_instances);
    mem_free((void *)accel->mesh_scenes);
    for (uint32_t i = 0; accel->pairs && i < accel->scene->mesh_count; ++i)
        triangle_pairs_free(&accel->pairs[i]);
    mem_free(accel->pairs);
    mem_free(accel->curve_scales);
    mem_free(accel->geometry);
    mem_free(accel->shapes);
    mem_free(accel->shape_light);
    mem_free(accel);
}

static uint64_t pairs_bytes(const Accel *accel)
{
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < accel->scene->mesh_count; ++i)
        pairs += accel->pairs[i].count;
    return pairs * (sizeof *accel->pairs->corners + sizeof *accel->pairs->triangles);
}

AccelStats accel_stats(const Accel *accel)
{
    AccelStats stats = accel->stats;
    int64_t embree_bytes = atomic_load_explicit(&accel->device->embree_bytes, memory_order_relaxed);
    stats.memory_bytes = (uint64_t)(embree_bytes > 0 ? embree_bytes : 0) + sizeof *accel +
                         accel->geometry_count * sizeof *accel->geometry +
                         accel->scene->mesh_count * sizeof *accel->mesh_scenes +
                         pairs_bytes(accel) + accel->scene->light_count * sizeof *accel->shapes;
    return stats;
}
