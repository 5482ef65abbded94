/* Area lights that shine into a cone, and ellipses: power, irradiance by closed forms, densities. */
#include "base/stat/chi2.h"
#include "sort/light/light_shape.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/light/light_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const float spreads_rad[] = {0.0002f, 0.02f, 0.3f, 1.0f, 2.0f, 3.0f};

/* The integral of the profile times cosine over directions within the angle a, for a spread of half angle b:
 * 2 pi [sin^2 a / 2 - cot b (a / 2 - sin 2a / 4)] / (1 - b cot b). */
static double beam_integral(double a, double b)
{
    double cot = cos(b) / sin(b);
    a = fmin(a, b);
    return 2.0 * PI * (0.5 * sin(a) * sin(a) - cot * (0.5 * a - 0.25 * sin(2.0 * a))) /
           (1.0 - b * cot);
}

static SceneLight panel(SceneLightKind kind, float spread_rad, float size_x, float size_y)
{
    return (SceneLight){.kind = kind,
                        .light_to_world = fixture_shine(f3(1, 2, -3), f3(0, -1, 0)),
                        .size_x_m = size_x,
                        .size_y_m = size_y,
                        .spread_rad = spread_rad};
}

/* The radiance times the cosine, over the half space, is pi whatever the spread: the light keeps its power. */
static void test_light_spread_keeps_power(void **state)
{
    (void)state;
    enum { STEPS = 20000 };
    for (uint32_t k = 0; k < SORT_COUNT_OF(spreads_rad); ++k) {
        SceneLight light = panel(SCENE_LIGHT_RECTANGLE, spreads_rad[k], 1, 1);
        LightShape shape;
        float3 up = f3_normalize(f3(1, 2, -3)), side,
               other; /* no coordinate of a direction is exact */
        f3_frame(up, &side, &other);
        light.light_to_world = fixture_shine(f3(1, 2, -3), f3_scale(up, -1));
        light_shape_init(&light, &shape);
        double sum = 0.0, end = 0.5 * (double)spreads_rad[k];
        for (int i = 0; i < STEPS; ++i) {
            double a = end * ((double)i + 0.5) / (double)STEPS;
            float3 wi = f3_madd(f3_scale(side, (float)sin(a)), (float)cos(a), up);
            sum += (double)light_shape_beam(&shape, wi) * cos(a) * sin(a) * end / (double)STEPS;
        }
        assert_true(fabs(2.0 * sum - 1.0) < 2e-3);
        assert_true(fabs(beam_integral(PI / 2, end) / PI - 1.0) < 1e-6);
        /* Dark beyond the cone. */
        float beyond = 0.5f * spreads_rad[k] + 1e-3f;
        assert_true(light_shape_beam(
                        &shape, f3_madd(f3_scale(side, sinf(beyond)), cosf(beyond), up)) == 0.0f);
        assert_true(fabsf(light_shape_cos_spread(&shape) - cosf((float)end)) < 1e-6f);
    }
}

/* Under the middle of a disk of radius R at the height h, all directions within atan(R/h) come from it. */
static void test_light_spread_disk_on_axis(void **state)
{
    (void)state;
    const float heights[] = {0.1f, 1.0f, 20.0f};
    for (uint32_t k = 0; k < SORT_COUNT_OF(spreads_rad); ++k) {
        for (uint32_t i = 0; i < SORT_COUNT_OF(heights); ++i) {
            SceneFixture *f = fixture_create();
            Lights *lights = kit_one_light(f, panel(SCENE_LIGHT_DISK, spreads_rad[k], 1.4f, 1.4f));
            double e = beam_integral(atan(0.7 / (double)heights[i]), 0.5 * (double)spreads_rad[k]);
            kit_check_irradiance(lights, f3(1, 2 - heights[i], -3), f3(0, 1, 0), 2.0 * e);
            lights_destroy(lights);
            fixture_destroy(f);
        }
    }
}

/* All that reaches a point under the middle of a rectangle larger than its cone: pi L; half of it under the middle
 * of a side, a quarter under a corner, nothing beside the light. */
