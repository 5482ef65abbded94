/* The arithmetic on rows of a block, and the runs of programs between it. bsdf_rows.c, bsdf_rows_v3.c and bsdf_rows_v4.c compile
 * this for each class of CPUs, under the name BSDF_ROWS. Rows are computed in pieces of as many lanes as the CPU has in a register,
 * by the vector types of GCC and Clang; bits are the same in every class. */
#include "base/cast.h"
#include "base/check.h"
#include "base/compiler.h"
#include "sort/bsdf/bsdf_wide.h"
#include "ssl/ssl_limits.h"
#include <float.h>
#include <string.h>
#if defined(__SSE2__)
#    include <immintrin.h>
#endif

#if defined(__AVX512DQ__)
enum { PIECE = 16 };
#elif defined(__AVX2__)
enum { PIECE = 8 };
#else
enum { PIECE = 4 };
#endif

/* A piece of a row. Comparisons give lanes that are all ones or all zeros: a mask. */
typedef float Row __attribute__((vector_size(4 * PIECE)));
typedef int32_t RowMask __attribute__((vector_size(4 * PIECE)));

/* Runs the statement for the pieces of a block, of which p is the first lane. */
#define EACH_PIECE(p) for (uint32_t p = 0; p < SSL_BLOCK; p += PIECE)

/* --- rows ------------------------------------------------------------------------------------- */

SORT_ALWAYS_INLINE Row row_get(const float *at)
{
    Row row;
    memcpy(&row, at, sizeof row);
    return row;
}

SORT_ALWAYS_INLINE RowMask row_get_bits(const void *at)
{
    RowMask row;
    memcpy(&row, at, sizeof row);
    return row;
}

/* Stores floats, ints or masks. */
#define row_set(at, row) memcpy(at, &(row), sizeof(Row))

SORT_ALWAYS_INLINE Row row_select(RowMask mask, Row a, Row b)
{
    return (Row)(((RowMask)a & mask) | ((RowMask)b & ~mask));
}

SORT_ALWAYS_INLINE Row row_abs(Row x)
{
    return (Row)((RowMask)x & 0x7fffffff);
}

SORT_ALWAYS_INLINE Row row_max(Row a, Row b)
{
    return row_select(a > b, a, b);
}

SORT_ALWAYS_INLINE Row row_min(Row a, Row b)
{
    return row_select(a < b, a, b);
}

SORT_ALWAYS_INLINE Row row_dot(const BsdfRow a[3], const BsdfRow b[3], uint32_t p)
{
    return row_get(&a[0][p]) * row_get(&b[0][p]) + row_get(&a[1][p]) * row_get(&b[1][p]) +
           row_get(&a[2][p]) * row_get(&b[2][p]);
}

SORT_ALWAYS_INLINE RowMask mask_of(uint32_t lanes, uint32_t p)
{
    RowMask bits;
    for (uint32_t i = 0; i < PIECE; ++i)
        bits[i] = 1 << i;
    return (bits & (int32_t)(lanes >> p)) != 0;
}

/* Returns the lanes of a mask as bits of a block. */
SORT_ALWAYS_INLINE uint16_t lanes_of(RowMask mask, uint32_t p)
{
    uint32_t lanes = 0;
#if defined(__AVX512DQ__)
    lanes = _mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX2__)
    lanes = (uint32_t)_mm256_movemask_ps((__m256)mask);
#elif defined(__SSE2__)
    lanes = (uint32_t)_mm_movemask_ps((__m128)mask);
#else
    for (uint32_t i = 0; i < PIECE; ++i)
        lanes |= (uint32_t)mask[i] & 1u << i;
#endif
    return (uint16_t)(lanes << p);
}

/* Returns the lanes in which all `count` rows are finite. */
static uint16_t finite_lanes(const float *rows, uint32_t count)
{
    uint16_t lanes = 0;
    EACH_PIECE(p)
    {
        Row sum = {0};
        for (uint32_t r = 0; r < count; ++r)
            sum += row_get(rows + (size_t)r * SSL_BLOCK + p) * 0.0f; /* NaN unless finite */
        lanes |= lanes_of(sum == 0.0f, p);
    }
    return lanes;
}

