/* Chooses one of many lights for a point: a binary tree over what shines, whose nodes bound where the light comes
 * from and where it may go [Conty2018]. Going down, each child is taken with a probability in proportion to
 * what it may bring to the point; so lights that are near, face it or are mirrored by it are found among millions. What is
 * mirrored may be hidden, so beside it other children keep a chance.
 *
 * A node is refused only when nothing below it can light the point; a light that can always has a positive
 * probability. But for light_tree_heed it is immutable once made: any thread. */
#ifndef SORT_LIGHT_LIGHT_TREE_H
#define SORT_LIGHT_LIGHT_TREE_H

#include "base/error.h"
#include "base/vec.h"
#include "sort/light/light_query.h"
#include "sort/light/light_sight.h"
#include "sort/wide/wide.h"

/* Where something shines from, where to, and how much: a box, and directions within theta_o of the axis from which
 * light leaves within theta_e more. Both cosines; theta_o in [0, pi], theta_e in [0, pi/2]. */
typedef struct LightBounds {
    float3 lower, upper;
    float3 axis; /* unit */
    float cos_o, cos_e;
    float power;       /* above 0 */
    bool is_two_sided; /* shines to both sides of the axis alike */
} LightBounds;

typedef struct LightTree LightTree;

/* `leaves` are copied. count: at least 1. STATUS_NO_MEMORY. */
Status light_tree_create(const LightBounds *leaves, uint32_t count, LightTree **out_tree,
                         Error *err) SORT_MUST_CHECK;
void light_tree_destroy(LightTree *tree); /* NULL is fine */
/* Multiplies the power with which each leaf was made by the factor (light_share_factor) of the rays that arrive: of its own and, as far as
 * these are few, of the leaves around it, by the tree. sight: lights [0, count of leaves) are the leaves; NULL: the factors are 1. No
 * other thread may use the tree meanwhile. Error: memory; then nothing has changed. */
Status light_tree_heed(LightTree *tree, const LightSight *sight, Error *err) SORT_MUST_CHECK;
size_t light_tree_size_bytes(const LightTree *tree);

/* A leaf that is picked for a point. */
typedef struct LightPick {
    double u;      /* in: a number in [0, 1); out: what is left of it, again uniform in [0, 1) */
    uint32_t leaf; /* out */
    float probability; /* out: of this leaf, above 0 */
} LightPick;

/* The fields of LightPick, by lane. */
typedef struct LightPicks {
    alignas(64) double u[SSL_BLOCK];
    uint32_t leaf[SSL_BLOCK];
    WideRow probability;
} LightPicks;

/* Picks a leaf for each point of `live`, and writes something to the other lanes. normals: of the surface there, to either side,
 * or zero. gloss: [SSL_BLOCK], about the normals; NULL: none. Returns the points for which something was found that lights them. A
 * pick does not depend on the others. */
uint16_t light_tree_sample_points(const LightTree *tree, const WideRow positions[3],
                                  const WideRow normals[3], const LightGloss *gloss, uint16_t live,
                                  LightPicks *picks);
/* Picks a leaf for one point. */
bool light_tree_sample(const LightTree *tree, const LightQuery *at, double u, LightPick *out_pick);
/* That with which light_tree_sample picks `leaf` there; 0: never. */
float light_tree_probability(const LightTree *tree, const LightQuery *at, uint32_t leaf);

/* Estimates the irradiance by all leaves at each point of `live`, without shadows, as luminance; 0: none lights the point. */
void light_tree_irradiance_points(const LightTree *tree, const WideRow positions[3],
                                  const WideRow normals[3], uint16_t live, WideRow out_irradiance);
/* Estimates it at one point. */
float light_tree_irradiance(const LightTree *tree, float3 position, float3 normal);

#endif
