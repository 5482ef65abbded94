/* Inside sort/bsdf/: what a scattering model gives to bsdf.c.
 *
 * A closure's `add` function turns its arguments into one or two lobes, computing all that depends on wo
 * only. A model then has
 *   X_eval    f cos towards wo and the density of wi; wi is in the lobe's frame and on the side that the
 *             lobe's flags name: z > 0 for reflection, z < 0 for transmission (fibres: anywhere)
 *   X_sample  a direction with exactly that density; false: lost below the surface
 * Deltas have X_sample alone, which gives weight and probability. */
#ifndef SORT_BSDF_BSDF_LOBES_H
#define SORT_BSDF_BSDF_LOBES_H

#include "sort/bsdf/bsdf.h"
#include "sort/bsdf/microfacet.h"
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
/* Across a fibre: x along T, z towards wo. */
BsdfFrame hair_frame(const Bsdf *b, float3 T);
/* A zeroed lobe; NULL, and the fault noted, when there is no room. It counts once bsdf_lobe_finish was called. */
BsdfLobe *bsdf_lobe_begin(Bsdf *b, BsdfModel model, uint32_t flags, const BsdfFrame *frame);
/* f cos and density of one lobe that is no delta. False: it brings nothing from wi (world space). */
bool bsdf_lobe_value(const Bsdf *b, const BsdfLobe *lobe, float3 wi, LobeValue *out);
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
void beckmann_metal_add(Bsdf *b, Spectrum weight, const BeckmannMetalArgs *args);
void plastic_add(Bsdf *b, Spectrum weight, const PlasticArgs *args);
void dielectric_add(Bsdf *b, Spectrum weight, const DielectricArgs *args);
void transparent_add(Bsdf *b, Spectrum weight, const TransparentArgs *args);
void glossy_add(Bsdf *b, Spectrum weight, const GlossyArgs *args);
void specular_add(Bsdf *b, Spectrum weight, const SpecularArgs *args);
void refraction_add(Bsdf *b, Spectrum weight, const RefractionArgs *args);
void thin_dielectric_add(Bsdf *b, Spectrum weight, const ThinDielectricArgs *args);
void clearcoat_add(Bsdf *b, Spectrum weight, const ClearcoatArgs *args);
void coat_add(Bsdf *b, Spectrum weight, const CoatArgs *args);
void specular_layer_add(Bsdf *b, Spectrum weight, const SpecularLayerArgs *args);
void disney_diffuse_add(Bsdf *b, Spectrum weight, const DisneyDiffuseArgs *args);
void disney_retro_add(Bsdf *b, Spectrum weight, const DisneyRetroArgs *args);
void disney_sheen_add(Bsdf *b, Spectrum weight, const DisneySheenArgs *args);
void sheen_add(Bsdf *b, Spectrum weight, const SheenArgs *args);
void velvet_add(Bsdf *b, Spectrum weight, const VelvetArgs *args);
void toon_diffuse_add(Bsdf *b, Spectrum weight, const ToonDiffuseArgs *args);
void toon_glossy_add(Bsdf *b, Spectrum weight, const ToonGlossyArgs *args);
void hair_add(Bsdf *b, Spectrum weight, const HairArgs *args);
void hair_reflection_add(Bsdf *b, Spectrum weight, const HairReflectionArgs *args);
void hair_transmission_add(Bsdf *b, Spectrum weight, const HairTransmissionArgs *args);
void subsurface_add(Bsdf *b, Spectrum weight, const SubsurfaceArgs *args);

/* Return the factors on the weights of the closures below a layer. */
Spectrum coat_base_factor(const Bsdf *b, const CoatArgs *args);
Spectrum specular_layer_base_factor(const Bsdf *b, const SpecularLayerArgs *args);
Spectrum sheen_base_factor(const Bsdf *b, const SheenArgs *args);

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
LobeValue thin_eval(const BsdfLobe *lobe, float3 wi);
bool thin_sample(const BsdfLobe *lobe, float u_side, float2 u, LobeSample *out);
/* Return the approximate fraction of the light from wo that a lobe with both sides reflects, before tints; below 1 for a
 * rough one. */
