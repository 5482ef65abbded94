#include "tests/ssl/random/dual.h"
#include <float.h>
#include <math.h>
#include <string.h>

void decide(Decisions *d, int64_t outcome, bool is_known)
{
    d->hash = (d->hash ^ (uint64_t)outcome) * 0x9e3779b97f4a7c15u;
    d->hash ^= d->hash >> 29;
    d->is_doubtful |= !is_known;
}

Dual dual_of(double v)
{
    return (Dual){.v = exactly(v)};
}

Dual dual_neg(Dual a)
{
    return (Dual){bounded_neg(a.v), {bounded_neg(a.d[0]), bounded_neg(a.d[1])}};
}

Dual dual_add(Dual a, Dual b)
{
    return (Dual){computed_add(a.v, b.v),
                  {bounded_add(a.d[0], b.d[0]), bounded_add(a.d[1], b.d[1])}};
}

Dual dual_sub(Dual a, Dual b)
{
    return (Dual){computed_sub(a.v, b.v),
                  {bounded_sub(a.d[0], b.d[0]), bounded_sub(a.d[1], b.d[1])}};
}

/* value, and derivatives p x' + q y'. A p of 0 is there too: of an x' that is no number it makes none. */
static Dual chain2(Bounded value, Dual x, Bounded p, Dual y, Bounded q)
{
    Dual out = {.v = value};
    for (int i = 0; i < DUAL_DIRECTIONS; ++i)
        out.d[i] = bounded_add(bounded_mul(p, x.d[i]), bounded_mul(q, y.d[i]));
    return out;
}

static Dual chain(Bounded value, Dual x, Bounded p)
{
    Dual out = {.v = value};
    for (int i = 0; i < DUAL_DIRECTIONS; ++i)
        out.d[i] = bounded_mul(p, x.d[i]);
    return out;
}

Dual dual_mul(Dual a, Dual b)
{
    return chain2(computed_mul(a.v, b.v), a, b.v, b, a.v);
}

Dual dual_mul_fused(Dual a, Dual b)
{
    return chain2(bounded_mul(a.v, b.v), a, b.v, b, a.v);
}

Dual dual_div(Dual a, Dual b)
{
    Bounded v = computed_div(a.v, b.v), by_a = bounded_div(exactly(1), b.v);
    return chain2(v, a, by_a, b, bounded_neg(bounded_mul(v, by_a)));
}

/* --- one argument ------------------------------------------------------------------------------- */

#define MATH_ULPS(name, ulps) static const double ulps_of_##name = ulps;
#include "tests/ssl/random/math_ulps.inc"
#undef MATH_ULPS

static Bounded one_plus(Bounded x)
{
    return bounded_add(exactly(1), x);
}

static Bounded square(Bounded x)
{
    return bounded_mul(x, x);
}

static Bounded inverse(Bounded x)
{
    return bounded_div(exactly(1), x);
}

/* (1 - x) (1 + x) */
static Bounded one_minus_square(Bounded x)
{
    return bounded_mul(bounded_sub(exactly(1), x), one_plus(x));
}

static double unit_asin(double x)
{
    return asin(fmin(1, fmax(-1, x)));
}

static double unit_acos(double x)
{
    return acos(fmin(1, fmax(-1, x)));
}

static double inverse_sqrt(double x)
{
    return x <= 0 ? 0 : 1 / sqrt(x);
}

/* -1, 0, 1 as x is less than, equal to or greater than `border`. A border within the bound makes nothing
 * doubtful but the derivative, of which *out_is_known tells. */
static int side(Bounded x, double border, Decisions *decisions, bool *out_is_known)
{
    int s = bounded_compare(x, exactly(border), out_is_known);
    decide(decisions, s, true);
    return s;
}

/* A partial derivative that is 0 outside of a domain. */
static Bounded guarded(bool is_known, bool is_inside, Bounded p)
{
    return !is_known ? bounded_unknown(0) : is_inside ? p : exactly(0);
}

static Bounded sine(Bounded x)
{
    return bounded_smooth(sin, x, fmin(1, fabs(cos(x.v)) + x.e), ulps_of_sin);
}

static Bounded cosine(Bounded x)
{
    return bounded_smooth(cos, x, fmin(1, fabs(sin(x.v)) + x.e), ulps_of_cos);
}

