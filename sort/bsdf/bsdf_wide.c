#include "sort/bsdf/bsdf_wide.h"

#include "base/cast.h"
#include "base/check.h"
#include "sort/bsdf/bsdf.h"
#include <float.h>
#include <string.h>

#define EACH_LANE(i) for (uint32_t i = 0; i < SSL_BLOCK; ++i)

static bool has_lane(uint16_t mask, uint32_t lane)
{
    return mask >> lane & 1;
}

/* Returns the lanes in which all `count` rows are finite. */
static uint16_t finite_lanes(const float *rows, uint32_t count)
{
    float sum[SSL_BLOCK] = {0};
    uint16_t mask = 0;
    for (uint32_t r = 0; r < count; ++r)
        EACH_LANE(i) sum[i] += rows[(size_t)r * SSL_BLOCK + i] * 0.0f; /* NaN unless finite */
    EACH_LANE(i) mask = (uint16_t)(mask | (sum[i] == 0.0f) << i);
    return mask;
}

static uint16_t nonblack_lanes(const float *weight)
{
    uint16_t mask = 0;
    EACH_LANE(i)
    {
        bool is_black =
            weight[i] == 0.0f && weight[SSL_BLOCK + i] == 0.0f && weight[2 * SSL_BLOCK + i] == 0.0f;
        mask = (uint16_t)(mask | !is_black << i);
    }
    return mask;
}

/* Where the viewer sees the surface edge-on, nothing scatters. */
static uint16_t facing_lanes(const BsdfView *v)
{
    uint16_t mask = 0;
    EACH_LANE(i)
    {
        float cosine =
            v->wo[0][i] * v->Ng[0][i] + v->wo[1][i] * v->Ng[1][i] + v->wo[2][i] * v->Ng[2][i];
        mask = (uint16_t)(mask | (fabsf(cosine) >= BSDF_COS_MIN) << i);
    }
    return mask;
}

void bsdf_block_begin(BsdfBlock *b)
{
    b->term_count = b->lobe_count = b->state_rows = 0;
    EACH_LANE(i)
    {
        b->select_sum[i] = 0.0f;
        b->flags[i] = b->faults[i] = b->counts[i] = 0;
    }
}

/* Rows of ints are handed over as rows of floats. */
static float *row_of(void *ints)
{
    return ints;
}

static BsdfRows rows_of(const BsdfBlock *b, const BsdfTerm *term)
{
    BsdfView *v = cast_away_const(&b->view); /* programs only read it */
    return (BsdfRows){{[BSDF_PORT_WO] = v->wo[0],
                       [BSDF_PORT_NG] = v->Ng[0],
                       [BSDF_PORT_OUTSIDE] = row_of(v->outside),
                       [BSDF_PORT_OPTIONS] = row_of(v->options),
                       [BSDF_PORT_BLUR] = v->blur,
                       [BSDF_PORT_UNBENT] = v->unbent[0],
                       [BSDF_PORT_ARG] = cast_away_const(term->args),
                       [BSDF_PORT_STATE] = term->state}};
}

static void add_lobe(BsdfBlock *b, const BsdfTerm *term, const BsdfLobeDef *def,
                     const float *weight)
{
    const float *albedo = term->state + (size_t)def->albedo * SSL_BLOCK;
    BsdfBlockLobe *lobe = &b->lobes[b->lobe_count];
    *lobe = (BsdfBlockLobe){.def = def, .term = term};
    EACH_LANE(i)
    {
        float sum = 0.0f;
        for (uint32_t c = 0; c < 3; ++c) {
            lobe->weight[c][i] = weight[c * SSL_BLOCK + i];
            sum += fabsf(weight[c * SSL_BLOCK + i] * albedo[c * SSL_BLOCK + i]);
        }
        bool is_live = has_lane(term->live, i) && sum > 0.0f;
        lobe->select[i] = is_live ? sum * (1.0f / 3.0f) : 0.0f;
        lobe->live = (uint16_t)(lobe->live | is_live << i);
        b->select_sum[i] += lobe->select[i];
        b->flags[i] |= is_live ? def->flags : 0;
        b->counts[i] += is_live;
    }
    b->lobe_count += lobe->live != 0;
}

