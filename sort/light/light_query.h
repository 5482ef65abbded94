/* A point that light comes to, as light sampling sees it. */
#ifndef SORT_LIGHT_LIGHT_QUERY_H
#define SORT_LIGHT_LIGHT_QUERY_H

#include "sort/light/sky_tree.h"

/* normal and sides are hints: they change densities, and no mean. */
typedef struct LightQuery {
    float3 position, normal; /* the normal is unit, or zero: none is known */
    uint32_t sides;          /* SkySides from which light counts */
} LightQuery;

#endif
