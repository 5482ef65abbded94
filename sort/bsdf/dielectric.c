/* Reflection and refraction at microfacets [Walter2007 eq. 20, 21], or refraction alone, smooth below
 * BSDF_ALPHA_DELTA. In the
 * lobe's frame wo is above; eta is the index below over that above, so entering and leaving are one case.
 *
 * What single scattering loses is put back by scaling both lobes by 1 / albedo(wo) [Turquin2019], which keeps
 * the density but is not exactly reciprocal; BSDF_SINGLE_SCATTER leaves it out. Refraction alone has none. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"
#include "sort/bsdf/microfacet.h"

/* Reflectance at the (micro)surface. Of refraction alone: none, but for total reflection. */
static inline float lobe_reflectance(const BsdfLobe *lobe, float cos_o, float *out_cos_t)
{
    float f = fresnel_dielectric(cos_o, lobe->dielectric.eta, out_cos_t);
    return lobe->dielectric.is_refraction && f < 1.0f ? 0.0f : f;
}

/* Chance of reflection where the Fresnel reflectance is f. */
static inline float reflection_chance(const BsdfLobe *lobe, float f)
{
    float r = f * lobe->dielectric.tint_r, t = (1.0f - f) * lobe->dielectric.tint_t;
    return r + t > 0.0f ? r / (r + t) : 0.0f;
}

static LobeValue eval_reflection(const BsdfLobe *lobe, float3 wi)
{
    float3 wo = lobe->frame.wo, h = f3_normalize(f3_add(wo, wi));
    float alpha = lobe->dielectric.alpha, s_o = lobe->dielectric.s_o, cos_t;
    MicrofacetKind kind = (MicrofacetKind)lobe->dielectric.kind;
    float f = lobe_reflectance(lobe, minf(f3_dot(wo, h), 1.0f), &cos_t);
    float d = microfacet_d(kind, h, alpha, alpha);
    float visibility = ggx_visibility(wo.z, s_o, wi.z, microfacet_stretch(kind, wi, alpha, alpha));
    Spectrum color = spectrum_mul(lobe->weight, lobe->dielectric.reflection);
    return (LobeValue){spectrum_scale(color, f * d * visibility * wi.z),
                       reflection_chance(lobe, f) * 0.5f * d / (wo.z + s_o)};
}

static LobeValue eval_transmission(const BsdfLobe *lobe, float3 wi)
{
    const LobeValue none = {{{0}}, 0.0f};
    float3 wo = lobe->frame.wo;
    float alpha = lobe->dielectric.alpha, eta = lobe->dielectric.eta, s_o = lobe->dielectric.s_o;
    /* The half vector of refraction [Walter2007 eq. 16], turned up. */
    float3 h = f3_normalize(f3_madd(wo, eta, wi));
    if (h.z < 0.0f)
        h = f3_neg(h);
    float dot_oh = f3_dot(wo, h), dot_ih = f3_dot(wi, h);
    if (dot_oh <= 0.0f || dot_ih >= 0.0f)
        return none;
    MicrofacetKind kind = (MicrofacetKind)lobe->dielectric.kind;
    float cos_t, f = lobe_reflectance(lobe, minf(dot_oh, 1.0f), &cos_t);
    if (f >= 1.0f)
        return none;
    float d = microfacet_d(kind, h, alpha, alpha), cos_i = -wi.z;
    float root = dot_oh + eta * dot_ih;
    float jacobian = eta * eta * -dot_ih / (root * root); /* dh/dwi [Walter2007 eq. 17] */
    /* G2 D (o.h) / cos_o = 4 cos_i V D (o.h). */
    float visibility = ggx_visibility(wo.z, s_o, cos_i, microfacet_stretch(kind, wi, alpha, alpha));
    float value = (1.0f - f) * 4.0f * cos_i * visibility * d * dot_oh * jacobian;
    Spectrum color = spectrum_mul(lobe->weight, lobe->dielectric.transmission);
    return (LobeValue){spectrum_scale(color, value * lobe->dielectric.transmission_scale),
                       (1.0f - reflection_chance(lobe, f)) * ggx_visible_pdf(d, dot_oh, wo.z, s_o) *
                           jacobian};
}

LobeValue dielectric_eval(const BsdfLobe *lobe, float3 wi)
{
    return wi.z > 0.0f ? eval_reflection(lobe, wi) : eval_transmission(lobe, wi);
}

/* Snell about h [Walter2007 eq. 40]. */
static inline float3 refract(float3 wo, float3 h, float dot_oh, float cos_t, float eta)
{
    return f3_sub(f3_scale(h, dot_oh / eta - cos_t), f3_scale(wo, 1.0f / eta));
}

bool dielectric_sample(const BsdfLobe *lobe, float u_side, float2 u, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    float alpha = lobe->dielectric.alpha, eta = lobe->dielectric.eta, cos_t;
    float3 h = microfacet_sample_visible((MicrofacetKind)lobe->dielectric.kind, wo,
                                         lobe->dielectric.s_o, alpha, alpha, u);
    float dot_oh = minf(f3_dot(wo, h), 1.0f);
    if (dot_oh <= 0.0f)
        return false;
    float f = lobe_reflectance(lobe, dot_oh, &cos_t);
    if (u_side < reflection_chance(lobe, f)) {
        out->wi = f3_sub(f3_scale(h, 2.0f * dot_oh), wo);
        out->flags = BSDF_REFLECTION | BSDF_GLOSSY;
        return out->wi.z > 0.0f;
    }
    out->wi = f3_normalize(refract(wo, h, dot_oh, cos_t, eta));
    out->flags = BSDF_TRANSMISSION | BSDF_GLOSSY;
    out->eta = eta;
    return f < 1.0f && out->wi.z < 0.0f;
}

