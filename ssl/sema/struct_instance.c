/* Structs with type parameters: struct Pair<T> { T first, second; }. Pair<float> names an instance, a copy of the struct for
 * these types. The struct itself is checked once, as an instance for unknown types, with all of its methods; other instances have
 * the methods that are called. */
#include "base/check.h"
#include "ssl/front/ast_clone.h"
#include "ssl/sema/overload.h"
#include "ssl/ssl_limits.h"

/* --- names ------------------------------------------------------------------------------------ */

typedef ARRAY(char) Text;

static void append(Sema *s, Text *text, const char *more)
{
    for (; *more; ++more)
        array_push(s->arena, text, *more);
}

/* "Pair<float, Ray>" */
static Str name_of(Sema *s, const StructDecl *generic, const Type *const *types)
{
    Text text = {0};
    append(s, &text, generic->name);
    for (uint32_t i = 0; i < generic->type_params.count; ++i) {
        append(s, &text, i > 0 ? ", " : "<");
        append(s, &text, text_of(s, types[i]));
    }
    append(s, &text, ">");
    return (Str){text.data, text.count};
}

/* A text that two lists of types have in common only if they are the same, whatever they are called. */
static const char *key_of(Sema *s, const StructDecl *generic, const Type *const *types)
{
    Text text = {0};
    append(s, &text, arena_printf(s->arena, "<%p", (const void *)generic));
    for (uint32_t i = 0; i < generic->type_params.count; ++i) {
        const Type *t = types[i];
        append(s, &text, " ");
        for (; t->kind == TYPE_ARRAY; t = t->element)
            append(s, &text, arena_printf(s->arena, "%u*", t->count));
        const SslType basic = t->kind == TYPE_BASIC && type_lanes(t) > 0
                                  ? type_of_lanes(type_lanes(t))->basic
                                  : t->basic;
        append(s, &text,
               t->kind == TYPE_STRUCT ? arena_printf(s->arena, "%p", (const void *)t->decl)
                                      : arena_printf(s->arena, "#%d", (int)basic));
    }
    return names_intern(&s->module->names, (Str){text.data, text.count});
}

/* --- instances -------------------------------------------------------------------------------- */

/* A copy of the struct and of its members, which are not checked. */
static StructDecl *copy_for(Sema *s, StructDecl *generic, const Type *const *types)
{
    ASSERT(generic->type_params.count > 0 && !generic->generic);
    StructDecl *decl = ARENA_NEW(s->arena, StructDecl);
    *decl = *generic;
    decl->name = names_intern(&s->module->names, name_of(s, generic, types));
    decl->type_params = (TypeParamList){0};
    decl->members = ast_clone_members(generic, s->arena);
    decl->generic = generic;
    for (uint32_t i = generic->type_params.count; i-- > 0;) {
        decl->bindings = bind_type(s, generic->type_params.items[i].name, types[i], decl->bindings);
        decl->has_unknown = decl->has_unknown || type_is_unknown(types[i]);
    }
    return decl;
}

void check_generic_struct(Sema *s, StructDecl *decl)
{
    const Type **types = check_type_params(s, &decl->type_params, NULL);
    StructDecl *first = copy_for(s, decl, types);
    const Place place = place_at_file(s, first->bindings);
    check_members(s, first);
    place_return(s, &place);
    decl->first = first;
    name_map_set(&s->struct_instances, key_of(s, decl, types), first);
    for (uint32_t i = 0; i < decl->parsed_methods.count; ++i) {
        FuncDecl *parsed = decl->parsed_methods.data[i];
        forbid_named_derivatives(s, parsed);
        FuncDecl *method = ast_clone_func(parsed, true, s->arena);
        method->type_params = parsed->type_params;
        method->owner = first;
        method->is_abstract = true;
        array_push(s->arena, &s->module->ast->funcs, method);
    }
}

void struct_method_is_bad(const FuncDecl *method)
{
    const FuncList *parsed = &method->owner->generic->parsed_methods;
    for (uint32_t i = 0; i < parsed->count; ++i)
        if (parsed->data[i]->span.begin == method->span.begin)
            parsed->data[i]->is_bad = true;
}

/* The methods of an instance wait until something calls them. */
static void add_pending_methods(Sema *s, StructDecl *decl)
{
    FuncDecl **last = &decl->methods;
    for (uint32_t i = 0; i < decl->generic->parsed_methods.count; ++i) {
        FuncDecl *method = ARENA_NEW(s->arena, FuncDecl);
        *method = *decl->generic->parsed_methods.data[i];
        method->generic = decl->generic->parsed_methods.data[i];
        method->owner = decl;
        method->is_abstract = decl->has_unknown;
        method->is_pending = true;
        *last = method;
        last = &method->next_overload;
    }
}

