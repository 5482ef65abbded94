/* The samplers: pure functions, uniform, stratified in every elementary interval, independent across
 * dimensions and pixels, and converging as Owen-scrambled points should. */
#include "base/stat/chi2.h"
#include "base/stat/ztest.h"
#include "sort/sampling/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const Sampler sobol = {SAMPLER_SOBOL}, independent = {SAMPLER_INDEPENDENT};

static void test_sampler_is_a_pure_function(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < SAMPLER_KIND_COUNT; ++kind) {
        Sampler s = {(SamplerKind)kind};
        for (uint32_t i = 0; i < 1000; ++i) {
            SampleKey key = sampler_key(&s, i % 37, i / 37, i * 7919u, 5, 1u << 23);
            SampleKey again = sampler_key(&s, i % 37, i / 37, i * 7919u, 5, 1u << 23);
            float2 a = sampler_2d(&s, key, i), b = sampler_2d(&s, again, i);
            assert_memory_equal(&a, &b, sizeof a);
            float one = sampler_1d(&s, key, i);
            assert_true(one >= 0.0f && one < 1.0f && a.x >= 0.0f && a.x < 1.0f);
            assert_true(one * 0x1p24f == floorf(one * 0x1p24f));
        }
    }
}

/* Two pairs that are drawn together are those that are drawn one by one. */
static void test_sampler_pairs_together(void **state)
{
    (void)state;
    const uint32_t step = SAMPLE_BSDF_UV - SAMPLE_LIGHT_UV;
    for (uint32_t kind = 0; kind < SAMPLER_KIND_COUNT; ++kind) {
        Sampler s = {(SamplerKind)kind};
        SampleKey key[SSL_BLOCK];
        const SampleKey *keys[SSL_BLOCK];
        uint32_t dimensions[SSL_BLOCK];
        alignas(64) WideRow first[2], second[2];
        const uint16_t live = 0xb3fe;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            key[k] = sampler_key(&s, k % 5, k / 5, 91 * k, 3, 1u << 12);
            keys[k] = &key[k];
            dimensions[k] = sample_dimension(k / 3, SAMPLE_LIGHT_UV);
        }
        sampler_pairs_points(&s, keys, dimensions, step, live, first, second);
        WIDE_EACH(k, live)
        {
            float2 a = sampler_2d(&s, key[k], dimensions[k]);
            float2 b = sampler_2d(&s, key[k], dimensions[k] + step);
            assert_true(first[0][k] == a.x && first[1][k] == a.y);
            assert_true(second[0][k] == b.x && second[1][k] == b.y);
        }
    }
}

/* Lanes of one dimension are hashed together if they are many; each has the numbers of one alone. */
static void test_sampler_lanes_of_one_dimension(void **state)
{
    (void)state;
    const uint32_t dimensions_of[] = {SAMPLE_PIXEL, SAMPLE_DIMENSION(0, SAMPLE_LIGHT_UV),
                                      SAMPLE_DIMENSION(9, SAMPLE_LIGHT_UV)};
    const uint16_t lives[] = {0xffff, 0x7bde, 0x8421, 0x0001};
    const uint32_t step = SAMPLE_BSDF_UV - SAMPLE_LIGHT_UV;
    for (uint32_t trial = 0; trial < SAMPLER_KIND_COUNT * 12; ++trial) {
        Sampler s = {(SamplerKind)(trial / 12)};
        uint32_t dimension = dimensions_of[trial / 4 % 3];
        uint16_t live = lives[trial % 4];
        SampleKey key[SSL_BLOCK];
        const SampleKey *keys[SSL_BLOCK];
        uint32_t dimensions[SSL_BLOCK];
        alignas(64) WideRow one, pair[2], first[2], second[2];
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            key[k] = sampler_key(&s, 7 * k, k / 5, 91 * k + trial, 3, 1u << 12);
            keys[k] = &key[k];
            dimensions[k] = live >> k & 1 ? dimension : k;
        }
        sampler_1d_points(&s, keys, dimensions, live, one);
        sampler_2d_points(&s, keys, dimensions, live, pair);
        sampler_pairs_points(&s, keys, dimensions, step, live, first, second);
        WIDE_EACH(k, live)
        {
            float2 a = sampler_2d(&s, key[k], dimension);
            float2 b = sampler_2d(&s, key[k], dimension + step);
            assert_true(one[k] == sampler_1d(&s, key[k], dimension));
            assert_true(pair[0][k] == a.x && pair[1][k] == a.y);
            assert_true(first[0][k] == a.x && first[1][k] == a.y);
            assert_true(second[0][k] == b.x && second[1][k] == b.y);
        }
    }
}

