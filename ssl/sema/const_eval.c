#include "ssl/sema/const_eval.h"
#include "base/check.h"
#include "ssl/rt/rt.h"
#include "ssl/sema/builtin.h"
#include "ssl/sema/type.h"
#include "ssl/ssl_limits.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct Eval {
    Arena *arena;
    const Expr *culprit;
} Eval;

static const Constant *eval(Eval *v, const Expr *e);

static const Constant *fail(Eval *v, const Expr *e)
{
    if (!v->culprit)
        v->culprit = e;
    return NULL;
}

static const Constant *make(Eval *v, const Type *type, const Scalar *scalars)
{
    Constant *c = ARENA_NEW(v->arena, Constant);
    *c = (Constant){.type = type, .scalars = scalars};
    return c;
}

static Scalar *new_scalars(Eval *v, const Type *type)
{
    ASSERT(type->scalars <= SSL_MAX_TABLE_SCALARS);
    return ARENA_ARRAY(v->arena, Scalar, type->scalars);
}

const Constant *const_of_zero(const Type *type, Arena *arena)
{
    ASSERT(type->kind != TYPE_ERROR);
    Eval v = {.arena = arena};
    return make(&v, type, new_scalars(&v, type));
}

/* Returns the type of the scalars of a value: bool, int, float or string; void if they differ. */
static SslType scalar_type(const Type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->element;
    if (t->kind != TYPE_BASIC)
        return SSL_VOID;
    return type_lanes(t) || t->basic == SSL_MATRIX ? SSL_FLOAT : t->basic;
}

/* Evaluates a comparison of two numbers from their order; for a NaN, all three flags are false. Returns false if
 * `op` is no comparison. */
static bool compare(TokenKind op, bool is_less, bool is_equal, bool is_greater, Scalar *out)
{
    ASSERT(is_less + is_equal + is_greater <= 1);
    switch ((int)op) {
    case TOKEN_EQUAL:
        out->b = is_equal;
        return true;
    case TOKEN_NOT_EQUAL:
        out->b = !is_equal;
        return true;
    case TOKEN_LESS:
        out->b = is_less;
        return true;
    case TOKEN_LESS_EQUAL:
        out->b = is_less || is_equal;
        return true;
    case TOKEN_GREATER:
        out->b = is_greater;
        return true;
    case TOKEN_GREATER_EQUAL:
        out->b = is_greater || is_equal;
        return true;
    default:
        return false;
    }
}

static bool binary_float(TokenKind op, float a, float b, Scalar *out)
{
    switch ((int)op) {
    case TOKEN_ADD:
        out->f = ssl_flushed(a + b);
        return true;
    case TOKEN_SUB:
        out->f = ssl_flushed(a - b);
        return true;
    case TOKEN_MUL:
        out->f = ssl_flushed(a * b);
        return true;
    case TOKEN_DIV:
        out->f = ssl_flushed(a / b);
        return true;
    default:
        return compare(op, a < b, a == b, a > b, out);
    }
}

static bool binary_int(TokenKind op, int32_t a, int32_t b, Scalar *out)
{
    switch ((int)op) {
    case TOKEN_ADD:
        out->i = rt_int_add(a, b);
        return true;
    case TOKEN_SUB:
        out->i = rt_int_sub(a, b);
        return true;
    case TOKEN_MUL:
        out->i = rt_int_mul(a, b);
        return true;
    case TOKEN_DIV:
        out->i = rt_int_div(a, b);
        return true;
    case TOKEN_MOD:
        out->i = rt_int_mod(a, b);
        return true;
    case TOKEN_AND:
        out->i = a & b;
        return true;
    case TOKEN_OR:
        out->i = a | b;
        return true;
    case TOKEN_XOR:
        out->i = a ^ b;
        return true;
    case TOKEN_SHL:
        out->i = rt_int_shl(a, b);
        return true;
    case TOKEN_SHR:
        out->i = rt_int_shr(a, b);
        return true;
    default:
        return compare(op, a < b, a == b, a > b, out);
    }
}

static bool binary_scalar(SslType type, TokenKind op, Scalar a, Scalar b, Scalar *out)
{
    if (type == SSL_FLOAT)
        return binary_float(op, a.f, b.f, out);
    if (type == SSL_INT)
        return binary_int(op, a.i, b.i, out);
    if (type != SSL_BOOL || (op != TOKEN_EQUAL && op != TOKEN_NOT_EQUAL))
        return false;
    out->b = (a.b == b.b) == (op == TOKEN_EQUAL);
    return true;
}

