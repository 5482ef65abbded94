/* Checks of calls: the choice of the function, the arguments, and the entry in the call graph. */
#include "base/check.h"
#include "ssl/front/ast_clone.h"
#include "ssl/sema/overload.h"
#include <string.h>

enum { CANDIDATES_SHOWN = 6 };

const char *check_argument_types(Sema *s, const ExprList *args)
{
    const char *text = "";
    for (uint32_t i = 0; i < args->count; ++i)
        text = arena_printf(s->arena, "%s%s%s", text, i > 0 ? ", " : "",
                            text_of(s, args->items[i]->type));
    return text;
}

/* The arguments as the source has them: the value that a method is called on is not among them. */
static ExprList own_arguments(const Expr *e, const CandidateList *list)
{
    bool is_method = list->data[0].func && list->data[0].func->owner;
    return is_method ? (ExprList){e->args.items + 1, e->args.count - 1} : e->args;
}

typedef struct NameList {
    const char **data;
    uint32_t count, capacity;
} NameList;

/* Appends each name of a function once; `seen` has the names in the list. */
static void add_names(Sema *s, const Module *m, NameMap *seen, NameList *names)
{
    for (uint32_t i = 0; i < m->ast->funcs.count; ++i) {
        const char *name = m->ast->funcs.data[i]->name;
        if (m->ast->funcs.data[i]->owner || name_map_get(seen, name))
            continue;
        name_map_set(seen, name, m->ast->funcs.data[i]);
        array_push(s->arena, names, name);
    }
}

static Expr *report_unknown(Sema *s, Expr *e)
{
    NameList names = {0};
    NameMap seen;
    const FuncDecl *method = NULL;
    for (uint32_t i = 0; i < s->module->ast->funcs.count; ++i) {
        const FuncDecl *f = s->module->ast->funcs.data[i];
        if (f->name == e->name && f->owner) {
            method = f;
        } else if (f->name == e->name) { /* signatures are not checked yet */
            report(s->diags, NOT_CONSTANT, e->span, "this");
            return expr_error(e);
        }
    }
    name_map_init(&seen, s->arena);
    if (e->type_args && scope_find(s, e->name)) {
        report(s->diags, NOT_GENERIC, e->type_args->span, e->name,
               "a variable, and what stands between < and > reads as types");
        report(s->diags, NOTE_WRITE, (Span){0}, "a < b && b > c to compare with both");
        return expr_error(e);
    }
    if (!sema_is_news(s, e->name))
        return expr_error(e);
    report(s->diags, UNKNOWN_FUNCTION, e->name_span, e->name);
    if (method) {
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "v.%s(...), where v is a %s: it is a method", e->name,
                            method->owner->name));
        return expr_error(e);
    }
    for (uint32_t i = 0; i < s->tables->closure_count; ++i)
        if (strcmp(s->tables->closures[i].name, e->name) == 0) {
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "make_closure<%s>(...)", e->name));
            return expr_error(e);
        }
    add_names(s, s->module, &seen, &names);
    if (s->module->library)
        add_names(s, s->module->library, &seen, &names);
    for (size_t i = 0; i < BUILTIN_COUNT; ++i)
        array_push(s->arena, &names, builtins[i].name);
    report_suggestion(s->diags, e->name, names.data, names.count);
    return expr_error(e);
}

static bool is_writable(const Expr *e)
{
    for (; e->kind == EXPR_INDEX || e->kind == EXPR_MEMBER; e = e->a)
        if (e->kind == EXPR_MEMBER && e->a->type->kind == TYPE_BASIC)
            for (uint32_t i = 0; i < e->swizzle.count; ++i)
                for (uint32_t k = 0; k < i; ++k)
                    if (e->swizzle.lane[i] == e->swizzle.lane[k])
                        return false;
    return e->kind == EXPR_NAME && !e->var->is_const && e->var->kind != VAR_CONSTANT;
}

