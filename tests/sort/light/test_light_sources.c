/* Sources that are no shapes: emissive meshes, the environment and its table. */
#include "sort/light/light.h"

#include "base/alloc.h"
#include "base/stat/chi2.h"
#include "base/stat/ztest.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/scene/scene_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

/* How a surface faces the sky, in world space. */
typedef struct SkyFacing {
    float3 normal;
    uint32_t sides;
} SkyFacing;

/* A lane of a block, any, and whether it is compared with itself in company. */
typedef struct AnyLane {
    uint32_t lane;
    bool is_compared;
} AnyLane;

/* Returns one by the bits of a number. */
static AnyLane lane_of(float x)
{
    enum { CALLS_A_COMPARISON = 64 };
    uint32_t bits = (uint32_t)(fabsf(x) * 0x1p24f);
    return (AnyLane){bits % SSL_BLOCK, bits / SSL_BLOCK % CALLS_A_COMPARISON == 0};
}

/* Surfaces and pairs of random numbers of all lanes. */
typedef struct Company {
    WideRow normal[3], u[2];
    uint32_t sides[SSL_BLOCK];
} Company;

/* Returns what means nothing unless the lane is compared. */
static Company make_company(AnyLane any)
{
    Company c = {.sides = {0}};
    uint64_t seed = any.lane;
    if (!any.is_compared)
        return c;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        c.u[0][k] = fixture_random(&seed), c.u[1][k] = fixture_random(&seed);
        wide_set3(c.normal, k, warp_sphere(f2(fixture_random(&seed), fixture_random(&seed))));
        c.sides[k] = (uint32_t)(fixture_random(&seed) * 4.0f);
    }
    return c;
}

/* Returns the place in the map of one direction, and the density with which it is drawn, whatever is asked beside it. */
static EnvironmentPlace find_direction(const SceneEnvironment *e, const EnvironmentTable *table,
                                       const SkyFacing *facing, float3 direction)
{
    const AnyLane any = lane_of(direction.x);
    const uint32_t lane = any.lane;
    const Company company = make_company(any);
    EnvironmentRays rays;
    EnvironmentPlace alone[SSL_BLOCK], among[SSL_BLOCK];
    memcpy(rays.direction, company.normal, sizeof rays.direction);
    memcpy(rays.normal, company.normal, sizeof rays.normal);
    memcpy(rays.sides, company.sides, sizeof rays.sides);
    wide_set3(rays.direction, lane, direction);
    wide_set3(rays.normal, lane, facing->normal);
    rays.sides[lane] = facing->sides;
    environment_find(e, table, &rays, (uint16_t)(1u << lane), alone);
    if (any.is_compared) {
        environment_find(e, table, &rays, (1u << SSL_BLOCK) - 1u, among);
        assert_memory_equal(&alone[lane], &among[lane], sizeof alone[lane]);
    }
    return alone[lane];
}

/* Asks for the hit with its density. */
static bool infinite_hit(const Lights *lights, const LightQuery *from, uint32_t index,
                         float3 direction, LightHit *out_hit)
{
    EnvironmentRays rays = {.sides = {from->sides}};
    WideRow positions[3];
    LightSky skies[SSL_BLOCK];
    wide_set3(rays.direction, 0, direction);
    wide_set3(rays.normal, 0, from->normal);
    wide_set3(positions, 0, from->position);
    lights_find_sky(lights, &rays, positions, 1, skies);
    return lights_infinite_hit(lights, index, direction, &skies[0], out_hit);
}

static const double significance = 1e-6;

static Lights *make_lights(SceneFixture *f, const float *material_emission,
                           const EnvironmentTable *table)
{
    Lights *lights;
    LightsDesc desc = {.size_bytes = sizeof desc,
                       .scene = &f->scene,
                       .material_emission = material_emission,
                       .environment_table = table};
    assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
    return lights;
}

static Status make_table(uint32_t width, uint32_t height, EnvironmentRowFn row,
                         EnvironmentTable **out_table, Error *err)
{
    const EnvironmentTableDesc desc = {.width = width, .height = height, .row = row};
    return environment_table_create(&desc, out_table, err);
}

/* Light comes from all around to a point without a normal. */
static const LightQuery from = {.position = {0, 0, 0}};
static const SkyFacing all_around = {.sides = SKY_ALL_AROUND};

static float3 draw(const SceneEnvironment *e, const EnvironmentTable *table,
                   const SkyFacing *facing, float2 u, float *out_pdf)
{
    const AnyLane any = lane_of(u.x);
    const uint32_t lane = any.lane;
    Company company = make_company(any);
    EnvironmentPlace places[SSL_BLOCK], among[SSL_BLOCK];
    WideRow wi[3], wi_among[3];
    company.u[0][lane] = u.x, company.u[1][lane] = u.y;
    company.sides[lane] = facing->sides;
    wide_set3(company.normal, lane, facing->normal);
    environment_draw(e, table, company.normal, company.sides, company.u, (uint16_t)(1u << lane), wi,
                     places);
    if (any.is_compared) {
        environment_draw(e, table, company.normal, company.sides, company.u, (1u << SSL_BLOCK) - 1u,
                         wi_among, among);
        assert_memory_equal(&places[lane], &among[lane], sizeof places[lane]);
        for (uint32_t c = 0; c < 3; ++c)
            assert_memory_equal(&wi[c][lane], &wi_among[c][lane], sizeof wi[c][lane]);
    }
    float3 direction = wide_get3(wi, lane);
    if (table) {
        float3 alone = environment_direction(e, places[lane].uv);
        assert_memory_equal(&direction, &alone, sizeof alone);
    }
    *out_pdf = places[lane].pdf;
    return direction;
}

static bool sample_at(const Lights *lights, float3 position, uint32_t index, LightSample *out)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    SampleKey key = sample_key(4, 5, index, 6);
    return lights_sample(lights, position, f3(0, 1, 0), 0.5f, sampler_2d(&independent, key, 1),
                         out);
}

