/* Rules of expressions. Children are checked first, from left to right, and replaced by what comes back;
 * a node that has a type was checked before and is left alone. */
#include "base/check.h"
#include "ssl/sema/checker.h"

Expr *expr_error(Expr *e)
{
    e->kind = EXPR_ERROR;
    e->type = &type_error;
    e->cost = 0;
    e->is_total = true;
    return e;
}

/* What the operation itself costs, per result. */
static uint32_t own_cost(const Expr *e)
{
    uint32_t scalars = e->type->scalars;
    switch (e->kind) {
    case EXPR_UNARY:
    case EXPR_CHOICE:
    case EXPR_CONVERT:
        return scalars;
    case EXPR_BINARY: {
        bool is_costly = e->op == TOKEN_DIV || e->op == TOKEN_MOD;
        return type_is(e->type, SSL_MATRIX) ? 100 : e->a->type->scalars * (is_costly ? 4 : 1);
    }
    case EXPR_CALL:
        return e->callee.builtin ? e->callee.builtin->cost * scalars : COST_MAX;
    case EXPR_GLOBAL:
    case EXPR_ATTRIBUTE:
        return 1;
    case EXPR_INDEX:
        return e->b->kind == EXPR_INT ? 0 : 2 * scalars;
    case EXPR_CLOSURE:
    case EXPR_TEXTURE:
        return COST_MAX;
    default:
        return 0;
    }
}

static bool is_own_total(const Expr *e)
{
    switch (e->kind) {
    case EXPR_ASSIGN:
    case EXPR_STEP:
    case EXPR_TEXTURE:
        return false;
    case EXPR_CALL:
        return e->callee.builtin != NULL;
    case EXPR_INDEX:
        return e->b->kind == EXPR_INT;
    default:
        return true;
    }
}

Expr *expr_seal(Expr *e)
{
    uint32_t cost = own_cost(e);
    bool is_total = is_own_total(e);
    const Expr *const children[] = {e->a, e->b, e->c};
    for (size_t i = 0; i < SORT_COUNT_OF(children); i++)
        if (children[i]) {
            cost += children[i]->cost;
            is_total = is_total && children[i]->is_total;
        }
    for (uint32_t i = 0; i < e->args.count && cost < COST_MAX; i++) {
        cost += e->args.items[i]->cost;
        is_total = is_total && e->args.items[i]->is_total;
    }
    e->cost = (uint16_t)(cost < COST_MAX ? cost : COST_MAX);
    e->is_total = is_total && cost < COST_MAX;
    return e;
}

static Expr *typed(Expr *e, const Type *type)
{
    e->type = type;
    return expr_seal(e);
}

/* --- names --- */

static VarDecl *resolve_name(Sema *s, Expr *e)
{
    VarDecl *var = scope_find(s, e->name);
    bool is_attribute = var && var->kind == VAR_ATTRIBUTE;
    if (var && !is_attribute && var->kind != VAR_TEXTURE)
        return var;
    const Module *library = s->module->library;
    const char *what = is_attribute ? "an attribute"
                       : var        ? "a texture"
                       : name_map_get(&s->module->functions, e->name) ||
                               (library && name_map_get(&library->functions, e->name))
                           ? "a function"
                       : name_map_get(&s->module->structs, e->name) ? "a type"
                                                                    : NULL;
    if (what)
        report(s->diags, NOT_A_VALUE, e->span, e->name, what);
    if (is_attribute)
        report(s->diags, NOTE_READ_ATTRIBUTE, (Span){0}, e->name);
    if (!what)
        scope_report_unknown(s, e->name, e->span);
    return NULL;
}

static Expr *check_name(Sema *s, Expr *e)
{
    VarDecl *var = resolve_name(s, e);
    if (!var)
        return expr_error(e);
    if (!var->is_read && !span_is_library(var->span)) { /* the library is shared: read only */
        var->is_read = true;
        var->first_read = e->span;
    }
    e->var = var;
    return typed(e, var->type);
}

