/* Expressions, operands from left to right. */
#include "base/check.h"
#include "tests/ssl/random/source_walk.h"
#include <math.h>
#include <string.h>

CellKind walk_kind(const Type *type)
{
    if (type_is(type, SSL_BOOL))
        return CELL_BOOL;
    if (type_is(type, SSL_INT))
        return CELL_INT;
    return type_is(type, SSL_CLOSURE) ? CELL_CLOSURE : CELL_FLOAT;
}

/* --- operators ---------------------------------------------------------------------------------- */

/* As the language says: two's complement, no faults. */
static int32_t int_operator(TokenKind op, int32_t a, int32_t b)
{
    int64_t x = a, y = b, shift = y & 31;
    switch ((int)op) {
    case TOKEN_ADD:
        return (int32_t)(uint32_t)(x + y);
    case TOKEN_SUB:
        return (int32_t)(uint32_t)(x - y);
    case TOKEN_MUL:
        return (int32_t)(uint32_t)(x * y);
    case TOKEN_DIV:
        return y == 0 ? 0 : (int32_t)(uint32_t)(x / y);
    case TOKEN_MOD:
        return y == 0 ? 0 : (int32_t)(x % y);
    case TOKEN_AND:
        return a & b;
    case TOKEN_OR:
        return a | b;
    case TOKEN_XOR:
        return a ^ b;
    case TOKEN_SHL:
        return (int32_t)(uint32_t)((uint64_t)(uint32_t)a << shift);
    case TOKEN_SHR:
        return (int32_t)((x - (int64_t)((uint64_t)x & (((uint64_t)1 << shift) - 1))) /
                         ((int64_t)1 << shift));
    default:
        UNREACHABLE();
    }
}

/* order: -1, 0, 1 */
static bool comparison(TokenKind op, int order)
{
    switch ((int)op) {
    case TOKEN_EQUAL:
        return order == 0;
    case TOKEN_NOT_EQUAL:
        return order != 0;
    case TOKEN_LESS:
        return order < 0;
    case TOKEN_LESS_EQUAL:
        return order <= 0;
    case TOKEN_GREATER:
        return order > 0;
    case TOKEN_GREATER_EQUAL:
        return order >= 0;
    default:
        UNREACHABLE();
    }
}

static Dual product(const Walk *w, Dual a, Dual b)
{
    return w->point->is_fused ? dual_mul_fused(a, b) : dual_mul(a, b);
}

static Dual float_operator(const Walk *w, TokenKind op, Dual a, Dual b)
{
    switch ((int)op) {
    case TOKEN_ADD:
        return dual_add(a, b);
    case TOKEN_SUB:
        return dual_sub(a, b);
    case TOKEN_MUL:
        return product(w, a, b);
    case TOKEN_DIV:
        return dual_div(a, b);
    default:
        UNREACHABLE();
    }
}

static int compare_cells(Walk *w, CellKind kind, const Cell *a, const Cell *b)
{
    if (kind == CELL_INT)
        return a->i < b->i ? -1 : a->i > b->i;
    if (kind == CELL_BOOL)
        return a->b - b->b;
    bool is_known;
    int order = bounded_compare(a->f.v, b->f.v, &is_known);
    decide(&w->point->decisions, order, is_known);
    return order;
}

/* == and != of several: all equal, any not. */
static bool compare_values(Walk *w, TokenKind op, const Type *type, const Cell *a, const Cell *b)
{
    if (type->scalars == 1)
        return comparison(op, compare_cells(w, walk_kind(type), a, b));
    bool are_equal = true;
    for (uint32_t i = 0; i < type->scalars; ++i)
        are_equal &= compare_cells(w, CELL_FLOAT, &a[i], &b[i]) == 0;
    return are_equal == (op == TOKEN_EQUAL);
}

static Cell *matrix_product(Walk *w, const Type *type, const Cell *a, const Cell *b)
{
    uint32_t columns = type->scalars / 4;
    Cell *out = walk_cells(w, type);
    for (uint32_t i = 0; i < type->scalars; ++i)
        for (uint32_t k = 0; k < 4; ++k) {
            Dual term = product(w, a[i / columns * 4 + k].f, b[k * columns + i % columns].f);
            out[i].f = k == 0 ? term : dual_add(out[i].f, term);
        }
    return out;
}

static Cell closure_node(Walk *w, ClosureTree tree)
{
    ClosureTree *node = ARENA_NEW(w->arena, ClosureTree);
    *node = tree;
    return (Cell){.closure = node};
}

