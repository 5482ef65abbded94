#include "base/stat/chi2.h"

#include "base/alloc.h"
#include "base/check.h"
#include <math.h>
#include <stdlib.h>

/* Series for the lower function below a + 1, Lentz's continued fraction for the upper one above
 * [AbramowitzStegun1964 eq. 6.5.29, 6.5.31]. */
double chi2_survival(double x, double dof)
{
    double a = 0.5 * dof, z = 0.5 * x;
    if (z <= 0.0)
        return 1.0;
    double scale = exp(a * log(z) - z - lgamma(a));
    if (z < a + 1.0) {
        double term = 1.0 / a, sum = term;
        for (uint32_t n = 1; n < 100000 && term > sum * 1e-15; ++n) {
            term *= z / (a + n);
            sum += term;
        }
        return 1.0 - scale * sum;
    }
    const double tiny = 1e-300;
    double b = z + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, h = d;
    for (uint32_t n = 1; n < 100000; ++n) {
        double an = -(double)n * (n - a);
        b += 2.0;
        d = an * d + b;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = b + an / c;
        c = fabs(c) < tiny ? tiny : c;
        double delta = c * d;
        h *= delta;
        if (fabs(delta - 1.0) < 1e-15)
            break;
    }
    return scale * h;
}

typedef struct Cell {
    double expected;
    uint64_t observed;
} Cell;

static int compare_cells(const void *a, const void *b)
{
    double x = ((const Cell *)a)->expected, y = ((const Cell *)b)->expected;
    return (x > y) - (x < y);
}

Chi2Result chi2_test(const uint64_t *observed, const double *expected, uint32_t count)
{
    Chi2Result r = {0};
    Cell *cells = MEM_ARRAY(Cell, count);
    CHECK(cells);
    for (uint32_t i = 0; i < count; ++i)
        cells[i] = (Cell){expected[i], observed[i]};
    qsort(cells, count, sizeof *cells, compare_cells);
    double pool_expected = 0.0, pool_observed = 0.0;
    uint32_t terms = 0;
    for (uint32_t i = 0; i < count; ++i) {
        Cell c = cells[i];
        if (c.expected < 1e-6) {
            r.impossible += c.observed;
        } else if (c.expected < 5.0 || (pool_expected > 0.0 && pool_expected < 5.0)) {
            pool_expected += c.expected;
            pool_observed += (double)c.observed;
            ++r.pooled;
        } else {
            double d = (double)c.observed - c.expected;
            r.statistic += d * d / c.expected;
            ++r.cells;
            ++terms;
        }
    }
    mem_free(cells);
    if (pool_expected > 0.0) {
        double d = pool_observed - pool_expected;
        r.statistic += d * d / pool_expected;
        ++terms;
    }
    r.dof = terms > 0 ? terms - 1 : 0;
    r.p_value = r.impossible > 0 ? 0.0
                : r.dof > 0      ? chi2_survival(r.statistic, (double)r.dof)
                                 : 1.0;
    return r;
}

double chi2_sidak(double total, uint32_t tests)
{
    return 1.0 - pow(1.0 - total, 1.0 / (double)tests);
}

#define MAX_DEPTH 10

typedef struct Nested {
    Chi2Function f;
    void *data;
    double y, x0, x1, tolerance;
} Nested;

static double simpson(double (*g)(double, Nested *), Nested *n, double a, double b, double fa,
                      double fm, double fb, double whole, double tolerance, int depth)
{
    double m = 0.5 * (a + b), l = 0.5 * (a + m), r = 0.5 * (m + b);
    double fl = g(l, n), fr = g(r, n);
    double left = (m - a) / 6.0 * (fa + 4.0 * fl + fm),
           right = (b - m) / 6.0 * (fm + 4.0 * fr + fb);
    double error = left + right - whole;
    if (depth <= 0 || (depth <= MAX_DEPTH - 2 && fabs(error) <= 15.0 * tolerance))
        return left + right + error / 15.0;
    return simpson(g, n, a, m, fa, fl, fm, left, 0.5 * tolerance, depth - 1) +
           simpson(g, n, m, b, fm, fr, fb, right, 0.5 * tolerance, depth - 1);
}

/* At least eight intervals, at most 2^(MAX_DEPTH + 1): enough for an edge to be found within 1e-3 of the range. */
static double integrate(double (*g)(double, Nested *), Nested *n, double a, double b,
                        double tolerance)
{
    double fa = g(a, n), fm = g(0.5 * (a + b), n), fb = g(b, n);
    return simpson(g, n, a, b, fa, fm, fb, (b - a) / 6.0 * (fa + 4.0 * fm + fb), tolerance,
                   MAX_DEPTH);
}

static double inner(double x, Nested *n)
{
    return n->f(x, n->y, n->data);
}

static double outer(double y, Nested *n)
{
    n->y = y;
    return integrate(inner, n, n->x0, n->x1, n->tolerance);
}

double chi2_integrate(Chi2Function f, void *data, double x0, double x1, double y0, double y1,
                      double tolerance)
{
    Nested n = {f, data, 0.0, x0, x1, tolerance / (y1 - y0)};
    return integrate(outer, &n, y0, y1, tolerance);
}
