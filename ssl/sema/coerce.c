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

/* With what the author may have meant, where that is likely. */
static void report_conversion(Sema *s, const Expr *e, const Type *type)
{
    const char *to = text_of(s, type);
    report(s->diags, CANNOT_CONVERT, e->span, to, text_of(s, e->type));
    if (type_is_number(e->type) && (type_lanes(type) > 1 || type_is(type, SSL_MATRIX)))
        report(s->diags, NOTE_WRITE, (Span){0}, arena_printf(s->arena, "%s(...)", to));
    else if (type_is(type, SSL_FLOAT) && type_lanes(e->type) > 1)
        report(s->diags, NOTE_WRITE, (Span){0},
               "a component, as .x, or a function such as length()");
    else if (type_is(type, SSL_CLOSURE) && type_lanes(e->type) > 0)
        report(s->diags, NOTE_WRITE, (Span){0}, "make_closure<Name>(...): a color is no closure");
}

Expr *coerce(Sema *s, Expr *e, const Type *type)
{
    if (coerce_is_possible(e->type, type))
        return coerce_wrap(s, e, type);
    if (type_is(type, SSL_INT) && type_is(e->type, SSL_FLOAT))
        report(s->diags, NEEDS_CAST, e->span, NULL);
    else
        report_conversion(s, e, type);
    return expr_error(e);
}
