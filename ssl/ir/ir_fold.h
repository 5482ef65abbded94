/* Constant folding and identities that hold bit for bit; used by the builder on every pure
 * operation. Private to ir/ and to the tests' interpreter. */
#ifndef SSL_IR_IR_FOLD_H
#define SSL_IR_IR_FOLD_H

#include "ssl/ir/ir_build.h"

typedef union IrScalar {
    bool b;
    int32_t i;
    float f;
} IrScalar;

/* What a scalar operation computes: the definition that folding and tests share, by the functions
 * of rt.h that kernels call. False: `op` is not such an operation. */
bool ir_scalar_eval(IrOp op, const IrScalar *args, IrScalar *out_result);

/* The value that op(args) is known to equal, or 0. May append simpler operations. `imm` is that of
 * the instruction to be. Operations with one result only. */
IrValue ir_fold(IrBuilder *b, IrOp op, uint64_t imm, const IrValue *args, uint32_t arg_count);

#endif
