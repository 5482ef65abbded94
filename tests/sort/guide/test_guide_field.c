/* The field of light that paths teach: densities are those of its samples, it learns where light comes from, its bits do not
 * depend on the order of records, and its memory has a limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "sort/guide/guide_field.h"
#include "sort/guide/sphere_square.h"
#include "sort/sampling/warp.h"

static float number(uint64_t *state)
{
    *state = hash_mix64(*state + 0x9e3779b97f4a7c15u);
    return (float)(*state >> 40) * 0x1p-24f;
}

static GuideField *make_bright_field(float scale, float radiance, uint64_t memory_bytes)
{
    GuideField *field;
    Error err = {0};
    GuideFieldDesc desc = {.size_bytes = sizeof desc,
                           .low = f3_splat(-scale),
                           .size = f3_splat(2.0f * scale),
                           .radiance = radiance,
                           .memory_bytes = memory_bytes};
    assert_int_equal(guide_field_create(&desc, &field, &err), STATUS_OK);
    return field;
}

static GuideField *make_field(float scale, uint64_t memory_bytes)
{
    return make_bright_field(scale, 0.37f, memory_bytes);
}

static GuideField *next_field(GuideField *field)
{
    GuideField *next;
    Error err = {0};
    assert_int_equal(guide_field_next(field, &next, &err), STATUS_OK);
    guide_field_destroy(field);
    return next;
}

/* Draws a direction for one point, in a lane that depends on the numbers. */
static float3 draw(const GuideField *field, uint32_t region, float3 p, float2 u)
{
    uint32_t regions[SSL_BLOCK], k = (uint32_t)(u.x * 0x1p20f) % SSL_BLOCK;
    alignas(64) WideRow at[3] = {{0}}, numbers[2] = {{0}}, wi[3];
    regions[k] = region;
    numbers[0][k] = u.x, numbers[1][k] = u.y;
    wide_set3(at, k, p);
    guide_field_draw(field, regions, at, numbers, (uint16_t)(1u << k), wi);
    return wide_get3(wi, k);
}

static float density_of(const GuideField *field, uint32_t region, float3 p, float3 wi)
{
    uint32_t regions[SSL_BLOCK], k = (uint32_t)(fabsf(wi.x) * 0x1p20f) % SSL_BLOCK;
    alignas(64) WideRow at[3] = {{0}}, directions[3] = {{0}}, density;
    regions[k] = region;
    wide_set3(at, k, p);
    wide_set3(directions, k, wi);
    guide_field_densities(field, regions, at, directions, (uint16_t)(1u << k), density);
    return density[k];
}

/* Light comes from a cone around +x where x < 0, and around -z elsewhere, on top of a little from everywhere. */
static float light_at(float3 p, float3 wi)
{
    float3 to = p.x < 0.0f ? f3(1, 0, 0) : f3(0, 0, -1);
    return 0.02f + (f3_dot(wi, to) > 0.98f ? 5.0f : 0.0f);
}

static GuideRecord draw_record(float scale, uint64_t *state)
{
    float3 p = f3(scale * (2 * number(state) - 1), scale * (2 * number(state) - 1),
                  scale * (2 * number(state) - 1));
    float u = number(state), v = number(state);
    float3 wi = warp_sphere(f2(u, v));
    return (GuideRecord){.position = p,
                         .normal = f3(0, 1, 0),
                         .direction = wi,
                         .distance_m = INFINITY,
                         .radiance = light_at(p, wi),
                         .estimate = light_at(p, wi) / SORT_INV_4PI,
                         .pdf = SORT_INV_4PI,
                         .bsdf_pdf = SORT_INV_4PI,
                         .random = hash_mix64(*state)};
}

static GuideField *teach(float scale, uint32_t passes, bool backwards, uint64_t memory_bytes)
{
    enum { RECORDS = 60000 };
    static GuideRecord records[RECORDS];
    GuideField *field = make_field(scale, memory_bytes);
    uint64_t state = 5;
    for (uint32_t pass = 0; pass < passes; ++pass) {
        for (uint32_t i = 0; i < RECORDS; ++i)
            records[i] = draw_record(scale, &state);
        for (uint32_t i = 0; i < RECORDS; ++i)
            guide_field_record(field, &records[backwards ? RECORDS - 1 - i : i]);
        field = next_field(field);
    }
    return field;
}

