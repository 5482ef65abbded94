/* The chain rule of each operation: the tangent of its result from the tangents of its arguments, in one
 * direction. What directions share, the builder's value numbering shares.
 *
 * A tangent is 0 at singular points, where the value's guard has the upper hand (see ir_ops.inc), and where
 * a rule that divides or grows exponentially would overflow. Factors are multiplied in an order that keeps
 * what stands between them near the result, so that a derivative that a float can hold is found. Sums and
 * products of the shader itself overflow as values do; ir_finite ends that where a derivative is read. The
 * table for people is docs/internals/derivatives.md. */
#ifndef SSL_PASSES_PARTIALS_H
#define SSL_PASSES_PARTIALS_H

#include "ssl/ir/ir_build.h"

/* The tangent of op(args), which is `result`; tangents[i]: of args[i], 0: zero. 0: identically zero. For
 * operations with flag D but choices, arrays and textures. */
IrValue ir_tangent(IrBuilder *b, IrOp op, const IrValue *args, IrValue result,
                   const IrValue *tangents);

/* v, or 0 where it is an infinity or NaN. */
IrValue ir_finite(IrBuilder *b, IrValue v);

/* Operations whose result is one of two arguments: cond ? args[if_true] : args[if_false]. */
typedef struct IrChoice {
    IrValue cond;
    uint32_t if_true, if_false;
} IrChoice;
bool ir_choice(IrBuilder *b, IrOp op, const IrValue *args, IrChoice *out_choice);

#endif
