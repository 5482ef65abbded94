/* Intersection against brute force in double precision, and the promise that a ray's result does not
 * depend on its company. */

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/light_shape.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/scene/scene_fixture.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

/* --- brute force ---------------------------------------------------------------------------- */

typedef struct Truth {
    double t; /* INFINITY: none */
    uint32_t shape, triangle;
    double margin; /* how far from an edge, in barycentrics; small: rounding decides */
    double second; /* distance of the next hit */
} Truth;

static void consider(Truth *truth, double t, uint32_t shape, uint32_t triangle, double margin)
{
    if (t < truth->t) {
        truth->second = truth->t;
        truth->t = t, truth->shape = shape, truth->triangle = triangle, truth->margin = margin;
    } else if (t < truth->second) {
        truth->second = t;
    }
}

/* [Moeller1997], in double. */
static void brute_triangle(const float3 p[3], const Ray *ray, uint32_t shape, uint32_t triangle,
                           Truth *truth)
{
    double o[3] = {(double)ray->origin.x, (double)ray->origin.y, (double)ray->origin.z};
    double d[3] = {(double)ray->direction.x, (double)ray->direction.y, (double)ray->direction.z};
    double a[3] = {(double)p[0].x, (double)p[0].y, (double)p[0].z};
    double e1[3] = {(double)p[1].x - a[0], (double)p[1].y - a[1], (double)p[1].z - a[2]};
    double e2[3] = {(double)p[2].x - a[0], (double)p[2].y - a[1], (double)p[2].z - a[2]};
    double h[3] = {d[1] * e2[2] - d[2] * e2[1], d[2] * e2[0] - d[0] * e2[2],
                   d[0] * e2[1] - d[1] * e2[0]};
    double det = e1[0] * h[0] + e1[1] * h[1] + e1[2] * h[2];
    if (det == 0.0)
        return;
    double s[3] = {o[0] - a[0], o[1] - a[1], o[2] - a[2]};
    double u = (s[0] * h[0] + s[1] * h[1] + s[2] * h[2]) / det;
    double q[3] = {s[1] * e1[2] - s[2] * e1[1], s[2] * e1[0] - s[0] * e1[2],
                   s[0] * e1[1] - s[1] * e1[0]};
    double v = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / det;
    double t = (e2[0] * q[0] + e2[1] * q[1] + e2[2] * q[2]) / det;
    double margin = fmin(fmin(u, v), 1.0 - u - v);
    if (margin >= -1e-4 && t > (double)ray->t_min && t < (double)ray->t_max)
        consider(truth, t, shape, triangle, margin);
}

static Truth brute_force(const Scene *scene, const Ray *ray)
{
    Truth truth = {.t = HUGE_VAL, .second = HUGE_VAL, .margin = 1.0};
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneMesh *mesh = &scene->meshes[scene->instances[i].mesh];
        for (uint32_t k = 0; k < mesh->triangle_count; ++k) {
            float3 p[3];
            scene_triangle(scene, i, k, p);
            brute_triangle(p, ray, i, k, &truth);
        }
    }
    return truth;
}

/* --- helpers -------------------------------------------------------------------------------- */

static Ray random_ray(uint64_t *state, float spread)
{
    float3 origin = f3(spread * (2.0f * fixture_random(state) - 1.0f),
                       spread * (2.0f * fixture_random(state) - 1.0f),
                       spread * (2.0f * fixture_random(state) - 1.0f));
    float3 target = f3(2.0f * fixture_random(state) - 1.0f, 2.0f * fixture_random(state) - 1.0f,
                       2.0f * fixture_random(state) - 1.0f);
    return (Ray){
        .origin = origin, .direction = f3_normalize(f3_sub(target, origin)), .t_max = INFINITY};
}

static uint32_t random_soup(SceneFixture *f, uint64_t *state, uint32_t triangle_count)
{
    float *positions = MEM_ARRAY(float, 9 * (size_t)triangle_count);
    uint32_t *indices = MEM_ARRAY(uint32_t, 3 * (size_t)triangle_count);
    CHECK(positions && indices);
    for (uint32_t i = 0; i < triangle_count; ++i) {
        float centre[3];
        for (int k = 0; k < 3; ++k)
            centre[k] = 1.6f * fixture_random(state) - 0.8f;
        for (uint32_t k = 0; k < 9; ++k)
            positions[9 * i + k] = centre[k % 3] + 0.4f * fixture_random(state) - 0.2f;
        for (uint32_t k = 0; k < 3; ++k)
            indices[3 * i + k] = 3 * i + k;
    }
    uint32_t mesh = fixture_mesh(f, positions, 3 * triangle_count, indices, triangle_count);
    mem_free(positions);
    mem_free(indices);
    return mesh;
}

/* Every hit's distance, identity, barycentrics and side against the truth; rays for which the truth
 * is a matter of rounding are skipped, and must be few. */
static void check_against_truth(const Scene *scene, Tracer *t, uint32_t count)
{
    uint32_t skipped = 0, hit_count = 0;
    accel_intersect(t->accel, &t->rays, count, &t->hits);
    for (uint32_t i = 0; i < count; ++i) {
        Ray ray = ray_batch_get(&t->rays, i);
        Truth truth = brute_force(scene, &ray);
        if (truth.margin < 1e-4 || truth.second - truth.t < 1e-4) {
            ++skipped;
            continue;
        }
        if (isinf(truth.t)) {
            assert_int_equal(t->hits.shape[i], HIT_NONE);
            continue;
        }
        ++hit_count;
        assert_int_equal(t->hits.shape[i], truth.shape);
        assert_true(hit_is_mesh(t->hits.shape[i]));
        assert_int_equal(t->hits.triangle[i], truth.triangle);
        assert_true(fabs((double)t->hits.t[i] - truth.t) < 2e-6 * (1.0 + truth.t));

        float3 p[3];
        scene_triangle(scene, truth.shape, truth.triangle, p);
        float b1 = t->hits.b1[i], b2 = t->hits.b2[i];
        float3 point =
            f3_add(f3_scale(p[0], 1.0f - b1 - b2), f3_add(f3_scale(p[1], b1), f3_scale(p[2], b2)));
        float3 along = f3_madd(ray.origin, t->hits.t[i], ray.direction);
        assert_true(f3_length(f3_sub(point, along)) < 1e-4f);
    }
    assert_true(skipped * 20 < count);
    assert_true(hit_count * 10 > count);
}

