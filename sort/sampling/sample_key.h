/* Which random number is asked for: a sample of a pixel (SampleKey) and a dimension.
 *
 * Every random decision of a path has a fixed dimension, so that a sample is a pure function of
 * (pixel, sample index, seed) and any range of samples renders alone, in any order:
 *
 *   dimension   0 .. 7         the camera block, see SampleCameraDim
 *               8 + 16 d + s   slot s (SampleSlot) at path depth d; d = 0 is the camera's hit
 *
 * A dimension gives one number or one pair, never both: do not ask sampler_1d and sampler_2d for the
 * same one. There is no last dimension: depth may grow without limit. */
#ifndef SORT_SAMPLING_SAMPLE_KEY_H
#define SORT_SAMPLING_SAMPLE_KEY_H

#include "base/hash.h"

typedef enum SampleCameraDim {
    SAMPLE_PIXEL = 0,  /* 2D: place in the pixel filter */
    SAMPLE_LENS,       /* 2D: place on the aperture */
    SAMPLE_TIME,       /* 1D: moment in the shutter */
    SAMPLE_WAVELENGTH, /* 1D: hero wavelength (spectral rendering) */
    SAMPLE_CAMERA_COUNT = 8
} SampleCameraDim;

typedef enum SampleSlot {
    SAMPLE_MEDIUM_CHANNEL = 0, /* 1D: the channel that a free flight is drawn for */
    SAMPLE_LIGHT_UV,           /* 2D: which light, and where on it */
    SAMPLE_BSDF_SIDE,          /* 1D: reflection or refraction */
    SAMPLE_BSDF_UV,            /* 2D: which lobe, and direction */
    SAMPLE_ROULETTE,           /* 1D: Russian roulette */
    SAMPLE_OPACITY,            /* 1D: stochastic opacity */
    SAMPLE_MEDIUM_DISTANCE,    /* 1D: free flight in a medium, subsurface */
    SAMPLE_MEDIUM_UV,          /* 2D: phase function, subsurface exit */
    SAMPLE_AO_UV,              /* 2D: debug integrators */
    SAMPLE_GUIDE_LOBE,         /* 1D: the lobe that a guided direction counts as */
    SAMPLE_CAUSTIC_UV,         /* 2D: which light of caustics, and where on it */
    SAMPLE_LIGHT_EVEN,         /* 1D: whether a path of light takes an even direction */
    SAMPLE_OCCLUSION_UV,       /* 2D: directions of the question `occlusion` */
    SAMPLE_BEVEL_UV,           /* 2D: lines of the question `bevel` */
    SAMPLE_SHADOW_ROULETTE,    /* 1D: whether a dim shadow ray is traced */
    SAMPLE_LAMP_UV,            /* 2D: which lamp of the layer `shadow`, and where on it */
    SAMPLE_SLOT_COUNT = 16
} SampleSlot;

/* The dimension of a slot, as a constant. */
#define SAMPLE_DIMENSION(depth, slot)                                                              \
    ((uint32_t)SAMPLE_CAMERA_COUNT + (depth) * (uint32_t)SAMPLE_SLOT_COUNT + (uint32_t)(slot))

static inline uint32_t sample_dimension(uint32_t depth, SampleSlot slot)
{
    return SAMPLE_DIMENSION(depth, slot);
}

/* 16 bytes, made once a path by sampler_key(). `stream` is a hash of (x, y, seed), or of what shares one. */
typedef struct SampleKey {
    uint64_t stream;
    uint32_t index; /* of the sample in its stream, from 0 */
    uint16_t x, y;  /* the pixel */
} SampleKey;

/* x, y: pixel of the whole frame, below 65536 (a crop does not change the numbers a pixel gets). */
static inline SampleKey sample_key(uint32_t x, uint32_t y, uint32_t index, uint32_t seed)
{
    uint64_t pixel = (uint64_t)y << 32 | x;
    SampleKey key;
    key.stream = hash_mix64(hash_mix64(pixel + 0x9e3779b97f4a7c15u) + seed);
    key.index = index;
    key.x = (uint16_t)x;
    key.y = (uint16_t)y;
    return key;
}

#endif
