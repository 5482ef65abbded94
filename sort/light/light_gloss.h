/* What light sampling knows of a blurred reflection: a hint by which lamps are chosen that are seen in it. */
#ifndef SORT_LIGHT_LIGHT_GLOSS_H
#define SORT_LIGHT_LIGHT_GLOSS_H

#include "base/vec.h"
#include <stdint.h>

/* So much is 1. */
#define LIGHT_GLOSS_MIRROR_UNIT 32767.0f
#define LIGHT_GLOSS_UNIT        255.0f

/* A lobe of microfacets, in 8 bytes, since paths keep it for the density of the light that they meet. Zero: there is none. */
typedef struct LightGloss {
    int16_t mirror[3]; /* where the viewer is mirrored, in LIGHT_GLOSS_MIRROR_UNIT */
    uint8_t alpha;     /* GGX's, in LIGHT_GLOSS_UNIT */
    uint8_t share;     /* of the light that all lobes return, in LIGHT_GLOSS_UNIT */
} LightGloss;

/* mirror: unit; alpha and share in [0, 1]. */
static inline LightGloss light_gloss(float3 mirror, float alpha, float share)
{
    float3 m = f3_scale(mirror, LIGHT_GLOSS_MIRROR_UNIT);
    return (LightGloss){.mirror = {(int16_t)m.x, (int16_t)m.y, (int16_t)m.z},
                        .alpha = (uint8_t)(alpha * LIGHT_GLOSS_UNIT + 0.5f),
                        .share = (uint8_t)(share * LIGHT_GLOSS_UNIT + 0.5f)};
}

#endif