static mat4 random_transform(uint64_t *state)
{
    float3 axis = f3(fixture_random(state), fixture_random(state), 0.1f + fixture_random(state));
    float sx = 0.5f + fixture_random(state), sy = 0.5f + fixture_random(state);
    float sz = 0.5f + fixture_random(state);
    if (fixture_random(state) < 0.5f)
        sx = -sx;
    mat4 shear = mat4_identity();
    shear.m[0][1] = 0.5f * fixture_random(state);
    mat4 m = mat4_mul(mat4_rotate(axis, 6.0f * fixture_random(state)),
                      mat4_mul(shear, mat4_scale(f3(sx, sy, sz))));
    float3 offset = f3(2.0f * fixture_random(state) - 1.0f, 2.0f * fixture_random(state) - 1.0f,
                       2.0f * fixture_random(state) - 1.0f);
    return mat4_mul(mat4_translate(offset), m);
}

/* A mesh with so many triangles and copies that accel does not flatten it. */
static void add_instanced_grids(SceneFixture *f, uint32_t material, uint64_t *state, uint32_t cells,
                                uint32_t copies)
{
    uint32_t grid = fixture_grid(f, cells, 0.2f);
    for (uint32_t i = 0; i < copies; ++i)
        fixture_instance(f, grid, material, random_transform(state));
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_accel_matches_brute_force(void **unused)
{
    SORT_UNUSED(unused);
    enum { RAYS = 2000 };
    uint64_t state = 1;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey");
    fixture_instance(f, random_soup(f, &state, 150), material, mat4_identity());
    uint32_t shared = random_soup(f, &state, 20);
    for (int i = 0; i < 8; ++i)
        fixture_instance(f, shared, material, random_transform(&state));
    Tracer t = tracer_create(&f->scene, NULL, RAYS);
    AccelStats stats = accel_stats(t.accel);
    assert_int_equal(stats.flattened_count, 9);
    assert_int_equal(stats.triangle_count, 150 + 8 * 20);
    assert_true(stats.memory_bytes > 1000);
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = random_ray(&state, 3.0f);
        ray_batch_set(&t.rays, i, &ray);
    }
    check_against_truth(&f->scene, &t, RAYS);
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* 600 x 600 x 2 triangles, 4 copies: beyond what is flattened. Truth from a coarse double: the same
 * geometry would be slow by brute force, so the rays are few. */
static void test_accel_instances_match_brute_force(void **unused)
{
    SORT_UNUSED(unused);
    enum { RAYS = 24 };
    uint64_t state = 2;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey");
    add_instanced_grids(f, material, &state, 600, 4);
    Tracer t = tracer_create(&f->scene, NULL, RAYS);
    assert_int_equal(accel_stats(t.accel).instanced_count, 4);
    assert_int_equal(accel_stats(t.accel).flattened_count, 0);
    uint32_t checked = 0, mirrored = 0;
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = random_ray(&state, 2.0f);
        ray_batch_set(&t.rays, i, &ray);
    }
    accel_intersect(t.accel, &t.rays, RAYS, &t.hits);
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = ray_batch_get(&t.rays, i);
        Truth truth = brute_force(&f->scene, &ray);
        if (isinf(truth.t) || truth.margin < 1e-2 || truth.second - truth.t < 1e-3)
            continue;
        ++checked;
        assert_int_equal(t.hits.shape[i], truth.shape);
        assert_int_equal(t.hits.triangle[i], truth.triangle);
        assert_true(fabs((double)t.hits.t[i] - truth.t) < 1e-5);
        mirrored += f->instances[truth.shape].is_mirrored;
    }
    assert_true(checked >= 8 && mirrored >= 1);
    tracer_destroy(&t);
    fixture_destroy(f);
}

static void assert_same_hit(const HitBatch *a, uint32_t i, const HitBatch *b, uint32_t k)
{
    assert_int_equal(a->shape[i], b->shape[k]);
    if (a->shape[i] == HIT_NONE)
        return;
    assert_int_equal(a->triangle[i], b->triangle[k]);
    assert_memory_equal(&a->t[i], &b->t[k], sizeof(float));
    assert_memory_equal(&a->b1[i], &b->b1[k], sizeof(float));
    assert_memory_equal(&a->b2[i], &b->b2[k], sizeof(float));
}

/* Rays at vertices and edges, in order, one by one, and shuffled: the same bits. */
static void check_company(SceneFixture *f, uint64_t *state, uint32_t count)
{
    Tracer t = tracer_create(&f->scene, NULL, count);
    Arena *arena = arena_create(0, 0);
    RayBatch other_rays;
    HitBatch other_hits;
    assert_int_equal(ray_batch_create(arena, count, &other_rays, NULL), STATUS_OK);
    assert_int_equal(hit_batch_create(arena, count, &other_hits, NULL), STATUS_OK);
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; ++i) {
        Ray ray = random_ray(state, 2.0f);
        uint32_t kind = i % 3;
        if (kind > 0) {
            uint32_t instance = (uint32_t)(fixture_random(state) * (float)f->scene.instance_count);
            const SceneMesh *mesh = &f->meshes[f->instances[instance].mesh];
            uint32_t triangle = (uint32_t)(fixture_random(state) * (float)mesh->triangle_count);
            float3 p[3];
            scene_triangle(&f->scene, instance, triangle, p);
            float along = kind == 1 ? 0.0f : fixture_random(state);
            float3 target = f3_lerp(p[0], p[1], along);
            ray.direction = f3_normalize(f3_sub(target, ray.origin));
        }
        ray_batch_set(&t.rays, i, &ray);
        order[i] = i;
    }
    for (uint32_t i = count - 1; i > 0; --i) {
        uint32_t k = (uint32_t)(fixture_random(state) * (float)(i + 1)), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (uint32_t i = 0; i < count; ++i) {
        Ray ray = ray_batch_get(&t.rays, order[i]);
        ray_batch_set(&other_rays, i, &ray);
    }
    accel_intersect(t.accel, &t.rays, count, &t.hits);
    accel_intersect(t.accel, &other_rays, count, &other_hits);
    for (uint32_t i = 0; i < count; ++i)
        assert_same_hit(&t.hits, order[i], &other_hits, i);

    RayBatch one_ray;
    HitBatch one_hit;
    assert_int_equal(ray_batch_create(arena, 1, &one_ray, NULL), STATUS_OK);
    assert_int_equal(hit_batch_create(arena, 1, &one_hit, NULL), STATUS_OK);
    for (uint32_t i = 0; i < count; ++i) {
        Ray ray = ray_batch_get(&t.rays, i);
        ray_batch_set(&one_ray, 0, &ray);
        accel_intersect(t.accel, &one_ray, 1, &one_hit);
        assert_same_hit(&t.hits, i, &one_hit, 0);
    }

    /* Occlusion to just before and just behind what intersect found. Where a ray grazes a triangle,
     * its distance is off by more than that, and either answer is right; not so for its company. */
    ShadowBatch one_shadow;
    assert_int_equal(shadow_batch_create(arena, 1, &one_shadow, NULL), STATUS_OK);
    uint32_t surprises = 0;
    for (int pass = 0; pass < 2; ++pass) {
        for (uint32_t i = 0; i < count; ++i) {
            Ray ray = ray_batch_get(&t.rays, i);
            if (t.hits.shape[i] != HIT_NONE)
                ray.t_max = t.hits.t[i] * (pass == 0 ? 0.999f : 1.001f);
            ray_batch_set(&t.shadow.rays, i, &ray);
        }
        memset(t.shadow.state, SHADOW_QUEUED, count);
        accel_occluded(t.accel, &t.shadow, count);
        for (uint32_t i = 0; i < count; ++i) {
            Ray ray = ray_batch_get(&t.shadow.rays, i);
            ray_batch_set(&one_shadow.rays, 0, &ray);
            one_shadow.state[0] = SHADOW_QUEUED;
            accel_occluded(t.accel, &one_shadow, 1);
            assert_int_equal(t.shadow.state[i], one_shadow.state[0]);
            bool is_hit = pass == 1 && t.hits.shape[i] != HIT_NONE;
            surprises += t.shadow.state[i] != (is_hit ? SHADOW_BLOCKED : SHADOW_CLEAR);
        }
    }
    assert_true(surprises * 1000 <= count);
    arena_destroy(arena);
    tracer_destroy(&t);
}

