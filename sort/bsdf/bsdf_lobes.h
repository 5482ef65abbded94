/* Inside sort/bsdf/: what a scattering model gives to bsdf.c.
 *
 * A closure's `add` function turns its arguments into one or two lobes, computing all that depends on wo
 * only. A model then has
 *   X_eval    f cos towards wo and the density of wi; wi is in the lobe's frame and on the side that the
 *             lobe's flags name: z > 0 for reflection, z < 0 for transmission
 *   X_sample  a direction with exactly that density; false: lost below the surface
 * Deltas have X_sample alone, which gives weight and probability. */
#ifndef SORT_BSDF_BSDF_LOBES_H
#define SORT_BSDF_BSDF_LOBES_H

#include "sort/bsdf/bsdf.h"
#include "sort/sampling/warp.h"

/* f cos and density of one lobe. */
typedef struct LobeValue {
    Spectrum f_cos;
    float pdf;
} LobeValue;

/* A direction that a lobe drew. weight and probability: deltas only. */
typedef struct LobeSample {
    float3 wi; /* in the frame */
    uint32_t flags;
    float eta;
    float probability;
    Spectrum weight; /* f cos, without 1 / probability */
} LobeSample;

/* The frame about N (any length, either side). is_specular bends the normal (see bsdf.h). */
BsdfFrame bsdf_frame(const Bsdf *b, float3 N, bool is_specular);
/* Turned about n so that s lies along T's part orthogonal to n; T parallel to n, or zero: as it is. */
BsdfFrame bsdf_frame_align(const Bsdf *b, BsdfFrame frame, float3 T);
/* A zeroed lobe; NULL, and the fault noted, when there is no room. It counts once bsdf_lobe_finish was called. */
BsdfLobe *bsdf_lobe_begin(Bsdf *b, BsdfModel model, uint32_t flags, const BsdfFrame *frame);
/* Sets weight and albedo, and enters the lobe, unless it is black. */
void bsdf_lobe_finish(Bsdf *b, BsdfLobe *lobe, Spectrum weight, Spectrum albedo);

static inline Spectrum bsdf_albedo_argument(float3 color)
{
    return spectrum_clamp(spectrum_from_rgb(color), 0.0f, 1.0f);
}

/* The closures. */
void lambert_add(Bsdf *b, Spectrum weight, const LambertArgs *args);
void translucent_add(Bsdf *b, Spectrum weight, const TranslucentArgs *args);
void oren_nayar_add(Bsdf *b, Spectrum weight, const OrenNayarArgs *args);
void conductor_add(Bsdf *b, Spectrum weight, const ConductorArgs *args);
void metal_add(Bsdf *b, Spectrum weight, const MetalArgs *args);
void plastic_add(Bsdf *b, Spectrum weight, const PlasticArgs *args);
void dielectric_add(Bsdf *b, Spectrum weight, const DielectricArgs *args);
void transparent_add(Bsdf *b, Spectrum weight, const TransparentArgs *args);

/* The models. Diffuse reflection and transmission share Lambert's. */
LobeValue lambert_eval(const BsdfLobe *lobe, float3 wi);
bool lambert_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);
LobeValue oren_nayar_eval(const BsdfLobe *lobe, float3 wi);
LobeValue complement_eval(const BsdfLobe *lobe, float3 wi);
bool complement_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);
LobeValue microfacet_eval(const BsdfLobe *lobe, float3 wi);
bool microfacet_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);
bool mirror_sample(const BsdfLobe *lobe, LobeSample *out);
LobeValue dielectric_eval(const BsdfLobe *lobe, float3 wi);
bool dielectric_sample(const BsdfLobe *lobe, float u_side, float2 u, LobeSample *out);
bool window_sample(const BsdfLobe *lobe, float u_side, LobeSample *out);
bool transparent_sample(const BsdfLobe *lobe, LobeSample *out);

/* The parts that closures share. Reflection by microfacets, or by a mirror below BSDF_ALPHA_DELTA, and the
 * diffuse lobe that gives back what it keeps, tinted. f0, f90: Schlick's Fresnel. */
void microfacet_add_schlick(Bsdf *b, Spectrum weight, float alpha, Spectrum f0, Spectrum f90,
                            const BsdfFrame *frame);
void complement_add(Bsdf *b, Spectrum weight, float alpha, Spectrum f0, Spectrum f90, Spectrum tint,
                    const BsdfFrame *frame);
/* Fresnel tint of light that a rough metal reflects more than once. */
Spectrum complement_metal_tint(Spectrum fresnel_average, float e1_average);

/* roughness to alpha. */
static inline float bsdf_alpha(float roughness)
{
    float r = clampf(roughness, 0.0f, 1.0f);
    return r * r;
}

#endif
