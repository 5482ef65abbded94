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
    return t->kind == TYPE_STRUCT && t->decl->has_unknown;
}

Place place_at_file(Sema *s, const Binding *bindings)
{
    const Place place = {s->func, s->bindings, s->is_at_file, s->is_file_constant};
    s->func = NULL;
    s->bindings = bindings;
    s->is_at_file = true;
    s->is_file_constant = false;
    return place;
}

void place_return(Sema *s, const Place *place)
{
    s->func = place->func;
    s->bindings = place->bindings;
    s->is_at_file = place->is_at_file;
    s->is_file_constant = place->is_file_constant;
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

/* Whether an instance that a function needs is one step further in a chain: a struct has so many methods. */
static bool is_deeper(const FuncDecl *caller, const FuncDecl *f)
{
    return !(f->owner && f->owner == caller->owner);
}

bool instance_has_room(Sema *s, const FuncDecl *f, Span span)
{
    ASSERT(s->func);
    if (is_deeper(s->func, f) && s->func->instance_depth == SSL_MAX_INSTANCE_DEPTH) {
        report(s->diags, GENERIC_ENDLESS, span, f->name, text_of_number(s, SSL_MAX_INSTANCE_DEPTH));
        return false;
    }
    const bool has_room = s->instance_count < SSL_MAX_INSTANCES,
               is_short = s->instance_bytes + text_bytes(f) <= SSL_MAX_INSTANCE_BYTES;
    if ((has_room && is_short) || s->is_out_of_instances)
        return has_room && is_short;
    s->is_out_of_instances = true;
    if (has_room)
        report(s->diags, GENERIC_TOO_LONG, span, text_of_number(s, SSL_MAX_INSTANCE_BYTES));
    else
        report(s->diags, GENERIC_TOO_MANY, span, text_of_number(s, SSL_MAX_INSTANCES));
    return false;
}

void instance_begin(Sema *s, FuncDecl *f, Span span)
{
    const uint32_t errors = diag_error_count(s->diags);
    const FuncDecl *caller = s->func;
    f->needed_by = caller;
    f->needed_at = span;
    f->instance_depth = caller ? caller->instance_depth + is_deeper(caller, f) : 0;
    const Place place = place_at_file(s, NULL);
    check_signature(s, f);
    place_return(s, &place);
    if (f->body)
        array_push(s->arena, &s->module->ast->funcs, f);
    if (f->generic->instances.count == 0 || f->generic->instances.data[0] != f)
        check_func_attributes(s, f);
    if (f->is_abstract)
        return;
    ++s->instance_count;
    s->instance_bytes += text_bytes(f->generic);
    if (diag_error_count(s->diags) > errors)
        note_instances(s, f);
}

/* The first instance is for unknown types. Its body is checked, unless the function is a method of another instance than
 * the first of its struct. */
static FuncDecl *make(Sema *s, FuncDecl *generic, const Type *const *types, Span span)
{
    const StructDecl *owner = generic->owner;
    const Binding *bindings = bindings_in(s, owner);
    bool is_first = generic->instances.count == 0, has_unknown = owner && owner->has_unknown;
    bool is_checked = is_first && !(owner && owner->generic && owner->generic->first != owner);
    for (uint32_t i = generic->type_params.count; i-- > 0;) {
        bindings = bind_type(s, generic->type_params.items[i].name, types[i], bindings);
        has_unknown = has_unknown || type_is_unknown(types[i]);
    }
    FuncDecl *f = ast_clone_func(generic, is_checked || !has_unknown, s->arena);
    f->generic = generic;
    f->owner = generic->owner;
    f->bindings = bindings;
    f->is_abstract = has_unknown;
    bool is_shared = is_first || !has_unknown; /* no other function knows the unknown types */
    ASSERT(is_shared || s->func);
    array_push(s->arena, is_shared ? &generic->instances : &s->func->instances, f);
    instance_begin(s, f, span);
    if (is_first) {
        f->needed_by = NULL;
        f->instance_depth = 0;
        if (!is_checked)
            check_func_attributes(s, f);
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

static bool is_among(const TypeParamList *params, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; ++i)
        if (params->items[i].name == name)
            return true;
    return false;
}

const Type **check_type_params(Sema *s, const TypeParamList *params, const TypeParamList *outer)
{
    const Type **types = ARENA_ARRAY(s->arena, const Type *, params->count);
    for (uint32_t i = 0; i < params->count; ++i) {
        const TypeParam *param = &params->items[i];
        if (is_among(params, i, param->name) ||
            (outer && is_among(outer, outer->count, param->name)))
            report(s->diags, REDECLARED, param->span, param->name);
        check_interface_names(s, &param->interfaces);
        types[i] = make_unknown_type(s, param->name, param->span, &param->interfaces);
    }
    return types;
}

const Type **check_type_args(Sema *s, const TypeArgs *args)
{
    const Type **types = ARENA_ARRAY(s->arena, const Type *, args->count);
    bool is_good = true;
    for (uint32_t i = 0; i < args->count; ++i) {
        types[i] = check_type(s, &args->items[i], NULL, NULL);
        is_good = is_good && !type_is_error(types[i]);
    }
    return is_good ? types : NULL;
}

void forbid_named_derivatives(Sema *s, FuncDecl *f)
{
    for (uint32_t i = 0; i < f->attributes.count; ++i) /* no function has the signature for any T */
        if (f->attributes.items[i].function) {
            report(s->diags, ATTRIBUTE_PLACE, f->attributes.items[i].span, "this attribute",
                   "a function without type parameters");
            f->attributes.count = 0;
        }
}

void check_generic(Sema *s, FuncDecl *f)
{
    const StructDecl *of = f->owner ? f->owner->generic : NULL;
    const uint32_t errors = diag_error_count(s->diags);
    const Place place = place_at_file(s, s->bindings);
    const Type **types = check_type_params(s, &f->type_params, of ? &of->type_params : NULL);
    s->func = place.func;
    forbid_named_derivatives(s, f);
    make(s, f, types, f->span);
    place_return(s, &place);
    f->is_bad = f->is_bad || diag_error_count(s->diags) > errors;
}

/* --- which types a call means ------------------------------------------------------------------ */

/* What a call says of the types of a generic function. */
typedef struct Deduced {
    const Type **types; /* [type parameter]; NULL: nothing yet */
    const Type *other;  /* what else it says of type `conflict` */
    uint32_t conflict;  /* UINT32_MAX: none */
    uint32_t named;     /* the call names so many itself */
} Deduced;

/* Without what fwd_diff and bwd_diff make of a parameter, which are `order` deep. */
static const Type *without_pairs(const Type *type, uint32_t order)
{
    for (; order > 0 && type->kind == TYPE_STRUCT && type->decl->is_pair; --order)
        type = type->decl->members.items[0]->type;
    return type;
}

/* What a value of `type` says where a parameter is `name`, with `dimensions` more sizes. */
static void deduce_from(const FuncDecl *f, const TypeName *name, uint32_t dimensions,
                        const Type *type, Deduced *d)
{
    for (dimensions += name->sizes.count; dimensions > 0 && type->kind == TYPE_ARRAY; --dimensions)
        type = type->element;
    if (dimensions > 0)
        return;
    if (name->diff == DIFF_TYPE_PAIR && type->kind == TYPE_STRUCT && type->decl->is_pair)
        deduce_from(f, name->inner, 0, type->decl->members.items[0]->type, d);
    const StructDecl *of = type->kind == TYPE_STRUCT ? type->decl->generic : NULL;
    if (of && of->name == name->struct_name && name->args.count == of->type_params.count) {
        const Binding *b = type->decl->bindings;
        for (uint32_t i = 0; i < name->args.count; ++i, b = b->next)
            deduce_from(f, &name->args.items[i], 0, b->type, d);
        return;
    }
    for (uint32_t i = 0; i < f->type_params.count; ++i) {
        if (!name->struct_name || name->struct_name != f->type_params.items[i].name || i < d->named)
            continue;
        if (!d->types[i])
            d->types[i] = type;
        else if (!type_same(d->types[i], type) && d->conflict == UINT32_MAX) {
            d->conflict = i;
            d->other = type;
        }
    }
}

static Deduced deduce(Sema *s, const FuncDecl *f, const CallTypes *call, const Type *const *named)
{
    Deduced d = {.types = ARENA_ARRAY(s->arena, const Type *, f->type_params.count),
                 .conflict = UINT32_MAX,
                 .named = call->named ? call->named->count : 0};
    for (uint32_t i = 0; i < d.named; ++i)
        d.types[i] = named[i];
    for (uint32_t i = 0; i < call->args->count && i < f->params.count; ++i) {
        const VarDecl *param = f->params.items[i];
        if (call->order == 0 || param->direction != DIRECTION_OUT)
            deduce_from(f, param->type_name, param->sizes.count,
                        without_pairs(call->args->items[i]->type, call->order), &d);
    }
    return d;
}

/* Returns the first interface that a type must be and is not, or NULL. */
static const char *missing_interface(Sema *s, const TypeParam *param, const Type *type)
{
    for (uint32_t i = 0; i < param->interfaces.count; ++i) {
        const char *name = param->interfaces.items[i].name;
        bool is_one = type->kind == TYPE_STRUCT && interface_is_among(&type->decl->all, name);
        if (s->differentiable && name == s->differentiable->name)
            is_one = differential_of(s, type) != NULL;
        if (!is_one && find_interface(s, name))
            return name;
    }
    return NULL;
}

bool check_type_fits(Sema *s, const char *name, const TypeParam *param, const Type *type,
                     const Span *report_at)
{
    const char *missing = missing_interface(s, param, type);
    if (!missing && type->scalars > 0)
        return true;
    if (!report_at)
        return false;
    if (type->scalars == 0) {
        check_variable_type(s, type, arena_printf(s->arena, "the %s of '%s'", param->name, name),
                            *report_at);
        return false;
    }
    const char *text = text_of(s, type);
    report(s->diags, CONSTRAINT, *report_at, name, param->name, missing, text);
    bool is_declared = type->kind == TYPE_STRUCT && !type->decl->generic && !type->decl->is_pair;
    if (is_declared &&
        !(s->differentiable && missing == s->differentiable->name && !type->decl->is_abstract))
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena,
                            type->decl->is_abstract ? "<%s : %s>" : "struct %s : %s { ... };", text,
                            missing));
    return false;
}

