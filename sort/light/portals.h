/* Portals: rectangles where light of the environment comes in. From a point before them, on the side where that light
 * goes, light sampling looks for the sky through one of them: chosen by what an even sky would bring through each, its solid angle
 * times the cosine at the surface, and sampled evenly by that.
 *
 * So with one portal the density of a direction is about the cosine over the irradiance, and an even sky has no noise but by what
 * stands before it. Of many portals only those that bring most are weighed one by one (decision 0173). Portals are hints: no ray
 * meets them. Immutable: any thread. */
#ifndef SORT_LIGHT_PORTALS_H
#define SORT_LIGHT_PORTALS_H

#include "base/error.h"
#include "sort/scene/scene.h"
#include "sort/wide/wide.h"

typedef struct Portals Portals;

/* portals: [count], of at least one; only read here. On success *out_portals is the caller's. Error: memory. */
Status portals_create(const ScenePortal *portals, uint32_t count, Portals **out_portals,
                      Error *err) SORT_MUST_CHECK;
void portals_destroy(Portals *portals); /* NULL is fine */

/* The surfaces of a block that light comes to, by lane; the fields are those of LightQueries. */
typedef struct PortalPoints {
    const WideRow *position, *normal; /* [3] */
    const uint32_t *sides;
} PortalPoints;

enum {
    /* So many portals, and groups of portals, are weighed one by one at a point. */
    PORTAL_GROUPS_MAX = 16
};

/* The portals before points, by lane, in groups: each group is one portal or the portals below a node of a tree. Groups that bring much are
 * parted, so that what is near is known one by one, and what is far together. */
typedef struct PortalGroups {
    alignas(64) WideRow irradiance;    /* by all: see portals_look */
    WideRow weight[PORTAL_GROUPS_MAX]; /* what a group has of it; 0: is not chosen */
    uint32_t node[PORTAL_GROUPS_MAX][SSL_BLOCK];
    uint32_t count[SSL_BLOCK];
} PortalGroups;

/* Sets, for `lanes`, the groups and the irradiance that a sky of radiance 1 would bring through all portals if they hid nothing of one
 * another, about; without a cosine at points of SKY_ALL_AROUND. 0: none is seen from its bright side. */
void portals_look(const Portals *portals, const PortalPoints *at, uint16_t lanes,
                  PortalGroups *out);

/* Directions through portals, by lane. */
typedef struct PortalDraws {
    alignas(64) WideRow wi[3]; /* unit */
    WideRow
        pdf; /* with which that portal gives the direction, once it is chosen; 0: none was found */
    uint32_t portal[SSL_BLOCK]; /* PORTAL_NONE: of lanes that draw otherwise, or found none */
} PortalDraws;

enum { PORTAL_NONE = 0xffffffffu };

/* Draws directions for `lanes`, whose irradiance, by portals_look, is above 0, and sets portal[] of others to PORTAL_NONE. Far groups
 * may have no portal that the point sees: a lane finds none then. u: [2] in [0, 1). */
void portals_draw(const Portals *portals, const PortalPoints *at, const PortalGroups *groups,
                  const WideRow u[2], uint16_t lanes, PortalDraws *out_draws);
/* Sets the densities, per solid angle, with which portals_draw gives `directions` for `lanes`: the sum over all portals that they
 * pass. 0: none, or the irradiance is 0. drawn: where the directions come from, whatever rounding says of edges; NULL: from
 * elsewhere. */
void portals_density(const Portals *portals, const PortalPoints *at, const PortalGroups *groups,
                     const WideRow directions[3], const PortalDraws *drawn, uint16_t lanes,
                     WideRow out_pdf);

#endif
