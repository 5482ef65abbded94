/* Surfaces in blocks are those that hit_surface computes of each ray alone: to the bit, in any company. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sort/shade/surface_block.h"
#include "tests/sort/scene/scene_fixture.h"

enum { HITS = 200 };

/* A bumpy grid with normals and texture coordinates, one without, and curves; each turned and stretched. */
static SceneFixture *mixed_scene(void)
{
    static const float points[16] = {0, 0,  0, 0.5f,  1, 2, 0, 0.25f,
                                     2, -1, 1, 0.75f, 4, 0, 3, 0.125f};
    static const uint32_t counts[] = {4};
    SceneFixture *f = fixture_create();
    uint32_t material = fixture_material(f, "m");
    const uint32_t meshes[] = {fixture_grid(f, 4, 0.3f), fixture_grid(f, 3, 0.7f),
                               fixture_curves(f, SCENE_CURVE_BEZIER, false, points, counts, 1)};
    SceneMesh *grid = &f->meshes[meshes[0]];
    float *normals = ARENA_ARRAY(f->arena, float, (size_t)3 * grid->vertex_count);
    float *uv = ARENA_ARRAY(f->arena, float, (size_t)2 * grid->vertex_count);
    assert_non_null(normals);
    assert_non_null(uv);
    for (uint32_t v = 0; v < grid->vertex_count; ++v) {
        float x = grid->positions[(size_t)3 * v], y = grid->positions[(size_t)3 * v + 1];
        float3 n = f3_normalize(f3(0.3f * x, -0.2f * y, 1.0f));
        memcpy(normals + (size_t)3 * v, &n, sizeof n);
        uv[(size_t)2 * v] = 3.0f * x, uv[(size_t)2 * v + 1] = 2.0f * y - x;
    }
    grid->normals = normals;
    grid->uv_count = 1;
    grid->uv[0] = uv;
    for (uint32_t i = 0; i < 6; ++i) {
        mat4 m = mat4_mul(mat4_translate(f3((float)i, -1.0f, 0.5f * (float)i)),
                          mat4_mul(mat4_rotate(f3(1, 2, (float)i), 0.4f * (float)i),
                                   mat4_scale(f3(i & 1 ? -1.3f : 0.7f, 0.9f, 1.1f))));
        fixture_instance(f, meshes[i % 3], material, m);
    }
    return f;
}

typedef struct Meeting {
    HitQuery query;
    Ray ray;
    RayDiff diff;
} Meeting;

static float3 random_vector(uint64_t *state)
{
    float x = fixture_random(state), y = fixture_random(state), z = fixture_random(state);
    return f3(x - 0.5f, y - 0.5f, z - 0.5f);
}

/* Any place, seen from anywhere: what is computed does not ask whether the ray really comes there. */
static Meeting random_meeting(const Scene *scene, uint64_t *state)
{
    uint32_t instance = (uint32_t)(fixture_random(state) * (float)scene->instance_count);
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    float a = fixture_random(state), b = fixture_random(state);
    return (Meeting){.query = {.instance = instance,
                               .triangle = (uint32_t)(fixture_random(state) *
                                                      (float)scene_primitive_count(mesh)),
                               .b1 = 0.5f * a,
                               .b2 = 0.5f * b,
                               .t = 1.0f + fixture_random(state),
                               .depth = (uint32_t)(5.0f * b)},
                     .ray = {.origin = random_vector(state),
                             .direction = f3_normalize(random_vector(state)),
                             .t_max = INFINITY,
                             .time = 0.0f},
                     .diff = {.dOdx = random_vector(state),
                              .dOdy = random_vector(state),
                              .dDdx = random_vector(state),
                              .dDdy = random_vector(state),
                              .is_cone = a < 0.5f}};
}

static void load(const Meeting *m, uint32_t k, HitRays *rays, SurfaceBlock *block)
{
    block->instance[k] = (int32_t)m->query.instance;
    block->triangle[k] = (int32_t)m->query.triangle;
    block->depth[k] = (int32_t)m->query.depth;
    block->b1[k] = m->query.b1, block->b2[k] = m->query.b2;
    block->length_m[k] = m->query.t;
    block->draw[k] = (HitDraw){0};
    block->history[k] = (PathHistory){0};
    wide_set3(block->I, k, m->ray.direction);
    wide_set3(rays->origin, k, m->ray.origin);
    rays->time[k] = m->ray.time;
    rays->diff[k] = &m->diff;
}

