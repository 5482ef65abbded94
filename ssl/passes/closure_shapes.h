/* Which terms a closure value can have, found when compiling.
 *
 * A closure value is a sum of terms; a term is one CLOSURE_MAKE with a weight. The shape of a value lists
 * its terms: the row of each, and the term that it stands in (coat over base), if any. Where control flow
 * joins, in the parameters and results of recursive functions, and in the elements of an array, the k-th
 * term of a row from one side shares a place with the k-th from the other.
 *
 * A closure that gains terms with each turn of a loop, or with each recursive call, would have no end: its
 * shape gets a cap, the terms of one row that it has room for. Terms beyond it are put into places that are
 * free at run time (closure_slots.c), and it is a fault if there is none. */
#ifndef SSL_PASSES_CLOSURE_SHAPES_H
#define SSL_PASSES_CLOSURE_SHAPES_H

#include "ssl/passes/pass.h"

typedef struct Term {
    uint32_t row;
    int32_t parent; /* an earlier term of the same list; -1: none */
} Term;

/* Of a closure, or of every element of an array of closures. */
typedef struct Shape {
    Term *terms;
    uint32_t count;
    uint32_t cap; /* of terms of one row that stand in no other; 0: none */
} Shape;

typedef struct ClosureShapes {
    IrModule *module;
    Shape **of;      /* [function][value]; of closures and arrays of them */
    Shape **results; /* [function][result] */
    DiagList *diags;
    bool has_failed;
    /* while they are found */
    IrFuncId current;
    bool has_grown;
} ClosureShapes;

static inline bool ir_is_closure(const IrFunc *f, IrValue v)
{
    return ir_kind(ir_type(f, v)) == IR_CLOSURE;
}

/* Of all functions. STATUS_SOURCE after a report. */
Status closure_shapes_find(ClosureShapes *s, IrModule *m, DiagList *diags) SORT_MUST_CHECK;

enum { CLOSURE_NO_PLACE = -1 };
/* Where each term of `from` goes in `to`, which has room for all: places[i] is a term of `to`, or
 * CLOSURE_NO_PLACE for a term past the cap and those in it. */
void closure_places(const ClosureShapes *s, const Shape *to, const Shape *from, int32_t *places);
/* The same for the terms that stand in term `from_top`, when that goes to term `to_top`. places[] of other
 * terms are not written. */
void closure_places_inside(const ClosureShapes *s, const Shape *to, uint32_t to_top,
                           const Shape *from, uint32_t from_top, int32_t *places);
/* More than `limit` terms in `what`: the first reason only. */
void closure_too_many(ClosureShapes *s, Span span, int limit, const char *what);

#endif
