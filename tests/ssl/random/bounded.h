/* Numbers with a running error bound: the true value in double precision, and how far the value that a
 * program computes in single precision may be from it.
 *
 *   |computed - v| <= e      e = 0: the computed value is v, exactly
 *
 * Every operation adds to the bound of its arguments what its own rounding may add, or, for a function of
 * the library, so many units in the last place as math_ulps.inc grants it. A bound that is not finite says that
 * nothing is known (a guard or a kink is within the bound of the argument). */
#ifndef TESTS_SSL_RANDOM_BOUNDED_H
#define TESTS_SSL_RANDOM_BOUNDED_H

#include <stdbool.h>

typedef struct Bounded {
    double v, e;
} Bounded;

/* A value that the program holds exactly. */
static inline Bounded exactly(double v)
{
    return (Bounded){v, 0};
}

Bounded bounded_unknown(double v);
bool bounded_is_known(Bounded x);
/* v rounded once, after an error of e in what it was computed from; ulps: 0.5 for the nearest float. */
Bounded bounded_round(double v, double e, double ulps);

/* The results of operations that IEEE 754 rounds correctly. If both operands are known exactly, so is the rounded
 * result. */
Bounded computed_add(Bounded a, Bounded b);
Bounded computed_sub(Bounded a, Bounded b);
Bounded computed_mul(Bounded a, Bounded b);
Bounded computed_div(Bounded a, Bounded b);
Bounded computed_sqrt(Bounded x); /* of x < 0: 0 */

/* Bounds for derivatives, whose formulae and order of evaluation the language leaves open. */
Bounded bounded_neg(Bounded a);
Bounded bounded_add(Bounded a, Bounded b);
Bounded bounded_sub(Bounded a, Bounded b);
Bounded bounded_mul(Bounded a, Bounded b);
Bounded bounded_div(Bounded a, Bounded b);
/* a, or b: it is not known which. */
Bounded bounded_either(Bounded a, Bounded b);
/* f of an argument within its bound: f must be monotonic there. */
Bounded bounded_monotonic(double (*f)(double), Bounded x, double ulps);
Bounded bounded_monotonic2(double (*f)(double, double), Bounded x, Bounded y, double ulps);
/* |f'| <= slope near x. */
Bounded bounded_smooth(double (*f)(double), Bounded x, double slope, double ulps);

/* -1, 0, 1 as the computed a is less than, equal to or greater than the computed b; *out_is_known is false
 * when the bounds overlap. */
int bounded_compare(Bounded a, Bounded b, bool *out_is_known);

#endif