/* Returns false, and reports it, if there are too many instances or if they are too long. */
static bool has_room(Sema *s, const StructDecl *generic, const Type *const *types, Span span)
{
    if (s->is_out_of_instances)
        return false;
    const uint64_t bytes = generic->end.end - generic->span.begin;
    if (s->struct_instances.count >= SSL_MAX_STRUCT_INSTANCES)
        report(s->diags, STRUCTS_TOO_MANY, span, text_of_number(s, SSL_MAX_STRUCT_INSTANCES));
    else if (s->instance_bytes + bytes > SSL_MAX_INSTANCE_BYTES)
        report(s->diags, GENERIC_TOO_LONG, span, text_of_number(s, SSL_MAX_INSTANCE_BYTES));
    else if (name_of(s, generic, types).size_bytes > SSL_MAX_TYPE_BYTES) {
        report(s->diags, TYPE_TOO_LONG, span, generic->name, text_of_number(s, SSL_MAX_TYPE_BYTES));
        return false;
    } else {
        s->instance_bytes += bytes;
        return true;
    }
    s->is_out_of_instances = true;
    return false;
}

static const Type *instance_of(Sema *s, StructDecl *generic, const Type *const *types, Span span)
{
    const char *key = key_of(s, generic, types);
    const StructDecl *known = name_map_get(&s->struct_instances, key);
    if (known)
        return known->type;
    if (type_is_error(generic->first->type) || !has_room(s, generic, types, span))
        return &type_error;
    StructDecl *decl = copy_for(s, generic, types);
    const uint32_t errors = diag_error_count(s->diags);
    const Place place = place_at_file(s, decl->bindings);
    check_members(s, decl);
    place_return(s, &place);
    if (diag_error_count(s->diags) > errors)
        report(s->diags, NOTE_INSTANCE, span, decl->name);
    add_pending_methods(s, decl);
    name_map_set(&s->struct_instances, key, decl);
    return decl->type;
}

/* "Pair<T>" */
static const char *with_params(Sema *s, const StructDecl *decl)
{
    const char *text = decl->name;
    for (uint32_t i = 0; i < decl->type_params.count; ++i)
        text = arena_printf(s->arena, "%s%s%s", text, i > 0 ? ", " : "<",
                            decl->type_params.items[i].name);
    return arena_printf(s->arena, "%s>", text);
}

void report_types_missing(Sema *s, const StructDecl *decl, Span span, const char *after)
{
    report(s->diags, TYPES_MISSING, span, decl->name);
    report(s->diags, NOTE_WRITE, (Span){0},
           arena_printf(s->arena, "%s%s", with_params(s, decl), after));
}

const Type *check_struct_instance(Sema *s, const char *name, const TypeArgs *args, Span span)
{
    StructDecl *generic = find_generic_struct(s, name);
    const Type **types = check_type_args(s, args);
    if (!types)
        return &type_error;
    if (!generic && !find_struct(s, name))
        return check_type(s, &(TypeName){.span = span, .struct_name = name}, NULL, NULL);
    if (!generic) {
        report(s->diags, NOT_GENERIC, span, name, "a type without type parameters");
        report(s->diags, NOTE_WRITE, (Span){0}, arena_printf(s->arena, "%s alone", name));
        return &type_error;
    }
    if (args->count != generic->type_params.count) {
        report(s->diags, TYPE_COUNT, span, name, count_text(s, generic->type_params.count, "type"),
               text_of_number(s, args->count));
        report(s->diags, NOTE_WRITE, (Span){0}, with_params(s, generic));
        return &type_error;
    }
    if (!generic->first) {
        report(s->diags, STRUCT_INCOMPLETE, span, name);
        return &type_error;
    }
    for (uint32_t i = 0; i < args->count; ++i)
        if (!check_type_fits(s, name, &generic->type_params.items[i], types[i],
                             &args->items[i].span))
            return &type_error;
    return instance_of(s, generic, types, span);
}

/* --- methods of instances --------------------------------------------------------------------- */

static void make_method(Sema *s, FuncDecl *method, Span span)
{
    ASSERT(method->is_pending && method->generic && method->owner);
    FuncDecl *parsed = method->generic;
    StructDecl *owner = method->owner;
    FuncDecl *next = method->next_overload;
    bool has_body = !owner->has_unknown;
    FuncDecl *copy = ast_clone_func(parsed, has_body && parsed->type_params.count == 0, s->arena);
    *method = *copy;
    method->type_params = parsed->type_params;
    method->owner = owner;
    method->next_overload = next;
    method->is_abstract = owner->has_unknown;
    if (parsed->type_params.count > 0) {
        method->body = parsed->body;
        check_generic(s, method);
        return;
    }
    method->generic = parsed;
    instance_begin(s, method, span);
}

void make_methods(Sema *s, const StructDecl *decl, const char *name, Span span)
{
    if (!s->func) /* only in functions are calls possible */
        return;
    for (FuncDecl *f = decl->methods; f; f = f->next_overload)
        if (f->is_pending && f->name == name && !f->generic->is_bad &&
            (decl->has_unknown || instance_has_room(s, f, span)))
            make_method(s, f, span);
}
