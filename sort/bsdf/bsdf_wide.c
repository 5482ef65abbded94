#include "sort/bsdf/bsdf_wide.h"

#include "base/cast.h"
#include "base/check.h"
#include "ssl/ssl_limits.h"
#include <float.h>
#include <string.h>

#define EACH_LANE(i) for (uint32_t i = 0; i < SSL_BLOCK; ++i)

/* Lanes as a row of all ones or zeros each. Loops over rows have no branches, so that the compiler computes several lanes
 * at once. */
typedef int32_t LaneRow[SSL_BLOCK];

static inline void lanes_to_row(uint32_t lanes, LaneRow out)
{
    EACH_LANE(i) out[i] = lanes & 1u << i ? -1 : 0;
}

static inline uint16_t lanes_from_row(const LaneRow row)
{
    uint32_t lanes = 0;
    EACH_LANE(i) lanes |= (uint32_t)row[i] & 1u << i;
    return (uint16_t)lanes;
}

/* Returns the lanes in which all `count` rows are finite. */
static uint16_t finite_lanes(const float *rows, uint32_t count)
{
    alignas(64) BsdfRow sum = {0};
    alignas(64) LaneRow is_finite;
    for (uint32_t r = 0; r < count; ++r)
        EACH_LANE(i) sum[i] += rows[(size_t)r * SSL_BLOCK + i] * 0.0f; /* NaN unless finite */
    EACH_LANE(i) is_finite[i] = sum[i] == 0.0f ? -1 : 0;
    return lanes_from_row(is_finite);
}

static uint16_t nonblack_lanes(const float *weight)
{
    alignas(64) LaneRow is_there;
    EACH_LANE(i)
    {
        float most = maxf(maxf(fabsf(weight[i]), fabsf(weight[SSL_BLOCK + i])),
                          fabsf(weight[2 * SSL_BLOCK + i]));
        is_there[i] = most > 0.0f ? -1 : 0;
    }
    return lanes_from_row(is_there);
}

/* Where the viewer sees the surface edge-on, nothing scatters. */
static uint16_t facing_lanes(const BsdfView *v)
{
    alignas(64) LaneRow is_facing;
    EACH_LANE(i)
    {
        float cosine =
            v->wo[0][i] * v->Ng[0][i] + v->wo[1][i] * v->Ng[1][i] + v->wo[2][i] * v->Ng[2][i];
        is_facing[i] = fabsf(cosine) >= BSDF_COS_MIN ? -1 : 0;
    }
    return lanes_from_row(is_facing);
}

BsdfBlock *bsdf_block_create(Arena *arena, uint32_t terms, uint32_t lobes, uint32_t state_rows)
{
    BsdfBlock *b = arena_alloc(arena, sizeof *b, 64);
    if (!b)
        return NULL;
    memset(b, 0, sizeof *b);
    b->term_room = terms;
    b->lobe_room = lobes;
    b->state_room = state_rows;
    b->terms = arena_alloc(arena, (terms + 1) * sizeof *b->terms, 64);
    b->lobes = arena_alloc(arena, (lobes + 1) * sizeof *b->lobes, 64);
    b->state = arena_alloc(arena, (state_rows + 1) * sizeof *b->state, 64);
    return b->terms && b->lobes && b->state ? b : NULL;
}

