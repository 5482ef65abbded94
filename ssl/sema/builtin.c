#include "ssl/sema/builtin.h"
#include "ssl/rt/rt.h"

static int32_t fold_min(int32_t a, int32_t b)
{
    return b < a ? b : a;
}

static int32_t fold_max(int32_t a, int32_t b)
{
    return a < b ? b : a;
}

static bool fold_isnan(float x)
{
    return x != x;
}

static bool fold_isinf(float x)
{
    return isinf(x);
}

const Builtin builtins[BUILTIN_COUNT] = {
#define ROW(title, row_shape, member, function, row_cost, text, rule)                              \
    {#title, row_shape, row_cost, .fold.member = function, text, rule},
#define BUILTIN_F_F(name, op, fold, cost, domain, derivative)                                      \
    ROW(name, BUILTIN_F_F, f_f, fold, cost, domain, derivative)
#define BUILTIN_FF_F(name, op, fold, cost, domain, derivative)                                     \
    ROW(name, BUILTIN_FF_F, ff_f, fold, cost, domain, derivative)
#define BUILTIN_F_B(name, op, fold, cost, domain, derivative)                                      \
    ROW(name, BUILTIN_F_B, f_b, fold, cost, domain, derivative)
#define BUILTIN_F_I(name, op, fold, cost, domain, derivative)                                      \
    ROW(name, BUILTIN_F_I, f_i, fold, cost, domain, derivative)
#define BUILTIN_II_I(name, op, fold, cost, domain, derivative)                                     \
    ROW(name, BUILTIN_II_I, ii_i, fold, cost, domain, derivative)
#include "ssl/ssl_builtins.inc"
#undef BUILTIN_F_F
#undef BUILTIN_FF_F
#undef BUILTIN_F_B
#undef BUILTIN_F_I
#undef BUILTIN_II_I
#undef ROW
};

uint32_t builtin_param_count(const Builtin *b)
{
    return b->shape == BUILTIN_FF_F || b->shape == BUILTIN_II_I ? 2 : 1;
}

SslType builtin_param_type(const Builtin *b)
{
    return b->shape == BUILTIN_II_I ? SSL_INT : SSL_FLOAT;
}

SslType builtin_return_type(const Builtin *b)
{
    switch (b->shape) {
    case BUILTIN_F_F:
    case BUILTIN_FF_F:
        return SSL_FLOAT;
    case BUILTIN_F_B:
        return SSL_BOOL;
    case BUILTIN_F_I:
    case BUILTIN_II_I:
        return SSL_INT;
    }
    return SSL_VOID;
}
