/* Generic functions: f<T : IShape>(T s). A call says which types its type parameters are, and is one of an instance: a copy
 * of the function for these types, which is checked and lowered like any function. The function itself is checked once,
 * as an instance for unknown types that have the methods of their interfaces alone, so that what is wrong in it is found where
 * it stands, whether it is called or not. */
#include "base/check.h"
#include "ssl/front/ast_clone.h"
#include "ssl/sema/overload.h"
#include "ssl/ssl_limits.h"

enum { CALLS_SHOWN = 4 };

bool type_is_unknown(const Type *t)
{
    while (t->kind == TYPE_ARRAY)
        t = t->element;
    return t->kind == TYPE_STRUCT && t->decl->is_abstract;
}

const Type *bound_type(const Sema *s, const char *name)
{
    for (const Binding *b = s->bindings; b; b = b->next)
        if (b->name == name)
            return b->type;
    return NULL;
}

static const Type *type_argument(const FuncDecl *instance, uint32_t index)
{
    const Binding *b = instance->bindings;
    while (index-- > 0)
        b = b->next;
    ASSERT(b);
    return b->type;
}

const char *instance_name(const FuncDecl *f, Arena *arena)
{
    const char *text = f->name;
    for (uint32_t i = 0; i < f->generic->type_params.count; ++i)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "<",
                            type_text(type_argument(f, i), arena));
    return arena_printf(arena, "%s>", text);
}

/* --- making ----------------------------------------------------------------------------------- */

static uint32_t text_bytes(const FuncDecl *f)
{
    return f->body && f->body->span.end > f->span.begin ? f->body->span.end - f->span.begin : 0;
}

static FuncDecl *make(Sema *s, FuncDecl *generic, const Type *const *types, Span span)
{
    const Binding *bindings = NULL;
    bool is_first = generic->instances.count == 0, has_unknown = false;
    for (uint32_t i = generic->type_params.count; i-- > 0;) {
        bindings = bind_type(s, generic->type_params.items[i].name, types[i], bindings);
        has_unknown = has_unknown || type_is_unknown(types[i]);
    }
    FuncDecl *f = ast_clone_func(generic, is_first || !has_unknown, s->arena);
    f->generic = generic;
    f->bindings = bindings;
    f->is_abstract = has_unknown;
    f->needed_by = is_first ? NULL : s->func;
    f->needed_at = span;
    f->instance_depth = f->needed_by ? f->needed_by->instance_depth + 1 : 0;
    bool is_shared = is_first || !has_unknown; /* no other function knows the unknown types */
    ASSERT(is_shared || s->func);
    array_push(s->arena, is_shared ? &generic->instances : &s->func->instances, f);
    const uint32_t errors = diag_error_count(s->diags);
    check_signature(s, f);
    if (f->body)
        array_push(s->arena, &s->module->ast->funcs, f);
    if (!is_first)
        check_func_attributes(s, f);
    if (!has_unknown) {
        ++s->instance_count;
        s->instance_bytes += text_bytes(generic);
        if (diag_error_count(s->diags) > errors)
            note_instances(s, f);
    }
    return f;
}

void note_instances(Sema *s, const FuncDecl *instance)
{
    uint32_t count = 0, at = 0;
    for (const FuncDecl *f = instance; f && f->generic; f = f->needed_by)
        ++count;
    for (const FuncDecl *f = instance; f && f->generic; f = f->needed_by, ++at) {
        if (at < CALLS_SHOWN || at + 1 == count)
            report(s->diags, NOTE_INSTANCE, f->needed_at, sema_func_name(f, s->arena));
        else if (at == CALLS_SHOWN)
            report(s->diags, NOTE_MORE_CANDIDATES, (Span){0},
                   text_of_number(s, count - 1 - CALLS_SHOWN));
    }
}

static FuncDecl *find_in(const FuncList *list, const FuncDecl *generic, const Type *const *types)
{
    for (uint32_t i = 0; i < list->count; ++i) {
        FuncDecl *f = list->data[i];
        bool is_same = f->generic == generic;
        for (uint32_t k = 0; is_same && k < generic->type_params.count; ++k)
            is_same = type_same(type_argument(f, k), types[k]);
        if (is_same)
            return f;
    }
    return NULL;
}

static FuncDecl *find(const Sema *s, const FuncDecl *generic, const Type *const *types)
{
    FuncDecl *f = find_in(&generic->instances, generic, types);
    return f || !s->func ? f : find_in(&s->func->instances, generic, types);
}

void check_generic(Sema *s, FuncDecl *f)
{
    const TypeParamList *params = &f->type_params;
    const Type **types = ARENA_ARRAY(s->arena, const Type *, params->count);
    for (uint32_t i = 0; i < params->count; ++i) {
        const TypeParam *param = &params->items[i];
        for (uint32_t k = 0; k < i; ++k)
            if (params->items[k].name == param->name)
                report(s->diags, REDECLARED, param->span, param->name);
        check_interface_names(s, &param->interfaces);
        types[i] = make_unknown_type(s, param->name, param->span, &param->interfaces);
    }
    for (uint32_t i = 0; i < f->attributes.count; ++i) /* no function has the signature for any T */
        if (f->attributes.items[i].function) {
            report(s->diags, ATTRIBUTE_PLACE, f->attributes.items[i].span, "this attribute",
                   "a function without type parameters");
            f->attributes.count = 0;
        }
    make(s, f, types, f->span);
}

/* --- which types a call means ------------------------------------------------------------------ */

/* What a call says of the types of a generic function. */
typedef struct Deduced {
    const Type **types; /* [type parameter]; NULL: nothing yet */
    const Type *other;  /* what else it says of type `conflict` */
    uint32_t conflict;  /* UINT32_MAX: none */
} Deduced;

