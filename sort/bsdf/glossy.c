/* Microfacet reflection with an artist's colours: Blender's Glossy BSDF (one colour at all angles) and the
 * specular part of its Principled BSDF (colour at normal incidence, white at grazing), alone and as the layers that it is
 * made of since Blender 4, which take from all that they cover what their largest channel reflects toward the viewer. */
#include <float.h>

#include "sort/bsdf/albedo.h"
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

/* A factor on the light of single scattering that puts back what it loses toward the viewer, as Blender's lobes do since
 * version 4 [Turquin2019]: by the material's own roughness, also where Filter Glossy makes the lobe wider; of a stretched lobe by
 * its narrow side, so that none gains. */
static Spectrum brightened(const Bsdf *b, float multiscatter, float roughness, float anisotropy,
                           Spectrum fresnel_average, const BsdfFrame *frame)
{
    Spectrum factor = spectrum_splat(1.0f);
    if (multiscatter <= 1.5f || (b->init_flags & BSDF_SINGLE_SCATTER))
        return factor;
    float narrow = sqrtf(1.0f - 0.9f * fabsf(clampf(anisotropy, -1.0f, 1.0f)));
    float alpha = bsdf_alpha(roughness) * narrow;
    if (alpha < BSDF_ALPHA_DELTA)
        return factor;
    AlbedoRow row = albedo_ggx_row(alpha);
    float e1 = albedo_ggx(row, frame->wo.z).e1, average = albedo_ggx_average(row).e1;
    float missing = (1.0f - e1) / maxf(e1, FLT_EPSILON);
    SPECTRUM_EACH(i)
    {
        float f = fresnel_average.c[i];
        factor.c[i] += missing * f * average / (1.0f - f * (1.0f - average));
    }
    return factor;
}

/* What single scattering loses, as far as a lobe of its own is wanted for it. */
static void compensate(Bsdf *b, Spectrum weight, float multiscatter, MicrofacetShape shape,
                       Spectrum fresnel_average, const BsdfFrame *frame)
{
    float share = clampf(multiscatter, 0.0f, 1.0f);
    if (share > 0.0f && multiscatter <= 1.5f)
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
    Spectrum color = bsdf_albedo_argument(args->tint);
    lobe->microfacet.f0 = lobe->microfacet.f90 = color;
    Spectrum factor = args->distribution > 0.5f ? spectrum_splat(1.0f)
                                                : brightened(b, args->multiscatter, args->roughness,
                                                             args->anisotropy, color, &frame);
    microfacet_finish(b, lobe, spectrum_mul(weight, factor));
    compensate(b, weight, args->multiscatter, shape, color, &frame);
}

static float dielectric_index(float ior)
{
    float eta = clampf(ior, 0.25f, 4.0f);
    if (fabsf(eta - 1.0f) < 0.01f)
        eta = eta < 1.0f ? 0.99f : 1.01f;
    return eta;
}

void specular_add(Bsdf *b, Spectrum weight, const SpecularArgs *args)
{
    MicrofacetShape shape = microfacet_shape(b, args->roughness, args->anisotropy);
    BsdfFrame frame = bsdf_frame_align(b, bsdf_frame(b, args->N, true), args->T);
    BsdfLobe *lobe = microfacet_begin(b, shape, &frame);
    if (!lobe)
        return;
    float eta = dielectric_index(args->ior), cos_t;
    Spectrum f0 = bsdf_albedo_argument(args->f0);
    lobe->microfacet.fresnel = BSDF_FRESNEL_TINTED;
    lobe->microfacet.f0 = f0;
    lobe->microfacet.eta = eta;
    lobe->microfacet.f_normal = fresnel_dielectric(1.0f, eta, &cos_t);
    if (args->multiscatter <= 0.0f) {
        microfacet_finish(b, lobe, weight);
        return;
    }
    Spectrum average = fresnel_tinted_average(f0, eta);
    Spectrum factor =
        brightened(b, args->multiscatter, args->roughness, args->anisotropy, average, &frame);
    microfacet_finish(b, lobe, spectrum_mul(weight, factor));
    compensate(b, weight, args->multiscatter, shape, average, &frame);
}

/* --- as a layer --------------------------------------------------------------------------------- */

void specular_layer_add(Bsdf *b, Spectrum weight, const SpecularLayerArgs *args)
{
    float cover = clampf(args->weight, 0.0f, 1.0f);
    if (cover == 0.0f || args->ior <= 1.0f)
        return;
    specular_add(b, spectrum_scale(weight, cover),
                 &(SpecularArgs){.f0 = args->f0,
                                 .ior = args->ior,
                                 .roughness = args->roughness,
                                 .multiscatter = args->multiscatter > 1.5f ? 2.0f : 0.0f,
                                 .anisotropy = args->anisotropy,
                                 .T = args->T,
                                 .N = args->N});
}

Spectrum specular_layer_base_factor(const Bsdf *b, const SpecularLayerArgs *args)
{
    float cover = clampf(args->weight, 0.0f, 1.0f);
    if (cover == 0.0f || args->ior <= 1.0f)
        return spectrum_splat(1.0f);
    MicrofacetShape shape = microfacet_shape(b, args->roughness, args->anisotropy);
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    float eta = dielectric_index(args->ior), cos_o = maxf(frame.wo.z, 0.0f), cos_t;
    float alpha = sqrtf(shape.alpha_x * shape.alpha_y), most = 0.0f;
    Spectrum f0 = bsdf_albedo_argument(args->f0), factor = spectrum_splat(1.0f), reflected;
    if (microfacet_is_smooth(shape)) {
        reflected = fresnel_tinted(f0, eta, fresnel_dielectric(1.0f, eta, &cos_t), cos_o);
    } else {
        float e1 = albedo_ggx(albedo_ggx_row(alpha), cos_o).e1;
        float rise = albedo_rise(alpha, eta, cos_o, e1);
        SPECTRUM_EACH(i) reflected.c[i] = f0.c[i] * (e1 - rise) + rise;
        factor = brightened(b, args->multiscatter, args->roughness, args->anisotropy,
                            fresnel_tinted_average(f0, eta), &frame);
    }
    SPECTRUM_EACH(i) most = maxf(most, factor.c[i] * reflected.c[i]);
    return spectrum_splat(1.0f - cover * minf(most, 1.0f));
}