static Dual tangent(Dual x)
{
    /* cos changes sign between the two ends, which are no more than half a turn apart: a pole is near. */
    if (!bounded_is_known(x.v) || x.v.e > 0.75 ||
        cos(x.v.v - 2 * x.v.e) * cos(x.v.v + 2 * x.v.e) <= 0)
        return chain(bounded_unknown(tan(x.v.v)), x, bounded_unknown(0));
    Bounded v = bounded_monotonic(tan, x.v, ulps_of_tan);
    return chain(v, x, one_plus(square(v)));
}

static double round_half_away(double x)
{
    return x < 0 ? -floor(0.5 - x) : floor(x + 0.5);
}

/* Within its bound of a jump the argument may be on either side: so may the value. */
static Dual step_function(double (*f)(double), Bounded x, Decisions *decisions)
{
    double v = f(x.v);
    decide(decisions, (int64_t)fmax(-1e9, fmin(1e9, v)), true);
    if (!bounded_is_known(x))
        return (Dual){.v = bounded_unknown(v)};
    double e = fmax(fabs(f(x.v + x.e) - v), fabs(f(x.v - x.e) - v)); /* finite */
    return (Dual){.v = bounded_round(v, x.e == 0 ? 0 : e, e == 0 ? 0 : 0.5)};
}

/* sqrt and what is like it: the value outside the domain is 0, and so is the derivative. */
static Dual root(const char *name, Dual x, Decisions *decisions)
{
    bool is_known;
    int s = side(x.v, 0, decisions, &is_known);
    if (name[0] == 'c') {
        Bounded v = bounded_monotonic(cbrt, x.v, ulps_of_cbrt);
        Bounded p = bounded_div(exactly(1.0 / 3), square(v));
        return chain(v, x, guarded(is_known, s != 0, p));
    }
    if (name[0] == 's') {
        Bounded v = computed_sqrt(x.v);
        return chain(v, x, guarded(is_known, s > 0, bounded_div(exactly(0.5), v)));
    }
    Bounded v = exactly(0);
    if (!is_known)
        v = bounded_unknown(0);
    else if (s > 0)
        v = bounded_monotonic(inverse_sqrt, x.v, ulps_of_inversesqrt);
    return chain(v, x, bounded_mul(exactly(-0.5), bounded_mul(v, square(v))));
}

static Dual logarithm(double (*f)(double), double ulps, double scale, Dual x, Decisions *decisions)
{
    bool is_known;
    int s = side(x.v, (double)FLT_MIN, decisions, &is_known);
    if (!is_known)
        return chain(bounded_unknown(0), x, bounded_unknown(0));
    if (s < 0)
        return chain(bounded_round(f((double)FLT_MIN), 0, ulps), x, exactly(0));
    return chain(bounded_monotonic(f, x.v, ulps), x,
                 bounded_div(bounded_round(scale, 0, 0.5), x.v));
}

static Dual logarithm1(Dual x, Decisions *decisions)
{
    bool is_known;
    int s = side(x.v, -1, decisions, &is_known);
    if (!is_known)
        return chain(bounded_unknown(0), x, bounded_unknown(0));
    if (s <= 0)
        return chain(bounded_round(log((double)FLT_MIN), 0, ulps_of_log1p), x, exactly(0));
    return chain(bounded_monotonic(log1p, x.v, ulps_of_log1p), x, inverse(one_plus(x.v)));
}

/* A sum of squares that may be computed as the square of its root, which is not exact where the sum is. */
static Bounded by_root(Bounded sum)
{
    sum.e += 4 * 0x1p-24 * fabs(sum.v);
    return sum;
}

static Dual arc_tangent(Dual x)
{
    return chain(bounded_monotonic(atan, x.v, ulps_of_atan), x,
                 inverse(by_root(one_plus(square(x.v)))));
}

static Dual arc(bool is_sine, Dual x, Decisions *decisions)
{
    bool knows_low, knows_high;
    bool is_inside = side(x.v, -1, decisions, &knows_low) > 0;
    is_inside &= side(x.v, 1, decisions, &knows_high) < 0;
    Bounded v = bounded_monotonic(is_sine ? unit_asin : unit_acos, x.v,
                                  is_sine ? ulps_of_asin : ulps_of_acos);
    Bounded p = is_inside
                    ? bounded_monotonic(inverse_sqrt, one_minus_square(x.v), ulps_of_inversesqrt)
                    : exactly(0);
    return chain(v, x, guarded(knows_low && knows_high, is_inside, is_sine ? p : bounded_neg(p)));
}

