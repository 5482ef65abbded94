/* Closure values as scalars, with which closure_slots.c builds. A closure value becomes the parts of its terms, in
 * the order of its shape; an array of closures becomes the parts of its elements one after the other. */
#ifndef SSL_PASSES_CLOSURE_FIT_H
#define SSL_PASSES_CLOSURE_FIT_H

#include "ssl/passes/closure_shapes.h"

enum { PRESENT, WEIGHT, ARGS = 4 }; /* a term's parts */

/* The state of the clone that splits closures into scalars. */
typedef struct Slots {
    ClosureShapes shapes;
    IrFuncId func;   /* the function that is being rebuilt */
    IrValue **parts; /* [value of the old function]: scalars of its terms, in the new function */
} Slots;

uint32_t closure_term_parts(const IrModule *m, const Term *t);
uint32_t closure_shape_parts(const IrModule *m, const Shape *shape);
/* Writes the types of the parts of a closure value of type `type` to `out`, and returns the end of the list. */
IrType *closure_part_types(const IrModule *m, const Shape *shape, IrType type, IrType *out);

Slots *closure_slots_of(IrClone *c);
bool closure_is_one(IrClone *c, IrValue v);
const Shape *closure_shape_of(IrClone *c, IrValue v);
uint32_t closure_elements(const IrFunc *f, IrValue v); /* 1 unless `v` is an array */
uint32_t closure_value_parts(IrClone *c, IrValue v);
IrValue *closure_new_parts(IrClone *c, IrValue v); /* allocates Slots.parts[v] */
void closure_copy_parts(IrValue *to, const IrValue *from, uint32_t count);
void closure_select_parts(IrClone *c, IrValue cond, const IrValue *x, const IrValue *y,
                          uint32_t count, IrValue *out);
/* Writes the parts of a whole value to `out`, in the places of shape `to`. Terms of `to` that the value lacks are
 * absent. `span` is the place in the source that a fault names. */
void closure_fit_value(IrClone *c, const Shape *to, IrValue source, IrValue *out, Span span);

#endif
