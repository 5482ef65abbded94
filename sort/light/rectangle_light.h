/* Light sampling of rectangles from many points at once, with a spread or without: see light_shape.h. */
#ifndef SORT_LIGHT_RECTANGLE_LIGHT_H
#define SORT_LIGHT_RECTANGLE_LIGHT_H

#include "sort/light/light_shape.h"
#include "sort/light/spherical_rectangle.h"

/* One number of each point, in double precision. */
typedef double RectangleRow[SSL_BLOCK];

/* Rectangles as rows: the fields of LightShape, of the rectangle of each point. */
typedef struct RectangleShapes {
    alignas(64) RectangleRow centre[3], axis[3][3], half_size[2];
    RectangleRow cot_spread, spread_scale, plane_error;
    RectangleRow two_sided; /* 1 or 0 */
} RectangleShapes;

/* What is computed on the way. */
typedef struct RectangleWork {
    RectangleShapes shapes;
    SphericalRectangles seen;
    RectangleRow x0, x1, y0, y1, area; /* the part of the rectangle that is sampled, in its axes */
    RectangleRow height;               /* of the point over its plane, on the bright side */
} RectangleWork;

typedef struct RectangleLights {
    /* What is asked of each point: the rectangle, the numbers that it is sampled by, and the fields of LightQuery. */
    const LightShape *shape[SSL_BLOCK];
    alignas(64) WideRow u[2], position[3], normal[3];
    uint32_t sides[SSL_BLOCK];
    /* The answer: -1 where something bright is seen, else 0; then what light_shape_sample, light_shape_beam and light_shape_point
     * say. */
    WideInts is_seen;
    WideRow wi[3], distance_m, pdf, beam;
    WideRow end[3], end_n[3], end_error_m;
    WideRow irradiance; /* rectangle_lights_irradiance */
    RectangleWork work;
} RectangleLights;

/* Copies what is asked for a point to another one. */
void rectangle_lights_copy(RectangleLights *lights, uint32_t to, uint32_t from);
/* Samples the rectangles of points [0, count). What comes out for a point does not depend on the others, nor on the CPU. */
void rectangle_lights_sample(RectangleLights *lights, uint32_t count);
/* Estimates the irradiance at points [0, count) that a radiance of 1 on the whole rectangle brings, without shadows; where no side
 * counts, without cosine. u is not read. */
void rectangle_lights_irradiance(RectangleLights *lights, uint32_t count);

/* Samples them by the code of one class of CPUs: see rectangle_light_rows.inl. count: a multiple of 4. */
void rectangle_light_rows(RectangleLights *lights, uint32_t count);
void rectangle_light_rows_v3(RectangleLights *lights, uint32_t count);
void rectangle_light_rows_v4(RectangleLights *lights, uint32_t count);
/* And their irradiances. */
void rectangle_irradiance_rows(RectangleLights *lights, uint32_t count);
void rectangle_irradiance_rows_v3(RectangleLights *lights, uint32_t count);
void rectangle_irradiance_rows_v4(RectangleLights *lights, uint32_t count);

#endif
