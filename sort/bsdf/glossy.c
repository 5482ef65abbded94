/* Microfacet reflection with an artist's colours: Blender's Glossy BSDF (one colour at all angles) and the
 * specular part of its Principled BSDF (colour at normal incidence, white at grazing). */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

/* What single scattering loses, as far as it is wanted. */
static void compensate(Bsdf *b, Spectrum weight, float multiscatter, MicrofacetShape shape,
                       Spectrum fresnel_average, const BsdfFrame *frame)
{
    float share = clampf(multiscatter, 0.0f, 1.0f);
    if (share > 0.0f)
        microfacet_compensate(b, spectrum_scale(weight, share), shape, fresnel_average, frame);
}

void glossy_add(Bsdf *b, Spectrum weight, const GlossyArgs *args)
{
    MicrofacetShape shape = microfacet_shape(b, args->roughness, args->anisotropy);
    shape.kind = args->distribution > 0.5f ? MICROFACET_BECKMANN : MICROFACET_GGX;
    BsdfFrame frame = bsdf_frame_align(b, bsdf_frame(b, args->N, true), args->T);
    BsdfLobe *lobe = microfacet_begin(b, shape, &frame);
    if (!lobe)
        return;
    Spectrum color = bsdf_albedo_argument(args->color);
    lobe->microfacet.f0 = lobe->microfacet.f90 = color;
    microfacet_finish(b, lobe, weight);
    compensate(b, weight, args->multiscatter, shape, color, &frame);
}

void specular_add(Bsdf *b, Spectrum weight, const SpecularArgs *args)
{
    MicrofacetShape shape = microfacet_shape(b, args->roughness, args->anisotropy);
    BsdfFrame frame = bsdf_frame_align(b, bsdf_frame(b, args->N, true), args->T);
    BsdfLobe *lobe = microfacet_begin(b, shape, &frame);
    if (!lobe)
        return;
    float eta = clampf(args->ior, 0.25f, 4.0f), cos_t;
    if (fabsf(eta - 1.0f) < 0.01f)
        eta = eta < 1.0f ? 0.99f : 1.01f;
    Spectrum f0 = bsdf_albedo_argument(args->f0);
    lobe->microfacet.fresnel = BSDF_FRESNEL_TINTED;
    lobe->microfacet.f0 = f0;
    lobe->microfacet.eta = eta;
    lobe->microfacet.f_normal = fresnel_dielectric(1.0f, eta, &cos_t);
    microfacet_finish(b, lobe, weight);
    if (args->multiscatter > 0.0f)
        compensate(b, weight, args->multiscatter, shape, fresnel_tinted_average(f0, eta), &frame);
}