static bool check_written_argument(Sema *s, const Expr *e, const VarDecl *param, Expr *arg)
{
    if (!is_writable(arg)) {
        report(s->diags, OUT_NEEDS_VARIABLE, arg->span, param->name ? param->name : e->name,
               param->direction == DIRECTION_OUT ? "out" : "inout", text_of(s, param->type));
        return false;
    }
    const Expr *root = arg;
    while (root->kind != EXPR_NAME)
        root = root->a;
    VarDecl *var = scope_find(s, root->name);
    var->is_assigned = var->is_given = true;
    return check_is_changeable(s, root, var);
}

/* "2 arguments", "2 to 4 arguments" */
static const char *count_range(Sema *s, const Candidate *c)
{
    bool is_method = c->func && c->func->owner;
    uint32_t least = candidate_required_count(c) - is_method,
             most = candidate_param_count(c) - is_method;
    return least == most ? count_text(s, most, "argument")
                         : arena_printf(s->arena, "%u to %u arguments", least, most);
}

static void note_signature(Sema *s, const Candidate *c)
{
    report(s->diags, NOTE_CANDIDATE, c->func ? c->func->span : (Span){0},
           candidate_text(c, s->arena),
           candidate_is_componentwise(c) ? ", also for vectors, by component" : "");
}

/* Reports what does not fit the only function of the name. */
static void report_mismatch(Sema *s, const Expr *e, Candidate *c)
{
    const ExprList *args = &e->args;
    bool is_method = c->func && c->func->owner;
    if (args->count > candidate_param_count(c) || args->count < candidate_required_count(c)) {
        report(s->diags, BAD_ARGUMENT_COUNT, e->span, e->name, count_range(s, c),
               text_of_number(s, args->count - is_method));
        note_signature(s, c);
        return;
    }
    for (uint32_t i = 0; i < args->count; ++i) {
        const Type *wanted = candidate_param_type(c, i), *is = args->items[i]->type;
        const VarDecl *param = c->func ? c->func->params.items[i] : NULL;
        if (candidate_is_componentwise(c) ? type_lanes(is) > 0 || coerce_is_possible(is, wanted)
                                          : coerce_is_possible(is, wanted))
            if (!param || param->direction == DIRECTION_IN || type_same(is, wanted))
                continue;
        if (param && param->direction != DIRECTION_IN &&
            !check_written_argument(s, e, param, args->items[i]))
            return;
        report(s->diags, BAD_ARGUMENT, args->items[i]->span,
               param && param->name ? param->name : text_of_number(s, i + 1 - is_method), e->name,
               text_of(s, wanted), text_of(s, is));
        if (!param || param->direction == DIRECTION_IN)
            coerce_note(s, args->items[i], wanted);
        note_signature(s, c);
        return;
    }
    const ExprList own = {args->items + is_method, args->count - is_method};
    report(s->diags, NO_OVERLOAD, e->span, e->name, check_argument_types(s, &own));
}

/* Notes what to write in place of arguments that functions of other languages accept. */
static void note_argument_types(Sema *s, const Expr *e)
{
    for (uint32_t i = 0; i < e->args.count; ++i) {
        const Type *type = e->args.items[i]->type;
        if (type_is(type, SSL_STRING))
            report(s->diags, NOTE_WRITE, (Span){0},
                   "the function that does it: strings choose nothing, as cellnoise, simplexnoise, "
                   "gabornoise for noise");
        else if (type_is(type, SSL_BOOL))
            report(s->diags, NOTE_WRITE, (Span){0},
                   "select(x, y, b) to choose by a bool, float(b) for 1 or 0");
        else
            continue;
        return;
    }
}

static void note_candidates(Sema *s, const CandidateList *list)
{
    for (uint32_t i = 0; i < list->count && i < CANDIDATES_SHOWN; ++i)
        note_signature(s, &list->data[i]);
    if (list->count > CANDIDATES_SHOWN)
        report(s->diags, NOTE_MORE_CANDIDATES, (Span){0},
               text_of_number(s, list->count - CANDIDATES_SHOWN));
}