static void assert_same3(float3 a, float3 b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

/* Compares what was asked for. */
static void assert_same(const SurfaceHit *a, const SurfaceHit *b, uint32_t parts)
{
    assert_same3(a->P, b->P);
    assert_same3(a->Ng, b->Ng);
    assert_same3(a->Ng_front, b->Ng_front);
    assert_same3(a->I, b->I);
    assert_memory_equal(&a->error_m, &b->error_m, sizeof a->error_m);
    assert_memory_equal(&a->b2, &b->b2, sizeof a->b2);
    assert_int_equal(a->is_backfacing, b->is_backfacing);
    assert_int_equal(a->depth, b->depth);
    if (parts & HIT_NORMAL)
        assert_same3(a->N, b->N);
    if (parts & HIT_UV)
        assert_memory_equal(&a->uv, &b->uv, sizeof a->uv);
    if (parts & HIT_TANGENT)
        assert_same3(a->T, b->T);
    if (parts & HIT_FOOTPRINT) {
        assert_same3(a->dPdx, b->dPdx);
        assert_same3(a->dPdy, b->dPdy);
        assert_same3(a->dIdx, b->dIdx);
        assert_memory_equal(&a->db1dx, &b->db1dx, sizeof a->db1dx);
        assert_memory_equal(&a->db2dy, &b->db2dy, sizeof a->db2dy);
    }
    if ((parts & HIT_FOOTPRINT) && (parts & HIT_NORMAL))
        assert_same3(a->dNdy, b->dNdy);
    if ((parts & HIT_FOOTPRINT) && (parts & HIT_UV))
        assert_memory_equal(&a->duvdx, &b->duvdx, sizeof a->duvdx);
    if ((parts & HIT_FOOTPRINT) && (parts & HIT_TANGENT))
        assert_same3(a->dTdx, b->dTdx);
}

static void test_surfaces_of_a_block_are_those_alone(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t parts[] = {
        0, HIT_NORMAL, HIT_UV, HIT_NORMAL | HIT_TANGENT, HIT_NORMAL | HIT_FOOTPRINT, HIT_ALL};
    SceneFixture *f = mixed_scene();
    uint64_t seed = 11;
    for (uint32_t trial = 0; trial < HITS; ++trial) {
        Meeting meetings[SSL_BLOCK];
        HitRays rays;
        SurfaceBlock block;
        uint32_t wanted = parts[trial % SORT_COUNT_OF(parts)];
        memset(&block, 0xff, sizeof block); /* rows that are not asked for are no numbers */
        block.count = 1 + (uint32_t)(fixture_random(&seed) * (float)SSL_BLOCK);
        block.material = 0;
        for (uint32_t k = 0; k < block.count; ++k) {
            meetings[k] = random_meeting(&f->scene, &seed);
            load(&meetings[k], k, &rays, &block);
        }
        hit_surfaces(&f->scene, &rays, wanted, &block);
        for (uint32_t k = 0; k < block.count; ++k) {
            SurfaceHit alone, found = surface_get((SurfaceLane){&block, k});
            meetings[k].query.parts = wanted;
            hit_surface(&f->scene, &meetings[k].query, &meetings[k].ray, &meetings[k].diff, &alone);
            assert_same(&found, &alone, wanted);
        }
    }
    fixture_destroy(f);
}

/* What is set comes back, in every lane, and others stay. */
static void test_surfaces_are_set_and_got(void **state)
{
    SORT_UNUSED(state);
    SceneFixture *f = mixed_scene();
    SurfaceBlock block;
    SurfaceHit hits[SSL_BLOCK];
    uint64_t seed = 3;
    block.count = SSL_BLOCK;
    block.material = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        Meeting m = random_meeting(&f->scene, &seed);
        m.query.parts = HIT_ALL;
        hit_surface(&f->scene, &m.query, &m.ray, &m.diff, &hits[k]);
        hits[k].draw = (HitDraw){.event = k, .crossing = 2 * k};
        hits[k].history = (PathHistory){.kind = RAY_GLOSSY, .glossy = (uint16_t)k, .is_cone = true};
        surface_set(&block, k, &hits[k]);
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        SurfaceHit got = surface_get((SurfaceLane){&block, k});
        assert_same(&got, &hits[k], HIT_ALL);
        assert_int_equal(got.instance, hits[k].instance);
        assert_int_equal(got.triangle, hits[k].triangle);
        assert_int_equal(got.draw.crossing, 2 * k);
        assert_int_equal(got.history.glossy, k);
        assert_memory_equal(&got.length_m, &hits[k].length_m, sizeof got.length_m);
    }
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surfaces_of_a_block_are_those_alone),
        cmocka_unit_test(test_surfaces_are_set_and_got),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
