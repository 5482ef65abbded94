/* The loops over rows of a block, and the runs of programs between them. bsdf_rows.c, bsdf_rows_v3.c and bsdf_rows_v4.c compile
 * this for each class of CPUs, under the name BSDF_ROWS. Loops have no branches, so that the compiler computes several lanes at
 * once; bits are the same in every class. */
#include "base/cast.h"
#include "base/check.h"
#include "sort/bsdf/bsdf_wide.h"
#include "ssl/ssl_limits.h"
#include <float.h>
#include <string.h>

#define EACH_LANE(i) for (uint32_t i = 0; i < SSL_BLOCK; ++i)

/* Lanes as a row of all ones or zeros each. */
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

/* Returns the rows that all programs of a term read. */
static BsdfRows rows_of(const BsdfBlock *b, const BsdfTerm *term)
{
    return (BsdfRows){{[BSDF_LIST_VIEW] = cast_away_const(&b->view),
                       [BSDF_LIST_ARGS] = cast_away_const(term->args),
                       [BSDF_LIST_SHARE] = term->share,
                       [BSDF_LIST_STATE] = term->state}};
}

/* Returns the lanes in which something scatters: not those that the viewer sees edge-on. */
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

static void begin(BsdfBlock *b)
{
    b->term_count = b->lobe_count = b->row_count = 0;
    b->facing = facing_lanes(&b->view);
    memset(b->select_sum, 0, sizeof b->select_sum);
    memset(b->emission, 0, sizeof b->emission);
    memset(b->holdout, 0, sizeof b->holdout);
    memset(b->transparency, 0, sizeof b->transparency);
    memset(b->aov_slots, 0, sizeof b->aov_slots);
    memset(b->flags, 0, sizeof b->flags);
    memset(b->faults, 0, sizeof b->faults);
    memset(b->counts, 0, sizeof b->counts);
}

/* --- terms ------------------------------------------------------------------------------------ */

static void add_lobe(BsdfBlock *b, BsdfTerm *term, const BsdfLobeDef *def)
{
    size_t index = (size_t)(def - term->def->lobes);
    const float *select = term->share + (BSDF_SHARE_SELECT + index) * SSL_BLOCK;
    alignas(64) LaneRow live;
    EACH_LANE(i) live[i] = select[i] > 0.0f ? -1 : 0;
    uint16_t lanes = lanes_from_row(live);
    if (lanes == 0)
        return;
    ASSERT(b->lobe_count < b->lobe_room && def->albedo != BSDF_NO_ROW);
    b->lobes[b->lobe_count++] = (BsdfBlockLobe){def, term, select, lanes};
    EACH_LANE(i)
    {
        b->select_sum[i] += select[i];
        b->flags[i] |= def->flags & (uint32_t)live[i];
        b->counts[i] -= (uint32_t)live[i];
    }
    if (!(def->flags & SSL_LOBE_DELTA))
        term->smooth |= lanes;
    const float *albedo = term->state + (size_t)def->albedo * SSL_BLOCK;
    for (uint32_t c = 0; c < 3 && (def->flags & SSL_LOBE_TRANSPARENT); ++c)
        EACH_LANE(i)
        {
            float through = term->share[c * SSL_BLOCK + i] * albedo[c * SSL_BLOCK + i];
            b->transparency[c][i] += live[i] ? through : 0.0f;
        }
}

/* Returns the lanes of `live` in which a term with these numbers scatters light. */
static uint16_t lanes_of_term(BsdfBlock *b, const BsdfDef *def, const float *args,
                              const float *weight, uint16_t live)
{
    if (live == 0)
        return 0;
    uint16_t finite = finite_lanes(args, def->arg_rows) & finite_lanes(weight, 3);
    if (SORT_UNLIKELY(live & (uint16_t)~finite))
        bsdf_block_note_fault(b, live & (uint16_t)~finite, BSDF_FAULT_NOT_FINITE);
    live &= finite & nonblack_lanes(weight);
    return def->lobes[0].flags & SSL_LOBE_TRANSPARENT ? live : live & b->facing;
}

