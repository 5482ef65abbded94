/* Expressions to IR, operands from left to right. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/lower/emit.h"

/* A side of ?: && || is computed without a branch if it costs at most this, and cannot fault or write. */
enum { SPECULATION_MAX = 8 };

void lower_set_span(Emit *m, Span span)
{
    ir_build_span(m->b, lower_span(m->lowering, span));
}

static Value make(Emit *m, const Type *type, IrValue first)
{
    IrValue *leaf = value_leaves(m, type);
    leaf[0] = first;
    return (Value){type, leaf};
}

IrValue lower_scalar(Emit *m, const Expr *e)
{
    ASSERT(e->type->leaves == 1);
    return lower_expr(m, e).leaf[0];
}

/* --- operators --- */

static IrOp float_op(TokenKind op)
{
    switch ((int)op) {
    case TOKEN_ADD:
        return IR_FADD;
    case TOKEN_SUB:
        return IR_FSUB;
    case TOKEN_MUL:
        return IR_FMUL;
    case TOKEN_DIV:
        return IR_FDIV;
    case TOKEN_EQUAL:
        return IR_FEQ;
    case TOKEN_NOT_EQUAL:
        return IR_FNE;
    case TOKEN_LESS:
        return IR_FLT;
    case TOKEN_LESS_EQUAL:
        return IR_FLE;
    case TOKEN_GREATER:
        return IR_FGT;
    case TOKEN_GREATER_EQUAL:
        return IR_FGE;
    default:
        UNREACHABLE();
    }
}

static IrOp int_op(TokenKind op)
{
    switch ((int)op) {
    case TOKEN_ADD:
        return IR_IADD;
    case TOKEN_SUB:
        return IR_ISUB;
    case TOKEN_MUL:
        return IR_IMUL;
    case TOKEN_DIV:
        return IR_IDIV;
    case TOKEN_MOD:
        return IR_IMOD;
    case TOKEN_AND:
        return IR_IAND;
    case TOKEN_OR:
        return IR_IOR;
    case TOKEN_XOR:
        return IR_IXOR;
    case TOKEN_SHL:
        return IR_ISHL;
    case TOKEN_SHR:
        return IR_ISHR;
    case TOKEN_EQUAL:
        return IR_IEQ;
    case TOKEN_NOT_EQUAL:
        return IR_INE;
    case TOKEN_LESS:
        return IR_ILT;
    case TOKEN_LESS_EQUAL:
        return IR_ILE;
    case TOKEN_GREATER:
        return IR_IGT;
    case TOKEN_GREATER_EQUAL:
        return IR_IGE;
    default:
        UNREACHABLE();
    }
}

static IrValue negate_closure(Emit *m, IrValue closure)
{
    IrValue minus_one = ir_const_float(m->b, -1.0f);
    return ir_build_closure_scale(m->b, closure, minus_one, minus_one, minus_one);
}

static Value closure_binary(Emit *m, TokenKind op, Value a, Value b)
{
    const Type *type = type_basic(SSL_CLOSURE);
    if (op == TOKEN_MUL) {
        const Value *closure = type_is(a.type, SSL_CLOSURE) ? &a : &b;
        const Value *weight = closure == &a ? &b : &a;
        return make(m, type,
                    ir_build_closure_scale(m->b, closure->leaf[0], weight->leaf[0], weight->leaf[1],
                                           weight->leaf[2]));
    }
    IrValue second = op == TOKEN_SUB ? negate_closure(m, b.leaf[0]) : b.leaf[0];
    return make(m, type, ir_build2(m->b, IR_CLOSURE_ADD, a.leaf[0], second));
}

/* Rows of a times columns of b; b is a matrix or a column of 4. */
static Value matrix_product(Emit *m, Value a, Value b)
{
    uint32_t columns = b.type->scalars / 4;
    IrValue *leaf = value_leaves(m, b.type);
    for (uint32_t row = 0; row < 4; ++row)
        for (uint32_t column = 0; column < columns; ++column) {
            IrValue sum = 0;
            for (uint32_t k = 0; k < 4; ++k) {
                IrValue term =
                    ir_build2(m->b, IR_FMUL, a.leaf[row * 4 + k], b.leaf[k * columns + column]);
                sum = sum ? ir_add(m->b, sum, term) : term;
            }
            leaf[row * columns + column] = sum;
        }
    return (Value){b.type, leaf};
}

