/* What can be asked of a Scene, and its end. Loading: scene_load.c. */
#include "sort/scene/scene.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/light/light_shape.h"
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

typedef struct Box {
    float3 lower, upper;
} Box;

static Box box_add(Box box, float3 p)
{
    return (Box){f3(fminf(box.lower.x, p.x), fminf(box.lower.y, p.y), fminf(box.lower.z, p.z)),
                 f3(fmaxf(box.upper.x, p.x), fmaxf(box.upper.y, p.y), fmaxf(box.upper.z, p.z))};
}

static const Box box_empty = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static Box mesh_box(const SceneMesh *mesh)
{
    Box box = box_empty;
    if (mesh->curves) {
        curve_bounds(mesh, &box.lower, &box.upper);
        return box;
    }
    for (uint32_t key = 0; key <= mesh->later_count; ++key) {
        const float *positions = key == 0 ? mesh->positions : mesh->later[key - 1].positions;
        for (uint32_t i = 0; i < mesh->vertex_count; ++i)
            box = box_add(box, load3(positions, i));
    }
    return box;
}

static Box box_add_box(Box world, const mat4 *object_to_world, Box b)
{
    for (int corner = 0; corner < 8; ++corner) {
        float3 p = f3(corner & 1 ? b.upper.x : b.lower.x, corner & 2 ? b.upper.y : b.lower.y,
                      corner & 4 ? b.upper.z : b.lower.z);
        world = box_add(world, mat4_point(object_to_world, p));
    }
    return world;
}

void scene_bounding_sphere(const Scene *scene, float3 *out_centre, float *out_radius_m)
{
    Box world = box_empty;
    Box *boxes = MEM_ARRAY(Box, scene->mesh_count);
    for (uint32_t i = 0; boxes && i < scene->mesh_count; ++i)
        boxes[i] = mesh_box(&scene->meshes[i]);
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        /* Without memory for a table: slower. */
        Box b = boxes ? boxes[instance->mesh] : mesh_box(&scene->meshes[instance->mesh]);
        /* Between keys corners move on straight lines. */
        const mat4 *keys = instance->key_count > 0 ? instance->keys : &instance->object_to_world;
        for (uint32_t key = 0; key < (instance->key_count > 0 ? instance->key_count : 1); ++key)
            world = box_add_box(world, &keys[key], b);
    }
    mem_free(boxes);
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        if (!light_shape_exists(&scene->lights[i]))
            continue;
        LightShape shape;
        float3 lower, upper;
        light_shape_init(&scene->lights[i], &shape);
        light_shape_bounds(&shape, &lower, &upper);
        world = box_add(box_add(world, lower), upper);
    }
    *out_centre = f3(0, 0, 0);
    *out_radius_m = 0.0f;
    if (world.lower.x <= world.upper.x) {
        *out_centre = f3_scale(f3_add(world.lower, world.upper), 0.5f);
        *out_radius_m = 0.5f * f3_length(f3_sub(world.upper, world.lower));
    }
}
