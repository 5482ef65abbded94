/* How surfaces scatter light at SSL_BLOCK points at once: a flat set of weighted lobes, which programs evaluate and
 * sample, and the sums of the closures that are no lobes.
 *
 *   bsdf_block_begin(b)                    after b->view was filled: directions and normals of the points, as rows
 *   bsdf_block_add(b, def, args, weight)   once for each term that the shader made
 *   bsdf_block_eval / bsdf_block_sample    then as often as wanted; bsdf_point.h asks for one point
 *
 * wo points away from the surface, back along the path; wi points away from it too, to where light comes from. Whatever is
 * returned as "f cos" includes |cos| between wi and the lobe's own normal, since lobes may have different normals.
 *
 * Shading normals. A lobe's normal is first turned to the side of Ng where wo is. Reflection needs wi and wo on the same
 * side of Ng, transmission on opposite sides, whatever the lobe's normal says [Veach1997 sec. 5.3.2]: no light leaks
 * through, and directions that a lobe draws on the wrong side are lost.
 *
 * With |wo . Ng| < BSDF_COS_MIN nothing scatters. No closure returns more light than it gets, but for rounding and tables
 * of albedo (1e-3; Dielectric 1e-2).
 *
 * Bits of a point do not depend on the other points of its block. A block is one fiber's. */
#ifndef SORT_BSDF_BSDF_WIDE_H
#define SORT_BSDF_BSDF_WIDE_H

#include "base/arena.h"
#include "sort/bsdf/bsdf.h"
#include "sort/bsdf/bsdf_program.h"
#include "sort/bsdf/closure_table.h"

typedef struct BsdfTerm {
    const BsdfDef *def;
    float *share;      /* [BSDF_SHARE_SELECT + def->lobe_count][SSL_BLOCK] */
    float *state;      /* [def->state_rows][SSL_BLOCK] */
    const float *args; /* borrowed */
    uint16_t live;
    uint16_t smooth; /* the lanes in which a lobe that is no delta is not black */
} BsdfTerm;

typedef struct BsdfBlockLobe {
    const BsdfLobeDef *def;
    const BsdfTerm *term;
    const float *select; /* [SSL_BLOCK]; the chance of being sampled, times select_sum */
    uint16_t live;       /* the lanes in which it is not black */
} BsdfBlockLobe;

typedef struct BsdfBlockCode BsdfBlockCode;

typedef struct BsdfBlock {
    alignas(64) BsdfView view;
    BsdfRow select_sum;
    BsdfRow emission[3], holdout[3];
    BsdfRow transparency[3]; /* what a shadow ray is multiplied by */
    /* Closures have added to these sums since the block was begun; else they are 0. */
    bool has_emission, has_holdout, has_transparency;
    BsdfRow aovs[BSDF_AOVS_MAX][3];
    uint32_t aov_slots[SSL_BLOCK]; /* bit: slot of aovs that closures gave a value */
    uint32_t flags[SSL_BLOCK];     /* union of the lobes' SSL_LOBE_* */
    uint32_t faults[SSL_BLOCK];    /* BsdfFaults */
    uint32_t counts[SSL_BLOCK];    /* lobes */
    uint16_t facing;               /* the lanes in which something scatters */
    uint32_t term_count, lobe_count, row_count;
    uint32_t term_room, lobe_room, row_room;
    BsdfTerm *terms;           /* [term_room] */
    BsdfBlockLobe *lobes;      /* [lobe_room]; those of a term one after the other */
    BsdfRow *rows;             /* [row_room]; shares and states of the terms */
    const BsdfBlockCode *code; /* for this machine */
} BsdfBlock;

/* The loops over rows, compiled for a class of CPUs: what the functions of a block do. */
struct BsdfBlockCode {
    void (*begin)(BsdfBlock *b);
    const BsdfTerm *(*add)(BsdfBlock *b, const BsdfDef *def, const float *args, const float *weight,
                           uint16_t live);
    void (*eval)(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                 BsdfRow out_pdf);
    uint16_t (*sample)(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out);
};
extern const BsdfBlockCode bsdf_rows, bsdf_rows_v3, bsdf_rows_v4;
extern const BsdfBlockCode *const bsdf_block_codes[]; /* by class: wide_classes */