static void test_accel_results_ignore_company(void **unused)
{
    SORT_UNUSED(unused);
    uint64_t state = 3;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey");
    fixture_instance(f, fixture_grid(f, 100, 0.2f), material, mat4_identity());
    fixture_instance(f, random_soup(f, &state, 500), material, random_transform(&state));
    check_company(f, &state, 30000);
    fixture_destroy(f);
}

static void test_accel_instanced_results_ignore_company(void **unused)
{
    SORT_UNUSED(unused);
    uint64_t state = 4;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey");
    add_instanced_grids(f, material, &state, 200, 40);
    Tracer t = tracer_create(&f->scene, NULL, 8);
    assert_int_equal(accel_stats(t.accel).instanced_count, 40);
    tracer_destroy(&t);
    check_company(f, &state, 30000);
    fixture_destroy(f);
}

/* Overlapping instances in one plane, where packets would answer one way or another. */
static void test_accel_coplanar_instances_ignore_company(void **unused)
{
    SORT_UNUSED(unused);
    uint64_t state = 8;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey"), grid = fixture_grid(f, 150, 0.0f);
    for (int i = 0; i < 60; ++i) {
        float3 offset = f3((float)(i % 5) * 0.25f - 0.5f, (float)i * 0.025f - 0.5f, 0);
        mat4 scale = mat4_scale(f3_splat(0.25f * (float)(1 + i % 4)));
        fixture_instance(f, grid, material, mat4_mul(mat4_translate(offset), scale));
    }
    Tracer t = tracer_create(&f->scene, NULL, 8);
    assert_int_equal(accel_stats(t.accel).instanced_count, 60);
    tracer_destroy(&t);
    check_company(f, &state, 30000);
    fixture_destroy(f);
}

/* The hierarchy, and with it the choice among coincident faces, is the same for any number of
 * building threads. */
static void test_accel_results_ignore_build_threads(void **unused)
{
    SORT_UNUSED(unused);
    enum { RAYS = 20000 };
    uint64_t state = 9;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey"), grid = fixture_grid(f, 300, 0.1f);
    for (int i = 0; i < 3; ++i)
        fixture_instance(f, grid, material, mat4_identity());
    Tracer t = tracer_create(&f->scene, NULL, RAYS);
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = random_ray(&state, 2.0f);
        ray_batch_set(&t.rays, i, &ray);
    }
    accel_intersect(t.accel, &t.rays, RAYS, &t.hits);
    const uint32_t thread_counts[] = {1, 3, 8};
    for (uint32_t k = 0; k < SORT_COUNT_OF(thread_counts); ++k) {
        AccelDesc desc = {
            .size_bytes = sizeof desc, .scene = &f->scene, .thread_count = thread_counts[k]};
        Accel *other;
        HitBatch hits;
        assert_int_equal(accel_create(&desc, &other, NULL), STATUS_OK);
        assert_int_equal(hit_batch_create(t.arena, RAYS, &hits, NULL), STATUS_OK);
        accel_intersect(other, &t.rays, RAYS, &hits);
        for (uint32_t i = 0; i < RAYS; ++i)
            assert_same_hit(&t.hits, i, &hits, i);
        accel_destroy(other);
    }
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* Every triangle three times over: which of the three is hit must not depend on company either. */
static void test_accel_coincident_triangles_ignore_company(void **unused)
{
    SORT_UNUSED(unused);
    uint64_t state = 5;
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "grey");
    uint32_t grid = fixture_grid(f, 40, 0.2f);
    for (int i = 0; i < 3; ++i)
        fixture_instance(f, grid, material, mat4_identity());
    check_company(f, &state, 30000);
    fixture_destroy(f);
}

/* Distances are right to few roundings: Embree divides by the CPU's approximate reciprocal, which models of CPUs have their own
 * of, and one step of Newton's method. */
static void assert_is_at(float t, float expected)
{
    assert_float_equal(t, expected, expected * 4.0f * FLT_EPSILON);
}

