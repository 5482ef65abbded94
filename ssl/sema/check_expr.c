/* Checks of expressions. Children are checked first, from left to right, and replaced by the checked nodes. A node that
 * has a type was checked before and stays as it is. */
#include "base/check.h"
#include "ssl/sema/checker.h"

#include <string.h>

Expr *expr_error(Expr *e)
{
    e->kind = EXPR_ERROR;
    e->type = &type_error;
    e->cost = 0;
    e->is_total = true;
    return e;
}

/* Returns the cost of the operation itself, without its operands. */
static uint32_t own_cost(const Expr *e)
{
    ASSERT(e->type);
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
    case EXPR_ASK:
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
    case EXPR_ASK:
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
    for (size_t i = 0; i < SORT_COUNT_OF(children); ++i)
        if (children[i]) {
            cost += children[i]->cost;
            is_total = is_total && children[i]->is_total;
        }
    for (uint32_t i = 0; i < e->args.count && cost < COST_MAX; ++i) {
        cost += e->args.items[i]->cost;
        is_total = is_total && e->args.items[i]->is_total;
    }
    e->cost = (uint16_t)(cost < COST_MAX ? cost : COST_MAX);
    e->is_total = is_total && cost < COST_MAX;
    return e;
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
    const FuncDecl *f = var ? NULL : name_map_get(&s->module->functions, e->name);
    if (f && f->type_params.count > 0)
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "%s(...): its arguments say for which types, or %s<...>(...)",
                            e->name, e->name));
    if (var && !is_attribute)
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "texture2d_sample<%s>(u, v)", e->name));
    if (is_attribute)
        report(s->diags, NOTE_READ_ATTRIBUTE, (Span){0}, e->name);
    if (!what)
        scope_report_unknown(s, e->name, e->span);
    return NULL;
}

/* Returns false, and reports it, for name<types> that is not of a function. */
static bool check_takes_no_types(Sema *s, const Expr *e, const char *what)
{
    if (e->type_args)
        report(s->diags, NOT_GENERIC, e->type_args->span, e->name, what);
    return !e->type_args;
}

static Expr *check_name(Sema *s, Expr *e)
{
    VarDecl *var = resolve_name(s, e);
    if (!var || !check_takes_no_types(s, e, "a variable"))
        return expr_error(e);
    bool is_own =
        !span_is_library(var->span) || !s->module->library; /* the library is shared: read only */
    if (!var->is_read && is_own) {
        var->is_read = true;
        var->first_read = e->span;
    }
    e->var = var;
    return expr_typed(e, var->type);
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
    return expr_typed(e, element);
}

static Expr *check_struct_member(Sema *s, Expr *e)
{
    ASSERT(e->a->type->kind == TYPE_STRUCT);
    const StructDecl *decl = e->a->type->decl;
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < decl->members.count; ++i) {
        if (decl->members.items[i]->name == e->name) {
            if (!check_takes_no_types(s, e, "a member"))
                return expr_error(e);
            e->member = i;
            return expr_typed(e, decl->members.items[i]->type);
        }
        array_push(s->arena, &names, decl->members.items[i]->name);
    }
    report(s->diags, UNKNOWN_MEMBER, e->name_span, text_of(s, e->a->type), e->name);
    for (const FuncDecl *f = decl->methods; f; f = f->next_overload)
        if (f->name == e->name) {
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "%s(...): it is a method", e->name));
            return expr_error(e);
        }
    report_suggestion(s->diags, e->name, names.data, names.count);
    return expr_error(e);
}

/* Parses a swizzle of up to four letters of xyzw, or of rgba. Returns the number of lanes; 0: it is no swizzle. */
static uint8_t parse_swizzle(const char *name, uint32_t lanes, uint8_t out_lane[4])
{
    static const char *const sets[] = {"xyzw", "rgba"};
    for (size_t set = 0; set < SORT_COUNT_OF(sets); ++set) {
        uint8_t count = 0;
        for (; name[count]; ++count) {
            uint32_t lane = 0;
            while (lane < lanes && sets[set][lane] != name[count])
                ++lane;
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

static void note_no_member(Sema *s, const Type *t, const char *name)
{
    if (type_is_number(t))
        report(s->diags, NOTE_WRITE, (Span){0},
               "the value alone: it has no components; float3(x) makes three of it");
    else if (t->kind == TYPE_ARRAY)
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "%s%u: its elements are [0] to [%u]",
                            name[0] == 'l' ? "the size itself, " : "", t->count, t->count - 1));
    else if (type_is(t, SSL_MATRIX))
        report(s->diags, NOTE_WRITE, (Span){0}, "m[row][column], or m[row] for a float4");
    else if (type_lanes(t) > 1 && strlen(name) > 4)
        report(s->diags, NOTE_WRITE, (Span){0}, "at most 4 components");
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
        note_no_member(s, t, e->name);
        if (type_lanes(t) > 1)
            report(s->diags, NOTE_CHOICES, (Span){0},
                   type_lanes(t) == 2   ? "x y, or r g"
                   : type_lanes(t) == 3 ? "x y z, or r g b"
                                        : "x y z w, or r g b a");
        return expr_error(e);
    }
    e->swizzle.count = count;
    for (uint32_t i = 0; i < count; ++i)
        e->swizzle.lane[i] = lane[i];
    bool is_all = count == type_lanes(t) && count == 3;
    return expr_typed(e, is_all ? t : type_of_lanes(count));
}

