/* Pairs of triangles against the same triangles in an order in which nothing is a pair. */
#include "sort/accel/triangle_pairs.h"

#include "base/check.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/scene/scene_fixture.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

enum { SHEETS = 900, TRIANGLES_MAX = 2 * SHEETS, RAYS = 20000, CROSSINGS_MAX = 64 };

/* Sheets of four corners that are divided in two triangles, with any turns. */
typedef struct Sheets {
    float positions[2][SHEETS * 4 * 3]; /* at the begin and the end of the time */
    uint32_t paired[TRIANGLES_MAX][3], apart[TRIANGLES_MAX][3];
    uint32_t place_apart[TRIANGLES_MAX]; /* of each triangle of `paired` */
    uint32_t triangle_count, pair_count;
} Sheets;

static uint32_t random_below(uint64_t *state, uint32_t end)
{
    uint32_t k = (uint32_t)(fixture_random(state) * (float)end);
    return k < end ? k : end - 1;
}

static void add_triangle(Sheets *s, const uint32_t corners[3], uint32_t turn, bool is_turned_over)
{
    uint32_t *to = s->paired[s->triangle_count++];
    for (uint32_t k = 0; k < 3; ++k)
        to[k] = corners[(turn + (is_turned_over ? 3 - k : k)) % 3];
}

static void set_apart(Sheets *s)
{
    uint32_t count = 0;
    for (uint32_t parity = 0; parity < 2; ++parity) {
        for (uint32_t i = parity; i < s->triangle_count; i += 2) {
            memcpy(s->apart[count], s->paired[i], sizeof s->apart[count]);
            s->place_apart[i] = count++;
        }
    }
}

/* One sheet in ten is a triangle alone, one in ten has triangles of opposite windings, which are no pair. */
static void make_sheets(Sheets *s, uint64_t *state)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < SHEETS; ++i) {
        float centre[3];
        for (uint32_t k = 0; k < 3; ++k)
            centre[k] = 1.6f * fixture_random(state) - 0.8f;
        for (uint32_t k = 0; k < 12; ++k) {
            float p = centre[k % 3] + 0.5f * fixture_random(state) - 0.25f;
            s->positions[0][12 * i + k] = p;
            s->positions[1][12 * i + k] = p + 0.2f * fixture_random(state) - 0.1f;
        }
        uint32_t kind = random_below(state, 10), v = 4 * i;
        add_triangle(s, (uint32_t[3]){v, v + 1, v + 2}, random_below(state, 3), false);
        if (kind > 0)
            add_triangle(s, (uint32_t[3]){v, v + 2, v + 3}, random_below(state, 3), kind == 1);
        s->pair_count += kind == 1 ? 2 : 1;
    }
    set_apart(s);
}

static SceneFixture *fixture_of(const Sheets *s, const uint32_t triangles[][3], bool moves,
                                mat4 place)
{
    SceneFixture *f = fixture_create();
    uint32_t mesh = fixture_mesh(f, s->positions[0], 4 * SHEETS, triangles[0], s->triangle_count);
    if (moves) {
        SceneMesh *m = &f->meshes[mesh];
        size_t size_bytes = sizeof s->positions[1] + 64;
        SceneMeshKey *later = ARENA_ARRAY(f->arena, SceneMeshKey, 1);
        float *positions = arena_alloc_array(f->arena, size_bytes, 1, 64);
        CHECK(later && positions);
        memcpy(positions, s->positions[1], sizeof s->positions[1]);
        later[0] = (SceneMeshKey){.positions = positions};
        m->later = later, m->later_count = 1;
    }
    fixture_instance(f, mesh, fixture_material(f, "grey"), place);
    return f;
}

static void set_rays(RayBatch *rays, uint64_t *state)
{
    for (uint32_t i = 0; i < RAYS; ++i) {
        float3 at[2];
        for (uint32_t k = 0; k < 2; ++k)
            at[k] = f3(4 * fixture_random(state) - 2, 4 * fixture_random(state) - 2,
                       4 * fixture_random(state) - 2);
        ray_batch_start(rays, i, at[0], f3_normalize(f3_sub(at[1], at[0])), INFINITY,
                        fixture_random(state));
    }
}

static void copy_ray(RayBatch *to, const RayBatch *from, uint32_t i)
{
    Ray ray = ray_batch_get(from, i);
    ray_batch_set(to, i, &ray);
}

static bool is_near_edge(float b1, float b2)
{
    float least = b1 < b2 ? b1 : b2;
    float b0 = 1.0f - b1 - b2;
    return (least < b0 ? least : b0) < 1e-4f;
}

