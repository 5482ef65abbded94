/* Derivatives in the language: the types diff_pair<T> and differential<T>, the signatures of fwd_diff(f) and bwd_diff(f),
 * and the attributes that say which functions have derivatives. [Bangaru2023 app. E]
 *
 *   T                        fwd_diff           bwd_diff
 *   in T                     in diff_pair<T>    inout diff_pair<T>: .d is set to the gradient
 *   out T                    out diff_pair<T>   in differential<T>
 *   inout T                  inout diff_pair<T> inout diff_pair<T>: .d is of the output before, of the input after
 *   result T                 diff_pair<T>       a last parameter, in differential<T>
 *   no_diff, or without one  the same           the same as `in`; `out` and results are left out */
#include "base/check.h"
#include "ssl/sema/overload.h"
#include "ssl/ssl_limits.h"

enum { DERIVATIVE_ORDER_MAX = 4, MAX_ITERS_MAX = 4096 };

/* --- types ------------------------------------------------------------------------------------ */

typedef struct MemberType {
    const char *name;
    const Type *type;
} MemberType;

static const Type *make_struct(Sema *s, const char *name, Span span, const MemberType *members,
                               uint32_t count, bool is_pair)
{
    StructDecl *decl = ARENA_NEW(s->arena, StructDecl);
    Type *type = ARENA_NEW(s->arena, Type);
    VarDecl **items = ARENA_ARRAY(s->arena, VarDecl *, count);
    *type = (Type){.kind = TYPE_STRUCT, .decl = decl, .nesting = 1};
    for (uint32_t i = 0; i < count; ++i) {
        items[i] = ARENA_NEW(s->arena, VarDecl);
        *items[i] = (VarDecl){.kind = VAR_MEMBER,
                              .span = span,
                              .name = members[i].name,
                              .type = members[i].type,
                              .index = i,
                              .leaf = type->leaves};
        type->scalars += members[i].type->scalars;
        type->leaves += members[i].type->leaves;
        type->closures += members[i].type->closures;
        if (type->nesting <= members[i].type->nesting)
            type->nesting = members[i].type->nesting + 1;
    }
    *decl = (StructDecl){
        .span = span, .name = name, .members = {items, count}, .type = type, .is_pair = is_pair};
    for (uint32_t i = 0; i < count; ++i)
        decl->has_unknown = decl->has_unknown || type_is_unknown(members[i].type);
    return type;
}

static const Type *find_made(const Sema *s, const Type *of, DiffType diff)
{
    for (uint32_t i = 0; i < s->made_types.count; ++i)
        if (s->made_types.data[i].diff == diff && type_same(s->made_types.data[i].of, of))
            return s->made_types.data[i].made;
    return NULL;
}

static const Type *remember(Sema *s, const Type *of, DiffType diff, const Type *made)
{
    array_push(s->arena, &s->made_types, ((MadeType){of, made, diff}));
    return made;
}

static const Type *differential_of_struct(Sema *s, const Type *type)
{
    const Type *known = find_made(s, type, DIFF_TYPE_DIFFERENTIAL);
    if (known)
        return known;
    const VarList *from = &type->decl->members;
    if (type->decl->is_abstract)
        return type->decl->differential;
    MemberType *members = ARENA_ARRAY(s->arena, MemberType, from->count);
    uint32_t count = 0;
    bool is_same = true;
    for (uint32_t i = 0; i < from->count; ++i) {
        const VarDecl *member = from->items[i];
        const Type *diff = member->is_no_diff ? NULL : differential_of(s, member->type);
        if (!diff && !member->is_no_diff && type_is_unknown(member->type))
            return NULL; /* nothing is known of the whole, either */
        is_same = is_same && diff && type_same(diff, member->type);
        if (diff)
            members[count++] = (MemberType){member->name, diff};
    }
    if (count == 0)
        return NULL;
    const char *name = arena_printf(s->arena, "differential<%s>", type->decl->name);
    return remember(s, type, DIFF_TYPE_DIFFERENTIAL,
                    is_same ? type : make_struct(s, name, type->decl->span, members, count, false));
}

