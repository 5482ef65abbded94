/* What light sampling knows of a blurred reflection: a hint by which lamps are chosen that are seen in it. */
#ifndef SORT_LIGHT_LIGHT_GLOSS_H
#define SORT_LIGHT_LIGHT_GLOSS_H

#include "base/vec.h"
#include <stdint.h>

/* A lobe of microfacets, in 8 bytes, since paths keep it for the density of the light that they meet. Zero: there is none. */
typedef struct LightGloss {
    int16_t mirror[3]; /* where the viewer is mirrored, times 32767 */
    uint8_t alpha;     /* GGX's, times 255 */
    uint8_t share;     /* of the light that all lobes return, times 255 */
} LightGloss;

/* mirror: unit; alpha and share in [0, 1]. */
static inline LightGloss light_gloss(float3 mirror, float alpha, float share)
{
    return (LightGloss){.mirror = {(int16_t)(mirror.x * 32767.0f), (int16_t)(mirror.y * 32767.0f),
                                   (int16_t)(mirror.z * 32767.0f)},
                        .alpha = (uint8_t)(alpha * 255.0f + 0.5f),
                        .share = (uint8_t)(share * 255.0f + 0.5f)};
}

#endif