static void note_fault(BsdfBlock *b, uint16_t lanes, uint32_t fault)
{
    EACH_LANE(i) b->faults[i] |= has_lane(lanes, i) ? fault : 0;
}

const BsdfTerm *bsdf_block_add(BsdfBlock *b, const BsdfDef *def, const float *args,
                               const float *weight, uint16_t live)
{
    uint16_t finite = finite_lanes(args, def->arg_rows) & finite_lanes(weight, 3);
    note_fault(b, live & (uint16_t)~finite, BSDF_FAULT_NOT_FINITE);
    live &= finite & nonblack_lanes(weight) & facing_lanes(&b->view);
    if (b->term_count == SSL_MAX_LOBE_SLOTS || b->lobe_count + def->lobe_count > BSDF_BLOCK_LOBES ||
        b->state_rows + def->state_rows > BSDF_BLOCK_STATE_ROWS) {
        note_fault(b, live, BSDF_FAULT_FULL);
        return NULL;
    }
    BsdfTerm *term = &b->terms[b->term_count++];
    *term = (BsdfTerm){def, b->state[b->state_rows], args, live};
    b->state_rows += def->state_rows;
    if (live == 0)
        return term;
    alignas(64) uint32_t fault[SSL_BLOCK];
    BsdfRows rows = rows_of(b, term);
    rows.list[BSDF_PORT_FAULT] = row_of(fault);
    bsdf_program_run(&def->prepare, &rows, live);
    for (uint32_t k = 0; k < def->lobe_count; ++k)
        add_lobe(b, term, &def->lobes[k], weight);
    return term;
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
    alignas(64) BsdfRow f_cos[3], pdf;
    alignas(64) uint32_t fault[SSL_BLOCK];
    memset(out_f_cos, 0, 3 * sizeof(BsdfRow));
    memset(out_pdf, 0, sizeof(BsdfRow));
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        uint16_t lanes = lobe->live & live;
        if (lanes == 0 || (lobe->def->flags & SSL_LOBE_DELTA))
            continue;
        BsdfRows rows = rows_of(b, lobe->term);
        rows.list[BSDF_PORT_WI] = wi[0];
        rows.list[BSDF_PORT_F_COS] = f_cos[0];
        rows.list[BSDF_PORT_PDF] = pdf;
        rows.list[BSDF_PORT_FAULT] = row_of(fault);
        bsdf_program_run(&lobe->def->eval, &rows, lanes);
        EACH_LANE(i)
        {
            bool is_live = has_lane(lanes, i);
            for (uint32_t c = 0; c < 3; ++c)
                out_f_cos[c][i] += is_live ? lobe->weight[c][i] * f_cos[c][i] : 0.0f;
            out_pdf[i] += is_live ? lobe->select[i] * pdf[i] : 0.0f;
        }
    }
    EACH_LANE(i) out_pdf[i] = out_pdf[i] > 0.0f ? out_pdf[i] / b->select_sum[i] : 0.0f;
}

/* Chooses a lobe in each lane, and rescales what is left of u to [0, 1). */
static void choose_lobes(const BsdfBlock *b, uint16_t live, BsdfRow u, uint32_t out_lobe[SSL_BLOCK])
{
    BsdfRow target;
    uint32_t left[SSL_BLOCK];
    bool is_chosen[SSL_BLOCK];
    EACH_LANE(i)
    {
        target[i] = u[i] * b->select_sum[i];
        left[i] = b->counts[i];
        is_chosen[i] = !has_lane(live, i) || left[i] == 0;
        out_lobe[i] = 0;
    }
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        EACH_LANE(i)
        {
            if (is_chosen[i] || !has_lane(lobe->live, i))
                continue;
            if (left[i] > 1 && target[i] >= lobe->select[i]) {
                target[i] -= lobe->select[i];
                --left[i];
                continue;
            }
            is_chosen[i] = true;
            out_lobe[i] = l;
            if (b->counts[i] > 1)
                u[i] = fminf(fmaxf(target[i] / lobe->select[i], 0.0f), 0x1.fffffep-1f);
        }
    }
}

