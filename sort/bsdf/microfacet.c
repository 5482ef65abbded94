/* Reflection by microfacets [Walter2007 eq. 20], and by a mirror below BSDF_ALPHA_DELTA. */
#include "base/check.h"

#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

static Spectrum lobe_fresnel(const BsdfLobe *lobe, float cos_i)
{
    Spectrum f0 = lobe->microfacet.f0, f90 = lobe->microfacet.f90;
    switch (lobe->microfacet.fresnel) {
    case BSDF_FRESNEL_SCHLICK:
        return fresnel_schlick(f0, f90, cos_i);
    case BSDF_FRESNEL_METAL:
        return fresnel_metal_spectrum(f0, f90, cos_i);
    case BSDF_FRESNEL_TINTED:
        return fresnel_tinted(f0, lobe->microfacet.eta, lobe->microfacet.f_normal, cos_i);
    }
    UNREACHABLE();
}

LobeValue microfacet_eval(const BsdfLobe *lobe, float3 wi)
{
    MicrofacetKind kind = (MicrofacetKind)lobe->microfacet.kind;
    float3 wo = lobe->frame.wo, h = f3_normalize(f3_add(wo, wi));
    float ax = lobe->microfacet.alpha_x, ay = lobe->microfacet.alpha_y, s_o = lobe->microfacet.s_o;
    float d = microfacet_d(kind, h, ax, ay);
    float visibility = ggx_visibility(wo.z, s_o, wi.z, microfacet_stretch(kind, wi, ax, ay));
    Spectrum f = spectrum_mul(lobe->weight, lobe_fresnel(lobe, minf(f3_dot(wo, h), 1.0f)));
    /* The density of wi is that of h over 4 o.h [Walter2007 eq. 14]; o.h cancels. */
    return (LobeValue){spectrum_scale(f, d * visibility * wi.z), 0.5f * d / (wo.z + s_o)};
}

bool microfacet_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    float3 h =
        microfacet_sample_visible((MicrofacetKind)lobe->microfacet.kind, wo, lobe->microfacet.s_o,
                                  lobe->microfacet.alpha_x, lobe->microfacet.alpha_y, u);
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

MicrofacetShape microfacet_shape(const Bsdf *b, float roughness, float anisotropy)
{
    float alpha = bsdf_alpha(roughness), a = clampf(anisotropy, -1.0f, 1.0f);
    float aspect = sqrtf(1.0f - 0.9f * fabsf(a));
    float wide = maxf(minf(alpha / aspect, 1.0f), b->least_alpha);
    float narrow = maxf(alpha * aspect, b->least_alpha);
    return a >= 0.0f ? (MicrofacetShape){MICROFACET_GGX, wide, narrow}
                     : (MicrofacetShape){MICROFACET_GGX, narrow, wide};
}

bool microfacet_is_smooth(MicrofacetShape shape)
{
    return minf(shape.alpha_x, shape.alpha_y) < BSDF_ALPHA_DELTA;
}

BsdfLobe *microfacet_begin(Bsdf *b, MicrofacetShape shape, const BsdfFrame *frame)
{
    bool is_mirror = microfacet_is_smooth(shape);
    BsdfLobe *lobe =
        bsdf_lobe_begin(b, is_mirror ? BSDF_MODEL_MIRROR : BSDF_MODEL_MICROFACET,
                        BSDF_REFLECTION | (is_mirror ? BSDF_DELTA : BSDF_GLOSSY), frame);
    if (!lobe)
        return NULL;
    lobe->microfacet.kind = shape.kind;
    lobe->microfacet.alpha_x = shape.alpha_x;
    lobe->microfacet.alpha_y = shape.alpha_y;
    lobe->microfacet.s_o = microfacet_stretch(shape.kind, frame->wo, shape.alpha_x, shape.alpha_y);
    return lobe;
}

void microfacet_finish(Bsdf *b, BsdfLobe *lobe, Spectrum weight)
{
    Spectrum albedo = lobe_fresnel(lobe, lobe->frame.wo.z);
    if (lobe->model == BSDF_MODEL_MICROFACET) {
        float alpha = sqrtf(lobe->microfacet.alpha_x * lobe->microfacet.alpha_y);
        AlbedoTerms e = albedo_ggx(albedo_ggx_row(alpha), lobe->frame.wo.z);
        Spectrum f0 = lobe_fresnel(lobe, 1.0f), f90 = lobe_fresnel(lobe, 0.0f);
        SPECTRUM_EACH(i) albedo.c[i] = f0.c[i] * (e.e1 - e.b) + f90.c[i] * e.b;
    }
    bsdf_lobe_finish(b, lobe, weight, spectrum_mul(weight, albedo));
}

void microfacet_add_schlick(Bsdf *b, Spectrum weight, float alpha, Spectrum f0, Spectrum f90,
                            const BsdfFrame *frame)
{
    BsdfLobe *lobe = microfacet_begin(b, (MicrofacetShape){MICROFACET_GGX, alpha, alpha}, frame);
    if (!lobe)
        return;
    lobe->microfacet.f0 = f0;
    lobe->microfacet.f90 = f90;
    microfacet_finish(b, lobe, weight);
}

void microfacet_compensate(Bsdf *b, Spectrum weight, MicrofacetShape shape,
                           Spectrum fresnel_average, const BsdfFrame *frame)
{
    if (shape.kind != MICROFACET_GGX || microfacet_is_smooth(shape) ||
        (b->init_flags & BSDF_SINGLE_SCATTER))
        return;
    float alpha = sqrtf(shape.alpha_x * shape.alpha_y);
    float e1_average = albedo_ggx_average(albedo_ggx_row(alpha)).e1;
    Spectrum one = spectrum_splat(1.0f);
    complement_add(b, BSDF_GLOSSY, weight, alpha, one, one,
                   complement_metal_tint(fresnel_average, e1_average), frame);
}
