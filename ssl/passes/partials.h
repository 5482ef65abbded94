/* The chain rule of each operation: it computes the tangent of the result from the tangents of the arguments, in
 * one direction. Subexpressions common to several directions are shared by the builder's value numbering.
 *
 * A tangent is 0 at singular points, where a guard replaces the value (see ir_ops.inc), and where a rule that
 * divides or grows exponentially would overflow. Factors are multiplied in an order that keeps intermediate
 * products near the result, so that a derivative that fits in a float is found. Sums and products of the
 * shader itself overflow as values do; ir_finite replaces such a derivative by 0 where it is read.
 * docs/internals/derivatives.md has the table of all rules. */
#ifndef SSL_PASSES_PARTIALS_H
#define SSL_PASSES_PARTIALS_H

#include "ssl/ir/ir_build.h"

/* Returns the tangent of `result` = op(args), or 0 if it is identically zero. tangents[i] is the tangent of
 * args[i], or 0 for zero. `op` has the flag D and is no choice, array operation or texture lookup. */
IrValue ir_tangent(IrBuilder *b, IrOp op, const IrValue *args, IrValue result,
                   const IrValue *tangents);

/* Like ir_tangent, for derivatives that the language takes: where the derivative on a way from an argument to a result has a
 * factor that is exactly zero, it is exactly zero, even if another factor is infinite. So tanh(x * far) + x has the
 * derivative 1 where `far` is infinite, in both modes: what comes on other ways is not lost. A tangent that is NaN, because
 * infinite ones were subtracted, is lost alike; if `keeps_nan`, it stays NaN. */
IrValue ir_tangent_by_paths(IrBuilder *b, IrOp op, const IrValue *args, IrValue result,
                            const IrValue *tangents, bool keeps_nan);

/* Returns v, or 0 where v is infinite or NaN. */
IrValue ir_finite(IrBuilder *b, IrValue v);

/* Returns v, an array or not, with 0 in place of what is infinite or NaN. */
IrValue ir_finite_all(IrBuilder *b, IrValue v);

/* The tangent of any operation with the flag D and one result, but not of a texture lookup: of a choice or an array
 * operation, too. At least one tangent is not 0. A DDX or DDY gives that of the tangent. */
IrValue ir_tangent_of_any(IrBuilder *b, IrOp op, const IrValue *args, uint32_t arg_count,
                          IrValue result, const IrValue *tangents, bool keeps_nan);

/* An operation whose result is one of two arguments: cond ? args[if_true] : args[if_false]. */
typedef struct IrChoice {
    IrValue cond;
    uint32_t if_true, if_false;
} IrChoice;
bool ir_choice(IrBuilder *b, IrOp op, const IrValue *args, IrChoice *out_choice);

#endif
