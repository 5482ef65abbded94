/* Arithmetic on floats in few words, for passes that write formulas. */
#ifndef SSL_IR_IR_ARITH_H
#define SSL_IR_IR_ARITH_H

#include "ssl/ir/ir_build.h"

static inline IrValue ir_add(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FADD, x, y);
}

static inline IrValue ir_sub(IrBuilder *b, IrValue x, IrValue y)
{
    return ir_build2(b, IR_FSUB, x, y);
}

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