/* All crossings of all rays, one after the other, which are the same in both scenes except at edges. */
static void check_crossings(const Sheets *s, bool moves, mat4 place)
{
    uint64_t state = 5;
    SceneFixture *pairs = fixture_of(s, s->paired, moves, place);
    SceneFixture *apart = fixture_of(s, s->apart, moves, place);
    Tracer a = tracer_create(&pairs->scene, NULL, RAYS),
           b = tracer_create(&apart->scene, NULL, RAYS);
    uint32_t crossings = 0, at_edges = 0, grazing = 0;
    assert_true(accel_stats(a.accel).memory_bytes < accel_stats(b.accel).memory_bytes);
    set_rays(&a.rays, &state);
    for (uint32_t i = 0; i < RAYS; ++i)
        copy_ray(&b.rays, &a.rays, i);
    for (uint32_t depth = 0; depth < CROSSINGS_MAX; ++depth) {
        accel_intersect(a.accel, &a.rays, RAYS, &a.hits);
        accel_intersect(b.accel, &b.rays, RAYS, &b.hits);
        for (uint32_t i = 0; i < RAYS; ++i) {
            bool is_done = a.rays.t_max[i] < a.rays.t_min[i], differs;
            if (is_done)
                continue;
            bool is_hit = hit_is_mesh(a.hits.shape[i]);
            differs = a.hits.shape[i] != b.hits.shape[i] ||
                      (is_hit && s->place_apart[a.hits.triangle[i]] != b.hits.triangle[i]);
            if (differs || !is_hit || is_near_edge(b.hits.b1[i], b.hits.b2[i])) {
                at_edges += differs;
                a.rays.t_max[i] = b.rays.t_max[i] = -1.0f;
                continue;
            }
            ++crossings;
            float apart_m = fabsf(a.hits.t[i] - b.hits.t[i]);
            grazing += apart_m > 4e-6f;
            assert_true(apart_m < 1e-4f);
            assert_true(fabsf(a.hits.b1[i] - b.hits.b1[i]) < 1e-4f);
            assert_true(fabsf(a.hits.b2[i] - b.hits.b2[i]) < 1e-4f);
            ray_batch_pass(&a.rays, &a.hits, i);
            ray_batch_pass(&b.rays, &b.hits, i);
        }
    }
    print_message("%u crossings, %u rays end at edges\n", crossings, at_edges);
    assert_true(grazing * 1000 < crossings);
    assert_true(crossings > 2 * RAYS);
    assert_true(at_edges * 1000 < crossings);
    tracer_destroy(&a);
    tracer_destroy(&b);
    fixture_destroy(pairs);
    fixture_destroy(apart);
}

static void test_pairs_are_met_as_their_triangles(void **unused)
{
    SORT_UNUSED(unused);
    static Sheets s;
    uint64_t state = 1;
    make_sheets(&s, &state);
    check_crossings(&s, false, mat4_identity());
    check_crossings(&s, true, mat4_identity());
    check_crossings(&s, false, mat4_scale(f3(-1.0f, 1.0f, 1.0f)));
}

/* Triangles of few vertices: some without area, some twice, folded flat or turned over. What is met is as far away. */
static void test_pairs_that_are_degenerate(void **unused)
{
    SORT_UNUSED(unused);
    enum { VERTICES = 40 };
    static Sheets s;
    uint64_t state = 4;
    uint32_t odd = 0, met = 0;
    make_sheets(&s, &state);
    s.triangle_count = 0;
    for (uint32_t i = 0; i < SHEETS; ++i) {
        uint32_t v[4];
        for (uint32_t k = 0; k < 4; ++k)
            v[k] = random_below(&state, VERTICES);
        v[3] = i % 5 == 0 ? v[0] : v[3];
        v[2] = i % 7 == 0 ? v[1] : v[2];
        add_triangle(&s, (uint32_t[3]){v[0], v[1], v[2]}, random_below(&state, 3), false);
        add_triangle(&s, (uint32_t[3]){v[2], v[1], v[3]}, random_below(&state, 3), i % 11 == 0);
    }
    set_apart(&s);
    SceneFixture *pairs = fixture_of(&s, s.paired, false, mat4_identity());
    SceneFixture *apart = fixture_of(&s, s.apart, false, mat4_identity());
    Tracer a = tracer_create(&pairs->scene, NULL, RAYS),
           b = tracer_create(&apart->scene, NULL, RAYS);
    set_rays(&a.rays, &state);
    accel_intersect(a.accel, &a.rays, RAYS, &a.hits);
    accel_intersect(b.accel, &a.rays, RAYS, &b.hits);
    for (uint32_t i = 0; i < RAYS; ++i) {
        bool is_hit = hit_is_mesh(a.hits.shape[i]);
        met += is_hit;
        odd += is_hit != hit_is_mesh(b.hits.shape[i]) ||
               (is_hit && fabsf(a.hits.t[i] - b.hits.t[i]) > 1e-5f);
        if (!is_hit)
            continue;
        const uint32_t *c = s.paired[a.hits.triangle[i]];
        assert_true(c[0] != c[1] && c[1] != c[2] && c[2] != c[0]);
    }
    print_message("%u of %u hits are others\n", odd, met);
    assert_true(met > RAYS / 5 && odd * 2000 < met);
    tracer_destroy(&a);
    tracer_destroy(&b);
    fixture_destroy(pairs);
    fixture_destroy(apart);
}