static void test_accel_limits_and_dead_rays(void **unused)
{
    SORT_UNUSED(unused);
    SceneFixture *f = fixture_create();
    const float positions[] = {-1, -1, 0, 1, -1, 0, 0, 1, 0, 0, 0, 1};
    const uint32_t indices[] = {0, 1, 2, 3, 3, 3, 0, 0, 3}; /* two of them degenerate */
    fixture_instance(f, fixture_mesh(f, positions, 4, indices, 3), fixture_material(f, "grey"),
                     mat4_identity());
    Tracer t = tracer_create(&f->scene, NULL, 16);
    Ray down = {.origin = f3(0, 0, 5), .direction = f3(0, 0, -1), .t_max = INFINITY};
    Ray near_end = down, near_start = down, dead = down, away = down;
    near_end.t_max = 4.99f;
    near_start.t_min = 5.01f;
    dead.t_max = -1.0f;
    away.direction = f3(0, 0, 1);
    const Ray rays[] = {down, near_end, near_start, dead, away};
    for (uint32_t i = 0; i < 5; ++i)
        ray_batch_set(&t.rays, i, &rays[i]);
    accel_intersect(t.accel, &t.rays, 5, &t.hits);
    assert_int_equal(t.hits.shape[0], 0);
    assert_int_equal(t.hits.triangle[0], 0);
    assert_is_at(t.hits.t[0], 5.0f);
    for (uint32_t i = 1; i < 5; ++i)
        assert_int_equal(t.hits.shape[i], HIT_NONE);
    accel_intersect(t.accel, &t.rays, 0, &t.hits);

    /* States that are not to be traced stay. */
    const ShadowState before[] = {SHADOW_QUEUED, SHADOW_DEAD, SHADOW_QUEUED, SHADOW_CLEAR};
    const ShadowState after[] = {SHADOW_BLOCKED, SHADOW_DEAD, SHADOW_CLEAR, SHADOW_CLEAR};
    for (uint32_t i = 0; i < 4; ++i) {
        ray_batch_set(&t.shadow.rays, i, &rays[i]);
        t.shadow.state[i] = (uint8_t)before[i];
    }
    accel_occluded(t.accel, &t.shadow, 4);
    for (uint32_t i = 0; i < 4; ++i)
        assert_int_equal(t.shadow.state[i], after[i]);
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* Three alpha sheets and an opaque one: a shadow ray visits the sheets one by one. */
static void test_accel_alpha_is_handed_over(void **unused)
{
    SORT_UNUSED(unused);
    SceneFixture *f = fixture_create();
    const float positions[] = {-1, -1, 0, 1, -1, 0, 0, 1, 0};
    const uint32_t indices[] = {0, 1, 2};
    uint32_t mesh = fixture_mesh(f, positions, 3, indices, 1);
    uint32_t solid = fixture_material(f, "solid"), leaf = fixture_material(f, "leaf");
    for (int i = 1; i <= 3; ++i)
        fixture_instance(f, mesh, leaf, mat4_translate(f3(0, 0, (float)-i)));
    fixture_instance(f, mesh, solid, mat4_translate(f3(0, 0, -10)));
    const bool has_alpha[] = {false, true};
    Tracer t = tracer_create(&f->scene, has_alpha, 8);
    Ray to_light = {.direction = f3(0, 0, -1), .t_max = 9.0f}, to_wall = to_light;
    to_wall.t_max = 11.0f;
    ray_batch_set(&t.shadow.rays, 0, &to_light);
    ray_batch_set(&t.shadow.rays, 1, &to_wall);
    t.shadow.state[0] = t.shadow.state[1] = SHADOW_QUEUED;
    for (uint32_t sheet = 0; sheet < 3; ++sheet) {
        accel_occluded(t.accel, &t.shadow, 2);
        assert_int_equal(t.shadow.state[1], SHADOW_BLOCKED);
        assert_int_equal(t.shadow.state[0], SHADOW_ALPHA);
        assert_int_equal(t.shadow.hits.shape[0], sheet);
        assert_is_at(t.shadow.hits.t[0], (float)(sheet + 1));
        shadow_batch_continue(&t.shadow, 0);
    }
    accel_occluded(t.accel, &t.shadow, 2);
    assert_int_equal(t.shadow.state[0], SHADOW_CLEAR);
    tracer_destroy(&t);
    fixture_destroy(f);
}

enum { STACK_RAYS = 4000, STACK_COPIES = 5 };

typedef enum Stack {
    STACK_FLATTENED, /* a triangle that covers all, and copies of a grid */
    STACK_MOVING,    /* the same, flattened with keys */
    STACK_INSTANCED, /* the same, copies below instances of which one moves */
    STACK_TUBES,     /* the same curve below several instances */
    STACK_RIBBONS,
    STACK_COUNT
} Stack;

static void add_curves(SceneFixture *f, uint32_t material, mat4 place, bool is_ribbon)
{
    const float points[4][4] = {
        {-0.2f, -3, 0, 0.5f}, {0.1f, -1, 0, 0.5f}, {-0.1f, 1, 0, 0.5f}, {0.2f, 3, 0, 0.5f}};
    const uint32_t counts[] = {4};
    uint32_t curve = fixture_curves(f, SCENE_CURVE_B_SPLINE, is_ribbon, points[0], counts, 1);
    for (uint32_t i = 0; i <= STACK_COPIES; ++i)
        fixture_instance(f, curve, material, mat4_mul(place, mat4_rotate(f3(0, 0, 1), 0.3f)));
}

/* keys: room for two. All moves along the sheets' plane. */
static void add_sheets(SceneFixture *f, uint32_t material, mat4 place, Stack kind, mat4 keys[2])
{
    const float positions[] = {-9, -9, 0, 9, -9, 0, 0, 9, 0};
    const uint32_t indices[] = {0, 1, 2};
    uint32_t grid = fixture_grid(f, 4, 0.0f);
    fixture_instance(f, fixture_mesh(f, positions, 3, indices, 1), material, place);
    for (uint32_t i = 0; i < STACK_COPIES; ++i)
        fixture_instance(f, grid, material, place);
    keys[0] = place;
    keys[1] = mat4_mul(place, mat4_translate(f3(0.1f, -0.05f, 0)));
    if (kind ==
        STACK_INSTANCED) { /* a mesh with keys in an instance with keys is never flattened */
        SceneMeshKey *later = ARENA_NEW(f->arena, SceneMeshKey);
        assert_non_null(later);
        later->positions = f->meshes[grid].positions;
        f->meshes[grid].later = later;
        f->meshes[grid].later_count = 1;
    }
    for (uint32_t i = kind == STACK_MOVING ? 0 : STACK_COPIES;
         kind != STACK_FLATTENED && i <= STACK_COPIES; ++i)
        assert_true(scene_instance_set_motion(&f->instances[i], keys, 2));
}

static void aim_at_stack(Tracer *t, bool is_shadow, mat4 place)
{
    uint64_t state = 17;
    for (uint32_t i = 0; i < STACK_RAYS; ++i) {
        float3 at =
            f3(0.8f * fixture_random(&state) - 0.4f, 0.8f * fixture_random(&state) - 0.4f, 0);
        float3 from =
            f3(2.0f * fixture_random(&state) - 1.0f, 2.0f * fixture_random(&state) - 1.0f, 1);
        Ray ray = {.origin = mat4_point(&place, from),
                   .direction = f3_normalize(f3_sub(at, from)),
                   .t_max = 9.0f,
                   .time = fixture_random(&state)};
        ray_batch_set(is_shadow ? &t->shadow.rays : &t->rays, i, &ray);
        t->shadow.state[i] = SHADOW_QUEUED;
    }
}

/* A ray that goes straight on meets each of the surfaces that lie on each other once, whether they come to the same
 * distance (copies) or to one that differs by rounding. Returns how many of the rays met another number of surfaces;
 * rays beside a tube may meet none. */
static uint32_t count_odd_stacks(Stack kind, bool is_shadow, bool is_far)
{
    enum { SURFACES = STACK_COPIES + 1 };
    mat4 keys[2], place = mat4_translate(is_far ? f3(700, -300, 90) : f3(0, 0, 0));
    SceneFixture *f = fixture_create();
    uint32_t leaf = fixture_material(f, "leaf");
    bool is_curve = kind == STACK_TUBES || kind == STACK_RIBBONS;
    if (is_curve)
        add_curves(f, leaf, place, kind == STACK_RIBBONS);
    else
        add_sheets(f, leaf, place, kind, keys);
    const bool has_alpha[] = {true};
    Tracer t = tracer_create(&f->scene, has_alpha, STACK_RAYS);
    assert_int_equal(accel_stats(t.accel).instanced_count, is_curve                  ? SURFACES
                                                           : kind == STACK_INSTANCED ? STACK_COPIES
                                                                                     : 0);
    aim_at_stack(&t, is_shadow, place);
    uint32_t *met = MEM_ARRAY(uint32_t, (size_t)STACK_RAYS *SURFACES), odd = 0, all = 0;
    assert_non_null(met);
    for (uint32_t pass = 0; pass < SURFACES + 2; ++pass) {
        const HitBatch *hits = is_shadow ? &t.shadow.hits : &t.hits;
        if (is_shadow)
            accel_occluded(t.accel, &t.shadow, STACK_RAYS);
        else
            accel_intersect(t.accel, &t.rays, STACK_RAYS, &t.hits);
        for (uint32_t i = 0; i < STACK_RAYS; ++i) {
            if (is_shadow ? t.shadow.state[i] != SHADOW_ALPHA : hits->shape[i] == HIT_NONE)
                continue;
            assert_true(hits->shape[i] < SURFACES);
            ++met[i * SURFACES + hits->shape[i]];
            if (is_shadow)
                shadow_batch_continue(&t.shadow, i);
            else
                ray_batch_pass(&t.rays, hits, i);
        }
    }
    for (uint32_t i = 0; i < STACK_RAYS; ++i) {
        bool is_odd = false;
        uint32_t sum = 0;
        for (uint32_t k = 0; k < SURFACES; ++k)
            sum += met[i * SURFACES + k];
        uint32_t expected = is_curve && sum == 0 ? 0 : 1;
        for (uint32_t k = 0; k < SURFACES; ++k)
            is_odd = is_odd || met[i * SURFACES + k] != expected;
        odd += is_odd;
        all += expected;
    }
    assert_true(all > STACK_RAYS / 2);
    mem_free(met);
    tracer_destroy(&t);
    fixture_destroy(f);
    return odd;
}

static void test_accel_stacked_sheets_are_met_once_each(void **unused)
{
    SORT_UNUSED(unused);
    for (uint32_t k = 0; k < 4 * STACK_COUNT; ++k) {
        uint32_t odd = count_odd_stacks((Stack)(k / 4), k & 1, k & 2);
        /* Edges that two triangles share are met twice by rays that run within a rounding of them. */
        if (odd > 2)
            fail_msg("stack %u, %s, %s: %u of %d rays", k / 4, k & 1 ? "shadow" : "scattered",
                     k & 2 ? "far" : "near", odd, STACK_RAYS);
    }
}

enum { HAIR_RAYS = 2000 };

/* Rays meet hairs of 0.2 mm from 3 m away. Each is bent like a hairpin, of one segment whose legs are 0.4 mm behind each
 * other, and the copies are apart_m behind each other. Returns how many rays did not meet both legs of all, once each. */
static uint32_t count_odd_hairs(bool is_ribbon, uint32_t copies, float apart_m)
{
    const float points[4][4] = {
        {0, 0, 0, 1e-4f}, {0, 4e-3f, 0, 1e-4f}, {0, 4e-3f, 5e-4f, 1e-4f}, {0, 0, 5e-4f, 1e-4f}};
    const uint32_t counts[] = {4};
    uint64_t state = 23;
    SceneFixture *f = fixture_create();
    uint32_t leaf = fixture_material(f, "leaf");
    uint32_t curve = fixture_curves(f, SCENE_CURVE_BEZIER, is_ribbon, points[0], counts, 1);
    for (uint32_t i = 0; i < copies; ++i)
        fixture_instance(f, curve, leaf, mat4_translate(f3(0, 0, apart_m * (float)i)));
    Tracer t = tracer_create(&f->scene, NULL, HAIR_RAYS);
    for (uint32_t i = 0; i < HAIR_RAYS; ++i) {
        float3 at =
            f3(1e-4f * fixture_random(&state) - 5e-5f, 2e-4f + 1.4e-3f * fixture_random(&state), 0);
        float3 from = f3_add(at, f3(0.01f * fixture_random(&state), 0, -3));
        Ray ray = {.origin = from, .direction = f3_normalize(f3_sub(at, from)), .t_max = INFINITY};
        ray_batch_set(&t.rays, i, &ray);
    }
    uint32_t met[HAIR_RAYS] = {0}, odd = 0;
    for (uint32_t pass = 0; pass < 2 * copies + 2; ++pass) {
        accel_intersect(t.accel, &t.rays, HAIR_RAYS, &t.hits);
        for (uint32_t i = 0; i < HAIR_RAYS; ++i) {
            if (t.hits.shape[i] == HIT_NONE)
                continue;
            ++met[i];
            ray_batch_pass(&t.rays, &t.hits, i);
        }
    }
    for (uint32_t i = 0; i < HAIR_RAYS; ++i)
        odd += met[i] != 2 * copies;
    tracer_destroy(&t);
    fixture_destroy(f);
    return odd;
}

static void test_accel_hairs_are_met_at_each_crossing(void **unused)
{
    SORT_UNUSED(unused);
    const float apart_m[] = {0.0f, 1e-5f, 2.1e-4f, 1e-3f};
    for (uint32_t k = 0; k < 16; ++k) {
        bool is_ribbon = (k & 1) != 0;
        uint32_t copies = k & 2 ? 4 : 1;
        float apart = apart_m[k / 4];
        uint32_t odd = count_odd_hairs(is_ribbon, copies, apart);
        if (odd > 2)
            fail_msg("%u %s, %g m apart: %u of %d rays", copies, is_ribbon ? "ribbons" : "tubes",
                     (double)apart, odd, HAIR_RAYS);
    }
}

enum { FIBRE_RAYS = 4000, FIBRES = 60 };

typedef struct FibreHit {
    bool is_hit;
    uint32_t segment;
    float t; /* in sizes */
} FibreHit;

/* Random fibres of three linear segments within a box of 2 * size, in an instance that makes them `scale` times as large; what
 * random rays from around them meet. */
static void meet_fibres(float size, float scale, bool moves, FibreHit out_hits[FIBRE_RAYS])
{
    float points[4 * FIBRES][4];
    uint32_t counts[FIBRES];
    uint64_t state = 31;
    SceneFixture *f = fixture_create();
    uint32_t grey = fixture_material(f, "grey");
    for (uint32_t i = 0; i < FIBRES; ++i) {
        counts[i] = 4;
        for (uint32_t k = 0; k < 4; ++k) {
            for (uint32_t c = 0; c < 3; ++c)
                points[4 * i + k][c] = size * (2.0f * fixture_random(&state) - 1.0f);
            points[4 * i + k][3] = size * 0.05f * (0.5f + fixture_random(&state));
        }
    }
    uint32_t curve = fixture_curves(f, SCENE_CURVE_LINEAR, false, points[0], counts, FIBRES);
    uint32_t instance = fixture_instance(f, curve, grey, mat4_scale(f3_splat(scale)));
    mat4 keys[2] = {f->instances[instance].object_to_world, f->instances[instance].object_to_world};
    if (moves)
        f->instances[instance].keys = keys, f->instances[instance].key_count = 2;
    Tracer t = tracer_create(&f->scene, NULL, FIBRE_RAYS);
    for (uint32_t i = 0; i < FIBRE_RAYS; ++i) {
        Ray ray = random_ray(&state, 3.0f);
        ray_batch_start(&t.rays, i, f3_scale(ray.origin, size * scale), ray.direction, INFINITY,
                        0.5f);
    }
    accel_intersect(t.accel, &t.rays, FIBRE_RAYS, &t.hits);
    for (uint32_t i = 0; i < FIBRE_RAYS; ++i)
        out_hits[i] = (FibreHit){.is_hit = t.hits.shape[i] != HIT_NONE,
                                 .segment = t.hits.triangle[i],
                                 .t = t.hits.t[i] / (size * scale)};
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* Tubes of linear segments are the same at any size: Embree's intersection takes high powers of lengths. */
static void test_accel_fibres_have_any_size(void **unused)
{
    SORT_UNUSED(unused);
    const float sizes[] = {0x1p-12f, 1e-4f, 3e-3f, 1000.0f, 1e-3f, 1e-5f};
    const float scales[] = {1.0f, 1e4f, 1.0f, 1.0f, 0.01f, 1.0f};
    static FibreHit of_one[FIBRE_RAYS], hits[FIBRE_RAYS];
    meet_fibres(1.0f, 1.0f, false, of_one);
    for (uint32_t k = 0; k < 2 * SORT_COUNT_OF(sizes); ++k) {
        uint32_t odd = 0, met = 0;
        meet_fibres(sizes[k / 2], scales[k / 2], k & 1, hits);
        for (uint32_t i = 0; i < FIBRE_RAYS; ++i) {
            const FibreHit *a = &of_one[i], *b = &hits[i];
            bool is_same = a->segment == b->segment && fabsf(a->t - b->t) < 1e-3f;
            met += a->is_hit;
            odd += a->is_hit != b->is_hit || (a->is_hit && !is_same);
        }
        assert_true(met > FIBRE_RAYS / 10);
        if (odd > FIBRE_RAYS / 400)
            fail_msg("of size %g, %g times as large%s: %u of %d rays", (double)sizes[k / 2],
                     (double)scales[k / 2], k & 1 ? ", moving" : "", odd, FIBRE_RAYS);
    }
}

/* What lets no rays through ends the ray, whatever its number among the lights at its distance. */
static void test_accel_stacked_lights_are_met_once_each(void **unused)
{
    SORT_UNUSED(unused);
    enum { RAYS = 64, LIGHTS = 3 };
    const float positions[] = {-9, -9, 1, 9, -9, 1, 0, 9, 1};
    const uint32_t indices[] = {0, 1, 2};
    uint64_t state = 5;
    SceneFixture *f = fixture_create();
    fixture_instance(f, fixture_mesh(f, positions, 3, indices, 1), fixture_material(f, "wall"),
                     mat4_identity());
    for (uint32_t i = 0; i < LIGHTS; ++i)
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                                      .light_to_world = fixture_shine(f3(0, 0, 1), f3(0, 0, -1)),
                                      .size_x_m = 4.0f,
                                      .size_y_m = 4.0f});
    Tracer t = tracer_create(&f->scene, NULL, RAYS);
    for (uint32_t i = 0; i < RAYS; ++i) {
        float3 at = f3(2 * fixture_random(&state) - 1, 2 * fixture_random(&state) - 1, 1);
        Ray ray = {.direction = f3_normalize(at), .t_max = INFINITY};
        ray_batch_set(&t.rays, i, &ray);
    }
    uint32_t met[RAYS][LIGHTS + 1] = {0};
    for (uint32_t pass = 0; pass <= LIGHTS; ++pass) {
        accel_intersect(t.accel, &t.rays, RAYS, &t.hits);
        for (uint32_t i = 0; i < RAYS; ++i) {
            uint32_t shape = t.hits.shape[i];
            if (shape == HIT_NONE || met[i][LIGHTS])
                continue;
            ++met[i][shape & HIT_LIGHT ? shape & ~HIT_LIGHT : LIGHTS];
            if (shape & HIT_LIGHT)
                ray_batch_pass(&t.rays, &t.hits, i);
        }
    }
    for (uint32_t i = 0; i < RAYS; ++i) {
        assert_int_equal(met[i][LIGHTS], 1);
        for (uint32_t k = 0; k < LIGHTS; ++k)
            assert_true(met[i][k] <= 1);
    }
    tracer_destroy(&t);
    fixture_destroy(f);
}