float dielectric_reflectance(const BsdfLobe *lobe);
float thin_reflectance(const BsdfLobe *lobe);
bool pane_sample(const BsdfLobe *lobe, float u_side, LobeSample *out);
LobeValue clearcoat_eval(const BsdfLobe *lobe, float3 wi);
bool clearcoat_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);
LobeValue disney_diffuse_eval(const BsdfLobe *lobe, float3 wi);
LobeValue disney_sheen_eval(const BsdfLobe *lobe, float3 wi);
LobeValue sheen_eval(const BsdfLobe *lobe, float3 wi);
LobeValue velvet_eval(const BsdfLobe *lobe, float3 wi);
bool uniform_sample(float2 u, LobeSample *out); /* the hemisphere, for Sheen and Velvet */
LobeValue toon_eval(const BsdfLobe *lobe, float3 wi);
bool toon_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);
LobeValue hair_eval(const BsdfLobe *lobe, float3 wi);
bool hair_sample(const BsdfLobe *lobe, float u_lobe, float2 u, LobeSample *out);
LobeValue hair_lobe_eval(const BsdfLobe *lobe, float3 wi);
bool hair_lobe_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);
bool subsurface_sample(const BsdfLobe *lobe, float2 u, LobeSample *out);

/* The parts that closures share. Microfacet lobes: kind and widths along the frame's s and t. */
typedef struct MicrofacetShape {
    MicrofacetKind kind;
    float alpha_x, alpha_y;
} MicrofacetShape;
/* GGX, blurred. The mean width stays as anisotropy grows: alpha_x alpha_y = alpha^2, alpha_y / alpha_x = 1 - 0.9 anisotropy
 * [Burley2012 sec. 5.4], unless alpha_x reaches 1. */
MicrofacetShape microfacet_shape(const Bsdf *b, float roughness, float anisotropy);
bool microfacet_is_smooth(MicrofacetShape shape); /* a mirror */
/* A lobe whose Fresnel term is still to be set; NULL: no room. Then microfacet_finish. */
BsdfLobe *microfacet_begin(Bsdf *b, MicrofacetShape shape, const BsdfFrame *frame);
void microfacet_finish(Bsdf *b, BsdfLobe *lobe, Spectrum weight);
/* Both, for Schlick's Fresnel from f0 to f90. */
void microfacet_add_schlick(Bsdf *b, Spectrum weight, float alpha, Spectrum f0, Spectrum f90,
                            const BsdfFrame *frame);
/* Adds a lobe that returns the energy lost by single scattering, computed for bare microfacets (F = 1). It adds nothing for
 * Beckmann and for mirrors. */
void microfacet_compensate(Bsdf *b, Spectrum weight, MicrofacetShape shape,
                           Spectrum fresnel_average, const BsdfFrame *frame);
/* The diffuse lobe that gives back what a reflecting lobe keeps, tinted. kind: BSDF_DIFFUSE of a base under it,
 * BSDF_GLOSSY of what completes it. f0, f90: Schlick's Fresnel. */
void complement_add(Bsdf *b, uint32_t kind, Spectrum weight, float alpha, Spectrum f0, Spectrum f90,
                    Spectrum tint, const BsdfFrame *frame);
/* Fresnel tint of light that a rough metal reflects more than once. */
Spectrum complement_metal_tint(Spectrum fresnel_average, float e1_average);

/* roughness to alpha. */
static inline float bsdf_alpha(float roughness)
{
    float r = clampf(roughness, 0.0f, 1.0f);
    return r * r;
}
/* Returns the alpha of a microfacet lobe of this roughness after blurring (bsdf_blur). */
static inline float bsdf_facet_alpha(const Bsdf *b, float roughness)
{
    return maxf(bsdf_alpha(roughness), b->least_alpha);
}

#endif
