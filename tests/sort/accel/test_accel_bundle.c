/* Rays that search the scene together, against the same rays one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/scene/scene_fixture.h"

enum { BUNDLES = 400, UNTOUCHED = 0x7ffffff0 };

static float3 random_point(uint64_t *state, float side)
{
    return f3(side * (fixture_random(state) - 0.5f), side * (fixture_random(state) - 0.5f),
              side * (fixture_random(state) - 0.5f));
}

/* Rays through a small square of a picture plane, from a point or from all over a lens. */
static void aim_bundle(uint64_t *state, RayBundle *rays)
{
    rays->is_apart = false;
    float3 eye = random_point(state, 12.0f), at = random_point(state, 2.0f);
    float spread = exp2f(-8.0f * fixture_random(state)),
          lens = fixture_random(state) < 0.5f ? 0.0f : 0.2f;
    for (uint32_t k = 0; k < RAY_BUNDLE; ++k) {
        float3 origin = f3_add(eye, random_point(state, lens));
        float3 target = f3_add(at, random_point(state, spread));
        float3 d = f3_normalize(f3_sub(target, origin));
        rays->origin[0][k] = origin.x, rays->origin[1][k] = origin.y, rays->origin[2][k] = origin.z;
        rays->direction[0][k] = d.x, rays->direction[1][k] = d.y, rays->direction[2][k] = d.z;
        rays->t_min[k] = 0.0f, rays->t_max[k] = INFINITY, rays->time[k] = 0.0f;
    }
}

static Ray bundle_ray(const RayBundle *rays, uint32_t k)
{
    return (Ray){.origin = f3(rays->origin[0][k], rays->origin[1][k], rays->origin[2][k]),
                 .direction =
                     f3(rays->direction[0][k], rays->direction[1][k], rays->direction[2][k]),
                 .t_min = rays->t_min[k],
                 .t_max = rays->t_max[k],
                 .time = rays->time[k]};
}

/* What the rays meet one by one, into t->hits[0, RAY_BUNDLE). */
static void trace_singly(Tracer *t, const RayBundle *rays)
{
    for (uint32_t k = 0; k < RAY_BUNDLE; ++k) {
        Ray ray = bundle_ray(rays, k);
        ray_batch_set(&t->rays, k, &ray);
    }
    accel_intersect(t->accel, &t->rays, RAY_BUNDLE, &t->hits);
}

static bool is_same_hit(const HitBatch *a, const HitBatch *b, uint32_t k)
{
    if (a->shape[k] == HIT_NONE || b->shape[k] == HIT_NONE)
        return a->shape[k] == b->shape[k];
    return a->shape[k] == b->shape[k] && a->triangle[k] == b->triangle[k] &&
           memcmp(&a->t[k], &b->t[k], sizeof(float)) == 0 &&
           memcmp(&a->b1[k], &b->b1[k], sizeof(float)) == 0 &&
           memcmp(&a->b2[k], &b->b2[k], sizeof(float)) == 0;
}

static void forget(HitBatch *hits)
{
    for (uint32_t k = 0; k < RAY_BUNDLE; ++k)
        hits->shape[k] = UNTOUCHED;
}

/* Traces bundles, some with dead rays and rays that nobody asks for. Returns how many of the hits are others than those of single
 * rays; all of these must be as far away. */
static uint32_t count_others(Tracer *t, uint64_t *state, bool is_apart, uint32_t *out_hits)
{
    Arena *arena = arena_create(0, 0);
    HitBatch together;
    uint32_t to[RAY_BUNDLE], others = 0;
    assert_int_equal(hit_batch_create(arena, RAY_BUNDLE, &together, NULL), STATUS_OK);
    *out_hits = 0;
    for (uint32_t k = 0; k < RAY_BUNDLE; ++k)
        to[k] = k;
    for (uint32_t i = 0; i < BUNDLES; ++i) {
        RayBundle rays;
        aim_bundle(state, &rays);
        rays.is_apart = is_apart;
        uint32_t all = i % 2 ? 0xffff : (uint32_t)(fixture_random(state) * 65536.0f);
        uint32_t live = all, wanted = live & (i % 3 ? 0xffff : 0x0ff3);
        if (i % 4 == 0)
            rays.t_max[5] = -1.0f;
        trace_singly(t, &rays);
        forget(&together);
        accel_intersect_bundle(t->accel, &rays, (uint16_t)live, (uint16_t)wanted, SCENE_RAYS_CAMERA,
                               &together, to);
        for (uint32_t k = 0; k < RAY_BUNDLE; ++k) {
            if (!(wanted >> k & 1)) {
                assert_int_equal(together.shape[k], UNTOUCHED);
                continue;
            }
            *out_hits += together.shape[k] != HIT_NONE;
            if (is_same_hit(&together, &t->hits, k))
                continue;
            ++others;
            assert_true(together.shape[k] != HIT_NONE && t->hits.shape[k] != HIT_NONE);
            assert_true(fabsf(together.t[k] - t->hits.t[k]) <= 4e-6f * t->hits.t[k]);
        }
    }
    arena_destroy(arena);
    return others;
}