/* == and != of vectors: all components, any component. */
static Value compare_vectors(Emit *m, TokenKind op, Value a, Value b)
{
    IrValue joined = 0;
    for (uint32_t i = 0; i < a.type->leaves; ++i) {
        IrValue one = ir_build2(m->b, float_op(op), a.leaf[i], b.leaf[i]);
        joined = joined ? ir_build2(m->b, op == TOKEN_EQUAL ? IR_BAND : IR_BOR, joined, one) : one;
    }
    return make(m, type_basic(SSL_BOOL), joined);
}

static Value compare_bools(Emit *m, TokenKind op, Value a, Value b)
{
    IrValue differ = ir_build2(m->b, IR_BXOR, a.leaf[0], b.leaf[0]);
    return make(m, a.type, op == TOKEN_EQUAL ? ir_build1(m->b, IR_BNOT, differ) : differ);
}

/* Both sides are computed and of the types that the checker made them. */
static IrValue binary_scalar(Emit *m, IrOp op, IrValue x, IrValue y)
{
    return op == IR_FADD   ? ir_add(m->b, x, y)
           : op == IR_FSUB ? ir_sub(m->b, x, y)
                           : ir_build2(m->b, op, x, y);
}

static Value apply_binary(Emit *m, TokenKind op, const Type *type, Value a, Value b)
{
    if (type_is(type, SSL_CLOSURE))
        return closure_binary(m, op, a, b);
    if (type_is(a.type, SSL_BOOL))
        return compare_bools(m, op, a, b);
    bool is_matrix = type_is(a.type, SSL_MATRIX);
    if (is_matrix && b.type->scalars >= 4 && op == TOKEN_MUL)
        return matrix_product(m, a, b);
    if (type_is(type, SSL_BOOL) && a.type->leaves > 1)
        return compare_vectors(m, op, a, b);
    bool is_whole = type_is(a.type, SSL_INT) || type_is(a.type, SSL_STRING);
    IrOp ir_op = is_whole ? int_op(op) : float_op(op);
    ASSERT(a.type->leaves == 1 || b.type->leaves == 1 || a.type->leaves == b.type->leaves);
    IrValue *leaf = value_leaves(m, type);
    for (uint32_t i = 0; i < type->leaves; ++i)
        leaf[i] = binary_scalar(m, ir_op, a.leaf[a.type->leaves == 1 ? 0 : i],
                                b.leaf[b.type->leaves == 1 ? 0 : i]);
    return (Value){type, leaf};
}

static Value lower_unary(Emit *m, const Expr *e)
{
    Value a = lower_expr(m, e->a);
    if (e->op == TOKEN_ADD)
        return a;
    lower_set_span(m, e->span);
    if (type_is(e->type, SSL_CLOSURE))
        return make(m, e->type, negate_closure(m, a.leaf[0]));
    IrOp op = type_is(e->type, SSL_BOOL)   ? IR_BNOT
              : !type_is(e->type, SSL_INT) ? IR_FNEG
              : e->op == TOKEN_SUB         ? IR_INEG
                                           : IR_INOT;
    IrValue *leaf = value_leaves(m, e->type);
    for (uint32_t i = 0; i < e->type->leaves; ++i)
        leaf[i] = ir_build1(m->b, op, a.leaf[i]);
    return (Value){e->type, leaf};
}

/* --- lazy evaluation --- */

static bool is_cheap(const Expr *e)
{
    return e->is_total && e->cost <= SPECULATION_MAX;
}

/* The slots that either side may assign. */
static SlotSet assigned_by(Emit *m, const Expr *a, const Expr *b)
{
    Collector c = collect_start(m, 0);
    collect_expr(&c, a);
    collect_expr(&c, b);
    return c.set;
}

