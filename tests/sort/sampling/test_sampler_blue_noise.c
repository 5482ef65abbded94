/* Blue noise: the samples of squares of pixels are nets together, and the error of a picture has little of low
 * frequencies. */
#include "sort/sampling/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const Sampler blue = {SAMPLER_BLUE_NOISE}, sobol = {SAMPLER_SOBOL};

enum { POINTS_MAX = 1 << 12 };

typedef struct Points {
    float2 at[POINTS_MAX];
    uint32_t count;
} Points;

/* All samples of the pixels of a square of 2^k x 2^k. */
static void gather(Points *p, uint32_t x, uint32_t y, uint32_t k, uint32_t samples,
                   uint32_t dimension, uint32_t seed)
{
    p->count = 0;
    for (uint32_t i = 0; i < samples << 2 * k; ++i) {
        uint32_t pixel = i / samples, dx = pixel & ((1u << k) - 1), dy = pixel >> k;
        SampleKey key = sampler_key(&blue, x + dx, y + dy, i % samples, seed, samples);
        p->at[p->count++] = sampler_2d(&blue, key, dimension);
    }
}

/* Checks that exactly one of 2^n points lies in each box of 2^-a by 2^-(n-a). */
static void assert_net(const Points *p)
{
    static uint8_t seen[POINTS_MAX];
    uint32_t n = (uint32_t)__builtin_ctz(p->count);
    assert_int_equal(p->count, 1u << n);
    for (uint32_t a = 0; a <= n; ++a) {
        memset(seen, 0, p->count);
        for (uint32_t i = 0; i < p->count; ++i) {
            uint32_t x = (uint32_t)(p->at[i].x * (float)(1u << a));
            uint32_t y = (uint32_t)(p->at[i].y * (float)(1u << (n - a)));
            assert_int_equal(seen[y << a | x]++, 0);
        }
    }
}

static void test_blue_noise_squares_of_pixels_are_nets(void **state)
{
    (void)state;
    static Points points;
    for (uint32_t trial = 0; trial < 24; ++trial)
        for (uint32_t bits = 0; bits <= 4; ++bits)
            for (uint32_t k = 0; 2 * k + bits <= 12 && k <= 4; ++k) {
                uint32_t x = (trial * 37 % 200) << k, y = (trial * 11 % 200) << k;
                gather(&points, x, y, k, 1u << bits, 11 * trial, trial / 2);
                assert_net(&points);
            }
}

/* The numbers of a square and their parts: of 2^k x 2^k pixels with 2^m samples, one in each interval. */
static void test_blue_noise_numbers_are_stratified(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 50; ++trial) {
        uint8_t seen[256] = {0};
        for (uint32_t i = 0; i < 256; ++i) {
            SampleKey key = sampler_key(&blue, 8 * trial + (i >> 2 & 7), 8 + (i >> 5), i & 3, 1, 4);
            assert_int_equal(seen[(uint32_t)(sampler_1d(&blue, key, trial) * 256.0f)]++, 0);
        }
    }
}

/* Which of its four quarters each pixel of a quad draws: all 24 orders, as often as one another. */
static void test_blue_noise_orders_quads_in_all_ways(void **state)
{
    (void)state;
    enum { QUADS = 24 * 1000 };
    uint32_t counts[256] = {0}, kinds = 0;
    for (uint32_t q = 0; q < QUADS; ++q) {
        uint32_t order = 0;
        for (uint32_t i = 0; i < 4; ++i) {
            SampleKey key =
                sampler_key(&blue, 2 * (q % 160) + (i & 1), 2 * (q / 160) + (i >> 1), 0, 7, 1);
            order = order << 2 | (uint32_t)(sampler_1d(&blue, key, SAMPLE_TIME) * 4.0f);
        }
        ++counts[order];
    }
    for (uint32_t i = 0; i < 256; ++i) {
        kinds += counts[i] > 0;
        /* Binomial: 1000 within five standard deviations of 31. */
        assert_true(counts[i] == 0 || (counts[i] > 845 && counts[i] < 1155));
    }
    assert_int_equal(kinds, 24);
}

/* --- the spectrum --------------------------------------------------------------------------------- */

enum { SIDE = 64, LOW = 8, TRIALS = 12 };

/* What one pixel gets wrong of the mean of a smooth function, of a pair of numbers or of one number more. */
typedef double PixelError(const Sampler *s, uint32_t x, uint32_t y, uint32_t samples,
                          uint32_t trial);

