/* Pairs of emissive triangles: which triangles become one light, and that this is sampled as its density says. */
#include "base/stat/ztest.h"
#include "sort/light/light.h"
#include "sort/sampling/sampler.h"
#include "tests/sort/light/light_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static Lights *make_lights(SceneFixture *f, const uint8_t *sides)
{
    static const float emission[] = {1.0f, 1.0f};
    Lights *lights;
    LightsDesc desc = {.size_bytes = sizeof desc,
                       .scene = &f->scene,
                       .material_emission = emission,
                       .material_sides = sides};
    assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
    return lights;
}

/* A turn about an axis that is none of the world's. */
static mat4 turn(float angle)
{
    float3 a = f3_normalize(f3(1, 2, 3));
    float c = cosf(angle), s = sinf(angle), r = 1.0f - c;
    return (mat4){{{c + a.x * a.x * r, a.x * a.y * r - a.z * s, a.x * a.z * r + a.y * s, 0},
                   {a.y * a.x * r + a.z * s, c + a.y * a.y * r, a.y * a.z * r - a.x * s, 0},
                   {a.z * a.x * r - a.y * s, a.z * a.y * r + a.x * s, c + a.z * a.z * r, 0},
                   {0, 0, 0, 1}}};
}

/* --- which triangles -------------------------------------------------------------------------------- */

typedef struct Mesh {
    const char *name;
    float positions[18];
    uint32_t vertices;
    uint32_t indices[9];
    uint32_t triangles;
    uint32_t lights; /* that become of it */
} Mesh;

static const Mesh meshes[] = {
    {"a rectangle", {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1}, 4, {0, 1, 2, 0, 2, 3}, 2, 1},
    {"by the other diagonal", {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1}, 4, {0, 1, 3, 3, 1, 2}, 2, 1},
    {"vertices of their own",
     {0, 0, 0, 2, 0, 0, 2, 0, 1, 2, 0, 1, 0, 0, 1, 0, 0, 0},
     6,
     {0, 1, 2, 3, 4, 5},
     2,
     1},
    {"sheared", {0, 0, 0, 2, 0, 0, 3, 0, 1, 1, 0, 1}, 4, {0, 1, 2, 0, 2, 3}, 2, 1},
    {"a trapezoid", {0, 0, 0, 2, 0, 0, 1, 0, 1, 0, 0, 1}, 4, {0, 1, 2, 0, 2, 3}, 2, 1},
    {"not convex", {0, 0, 0, 2, 0, 0, 0.4f, 0, 0.4f, 0, 0, 2}, 4, {0, 1, 2, 0, 2, 3}, 2, 1},
    {"bent a little", {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0.01f, 1}, 4, {0, 1, 2, 0, 2, 3}, 2, 1},
    {"bent", {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0.3f, 1}, 4, {0, 1, 2, 0, 2, 3}, 2, 2},
    {"folded back", {0, 0, 0, 2, 0, 0, 2, 0, 1, 1.9f, 0, 0.1f}, 4, {0, 1, 2, 0, 2, 3}, 2, 2},
    {"fronts apart", {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1}, 4, {0, 1, 2, 0, 3, 2}, 2, 2},
    {"a corner in common",
     {0, 0, 0, 2, 0, 0, 2, 0, 1, -2, 0, 0, -2, 0, -1},
     5,
     {0, 1, 2, 0, 3, 4},
     2,
     2},
    {"a corner on an edge",
     {0, 0, 0, 2, 0, 0, 0, 0, 2, 1, 0, 1, 2, 0, 2},
     5,
     {0, 1, 2, 1, 4, 3},
     2,
     2},
    {"a triangle without area between",
     {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1},
     4,
     {0, 1, 2, 0, 2, 2, 0, 2, 3},
     3,
     1},
    {"three in a row",
     {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1, 1, 0, 2},
     5,
     {0, 1, 2, 0, 2, 3, 3, 2, 4},
     3,
     2},
    {"one that is alone first",
     {0, 0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1, 5, 0, 5, 6, 0, 5},
     6,
     {0, 4, 5, 0, 1, 2, 0, 2, 3},
     3,
     2},
};

