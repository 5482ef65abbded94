#include "sort/bsdf/bsdf_point.h"

#include "base/check.h"
#include <string.h>

static bool is_live(BsdfPoint p, const BsdfBlockLobe *lobe)
{
    return lobe->live >> p.lane & 1;
}

static Spectrum term_weight(BsdfPoint p, const BsdfTerm *term)
{
    const float *at = term->share + p.lane;
    return (Spectrum){{at[0], at[SSL_BLOCK], at[(size_t)2 * SSL_BLOCK]}};
}

static Spectrum state_spectrum(BsdfPoint p, const BsdfTerm *term, uint16_t row)
{
    const float *at = term->state + (size_t)row * SSL_BLOCK + p.lane;
    ASSERT(row != BSDF_NO_ROW);
    return (Spectrum){{at[0], at[SSL_BLOCK], at[(size_t)2 * SSL_BLOCK]}};
}

static float3 row3(BsdfPoint p, const BsdfRow rows[3])
{
    return f3(rows[0][p.lane], rows[1][p.lane], rows[2][p.lane]);
}

bool bsdf_point_is_transmitted(BsdfPoint p, float3 wi)
{
    return f3_dot(wi, row3(p, p.block->view.Ng)) < 0.0f;
}

float bsdf_point_pass_chance(BsdfPoint p)
{
    float sum = 0.0f, all = p.block->select_sum[p.lane];
    for (uint32_t l = 0; l < p.block->lobe_count; ++l)
        if (p.block->lobes[l].def->flags & SSL_LOBE_TRANSPARENT)
            sum += p.block->lobes[l].select[p.lane];
    return all > 0.0f ? sum / all : 0.0f;
}

BsdfMedium bsdf_point_medium(BsdfPoint p, uint32_t lobe)
{
    ASSERT(lobe < p.block->lobe_count);
    const BsdfBlockLobe *entered = &p.block->lobes[lobe];
    uint16_t row = entered->def->medium;
    return (BsdfMedium){.sigma_t = state_spectrum(p, entered->term, row),
                        .albedo = state_spectrum(p, entered->term, (uint16_t)(row + 3)),
                        .g = entered->term->state[(size_t)(row + 6) * SSL_BLOCK + p.lane]};
}

static float3 argument(BsdfPoint p, const BsdfTerm *term, uint16_t row)
{
    const float *at = term->args + (size_t)row * SSL_BLOCK + p.lane;
    ASSERT(row != BSDF_NO_ROW);
    return f3(at[0], at[SSL_BLOCK], at[(size_t)2 * SSL_BLOCK]);
}

