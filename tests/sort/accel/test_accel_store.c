/* Hierarchies that are kept from one scene to the next: rays have the bits that they have without a store, only what has changed
 * is built, and nothing is left in the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cast.h"
#include "base/hash.h"
#include "sort/accel/accel.h"
#include "tests/sort/scene/scene_fixture.h"

enum { RAYS = 20000, PADDING_BYTES = 64 };

typedef struct Bench {
    SceneFixture *f;
    ArrayStore *arrays;
    AccelStore *store;
    Arena *arena;
    RayBatch rays;
} Bench;

static void *take(ArrayStore *arrays, const void *data, size_t size_bytes)
{
    void *copy = mem_alloc_aligned(size_align(size_bytes + PADDING_BYTES, 64), 64);
    assert_non_null(copy);
    memset(copy, 0, size_bytes + PADDING_BYTES);
    memcpy(copy, data, size_bytes);
    return array_store_take(arrays, copy, size_bytes);
}

static void hold_mesh(Bench *b, uint32_t mesh)
{
    SceneMesh *m = &b->f->meshes[mesh];
    m->positions = take(b->arrays, m->positions, 3 * sizeof(float) * m->vertex_count);
    m->indices = take(b->arrays, m->indices, 3 * sizeof(uint32_t) * m->triangle_count);
}

static mat4 placed(float x, float y, float scale)
{
    mat4 m = mat4_identity();
    m.m[0][0] = -scale; /* mirrors */
    m.m[1][1] = m.m[2][2] = scale;
    m.m[0][3] = x;
    m.m[1][3] = y;
    return m;
}

static Bench bench_create(void)
{
    Bench b = {.f = fixture_create(), .arena = arena_create(0, 0)};
    uint64_t state = 3;
    assert_int_equal(array_store_create(&b.arrays, NULL), STATUS_OK);
    assert_int_equal(accel_store_create(b.arrays, 2, NULL, &b.store, NULL), STATUS_OK);
    assert_int_equal(ray_batch_create(b.arena, RAYS, &b.rays, NULL), STATUS_OK);
    uint32_t material = fixture_material(b.f, "grey");
    uint32_t grid = fixture_grid(b.f, 30, 0.3f), small = fixture_grid(b.f, 2, 0.2f);
    hold_mesh(&b, grid);
    hold_mesh(&b, small);
    fixture_instance(b.f, grid, material, mat4_identity());
    fixture_instance(b.f, grid, material, placed(0.3f, 0.7f, 0.8f));
    fixture_instance(b.f, grid, material, placed(-0.4f, 0.1f, 1.3f));
    fixture_instance(b.f, small, material, placed(0.1f, -0.9f, 0.9f));
    for (uint32_t i = 0; i < RAYS; ++i) {
        float3 v[2];
        for (int k = 0; k < 2; ++k) {
            v[k].x = 4.0f * fixture_random(&state) - 2.0f;
            v[k].y = 4.0f * fixture_random(&state) - 2.0f;
            v[k].z = 4.0f * fixture_random(&state) - 2.0f;
        }
        ray_batch_start(&b.rays, i, v[0], f3_normalize(v[1]), INFINITY, 0.5f);
    }
    return b;
}

static void release_mesh(Bench *b, uint32_t mesh)
{
    array_store_release(b->arrays, b->f->meshes[mesh].positions);
    array_store_release(b->arrays, b->f->meshes[mesh].indices);
}

static void bench_destroy(Bench *b)
{
    assert_int_equal(accel_store_stats(b->store).mesh_count, 0);
    release_mesh(b, 0);
    release_mesh(b, 1);
    assert_int_equal(array_store_stats(b->arrays).array_count, 0);
    assert_int_equal(array_store_stats(b->arrays).size_bytes, 0);
    accel_store_destroy(b->store);
    array_store_destroy(b->arrays);
    arena_destroy(b->arena);
    fixture_destroy(b->f);
}

static Accel *build(const Bench *b, bool has_store, bool is_in_parts)
{
    Accel *accel;
    AccelDesc desc = {.size_bytes = sizeof desc,
                      .scene = &b->f->scene,
                      .thread_count = 2,
                      .store = has_store ? b->store : NULL,
                      .is_in_parts = is_in_parts};
    assert_int_equal(accel_create(&desc, &accel, NULL), STATUS_OK);
    return accel;
}