static void test_accel_light_shapes(void **unused)
{
    SORT_UNUSED(unused);
    SceneFixture *f = fixture_create();
    const float positions[] = {-9, -9, 0, 9, -9, 0, 0, 9, 0};
    const uint32_t indices[] = {0, 1, 2};
    fixture_instance(f, fixture_mesh(f, positions, 3, indices, 1), fixture_material(f, "floor"),
                     mat4_identity());
    /* A point light first, so that light and primitive numbers differ. */
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_POINT, .light_to_world = mat4_identity()});
    SceneLight rectangle = {.kind = SCENE_LIGHT_RECTANGLE,
                            .light_to_world = fixture_shine(f3(0, 0, 3), f3(0, 0, -1)),
                            .size_x_m = 2.0f,
                            .size_y_m = 1.0f};
    uint32_t down_light = fixture_light(f, rectangle);
    SceneLight sphere = {.kind = SCENE_LIGHT_SPHERE,
                         .light_to_world = mat4_translate(f3(4, 0, 3)),
                         .radius_m = 0.5f};
    uint32_t ball = fixture_light(f, sphere);
    SceneLight disk = {.kind = SCENE_LIGHT_DISK,
                       .light_to_world = fixture_shine(f3(-4, 0, 3), f3(0, 0, -1)),
                       .size_x_m = 1.0f,
                       .size_y_m = 1.0f,
                       .is_two_sided = true};
    uint32_t both = fixture_light(f, disk);
    Tracer t = tracer_create(&f->scene, NULL, 16);
    const struct {
        float3 origin, direction;
        uint32_t shape;
        float distance;
    } cases[] = {
        {{0, 0, 1}, {0, 0, 1}, HIT_LIGHT | down_light, 2.0f},
        {{0.95f, 0, 1}, {0, 0, 1}, HIT_NONE, 0}, /* the frame turns x and y: see below */
        {{0, 0, 5}, {0, 0, -1}, 0, 5.0f},        /* from behind, it is not there */
        {{4, 0, 1}, {0, 0, 1}, HIT_LIGHT | ball, 1.5f},
        {{4, 0, 3}, {0, 0, 1}, HIT_NONE, 0}, /* from inside, the sphere is not there */
        {{4.51f, 0, 1}, {0, 0, 1}, HIT_NONE, 0},
        {{-4, 0, 1}, {0, 0, 1}, HIT_LIGHT | both, 2.0f},
        {{-4, 0, 5}, {0, 0, -1}, HIT_LIGHT | both, 2.0f},
        {{-4.51f, 0, 1}, {0, 0, 1}, HIT_NONE, 0},
    };
    const uint32_t count = SORT_COUNT_OF(cases);
    for (uint32_t i = 0; i < count; ++i) {
        Ray ray = {.origin = cases[i].origin, .direction = cases[i].direction, .t_max = INFINITY};
        ray_batch_set(&t.rays, i, &ray);
        ray_batch_set(&t.shadow.rays, i, &ray);
        t.shadow.state[i] = SHADOW_QUEUED;
    }
    accel_intersect(t.accel, &t.rays, count, &t.hits);
    accel_occluded(t.accel, &t.shadow, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (i == 1)
            continue;
        assert_int_equal(t.hits.shape[i], cases[i].shape);
        if (cases[i].shape != HIT_NONE)
            assert_true(fabsf(t.hits.t[i] - cases[i].distance) < 1e-6f);
        assert_int_equal(hit_is_light(t.hits.shape[i]),
                         cases[i].shape != HIT_NONE && cases[i].shape != 0);
        assert_int_equal(t.shadow.state[i],
                         cases[i].shape == HIT_NONE ? SHADOW_CLEAR : SHADOW_BLOCKED);
    }
    /* Corners of the rectangle, by its own axes. */
    for (int corner = 0; corner < 8; ++corner) {
        const mat4 *m = &rectangle.light_to_world;
        float inside = corner & 4 ? 0.999f : 1.001f;
        float3 target = mat4_point(
            m, f3((corner & 1 ? 1.0f : -1.0f) * inside, (corner & 2 ? 0.5f : -0.5f) * inside, 0));
        Ray ray = {.origin = f3(0, 0, 1), .t_max = INFINITY};
        ray.direction = f3_normalize(f3_sub(target, ray.origin));
        ray_batch_set(&t.rays, 0, &ray);
        accel_intersect(t.accel, &t.rays, 1, &t.hits);
        assert_int_equal(t.hits.shape[0], corner & 4 ? HIT_LIGHT | down_light : HIT_NONE);
    }
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* A rectangle of any size and place, turned any way. */
static SceneLight random_rectangle(uint64_t *state)
{
    float3 axis = f3_normalize(f3(fixture_random(state) - 0.5f, fixture_random(state) - 0.5f,
                                  fixture_random(state) - 0.5f));
    float size = exp2f(20.0f * fixture_random(state) - 10.0f);
    float3 at = f3(size * 8.0f * fixture_random(state), -size * fixture_random(state),
                   size * 3.0f * fixture_random(state));
    return (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                        .light_to_world = fixture_shine(at, axis),
                        .size_x_m = size,
                        .size_y_m = size * exp2f(-6.0f * fixture_random(state))};
}