static void test_light_nothing_shines(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_SPHERE,
                                  .light_to_world = mat4_identity(),
                                  .radius_m = 1.0f});
    Lights *lights = make_lights(f, NULL, NULL);
    LightSample s;
    assert_int_equal(lights_count(lights), 0);
    assert_int_equal(lights_infinite_count(lights), 0);
    assert_false(sample_at(lights, f3(0, 3, 0), 0, &s));
    const LightQuery inside = light_query(f3(0, 3, 0), f3(0, -1, 0), SKY_ABOVE);
    LightHit hit = lights_shape_hit(lights, &inside, 0, f3(0, -1, 0), 2.0f);
    assert_true(spectrum_is_black(hit.radiance) && hit.pdf_solid_angle == 0.0f);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* --- emissive meshes ------------------------------------------------------------------------ */

/* The lamp of the Cornell box as two triangles, in an instance that scales, turns and mirrors. */
static uint32_t add_lamp_mesh(SceneFixture *f, uint32_t material)
{
    const float positions[] = {-1, 0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1};
    const uint32_t indices[] = {0, 1, 2, 0, 2, 3};
    uint32_t mesh = fixture_mesh(f, positions, 4, indices, 2);
    mat4 m = mat4_mul(mat4_translate(f3(0, 1.98f, 0)), mat4_scale(f3(-0.25f, 3.0f, 0.25f)));
    return fixture_instance(f, mesh, material, m);
}

static void test_light_mesh_is_the_cornell_lamp(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    uint32_t dark = fixture_material(f, "dark"), bright = fixture_material(f, "bright");
    fixture_instance(f, fixture_grid(f, 3, 0.1f), dark, mat4_identity());
    uint32_t lamp = add_lamp_mesh(f, bright);
    const float emission[] = {0.0f, 5.0f};
    Lights *lights = make_lights(f, emission, NULL);
    assert_int_equal(lights_count(lights), 1);
    const struct {
        float3 position;
        double e;
    } cases[] = {{{0, 0, 0}, 0.062443}, {{0, 0, 0.9f}, 0.043423}, {{0.9f, 0, 0.9f}, 0.031867}};
    for (uint32_t k = 0; k < SORT_COUNT_OF(cases); ++k) {
        ZTest z = {0};
        for (uint32_t i = 0; i < 200000; ++i) {
            LightSample s;
            assert_true(sample_at(lights, cases[k].position, i, &s));
            assert_int_equal(s.value, LIGHT_VALUE_MESH);
            assert_int_equal(s.instance, lamp);
            assert_true(s.b1 >= 0.0f && s.b2 >= 0.0f && s.b1 + s.b2 <= 1.00001f);
            float3 p[3];
            scene_triangle(&f->scene, s.instance, s.triangle, p);
            float3 point = f3_add(f3_scale(p[0], 1.0f - s.b1 - s.b2),
                                  f3_add(f3_scale(p[1], s.b1), f3_scale(p[2], s.b2)));
            float3 reached = f3_madd(cases[k].position, s.distance_m, s.wi);
            assert_true(f3_length(f3_sub(point, reached)) < 1e-5f);
            const LightQuery at = light_query(cases[k].position, f3(0, 1, 0), SKY_ABOVE);
            float pdf = lights_mesh_pdf(
                lights, &at, 0.5f,
                &(MeshLightHit){s.instance, s.triangle, s.b1, s.b2, s.wi, s.distance_m});
            assert_true(fabsf(pdf - s.pdf_solid_angle) < 1e-4f * pdf);
            ztest_add(&z, (double)s.wi.y / (double)s.pdf_solid_angle);
        }
        assert_true(ztest_p_value(&z, cases[k].e, 1e-6) > significance);
    }
    assert_true(lights_mesh_pdf(lights, &(LightQuery){.normal = f3(0, 1, 0)}, 0.5f,
                                &(MeshLightHit){0, 0, 0.0f, 0.0f, f3(0, 1, 0), 1.0f}) == 0.0f);
    lights_destroy(lights);
    fixture_destroy(f);
}