/* a: of the left side. */
static Value lower_logical(Emit *m, const Expr *e, IrValue a)
{
    bool is_and = e->op == TOKEN_LOGICAL_AND, known;
    IrValue result;
    if (ir_is_const_bool(m->b, a, &known))
        return known == is_and ? lower_expr(m, e->b) : make(m, e->type, a);
    if (is_cheap(e->b)) {
        IrValue b = lower_scalar(m, e->b);
        lower_set_span(m, e->span);
        return make(m, e->type, ir_build2(m->b, is_and ? IR_BAND : IR_BOR, a, b));
    }
    IfRegion region;
    IrValue other = ir_const_bool(m->b, !is_and);
    lower_set_span(m, e->span);
    if (!region_if(m, a, assigned_by(m, e->b, NULL), &region))
        return make(m, e->type, other);
    IrValue first = is_and ? lower_scalar(m, e->b) : other;
    region_else(m, &region, &first, 1);
    IrValue second = is_and ? other : lower_scalar(m, e->b);
    region_end(m, &region, &second, &result);
    return make(m, e->type, result);
}

static bool has_arrays(const Type *type)
{
    for (uint32_t i = 0; i < type->leaves; ++i)
        if (ir_is_array(leaf_type(type, i)))
            return true;
    return false;
}

static Value lower_choice(Emit *m, const Expr *e)
{
    IrValue condition = lower_scalar(m, e->a);
    IrValue *leaf = value_leaves(m, e->type);
    bool known;
    if (ir_is_const_bool(m->b, condition, &known))
        return lower_expr(m, known ? e->b : e->c);
    if (is_cheap(e->b) && is_cheap(e->c) && e->type->closures == 0 && !has_arrays(e->type)) {
        Value b = lower_expr(m, e->b), c = lower_expr(m, e->c);
        lower_set_span(m, e->span);
        for (uint32_t i = 0; i < e->type->leaves; ++i)
            leaf[i] = ir_build_select(m->b, condition, b.leaf[i], c.leaf[i]);
        return (Value){e->type, leaf};
    }
    IfRegion region;
    lower_set_span(m, e->span);
    if (!region_if(m, condition, assigned_by(m, e->b, e->c), &region))
        return value_zero(m, e->type);
    Value b = lower_expr(m, e->b);
    region_else(m, &region, b.leaf, e->type->leaves);
    Value c = lower_expr(m, e->c);
    region_end(m, &region, c.leaf, leaf);
    return (Value){e->type, leaf};
}

/* A sum of many terms is deep on its left side, so that side is a loop. */
static Value lower_binary(Emit *m, const Expr *e)
{
    ARRAY(const Expr *) spine = {0};
    for (; e->kind == EXPR_BINARY; e = e->a)
        array_push(m->arena, &spine, e);
    Value a = lower_expr(m, e);
    while (spine.count > 0) {
        e = spine.data[--spine.count];
        lower_set_span(m, e->span);
        if (e->op == TOKEN_LOGICAL_AND || e->op == TOKEN_LOGICAL_OR) {
            a = lower_logical(m, e, a.leaf[0]);
            continue;
        }
        Value b = lower_expr(m, e->b);
        lower_set_span(m, e->span);
        a = e->op == TOKEN_COMMA ? b : apply_binary(m, e->op, e->type, a, b);
    }
    return a;
}

/* --- assignment --- */

static Value lower_assign(Emit *m, const Expr *e)
{
    Place place = place_of(m, e->a);
    Value old = e->op == TOKEN_ASSIGN ? (Value){0} : place_load(m, &place);
    Value v = lower_expr(m, e->b);
    lower_set_span(m, e->span);
    if (e->op != TOKEN_ASSIGN)
        v = apply_binary(m, e->op, e->type, old, v);
    place_store(m, &place, v);
    return v;
}

static Value lower_step(Emit *m, const Expr *e)
{
    Place place = place_of(m, e->a);
    Value old = place_load(m, &place);
    bool is_int = type_is(e->type, SSL_INT);
    IrValue one = is_int ? ir_const_int(m->b, 1) : ir_const_float(m->b, 1.0f);
    bool is_up = e->op == TOKEN_INCREMENT;
    IrOp op = is_int ? (is_up ? IR_IADD : IR_ISUB) : (is_up ? IR_FADD : IR_FSUB);
    lower_set_span(m, e->span);
    Value next = make(m, e->type, ir_build2(m->b, op, old.leaf[0], one));
    place_store(m, &place, next);
    return e->is_prefix ? next : old;
}

