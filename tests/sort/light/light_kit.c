#include "tests/sort/light/light_kit.h"

#include "sort/light/light_shape.h"
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

Lights *kit_lights(SceneFixture *f)
{
    Lights *lights;
    LightsDesc desc = {.size_bytes = sizeof desc, .scene = &f->scene};
    assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
    return lights;
}

ZTest kit_irradiance(const Lights *lights, float3 position, float3 normal, uint32_t samples)
{
    const Sampler independent = {SAMPLER_INDEPENDENT};
    ZTest z = {0};
    for (uint32_t i = 0; i < samples; ++i) {
        SampleKey key = sample_key(1, 2, i, 3);
        LightSample s;
        bool contributes =
            lights_sample(lights, position, normal, 0.5f, sampler_2d(&independent, key, 1), &s);
        double value = 0.0;
        if (contributes) {
            assert_true(fabsf(f3_length(s.wi) - 1.0f) < 2e-6f);
            assert_true(s.pdf_solid_angle > 0.0f && s.distance_m > 0.0f);
            double cosine = fmax(0.0, (double)f3_dot(s.wi, normal));
            value = (double)s.radiance.c[0] * cosine / (double)s.pdf_solid_angle;
        }
        ztest_add(&z, value);
    }
    return z;
}

void kit_check_irradiance(const Lights *lights, float3 position, float3 normal, double expected)
{
    ZTest z = kit_irradiance(lights, position, normal, 200000);
    double p = ztest_p_value(&z, expected, 2e-5 * expected);
    if (p < KIT_SIGNIFICANCE)
        fail_msg("irradiance %.9g +- %.3g, expected %.9g: p = %g", z.mean, ztest_standard_error(&z),
                 expected, p);
    /* And it is known well enough for that to mean something. */
    assert_true(ztest_standard_error(&z) < 0.01 * expected);
}

Lights *kit_one_light(SceneFixture *f, SceneLight light)
{
    light.emission = f3(2, 1, 0.5f);
    fixture_light(f, light);
    return kit_lights(f);
}

void kit_check_strategies(SceneLight light, float3 position, float one_minus_cos, float skipped)
{
    enum { SAMPLES = 200000 };
    const float3 normal = {0, 1, 0};
    const double chance = (double)warp_cone_pdf(one_minus_cos);
    const Sampler independent = {SAMPLER_INDEPENDENT};
    SceneFixture *f = fixture_create();
    LightShape shape;
    light_shape_init(&light, &shape);
    Lights *lights = kit_one_light(f, light);
    ZTest by_light = kit_irradiance(lights, position, normal, SAMPLES), by_chance = {0},
          density = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float2 u = sampler_2d(&independent, sample_key(0, 0, i, 17), SAMPLE_PIXEL);
        float3 cone = warp_cone(u, one_minus_cos), d = f3(cone.x, cone.z, cone.y), ng;
        float t;
        double e = 0.0, p = 0.0;
        if (light_shape_intersect(&shape, f3_madd(position, skipped, d), d, 0, INFINITY, &t, &ng)) {
            const LightQuery from = light_query(position, normal, SKY_ABOVE);
            LightHit hit = lights_shape_hit(lights, &from, 0, d, t + skipped);
            bool is_found = hit.pdf_solid_angle > 0.0f;
            assert_true(hit.is_beside == (light_shape_faces(&shape) && !is_found));
            assert_true(hit.radiance.c[0] == 0.0f || is_found);
            e = (double)hit.radiance.c[0] * (double)d.y / chance;
            p = hit.radiance.c[0] > 0.0f ? (double)hit.pdf_solid_angle / chance : 0.0;
        }
        ztest_add(&by_chance, e);
        ztest_add(&density, p);
        LightSample s;
        found += lights_sample(lights, position, normal, 0.5f, u, &s);
    }
    assert_true(ztest_p_value_two(&by_light, &by_chance) > KIT_SIGNIFICANCE);
    double useful = (double)found / (double)SAMPLES;
    assert_true(useful > (light_shape_faces(&shape) ? 0.25 : 0.1));
    /* `found` is itself an estimate. */
    assert_true(ztest_p_value(&density, useful, 3e-3) > KIT_SIGNIFICANCE);
    lights_destroy(lights);
    fixture_destroy(f);
}