const Type *differential_of(Sema *s, const Type *type)
{
    switch (type->kind) {
    case TYPE_ERROR:
        return type;
    case TYPE_BASIC:
        return type_lanes(type) > 0 || type_is(type, SSL_MATRIX) ? type : NULL;
    case TYPE_STRUCT:
        return differential_of_struct(s, type);
    case TYPE_ARRAY:
        break;
    }
    const Type *element = differential_of(s, type->element);
    return !element                            ? NULL
           : type_same(element, type->element) ? type
                                               : type_array(s->arena, element, type->count);
}

static const Type *pair_of(Sema *s, const Type *type)
{
    const Type *known = find_made(s, type, DIFF_TYPE_PAIR), *diff = differential_of(s, type);
    if (known || !diff || type_is_error(type))
        return known ? known : diff;
    MemberType members[2] = {{names_intern(&s->module->names, STR_LIT("p")), type},
                             {names_intern(&s->module->names, STR_LIT("d")), diff}};
    const char *name = arena_printf(s->arena, "diff_pair<%s>", text_of(s, type));
    Span span = type->kind == TYPE_STRUCT ? type->decl->span : (Span){0};
    return remember(s, type, DIFF_TYPE_PAIR, make_struct(s, name, span, members, 2, true));
}

/* Reports a type that is too large for a variable. */
static const Type *of_a_fitting_size(Sema *s, const Type *type, Span span)
{
    if (type->nesting > SSL_MAX_STRUCT_NESTING)
        report(s->diags, STRUCT_TOO_NESTED, span, text_of_number(s, SSL_MAX_STRUCT_NESTING));
    else if (type->scalars > SSL_MAX_VALUE_SCALARS)
        report(s->diags, VALUE_TOO_LARGE, span, "this pair",
               text_of_number(s, SSL_MAX_VALUE_SCALARS));
    else
        return type;
    return &type_error;
}

const Type *check_diff_type(Sema *s, const TypeName *name, const Type *inner)
{
    if (type_is_error(inner))
        return inner;
    const Type *made = name->diff == DIFF_TYPE_PAIR ? pair_of(s, inner) : differential_of(s, inner);
    if (made)
        return of_a_fitting_size(s, made, name->span);
    report(s->diags, NO_DIFFERENTIAL, name->inner->span, text_of(s, inner));
    if (type_is_unknown(inner))
        report(s->diags, NOTE_WRITE, (Span){0}, "<T : IDifferentiable> for a T that has one");
    return &type_error;
}

Expr *check_diff_pair(Sema *s, Expr *e)
{
    if (e->args.count < 1 || e->args.count > 2) {
        report(s->diags, BAD_ARGUMENT_COUNT, e->span, "diff_pair", "1 to 2 arguments",
               text_of_number(s, e->args.count));
        return expr_error(e);
    }
    e->args.items[0] = check_value(s, e->args.items[0]);
    const Type *type = e->args.items[0]->type;
    if (type_is(type, SSL_INT)) {
        e->args.items[0] = coerce_wrap(s, e->args.items[0], type_basic(SSL_FLOAT));
        type = e->args.items[0]->type;
    }
    const Type *pair = pair_of(s, type);
    if (!pair)
        report(s->diags, NO_DIFFERENTIAL, e->args.items[0]->span, text_of(s, type));
    else
        pair = of_a_fitting_size(s, pair, e->span);
    if (!pair || type_is_error(pair))
        return expr_error(e);
    e->kind = EXPR_CONSTRUCT;
    return check_construct(s, e, pair);
}

/* --- signatures ------------------------------------------------------------------------------- */

static VarDecl *make_param(Sema *s, const VarDecl *like, const Type *type, Direction direction)
{
    VarDecl *param = ARENA_NEW(s->arena, VarDecl);
    *param = *like;
    param->type = type;
    param->direction = direction;
    param->init = NULL;
    param->constant = NULL;
    param->is_const = false;
    param->is_assigned = direction != DIRECTION_OUT;
    return param;
}

