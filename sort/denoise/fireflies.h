/* Fireflies: what a path that is rarely found makes of a pixel, a thousand times as bright as all around it. Filters
 * spread one over their whole window, where it is no less wrong.
 *
 * Only one half of the samples has it, and its surroundings do not. Small lights, stars and thin bright lines are in both halves;
 * where light is found rarely but everywhere, as in a caustic of few samples, the surroundings have it as well.
 *
 * Threads: any. */
#ifndef SORT_DENOISE_FIREFLIES_H
#define SORT_DENOISE_FIREFLIES_H

#include "base/compiler.h"

/* The means of the samples of even and of odd number, [height][width] pixels of RGB and the number of samples; borrowed. Pixels
 * without samples, or with numbers that are not finite, tell nothing. */
typedef struct FireflyPicture {
    const float *half[2];
    uint32_t width, height;
} FireflyPicture;

/* Returns what to multiply a pixel of one half by, so that it is no brighter than the other half and the surroundings allow: 1 for
 * nearly all. */
float firefly_scale(const FireflyPicture *picture, uint32_t half, uint32_t x, uint32_t y);

#endif