/* Without what fwd_diff and bwd_diff make of a parameter, which are `order` deep. */
static const Type *without_pairs(const Type *type, uint32_t order)
{
    for (; order > 0 && type->kind == TYPE_STRUCT && type->decl->is_pair; --order)
        type = type->decl->members.items[0]->type;
    return type;
}

static void deduce_from(const FuncDecl *f, const VarDecl *param, const Type *type, Deduced *d)
{
    uint32_t dimensions = param->type_name->sizes.count + param->sizes.count;
    for (; dimensions > 0 && type->kind == TYPE_ARRAY; --dimensions)
        type = type->element;
    for (uint32_t i = 0; i < f->type_params.count && dimensions == 0; ++i) {
        if (param->type_name->struct_name != f->type_params.items[i].name)
            continue;
        if (!d->types[i])
            d->types[i] = type;
        else if (!type_same(d->types[i], type) && d->conflict == UINT32_MAX) {
            d->conflict = i;
            d->other = type;
        }
    }
}

static Deduced deduce(Sema *s, const FuncDecl *f, const ExprList *args, uint32_t order)
{
    Deduced d = {.types = ARENA_ARRAY(s->arena, const Type *, f->type_params.count),
                 .conflict = UINT32_MAX};
    for (uint32_t i = 0; i < args->count && i < f->params.count; ++i)
        if (order == 0 || f->params.items[i]->direction != DIRECTION_OUT)
            deduce_from(f, f->params.items[i], without_pairs(args->items[i]->type, order), &d);
    return d;
}

/* Returns the first interface that a type must be and is not, or NULL. */
static const char *missing_interface(const Sema *s, const TypeParam *param, const Type *type)
{
    for (uint32_t i = 0; i < param->interfaces.count; ++i) {
        const char *name = param->interfaces.items[i].name;
        bool is_one = type->kind == TYPE_STRUCT && interface_is_among(&type->decl->all, name);
        if (!is_one && find_interface(s, name))
            return name;
    }
    return NULL;
}

/* Returns whether the types are known and fit. With report_at, says what does not. */
static bool check_types(Sema *s, const FuncDecl *f, const Deduced *d, const Span *report_at)
{
    for (uint32_t i = 0; i < f->type_params.count; ++i) {
        const TypeParam *param = &f->type_params.items[i];
        const char *missing = d->types[i] ? missing_interface(s, param, d->types[i]) : NULL;
        if (d->types[i] && !missing && d->conflict != i && d->types[i]->scalars > 0)
            continue;
        if (!report_at)
            return false;
        if (!d->types[i]) {
            report(s->diags, NOT_DEDUCED, *report_at, f->name, param->name);
        } else if (d->types[i]->scalars == 0) {
            check_variable_type(s, d->types[i],
                                arena_printf(s->arena, "the %s of '%s'", param->name, f->name),
                                *report_at);
        } else if (d->conflict == i) {
            report(s->diags, DEDUCED_TWICE, *report_at, f->name, param->name,
                   text_of(s, d->types[i]), text_of(s, d->other));
        } else {
            const char *type = text_of(s, d->types[i]);
            report(s->diags, CONSTRAINT, *report_at, f->name, param->name, missing, type);
            if (d->types[i]->kind == TYPE_STRUCT)
                report(s->diags, NOTE_WRITE, (Span){0},
                       arena_printf(s->arena,
                                    d->types[i]->decl->is_abstract ? "<%s : %s>"
                                                                   : "struct %s : %s { ... };",
                                    type, missing));
        }
        report(s->diags, NOTE_CANDIDATE, f->span, sema_func_text(f->instances.data[0], s->arena),
               "");
        return false;
    }
    return true;
}

/* Returns the instance for the types of a call; NULL after a report. */
static FuncDecl *instance_for(Sema *s, FuncDecl *f, const Deduced *d, Span span)
{
    FuncDecl *known = find(s, f, d->types);
    if (known)
        return known;
    if (s->func && s->func->instance_depth == SSL_MAX_INSTANCE_DEPTH) {
        report(s->diags, GENERIC_ENDLESS, span, f->name, text_of_number(s, SSL_MAX_INSTANCE_DEPTH));
        return NULL;
    }
    const bool has_room = s->instance_count < SSL_MAX_INSTANCES,
               is_short = s->instance_bytes + text_bytes(f) <= SSL_MAX_INSTANCE_BYTES;
    if (has_room && is_short)
        return make(s, f, d->types, span);
    if (s->is_out_of_instances)
        return NULL;
    s->is_out_of_instances = true;
    if (has_room)
        report(s->diags, GENERIC_TOO_LONG, span, text_of_number(s, SSL_MAX_INSTANCE_BYTES));
    else
        report(s->diags, GENERIC_TOO_MANY, span, text_of_number(s, SSL_MAX_INSTANCES));
    return NULL;
}

bool instances_for_call(Sema *s, CandidateList *list, const ExprList *args, uint32_t order,
                        Span span)
{
    for (uint32_t i = 0; i < list->count; ++i) {
        FuncDecl *f = list->data[i].func;
        if (!f || f->type_params.count == 0)
            continue;
        Deduced d = deduce(s, f, args, order);
        bool is_only = list->count == 1 && args->count == f->params.count;
        if (!check_types(s, f, &d, is_only ? &span : NULL)) {
            if (is_only)
                return false;
            list->data[i].func = f->instances.data[0]; /* which no call can mean */
            continue;
        }
        list->data[i].func = instance_for(s, f, &d, span);
        if (!list->data[i].func)
            return false;
    }
    return true;
}
