/* Checks of constructors and casts: float3(1), float4(c, 1), (int)x, Ray(o, d). */
#include "base/check.h"
#include "ssl/sema/checker.h"

static Expr *report_construct(Sema *s, Expr *e, const Type *type, const char *from)
{
    report(s->diags, BAD_CONSTRUCTOR, e->span, text_of(s, type), from,
           check_argument_types(s, &e->args));
    return expr_error(e);
}

static Expr *construct_struct(Sema *s, Expr *e, const Type *type)
{
    ASSERT(type->kind == TYPE_STRUCT);
    const VarList *members = &type->decl->members;
    if (type->decl->is_abstract) {
        report(s->diags, BAD_CONSTRUCTOR, e->span, type->decl->name, "nothing: it may be any type",
               "...");
        return expr_error(e);
    }
    if (type->decl->is_pair && e->args.count == 1) { /* without a derivative: zero */
        e->args.items[0] = coerce(s, e->args.items[0], members->items[0]->type);
        if (type_is_error(e->args.items[0]->type))
            return expr_error(e);
        e->type = type;
        return expr_seal(e);
    }
    if (e->args.count != members->count) {
        report(s->diags, BAD_ARGUMENT_COUNT, e->span, type->decl->name,
               count_text(s, members->count, "argument"), text_of_number(s, e->args.count));
        return expr_error(e);
    }
    for (uint32_t i = 0; i < members->count; ++i) {
        e->args.items[i] = coerce(s, e->args.items[i], members->items[i]->type);
        if (type_is_error(e->args.items[i]->type))
            return expr_error(e);
    }
    e->type = type;
    return expr_seal(e);
}

/* bool, int and float convert to one another. */
static bool is_scalar(const Type *t)
{
    return type_is(t, SSL_BOOL) || type_is_number(t);
}

/* Returns whether one argument converts, or is a scalar for every component (for a matrix, for its diagonal). */
static bool is_convertible(const Type *from, const Type *to)
{
    if (is_scalar(to))
        return is_scalar(from);
    if (type_lanes(to) > 1)
        return type_is_number(from) || type_lanes(from) == type_lanes(to);
    return type_is(to, SSL_MATRIX) ? type_is_number(from) || type_is(from, SSL_MATRIX)
                                   : type_same(from, to) && to->scalars > 0;
}

static const char *ingredients(const Type *type)
{
    if (is_scalar(type))
        return "one bool, int or float";
    if (type_is(type, SSL_MATRIX))
        return "one float, 16 floats or 4 float4 rows";
    if (type_lanes(type) == 2)
        return "one float or float2, or 2 floats";
    return type_lanes(type) == 3 ? "one float or 3-vector, or 3 floats in all"
                                 : "one float or float4, or 4 floats in all";
}

Expr *check_construct(Sema *s, Expr *e, const Type *type)
{
    bool is_good = !type_is_error(type);
    for (uint32_t i = 0; i < e->args.count; ++i) {
        e->args.items[i] = check_value(s, e->args.items[i]);
        is_good = is_good && !type_is_error(e->args.items[i]->type);
    }
    if (!is_good)
        return expr_error(e);
    if (type->kind == TYPE_STRUCT && !e->is_converted)
        return construct_struct(s, e, type);
    const Type *first = e->args.count > 0 ? e->args.items[0]->type : NULL;
    if (type->kind != TYPE_BASIC || (!is_scalar(type) && type_lanes(type) == 0 &&
                                     !type_is(type, SSL_MATRIX) && !type_is(type, SSL_CLOSURE))) {
        report(s->diags, BAD_CAST, e->span, first ? text_of(s, first) : "nothing",
               text_of(s, type));
        return expr_error(e);
    }
    if (e->args.count == 1) {
        if (is_convertible(first, type)) {
            e->type = type;
            return expr_seal(e);
        }
        if (e->is_converted || is_scalar(type) || type_is(type, SSL_CLOSURE)) {
            report(s->diags, BAD_CAST, e->span, text_of(s, first), text_of(s, type));
            if (is_scalar(type) && type_lanes(first) > 1)
                report(s->diags, NOTE_WRITE, (Span){0},
                       "a component, as .x, or a function such as length()");
            return expr_error(e);
        }
    }
    uint32_t scalars = 0;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        const Type *t = e->args.items[i]->type;
        bool is_row = !type_is(type, SSL_MATRIX) || type_lanes(t) == 4 || type_lanes(t) == 1 ||
                      type_is(t, SSL_INT);
        if ((type_lanes(t) == 0 && !type_is(t, SSL_INT)) || !is_row)
            return report_construct(s, e, type, ingredients(type));
        if (type_is(t, SSL_INT))
            e->args.items[i] = coerce_wrap(s, e->args.items[i], type_basic(SSL_FLOAT));
        scalars += e->args.items[i]->type->scalars;
    }
    if (scalars != type->scalars || is_scalar(type))
        return report_construct(s, e, type, ingredients(type));
    e->type = type;
    return expr_seal(e);
}
