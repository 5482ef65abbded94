/* One point of a block: what the integrator asks for now and then, a point at a time. */
#ifndef SORT_BSDF_BSDF_POINT_H
#define SORT_BSDF_BSDF_POINT_H

#include "sort/bsdf/bsdf_wide.h"

typedef struct BsdfPoint {
    const BsdfBlock *block;
    uint32_t lane;
} BsdfPoint;

static inline Spectrum bsdf_point_row(BsdfPoint p, const BsdfRow rows[3])
{
    return (Spectrum){{rows[0][p.lane], rows[1][p.lane], rows[2][p.lane]}};
}
/* Sum of the emission closures: radiance towards wo. */
static inline Spectrum bsdf_point_emission(BsdfPoint p)
{
    return bsdf_point_row(p, p.block->emission);
}
/* Sum of the transparent closures: what a shadow ray is multiplied by. */
static inline Spectrum bsdf_point_transparency(BsdfPoint p)
{
    return bsdf_point_row(p, p.block->transparency);
}
/* Sum of the holdout closures: the fraction of the surface that is a hole in the picture. */
static inline Spectrum bsdf_point_holdout(BsdfPoint p)
{
    return bsdf_point_row(p, p.block->holdout);
}
/* The direction that was drawn for a lane. */
static inline BsdfSample bsdf_drawn_at(const BsdfDrawn *drawn, uint32_t lane)
{
    return (BsdfSample){
        .wi = f3(drawn->wi[0][lane], drawn->wi[1][lane], drawn->wi[2][lane]),
        .weight = {{drawn->weight[0][lane], drawn->weight[1][lane], drawn->weight[2][lane]}},
        .pdf = drawn->pdf[lane],
        .eta = drawn->eta[lane],
        .flags = drawn->flags[lane],
        .n = f3(drawn->n[0][lane], drawn->n[1][lane], drawn->n[2][lane]),
        .lobe = drawn->lobe[lane]};
}
/* Light from wi is transmitted, not reflected: it comes from the other side of the surface. */
bool bsdf_point_is_transmitted(BsdfPoint p, float3 wi);
/* The chance that sampling draws a transparent closure. */
float bsdf_point_pass_chance(BsdfPoint p);
/* The medium that a sample of a subsurface lobe enters. */
BsdfMedium bsdf_point_medium(BsdfPoint p, uint32_t lobe);
/* Where a sample of a portal leads: the place, and the direction on from there, of any length; 0: straight on. */
void bsdf_point_exit(BsdfPoint p, uint32_t lobe, float3 *out_place, float3 *out_along);
/* f cos by kind of lobe; the sum over the kinds is bsdf_block_eval's. */
void bsdf_point_eval_kinds(BsdfPoint p, float3 wi, Spectrum out_f_cos[BSDF_KINDS]);
/* Returns the fractions of the light from a sampled direction that lobes of each kind bring. They sum to 1 in each channel,
 * or are 0 where there is none. flags: of the sample, 0 for a light's direction; lobe: of a delta's sample. */
void bsdf_point_sample_kinds(BsdfPoint p, float3 wi, uint32_t flags, uint32_t lobe,
                             Spectrum out_fractions[BSDF_KINDS]);

/* For AOVs: albedo (reflected and transmitted, without what passes straight through), mean normal (faces wo; zero when
 * there is no lobe), and the albedo of the lobes of each kind. */
Spectrum bsdf_point_albedo(BsdfPoint p);
float3 bsdf_point_normal(BsdfPoint p);
/* The mean roughness of the closures that have an argument of this name, weighted by their albedo; -1: there is none.
 * A smooth diffuse closure is Lambert's, which has no roughness. */
float bsdf_point_roughness(BsdfPoint p);
void bsdf_point_albedo_kinds(BsdfPoint p, Spectrum out_albedo[BSDF_KINDS]);

#endif