/* Appends what stands for a parameter in the derivative; nothing, or one parameter. */
static void add_param(Sema *s, FuncDecl *made, const VarDecl *param)
{
    VarDecl **items = made->params.items;
    uint32_t *count = &made->params.count;
    const Type *diff = param->is_no_diff ? NULL : differential_of(s, param->type);
    if (!param->is_no_diff && !diff && type_is_unknown(param->type)) {
        report(s->diags, NO_DIFFERENTIAL, param->span, text_of(s, param->type));
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena,
                            "no_diff before '%s', or <T : IDifferentiable> for a T that has one",
                            param->name ? param->name : "it"));
    }
    const Type *pair = diff ? pair_of(s, param->type) : NULL;
    if (!made->is_backward)
        items[(*count)++] = make_param(s, param, pair ? pair : param->type, param->direction);
    else if (!diff && param->direction != DIRECTION_OUT)
        items[(*count)++] = make_param(s, param, param->type, DIRECTION_IN);
    else if (diff && param->direction == DIRECTION_OUT)
        items[(*count)++] = make_param(s, param, diff, DIRECTION_IN);
    else if (diff)
        items[(*count)++] = make_param(s, param, pair, DIRECTION_INOUT);
}

/* The signature of a derivative of `f`, without an id. */
static FuncDecl *make_signature(Sema *s, FuncDecl *f, bool is_backward)
{
    FuncDecl *made = ARENA_NEW(s->arena, FuncDecl);
    const Type *diff = f->is_no_diff ? NULL : differential_of(s, f->return_type);
    const char *word = is_backward ? "bwd_diff" : "fwd_diff";
    *made = (FuncDecl){.span = f->span,
                       .name = arena_printf(s->arena, "%s(%s)", word, sema_func_name(f, s->arena)),
                       .is_differentiable = true,
                       .derivative_of = f,
                       .is_backward = is_backward,
                       .is_no_diff = !diff,
                       .return_type = is_backward ? type_basic(SSL_VOID)
                                      : diff      ? pair_of(s, f->return_type)
                                                  : f->return_type};
    made->params.items = ARENA_ARRAY(s->arena, VarDecl *, f->params.count + 1);
    for (uint32_t i = 0; i < f->params.count; ++i)
        add_param(s, made, f->params.items[i]);
    if (is_backward && diff) {
        const VarDecl result = {.kind = VAR_PARAM, .span = f->span, .name = "result"};
        made->params.items[made->params.count++] = make_param(s, &result, diff, DIRECTION_IN);
    }
    return made;
}

static uint32_t order_of(const FuncDecl *f)
{
    uint32_t order = 0;
    for (; f->derivative_of; f = f->derivative_of)
        ++order;
    return order;
}

static bool has_closures(const FuncDecl *f)
{
    bool has = f->return_type->closures > 0;
    for (uint32_t i = 0; i < f->params.count; ++i)
        has = has || f->params.items[i]->type->closures > 0;
    return has;
}

static bool has_error(const FuncDecl *f)
{
    bool has = type_is_error(f->return_type);
    for (uint32_t i = 0; i < f->params.count; ++i)
        has = has || type_is_error(f->params.items[i]->type);
    return has;
}

/* Why the derivative of a function is always zero, or NULL. */
static const char *why_zero(Sema *s, const FuncDecl *f)
{
    bool has_input = false,
         has_output = !f->is_no_diff && differential_of(s, f->return_type) != NULL;
    for (uint32_t i = 0; i < f->params.count; ++i) {
        const VarDecl *p = f->params.items[i];
        bool is_active = !p->is_no_diff && differential_of(s, p->type);
        has_input = has_input || (is_active && p->direction != DIRECTION_OUT);
        has_output = has_output || (is_active && p->direction != DIRECTION_IN);
    }
    return f->is_constant ? "it is [TreatAsDifferentiable]"
           : !has_input   ? "no parameter can have a derivative"
           : !has_output  ? "no result can have a derivative"
                          : NULL;
}

