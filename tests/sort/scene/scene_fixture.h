/* Small scenes made in memory, for tests. Everything is checked with CHECK: a fixture that cannot be
 * made is a broken test. */
#ifndef SORT_TESTS_SCENE_FIXTURE_H
#define SORT_TESTS_SCENE_FIXTURE_H

#include "base/arena.h"
#include "sort/scene/scene.h"

enum { FIXTURE_MAX = 4096 };

typedef struct SceneFixture {
    Arena *arena;
    Scene scene; /* points into the arrays below */
    SceneMesh meshes[64];
    SceneInstance instances[FIXTURE_MAX];
    SceneMaterial materials[16];
    SceneLight lights[FIXTURE_MAX];
} SceneFixture;

/* On the heap: it is large. */
SceneFixture *fixture_create(void);
void fixture_destroy(SceneFixture *f);

/* Arrays are copied, with the padding that a loaded mesh has. Returns the mesh's index. */
uint32_t fixture_mesh(SceneFixture *f, const float *positions, uint32_t vertex_count,
                      const uint32_t *indices, uint32_t triangle_count);
/* A grid of 2 * cells^2 triangles over [-1,1]^2 at z = amplitude * a bumpy function. */
uint32_t fixture_grid(SceneFixture *f, uint32_t cells, float amplitude);
/* Curves; points: [sum of counts][4]. */
uint32_t fixture_curves(SceneFixture *f, SceneCurveBasis basis, bool is_ribbon, const float *points,
                        const uint32_t *counts, uint32_t curve_count);
uint32_t fixture_material(SceneFixture *f, const char *name);
/* With one slot. */
uint32_t fixture_instance(SceneFixture *f, uint32_t mesh, uint32_t material, mat4 transform);
uint32_t fixture_light(SceneFixture *f, SceneLight light);

/* A reproducible stream of numbers in [0, 1). */
float fixture_random(uint64_t *state);
/* A transform whose -z points along `direction`, at `position`. */
mat4 fixture_shine(float3 position, float3 direction);

#endif
