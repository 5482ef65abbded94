/* Closure values as scalars: the parts of their terms, in the order of the shape; what closure_slots.c builds with.
 * An array of closures has the parts of its elements one after the other. */
#ifndef SSL_PASSES_CLOSURE_FIT_H
#define SSL_PASSES_CLOSURE_FIT_H

#include "ssl/passes/closure_shapes.h"

enum { PRESENT, WEIGHT, ARGS = 4 }; /* a term's parts */

/* Data of the clone that takes closures apart. */
typedef struct Slots {
    ClosureShapes shapes;
    IrFuncId func;   /* that is rebuilt */
    IrValue **parts; /* [value]: scalars of its terms, in the new function */
} Slots;

uint32_t closure_term_parts(const IrModule *m, const Term *t);
uint32_t closure_shape_parts(const IrModule *m, const Shape *shape);
/* Types of the parts of a closure value of type `type`; returns the end of what it wrote. */
IrType *closure_part_types(const IrModule *m, const Shape *shape, IrType type, IrType *out);

Slots *closure_slots_of(IrClone *c);
bool closure_is_one(IrClone *c, IrValue v);
const Shape *closure_shape_of(IrClone *c, IrValue v);
uint32_t closure_elements(const IrFunc *f, IrValue v); /* 1 unless it is an array */
uint32_t closure_value_parts(IrClone *c, IrValue v);
IrValue *closure_new_parts(IrClone *c, IrValue v); /* room for them, noted in `parts` */
void closure_copy_parts(IrValue *to, const IrValue *from, uint32_t count);
void closure_select_parts(IrClone *c, IrValue cond, const IrValue *x, const IrValue *y,
                          uint32_t count, IrValue *out);
/* The parts of a whole value, put where `to` has them; what it lacks is absent. `span`: of what asks for it. */
void closure_fit_value(IrClone *c, const Shape *to, IrValue source, IrValue *out, Span span);

#endif