static Dual exponential(const char *name, Dual x)
{
    if (name[3] == '2') {
        Bounded v = bounded_monotonic(exp2, x.v, ulps_of_exp2);
        return chain(v, x, bounded_mul(v, bounded_round(log(2), 0, 0.5)));
    }
    if (name[3] == 'm') {
        Bounded v = bounded_monotonic(expm1, x.v, ulps_of_expm1);
        return chain(v, x, one_plus(v));
    }
    Bounded v = bounded_monotonic(exp, x.v, ulps_of_exp);
    return chain(v, x, v);
}

static Dual hyperbolic(const char *name, Dual x)
{
    Bounded s = bounded_monotonic(sinh, x.v, ulps_of_sinh);
    Bounded c = bounded_smooth(cosh, x.v, sinh(fabs(x.v.v) + x.v.e), ulps_of_cosh);
    if (name[0] == 's')
        return chain(s, x, c);
    if (name[0] == 'c')
        return chain(c, x, s);
    Bounded t = bounded_monotonic(tanh, x.v, ulps_of_tanh);
    return chain(t, x, one_minus_square(t));
}

static Dual either_dual(Dual a, Dual b)
{
    return (Dual){bounded_either(a.v, b.v),
                  {bounded_either(a.d[0], b.d[0]), bounded_either(a.d[1], b.d[1])}};
}

static Dual absolute(Dual x, Decisions *decisions)
{
    bool is_known;
    Dual minus = dual_neg(x);
    if (side(x.v, 0, decisions, &is_known) >= 0)
        return is_known ? x : either_dual(x, minus);
    return is_known ? minus : either_dual(minus, x);
}

static Dual sign_of(Dual x, Decisions *decisions)
{
    bool is_known;
    int s = side(x.v, 0, decisions, &is_known);
    return (Dual){.v = {s, is_known ? 0 : 2}};
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; ++names)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool dual_function(const char *name, Dual x, Decisions *decisions, Dual *out)
{
    static const char *const roots[] = {"sqrt", "cbrt", "inversesqrt", NULL};
    static const char *const exponentials[] = {"exp", "exp2", "expm1", NULL};
    static const char *const hyperbolics[] = {"sinh", "cosh", "tanh", NULL};
    if (strcmp(name, "floor") == 0)
        *out = step_function(floor, x.v, decisions);
    else if (strcmp(name, "ceil") == 0)
        *out = step_function(ceil, x.v, decisions);
    else if (strcmp(name, "trunc") == 0)
        *out = step_function(trunc, x.v, decisions);
    else if (strcmp(name, "round") == 0)
        *out = step_function(round_half_away, x.v, decisions);
    else if (is_one_of(name, roots))
        *out = root(name, x, decisions);
    else if (is_one_of(name, exponentials))
        *out = exponential(name, x);
    else if (is_one_of(name, hyperbolics))
        *out = hyperbolic(name, x);
    else if (strcmp(name, "sin") == 0)
        *out = chain(sine(x.v), x, cosine(x.v));
    else if (strcmp(name, "cos") == 0)
        *out = chain(cosine(x.v), x, bounded_neg(sine(x.v)));
    else if (strcmp(name, "tan") == 0)
        *out = tangent(x);
    else if (strcmp(name, "asin") == 0 || strcmp(name, "acos") == 0)
        *out = arc(name[1] == 's', x, decisions);
    else if (strcmp(name, "atan") == 0)
        *out = arc_tangent(x);
    else if (strcmp(name, "log") == 0)
        *out = logarithm(log, ulps_of_log, 1, x, decisions);
    else if (strcmp(name, "log2") == 0)
        *out = logarithm(log2, ulps_of_log2, 1 / log(2), x, decisions);
    else if (strcmp(name, "log10") == 0)
        *out = logarithm(log10, ulps_of_log10, 1 / log(10), x, decisions);
    else if (strcmp(name, "log1p") == 0)
        *out = logarithm1(x, decisions);
    else if (strcmp(name, "abs") == 0 || strcmp(name, "fabs") == 0)
        *out = absolute(x, decisions);
    else if (strcmp(name, "sign") == 0)
        *out = sign_of(x, decisions);
    else
        return false;
    return true;
}

/* --- two arguments ------------------------------------------------------------------------------ */

/* A minimum or maximum of computed values; on a tie of exact values min takes x and max takes y. */
static Dual extreme(bool is_min, Dual x, Dual y, Decisions *decisions)
{
    bool is_known;
    int order = bounded_compare(x.v, y.v, &is_known);
    bool takes_x = is_min ? order <= 0 : order > 0;
    decide(decisions, takes_x ? 1 : 0, true);
    if (is_known)
        return takes_x ? x : y;
    return takes_x ? either_dual(x, y) : either_dual(y, x);
}