static void test_light_spread_rectangle(void **state)
{
    (void)state;
    const struct {
        float x, z;
        double part;
    } cases[] = {{0, 0, 1}, {0.4f, -0.3f, 1}, {1, 0, 0.5}, {-1, 1.5f, 0.25}};
    for (uint32_t k = 0; k < 3; ++k) {
        SceneFixture *f = fixture_create();
        SceneLight light = panel(SCENE_LIGHT_RECTANGLE, spreads_rad[k], 2, 3);
        mat4 m = {{{1, 0, 0, 1}, {0, 0, 1, 2}, {0, -1, 0, -3}, {0, 0, 0, 1}}};
        light.light_to_world = m;
        Lights *lights = kit_one_light(f, light);
        for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
            kit_check_irradiance(lights, f3(1 + cases[i].x, 1.5f, -3 + cases[i].z), f3(0, 1, 0),
                                 2.0 * PI * cases[i].part);
        LightSample s;
        assert_false(
            lights_sample(lights, f3(2.5f, 1.5f, -3), f3(0, 1, 0), 0.5f, f2(0.3f, 0.6f), &s));
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* A point under the middle of an ellipse with half axes a and b: pi L a b / sqrt((h^2 + a^2)(h^2 + b^2)). */
static void test_light_ellipse_on_axis(void **state)
{
    (void)state;
    const float heights[] = {0.2f, 1.0f, 50.0f};
    for (uint32_t i = 0; i < SORT_COUNT_OF(heights); ++i) {
        SceneFixture *f = fixture_create();
        Lights *lights = kit_one_light(f, panel(SCENE_LIGHT_DISK, 0, 3.0f, 0.8f));
        double h2 = (double)heights[i] * (double)heights[i];
        kit_check_irradiance(lights, f3(1, 2 - heights[i], -3), f3(0, 1, 0),
                             2.0 * PI * 1.5 * 0.4 / sqrt((h2 + 2.25) * (h2 + 0.16)));
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

static void check_strategies(SceneLight light)
{
    LightShape shape;
    light_shape_init(&light, &shape);
    kit_check_strategies(light, f3(1.2f, 1, -3.1f), 1.0f - light_shape_cos_spread(&shape), 0.0f);
}

static void test_light_spread_strategies_agree(void **state)
{
    (void)state;
    for (uint32_t k = 1; k < SORT_COUNT_OF(spreads_rad); ++k) {
        check_strategies(panel(SCENE_LIGHT_RECTANGLE, spreads_rad[k], 1, 0.6f));
        check_strategies(panel(SCENE_LIGHT_DISK, spreads_rad[k], 1, 0.6f));
    }
    SceneLight both = panel(SCENE_LIGHT_DISK, 0.8f, 2, 0.6f);
    both.light_to_world = fixture_shine(f3(1, 2, -3), f3(0, 1, 0));
    both.is_two_sided = true;
    check_strategies(both);
}

/* The points that are sampled on a light of which a cone cuts a piece: evenly by area on a disk. */
static void test_light_spread_disk_density(void **state)
{
    (void)state;
    enum { CELLS = 16, SAMPLES = 200000 };
    SceneLight light = panel(SCENE_LIGHT_DISK, 0.5f, 4, 3);
    LightShape shape;
    light_shape_init(&light, &shape);
    const LightQuery from = {.position = f3(1.3f, 1.0f, -3.2f)};
    const double reach = tan(0.25);
    uint64_t observed[CELLS * CELLS] = {0};
    double expected[CELLS * CELLS];
    for (int i = 0; i < CELLS * CELLS; ++i)
        expected[i] = (double)SAMPLES / (CELLS * CELLS);
    const Sampler independent = {SAMPLER_INDEPENDENT};
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float3 wi;
        float distance, pdf;
        float2 u = sampler_2d(&independent, sample_key(0, 0, i, 19), SAMPLE_PIXEL);
        assert_true(light_shape_sample(&shape, &from, u, &wi, &distance, &pdf));
        float same = light_shape_pdf(&shape, &from, wi, distance);
        /* At the rim rounding may put it outside. */
        double x = (double)(wi.x * distance), y = (double)(wi.z * distance);
        double r2 = (x * x + y * y) / (reach * reach), b = atan2(y, x) / (2.0 * PI) + 0.5;
        assert_true(fabsf(same - pdf) <= 1e-4f * pdf || r2 > 0.9999);
        assert_true(r2 < 1.0001);
        int cx = (int)fmin(r2 * (double)CELLS, (double)CELLS - 1);
        int cy = (int)fmin(b * (double)CELLS, (double)CELLS - 1);
        ++observed[cy * CELLS + cx];
    }
    assert_true(chi2_test(observed, expected, CELLS * CELLS).p_value > KIT_SIGNIFICANCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_spread_keeps_power),
        cmocka_unit_test(test_light_spread_disk_on_axis),
        cmocka_unit_test(test_light_spread_rectangle),
        cmocka_unit_test(test_light_ellipse_on_axis),
        cmocka_unit_test(test_light_spread_strategies_agree),
        cmocka_unit_test(test_light_spread_disk_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