void bsdf_block_begin(BsdfBlock *b)
{
    b->term_count = b->lobe_count = b->state_rows = 0;
    memset(b->select_sum, 0, sizeof b->select_sum);
    memset(b->emission, 0, sizeof b->emission);
    memset(b->holdout, 0, sizeof b->holdout);
    memset(b->transparency, 0, sizeof b->transparency);
    memset(b->aov_slots, 0, sizeof b->aov_slots);
    memset(b->flags, 0, sizeof b->flags);
    memset(b->faults, 0, sizeof b->faults);
    memset(b->counts, 0, sizeof b->counts);
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
    alignas(64) LaneRow live;
    ASSERT(b->lobe_count < b->lobe_room && def->albedo != BSDF_NO_ROW);
    lobe->def = def;
    lobe->term = term;
    memcpy(lobe->weight, weight, sizeof lobe->weight);
    lanes_to_row(term->live, live);
    EACH_LANE(i)
    {
        float sum = fabsf(weight[i] * albedo[i]) +
                    fabsf(weight[SSL_BLOCK + i] * albedo[SSL_BLOCK + i]) +
                    fabsf(weight[2 * SSL_BLOCK + i] * albedo[2 * SSL_BLOCK + i]);
        live[i] = sum > 0.0f ? live[i] : 0;
        lobe->select[i] = live[i] ? sum * (1.0f / 3.0f) : 0.0f;
        b->select_sum[i] += lobe->select[i];
        b->flags[i] |= def->flags & (uint32_t)live[i];
        b->counts[i] -= (uint32_t)live[i];
    }
    if (def->flags & SSL_LOBE_TRANSPARENT)
        for (uint32_t c = 0; c < 3; ++c)
            EACH_LANE(i)
            {
                float through = weight[c * SSL_BLOCK + i] * albedo[c * SSL_BLOCK + i];
                b->transparency[c][i] += live[i] ? through : 0.0f;
            }
    lobe->live = lanes_from_row(live);
    b->lobe_count += lobe->live != 0;
}

static void note_fault(BsdfBlock *b, uint16_t lanes, uint32_t fault)
{
    EACH_LANE(i) b->faults[i] |= lanes >> i & 1 ? fault : 0;
}

const BsdfTerm *bsdf_block_add(BsdfBlock *b, const BsdfDef *def, const float *args,
                               const float *weight, uint16_t live)
{
    uint16_t finite = finite_lanes(args, def->arg_rows) & finite_lanes(weight, 3);
    if (SORT_UNLIKELY(live & (uint16_t)~finite))
        note_fault(b, live & (uint16_t)~finite, BSDF_FAULT_NOT_FINITE);
    live &= finite & nonblack_lanes(weight);
    if (!(def->lobes[0].flags & SSL_LOBE_TRANSPARENT))
        live &= facing_lanes(&b->view);
    ASSERT(def->lobe_count > 0 && def->prepare.run);
    if (b->term_count == b->term_room || b->lobe_count + def->lobe_count > b->lobe_room ||
        b->state_rows + def->state_rows > b->state_room) {
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

void bsdf_block_eval_lobe(const BsdfBlock *b, const BsdfBlockLobe *lobe, BsdfRow wi[3],
                          uint16_t live, BsdfRow out_f_cos[3], BsdfRow out_pdf)
{
    alignas(64) uint32_t fault[SSL_BLOCK];
    BsdfRows rows = rows_of(b, lobe->term);
    ASSERT(lobe->def->eval.run && (live & ~lobe->live) == 0);
    rows.list[BSDF_PORT_WI] = wi[0];
    rows.list[BSDF_PORT_F_COS] = out_f_cos[0];
    rows.list[BSDF_PORT_PDF] = out_pdf;
    rows.list[BSDF_PORT_FAULT] = row_of(fault);
    bsdf_program_run(&lobe->def->eval, &rows, live);
}

void bsdf_block_eval(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                     BsdfRow out_pdf)
{
    alignas(64) BsdfRow f_cos[3], pdf;
    memset(out_f_cos, 0, 3 * sizeof(BsdfRow));
    memset(out_pdf, 0, sizeof(BsdfRow));
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        uint16_t lanes = lobe->live & live;
        if (lanes == 0 || (lobe->def->flags & SSL_LOBE_DELTA))
            continue;
        bsdf_block_eval_lobe(b, lobe, wi, lanes, f_cos, pdf);
        alignas(64) LaneRow is_live;
        lanes_to_row(lanes, is_live);
        for (uint32_t c = 0; c < 3; ++c)
            EACH_LANE(i) out_f_cos[c][i] += is_live[i] ? lobe->weight[c][i] * f_cos[c][i] : 0.0f;
        EACH_LANE(i) out_pdf[i] += is_live[i] ? lobe->select[i] * pdf[i] : 0.0f;
    }
    EACH_LANE(i) out_pdf[i] = out_pdf[i] > 0.0f ? out_pdf[i] / b->select_sum[i] : 0.0f;
}

/* Chooses a lobe in each lane of `live`, and rescales what is left of u to [0, 1). out_chosen: by lobe. */
static void choose_lobes(const BsdfBlock *b, uint16_t live, BsdfRow u, uint16_t out_chosen[])
{
    alignas(64) BsdfRow target, rest;
    alignas(64) LaneRow is_open, take, left;
    lanes_to_row(live, is_open);
    EACH_LANE(i) target[i] = u[i] * b->select_sum[i];
    EACH_LANE(i) left[i] = (int32_t)b->counts[i];
    memcpy(rest, u, sizeof rest);
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        EACH_LANE(i)
        {
            int32_t is_here = lobe->select[i] > 0.0f ? is_open[i] : 0;
            int32_t is_reached = target[i] < lobe->select[i] || left[i] == 1 ? -1 : 0;
            float part = minf(maxf(target[i] / lobe->select[i], 0.0f), 0x1.fffffep-1f);
            take[i] = is_here & is_reached;
            rest[i] = take[i] && b->counts[i] > 1 ? part : rest[i];
            target[i] -= is_here & ~is_reached ? lobe->select[i] : 0.0f;
            left[i] += is_here & ~is_reached;
            is_open[i] &= ~take[i];
        }
        out_chosen[l] = lanes_from_row(take);
    }
    memcpy(u, rest, sizeof rest);
}