static void test_sampler_samples_follow_one_another(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < SAMPLER_KIND_COUNT; ++kind) {
        Sampler s = {(SamplerKind)kind};
        SampleKey key[SSL_BLOCK];
        const SampleKey *keys[SSL_BLOCK];
        SamplerRows rows;
        const uint16_t live = 0xd7fb;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            key[k] = sampler_key(&s, 3 + k % 4, 9 + k / 4, 40, 5, 64);
            keys[k] = &key[k];
        }
        sampler_2d_begin(keys, SAMPLE_PIXEL, live, &rows);
        for (uint32_t i = 40; i < 64; ++i) {
            alignas(64) WideRow u[2];
            sampler_2d_next(&s, keys, SAMPLE_PIXEL, live, &rows, u);
            WIDE_EACH(k, live)
            {
                SampleKey alone = sampler_key(&s, 3 + k % 4, 9 + k / 4, i, 5, 64);
                float2 v = sampler_2d(&s, alone, SAMPLE_PIXEL);
                assert_true(u[0][k] == v.x && u[1][k] == v.y);
            }
            for (uint32_t k = 0; k < SSL_BLOCK; ++k)
                ++key[k].index;
        }
    }
}

/* The values are part of what a partial result file means: a change is a change of format. */
static void test_sampler_values_are_fixed(void **state)
{
    (void)state;
    SampleKey key = sample_key(3, 5, 7, 11);
    float2 a = sampler_2d(&sobol, key, 0);
    float2 b = sampler_2d(&sobol, key, sample_dimension(1000000, SAMPLE_BSDF_UV));
    float2 c = sampler_2d(&independent, key, 2);
    uint32_t got[] = {(uint32_t)(a.x * 0x1p24f), (uint32_t)(a.y * 0x1p24f),
                      (uint32_t)(b.x * 0x1p24f), (uint32_t)(b.y * 0x1p24f),
                      (uint32_t)(c.x * 0x1p24f), (uint32_t)(c.y * 0x1p24f)};
    uint32_t expected[] = {0xba6d8f, 0x6a3c81, 0x632f37, 0x94d31e, 0xff7bdb, 0xd41984};
    for (size_t i = 0; i < SORT_COUNT_OF(got); ++i)
        assert_int_equal(got[i], expected[i]);
}

static void test_sampler_dimensions_do_not_collide(void **state)
{
    (void)state;
    uint32_t expected = SAMPLE_CAMERA_COUNT;
    for (uint32_t depth = 0; depth < 100; ++depth)
        for (uint32_t slot = 0; slot < SAMPLE_SLOT_COUNT; ++slot)
            assert_int_equal(sample_dimension(depth, (SampleSlot)slot), expected++);
}

/* Checks that one point of any aligned run of 2^k lies in each box of 2^-a by 2^-(k-a). */
static void check_net(SampleKey key, uint32_t dimension, uint32_t run, uint32_t k)
{
    uint8_t seen[1 << 10];
    float2 points[1 << 10];
    uint32_t count = 1u << k;
    for (uint32_t i = 0; i < count; ++i) {
        key.index = run * count + i;
        points[i] = sampler_2d(&sobol, key, dimension);
    }
    for (uint32_t a = 0; a <= k; ++a) {
        memset(seen, 0, count);
        for (uint32_t i = 0; i < count; ++i) {
            uint32_t x = (uint32_t)(points[i].x * (float)(1u << a));
            uint32_t y = (uint32_t)(points[i].y * (float)(1u << (k - a)));
            assert_int_equal(seen[y << a | x]++, 0);
        }
    }
}

static void test_sampler_pairs_are_nets(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 40; ++trial)
        for (uint32_t k = 0; k <= 10; ++k)
            check_net(sample_key(trial * 13, trial, 0, trial / 3), trial * 5, trial * trial, k);
}

/* Returns the mean square error of 64 samples, over many pixels, for the fraction of a and b for which both pairs lie below the
 * diagonal, which is 1/4. */
