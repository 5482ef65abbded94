/* Deltas as functions of two directions: bsdf_block_eval leaves them out, and bsdf_block_sample chooses one direction itself. */
#ifndef SORT_BSDF_BSDF_DELTA_H
#define SORT_BSDF_BSDF_DELTA_H

#include "sort/bsdf/bsdf_wide.h"

/* What the deltas of a point scatter from one direction to the viewer. */
typedef struct BsdfDelta {
    Spectrum weight; /* factor on radiance, over all deltas that do so */
    float chance;    /* with which bsdf_block_sample draws one of them */
    float eta;       /* index on wi's side over index on wo's side; 1 unless refracted */
    float3 n;        /* the lobe's normal, on the side of wo */
} BsdfDelta;

/* Finds them in the lanes of `live`, by wi, rows [3]. Directions within 1e-3 radians are one: two surfaces' worth of rounding lies
 * between a direction and itself. Transparent closures are no deltas here. Returns the lanes that have one. */
uint16_t bsdf_block_deltas(const BsdfBlock *b, const BsdfRow wi[3], uint16_t live,
                           BsdfDelta out[SSL_BLOCK]);

#endif