/* Runs `sample` of each lobe in the lanes that chose it. */
static void draw(const BsdfBlock *b, BsdfRow u[3], const uint16_t chosen[], BsdfDrawn *out,
                 BsdfRow probability)
{
    alignas(64) uint32_t fault[SSL_BLOCK];
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        if (chosen[l] == 0)
            continue;
        BsdfRows rows = rows_of(b, lobe->term);
        rows.list[BSDF_PORT_U] = u[0];
        rows.list[BSDF_PORT_WI] = out->wi[0];
        rows.list[BSDF_PORT_ETA] = out->eta;
        rows.list[BSDF_PORT_WEIGHT] = out->weight[0];
        rows.list[BSDF_PORT_PROBABILITY] = probability;
        rows.list[BSDF_PORT_FAULT] = row_of(fault);
        bsdf_program_run(&lobe->def->sample, &rows, chosen[l]);
        const float *n = lobe->term->state + ((size_t)lobe->term->def->frame + 6) * SSL_BLOCK;
        alignas(64) LaneRow is_here;
        lanes_to_row(chosen[l], is_here);
        EACH_LANE(i)
        {
            out->flags[i] = is_here[i] ? lobe->def->flags : out->flags[i];
            out->lobe[i] = is_here[i] ? l : out->lobe[i];
        }
        for (uint32_t c = 0; c < 3; ++c)
            EACH_LANE(i) out->n[c][i] = is_here[i] ? n[c * SSL_BLOCK + i] : out->n[c][i];
    }
}

/* Returns the lanes of `live` in which a direction was drawn, and sets the side that it happened on. */
static uint16_t settle_sides(const BsdfBlock *b, uint16_t live, BsdfDrawn *out)
{
    const BsdfView *v = &b->view;
    const uint32_t sides = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    alignas(64) LaneRow is_drawn;
    EACH_LANE(i)
    {
        float side =
            out->wi[0][i] * v->Ng[0][i] + out->wi[1][i] * v->Ng[1][i] + out->wi[2][i] * v->Ng[2][i];
        uint32_t other = side > 0.0f ? SSL_LOBE_TRANSMISSION : SSL_LOBE_REFLECTION;
        uint32_t off = (out->flags[i] & sides) == sides ? other : 0;
        float most = maxf(maxf(fabsf(out->wi[0][i]), fabsf(out->wi[1][i])), fabsf(out->wi[2][i]));
        out->flags[i] &= ~off;
        is_drawn[i] = most > 0.0f ? -1 : 0;
    }
    return live & lanes_from_row(is_drawn);
}