static Cell closure_scaled(Walk *w, Cell closure, const Cell *weight, uint32_t weight_count)
{
    ClosureTree tree = {.a = closure.closure};
    if (!tree.a)
        return closure;
    for (uint32_t i = 0; i < 3; ++i)
        tree.weight[i] = weight[weight_count == 1 ? 0 : i].f;
    return closure_node(w, tree);
}

static Cell closure_sum(Walk *w, Cell a, Cell b)
{
    if (!a.closure || !b.closure)
        return a.closure ? a : b;
    return closure_node(w, (ClosureTree){.a = a.closure, .b = b.closure});
}

static Cell closure_negated(Walk *w, Cell a)
{
    const Cell minus_one = {.f = dual_of(-1)};
    return closure_scaled(w, a, &minus_one, 1);
}

static Cell closure_operator(Walk *w, TokenKind op, const Type *a_type, const Cell *a,
                             const Type *b_type, const Cell *b)
{
    if (op == TOKEN_MUL && walk_kind(a_type) == CELL_CLOSURE)
        return closure_scaled(w, *a, b, b_type->scalars);
    if (op == TOKEN_MUL)
        return closure_scaled(w, *b, a, a_type->scalars);
    return closure_sum(w, *a, op == TOKEN_SUB ? closure_negated(w, *b) : *b);
}

static Cell *apply(Walk *w, TokenKind op, const Type *type, const Type *a_type, const Cell *a,
                   const Type *b_type, const Cell *b)
{
    Cell *out = walk_cells(w, type);
    if (op >= TOKEN_EQUAL && op <= TOKEN_GREATER) {
        out->b = compare_values(w, op, a_type, a, b);
    } else if (walk_kind(type) == CELL_CLOSURE) {
        *out = closure_operator(w, op, a_type, a, b_type, b);
    } else if (op == TOKEN_MUL && type_is(a_type, SSL_MATRIX) && b_type->scalars >= 4) {
        return matrix_product(w, type, a, b);
    } else {
        for (uint32_t i = 0; i < type->scalars; ++i) {
            const Cell *x = &a[a_type->scalars == 1 ? 0 : i], *y = &b[b_type->scalars == 1 ? 0 : i];
            if (walk_kind(type) == CELL_INT)
                out[i].i = int_operator(op, x->i, y->i);
            else
                out[i].f = float_operator(w, op, x->f, y->f);
        }
    }
    return out;
}

static Cell *unary(Walk *w, const Expr *e)
{
    Cell *v = walk_expr(w, e->a);
    for (uint32_t i = 0; i < e->type->scalars && e->op != TOKEN_ADD; ++i)
        switch (walk_kind(e->type)) {
        case CELL_BOOL:
            v[i].b = !v[i].b;
            break;
        case CELL_INT:
            v[i].i = e->op == TOKEN_SUB ? int_operator(TOKEN_SUB, 0, v[i].i) : -1 ^ v[i].i;
            break;
        case CELL_FLOAT:
            v[i].f = dual_neg(v[i].f);
            break;
        case CELL_CLOSURE:
            v[i] = closure_negated(w, v[i]);
            break;
        }
    return v;
}

static Cell *binary(Walk *w, const Expr *e)
{
    Cell *a = walk_expr(w, e->a);
    if (e->op == TOKEN_LOGICAL_AND || e->op == TOKEN_LOGICAL_OR) {
        decide(&w->point->decisions, a->b ? 1 : 0, true);
        return a->b == (e->op == TOKEN_LOGICAL_AND) ? walk_expr(w, e->b) : a;
    }
    Cell *b = walk_expr(w, e->b);
    return e->op == TOKEN_COMMA ? b : apply(w, e->op, e->type, e->a->type, a, e->b->type, b);
}

/* --- assignment --------------------------------------------------------------------------------- */

/* The checked tree has the operator alone: + for +=. */
static Cell *assign(Walk *w, const Expr *e)
{
    WalkPlace place = walk_place(w, e->a);
    Cell *old = walk_cells(w, e->a->type);
    walk_load(&place, old);
    Cell *v = walk_expr(w, e->b);
    if (e->op != TOKEN_ASSIGN)
        v = apply(w, e->op, e->type, e->a->type, old, e->b->type, v);
    walk_store(&place, v);
    Cell *result = walk_cells(w, e->type);
    memcpy(result, v, e->type->scalars * sizeof *v);
    return result;
}

