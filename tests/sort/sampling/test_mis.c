/* The heuristics of multiple importance sampling, over all sizes of densities. */
#include "sort/sampling/mis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

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
        cmocka_unit_test(test_mis_weights_sum_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
