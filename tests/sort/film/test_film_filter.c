/* Pixel filters: samples follow the filter, which is where it should be and integrates to one. */
#include "sort/film/pixel_filter.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static double integral(PixelFilterKind kind, float width, double from, double to)
{
    const uint32_t steps = 4000;
    double sum = 0.0, h = (to - from) / steps;
    for (uint32_t i = 0; i < steps; ++i)
        sum += (double)pixel_filter_value(kind, width, (float)(from + (i + 0.5) * h)) * h;
    return sum;
}

static void test_film_filters_integrate_to_one(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < PIXEL_FILTER_KIND_COUNT; ++k)
        for (uint32_t i = 1; i <= 8; ++i) {
            PixelFilterKind kind = (PixelFilterKind)k;
            float width = 0.5f * (float)i;
            assert_true(fabs(integral(kind, width, -0.5 * (double)width, 0.5 * (double)width) -
                             1.0) < 1e-4);
            assert_true(pixel_filter_value(kind, width, 0.51f * width) == 0.0f);
            float edge = pixel_filter_value(kind, width, 0.499f * width);
            float centre = pixel_filter_value(kind, width, 0.0f);
            assert_true(kind == PIXEL_FILTER_BOX ? edge == centre : edge < 0.02f * centre);
        }
}

/* The offset of one sample along one axis. */
static float offset(const PixelFilter *f, float u)
{
    WideRow us = {u}, offsets;
    pixel_filter_sample(f, us, offsets);
    return offsets[0];
}

/* The fraction of samples up to a place is the filter's integral up to there. */
static void test_film_filter_samples_follow_the_filter(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < PIXEL_FILTER_KIND_COUNT; ++k) {
        PixelFilter f;
        Error err = {0};
        assert_int_equal(pixel_filter_init((PixelFilterKind)k, 0.0f, &f, &err), STATUS_OK);
        float last = -f.width_px;
        for (uint32_t i = 1; i < 200; ++i) {
            float u = (float)i / 200.0f;
            float2 p = f2(offset(&f, u), offset(&f, 1.0f - u));
            assert_true(p.x >= last && fabsf(p.x) <= 0.5f * f.width_px);
            assert_true(fabsf(p.x + p.y) < 1e-4f);
            double below = integral(f.kind, f.width_px, -0.5 * (double)f.width_px, (double)p.x);
            assert_true(fabs(below - (double)u) < 2e-4);
            last = p.x;
        }
        float2 corner = f2(offset(&f, 0.0f), offset(&f, 0x1.fffffep-1f));
        assert_true(fabsf(corner.x + 0.5f * f.width_px) < 1e-3f &&
                    fabsf(corner.y) <= 0.5f * f.width_px);
        assert_true(offset(&f, 0.5f) == 0.0f);
    }
}

/* A sine of frequency k (periods a pixel) is damped by exp(-2 pi^2 k^2 s^2), s the standard deviation: the filter's
 * Fourier transform, but for the tails that are cut off (0.3 % of its weight). */
static void test_film_filter_gaussian_damps_a_sine(void **state)
{
    (void)state;
    const double pi = 3.14159265358979323846;
    for (uint32_t i = 1; i <= 4; ++i) {
        PixelFilter f;
        Error err = {0};
        assert_int_equal(pixel_filter_init(PIXEL_FILTER_GAUSSIAN, (float)i, &f, &err), STATUS_OK);
        double s = i / 6.0;
        for (double k = 0.1; k < 1.0 / s; k += 0.1) {
            enum { SAMPLES = 4096 };
            double found = 0.0;
            for (uint32_t j = 0; j < SAMPLES; ++j) {
                float x = offset(&f, ((float)j + 0.5f) / SAMPLES);
                found += cos(2 * pi * k * (double)x) / SAMPLES;
            }
            assert_true(fabs(found - exp(-2 * pi * pi * k * k * s * s)) < 6e-3);
        }
    }
}

static void test_film_filter_options(void **state)
{
    (void)state;
    PixelFilter f;
    PixelFilterKind kind = PIXEL_FILTER_BOX;
    Error err = {0};
    assert_int_equal(pixel_filter_init(PIXEL_FILTER_BLACKMAN_HARRIS, 0.0f, &f, &err), STATUS_OK);
    assert_true(f.width_px == 1.5f);
    assert_int_equal(pixel_filter_init(PIXEL_FILTER_BOX, -1.0f, &f, &err), STATUS_INVALID);
    assert_int_equal(pixel_filter_init(PIXEL_FILTER_BOX, NAN, &f, &err), STATUS_INVALID);
    assert_int_equal(pixel_filter_init(PIXEL_FILTER_BOX, 17.0f, &f, &err), STATUS_INVALID);
    assert_string_equal(err.text, "pixel filter width 17; it must be in (0, 16]");
    assert_true(pixel_filter_find("gaussian", &kind) && kind == PIXEL_FILTER_GAUSSIAN);
    assert_false(pixel_filter_find("mitchell", &kind));
    assert_string_equal(pixel_filter_name(PIXEL_FILTER_BLACKMAN_HARRIS), "blackman-harris");
    assert_null(pixel_filter_name(PIXEL_FILTER_KIND_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_film_filters_integrate_to_one),
        cmocka_unit_test(test_film_filter_samples_follow_the_filter),
        cmocka_unit_test(test_film_filter_gaussian_damps_a_sine),
        cmocka_unit_test(test_film_filter_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
