/* How often light that was sampled arrived, by source: what shadow rays of a first, small picture tell of the lamps that stand in
 * other rooms and of the sky outside, whose light the tree of lights (light_tree.h) and the powers of infinite sources expect.
 *
 * Counts are integers, so they do not depend on threads. light_sight_add: any thread; the other functions need that none adds. */
#ifndef SORT_LIGHT_LIGHT_SIGHT_H
#define SORT_LIGHT_LIGHT_SIGHT_H

#include "base/error.h"

typedef struct LightSight LightSight;

/* For sources [0, source_count). Error: memory. *out_sight is the caller's (light_sight_destroy). */
Status light_sight_create(uint32_t source_count, LightSight **out_sight,
                          Error *err) SORT_MUST_CHECK;
void light_sight_destroy(LightSight *sight); /* NULL is fine */

/* Counts a shadow ray to the source; arrived: nothing opaque was between. */
void light_sight_add(LightSight *sight, uint32_t source, bool arrived);
/* Returns by what the importance of the source is to be multiplied, in [0.01, 1]: the root of the share v of rays that arrived. A
 * source that lights the share v of points alike has the second moment v E^2, where E is its light without shadows, and the
 * variance of a choice among sources is least with probabilities in proportion to the roots of their second moments. Where few
 * rays have been sent the factor is near 1. */
float light_sight_factor(const LightSight *sight, uint32_t source);

#endif
