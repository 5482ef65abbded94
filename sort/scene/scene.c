/* Queries of a Scene, and its destruction. */
#include "sort/scene/scene.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/scene/curve.h"
#include "sort/scene/motion.h"
#include "sort/scene/scene_storage.h"
#include <string.h>

void scene_destroy(Scene *scene)
{
    if (!scene)
        return;
    SceneStorage *storage = scene->storage;
    for (uint32_t i = 0; i < storage->block_count; ++i)
        if (storage->arrays)
            array_store_release(storage->arrays, storage->blocks[i]);
        else
            mem_free(storage->blocks[i]);
    mem_free(storage->blocks);
    /* A folder that will not go is litter, and no reason to fail. */
    (void)!temp_folder_remove(&storage->extracted, NULL);
    arena_destroy(storage->arena); /* the Scene and its storage live in it */
}

int64_t scene_find_camera(const Scene *scene, const char *name)
{
    for (uint32_t i = 0; i < scene->camera_count; ++i) {
        if (strcmp(scene->cameras[i].name, name) == 0)
            return i;
    }
    return SCENE_NONE;
}

bool scene_instance_set_transform(SceneInstance *instance, mat4 object_to_world)
{
    instance->object_to_world = object_to_world;
    instance->keys = NULL;
    instance->key_count = 0;
    instance->is_mirrored = mat4_determinant3(object_to_world) < 0.0f;
    return mat4_inverse(object_to_world, &instance->world_to_object);
}

bool scene_instance_set_motion(SceneInstance *instance, const mat4 *keys, uint32_t key_count)
{
    if (!motion_is_invertible(keys, key_count) ||
        !scene_instance_set_transform(instance, motion_linear(keys, key_count, 0.5f)))
        return false;
    instance->keys = keys;
    instance->key_count = key_count;
    return true;
}

SceneInstance scene_instance_at(const SceneInstance *instance, float time)
{
    SceneInstance at = *instance;
    if (instance->key_count > 0) {
        bool is_invertible = scene_instance_set_transform(
            &at, motion_linear(instance->keys, instance->key_count, time));
        ASSERT(is_invertible);
        SORT_UNUSED(is_invertible);
    }
    return at;
}

bool scene_instance_moves(const Scene *scene, uint32_t instance)
{
    ASSERT(instance < scene->instance_count);
    const SceneInstance *i = &scene->instances[instance];
    return i->key_count > 0 || scene->meshes[i->mesh].later_count > 0;
}

static float3 load3(const float *array, uint32_t index)
{
    const float *v = array + (size_t)3 * index;
    return f3(v[0], v[1], v[2]);
}

static void interpolate3(const float *a, const float *b, float fraction, const uint32_t vertices[3],
                         float3 out[3])
{
    for (int k = 0; k < 3; ++k)
        out[k] = f3_add(f3_scale(load3(a, vertices[k]), 1.0f - fraction),
                        f3_scale(load3(b, vertices[k]), fraction));
}

void scene_mesh_positions_at(const SceneMesh *mesh, const uint32_t vertices[3], float time,
                             float3 out_positions[3])
{
    ASSERT(vertices[0] < mesh->vertex_count && vertices[1] < mesh->vertex_count &&
           vertices[2] < mesh->vertex_count);
    if (mesh->later_count == 0) {
        for (int k = 0; k < 3; ++k)
            out_positions[k] = load3(mesh->positions, vertices[k]);
        return;
    }
    MotionTime at = motion_time(mesh->later_count + 1, time);
    const float *a = at.key == 0 ? mesh->positions : mesh->later[at.key - 1].positions;
    interpolate3(a, mesh->later[at.key].positions, at.fraction, vertices, out_positions);
}

void scene_mesh_normals_at(const SceneMesh *mesh, const uint32_t vertices[3], float time,
                           float3 out_normals[3])
{
    ASSERT(mesh->normals);
    if (mesh->later_count == 0) {
        for (int k = 0; k < 3; ++k)
            out_normals[k] = load3(mesh->normals, vertices[k]);
        return;
    }
    MotionTime at = motion_time(mesh->later_count + 1, time);
    const float *a = at.key == 0 ? mesh->normals : mesh->later[at.key - 1].normals;
    interpolate3(a, mesh->later[at.key].normals, at.fraction, vertices, out_normals);
}

uint32_t scene_primitive_count(const SceneMesh *mesh)
{
    return mesh->curves ? mesh->curves->segment_count : mesh->triangle_count;
}

uint32_t scene_material_slot(const SceneMesh *mesh, uint32_t primitive)
{
    ASSERT(mesh->curves || primitive < mesh->triangle_count);
    if (!mesh->material_indices)
        return 0;
    return mesh
        ->material_indices[mesh->curves ? curve_of_segment(mesh->curves, primitive) : primitive];
}

void scene_triangle_at(const Scene *scene, uint32_t instance, uint32_t triangle, float time,
                       float3 out_corners[3])
{
    const SceneInstance *i = &scene->instances[instance];
    const SceneMesh *mesh = &scene->meshes[i->mesh];
    mat4 object_to_world =
        i->key_count > 0 ? motion_linear(i->keys, i->key_count, time) : i->object_to_world;
    ASSERT(triangle < mesh->triangle_count);
    scene_mesh_positions_at(mesh, &mesh->indices[3 * (size_t)triangle], time, out_corners);
    for (int k = 0; k < 3; ++k)
        out_corners[k] = mat4_point(&object_to_world, out_corners[k]);
}

void scene_triangle(const Scene *scene, uint32_t instance, uint32_t triangle, float3 out_corners[3])
{
    scene_triangle_at(scene, instance, triangle, 0.5f, out_corners);
}
