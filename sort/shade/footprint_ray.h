/* The differential of the next ray: how wide a path's footprint is after it scatters.
 *
 * Mirror and smooth refraction carry differentials exactly [Igehy1999]. After any other event the path
 * stands for a cone: one sample of density p represents a solid angle of about 1/p, spread over
 * g = 2 / sqrt(pi p) radians. The cone is turned back into two differentials at right angles. */
#ifndef SORT_SHADE_FOOTPRINT_RAY_H
#define SORT_SHADE_FOOTPRINT_RAY_H

#include "sort/shade/hit.h"

/* Share of the angle 2 / sqrt(pi p) that is taken: below 1 trades a little noise for sharpness in what
 * is seen indirectly. */
#define FOOTPRINT_SPREAD 0.5f
/* The widest cone, in radians. */
#define FOOTPRINT_SPREAD_MAX 1.0f
/* Share of the cone of light sampling within which emission is blurred: the whole cone covers the light. */
#define FOOTPRINT_LIGHT (1.0f / 64)

/* Mirrored at the unit normal n, which bends as the surface's shading normal does. */
void footprint_reflect(const SurfaceHit *hit, float3 n, RayDiff *out_diff);
/* Refracted into wi; eta: index on wi's side over index on the viewer's side. */
void footprint_refract(const SurfaceHit *hit, float3 n, float3 wi, float eta, RayDiff *out_diff);
/* Straight on. */
void footprint_pass(const SurfaceHit *hit, RayDiff *out_diff);
/* Scattered along wi, or sent to a light, with a density per solid angle; never narrower than what came in. */
void footprint_scatter(const SurfaceHit *hit, float3 wi, float pdf_solid_angle, RayDiff *out_diff);
/* The width of the footprint at a hit, in metres. */
float footprint_width(const SurfaceHit *hit);
/* The cone of the density alone, from a place where the footprint is `width` metres wide. */
void footprint_cone(float3 wi, float width, float pdf_solid_angle, RayDiff *out_diff);
/* FOOTPRINT_LIGHT of that cone, from a point. The emission of a mesh, which several strategies find, is looked up with
 * this one, so that all see the same: see docs/decisions/0004. */
void footprint_light(float3 wi, float pdf_solid_angle, RayDiff *out_diff);

#endif
