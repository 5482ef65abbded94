/* A rectangle as the eye sees it: its solid angle, and points on it evenly over that [Urena2013]. In double precision,
 * and with mathematics of its own, so that its bits are the same on every machine. Pure. */
#ifndef SORT_LIGHT_SPHERICAL_RECTANGLE_H
#define SORT_LIGHT_SPHERICAL_RECTANGLE_H

#include "base/vec.h"

/* [x0, x1] x [y0, y1] in its own plane, relative to the foot of the eye, which is `depth` before it. */
typedef struct SphericalRectangle {
    double x0, x1, y0, y1, depth;
    double west_re, west_im; /* a complex number whose angle is A(x0, y1) - A(x0, y0) */
    double solid_angle;
} SphericalRectangle;

/* depth >= 0. The solid angle is right to 1e-9 of itself as long as it is above 1e-7; 0 when it is lost in rounding. */
SphericalRectangle spherical_rectangle(double x0, double x1, double y0, double y1, double depth);
/* The point for u in [0, 1)^2. solid_angle: above 1e-7. */
void spherical_rectangle_point(const SphericalRectangle *r, float2 u, double *out_x, double *out_y);

#endif