static Expr *report_no_choice(Sema *s, Expr *e, CandidateList *list, bool is_ambiguous)
{
    const ExprList own = own_arguments(e, list);
    if (is_ambiguous)
        report(s->diags, AMBIGUOUS, e->span, e->name, check_argument_types(s, &own));
    else if (list->count == 1)
        report_mismatch(s, e, &list->data[0]);
    else
        report(s->diags, NO_OVERLOAD, e->span, e->name, check_argument_types(s, &own));
    if (!is_ambiguous && list->count > 1)
        note_argument_types(s, e);
    if (is_ambiguous || list->count > 1)
        note_candidates(s, list);
    return expr_error(e);
}

/* Adds a call to the call graph, which has each callee once. */
static void note_call(Sema *s, FuncDecl *callee, Span span)
{
    ASSERT(!s->func || callee->id < s->module->func_count);
    if (!s->func)
        return; /* outside of functions, expressions must be constant, and calls are not */
    uint32_t caller = s->func->id + 1;
    while (s->last_caller.count < s->module->func_count)
        array_push(s->arena, &s->last_caller, 0);
    if (s->last_caller.data[callee->id] == caller)
        return;
    s->last_caller.data[callee->id] = caller;
    struct FuncCall call = {callee, span};
    array_push(s->arena, &s->func->calls, call);
}

/* Returns the type of a component-wise result: the type of the first tagged vector among the arguments, if any. */
static const Type *vector_result(const Expr *e, uint32_t width)
{
    ASSERT(width >= 1 && width <= 4);
    for (uint32_t i = 0; i < e->args.count; ++i)
        if (type_lanes(e->args.items[i]->type) == width &&
            !type_same(e->args.items[i]->type, type_of_lanes(1)) &&
            e->args.items[i]->type->basic >= SSL_COLOR)
            return e->args.items[i]->type;
    return type_of_lanes(width);
}

/* ddx, ddy and the functions made of them have no meaning for int and bool, although int converts to float. */
static bool is_derivative(const char *name)
{
    static const char *const names[] = {"ddx", "ddy", "fwidth", "filterwidth"};
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i)
        if (str_equal_c(str_from(name), names[i]))
            return true;
    return false;
}

/* Reports the derivative of a value without derivatives, and returns false then. */
static bool check_derivative(Sema *s, const Expr *e, const CandidateList *list)
{
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->data[i].func && !list->data[i].func->is_library)
            return true; /* the file's own function of that name */
    if (!is_derivative(e->name) || e->args.count != 1 || type_lanes(e->args.items[0]->type) > 0)
        return true;
    report(s->diags, DERIVATIVE_OF, e->args.items[0]->span, e->name,
           text_of(s, e->args.items[0]->type));
    return false;
}

/* Checks an argument as a target if every candidate has it as `out`, else as a value. */
static Expr *check_argument(Sema *s, const CandidateList *list, uint32_t index, Expr *arg)
{
    bool may_be_written = false, is_always_out = true;
    for (uint32_t i = 0; i < list->count; ++i) {
        const FuncDecl *f = list->data[i].func;
        Direction direction =
            f && index < f->params.count ? f->params.items[index]->direction : DIRECTION_IN;
        may_be_written = may_be_written || direction != DIRECTION_IN;
        is_always_out = is_always_out && direction == DIRECTION_OUT;
    }
    bool is_place = arg->kind == EXPR_NAME || arg->kind == EXPR_INDEX || arg->kind == EXPR_MEMBER;
    /* An argument that is only `out` does not count as a read in warnings about unset variables. */
    return may_be_written && is_always_out && is_place ? check_target(s, arg, false)
                                                       : check_value(s, arg);
}