/* --- writing --- */

bool check_is_changeable(Sema *s, const Expr *name, const VarDecl *var)
{
    ASSERT(name->kind == EXPR_NAME);
    /* Each lobe may take part in what a layer lets through. */
    if (!s->lobe_level || var->kind != VAR_LOCAL || var->scope_level >= s->lobe_level ||
        strcmp(var->name, "base_factor") == 0)
        return true;
    report(s->diags, LOBE_STATE, name->span, name->name);
    report(s->diags, NOTE_DECLARED, var->span, NULL);
    return false;
}

/* Reports a change of `this` in a method that may not, and returns false then. */
static bool check_may_change_this(Sema *s, Span span)
{
    if (!s->func->params.items[0]->is_const)
        return true;
    report(s->diags, METHOD_THIS_CONST, span, s->func->name);
    report(s->diags, NOTE_WRITE, (Span){0},
           arena_printf(s->arena, "[mutating] before '%s'", s->func->name));
    return false;
}

static Expr *check_target_name(Sema *s, Expr *e, bool is_read_too)
{
    VarDecl *var = resolve_name(s, e);
    if (!var)
        return expr_error(e);
    if (method_is_this(s, var) && !check_may_change_this(s, e->span))
        return expr_error(e);
    if (var->kind == VAR_CONSTANT || var->is_const) {
        report(s->diags, CONST_ASSIGNED, e->span, e->name);
        if (!span_is_library(var->span))
            report(s->diags, NOTE_DECLARED, var->span, NULL);
        return expr_error(e);
    }
    if (!check_is_changeable(s, e, var))
        return expr_error(e);
    if (is_read_too && !var->is_read) {
        var->is_read = true;
        var->first_read = e->span;
    }
    var->is_assigned = true;
    e->var = var;
    return expr_typed(e, var->type);
}

static bool has_repeated_lane(const Expr *e)
{
    ASSERT(e->swizzle.count <= 4);
    for (uint32_t i = 0; i < e->swizzle.count; ++i)
        for (uint32_t k = 0; k < i; ++k)
            if (e->swizzle.lane[i] == e->swizzle.lane[k])
                return true;
    return false;
}

Expr *check_target(Sema *s, Expr *e, bool is_read_too)
{
    switch (e->kind) {
    case EXPR_NAME:
        if (!method_sees_member(s, e))
            return check_target_name(s, e, is_read_too);
        return check_may_change_this(s, e->span) ? check_member(s, e) : expr_error(e);
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

/* --- lists --- */

Expr *check_initialiser(Sema *s, Expr *e, const Type *type)
{
    if (e->kind != EXPR_LIST)
        return coerce(s, check_value(s, e), type);
    if (type_is_error(type))
        return expr_error(e);
    if (e->args.count == 0 && type->scalars > 0) { /* {} is zero, of any type */
        e->kind = EXPR_CONSTRUCT;
        return expr_typed(e, type);
    }
    bool is_struct = type->kind == TYPE_STRUCT;
    if (!is_struct && type->kind != TYPE_ARRAY) {
        report(s->diags, LIST_TYPE, e->span, text_of(s, type));
        if (type_lanes(type) > 0)
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "%s(...), with the values in it", text_of(s, type)));
        return expr_error(e);
    }
    uint32_t count = is_struct ? type->decl->members.count : type->count;
    if (e->args.count != count) {
        report(s->diags, LIST_COUNT, e->span, text_of(s, type), text_of_number(s, count),
               text_of_number(s, e->args.count));
        return expr_error(e);
    }
    bool is_good = true;
    for (uint32_t i = 0; i < count; ++i) {
        const Type *part = is_struct ? type->decl->members.items[i]->type : type->element;
        e->args.items[i] = check_initialiser(s, e->args.items[i], part);
        is_good = is_good && !type_is_error(e->args.items[i]->type);
    }
    return is_good ? expr_typed(e, type) : expr_error(e);
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
        return expr_typed(e, type_basic(SSL_BOOL));
    case EXPR_INT:
        return expr_typed(e, type_basic(SSL_INT));
    case EXPR_FLOAT:
        return expr_typed(e, type_basic(SSL_FLOAT));
    case EXPR_STRING:
        return expr_typed(e, type_basic(SSL_STRING));
    case EXPR_NAME:
        return method_sees_member(s, e) ? check_member(s, e) : check_name(s, e);
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
    case EXPR_ASK:
        return check_question(s, e);
    case EXPR_TEXTURE:
        return check_texture(s, e);
    case EXPR_DETACH:
        ++s->detached;
        e->a = check_value(s, e->a);
        --s->detached;
        return type_is_error(e->a->type) ? expr_error(e) : expr_typed(e, e->a->type);
    case EXPR_CONVERT:
        break;
    }
    UNREACHABLE();
}

Expr *check_value(Sema *s, Expr *e)
{
    return expr_of_value(s, check_expr(s, e));
}

Expr *expr_of_value(Sema *s, Expr *e)
{
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
           type_is_number(e->type) && e->kind != EXPR_ASSIGN ? "; compare it with 0" : "");
    if (e->kind == EXPR_ASSIGN)
        report(s->diags, NOTE_WRITE, (Span){0}, "== to compare: = assigns");
    else if (type_lanes(e->type) > 1)
        report(s->diags, NOTE_WRITE, (Span){0},
               "a comparison: of a component, as v.x > 0, or of the length");
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