static const BsdfTerm *add(BsdfBlock *b, const BsdfDef *def, const float *args, const float *weight,
                           uint16_t live)
{
    uint32_t rows_wanted = BSDF_SHARE_SELECT + def->lobe_count + def->state_rows;
    live = lanes_of_term(b, def, args, weight, live);
    if (b->term_count == b->term_room || b->lobe_count + def->lobe_count > b->lobe_room ||
        b->row_count + rows_wanted > b->row_room) {
        bsdf_block_note_fault(b, live, BSDF_FAULT_FULL);
        return NULL;
    }
    BsdfTerm *term = &b->terms[b->term_count++];
    float *share = b->rows[b->row_count];
    float *state = share + (size_t)(BSDF_SHARE_SELECT + def->lobe_count) * SSL_BLOCK;
    ASSERT((uintptr_t)share % sizeof(BsdfRow) == 0);
    *term = (BsdfTerm){def, share, state, args, live, 0};
    b->row_count += rows_wanted;
    if (live == 0)
        return term;
    memcpy(share, weight, 3 * sizeof(BsdfRow));
    memset(share + (size_t)BSDF_SHARE_SELECT * SSL_BLOCK, 0, def->lobe_count * sizeof(BsdfRow));
    alignas(64) BsdfRow fault;
    BsdfRows rows = rows_of(b, term);
    rows.list[BSDF_LIST_FAULT] = fault;
    bsdf_program_run(def, BSDF_PREPARE, &rows, live);
    for (uint32_t k = 0; k < def->lobe_count; ++k)
        add_lobe(b, term, &def->lobes[k]);
    return term;
}

/* --- values ----------------------------------------------------------------------------------- */