static Dual remainder_of(Dual x, Dual y, Decisions *decisions)
{
    double q = trunc(x.v.v / y.v.v), v = fmod(x.v.v, y.v.v);
    bool may_be_zero = !(fabs(y.v.v) > 2 * y.v.e);
    if (may_be_zero || !bounded_is_known(x.v) || !bounded_is_known(y.v) || fabs(q) > 0x1p20)
        return chain2(bounded_unknown(v), x, exactly(1), y, bounded_unknown(-q));
    /* The quotient must be the same all over the bounds: neither x - q y nor x - (q + 1) y may change its sign there. */
    double slack = (x.v.e + (fabs(q) + 1) * y.v.e) * 2;
    bool is_known = slack == 0 || (fabs(v) > slack && fabs(y.v.v) - fabs(v) > slack) ||
                    (q == 0 && fabs(y.v.v) - fabs(v) > slack);
    decide(decisions, (int64_t)q, true);
    if (!is_known)
        return chain2(bounded_unknown(v), x, exactly(1), y, bounded_unknown(-q));
    return chain2(bounded_round(v, x.v.e + fabs(q) * y.v.e, 0.5), x, exactly(1), y, exactly(-q));
}

static Dual power(Dual x, Dual y, Decisions *decisions)
{
    bool is_whole = y.v.e == 0 && y.v.v == trunc(y.v.v) && fabs(y.v.v) < 0x1p23;
    bool is_known;
    int sign = side(x.v, 0, decisions, &is_known);
    if (!is_known || (sign < 0 && !is_whole && y.v.e > 0)) /* it may be whole by accident */
        return chain2(bounded_unknown(0), x, bounded_unknown(0), y, bounded_unknown(0));
    if (sign < 0 && !is_whole)
        return chain2(exactly(0), x, exactly(0), y, exactly(0));
    if (sign == 0) {
        int order = side(y.v, 0, decisions, &is_known);
        if (!is_known)
            return chain(bounded_unknown(0), x, bounded_unknown(0));
        double v = order > 0 ? 0 : order == 0 ? 1 : (double)INFINITY;
        return chain2(order >= 0 ? exactly(v) : bounded_unknown(v), x,
                      exactly(y.v.v == 1 && y.v.e == 0 ? 1 : 0), y, exactly(0));
    }
    Bounded v = bounded_monotonic2(pow, x.v, y.v, ulps_of_pow);
    Bounded by_x = bounded_div(bounded_mul(y.v, v), x.v), by_y = exactly(0);
    if (sign > 0)
        by_y = bounded_mul(v, bounded_monotonic(log, x.v, ulps_of_log));
    return chain2(v, x, by_x, y, by_y);
}

static Dual arc_tangent2(Dual y, Dual x, Decisions *decisions)
{
    double r = hypot(x.v.v, y.v.v), doubt = x.v.e + y.v.e;
    Bounded r2 = by_root(bounded_add(square(x.v), square(y.v)));
    if (!(r > 4 * doubt) || r == 0)
        return chain(bounded_unknown(0), x, bounded_unknown(0));
    /* The cut along -x: on it the sign of zero decides. */
    bool is_known = x.v.v > x.v.e || fabs(y.v.v) > y.v.e;
    decide(decisions, y.v.v < 0, true);
    Bounded v = bounded_round(atan2(y.v.v, x.v.v), doubt / (r - doubt), ulps_of_atan2);
    if (!is_known)
        v = bounded_unknown(v.v);
    return chain2(v, y, bounded_div(x.v, r2), x, bounded_neg(bounded_div(y.v, r2)));
}

static Dual hypotenuse(Dual x, Dual y)
{
    double r = hypot(x.v.v, y.v.v);
    Bounded v = bounded_round(r, x.v.e + y.v.e, ulps_of_hypot);
    if (r == 0 && v.e == 0)
        return chain2(exactly(0), x, exactly(0), y, exactly(0));
    return chain2(v, x, bounded_div(x.v, v), y, bounded_div(y.v, v));
}

bool dual_function2(const char *name, Dual x, Dual y, Decisions *decisions, Dual *out)
{
    if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
        *out = extreme(name[1] == 'i', x, y, decisions);
    else if (strcmp(name, "fmod") == 0)
        *out = remainder_of(x, y, decisions);
    else if (strcmp(name, "pow") == 0)
        *out = power(x, y, decisions);
    else if (strcmp(name, "atan2") == 0)
        *out = arc_tangent2(x, y, decisions);
    else if (strcmp(name, "hypot") == 0)
        *out = hypotenuse(x, y);
    else
        return false;
    return true;
}