/* Returns the number of rays that hit something. */
static uint32_t assert_same_rays(const Bench *b, const Accel *x, const Accel *y)
{
    HitBatch hits[2];
    ShadowBatch shadows[2];
    const Accel *both[] = {x, y};
    uint32_t hit_count = 0;
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(hit_batch_create(b->arena, RAYS, &hits[k], NULL), STATUS_OK);
        assert_int_equal(shadow_batch_create(b->arena, RAYS, &shadows[k], NULL), STATUS_OK);
        accel_intersect(both[k], &b->rays, RAYS, &hits[k]);
        for (uint32_t i = 0; i < RAYS; ++i) {
            Ray ray = ray_batch_get(&b->rays, i);
            ray_batch_set(&shadows[k].rays, i, &ray);
            shadows[k].state[i] = SHADOW_QUEUED;
        }
        accel_occluded(both[k], &shadows[k], RAYS);
    }
    for (uint32_t i = 0; i < RAYS; ++i) {
        assert_int_equal(shadows[0].state[i], shadows[1].state[i]);
        assert_int_equal(hits[0].shape[i], hits[1].shape[i]);
        if (hits[0].shape[i] == HIT_NONE)
            continue;
        ++hit_count;
        assert_int_equal(hits[0].triangle[i], hits[1].triangle[i]);
        assert_memory_equal(&hits[0].t[i], &hits[1].t[i], sizeof(float));
        assert_memory_equal(&hits[0].b1[i], &hits[1].b1[i], sizeof(float));
        assert_memory_equal(&hits[0].b2[i], &hits[1].b2[i], sizeof(float));
    }
    return hit_count;
}

/* Rays side by side, as those of a camera are. */
static void assert_same_bundles(const Bench *b, const Accel *x, const Accel *y)
{
    enum { SIDE = 128 };
    const Accel *both[] = {x, y};
    HitBatch hits[2];
    for (int k = 0; k < 2; ++k)
        assert_int_equal(hit_batch_create(b->arena, RAY_BUNDLE, &hits[k], NULL), STATUS_OK);
    for (uint32_t first = 0; first < SIDE * SIDE; first += RAY_BUNDLE) {
        RayBundle rays = {.t_min = {0}};
        uint32_t to[RAY_BUNDLE];
        for (uint32_t i = 0; i < RAY_BUNDLE; ++i) {
            float u = (float)((first + i) % SIDE) / (float)SIDE,
                  v = (float)((first + i) / SIDE) / (float)SIDE;
            float3 d = f3_normalize(f3(2.0f * u - 1.013f, 2.0f * v - 0.987f, -1.5f));
            rays.origin[2][i] = 3.0f;
            rays.direction[0][i] = d.x, rays.direction[1][i] = d.y, rays.direction[2][i] = d.z;
            rays.t_max[i] = INFINITY;
            to[i] = i;
        }
        for (int k = 0; k < 2; ++k)
            accel_intersect_bundle(both[k], &rays, 0xffff, 0xffff, SCENE_RAYS_CAMERA, &hits[k], to);
        for (uint32_t i = 0; i < RAY_BUNDLE; ++i) {
            assert_int_equal(hits[0].shape[i], hits[1].shape[i]);
            if (hits[0].shape[i] == HIT_NONE)
                continue;
            assert_int_equal(hits[0].triangle[i], hits[1].triangle[i]);
            assert_memory_equal(&hits[0].t[i], &hits[1].t[i], sizeof(float));
            assert_memory_equal(&hits[0].b1[i], &hits[1].b1[i], sizeof(float));
            assert_memory_equal(&hits[0].b2[i], &hits[1].b2[i], sizeof(float));
        }
    }
}

