/* Checks of operators: the types of operands that each accepts, and the type of its result. */
#include "base/check.h"
#include "ssl/sema/checker.h"
#include "ssl/sema/const_eval.h"

/* Returns the type of the result of an operation on two 3-vectors; of two tags, the more specific one wins. */
static const Type *join_tags(const Type *a, const Type *b, TokenKind op)
{
    if (a->scalars != b->scalars)
        return a->scalars > b->scalars ? a : b;
    if (type_is(a, SSL_POINT) && type_is(b, SSL_POINT) && op == TOKEN_SUB)
        return type_basic(SSL_VECTOR);
    return type_is(a, SSL_FLOAT3) ? b : a;
}

static bool is_comparison(TokenKind op)
{
    return op == TOKEN_EQUAL || op == TOKEN_NOT_EQUAL || op == TOKEN_LESS ||
           op == TOKEN_LESS_EQUAL || op == TOKEN_GREATER || op == TOKEN_GREATER_EQUAL;
}

static bool is_int_only(TokenKind op)
{
    return op == TOKEN_MOD || op == TOKEN_AND || op == TOKEN_OR || op == TOKEN_XOR ||
           op == TOKEN_SHL || op == TOKEN_SHR;
}

static bool is_weight(const Type *t)
{
    return type_is(t, SSL_INT) || type_lanes(t) == 1 || type_lanes(t) == 3;
}

/* The functions below convert both operands to the types that the operator works on, and return the type of its
 * result, or NULL if the operator does not apply. */
static const Type *closure_operands(Sema *s, TokenKind op, Expr **a, Expr **b)
{
    const Type *closure = type_basic(SSL_CLOSURE);
    bool is_a = type_is((*a)->type, SSL_CLOSURE), is_b = type_is((*b)->type, SSL_CLOSURE);
    if (is_a && is_b)
        return op == TOKEN_ADD || op == TOKEN_SUB ? closure : NULL;
    Expr **weight = is_a ? b : a;
    if (op != TOKEN_MUL || !is_weight((*weight)->type))
        return NULL;
    *weight = coerce_wrap(s, *weight, type_basic(SSL_COLOR));
    return closure;
}

static const Type *matrix_operands(Sema *s, TokenKind op, Expr **a, Expr **b)
{
    const Type *matrix = type_basic(SSL_MATRIX);
    bool is_a = type_is((*a)->type, SSL_MATRIX), is_b = type_is((*b)->type, SSL_MATRIX);
    if (is_a && is_b)
        return op == TOKEN_ADD || op == TOKEN_SUB || op == TOKEN_MUL ? matrix : NULL;
    if (is_a && op == TOKEN_MUL && type_is((*b)->type, SSL_FLOAT4))
        return (*b)->type;
    Expr **factor = is_a ? b : a;
    if (!type_is_number((*factor)->type) || (op != TOKEN_MUL && !(is_a && op == TOKEN_DIV)))
        return NULL;
    *factor = coerce_wrap(s, *factor, type_basic(SSL_FLOAT));
    return matrix;
}

static const Type *number_operands(Sema *s, TokenKind op, Expr **a, Expr **b)
{
    const Type *ta = (*a)->type, *tb = (*b)->type;
    const Type *boolean = type_basic(SSL_BOOL);
    bool is_equality = op == TOKEN_EQUAL || op == TOKEN_NOT_EQUAL;
    if (type_is(ta, SSL_BOOL) && type_is(tb, SSL_BOOL))
        return is_equality ? boolean : NULL;
    if (type_is(ta, SSL_INT) && type_is(tb, SSL_INT))
        return is_comparison(op) ? boolean : ta;
    bool is_a = type_lanes(ta) > 0 || type_is(ta, SSL_INT);
    bool is_b = type_lanes(tb) > 0 || type_is(tb, SSL_INT);
    if (!is_a || !is_b || is_int_only(op))
        return NULL;
    uint32_t la = type_lanes(ta) > 0 ? type_lanes(ta) : 1;
    uint32_t lb = type_lanes(tb) > 0 ? type_lanes(tb) : 1;
    uint32_t lanes = la > lb ? la : lb;
    if ((la != lanes && la != 1) || (lb != lanes && lb != 1))
        return NULL;
    if (is_comparison(op) && ((lanes > 1 && !is_equality) || la != lb))
        return NULL;
    *a = coerce_wrap(s, *a, type_of_lanes(lanes));
    *b = coerce_wrap(s, *b, type_of_lanes(lanes));
    if (is_comparison(op))
        return boolean;
    const Type *joined = join_tags(ta, tb, op);
    return type_lanes(joined) == lanes ? joined : type_of_lanes(lanes);
}

