#include "sort/light/scene_bounds.h"

#include "base/alloc.h"
#include "sort/light/light_shape.h"
#include "sort/scene/curve.h"
#include <math.h>

typedef struct Box {
    float3 lower, upper;
} Box;

/* A coordinate that is no number adds nothing. */
static Box box_add(Box box, float3 p)
{
    return (Box){f3(minf(p.x, box.lower.x), minf(p.y, box.lower.y), minf(p.z, box.lower.z)),
                 f3(maxf(p.x, box.upper.x), maxf(p.y, box.upper.y), maxf(p.z, box.upper.z))};
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
        for (uint32_t i = 0; i < mesh->vertex_count; ++i) {
            const float *p = &positions[3 * (size_t)i];
            box = box_add(box, f3(p[0], p[1], p[2]));
        }
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

/* Adds the box of an instance, whose mesh has the box b. Between keys corners move on straight lines. */
static Box box_add_instance(Box world, const SceneInstance *instance, Box b)
{
    const mat4 *keys = instance->key_count > 0 ? instance->keys : &instance->object_to_world;
    for (uint32_t key = 0; key < (instance->key_count > 0 ? instance->key_count : 1); ++key)
        world = box_add_box(world, &keys[key], b);
    return world;
}

void scene_instance_box(const Scene *scene, uint32_t instance, float3 *out_lower, float3 *out_upper)
{
    const SceneInstance *i = &scene->instances[instance];
    Box world = box_add_instance(box_empty, i, mesh_box(&scene->meshes[i->mesh]));
    *out_lower = world.lower;
    *out_upper = world.upper;
}

/* Returns the greatest distance, squared, of a mesh's vertices from a point in world space. */
static float farthest2(const SceneMesh *mesh, const mat4 *object_to_world, float3 centre)
{
    float most = 0.0f;
    for (uint32_t key = 0; key <= mesh->later_count; ++key) {
        const float *positions = key == 0 ? mesh->positions : mesh->later[key - 1].positions;
        for (uint32_t i = 0; i < mesh->vertex_count; ++i) {
            const float *p = &positions[3 * (size_t)i];
            float3 at = mat4_point(object_to_world, f3(p[0], p[1], p[2]));
            most = maxf(most, f3_length2(f3_sub(at, centre)));
        }
    }
    return most;
}

float scene_instance_radius(const Scene *scene, uint32_t instance, float3 centre)
{
    const SceneInstance *i = &scene->instances[instance];
    const SceneMesh *mesh = &scene->meshes[i->mesh];
    const mat4 *keys = i->key_count > 0 ? i->keys : &i->object_to_world;
    float most = 0.0f;
    if (mesh->curves) {
        float3 lower, upper;
        scene_instance_box(scene, instance, &lower, &upper);
        float3 far = f3(maxf(fabsf(lower.x - centre.x), fabsf(upper.x - centre.x)),
                        maxf(fabsf(lower.y - centre.y), fabsf(upper.y - centre.y)),
                        maxf(fabsf(lower.z - centre.z), fabsf(upper.z - centre.z)));
        return f3_length(far);
    }
    for (uint32_t key = 0; key < (i->key_count > 0 ? i->key_count : 1); ++key)
        most = maxf(most, farthest2(mesh, &keys[key], centre));
    return sqrtf(most);
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
        world = box_add_instance(world, instance, b);
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