static double triangle_area(const SceneFixture *f, uint32_t instance, uint32_t triangle)
{
    float3 p[3];
    scene_triangle(&f->scene, instance, triangle, p);
    return 0.5 * (double)f3_length(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
}

/* A density in solid angle at a sample of a mesh as one by area. */
static double by_area(const SceneFixture *f, const LightSample *s, float pdf_solid_angle)
{
    float3 p[3];
    scene_triangle(&f->scene, s->instance, s->triangle, p);
    float3 n = f3_normalize(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
    return (double)pdf_solid_angle * fabs((double)f3_dot(s->wi, n)) /
           ((double)s->distance_m * (double)s->distance_m);
}

/* Slots of one instance: only the triangles that shine are sampled. */
static void test_light_mesh_slots(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    uint32_t dark = fixture_material(f, "dark"), bright = fixture_material(f, "bright");
    uint32_t grid = fixture_grid(f, 8, 0.2f);
    uint16_t slots[128];
    for (uint32_t i = 0; i < 128; ++i)
        slots[i] = i % 3 == 1;
    f->meshes[grid].material_indices = slots;
    uint32_t instance = fixture_instance(f, grid, dark, mat4_identity());
    const uint32_t materials[] = {dark, bright};
    f->instances[instance].materials = materials;
    f->instances[instance].material_count = 2;
    const float emission[] = {0.0f, 1.0f};
    Lights *lights = make_lights(f, emission, NULL);
    double area = 0.0;
    for (uint32_t i = 0; i < 128; ++i)
        area += slots[i] ? triangle_area(f, instance, i) : 0.0;
    bool is_seen[128] = {false};
    ZTest z = {0};
    for (uint32_t i = 0; i < 100000; ++i) {
        LightSample s;
        assert_true(sample_at(lights, f3(0.5f, 0, 3), i, &s));
        is_seen[s.triangle] = true;
        /* One over the density by area: its mean is the area. */
        ztest_add(&z, 1.0 / by_area(f, &s, s.pdf_solid_angle));
    }
    assert_true(ztest_p_value(&z, area, 1e-6) > significance);
    for (uint32_t i = 0; i < 128; ++i)
        assert_int_equal(is_seen[i], slots[i]);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* What shines from one side is found from there alone, mirrored or not, and from both sides where nothing is known. */
static void test_light_mesh_sides(void **state)
{
    (void)state;
    const float emission[] = {1.0f};
    for (uint32_t i = 0; i < 8; ++i) {
        SceneFixture *f = fixture_create();
        uint32_t bright = fixture_material(f, "bright"), mesh = fixture_grid(f, 4, 0.0f);
        bool is_mirrored = i & 4;
        mat4 place = is_mirrored ? mat4_scale(f3(-1, 1, 1)) : mat4_identity();
        uint32_t instance = fixture_instance(f, mesh, bright, place);
        const uint8_t sides[] = {(uint8_t)(i & 3)};
        LightsDesc desc = {.size_bytes = sizeof desc,
                           .scene = &f->scene,
                           .material_emission = emission,
                           .material_sides = sides[0] ? sides : NULL};
        float3 p[3];
        Lights *lights;
        scene_mesh_positions_at(&f->meshes[mesh], f->meshes[mesh].indices, 0.0f, p);
        float front = f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])).z > 0.0f ? 1.0f : -1.0f;
        assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
        assert_true(f->instances[instance].is_mirrored == is_mirrored);
        for (uint32_t side = LIGHT_EMITS_FRONT; side <= LIGHT_EMITS_BACK; ++side) {
            float3 at = f3(0.3f, 0.2f, side == LIGHT_EMITS_FRONT ? front : -front);
            bool shines = sides[0] == 0 || (sides[0] & side);
            LightSample s;
            LightQuery query = light_query(at, f3(0, 0, 1), SKY_ABOVE);
            float3 wi = f3(0, 0, -at.z);
            MeshLightHit hit = {instance, 7, 0.3f, 0.3f, wi, 1.0f};
            assert_true(sample_at(lights, at, 5, &s) == shines);
            assert_true((lights_mesh_pdf(lights, &query, 0.5f, &hit) > 0.0f) == shines);
        }
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

static void expect_one_cell(void *data, uint32_t instance, uint32_t material,
                            const uint32_t *triangles, uint32_t count, float *out)
{
    uint32_t *calls = data;
    assert_int_equal(instance, 0);
    assert_int_equal(material, 0);
    assert_int_equal(count, 32);
    ++*calls;
    for (uint32_t k = 0; k < count; ++k) {
        assert_true(out[k] == 0.5f); /* that of the material */
        out[k] = triangles[k] / 2 == 5 ? 8.0f : 0.25f;
    }
}

/* Triangles are chosen by what is expected of each, where something is. */
static void test_light_triangles_are_looked_at(void **state)
{
    (void)state;
    const float emission[] = {0.5f};
    SceneFixture *f = fixture_create();
    uint32_t bright = fixture_material(f, "bright"), mesh = fixture_grid(f, 4, 0.0f), calls = 0;
    uint32_t instance = fixture_instance(f, mesh, bright, mat4_identity());
    LightsDesc desc = {.size_bytes = sizeof desc,
                       .scene = &f->scene,
                       .material_emission = emission,
                       .look = expect_one_cell,
                       .look_data = &calls};
    Lights *lights;
    assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
    assert_int_equal(calls, 1);
    LightQuery query = light_query(f3(0, 0, 1e3f), f3(0, 0, 1), SKY_ABOVE);
    MeshLightHit bright_one = {instance, 10, 0.3f, 0.3f, {0, 0, -1}, 1e3f};
    MeshLightHit other = {instance, 20, 0.3f, 0.3f, {0, 0, -1}, 1e3f};
    float often = lights_mesh_pdf(lights, &query, 0.5f, &bright_one);
    float seldom = lights_mesh_pdf(lights, &query, 0.5f, &other);
    assert_true(seldom > 0.0f && fabsf(often / seldom / 32.0f - 1.0f) < 1e-2f);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* 2^17 triangles: 24 bits of one number would leave most of a barycentric square to chance; here each is chosen
 * as often as its probability says, so the expected number of those never seen is known. */
static void test_light_every_triangle_is_chosen(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    uint32_t bright = fixture_material(f, "bright");
    const uint32_t triangles = 2 * 256 * 256, samples = 4 * triangles;
    uint32_t instance = fixture_instance(f, fixture_grid(f, 256, 0.0f), bright, mat4_identity());
    const float emission[] = {1.0f};
    const float third = 1.0f / 3.0f;
    const float3 at = f3(0, 0, 5), up = f3(0, 1, 0);
    Lights *lights = make_lights(f, emission, NULL);
    uint8_t *seen = MEM_ARRAY(uint8_t, triangles);
    assert_non_null(seen);
    for (uint32_t i = 0; i < samples; ++i) {
        LightSample s;
        assert_true(sample_at(lights, at, i, &s));
        seen[s.triangle] = 1;
    }
    double unseen = 0.0, expected = 0.0;
    for (uint32_t i = 0; i < triangles; ++i) {
        float3 p[3];
        scene_triangle(&f->scene, instance, i, p);
        float3 to = f3_sub(f3_scale(f3_add(p[0], f3_add(p[1], p[2])), 1.0f / 3.0f), at);
        LightSample s = {.instance = instance,
                         .triangle = i,
                         .distance_m = f3_length(to),
                         .wi = f3_normalize(to)};
        const LightQuery at_point = light_query(at, up, SKY_ABOVE);
        float pdf = lights_mesh_pdf(lights, &at_point, 0.5f,
                                    &(MeshLightHit){instance, i, third, third, s.wi, s.distance_m});
        unseen += !seen[i];
        expected += exp(-by_area(f, &s, pdf) * triangle_area(f, instance, i) * samples);
    }
    /* About 2 % of 131072; the standard deviation is below 50. */
    assert_true(fabs(unseen - expected) < 300 && expected > 1000);
    mem_free(seen);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* --- environment ---------------------------------------------------------------------------- */

/* A sky with a small bright sun, a gradient, and a black quarter. */
static float3 sky(float u, float v)
{
    float du = u - 0.3f, dv = v - 0.8f;
    float sun = du * du + 4.0f * dv * dv < 0.0004f ? 400.0f : 0.0f;
    float ground = v < 0.5f && u > 0.5f ? 0.0f : 0.2f + 0.5f * v;
    return f3(sun + ground, sun + ground, 0.5f * sun + 2.0f * ground);
}

/* The mean of 4 x 4 points of each cell. */
static Status sky_row(void *data, uint32_t width, float v_low, float v_high, float3 *out_radiance,
                      Error *err)
{
    (void)data;
    (void)err;
    for (uint32_t x = 0; x < width; ++x) {
        float3 sum = f3(0, 0, 0);
        for (int k = 0; k < 16; ++k) {
            float u = ((float)x + ((float)(k % 4) + 0.5f) / 4.0f) / (float)width;
            float v = v_low + (v_high - v_low) * ((float)k / 4.0f + 0.125f) / 4.0f;
            sum = f3_add(sum, sky(u, v));
        }
        out_radiance[x] = f3_scale(sum, 1.0f / 16.0f);
    }
    return STATUS_OK;
}

static SceneEnvironment sky_environment(void)
{
    SceneEnvironment e = {.kind = SCENE_ENVIRONMENT_IMAGE, .strength = 1.0f};
    e.environment_to_world = mat4_rotate(f3(0.2f, 1, 0.4f), 1.3f);
    e.world_to_environment = mat4_transpose(e.environment_to_world);
    return e;
}

/* Irradiance by a fine grid over the map. */
static double sky_irradiance(const SceneEnvironment *e, float3 normal)
{
    const uint32_t W = 2048, H = 1024;
    double sum = 0.0;
    for (uint32_t y = 0; y < H; ++y) {
        for (uint32_t x = 0; x < W; ++x) {
            float2 uv = f2(((float)x + 0.5f) / (float)W, ((float)y + 0.5f) / (float)H);
            double area = 2.0 * PI * PI * cos(PI * ((double)uv.y - 0.5)) / ((double)W * (double)H);
            double cosine = (double)f3_dot(environment_direction(e, uv), normal);
            sum += (double)sky(uv.x, uv.y).x * fmax(0.0, cosine) * area;
        }
    }
    return sum;
}

static void test_environment_coordinates(void **state)
{
    (void)state;
    SceneEnvironment plain = {.environment_to_world = mat4_identity(),
                              .world_to_environment = mat4_identity()};
    const struct {
        float3 d;
        float u, v;
    } cases[] = {{{0, 0, 1}, 0.5f, 0.5f},  /* +z: the centre */
                 {{1, 0, 0}, 0.25f, 0.5f}, /* +x: a quarter from the left */
                 {{-1, 0, 0}, 0.75f, 0.5f},
                 {{0, 1, 0}, 0.5f, 1.0f}, /* +y: the top row */
                 {{0, -1, 0}, 0.5f, 0.0f}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        float2 uv = environment_uv(&plain, cases[i].d);
        assert_true(fabsf(uv.y - cases[i].v) < 1e-6f);
        if (fabsf(cases[i].d.y) < 0.5f)
            assert_true(fabsf(uv.x - cases[i].u) < 1e-6f);
    }
    SceneEnvironment e = sky_environment();
    uint64_t random = 1;
    for (int i = 0; i < 10000; ++i) {
        float3 d = warp_sphere(f2(fixture_random(&random), fixture_random(&random)));
        float2 uv = environment_uv(&e, d);
        assert_true(uv.x >= 0.0f && uv.x <= 1.0f && uv.y >= 0.0f && uv.y <= 1.0f);
        assert_true(f3_length(f3_sub(environment_direction(&e, uv), d)) < 2e-6f);
    }
}

static void test_environment_footprint(void **state)
{
    (void)state;
    SceneEnvironment e = sky_environment();
    uint64_t random = 2;
    const double h = 1e-4;
    for (int i = 0; i < 2000; ++i) {
        float3 d = warp_sphere(f2(fixture_random(&random), fixture_random(&random))), s, t;
        f3_frame(d, &s, &t);
        float3 change = f3_scale(s, 0.01f);
        EnvironmentFootprint fp = environment_footprint(&e, d, change, f3_scale(t, 0.01f));
        float3 local = mat4_vector(&e.world_to_environment, d);
        float3 step = mat4_vector(&e.world_to_environment, change);
        if (fabsf(local.y) > 0.995f)
            continue; /* the bound near the poles */
        double uv[2][2];
        for (int k = 0; k < 2; ++k) {
            double sign = k ? 1.0 : -1.0;
            double x = (double)local.x + sign * h * (double)step.x;
            double y = (double)local.y + sign * h * (double)step.y;
            double z = (double)local.z + sign * h * (double)step.z;
            uv[k][0] = atan2(-x, z) / (2.0 * PI);
            uv[k][1] = atan2(y, sqrt(x * x + z * z)) / PI;
        }
        double du = uv[1][0] - uv[0][0], dv = uv[1][1] - uv[0][1];
        du -= round(du);
        assert_true(fabs((double)fp.duvdx.x - du / (2.0 * h)) < 1e-5);
        assert_true(fabs((double)fp.duvdx.y - dv / (2.0 * h)) < 1e-5);
    }
    /* At the pole itself: finite, and a whole row. */
    SceneEnvironment plain = {.environment_to_world = mat4_identity(),
                              .world_to_environment = mat4_identity()};
    EnvironmentFootprint pole =
        environment_footprint(&plain, f3(0, 1, 0), f3(0.01f, 0, 0), f3(0, 0, 0.01f));
    assert_true(pole.duvdx.x == 1.0f && isfinite(pole.duvdx.y));
    pole = environment_footprint(&plain, f3_normalize(f3(1e-5f, 1, 0)), f3(0, 0, 0.01f),
                                 f3(0.01f, 0, 0));
    assert_true(fabsf(pole.duvdx.x) <= 1.0f && fabsf(pole.duvdy.y + 0.01f / (float)PI) < 1e-5f);
}

static Status grey_row(void *data, uint32_t width, float v_low, float v_high, float3 *out_radiance,
                       Error *err)
{
    (void)data, (void)v_low, (void)v_high, (void)err;
    for (uint32_t x = 0; x < width; ++x)
        out_radiance[x] = f3_splat(0.5f);
    return STATUS_OK;
}

/* Compares what is drawn with the density, by chi-square on a coarse grid of cells of the map:
 * p(w) dw = p 2 pi^2 cos(latitude) du dv. */
static void check_density(const SceneEnvironment *e, const EnvironmentTable *table,
                          const SkyFacing *facing)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    enum { CELLS_X = 32, CELLS_Y = 16, FINE = 16, SAMPLES = 400000 };
    uint64_t observed[CELLS_X * CELLS_Y] = {0};
    double expected[CELLS_X * CELLS_Y] = {0}, sum = 0.0;
    for (uint32_t y = 0; y < CELLS_Y * FINE; ++y) {
        for (uint32_t x = 0; x < CELLS_X * FINE; ++x) {
            float2 uv = f2(((float)x + 0.5f) / (float)(CELLS_X * FINE),
                           ((float)y + 0.5f) / (float)(CELLS_Y * FINE));
            double area = 2.0 * PI * PI * cos(PI * ((double)uv.y - 0.5)) /
                          (double)(CELLS_X * FINE * CELLS_Y * FINE);
            float3 d = environment_direction(e, uv);
            double pdf = (double)find_direction(e, table, facing, d).pdf;
            assert_true(pdf > 0.0); /* also where the map is black, and below the horizon */
            expected[y / FINE * CELLS_X + x / FINE] += pdf * area;
            sum += pdf * area;
        }
    }
    assert_true(fabs(sum - 1.0) < 1e-3);
    for (uint32_t i = 0; i < CELLS_X * CELLS_Y; ++i)
        expected[i] *= (double)SAMPLES / sum;
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float pdf;
        float2 u = sampler_2d(&independent, sample_key(0, 0, i, 21), SAMPLE_PIXEL);
        float3 d = draw(e, table, facing, u, &pdf);
        assert_true(fabsf(f3_length(d) - 1.0f) < 2e-6f && pdf > 0.0f);
        float2 uv = environment_uv(e, d);
        uint32_t x = (uint32_t)fminf(uv.x * (float)CELLS_X, (float)CELLS_X - 1.0f);
        uint32_t y = (uint32_t)fminf(uv.y * (float)CELLS_Y, (float)CELLS_Y - 1.0f);
        ++observed[y * CELLS_X + x];
    }
    Chi2Result r = chi2_test(observed, expected, CELLS_X * CELLS_Y);
    if (r.p_value < significance)
        fail_msg("chi-square %g at %u degrees: p = %g", r.statistic, r.dof, r.p_value);
}

static void test_environment_table_samples_what_it_says(void **state)
{
    (void)state;
    SceneEnvironment e = sky_environment();
    const SkyFacing facings[] = {{.sides = SKY_ALL_AROUND},
                                 {f3_normalize(f3(0.3f, 0.9f, -0.2f)), SKY_ABOVE},
                                 {f3_normalize(f3(-0.8f, 0.1f, 0.6f)), SKY_ABOVE | SKY_BELOW},
                                 {{0, 1, 0}, SKY_BELOW}};
    const uint32_t sizes[][2] = {{128, 64}, {64, 32}, {8, 4}, {1, 1}};
    for (uint32_t k = 0; k < SORT_COUNT_OF(sizes); ++k) {
        EnvironmentTable *table;
        assert_int_equal(make_table(sizes[k][0], sizes[k][1], sky_row, &table, NULL), STATUS_OK);
        for (uint32_t i = 0; i < SORT_COUNT_OF(facings); ++i)
            check_density(&e, table, &facings[i]);
        environment_table_destroy(table);
    }
}

/* A drawn direction has the density that it is said to have when it is met. */
static void test_environment_table_knows_its_draws(void **state)
{
    (void)state;
    const SceneEnvironment plain = {.environment_to_world = mat4_identity(),
                                    .world_to_environment = mat4_identity()};
    const uint32_t sizes[][2] = {{2000, 1000}, {100, 37}}; /* blocks of several sizes */
    uint64_t random = 5;
    for (uint32_t k = 0; k < SORT_COUNT_OF(sizes); ++k) {
        EnvironmentTable *table;
        uint32_t others = 0;
        assert_int_equal(make_table(sizes[k][0], sizes[k][1], sky_row, &table, NULL), STATUS_OK);
        for (uint32_t i = 0; i < 20000; ++i) {
            const SkyFacing facing = {
                warp_sphere(f2(fixture_random(&random), fixture_random(&random))), i % 4};
            float said;
            float2 u = f2(fixture_random(&random), fixture_random(&random));
            float3 d = draw(&plain, table, &facing, u, &said);
            EnvironmentPlace place = find_direction(&plain, table, &facing, d);
            float2 uv = environment_uv(&plain, d);
            assert_true(place.uv.x == uv.x && place.uv.y == uv.y);
            float met = place.pdf;
            others += fabsf(met - said) > 1e-4f * said;
        }
        assert_true(others < 200); /* rounded into the next cell */
        environment_table_destroy(table);
    }
}

/* Most directions are drawn where the surface sees them, and more where it faces them. */
static void test_environment_table_follows_the_cosine(void **state)
{
    (void)state;
    SceneEnvironment e = sky_environment();
    EnvironmentTable *table;
    uint64_t random = 6;
    assert_int_equal(make_table(64, 32, grey_row, &table, NULL), STATUS_OK);
    for (uint32_t i = 0; i < 200; ++i) {
        float3 n = warp_sphere(f2(fixture_random(&random), fixture_random(&random)));
        float3 d = warp_sphere(f2(fixture_random(&random), fixture_random(&random)));
        float cosine = f3_dot(n, d);
        double above = (double)find_direction(&e, table, &(SkyFacing){n, SKY_ABOVE}, d).pdf;
        double both = (double)find_direction(&e, table, &(SkyFacing){n, 3}, d).pdf;
        double below = (double)find_direction(&e, table, &(SkyFacing){f3_neg(n), SKY_BELOW}, d).pdf;
        assert_true(fabs(above - below) < 1e-5 * above); /* below -n is above n */
        assert_true(fabs(above - fmax(0.0, (double)cosine) / PI) < 0.06);
        assert_true(fabs(both - fabs((double)cosine) / (2.0 * PI)) < 0.05);
    }
    environment_table_destroy(table);
}

/* Radiance 1 in the western half of the map, 0.4 in the eastern. */
static Status halves_row(void *data, uint32_t width, float v_low, float v_high,
                         float3 *out_radiance, Error *err)
{
    (void)data, (void)v_low, (void)v_high, (void)err;
    for (uint32_t x = 0; x < width; ++x)
        out_radiance[x] = f3_splat(2 * x < width ? 1.0f : 0.4f);
    return STATUS_OK;
}

/* Half of the mean, 0.7, is left to scattering, but no more than 0.65 of a cell; where there is none, nothing. */
static void test_environment_table_leaves_light_to_scattering(void **state)
{
    (void)state;
    const SceneEnvironment plain = {.environment_to_world = mat4_identity(),
                                    .world_to_environment = mat4_identity()};
    const struct {
        bool is_alone;
        double bright, dim;
    } cases[] = {{false, 1 - 0.35 + 0.007, 0.35 * 0.4 + 0.007}, {true, 1 + 0.007, 0.4 + 0.007}};
    for (uint32_t k = 0; k < SORT_COUNT_OF(cases); ++k) {
        EnvironmentTable *table;
        const EnvironmentTableDesc desc = {
            .width = 64, .height = 32, .row = halves_row, .is_alone = cases[k].is_alone};
        assert_int_equal(environment_table_create(&desc, &table, NULL), STATUS_OK);
        float3 west = environment_direction(&plain, f2(0.25f, 0.51f));
        float3 east = environment_direction(&plain, f2(0.75f, 0.51f));
        double ratio = (double)find_direction(&plain, table, &all_around, west).pdf /
                       (double)find_direction(&plain, table, &all_around, east).pdf;
        assert_true(fabs(ratio - cases[k].bright / cases[k].dim) < 1e-3 * ratio);
        environment_table_destroy(table);
    }
}

/* One cell shines. */
static Status sun_row(void *data, uint32_t width, float v_low, float v_high, float3 *out_radiance,
                      Error *err)
{
    (void)data, (void)err;
    for (uint32_t x = 0; x < width; ++x)
        out_radiance[x] = f3_splat(x == 0 && v_low < 0.51f && v_high > 0.51f ? 1e6f : 0.1f);
    return STATUS_OK;
}

/* A lookup interpolates: a sun of one cell shines into the cells around its own, over the seam of the map too. All
 * that it lights is drawn often enough: no sample counts more than 16 times one of the middle. */
static void test_environment_table_knows_interpolation(void **state)
{
    (void)state;
    enum { WIDTH = 32, HEIGHT = 16 };
    SceneEnvironment e = sky_environment();
    EnvironmentTable *table;
    assert_int_equal(make_table(WIDTH, HEIGHT, sun_row, &table, NULL), STATUS_OK);
    const float2 middle = f2(0.5f / WIDTH, 0.5f + 0.5f / HEIGHT);
    float most = find_direction(&e, table, &all_around, environment_direction(&e, middle)).pdf;
    for (int y = -9; y <= 9; ++y) {
        for (int x = -9; x <= 9; ++x) {
            float u = middle.x + 0.1f * (float)x / WIDTH, v = middle.y + 0.1f * (float)y / HEIGHT;
            float radiance = (1.0f - 0.1f * fabsf((float)x)) * (1.0f - 0.1f * fabsf((float)y));
            float3 d = environment_direction(&e, f2(u - floorf(u), v));
            assert_true(radiance * most < 16.0f * find_direction(&e, table, &all_around, d).pdf);
        }
    }
    environment_table_destroy(table);
}

/* The table changes the noise, never the mean. */
static void test_environment_irradiance(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    f->scene.environment = sky_environment();
    EnvironmentTable *table;
    assert_int_equal(make_table(256, 128, sky_row, &table, NULL), STATUS_OK);
    float3 normal = f3_normalize(f3(0.3f, 0.8f, -0.4f));
    double exact = sky_irradiance(&f->scene.environment, normal);
    double error[2];
    for (int with_table = 0; with_table < 2; ++with_table) {
        Lights *lights = make_lights(f, NULL, with_table ? table : NULL);
        ZTest z = {0};
        for (uint32_t i = 0; i < 400000; ++i) {
            LightSample s;
            LightHit hit;
            assert_true(sample_at(lights, f3(1, 2, 3), i, &s));
            assert_int_equal(s.value, LIGHT_VALUE_ENVIRONMENT);
            assert_true(isinf(s.distance_m) && !s.is_delta);
            assert_true(infinite_hit(lights, &from, 0, s.wi, &hit));
            assert_int_equal(hit.value, LIGHT_VALUE_ENVIRONMENT);
            float2 uv = environment_uv(&f->scene.environment, s.wi);
            double cosine = fmax(0.0, (double)f3_dot(s.wi, normal));
            ztest_add(&z, (double)sky(uv.x, uv.y).x * cosine / (double)s.pdf_solid_angle);
        }
        error[with_table] = ztest_standard_error(&z);
        assert_true(ztest_p_value(&z, exact, 2e-3 * exact) > significance);
        lights_destroy(lights);
    }
    assert_true(error[1] < 0.2 * error[0]);
    environment_table_destroy(table);
    fixture_destroy(f);
}

static void test_environment_constant_dome(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
    f->scene.environment.radiance = f3(3, 2, 1);
    Lights *lights = make_lights(f, NULL, NULL);
    ZTest dome = {0};
    for (uint32_t i = 0; i < 400000; ++i) {
        LightSample s;
        LightHit hit;
        assert_true(sample_at(lights, f3(0, 0, 0), i, &s));
        assert_int_equal(s.value, LIGHT_VALUE_KNOWN);
        assert_true(infinite_hit(lights, &from, 0, s.wi, &hit));
        assert_true(hit.radiance.c[2] == 1.0f && hit.pdf_solid_angle == s.pdf_solid_angle);
        ztest_add(&dome,
                  (double)s.radiance.c[0] * fmax(0.0, (double)s.wi.y) / (double)s.pdf_solid_angle);
    }
    assert_true(ztest_p_value(&dome, 3.0 * PI, 1e-5) > significance);
    lights_destroy(lights);
    fixture_destroy(f);
}

static Status black_row(void *data, uint32_t width, float v_low, float v_high, float3 *out_radiance,
                        Error *err)
{
    (void)data, (void)v_low, (void)v_high, (void)err;
    for (uint32_t x = 0; x < width; ++x)
        out_radiance[x] = f3(-1.0f, NAN, 0.0f); /* counts as black */
    return STATUS_OK;
}

static Status failing_row(void *data, uint32_t width, float v_low, float v_high,
                          float3 *out_radiance, Error *err)
{
    (void)data, (void)width, (void)v_low, (void)v_high, (void)out_radiance;
    return error_set(err, STATUS_IO, "no such row");
}

/* The radiance of a cell is that of its row function, to 2^-18 of its largest channel. */
static void test_environment_table_keeps_radiance(void **state)
{
    (void)state;
    EnvironmentTable *table;
    const SceneEnvironment plain = {.environment_to_world = mat4_identity(),
                                    .world_to_environment = mat4_identity()};
    EnvironmentTableDesc desc = {
        .width = 100, .height = 37, .row = sky_row, .keeps_radiance = true};
    assert_int_equal(environment_table_create(&desc, &table, NULL), STATUS_OK);
    assert_true(environment_table_suffices(table, 0.3f));
    assert_false(environment_table_suffices(table, 100.0f)); /* a lobe within a cell */
    for (uint32_t y = 0; y < desc.height; ++y) {
        float3 row[100];
        float v_high = 1.0f - (float)y / 37.0f, v_low = 1.0f - (float)(y + 1) / 37.0f;
        assert_int_equal(sky_row(NULL, desc.width, v_low, v_high, row, NULL), STATUS_OK);
        for (uint32_t x = 0; x < desc.width; ++x) {
            float2 middle = f2(((float)x + 0.5f) / 100.0f, 0.5f * (v_low + v_high));
            EnvironmentPlace place =
                find_direction(&plain, table, &all_around, environment_direction(&plain, middle));
            float3 kept = environment_table_radiance(table, place.cell);
            float3 difference = f3_sub(kept, row[x]);
            assert_true(f3_max_component(f3_neg(difference)) <= 4e-6f * f3_max_component(row[x]));
            assert_true(f3_max_component(difference) <= 4e-6f * f3_max_component(row[x]));
        }
    }
    environment_table_destroy(table);
    desc.row = black_row; /* with a negative number */
    assert_int_equal(environment_table_create(&desc, &table, NULL), STATUS_OK);
    assert_false(environment_table_suffices(table, 0.3f));
    environment_table_destroy(table);
}

/* As bright as *data says below the horizon, and 1 above. */
static Status horizon_row(void *data, uint32_t width, float v_low, float v_high, float3 *out,
                          Error *err)
{
    (void)v_high;
    (void)err;
    for (uint32_t x = 0; x < width; ++x)
        out[x] = f3_splat(v_low >= 0.5f ? 1.0f : *(float *)data);
    return STATUS_OK;
}

static void test_environment_table_unevenness(void **state)
{
    (void)state;
    static float below[] = {1.0f, 0.0f, 0.5f};
    static const double expected[] = {0.0, 0.5, 1.0 / 6.0}; /* (1 - b) / (2 (1 + b)) */
    for (int i = 0; i < 3; ++i) {
        EnvironmentTable *table;
        EnvironmentTableDesc desc = {
            .width = 8, .height = 64, .row = horizon_row, .data = &below[i]};
        assert_int_equal(environment_table_create(&desc, &table, NULL), STATUS_OK);
        assert_true(fabs(environment_table_unevenness(table) - expected[i]) <
                    0.02); /* cells blur the horizon */
        environment_table_destroy(table);
    }
}

/* Tables have a cell a texel, more for small images and fewer for large ones. */
static void test_environment_table_sides(void **state)
{
    (void)state;
    const uint32_t most = ENVIRONMENT_TABLE_MAX_WIDTH;
    assert_int_equal(environment_table_side(1, most), 512);
    assert_int_equal(environment_table_side(300, most), 600);
    assert_int_equal(environment_table_side(1024, most), 1024);
    assert_int_equal(environment_table_side(2048, most), 2048);
    assert_int_equal(environment_table_side(4096, most), 2048);
    assert_int_equal(environment_table_side(5001, most), 1251);
}

static void test_environment_table_edges(void **state)
{
    (void)state;
    EnvironmentTable *table;
    SceneEnvironment e = sky_environment();
    assert_int_equal(make_table(8, 4, black_row, &table, NULL), STATUS_OK);
    assert_true(f3_max_component(environment_table_mean(table)) == 0.0f);
    float pdf =
        find_direction(&e, table, &all_around, environment_direction(&e, f2(0.3f, 0.55f))).pdf;
    assert_true(pdf > 0.0f && isfinite(pdf));
    environment_table_destroy(table);
    Error err = {0};
    assert_int_equal(make_table(8, 4, failing_row, &table, &err), STATUS_IO);
    assert_null(table);
    assert_string_equal(err.text, "no such row");
    for (uint64_t n = 1; n < 20; ++n) {
        mem_fail_nth(n);
        Status status = make_table(8, 4, sky_row, &table, NULL);
        bool is_past = mem_allocation_count() < n;
        mem_fail_nth(0);
        assert_int_equal(status, is_past ? STATUS_OK : STATUS_NO_MEMORY);
        environment_table_destroy(table);
        if (is_past)
            return;
    }
    fail();
}

/* A sun with an angle is met by rays toward it, with the density it is sampled with. */
static void test_light_sun_is_met(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    float3 sun = f3_normalize(f3(0.3f, 0.9f, -0.2f));
    SceneLight light = {.kind = SCENE_LIGHT_DISTANT,
                        .light_to_world = fixture_shine(f3(0, 0, 0), f3_neg(sun)),
                        .emission = f3(2, 2, 2),
                        .angle_rad = 0.00925f};
    fixture_light(f, light);
    light.angle_rad = 0.0f; /* and one that cannot be met */
    fixture_light(f, light);
    Lights *lights = make_lights(f, NULL, NULL);
    assert_int_equal(lights_infinite_count(lights), 2);
    uint32_t met = 0;
    for (uint32_t i = 0; i < 10000; ++i) {
        LightSample s;
        LightHit hit;
        assert_true(sample_at(lights, f3(0, 0, 0), i, &s));
        assert_false(infinite_hit(lights, &from, 1, s.wi, &hit));
        if (s.is_delta)
            continue;
        /* Single precision may put a direction of the rim outside. */
        if (!infinite_hit(lights, &from, 0, s.wi, &hit))
            continue;
        ++met;
        assert_true(fabsf(hit.pdf_solid_angle - s.pdf_solid_angle) <= 1e-5f * hit.pdf_solid_angle);
        assert_true(hit.radiance.c[0] == s.radiance.c[0]);
    }
    assert_true(met > 4500);
    LightHit hit;
    float3 beside = f3_normalize(f3_add(sun, f3(0.006f, 0, 0)));
    assert_false(infinite_hit(lights, &from, 0, beside, &hit));
    lights_destroy(lights);
    fixture_destroy(f);
}

/* A lamp takes its share from the sky, by where a point is: rays that meet the sky know it for each of a block's points. */
static void test_light_lamp_under_sky(void **state)
{
    (void)state;
    enum { BLOCKS = 64 };
    SceneFixture *f = fixture_create();
    f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
    f->scene.environment.radiance = f3(1, 1, 1);
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_SPHERE,
                                  .light_to_world = mat4_translate(f3(0, 3, 0)),
                                  .emission = f3(40, 40, 40),
                                  .radius_m = 0.5f});
    Lights *lights = make_lights(f, NULL, NULL);
    uint64_t random = 5;
    double least = 1.0, most = 0.0;
    for (uint32_t block = 0, index = 0; block < BLOCKS; ++block) {
        EnvironmentRays rays;
        WideRow positions[3];
        LightSky skies[SSL_BLOCK];
        LightSample samples[SSL_BLOCK];
        for (uint32_t k = 0; k < SSL_BLOCK;) {
            float3 position = f3(20.0f * fixture_random(&random), 0.0f, 0.0f);
            if (!sample_at(lights, position, index++, &samples[k]) || !samples[k].is_environment)
                continue;
            wide_set3(positions, k, position);
            wide_set3(rays.direction, k, samples[k].wi);
            wide_set3(rays.normal, k, f3(0, 1, 0));
            rays.sides[k++] = SKY_ABOVE;
        }
        lights_find_sky(lights, &rays, positions, (1u << SSL_BLOCK) - 1u, skies);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            LightHit hit;
            const LightQuery alone = light_query(wide_get3(positions, k), f3(0, 1, 0), SKY_ABOVE);
            double chance = (double)skies[k].chance;
            assert_true(lights_infinite_hit(lights, 0, samples[k].wi, &skies[k], &hit));
            assert_true(fabsf(hit.pdf_solid_angle / samples[k].pdf_solid_angle - 1.0f) < 1e-5f);
            float among = hit.pdf_solid_angle;
            assert_true(infinite_hit(lights, &alone, 0, samples[k].wi, &hit));
            assert_true(hit.pdf_solid_angle == among);
            least = fmin(least, chance), most = fmax(most, chance);
        }
    }
    assert_true(least < 0.5 && most > 0.7);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* A ray that meets a wide sun, or the sky beside it, is weighed by the density with which its direction is drawn from there, whatever the
 * normal of the surface says of both. */