static const Type *operands(Sema *s, TokenKind op, Expr **a, Expr **b)
{
    ASSERT((*a)->type && (*b)->type);
    const Type *ta = (*a)->type, *tb = (*b)->type;
    if (op == TOKEN_LOGICAL_AND || op == TOKEN_LOGICAL_OR)
        return type_is(ta, SSL_BOOL) && type_is(tb, SSL_BOOL) ? ta : NULL;
    if (ta->kind != TYPE_BASIC || tb->kind != TYPE_BASIC)
        return NULL;
    if (type_is(ta, SSL_STRING) && type_is(tb, SSL_STRING))
        return op == TOKEN_EQUAL || op == TOKEN_NOT_EQUAL ? type_basic(SSL_BOOL) : NULL;
    if (type_is(ta, SSL_CLOSURE) || type_is(tb, SSL_CLOSURE))
        return closure_operands(s, op, a, b);
    if (type_is(ta, SSL_MATRIX) || type_is(tb, SSL_MATRIX))
        return matrix_operands(s, op, a, b);
    return number_operands(s, op, a, b);
}

static bool is_type_parameter(const Type *t)
{
    return t->kind == TYPE_STRUCT && t->decl->is_abstract;
}

/* Suggests what to write in place of an operator that does not accept its operands. NULL: there is no suggestion. */
static const char *other_way(Sema *s, TokenKind op, const Type *a, const Type *b)
{
    bool is_a = type_lanes(a) > 0 || type_is(a, SSL_INT),
         is_b = type_lanes(b) > 0 || type_is(b, SSL_INT);
    uint32_t la = type_lanes(a) > 1 ? type_lanes(a) : 1, lb = type_lanes(b) > 1 ? type_lanes(b) : 1;
    bool is_equality = op == TOKEN_EQUAL || op == TOKEN_NOT_EQUAL;
    if (op == TOKEN_LOGICAL_AND || op == TOKEN_LOGICAL_OR)
        return "a comparison on each side, as x != 0 && y != 0";
    if (is_type_parameter(a) || is_type_parameter(b))
        return "a method of its interface: of a type parameter, nothing else is known";
    if (a->kind == TYPE_STRUCT || b->kind == TYPE_STRUCT)
        return "it for each member";
    if (a->kind == TYPE_ARRAY || b->kind == TYPE_ARRAY)
        return "it for each element, in a loop";
    if (type_is(a, SSL_STRING) || type_is(b, SSL_STRING))
        return "nothing but == and != for strings: they are constants";
    if ((type_is(a, SSL_CLOSURE) || type_is(b, SSL_CLOSURE)) && is_comparison(op))
        return "a condition on what they are made of: closures cannot be compared";
    if (type_is(a, SSL_CLOSURE) || type_is(b, SSL_CLOSURE))
        return op == TOKEN_DIV
                   ? "closure * (1.0 / x)"
                   : "sums of closures, each times a float or a color: 0.8 * a + 0.2 * b";
    if (type_is(a, SSL_MATRIX) && type_lanes(b) == 3)
        return "transform(m, p) for a point, transform_vector(m, v) for a direction, "
               "transform_normal(inverse(m), "
               "n) for a normal";
    if (type_is(b, SSL_MATRIX) && op == TOKEN_DIV)
        return "inverse(m) beside '*'";
    if (type_is(b, SSL_MATRIX) && type_lanes(a) > 1)
        return type_lanes(a) == 4 ? "m * v: vectors are columns; v * m is transpose(m) * v"
                                  : "transform(m, p): vectors are columns and stand on the right";
    if (is_comparison(op) && !is_equality && type_is(a, SSL_BOOL))
        return "a < b && b < c: comparisons do not chain";
    if (type_is(a, SSL_BOOL) || type_is(b, SSL_BOOL)) {
        bool is_both = type_is(a, SSL_BOOL) && type_is(b, SSL_BOOL);
        return is_both && op == TOKEN_AND  ? "&&"
               : is_both && op == TOKEN_OR ? "||"
               : is_both && op == TOKEN_XOR
                   ? "!="
                   : "float(b) or int(b) for a bool as 1 or 0, and && || ! for logic";
    }
    if (!is_a || !is_b)
        return NULL;
    if (op == TOKEN_MOD)
        return "mod(x, y), whose sign is that of y, or fmod(x, y), whose sign is that of x: '%' is "
               "for ints";
    if (op == TOKEN_XOR)
        return "pow(x, y) for a power: '^' is the exclusive or of ints";
    if (is_int_only(op))
        return "int(x) around each side: the operator is for ints";
    if (la != lb && la > 1 && lb > 1)
        return la > lb
                   ? arena_printf(s->arena, "as many components on both sides: a.%.*s, or %s(b, 0)",
                                  (int)lb, "xyzw", type_text(type_of_lanes(la), s->arena))
                   : arena_printf(s->arena, "as many components on both sides: b.%.*s, or %s(a, 0)",
                                  (int)la, "xyzw", type_text(type_of_lanes(lb), s->arena));
    if (is_comparison(op) && !is_equality)
        return "comparisons of components, as a.x < b.x, or of lengths; step(edge, x) compares by "
               "component";
    if (is_equality)
        return arena_printf(s->arena,
                            "%s(x) for a vector of equal components, or compare one component",
                            type_text(type_of_lanes(la > lb ? la : lb), s->arena));
    return NULL;
}