/* Sets the weights of deltas, by the lobes that drew them. Returns the lanes that have one. */
static uint16_t weigh_deltas(const BsdfBlock *b, const uint16_t chosen[], uint16_t live,
                             const BsdfRow probability, BsdfDrawn *out)
{
    uint16_t drawn = 0;
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        uint16_t lanes = chosen[l] & live;
        if (lanes == 0 || !(lobe->def->flags & SSL_LOBE_DELTA))
            continue;
        alignas(64) LaneRow is_here;
        lanes_to_row(lanes, is_here);
        EACH_LANE(i)
        {
            float pdf = probability[i] * lobe->select[i] / b->select_sum[i];
            out->pdf[i] = is_here[i] ? pdf : out->pdf[i];
            is_here[i] = pdf > 0.0f ? is_here[i] : 0;
        }
        for (uint32_t c = 0; c < 3; ++c)
            EACH_LANE(i)
            {
                float weight = out->weight[c][i] * lobe->weight[c][i] / out->pdf[i];
                out->weight[c][i] = is_here[i] ? weight : out->weight[c][i];
            }
        drawn |= lanes_from_row(is_here);
    }
    return drawn;
}

static uint16_t delta_lanes(const BsdfBlock *b, const uint16_t chosen[])
{
    uint16_t lanes = 0;
    for (uint32_t l = 0; l < b->lobe_count; ++l)
        if (b->lobes[l].def->flags & SSL_LOBE_DELTA)
            lanes |= chosen[l];
    return lanes;
}

/* Sets the weights of directions that are no deltas, over all lobes. Returns the lanes that have one. */
static uint16_t weigh_smooth(const BsdfBlock *b, uint16_t live, BsdfDrawn *out)
{
    alignas(64) BsdfRow f_cos[3], pdf;
    alignas(64) LaneRow is_here;
    if (live == 0)
        return 0;
    bsdf_block_eval(b, out->wi, live, f_cos, pdf);
    lanes_to_row(live, is_here);
    EACH_LANE(i)
    {
        is_here[i] =
            pdf[i] >= FLT_MIN ? is_here[i] : 0; /* of a smaller one the inverse is infinite */
        out->pdf[i] = is_here[i] ? pdf[i] : out->pdf[i];
    }
    for (uint32_t c = 0; c < 3; ++c)
        EACH_LANE(i) out->weight[c][i] = is_here[i] ? f_cos[c][i] / pdf[i] : out->weight[c][i];
    return lanes_from_row(is_here);
}

uint16_t bsdf_block_sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out)
{
    alignas(64) BsdfRow own_u[3], probability;
    alignas(64) LaneRow has_lobes;
    uint16_t chosen[2 * SSL_MAX_LOBE_SLOTS * SSL_MAX_BSDF_LOBES];
    ASSERT(b->lobe_count <= SORT_COUNT_OF(chosen));
    EACH_LANE(i) has_lobes[i] = b->counts[i] > 0 ? -1 : 0;
    live &= lanes_from_row(has_lobes);
    if (live == 0)
        return 0;
    memcpy(own_u, u, sizeof own_u);
    choose_lobes(b, live, own_u[0], chosen);
    draw(b, own_u, chosen, out, probability);
    live = settle_sides(b, live, out);
    uint16_t deltas = delta_lanes(b, chosen);
    return weigh_deltas(b, chosen, live, probability, out) |
           weigh_smooth(b, live & (uint16_t)~deltas, out);
}
