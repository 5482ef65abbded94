/* Pearson's chi-square test, and the integration that gives it its expectations. Pure, but for the
 * memory that a test of many cells takes; any thread. */
#ifndef SORT_BASE_STAT_CHI2_H
#define SORT_BASE_STAT_CHI2_H

#include "base/compiler.h"

/* P(X > x) for X chi-square distributed with `dof` degrees of freedom: the regularised upper incomplete gamma
 * function Q(dof/2, x/2), within 1e-10. */
double chi2_survival(double x, double dof);

typedef struct Chi2Result {
    double statistic, p_value;
    uint32_t dof;
    uint32_t cells, pooled; /* cells used by themselves, and those thrown together for being rare */
    uint64_t impossible;    /* observations in cells that should hold none: then p_value is 0 */
} Chi2Result;

/* Do `observed` counts come from a distribution with these expected counts? Cells that expect fewer than 5 are
 * pooled, rarest first, until the pool expects 5. Cells that expect less than 1e-6 of an observation may hold
 * none. The sums need not agree: give whatever is not in a cell a cell of its own. */
Chi2Result chi2_test(const uint64_t *observed, const double *expected, uint32_t count);

/* The significance of each of `tests` tests, so that the chance of any false alarm is `total` [Sidak1967]. */
double chi2_sidak(double total, uint32_t tests);

/* Integral of f over a rectangle by nested adaptive Simpson rules; tolerance absolute. */
typedef double (*Chi2Function)(double x, double y, void *data);
double chi2_integrate(Chi2Function f, void *data, double x0, double x1, double y0, double y1,
                      double tolerance);

#endif
