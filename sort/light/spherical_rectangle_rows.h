/* Rectangles of many points and a point on each, compiled for each class of CPUs: see spherical_rectangle_rows.inl. */
#ifndef SORT_LIGHT_SPHERICAL_RECTANGLE_ROWS_H
#define SORT_LIGHT_SPHERICAL_RECTANGLE_ROWS_H

#include "sort/light/spherical_rectangle.h"

/* Computes the solid angle and the point of rectangles [0, count), with the bits of the functions for one. */
void spherical_rectangle_rows(SphericalRectangles *rows, uint32_t count);
void spherical_rectangle_rows_v3(SphericalRectangles *rows, uint32_t count);
void spherical_rectangle_rows_v4(SphericalRectangles *rows, uint32_t count);

#endif
