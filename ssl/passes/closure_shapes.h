/* Analysis of the terms that each closure value can have.
 *
 * A closure value is a sum of terms; a term is one CLOSURE_MAKE with a weight. The shape of a value lists its
 * terms: the row of each, and its parent, the term that has it as an argument (a coat over a base). Where control
 * flow joins, in parameters and results of recursive functions, and in the elements of an array, the k-th
 * term of a row from one side shares a place with the k-th term of that row from the other.
 *
 * A closure that gains terms with each turn of a loop, or with each recursive call, has no bound. Its shape
 * gets a cap, the number of terms of one row that it has room for. Terms beyond the cap are put into places
 * that are free at run time (closure_slots.c); if no place is free, that is a fault. */
#ifndef SSL_PASSES_CLOSURE_SHAPES_H
#define SSL_PASSES_CLOSURE_SHAPES_H

#include "ssl/passes/pass.h"

typedef struct Term {
    uint32_t row;
    int32_t parent; /* an earlier term of the same list; -1: none */
} Term;

/* The shape of a closure, or of every element of an array of closures. */
typedef struct Shape {
    Term *terms;
    uint32_t count;
    uint32_t cap; /* the most terms of one row that have no parent; 0: no cap */
} Shape;

typedef struct ClosureShapes {
    IrModule *module;
    Shape **of;      /* [function][value]; NULL unless a closure or an array of closures */
    Shape **results; /* [function][result] */
    DiagList *diags;
    bool has_failed;
    /* The state of the analysis. */
    IrFuncId current;
    bool has_grown;
} ClosureShapes;

static inline bool ir_is_closure(const IrFunc *f, IrValue v)
{
    return ir_kind(ir_type(f, v)) == IR_CLOSURE;
}

/* Finds the shapes of all functions. STATUS_SOURCE: `diags` has an error more. */
Status closure_shapes_find(ClosureShapes *s, IrModule *m, DiagList *diags) SORT_MUST_CHECK;

enum { CLOSURE_NO_PLACE = -1 };
/* Maps the terms of `from` to terms of `to`, which has room for all of them. places[i] is a term of `to`, or
 * CLOSURE_NO_PLACE for a term beyond the cap and its descendants. */
void closure_places(const ClosureShapes *s, const Shape *to, const Shape *from, int32_t *places);
/* Maps the descendants of term `from_top`, which itself goes to term `to_top`. Other places[] are left alone. */
void closure_places_inside(const ClosureShapes *s, const Shape *to, uint32_t to_top,
                           const Shape *from, uint32_t from_top, int32_t *places);
/* Reports that `what` has more than `limit` terms, unless an error was reported before. */
void closure_too_many(ClosureShapes *s, Span span, int limit, const char *what);

#endif
