/* Denoising by nonlinearly weighted first-order regression [Bitterli2016], of two halves of the samples.
 *
 *   halves: fireflies are cut (fireflies.h)
 *   halves, guides --prefilter--> features --+
 *   halves, variance --weights--+            |
 *                               +--regression of each half by the weights of the other, for two bandwidths
 *                                            |
 *                     result <-- choice between bandwidths by the error that the other half shows
 *
 * Around each pixel the picture is fitted by a function that is linear in the guides and in the place. Pixels whose
 * surroundings look different beyond their noise take no part [Rousselle2012]. Each fit predicts all pixels around it, and a
 * pixel is the mean of the predictions.
 *
 * There are no weights to carry and no training data. The result has equal bits for any number of threads and on every
 * machine: it is computed by floats in a fixed order, without contraction, in registers of any width.
 *
 * Threads: any; the call uses threads of its own. Memory: about 270 bytes a pixel. */
#ifndef SORT_DENOISE_NFOR_H
#define SORT_DENOISE_NFOR_H

#include "base/error.h"

/* The arrays are [height][width][channels], rows from the top, borrowed: as film_resolve_aov makes them. */
typedef struct NforInput {
    size_t size_bytes;      /* sizeof(NforInput) */
    uint32_t width, height; /* 1 .. 65535 */
    /* RGB of the samples of even and of odd number, and how many they are. Where one of them has none, or a number is not
     * finite or above 1e15, the pixel stays what the result array holds. */
    const float *even, *odd;
    const float *variance; /* of the mean luminance of all samples */
    const float *light;    /* RGB that is no noise: added to the result. NULL: none */
    /* Guides, over all samples and over those of odd number: RGB, XYZ, and a distance in metres. */
    const float *albedo, *normal, *depth;
    const float *odd_albedo, *odd_normal, *odd_depth;
    uint32_t thread_count; /* 0: one a CPU */
    uint32_t
        cpu_class; /* for tests: 1 + one of wide_classes; 0: the widest that this machine runs */
} NforInput;

/* Replaces RGB of the pixels of out_rgb, [height][width] pixels of `stride` floats; others, such as alpha, stay. Errors:
 * STATUS_INVALID (sizes; no pixel has samples in both halves), STATUS_NO_MEMORY. */
Status nfor_denoise(const NforInput *input, float *out_rgb, uint32_t stride,
                    Error *err) SORT_MUST_CHECK;

#endif
