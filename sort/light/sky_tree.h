/* Chooses a part of the sky for a surface, in proportion to the light that comes from it times the cosine at the surface.
 *
 * A latitude-longitude map is cut into blocks, the leaves of two quadtrees side by side. A node knows how much light comes
 * from its directions, the mean of these directions and how far they spread. So the integral of light times cosine over a
 * node is nearly known for any normal, and a walk from the root draws a block in proportion to it. Each step uses one
 * coordinate of the random pair and hands on what is left of it, so that stratified pairs stay stratified over the sky
 * [McCool1997].
 *
 * Immutable after it is built: any thread. */
#ifndef SORT_LIGHT_SKY_TREE_H
#define SORT_LIGHT_SKY_TREE_H

#include "sort/wide/wide.h"

enum {
    SKY_TREE_LEVELS = 4,
    SKY_TREE_ROWS = 1 << SKY_TREE_LEVELS,
    SKY_TREE_COLUMNS = 2 * SKY_TREE_ROWS,
    SKY_TREE_BLOCKS = SKY_TREE_ROWS * SKY_TREE_COLUMNS,
    SKY_TREE_QUADS = 2 * ((1 << 2 * SKY_TREE_LEVELS) - 1) / 3
};

/* The sides of a surface from which light counts. */
typedef enum SkySides {
    SKY_ALL_AROUND = 0, /* without a cosine: of fibres, and where nothing is known */
    SKY_ABOVE = 1,      /* where the normal points */
    SKY_BELOW = 2
} SkySides;

/* How the surfaces of a block of points face the map. */
typedef struct SkyFacings {
    WideRow normal[3];         /* unit, in the frame of the map; any with SKY_ALL_AROUND */
    uint32_t sides[SSL_BLOCK]; /* SkySides */
} SkyFacings;

/* What comes from the directions of a block: the sum of weights, and that of weights times unit directions. */
typedef struct SkyBlock {
    double weight, moment[3];
} SkyBlock;

/* Four nodes, of two rows of two, by the sum of their weights s, their moments and the spread of their directions. */
typedef struct SkyQuad {
    float s[4], moment[3][4];
    float spread[4], per_4_spread[4]; /* spread: times s. per_4_spread: 1 / (4 spread), or 0 */
} SkyQuad;

typedef struct SkyTree {
    SkyQuad quads[SKY_TREE_QUADS]; /* by half, level, row and column */
} SkyTree;

/* blocks: [SKY_TREE_BLOCKS] by rows; weights are not negative, and at least one is positive. */
void sky_tree_build(const SkyBlock *blocks, SkyTree *out_tree);

/* The part of the sky of each point of a block. */
typedef struct SkyDraws {
    WideRow u[2]; /* in [0, 1)^2; drawing makes it what is left of it, again uniform in [0, 1)^2 */
    WideRow probability;       /* with which the part is drawn */
    uint32_t block[SSL_BLOCK]; /* the part */
} SkyDraws;

/* Draws a part for each point of `lanes` by its u; other points mean nothing. What a point draws does not depend on others. */
void sky_tree_sample(const SkyTree *tree, const SkyFacings *facings, uint16_t lanes,
                     SkyDraws *draws);
/* Sets the probabilities with which sky_tree_sample draws the parts of `lanes`. */
void sky_tree_probability(const SkyTree *tree, const SkyFacings *facings, uint16_t lanes,
                          SkyDraws *draws);

#endif
