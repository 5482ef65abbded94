#include "sort/integrator/guiding.h"

#include <string.h>

/* --- where the field takes part ---------------------------------------------------------------------- */

static bool is_delta(const BsdfBlockLobe *lobe)
{
    return lobe->def->flags & SSL_LOBE_DELTA;
}

/* Sets the fraction of the surface's own sampling that lobes with a density have. */
static void find_shares(const BsdfBlock *block, WideRow out)
{
    memset(out, 0, sizeof(WideRow));
    for (uint32_t l = 0; l < block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &block->lobes[l];
        if (!is_delta(lobe))
            WIDE_EACH(k, lobe->live)
        out[k] += lobe->select[k];
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out[k] = block->select_sum[k] > 0.0f ? minf(out[k] / block->select_sum[k], 1.0f) : 0.0f;
}

void guidance_find(const Wave *w, const SurfaceBlock *surfaces, const WideRow normal[3],
                   const BsdfBlock *block, uint16_t live, Guidance *out)
{
    const GuideField *field = w->shared->guide;
    memset(out->chance, 0, sizeof out->chance);
    memcpy(out->position, surfaces->P, sizeof out->position);
    out->lanes = 0;
    find_shares(block, out->share);
    WIDE_EACH(k, live & bsdf_block_smooth(block))
    {
        out->region[k] = guide_field_region(field, wide_get3(surfaces->P, k), wide_get3(normal, k));
        out->chance[k] = out->share[k] * guide_field_chance(field, out->region[k], w->lessons);
        if (out->chance[k] > 0.0f)
            out->lanes = (uint16_t)(out->lanes | 1u << k);
    }
}

static float mixed(const Guidance *g, uint32_t k, float bsdf_pdf, float field_pdf)
{
    float chance = g->chance[k];
    return (1.0f - chance) * bsdf_pdf + chance * field_pdf;
}

void guidance_mix(const Wave *w, const Guidance *g, const WideRow wi[3], uint16_t live, WideRow pdf)
{
    uint16_t lanes = live & g->lanes;
    WideRow density;
    guide_field_densities(w->shared->guide, g->region, g->position, wi, lanes, density);
    WIDE_EACH(k, lanes) pdf[k] = mixed(g, k, pdf[k], density[k]);
}

/* --- drawing directions ------------------------------------------------------------------------------ */

/* Draws directions by the field where the first random number says so, and rescales it elsewhere. Returns the lanes that
 * it drew. */
static uint16_t draw_by_field(const Wave *w, const Guidance *g, BsdfRow u[3], uint16_t live,
                              WideRow out_wi[3])
{
    const float below_one = 0x1.fffffep-1f;
    uint16_t drawn = 0;
    alignas(64) WideRow at[2] = {{0}};
    WIDE_EACH(k, live & g->lanes)
    {
        float chance = g->chance[k];
        if (u[0][k] < chance) {
            at[0][k] = minf(u[0][k] / chance, below_one), at[1][k] = u[1][k];
            drawn = (uint16_t)(drawn | 1u << k);
        } else {
            u[0][k] = minf((u[0][k] - chance) / (1.0f - chance), below_one);
        }
    }
    if (drawn)
        guide_field_draw(w->shared->guide, g->region, g->position, at, drawn, out_wi);
    return drawn;
}

/* Sets what a sample says of its lobe. */
static void set_lobe(const BsdfBlock *block, uint32_t k, uint32_t lobe, BsdfDrawn *out)
{
    const uint32_t both = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    const BsdfView *view = &block->view;
    float side = 0.0f;
    uint32_t flags = block->lobes[lobe].def->flags;
    for (uint32_t c = 0; c < 3; ++c) {
        side += out->wi[c][k] * view->Ng[c][k];
        out->n[c][k] = view->Ng[c][k];
    }
    if ((flags & both) == both)
        flags &= ~(uint32_t)(side > 0.0f ? SSL_LOBE_TRANSMISSION : SSL_LOBE_REFLECTION);
    out->flags[k] = flags;
    out->lobe[k] = lobe;
    /* Roulette knows the index of refraction of what the surface itself draws; here it does without. */
    out->eta[k] = 1.0f;
}

/* Lobes differ in the kinds of rays that they make, which lights and limits may tell apart. So a direction belongs to a lobe
 * with the probability with which the surface's own sampling would have drawn it by that lobe. */
static void choose_lobes(const Wave *w, const BsdfBlock *block, const uint32_t *paths,
                         uint16_t lanes, BsdfDrawn *out)
{
    float u[SSL_BLOCK], total[SSL_BLOCK] = {0};
    WIDE_EACH(k, lanes)
    {
        const Path *path = &w->paths[paths[k]];
        u[k] = sampler_1d(&w->shared->sampler, path->key,
                          sample_dimension(path->event, SAMPLE_GUIDE_LOBE));
    }
    for (uint32_t l = 0; l < block->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &block->lobes[l];
        alignas(64) BsdfRow f[3], pdf;
        uint16_t here = lanes & lobe->live;
        if (is_delta(lobe) || here == 0)
            continue;
        bsdf_block_eval_lobe(block, lobe, out->wi, here, f, pdf);
        WIDE_EACH(k, here)
        {
            float weight = lobe->select[k] * pdf[k];
            if (!(weight > 0.0f))
                continue;
            /* Each lobe takes the place of those before it with its part of the weight so far, so that in the end each has
             * its part of the whole. */
            float win = weight / (total[k] += weight);
            bool wins = u[k] < win;
            u[k] = wins ? u[k] / win : (u[k] - win) / (1.0f - win);
            if (wins)
                set_lobe(block, k, l, out);
        }
    }
}

/* Sets lobes of directions that the field drew. */
static void find_lobes(const Wave *w, const BsdfBlock *block, const uint32_t *paths, uint16_t lanes,
                       BsdfDrawn *out)
{
    uint16_t seen = 0, many = 0;
    for (uint32_t l = 0; l < block->lobe_count; ++l) {
        uint16_t here = is_delta(&block->lobes[l]) ? 0 : lanes & block->lobes[l].live;
        WIDE_EACH(k, here & ~seen) set_lobe(block, k, l, out);
        many |= seen & here;
        seen |= here;
    }
    if (many)
        choose_lobes(w, block, paths, many, out);
}

/* Sets weights and densities of the directions that the field drew. Returns those that scatter light. */
static uint16_t weigh_by_field(const Guidance *g, const BsdfBlock *block, uint16_t lanes,
                               BsdfDrawn *out, WideRow out_pdf)
{
    alignas(64) BsdfRow f[3], pdf;
    uint16_t drawn = 0;
    bsdf_block_eval(block, out->wi, lanes, f, pdf);
    WIDE_EACH(k, lanes)
    {
        bool is_black = f[0][k] == 0.0f && f[1][k] == 0.0f && f[2][k] == 0.0f;
        if (!(pdf[k] >= FLT_MIN) || is_black)
            continue;
        out->pdf[k] = pdf[k];
        out_pdf[k] = mixed(g, k, pdf[k], g->density[k]);
        for (uint32_t c = 0; c < 3; ++c)
            out->weight[c][k] = f[c][k] / out_pdf[k];
        drawn = (uint16_t)(drawn | 1u << k);
    }
    return drawn;
}

/* Turns weights and densities of the surfaces' own samples into those of the mixture. */
static void weigh_own(const Guidance *g, uint16_t lanes, BsdfDrawn *out, WideRow out_pdf)
{
    WIDE_EACH(k, lanes)
    {
        bool delta = out->flags[k] & SSL_LOBE_DELTA;
        float chance = g->lanes >> k & 1 ? g->chance[k] : 0.0f;
        if (chance == 0.0f) {
            out_pdf[k] = out->pdf[k];
            continue;
        }
        float all = delta ? out->pdf[k] * (1.0f - chance) : mixed(g, k, out->pdf[k], g->density[k]);
        for (uint32_t c = 0; c < 3; ++c)
            out->weight[c][k] *= out->pdf[k] / all;
        out_pdf[k] = all;
    }
}

uint16_t guidance_sample(const Wave *w, Guidance *g, const BsdfBlock *block, const uint32_t *paths,
                         BsdfRow u[3], uint16_t live, BsdfDrawn *out, WideRow out_pdf)
{
    alignas(64) WideRow wi[3];
    uint16_t guided = draw_by_field(w, g, u, live, wi);
    uint16_t own = bsdf_block_sample(block, u, live & (uint16_t)~guided, out);
    WIDE_EACH(k, guided) wide_set3(out->wi, k, wide_get3(wi, k));
    guide_field_densities(w->shared->guide, g->region, g->position, out->wi,
                          (own | guided) & g->lanes, g->density);
    weigh_own(g, own, out, out_pdf);
    if (guided == 0)
        return own;
    guided = weigh_by_field(g, block, guided, out, out_pdf);
    find_lobes(w, block, paths, guided, out);
    return own | guided;
}