static double square_error(uint32_t a, uint32_t b)
{
    enum { PIXELS = 4000, SAMPLES = 64 };
    double sum = 0;
    for (uint32_t pixel = 0; pixel < PIXELS; ++pixel) {
        uint32_t both = 0;
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            SampleKey key = sample_key(pixel, 1, i, 2);
            float2 u = sampler_2d(&sobol, key, a), v = sampler_2d(&sobol, key, b);
            both += u.x + u.y < 1.0f && v.x + v.y < 1.0f;
        }
        double error = (double)both / SAMPLES - 0.25;
        sum += error * error;
    }
    return sum / PIXELS;
}

/* Pairs of the pixel and of the first surfaces are stratified against one another. Pairs of an order that they shared would have more
 * than the error of padded ones. */
static void test_sampler_nets_span_surfaces(void **state)
{
    (void)state;
    const uint32_t pixel = SAMPLE_PIXEL,
                   light[] = {SAMPLE_DIMENSION(0, SAMPLE_LIGHT_UV),
                              SAMPLE_DIMENSION(1, SAMPLE_LIGHT_UV)},
                   scatter[] = {SAMPLE_DIMENSION(0, SAMPLE_BSDF_UV),
                                SAMPLE_DIMENSION(1, SAMPLE_BSDF_UV),
                                SAMPLE_DIMENSION(2, SAMPLE_BSDF_UV)};
    const uint32_t shared[][2] = {{pixel, scatter[0]},      {pixel, light[0]},
                                  {light[0], scatter[0]},   {pixel, scatter[1]},
                                  {scatter[0], light[1]},   {scatter[0], scatter[1]},
                                  {scatter[1], scatter[2]}, {light[1], scatter[1]}};
    double padded =
        square_error(SAMPLE_DIMENSION(5, SAMPLE_LIGHT_UV), SAMPLE_DIMENSION(6, SAMPLE_BSDF_UV));
    for (size_t k = 0; k < SORT_COUNT_OF(shared); ++k)
        assert_true(square_error(shared[k][0], shared[k][1]) < 0.7 * padded);
}

static void test_sampler_numbers_are_stratified(void **state)
{
    (void)state;
    for (uint32_t trial = 0; trial < 100; ++trial) {
        uint8_t seen[256] = {0};
        for (uint32_t i = 0; i < 256; ++i) {
            SampleKey key = sample_key(trial, 9, 256 * trial + i, 1);
            assert_int_equal(seen[(uint32_t)(sampler_1d(&sobol, key, trial) * 256.0f)]++, 0);
        }
    }
}

#define GRID  16
#define CELLS (GRID * GRID)

static void check_uniform(const uint64_t *cells, uint64_t count, double significance)
{
    double expected[CELLS];
    for (uint32_t i = 0; i < CELLS; ++i)
        expected[i] = (double)count / CELLS;
    assert_true(chi2_test(cells, expected, CELLS).p_value > significance);
}

static uint32_t cell_of(float x, float y)
{
    return (uint32_t)(y * GRID) * GRID + (uint32_t)(x * GRID);
}

/* Over pixels, a point is uniform, and two dimensions of one sample know nothing of each other. */
static void test_sampler_is_uniform_and_dimensions_are_independent(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {{0, 1},  {0, 3},  {3, 11}, {10, 11}, {8, 1000}, {0, 9},
                                        {0, 11}, {9, 11}, {9, 27}, {11, 25}, {11, 27},  {27, 43}};
    double significance = chi2_sidak(0.01, SAMPLER_KIND_COUNT * SORT_COUNT_OF(pairs) * 3);
    for (uint32_t kind = 0; kind < SAMPLER_KIND_COUNT; ++kind)
        for (uint32_t p = 0; p < SORT_COUNT_OF(pairs); ++p) {
            Sampler s = {(SamplerKind)kind};
            uint64_t point[CELLS] = {0}, across[CELLS] = {0}, mixed[CELLS] = {0};
            for (uint32_t i = 0; i < 1u << 16; ++i) {
                SampleKey key = sampler_key(&s, i & 255, i >> 8, p % 8, 0, 8);
                float2 a = sampler_2d(&s, key, pairs[p][0]), b = sampler_2d(&s, key, pairs[p][1]);
                ++point[cell_of(a.x, a.y)];
                ++across[cell_of(a.x, b.x)];
                ++mixed[cell_of(a.y, sampler_1d(&s, key, pairs[p][1]))];
            }
            check_uniform(point, 1u << 16, significance);
            check_uniform(across, 1u << 16, significance);
            check_uniform(mixed, 1u << 16, significance);
        }
}