/* --- operators --- */

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

static Expr *check_binary(Sema *s, Expr *e)
{
    if (e->op == TOKEN_COMMA) {
        e->a = check_expr(s, e->a);
        e->b = check_expr(s, e->b);
        return typed(e, e->b->type);
    }
    e->a = check_value(s, e->a);
    e->b = check_value(s, e->b);
    if (type_is_error(e->a->type) || type_is_error(e->b->type))
        return expr_error(e);
    const Type *result = operands(s, e->op, &e->a, &e->b);
    return result ? typed(e, result) : report_operands(s, e, e->op);
}

static Expr *check_unary(Sema *s, Expr *e)
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
        return typed(e, t);
    report(s->diags, BAD_UNARY, e->span, token_kind_text(e->op), text_of(s, t));
    return expr_error(e);
}

static Expr *check_choice(Sema *s, Expr *e)
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
    return typed(e, type_is(e->b->type, SSL_FLOAT3) ? e->c->type : e->b->type);
}

/* --- parts of values --- */

static Expr *check_index(Sema *s, Expr *e)
{
    e->b = coerce(s, check_value(s, e->b), type_basic(SSL_INT));
    const Type *t = e->a->type;
    if (type_is_error(t) || type_is_error(e->b->type))
        return expr_error(e);
    const Type *element = t->kind == TYPE_ARRAY    ? t->element
                          : type_lanes(t) > 1      ? type_basic(SSL_FLOAT)
                          : type_is(t, SSL_MATRIX) ? type_basic(SSL_FLOAT4)
                                                   : NULL;
    if (!element) {
        report(s->diags, NOT_INDEXABLE, e->a->span, text_of(s, t));
        return expr_error(e);
    }
    const Expr *culprit;
    const Constant *index = const_eval(e->b, s->arena, &culprit);
    if (index && !type_is_unsized(t)) {
        int32_t i = index->scalars[0].i;
        uint32_t count = t->scalars / element->scalars;
        if (i < 0 || (uint32_t)i >= count) {
            report(s->diags, INDEX_RANGE, e->b->span, arena_printf(s->arena, "%d", i),
                   text_of(s, t), text_of_number(s, count));
            return expr_error(e);
        }
        Expr *literal = ARENA_NEW(s->arena, Expr);
        *literal = (Expr){
            .kind = EXPR_INT, .span = e->b->span, .type = e->b->type, .int_value = i, .depth = 1};
        e->b = expr_seal(literal);
    }
    return typed(e, element);
}

static Expr *check_struct_member(Sema *s, Expr *e)
{
    const StructDecl *decl = e->a->type->decl;
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < decl->members.count; i++) {
        if (decl->members.items[i]->name == e->name) {
            e->member = i;
            return typed(e, decl->members.items[i]->type);
        }
        array_push(s->arena, &names, decl->members.items[i]->name);
    }
    report(s->diags, UNKNOWN_MEMBER, e->name_span, text_of(s, e->a->type), e->name);
    report_suggestion(s->diags, e->name, names.data, names.count);
    return expr_error(e);
}

/* Lanes that `name` picks from a vector: up to four letters of xyzw, or of rgba. 0: it is no swizzle. */
static uint8_t parse_swizzle(const char *name, uint32_t lanes, uint8_t out_lane[4])
{
    static const char *const sets[] = {"xyzw", "rgba"};
    for (size_t set = 0; set < SORT_COUNT_OF(sets); set++) {
        uint8_t count = 0;
        for (; name[count]; count++) {
            uint32_t lane = 0;
            while (lane < lanes && sets[set][lane] != name[count])
                lane++;
            if (lane == lanes || count == 4) {
                count = 0;
                break;
            }
            out_lane[count] = (uint8_t)lane;
        }
        if (count > 0)
            return count;
    }
    return 0;
}