void bsdf_point_exit(BsdfPoint p, uint32_t lobe, float3 *out_place, float3 *out_along)
{
    ASSERT(lobe < p.block->lobe_count);
    const BsdfTerm *term = p.block->lobes[lobe].term;
    *out_place = argument(p, term, term->def->place);
    *out_along = argument(p, term, term->def->along);
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Returns the kind of the light that a lobe sends to this side, SSL_LOBE_REFLECTION or SSL_LOBE_TRANSMISSION. */
static BsdfKind kind_of(uint32_t lobe_flags, uint32_t side)
{
    if (lobe_flags & SSL_LOBE_SEEN_AS_TRANSMISSION)
        return BSDF_KIND_TRANSMISSION;
    if (lobe_flags & SSL_LOBE_SEEN_AS_GLOSSY)
        return BSDF_KIND_GLOSSY;
    if (lobe_flags & (SSL_LOBE_DIFFUSE | SSL_LOBE_SUBSURFACE))
        return BSDF_KIND_DIFFUSE;
    return side & SSL_LOBE_REFLECTION ? BSDF_KIND_GLOSSY : BSDF_KIND_TRANSMISSION;
}

static void clear(Spectrum kinds[BSDF_KINDS])
{
    for (int k = 0; k < BSDF_KINDS; ++k)
        kinds[k] = spectrum_splat(0.0f);
}

void bsdf_point_eval_kinds(BsdfPoint p, float3 wi, Spectrum out_f_cos[BSDF_KINDS])
{
    alignas(64) BsdfRow rows[3], f_cos[3], pdf;
    uint32_t side = bsdf_point_is_transmitted(p, wi) ? SSL_LOBE_TRANSMISSION : SSL_LOBE_REFLECTION;
    clear(out_f_cos);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        rows[0][i] = wi.x, rows[1][i] = wi.y, rows[2][i] = wi.z;
    for (uint32_t l = 0; l < p.block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &p.block->lobes[l];
        if (!is_live(p, lobe) || (lobe->def->flags & SSL_LOBE_DELTA))
            continue;
        bsdf_block_eval_lobe(p.block, lobe, rows, (uint16_t)(1u << p.lane), f_cos, pdf);
        Spectrum *sum = &out_f_cos[kind_of(lobe->def->flags, side)];
        *sum =
            spectrum_add(*sum, spectrum_mul(term_weight(p, lobe->term), bsdf_point_row(p, f_cos)));
    }
}

void bsdf_point_sample_kinds(BsdfPoint p, float3 wi, uint32_t flags, uint32_t lobe,
                             Spectrum out_fractions[BSDF_KINDS])
{
    if (flags & SSL_LOBE_DELTA) {
        clear(out_fractions);
        out_fractions[kind_of(p.block->lobes[lobe].def->flags, flags)] = spectrum_splat(1.0f);
        return;
    }
    bsdf_point_eval_kinds(p, wi, out_fractions);
    SPECTRUM_EACH(c)
    {
        float sum = 0.0f;
        for (int k = 0; k < BSDF_KINDS; ++k)
            sum += out_fractions[k].c[c];
        for (int k = 0; k < BSDF_KINDS; ++k)
            out_fractions[k].c[c] = sum != 0.0f ? out_fractions[k].c[c] / sum : 0.0f;
    }
}

/* --- AOVs ------------------------------------------------------------------------------------- */

static Spectrum lobe_albedo(BsdfPoint p, const BsdfBlockLobe *lobe)
{
    return spectrum_mul(term_weight(p, lobe->term),
                        state_spectrum(p, lobe->term, lobe->def->albedo));
}

Spectrum bsdf_point_albedo(BsdfPoint p)
{
    Spectrum sum = spectrum_splat(0.0f);
    for (uint32_t l = 0; l < p.block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &p.block->lobes[l];
        if (is_live(p, lobe) && !(lobe->def->flags & SSL_LOBE_TRANSPARENT))
            sum = spectrum_add(sum, lobe_albedo(p, lobe));
    }
    return sum;
}

float3 bsdf_point_normal(BsdfPoint p)
{
    float3 sum = f3_splat(0.0f);
    for (uint32_t l = 0; l < p.block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &p.block->lobes[l];
        if (!is_live(p, lobe) || (lobe->def->flags & SSL_LOBE_TRANSPARENT))
            continue;
        Spectrum n =
            state_spectrum(p, lobe->term, (uint16_t)(lobe->term->def->frame + 6)); /* s, t, n */
        sum = f3_madd(sum, lobe->select[p.lane], f3(n.c[0], n.c[1], n.c[2]));
    }
    return f3_normalize(sum);
}

float bsdf_point_roughness(BsdfPoint p)
{
    float sum = 0.0f, all = 0.0f;
    for (uint32_t l = 0; l < p.block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &p.block->lobes[l];
        uint16_t row = lobe->term->def->roughness;
        if (!is_live(p, lobe) || row == BSDF_NO_ROW)
            continue;
        float roughness = lobe->term->args[(size_t)row * SSL_BLOCK + p.lane];
        if (roughness == 0.0f && lobe->def->flags & SSL_LOBE_DIFFUSE)
            continue;
        float weight = fabsf(spectrum_average(lobe_albedo(p, lobe)));
        sum += weight * roughness;
        all += weight;
    }
    return all > 0.0f ? sum / all : -1.0f;
}

void bsdf_point_albedo_kinds(BsdfPoint p, Spectrum out_albedo[BSDF_KINDS])
{
    const uint32_t both = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    clear(out_albedo);
    for (uint32_t l = 0; l < p.block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &p.block->lobes[l];
        uint32_t flags = lobe->def->flags;
        if (!is_live(p, lobe) || (flags & SSL_LOBE_TRANSPARENT))
            continue;
        BsdfKind reflected = kind_of(flags, SSL_LOBE_REFLECTION);
        BsdfKind transmitted = kind_of(flags, SSL_LOBE_TRANSMISSION);
        Spectrum albedo = lobe_albedo(p, lobe);
        if ((flags & both) == both && reflected != transmitted) {
            Spectrum part = spectrum_mul(term_weight(p, lobe->term),
                                         state_spectrum(p, lobe->term, lobe->def->reflected));
            out_albedo[reflected] = spectrum_add(out_albedo[reflected], part);
            albedo = spectrum_sub(albedo, part);
        }
        BsdfKind kind = flags & SSL_LOBE_TRANSMISSION ? transmitted : reflected;
        out_albedo[kind] = spectrum_add(out_albedo[kind], albedo);
    }
}