static void eval(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                 BsdfRow out_pdf)
{
    static const BsdfValue none;
    const BsdfValue *sum = &none;
    BsdfValue values[2];
    alignas(64) BsdfRow fault;
    alignas(64) LaneRow is_live;
    for (uint32_t t = 0; t < b->term_count; ++t) {
        const BsdfTerm *term = &b->terms[t];
        if (!(term->smooth & live))
            continue;
        ASSERT(term->def->programs[BSDF_EVAL]);
        BsdfValue *next = &values[sum == &values[0]];
        BsdfRows rows = rows_of(b, term);
        rows.list[BSDF_LIST_WI] = wi;
        rows.list[BSDF_LIST_SUM] = cast_away_const(sum);
        rows.list[BSDF_LIST_VALUE] = next;
        rows.list[BSDF_LIST_FAULT] = fault;
        bsdf_program_run(term->def, BSDF_EVAL, &rows, live);
        sum = next;
    }
    lanes_to_row(live, is_live);
    for (uint32_t c = 0; c < 3; ++c)
        EACH_LANE(i) out_f_cos[c][i] = is_live[i] ? sum->f_cos[c][i] : 0.0f;
    EACH_LANE(i)
    {
        float pdf = sum->pdf[i] / b->select_sum[i];
        out_pdf[i] = is_live[i] && sum->pdf[i] > 0.0f ? pdf : 0.0f;
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Chooses a lobe in each lane of `live`, and rescales what is left of u to [0, 1). out_chosen: lanes by lobe. */
static void choose_lobes(const BsdfBlock *b, uint16_t live, BsdfDraw *draw, BsdfDrawn *out,
                         uint16_t out_chosen[])
{
    alignas(64) BsdfRow target, rest;
    alignas(64) LaneRow is_open, take, left;
    lanes_to_row(live, is_open);
    EACH_LANE(i) target[i] = draw->u[0][i] * b->select_sum[i];
    EACH_LANE(i) left[i] = (int32_t)b->counts[i];
    memcpy(rest, draw->u[0], sizeof rest);
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        const float *select = lobe->select;
        int32_t index = (int32_t)(lobe->def - lobe->term->def->lobes);
        EACH_LANE(i)
        {
            int32_t is_here = select[i] > 0.0f ? is_open[i] : 0;
            int32_t is_reached = target[i] < select[i] || left[i] == 1 ? -1 : 0;
            float part = minf(maxf(target[i] / select[i], 0.0f), 0x1.fffffep-1f);
            take[i] = is_here & is_reached;
            rest[i] = take[i] && b->counts[i] > 1 ? part : rest[i];
            target[i] -= is_here & ~is_reached ? select[i] : 0.0f;
            left[i] += is_here & ~is_reached;
            is_open[i] &= ~take[i];
        }
        EACH_LANE(i)
        {
            draw->chosen[i] = take[i] ? index : draw->chosen[i];
            out->flags[i] = take[i] ? lobe->def->flags : out->flags[i];
            out->lobe[i] = take[i] ? l : out->lobe[i];
        }
        out_chosen[l] = lanes_from_row(take);
    }
    memcpy(draw->u[0], rest, sizeof rest);
}

/* Draws directions by the lobes that were chosen. */
static void draw_directions(const BsdfBlock *b, BsdfDraw *draw, const uint16_t chosen[],
                            BsdfDrawn *out)
{
    alignas(64) BsdfRow fault;
    for (uint32_t l = 0; l < b->lobe_count;) {
        const BsdfTerm *term = b->lobes[l].term;
        uint16_t lanes = 0;
        for (; l < b->lobe_count && b->lobes[l].term == term; ++l)
            lanes |= chosen[l];
        if (lanes == 0)
            continue;
        ASSERT((lanes & ~term->live) == 0);
        BsdfRows rows = rows_of(b, term);
        rows.list[BSDF_LIST_DRAW] = draw;
        rows.list[BSDF_LIST_DRAWN] = out;
        rows.list[BSDF_LIST_FAULT] = fault;
        bsdf_program_run(term->def, BSDF_SAMPLE, &rows, lanes);
        const float *n = term->state + ((size_t)term->def->frame + 6) * SSL_BLOCK;
        alignas(64) LaneRow is_here;
        lanes_to_row(lanes, is_here);
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
                             BsdfDrawn *out)
{
    uint16_t drawn = 0;
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        const float *weight = lobe->term->share;
        uint16_t lanes = chosen[l] & live;
        if (lanes == 0 || !(lobe->def->flags & SSL_LOBE_DELTA))
            continue;
        alignas(64) LaneRow is_here;
        lanes_to_row(lanes, is_here);
        EACH_LANE(i)
        {
            float pdf = out->pdf[i] * lobe->select[i] / b->select_sum[i];
            out->pdf[i] = is_here[i] ? pdf : out->pdf[i];
            is_here[i] = pdf > 0.0f ? is_here[i] : 0;
        }
        for (uint32_t c = 0; c < 3; ++c)
            EACH_LANE(i)
            {
                float part = out->weight[c][i] * weight[c * SSL_BLOCK + i] / out->pdf[i];
                out->weight[c][i] = is_here[i] ? part : out->weight[c][i];
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
    eval(b, out->wi, live, f_cos, pdf);
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

static uint16_t sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out)
{
    BsdfDraw draw;
    alignas(64) LaneRow has_lobes;
    uint16_t chosen[2 * SSL_MAX_LOBE_SLOTS * SSL_MAX_BSDF_LOBES];
    ASSERT(b->lobe_count <= SORT_COUNT_OF(chosen));
    EACH_LANE(i) has_lobes[i] = b->counts[i] > 0 ? -1 : 0;
    live &= lanes_from_row(has_lobes);
    if (live == 0)
        return 0;
    memcpy(draw.u, u, sizeof draw.u);
    choose_lobes(b, live, &draw, out, chosen);
    draw_directions(b, &draw, chosen, out);
    live = settle_sides(b, live, out);
    uint16_t deltas = delta_lanes(b, chosen);
    return weigh_deltas(b, chosen, live, out) |
           weigh_smooth(b, live & (uint16_t)~deltas, out);
}

const BsdfBlockCode BSDF_ROWS = {begin, add, eval, sample};
