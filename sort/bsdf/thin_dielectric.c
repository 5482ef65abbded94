/* A sheet of glass too thin to shift the light that passes. All reflections between its faces together: with F
 * the reflectance of one face, R = 2F / (1 + F) and T = 1 - R [Stokes1860]. What goes through keeps its direction;
 * of a rough sheet it has the spread of the reflection, mirrored in the sheet, so both share one density.
 * Energy compensation as for Dielectric: 1 / albedo(wo) [Turquin2019]. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

static float sheet_reflectance(const BsdfLobe *lobe, float cos_o)
{
    float cos_t, f = fresnel_dielectric(minf(cos_o, 1.0f), lobe->dielectric.eta, &cos_t);
    return minf(2.0f * f / (1.0f + f), 1.0f);
}

float thin_reflectance(const BsdfLobe *lobe)
{
    float r = sheet_reflectance(lobe, lobe->frame.wo.z);
    return lobe->model == BSDF_MODEL_PANE ? r : minf(r, 0.99f);
}

static float reflection_chance(const BsdfLobe *lobe, float reflectance)
{
    float r = reflectance * lobe->dielectric.tint_r;
    float t = (1.0f - reflectance) * lobe->dielectric.tint_t;
    return r + t > 0.0f ? r / (r + t) : 0.0f;
}

LobeValue thin_eval(const BsdfLobe *lobe, float3 wi)
{
    bool is_reflection = wi.z > 0.0f;
    float alpha = lobe->dielectric.alpha, s_o = lobe->dielectric.s_o;
    float3 wo = lobe->frame.wo;
    wi.z = fabsf(wi.z);
    float3 h = f3_normalize(f3_add(wo, wi));
    float r = sheet_reflectance(lobe, f3_dot(wo, h)), chance = reflection_chance(lobe, r);
    float d = ggx_d(h, alpha, alpha);
    float visibility = ggx_visibility(wo.z, s_o, wi.z, ggx_stretch(wi, alpha, alpha));
    Spectrum tint = is_reflection ? lobe->dielectric.reflection : lobe->dielectric.transmission;
    float share = is_reflection ? r : 1.0f - r;
    return (LobeValue){
        spectrum_scale(spectrum_mul(lobe->weight, tint), share * d * visibility * wi.z),
        (is_reflection ? chance : 1.0f - chance) * 0.5f * d / (wo.z + s_o)};
}

static void choose_side(const BsdfLobe *lobe, float u_side, float cos_o, uint32_t kind,
                        LobeSample *out)
{
    float r = sheet_reflectance(lobe, cos_o), chance = reflection_chance(lobe, r);
    bool is_reflection = u_side < chance;
    Spectrum tint = is_reflection ? lobe->dielectric.reflection : lobe->dielectric.transmission;
    out->flags = kind | (is_reflection ? BSDF_REFLECTION : BSDF_TRANSMISSION);
    out->probability = is_reflection ? chance : 1.0f - chance;
    out->weight = spectrum_scale(spectrum_mul(lobe->weight, tint), is_reflection ? r : 1.0f - r);
    if (!is_reflection)
        out->wi.z = -out->wi.z;
}

bool thin_sample(const BsdfLobe *lobe, float u_side, float2 u, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    float alpha = lobe->dielectric.alpha;
    float3 h = ggx_sample_visible(wo, lobe->dielectric.s_o, alpha, alpha, u);
    float cos_o = f3_dot(wo, h);
    out->wi = f3_sub(f3_scale(h, 2.0f * cos_o), wo);
    if (out->wi.z <= 0.0f)
        return false;
    choose_side(lobe, u_side, cos_o, BSDF_GLOSSY, out);
    return true;
}

bool pane_sample(const BsdfLobe *lobe, float u_side, LobeSample *out)
{
    float3 wo = lobe->frame.wo;
    out->wi = f3(-wo.x, -wo.y, wo.z);
    choose_side(lobe, u_side, wo.z, BSDF_DELTA, out);
    return true;
}

void thin_dielectric_add(Bsdf *b, Spectrum weight, const ThinDielectricArgs *args)
{
    float alpha = bsdf_facet_alpha(b, args->roughness);
    bool is_smooth = alpha < BSDF_ALPHA_DELTA;
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    BsdfLobe *lobe = bsdf_lobe_begin(
        b, is_smooth ? BSDF_MODEL_PANE : BSDF_MODEL_THIN,
        BSDF_REFLECTION | BSDF_TRANSMISSION | (is_smooth ? BSDF_DELTA : BSDF_GLOSSY), &frame);
    if (!lobe)
        return;
    lobe->dielectric.alpha = alpha;
    lobe->dielectric.s_o = ggx_stretch(frame.wo, alpha, alpha);
    lobe->dielectric.eta = clampf(args->ior, 1.0f, 4.0f);
    lobe->dielectric.reflection = bsdf_albedo_argument(args->reflection_tint);
    lobe->dielectric.transmission = bsdf_albedo_argument(args->transmission_tint);
    lobe->dielectric.tint_r = spectrum_average(lobe->dielectric.reflection);
    lobe->dielectric.tint_t = spectrum_average(lobe->dielectric.transmission);
    float single = is_smooth ? 1.0f : albedo_ggx(albedo_ggx_row(alpha), frame.wo.z).e1;
    float gain = b->init_flags & BSDF_SINGLE_SCATTER ? 1.0f : 1.0f / single;
    Spectrum tint = spectrum_lerp(lobe->dielectric.transmission, lobe->dielectric.reflection,
                                  sheet_reflectance(lobe, frame.wo.z));
    bsdf_lobe_finish(b, lobe, spectrum_scale(weight, gain),
                     spectrum_mul(spectrum_scale(weight, gain * single), tint));
}
