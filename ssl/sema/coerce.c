#include "base/check.h"
#include "ssl/sema/checker.h"
#include "ssl/sema/const_eval.h"

bool coerce_is_possible(const Type *from, const Type *to)
{
    return type_same(from, to) || (type_is(from, SSL_INT) && type_is(to, SSL_FLOAT));
}

/* Warns of a quotient of constants such as 1 / 2, which is 0, where a float is wanted. */
static void check_int_quotient(Sema *s, const Expr *e)
{
    const Expr *culprit;
    if (e->kind != EXPR_BINARY || e->op != TOKEN_DIV || !type_is(e->type, SSL_INT))
        return;
    const Constant *a = const_eval(e->a, s->arena, &culprit),
                   *b = const_eval(e->b, s->arena, &culprit);
    if (!a || !b || b->scalars[0].i == 0 || a->scalars[0].i % b->scalars[0].i == 0)
        return;
    report(s->diags, INT_QUOTIENT, e->span,
           arena_printf(s->arena, "%d", a->scalars[0].i / b->scalars[0].i),
           arena_printf(s->arena, "%d.0 / %d", a->scalars[0].i, b->scalars[0].i));
}

Expr *coerce_wrap(Sema *s, Expr *e, const Type *type)
{
    ASSERT(e->type);
    if (type_same(e->type, type))
        return e;
    if (type_lanes(type) > 0)
        check_int_quotient(s, e);
    Expr *wrapped = ARENA_NEW(s->arena, Expr);
    *wrapped = (Expr){.kind = EXPR_CONVERT, .span = e->span, .type = type, .a = e};
    return expr_seal(wrapped);
}

void coerce_note(Sema *s, const Expr *e, const Type *type)
{
    const char *to = text_of(s, type);
    if (type_is_number(e->type) && (type_lanes(type) > 1 || type_is(type, SSL_MATRIX)))
        report(s->diags, NOTE_WRITE, (Span){0}, arena_printf(s->arena, "%s(...)", to));
    else if (type_is(type, SSL_FLOAT) && type_lanes(e->type) > 1)
        report(s->diags, NOTE_WRITE, (Span){0},
               "a component, as .x, or a function such as length()");
    else if (type_is(type, SSL_CLOSURE) && type_lanes(e->type) > 0)
        report(s->diags, NOTE_WRITE, (Span){0}, "make_closure<Name>(...): a color is no closure");
    else if (type_is(type, SSL_BOOL) && type_is_number(e->type))
        report(s->diags, NOTE_WRITE, (Span){0}, "a comparison, as x != 0");
    else if (type_is_number(type) && type_is(e->type, SSL_BOOL))
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "%s(b), which is 1 or 0", to));
    else if (type_lanes(type) > 1 && type_lanes(e->type) > type_lanes(type))
        report(
            s->diags, NOTE_WRITE, (Span){0},
            arena_printf(s->arena, "its first components, .%.*s", (int)type_lanes(type), "xyzw"));
    else if (type_lanes(type) > 1 && type_lanes(e->type) > 1 &&
             type_lanes(e->type) < type_lanes(type))
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "%s(v%s), with what the other components are", to,
                            type_lanes(type) - type_lanes(e->type) == 1 ? ", 1" : ", 0, 1"));
    else if (type_is(type, SSL_FLOAT) && type_is(e->type, SSL_CLOSURE))
        report(s->diags, NOTE_WRITE, (Span){0},
               "an output of type closure: nothing looks into one");
}

Expr *coerce(Sema *s, Expr *e, const Type *type)
{
    if (coerce_is_possible(e->type, type))
        return coerce_wrap(s, e, type);
    if (type_is(type, SSL_INT) && type_is(e->type, SSL_FLOAT))
        report(s->diags, NEEDS_CAST, e->span, NULL);
    else {
        report(s->diags, CANNOT_CONVERT, e->span, text_of(s, type), text_of(s, e->type));
        coerce_note(s, e, type);
    }
    return expr_error(e);
}
