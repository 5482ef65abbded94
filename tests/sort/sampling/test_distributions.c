/* Alias tables, piecewise-constant maps, and the power heuristic: what is drawn is exactly what the density
 * says, by running through all numbers that the samplers can give. */
#include "sort/sampling/alias.h"
#include "sort/sampling/dist2d.h"
#include "sort/sampling/mis.h"
#include "sort/sampling/sampler.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define LATTICE (1 << 24)

static float hash_unit(uint32_t i)
{
    return (float)(hash_mix64(i) >> 40) * 0x1p-24f;
}

static void check_alias(const float *weights, uint32_t count, double tolerance)
{
    AliasTable *t = NULL;
    Error err = {0};
    assert_int_equal(alias_create(weights, count, &t, &err), STATUS_OK);
    assert_int_equal(alias_count(t), count);
    uint32_t *seen = calloc(count, sizeof *seen);
    double total = 0.0;
    for (uint32_t i = 0; i < count; ++i)
        total += (double)weights[i];
    for (uint32_t i = 0; i < LATTICE; i += 4) {
        float pmf = 0.0f, left = -1.0f;
        uint32_t item = alias_sample(t, (float)i * 0x1p-24f, &pmf, &left);
        assert_true(item < count && left >= 0.0f && left < 1.0f);
        assert_true(pmf == alias_pmf(t, item));
        ++seen[item];
    }
    for (uint32_t i = 0; i < count; ++i) {
        double p = (double)weights[i] / total;
        assert_true(fabs((double)alias_pmf(t, i) - p) <= 1e-7 * p + 1e-38);
        assert_true(fabs(seen[i] / (LATTICE / 4.0) - p) < tolerance);
        assert_true(weights[i] > 0.0f || seen[i] == 0);
    }
    free(seen);
    alias_destroy(t);
}

static void test_alias_draws_by_weight(void **state)
{
    (void)state;
    static const float one[] = {3.0f}, edges[] = {0.0f, 1.0f, 0.0f, 0.0f, 2.0f, 0.0f},
                       wide[] = {1e-30f, 1e30f, 0.0f, 3e37f, 3e37f};
    check_alias(one, 1, 1e-9);
    check_alias(edges, 6, 1e-6);
    check_alias(wide, 5, 1e-6);
    float many[1000];
    for (uint32_t i = 0; i < 1000; ++i)
        many[i] = i % 7 == 0 ? 0.0f : powf(hash_unit(i), 8.0f);
    check_alias(many, 1000, 1e-6);
}

static void test_alias_gives_back_a_uniform_remainder(void **state)
{
    (void)state;
    static const float weights[] = {1.0f, 5.0f, 0.5f, 2.0f, 0.01f};
    AliasTable *t = NULL;
    assert_int_equal(alias_create(weights, 5, &t, NULL), STATUS_OK);
    uint32_t bins[16] = {0};
    for (uint32_t i = 0; i < LATTICE; i += 4) {
        float left = 0.0f;
        if (alias_sample(t, (float)i * 0x1p-24f, NULL, &left) == 1)
            ++bins[(uint32_t)(left * 16.0f)];
    }
    double expected = LATTICE / 4.0 * 5.0 / 8.51 / 16.0;
    for (uint32_t i = 0; i < 16; ++i)
        assert_true(fabs(bins[i] - expected) < 1e-3 * expected);
    alias_destroy(t);
}

static void test_alias_refuses_bad_weights(void **state)
{
    (void)state;
    static const float nan[] = {1.0f, NAN}, negative[] = {1.0f, -1.0f}, zero[] = {0.0f, 0.0f};
    AliasTable *t = NULL;
    Error err = {0};
    assert_int_equal(alias_create(nan, 2, &t, &err), STATUS_INVALID);
    assert_null(t);
    assert_int_equal(alias_create(negative, 2, &t, &err), STATUS_INVALID);
    assert_string_equal(err.text, "weight 1 of a discrete distribution is -1");
    assert_int_equal(alias_create(zero, 2, &t, &err), STATUS_INVALID);
    assert_int_equal(alias_create(zero, 0, &t, &err), STATUS_INVALID);
    for (uint64_t nth = 1; nth <= 3; ++nth) {
        mem_fail_nth(nth);
        assert_int_equal(alias_create((const float[]){1.0f}, 1, &t, &err), STATUS_NO_MEMORY);
    }
    mem_fail_nth(0);
}

#define W 37
#define H 11

static void make_map(float *weights)
{
    for (uint32_t i = 0; i < W * H; ++i)
        weights[i] = i % 5 == 0 ? 0.0f : powf(hash_unit(i + 99), 6.0f);
    for (uint32_t x = 0; x < W; ++x)
        weights[3 * W + x] = 0.0f;
    weights[7 * W + 20] = 1e6f;  /* a sun */
    weights[7 * W + 21] = 1e-6f; /* which leaves this cell one lattice point */
}

