/* Which of several lights is sampled. */
#include "base/stat/chi2.h"
#include "sort/sampling/sampler.h"
#include "tests/sort/light/light_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The choice of lights at a point follows the stated probabilities, which sum to one. */
static void check_choices(const Lights *lights, float3 position)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    uint64_t observed[8] = {0};
    double counts[8], sum = 0.0;
    uint32_t count = lights_count(lights);
    LightSample s;
    assert_true(count <= 8);
    for (uint32_t i = 0; i < 100000; ++i) {
        float2 u = sampler_2d(&independent, sample_key(4, 5, i, 6), 1);
        lights_sample(lights, position, f3(0, 1, 0), 0.5f, u, &s);
        ++observed[s.source];
    }
    for (uint32_t i = 0; i < count; ++i) {
        counts[i] = 100000 * (double)lights_choice_probability(lights, i, position, f3(0, 1, 0));
        sum += counts[i];
    }
    assert_true(fabs(sum - 100000) < 0.1);
    assert_true(chi2_test(observed, counts, count).p_value > KIT_SIGNIFICANCE);
}

static void test_light_choice_by_power(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    for (int i = 0; i < 4; ++i)
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_POINT,
                                      .light_to_world = mat4_identity(),
                                      .emission = f3_splat((float)i)});
    /* As strong as the point light of 1: 4 pi I = pi L A. */
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                                  .light_to_world = mat4_identity(),
                                  .emission = f3_splat(2.0f),
                                  .size_x_m = 2.0f,
                                  .size_y_m = 1.0f});
    Lights *lights = kit_lights(f);
    assert_int_equal(lights_count(lights), 4); /* the black one is none */
    const double expected[] = {1.0 / 7, 2.0 / 7, 3.0 / 7, 1.0 / 7};
    float3 far = f3(0, 0, -1000), facing = f3(0, 0, 1);
    for (uint32_t i = 0; i < 4; ++i)
        assert_true(fabs((double)lights_choice_probability(lights, i, far, facing) - expected[i]) <
                    1e-4);
    /* Near by, what they may bring counts too. */
    check_choices(lights, f3(0.3f, 0.1f, -1));
    lights_destroy(lights);
    fixture_destroy(f);
}

/* By what the lamp promises at the point, a fifth at least, and by the doubt whether scattering finds an even sky: a dim sky, for which
 * nothing is left, a bright one, and one between. */
static void test_light_choice_of_the_sky(void **state)
{
    (void)state;
    static const float radiances[] = {1e-6f, 5.0f, 1000.0f};
    const float3 near = f3(0.3f, 0.1f, -1), behind = f3(0, 0, 1);
    float of_sky[3];
    for (int k = 0; k < 3; ++k) {
        SceneFixture *f = fixture_create();
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_RECTANGLE,
                                      .light_to_world = mat4_identity(),
                                      .emission = f3_splat(2.0f),
                                      .size_x_m = 2.0f,
                                      .size_y_m = 1.0f});
        f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
        f->scene.environment.radiance = f3_splat(radiances[k]);
        Lights *lights = kit_lights(f);
        assert_int_equal(lights_count(lights), 2);
        assert_int_equal(lights_infinite_count(lights), 1);
        check_choices(lights, near);
        of_sky[k] = lights_choice_probability(lights, 1, near, f3(0, 1, 0));
        /* Behind the lamp, which shines to one side, there is the sky alone. */
        assert_true(lights_choice_probability(lights, 1, f3(0, 0, 100), behind) == 1.0f);
        lights_destroy(lights);
        fixture_destroy(f);
    }
    assert_true(of_sky[0] == 0.0f && fabsf(of_sky[2] - 0.8f) < 1e-2f);
    assert_true(of_sky[0] < of_sky[1] && of_sky[1] < of_sky[2]);
}

/* A sun over an even sky: whole sixteenths of the chances, by what each brings to the side of a surface that light comes to. The sun
 * brings 2 pi cos, and at least 0.1 pi. The sky brings pi to all surfaces, which every second scattered ray finds: the doubt is pi / 2, of
 * which a quarter counts where it is more than the sun. */
static void test_light_choice_of_a_sun(void **state)
{
    (void)state;
    static const struct {
        float3 normal;
        double of_sun; /* sixteenths */
    } rows[] = {{{0, 0, 1}, 16}, {{0.8f, 0, 0.6f}, 16},  {{0.995f, 0, 0.1f}, 12},
                {{0, 1, 0}, 8},  {{0, -0.8f, -0.6f}, 8}, {{0, 0, 0}, 16}};
    SceneFixture *f = fixture_create();
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_DISTANT,
                                  .light_to_world = mat4_identity(),
                                  .emission = f3_splat(2.0f * (float)PI)});
    f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
    f->scene.environment.radiance = f3_splat(1.0f);
    Lights *lights = kit_lights(f);
    assert_int_equal(lights_infinite_count(lights), 2);
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        float of_sun = lights_choice_probability(lights, 0, f3(1, 2, 3), rows[i].normal);
        float of_sky = lights_choice_probability(lights, 1, f3(1, 2, 3), rows[i].normal);
        assert_true((double)of_sun == rows[i].of_sun / 16);
        assert_true(of_sun + of_sky == 1.0f);
    }
    check_choices(lights, f3(1, 2, 3));
    lights_destroy(lights);
    fixture_destroy(f);
}

