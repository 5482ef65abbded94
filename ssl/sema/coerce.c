#include "ssl/sema/checker.h"

bool coerce_is_possible(const Type *from, const Type *to)
{
    return type_same(from, to) || (type_is(from, SSL_INT) && type_is(to, SSL_FLOAT));
}

Expr *coerce_wrap(Sema *s, Expr *e, const Type *type)
{
    if (type_same(e->type, type))
        return e;
    Expr *wrapped = ARENA_NEW(s->arena, Expr);
    *wrapped = (Expr){.kind = EXPR_CONVERT, .span = e->span, .type = type, .a = e};
    return expr_seal(wrapped);
}

Expr *coerce(Sema *s, Expr *e, const Type *type)
{
    if (coerce_is_possible(e->type, type))
        return coerce_wrap(s, e, type);
    if (type_is(type, SSL_INT) && type_is(e->type, SSL_FLOAT))
        report(s->diags, NEEDS_CAST, e->span, NULL);
    else
        report(s->diags, CANNOT_CONVERT, e->span, text_of(s, type), text_of(s, e->type));
    return expr_error(e);
}