/* Beyond the critical angle some microfacets still let light through. */
float dielectric_reflectance(const BsdfLobe *lobe)
{
    float cos_t, f = lobe_reflectance(lobe, lobe->frame.wo.z, &cos_t);
    return lobe->model == BSDF_MODEL_WINDOW ? f : minf(f, 0.99f);
}

bool window_sample(const BsdfLobe *lobe, float u_side, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    float eta = lobe->dielectric.eta, cos_t;
    float f = lobe_reflectance(lobe, wo.z, &cos_t), chance = reflection_chance(lobe, f);
    if (u_side < chance) {
        out->wi = f3(-wo.x, -wo.y, wo.z);
        out->flags = BSDF_REFLECTION | BSDF_DELTA;
        out->probability = chance;
        out->weight = spectrum_scale(spectrum_mul(lobe->weight, lobe->dielectric.reflection), f);
        return true;
    }
    out->wi = refract(wo, f3(0.0f, 0.0f, 1.0f), wo.z, cos_t, eta);
    out->flags = BSDF_TRANSMISSION | BSDF_DELTA;
    out->eta = eta;
    out->probability = 1.0f - chance;
    out->weight = spectrum_scale(spectrum_mul(lobe->weight, lobe->dielectric.transmission),
                                 (1.0f - f) * lobe->dielectric.transmission_scale);
    return f < 1.0f;
}

/* A lobe of index `ior`, inside over outside, with all but its tints. NULL: no room. */
static BsdfLobe *begin(Bsdf *b, MicrofacetKind kind, float roughness, float ior, uint32_t flags,
                       float3 N)
{
    float alpha = bsdf_facet_alpha(b, roughness);
    ior = clampf(ior, 0.25f, 4.0f);
    if (fabsf(ior - 1.0f) < BSDF_IOR_NONE) {
        alpha = 0.0f;
        ior = 1.0f;
    }
    bool is_smooth = alpha < BSDF_ALPHA_DELTA;
    BsdfFrame frame = bsdf_frame(b, N, true);
    BsdfLobe *lobe = bsdf_lobe_begin(b, is_smooth ? BSDF_MODEL_WINDOW : BSDF_MODEL_DIELECTRIC,
                                     flags | (is_smooth ? BSDF_DELTA : BSDF_GLOSSY), &frame);
    if (!lobe)
        return NULL;
    float eta = b->cos_o < 0.0f ? 1.0f / ior : ior;
    lobe->dielectric.kind = kind;
    lobe->dielectric.alpha = alpha;
    lobe->dielectric.eta = eta;
    lobe->dielectric.s_o = microfacet_stretch(kind, lobe->frame.wo, alpha, alpha);
    lobe->dielectric.transmission_scale =
        b->init_flags & BSDF_IMPORTANCE ? 1.0f : 1.0f / (eta * eta);
    return lobe;
}

void dielectric_add(Bsdf *b, Spectrum weight, const DielectricArgs *args)
{
    BsdfLobe *lobe = begin(b, MICROFACET_GGX, args->roughness, args->ior,
                           BSDF_REFLECTION | BSDF_TRANSMISSION, args->N);
    if (!lobe)
        return;
    lobe->dielectric.reflection = bsdf_albedo_argument(args->reflection_tint);
    lobe->dielectric.transmission = bsdf_albedo_argument(args->transmission_tint);
    lobe->dielectric.tint_r = spectrum_average(lobe->dielectric.reflection);
    lobe->dielectric.tint_t = spectrum_average(lobe->dielectric.transmission);
    float single = lobe->model == BSDF_MODEL_WINDOW
                       ? 1.0f
                       : albedo_dielectric(lobe->dielectric.alpha, lobe->dielectric.eta, false,
                                           lobe->frame.wo.z);
    float gain = b->init_flags & BSDF_SINGLE_SCATTER ? 1.0f : 1.0f / single, cos_t;
    float f = fresnel_dielectric(lobe->frame.wo.z, lobe->dielectric.eta, &cos_t);
    Spectrum tint = spectrum_lerp(lobe->dielectric.transmission, lobe->dielectric.reflection, f);
    bsdf_lobe_finish(b, lobe, spectrum_scale(weight, gain),
                     spectrum_mul(spectrum_scale(weight, gain * single), tint));
}

void refraction_add(Bsdf *b, Spectrum weight, const RefractionArgs *args)
{
    MicrofacetKind kind = args->distribution > 0.5f ? MICROFACET_BECKMANN : MICROFACET_GGX;
    BsdfLobe *lobe = begin(b, kind, args->roughness, args->ior, BSDF_TRANSMISSION, args->N);
    if (!lobe)
        return;
    lobe->dielectric.is_refraction = true;
    lobe->dielectric.transmission = bsdf_albedo_argument(args->tint);
    lobe->dielectric.tint_t = 1.0f;
    bsdf_lobe_finish(b, lobe, weight, spectrum_mul(weight, lobe->dielectric.transmission));
}
