/* How often light that was sampled arrived, by light: what shadow rays of a first, small picture tell of lamps that stand in other
 * rooms and of the sky outside, whose light the tree of lights (light_tree.h) and the powers of infinite sources expect.
 *
 * Counts are integers, so they do not depend on threads. light_sight_add: any thread; light_sight_tally needs that none adds. */
#ifndef SORT_LIGHT_LIGHT_SIGHT_H
#define SORT_LIGHT_LIGHT_SIGHT_H

#include "base/error.h"

typedef struct LightSight LightSight;

/* Shadow rays to some lights, and how many of them met nothing opaque. */
typedef struct LightTally {
    uint64_t sent, arrived;
} LightTally;

/* For lights [0, count). Error: memory. *out_sight is the caller's (light_sight_destroy). */
Status light_sight_create(uint32_t count, LightSight **out_sight, Error *err) SORT_MUST_CHECK;
void light_sight_destroy(LightSight *sight); /* NULL is fine */

/* Counts a shadow ray. */
void light_sight_add(LightSight *sight, uint32_t light, bool arrived);
LightTally light_sight_tally(const LightSight *sight, uint32_t light);

/* Returns the share of rays that arrive, where few tell little: they are added to `rays` others, of which the share `expected`
 * arrived. */
double light_tally_share(LightTally tally, double expected, double rays);
/* Returns it for lights of which nothing else is known: one ray that arrived is added. */
double light_tally_share_alone(LightTally tally);
/* Returns by what the importance of a light is to be multiplied of whose rays the share v arrives, in [0.01, 1]: sqrt(v). A light that
 * brings E to the share v of the places, and nothing to the others, has the second moment v E^2, and the variance of a choice among lights is
 * least with chances in proportion to the roots of their second moments. */
float light_share_factor(double share);

#endif
