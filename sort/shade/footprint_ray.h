/* The differential of the next ray: how wide a path's footprint is after it scatters.
 *
 * Mirror and smooth refraction carry differentials exactly [Igehy1999]. After any other event the path
 * stands for a cone: one sample of density p represents a solid angle of about 1/p, spread over
 * g = 2 / sqrt(pi p) radians. The cone is turned back into two differentials at right angles.
 *
 * A pixel's differential is cut by the plane of a triangle, and grows without end at grazing angles. A cone is only the
 * place of one sample among others, whose light is not the same over it: what it looks up is a disc about that place, as
 * wide as the cone is there. footprint.ssl computes cones, and has their constants. */
#ifndef SORT_SHADE_FOOTPRINT_RAY_H
#define SORT_SHADE_FOOTPRINT_RAY_H

#include "sort/shade/surface_block.h"

/* Mirrored at the unit normal n, which bends as the surface's shading normal does. */
void footprint_reflect(const SurfaceHit *hit, float3 n, RayDiff *out_diff);
/* Refracted into wi; eta: index on wi's side over index on the viewer's side. */
void footprint_refract(const SurfaceHit *hit, float3 n, float3 wi, float eta, RayDiff *out_diff);
/* Goes on as it is, from `t` metres along the ray, turned with it from one unit direction to another. */
void footprint_turn(float t, float3 from, float3 to, RayDiff *diff);
/* Scattered along wi with a density per solid angle; never narrower than the sample that came in, which has
 * `pixel_scale` of the footprint as long as that is a pixel's (see shade_pixel_scale). */
void footprint_scatter(const SurfaceHit *hit, float3 wi, float pdf_solid_angle, float pixel_scale,
                       RayDiff *out_diff);
/* Does so for the surfaces of a block, in the lanes of `live`. out_diffs: by lane; may be those of the rays that met the
 * surfaces. */
void footprints_scatter(const SurfaceBlock *surfaces, const WideRow wi[3], const WideRow pdf,
                        float pixel_scale, uint16_t live, RayDiff *const out_diffs[SSL_BLOCK]);
/* Returns the width of the footprint at a hit, in metres. */
float footprint_width(const SurfaceHit *hit);
/* The cone of the density alone, from a place where the footprint is `width` metres wide. */
void footprint_cone(float3 wi, float width, float pdf_solid_angle, RayDiff *out_diff);
/* A share of that cone, from a point. The emission of a mesh, which several strategies find, is looked up with
 * this one, so that all see the same: see docs/decisions/0004. */
void footprint_light(float3 wi, float pdf_solid_angle, RayDiff *out_diff);

#endif
