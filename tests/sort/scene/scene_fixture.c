#include "tests/sort/scene/scene_fixture.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "sort/package/scene_parse.h"
#include <string.h>

SceneFixture *fixture_create(void)
{
    SceneFixture *f = MEM_NEW(SceneFixture);
    CHECK(f);
    f->arena = arena_create(0, 0);
    CHECK(f->arena);
    f->scene.meshes = f->meshes;
    f->scene.instances = f->instances;
    f->scene.materials = f->materials;
    f->scene.lights = f->lights;
    f->scene.environment.environment_to_world = mat4_identity();
    f->scene.environment.world_to_environment = mat4_identity();
    f->scene.environment.strength = 1.0f;
    return f;
}

void fixture_destroy(SceneFixture *f)
{
    arena_destroy(f->arena);
    mem_free(f);
}

static void *copy_padded(Arena *arena, const void *data, size_t size_bytes)
{
    char *copy = arena_alloc(arena, size_bytes + 16, 64);
    CHECK(copy);
    memcpy(copy, data, size_bytes);
    return copy;
}

uint32_t fixture_mesh(SceneFixture *f, const float *positions, uint32_t vertex_count,
                      const uint32_t *indices, uint32_t triangle_count)
{
    CHECK(f->scene.mesh_count < SORT_COUNT_OF(f->meshes));
    f->meshes[f->scene.mesh_count] = (SceneMesh){
        .name = "mesh",
        .vertex_count = vertex_count,
        .triangle_count = triangle_count,
        .positions = copy_padded(f->arena, positions, 3 * sizeof(float) * vertex_count),
        .indices = copy_padded(f->arena, indices, 3 * sizeof(uint32_t) * triangle_count)};
    return f->scene.mesh_count++;
}

uint32_t fixture_curves(SceneFixture *f, SceneCurveBasis basis, bool is_ribbon, const float *points,
                        const uint32_t *counts, uint32_t curve_count)
{
    Error err = {0};
    uint32_t point_count = 0;
    for (uint32_t i = 0; i < curve_count; ++i)
        point_count += counts[i];
    SceneCurves *curves = ARENA_NEW(f->arena, SceneCurves);
    CHECK(curves && f->scene.mesh_count < SORT_COUNT_OF(f->meshes));
    *curves = (SceneCurves){
        .basis = basis,
        .is_ribbon = is_ribbon,
        .curve_count = curve_count,
        .points = copy_padded(f->arena, points, 4 * sizeof(float) * point_count),
        .point_counts = copy_padded(f->arena, counts, sizeof(uint32_t) * curve_count)};
    SceneMesh *mesh = &f->meshes[f->scene.mesh_count];
    *mesh = (SceneMesh){.name = "curves", .curves = curves, .vertex_count = point_count};
    CHECK(curves_finish(f->arena, mesh, 0, &err) == STATUS_OK);
    return f->scene.mesh_count++;
}

uint32_t fixture_grid(SceneFixture *f, uint32_t cells, float amplitude)
{
    uint32_t side = cells + 1, vertex = 0, triangle = 0;
    float *positions = MEM_ARRAY(float, 3 * (size_t)side * side);
    uint32_t *indices = MEM_ARRAY(uint32_t, 6 * (size_t)cells * cells);
    CHECK(positions && indices);
    for (uint32_t y = 0; y < side; ++y) {
        for (uint32_t x = 0; x < side; ++x) {
            float px = 2.0f * (float)x / (float)cells - 1.0f;
            float py = 2.0f * (float)y / (float)cells - 1.0f;
            positions[vertex++] = px;
            positions[vertex++] = py;
            positions[vertex++] = amplitude * sinf(11.0f * px) * cosf(7.0f * py);
            if (x == cells || y == cells)
                continue;
            uint32_t a = y * side + x, b = a + 1, c = a + side, d = c + 1;
            uint32_t two[6] = {a, b, d, a, d, c};
            memcpy(&indices[triangle], two, sizeof two);
            triangle += 6;
        }
    }
    uint32_t mesh = fixture_mesh(f, positions, side * side, indices, 2 * cells * cells);
    mem_free(positions);
    mem_free(indices);
    return mesh;
}

uint32_t fixture_material(SceneFixture *f, const char *name)
{
    CHECK(f->scene.material_count < SORT_COUNT_OF(f->materials));
    f->materials[f->scene.material_count] = (SceneMaterial){.name = name};
    return f->scene.material_count++;
}

uint32_t fixture_instance(SceneFixture *f, uint32_t mesh, uint32_t material, mat4 transform)
{
    CHECK(f->scene.instance_count < FIXTURE_MAX);
    SceneInstance *instance = &f->instances[f->scene.instance_count];
    *instance = (SceneInstance){.name = "instance",
                                .mesh = mesh,
                                .material_count = 1,
                                .materials = copy_padded(f->arena, &material, sizeof material)};
    CHECK(scene_instance_set_transform(instance, transform));
    return f->scene.instance_count++;
}

uint32_t fixture_light(SceneFixture *f, SceneLight light)
{
    CHECK(f->scene.light_count < FIXTURE_MAX);
    f->lights[f->scene.light_count] = light;
    return f->scene.light_count++;
}

float fixture_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (float)(hash_mix64(*state) >> 40) * 0x1p-24f;
}

mat4 fixture_shine(float3 position, float3 direction)
{
    return mat4_look_at(position, f3_add(position, direction), f3(0.1f, 1.0f, 0.2f));
}
