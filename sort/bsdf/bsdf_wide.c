#include "sort/bsdf/bsdf_wide.h"

#include "base/cast.h"
#include "base/check.h"
#include "sort/wide/wide.h"
#include "ssl/ssl_limits.h"
#include <string.h>

/* CPUs that have no classes run the first one. */
#if defined(__x86_64__)
const BsdfBlockCode *const bsdf_block_codes[WIDE_CLASSES] = {&bsdf_rows, &bsdf_rows_v3,
                                                             &bsdf_rows_v4};
#else
const BsdfBlockCode *const bsdf_block_codes[WIDE_CLASSES] = {&bsdf_rows, &bsdf_rows, &bsdf_rows};
#endif

BsdfBlock *bsdf_block_create(Arena *arena, uint32_t terms, uint32_t lobes, uint32_t state_rows)
{
    BsdfBlock *b = arena_alloc(arena, sizeof *b, 64);
    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->term_room = terms;
    b->lobe_room = lobes;
    b->row_room = BSDF_SHARE_SELECT * terms + lobes + state_rows;
    b->code = bsdf_block_codes[wide_class_here()];
    b->terms = arena_alloc(arena, (terms + 1) * sizeof *b->terms, 64);
    b->lobes = arena_alloc(arena, (lobes + 1) * sizeof *b->lobes, 64);
    b->rows = arena_alloc(arena, (b->row_room + 1) * sizeof *b->rows, 64);
    return b->terms && b->lobes && b->rows ? b : NULL;
}

void bsdf_block_begin(BsdfBlock *b)
{
    b->code->begin(b);
}

void bsdf_block_note_fault(BsdfBlock *b, uint16_t lanes, uint32_t fault)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        b->faults[i] |= lanes >> i & 1 ? fault : 0;
}

uint16_t bsdf_block_smooth(const BsdfBlock *b)
{
    WideInts is_smooth;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        is_smooth[i] = -((b->flags[i] & (uint32_t)(SSL_LOBE_DIFFUSE | SSL_LOBE_GLOSSY)) != 0);
    return wide_lanes(is_smooth);
}

uint16_t bsdf_block_scattering(const BsdfBlock *b)
{
    WideInts has_lobe;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        has_lobe[i] = -(b->counts[i] != 0);
    return wide_lanes(has_lobe);
}

uint16_t bsdf_block_third(const BsdfBlock *b)
{
    WideInts reads;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        reads[i] = -((b->flags[i] & SSL_LOBE_THIRD) != 0);
    return wide_lanes(reads);
}

void bsdf_block_sides(const BsdfBlock *b, uint32_t out_sides[SSL_BLOCK])
{
    const uint32_t both = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    uint16_t fibres = 0;
    memset(out_sides, 0, SSL_BLOCK * sizeof *out_sides);
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        uint32_t flags = lobe->def->flags;
        if (flags & SSL_LOBE_DELTA)
            continue;
        if (flags & SSL_LOBE_FIBRE)
            fibres |= lobe->live;
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            out_sides[i] |= lobe->live >> i & 1 ? flags & both : 0;
    }
    WIDE_EACH(i, fibres) out_sides[i] = 0;
}

/* Returns whether the lobe reflects about its frame's normal, blurred by the argument `roughness` alone. */
static bool is_gloss(const BsdfBlockLobe *lobe)
{
    const uint32_t all = SSL_LOBE_GLOSSY | SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION |
                         SSL_LOBE_DELTA | SSL_LOBE_FIBRE;
    return (lobe->def->flags & all) == (SSL_LOBE_GLOSSY | SSL_LOBE_REFLECTION) &&
           lobe->term->def->roughness != BSDF_NO_ROW;
}

/* Takes the lobe where it is drawn more often than what was found before. */
static void take_gloss(const BsdfBlock *b, const BsdfBlockLobe *lobe, BsdfRow most, BsdfGloss *out)
{
    const BsdfDef *def = lobe->term->def;
    const float *roughness = lobe->term->args + (size_t)def->roughness * SSL_BLOCK;
    const float *n = lobe->term->state + (size_t)(def->frame + 6) * SSL_BLOCK; /* s, t, n */
    const BsdfRow *wo = b->view.wo;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        if (!(lobe->live >> i & 1 && lobe->select[i] > most[i]))
            continue;
        float3 normal = f3(n[i], n[SSL_BLOCK + i], n[2 * SSL_BLOCK + i]);
        float3 view = f3(wo[0][i], wo[1][i], wo[2][i]);
        float r = clampf(roughness[i], 0.0f, 1.0f);
        most[i] = lobe->select[i];
        out->alpha[i] = maxf(r * r, b->view.blur[i]);
        wide_set3(out->mirror, i, f3_madd(f3_neg(view), 2.0f * f3_dot(view, normal), normal));
    }
}

