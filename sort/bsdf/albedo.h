/* Directional albedo of GGX lobes: which part of the light coming from (or going to) one direction single
 * scattering returns. What is missing is what energy compensation and layering put back.
 *
 *   ggx(cos)      = f0 (e1 - b) + f90 b   of a reflecting lobe with Schlick's Fresnel, exactly
 *   rise          = of a reflecting lobe, weighted by (F - F0) / (1 - F0), F the exact Fresnel of a dielectric
 *   dielectric    = reflected and refracted together, exact Fresnel
 *   sheen         = of the cloth lobe of [Estevez2017]
 *
 * Tables (albedo_tables.inc, made by albedo_generate.c) are interpolated linearly in
 *   r = sqrt(alpha)                      and
 *   t = sqrt(cos (1 + alpha) / (cos + alpha))  which follows the dip at cos ~ alpha,
 * within 1e-3 of the integral, rise within 2e-3 in the mean and 0.03 at grazing on near-mirrors (measured: see tests/sort/bsdf/test_bsdf_energy.c). Pure. */
#ifndef SORT_BSDF_ALBEDO_H
#define SORT_BSDF_ALBEDO_H

#include "base/compiler.h"

enum {
    ALBEDO_GGX_COS = 48,   /* nodes of t */
    ALBEDO_GGX_ALPHA = 32, /* nodes of r */
    ALBEDO_DIELECTRIC_COS = 20,
    ALBEDO_DIELECTRIC_ALPHA = 32,
    ALBEDO_DIELECTRIC_IOR = 12, /* nodes of (ior - 1)/(ior + 1), 0 .. 0.6 */
    ALBEDO_RISE_COS = 24,       /* nodes of t */
    ALBEDO_RISE_ALPHA = 16,     /* nodes of r */
    ALBEDO_RISE_IOR = 10,       /* nodes of the root of (ior - 1)/(ior + 1)/0.6 */
    ALBEDO_SHEEN_COS = 32,      /* nodes of sqrt(cos) */
    ALBEDO_SHEEN_ALPHA = 24     /* nodes of sqrt(alpha), from 0.15 to 1 */
};

/* e1: albedo when every microfacet reflects all; b: the same weighted by (1 - cos)^5. */
typedef struct AlbedoTerms {
    float e1, b;
} AlbedoTerms;

/* Where a given alpha lies in the tables. */
typedef struct AlbedoRow {
    float alpha, fraction;
    uint32_t index;
} AlbedoRow;

AlbedoRow albedo_ggx_row(float alpha); /* alpha in [0, 1] */
AlbedoTerms albedo_ggx(AlbedoRow row, float cos_w);
/* 2 int (.) cos dcos of what albedo_ggx gives. */
AlbedoTerms albedo_ggx_average(AlbedoRow row);

/* Returns (albedo - f0 e1) / (1 - f0) of a lobe whose reflectance goes from f0 to 1 as a dielectric's (fresnel_tinted).
 * e1: albedo_ggx of the same arguments. ior in [1, 4]. */
float albedo_rise(float alpha, float ior, float cos_w, float e1);

/* ior: inside over outside, [1/4, 4]. is_inside: the direction is on the inner side. */
float albedo_dielectric(float alpha, float ior, bool is_inside, float cos_w);

/* alpha in [0.0225, 1]. */
float albedo_sheen(float alpha, float cos_w);

#endif