static Cell *step(Walk *w, const Expr *e)
{
    WalkPlace place = walk_place(w, e->a);
    Cell *old = walk_cells(w, e->type), *next = walk_cells(w, e->type);
    walk_load(&place, old);
    TokenKind op = e->op == TOKEN_INCREMENT ? TOKEN_ADD : TOKEN_SUB;
    if (walk_kind(e->type) == CELL_INT)
        next->i = int_operator(op, old->i, 1);
    else
        next->f = float_operator(w, op, old->f, dual_of(1));
    walk_store(&place, next);
    return e->is_prefix ? next : old;
}

/* --- making values ------------------------------------------------------------------------------ */

/* Toward zero, saturating. */
static int32_t int_of_float(Walk *w, Bounded x)
{
    if (fabs(x.v) > 0x1p31 + 1000) {
        decide(&w->point->decisions, x.v < 0, bounded_is_known(x) && fabs(x.v) - x.e > 0x1p31);
        return x.v < 0 ? INT32_MIN : INT32_MAX;
    }
    double whole = trunc(x.v);
    bool is_known = x.e == 0 ? fabs(whole) < 0x1p31
                             : trunc(x.v - x.e) == trunc(x.v + x.e) && fabs(x.v) + x.e < 0x1p31;
    decide(&w->point->decisions, is_known ? (int64_t)whole : 0, is_known);
    return is_known ? (int32_t)whole : 0;
}

static Cell convert_cell(Walk *w, Cell from, CellKind from_kind, CellKind to_kind)
{
    if (from_kind == to_kind)
        return from;
    if (to_kind == CELL_FLOAT) {
        int32_t i = from_kind == CELL_BOOL ? from.b : from.i;
        return (Cell){.f = {.v = bounded_round(i, 0, 0.5)}};
    }
    if (to_kind == CELL_INT)
        return (Cell){.i = from_kind == CELL_BOOL ? from.b : int_of_float(w, from.f.v)};
    if (from_kind == CELL_INT)
        return (Cell){.b = from.i != 0};
    const Cell zero = {.f = dual_of(0)};
    return (Cell){.b = compare_cells(w, CELL_FLOAT, &from, &zero) != 0};
}

/* One value as another type: by scalar, or one scalar for all, for a matrix on its diagonal. */
static Cell *convert(Walk *w, const Expr *operand, const Type *type)
{
    Cell *from = walk_expr(w, operand);
    if (type_same(operand->type, type))
        return from;
    Cell *to = walk_cells(w, type);
    bool is_splat = operand->type->scalars == 1;
    for (uint32_t i = 0; i < type->scalars; ++i)
        if (!(is_splat && type_is(type, SSL_MATRIX) && i % 5 != 0))
            to[i] =
                convert_cell(w, from[is_splat ? 0 : i], walk_kind(operand->type), walk_kind(type));
    return to;
}

static Cell *pieces(Walk *w, const Expr *e)
{
    Cell *out = walk_cells(w, e->type), *next = out;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        const Expr *piece = e->args.items[i];
        memcpy(next, walk_expr(w, piece), piece->type->scalars * sizeof *next);
        next += piece->type->scalars;
    }
    CHECK(next == out + e->type->scalars);
    return out;
}

static Cell *make_closure(Walk *w, const Expr *e)
{
    uint32_t scalars = 0, at = 0;
    for (uint32_t i = 0; i < e->args.count; ++i)
        scalars += e->args.items[i]->type->scalars;
    Cell *args = ARENA_ARRAY(w->arena, Cell, scalars), *out = walk_cells(w, e->type);
    for (uint32_t i = 0; i < e->args.count; ++i) {
        uint32_t count = e->args.items[i]->type->scalars;
        memcpy(args + at, walk_expr(w, e->args.items[i]), count * sizeof *args);
        at += count;
    }
    *out = closure_node(w, (ClosureTree){.row = e->row, .args = args, .arg_count = scalars});
    return out;
}

static Cell *literal(Walk *w, const Expr *e)
{
    Cell *out = walk_cells(w, e->type);
    if (e->kind == EXPR_BOOL)
        out->b = e->bool_value;
    else if (e->kind == EXPR_INT)
        out->i = e->int_value;
    else
        out->f = dual_of((double)e->float_value);
    return out;
}

/* --- calls -------------------------------------------------------------------------------------- */