static float3 random_point_near(uint64_t *state, const SceneLight *light)
{
    float far = 3.0f * light->size_x_m;
    return mat4_point(&light->light_to_world,
                      f3(far * (fixture_random(state) - 0.5f), far * (fixture_random(state) - 0.5f),
                         far * (fixture_random(state) - 0.5f)));
}

/* Rectangles are triangles for rays; the shape says where they are, but for a rim of a thousandth. */
static void test_accel_rectangles_are_where_their_shape_is(void **unused)
{
    SORT_UNUSED(unused);
    enum { LAMPS = 64, RAYS = 256 };
    uint64_t state = 11;
    uint32_t met = 0, missed = 0;
    for (uint32_t k = 0; k < LAMPS; ++k) {
        SceneFixture *f = fixture_create();
        SceneLight light = random_rectangle(&state), inner = light, outer = light;
        light.is_two_sided = inner.is_two_sided = outer.is_two_sided = k & 1;
        light.visibility.is_permeable = k & 2;
        inner.size_x_m *= 0.999f, inner.size_y_m *= 0.999f;
        outer.size_x_m *= 1.001f, outer.size_y_m *= 1.001f;
        LightShape in, out;
        light_shape_init(&inner, &in);
        light_shape_init(&outer, &out);
        uint32_t shape = HIT_LIGHT | fixture_light(f, light);
        Tracer t = tracer_create(&f->scene, NULL, RAYS);
        for (uint32_t i = 0; i < RAYS; ++i) {
            float3 from = random_point_near(&state, &light);
            float3 to = mat4_point(&light.light_to_world,
                                   f3(1.5f * light.size_x_m * (fixture_random(&state) - 0.5f),
                                      1.5f * light.size_y_m * (fixture_random(&state) - 0.5f), 0));
            Ray ray = {
                .origin = from, .direction = f3_normalize(f3_sub(to, from)), .t_max = INFINITY};
            ray_batch_set(&t.rays, i, &ray);
            ray_batch_set(&t.shadow.rays, i, &ray);
            t.shadow.state[i] = SHADOW_QUEUED;
        }
        accel_intersect(t.accel, &t.rays, RAYS, &t.hits);
        accel_occluded(t.accel, &t.shadow, RAYS);
        for (uint32_t i = 0; i < RAYS; ++i) {
            Ray ray = ray_batch_get(&t.rays, i);
            float distance;
            float3 ng;
            bool is_met = t.hits.shape[i] == shape, blocks = is_met && !(k & 2);
            assert_int_equal(t.shadow.state[i], blocks ? SHADOW_BLOCKED : SHADOW_CLEAR);
            float3 normal = mat4_vector(&light.light_to_world, f3(0, 0, 1));
            if (fabsf(f3_dot(normal, ray.direction)) < 0.01f)
                continue; /* rounding decides where it meets the plane */
            if (light_shape_intersect(&in, ray.origin, ray.direction, 0, INFINITY, &distance,
                                      &ng)) {
                assert_true(is_met);
                assert_true(fabsf(t.hits.t[i] - distance) <= 1e-4f * (distance + light.size_x_m));
                assert_true(t.hits.b1[i] == 0.0f && t.hits.b2[i] == 0.0f);
                ++met;
            } else if (!light_shape_intersect(&out, ray.origin, ray.direction, 0, INFINITY,
                                              &distance, &ng)) {
                assert_false(is_met);
                ++missed;
            }
        }
        tracer_destroy(&t);
        fixture_destroy(f);
    }
    assert_true(met > 1000 && missed > 1000);
}