/* Sends rays to a source, of which some arrive. */
static void send(LightSight *sight, uint32_t source, uint32_t sent, uint32_t arrived)
{
    for (uint32_t i = 0; i < sent; ++i)
        light_sight_add(sight, source, i < arrived);
}

/* The factor of a light, of which nothing is known but its rays. */
static double factor_of(const LightSight *sight, uint32_t light)
{
    return (double)light_share_factor(light_tally_share_alone(light_sight_tally(sight, light)));
}

static void test_light_choice_counts_what_is_seen(void **state)
{
    (void)state;
    LightSight *sight;
    assert_int_equal(light_sight_create(4, &sight, NULL), STATUS_OK);
    send(sight, 1, 1000000, 250000);
    send(sight, 2, 3, 0);
    send(sight, 3, 1000000, 9);
    assert_true(factor_of(sight, 0) == 1.0);
    assert_true(fabs(factor_of(sight, 1) - 0.5) < 1e-5);
    assert_true(fabs(factor_of(sight, 2) - 0.5) < 1e-6);  /* a few rays tell little */
    assert_true(fabs(factor_of(sight, 3) - 0.01) < 1e-6); /* what is rare counts */
    /* Three lost rays where a quarter arrives. */
    assert_true(light_tally_share(light_sight_tally(sight, 2), 0.25, 1.0) == 0.0625);
    light_sight_destroy(sight);
}

/* Four lamps, a sun and a sky, and rays that find a quarter of the first lamp, all of the second, and nothing of the sky. */
static void test_light_choice_heeds_what_is_seen(void **state)
{
    (void)state;
    const float3 far = f3(0, 0, -1000), none = f3(0, 0, 0);
    float before[6], after[6];
    LightSight *sight;
    SceneFixture *f = fixture_create();
    for (int i = 0; i < 4; ++i)
        fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_POINT,
                                      .light_to_world = mat4_identity(),
                                      .emission = f3_splat(1000.0f)});
    fixture_light(f, (SceneLight){.kind = SCENE_LIGHT_DISTANT,
                                  .light_to_world = mat4_identity(),
                                  .emission = f3_splat(0.001f)});
    f->scene.environment.kind = SCENE_ENVIRONMENT_COLOR;
    f->scene.environment.radiance = f3_splat(0.1f);
    Lights *lights = kit_lights(f);
    assert_int_equal(lights_count(lights), 6);
    for (uint32_t i = 0; i < 6; ++i)
        before[i] = lights_choice_probability(lights, i, far, none);
    assert_int_equal(lights_sight_count(lights), 6);
    assert_int_equal(light_sight_create(6, &sight, NULL), STATUS_OK);
    send(sight, 0, 400000, 100000);
    for (uint32_t i = 1; i < 4; ++i)
        send(sight, i, 400000, 400000);
    send(sight, 4, 400000, 400000);
    send(sight, 5, 400000, 0);
    assert_int_equal(lights_heed(lights, sight, NULL), STATUS_OK);
    light_sight_destroy(sight);
    for (uint32_t i = 0; i < 6; ++i)
        after[i] = lights_choice_probability(lights, i, far, none);
    for (uint32_t i = 1; i < 4; ++i)
        assert_float_equal((after[0] / after[i]), (0.5f * before[0] / before[i]), 1e-3);
    /* The sky is in doubt, and then known not to be seen. */
    assert_true(before[4] > 0.0f && before[5] > 0.0f && after[4] > 0.0f && after[5] == 0.0f);
    check_choices(lights, f3(0.3f, 0.1f, -1));
    check_choices(lights, far);
    float of_infinite = 0.0f; /* each kind keeps a tenth, not a fifth */
    for (uint32_t i = 4; i < 6; ++i)
        of_infinite += lights_choice_probability(lights, i, f3(0.3f, 0.1f, -1), none);
    assert_float_equal(of_infinite, 0.1, 1e-3);
    assert_int_equal(lights_heed(lights, NULL, NULL), STATUS_OK);
    for (uint32_t i = 0; i < 6; ++i)
        assert_true(lights_choice_probability(lights, i, far, none) == before[i]);
    lights_destroy(lights);
    fixture_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_light_choice_by_power),
                                       cmocka_unit_test(test_light_choice_of_the_sky),
                                       cmocka_unit_test(test_light_choice_of_a_sun),
                                       cmocka_unit_test(test_light_choice_counts_what_is_seen),
                                       cmocka_unit_test(test_light_choice_heeds_what_is_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