/* A closed surface of small triangles, seen from inside and outside, and lamps of each kind: nothing is missed, and only
 * neighbours are mistaken for one another. */
static void test_bundle_meets_what_single_rays_meet(void **unused)
{
    (void)unused;
    uint64_t state = 11;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey"), hits;
    fixture_instance(f, fixture_grid(f, 60, 0.3f), material, mat4_identity());
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_SPHERE,
                                  .light_to_world = mat4_translate(f3(0.5f, 0.5f, 0)),
                                  .radius_m = 0.3f});
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                                  .light_to_world = fixture_shine(f3(0, 0, 0.5f), f3(0, 0, -1)),
                                  .size_x_m = 1.0f,
                                  .size_y_m = 1.0f});
    Tracer t = tracer_create(&f->scene, NULL, RAY_BUNDLE);
    assert_int_equal(accel_stats(t.accel).instanced_count, 0);
    uint32_t others = count_others(&t, &state, false, &hits);
    assert_true(hits > 500);
    assert_true(others < hits / 50);
    assert_int_equal(count_others(&t, &state, true, &hits), 0);
    assert_true(hits > 500);
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* Inside instances, packets have other roundings: there the rays go one by one, to the same bits. */
static void test_bundle_is_single_rays_among_instances(void **unused)
{
    (void)unused;
    uint64_t state = 12;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey"), grid = fixture_grid(f, 600, 0.2f), hits;
    for (int i = 0; i < 4; ++i) {
        fixture_instance(f, grid, material, mat4_translate(f3(0.3f * (float)i, 0, 0)));
    }
    Tracer t = tracer_create(&f->scene, NULL, RAY_BUNDLE);
    assert_true(accel_stats(t.accel).instanced_count > 0);
    assert_int_equal(count_others(&t, &state, false, &hits), 0);
    assert_true(hits > 500);
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* The answer for a ray depends on who searches, not on whose answers are asked for, nor on where they go. */
static void test_bundle_depends_on_its_rays_alone(void **unused)
{
    (void)unused;
    uint64_t state = 13;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey");
    fixture_instance(f, fixture_grid(f, 40, 0.0f), material, mat4_identity());
    Tracer t = tracer_create(&f->scene, NULL, 2 * RAY_BUNDLE);
    for (uint32_t i = 0; i < BUNDLES; ++i) {
        RayBundle rays;
        uint32_t to[RAY_BUNDLE];
        aim_bundle(&state, &rays);
        for (uint32_t k = 0; k < RAY_BUNDLE; ++k)
            to[k] = k;
        accel_intersect_bundle(t.accel, &rays, 0xfff7, 0xfff7, SCENE_RAYS_CAMERA, &t.hits, to);
        for (uint32_t only = 0; only < RAY_BUNDLE; ++only) {
            if (only == 3)
                continue;
            to[only] = RAY_BUNDLE + only;
            accel_intersect_bundle(t.accel, &rays, 0xfff7, (uint16_t)(1u << only),
                                   SCENE_RAYS_CAMERA, &t.hits, to);
            assert_int_equal(t.hits.shape[only], t.hits.shape[to[only]]);
            if (t.hits.shape[only] == HIT_NONE)
                continue;
            assert_int_equal(t.hits.triangle[only], t.hits.triangle[to[only]]);
            assert_memory_equal(&t.hits.t[only], &t.hits.t[to[only]], sizeof(float));
        }
    }
    tracer_destroy(&t);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundle_meets_what_single_rays_meet),
        cmocka_unit_test(test_bundle_is_single_rays_among_instances),
        cmocka_unit_test(test_bundle_depends_on_its_rays_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
