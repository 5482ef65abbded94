/* How surfaces scatter light at SSL_BLOCK points at once: a flat set of weighted lobes, which programs evaluate and
 * sample. It is what sort/bsdf/bsdf.h is for one point, by the same rules.
 *
 *   bsdf_block_begin(b, view)              directions and normals of the points, as rows
 *   bsdf_block_add(b, def, args, weight)   once for each term that the shader made
 *   bsdf_block_eval / bsdf_block_sample    then as often as wanted
 *
 * A block is a fiber's own memory, some 100 KB. */
#ifndef SORT_BSDF_BSDF_WIDE_H
#define SORT_BSDF_BSDF_WIDE_H

#include "sort/bsdf/bsdf_program.h"
#include "ssl/ssl_limits.h"
#include <stdalign.h>

enum {
    BSDF_BLOCK_LOBES = 2 * SSL_MAX_LOBE_SLOTS,
    BSDF_BLOCK_STATE_ROWS = 64 * SSL_MAX_LOBE_SLOTS /* of all terms together */
};

typedef float BsdfRow[SSL_BLOCK];

/* The points, as they are seen. */
typedef struct BsdfView {
    alignas(64) BsdfRow wo[3];
    BsdfRow Ng[3];     /* unit; on the side of wo */
    BsdfRow unbent[3]; /* see bsdf_shadow_bumps; zero for none */
    BsdfRow blur;      /* see bsdf_blur */
    int32_t outside[SSL_BLOCK], options[SSL_BLOCK];
} BsdfView;

typedef struct BsdfTerm {
    const BsdfDef *def;
    float *state;      /* [def->state_rows][SSL_BLOCK] */
    const float *args; /* borrowed */
    uint16_t live;
} BsdfTerm;

typedef struct BsdfBlockLobe {
    alignas(64) BsdfRow weight[3]; /* the term's */
    BsdfRow select;                /* the chance of being sampled, times select_sum */
    const BsdfLobeDef *def;
    const BsdfTerm *term;
    uint16_t live; /* the lanes in which it is not black */
} BsdfBlockLobe;

typedef struct BsdfBlock {
    alignas(64) BsdfView view;
    BsdfRow select_sum;
    uint32_t flags[SSL_BLOCK];  /* union of the lobes' SSL_LOBE_* */
    uint32_t faults[SSL_BLOCK]; /* BsdfFaults */
    uint32_t counts[SSL_BLOCK]; /* lobes */
    uint32_t term_count, lobe_count, state_rows;
    BsdfTerm terms[SSL_MAX_LOBE_SLOTS];
    BsdfBlockLobe lobes[BSDF_BLOCK_LOBES];
    alignas(64) float state[BSDF_BLOCK_STATE_ROWS][SSL_BLOCK];
} BsdfBlock;

/* Directions that were drawn; rows of lanes that were not keep what they had. */
typedef struct BsdfDrawn {
    alignas(64) BsdfRow wi[3];
    BsdfRow weight[3]; /* f cos / pdf */
    BsdfRow pdf;       /* over all lobes; of a delta, the lobe's probability */
    BsdfRow eta;
    BsdfRow n[3];              /* the lobe's normal */
    uint32_t flags[SSL_BLOCK]; /* SSL_LOBE_*, with REFLECTION or TRANSMISSION as it happened */
    uint32_t lobe[SSL_BLOCK];  /* index in the block */
} BsdfDrawn;

/* Empties the block, whose view has been filled. */
void bsdf_block_begin(BsdfBlock *b);
/* Adds weight * closure(args) in the lanes of `live`. args: [def->arg_rows][SSL_BLOCK], borrowed until the block is begun
 * again; weight: [3][SSL_BLOCK]. What cannot be added is left out and noted in b->faults. Returns the term, for
 * bsdf_term_base_factor; NULL when there is no room. */
const BsdfTerm *bsdf_block_add(BsdfBlock *b, const BsdfDef *def, const float *args,
                               const float *weight, uint16_t live);
/* Returns the rows [3] of the fraction of light that a layer lets through to its base and back, in the lanes that are live
 * in the term; NULL: the term is no layer. */
const float *bsdf_term_base_factor(const BsdfTerm *term);
/* f cos toward wo of light from wi, and the density with which bsdf_block_sample draws wi, in the lanes of `live`; others
 * get 0. Deltas are left out. wi: [3][SSL_BLOCK], unit. */
void bsdf_block_eval(const BsdfBlock *b, BsdfRow wi[3], uint16_t live, BsdfRow out_f_cos[3],
                     BsdfRow out_pdf);
/* Draws directions by u: [3], of which the first chooses the lobe and, as far as it is left, with the second the direction;
 * the third chooses within lobes of two sides. Returns the lanes of `live` in which one was drawn. */
uint16_t bsdf_block_sample(const BsdfBlock *b, BsdfRow u[3], uint16_t live, BsdfDrawn *out);

#endif
