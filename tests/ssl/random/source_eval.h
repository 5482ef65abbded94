/* An interpreter of SSL source: it walks the checked syntax tree, in double precision with error bounds and
 * dual numbers, and shares nothing with the IR, its passes or code generation. It is what programs that were
 * compiled are held against. Library functions that are SSL text are interpreted like the user's. */
#ifndef TESTS_SSL_RANDOM_SOURCE_EVAL_H
#define TESTS_SSL_RANDOM_SOURCE_EVAL_H

#include "ssl/sema/sema.h"
#include "tests/ssl/random/dual.h"

typedef struct ClosureTree ClosureTree;

/* One scalar of a value. Values are arrays of cells: elements, members and components in order. */
typedef union Cell {
    Dual f;
    int32_t i;
    bool b;
    const ClosureTree *closure; /* NULL: the zero closure */
} Cell;

/* A sum of weighted terms, as the expression that made it: a + b, weight * a, or a term. */
struct ClosureTree {
    const ClosureTree *a, *b;
    Dual weight[3];   /* of a, when b is NULL */
    uint32_t row;     /* a term, when a is NULL */
    const Cell *args; /* its scalars, closures among them */
    uint32_t arg_count;
};

/* One texture lookup: s, t, their derivatives as SslTexCall.coord, blur. */
typedef struct EvalLookup {
    uint32_t texture;
    Bounded coord[7];
} EvalLookup;

typedef struct EvalTexture {
    void (*sample)(const void *data, uint32_t texture, Dual s, Dual t, Dual out_rgba[4]);
    const void *data;
} EvalTexture;

typedef enum EvalMode {
    EVAL_RECORD, /* what ddx() and ddy() give goes on the tape */
    EVAL_REPLAY  /* they give what is on the tape: the source as a function of its inputs alone */
} EvalMode;

/* The values of file-scope constants that were met, for all points of a program. */
typedef struct SourceConstant {
    const VarDecl *var;
    Cell *cells;
    bool is_doubtful;
} SourceConstant;
typedef struct SourceConstants {
    ARRAY(SourceConstant) list;
} SourceConstants;

/* One point. Results are in the arena. */
typedef struct SourcePoint {
    const Cell *const *globals; /* by row: the components */
    const Cell *const *params;  /* by shader parameter, results not counted */
    EvalTexture texture;
    SourceConstants *constants; /* in the same arena */
    EvalMode mode;
    bool is_fused; /* source_eval sets it */
    ARRAY(Bounded) tape;
    ARRAY(EvalLookup) lookups;
    /* results */
    Decisions decisions;  /* doubtful: nothing else counts */
    bool has_fault;       /* an index was out of range */
    const Cell **outputs; /* by output: the scalars */
} SourcePoint;

/* Runs the shader. `steps`: how many loop turns and calls are allowed; past them the point is doubtful. */
void source_eval(const FuncDecl *shader, SourcePoint *point, uint32_t steps, Arena *arena);

#endif