/* Returns the lanes in which one of three numbers is not zero. */
static uint16_t nonzero_lanes(const float *rows)
{
    uint16_t lanes = 0;
    EACH_PIECE(p)
    {
        Row x = row_abs(row_get(rows + p)), y = row_abs(row_get(rows + SSL_BLOCK + p));
        Row z = row_abs(row_get(rows + (size_t)2 * SSL_BLOCK + p));
        lanes |= lanes_of(row_max(row_max(x, y), z) > 0.0f, p);
    }
    return lanes;
}

/* Returns the rows that all programs of a term read. */
static BsdfRows rows_of(const BsdfBlock *b, const BsdfTerm *term)
{
    return (BsdfRows){{[BSDF_LIST_VIEW] = cast_away_const(&b->view),
                       [BSDF_LIST_ARGS] = cast_away_const(term->args),
                       [BSDF_LIST_SHARE] = term->share,
                       [BSDF_LIST_STATE] = term->state}};
}

/* --- terms ------------------------------------------------------------------------------------ */

static void begin(BsdfBlock *b)
{
    b->term_count = b->lobe_count = b->row_count = 0;
    b->facing = 0; /* nothing scatters where the viewer sees the surface edge-on */
    EACH_PIECE(p)
    b->facing |= lanes_of(row_abs(row_dot(b->view.wo, b->view.Ng, p)) >= BSDF_COS_MIN, p);
    memset(b->select_sum, 0, sizeof b->select_sum);
    if (b->has_emission)
        memset(b->emission, 0, sizeof b->emission);
    if (b->has_holdout)
        memset(b->holdout, 0, sizeof b->holdout);
    if (b->has_transparency)
        memset(b->transparency, 0, sizeof b->transparency);
    b->has_emission = b->has_holdout = b->has_transparency = false;
    memset(b->aov_slots, 0, sizeof b->aov_slots);
    memset(b->flags, 0, sizeof b->flags);
    memset(b->faults, 0, sizeof b->faults);
    memset(b->counts, 0, sizeof b->counts);
}

static void add_transparency(BsdfBlock *b, const BsdfBlockLobe *lobe)
{
    const float *weight = lobe->term->share;
    b->has_transparency = true;
    const float *albedo = lobe->term->state + (size_t)lobe->def->albedo * SSL_BLOCK;
    for (size_t c = 0; c < 3; ++c)
        EACH_PIECE(p)
        {
            Row through =
                row_get(weight + c * SSL_BLOCK + p) * row_get(albedo + c * SSL_BLOCK + p);
            Row sum = row_get(&b->transparency[c][p]);
            sum += row_select(mask_of(lobe->live, p), through, (Row){0});
            row_set(&b->transparency[c][p], sum);
        }
}

