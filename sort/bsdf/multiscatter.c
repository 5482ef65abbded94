/* A diffuse lobe that returns exactly what a reflecting lobe keeps [Kelemen2001; Kulla2017]: with E the
 * reflecting lobe's albedo and K = 1 - E,
 *
 *   f = tint K(o) K(i) / (pi avg(K)),  so that  int f cos = tint K(o).
 *
 * With the tint of multiple scattering it completes a rough metal; with a base colour it is the base under a
 * coat, and then tint 1 returns all light that comes in. Reciprocal.
 *
 * Sampling. Under a coat K is nearly constant: the cosine. Of a metal of little roughness K is small and has its
 * weight at cos ~ alpha; it falls off as 1 / (cos^2 + w^2), so wi is drawn with density
 * cos / (cos^2 + w^2) / (pi ln((1 + w^2) / w^2)). Drawn by the cosine, weights would reach 1 / alpha. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

static Spectrum kept(const BsdfLobe *lobe, float cos_w)
{
    Spectrum f0 = lobe->complement.f0, f90 = lobe->complement.f90, k;
    if (lobe->complement.is_smooth) {
        Spectrum f = fresnel_schlick(f0, f90, cos_w);
        SPECTRUM_EACH(i) k.c[i] = 1.0f - f.c[i];
        return k;
    }
    AlbedoTerms e = albedo_ggx(lobe->complement.row, cos_w);
    SPECTRUM_EACH(i) k.c[i] = 1.0f - (f0.c[i] * (e.e1 - e.b) + f90.c[i] * e.b);
    return k;
}

static Spectrum kept_average(const BsdfLobe *lobe)
{
    Spectrum f0 = lobe->complement.f0, f90 = lobe->complement.f90, k;
    AlbedoTerms e = lobe->complement.is_smooth ? (AlbedoTerms){1.0f, 1.0f / 21.0f}
                                               : albedo_ggx_average(lobe->complement.row);
    SPECTRUM_EACH(i) k.c[i] = 1.0f - (f0.c[i] * (e.e1 - e.b) + f90.c[i] * e.b);
    return k;
}

/* w = 2.5 alpha / (1 - 2 alpha) keeps the weights within a factor of 2 or so (measured). */
static void set_density(BsdfLobe *lobe, float alpha, Spectrum average)
{
    float least = 1.0f;
    SPECTRUM_EACH(i) least = minf(least, average.c[i]);
    if (lobe->complement.is_smooth || alpha >= 0.45f || least > 0.3f)
        return;
    float w = 2.5f * alpha / (1.0f - 2.0f * alpha);
    lobe->complement.width2 = w * w;
    lobe->complement.log = logf((1.0f + w * w) / (w * w));
}

void complement_add(Bsdf *b, uint32_t kind, Spectrum weight, float alpha, Spectrum f0, Spectrum f90,
                    Spectrum tint, const BsdfFrame *frame)
{
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_COMPLEMENT, BSDF_REFLECTION | kind, frame);
    if (!lobe)
        return;
    lobe->complement.row = albedo_ggx_row(alpha);
    lobe->complement.is_smooth = alpha < BSDF_ALPHA_DELTA;
    lobe->complement.f0 = f0;
    lobe->complement.f90 = f90;
    Spectrum k = kept(lobe, lobe->frame.wo.z), average = kept_average(lobe), albedo, f;
    set_density(lobe, alpha, average);
    SPECTRUM_EACH(i)
    {
        albedo.c[i] = weight.c[i] * tint.c[i] * k.c[i];
        f.c[i] = average.c[i] > 1e-6f ? albedo.c[i] / (SORT_PI * average.c[i]) : 0.0f;
    }
    bsdf_lobe_finish(b, lobe, f, albedo);
}

static float density(const BsdfLobe *lobe, float cos_i)
{
    float width2 = lobe->complement.width2;
    if (width2 == 0.0f)
        return warp_hemisphere_cosine_pdf(cos_i);
    return SORT_INV_PI * cos_i / ((cos_i * cos_i + width2) * lobe->complement.log);
}

LobeValue complement_eval(const BsdfLobe *lobe, float3 wi)
{
    Spectrum f = spectrum_mul(lobe->weight, kept(lobe, wi.z));
    return (LobeValue){spectrum_scale(f, wi.z), density(lobe, wi.z)};
}

/* The distribution of cos^2 is ln((cos^2 + w^2) / w^2) / ln((1 + w^2) / w^2). */
bool complement_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    float width2 = lobe->complement.width2;
    if (width2 == 0.0f) {
        out->wi = warp_hemisphere_cosine(u);
        return true;
    }
    float cos2 = clampf(width2 * (expf(u.y * lobe->complement.log) - 1.0f), 0.0f, 1.0f);
    float2 p = warp_circle(u.x);
    float sin_i = sqrtf(1.0f - cos2);
    out->wi = f3(sin_i * p.x, sin_i * p.y, sqrtf(cos2));
    return true;
}

/* [Kulla2017; FdezAguera2019 for the first bounce's share]. */
Spectrum complement_metal_tint(Spectrum fresnel_average, float e1_average)
{
    SPECTRUM_EACH(i)
    {
        float f = fresnel_average.c[i];
        fresnel_average.c[i] = f * f * e1_average / (1.0f - f * (1.0f - e1_average));
    }
    return fresnel_average;
}
