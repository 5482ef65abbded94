/* Arithmetic on floats in few words, for passes that write formulas. */
#ifndef SSL_IR_IR_ARITH_H
#define SSL_IR_IR_ARITH_H

#include "ssl/ir/ir_build.h"

/* Where the module is fused and one of two summands is a product, the sum is a fused multiply-add: of the second one if both are. A difference
 * of two products stays as it is, so that x y - y x is 0. What else reads the product has no influence, nor has what calls the
 * function, so the same function computes the same bits wherever it is. Bodies of [Filtered] functions are not fused, because
 * ir_filter knows sums and products. */
IrValue ir_add(IrBuilder *b, IrValue x, IrValue y);
IrValue ir_sub(IrBuilder *b, IrValue x, IrValue y);

static inline IrValue ir_mul(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FMUL, x, y);
}

static inline IrValue ir_div(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FDIV, x, y);
}

static inline IrValue ir_neg(IrBuilder *b, IrValue x)
{
    return ir_build1(b, IR_FNEG, x);
}

/* Applies an operation to two floats, or to the elements of two arrays of floats, one by one. */
IrValue ir_each2(IrBuilder *b, IrOp op, IrValue x, IrValue y);

#endif