/* Adds the lobe's chance of being drawn, in the lanes in which it is not black. */
static void add_chance(const BsdfBlockLobe *lobe, BsdfRow sum)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        sum[i] += lobe->live >> i & 1 ? lobe->select[i] : 0.0f;
}

uint16_t bsdf_block_gloss(const BsdfBlock *b, BsdfGloss *out)
{
    alignas(64) BsdfRow most = {0}, glossy = {0}, all = {0};
    uint16_t found = 0;
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        if (!is_gloss(lobe))
            continue;
        take_gloss(b, lobe, most, out);
        add_chance(lobe, glossy);
        found |= lobe->live;
    }
    for (uint32_t l = 0; found && l < b->lobe_count; ++l)
        if (b->lobes[l].def->flags & (SSL_LOBE_DIFFUSE | SSL_LOBE_GLOSSY))
            add_chance(&b->lobes[l], all);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        out->share[i] = minf(glossy[i] / all[i], 1.0f);
    return found & wide_positive(glossy);
}

void bsdf_block_facing(const BsdfBlock *b, const BsdfRow normal[3], BsdfRow out[3])
{
    const BsdfRow *ng = b->view.Ng;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float cosine = normal[0][i] * ng[0][i] + normal[1][i] * ng[1][i] + normal[2][i] * ng[2][i];
        float side = cosine < 0.0f ? -1.0f : 1.0f;
        for (uint32_t c = 0; c < 3; ++c)
            out[c][i] = normal[c][i] * side;
    }
}

const BsdfTerm *bsdf_block_add(BsdfBlock *b, const BsdfDef *def, const float *args,
                               const float *weight, uint16_t live)
{
    ASSERT(def->lobe_count > 0 && def->programs[BSDF_PREPARE]);
    return b->code->add(b, def, args, weight, live);
}

const float *bsdf_term_base_factor(const BsdfTerm *term)
{
    return term->def->base_factor == BSDF_NO_ROW
               ? NULL
               : term->state + (size_t)term->def->base_factor * SSL_BLOCK;
}

void bsdf_block_eval(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                     BsdfRow out_pdf)
{
    b->code->eval(b, wi, live, out_f_cos, out_pdf);
}

void bsdf_block_eval_lobe(const BsdfBlock *b, const BsdfBlockLobe *lobe, BsdfRow wi[3],
                          uint16_t live, BsdfRow out_f_cos[3], BsdfRow out_pdf)
{
    static const BsdfValue none;
    const BsdfTerm *term = lobe->term;
    alignas(64) BsdfRow share[BSDF_SHARE_SELECT + SSL_MAX_BSDF_LOBES] = {{0}}, fault;
    BsdfValue value = none;
    size_t select = BSDF_SHARE_SELECT + (size_t)(lobe->def - term->def->lobes);
    ASSERT(term->def->programs[BSDF_EVAL] && (live & ~lobe->live) == 0);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        share[0][i] = share[1][i] = share[2][i] = share[select][i] = 1.0f;
    const BsdfRows rows = {{[BSDF_LIST_VIEW] = cast_away_const(&b->view),
                            [BSDF_LIST_ARGS] = cast_away_const(term->args),
                            [BSDF_LIST_SHARE] = share,
                            [BSDF_LIST_STATE] = term->state,
                            [BSDF_LIST_WI] = wi,
                            [BSDF_LIST_SUM] = cast_away_const(&none),
                            [BSDF_LIST_VALUE] = &value,
                            [BSDF_LIST_FAULT] = fault}};
    bsdf_program_run(term->def, BSDF_EVAL, &rows, live);
    memcpy(out_f_cos, value.f_cos, sizeof value.f_cos);
    memcpy(out_pdf, value.pdf, sizeof value.pdf);
}

uint16_t bsdf_block_sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out)
{
    return b->code->sample(b, u, live, out);
}