static Expr *check_member(Sema *s, Expr *e)
{
    const Type *t = e->a->type;
    uint8_t lane[4] = {0};
    if (type_is_error(t))
        return expr_error(e);
    if (t->kind == TYPE_STRUCT)
        return check_struct_member(s, e);
    uint8_t count = type_lanes(t) > 1 ? parse_swizzle(e->name, type_lanes(t), lane) : 0;
    if (count == 0) {
        report(s->diags, UNKNOWN_MEMBER, e->name_span, text_of(s, t), e->name);
        if (type_lanes(t) > 1)
            report(s->diags, NOTE_CHOICES, (Span){0},
                   type_lanes(t) == 2   ? "x y, or r g"
                   : type_lanes(t) == 3 ? "x y z, or r g b"
                                        : "x y z w, or r g b a");
        return expr_error(e);
    }
    e->swizzle.count = count;
    for (uint32_t i = 0; i < count; i++)
        e->swizzle.lane[i] = lane[i];
    bool is_all = count == type_lanes(t) && count == 3;
    return typed(e, is_all ? t : type_of_lanes(count));
}

/* --- writing --- */

static Expr *check_target_name(Sema *s, Expr *e, bool is_read_too)
{
    VarDecl *var = resolve_name(s, e);
    if (!var)
        return expr_error(e);
    if (var->kind == VAR_CONSTANT || var->is_const) {
        report(s->diags, CONST_ASSIGNED, e->span, e->name);
        return expr_error(e);
    }
    if (is_read_too && !var->is_read) {
        var->is_read = true;
        var->first_read = e->span;
    }
    var->is_assigned = true;
    e->var = var;
    return typed(e, var->type);
}

