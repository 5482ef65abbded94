/* Alias tables and the heuristics: what is drawn is exactly what the density
 * says, by running through all numbers that the samplers can give. */
#include "sort/sampling/alias.h"
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

static void test_mis_weights_sum_to_one(void **state)
{
    (void)state;
    static const float pdfs[] = {1e-38f, 1e-3f, 1.0f, 7.5f, 1e20f, 3e38f};
    for (uint32_t a = 0; a < SORT_COUNT_OF(pdfs); ++a)
        for (uint32_t b = 0; b < SORT_COUNT_OF(pdfs); ++b) {
            float by_power = mis_power(pdfs[a], pdfs[b]) + mis_power(pdfs[b], pdfs[a]);
            float by_balance = mis_balance(pdfs[a], pdfs[b]) + mis_balance(pdfs[b], pdfs[a]);
            assert_true(fabsf(by_power - 1.0f) < 1e-6f && fabsf(by_balance - 1.0f) < 1e-6f);
        }
    assert_true(mis_power(2.0f, 1.0f) == 0.8f);
    assert_true(mis_balance(3.0f, 1.0f) == 0.75f && mis_balance(0.0f, 0.0f) == 0.0f);
    assert_true(mis_balance(INFINITY, 5.0f) == 1.0f && mis_balance(5.0f, INFINITY) == 0.0f);
    assert_true(mis_power(0.0f, 0.0f) == 0.0f && mis_power(1.0f, 0.0f) == 1.0f);
    assert_true(mis_power(INFINITY, 5.0f) == 1.0f && mis_power(5.0f, INFINITY) == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alias_draws_by_weight),
        cmocka_unit_test(test_alias_gives_back_a_uniform_remainder),
        cmocka_unit_test(test_alias_refuses_bad_weights),
        cmocka_unit_test(test_mis_weights_sum_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