/* --- making values --- */

static IrValue convert_scalar(Emit *m, IrValue v, IrKind from, IrKind to)
{
    if (from == to)
        return v;
    if (to == IR_FLOAT)
        return ir_build1(m->b, IR_I2F, convert_scalar(m, v, from, IR_INT));
    if (to == IR_INT)
        return ir_build1(m->b, from == IR_FLOAT ? IR_F2I : IR_B2I, v);
    return from == IR_FLOAT ? ir_build2(m->b, IR_FNE, v, ir_const_float(m->b, 0.0f))
                            : ir_build2(m->b, IR_INE, v, ir_const_int(m->b, 0));
}

/* As another type: by scalar, one scalar for all components, or for a matrix on its diagonal. */
static Value convert(Emit *m, const Expr *operand, const Type *type)
{
    Value v = lower_expr(m, operand);
    if (type_same(v.type, type))
        return (Value){type, v.leaf};
    IrKind from = ir_kind(leaf_type(v.type, 0)), to = ir_kind(leaf_type(type, 0));
    IrValue *leaf = value_leaves(m, type);
    for (uint32_t i = 0; i < type->leaves; ++i) {
        bool is_off_diagonal = type_is(type, SSL_MATRIX) && v.type->leaves == 1 && i / 4 != i % 4;
        leaf[i] = is_off_diagonal
                      ? ir_const_float(m->b, 0.0f)
                      : convert_scalar(m, v.leaf[v.type->leaves == 1 ? 0 : i], from, to);
    }
    return (Value){type, leaf};
}

static Value lower_construct(Emit *m, const Expr *e)
{
    if (e->args.count == 1 && e->type->kind == TYPE_BASIC)
        return convert(m, e->args.items[0], e->type);
    IrValue *leaf = value_leaves(m, e->type), *next = leaf;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        Value part = lower_expr(m, e->args.items[i]);
        for (uint32_t k = 0; k < part.type->leaves; ++k)
            *next++ = part.leaf[k];
    }
    const IrValue *zero = value_zero(m, e->type).leaf;
    for (; next < leaf + e->type->leaves; ++next) /* a pair without its derivative */
        *next = zero[next - leaf];
    return (Value){e->type, leaf};
}

static Value lower_list(Emit *m, const Expr *e)
{
    Value *parts = ARENA_ARRAY(m->arena, Value, e->args.count);
    for (uint32_t i = 0; i < e->args.count; ++i)
        parts[i] = lower_expr(m, e->args.items[i]);
    lower_set_span(m, e->span);
    return value_list(m, e->type, parts);
}

static Value lower_global(Emit *m, const Expr *e)
{
    IrValue *leaf = value_leaves(m, e->type);
    for (uint32_t i = 0; i < e->type->leaves; ++i)
        leaf[i] = ir_build_global(m->b, ir_kind(leaf_type(e->type, i)), e->row, IR_SHADOW_VALUE, i);
    return (Value){e->type, leaf};
}

static Value lower_attribute(Emit *m, const Expr *e)
{
    uint32_t slot = lower_attribute_slot(m->lowering, e->attribute.index, e->attribute.is_declared);
    IrValue *leaf = value_leaves(m, e->type);
    bool is_value = e->op == TOKEN_ATTRIBUTE;
    for (uint32_t i = 0; i < e->type->leaves; ++i)
        leaf[i] = ir_build_attribute(m->b, ir_kind(leaf_type(e->type, i)), slot,
                                     is_value ? IR_SHADOW_VALUE : IR_SHADOW_EXISTS, i);
    return (Value){e->type, leaf};
}