static void test_square_and_sphere_are_inverse(void **unused)
{
    (void)unused;
    uint64_t state = 1;
    double area = 0.0;
    enum { POINTS = 200000 };
    for (uint32_t i = 0; i < POINTS; ++i) {
        float2 p = f2(number(&state), number(&state));
        float3 d = direction_of_square(p);
        float2 q = square_of_direction(d);
        assert_true(fabsf(f3_length(d) - 1.0f) < 1e-6f);
        assert_true(fabsf(p.x - q.x) < 1e-6f && fabsf(p.y - q.y) < 1e-6f);
        area += 1.0 / (double)square_density(d);
    }
    /* The mean of solid angle over area is the sphere's. */
    assert_true(fabs(area / POINTS - 12.566370614) < 0.05);
}

/* Returns a number in part k of [0, 1). */
static float stratum(uint32_t k, uint32_t count, uint64_t *state)
{
    return minf(((float)k + number(state)) / (float)count, 0x1.fffffep-1f);
}

enum { SIDE = 8, CELLS = SIDE * SIDE * SIDE };

static uint32_t cell_of(float3 wi)
{
    uint32_t x = (uint32_t)((wi.x * 0.499999f + 0.5f) * SIDE),
             y = (uint32_t)((wi.y * 0.499999f + 0.5f) * SIDE),
             z = (uint32_t)((wi.z * 0.499999f + 0.5f) * SIDE);
    return x + SIDE * (y + SIDE * z);
}

/* Counts samples by 8 x 8 x 8 cells of directions, against the density summed over the same cells. It is summed over even
 * directions and over as many in a cone around `axis`, where light comes from. */
static void check_density(const GuideField *field, float3 p, float3 axis)
{
    enum { ROWS = 632, SAMPLES = ROWS * ROWS };
    static double drawn[CELLS], expected[CELLS], squares[CELLS];
    const float cone = 0.05f; /* 1 - cos */
    uint32_t region = guide_field_region(field, p, f3(0, 1, 0));
    uint64_t state = 77;
    double whole = 0.0;
    float3 x, y;
    f3_frame(axis, &x, &y);
    memset(drawn, 0, sizeof drawn);
    memset(expected, 0, sizeof expected);
    memset(squares, 0, sizeof squares);
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float2 u = f2(stratum(i % ROWS, ROWS, &state), stratum(i / ROWS, ROWS, &state));
        float3 wi = draw(field, region, p, u);
        assert_true(density_of(field, region, p, wi) > 0.0f);
        drawn[cell_of(wi)] += 1.0;
        const float3 both[2] = {warp_sphere(u), warp_to_frame(warp_cone(u, cone), x, y, axis)};
        for (uint32_t k = 0; k < 2; ++k) {
            bool is_inside = f3_dot(both[k], axis) > 1.0f - cone;
            float pdf = SORT_INV_4PI + (is_inside ? warp_cone_pdf(cone) : 0.0f);
            double weight = (double)(density_of(field, region, p, both[k]) / pdf);
            expected[cell_of(both[k])] += weight;
            squares[cell_of(both[k])] += weight * weight;
        }
    }
    for (uint32_t c = 0; c < CELLS; ++c) {
        whole += expected[c];
        if (fabs(drawn[c] - expected[c]) > 5.0 * sqrt(drawn[c] + squares[c] + 1.0))
            fail_msg("cell %u: %g samples, %g expected", c, drawn[c], expected[c]);
    }
    /* Directions are stratified: by four seeds the sum was off by at most 0.0009. */
    assert_true(fabs(whole / SAMPLES - 1.0) < 0.004);
}

static void test_samples_have_their_density(void **unused)
{
    (void)unused;
    GuideField *field = teach(1.0f, 3, false, 8 << 20);
    check_density(field, f3(-0.5f, 0.2f, 0.3f), f3(1, 0, 0));
    check_density(field, f3(0.5f, -0.9f, 0.3f), f3(0, 0, -1));
    guide_field_destroy(field);
}