static bool has_repeated_lane(const Expr *e)
{
    for (uint32_t i = 0; i < e->swizzle.count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (e->swizzle.lane[i] == e->swizzle.lane[k])
                return true;
    return false;
}

Expr *check_target(Sema *s, Expr *e, bool is_read_too)
{
    switch (e->kind) {
    case EXPR_NAME:
        return check_target_name(s, e, is_read_too);
    case EXPR_INDEX:
        e->a = check_target(s, e->a, is_read_too);
        return check_index(s, e);
    case EXPR_MEMBER:
        e->a = check_target(s, e->a, is_read_too);
        e = check_member(s, e);
        if (e->kind == EXPR_MEMBER && e->a->type->kind == TYPE_BASIC && has_repeated_lane(e)) {
            report(s->diags, SWIZZLE_TWICE, e->name_span, e->name);
            return expr_error(e);
        }
        return e;
    default:
        break;
    }
    e = check_expr(s, e);
    if (type_is_error(e->type))
        return e;
    report(s->diags, NOT_ASSIGNABLE, e->span,
           e->kind == EXPR_CALL        ? "a function's result"
           : e->kind == EXPR_GLOBAL    ? "a global"
           : e->kind == EXPR_ATTRIBUTE ? "an attribute"
                                       : "not a variable");
    return expr_error(e);
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
static Expr *check_assign(Sema *s, Expr *e)
{
    TokenKind op = operator_of_assignment(e->op);
    e->a = check_target(s, e->a, op != TOKEN_END);
    e->b = check_value(s, e->b);
    if (type_is_error(e->a->type) || type_is_error(e->b->type))
        return expr_error(e);
    if (op == TOKEN_END) {
        e->b = coerce(s, e->b, e->a->type);
        return type_is_error(e->b->type) ? expr_error(e) : typed(e, e->a->type);
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
    return typed(e, e->a->type);
}

static Expr *check_step(Sema *s, Expr *e)
{
    e->a = check_target(s, e->a, true);
    if (type_is_error(e->a->type))
        return expr_error(e);
    if (type_is_number(e->a->type))
        return typed(e, e->a->type);
    report(s->diags, BAD_UNARY, e->span, token_kind_text(e->op), text_of(s, e->a->type));
    return expr_error(e);
}

/* --- lists --- */

Expr *check_initialiser(Sema *s, Expr *e, const Type *type)
{
    if (e->kind != EXPR_LIST)
        return coerce(s, check_value(s, e), type);
    if (type_is_error(type))
        return expr_error(e);
    bool is_struct = type->kind == TYPE_STRUCT;
    if (!is_struct && type->kind != TYPE_ARRAY) {
        report(s->diags, LIST_TYPE, e->span, text_of(s, type));
        return expr_error(e);
    }
    uint32_t count = is_struct ? type->decl->members.count : type->count;
    if (e->args.count != count) {
        report(s->diags, LIST_COUNT, e->span, text_of(s, type), text_of_number(s, count),
               text_of_number(s, e->args.count));
        return expr_error(e);
    }
    bool is_good = true;
    for (uint32_t i = 0; i < count; i++) {
        const Type *part = is_struct ? type->decl->members.items[i]->type : type->element;
        e->args.items[i] = check_initialiser(s, e->args.items[i], part);
        is_good = is_good && !type_is_error(e->args.items[i]->type);
    }
    return is_good ? typed(e, type) : expr_error(e);
}

/* --- the dispatcher --- */

Expr *check_expr(Sema *s, Expr *e)
{
    if (e->type)
        return e;
    switch (e->kind) {
    case EXPR_ERROR:
        return expr_error(e);
    case EXPR_BOOL:
        return typed(e, type_basic(SSL_BOOL));
    case EXPR_INT:
        return typed(e, type_basic(SSL_INT));
    case EXPR_FLOAT:
        return typed(e, type_basic(SSL_FLOAT));
    case EXPR_STRING:
        return typed(e, type_basic(SSL_STRING));
    case EXPR_NAME:
        return check_name(s, e);
    case EXPR_UNARY:
        return check_unary(s, e);
    case EXPR_BINARY:
        return check_binary(s, e);
    case EXPR_CHOICE:
        return check_choice(s, e);
    case EXPR_ASSIGN:
        return check_assign(s, e);
    case EXPR_STEP:
        return check_step(s, e);
    case EXPR_CALL:
        return check_call(s, e);
    case EXPR_CONSTRUCT:
        return check_construct(s, e, check_type(s, e->type_name, NULL, NULL));
    case EXPR_LIST:
        report(s->diags, LIST_PLACE, e->span, NULL);
        return expr_error(e);
    case EXPR_INDEX:
        e->a = check_value(s, e->a);
        return check_index(s, e);
    case EXPR_MEMBER:
        e->a = check_value(s, e->a);
        return check_member(s, e);
    case EXPR_GLOBAL:
        return check_global(s, e);
    case EXPR_ATTRIBUTE:
        return check_attribute(s, e);
    case EXPR_CLOSURE:
        return check_closure(s, e);
    case EXPR_TEXTURE:
        return check_texture(s, e);
    case EXPR_CONVERT:
        break;
    }
    UNREACHABLE();
}

Expr *check_value(Sema *s, Expr *e)
{
    e = check_expr(s, e);
    if (!type_is(e->type, SSL_VOID))
        return e;
    report(s->diags, VOID_VALUE, e->span, e->name ? e->name : "this");
    return expr_error(e);
}

Expr *check_condition(Sema *s, Expr *e)
{
    e = check_value(s, e);
    if (type_is_error(e->type) || type_is(e->type, SSL_BOOL))
        return e;
    report(s->diags, NOT_BOOL, e->span, text_of(s, e->type),
           type_is_number(e->type) ? "; compare it with 0" : "");
    return expr_error(e);
}

const Constant *check_constant(Sema *s, const Expr *e, const char *what)
{
    const Expr *culprit = NULL;
    const Constant *c = type_is_error(e->type) ? NULL : const_eval(e, s->arena, &culprit);
    if (!c && culprit && !type_is_error(culprit->type))
        report(s->diags, NOT_CONSTANT, culprit->span, what);
    return c;
}
