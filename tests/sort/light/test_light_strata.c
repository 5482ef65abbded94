/* Choosing does not spoil stratification: of lights and of lobes. And the solid angle of rectangles, against its formula
 * in long double. */
#include "sort/light/rectangle_light.h"
#include "sort/light/spherical_rectangle_rows.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/bsdf/one_point.h"
#include "tests/sort/light/light_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PAIRS = 64, TRIALS = 400 };

/* --- rectangles ----------------------------------------------------------------------------- */

/* The solid angle of [0, x] x [0, y] [Urena2013 section 3, for one corner]. */
static long double corner_angle(double x, double y, double depth)
{
    long double lx = (long double)x, ly = (long double)y, z = (long double)depth;
    return atan2l(lx * ly, z * sqrtl(lx * lx + ly * ly + z * z));
}

static long double solid_angle(double x0, double x1, double y0, double y1, double depth)
{
    return corner_angle(x1, y1, depth) - corner_angle(x1, y0, depth) - corner_angle(x0, y1, depth) +
           corner_angle(x0, y0, depth);
}

static double sine(double y, double x, double depth)
{
    return y / sqrt(x * x + y * y + depth * depth);
}

static void test_light_spherical_rectangle_is_even(void **state)
{
    (void)state;
    const Sampler independent = {SAMPLER_INDEPENDENT};
    uint32_t inside = 0;
    for (uint32_t i = 0; i < 100000; ++i) {
        SampleKey key = sample_key(2, 1, i, 9);
        float2 at = sampler_2d(&independent, key, 0), size = sampler_2d(&independent, key, 1);
        float2 u = sampler_2d(&independent, key, 2);
        double depth = exp(-12.0 * (double)sampler_1d(&independent, key, 3));
        double x0 = 4.0 * (double)at.x - 3.0, y0 = 4.0 * (double)at.y - 3.0;
        double x1 = x0 + exp(10.0 * (double)size.x - 7.0),
               y1 = y0 + exp(10.0 * (double)size.y - 7.0);
        double expected = (double)solid_angle(x0, x1, y0, y1, depth);
        SphericalRectangle r = spherical_rectangle(x0, x1, y0, y1, depth);
        inside += expected > PI;
        assert_true(fabs(r.solid_angle - expected) <= 1e-9 * expected + 1e-13);
        if (!(expected > 1e-5))
            continue;
        double x, y;
        spherical_rectangle_point(&r, (double)u.x, (double)u.y, &x, &y);
        double west = (double)solid_angle(x0, x, y0, y1, depth) / expected;
        double south =
            (sine(y, x, depth) - sine(y0, x, depth)) / (sine(y1, x, depth) - sine(y0, x, depth));
        assert_true(fabs(west - (double)u.x) < 1e-4 && fabs(south - (double)u.y) < 1e-4);
        double found_u, found_v;
        spherical_rectangle_find(&r, x, y, &found_u, &found_v);
        assert_true(fabs(found_u - west) < 1e-5 && fabs(found_v - south) < 1e-5);
    }
    assert_true(inside > 1000); /* where the angle passes pi */
}

/* Each class of CPUs that this machine runs, and any number of rectangles at once, gives the bits of one rectangle. */
static void test_light_spherical_rectangles_have_the_bits_of_one(void **state)
{
    (void)state;
    const Sampler independent = {SAMPLER_INDEPENDENT};
    void (*const codes[WIDE_CLASSES])(SphericalRectangles *rows, uint32_t count) = {
        spherical_rectangle_rows, spherical_rectangle_rows_v3, spherical_rectangle_rows_v4};
    for (uint32_t i = 0; i < 2000; ++i) {
        SphericalRectangles rows;
        uint32_t count = 1 + i % SSL_BLOCK;
        for (uint32_t k = 0; k < count; ++k) {
            SampleKey key = sample_key(k, 1, i, 9);
            float2 at = sampler_2d(&independent, key, 0), size = sampler_2d(&independent, key, 1);
            float2 u = sampler_2d(&independent, key, 2);
            rows.x0[k] = 4.0 * (double)at.x - 3.0, rows.y0[k] = 4.0 * (double)at.y - 3.0;
            rows.x1[k] = rows.x0[k] + exp(10.0 * (double)size.x - 7.0);
            rows.y1[k] = rows.y0[k] + exp(10.0 * (double)size.y - 7.0);
            rows.depth[k] = i % 97 ? exp(-12.0 * (double)sampler_1d(&independent, key, 3)) : 0.0;
            rows.u[k] = (double)u.x, rows.v[k] = (double)u.y;
            float3 n = warp_sphere(sampler_2d(&independent, key, 4));
            rows.normal[0][k] = (double)n.x, rows.normal[1][k] = (double)n.y;
            rows.normal[2][k] = (double)n.z;
            rows.above[k] = i % 2 ? 1.0 : 0.0, rows.below[k] = i % 3 ? 1.0 : 0.0;
        }
        for (uint32_t c = 0; c <= wide_class_here(); ++c) {
            codes[c](&rows, count);
            for (uint32_t k = 0; k < count; ++k) {
                double x, y;
                SphericalRectangle r = spherical_rectangle(rows.x0[k], rows.x1[k], rows.y0[k],
                                                           rows.y1[k], rows.depth[k]);
                const RectangleSurface surface = {rows.normal[0][k], rows.normal[1][k],
                                                  rows.normal[2][k], rows.above[k], rows.below[k]};
                Bilinear cosine = spherical_rectangle_cosine(&r, &surface);
                double u = rows.u[k], v = rows.v[k], density;
                bilinear_warp(&cosine, &u, &v);
                density = bilinear_density(&cosine, u, v);
                spherical_rectangle_point(&r, u, v, &x, &y);
                assert_memory_equal(&rows.solid_angle[k], &r.solid_angle, sizeof r.solid_angle);
                assert_memory_equal(&rows.density[k], &density, sizeof density);
                if (r.solid_angle > 1e-7) {
                    assert_memory_equal(&rows.x[k], &x, sizeof x);
                    assert_memory_equal(&rows.y[k], &y, sizeof y);
                }
            }
        }
    }
}

