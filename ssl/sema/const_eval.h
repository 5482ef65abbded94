/* Evaluation of constant expressions: parameter defaults, metadata, array sizes, file-scope constants. Arithmetic
 * follows ir_ops.inc (ssl/rt), so that a constant has the bits that the program would compute. */
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
    const char *text;      /* the text of a string; else NULL */
};

/* Evaluates a checked expression. If it is not constant, the function returns NULL and *out_culprit is the part that
 * is not. It also returns NULL for an expression of the error type, which was reported before. */
const Constant *const_eval(const Expr *e, Arena *arena, const Expr **out_culprit);

const Constant *const_of_zero(const Type *type, Arena *arena);

#endif
