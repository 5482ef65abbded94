/* Closed forms of lamps that reach below the horizon, and of disks that face each other. */
#include "sort/light/light_shape.h"
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

/* Irradiance of a rectangle of radiance 2 in the plane y = height, by Gauss-Legendre points: 4 x 4 on each of 200 x 200 parts. What is
 * below the horizon of the surface at the origin does not count; `sides` may count both. */
static double rectangle_irradiance(double x0, double z0, double size, double height, float3 n,
                                   uint32_t sides)
{
    enum { PARTS = 200 };
    static const double at[] = {0.0694318442, 0.3300094782, 0.6699905218, 0.9305681558};
    static const double weights[] = {0.1739274226, 0.3260725774, 0.3260725774, 0.1739274226};
    double sum = 0.0, step = size / PARTS;
    for (int i = 0; i < 4 * PARTS; ++i)
        for (int k = 0; k < 4 * PARTS; ++k) {
            double x = x0 + step * ((double)(i / 4) + at[i % 4]);
            double z = z0 + step * ((double)(k / 4) + at[k % 4]);
            double r2 = x * x + height * height + z * z;
            double cosine = (x * (double)n.x + height * (double)n.y + z * (double)n.z) / sqrt(r2);
            cosine = sides & SKY_BELOW ? fabs(cosine) : fmax(cosine, 0.0);
            sum += weights[i % 4] * weights[k % 4] * cosine * height / (r2 * sqrt(r2));
        }
    return 2.0 * step * step * sum;
}

/* A rectangle of one metre that the horizon of tilted surfaces cuts, at scales from 1e-6 to 1e6: means stay, and near surfaces that
 * face it askew need far fewer samples than evenly over the solid angle. */
static void test_light_rectangle_cut_by_the_horizon(void **state)
{
    (void)state;
    enum { SAMPLES = 100000 };
    const float scales[] = {1e-6f, 1e-3f, 1.0f, 1e3f, 1e6f};
    const struct {
        float3 n;
        float height;
        uint32_t sides;
        double gain; /* the least that counts in the variance */
    } cases[] = {{{0, 1, 0}, 0.5f, SKY_ABOVE, 1.0},
                 {{1, 0, 0}, 0.5f, SKY_ABOVE, 2.0},
                 {{0.8f, -0.6f, 0}, 1.0f, SKY_ABOVE, 1.5},
                 {{0.6f, 0, 0.8f}, 0.3f, SKY_ABOVE | SKY_BELOW, 1.0}};
    const Sampler independent = {SAMPLER_INDEPENDENT};
    for (uint32_t c = 0; c < SORT_COUNT_OF(cases); ++c) {
        double expected = rectangle_irradiance(-0.3, -0.4, 1.0, (double)cases[c].height, cases[c].n,
                                               cases[c].sides);
        for (uint32_t k = 0; k < SORT_COUNT_OF(scales); ++k) {
            float s = scales[k];
            SceneLight light = {.kind = SCENE_LIGHT_RECTANGLE,
                                .light_to_world = {{{1, 0, 0, 0.2f * s},
                                                    {0, 0, 1, cases[c].height * s},
                                                    {0, -1, 0, 0.1f * s},
                                                    {0, 0, 0, 1}}},
                                .size_x_m = s,
                                .size_y_m = s};
            LightShape shape;
            light_shape_init(&light, &shape);
            ZTest by_cosine = {0}, even = {0};
            for (uint32_t i = 0; i < SAMPLES; ++i) {
                float2 u = sampler_2d(&independent, sample_key(c, k, i, 21), 1);
                for (int is_even = 0; is_even < 2; ++is_even) {
                    const LightQuery from = light_query(f3(0, 0, 0), cases[c].n,
                                                        is_even ? SKY_ALL_AROUND : cases[c].sides);
                    float3 wi;
                    float distance, pdf;
                    assert_true(light_shape_sample(&shape, &from, u, &wi, &distance, &pdf));
                    float same = light_shape_pdf(&shape, &from, wi, distance);
                    assert_true(fabsf(same - pdf) <= 2e-4f * pdf);
                    float cosine = f3_dot(wi, cases[c].n);
                    cosine = cases[c].sides & SKY_BELOW ? fabsf(cosine) : fmaxf(cosine, 0.0f);
                    ztest_add(is_even ? &even : &by_cosine, 2.0 * (double)(cosine / pdf));
                }
            }
            if (ztest_p_value(&by_cosine, expected, 1e-5 * expected) < KIT_SIGNIFICANCE ||
                ztest_p_value(&even, expected, 1e-5 * expected) < KIT_SIGNIFICANCE)
                fail_msg("case %u, scale %g: %.9g by cosine, %.9g evenly, expected %.9g", c,
                         (double)s, by_cosine.mean, even.mean, expected);
            double ratio = ztest_standard_error(&even) / ztest_standard_error(&by_cosine);
            if (ratio * ratio < cases[c].gain)
                fail_msg("case %u: %g of the variance", c, 1.0 / (ratio * ratio));
        }
    }
}