/* Reports the call of a method that changes its value, where nothing can change that. */
static void report_mutation(Sema *s, const Expr *e, const FuncDecl *method)
{
    const Expr *root = e->args.items[0];
    while (root->kind == EXPR_INDEX || root->kind == EXPR_MEMBER)
        root = root->a;
    report(s->diags, METHOD_MUTATES, e->name_span, e->name);
    if (root->kind == EXPR_NAME && method_is_this(s, root->var))
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "[mutating] before '%s'", s->func->name));
    else
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "%s v = ...; v.%s(...)", text_of(s, e->args.items[0]->type),
                            method->name));
}

static Expr *finish_call(Sema *s, Expr *e, const Candidate *c)
{
    for (uint32_t i = 0; i < e->args.count; ++i) {
        const Type *wanted = candidate_param_type(c, i);
        Expr *arg = e->args.items[i];
        if (c->func && c->func->params.items[i]->direction != DIRECTION_IN) {
            if (c->func->owner && i == 0 && !is_writable(arg)) {
                report_mutation(s, e, c->func);
                return expr_error(e);
            }
            if (!check_written_argument(s, e, c->func->params.items[i], arg))
                return expr_error(e);
        } else if (!type_same(arg->type, wanted) && type_lanes(arg->type) <= 1 &&
                   !type_is_unsized(wanted)) {
            e->args.items[i] = coerce_wrap(s, arg, wanted);
        }
    }
    if (c->func)
        check_keeps_derivative(s, e, c->func);
    const Type *result =
        c->func ? c->func->return_type : type_basic(builtin_return_type(c->builtin));
    e->type = c->width > 1 && type_is(result, SSL_FLOAT) ? vector_result(e, c->width) : result;
    e->callee.func = c->func;
    e->callee.builtin = c->builtin;
    e->callee.width = c->width;
    FuncDecl *called = c->func;
    while (called && called->derivative_of) /* what the compiler makes has no calls of its own */
        called = called->derivative_of;
    if (called)
        note_call(s, called, e->name_span);
    return expr_seal(e);
}

/* --- fwd_diff(f)(...), bwd_diff(f)(...) ---------------------------------------------------------- */

static void report_not_differentiable(Sema *s, const DiffTarget *target, const CandidateList *list)
{
    if (!list->data[0].func || list->data[0].func->is_shader) {
        report(s->diags, DIFF_OF_WHAT, target->span, target->is_backward ? "bwd_diff" : "fwd_diff");
        report(s->diags, NOTE_WRITE, (Span){0},
               "[Differentiable] and a function that does what you derive: operations of the "
               "language and shaders are no functions");
        return;
    }
    report(s->diags, NOT_DIFFERENTIABLE, target->name_span, target->name);
    report(s->diags, NOTE_WRITE, (Span){0},
           arena_printf(s->arena, "[Differentiable] before '%s'",
                        list->data[0].func->return_name.span.end
                            ? sema_func_text(list->data[0].func, s->arena)
                            : target->name));
}

/* The methods that fwd_diff(S.f) means. Returns false after a report. */
static bool diff_methods(Sema *s, const DiffTarget *target, CandidateList *out)
{
    const StructDecl *decl = find_struct(s, target->owner);
    if (target->owner_args) {
        const TypeArgs args = ast_clone_type_args(target->owner_args, s->arena);
        const Type *type = check_struct_instance(s, target->owner, &args, target->owner_span);
        if (type_is_error(type))
            return false;
        decl = type->decl;
    }
    const char *word = target->is_backward ? "bwd_diff" : "fwd_diff";
    if (decl && decl->type_params.count > 0) {
        report_types_missing(s, decl, target->owner_span,
                             arena_printf(s->arena, ".%s", target->name));
        return false;
    }
    if (!decl || !decl->type) {
        const VarDecl *var = scope_find(s, target->owner);
        report(s->diags, DIFF_OF_WHAT, target->span, word);
        if (var && var->type && var->type->kind == TYPE_STRUCT)
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "%s(%s.%s)(p, ...), where p is a diff_pair<%s>", word,
                                text_of(s, var->type), target->name, text_of(s, var->type)));
        else
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "%s(S.%s), where S is a struct", word, target->name));
        return false;
    }
    *out = method_candidates(s, decl, target->name, target->name_span);
    if (out->count == 0)
        report_no_method(s, decl, target->name, target->name_span);
    return out->count > 0;
}

