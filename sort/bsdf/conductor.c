/* Reflection by GGX microfacets [Walter2007 eq. 20], and by a mirror below BSDF_ALPHA_DELTA; the metals. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"
#include "sort/bsdf/microfacet.h"

static Spectrum lobe_fresnel(const BsdfLobe *lobe, float cos_i)
{
    Spectrum f0 = lobe->microfacet.f0, f90 = lobe->microfacet.f90;
    return lobe->microfacet.is_complex ? fresnel_metal_spectrum(f0, f90, cos_i)
                                       : fresnel_schlick(f0, f90, cos_i);
}

LobeValue microfacet_eval(const BsdfLobe *lobe, float3 wi)
{
    float3 wo = lobe->frame.wo, h = f3_normalize(f3_add(wo, wi));
    float ax = lobe->microfacet.alpha_x, ay = lobe->microfacet.alpha_y, s_o = lobe->microfacet.s_o;
    float d = ggx_d(h, ax, ay);
    float visibility = ggx_visibility(wo.z, s_o, wi.z, ggx_stretch(wi, ax, ay));
    Spectrum f = spectrum_mul(lobe->weight, lobe_fresnel(lobe, f3_dot(wo, h)));
    /* The density of wi is that of h over 4 o.h [Walter2007 eq. 14]; o.h cancels. */
    return (LobeValue){spectrum_scale(f, d * visibility * wi.z), 0.5f * d / (wo.z + s_o)};
}

bool microfacet_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    float3 h = ggx_sample_visible(wo, lobe->microfacet.s_o, lobe->microfacet.alpha_x,
                                  lobe->microfacet.alpha_y, u);
    out->wi = f3_sub(f3_scale(h, 2.0f * f3_dot(wo, h)), wo);
    return out->wi.z > 0.0f;
}

bool mirror_sample(const BsdfLobe *lobe, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    out->wi = f3(-wo.x, -wo.y, wo.z);
    out->probability = 1.0f;
    out->weight = spectrum_mul(lobe->weight, lobe_fresnel(lobe, wo.z));
    return true;
}

/* Fresnel set, then widths and albedo. */
static void finish(Bsdf *b, BsdfLobe *lobe, Spectrum weight, float alpha_x, float alpha_y)
{
    lobe->microfacet.alpha_x = alpha_x;
    lobe->microfacet.alpha_y = alpha_y;
    lobe->microfacet.s_o = ggx_stretch(lobe->frame.wo, alpha_x, alpha_y);
    Spectrum albedo = lobe_fresnel(lobe, lobe->frame.wo.z);
    if (lobe->model == BSDF_MODEL_MICROFACET) {
        AlbedoTerms e = albedo_ggx(albedo_ggx_row(sqrtf(alpha_x * alpha_y)), lobe->frame.wo.z);
        Spectrum f0 = lobe_fresnel(lobe, 1.0f), f90 = lobe_fresnel(lobe, 0.0f);
        SPECTRUM_EACH(i) albedo.c[i] = f0.c[i] * (e.e1 - e.b) + f90.c[i] * e.b;
    }
    bsdf_lobe_finish(b, lobe, weight, spectrum_mul(weight, albedo));
}

static BsdfLobe *begin(Bsdf *b, float alpha, const BsdfFrame *frame)
{
    bool is_mirror = alpha < BSDF_ALPHA_DELTA;
    return bsdf_lobe_begin(b, is_mirror ? BSDF_MODEL_MIRROR : BSDF_MODEL_MICROFACET,
                           BSDF_REFLECTION | (is_mirror ? BSDF_DELTA : BSDF_GLOSSY), frame);
}

void microfacet_add_schlick(Bsdf *b, Spectrum weight, float alpha, Spectrum f0, Spectrum f90,
                            const BsdfFrame *frame)
{
    BsdfLobe *lobe = begin(b, alpha, frame);
    if (!lobe)
        return;
    lobe->microfacet.f0 = f0;
    lobe->microfacet.f90 = f90;
    finish(b, lobe, weight, alpha, alpha);
}

/* What single scattering loses, put back; with bare microfacets (F = 1) as the lobe that keeps it. */
static void add_compensation(Bsdf *b, Spectrum weight, float alpha, Spectrum fresnel_average,
                             const BsdfFrame *frame)
{
    if (alpha < BSDF_ALPHA_DELTA || (b->init_flags & BSDF_SINGLE_SCATTER))
        return;
    float e1_average = albedo_ggx_average(albedo_ggx_row(alpha)).e1;
    Spectrum one = spectrum_splat(1.0f);
    complement_add(b, weight, alpha, one, one, complement_metal_tint(fresnel_average, e1_average),
                   frame);
}

void conductor_add(Bsdf *b, Spectrum weight, const ConductorArgs *args)
{
    Spectrum f0 = bsdf_albedo_argument(args->reflectance), f90 = spectrum_splat(1.0f);
    float alpha = bsdf_alpha(args->roughness);
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    microfacet_add_schlick(b, weight, alpha, f0, f90, &frame);
    add_compensation(b, weight, alpha, fresnel_schlick_average(f0, f90), &frame);
}

/* alpha_x and alpha_y keep the mean width: alpha_x alpha_y = alpha^2, alpha_y / alpha_x = 1 - 0.9 anisotropy
 * [Burley2012 sec. 5.4]. */
void metal_add(Bsdf *b, Spectrum weight, const MetalArgs *args)
{
    float alpha = bsdf_alpha(args->roughness), anisotropy = clampf(args->anisotropy, -1.0f, 1.0f);
    float aspect = sqrtf(1.0f - 0.9f * fabsf(anisotropy));
    float wide = minf(alpha / aspect, 1.0f), narrow = alpha * aspect;
    BsdfFrame frame = bsdf_frame_align(b, bsdf_frame(b, args->N, true), args->T);
    BsdfLobe *lobe = begin(b, narrow, &frame);
    if (!lobe)
        return;
    Spectrum eta = spectrum_clamp(spectrum_from_rgb(args->eta), 1e-3f, 100.0f);
    Spectrum k = spectrum_clamp(spectrum_from_rgb(args->k), 1e-3f, 100.0f);
    lobe->microfacet.is_complex = true;
    lobe->microfacet.f0 = eta;
    lobe->microfacet.f90 = k;
    bool is_along_t = anisotropy >= 0.0f;
    finish(b, lobe, weight, is_along_t ? wide : narrow, is_along_t ? narrow : wide);
    if (narrow >= BSDF_ALPHA_DELTA)
        add_compensation(b, weight, sqrtf(wide * narrow), fresnel_metal_average(eta, k), &frame);
}