static uint32_t lights_of(const Mesh *m, mat4 place)
{
    SceneFixture *f = fixture_create();
    uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
    fixture_instance(f, mesh, fixture_material(f, "m"), place);
    Lights *lights = make_lights(f, NULL);
    uint32_t count = lights_sight_count(lights);
    lights_destroy(lights);
    fixture_destroy(f);
    return count;
}

static void test_light_which_triangles_are_pairs(void **state)
{
    (void)state;
    const mat4 places[] = {
        mat4_identity(),
        turn(1.0f),
        mat4_scale(f3(1e-3f, 1e-3f, 1e-3f)),
        mat4_scale(f3(-1e3f, 1e3f, 1e3f)),
        mat4_mul(mat4_translate(f3(1e4f, -1e4f, 1e4f)), turn(2.0f)),
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(meshes); ++i)
        for (uint32_t k = 0; k < SORT_COUNT_OF(places); ++k) {
            uint32_t count = lights_of(&meshes[i], places[k]);
            if (count != meshes[i].lights)
                fail_msg("%s, place %u: %u lights, not %u", meshes[i].name, k, count,
                         meshes[i].lights);
        }
}

/* Triangles of two materials are two sources, and moving ones are not joined. */
static void test_light_pairs_of_one_source(void **state)
{
    (void)state;
    const Mesh *m = &meshes[0];
    for (uint32_t moves = 0; moves < 2; ++moves) {
        SceneFixture *f = fixture_create();
        uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
        const uint16_t slots[] = {0, 1};
        const uint32_t materials[] = {fixture_material(f, "m"), fixture_material(f, "n")};
        const mat4 keys[] = {mat4_identity(), mat4_translate(f3(1, 0, 0))};
        uint32_t instance = fixture_instance(f, mesh, materials[0], mat4_identity());
        if (moves) {
            f->instances[instance].keys = keys;
            f->instances[instance].key_count = 2;
        } else {
            f->meshes[mesh].material_indices = slots;
            f->instances[instance].materials = materials;
            f->instances[instance].material_count = 2;
        }
        Lights *lights = make_lights(f, NULL);
        assert_int_equal(lights_count(lights), moves ? 1 : 2);
        assert_int_equal(lights_sight_count(lights), 2);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* --- sampling --------------------------------------------------------------------------------------- */

static double area_of(const SceneFixture *f, uint32_t triangle)
{
    const SceneMesh *mesh = &f->meshes[0];
    float3 p[3];
    scene_mesh_positions_at(mesh, &mesh->indices[3 * (size_t)triangle], 0.5f, p);
    const mat4 *m = &f->instances[0].object_to_world;
    return 0.5 * (double)f3_length(f3_cross(mat4_vector(m, f3_sub(p[1], p[0])),
                                            mat4_vector(m, f3_sub(p[2], p[0]))));
}

/* Which of the four triangles between the middles of the edges a place is in. */
static uint32_t quarter_of(float b1, float b2)
{
    float b0 = 1.0f - b1 - b2;
    return b0 > 0.5f ? 0 : b1 > 0.5f ? 1 : b2 > 0.5f ? 2 : 3;
}

/* Samples the light of the fixture's only mesh, of two triangles, from a place: each is found where it says, with the density that it
 * has when it is met, and so often that each quarter of each triangle has the expected area. */
static void check_pair(SceneFixture *f, const LightQuery *from, float size, double rounding,
                       const char *what)
{
    enum { SAMPLES = 60000 };
    const Sampler independent = {SAMPLER_INDEPENDENT};
    Lights *lights = make_lights(f, NULL);
    ZTest quarters[8] = {{0}};
    double lost = 0.0;
    assert_int_equal(lights_sight_count(lights), 1);
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        LightSample s;
        float2 u = sampler_2d(&independent, sample_key(3, 1, i, 2), 1);
        if (!lights_sample(lights, from->position, from->normal, 0.5f, u, &s))
            fail_msg("%s: sample %u is lost", what, i);
        assert_int_equal(s.value, LIGHT_VALUE_MESH);
        assert_true(s.b1 >= 0.0f && s.b2 >= 0.0f && s.b1 + s.b2 <= 1.00001f && s.triangle < 2);
        float3 p[3];
        scene_triangle(&f->scene, s.instance, s.triangle, p);
        float3 point = f3_madd(f3_madd(p[0], s.b1, f3_sub(p[1], p[0])), s.b2, f3_sub(p[2], p[0]));
        float off = f3_length(f3_sub(point, s.end.P));
        float away = f3_length(f3_sub(point, f3_madd(from->position, s.distance_m, s.wi)));
        if (!(off <= 1e-5f * size + (float)rounding &&
              away <= 1e-5f * size + 2.0f * (float)rounding))
            fail_msg("%s: the place is off by %g and %g", what, (double)off, (double)away);
        float pdf = lights_mesh_pdf(
            lights, from, 0.5f,
            &(MeshLightHit){s.instance, s.triangle, s.b1, s.b2, s.wi, s.distance_m});
        /* Barycentrics are rounded: that shows next to the plane. */
        lost += !(fabsf(pdf - s.pdf_solid_angle) <= 1e-3f * pdf);
        double cosine = fabs((double)f3_dot(s.wi, s.end.n)), d = (double)s.distance_m;
        for (uint32_t k = 0; k < 8; ++k)
            ztest_add(&quarters[k], k == 4 * s.triangle + quarter_of(s.b1, s.b2)
                                        ? d * d / (cosine * (double)s.pdf_solid_angle)
                                        : 0.0);
    }
    if (lost > 0.002 * SAMPLES)
        fail_msg("%s: %g densities differ", what, lost);
    for (uint32_t k = 0; k < 8; ++k) {
        double area = 0.25 * area_of(f, k / 4);
        if (ztest_p_value(&quarters[k], area, (1e-4 + 2.0 * rounding / (double)size) * area) <
            KIT_SIGNIFICANCE)
            fail_msg("%s: quarter %u has %g +- %g of %g", what, k, quarters[k].mean,
                     ztest_standard_error(&quarters[k]), area);
    }
    lights_destroy(lights);
}

static void test_light_pairs_are_sampled_as_they_say(void **state)
{
    (void)state;
    const struct {
        float scale, far;
    } places[] = {{1, 0}, {1e-3f, 0}, {-1e3f, 0}, {1, 1e4f}};
    const struct {
        float3 at, normal;
    } eyes[] = {{{0.7f, 1.5f, 0.4f}, {0, -1, 0}},
                {{0.3f, -0.2f, 1.3f}, {0.6f, 0.8f, 0}}, /* beside it, and at its back */
                {{4, 3, -2}, {0, 0, 1}},
                {{0.9f, 0.25f, 0.4f}, {0, 0, 0}}}; /* close to it; no normal */
    for (uint32_t i = 0; i < 7; ++i)
        for (uint32_t k = 0; k < SORT_COUNT_OF(places) * SORT_COUNT_OF(eyes); ++k) {
            float scale = places[k / 4].scale, far = places[k / 4].far, size = fabsf(scale);
            SceneFixture *f = fixture_create();
            char what[128];
            const Mesh *m = &meshes[i];
            mat4 place = mat4_mul(mat4_translate(f3(far, -far, far)),
                                  mat4_mul(turn(0.7f), mat4_scale(f3(scale, size, size))));
            fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
            fixture_instance(f, 0, fixture_material(f, "m"), place);
            float3 normal = mat4_vector(&place, eyes[k % 4].normal);
            LightQuery from =
                light_query(mat4_point(&place, eyes[k % 4].at), normal, SKY_ALL_AROUND);
            if (f3_length2(normal) > 0.0f)
                from.normal = f3_normalize(normal), from.sides = SKY_ABOVE;
            snprintf(what, sizeof what, "%s, place %u, eye %u", m->name, k / 4, k % 4);
            check_pair(f, &from, size, (double)far * 1e-6, what);
            fixture_destroy(f);
        }
}

/* A quad shines to the sides that its triangles do, and a surface in its plane does not see it. */
static void test_light_pairs_have_sides(void **state)
{
    (void)state;
    const Mesh *m = &meshes[0];
    for (uint32_t mirrored = 0; mirrored < 2; ++mirrored) {
        SceneFixture *f = fixture_create();
        uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
        mat4 place = mat4_mul(turn(0.7f), mat4_scale(f3(mirrored ? -1 : 1, 1, 1)));
        fixture_instance(f, mesh, fixture_material(f, "m"), place);
        Lights *lights = make_lights(f, NULL);
        float3 p[3], n;
        scene_triangle(&f->scene, 0, 0, p);
        n = f3_normalize(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
        n = mirrored ? f3_neg(n) : n;
        for (int side = -1; side <= 1; ++side) {
            float3 at = f3_madd(f3_scale(f3_add(p[0], p[2]), 0.5f), (float)side, n);
            LightSample s;
            bool is_found = lights_sample(lights, at, f3(0, 0, 0), 0.5f, f2(0.3f, 0.6f), &s);
            assert_true(is_found == (side != 0));
            if (is_found)
                assert_true(s.is_backfacing == (side < 0));
            float pdf =
                lights_mesh_pdf(lights, &(LightQuery){.position = at}, 0.5f,
                                &(MeshLightHit){0, 1, 0.2f, 0.2f, f3_scale(n, (float)-side), 1.0f});
            assert_true((pdf > 0.0f) == (side != 0));
        }
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* A triangle next to a sliver, whose plane is known badly: points are drawn on the large one, close to it, too, and rays to them end where
 * they end at a large triangle. */
static void test_light_pairs_with_slivers(void **state)
{
    (void)state;
    const float scales[] = {1e-3f, 1.0f, 1e3f};
    for (uint32_t i = 0; i < 2 * SORT_COUNT_OF(scales); ++i) {
        float size = scales[i / 2], thin = 1e-5f;
        uint32_t large = i % 2, drawn = 0;
        const float positions[] = {0, 0, 0, 1, 0, 0, 1, 0, 1, 0.5f - thin, 0, 0.5f + thin};
        const uint32_t orders[2][6] = {{0, 1, 2, 0, 2, 3}, {0, 2, 3, 0, 1, 2}};
        mat4 place = mat4_mul(turn(0.7f), mat4_scale(f3(size, size, size)));
        SceneFixture *f = fixture_create();
        fixture_mesh(f, positions, 4, orders[large], 2);
        fixture_instance(f, 0, fixture_material(f, "m"), place);
        Lights *lights = make_lights(f, NULL);
        float3 at = mat4_point(&place, f3(0.7f, 0.02f, 0.3f));
        assert_int_equal(lights_sight_count(lights), 1);
        for (uint32_t k = 0; k < 100; ++k) {
            LightSample s;
            float2 u = f2(0.01f * ((float)k + 0.5f), 0.4f);
            if (!lights_sample(lights, at, f3(0, 0, 0), 0.5f, u, &s) || s.triangle != large)
                continue;
            ++drawn;
            assert_true(s.end.error_m > 0.0f && s.end.error_m < 1e-5f * size);
        }
        assert_true(drawn > 90);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* In the plane of one triangle of a bent pair only the other is drawn, and a ray that meets the first counts whole. */
static void test_light_pairs_seen_in_part(void **state)
{
    (void)state;
    const Mesh *m = &meshes[6];
    SceneFixture *f = fixture_create();
    uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
    fixture_instance(f, mesh, fixture_material(f, "m"), mat4_identity());
    Lights *lights = make_lights(f, NULL);
    const LightQuery from = {.position = f3(5, 0, 0.3f)};
    assert_int_equal(lights_sight_count(lights), 1);
    for (uint32_t k = 0; k < 100; ++k) {
        LightSample s;
        assert_true(lights_sample(lights, from.position, f3(0, 0, 0), 0.5f,
                                  f2(0.01f * (float)k, 0.01f * (float)(99 - k)), &s));
        assert_int_equal(s.triangle, 1);
    }
    for (uint32_t triangle = 0; triangle < 2; ++triangle) {
        float pdf = lights_mesh_pdf(lights, &from, 0.5f,
                                    &(MeshLightHit){0, triangle, 0.3f, 0.3f, f3(-1, 0, 0), 4.0f});
        assert_true((pdf > 0.0f) == (triangle == 1));
    }
    lights_destroy(lights);
    fixture_destroy(f);
}

/* The solid angle of the rectangle [x0, x1] x [-w, w] from the point (x, z) at height h over it, of which the far sides bring one part
 * each. */
static double rectangle_seen(double x0, double x1, double w, double x, double z, double h)
{
    double sum = 0.0;
    for (int i = 0; i < 4; ++i) {
        double a = i & 1 ? x1 - x : x0 - x, b = (i & 2 ? w : -w) - z;
        double part = atan(a * b / (h * sqrt(a * a + b * b + h * h)));
        sum += (i & 1) == (i >> 1) ? part : -part;
    }
    return sum;
}

/* Lamps next to the point, up to a strip of 1:10^4 at the distance of its width: slices of them, narrow ones near the point, are found as
 * often as their solid angles say, of a pair and of triangles apart. */
static void test_light_pairs_next_to_the_point(void **state)
{
    (void)state;
    enum { SAMPLES = 30000, CUTS = 8 };
    const Sampler independent = {SAMPLER_INDEPENDENT};
    const uint16_t slots[] = {0, 1};
    const struct {
        double w, h;
    } lamps[] = {{1, 1e-2}, {1, 1e-4}, {1e-2, 1e-2}, {1e-3, 1e-3}, {1e-4, 1e-4}, {1e-4, 0.1}};
    for (uint32_t i = 0; i < 4 * SORT_COUNT_OF(lamps); ++i) {
        double w = lamps[i / 4].w, h = lamps[i / 4].h, x = 0.3, z = 0.2 * w;
        float size = i & 1 ? -1e3f : 1.0f, big = fabsf(size), half = (float)w;
        const float positions[] = {-1, 0, -half, 1, 0, -half, 1, 0, half, -1, 0, half};
        const double cuts[CUTS] = {-1, x - 10 * h, x - 3 * h, x - h, x, x + 2 * h, x + 6 * h, 1};
        SceneFixture *f = fixture_create();
        fixture_mesh(f, positions, 4, meshes[0].indices, 2);
        const uint32_t materials[] = {fixture_material(f, "m"), fixture_material(f, "n")};
        fixture_instance(f, 0, materials[0], mat4_scale(f3(size, big, big)));
        if (i & 2) {
            f->meshes[0].material_indices = slots;
            f->instances[0].materials = materials, f->instances[0].material_count = 2;
        }
        float3 at = f3(size * (float)x, big * (float)h, big * (float)z);
        Lights *lights = make_lights(f, NULL);
        ZTest slices[CUTS - 1] = {{0}};
        assert_int_equal(lights_sight_count(lights), i & 2 ? 2 : 1);
        for (uint32_t k = 0; k < SAMPLES; ++k) {
            LightSample s;
            float2 u = sampler_2d(&independent, sample_key(3, i, k, 2), 1);
            assert_true(lights_sample(lights, at, f3(0, 0, 0), 0.5f, u, &s));
            float pdf = lights_mesh_pdf(
                lights, &(LightQuery){.position = at}, 0.5f,
                &(MeshLightHit){s.instance, s.triangle, s.b1, s.b2, s.wi, s.distance_m});
            assert_true(fabsf(pdf - s.pdf_solid_angle) <= 1e-4f * pdf);
            double met = (double)s.end.P.x / (double)size;
            for (uint32_t c = 0; c + 1 < CUTS; ++c)
                ztest_add(&slices[c], met >= cuts[c] && met < cuts[c + 1]
                                          ? 1.0 / (double)s.pdf_solid_angle
                                          : 0.0);
        }
        for (uint32_t c = 0; c + 1 < CUTS; ++c) {
            double begin = fmax(cuts[c], -1.0), end = fmin(cuts[c + 1], 1.0);
            double seen = begin < end ? rectangle_seen(begin, end, w, x, z, h) : 0.0;
            if (begin < end && ztest_p_value(&slices[c], seen, 4e-3 * seen) < KIT_SIGNIFICANCE)
                fail_msg("%g x 1 from %g, %s, slice %u: %g +- %g of %g", w, h,
                         i & 2 ? "apart" : "a pair", c, slices[c].mean,
                         ztest_standard_error(&slices[c]), seen);
        }
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* Lamps of a source are drawn by area, a pair as one. */
static void test_light_pairs_among_lamps(void **state)
{
    (void)state;
    enum { SAMPLES = 64000 };
    const Mesh *m = &meshes[SORT_COUNT_OF(meshes) - 1];
    SceneFixture *f = fixture_create();
    uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
    fixture_instance(f, mesh, fixture_material(f, "m"), mat4_identity());
    f->instances[0].is_lamp = true;
    Lights *lights = make_lights(f, NULL);
    const Sampler independent = {SAMPLER_INDEPENDENT};
    double areas[3], total = 0.0;
    ZTest shares[3] = {{0}};
    for (uint32_t k = 0; k < 3; ++k)
        total += areas[k] = area_of(f, k);
    for (uint32_t i = 0; i < SAMPLES; i += SSL_BLOCK) {
        WideRow position[3] = {{0}}, normal[3] = {{0}}, u[2];
        float time[SSL_BLOCK] = {0};
        uint32_t sides[SSL_BLOCK] = {0};
        LightRows rows;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            float2 pair = sampler_2d(&independent, sample_key(5, 1, i + k, 2), 1);
            u[0][k] = pair.x, u[1][k] = pair.y;
            wide_set3(position, k, f3(1, 100, 1));
        }
        const LightQueries query = {
            .position = position, .normal = normal, .sides = sides, .time = time, .u = u};
        assert_int_equal(lights_sample_lamps(lights, &query, 0xffff, &rows), 0xffff);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            for (uint32_t t = 0; t < 3; ++t)
                ztest_add(&shares[t], rows.triangle[k] == t ? 1.0 : 0.0);
    }
    /* From far above, what is even by solid angle is even by area, nearly. */
    for (uint32_t t = 0; t < 3; ++t)
        assert_true(ztest_p_value(&shares[t], areas[t] / total, 2e-3) > KIT_SIGNIFICANCE);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* What a lane gets of a sample. */
static LightSample sample_of(const LightRows *rows, uint32_t k)
{
    LightSample s;
    memset(&s, 0, sizeof s);
    s.wi = wide_get3(rows->wi, k), s.distance_m = rows->distance_m[k];
    s.pdf_solid_angle = rows->pdf[k];
    s.value = rows->value[k], s.source = rows->source[k];
    if (s.value == LIGHT_VALUE_MESH) {
        s.end = (SurfacePoint){wide_get3(rows->end, k), wide_get3(rows->end_n, k),
                               rows->end_error_m[k]};
        s.instance = rows->instance[k], s.triangle = rows->triangle[k];
        s.b1 = rows->b1[k], s.b2 = rows->b2[k];
        s.is_backfacing = rows->is_backfacing[k] != 0;
    }
    return s;
}

/* Pairs, single triangles, a rectangle, a sphere and the sky, of which the lanes of a block choose some: each lane gets what it gets
 * alone. */
static void test_light_pairs_in_any_company(void **state)
{
    (void)state;
    const Mesh *m = &meshes[SORT_COUNT_OF(meshes) - 1];
    SceneFixture *f = fixture_create();
    uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
    uint32_t material = fixture_material(f, "m");
    for (uint32_t i = 0; i < 3; ++i)
        fixture_instance(f, mesh, material, mat4_translate(f3((float)i, 0, -2.0f * (float)i)));
    for (uint32_t i = 0; i < 2; ++i)
        fixture_light(f, (SceneLight){.kind = i ? SCENE_LIGHT_SPHERE : SCENE_LIGHT_RECTANGLE,
                                      .light_to_world = fixture_shine(f3(-1, 2, 1), f3(0, -1, 0)),
                                      .emission = f3(2, 2, 2),
                                      .size_x_m = 1.5f,
                                      .size_y_m = 1.5f,
                                      .radius_m = 0.5f});
    f->scene.environment =
        (SceneEnvironment){.kind = SCENE_ENVIRONMENT_COLOR, .radiance = f3(1, 1, 1)};
    Lights *lights = make_lights(f, NULL);
    uint64_t seed = 7;
    uint32_t pairs = 0, others = 0;
    for (uint32_t i = 0; i < 2000; ++i) {
        WideRow position[3], normal[3], u[2];
        float time[SSL_BLOCK] = {0};
        uint32_t sides[SSL_BLOCK];
        LightRows together, alone;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            wide_set3(position, k, f3(fixture_random(&seed), 1.0f, fixture_random(&seed)));
            wide_set3(normal, k, f3(0, fixture_random(&seed) < 0.5f ? -1.0f : 1.0f, 0));
            u[0][k] = fixture_random(&seed), u[1][k] = fixture_random(&seed);
            sides[k] = SKY_ABOVE;
        }
        const LightQueries query = {
            .position = position, .normal = normal, .sides = sides, .time = time, .u = u};
        uint16_t live = (uint16_t)(fixture_random(&seed) * 65536.0f);
        uint16_t drawn = lights_sample_points(lights, &query, live, &together);
        WIDE_EACH(k, live)
        {
            uint16_t lane = (uint16_t)(1u << k);
            uint16_t found = lights_sample_points(lights, &query, lane, &alone);
            assert_int_equal(found, drawn & lane);
            if (!found)
                continue;
            LightSample a = sample_of(&alone, k), b = sample_of(&together, k);
            assert_memory_equal(&a, &b, sizeof a);
            pairs += a.value == LIGHT_VALUE_MESH && a.triangle > 0;
            others += !(a.value == LIGHT_VALUE_MESH && a.triangle > 0);
        }
    }
    assert_true(pairs > 1000 && others > 1000);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* The relative mean square error of 64 pairs of numbers. */
static double error_of(const Lights *lights, SamplerKind kind, double expected)
{
    enum { TRIALS = 200, NUMBERS = 64 };
    const Sampler sampler = {.kind = kind};
    double sum = 0.0;
    for (uint32_t t = 0; t < TRIALS; ++t) {
        double mean = 0.0;
        for (uint32_t i = 0; i < NUMBERS; ++i) {
            LightSample s;
            float2 u = sampler_2d(&sampler, sample_key(t, 0, i, 5), 8);
            if (lights_sample(lights, f3(0.4f, 1, 0.2f), f3(0.6f, -0.8f, 0), 0.5f, u, &s))
                mean += (double)(maxf(f3_dot(s.wi, f3(0.6f, -0.8f, 0)), 0.0f) / s.pdf_solid_angle) /
                        NUMBERS;
        }
        sum += (mean / expected - 1.0) * (mean / expected - 1.0) / TRIALS;
    }
    return sum;
}

/* Stratified numbers stay stratified over both triangles, and there is little noise. */
static void test_light_pairs_keep_strata(void **state)
{
    (void)state;
    const Mesh *m = &meshes[0];
    SceneFixture *f = fixture_create();
    uint32_t mesh = fixture_mesh(f, m->positions, m->vertices, m->indices, m->triangles);
    fixture_instance(f, mesh, fixture_material(f, "m"), mat4_identity());
    Lights *lights = make_lights(f, NULL);
    const Sampler sobol = {0};
    double expected = 0.0;
    for (uint32_t i = 0; i < 1 << 16; ++i) {
        LightSample s;
        if (lights_sample(lights, f3(0.4f, 1, 0.2f), f3(0.6f, -0.8f, 0), 0.5f,
                          sampler_2d(&sobol, sample_key(0, 0, i, 6), 8), &s))
            expected += (double)(maxf(f3_dot(s.wi, f3(0.6f, -0.8f, 0)), 0.0f) / s.pdf_solid_angle) /
                        (1 << 16);
    }
    double random = error_of(lights, SAMPLER_INDEPENDENT, expected);
    double stratified = error_of(lights, SAMPLER_SOBOL, expected);
    print_message("a pair: %.3g by random numbers, %.3g by stratified ones\n", random, stratified);
    assert_true(random > 0.0 && random < 1e-3 && stratified < 0.02 * random);
    lights_destroy(lights);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_which_triangles_are_pairs),
        cmocka_unit_test(test_light_pairs_of_one_source),
        cmocka_unit_test(test_light_pairs_are_sampled_as_they_say),
        cmocka_unit_test(test_light_pairs_have_sides),
        cmocka_unit_test(test_light_pairs_with_slivers),
        cmocka_unit_test(test_light_pairs_seen_in_part),
        cmocka_unit_test(test_light_pairs_next_to_the_point),
        cmocka_unit_test(test_light_pairs_among_lamps),
        cmocka_unit_test(test_light_pairs_in_any_company),
        cmocka_unit_test(test_light_pairs_keep_strata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