static Expr *report_operands(Sema *s, Expr *e, TokenKind op)
{
    const char *other = other_way(s, op, e->a->type, e->b->type);
    report(s->diags, BAD_BINARY, e->span, token_kind_text(op), text_of(s, e->a->type),
           text_of(s, e->b->type));
    if (other)
        report(s->diags, NOTE_WRITE, (Span){0}, other);
    return expr_error(e);
}

static void note_unary(Sema *s, TokenKind op, const Type *t)
{
    const char *other = NULL;
    if (op == TOKEN_NOT && (type_is_number(t) || type_lanes(t) > 0))
        other = type_lanes(t) > 1 ? "v == 0 for each component" : "x == 0";
    else if (op == TOKEN_COMPLEMENT && type_is(t, SSL_BOOL))
        other = "!";
    else if ((op == TOKEN_INCREMENT || op == TOKEN_DECREMENT) && type_lanes(t) > 1)
        other = op == TOKEN_INCREMENT ? "v += 1" : "v -= 1";
    else if (op == TOKEN_SUB && type_is(t, SSL_BOOL))
        other = "! for not, float(b) for 1 or 0";
    if (other)
        report(s->diags, NOTE_WRITE, (Span){0}, other);
}

/* Warns of a division of ints by a constant 0. */
static void check_division(Sema *s, TokenKind op, const Type *type, const Expr *by)
{
    const Expr *culprit;
    if ((op != TOKEN_DIV && op != TOKEN_MOD) || !type_is(type, SSL_INT) ||
        !type_is(by->type, SSL_INT))
        return;
    const Constant *c = const_eval(by, s->arena, &culprit);
    if (c && c->scalars[0].i == 0)
        report(s->diags, DIVIDED_BY_ZERO, by->span, NULL);
}

/* Checks the right side, and then the whole, of a binary expression whose left side is checked. */
static Expr *check_right_side(Sema *s, Expr *e)
{
    ASSERT(e->kind == EXPR_BINARY && e->a->type);
    if (e->op == TOKEN_COMMA) {
        if (!(e->a->kind == EXPR_BINARY && e->a->op == TOKEN_COMMA) && !expr_has_effect(e->a))
            report(s->diags, NO_EFFECT, e->a->span, NULL);
        e->b = check_expr(s, e->b);
        return expr_typed(e, e->b->type);
    }
    e->a = expr_of_value(s, e->a);
    e->b = check_value(s, e->b);
    if (type_is_error(e->a->type) || type_is_error(e->b->type))
        return expr_error(e);
    const Type *result = operands(s, e->op, &e->a, &e->b);
    if (!result)
        return report_operands(s, e, e->op);
    check_division(s, e->op, e->a->type, e->b);
    return expr_typed(e, result);
}

/* A sum of many terms is deep on its left side, so a loop takes the place of recursion there. */
Expr *check_binary(Sema *s, Expr *e)
{
    ARRAY(Expr *) spine = {0};
    for (; e->kind == EXPR_BINARY && !e->type; e = e->a)
        array_push(s->arena, &spine, e);
    e = check_expr(s, e);
    while (spine.count > 0) {
        Expr *next = spine.data[--spine.count];
        next->a = e;
        e = check_right_side(s, next);
    }
    return e;
}

