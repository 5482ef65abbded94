#include "tests/ssl/random/bounded.h"
#include <float.h>
#include <math.h>

/* Units in the last place of a float of this size; below the normal floats all are alike, and may be
 * flushed to zero. */
static double ulp(double size)
{
    return fmax(size * 0x1p-23, (double)FLT_MIN);
}

Bounded bounded_unknown(double v)
{
    return (Bounded){v, (double)INFINITY};
}

bool bounded_is_known(Bounded x)
{
    return x.e < (double)FLT_MAX && fabs(x.v) < (double)FLT_MAX; /* false for NaN */
}

Bounded bounded_round(double v, double e, double ulps)
{
    if (!(e < (double)FLT_MAX) || !(fabs(v) + e < 0.5 * (double)FLT_MAX))
        return bounded_unknown(v);
    if (e == 0 && ulps <= 0.5 && (double)(float)v == v)
        return exactly(v);
    return (Bounded){v, e + ulps * ulp(fabs(v) + e) + fabs(v) * 0x1p-51};
}

Bounded bounded_neg(Bounded a)
{
    return (Bounded){-a.v, a.e};
}

Bounded bounded_add(Bounded a, Bounded b)
{
    return bounded_round(a.v + b.v, a.e + b.e, 0.5);
}

Bounded bounded_sub(Bounded a, Bounded b)
{
    return bounded_round(a.v - b.v, a.e + b.e, 0.5);
}

Bounded bounded_mul(Bounded a, Bounded b)
{
    if ((a.v == 0 && a.e == 0 && bounded_is_known(b)) ||
        (b.v == 0 && b.e == 0 && bounded_is_known(a)))
        return exactly(0);
    return bounded_round(a.v * b.v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e, 0.5);
}

Bounded bounded_div(Bounded a, Bounded b)
{
    double v = a.v / b.v;
    if (!(fabs(b.v) > 2 * b.e) || b.v == 0)
        return bounded_unknown(v);
    return bounded_round(v, (a.e + fabs(v) * b.e) / (fabs(b.v) - b.e), 0.5);
}

static bool is_float(Bounded x)
{
    return x.e == 0 && (double)(float)x.v == x.v;
}

/* A double holds enough of the true result for rounding twice to be as good as once [Figueroa1995]. */
static Bounded computed(Bounded a, Bounded b, double v, Bounded otherwise)
{
    if (!is_float(a) || !is_float(b) || !(fabs(v) < (double)FLT_MAX))
        return otherwise;
    double rounded = (double)(float)v;
    bool is_tiny = v != 0 && fabs(v) < (double)FLT_MIN; /* may be flushed to zero */
    return is_tiny ? (Bounded){rounded, (double)FLT_MIN} : exactly(rounded);
}

Bounded computed_add(Bounded a, Bounded b)
{
    return computed(a, b, a.v + b.v, bounded_add(a, b));
}

Bounded computed_sub(Bounded a, Bounded b)
{
    return computed(a, b, a.v - b.v, bounded_sub(a, b));
}

Bounded computed_mul(Bounded a, Bounded b)
{
    return computed(a, b, a.v * b.v, bounded_mul(a, b));
}

Bounded computed_div(Bounded a, Bounded b)
{
    return computed(a, b, a.v / b.v, bounded_div(a, b));
}

static double total_sqrt(double x)
{
    return sqrt(fmax(0, x));
}

Bounded computed_sqrt(Bounded x)
{
    return computed(x, x, total_sqrt(x.v), bounded_monotonic(total_sqrt, x, 0.5));
}

/* The larger, or what is no number: fmax would drop it. */
static double worst(double a, double b)
{
    return a > b || a != a ? a : b;
}

Bounded bounded_either(Bounded a, Bounded b)
{
    return (Bounded){a.v, worst(a.e, b.e + fabs(a.v - b.v))};
}

Bounded bounded_monotonic(double (*f)(double), Bounded x, double ulps)
{
    double v = f(x.v);
    if (!bounded_is_known(x))
        return bounded_unknown(v);
    double e = x.e == 0 ? 0 : worst(fabs(f(x.v + x.e) - v), fabs(f(x.v - x.e) - v));
    return bounded_round(v, e, ulps);
}

Bounded bounded_monotonic2(double (*f)(double, double), Bounded x, Bounded y, double ulps)
{
    double v = f(x.v, y.v), e = 0;
    if (!bounded_is_known(x) || !bounded_is_known(y))
        return bounded_unknown(v);
    for (int i = -1; i <= 1; i += 2)
        for (int j = -1; j <= 1; j += 2)
            e = worst(e, fabs(f(x.v + i * x.e, y.v + j * y.e) - v));
    return bounded_round(v, e, ulps);
}

Bounded bounded_smooth(double (*f)(double), Bounded x, double slope, double ulps)
{
    return bounded_round(f(x.v), slope * x.e, ulps);
}

int bounded_compare(Bounded a, Bounded b, bool *out_is_known)
{
    bool are_exact = a.e == 0 && b.e == 0;
    *out_is_known = are_exact || fabs(a.v - b.v) > a.e + b.e;
    return a.v < b.v ? -1 : a.v > b.v ? 1 : 0;
}
