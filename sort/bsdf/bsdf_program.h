/* Scattering functions as programs: what the compiler made of a `bsdf` of SSL (ssl/front/parse_bsdf.c), as a table that the
 * renderer runs. A program computes one block of SSL_BLOCK points; its inputs and outputs are rows, which a port names by
 * kind and number. Constant data once made: any thread. */
#ifndef SORT_BSDF_BSDF_PROGRAM_H
#define SORT_BSDF_BSDF_PROGRAM_H

#include "ssl/ssl.h"

/* The lists of rows that programs read and write. Rows are float or int32_t [SSL_BLOCK], 64-byte aligned. */
typedef enum BsdfPortKind {
    BSDF_PORT_NONE,    /* a parameter that the code does not read */
    BSDF_PORT_WO,      /* 3: from the surface to the viewer */
    BSDF_PORT_NG,      /* 3: geometric normal, on the viewer's side */
    BSDF_PORT_OUTSIDE, /* int: the viewer is on the side that the geometric normal points to */
    BSDF_PORT_OPTIONS, /* int: BSDF_IMPORTANCE ... */
    BSDF_PORT_BLUR,    /* the least alpha of microfacets */
    BSDF_PORT_UNBENT,  /* 3: the normal before bumps, see BsdfView */
    BSDF_PORT_WI,      /* 3 */
    BSDF_PORT_U,       /* 3: random numbers: two for the direction, one that chooses among sides */
    BSDF_PORT_ARG,     /* the closure's arguments, in order */
    BSDF_PORT_STATE,   /* what `prepare` computed */
    BSDF_PORT_F_COS,   /* 3 */
    BSDF_PORT_PDF,
    BSDF_PORT_ETA,    /* index on wi's side over that on wo's */
    BSDF_PORT_WEIGHT, /* 3: f cos of a delta, without 1 / probability */
    BSDF_PORT_PROBABILITY,
    BSDF_PORT_FAULT, /* the kernel's fault words */
    BSDF_PORT_KINDS
} BsdfPortKind;

typedef struct BsdfPort {
    uint16_t kind, row; /* row: the first of the value, counted in the list of that kind */
} BsdfPort;

/* Enough for all state and arguments of a definition (SSL_MAX_BSDF_STATE), and what else its programs pass. */
enum { BSDF_PORTS_MAX = 112 };

typedef struct BsdfProgram {
    SslKernelFn run;
    uint16_t in_count, out_count;
    const BsdfPort *in, *out; /* [in_count], [out_count] */
} BsdfProgram;

enum { BSDF_NO_ROW = 0xffff };

typedef struct BsdfLobeDef {
    uint32_t flags; /* SSL_LOBE_* */
    /* Rows of the state: albedo [3]; the part of it that is reflected [3], of lobes with two sides; the medium [7]. */
    uint16_t albedo, reflected, medium;
    BsdfProgram eval, sample; /* eval.run is NULL for deltas */
} BsdfLobeDef;

typedef struct BsdfDef {
    const char *name;
    uint32_t arg_rows, state_rows;
    uint16_t frame;       /* rows of the state: s t n [9] */
    uint16_t base_factor; /* [3]: what reaches a layer's base; BSDF_NO_ROW: it is no layer */
    uint32_t lobe_count;
    BsdfProgram prepare;
    const BsdfLobeDef *lobes;
} BsdfDef;

/* The rows of each kind that a run may read or write: the address of the first one, or NULL. */
typedef struct BsdfRows {
    float *list[BSDF_PORT_KINDS];
} BsdfRows;

/* Runs the program for the lanes of `live`; other lanes of the outputs keep their values. */
void bsdf_program_run(const BsdfProgram *p, const BsdfRows *rows, uint16_t live);

/* A scattering function that was compiled while the program runs. */
typedef struct BsdfBuild BsdfBuild;

/* Compiles scattering function `info` of the source (ssl_source_bsdfs) for `lanes` points at once, 0: as suits the machine.
 * *out_build is the caller's (bsdf_build_destroy), and holds the code that its definition refers to. Errors: STATUS_SOURCE
 * with `diags`, a row that cannot be passed (STATUS_INVALID), memory. */
Status bsdf_build(SslContext *ctx, const SslSource *source, const SslBsdfInfo *info, uint32_t lanes,
                  DiagList *diags, BsdfBuild **out_build, Error *err) SORT_MUST_CHECK;
const BsdfDef *bsdf_build_def(const BsdfBuild *build);
void bsdf_build_destroy(BsdfBuild *build); /* NULL is allowed */

#endif
