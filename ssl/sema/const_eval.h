/* Constant expressions: parameter defaults, metadata, array sizes, file-scope constants. Arithmetic is
 * that of ir_ops.inc (ssl/rt), so that a constant has the bits that the program would compute. */
#ifndef SSL_SEMA_CONST_EVAL_H
#define SSL_SEMA_CONST_EVAL_H

#include "ssl/front/ast.h"

typedef union Scalar {
    bool b;
    int32_t i;
    float f;
} Scalar;

struct Constant {
    const Type *type;
    const Scalar *scalars; /* [type->scalars]: elements, members and components in order */
    const char *text;      /* of a string */
};

/* Of a checked expression; NULL if it is not constant, and then *out_culprit is the part that is not.
 * Also NULL, with the error type, for what was reported already. */
const Constant *const_eval(const Expr *e, Arena *arena, const Expr **out_culprit);

const Constant *const_of_zero(const Type *type, Arena *arena);

#endif