static void check_learned(float scale)
{
    GuideField *field = teach(scale, 6, false, 8 << 20);
    uint64_t state = 3;
    uint32_t hits[2] = {0, 0};
    enum { SAMPLES = 10000 };
    assert_true(guide_field_stats(field).regions > 2);
    for (uint32_t side = 0; side < 2; ++side) {
        float3 p = f3_scale(f3(side ? 0.6f : -0.6f, 0.1f, -0.4f), scale);
        uint32_t region = guide_field_region(field, p, f3(0, 1, 0));
        assert_true(guide_field_chance(field, region, true) > 0.0f);
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            float2 u = f2(number(&state), number(&state));
            hits[side] += light_at(p, draw(field, region, p, u)) > 1.0f;
        }
    }
    /* The cone has 1 % of all directions and 5.02 / (5.02 + 0.02 * 99) = 72 % of the light; blurring costs some. */
    assert_true(hits[0] > 0.3 * SAMPLES && hits[0] < 0.8 * SAMPLES);
    assert_true(hits[1] > 0.3 * SAMPLES && hits[1] < 0.8 * SAMPLES);
    guide_field_destroy(field);
}

static void test_it_learns_where_light_comes_from(void **unused)
{
    (void)unused;
    check_learned(1.0f);
    check_learned(1000.0f);
}

static void test_order_does_not_matter(void **unused)
{
    (void)unused;
    GuideField *a = teach(1.0f, 3, false, 8 << 20), *b = teach(1.0f, 3, true, 8 << 20);
    uint64_t state = 9;
    for (uint32_t i = 0; i < 20000; ++i) {
        GuideRecord r = draw_record(1.0f, &state);
        uint32_t region = guide_field_region(a, r.position, r.normal);
        assert_int_equal(region, guide_field_region(b, r.position, r.normal));
        float da = density_of(a, region, r.position, r.direction),
              db = density_of(b, region, r.position, r.direction);
        assert_memory_equal(&da, &db, sizeof da);
    }
    guide_field_destroy(a);
    guide_field_destroy(b);
}

/* What comes out for a point does not depend on the others of its block, and lanes that are not asked for keep what they had. */
static void test_lanes_are_apart(void **unused)
{
    (void)unused;
    GuideField *field = teach(1.0f, 4, false, 8 << 20);
    uint64_t state = 21;
    for (uint32_t i = 0; i < 500; ++i) {
        uint32_t region[SSL_BLOCK];
        alignas(64) WideRow at[3], u[2], wi[3], together;
        uint16_t lanes = (uint16_t)(number(&state) * 0x1p16f);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            float3 p = draw_record(1.0f, &state).position;
            region[k] = guide_field_region(field, p, f3(0, 1, 0));
            wide_set3(at, k, p);
            wide_set3(wi, k, f3(7, 7, 7));
            u[0][k] = number(&state), u[1][k] = number(&state);
            together[k] = -1.0f;
        }
        guide_field_draw(field, region, at, u, lanes, wi);
        guide_field_densities(field, region, at, wi, lanes, together);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            bool is_live = lanes >> k & 1;
            float3 alone = draw(field, region[k], wide_get3(at, k), f2(u[0][k], u[1][k]));
            float3 here = is_live ? alone : f3(7, 7, 7), got = wide_get3(wi, k);
            float density = is_live ? density_of(field, region[k], wide_get3(at, k), alone) : -1.0f;
            assert_memory_equal(&got, &here, sizeof got);
            assert_memory_equal(&together[k], &density, sizeof density);
        }
    }
    guide_field_destroy(field);
}

/* A small lamp at (0, 1.5, 0), as far above the plane y = 0 as the plane's square is wide. */
static const float lamp_radius = 0.15f, lamp_height = 1.5f;

static bool meets_lamp(float3 p, float3 wi)
{
    float3 to = f3_sub(f3(0.0f, lamp_height, 0.0f), p);
    float along = f3_dot(to, wi);
    return along > 0.0f && f3_length2(to) - along * along < lamp_radius * lamp_radius;
}

static GuideField *teach_lamp(bool has_distance)
{
    GuideField *field = make_field(1.0f, 8 << 20);
    uint64_t state = 6;
    for (uint32_t pass = 0; pass < 4; ++pass) {
        for (uint32_t i = 0; i < 40000; ++i) {
            GuideRecord r = draw_record(0.75f, &state);
            r.position.y = 0.0f;
            bool is_lit = meets_lamp(r.position, r.direction);
            r.distance_m = has_distance ? 1.6f : INFINITY;
            r.radiance = r.estimate = is_lit ? 5.0f : 0.0f;
            guide_field_record(field, &r);
        }
        field = next_field(field);
    }
    return field;
}