/* A rectangle light of any size, turn and place near the origin, every other one with a spread or two sides. */
static LightShape any_rectangle(uint32_t i)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    SampleKey key = sample_key(3, 1, i, 9);
    SceneLight light = {.kind = SCENE_LIGHT_RECTANGLE, .is_two_sided = i % 4 == 1};
    float3 z = warp_sphere(sampler_2d(&independent, key, 0)), x, y;
    float2 at = sampler_2d(&independent, key, 1), size = sampler_2d(&independent, key, 2);
    f3_frame(z, &x, &y);
    const float columns[4][3] = {{x.x, x.y, x.z},
                                 {y.x, y.y, y.z},
                                 {z.x, z.y, z.z},
                                 {4.0f * at.x - 2.0f, 4.0f * at.y - 2.0f, 1.0f}};
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4; ++column)
            light.light_to_world.m[row][column] = columns[column][row];
    light.size_x_m = 1e-5f + size.x, light.size_y_m = 1e-5f + size.y;
    light.spread_rad = i % 4 > 1 ? 0.2f + 2.5f * sampler_1d(&independent, key, 3) : 0.0f;
    LightShape shape;
    light_shape_init(&light, &shape);
    return shape;
}

static void ask_rectangle(const LightShape *shape, uint32_t i, uint32_t k, RectangleLights *out)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    SampleKey key = sample_key(k, 4, i, 9);
    float2 xy = sampler_2d(&independent, key, 0), u = sampler_2d(&independent, key, 2);
    out->shape[k] = shape;
    out->sides[k] = (i + k) % 4;
    out->u[0][k] = u.x, out->u[1][k] = u.y;
    wide_set3(
        out->position, k,
        f3(6.0f * xy.x - 3.0f, 6.0f * xy.y - 3.0f, 4.0f * sampler_1d(&independent, key, 1) - 2.0f));
    wide_set3(out->normal, k, warp_sphere(sampler_2d(&independent, key, 3)));
}

/* Each class of CPUs gives rectangle lights, of one shape or of many and in any company, the bits of one of them alone; and what
 * it says is what the functions of the shape say. */
static void test_light_rectangle_lights_have_the_bits_of_one(void **state)
{
    (void)state;
    void (*const codes[WIDE_CLASSES])(RectangleLights *lights, uint32_t count) = {
        rectangle_light_rows, rectangle_light_rows_v3, rectangle_light_rows_v4};
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 500; ++i) {
        LightShape shapes[SSL_BLOCK];
        static RectangleLights many, alone;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            shapes[k] = any_rectangle(SSL_BLOCK * i + k);
            ask_rectangle(&shapes[i % 2 ? k : 0], i, k, &many);
        }
        for (uint32_t c = 0; c <= wide_class_here(); ++c) {
            codes[c](&many, SSL_BLOCK);
            for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
                const LightShape *shape = many.shape[k];
                float3 wi = wide_get3(many.wi, k), position = wide_get3(many.position, k);
                ask_rectangle(shape, i, k, &alone);
                alone.shape[0] = shape, alone.sides[0] = alone.sides[k];
                alone.u[0][0] = alone.u[0][k], alone.u[1][0] = alone.u[1][k];
                wide_set3(alone.position, 0, position);
                wide_set3(alone.normal, 0, wide_get3(alone.normal, k));
                rectangle_lights_sample(&alone, 1);
                assert_int_equal(alone.is_seen[0], many.is_seen[k]);
                if (!many.is_seen[k])
                    continue;
                ++seen;
                float3 alone_wi = wide_get3(alone.wi, 0);
                assert_memory_equal(&alone_wi, &wi, sizeof wi);
                assert_memory_equal(&alone.pdf[0], &many.pdf[k], sizeof(float));
                assert_memory_equal(&alone.distance_m[0], &many.distance_m[k], sizeof(float));
                float beam = light_shape_beam(shape, wi);
                assert_memory_equal(&beam, &many.beam[k], sizeof beam);
                SurfacePoint end = light_shape_point(shape, position, wi, many.distance_m[k]);
                float3 P = wide_get3(many.end, k), n = wide_get3(many.end_n, k);
                assert_memory_equal(&end.P, &P, sizeof P);
                assert_memory_equal(&end.n, &n, sizeof n);
                assert_memory_equal(&end.error_m, &many.end_error_m[k], sizeof(float));
            }
        }
    }
    assert_true(seen > 1000);
}

