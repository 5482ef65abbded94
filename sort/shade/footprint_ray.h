/* The differential of the next ray: how wide a path's footprint is after it scatters.
 *
 * Mirror and smooth refraction carry differentials exactly [Igehy1999]. After any other event the path
 * stands for a cone: one sample of density p represents a solid angle of about 1/p, spread over
 * g = 2 / sqrt(pi p) radians. The cone is turned back into two differentials at right angles.
 *
 * A pixel's differential is cut by the plane of a triangle, and grows without end at grazing angles. A cone is only the
 * place of one sample among others, whose light is not the same over it: what it looks up is a disc about that place, as
 * wide as the cone is there. */
#ifndef SORT_SHADE_FOOTPRINT_RAY_H
#define SORT_SHADE_FOOTPRINT_RAY_H

#include "sort/shade/hit.h"

/* Share of the angle 2 / sqrt(pi p) that is taken. What is blurred over the cone counts with the weight of its middle,
 * so that the error of the mean grows with the square of the share: see docs/decisions/0004. */
#define FOOTPRINT_SPREAD 0.125f
/* The widest cone, in radians. */
#define FOOTPRINT_SPREAD_MAX 0.25f
/* Share of the cone of light sampling within which emission is blurred: 1/64 radian at most. */
#define FOOTPRINT_LIGHT (1.0f / 16)

/* Mirrored at the unit normal n, which bends as the surface's shading normal does. */
void footprint_reflect(const SurfaceHit *hit, float3 n, RayDiff *out_diff);
/* Refracted into wi; eta: index on wi's side over index on the viewer's side. */
void footprint_refract(const SurfaceHit *hit, float3 n, float3 wi, float eta, RayDiff *out_diff);
/* Scattered along wi with a density per solid angle; never narrower than the sample that came in, which has
 * `pixel_scale` of the footprint as long as that is a pixel's (see shade_pixel_scale). */
void footprint_scatter(const SurfaceHit *hit, float3 wi, float pdf_solid_angle, float pixel_scale,
                       RayDiff *out_diff);
/* Returns the width of the footprint at a hit, in metres. */
float footprint_width(const SurfaceHit *hit);
/* The cone of the density alone, from a place where the footprint is `width` metres wide. */
void footprint_cone(float3 wi, float width, float pdf_solid_angle, RayDiff *out_diff);
/* FOOTPRINT_LIGHT of that cone, from a point. The emission of a mesh, which several strategies find, is looked up with
 * this one, so that all see the same: see docs/decisions/0004. */
void footprint_light(float3 wi, float pdf_solid_angle, RayDiff *out_diff);

#endif