FuncDecl *derivative_of(Sema *s, FuncDecl *f, bool is_backward)
{
    FuncDecl *own = is_backward ? f->backward : f->forward;
    if (own)
        return own;
    for (uint32_t i = 0; i < s->made_funcs.count; ++i)
        if (s->made_funcs.data[i].of == f && s->made_funcs.data[i].is_backward == is_backward)
            return s->made_funcs.data[i].made;
    bool is_unsized = f->is_sized || has_error(f);
    if (is_unsized)
        return NULL;
    if (has_closures(f)) {
        report(s->diags, DERIVATIVE_CLOSURE, f->span, f->name);
        return NULL;
    }
    if (order_of(f) == DERIVATIVE_ORDER_MAX) {
        report(s->diags, DERIVATIVE_ORDER, f->span, text_of_number(s, DERIVATIVE_ORDER_MAX));
        return NULL;
    }
    if (why_zero(s, f) && !f->is_library && !f->is_abstract)
        report(s->diags, DERIVATIVE_ZERO, f->span, f->name, why_zero(s, f));
    FuncDecl *made = make_signature(s, f, is_backward);
    made->id = s->module->func_count++;
    array_push(s->arena, &s->made_funcs, ((MadeFunc){f, made, is_backward}));
    return made;
}

/* --- attributes ------------------------------------------------------------------------------- */

static bool has_signature(const FuncDecl *f, const FuncDecl *wanted)
{
    bool is_same =
        f->params.count == wanted->params.count && type_same(f->return_type, wanted->return_type);
    for (uint32_t i = 0; is_same && i < f->params.count; ++i)
        is_same = f->params.items[i]->direction == wanted->params.items[i]->direction &&
                  type_same(f->params.items[i]->type, wanted->params.items[i]->type);
    return is_same;
}

/* The functions of the file, or the methods, that an attribute names. */
static CandidateList attribute_functions(Sema *s, const Attribute *a)
{
    CandidateList list = {0};
    const StructDecl *owner = a->owner ? find_struct(s, a->owner) : NULL;
    if (a->owner)
        return owner ? method_candidates(s, owner, a->function, a->function_span) : list;
    for (FuncDecl *f = name_map_get(&s->module->functions, a->function); f; f = f->next_overload)
        if (!f->is_shader && f->type_params.count == 0)
            array_push(s->arena, &list, ((Candidate){.func = f}));
    return list;
}

/* Returns the function that an attribute names, with a signature like that of `wanted`. */
static FuncDecl *find_signature(Sema *s, const Attribute *a, const FuncDecl *wanted)
{
    const CandidateList list = attribute_functions(s, a);
    for (uint32_t i = 0; i < list.count; ++i)
        if (has_signature(list.data[i].func, wanted))
            return list.data[i].func;
    return NULL;
}

static bool check_is_known(Sema *s, const Attribute *a)
{
    if (attribute_functions(s, a).count > 0)
        return true;
    const StructDecl *owner = a->owner ? find_struct(s, a->owner) : NULL;
    if (owner && owner->type_params.count > 0)
        report(s->diags, ATTRIBUTE_PLACE, a->function_span, "this",
               "a method of a struct without type parameters");
    else if (owner)
        report_no_method(s, owner, a->function, a->function_span);
    else if (a->owner)
        report(s->diags, UNKNOWN_TYPE, a->function_span, a->owner);
    if (a->owner)
        return false;
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < s->module->ast->funcs.count; ++i)
        array_push(s->arena, &names, s->module->ast->funcs.data[i]->name);
    report(s->diags, UNKNOWN_FUNCTION, a->function_span, a->function);
    report_suggestion(s->diags, a->function, names.data, names.count);
    return false;
}

static void set_derivative(Sema *s, const Attribute *a, FuncDecl *of, FuncDecl *derivative,
                           bool is_backward)
{
    FuncDecl **place = is_backward ? &of->backward : &of->forward;
    if (*place && *place != derivative)
        report(s->diags, DERIVATIVE_TWICE, a->span,
               arena_printf(s->arena, "the %s derivative of '%s'",
                            is_backward ? "backward" : "forward", of->name));
    *place = derivative;
    of->is_differentiable = true;
}

