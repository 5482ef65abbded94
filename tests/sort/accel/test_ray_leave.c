/* Rays that leave a triangle do not meet it again, and rays that aim at one end before it: at every scale and place,
 * for narrow ones, flattened and instanced. And they keep so near to it that contacts stay right. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/scene/ray_rows.h"
#include "sort/shade/hit.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/scene/scene_fixture.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { RAYS = 8192, TRIANGLES = 600 };

static float random_between(uint64_t *state, float low, float high)
{
    return low + (high - low) * fixture_random(state);
}

static float3 random_direction(uint64_t *state)
{
    float z = random_between(state, -1, 1), turn = random_between(state, 0, 6.2831853f);
    float r = sqrtf(1.0f - z * z);
    return f3(r * cosf(turn), r * sinf(turn), z);
}

/* Triangles of about unit size around the origin. Every other one is narrow: up to 1 : 10^4. */
static uint32_t add_triangles(SceneFixture *f, uint64_t *state)
{
    static float positions[9 * TRIANGLES];
    static uint32_t indices[3 * TRIANGLES];
    for (uint32_t i = 0; i < TRIANGLES; ++i) {
        float width = i % 2 ? powf(10.0f, random_between(state, -4, 0)) : 1.0f;
        float3 p = f3_scale(random_direction(state), 2.0f), e1 = random_direction(state), s, t;
        f3_frame(e1, &s, &t);
        float3 e2 = f3_madd(f3_scale(s, width), random_between(state, 0, 1), e1);
        const float3 corners[3] = {p, f3_add(p, e1), f3_add(p, e2)};
        for (uint32_t k = 0; k < 3; ++k) {
            float *at = &positions[9 * i + 3 * k];
            at[0] = corners[k].x, at[1] = corners[k].y, at[2] = corners[k].z;
            indices[3 * i + k] = 3 * i + k;
        }
    }
    return fixture_mesh(f, positions, 3 * TRIANGLES, indices, TRIANGLES);
}

static mat4 random_transform(uint64_t *state, float scale, float3 offset)
{
    mat4 stretch = mat4_scale(f3(random_between(state, 0.5f, 2), random_between(state, 0.5f, 2),
                                 random_between(state, -2, -0.5f)));
    mat4 m = mat4_mul(mat4_rotate(random_direction(state), random_between(state, 0, 6)), stretch);
    float3 place = f3_madd(offset, 50.0f * scale * fixture_random(state), random_direction(state));
    return mat4_mul(mat4_translate(place), mat4_mul(mat4_scale(f3_splat(scale)), m));
}

/* A surface, and the place where it was asked for. */
typedef struct Place {
    uint32_t instance, triangle;
    SurfaceHit hit;
} Place;

static Place random_place(const Scene *scene, uint64_t *state)
{
    Place place = {.instance = (uint32_t)(fixture_random(state) * (float)scene->instance_count),
                   .triangle = (uint32_t)(fixture_random(state) * (float)TRIANGLES)};
    float b1 = fixture_random(state), b2 = fixture_random(state);
    if (b1 + b2 > 1.0f)
        b1 = 1.0f - b1, b2 = 1.0f - b2;
    Ray ray = {.direction = random_direction(state), .t_max = INFINITY};
    RayDiff diff = {.dOdx = {0, 0, 0}};
    hit_surface(scene, &(HitQuery){place.instance, place.triangle, b1, b2, 1.0f, 0, HIT_ALL}, &ray,
                &diff, &place.hit);
    return place;
}

/* To either side, down to grazing. */
static float3 random_away(const SurfaceHit *hit, uint64_t *state)
{
    float3 s, t;
    f3_frame(hit->Ng, &s, &t);
    float height = powf(10.0f, random_between(state, -5, 0)),
          turn = random_between(state, 0, 6.28f);
    if (fixture_random(state) < 0.5f)
        height = -height;
    float3 away = f3_madd(f3_scale(hit->Ng, height), cosf(turn), s);
    return f3_normalize(f3_madd(away, sinf(turn), t));
}

/* The programs for blocks of points give the bits of ray_leave and ray_between. */
static void assert_same_in_blocks(const SurfacePoint *begin, const SurfacePoint *end, float3 wi,
                                  float distance_m, const Ray *ray, uint32_t lane)
{
    RayRows rows;
    memset(&rows, 0xa5, sizeof rows);
    wide_set3(rows.P, lane, begin->P);
    wide_set3(rows.n, lane, begin->n);
    wide_set3(rows.wi, lane, wi);
    wide_set3(rows.end, lane, end->P);
    wide_set3(rows.end_n, lane, end->n);
    rows.error_m[lane] = begin->error_m, rows.end_error_m[lane] = end->error_m;
    rows.distance_m[lane] = distance_m;
    ray_leave_run(&rows, (uint16_t)(1u << lane));
    float3 origin = wide_get3(rows.origin, lane), expected = ray_leave(begin, wi);
    assert_memory_equal(&origin, &expected, sizeof origin);
    ray_aim_run(&rows, (uint16_t)(1u << lane));
    origin = wide_get3(rows.origin, lane);
    float3 direction = wide_get3(rows.direction, lane);
    assert_memory_equal(&origin, &ray->origin, sizeof origin);
    assert_memory_equal(&direction, &ray->direction, sizeof direction);
    assert_memory_equal(&rows.t_max[lane], &ray->t_max, sizeof ray->t_max);
}

