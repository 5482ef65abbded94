/* Points and spots with a radius: disks that face the point lit. */
#include "sort/light/light_shape.h"
#include "tests/sort/light/light_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static SceneLight lamp(SceneLightKind kind, float radius_m, float outer_rad)
{
    return (SceneLight){.kind = kind,
                        .light_to_world = fixture_shine(f3(0, 2, 0), f3(0.2f, -1, 0.1f)),
                        .radius_m = radius_m,
                        .inner_angle_rad = 0.5f * outer_rad,
                        .outer_angle_rad = outer_rad,
                        .falloff = SCENE_FALLOFF_SMOOTH};
}

/* The intensity I at the distance d: I / (d^2 + r^2) facing it, and times the cosine as long as all of the disk is above
 * the horizon. */
static void test_light_facing_point(void **state)
{
    (void)state;
    const float radii[] = {0.01f, 0.5f, 2.0f};
    for (uint32_t i = 0; i < SORT_COUNT_OF(radii); ++i) {
        SceneFixture *f = fixture_create();
        Lights *lights = kit_one_light(f, lamp(SCENE_LIGHT_POINT, radii[i], 0));
        double d2 = 4.0 + (double)(radii[i] * radii[i]);
        kit_check_irradiance(lights, f3(0, 0, 0), f3(0, 1, 0), 2.0 / d2);
        kit_check_irradiance(lights, f3(0, 4, 0), f3(0, -1, 0), 2.0 / d2);
        kit_check_irradiance(lights, f3(0, 0, 0), f3(0.6f, 0.8f, 0), 2.0 / d2 * 0.8);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* On the axis of a spot whose cone holds the disk, its radiance is times the cosine:
 * 2 pi L int cos^2 sin = 2/3 pi L (1 - cos^3 of the rim). */
static void test_light_facing_spot_cosine(void **state)
{
    (void)state;
    SceneFixture *f = fixture_create();
    SceneLight light = lamp(SCENE_LIGHT_SPOT, 1.5f, 1.2f);
    light.light_to_world = fixture_shine(f3(0, 2, 0), f3(0, -1, 0));
    light.inner_angle_rad = 1.19f;
    light.falloff = SCENE_FALLOFF_SMOOTH_COSINE;
    Lights *lights = kit_one_light(f, light);
    double rim = 2.0 / 2.5, radiance = 2.0 / (PI * 2.25);
    kit_check_irradiance(lights, f3(0, 0, 0), f3(0, 1, 0),
                         2.0 / 3.0 * PI * radiance * (1.0 - rim * rim * rim));
    lights_destroy(lights);
    fixture_destroy(f);
}

/* The three ways to fade, without a radius, between the angles and inside both. */
static void test_light_falloffs(void **state)
{
    (void)state;
    const float inner = 0.4f, outer = 0.9f;
    for (int kind = SCENE_FALLOFF_SQUARE; kind <= SCENE_FALLOFF_SMOOTH_COSINE; ++kind) {
        SceneFixture *f = fixture_create();
        SceneLight light = lamp(SCENE_LIGHT_SPOT, 0, outer);
        light.light_to_world = fixture_shine(f3(0, 0, 0), f3(0, -1, 0));
        light.inner_angle_rad = inner;
        light.falloff = (SceneFalloff)kind;
        Lights *lights = kit_one_light(f, light);
        for (int i = 0; i < 100; ++i) {
            double a = 0.01 * (double)i, t = 0.0, expected;
            t = (cos(a) - cos((double)outer)) / (cos((double)inner) - cos((double)outer));
            t = fmin(1.0, fmax(0.0, t));
            expected = 2.0 * (kind == SCENE_FALLOFF_SQUARE ? t * t : t * t * (3.0 - 2.0 * t));
            expected *= kind == SCENE_FALLOFF_SMOOTH_COSINE ? cos(a) : 1.0;
            LightSample s;
            float3 at = f3((float)sin(a), (float)-cos(a), 0);
            bool shines = lights_sample(lights, at, f3(0, 0, 0), 0.5f, f2(0.5f, 0.5f), &s);
            assert_true(fabs((shines ? (double)s.radiance.c[0] : 0.0) - expected) < 1e-5);
        }
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* Also for rays that start nearer than the point lit, as behind a transparent surface: what meets the disk, and with which
 * density, does not depend on where the ray starts. */
static void test_light_facing_strategies_agree(void **state)
{
    (void)state;
    kit_check_strategies(lamp(SCENE_LIGHT_POINT, 0.9f, 0), f3(0.3f, 0, 0.2f), 1.0f, 0.0f);
    kit_check_strategies(lamp(SCENE_LIGHT_POINT, 0.9f, 0), f3(0.3f, 0, 0.2f), 1.0f, 0.5f);
    kit_check_strategies(lamp(SCENE_LIGHT_SPOT, 0.9f, 0.5f), f3(0.7f, 0, 0.6f), 1.0f, 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_facing_point),
        cmocka_unit_test(test_light_facing_spot_cosine),
        cmocka_unit_test(test_light_falloffs),
        cmocka_unit_test(test_light_facing_strategies_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
