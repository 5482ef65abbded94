#include "base/stat/ztest.h"

#include <math.h>

void ztest_add(ZTest *z, double value)
{
    double delta = value - z->mean;
    ++z->count;
    z->mean += delta / (double)z->count;
    z->sum_squares += delta * (value - z->mean);
}

static double mean_variance(const ZTest *z)
{
    return z->count > 1 ? z->sum_squares / ((double)z->count * ((double)z->count - 1.0)) : 0.0;
}

double ztest_standard_error(const ZTest *z)
{
    return sqrt(mean_variance(z));
}

static double two_sided(double distance, double variance)
{
    if (distance <= 0.0)
        return 1.0;
    return variance > 0.0 ? erfc(distance / sqrt(2.0 * variance)) : 0.0;
}

double ztest_p_value(const ZTest *z, double expected, double bias)
{
    return two_sided(fabs(z->mean - expected) - bias, mean_variance(z));
}

double ztest_p_value_two(const ZTest *a, const ZTest *b)
{
    return two_sided(fabs(a->mean - b->mean), mean_variance(a) + mean_variance(b));
}