/* How many of RAYS meet the triangle that they leave, or, with `aims`, the one that they aim at. */
static uint32_t count_self_hits(const SceneFixture *f, Tracer *t, uint64_t *state, bool aims)
{
    static Place places[RAYS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < RAYS; ++i) {
        places[i] = random_place(&f->scene, state);
        SurfacePoint point = hit_point(&places[i].hit);
        float3 away = random_away(&places[i].hit, state);
        Ray ray = {.origin = ray_leave(&point, away), .direction = away, .t_max = INFINITY};
        if (aims) {
            Place other = random_place(&f->scene, state);
            while (other.instance == places[i].instance && other.triangle == places[i].triangle)
                other = random_place(&f->scene, state);
            SurfacePoint begin = hit_point(&other.hit);
            float3 wi = f3_normalize(f3_sub(point.P, begin.P));
            ray.origin = ray_leave(&begin, wi);
            ray.t_max = ray_between(ray.origin, ray_leave(&point, f3_neg(wi)), wi, &ray.direction);
            assert_same_in_blocks(&begin, &point, wi, 1.0f, &ray, i % SSL_BLOCK);
            Ray far_ray = {.origin = ray.origin, .direction = wi, .t_max = INFINITY};
            assert_same_in_blocks(&begin, &point, wi, INFINITY, &far_ray, i % SSL_BLOCK);
        }
        ray_batch_set(&t->rays, i, &ray);
    }
    accel_intersect(t->accel, &t->rays, RAYS, &t->hits);
    for (uint32_t i = 0; i < RAYS; ++i)
        count +=
            t->hits.shape[i] == places[i].instance && t->hits.triangle[i] == places[i].triangle;
    return count;
}

/* allowed: of all rays, the share that may go wrong. */
static void check(bool is_instanced, float scale, float3 offset, double allowed)
{
    enum { ROUNDS = 16 };
    uint64_t state = 11;
    uint32_t leaving = 0, aiming = 0;
    SceneFixture *f = fixture_create();
    uint32_t mesh = add_triangles(f, &state), material = fixture_material(f, "m");
    for (uint32_t i = 0; i < (is_instanced ? FIXTURE_MAX - 1 : 20); ++i)
        fixture_instance(f, mesh, material, random_transform(&state, scale, offset));
    Tracer t = tracer_create(&f->scene, NULL, RAYS);
    assert_int_equal(accel_stats(t.accel).instanced_count > 0, is_instanced);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        leaving += count_self_hits(f, &t, &state, false);
        aiming += count_self_hits(f, &t, &state, true);
    }
    if (leaving > allowed * RAYS * ROUNDS || aiming > allowed * RAYS * ROUNDS)
        fail_msg("%s, scale %g, offset %g: of %d rays %u meet what they leave, %u what they aim at",
                 is_instanced ? "instanced" : "flattened", (double)scale, (double)offset.x,
                 RAYS * ROUNDS, leaving, aiming);
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* At 10^5 times their size, a unit in the last place is a hundredth of the triangles, and the side of their plane that
 * a place lies on may be lost; so may that of a ray that grazes a narrow triangle below an instance. */
static void test_rays_leave_triangles(void **unused)
{
    SORT_UNUSED(unused);
    const float scales[] = {1e-4f, 1.0f, 1e6f}, distances[] = {0.0f, 100.0f, 1e5f};
    for (uint32_t s = 0; s < SORT_COUNT_OF(scales); ++s)
        for (uint32_t d = 0; d < SORT_COUNT_OF(distances); ++d) {
            float far = distances[d] * scales[s];
            check(false, scales[s], f3(far, -0.7f * far, 0.3f * far), d == 2 ? 1e-3 : 0.0);
        }
    for (uint32_t d = 0; d < SORT_COUNT_OF(distances); ++d)
        check(true, 1.0f, f3(distances[d], -0.7f * distances[d], 0.3f * distances[d]),
              d == 2 ? 1e-3 : 1e-4);
}

/* A floor of a kilometre, off the origin sideways, keeps the last digits of its height. */
static void test_errors_are_small(void **unused)
{
    SORT_UNUSED(unused);
    uint64_t state = 5;
    const float s = 500.0f, heights[] = {0.0f, 0.25f, 64.0f};
    for (uint32_t k = 0; k < SORT_COUNT_OF(heights); ++k) {
        float y = heights[k];
        const float corners[] = {-s, y, -s, s, y, -s, s, y, s, -s, y, s};
        const uint32_t indices[] = {0, 2, 1, 0, 3, 2};
        SceneFixture *f = fixture_create();
        fixture_instance(f, fixture_mesh(f, corners, 4, indices, 2), fixture_material(f, "m"),
                         mat4_translate(f3(1e5f, 0, 1e5f)));
        for (uint32_t i = 0; i < 1000; ++i) {
            SurfaceHit hit;
            Ray ray = {.direction = {0, -1, 0}, .t_max = INFINITY};
            RayDiff diff = {.dOdx = {0, 0, 0}};
            float b1 = fixture_random(&state);
            hit_surface(
                &f->scene,
                &(HitQuery){0, i % 2, b1, (1.0f - b1) * fixture_random(&state), 1.0f, 0, HIT_ALL},
                &ray, &diff, &hit);
            assert_true(hit.error_m > 0.0f && hit.error_m < 2e-6f + 2e-6f * y);
        }
        fixture_destroy(f);
    }
}

int main(void)
{
    accel_thread_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rays_leave_triangles),
        cmocka_unit_test(test_errors_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
