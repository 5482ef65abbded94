/* Methods: functions in a struct, whose first parameter `this` is the value that they are called on. Inside one, the
 * members and the methods of the struct are visible without `this`. Calls become those of functions before they are checked
 * further, so nothing after the checker knows of methods. */
#include "base/check.h"
#include "ssl/sema/overload.h"

#include <string.h>

const StructDecl *find_struct(const Sema *s, const char *name)
{
    const Type *bound = bound_type(s, name);
    if (bound)
        return bound->kind == TYPE_STRUCT ? bound->decl : NULL;
    StructDecl *decl = name_map_get(&s->module->structs, name);
    if (!decl && s->module->library)
        decl = name_map_get(&s->module->library->structs, name);
    return decl;
}

StructDecl *find_generic_struct(const Sema *s, const char *name)
{
    StructDecl *decl = bound_type(s, name) ? NULL : name_map_get(&s->module->structs, name);
    return decl && decl->type_params.count > 0 ? decl : NULL;
}

static VarDecl *find_member(const StructDecl *decl, const char *name)
{
    for (uint32_t i = 0; i < decl->members.count; ++i)
        if (decl->members.items[i]->name == name)
            return decl->members.items[i];
    return NULL;
}

void check_method_name(Sema *s, const FuncDecl *method)
{
    const VarDecl *twin = find_member(method->owner, method->name);
    if (!twin)
        return;
    report(s->diags, REDECLARED, method->span, method->name);
    report(s->diags, NOTE_PREVIOUS, twin->span, NULL);
}

CandidateList method_candidates(Sema *s, const StructDecl *decl, const char *name, Span span)
{
    CandidateList list = {0};
    make_methods(s, decl, name, span);
    for (FuncDecl *f = decl->methods; f; f = f->next_overload)
        if (f->name == name && !f->is_pending)
            array_push(s->arena, &list, ((Candidate){.func = f}));
    return list;
}

void report_no_method(Sema *s, const StructDecl *decl, const char *name, Span span)
{
    ARRAY(const char *) names = {0};
    for (const FuncDecl *f = decl->methods; f; f = f->next_overload)
        if (f->is_pending && f->name == name) /* it could not be made, which was reported */
            return;
    report(s->diags, UNKNOWN_METHOD, span, decl->name, name);
    for (const FuncDecl *f = decl->methods; f; f = f->next_overload)
        array_push(s->arena, &names, f->name);
    report_suggestion(s->diags, name, names.data, names.count);
    if (find_member(decl, name))
        report(s->diags, NOTE_WRITE, (Span){0}, "the member's name alone: it is a value");
}

/* --- inside a method -------------------------------------------------------------------------- */

/* `this`, checked. */
static Expr *this_value(Sema *s, Span span)
{
    ASSERT(s->func->owner && s->func->params.count > 0);
    VarDecl *this = s->func->params.items[0];
    Expr *e = ARENA_NEW(s->arena, Expr);
    *e = (Expr){.kind = EXPR_NAME,
                .span = span,
                .name = this->name,
                .name_span = span,
                .depth = 1,
                .var = this};
    return expr_typed(e, this->type);
}

bool method_sees_member(Sema *s, Expr *e)
{
    ASSERT(e->kind == EXPR_NAME);
    if (!s->func || !s->func->owner || !find_member(s->func->owner, e->name))
        return false;
    const VarDecl *hiding = scope_find(s, e->name);
    if (hiding && hiding->scope_level > 0)
        return false;
    e->kind = EXPR_MEMBER;
    e->a = this_value(s, e->span);
    return true;
}

bool method_is_this(const Sema *s, const VarDecl *var)
{
    return s->func && s->func->owner && var == s->func->params.items[0];
}

static bool takes(const CandidateList *list, uint32_t count)
{
    for (uint32_t i = 0; i < list->count; ++i)
        if (candidate_param_count(&list->data[i]) >= count &&
            candidate_required_count(&list->data[i]) <= count)
            return true;
    return false;
}

static ExprList with_value(Sema *s, Expr *value, const ExprList *args)
{
    Expr **items = ARENA_ARRAY(s->arena, Expr *, args->count + 1);
    items[0] = value;
    if (args->count > 0)
        memcpy(items + 1, args->items, args->count * sizeof *items);
    return (ExprList){items, args->count + 1};
}

/* Whether f(arguments) in a method is a call of another one. It is, unless only functions of that name take so many
 * arguments, or of these types. */
static bool is_own_method(Sema *s, const Expr *e)
{
    if (!s->func || !s->func->owner || e->target)
        return false;
    CandidateList methods = method_candidates(s, s->func->owner, e->name, e->name_span);
    const CandidateList functions = overload_candidates(s, e->name);
    bool may_be_method = takes(&methods, e->args.count + 1);
    if (!may_be_method || !takes(&functions, e->args.count))
        return may_be_method || (methods.count > 0 && functions.count == 0);
    for (uint32_t i = 0; i < e->args.count; ++i)
        e->args.items[i] = check_value(s, e->args.items[i]);
    const ExprList args = with_value(s, this_value(s, e->name_span), &e->args);
    for (uint32_t i = 0; i < methods.count; ++i)
        if (methods.data[i].func->type_params.count > 0 || overload_match(&methods.data[i], &args))
            return true;
    return false;
}

/* --- calls ------------------------------------------------------------------------------------ */

bool method_is_call(Sema *s, Expr *e)
{
    ASSERT(e->kind == EXPR_CALL);
    if (!e->a && is_own_method(s, e))
        e->a = this_value(s, e->name_span);
    return e->a != NULL;
}

/* Reports value.name(arguments) where the value is no struct, with what other languages mean by it. */
static void report_not_a_struct(Sema *s, const Expr *e)
{
    static const char *const samples[] = {"Sample",     "SampleLevel", "SampleGrad",
                                          "SampleBias", "Load",        "sample"};
    const char *instead = arena_printf(s->arena, "%s(value)", e->name);
    if (strcmp(e->name, "length") == 0 || strcmp(e->name, "size") == 0)
        instead = "a constant: const int n = 3; float a[n]; and length(v) for a vector";
    for (size_t i = 0; i < SORT_COUNT_OF(samples); ++i)
        if (strcmp(e->name, samples[i]) == 0)
            instead = "texture2d_sample<name>(u, v)";
    report(s->diags, METHOD, e->name_span, e->name);
    report(s->diags, NOTE_WRITE, (Span){0}, instead);
}

static bool is_texture(const Sema *s, const Expr *e)
{
    const VarDecl *var = e->kind == EXPR_NAME ? scope_find(s, e->name) : NULL;
    return var && var->kind == VAR_TEXTURE;
}

bool method_resolve(Sema *s, Expr *e, CandidateList *out)
{
    Expr *value = e->a;
    if (is_texture(s, value)) {
        report_not_a_struct(s, e);
        return false;
    }
    value = check_value(s, value);
    if (type_is_error(value->type))
        return false;
    if (value->type->kind != TYPE_STRUCT) {
        report_not_a_struct(s, e);
        return false;
    }
    *out = method_candidates(s, value->type->decl, e->name, e->name_span);
    if (out->count == 0 && !s->func) { /* there are methods, but not yet */
        report(s->diags, NOT_CONSTANT, e->span, "this");
        return false;
    }
    if (out->count == 0) {
        report_no_method(s, value->type->decl, e->name, e->name_span);
        return false;
    }
    e->args = with_value(s, value, &e->args);
    e->a = NULL;
    return true;
}