/* Returns the part of directions, drawn at many places, that meet the lamp. */
static double part_that_meets(const GuideField *field)
{
    enum { SAMPLES = 40000 };
    uint64_t state = 8;
    uint32_t met = 0;
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float3 p = f3(1.4f * number(&state) - 0.7f, 0.0f, 1.4f * number(&state) - 0.7f);
        uint32_t region = guide_field_region(field, p, f3(0, 1, 0));
        float2 u = f2(number(&state), number(&state));
        met += meets_lamp(p, draw(field, region, p, u));
    }
    return (double)met / SAMPLES;
}

/* A thing nearby is in another direction from each place of a region. Where its distance is known, more directions meet it. */
static void test_near_things_are_met_from_all_places(void **unused)
{
    (void)unused;
    GuideField *near = teach_lamp(true), *far = teach_lamp(false);
    assert_true(part_that_meets(near) > 3.0 * part_that_meets(far));
    const float3 places[] = {f3(0.3f, 0.0f, -0.4f), f3(-0.6f, 0.0f, 0.1f)};
    for (uint32_t k = 0; k < 2; ++k)
        check_density(near, places[k],
                      f3_normalize(f3_sub(f3(0.0f, lamp_height, 0.0f), places[k])));
    guide_field_destroy(near);
    guide_field_destroy(far);
}

static void test_memory_has_a_limit(void **unused)
{
    (void)unused;
    const uint64_t limit = 1 << 20;
    GuideField *field = make_field(1.0f, limit);
    uint64_t state = 4;
    for (uint32_t pass = 0; pass < 4; ++pass) {
        for (uint32_t i = 0; i < 400000; ++i) {
            GuideRecord r = draw_record(1.0f, &state);
            r.radiance = 1.0f; /* even light leaves room for many regions */
            guide_field_record(field, &r);
        }
        field = next_field(field);
        assert_true(guide_field_stats(field).bytes <= limit);
    }
    assert_true(guide_field_stats(field).is_full);
    check_density(field, f3(0.9f, 0.9f, 0.9f), f3(1, 0, 0));
    guide_field_destroy(field);
}

/* Returns what a field that knows where light comes from leaves of the second moment, in a scene of this brightness. */
static double moment_left(float brightness)
{
    GuideField *field = make_bright_field(1.0f, 0.37f * brightness, 1 << 20);
    uint64_t state = 6;
    for (uint32_t i = 0; i < 10000; ++i) {
        GuideRecord r = draw_record(1.0f, &state);
        r.share = 1.0f;
        r.guide_pdf = r.radiance > 1.0f ? 6.0f : 0.02f;
        r.radiance *= brightness;
        r.estimate *= brightness;
        guide_field_record(field, &r);
    }
    field = next_field(field);
    GuideStats stats = guide_field_stats(field);
    guide_field_destroy(field);
    return stats.guided / stats.unguided;
}

static void test_gain_does_not_depend_on_brightness(void **unused)
{
    (void)unused;
    const double left = moment_left(1.0f);
    assert_true(left > 0.01 && left < 0.5);
    for (int exponent = -60; exponent <= 60; exponent += 12)
        assert_true(fabs(moment_left(ldexpf(1.0f, exponent)) - left) < 1e-9);
}

static void test_bad_records_are_left_out(void **unused)
{
    (void)unused;
    GuideField *field = make_field(1.0f, 1 << 20);
    const GuideRecord good = {
        .direction = {0, 0, 1}, .radiance = 1, .estimate = 1, .pdf = 1, .bsdf_pdf = 1};
    GuideRecord bad[5] = {good, good, good, good, good};
    bad[0].pdf = 0.0f;
    bad[1].radiance = NAN;
    bad[2].radiance = INFINITY;
    bad[3].estimate = INFINITY;
    bad[4].bsdf_pdf = 0.0f;
    for (uint32_t i = 0; i < 5; ++i)
        guide_field_record(field, &bad[i]);
    field = next_field(field);
    assert_int_equal(guide_field_stats(field).records, 0);
    guide_field_record(field, &good);
    field = next_field(field);
    assert_int_equal(guide_field_stats(field).records, 1);
    guide_field_destroy(field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square_and_sphere_are_inverse),
        cmocka_unit_test(test_samples_have_their_density),
        cmocka_unit_test(test_it_learns_where_light_comes_from),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_lanes_are_apart),
        cmocka_unit_test(test_near_things_are_met_from_all_places),
        cmocka_unit_test(test_memory_has_a_limit),
        cmocka_unit_test(test_gain_does_not_depend_on_brightness),
        cmocka_unit_test(test_bad_records_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
