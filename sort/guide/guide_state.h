/* The trees of a field. Private to this folder. */
#ifndef SORT_GUIDE_GUIDE_STATE_H
#define SORT_GUIDE_GUIDE_STATE_H

#include "sort/guide/guide_field.h"
#include "sort/guide/parallax.h"
#include <math.h>
#include <stdalign.h>
#include <stdatomic.h>

/* A node of a quadtree. Quadrant x + 2 y is the left or right, lower or upper one. Its share of the light of the node is that of its
 * column times that of its part of the column. */
typedef struct GuideQuad {
    alignas(32) uint32_t child[4]; /* index of a quad; 0: the quadrant is a leaf */
    float left;                    /* share of the left column, inside (0, 1) */
    float lower[2];                /* of the lower part of each column, inside (0, 1) */
} GuideQuad;

/* Returns the share of one of two parts. second: 1 or 0; first_share: of the other one. */
static inline float guide_part(float second, float first_share)
{
    return fabsf(second - first_share);
}

/* A node of a binary tree. The first GUIDE_SIDES cells are the roots. */
typedef struct GuideCell {
    uint32_t child; /* of two, for lower and higher positions; 0: a leaf */
    uint32_t axis;  /* of a leaf: its region */
    float split;
} GuideCell;

typedef struct GuideRegion {
    uint32_t root; /* index of a quad */
    float chance;
    bool is_known; /* records have taught it */
    float3 size;
    /* By which directions are drawn, and by which they are recorded. */
    GuideSphere drawn, taught;
} GuideRegion;

/* What was recorded of the quadrants of a quad, and of a region. Quadrants that are no leaves stay 0. */
typedef struct GuideSums {
    _Atomic uint64_t light[4];
    _Atomic uint64_t square[4]; /* of what each record brought */
} GuideSums;
typedef struct GuideTally {
    _Atomic uint64_t records; /* that brought light */
    _Atomic uint64_t mixed;   /* that the field took part in */
    /* Light, and light by the inverse of its distance, in lengths of the field. */
    _Atomic uint64_t light, near;
    /* By chance: second moments of estimates; the estimates' logarithms of how much likelier their directions are than by
     * the surface's own sampling, as two's complement. */
    _Atomic uint64_t moment[GUIDE_CHANCES], likelihood[GUIDE_CHANCES];
} GuideTally;

/* A grid over the box of the field, which spares the first steps down the trees. */
typedef struct GuideGrid {
    uint32_t *cells; /* owned, [GUIDE_SIDES][z][y][x]: the cell in which the search goes on */
    uint32_t count[3];
    float to_cells[3]; /* from a distance to the low corner */
} GuideGrid;

struct GuideField {
    GuideFieldDesc desc;
    float to_units; /* a power of two */
    GuideCell *cells;
    GuideRegion *regions;
    GuideQuad *quads;
    GuideSums *sums;     /* [quad_count] */
    GuideTally *tallies; /* [region_count] */
    uint32_t cell_count, region_count, quad_count;
    uint32_t region_room, quad_room; /* by the limit */
    GuideGrid grid;
    GuideStats stats;
};

/* Returns the axis along which a box is cut next. */
static inline uint32_t guide_longest_axis(float3 size)
{
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

/* The chances among which regions choose. */
extern const float guide_chances[GUIDE_CHANCES];

/* Takes memory for as many nodes as the limit allows. */
Status guide_field_alloc(const GuideFieldDesc *desc, GuideField **out_field,
                         Error *err) SORT_MUST_CHECK;
/* Gives back what the nodes do not take, takes memory for the sums, and makes what draws and searches quickly. */
Status guide_field_close(GuideField *f, Error *err) SORT_MUST_CHECK;

#endif