/* Arguments in order; `out` and `inout` ones have a place, and memory of their own for the callee. */
static Cell *call(Walk *w, const Expr *e)
{
    const FuncDecl *f = e->callee.func;
    Cell **args = ARENA_ARRAY(w->arena, Cell *, f->params.count);
    WalkPlace *places = ARENA_ARRAY(w->arena, WalkPlace, f->params.count);
    for (uint32_t i = 0; i < f->params.count; ++i) {
        const VarDecl *param = f->params.items[i];
        if (i >= e->args.count) {
            args[i] = walk_expr(w, param->init);
        } else if (param->direction == DIRECTION_IN) {
            args[i] = walk_expr(w, e->args.items[i]);
        } else {
            places[i] = walk_place(w, e->args.items[i]);
            args[i] = walk_cells(w, param->type);
            if (param->direction == DIRECTION_INOUT)
                walk_load(&places[i], args[i]);
        }
    }
    if (e->callee.width > 1) {
        Cell *out = walk_cells(w, e->type);
        for (uint32_t k = 0; k < e->callee.width; ++k) {
            Cell **of_component = ARENA_ARRAY(w->arena, Cell *, f->params.count);
            for (uint32_t i = 0; i < f->params.count; ++i) {
                bool is_vector = i < e->args.count && e->args.items[i]->type->scalars > 1;
                of_component[i] = ARENA_NEW(w->arena, Cell);
                *of_component[i] = args[i][is_vector ? k : 0];
            }
            out[k] = *walk_call(w, f, of_component);
        }
        return out;
    }
    Cell *result = walk_call(w, f, args);
    for (uint32_t i = 0; i < f->params.count; ++i)
        if (f->params.items[i]->direction != DIRECTION_IN)
            walk_store(&places[i], args[i]);
    return result;
}

static Cell *copy_of(Walk *w, const Cell *cells, const Type *type)
{
    Cell *out = walk_cells(w, type);
    memcpy(out, cells, type->scalars * sizeof *out);
    return out;
}

Cell *walk_constant(Walk *w, const VarDecl *var)
{
    SourceConstants *known = w->point->constants;
    Decisions before = w->point->decisions;
    for (uint32_t i = 0; i < known->list.count; ++i)
        if (known->list.data[i].var == var) {
            w->point->decisions.is_doubtful |= known->list.data[i].is_doubtful;
            return known->list.data[i].cells;
        }
    w->point->decisions = (Decisions){0};
    Cell *cells = walk_expr(w, var->init);
    array_push(w->arena, &known->list,
               ((SourceConstant){var, cells, w->point->decisions.is_doubtful}));
    before.is_doubtful |= w->point->decisions.is_doubtful;
    w->point->decisions = before;
    return cells;
}

static Cell *name(Walk *w, const Expr *e)
{
    return copy_of(
        w, e->var->kind == VAR_CONSTANT ? walk_constant(w, e->var) : w->frame->vars[e->var->index],
        e->type);
}

static Cell *load(Walk *w, const Expr *e)
{
    WalkPlace place = walk_place(w, e);
    Cell *out = walk_cells(w, e->type);
    walk_load(&place, out);
    return out;
}

Cell *walk_expr(Walk *w, const Expr *e)
{
    switch (e->kind) {
    case EXPR_BOOL:
    case EXPR_INT:
    case EXPR_FLOAT:
        return literal(w, e);
    case EXPR_NAME:
        return name(w, e);
    case EXPR_UNARY:
        return unary(w, e);
    case EXPR_BINARY:
        return binary(w, e);
    case EXPR_CHOICE: {
        bool condition = walk_expr(w, e->a)->b;
        decide(&w->point->decisions, condition ? 1 : 0, true);
        return walk_expr(w, condition ? e->b : e->c);
    }
    case EXPR_ASSIGN:
        return assign(w, e);
    case EXPR_STEP:
        return step(w, e);
    case EXPR_CALL:
        return e->callee.builtin ? walk_builtin(w, e) : call(w, e);
    case EXPR_CONSTRUCT:
        if (e->args.count == 1 && e->type->kind == TYPE_BASIC)
            return convert(w, e->args.items[0], e->type);
        return pieces(w, e);
    case EXPR_LIST:
        return pieces(w, e);
    case EXPR_INDEX:
    case EXPR_MEMBER:
        return load(w, e);
    case EXPR_GLOBAL:
        return copy_of(w, w->point->globals[e->row], e->type);
    case EXPR_CLOSURE:
        return make_closure(w, e);
    case EXPR_TEXTURE:
        return walk_texture(w, e);
    case EXPR_CONVERT:
        return convert(w, e->a, e->type);
    case EXPR_DETACH: /* only fwd_diff and bwd_diff see it, and the writer makes none */
        return walk_expr(w, e->a);
    case EXPR_ATTRIBUTE: /* the writer makes none of these */
    case EXPR_ASK:
    case EXPR_STRING:
    case EXPR_ERROR:
        break;
    }
    UNREACHABLE();
}
