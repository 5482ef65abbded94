/* spherical_rectangles_run, compiled for each class of CPUs: see spherical_rectangle_rows.inl. */
#ifndef SORT_LIGHT_SPHERICAL_RECTANGLE_ROWS_H
#define SORT_LIGHT_SPHERICAL_RECTANGLE_ROWS_H

#include "sort/light/spherical_rectangle.h"

void spherical_rectangle_rows(SphericalRectangles *rows, uint32_t count);
void spherical_rectangle_rows_v3(SphericalRectangles *rows, uint32_t count);
void spherical_rectangle_rows_v4(SphericalRectangles *rows, uint32_t count);

#endif
