/* Angles in double precision, to 12 digits, for what is prepared once and for solid angles, which are differences. Short,
 * and the same bits on every machine. Floats have the functions of ssl/rt. Nothing branches, so that loops over many angles
 * are computed many lanes at a time. Header only. */
#ifndef SORT_SAMPLING_TURN_H
#define SORT_SAMPLING_TURN_H

#include "base/compiler.h"
#include <math.h>
#include <stdbool.h>

#define TURN_PI 3.14159265358979323846

/* Angles add where complex numbers are multiplied. */
typedef struct Complex {
    double re, im;
} Complex;

/* Returns exp(i x), cosine and sine of x in [0, 16 pi], by the series within an eighth of a turn. */
static inline Complex turn_unit(double x)
{
    int quarter = (int)(x * (2.0 / TURN_PI) + 0.5);
    double r = x - quarter * (0.5 * TURN_PI), r2 = r * r, c = 0.0, s = 0.0;
    SORT_UNROLL(7)
    for (int n = 14; n > 0; n -= 2) {
        c = 1.0 - c * r2 * (1.0 / (n * (n - 1)));
        s = 1.0 - s * r2 * (1.0 / (n * (n + 1)));
    }
    s *= r;
    double re = quarter & 1 ? -s : c, im = quarter & 1 ? c : s, side = quarter & 2 ? -1.0 : 1.0;
    return (Complex){side * re, side * im};
}

/* Returns the angle of a in (-pi, pi], by the series of the arc tangent up to tan(pi/8). */
static inline double turn_angle(Complex a)
{
    double x = fabs(a.re), y = fabs(a.im);
    double low = x < y ? x : y, high = x < y ? y : x;
    bool is_middle = low > 0.41421356237309503 * high;
    double t = (is_middle ? low - high : low) / (is_middle ? low + high : high), t2 = t * t;
    double sum = 0.0;
    SORT_UNROLL(14)
    for (int n = 27; n > 0; n -= 2)
        sum = (n & 2 ? -1.0 : 1.0) / n + sum * t2;
    double angle = (is_middle ? 0.25 * TURN_PI : 0.0) + sum * t;
    angle = x < y ? 0.5 * TURN_PI - angle : angle;
    angle = a.re < 0.0 ? TURN_PI - angle : angle;
    return high > 0.0 ? copysign(angle, a.im) : 0.0;
}

#endif
