/* What a surface does with light at a point, in the types that the renderer speaks of it. Blocks of points, and what is
 * computed of them: bsdf_wide.h, bsdf_point.h. */
#ifndef SORT_BSDF_BSDF_H
#define SORT_BSDF_BSDF_H

#include "sort/bsdf/spectrum.h"
#include "ssl/ssl.h"

enum { BSDF_AOVS_MAX = 8 };

#define BSDF_COS_MIN                                                                               \
    1e-6f /* between the viewer and the geometric normal: nearer to edge-on nothing scatters */

/* Options of a point. */
enum {
    BSDF_IMPORTANCE = 1, /* importance instead of radiance: refraction without 1/eta^2 */
    BSDF_SINGLE_SCATTER =
        2,               /* microfacet lobes without energy compensation, to compare with theory */
    BSDF_ON_FIBRE = 4,   /* nothing walks inside: Subsurface scatters as Lambert does */
    BSDF_SOFT_BUMPS = 8, /* bumps shadow as a rough surface does: see BsdfView.unbent */
    BSDF_KEEPS_RADIANCE = 16 /* refraction of radiance without 1/eta^2, and of importance with it */
};

/* How light is sorted into passes, by what a lobe does with it; as in Cycles 3 [Blender2022]. What goes through a
 * rough sheet or into a body to come out again is diffuse; hair as a whole is transmission. */
typedef enum BsdfKind {
    BSDF_KIND_DIFFUSE,
    BSDF_KIND_GLOSSY, /* reflected otherwise */
    BSDF_KIND_TRANSMISSION,
    BSDF_KINDS
} BsdfKind;

/* Faults while closures were added; 0: none. */
typedef enum BsdfFaults {
    BSDF_FAULT_FULL = 1,      /* the block has no room for another term, which was left out */
    BSDF_FAULT_NOT_FINITE = 2 /* a NaN or infinite weight or argument; the term was left out */
} BsdfFaults;

/* The medium inside a translucent body: extinction in 1/m, single-scattering albedo in [0, 1), and the mean cosine of
 * scattering. */
typedef struct BsdfMedium {
    Spectrum sigma_t, albedo;
    float g;
} BsdfMedium;

typedef struct BsdfSample {
    float3 wi;
    Spectrum weight; /* f cos / pdf: what the path's throughput is multiplied by */
    float pdf; /* per solid angle, over all lobes; with SSL_LOBE_DELTA: the lobe's probability */
    float eta; /* index on wi's side over index on wo's side; 1 unless refracted */
    uint32_t flags; /* SSL_LOBE_* of the lobe, with REFLECTION or TRANSMISSION as it happened */
    float3 n;       /* the lobe's normal, on the side where wo is */
    uint32_t lobe;  /* for bsdf_point_medium */
} BsdfSample;

#endif