/* Puts instances in the place of generic functions of which derivatives are taken. Returns false after a report. */
static bool diff_instances(Sema *s, const DiffTarget *target, CandidateList *of, const Expr *call)
{
    bool is_generic = target->args != NULL, is_good = true;
    uint32_t order = 0;
    for (uint32_t i = 0; i < of->count; ++i)
        is_generic = is_generic || (of->data[i].func && of->data[i].func->type_params.count > 0);
    for (uint32_t i = 0; is_generic && i < call->args.count; ++i) {
        call->args.items[i] = check_value(s, call->args.items[i]);
        is_good = is_good && !type_is_error(call->args.items[i]->type);
    }
    for (const DiffTarget *t = call->target; t && is_generic; t = t->inner)
        ++order;
    ASSERT(!is_generic || order > 0);
    if (!is_good || !is_generic)
        return is_good;
    TypeArgs named = {0};
    if (target->args)
        named = ast_clone_type_args(target->args, s->arena);
    return instances_for_call(s, of,
                              &(CallTypes){.args = &call->args,
                                           .named = target->args ? &named : NULL,
                                           .order = order,
                                           .name = target->name,
                                           .span = target->name_span});
}

/* The derivatives of all functions of the name. Returns false after a report. */
static bool diff_candidates(Sema *s, const DiffTarget *target, Expr *call, CandidateList *out)
{
    CandidateList of = {0};
    if (target->owner) {
        if (!diff_methods(s, target, &of))
            return false;
    } else if (target->name)
        of = overload_candidates(s, target->name);
    else if (!diff_candidates(s, target->inner, call, &of))
        return false;
    if (of.count == 0) {
        Expr *unknown = ARENA_NEW(s->arena, Expr);
        *unknown = (Expr){.kind = EXPR_CALL,
                          .name = target->name,
                          .name_span = target->name_span,
                          .span = target->name_span};
        report_unknown(s, unknown);
        return false;
    }
    uint32_t errors = diag_error_count(s->diags);
    if (target->name && !diff_instances(s, target, &of, call))
        return false;
    for (uint32_t i = 0; i < of.count; ++i) {
        FuncDecl *f = of.data[i].func;
        if (!f || f->is_shader || !(f->is_differentiable || f->is_library))
            continue;
        FuncDecl *made = derivative_of(s, f, target->is_backward);
        if (made)
            array_push(s->arena, out, ((Candidate){.func = made}));
    }
    if (out->count == 0 && diag_error_count(s->diags) == errors) {
        if (of.count == 1 && of.data[0].func && of.data[0].func->is_sized)
            report(s->diags, DERIVATIVE_UNSIZED, target->name_span, target->name);
        else
            report_not_differentiable(s, target, &of);
    }
    return out->count > 0;
}

static Expr *check_diff_call(Sema *s, Expr *e)
{
    CandidateList list = {0};
    bool is_ambiguous, is_good = true;
    if (!diff_candidates(s, e->target, e, &list))
        return expr_error(e);
    e->name = list.data[0].func->name;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        e->args.items[i] = check_argument(s, &list, i, e->args.items[i]);
        is_good = is_good && !type_is_error(e->args.items[i]->type);
    }
    if (!is_good)
        return expr_error(e);
    const Candidate *c = overload_choose(&list, &e->args, &is_ambiguous);
    return c ? finish_call(s, e, c) : report_no_choice(s, e, &list, is_ambiguous);
}