static SceneMesh mesh_of(const uint32_t triangles[][3], uint32_t count)
{
    return (SceneMesh){.indices = triangles[0], .triangle_count = count};
}

static void test_pairs_are_those_that_share_an_edge(void **unused)
{
    SORT_UNUSED(unused);
    static Sheets s;
    TrianglePairs pairs;
    uint64_t state = 2;
    make_sheets(&s, &state);
    SceneMesh paired = mesh_of(s.paired, s.triangle_count),
              apart = mesh_of(s.apart, s.triangle_count);
    assert_true(triangle_pairs_find(&paired, &pairs));
    assert_int_equal(pairs.count, s.pair_count);
    triangle_pairs_free(&pairs);
    assert_true(triangle_pairs_find(&apart, &pairs));
    assert_int_equal(pairs.count, s.triangle_count);
    triangle_pairs_free(&pairs);
    assert_null(pairs.corners);
}

static void test_pairs_pay_where_there_are_many(void **unused)
{
    SORT_UNUSED(unused);
    static Sheets s;
    uint64_t state = 2;
    make_sheets(&s, &state);
    SceneMesh paired = mesh_of(s.paired, s.triangle_count),
              apart = mesh_of(s.apart, s.triangle_count), few = mesh_of(s.paired, 1000), none = {0};
    PairCounts counts = {0};
    triangle_pairs_estimate(&none, &counts);
    assert_int_equal(counts.triangles, 0);
    triangle_pairs_estimate(&few, &counts);
    assert_false(triangle_pairs_pay(&counts)); /* too few */
    triangle_pairs_estimate(&paired, &counts);
    assert_int_equal(counts.triangles, 1000 + s.triangle_count);
    assert_true(fabs((double)counts.pairs / (double)counts.triangles -
                     (double)s.pair_count / (double)s.triangle_count) < 0.03);
    assert_true(triangle_pairs_pay(&counts));
    for (uint32_t k = 0; k < 2; ++k)
        triangle_pairs_estimate(&apart, &counts);
    assert_false(triangle_pairs_pay(&counts)); /* too many are alone */
}

/* A place of a quadrilateral is the same place by the barycentrics of its triangle, and beyond the edge of a triangle that is
 * alone there is no other. */
static void test_barycentrics_are_those_of_the_triangle(void **unused)
{
    SORT_UNUSED(unused);
    static Sheets s;
    TrianglePairs pairs;
    uint64_t state = 3;
    make_sheets(&s, &state);
    SceneMesh mesh = mesh_of(s.paired, s.triangle_count);
    assert_true(triangle_pairs_find(&mesh, &pairs));
    for (uint32_t i = 0; i < 20 * pairs.count; ++i) {
        uint32_t k = i % pairs.count;
        const uint32_t *q = pairs.corners[k];
        bool is_alone = q[2] == q[3];
        float u = fixture_random(&state), v = fixture_random(&state) * (is_alone ? 1.0f - u : 1.0f);
        bool is_second = u + v > 1.0f;
        float weight[4] = {is_second ? 0.0f : 1.0f - u - v, is_second ? 1.0f - v : u,
                           is_second ? u + v - 1.0f : 0.0f, is_second ? 1.0f - u : v};
        uint32_t triangle = triangle_of_pair(pairs.triangles[k], &u, &v);
        const uint32_t *corner = s.paired[triangle];
        for (uint32_t c = 0; c < 3; ++c) {
            const float *p = s.positions[0];
            float expected = 0.0f, b[3] = {1.0f - u - v, u, v}, found = 0.0f;
            for (uint32_t j = 0; j < 4; ++j)
                expected += weight[j] * p[3 * q[j] + c];
            for (uint32_t j = 0; j < 3; ++j)
                found += b[j] * p[3 * corner[j] + c];
            assert_true(fabsf(expected - found) < 1e-6f);
        }
    }
    float u = 0.5f, v = 0.6f;
    assert_int_equal(triangle_of_pair(triangle_pair_code(7, 0, PAIR_ALONE), &u, &v), 7);
    triangle_pairs_free(&pairs);
}

int main(void)
{
    accel_thread_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_met_as_their_triangles),
        cmocka_unit_test(test_pairs_that_are_degenerate),
        cmocka_unit_test(test_pairs_are_those_that_share_an_edge),
        cmocka_unit_test(test_pairs_pay_where_there_are_many),
        cmocka_unit_test(test_barycentrics_are_those_of_the_triangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