/* Makes a block with room for so many terms, lobes and rows of state, in memory of the arena; NULL: no memory. */
BsdfBlock *bsdf_block_create(Arena *arena, uint32_t terms, uint32_t lobes, uint32_t state_rows);
/* Empties the block, whose view has been filled. */
void bsdf_block_begin(BsdfBlock *b);
/* Returns the lanes to which light sampling can contribute: those with a lobe that is no delta. */
uint16_t bsdf_block_smooth(const BsdfBlock *b);
/* Returns the lanes that have a lobe. */
uint16_t bsdf_block_scattering(const BsdfBlock *b);
/* Returns the lanes in which sampling may look at the third random number. */
uint16_t bsdf_block_third(const BsdfBlock *b);
/* Sets the sides, SSL_LOBE_REFLECTION and SSL_LOBE_TRANSMISSION, from which lobes that are no deltas bring light that falls
 * with the cosine at the normal; 0 where a fibre brings it from all around. */
void bsdf_block_sides(const BsdfBlock *b, uint32_t out_sides[SSL_BLOCK]);
/* The reflection of a point that is blurred about the mirror direction by microfacets: that which is drawn most often, if there are
 * several. */
typedef struct BsdfGloss {
    BsdfRow mirror[3], alpha;
    BsdfRow share; /* the chance of a lobe that is no delta to be such a reflection */
} BsdfGloss;
/* Returns the lanes that have one; rows of others mean nothing. */
uint16_t bsdf_block_gloss(const BsdfBlock *b, BsdfGloss *out);
/* Turns normals to the side of the viewer. */
void bsdf_block_facing(const BsdfBlock *b, const BsdfRow normal[3], BsdfRow out[3]);
/* Adds weight * closure(args) in the lanes of `live`. args: [def->arg_rows][SSL_BLOCK], borrowed until the block is begun
 * again; weight: [3][SSL_BLOCK]. What cannot be added is left out and noted in b->faults. Returns the term; NULL when
 * there is no room. */
const BsdfTerm *bsdf_block_add(BsdfBlock *b, const BsdfDef *def, const float *args,
                               const float *weight, uint16_t live);
/* Notes a BsdfFaults of the lanes. */
void bsdf_block_note_fault(BsdfBlock *b, uint16_t lanes, uint32_t fault);
/* Adds weight * closure(args) of a closure that scatters nothing: Emission, Holdout, Aov; Volume, which surfaces do not see.
 * Arguments that are not finite count as a fault. Rows as of bsdf_block_add. */
void bsdf_block_add_sum(BsdfBlock *b, ClosureSum closure, const float *args, const float *weight,
                        uint16_t live);
/* Returns the rows [3] of the fraction of light that a layer lets through to its base and back, which mean something in the
 * lanes that are live in the term; NULL: the term is no layer. It depends on wo alone, so that what a layer reflects and
 * what it covers add up to at most what comes in [Kulla2017 albedo scaling]. */
const float *bsdf_term_base_factor(const BsdfTerm *term);
/* f cos toward wo of light from wi, and the density with which bsdf_block_sample draws wi, in the lanes of `live`; others
 * get 0. Deltas are left out. wi: [3][SSL_BLOCK], unit. */
void bsdf_block_eval(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                     BsdfRow out_pdf);
/* Evaluates one lobe, without its weight. */
void bsdf_block_eval_lobe(const BsdfBlock *b, const BsdfBlockLobe *lobe, BsdfRow wi[3],
                          uint16_t live, BsdfRow out_f_cos[3], BsdfRow out_pdf);
/* Draws directions by u: [3], of which the first chooses the lobe and, as far as it is left, with the second the direction;
 * the third chooses within lobes of two sides. Returns the lanes of `live` in which one was drawn. */
uint16_t bsdf_block_sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out);

#endif