Expr *check_unary(Sema *s, Expr *e)
{
    e->a = check_value(s, e->a);
    const Type *t = e->a->type;
    if (type_is_error(t))
        return expr_error(e);
    bool is_arithmetic = type_is(t, SSL_INT) || type_lanes(t) > 0 || type_is(t, SSL_MATRIX) ||
                         (type_is(t, SSL_CLOSURE) && e->op == TOKEN_SUB);
    bool fits = e->op == TOKEN_NOT          ? type_is(t, SSL_BOOL)
                : e->op == TOKEN_COMPLEMENT ? type_is(t, SSL_INT)
                                            : is_arithmetic;
    if (fits)
        return expr_typed(e, t);
    report(s->diags, BAD_UNARY, e->span, token_kind_text(e->op), text_of(s, t));
    note_unary(s, e->op, t);
    return expr_error(e);
}

Expr *check_choice(Sema *s, Expr *e)
{
    e->a = check_condition(s, e->a);
    e->b = check_value(s, e->b);
    e->c = check_value(s, e->c);
    if (type_is_error(e->a->type) || type_is_error(e->b->type) || type_is_error(e->c->type))
        return expr_error(e);
    if (type_is_number(e->b->type) && type_is_number(e->c->type) &&
        !type_same(e->b->type, e->c->type)) {
        e->b = coerce_wrap(s, e->b, type_basic(SSL_FLOAT));
        e->c = coerce_wrap(s, e->c, type_basic(SSL_FLOAT));
    }
    if (!type_same(e->b->type, e->c->type) || e->b->type->scalars == 0) {
        const Type *wide = type_lanes(e->b->type) > 1 ? e->b->type : e->c->type;
        const Type *narrow = wide == e->b->type ? e->c->type : e->b->type;
        report(s->diags, BRANCH_TYPES, e->span, text_of(s, e->b->type), text_of(s, e->c->type));
        if (type_lanes(wide) > 1 && type_is_number(narrow))
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "%s(...) around the %s", text_of(s, wide),
                                text_of(s, narrow)));
        return expr_error(e);
    }
    return expr_typed(e, type_is(e->b->type, SSL_FLOAT3) ? e->c->type : e->b->type);
}

static TokenKind operator_of_assignment(TokenKind op)
{
    switch ((int)op) {
    case TOKEN_ADD_ASSIGN:
        return TOKEN_ADD;
    case TOKEN_SUB_ASSIGN:
        return TOKEN_SUB;
    case TOKEN_MUL_ASSIGN:
        return TOKEN_MUL;
    case TOKEN_DIV_ASSIGN:
        return TOKEN_DIV;
    case TOKEN_MOD_ASSIGN:
        return TOKEN_MOD;
    case TOKEN_AND_ASSIGN:
        return TOKEN_AND;
    case TOKEN_OR_ASSIGN:
        return TOKEN_OR;
    case TOKEN_XOR_ASSIGN:
        return TOKEN_XOR;
    case TOKEN_SHL_ASSIGN:
        return TOKEN_SHL;
    case TOKEN_SHR_ASSIGN:
        return TOKEN_SHR;
    default:
        return TOKEN_END;
    }
}

/* Checks a = b and a op= b. The `op` of the latter becomes the binary operator. */
Expr *check_assign(Sema *s, Expr *e)
{
    TokenKind op = operator_of_assignment(e->op);
    e->a = check_target(s, e->a, op != TOKEN_END);
    e->b = check_value(s, e->b);
    if (type_is_error(e->a->type) || type_is_error(e->b->type))
        return expr_error(e);
    if (op == TOKEN_END) {
        e->b = coerce(s, e->b, e->a->type);
        return type_is_error(e->b->type) ? expr_error(e) : expr_typed(e, e->a->type);
    }
    Expr *left = e->a;
    const Type *result = operands(s, op, &left, &e->b);
    if (!result)
        return report_operands(s, e, op);
    check_division(s, op, e->a->type, e->b);
    if (!type_same(result, e->a->type)) {
        const Expr value = {.kind = EXPR_ERROR, .span = e->b->span, .type = result};
        Expr *shown = ARENA_NEW(s->arena, Expr);
        *shown = value;
        coerce(s, shown, e->a->type); /* reports */
        return expr_error(e);
    }
    e->op = op;
    return expr_typed(e, e->a->type);
}

Expr *check_step(Sema *s, Expr *e)
{
    e->a = check_target(s, e->a, true);
    if (type_is_error(e->a->type))
        return expr_error(e);
    if (type_is_number(e->a->type))
        return expr_typed(e, e->a->type);
    report(s->diags, BAD_UNARY, e->span, token_kind_text(e->op), text_of(s, e->a->type));
    note_unary(s, e->op, e->a->type);
    return expr_error(e);
}