static void test_dist2d_density_is_exactly_what_is_drawn(void **state)
{
    (void)state;
    float weights[W * H];
    make_map(weights);
    Dist2d *d = NULL;
    assert_int_equal(dist2d_create(weights, W, H, &d, NULL), STATUS_OK);
    uint32_t rows[H] = {0}, cells[W] = {0};
    const float y_in_row_7 = 0.5f;
    for (uint32_t i = 0; i < LATTICE; ++i) {
        float pdf = 0.0f, u = (float)i * 0x1p-24f;
        float2 p = dist2d_sample(d, f2(0.5f, u), &pdf);
        ++rows[(uint32_t)(p.y * H)];
        p = dist2d_sample(d, f2(u, y_in_row_7), &pdf);
        assert_int_equal((uint32_t)(p.y * H), 7);
        assert_true(pdf == dist2d_pdf(d, p));
        ++cells[(uint32_t)(p.x * W)];
    }
    double sum = 0.0, total = 0.0;
    for (uint32_t i = 0; i < W * H; ++i)
        total += (double)weights[i];
    for (uint32_t y = 0; y < H; ++y) {
        double row = 0.0;
        for (uint32_t x = 0; x < W; ++x) {
            float pdf = dist2d_pdf(d, f2(((float)x + 0.5f) / W, ((float)y + 0.5f) / H));
            row += (double)pdf / (W * H);
            assert_true((pdf > 0.0f) == (weights[y * W + x] > 0.0f));
            double ideal = (double)weights[y * W + x] / total * W * H;
            assert_true(fabs((double)pdf - ideal) < 1e-4 * ideal + 1e-3);
        }
        assert_true(fabs(row - rows[y] / (double)LATTICE) < 1e-7);
        sum += row;
    }
    assert_true(fabs(sum - 1.0) < 1e-6);
    for (uint32_t x = 0; x < W; ++x) {
        float pdf = dist2d_pdf(d, f2(((float)x + 0.5f) / W, 7.5f / H));
        double expected = (double)cells[x] / LATTICE * (rows[7] / (double)LATTICE) * W * H;
        assert_true(fabs((double)pdf - expected) <= 1e-6 * expected);
    }
    dist2d_destroy(d);
}

/* Integrals of a function that the map knows nothing of, against brute force over the cells. */
static void test_dist2d_integrates(void **state)
{
    (void)state;
    float weights[W * H];
    make_map(weights);
    weights[7 * W + 20] = 1.0f;
    Dist2d *d = NULL;
    assert_int_equal(dist2d_create(weights, W, H, &d, NULL), STATUS_OK);
    double brute = 0.0, estimate = 0.0;
    for (uint32_t i = 0; i < W * H; ++i)
        brute += (double)weights[i] * (1.0 + i % W) / (W * H);
    Sampler sobol = {SAMPLER_SOBOL};
    const uint32_t samples = 1 << 18;
    for (uint32_t i = 0; i < samples; ++i) {
        float pdf = 0.0f;
        float2 p = dist2d_sample(d, sampler_2d(&sobol, sample_key(0, 0, i, 0), 0), &pdf);
        uint32_t x = (uint32_t)(p.x * W), y = (uint32_t)(p.y * H);
        estimate += (double)weights[y * W + x] * (1.0 + x) / (double)pdf / samples;
    }
    assert_true(fabs(estimate - brute) < 1e-3 * brute);
    dist2d_destroy(d);
}

static void test_dist2d_edges(void **state)
{
    (void)state;
    static const float black[6] = {0}, bad[2] = {1.0f, -INFINITY}, one[1] = {5.0f};
    Dist2d *d = NULL;
    Error err = {0};
    assert_int_equal(dist2d_create(black, 3, 2, &d, &err), STATUS_OK);
    for (uint32_t i = 0; i < 100; ++i) {
        float pdf = 0.0f;
        float2 p = dist2d_sample(d, f2(hash_unit(i), hash_unit(i + 500)), &pdf);
        assert_true(fabsf(pdf - 1.0f) < 1e-6f && p.x < 1.0f && p.y < 1.0f);
    }
    assert_true(fabsf(dist2d_pdf(d, f2(-3.0f, 17.0f)) - 1.0f) < 1e-6f);
    dist2d_destroy(d);
    assert_int_equal(dist2d_create(one, 1, 1, &d, &err), STATUS_OK);
    assert_true(dist2d_pdf(d, f2(0.0f, 1.0f)) == 1.0f);
    dist2d_destroy(d);
    assert_int_equal(dist2d_create(bad, 2, 1, &d, &err), STATUS_INVALID);
    assert_null(d);
    assert_string_equal(err.text, "weight (1, 0) of a 2D distribution is -inf");
    assert_int_equal(dist2d_create(one, 0, 1, &d, &err), STATUS_INVALID);
    assert_int_equal(dist2d_create(one, DIST2D_MAX_SIDE + 1, 1, &d, &err), STATUS_LIMIT);
    for (uint64_t nth = 1; nth <= 3; ++nth) {
        mem_fail_nth(nth);
        assert_int_equal(dist2d_create(one, 1, 1, &d, &err), STATUS_NO_MEMORY);
    }
    mem_fail_nth(0);
}

static void test_mis_weights_sum_to_one(void **state)
{
    (void)state;
    static const float pdfs[] = {1e-38f, 1e-3f, 1.0f, 7.5f, 1e20f, 3e38f};
    for (uint32_t a = 0; a < SORT_COUNT_OF(pdfs); ++a)
        for (uint32_t b = 0; b < SORT_COUNT_OF(pdfs); ++b)
            assert_true(fabsf(mis_power(pdfs[a], pdfs[b]) + mis_power(pdfs[b], pdfs[a]) - 1.0f) <
                        1e-6f);
    assert_true(mis_power(2.0f, 1.0f) == 0.8f);
    assert_true(mis_power(0.0f, 0.0f) == 0.0f && mis_power(1.0f, 0.0f) == 1.0f);
    assert_true(mis_power(INFINITY, 5.0f) == 1.0f && mis_power(5.0f, INFINITY) == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alias_draws_by_weight),
        cmocka_unit_test(test_alias_gives_back_a_uniform_remainder),
        cmocka_unit_test(test_alias_refuses_bad_weights),
        cmocka_unit_test(test_dist2d_density_is_exactly_what_is_drawn),
        cmocka_unit_test(test_dist2d_integrates),
        cmocka_unit_test(test_dist2d_edges),
        cmocka_unit_test(test_mis_weights_sum_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
