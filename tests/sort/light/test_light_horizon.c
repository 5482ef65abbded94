/* Closed forms of lamps that reach below the horizon, and of disks that face each other. */
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/light/light_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* E / (pi L) of a sphere at `h` radii, whose centre is at `angle` from the normal and which the horizon cuts
 * [Snyder1996]. */
static double cut_sphere(double angle, double h)
{
    double x = sqrt(h * h - 1.0), y = -x / tan(angle), s = sin(angle) * sqrt(1.0 - y * y);
    return (cos(angle) * acos(y) - x * s) / (PI * h * h) + atan(s / x) / PI;
}

static void test_light_sphere_on_the_horizon(void **state)
{
    (void)state;
    const struct {
        double angle_deg, distances; /* from the normal; in radii */
    } cases[] = {{80, 2}, {90, 1.5}, {100, 1.2}, {60, 1.3}, {90, 20}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double angle = cases[i].angle_deg * PI / 180.0;
        float d = 0.5f * (float)cases[i].distances;
        SceneFixture *f = fixture_create();
        float3 place = f3(d * (float)sin(angle), d * (float)cos(angle), 0);
        Lights *lights = kit_one_light(f, (SceneLight){.kind = SCENE_LIGHT_SPHERE,
                                                       .light_to_world = mat4_translate(place),
                                                       .radius_m = 0.5f});
        kit_check_irradiance(lights, f3(0, 0, 0), f3(0, 1, 0),
                             2.0 * PI * cut_sphere(angle, cases[i].distances));
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* What disk 2 receives of coaxial disk 1 is pi L F21, F21 = F12 (r1 / r2)^2; with X = 1 + (h^2 + r2^2) / r1^2,
 * F12 = (X - sqrt(X^2 - 4 (r2 / r1)^2)) / 2. */
static void test_light_coaxial_disks(void **state)
{
    (void)state;
    enum { SAMPLES = 400000 };
    const double rows[][3] = {{1, 1, 1}, {0.5, 2, 0.7}, {2, 0.5, 0.3}}; /* r1, r2, h */
    const Sampler independent = {SAMPLER_INDEPENDENT};
    for (uint32_t row = 0; row < SORT_COUNT_OF(rows); ++row) {
        double r1 = rows[row][0], r2 = rows[row][1], h = rows[row][2];
        double x = 1 + (h * h + r2 * r2) / (r1 * r1), ratio = r2 / r1;
        double f12 = 0.5 * (x - sqrt(x * x - 4 * ratio * ratio));
        SceneFixture *f = fixture_create();
        Lights *lights = kit_one_light(
            f, (SceneLight){.kind = SCENE_LIGHT_DISK,
                            .light_to_world = fixture_shine(f3(0, (float)h, 0), f3(0, -1, 0)),
                            .size_x_m = 2 * (float)r1,
                            .size_y_m = 2 * (float)r1});
        ZTest z = {0};
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            SampleKey key = sample_key(7, 8, i, row);
            float2 at = warp_disk(sampler_2d(&independent, key, 2));
            float3 P = f3((float)r2 * at.x, 0, (float)r2 * at.y);
            LightSample s;
            double value = 0.0;
            if (lights_sample(lights, P, f3(0, 1, 0), 0.5f, sampler_2d(&independent, key, 1), &s))
                value =
                    (double)s.radiance.c[0] * fmax(0.0, (double)s.wi.y) / (double)s.pdf_solid_angle;
            ztest_add(&z, value / (2.0 * PI));
        }
        double expected = f12 / (ratio * ratio);
        if (ztest_p_value(&z, expected, 2e-5 * expected) < KIT_SIGNIFICANCE)
            fail_msg("disks %u: %.7g +- %.3g, expected %.7g", row, z.mean, ztest_standard_error(&z),
                     expected);
        assert_true(ztest_standard_error(&z) < 0.01 * expected);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_sphere_on_the_horizon),
        cmocka_unit_test(test_light_coaxial_disks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
