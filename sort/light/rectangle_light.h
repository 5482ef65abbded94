/* Rectangles of light as the programs of rectangle.ssl read them: rectangle_sample_run, rectangle_density_run and
 * rectangle_irradiance_run take the shapes that the functions here put into rows, points, and numbers. */
#ifndef SORT_LIGHT_RECTANGLE_LIGHT_H
#define SORT_LIGHT_RECTANGLE_LIGHT_H

#include "sort/light/light_shape.h"
#include "sort/light/rectangle_rows.h"

/* Sets the rectangle of one lane. */
void rectangle_set_shape(const LightShape *shape, uint32_t lane, RectangleRows *rows);
/* Sets one rectangle for all lanes, in less time. */
void rectangle_set_shapes(const LightShape *shape, RectangleRows *rows);
/* Sets the point of one lane. */
void rectangle_set_point(const LightQuery *from, uint32_t lane, RectangleRows *rows);

#endif