#define MEAN_OF_PAIR ((1.0 - cos(1.0)) * (exp(1.0) - 1.0)) /* of sin(x) exp(y) */

static double error_of_pair(const Sampler *s, uint32_t x, uint32_t y, uint32_t samples,
                            uint32_t trial)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < samples; ++i) {
        SampleKey key = sampler_key(s, x, y, i, trial, samples);
        float2 u = sampler_2d(s, key, sample_dimension(trial, SAMPLE_LIGHT_UV));
        sum += sin((double)u.x) * exp((double)u.y);
    }
    return sum / samples - MEAN_OF_PAIR;
}

static double error_of_three(const Sampler *s, uint32_t x, uint32_t y, uint32_t samples,
                             uint32_t trial)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < samples; ++i) {
        SampleKey key = sampler_key(s, x, y, i, trial, samples);
        float2 u = sampler_2d(s, key, sample_dimension(trial, SAMPLE_LIGHT_UV));
        float v = sampler_1d(s, key, sample_dimension(trial, SAMPLE_BSDF_SIDE));
        sum += sin((double)u.x) * exp((double)u.y) * (0.5 + 0.5 * (double)v);
    }
    return sum / samples - 0.75 * MEAN_OF_PAIR;
}

/* The share of the error's power that lies in frequencies below LOW / SIDE cycles a pixel in both directions, the mean
 * left out. White noise: about their share of all frequencies. */
static double low_share(const Sampler *s, uint32_t samples, PixelError *pixel_error)
{
    static double error[SIDE][SIDE], cosine[SIDE];
    double low = 0.0, all = 0.0;
    for (int k = 0; k < SIDE; ++k)
        cosine[k] = cos(2.0 * 3.14159265358979323846 * k / SIDE);
    for (uint32_t trial = 0; trial < TRIALS; ++trial) {
        double mean = 0.0;
        for (uint32_t y = 0; y < SIDE; ++y)
            for (uint32_t x = 0; x < SIDE; ++x) {
                error[y][x] = pixel_error(s, x, y, samples, trial);
                mean += error[y][x] / (SIDE * SIDE);
                all += error[y][x] * error[y][x];
            }
        all -= mean * mean * SIDE * SIDE;
        for (int fy = 1 - LOW; fy < LOW; ++fy)
            for (int fx = 1 - LOW; fx < LOW; ++fx) {
                double re = 0.0, im = 0.0;
                if (fx == 0 && fy == 0)
                    continue;
                for (int y = 0; y < SIDE; ++y)
                    for (int x = 0; x < SIDE; ++x) {
                        int phase = (fx * x + fy * y) & (SIDE - 1);
                        re += error[y][x] * cosine[phase];
                        im += error[y][x] * cosine[(phase + SIDE / 4) & (SIDE - 1)];
                    }
                low += (re * re + im * im) / (SIDE * SIDE);
            }
    }
    return low / all;
}

/* (2 LOW - 1)^2 - 1 = 224 of 4095 frequencies: 5.5 % of white noise, with a standard deviation of about 0.1 %. A pair of
 * numbers is one sequence; what a third adds jointly with them no order of pixels can spread, and that is what is left
 * of the error when there are more samples. */
static void test_blue_noise_has_little_of_low_frequencies(void **state)
{
    (void)state;
    const double white = 224.0 / 4095.0, most_of_three[] = {0.25, 0.6};
    for (uint32_t k = 0; k <= 2; ++k) {
        uint32_t samples = 1u << 2 * k;
        double of_default = low_share(&sobol, samples, error_of_pair);
        double of_blue = low_share(&blue, samples, error_of_pair);
        assert_true(fabs(of_default - white) < 0.1 * white);
        assert_true(of_blue < 0.2 * of_default);
    }
    for (uint32_t k = 0; k <= 1; ++k) {
        uint32_t samples = 1u << 2 * k;
        double of_default = low_share(&sobol, samples, error_of_three);
        double of_blue = low_share(&blue, samples, error_of_three);
        assert_true(fabs(of_default - white) < 0.1 * white);
        assert_true(of_blue < most_of_three[k] * of_default);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blue_noise_squares_of_pixels_are_nets),
        cmocka_unit_test(test_blue_noise_numbers_are_stratified),
        cmocka_unit_test(test_blue_noise_orders_quads_in_all_ways),
        cmocka_unit_test(test_blue_noise_has_little_of_low_frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
