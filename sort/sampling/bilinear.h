/* Points of the unit square by a density that is bilinear: how a cosine varies over what is seen under a small angle, to
 * first order [Hart2020]. In double precision; nothing branches, so that loops over many are computed many lanes at a
 * time. Pure. */
#ifndef SORT_SAMPLING_BILINEAR_H
#define SORT_SAMPLING_BILINEAR_H

#include "sort/sampling/inverse_root.h"

/* The density at the corners (0, 0), (1, 0), (0, 1) and (1, 1). All above 0; their mean is 1. */
typedef struct Bilinear {
    double at_00, at_10, at_01, at_11;
} Bilinear;

static inline double bilinear_density(const Bilinear *b, double u, double v)
{
    double south = b->at_00 + u * (b->at_10 - b->at_00);
    double north = b->at_01 + u * (b->at_11 - b->at_01);
    return south + v * (north - south);
}

/* Returns the number of [0, 1] below which the part u of a density lies that rises from a to b. */
static inline double linear_inverse(double a, double b, double u)
{
    double square = a * a + u * (b * b - a * a);
    double t = u * (a + b) / (a + square * inverse_root(square));
    return t < 1.0 ? t : 1.0;
}

/* Moves uniform numbers u and v of [0, 1) to the density. Keeps their order. */
static inline void bilinear_warp(const Bilinear *b, double *u, double *v)
{
    double x = linear_inverse(b->at_00 + b->at_01, b->at_10 + b->at_11, *u);
    double south = b->at_00 + x * (b->at_10 - b->at_00);
    double north = b->at_01 + x * (b->at_11 - b->at_01);
    *u = x;
    *v = linear_inverse(south, north, *v);
}

#endif
