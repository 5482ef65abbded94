/* Scattering functions as programs: what the compiler made of a `bsdf` of SSL (ssl/front/parse_bsdf.c), as a table that the
 * renderer runs. A program computes one block of SSL_BLOCK points. Its inputs and outputs are rows of a few lists, at places
 * that are part of its code. Constant data once made: any thread. */
#ifndef SORT_BSDF_BSDF_PROGRAM_H
#define SORT_BSDF_BSDF_PROGRAM_H

#include "ssl/ssl.h"
#include <stdalign.h>
#include <stdatomic.h>

typedef float BsdfRow[SSL_BLOCK];

/* The points, as they are seen. */
typedef struct BsdfView {
    alignas(64) BsdfRow wo[3];
    BsdfRow Ng[3]; /* unit; on the side of wo */
    /* The unit shading normal before closures bent theirs, on the side of wo: diffuse light fades to nothing where it would
     * come from below that normal, instead of ending there at once; each closure's share of light becomes less, by the
     * angles [Chiang2019] or, with BSDF_SOFT_BUMPS, as on a rough surface [Estevez2019]. Zero: it ends at once. */
    BsdfRow unbent[3];
    /* No microfacet is sharper than this alpha, [0, 1], and no fibre smoother than a variance of that; sheen and diffuse
     * closures stay. */
    BsdfRow blur;
    int32_t outside[SSL_BLOCK], options[SSL_BLOCK];
} BsdfView;

/* Light that is scattered along given directions. */
typedef struct BsdfValue {
    alignas(64) BsdfRow f_cos[3];
    BsdfRow pdf;
} BsdfValue;

/* What directions are drawn by. */
typedef struct BsdfDraw {
    alignas(64) BsdfRow u[3];  /* two for the direction, one that chooses among sides */
    int32_t chosen[SSL_BLOCK]; /* the lobe, counted in its closure */
} BsdfDraw;

/* Directions that were drawn; rows of lanes that were not keep what they had. */
typedef struct BsdfDrawn {
    alignas(64) BsdfRow wi[3];
    BsdfRow weight[3]; /* f cos / pdf; programs set it for deltas alone, without 1 / probability */
    BsdfRow pdf;       /* over all lobes; of a delta, the lobe's probability */
    BsdfRow eta;       /* index on wi's side over that on wo's */
    BsdfRow n[3];      /* the lobe's normal */
    uint32_t flags[SSL_BLOCK]; /* SSL_LOBE_*, with REFLECTION or TRANSMISSION as it happened */
    uint32_t lobe[SSL_BLOCK];  /* index in the block */
} BsdfDrawn;

/* The lists of rows that programs read and write. Rows are float or int32_t [SSL_BLOCK], 64-byte aligned. */
typedef enum BsdfRowList {
    BSDF_LIST_VIEW,  /* a BsdfView */
    BSDF_LIST_ARGS,  /* the closure's arguments, in order */
    BSDF_LIST_SHARE, /* weight of the closure [3]; then one for each lobe, BSDF_SHARE_SELECT */
    BSDF_LIST_STATE, /* what `prepare` computed */
    BSDF_LIST_WI,    /* 3 */
    BSDF_LIST_SUM,   /* a BsdfValue of closures before this one */
    BSDF_LIST_VALUE, /* a BsdfValue: the same with this closure */
    BSDF_LIST_DRAW,  /* a BsdfDraw */
    BSDF_LIST_DRAWN, /* a BsdfDrawn */
    BSDF_LIST_FAULT, /* the kernel's fault words */
    BSDF_LISTS
} BsdfRowList;

enum {
    /* The rows of a share that hold each lobe's chance of being drawn, relative to other lobes of the block: the mean of
     * weight times albedo. A lobe with 0 is black. */
    BSDF_SHARE_SELECT = 3,
    BSDF_NO_ROW = 0xffff,
    /* What recursive calls may take: the threads that run programs have that much. */
    BSDF_STACK_BYTES = 96 * 1024
};

