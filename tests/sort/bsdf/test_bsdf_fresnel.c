/* Fresnel: values known in closed form. */
#include "sort/bsdf/fresnel.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static float dielectric(float cos_i, float eta)
{
    float cos_t;
    return fresnel_dielectric(cos_i, eta, &cos_t);
}

static double hemispherical(float eta)
{
    const uint32_t steps = 20000;
    double sum = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps;
        sum += 2.0 * c * (double)dielectric((float)c, eta) / steps;
    }
    return sum;
}

static void test_fresnel_dielectric_closed_forms(void **state)
{
    (void)state;
    static const float iors[] = {1.33f, 1.5f, 2.0f};
    static const double f0[] = {0.020059, 0.040000, 0.111111};
    static const double average[] = {0.06593, 0.09178, 0.16060};
    static const double average_inside[] = {0.47195, 0.59635, 0.79015};
    for (uint32_t i = 0; i < 3; ++i) {
        assert_true(fabs((double)dielectric(1.0f, iors[i]) - f0[i]) < 1e-6);
        assert_true(fabs((double)dielectric(1.0f, 1.0f / iors[i]) - f0[i]) < 1e-6);
        assert_true(fabs(hemispherical(iors[i]) - average[i]) < 2e-5);
        assert_true(fabs(hemispherical(1.0f / iors[i]) - average_inside[i]) < 2e-5);
        assert_true(dielectric(0.0f, iors[i]) == 1.0f);
    }
}

/* A lossless sheet with all the reflections inside it: 2F / (1 + F), here averaged over a diffuse sky. */
static void test_fresnel_sheet_under_a_diffuse_sky(void **state)
{
    (void)state;
    const uint32_t steps = 20000;
    double sum = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps, f = (double)dielectric((float)c, 1.5f);
        sum += 2.0 * c * 2.0 * f / (1.0 + f) / steps;
    }
    assert_true(fabs(sum - 0.155444) < 2e-5);
}

static void test_fresnel_dielectric_brewster_and_total_reflection(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; ++i) {
        float n = 1.1f + 0.1f * (float)i;
        /* At Brewster's angle, tan = n, one polarisation is not reflected, of the other
         * ((n^2 - 1)/(n^2 + 1))^2. */
        float n2 = n * n, other = (n2 - 1.0f) / (n2 + 1.0f);
        float cos_b = 1.0f / sqrtf(1.0f + n2);
        assert_true(fabsf(dielectric(cos_b, n) - 0.5f * other * other) < 1e-6f);
        /* Beyond sin = 1/n from inside all is. */
        float cos_critical = sqrtf(1.0f - 1.0f / n2), cos_t = 2.0f;
        assert_true(fresnel_dielectric(cos_critical * 0.999f, 1.0f / n, &cos_t) == 1.0f);
        assert_true(cos_t == 0.0f);
        assert_true(dielectric(cos_critical * 1.001f, 1.0f / n) < 1.0f);
    }
}

/* Reflectance is equal from both sides along one ray, whose cosines follow from Snell's law. */
static void test_fresnel_dielectric_is_symmetric(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; ++i)
        for (uint32_t j = 1; j <= 50; ++j) {
            float n = 1.05f + 0.1f * (float)i, c = 0.02f * (float)j;
            float cos_t, cos_back;
            float there = fresnel_dielectric(c, n, &cos_t);
            float back = fresnel_dielectric(cos_t, 1.0f / n, &cos_back);
            assert_true(fabsf(there - back) < 1e-4f / c);
            assert_true(fabsf(cos_back - c) < 2e-5f / c);
            float sin_i = sqrtf(1.0f - c * c), sin_t = sqrtf(1.0f - cos_t * cos_t);
            assert_true(fabsf(sin_i - n * sin_t) < 5e-4f);
        }
}

static void test_fresnel_metal(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 13; ++i)
        for (uint32_t j = 0; j < 16; ++j) {
            float eta = 0.15f + 0.3f * (float)i, k = 0.5f * (float)j;
            float f0 =
                ((eta - 1.0f) * (eta - 1.0f) + k * k) / ((eta + 1.0f) * (eta + 1.0f) + k * k);
            assert_true(fabsf(fresnel_metal(1.0f, eta, k) - f0) < 2e-6f);
            assert_true(fabsf(fresnel_metal(0.0f, eta, k) - 1.0f) < 1e-6f);
            double sum = 0.0;
            for (uint32_t m = 0; m < 1000; ++m) {
                double c = (m + 0.5) / 1000.0;
                float f = fresnel_metal((float)c, eta, k);
                assert_true(f >= 0.0f && f <= 1.0f + 1e-6f);
                sum += 2.0 * c * (double)f / 1000.0;
                /* Without absorption it is a dielectric. */
                assert_true(k != 0.0f || fabsf(f - dielectric((float)c, eta)) < 1e-4f);
            }
            Spectrum average = fresnel_metal_average(spectrum_splat(eta), spectrum_splat(k));
            if (k >= 0.5f)
                assert_true(fabs((double)average.c[0] - sum) < 1e-3);
        }
}

static void test_fresnel_schlick(void **state)
{
    (void)state;
    Spectrum f0 = {{0.04f, 0.5f, 1.0f}}, f90 = {{1.0f, 0.8f, 1.0f}};
    double sum[3] = {0};
    for (uint32_t i = 0; i < 10000; ++i) {
        double c = (i + 0.5) / 10000.0;
        Spectrum f = fresnel_schlick(f0, f90, (float)c);
        SPECTRUM_EACH(k) sum[k] += 2.0 * c * (double)f.c[k] / 10000.0;
    }
    Spectrum average = fresnel_schlick_average(f0, f90);
    SPECTRUM_EACH(k) assert_true(fabs((double)average.c[k] - sum[k]) < 1e-5);
    assert_true(fresnel_schlick(f0, f90, 1.0f).c[0] == 0.04f);
    assert_true(fresnel_schlick(f0, f90, 0.0f).c[1] == 0.8f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresnel_dielectric_closed_forms),
        cmocka_unit_test(test_fresnel_sheet_under_a_diffuse_sky),
        cmocka_unit_test(test_fresnel_dielectric_brewster_and_total_reflection),
        cmocka_unit_test(test_fresnel_dielectric_is_symmetric),
        cmocka_unit_test(test_fresnel_metal),
        cmocka_unit_test(test_fresnel_schlick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