/* The scalars of all arguments of a closure or question. */
typedef ARRAY(IrValue) ValueList;
static ValueList lower_host_args(Emit *m, const Expr *e)
{
    ValueList args = {0};
    for (uint32_t i = 0; i < e->args.count; ++i) {
        Value v = lower_expr(m, e->args.items[i]);
        for (uint32_t k = 0; k < v.type->leaves; ++k)
            array_push(m->arena, &args, v.leaf[k]);
    }
    lower_set_span(m, e->span);
    return args;
}

static Value lower_closure(Emit *m, const Expr *e)
{
    ValueList args = lower_host_args(m, e);
    return make(m, e->type, ir_build_closure(m->b, e->row, args.data, args.count));
}

static Value lower_question(Emit *m, const Expr *e)
{
    ValueList args = lower_host_args(m, e);
    IrValue *leaf = value_leaves(m, e->type);
    IrType *types = ARENA_ARRAY(m->arena, IrType, e->type->leaves);
    for (uint32_t i = 0; i < e->type->leaves; ++i)
        types[i] = leaf_type(e->type, i);
    ir_build_ask(m->b, e->row, args.data, args.count, types, e->type->leaves, leaf);
    return (Value){e->type, leaf};
}

static Value lower_detach(Emit *m, const Expr *e)
{
    Value v = lower_expr(m, e->a);
    lower_set_span(m, e->span);
    return value_detached(m, v);
}

/* What the host's tables give. A bsdf runs on rows of numbers alone, where there is none of it. */
static Value lower_of_host(Emit *m, const Expr *e)
{
    Lowering *l = m->lowering;
    if (l->is_of_bsdf) {
        report(l->diags, BSDF_INPUT, lower_span(l, e->span),
               e->kind == EXPR_GLOBAL      ? "globals"
               : e->kind == EXPR_ATTRIBUTE ? "attributes"
               : e->kind == EXPR_TEXTURE   ? "textures"
               : e->kind == EXPR_ASK       ? "questions"
                                           : "closures");
        l->has_failed = true;
        return value_zero(m, e->type);
    }
    return e->kind == EXPR_GLOBAL      ? lower_global(m, e)
           : e->kind == EXPR_ATTRIBUTE ? lower_attribute(m, e)
           : e->kind == EXPR_TEXTURE   ? lower_texture(m, e)
           : e->kind == EXPR_ASK       ? lower_question(m, e)
                                       : lower_closure(m, e);
}

Value lower_expr(Emit *m, const Expr *e)
{
    lower_set_span(m, e->span);
    switch (e->kind) {
    case EXPR_BOOL:
        return make(m, e->type, ir_const_bool(m->b, e->bool_value));
    case EXPR_INT:
        return make(m, e->type, ir_const_int(m->b, e->int_value));
    case EXPR_FLOAT:
        return make(m, e->type, ir_const_float(m->b, ssl_flushed(e->float_value)));
    case EXPR_NAME:
        if (e->var->kind == VAR_CONSTANT)
            return value_constant(m, e->var->constant);
        break; /* a place */
    case EXPR_INDEX:
    case EXPR_MEMBER:
        break;
    case EXPR_UNARY:
        return lower_unary(m, e);
    case EXPR_BINARY:
        return lower_binary(m, e);
    case EXPR_CHOICE:
        return lower_is_long_choice(e) ? lower_choice_chain(m, e) : lower_choice(m, e);
    case EXPR_ASSIGN:
        return lower_assign(m, e);
    case EXPR_STEP:
        return lower_step(m, e);
    case EXPR_CALL:
        return lower_call(m, e);
    case EXPR_CONSTRUCT:
        return lower_construct(m, e);
    case EXPR_LIST:
        return lower_list(m, e);
    case EXPR_GLOBAL:
    case EXPR_ATTRIBUTE:
    case EXPR_CLOSURE:
    case EXPR_ASK:
    case EXPR_TEXTURE:
        return lower_of_host(m, e);
    case EXPR_CONVERT:
        return convert(m, e->a, e->type);
    case EXPR_DETACH:
        return lower_detach(m, e);
    case EXPR_STRING:
        return value_string(m, e->name);
    case EXPR_ERROR:
        UNREACHABLE();
    }
    Place place = place_of(m, e);
    lower_set_span(m, e->span);
    return place_load(m, &place);
}
