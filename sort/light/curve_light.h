/* A segment of a tube as a light: places on it by u along it and an angle around it, seen from a point.
 *
 *   cubic    S = C + r e
 *   linear   the cone of curve.h without the spheres at its ends: S = C + r n, n at the angle of the cone
 *
 * e is drawn evenly from the half of the circle that faces the point, u from all of the segment. The density in solid angle is
 * that over |det(S_u, S_angle, S - point)|, in world space, times the cube of the distance: so no transform bends it. What is
 * not drawn has density 0: the spheres, and what of a tapered or bent tube faces the point from its far half. Ribbons
 * are not here: Embree cuts them into flat pieces beside which their mathematical place lies.
 *
 * Pure functions, any thread. Units: metres of the world, steradians. */
#ifndef SORT_LIGHT_CURVE_LIGHT_H
#define SORT_LIGHT_CURVE_LIGHT_H

#include "sort/scene/scene.h"

typedef struct CurvePlace {
    float u; /* of the segment */
    float3 wi;
    float distance_m, pdf_solid_angle;
} CurvePlace;

/* A place on the segment, as it is at `time` of the shutter, and its direction from `position`. False: nothing is seen
 * there. */
bool curve_light_sample(const Scene *scene, uint32_t instance, uint32_t segment, float time,
                        float3 position, float2 u, CurvePlace *out_place);
/* Returns the density with which curve_light_sample gives a place with this u, wi and distance_m. */
float curve_light_pdf(const Scene *scene, uint32_t instance, uint32_t segment, float time,
                      float3 position, const CurvePlace *place);

/* The area of the segment as a tube in the middle of the shutter, roughly. */
float curve_light_area(const Scene *scene, uint32_t instance, uint32_t segment);
/* A box around all that it is over the shutter. */
void curve_light_bounds(const Scene *scene, uint32_t instance, uint32_t segment, float3 *out_lower,
                        float3 *out_upper);

#endif