static void add_lobe(BsdfBlock *b, BsdfTerm *term, const BsdfLobeDef *def)
{
    size_t index = (size_t)(def - term->def->lobes);
    const float *select = term->share + (BSDF_SHARE_SELECT + index) * SSL_BLOCK;
    uint16_t lanes = 0;
    EACH_PIECE(p)
    {
        RowMask live = row_get(select + p) > 0.0f;
        Row sum = row_get(&b->select_sum[p]) + row_get(select + p);
        RowMask flags = row_get_bits(&b->flags[p]) | (live & (int32_t)def->flags);
        RowMask counts = row_get_bits(&b->counts[p]) - live;
        row_set(&b->select_sum[p], sum);
        row_set(&b->flags[p], flags);
        row_set(&b->counts[p], counts);
        lanes |= lanes_of(live, p);
    }
    if (lanes == 0)
        return;
    ASSERT(b->lobe_count < b->lobe_room && def->albedo != BSDF_NO_ROW);
    BsdfBlockLobe *lobe = &b->lobes[b->lobe_count++];
    *lobe = (BsdfBlockLobe){def, term, select, lanes};
    if (!(def->flags & SSL_LOBE_DELTA))
        term->smooth |= lanes;
    if (def->flags & SSL_LOBE_TRANSPARENT)
        add_transparency(b, lobe);
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
    live &= finite & nonzero_lanes(weight);
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

/* Sums f cos and density, times select_sum, over all terms. Returns the sums, which are one of `values` or constant. */
static const BsdfValue *sum_terms(const BsdfBlock *b, const float *wi, uint16_t live,
                                  BsdfValue values[2])
{
    static const BsdfValue none;
    const BsdfValue *sum = &none;
    alignas(64) BsdfRow fault;
    for (uint32_t t = 0; t < b->term_count; ++t) {
        const BsdfTerm *term = &b->terms[t];
        if (!(term->smooth & live))
            continue;
        ASSERT(term->def->programs[BSDF_EVAL]);
        BsdfValue *next = &values[sum == &values[0]];
        BsdfRows rows = rows_of(b, term);
        rows.list[BSDF_LIST_WI] = cast_away_const(wi);
        rows.list[BSDF_LIST_SUM] = cast_away_const(sum);
        rows.list[BSDF_LIST_VALUE] = next;
        rows.list[BSDF_LIST_FAULT] = fault;
        bsdf_program_run(term->def, BSDF_EVAL, &rows, live);
        sum = next;
    }
    return sum;
}

/* Returns the density of a sum over all terms, 0 in other lanes. */
SORT_ALWAYS_INLINE Row density_of(const BsdfBlock *b, const BsdfValue *sum, RowMask live, uint32_t p)
{
    Row pdf = row_get(&sum->pdf[p]);
    return row_select(live & (pdf > 0.0f), pdf / row_get(&b->select_sum[p]), (Row){0});
}

static void eval(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                 BsdfRow out_pdf)
{
    BsdfValue values[2];
    const BsdfValue *sum = sum_terms(b, wi[0], live, values);
    EACH_PIECE(p)
    {
        RowMask is_live = mask_of(live, p);
        for (uint32_t c = 0; c < 3; ++c) {
            Row f_cos = row_select(is_live, row_get(&sum->f_cos[c][p]), (Row){0});
            row_set(&out_f_cos[c][p], f_cos);
        }
        Row pdf = density_of(b, sum, is_live, p);
        row_set(&out_pdf[p], pdf);
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Where the choice among lobes stands. */
typedef struct Choice {
    Row target, rest;      /* what is left of u, times select_sum; what the direction is drawn by */
    RowMask is_open, left; /* lanes that have chosen none; lobes that are left to choose from */
    RowMask index, flags, lobe;
} Choice;

/* Offers a lobe to the lanes that have chosen none. Returns those that take it. */
SORT_ALWAYS_INLINE uint16_t offer(const BsdfBlock *b, uint32_t l, uint32_t p, Choice *choice)
{
    const BsdfBlockLobe *lobe = &b->lobes[l];
    Row select = row_get(lobe->select + p);
    RowMask is_here = (select > 0.0f) & choice->is_open;
    RowMask is_reached = (choice->target < select) | (choice->left == 1);
    RowMask take = is_here & is_reached, pass = is_here & ~is_reached;
    if (b->lobe_count > 1) { /* else all of u is left */
        Row part = row_min(row_max(choice->target / select, (Row){0}), (Row){0} + 0x1.fffffep-1f);
        RowMask is_rescaled = take & (row_get_bits(&b->counts[p]) > 1);
        choice->rest = row_select(is_rescaled, part, choice->rest);
    }
    choice->target -= row_select(pass, select, (Row){0});
    choice->left += pass;
    choice->is_open &= ~take;
    choice->index |= take & (int32_t)(lobe->def - lobe->term->def->lobes);
    choice->flags |= take & (int32_t)lobe->def->flags;
    choice->lobe |= take & (int32_t)l;
    return lanes_of(take, p);
}

/* Chooses a lobe in each lane of `live`, and rescales what is left of u to [0, 1). out_chosen: lanes by lobe. */
static void choose_lobes(const BsdfBlock *b, uint16_t live, BsdfDraw *draw, BsdfDrawn *out,
                         uint16_t out_chosen[])
{
    memset(out_chosen, 0, b->lobe_count * sizeof *out_chosen);
    EACH_PIECE(p)
    {
        Row u = row_get(&draw->u[0][p]);
        RowMask is_live = mask_of(live, p);
        Choice choice = {.target = u * row_get(&b->select_sum[p]),
                         .rest = u,
                         .is_open = is_live,
                         .left = row_get_bits(&b->counts[p])};
        for (uint32_t l = 0; l < b->lobe_count; ++l)
            out_chosen[l] |= offer(b, l, p, &choice);
        RowMask flags = choice.flags | (row_get_bits(&out->flags[p]) & ~is_live);
        RowMask lobe = choice.lobe | (row_get_bits(&out->lobe[p]) & ~is_live);
        row_set(&draw->u[0][p], choice.rest);
        row_set(&draw->chosen[p], choice.index);
        row_set(&out->flags[p], flags);
        row_set(&out->lobe[p], lobe);
    }
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
        const float *normal = term->state + ((size_t)term->def->frame + 6) * SSL_BLOCK;
        for (size_t c = 0; c < 3; ++c)
            EACH_PIECE(p)
            {
                Row n = row_get(normal + c * SSL_BLOCK + p);
                n = row_select(mask_of(lanes, p), n, row_get(&out->n[c][p]));
                row_set(&out->n[c][p], n);
            }
    }
}

/* Returns the lanes of `live` in which a direction was drawn, and sets the side that it happened on. */
static uint16_t settle_sides(const BsdfBlock *b, uint16_t live, BsdfDrawn *out)
{
    const int32_t reflection = SSL_LOBE_REFLECTION, transmission = SSL_LOBE_TRANSMISSION;
    EACH_PIECE(p)
    {
        RowMask is_reflected = row_dot(out->wi, b->view.Ng, p) > 0.0f;
        RowMask flags = row_get_bits(&out->flags[p]);
        RowMask has_both = (flags & (reflection | transmission)) == (reflection | transmission);
        flags &= ~(has_both & ((is_reflected & transmission) | (~is_reflected & reflection)));
        row_set(&out->flags[p], flags);
    }
    return live & nonzero_lanes(out->wi[0]);
}

/* Sets the weights of the deltas that a lobe drew. Returns the lanes that have one. */
static uint16_t weigh_delta(const BsdfBlock *b, const BsdfBlockLobe *lobe, uint16_t lanes,
                            BsdfDrawn *out)
{
    uint16_t drawn = 0;
    EACH_PIECE(p)
    {
        Row pdf = row_get(&out->pdf[p]);
        Row own = pdf * row_get(lobe->select + p) / row_get(&b->select_sum[p]);
        pdf = row_select(mask_of(lanes, p), own, pdf);
        RowMask is_here = mask_of(lanes, p) & (pdf > 0.0f);
        for (size_t c = 0; c < 3; ++c) {
            Row weight = row_get(&out->weight[c][p]);
            Row part = weight * row_get(lobe->term->share + c * SSL_BLOCK + p) / pdf;
            weight = row_select(is_here, part, weight);
            row_set(&out->weight[c][p], weight);
        }
        row_set(&out->pdf[p], pdf);
        drawn |= lanes_of(is_here, p);
    }
    return drawn;
}

/* Sets the weights of deltas, by the lobes that drew them. Returns the lanes that have one. */
static uint16_t weigh_deltas(const BsdfBlock *b, const uint16_t chosen[], uint16_t live,
                             BsdfDrawn *out)
{
    uint16_t drawn = 0;
    for (uint32_t l = 0; l < b->lobe_count; ++l)
        if ((chosen[l] & live) && (b->lobes[l].def->flags & SSL_LOBE_DELTA))
            drawn |= weigh_delta(b, &b->lobes[l], chosen[l] & live, out);
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
    BsdfValue values[2];
    if (live == 0)
        return 0;
    const BsdfValue *sum = sum_terms(b, out->wi[0], live, values);
    uint16_t drawn = 0;
    EACH_PIECE(p)
    {
        Row pdf = density_of(b, sum, mask_of(live, p), p);
        RowMask is_here = pdf >= FLT_MIN; /* the inverse of a smaller one is infinite */
        for (uint32_t c = 0; c < 3; ++c) {
            Row weight = row_get(&sum->f_cos[c][p]) / pdf;
            weight = row_select(is_here, weight, row_get(&out->weight[c][p]));
            row_set(&out->weight[c][p], weight);
        }
        Row all = row_select(is_here, pdf, row_get(&out->pdf[p]));
        row_set(&out->pdf[p], all);
        drawn |= lanes_of(is_here, p);
    }
    return drawn;
}

static uint16_t sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out)
{
    BsdfDraw draw;
    uint16_t chosen[2 * SSL_MAX_LOBE_SLOTS * SSL_MAX_BSDF_LOBES];
    ASSERT(b->lobe_count <= SORT_COUNT_OF(chosen));
    uint16_t has_lobes = 0;
    EACH_PIECE(p) has_lobes |= lanes_of(row_get_bits(&b->counts[p]) > 0, p);
    live &= has_lobes;
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