static void test_light_sun_under_sky(void **state)
{
    (void)state;
    enum { SUN, SKY, COUNT = 4096 };
    const float3 normals[] = {{0, 1, 0}, {0, 0, 1}, {0.6f, -0.8f, 0}, {0, 0.1f, -1}};
    uint32_t seen[2] = {0};
    SceneFixture *f = fixture_create();
    f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
    f->scene.environment.radiance = f3(1, 1, 1);
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_DISTANT,
                                  .light_to_world = mat4_identity(),
                                  .emission = f3(9, 9, 9),
                                  .angle_rad = 1.0f});
    Lights *lights = make_lights(f, NULL, NULL);
    assert_int_equal(lights_infinite_count(lights), 2);
    for (uint32_t i = 0; i < COUNT; ++i) {
        float3 normal = f3_normalize(normals[i % 4]);
        LightSample sample;
        LightHit hit;
        float2 u = sampler_2d(&(Sampler){SAMPLER_INDEPENDENT}, sample_key(1, 2, i, 3), 1);
        if (!lights_sample(lights, f3(0, 0, 0), normal, 0.0f, u, &sample))
            continue;
        const LightQuery place = light_query(f3(0, 0, 0), normal, SKY_ABOVE);
        uint32_t source = sample.is_environment ? SKY : SUN;
        assert_true(infinite_hit(lights, &place, source, sample.wi, &hit));
        assert_true(fabsf(hit.pdf_solid_angle / sample.pdf_solid_angle - 1.0f) < 1e-5f);
        ++seen[source];
    }
    assert_true(seen[SUN] > COUNT / 16 && seen[SKY] > COUNT / 16);
    lights_destroy(lights);
    fixture_destroy(f);
}