/* [ForwardDerivative(g)] before f. */
static void check_own_derivative(Sema *s, FuncDecl *f, const Attribute *a)
{
    bool is_backward = a->kind == MARK_BACKWARD_DERIVATIVE;
    const FuncDecl *wanted = make_signature(s, f, is_backward);
    FuncDecl *derivative = find_signature(s, a, wanted);
    if (derivative) {
        set_derivative(s, a, f, derivative, is_backward);
        return;
    }
    report(s->diags, DERIVATIVE_SIGNATURE, a->function_span, a->function,
           sema_func_name(f, s->arena));
    FuncDecl like = *wanted;
    like.name = a->function;
    report(s->diags, NOTE_WRITE, (Span){0}, sema_func_text(&like, s->arena));
}

/* [ForwardDerivativeOf(f)] before g: the f of which g has the signature. */
static void check_derivative_of(Sema *s, FuncDecl *g, const Attribute *a)
{
    bool is_backward = a->kind == MARK_BACKWARD_DERIVATIVE_OF;
    const CandidateList list = attribute_functions(s, a);
    ASSERT(list.count > 0); /* check_is_known has found it */
    for (uint32_t i = 0; i < list.count; ++i)
        if (has_signature(g, make_signature(s, list.data[i].func, is_backward))) {
            set_derivative(s, a, list.data[i].func, g, is_backward);
            return;
        }
    report(s->diags, DERIVATIVE_SIGNATURE, a->function_span, g->name, a->function);
    FuncDecl like = *make_signature(s, list.data[0].func, is_backward);
    like.name = g->name;
    report(s->diags, NOTE_WRITE, (Span){0}, sema_func_text(&like, s->arena));
}

static void check_substitute(Sema *s, FuncDecl *f, const Attribute *a)
{
    bool is_of = a->kind == MARK_PRIMAL_SUBSTITUTE_OF;
    FuncDecl *other = find_signature(s, a, f);
    if (!other) {
        report(s->diags, SUBSTITUTE_SIGNATURE, a->function_span, a->function, f->name);
        return;
    }
    FuncDecl *of = is_of ? other : f;
    if (of->substitute)
        report(s->diags, DERIVATIVE_TWICE, a->span,
               arena_printf(s->arena, "the substitute of '%s'", of->name));
    of->substitute = is_of ? f : other;
    of->is_differentiable = true;
    if (of->substitute == of) {
        of->substitute = NULL;
        report(s->diags, DERIVATIVE_OF_ITSELF, a->span, of->name);
    }
}

static bool is_preference(uint32_t kind)
{
    return kind == MARK_PREFER_CHECKPOINT || kind == MARK_PREFER_RECOMPUTE;
}

void check_func_attributes(Sema *s, FuncDecl *f)
{
    for (uint32_t i = 0; i < f->attributes.count; ++i) {
        const Attribute *a = &f->attributes.items[i];
        for (uint32_t k = 0; k < i; ++k) {
            if (f->attributes.items[k].kind == a->kind)
                report(s->diags, DERIVATIVE_TWICE, a->span, "this attribute");
            else if (is_preference(f->attributes.items[k].kind) && is_preference(a->kind))
                report(s->diags, DERIVATIVE_TWICE, a->span, "a preference");
        }
        if (f->is_shader && a->kind != MARK_FILTERED && a->kind != MARK_FUSED) {
            report(s->diags, ATTRIBUTE_OF_SHADER, a->span, NULL);
            continue;
        }
        if (a->function && (has_error(f) || !check_is_known(s, a)))
            continue;
        switch (a->kind) {
        case MARK_DIFFERENTIABLE:
            f->is_differentiable = true;
            break;
        case MARK_TREAT_AS_DIFFERENTIABLE:
            f->is_differentiable = f->is_constant = true;
            break;
        case MARK_PREFER_CHECKPOINT:
            f->is_kept = true;
            break;
        case MARK_PREFER_RECOMPUTE: /* as all that is not kept is */
            break;
        case MARK_FILTERED:
            f->is_filtered = true;
            break;
        case MARK_FUSED:
            f->is_fused = true;
            if (!f->is_shader)
                report(s->diags, ATTRIBUTE_PLACE, a->span, "[Fused]",
                       "a shader, whose functions it holds for,");
            break;
        case MARK_FORWARD_DERIVATIVE:
        case MARK_BACKWARD_DERIVATIVE:
            check_own_derivative(s, f, a);
            break;
        case MARK_FORWARD_DERIVATIVE_OF:
        case MARK_BACKWARD_DERIVATIVE_OF:
            check_derivative_of(s, f, a);
            break;
        case MARK_PRIMAL_SUBSTITUTE:
        case MARK_PRIMAL_SUBSTITUTE_OF:
            check_substitute(s, f, a);
            break;
        case MARK_MUTATING:
        case MARK_NO_DIFF_THIS: /* make_this has seen to it */
            if (!f->owner)
                report(s->diags, ATTRIBUTE_PLACE, a->span, "this attribute",
                       "a method of a struct");
            break;
        case MARK_MAX_ITERS:
        case MARK_COUNT:
            UNREACHABLE();
        }
    }
}

