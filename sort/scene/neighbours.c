#include "sort/scene/neighbours.h"

#include "base/check.h"
#include "sort/scene/motion.h"

/* Returns the time in the shutter that stands for a neighbour which the package does not have. */
static float end_of_shutter(SceneNeighbour which)
{
    return which == SCENE_PREVIOUS ? 0.0f : 1.0f;
}

static mat4 transform_in_shutter(const SceneInstance *instance, float time)
{
    return instance->key_count > 0 ? motion_linear(instance->keys, instance->key_count, time)
                                   : instance->object_to_world;
}

static mat4 transform_at(const SceneInstance *instance, SceneNeighbour which)
{
    return instance->neighbours ? instance->neighbours[which]
                                : transform_in_shutter(instance, end_of_shutter(which));
}

static float3 inside(const float3 corners[3], const ScenePlace *place, const mat4 *object_to_world)
{
    float3 from = corners[0], edge1 = f3_sub(corners[1], from), edge2 = f3_sub(corners[2], from);
    float3 offset = f3_add(f3_scale(edge1, place->b1), f3_scale(edge2, place->b2));
    return mat4_point(object_to_world, f3_add(from, offset));
}

float3 scene_place_here(const Scene *scene, const ScenePlace *place)
{
    const SceneInstance *instance = &scene->instances[place->instance];
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    if (mesh->curves)
        return place->P;
    float3 corners[3];
    mat4 to_world = transform_in_shutter(instance, place->time);
    ASSERT(place->triangle < mesh->triangle_count);
    scene_mesh_positions_at(mesh, &mesh->indices[3 * (size_t)place->triangle], place->time,
                            corners);
    return inside(corners, place, &to_world);
}

float3 scene_place_at(const Scene *scene, const ScenePlace *place, SceneNeighbour which)
{
    const SceneInstance *instance = &scene->instances[place->instance];
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    mat4 to_world = transform_at(instance, which);
    if (mesh->curves) {
        mat4 here = transform_in_shutter(instance, place->time), to_object;
        bool moves = instance->neighbours || instance->key_count > 0;
        if (!moves || !mat4_inverse(here, &to_object))
            return place->P;
        return mat4_point(&to_world, mat4_point(&to_object, place->P));
    }
    const uint32_t *vertices = &mesh->indices[3 * (size_t)place->triangle];
    const float *positions = mesh->neighbours[which];
    float3 corners[3];
    ASSERT(place->triangle < mesh->triangle_count);
    if (positions)
        for (int k = 0; k < 3; ++k) {
            const float *at = &positions[3 * (size_t)vertices[k]];
            corners[k] = f3(at[0], at[1], at[2]);
        }
    else
        scene_mesh_positions_at(mesh, vertices, end_of_shutter(which), corners);
    return inside(corners, place, &to_world);
}

CameraView scene_camera_at(const SceneCamera *camera, const CameraView *view, uint32_t width_px,
                           uint32_t height_px, SceneNeighbour which)
{
    CameraView at;
    if (!camera->neighbours)
        return view->key_count > 0 ? camera_view_at(view, end_of_shutter(which)) : *view;
    camera_view_init(&camera->neighbours[which], width_px, height_px, &at);
    return at;
}
