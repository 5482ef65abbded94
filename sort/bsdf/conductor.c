/* The metals: GGX reflection with the Fresnel reflectance of a colour, or of a measured index, and what single
 * scattering loses put back; and Beckmann's with that of an index, as it is. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

void conductor_add(Bsdf *b, Spectrum weight, const ConductorArgs *args)
{
    Spectrum f0 = bsdf_albedo_argument(args->reflectance), f90 = spectrum_splat(1.0f);
    float alpha = bsdf_facet_alpha(b, args->roughness);
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    microfacet_add_schlick(b, weight, alpha, f0, f90, &frame);
    microfacet_compensate(b, weight, (MicrofacetShape){MICROFACET_GGX, alpha, alpha},
                          fresnel_schlick_average(f0, f90), &frame);
}

static void add_metal(Bsdf *b, Spectrum weight, MicrofacetKind kind, const MetalArgs *args)
{
    MicrofacetShape shape = microfacet_shape(b, args->roughness, args->anisotropy);
    shape.kind = kind;
    BsdfFrame frame = bsdf_frame_align(b, bsdf_frame(b, args->N, true), args->T);
    BsdfLobe *lobe = microfacet_begin(b, shape, &frame);
    if (!lobe)
        return;
    Spectrum eta = spectrum_clamp(spectrum_from_rgb(args->eta), 1e-3f, 100.0f);
    Spectrum k = spectrum_clamp(spectrum_from_rgb(args->k), 1e-3f, 100.0f);
    lobe->microfacet.fresnel = BSDF_FRESNEL_METAL;
    lobe->microfacet.f0 = eta;
    lobe->microfacet.f90 = k;
    microfacet_finish(b, lobe, weight);
    microfacet_compensate(b, weight, shape, fresnel_metal_average(eta, k), &frame);
}

void metal_add(Bsdf *b, Spectrum weight, const MetalArgs *args)
{
    add_metal(b, weight, MICROFACET_GGX, args);
}

void beckmann_metal_add(Bsdf *b, Spectrum weight, const BeckmannMetalArgs *args)
{
    add_metal(b, weight, MICROFACET_BECKMANN,
              &(MetalArgs){.eta = args->eta,
                           .k = args->k,
                           .roughness = args->roughness,
                           .anisotropy = args->anisotropy,
                           .T = args->T,
                           .N = args->N});
}
