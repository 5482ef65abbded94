/* Constant folding and identities that hold bit for bit, which the builder applies to every pure operation.
 * Private to ir/ and to the tests' interpreter. */
#ifndef SSL_IR_IR_FOLD_H
#define SSL_IR_IR_FOLD_H

#include "ssl/ir/ir_build.h"

typedef union IrScalar {
    bool b;
    int32_t i;
    float f;
} IrScalar;

/* Evaluates a scalar operation with the functions of rt.h, which kernels call too. This is the definition that
 * folding and tests share. Returns false if `op` is not a scalar operation. */
bool ir_scalar_eval(IrOp op, uint64_t imm, const IrScalar *args, IrScalar *out_result);

/* Whether operations on constants that have or give this number are folded. */
bool ir_folds_float(float x);

/* Returns a value that op(args) is known to equal, or 0. `op` has one result, and `imm` is the immediate that its
 * instruction would have. The function may append simpler operations. */
IrValue ir_fold(IrBuilder *b, IrOp op, uint64_t imm, const IrValue *args, uint32_t arg_count);

#endif