/* Neighbouring pixels, samples and seeds: the correlation of their numbers is zero on average, and so is that
 * between two dimensions along the samples of one pixel. */
static void test_sampler_has_no_correlations(void **state)
{
    (void)state;
    ZTest pixel = {0}, seed = {0}, along = {0};
    for (uint32_t i = 0; i < 1u << 16; ++i) {
        SampleKey key = sample_key(i & 255, i >> 8, i % 5, 0);
        SampleKey right = sample_key((i & 255) + 1, i >> 8, i % 5, 0);
        SampleKey other = sample_key(i & 255, i >> 8, i % 5, 1);
        double a = (double)sampler_1d(&sobol, key, 8) - 0.5;
        ztest_add(&pixel, a * ((double)sampler_1d(&sobol, right, 8) - 0.5));
        ztest_add(&seed, a * ((double)sampler_1d(&sobol, other, 8) - 0.5));
    }
    for (uint32_t p = 0; p < 4096; ++p) {
        double sum = 0.0;
        for (uint32_t i = 0; i < 64; ++i) {
            SampleKey key = sample_key(p & 63, p >> 6, i, 3);
            sum += ((double)sampler_2d(&sobol, key, 9).x - 0.5) *
                   ((double)sampler_2d(&sobol, key, 11).x - 0.5);
        }
        ztest_add(&along, sum / 64.0);
    }
    assert_true(ztest_p_value(&pixel, 0.0, 0.0) > 1e-3);
    assert_true(ztest_p_value(&seed, 0.0, 0.0) > 1e-3);
    assert_true(ztest_p_value(&along, 0.0, 0.0) > 1e-3);
}

/* Root mean square error over pixels of the integral of a smooth function. Each pixel takes another dimension, since
 * pixels of blue noise share the scramble of one. */
static double smooth_error(const Sampler *s, uint32_t samples)
{
    double sum_squares = 0.0, exact = (1.0 - cos(1.0)) * (exp(1.0) - 1.0);
    for (uint32_t p = 0; p < 256; ++p) {
        double sum = 0.0;
        for (uint32_t i = 0; i < samples; ++i) {
            float2 u = sampler_2d(s, sampler_key(s, p, 2, i, 0, samples), p);
            sum += sin((double)u.x) * exp((double)u.y);
        }
        double error = sum / samples - exact;
        sum_squares += error * error;
    }
    return sqrt(sum_squares / 256.0);
}

static void test_sampler_error_falls_as_it_should(void **state)
{
    (void)state;
    double slow = log2(smooth_error(&independent, 1024) / smooth_error(&independent, 16)) / 6.0;
    double fast = log2(smooth_error(&sobol, 1024) / smooth_error(&sobol, 16)) / 6.0;
    assert_true(slow > -0.6 && slow < -0.4);
    assert_true(fast < -1.35);
    const Sampler blue = {SAMPLER_BLUE_NOISE};
    assert_true(log2(smooth_error(&blue, 1024) / smooth_error(&blue, 16)) / 6.0 < -1.35);
}

static void test_sampler_names(void **state)
{
    (void)state;
    SamplerKind kind = SAMPLER_SOBOL;
    assert_true(sampler_find("independent", &kind));
    assert_int_equal(kind, SAMPLER_INDEPENDENT);
    assert_false(sampler_find("sobel", &kind));
    assert_int_equal(kind, SAMPLER_INDEPENDENT);
    assert_string_equal(sampler_name(SAMPLER_SOBOL), "sobol");
    assert_null(sampler_name(SAMPLER_KIND_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampler_is_a_pure_function),
        cmocka_unit_test(test_sampler_pairs_together),
        cmocka_unit_test(test_sampler_lanes_of_one_dimension),
        cmocka_unit_test(test_sampler_samples_follow_one_another),
        cmocka_unit_test(test_sampler_values_are_fixed),
        cmocka_unit_test(test_sampler_dimensions_do_not_collide),
        cmocka_unit_test(test_sampler_pairs_are_nets),
        cmocka_unit_test(test_sampler_nets_span_surfaces),
        cmocka_unit_test(test_sampler_numbers_are_stratified),
        cmocka_unit_test(test_sampler_is_uniform_and_dimensions_are_independent),
        cmocka_unit_test(test_sampler_has_no_correlations),
        cmocka_unit_test(test_sampler_error_falls_as_it_should),
        cmocka_unit_test(test_sampler_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
