/* The derivative of each operation with respect to each argument: the one table that forward mode
 * uses and reverse mode will. Rules are partials, not tangents, so k directions share them.
 *
 * Every partial is finite for finite arguments: zero at singular points, where the value's guard
 * has the upper hand (see ir_ops.inc), and where it would overflow. The table for people is
 * docs/derivatives.md. */
#ifndef SSL_IR_PARTIALS_H
#define SSL_IR_PARTIALS_H

#include "ssl/ir/ir_build.h"

/* d op(args) / d args[index]; `result` is op(args). 0: identically zero. For operations with flag D
 * but choices, arrays and textures. */
IrValue ir_partial(IrBuilder *b, IrOp op, const IrValue *args, IrValue result, uint32_t index);

/* Operations whose result is one of two arguments: cond ? args[if_true] : args[if_false]. */
typedef struct IrChoice {
    IrValue cond;
    uint32_t if_true, if_false;
} IrChoice;
bool ir_choice(IrBuilder *b, IrOp op, const IrValue *args, IrChoice *out_choice);

#endif