/* A function that is declared and defined has the attributes of both. */
static void share_marks(Sema *s, FuncDecl *declared)
{
    for (FuncDecl *f = name_map_get(&s->module->functions, declared->name); f;
         f = f->next_overload) {
        if (f == declared || f->is_shader || f->type_params.count > 0 ||
            !has_signature(f, declared))
            continue;
        f->is_differentiable = f->is_differentiable || declared->is_differentiable;
        f->is_constant = f->is_constant || declared->is_constant;
        f->is_kept = f->is_kept || declared->is_kept;
        f->is_filtered = f->is_filtered || declared->is_filtered;
        f->is_no_diff = f->is_no_diff || declared->is_no_diff;
        f->forward = f->forward ? f->forward : declared->forward;
        f->backward = f->backward ? f->backward : declared->backward;
        f->substitute = f->substitute ? f->substitute : declared->substitute;
        for (uint32_t i = 0; i < f->params.count; ++i) {
            VarDecl *param = f->params.items[i];
            param->is_no_diff = param->is_no_diff || declared->params.items[i]->is_no_diff;
        }
    }
}

void check_diff_attributes(Sema *s)
{
    const Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->funcs.count && !report_is_full(s->diags); ++i)
        if (ast->funcs.data[i]->attributes.count > 0 && ast->funcs.data[i]->type_params.count == 0)
            check_func_attributes(s, ast->funcs.data[i]);
    for (uint32_t i = 0; i < ast->funcs.count; ++i)
        if (!ast->funcs.data[i]->body && !ast->funcs.data[i]->is_shader)
            share_marks(s, ast->funcs.data[i]);
}

/* --- inside functions ------------------------------------------------------------------------- */

void check_max_iters(Sema *s, Stmt *loop)
{
    const Attribute *a = loop->max_iters;
    const Expr *culprit;
    if (a->kind != MARK_MAX_ITERS)
        return;
    Expr *value = check_value(s, a->value);
    const Constant *c =
        type_is(value->type, SSL_INT) ? const_eval(value, s->arena, &culprit) : NULL;
    if (c && c->scalars[0].i >= 1 && c->scalars[0].i <= MAX_ITERS_MAX)
        loop->max_trips = (uint32_t)c->scalars[0].i;
    else if (!type_is_error(value->type))
        report(s->diags, MAX_ITERS_VALUE, value->span, text_of_number(s, MAX_ITERS_MAX));
}

void check_keeps_derivative(Sema *s, const Expr *call, const FuncDecl *callee)
{
    if (!s->func || !s->func->is_differentiable || s->func->is_constant || s->detached > 0 ||
        callee->is_library || callee->is_differentiable || why_zero(s, callee))
        return;
    const Expr *culprit;
    bool has_input = false;
    for (uint32_t i = 0; i < call->args.count && i < callee->params.count; ++i) {
        const VarDecl *param = callee->params.items[i];
        has_input = has_input || (param->direction != DIRECTION_OUT && !param->is_no_diff &&
                                  differential_of(s, param->type) &&
                                  !const_eval(call->args.items[i], s->arena, &culprit));
    }
    if (!has_input)
        return;
    report(s->diags, LOSES_DERIVATIVE, call->name_span, callee->name);
    report(s->diags, NOTE_WRITE, (Span){0},
           arena_printf(s->arena, "[Differentiable] before '%s', or no_diff %s(...) here",
                        callee->name, callee->name));
}