/* Runs `sample` of each lobe in the lanes that chose it. */
static void draw(const BsdfBlock *b, BsdfRow u[3], const uint32_t chosen[SSL_BLOCK], uint16_t live,
                 BsdfDrawn *out, BsdfRow probability)
{
    alignas(64) uint32_t fault[SSL_BLOCK];
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        uint16_t lanes = 0;
        EACH_LANE(i) lanes = (uint16_t)(lanes | (has_lane(live, i) && chosen[i] == l) << i);
        if (lanes == 0)
            continue;
        BsdfRows rows = rows_of(b, lobe->term);
        rows.list[BSDF_PORT_U] = u[0];
        rows.list[BSDF_PORT_WI] = out->wi[0];
        rows.list[BSDF_PORT_ETA] = out->eta;
        rows.list[BSDF_PORT_WEIGHT] = out->weight[0];
        rows.list[BSDF_PORT_PROBABILITY] = probability;
        rows.list[BSDF_PORT_FAULT] = row_of(fault);
        bsdf_program_run(&lobe->def->sample, &rows, lanes);
        const float *n = lobe->term->state + ((size_t)lobe->term->def->frame + 6) * SSL_BLOCK;
        EACH_LANE(i)
        {
            if (!has_lane(lanes, i))
                continue;
            out->flags[i] = lobe->def->flags;
            out->lobe[i] = l;
            for (uint32_t c = 0; c < 3; ++c)
                out->n[c][i] = n[c * SSL_BLOCK + i];
        }
    }
}

/* Returns the lanes in which a direction was drawn, and sets the side that it happened on. */
static uint16_t settle_sides(const BsdfBlock *b, uint16_t live, BsdfDrawn *out)
{
    const BsdfView *v = &b->view;
    const uint32_t sides = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    uint16_t drawn = 0;
    EACH_LANE(i)
    {
        float side =
            out->wi[0][i] * v->Ng[0][i] + out->wi[1][i] * v->Ng[1][i] + out->wi[2][i] * v->Ng[2][i];
        bool is_lost = out->wi[0][i] == 0.0f && out->wi[1][i] == 0.0f && out->wi[2][i] == 0.0f;
        if (!has_lane(live, i) || is_lost)
            continue;
        drawn = (uint16_t)(drawn | 1u << i);
        if ((out->flags[i] & sides) == sides)
            out->flags[i] &=
                ~(side > 0.0f ? (uint32_t)SSL_LOBE_TRANSMISSION : (uint32_t)SSL_LOBE_REFLECTION);
    }
    return drawn;
}

uint16_t bsdf_block_sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out)
{
    alignas(64) BsdfRow own_u[3], probability, f_cos[3], pdf;
    uint32_t chosen[SSL_BLOCK];
    uint16_t smooth = 0, drawn = 0;
    memcpy(own_u, u, sizeof own_u);
    EACH_LANE(i) live = (uint16_t)(live & ~(uint32_t)((b->counts[i] == 0) << i));
    if (live == 0)
        return 0;
    choose_lobes(b, live, own_u[0], chosen);
    draw(b, own_u, chosen, live, out, probability);
    live = settle_sides(b, live, out);
    EACH_LANE(i)
    {
        if (!has_lane(live, i))
            continue;
        const BsdfBlockLobe *lobe = &b->lobes[out->lobe[i]];
        if (!(out->flags[i] & SSL_LOBE_DELTA)) {
            smooth = (uint16_t)(smooth | 1u << i);
            continue;
        }
        out->pdf[i] = probability[i] * lobe->select[i] / b->select_sum[i];
        for (uint32_t c = 0; c < 3; ++c)
            out->weight[c][i] *= lobe->weight[c][i] / out->pdf[i];
        drawn = (uint16_t)(drawn | (out->pdf[i] > 0.0f) << i);
    }
    if (smooth == 0)
        return drawn;
    bsdf_block_eval(b, out->wi, smooth, f_cos, pdf);
    EACH_LANE(i)
    {
        if (!has_lane(smooth, i) ||
            !(pdf[i] >= FLT_MIN)) /* of a smaller one the inverse is infinite */
            continue;
        out->pdf[i] = pdf[i];
        for (uint32_t c = 0; c < 3; ++c)
            out->weight[c][i] = f_cos[c][i] / pdf[i];
        drawn = (uint16_t)(drawn | 1u << i);
    }
    return drawn;
}