/* detach(a), diff_pair(a, b), and fwd_diff(f) that nothing calls: words that a file may use for functions of its own.
 * Returns NULL for other calls. */
static Expr *check_diff_word(Sema *s, Expr *e)
{
    if (name_map_get(&s->module->functions, e->name))
        return NULL;
    Str name = str_from(e->name);
    bool is_detach = str_equal_c(name, "detach") || str_equal_c(name, "no_diff");
    if (is_detach && e->args.count == 1) {
        e->kind = EXPR_DETACH;
        e->a = e->args.items[0];
        e->args = (ExprList){0};
        return check_expr(s, e);
    }
    if (str_equal_c(name, "diff_pair"))
        return check_diff_pair(s, e);
    if (!str_equal_c(name, "fwd_diff") && !str_equal_c(name, "bwd_diff"))
        return NULL;
    report(s->diags, DIFF_OF_WHAT, e->span, e->name);
    report(s->diags, NOTE_WRITE, (Span){0}, arena_printf(s->arena, "%s(f)(arguments)", e->name));
    return expr_error(e);
}

/* Ray(o, d), fwd_diff(f)(...), detach(a). Returns NULL for calls of functions. */
static Expr *check_special_call(Sema *s, Expr *e)
{
    const StructDecl *decl = find_struct(s, e->name);
    if (decl && e->type_args && !overload_candidates(s, e->name).count) {
        e->kind = EXPR_CONSTRUCT;
        return check_construct(s, e, check_struct_instance(s, e->name, e->type_args, e->name_span));
    }
    if (decl && decl->type_params.count > 0 && !overload_candidates(s, e->name).count) {
        report_types_missing(s, decl, e->name_span, "(...)");
        return expr_error(e);
    }
    if (decl && decl->is_abstract) {
        report(s->diags, BAD_CONSTRUCTOR, e->span, decl->name, "nothing: it may be any type",
               "...");
        return expr_error(e);
    }
    if (decl && decl->type) {
        e->kind = EXPR_CONSTRUCT;
        return check_construct(s, e, decl->type);
    }
    return e->target ? check_diff_call(s, e) : check_diff_word(s, e);
}

Expr *check_call(Sema *s, Expr *e)
{
    CandidateList list = {0};
    bool is_good = true, is_ambiguous;
    if (method_is_call(s, e)) {
        if (!method_resolve(s, e, &list))
            return expr_error(e);
    } else {
        Expr *other = check_special_call(s, e);
        if (other)
            return other;
        list = overload_candidates(s, e->name);
    }
    for (uint32_t i = 0; i < e->args.count; ++i) {
        const Expr *arg = e->args.items[i];
        bool is_named =
            arg->kind == EXPR_ASSIGN && arg->a->kind == EXPR_NAME && !scope_find(s, arg->a->name);
        e->args.items[i] = check_argument(s, &list, i, e->args.items[i]);
        if (is_named && sema_is_news(s, "="))
            report(s->diags, NOTE_WRITE, (Span){0},
                   "the value alone: arguments have no names, and stand in order");
        is_good = is_good && !type_is_error(e->args.items[i]->type);
    }
    if (list.count == 0)
        return report_unknown(s, e);
    if (!is_good || !check_derivative(s, e, &list) ||
        !instances_for_call(
            s, &list,
            &(CallTypes){
                .args = &e->args, .named = e->type_args, .name = e->name, .span = e->name_span}))
        return expr_error(e);
    if (list.count == 1 && list.data[0].func && list.data[0].func->is_shader) {
        report(s->diags, SHADER_CALLED, e->span, e->name);
        return expr_error(e);
    }
    const Candidate *c = overload_choose(&list, &e->args, &is_ambiguous);
    return c ? finish_call(s, e, c) : report_no_choice(s, e, &list, is_ambiguous);
}