/* The end of a shadow ray is before the triangles that stand for the lamp. */
static void test_accel_rectangles_do_not_shadow_themselves(void **unused)
{
    SORT_UNUSED(unused);
    enum { LAMPS = 64, RAYS = 1024 };
    uint64_t state = 12;
    uint32_t sent = 0;
    for (uint32_t k = 0; k < LAMPS; ++k) {
        SceneFixture *f = fixture_create();
        SceneLight light = random_rectangle(&state);
        light.size_y_m = light.size_x_m * exp2f(-12.0f * fixture_random(&state));
        for (int row = 0; row < 3; ++row)
            light.light_to_world.m[row][3] *= 0.02f; /* near the origin, so that only size counts */
        LightShape shape;
        light.is_two_sided = true;
        light_shape_init(&light, &shape);
        fixture_light(f, light);
        Tracer t = tracer_create(&f->scene, NULL, RAYS);
        for (uint32_t i = 0; i < RAYS; ++i) {
            float height = light.size_x_m * exp2f(-14.0f * fixture_random(&state));
            float3 from = mat4_point(&light.light_to_world,
                                     f3(0.01f * light.size_x_m * (fixture_random(&state) - 0.5f),
                                        light.size_y_m * (fixture_random(&state) - 0.5f), height));
            float3 wi;
            float2 u = f2(fixture_random(&state), fixture_random(&state));
            float distance, pdf;
            t.shadow.state[i] = SHADOW_DEAD;
            if (!light_shape_sample(&shape, &(LightQuery){.position = from}, u, &wi, &distance,
                                    &pdf))
                continue;
            SurfacePoint end = light_shape_point(&shape, from, wi, distance);
            float3 direction;
            float t_max = ray_between(from, ray_leave(&end, f3_neg(wi)), wi, &direction);
            ray_batch_start(&t.shadow.rays, i, from, direction, t_max, 0.0f);
            t.shadow.state[i] = SHADOW_QUEUED;
            ++sent;
        }
        accel_occluded(t.accel, &t.shadow, RAYS);
        for (uint32_t i = 0; i < RAYS; ++i)
            assert_true(t.shadow.state[i] == SHADOW_DEAD || t.shadow.state[i] == SHADOW_CLEAR);
        tracer_destroy(&t);
        fixture_destroy(f);
    }
    assert_true(sent > LAMPS * RAYS / 2);
}

