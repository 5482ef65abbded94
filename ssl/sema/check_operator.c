/* Operators: what they apply to, and the type of what they give. */
#include "ssl/sema/checker.h"

/* The tag of the result of an operation on two 3-vectors: the more telling one. */
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

/* Converts both operands to what the operator works on, and returns the type of its result; NULL: the
 * operator does not apply. */
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

static Expr *report_operands(Sema *s, Expr *e, TokenKind op)
{
    report(s->diags, BAD_BINARY, e->span, token_kind_text(op), text_of(s, e->a->type),
           text_of(s, e->b->type));
    return expr_error(e);
}

/* a is checked. */
static Expr *check_right_side(Sema *s, Expr *e)
{
    if (e->op == TOKEN_COMMA) {
        if (!expr_has_effect(e->a))
            report(s->diags, NO_EFFECT, e->a->span, NULL);
        e->b = check_expr(s, e->b);
        return expr_typed(e, e->b->type);
    }
    e->a = expr_of_value(s, e->a);
    e->b = check_value(s, e->b);
    if (type_is_error(e->a->type) || type_is_error(e->b->type))
        return expr_error(e);
    const Type *result = operands(s, e->op, &e->a, &e->b);
    return result ? expr_typed(e, result) : report_operands(s, e, e->op);
}

/* A sum of many terms is deep on its left side, so that side is a loop. */
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
        report(s->diags, BRANCH_TYPES, e->span, text_of(s, e->b->type), text_of(s, e->c->type));
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

/* a = b, and a op= b, whose op is then the binary operator (TOKEN_ASSIGN stays). */
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
    return expr_error(e);
}