static void test_accel_store_keeps_bits_and_hierarchies(void **unused)
{
    SORT_UNUSED(unused);
    Bench b = bench_create();
    Accel *plain = build(&b, false, false), *whole = build(&b, true, false);
    assert_true(assert_same_rays(&b, plain, whole) > RAYS / 20);
    assert_int_equal(accel_store_stats(b.store).built_count, 0); /* all is flattened */
    Accel *first = build(&b, true, true);
    assert_int_equal(accel_store_stats(b.store).built_count, 3); /* the small one has none */
    (void)assert_same_rays(&b, plain, first);
    assert_same_bundles(&b, plain, first);
    assert_true(scene_instance_set_transform(&b.f->instances[1], placed(0.5f, 0.2f, 0.7f)));
    Accel *moved = build(&b, true, true), *moved_plain = build(&b, false, false);
    assert_int_equal(accel_store_stats(b.store).built_count, 4);
    (void)assert_same_rays(&b, moved_plain, moved);
    assert_same_bundles(&b, moved_plain, moved);
    accel_destroy(first);
    (void)assert_same_rays(&b, moved_plain, moved); /* what both had is still there */
    assert_int_equal(accel_store_stats(b.store).mesh_count, 3);
    accel_destroy(moved);
    accel_destroy(moved_plain);
    accel_destroy(whole);
    accel_destroy(plain);
    bench_destroy(&b);
}

static void test_accel_store_refines_what_is_rough(void **unused)
{
    SORT_UNUSED(unused);
    enum { CELLS = 200, TRIANGLES = 2 * CELLS * CELLS };
    Bench b = bench_create();
    _Atomic bool stop = true;
    uint32_t large = fixture_grid(b.f, CELLS, 0.4f);
    hold_mesh(&b, large);
    b.f->instances[0].mesh = b.f->instances[1].mesh = large;
    Accel *plain = build(&b, false, false), *edited = build(&b, true, true);
    assert_int_equal(accel_rough_triangles(plain), 0);
    assert_int_equal(accel_rough_triangles(edited), 2 * TRIANGLES);
    uint64_t built = accel_store_stats(b.store).built_count;
    assert_true(assert_same_rays(&b, plain, edited) > RAYS / 20);
    assert_int_equal(accel_refine(edited, &stop, NULL), STATUS_CANCELLED);
    assert_int_equal(accel_rough_triangles(edited), 2 * TRIANGLES);
    (void)assert_same_rays(&b, plain, edited);
    stop = false;
    assert_int_equal(accel_refine(edited, &stop, NULL), STATUS_OK);
    assert_int_equal(accel_rough_triangles(edited), 0);
    assert_int_equal(accel_store_stats(b.store).built_count, built + 2);
    (void)assert_same_rays(&b, plain, edited);
    assert_same_bundles(&b, plain, edited);
    Accel *again = build(&b, true, true); /* finds them */
    assert_int_equal(accel_rough_triangles(again), 0);
    accel_destroy(edited);
    (void)assert_same_rays(&b, plain, again);
    accel_destroy(again);
    accel_destroy(plain);
    release_mesh(&b, large);
    bench_destroy(&b);
}

static void test_array_store_shares_by_content_and_name(void **unused)
{
    SORT_UNUSED(unused);
    ArrayStore *store;
    const float one[] = {1, 2, 3}, other[] = {1, 2, 4};
    Hash128 name = hash128("a", 1), no_name = hash128("b", 1);
    assert_int_equal(array_store_create(&store, NULL), STATUS_OK);
    void *a = take(store, one, sizeof one), *again = take(store, one, sizeof one);
    void *c = take(store, other, sizeof other), *shorter = take(store, one, 2 * sizeof *one);
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, c);
    assert_ptr_not_equal(a, shorter);
    assert_int_equal(array_store_stats(store).array_count, 3);
    array_store_name(store, a, name);
    assert_ptr_equal(array_store_find(store, name), a);
    assert_null(array_store_find(store, no_name));
    for (int k = 0; k < 3; ++k) {
        assert_memory_equal(a, one, sizeof one);
        array_store_release(store, a);
    }
    assert_null(array_store_find(store, name));
    array_store_release(store, c);
    array_store_release(store, shorter);
    enum { MANY = 1000 };
    void *many[MANY];
    for (int k = 0; k < MANY; ++k)
        many[k] = take(store, &k, sizeof k);
    for (int k = 0; k < MANY; ++k) {
        assert_memory_equal(many[k], &k, sizeof k);
        array_store_release(store, many[k]);
    }
    assert_int_equal(array_store_stats(store).array_count, 0);
    array_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accel_store_keeps_bits_and_hierarchies),
        cmocka_unit_test(test_accel_store_refines_what_is_rough),
        cmocka_unit_test(test_array_store_shares_by_content_and_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
