/* The lights that are surfaces: rectangle, disk (or ellipse), sphere, and points and spots that have a
 * radius. Geometry only, for the sampler (light.c) and
 * for the intersector (sort/accel), so that both mean the same surface. In double precision, but for samples of rectangles
 * (rectangle.ssl): a lamp seen from far away is a small angle.
 *
 * A shape has a bright side, toward -z of the light (outward for spheres; both for two-sided ones).
 * Seen from the dark side it does not exist.
 *
 * Flat shapes may have a spread: they shine into a cone of half angle b, as a soft box behind a grid does. In a
 * direction at the angle a from their axis the radiance is that of the light times
 *   max(0, 1 - tan a cot b) / (1 - b cot b),
 * whose denominator keeps the power. Only the part of the shape in whose cone a point lies is sampled for it.
 *
 * Points and spots with a radius are disks that face whoever looks: a direction from a point at the distance d to
 * the centre meets one when its angle from there has a tangent of at most radius / d. A ray that may not start
 * where one looks from meets the sphere about it, which holds the disk for every such place; light_shape_pdf says
 * whether it met the disk.
 *
 * Pure functions of immutable values: any thread. */
#ifndef SORT_LIGHT_LIGHT_SHAPE_H
#define SORT_LIGHT_LIGHT_SHAPE_H

#include "sort/light/light_query.h"
#include "sort/scene/ray.h"
#include "sort/scene/scene.h"

typedef struct LightShape {
    SceneLightKind kind; /* not DISTANT */
    bool is_two_sided;
    double centre[3];
    double axis[3][3];               /* unit x, y, z of the light in world space */
    double half_size[2];             /* rectangle, disk */
    double radius;                   /* sphere */
    double cot_spread, spread_scale; /* flat: of the formula above; cot 0: all the half space */
    double
        plane_error; /* rectangle: how far from it rays may meet the triangles that stand for it */
} LightShape;

/* True for those that have a surface. */
bool light_shape_exists(const SceneLight *light);
void light_shape_init(const SceneLight *light, LightShape *out_shape);
/* It is a disk that faces whoever looks. */
bool light_shape_faces(const LightShape *shape);
/* One side. */
double light_shape_area(const LightShape *shape);
void light_shape_bounds(const LightShape *shape, float3 *out_lower, float3 *out_upper);

/* The corners of a rectangle, in the order in which triangles (0, 1, 2) and (0, 2, 3) face the bright side. */
void light_shape_corners(const LightShape *shape, float3 out_corners[4]);

/* The bright surface that the ray meets first in (t_min, t_max). *out_ng: unit, on the bright side
 * (of a two-sided one: -z). */
bool light_shape_intersect(const LightShape *shape, float3 origin, float3 direction, float t_min,
                           float t_max, float *out_t, float3 *out_ng);

/* The factor on the light's radiance in the direction -wi; wi points to the light. 1 without spread. */
float light_shape_beam(const LightShape *shape, float3 wi);
/* The cosine of the half angle of the spread; 0 without. */
float light_shape_cos_spread(const LightShape *shape);

/* A direction from a point to the bright surface, with its density in solid angle. Uniform in solid
 * angle for spheres [Shirley1996], times the cosine at the point, nearly, for rectangles [Hart2020]; uniform in area for disks. False:
 * nothing bright is seen from there, or at the end of this direction. */
bool light_shape_sample(const LightShape *shape, const LightQuery *from, float2 u, float3 *out_wi,
                        float *out_distance_m, float *out_pdf_solid_angle);
/* The rounding of the point below, by its distance and place. */
#define LIGHT_SHAPE_ROUNDING (8.0f * RAY_ROUNDING)
/* The point of the surface that light_shape_sample has found, as far as rays from near `position` can tell. */
SurfacePoint light_shape_point(const LightShape *shape, float3 position, float3 direction,
                               float distance_m);
/* The density with which light_shape_sample gives `direction`, which meets the bright surface at
 * distance_m; 0 when it does not. */
float light_shape_pdf(const LightShape *shape, const LightQuery *from, float3 direction,
                      float distance_m);

#endif