static void test_lights_out_of_memory(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    uint32_t bright = fixture_material(f, "bright");
    add_lamp_mesh(f, bright);
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_POINT,
                                  .light_to_world = mat4_identity(),
                                  .emission = f3(1, 1, 1)});
    const float emission[] = {1.0f};
    LightsDesc desc = {
        .size_bytes = sizeof desc, .scene = &f->scene, .material_emission = emission};
    uint32_t failures = 0;
    for (uint64_t n = 1; n < 40; ++n) {
        Lights *lights;
        mem_fail_nth(n);
        Status status = lights_create(&desc, &lights, NULL);
        bool is_past = mem_allocation_count() < n;
        mem_fail_nth(0);
        if (is_past) {
            assert_int_equal(status, STATUS_OK);
            lights_destroy(lights);
            assert_true(failures > 5);
            fixture_destroy(f);
            return;
        }
        /* The bounds are found without memory too. */
        assert_true(status == STATUS_NO_MEMORY || status == STATUS_OK);
        failures += status != STATUS_OK;
        assert_int_equal(lights != NULL, status == STATUS_OK);
        lights_destroy(lights);
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_nothing_shines),
        cmocka_unit_test(test_light_mesh_is_the_cornell_lamp),
        cmocka_unit_test(test_light_mesh_slots),
        cmocka_unit_test(test_light_mesh_sides),
        cmocka_unit_test(test_light_triangles_are_looked_at),
        cmocka_unit_test(test_light_every_triangle_is_chosen),
        cmocka_unit_test(test_light_sun_is_met),
        cmocka_unit_test(test_environment_coordinates),
        cmocka_unit_test(test_environment_footprint),
        cmocka_unit_test(test_environment_table_samples_what_it_says),
        cmocka_unit_test(test_environment_table_knows_its_draws),
        cmocka_unit_test(test_environment_table_follows_the_cosine),
        cmocka_unit_test(test_environment_table_leaves_light_to_scattering),
        cmocka_unit_test(test_environment_table_knows_interpolation),
        cmocka_unit_test(test_environment_irradiance),
        cmocka_unit_test(test_environment_constant_dome),
        cmocka_unit_test(test_environment_table_keeps_radiance),
        cmocka_unit_test(test_environment_table_unevenness),
        cmocka_unit_test(test_environment_table_sides),
        cmocka_unit_test(test_environment_table_edges),
        cmocka_unit_test(test_light_lamp_under_sky),
        cmocka_unit_test(test_light_sun_under_sky),
        cmocka_unit_test(test_lights_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