/* Returns whether the types are known and fit. With report_at, says what does not. */
static bool check_types(Sema *s, const FuncDecl *f, const Deduced *d, const Span *report_at)
{
    for (uint32_t i = 0; i < f->type_params.count; ++i) {
        const TypeParam *param = &f->type_params.items[i];
        if (d->types[i] && d->conflict != i &&
            check_type_fits(s, f->name, param, d->types[i], NULL))
            continue;
        if (!report_at)
            return false;
        if (!d->types[i]) {
            report(s->diags, NOT_DEDUCED, *report_at, f->name, param->name);
            report(s->diags, NOTE_WRITE, (Span){0},
                   arena_printf(s->arena, "%s<...>(...), with a type for each", f->name));
        } else if (d->conflict == i && d->types[i]->scalars > 0) {
            report(s->diags, DEDUCED_TWICE, *report_at, f->name, param->name,
                   text_of(s, d->types[i]), text_of(s, d->other));
        } else {
            (void)check_type_fits(s, f->name, param, d->types[i], report_at);
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
    if (!s->func) {
        report(s->diags, NOT_CONSTANT, span, "this");
        return NULL;
    }
    return instance_has_room(s, f, span) ? make(s, f, d->types, span) : NULL;
}

/* Takes the candidates away that have no types, or fewer than the call names. Returns false, and reports it, if none is left. */
static bool keep_with_types(Sema *s, CandidateList *list, const CallTypes *call)
{
    const FuncDecl *other = list->count > 0 ? list->data[0].func : NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        const FuncDecl *f = list->data[i].func;
        other = f && f->type_params.count > 0 ? f : other;
        if (f && f->type_params.count >= call->named->count)
            list->data[kept++] = list->data[i];
    }
    list->count = kept;
    if (kept > 0)
        return true;
    if (other && other->type_params.count > 0) {
        report(
            s->diags, TYPE_COUNT, call->named->span, call->name,
            arena_printf(s->arena, "at most %s", count_text(s, other->type_params.count, "type")),
            text_of_number(s, call->named->count));
    } else {
        report(s->diags, NOT_GENERIC, call->named->span, call->name,
               "a function without type parameters");
        report(s->diags, NOTE_WRITE, (Span){0}, arena_printf(s->arena, "%s(...)", call->name));
    }
    return false;
}

bool instances_for_call(Sema *s, CandidateList *list, const CallTypes *call)
{
    const Type **named = NULL;
    if (call->named) {
        if (!keep_with_types(s, list, call))
            return false;
        named = check_type_args(s, call->named);
        if (!named)
            return false;
    }
    for (uint32_t i = 0; i < list->count; ++i) {
        FuncDecl *f = list->data[i].func;
        if (!f || f->type_params.count == 0)
            continue;
        if (f->is_bad) /* its instances would be wrong in the same way */
            return false;
        Deduced d = deduce(s, f, call, named);
        bool is_only = list->count == 1 && call->args->count == f->params.count;
        if (!check_types(s, f, &d, is_only ? &call->span : NULL)) {
            if (is_only)
                return false;
            list->data[i].func = f->instances.data[0]; /* which no call can mean */
            continue;
        }
        list->data[i].func = instance_for(s, f, &d, call->span);
        if (!list->data[i].func)
            return false;
    }
    return true;
}
