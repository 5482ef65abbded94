/* A point that light comes to, as light sampling sees it. */
#ifndef SORT_LIGHT_LIGHT_QUERY_H
#define SORT_LIGHT_LIGHT_QUERY_H

#include "sort/light/light_gloss.h"
#include "sort/light/sky_tree.h"

/* normal, sides and gloss are hints: they change densities, and no mean. */
typedef struct LightQuery {
    float3 position, normal; /* the normal is unit, or zero: none is known */
    uint32_t sides;          /* SkySides from which light counts */
    LightGloss gloss;
} LightQuery;

/* A point without a gloss. */
static inline LightQuery light_query(float3 position, float3 normal, uint32_t sides)
{
    return (LightQuery){position, normal, sides, {{0}, 0, 0}};
}

#endif
