/* Choosing does not spoil stratification: of lights and of lobes. */
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
        cmocka_unit_test(test_light_choice_keeps_strata),
        cmocka_unit_test(test_light_lobes_keep_strata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