typedef struct BsdfLobeDef {
    uint32_t flags; /* SSL_LOBE_* */
    /* Rows of the state: albedo [3]; the part of it that is reflected [3], of lobes with two sides; the medium [7]. */
    uint16_t albedo, reflected, medium;
} BsdfLobeDef;

typedef enum BsdfProgram { BSDF_PREPARE, BSDF_EVAL, BSDF_SAMPLE, BSDF_PROGRAMS } BsdfProgram;

typedef struct BsdfDef {
    const char *name;
    uint32_t arg_rows, state_rows;
    uint16_t frame;       /* rows of the state: s t n [9] */
    uint16_t base_factor; /* [3]: what reaches a layer's base; BSDF_NO_ROW: it is no layer */
    uint16_t roughness;   /* row of the arguments: that of this name; BSDF_NO_ROW: there is none */
    uint16_t place,
        along; /* rows of the arguments [3] of these names, by which a portal leads on */
    uint32_t lobe_count;
    /* By BsdfProgram. Eval adds its lobes to the sum, and sample draws the chosen lobe; eval is NULL where all lobes are
     * deltas. */
    SslKernelFn programs[BSDF_PROGRAMS];
    const BsdfLobeDef *lobes;
    /* By BsdfProgram: how many points had a fault, by its site in the code; NULL: it has none, or nobody asks. */
    _Atomic uint64_t *faults[BSDF_PROGRAMS];
} BsdfDef;

/* The lists that a run may read or write: the address of the first row of each, or NULL. */
typedef struct BsdfRows {
    void *list[BSDF_LISTS];
} BsdfRows;

/* Counts the fault words of a run. */
void bsdf_count_faults(_Atomic uint64_t *faults, const void *words, uint16_t live);
/* Runs a program for the lanes of `live`; other lanes of the outputs keep their values. */
static inline void bsdf_program_run(const BsdfDef *def, BsdfProgram program, const BsdfRows *rows,
                                    uint16_t live)
{
    enum { LOOP_BUDGET = 1 << 16 };
    const SslBatch batch = {.live = &live,
                            .params = rows->list,
                            .block_count = 1,
                            .loop_budget = LOOP_BUDGET,
                            .stack_bytes = BSDF_STACK_BYTES};
    def->programs[program](&batch);
    if (def->faults[program])
        bsdf_count_faults(def->faults[program], rows->list[BSDF_LIST_FAULT], live);
}

/* A scattering function that was compiled while the program runs. */
typedef struct BsdfBuild BsdfBuild;

/* Compiles scattering function `info` of the source (ssl_source_bsdfs) for `lanes` points at once, 0: as suits the machine.
 * *out_build is the caller's (bsdf_build_destroy), and holds the code that its definition refers to. Errors: STATUS_SOURCE
 * with `diags`, a row that cannot be passed (STATUS_INVALID), memory. */
Status bsdf_build(SslContext *ctx, const SslSource *source, const SslBsdfInfo *info, uint32_t lanes,
                  DiagList *diags, BsdfBuild **out_build, Error *err) SORT_MUST_CHECK;
const BsdfDef *bsdf_build_def(const BsdfBuild *build);
/* Returns where a program has its rows, which is so for every class of CPUs. */
const SslRows *bsdf_build_rows(const BsdfBuild *build, BsdfProgram program);
/* Returns the name of a program's shader behind that of the function: "prepare". */
const char *bsdf_program_name(BsdfProgram program);
void bsdf_build_destroy(BsdfBuild *build); /* NULL is allowed */
/* Appends a line for each place in the source at which runs had a fault:
 * "wax.ssl:12:9: loop stopped: it ran past the host's limit (closure 'Wax', 3 times)". */
void bsdf_build_faults(const BsdfBuild *build, StrBuf *out);
/* Forgets these faults. No program may be running. */
void bsdf_build_clear_faults(BsdfBuild *build);

#endif
