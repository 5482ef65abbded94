/* Where light comes from, as paths have found: a field of densities over directions, by place [Mueller2017]. Binary trees cut
 * space into regions, and each region has a quadtree over the sphere of directions (sphere_square.h), whose cells hold shares of
 * the light that arrives in the region. Directions are those from the region's centre to where rays of the place meet a
 * sphere, as large as light is far away (parallax.h). There is a binary tree for each of six sides that surfaces face,
 * so that what one wall sees is not drawn at another.
 *
 *   guide_field_create              one region a side, nothing known
 *   guide_field_record              any thread: what a vertex of a path has found
 *   guide_field_next                the field that was learned by it, with finer cells where there was more
 *   guide_field_region, _draw, _densities      what paths are drawn by, a block of points at once
 *
 * What is recorded is rounded once to an integer, and integers are summed. So a field depends on the set of its records, and
 * neither on their order nor on threads. Its memory has a limit: cells that would go beyond it are not cut further.
 *
 * A field is constant but for its sums. Records may come from many threads at once; guide_field_next and guide_field_destroy need
 * that none comes. */
#ifndef SORT_GUIDE_GUIDE_FIELD_H
#define SORT_GUIDE_GUIDE_FIELD_H

#include "base/error.h"
#include "base/vec.h"
#include "sort/wide/wide.h"

typedef struct GuideField GuideField;

enum {
    GUIDE_SIDES = 6,
    /* Shares of directions that the field may draw instead of a surface's own sampling, from none on. */
    GUIDE_CHANCES = 4,
    GUIDE_DEPTH_MAX = 16 /* of quadtrees */
};

typedef struct GuideFieldDesc {
    size_t size_bytes; /* sizeof(GuideFieldDesc) */
    float3 low,
        size; /* the box that is cut; what lies outside belongs to the regions at its surface */
    /* A typical radiance: records are rounded to 2^-20 of it, and count 2^20 of it at most. Above 0. */
    float radiance;
    uint64_t memory_bytes; /* the limit, at least 1 MiB */
} GuideFieldDesc;

/* A scatter at a vertex of a path, and what the path found behind it. */
typedef struct GuideRecord {
    float3 position, normal, direction;
    float distance_m; /* of what the direction leads to; INFINITY: unknown, or the sky */
    /* Radiance from the direction; the same times the BSDF and the cosine, over `pdf`. Mean of the channels. */
    float radiance, estimate;
    /* Densities per steradian of the direction: as it was drawn, by the surface's own sampling, and by the field. */
    float pdf, bsdf_pdf, guide_pdf;
    /* The fraction of the surface's own sampling that the field may take over; 0: the field took no part. */
    float share;
    uint64_t random; /* bits that blur the record's place; a function of the path alone */
} GuideRecord;

/* What a field holds, and what its records say. */
typedef struct GuideStats {
    uint32_t regions, quads;
    uint64_t bytes;
    bool is_full;     /* the limit stopped refinement */
    uint64_t records; /* that this field was learned from */
    /* Second moments of estimates, summed over the records that it was learned from: by a surface's own sampling, and
     * by the best mixture in each region. Both 0: not known. */
    double unguided, guided;
} GuideStats;

/* Errors: memory. *out_field is the caller's (guide_field_destroy). */
Status guide_field_create(const GuideFieldDesc *desc, GuideField **out_field,
                          Error *err) SORT_MUST_CHECK;
void guide_field_destroy(GuideField *field); /* NULL is allowed */

/* Adds a record. Numbers that are not finite, and densities of 0, are left out. */
void guide_field_record(GuideField *field, const GuideRecord *record);

/* Makes the field that the records of `field` teach. Errors: memory. */
Status guide_field_next(const GuideField *field, GuideField **out_field,
                        Error *err) SORT_MUST_CHECK;
GuideStats guide_field_stats(const GuideField *field);

/* Returns the region of a position on a surface with this normal. */
uint32_t guide_field_region(const GuideField *field, float3 position, float3 normal);
/* Returns the chance, [0, 0.75], that a direction should be drawn by the field; 0 where nothing is known. is_training: paths
 * teach the field, and look where it says light is even if that does not pay yet. */
float guide_field_chance(const GuideField *field, uint32_t region, bool is_training);
/* Draws unit directions at positions of regions, for the points of `lanes`. u: [0, 1)^2; stratified points stay stratified. What
 * comes out for a point does not depend on the others. */
void guide_field_draw(const GuideField *field, const uint32_t region[SSL_BLOCK],
                      const WideRow position[3], const WideRow u[2], uint16_t lanes,
                      WideRow out_direction[3]);
/* Sets the densities per steradian with which guide_field_draw draws unit directions, for the points of `lanes`. Rows of positions
 * and directions may hold anything in other lanes. */
void guide_field_densities(const GuideField *field, const uint32_t region[SSL_BLOCK],
                           const WideRow position[3], const WideRow direction[3], uint16_t lanes,
                           WideRow out_density);

#endif