/* The square of one metre as two triangles that shine, in an instance at any scale: their means, the density with which rays that
 * meet them are weighed, and what the cosine gains. */
static void test_light_triangles_cut_by_the_horizon(void **state)
{
    (void)state;
    enum { SAMPLES = 100000 };
    const float scales[] = {1e-6f, 1.0f, 1e6f};
    const struct {
        float3 n;
        float height;
        double gain; /* the least that counts in the variance, with the choice between both */
    } cases[] = {{{0, 1, 0}, 0.5f, 1.0}, {{1, 0, 0}, 0.5f, 1.5}, {{0.8f, -0.6f, 0}, 1.0f, 1.2}};
    const Sampler independent = {SAMPLER_INDEPENDENT};
    const float corners[] = {-0.3f, 0, -0.4f, 0.7f, 0, -0.4f, 0.7f, 0, 0.6f, -0.3f, 0, 0.6f};
    const uint32_t indices[] = {0, 1, 2, 0, 2, 3};
    const float emission = 2.0f;
    for (uint32_t k = 0; k < SORT_COUNT_OF(scales) * SORT_COUNT_OF(cases); ++k) {
        uint32_t c = k % SORT_COUNT_OF(cases);
        float s = scales[k / SORT_COUNT_OF(cases)];
        double expected =
            rectangle_irradiance(-0.3, -0.4, 1.0, (double)cases[c].height, cases[c].n, SKY_ABOVE);
        SceneFixture *f = fixture_create();
        mat4 m = mat4_mul(mat4_translate(f3(0, cases[c].height * s, 0)), mat4_scale(f3(s, s, s)));
        fixture_instance(f, fixture_mesh(f, corners, 4, indices, 2), fixture_material(f, "m"), m);
        LightsDesc desc = {
            .size_bytes = sizeof desc, .scene = &f->scene, .material_emission = &emission};
        Lights *lights;
        assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
        ZTest by_cosine = {0}, even = {0};
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            float2 u = sampler_2d(&independent, sample_key(c, k, i, 22), 1);
            for (int is_even = 0; is_even < 2; ++is_even) {
                const LightQuery from = light_query(f3(0, 0, 0), is_even ? f3(0, 0, 0) : cases[c].n,
                                                    is_even ? SKY_ALL_AROUND : SKY_ABOVE);
                LightSample l;
                assert_true(lights_sample(lights, from.position, from.normal, 0.5f, u, &l));
                float same = lights_mesh_pdf(
                    lights, &from, 0.5f,
                    &(MeshLightHit){l.instance, l.triangle, l.b1, l.b2, l.wi, l.distance_m});
                assert_true(fabsf(same - l.pdf_solid_angle) <= 1e-3f * same);
                double cosine = fmax((double)f3_dot(l.wi, cases[c].n), 0.0);
                ztest_add(is_even ? &even : &by_cosine, 2.0 * cosine / (double)l.pdf_solid_angle);
            }
        }
        if (ztest_p_value(&by_cosine, expected, 2e-5 * expected) < KIT_SIGNIFICANCE ||
            ztest_p_value(&even, expected, 2e-5 * expected) < KIT_SIGNIFICANCE)
            fail_msg("case %u, scale %g: %.9g by cosine, %.9g evenly, expected %.9g", c, (double)s,
                     by_cosine.mean, even.mean, expected);
        double ratio = ztest_standard_error(&even) / ztest_standard_error(&by_cosine);
        if (ratio * ratio < cases[c].gain)
            fail_msg("case %u: %g of the variance", c, 1.0 / (ratio * ratio));
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_sphere_on_the_horizon),
        cmocka_unit_test(test_light_coaxial_disks),
        cmocka_unit_test(test_light_rectangle_cut_by_the_horizon),
        cmocka_unit_test(test_light_triangles_cut_by_the_horizon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
