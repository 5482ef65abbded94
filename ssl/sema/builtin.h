/* The rows of ssl_builtins.inc as data. */
#ifndef SSL_SEMA_BUILTIN_H
#define SSL_SEMA_BUILTIN_H

#include "ssl/front/ast.h"

typedef enum BuiltinShape {
    BUILTIN_F_F,
    BUILTIN_FF_F,
    BUILTIN_F_B,
    BUILTIN_F_I,
    BUILTIN_II_I
} BuiltinShape;

struct Builtin {
    const char *name;
    BuiltinShape shape;
    uint16_t cost;
    union { /* the member that `shape` selects; NULL: calls are never constant */
        float (*f_f)(float);
        float (*ff_f)(float, float);
        bool (*f_b)(float);
        int32_t (*f_i)(float);
        int32_t (*ii_i)(int32_t, int32_t);
    } fold;
    const char *domain, *derivative;
};

enum { /* row numbers, as BUILTIN_ROW_sin_SIN; two rows may share a name, but not both name and operation */
#define BUILTIN_F_F(name, op, fold, cost, domain, derivative)  BUILTIN_ROW_##name##_##op,
#define BUILTIN_FF_F(name, op, fold, cost, domain, derivative) BUILTIN_ROW_##name##_##op,
#define BUILTIN_F_B(name, op, fold, cost, domain, derivative)  BUILTIN_ROW_##name##_##op,
#define BUILTIN_F_I(name, op, fold, cost, domain, derivative)  BUILTIN_ROW_##name##_##op,
#define BUILTIN_II_I(name, op, fold, cost, domain, derivative) BUILTIN_ROW_##name##_##op,
#include "ssl/ssl_builtins.inc"
#undef BUILTIN_F_F
#undef BUILTIN_FF_F
#undef BUILTIN_F_B
#undef BUILTIN_F_I
#undef BUILTIN_II_I
       BUILTIN_COUNT
};

extern const Builtin builtins[BUILTIN_COUNT];

uint32_t builtin_param_count(const Builtin *b);
SslType builtin_param_type(const Builtin *b);
SslType builtin_return_type(const Builtin *b);

#endif
