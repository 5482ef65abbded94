#include "tests/sort/light_kit.h"

#include "sort/sampling/sampler.h"

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