static void test_accel_empty_scene(void **unused)
{
    SORT_UNUSED(unused);
    SceneFixture *f = fixture_create();
    Tracer t = tracer_create(&f->scene, NULL, 8);
    uint64_t state = 6;
    Ray ray = random_ray(&state, 1.0f);
    ray_batch_set(&t.rays, 0, &ray);
    accel_intersect(t.accel, &t.rays, 1, &t.hits);
    assert_int_equal(t.hits.shape[0], HIT_NONE);
    tracer_destroy(&t);
    fixture_destroy(f);
}

static void test_accel_refuses_what_embree_would_drop(void **unused)
{
    SORT_UNUSED(unused);
    SceneFixture *f = fixture_create();
    const float positions[] = {0, 0, 0, 1e19f, 0, 0, 0, 1, 0};
    const uint32_t indices[] = {0, 1, 2};
    fixture_instance(f, fixture_mesh(f, positions, 3, indices, 1), fixture_material(f, "far"),
                     mat4_identity());
    AccelDesc desc = {.size_bytes = sizeof desc, .scene = &f->scene};
    Accel *accel;
    Error err = {0};
    assert_int_equal(accel_create(&desc, &accel, &err), STATUS_LIMIT);
    assert_null(accel);
    assert_non_null(strstr(err.text, "1e+18 m"));
    fixture_destroy(f);
}

int main(void)
{
    accel_thread_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accel_matches_brute_force),
        cmocka_unit_test(test_accel_instances_match_brute_force),
        cmocka_unit_test(test_accel_results_ignore_company),
        cmocka_unit_test(test_accel_instanced_results_ignore_company),
        cmocka_unit_test(test_accel_coincident_triangles_ignore_company),
        cmocka_unit_test(test_accel_coplanar_instances_ignore_company),
        cmocka_unit_test(test_accel_results_ignore_build_threads),
        cmocka_unit_test(test_accel_limits_and_dead_rays),
        cmocka_unit_test(test_accel_alpha_is_handed_over),
        cmocka_unit_test(test_accel_stacked_sheets_are_met_once_each),
        cmocka_unit_test(test_accel_hairs_are_met_at_each_crossing),
        cmocka_unit_test(test_accel_fibres_have_any_size),
        cmocka_unit_test(test_accel_stacked_lights_are_met_once_each),
        cmocka_unit_test(test_accel_light_shapes),
        cmocka_unit_test(test_accel_rectangles_are_where_their_shape_is),
        cmocka_unit_test(test_accel_rectangles_do_not_shadow_themselves),
        cmocka_unit_test(test_accel_empty_scene),
        cmocka_unit_test(test_accel_refuses_what_embree_would_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