/* --- lights --------------------------------------------------------------------------------- */

/* The mean square error of the irradiance at the origin by PAIRS samples, relative to its square. */
static double relative_error(const Lights *lights, SamplerKind kind, double expected)
{
    Sampler sampler = {.kind = kind};
    double sum = 0.0;
    for (uint32_t t = 0; t < TRIALS; ++t) {
        double mean = 0.0;
        for (uint32_t i = 0; i < PAIRS; ++i) {
            LightSample s;
            float2 u = sampler_2d(&sampler, sample_key(t, 0, i, 5), 8);
            if (lights_sample(lights, f3(0, 0, 0), f3(0, 1, 0), 0.5f, u, &s))
                mean += (double)(s.radiance.c[0] * maxf(s.wi.y, 0.0f) / s.pdf_solid_angle) / PAIRS;
        }
        sum += (mean / expected - 1.0) * (mean / expected - 1.0) / TRIALS;
    }
    return sum;
}

/* Two lamps that bring the same, to a side each. Stratified pairs estimate smooth lamps much better than random ones,
 * also when the pairs have to choose between lamps. */
static void test_light_choice_keeps_strata(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    for (int side = -1; side <= 1; side += 2) {
        mat4 down = {{{1, 0, 0, (float)side}, {0, 0, 1, 2}, {0, -1, 0, 0}}};
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                                      .light_to_world = down,
                                      .emission = f3(2, 2, 2),
                                      .size_x_m = 1.5f,
                                      .size_y_m = 1.5f});
    }
    Lights *lights = kit_lights(f);
    double expected = 0.0;
    for (uint32_t i = 0; i < 1 << 16; ++i) {
        LightSample s;
        Sampler sobol = {0};
        if (lights_sample(lights, f3(0, 0, 0), f3(0, 1, 0), 0.5f,
                          sampler_2d(&sobol, sample_key(0, 0, i, 6), 8), &s))
            expected += (double)(s.radiance.c[0] * s.wi.y / s.pdf_solid_angle) / (1 << 16);
    }
    double random = relative_error(lights, SAMPLER_INDEPENDENT, expected);
    double stratified = relative_error(lights, SAMPLER_SOBOL, expected);
    print_message("choice of lights: %.3g of the error of random pairs\n", stratified / random);
    assert_true(random > 0.0 && stratified < 0.02 * random);
    lights_destroy(lights);
    fixture_destroy(f);
}

/* --- lobes ---------------------------------------------------------------------------------- */

/* The variance of the share of directions in one quarter, out of PAIRS. */
static double variance_of_quarter(const OnePoint *b, SamplerKind kind)
{
    Sampler sampler = {.kind = kind};
    double sum = 0.0;
    for (uint32_t t = 0; t < TRIALS; ++t) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < PAIRS; ++i) {
            BsdfSample s;
            assert_true(one_sample(b, 0.5f, sampler_2d(&sampler, sample_key(t, 0, i, 7), 8), &s));
            count += s.wi.x > 0.0f && s.wi.y > 0.0f;
        }
        double share = (double)count / PAIRS - 0.25;
        sum += share * share / TRIALS;
    }
    return sum;
}

static void test_light_lobes_keep_strata(void **state)
{
    (void)state;
    const float white[] = {1, 1, 1, 0, 0, 1};
    OnePoint b;
    one_init(&b, f3(0, 0, 1), f3(0, 0, 1), 0);
    for (int i = 0; i < 2; ++i)
        one_add_closure(&b, "Lambert", spectrum_splat(0.5f), white, 1);
    double random = variance_of_quarter(&b, SAMPLER_INDEPENDENT);
    double stratified = variance_of_quarter(&b, SAMPLER_SOBOL);
    print_message("choice of lobes: %.3g of the variance of random pairs\n", stratified / random);
    assert_true(random > 0.0 && stratified < 0.2 * random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_spherical_rectangle_is_even),
        cmocka_unit_test(test_light_spherical_rectangles_have_the_bits_of_one),
        cmocka_unit_test(test_light_rectangle_lights_have_the_bits_of_one),
        cmocka_unit_test(test_light_choice_keeps_strata),
        cmocka_unit_test(test_light_lobes_keep_strata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
