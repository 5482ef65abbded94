/* Which lobes are of which kind, and what each kind brings. */
#include "sort/bsdf/bsdf_lobes.h"

/* Returns the kind of the light that the lobe sends to this side, BSDF_REFLECTION or BSDF_TRANSMISSION. */
static BsdfKind lobe_kind(const BsdfLobe *lobe, uint32_t side)
{
    if (lobe->model == BSDF_MODEL_HAIR)
        return BSDF_KIND_TRANSMISSION;
    if (lobe->model == BSDF_MODEL_HAIR_LOBE)
        return lobe->hair_lobe.is_transmission ? BSDF_KIND_TRANSMISSION : BSDF_KIND_GLOSSY;
    if (lobe->model == BSDF_MODEL_VELVET)
        return BSDF_KIND_GLOSSY;
    if (lobe->flags & (BSDF_DIFFUSE | BSDF_SUBSURFACE))
        return BSDF_KIND_DIFFUSE;
    return side & BSDF_REFLECTION ? BSDF_KIND_GLOSSY : BSDF_KIND_TRANSMISSION;
}

static void clear(Spectrum kinds[BSDF_KINDS])
{
    for (int k = 0; k < BSDF_KINDS; ++k)
        kinds[k] = spectrum_splat(0.0f);
}

void bsdf_eval_kinds(const Bsdf *b, float3 wi, Spectrum out_f_cos[BSDF_KINDS])
{
    uint32_t side = bsdf_is_transmitted(b, wi) ? BSDF_TRANSMISSION : BSDF_REFLECTION;
    clear(out_f_cos);
    for (uint32_t i = 0; i < b->lobe_count; ++i) {
        const BsdfLobe *lobe = &b->lobes[i];
        LobeValue value;
        if (!bsdf_lobe_value(b, lobe, wi, &value))
            continue;
        Spectrum *sum = &out_f_cos[lobe_kind(lobe, side)];
        *sum = spectrum_add(*sum, value.f_cos);
    }
}

void bsdf_sample_kinds(const Bsdf *b, const BsdfSample *sample, Spectrum out_shares[BSDF_KINDS])
{
    if (sample->flags & BSDF_DELTA) {
        clear(out_shares);
        out_shares[lobe_kind(&b->lobes[sample->lobe], sample->flags)] = spectrum_splat(1.0f);
        return;
    }
    bsdf_eval_kinds(b, sample->wi, out_shares);
    SPECTRUM_EACH(c)
    {
        float sum = 0.0f;
        for (int k = 0; k < BSDF_KINDS; ++k)
            sum += out_shares[k].c[c];
        for (int k = 0; k < BSDF_KINDS; ++k)
            out_shares[k].c[c] = sum != 0.0f ? out_shares[k].c[c] / sum : 0.0f;
    }
}

/* What is reflected of the albedo of a lobe with both sides. */
static Spectrum reflected_albedo(const BsdfLobe *lobe)
{
    bool is_thin = lobe->model == BSDF_MODEL_THIN || lobe->model == BSDF_MODEL_PANE;
    float f = is_thin ? thin_reflectance(lobe) : dielectric_reflectance(lobe);
    Spectrum albedo;
    SPECTRUM_EACH(c)
    {
        float r = f * lobe->dielectric.reflection.c[c];
        float t = (1.0f - f) * lobe->dielectric.transmission.c[c];
        albedo.c[c] = r + t > 0.0f ? lobe->albedo.c[c] * (r / (r + t)) : 0.0f;
    }
    return albedo;
}

void bsdf_albedo_kinds(const Bsdf *b, Spectrum out_albedo[BSDF_KINDS])
{
    const uint32_t both = BSDF_REFLECTION | BSDF_TRANSMISSION;
    clear(out_albedo);
    for (uint32_t i = 0; i < b->lobe_count; ++i) {
        const BsdfLobe *lobe = &b->lobes[i];
        if (lobe->flags & BSDF_TRANSPARENT)
            continue;
        BsdfKind reflected = lobe_kind(lobe, BSDF_REFLECTION),
                 transmitted = lobe_kind(lobe, BSDF_TRANSMISSION);
        Spectrum albedo = lobe->albedo;
        if ((lobe->flags & both) == both && reflected != transmitted) {
            Spectrum part = reflected_albedo(lobe);
            out_albedo[reflected] = spectrum_add(out_albedo[reflected], part);
            albedo = spectrum_sub(albedo, part);
        }
        BsdfKind kind = lobe->flags & BSDF_TRANSMISSION ? transmitted : reflected;
        out_albedo[kind] = spectrum_add(out_albedo[kind], albedo);
    }
}