/* Evaluates a binary expression whose left side has the value `a`. */
static const Constant *eval_with(Eval *v, const Expr *e, const Constant *a)
{
    ASSERT(e->kind == EXPR_BINARY && a);
    if (e->op == TOKEN_COMMA)
        return fail(v, e);
    if (e->op == TOKEN_LOGICAL_AND || e->op == TOKEN_LOGICAL_OR)
        return a->scalars[0].b == (e->op == TOKEN_LOGICAL_OR) ? a : eval(v, e->b);
    const Constant *b = eval(v, e->b);
    if (!b)
        return NULL;
    SslType type = scalar_type(a->type);
    if (type == SSL_STRING) {
        Scalar *same = new_scalars(v, e->type);
        ASSERT(a->text && b->text);
        same->b = (strcmp(a->text, b->text) == 0) == (e->op == TOKEN_EQUAL);
        return make(v, e->type, same);
    }
    bool is_matrix = type_is(a->type, SSL_MATRIX) || type_is(b->type, SSL_MATRIX);
    if (a->type->scalars != b->type->scalars || (is_matrix && e->op == TOKEN_MUL))
        return fail(v, e);
    bool is_comparison = type_is(e->type, SSL_BOOL);
    Scalar *out = new_scalars(v, e->type);
    Scalar one = {0};
    out[0].b = e->op == TOKEN_EQUAL;
    for (uint32_t i = 0; i < a->type->scalars; ++i) {
        if (!binary_scalar(type, e->op, a->scalars[i], b->scalars[i], &one))
            return fail(v, e);
        if (!is_comparison)
            out[i] = one;
        else if (a->type->scalars == 1)
            out[0].b = one.b;
        else if (one.b == (e->op == TOKEN_NOT_EQUAL)) /* == holds for all components, != for any */
            out[0].b = e->op == TOKEN_NOT_EQUAL;
    }
    return make(v, e->type, out);
}

/* The left side may be deep, so a loop takes the place of recursion there. */
static const Constant *eval_binary(Eval *v, const Expr *e)
{
    ARRAY(const Expr *) spine = {0};
    for (; e->kind == EXPR_BINARY && !type_is_error(e->type); e = e->a)
        array_push(v->arena, &spine, e);
    const Constant *c = eval(v, e);
    while (spine.count > 0 && c)
        c = eval_with(v, spine.data[--spine.count], c);
    return c;
}

static const Constant *eval_unary(Eval *v, const Expr *e)
{
    const Constant *a = eval(v, e->a);
    if (!a || e->op == TOKEN_ADD)
        return a;
    SslType type = scalar_type(a->type);
    Scalar *out = new_scalars(v, e->type);
    for (uint32_t i = 0; i < e->type->scalars; ++i) {
        if (type == SSL_FLOAT)
            out[i].f = -a->scalars[i].f;
        else if (type == SSL_BOOL)
            out[i].b = !a->scalars[i].b;
        else if (type == SSL_INT)
            out[i].i = e->op == TOKEN_SUB ? rt_int_sub(0, a->scalars[i].i) : ~a->scalars[i].i;
        else
            return fail(v, e);
    }
    return make(v, e->type, out);
}

static Scalar convert(Scalar from, SslType from_type, SslType to_type)
{
    Scalar to = {0};
    if (from_type == to_type)
        return from;
    if (to_type == SSL_FLOAT)
        to.f = from_type == SSL_INT ? (float)from.i : from.b ? 1.0f : 0.0f;
    else if (to_type == SSL_INT)
        to.i = from_type == SSL_FLOAT ? rt_int_from_float(from.f) : from.b;
    else
        to.b = from_type == SSL_FLOAT ? from.f != 0.0f : from.i != 0;
    return to;
}

/* Converts a value scalar by scalar, or one scalar to all components of a vector or to the diagonal of a matrix. */
static const Constant *eval_convert(Eval *v, const Expr *e, const Expr *operand)
{
    const Constant *a = eval(v, operand);
    if (!a)
        return NULL;
    SslType from = scalar_type(a->type), to = scalar_type(e->type);
    if (from == SSL_VOID || to == SSL_VOID || from == SSL_STRING || to == SSL_STRING)
        return fail(v, e);
    Scalar *out = new_scalars(v, e->type);
    for (uint32_t i = 0; i < e->type->scalars; ++i) {
        bool is_off_diagonal =
            type_is(e->type, SSL_MATRIX) && a->type->scalars == 1 && i / 4 != i % 4;
        if (!is_off_diagonal)
            out[i] = convert(a->scalars[a->type->scalars == 1 ? 0 : i], from, to);
    }
    return make(v, e->type, out);
}

/* Joins the scalars of all arguments, converted to the scalar type of the result. */
static const Constant *eval_pieces(Eval *v, const Expr *e)
{
    Scalar *out = new_scalars(v, e->type);
    uint32_t at = 0;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        const Constant *piece = eval(v, e->args.items[i]);
        if (!piece)
            return NULL;
        ASSERT(at + piece->type->scalars <= e->type->scalars);
        for (uint32_t k = 0; k < piece->type->scalars; ++k)
            out[at++] = piece->scalars[k];
    }
    ASSERT(at == e->type->scalars);
    return make(v, e->type, out);
}

