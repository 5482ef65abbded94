/* The state that the files of the interpreter share. */
#ifndef TESTS_SSL_RANDOM_SOURCE_WALK_H
#define TESTS_SSL_RANDOM_SOURCE_WALK_H

#include "tests/ssl/random/source_eval.h"

/* One call. */
typedef struct Frame {
    const FuncDecl *func;
    Cell **vars; /* by VarDecl.index */
    Cell *result;
} Frame;

typedef struct Walk {
    SourcePoint *point;
    Arena *arena;
    Frame *frame;
    uint32_t steps_left, tape_at;
} Walk;

/* Counts a loop turn or a call; false: no more. */
bool walk_step(Walk *w);
Cell *walk_cells(Walk *w, const Type *type); /* all zero */

/* The value of an expression, in memory of its own. */
Cell *walk_expr(Walk *w, const Expr *e);
/* A call: arguments as computed, by parameter; results of `out` stay in the arguments' memory. */
Cell *walk_call(Walk *w, const FuncDecl *f, Cell **args);
/* The value of a constant of the file, which is not to be written to. */
Cell *walk_constant(Walk *w, const VarDecl *var);
Cell *walk_builtin(Walk *w, const Expr *e);
Cell *walk_texture(Walk *w, const Expr *e);

/* A part of a variable, or of a value that was computed. */
typedef struct WalkPlace {
    Cell *cells;
    bool is_swizzle;
    uint8_t lane[4];
    uint32_t count;
} WalkPlace;
WalkPlace walk_place(Walk *w, const Expr *e);
void walk_load(const WalkPlace *p, Cell *out);
void walk_store(const WalkPlace *p, const Cell *in);

typedef enum CellKind { CELL_BOOL, CELL_INT, CELL_FLOAT, CELL_CLOSURE } CellKind;
CellKind walk_kind(const Type *type); /* of a basic type */

#endif
