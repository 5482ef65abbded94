/* An interpreter of IR, for tests: one point, straight from the definition of each operation.
 *
 * EVAL_FLOAT computes what a kernel must, bit for bit; DDX and DDY give zero and TEX_AUTO has no
 * footprint, since floats know no derivatives. EVAL_DUAL computes in double with dual numbers, by
 * rules written here and not in the compiler: DDX and DDY give the tangents, TEX_AUTO the
 * footprint. */
#ifndef TESTS_SSL_IR_EVAL_H
#define TESTS_SSL_IR_EVAL_H

#include "ssl/ir/ir.h"

typedef enum EvalMode { EVAL_FLOAT, EVAL_DUAL } EvalMode;

typedef struct EvalScalar {
    bool b;
    int32_t i;
    float f;          /* EVAL_FLOAT */
    double v, d[2];   /* EVAL_DUAL */
    bool is_constant; /* of constants only, if `folds` */
} EvalScalar;

/* coord: s t ds_dx dt_dx ds_dy dt_dy blur; out: rgba, d_ds rgba, d_dt rgba. */
typedef void (*EvalTexture)(void *data, const SslTextureSite *site, const double coord[7],
                            double out[12]);

/* adjoints: of rgba and, if `count` is 12, of d_ds rgba and d_dt rgba. */
typedef void (*EvalTexels)(void *data, const SslTextureSite *site, const double coord[7],
                           const double *adjoints, uint32_t count);

typedef struct EvalPoint {
    EvalMode mode;
    double globals[SSL_MAX_GLOBALS][3][16]; /* [row][value ddx ddy][component] */
    double attributes[32][4][4];            /* [slot][value ddx ddy, existence][component] */
    EvalScalar params[32][16];              /* [param][component] */
    EvalTexture texture;
    EvalTexels texels; /* also gets texture_data */
    void *texture_data;
    uint32_t loop_budget; /* 0: 100,000 */
    uint32_t stack_bytes; /* 0: 100,000 */
    bool asks_guards;     /* of derivatives with a plain form, takes that with guards */
    /* EVAL_DUAL computes operations on constants in float, as the builder folds them. A function that is inlined, where
     * more operations meet constants, then gives what it gives when it is called. Values of loops, and of branches on
     * what is no constant, are none. */
    bool folds;
} EvalPoint;

typedef struct EvalTerm {
    uint32_t row;
    EvalScalar weight[3];
    const EvalScalar *args;
    uint32_t arg_count;
} EvalTerm;

/* One scalar, array, closure or array of closures. */
typedef struct EvalValue {
    const EvalScalar *elements;
    const struct EvalValue *closures;
    uint32_t count; /* of the elements or closures */
    const EvalTerm *terms;
    uint32_t term_count;
} EvalValue;

typedef struct EvalResult {
    EvalValue *values; /* [result of the entry]; in the arena */
    uint32_t count;
    uint32_t fault;        /* 0, or 1 + site of the first */
    uint32_t instructions; /* executed */
    uint32_t lookups;      /* of textures */
    /* A hash of what comparisons, roundings, quotients of FMOD, choices of FMIN and FMAX and signs of FABS gave, EVAL_DUAL:
     * points with one hash are on one piece of a function that is smooth in pieces. */
    uint64_t decisions;
} EvalResult;

EvalResult ir_eval(const IrModule *m, const EvalPoint *point, Arena *arena);
/* Result `index` as a number, in either mode. */
double eval_number(const EvalPoint *point, const EvalResult *r, uint32_t index);

#endif