static const Constant *eval_index(Eval *v, const Expr *e)
{
    const Constant *a = eval(v, e->a), *index = eval(v, e->b);
    if (!a || !index)
        return NULL;
    uint32_t stride = e->type->scalars;
    uint32_t count = a->type->scalars / stride;
    int32_t i = index->scalars[0].i;
    if (i < 0 || (uint32_t)i >= count)
        return fail(v, e->b);
    return make(v, e->type, a->scalars + (size_t)i * stride);
}

static const Constant *eval_member(Eval *v, const Expr *e)
{
    const Constant *a = eval(v, e->a);
    if (!a)
        return NULL;
    if (a->type->kind == TYPE_STRUCT) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < e->member; ++i)
            first += a->type->decl->members.items[i]->type->scalars;
        return make(v, e->type, a->scalars + first);
    }
    Scalar *out = new_scalars(v, e->type);
    for (uint32_t i = 0; i < e->swizzle.count; ++i)
        out[i] = a->scalars[e->swizzle.lane[i]];
    return make(v, e->type, out);
}

static const Constant *eval_builtin(Eval *v, const Expr *e)
{
    const Builtin *b = e->callee.builtin;
    const Constant *x = eval(v, e->args.items[0]);
    const Constant *y = e->args.count > 1 ? eval(v, e->args.items[1]) : x;
    if (!x || !y)
        return NULL;
    if (!b->fold.f_f)
        return fail(v, e);
    Scalar *out = new_scalars(v, e->type);
    for (uint32_t i = 0; i < e->type->scalars; ++i) {
        Scalar p = x->scalars[x->type->scalars == 1 ? 0 : i];
        Scalar q = y->scalars[y->type->scalars == 1 ? 0 : i];
        switch (b->shape) {
        case BUILTIN_F_F:
            out[i].f = ssl_flushed(b->fold.f_f(p.f));
            break;
        case BUILTIN_FF_F:
            out[i].f = ssl_flushed(b->fold.ff_f(p.f, q.f));
            break;
        case BUILTIN_F_B:
            out[i].b = b->fold.f_b(p.f);
            break;
        case BUILTIN_F_I:
            out[i].i = b->fold.f_i(p.f);
            break;
        case BUILTIN_II_I:
            out[i].i = b->fold.ii_i(p.i, q.i);
            break;
        }
    }
    return make(v, e->type, out);
}

static const Constant *eval_literal(Eval *v, const Expr *e)
{
    Scalar *out = ARENA_NEW(v->arena, Scalar);
    if (e->kind == EXPR_BOOL)
        out->b = e->bool_value;
    else if (e->kind == EXPR_INT)
        out->i = e->int_value;
    else
        out->f = ssl_flushed(e->float_value);
    return make(v, e->type, out);
}

static const Constant *eval(Eval *v, const Expr *e)
{
    if (type_is_error(e->type))
        return fail(v, e);
    switch (e->kind) {
    case EXPR_BOOL:
    case EXPR_INT:
    case EXPR_FLOAT:
        return eval_literal(v, e);
    case EXPR_STRING: {
        Constant *c = ARENA_NEW(v->arena, Constant);
        static const Scalar none = {0};
        *c = (Constant){.type = e->type, .scalars = &none, .text = e->name};
        return c;
    }
    case EXPR_NAME:
        return e->var->kind == VAR_CONSTANT && e->var->constant ? e->var->constant : fail(v, e);
    case EXPR_UNARY:
        return eval_unary(v, e);
    case EXPR_BINARY:
        return eval_binary(v, e);
    case EXPR_CHOICE: {
        const Constant *condition = eval(v, e->a);
        return condition ? eval(v, condition->scalars[0].b ? e->b : e->c) : NULL;
    }
    case EXPR_CONVERT:
        return eval_convert(v, e, e->a);
    case EXPR_CONSTRUCT:
        if (e->args.count == 0)
            return const_of_zero(e->type, v->arena);
        if (e->type->kind == TYPE_STRUCT && e->args.count < e->type->decl->members.count)
            return fail(v, e); /* diff_pair(x) */
        return e->args.count == 1 && e->type->kind == TYPE_BASIC
                   ? eval_convert(v, e, e->args.items[0])
                   : eval_pieces(v, e);
    case EXPR_LIST:
        return eval_pieces(v, e);
    case EXPR_INDEX:
        return eval_index(v, e);
    case EXPR_MEMBER:
        return eval_member(v, e);
    case EXPR_CALL:
        return e->callee.builtin ? eval_builtin(v, e) : fail(v, e);
    case EXPR_ERROR:
    case EXPR_ASSIGN:
    case EXPR_STEP:
    case EXPR_GLOBAL:
    case EXPR_ATTRIBUTE:
    case EXPR_CLOSURE:
    case EXPR_ASK:
    case EXPR_TEXTURE:
    case EXPR_DETACH:
        break;
    }
    return fail(v, e);
}

const Constant *const_eval(const Expr *e, Arena *arena, const Expr **out_culprit)
{
    Eval v = {.arena = arena};
    const Constant *c = eval(&v, e);
    *out_culprit = v.culprit;
    return c;
}
