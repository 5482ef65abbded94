/* Is a Monte Carlo mean what it should be? Any thread. */
#ifndef SORT_BASE_STAT_ZTEST_H
#define SORT_BASE_STAT_ZTEST_H

#include "base/compiler.h"

/* Running mean and variance [Welford1962]. Zero-initialise. */
typedef struct ZTest {
    uint64_t count;
    double mean, sum_squares;
} ZTest;

void ztest_add(ZTest *z, double value);
/* Returns the standard error of the mean. */
double ztest_standard_error(const ZTest *z);
/* Two-sided chance of a mean this far from `expected` or farther. The values are sums of many, or there are
 * many values: normal. bias: how far off the true mean may lie (rounding, tables), forgiven first. */
double ztest_p_value(const ZTest *z, double expected, double bias);
/* Returns the two-sided p value of a difference between two means of independent samples (Welch). */
double ztest_p_value_two(const ZTest *a, const ZTest *b);

#endif
