/* Interfaces: lists of methods that a struct says it has. They are no types of values; they say which types a generic
 * function takes (instance.c). */
#include "base/check.h"
#include "ssl/front/ast_clone.h"
#include "ssl/sema/checker.h"

InterfaceDecl *find_interface(const Sema *s, const char *name)
{
    return name_map_get(&s->module->interfaces, name);
}

const Binding *bind_type(Sema *s, const char *name, const Type *type, const Binding *next)
{
    ASSERT(name && type);
    Binding *binding = ARENA_NEW(s->arena, Binding);
    *binding = (Binding){name, type, next};
    return binding;
}

static const Binding *bind_this(Sema *s, const Type *type)
{
    return bind_type(s, names_intern(&s->module->names, STR_LIT("This")), type, NULL);
}

const Binding *bindings_in(Sema *s, const StructDecl *decl)
{
    if (!decl || !decl->type)
        return NULL;
    return bind_type(s, names_intern(&s->module->names, STR_LIT("This")), decl->type,
                     decl->bindings);
}

void method_bind_this(Sema *s, FuncDecl *method)
{
    if (!method->bindings)
        method->bindings = bindings_in(s, method->owner);
}

bool interface_is_among(const InterfaceList *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->data[i]->name == name)
            return true;
    return false;
}

/* Appends the interfaces of these names that the walk has not met yet. */
static void add_unmet(Sema *s, const InterfaceNames *names, InterfaceList *list)
{
    for (uint32_t i = 0; i < names->count; ++i) {
        InterfaceDecl *decl = find_interface(s, names->items[i].name);
        if (!decl || decl->walk == s->interface_walks)
            continue;
        decl->walk = s->interface_walks;
        array_push(s->arena, list, decl);
    }
}

/* Appends, for what the list has from `first` on, the interfaces that these include. */
static void add_included(Sema *s, uint32_t first, InterfaceList *list)
{
    for (uint32_t i = first; i < list->count; ++i)
        add_unmet(s, &list->data[i]->interfaces, list);
}

/* The interfaces of these names and all that they include, each once: two may include the same one. */
static InterfaceList all_of(Sema *s, const InterfaceNames *names)
{
    InterfaceList list = {0};
    ++s->interface_walks;
    add_unmet(s, names, &list);
    add_included(s, 0, &list);
    return list;
}

/* --- the declarations ------------------------------------------------------------------------- */

void check_interface_names(Sema *s, const InterfaceNames *names)
{
    for (uint32_t i = 0; i < names->count; ++i) {
        if (find_interface(s, names->items[i].name))
            continue;
        report(s->diags, UNKNOWN_INTERFACE, names->items[i].span, names->items[i].name);
        if (find_struct(s, names->items[i].name)) {
            report(s->diags, NOTE_WRITE, (Span){0},
                   "a member of that type: structs are not made from structs");
            continue;
        }
        ARRAY(const char *) known = {0};
        for (uint32_t k = 0; k < s->module->ast->interfaces.count; ++k)
            array_push(s->arena, &known, s->module->ast->interfaces.data[k]->name);
        report_suggestion(s->diags, names->items[i].name, known.data, known.count);
    }
}

/* IDifferentiable: what has a differential. Nothing says how a value gets one: the members do. */
static void declare_differentiable(Sema *s)
{
    const char *name = names_intern(&s->module->names, STR_LIT("IDifferentiable"));
    const StructDecl *own = name_map_get(&s->module->structs, name);
    if (own)
        return;
    s->differentiable = ARENA_NEW(s->arena, InterfaceDecl);
    *s->differentiable = (InterfaceDecl){.name = name};
    name_map_set(&s->module->interfaces, name, s->differentiable);
}

void declare_interfaces(Sema *s)
{
    const Ast *ast = s->module->ast;
    declare_differentiable(s);
    for (uint32_t i = 0; i < ast->interfaces.count; ++i) {
        InterfaceDecl *decl = ast->interfaces.data[i];
        const InterfaceDecl *other = s->differentiable && decl->name == s->differentiable->name
                                         ? NULL
                                         : find_interface(s, decl->name);
        const StructDecl *twin = find_struct(s, decl->name);
        if (other || (twin && !twin->is_library)) {
            report(s->diags, REDECLARED, decl->span, decl->name);
            report(s->diags, NOTE_PREVIOUS, other ? other->span : twin->span, NULL);
        } else {
            name_map_set(&s->module->interfaces, decl->name, decl);
            if (s->differentiable && decl->name == s->differentiable->name)
                s->differentiable = NULL;
        }
    }
    for (uint32_t i = 0; i < ast->structs.count;
         ++i) /* may be asked for by the structs themselves */
        ast->structs.data[i]->all = all_of(s, &ast->structs.data[i]->interfaces);
}

/* Reports an interface that includes itself, and takes what it includes away. */
static void check_nesting(Sema *s, InterfaceDecl *decl)
{
    const InterfaceList all = all_of(s, &decl->interfaces);
    if (!interface_is_among(&all, decl->name))
        return;
    report(s->diags, INTERFACE_OF_ITSELF, decl->span, decl->name);
    decl->interfaces.count = 0;
}

/* --- methods that are asked for --------------------------------------------------------------- */

/* A method of an interface as one of `type`. */
static FuncDecl *method_for(Sema *s, const FuncDecl *method, const Type *type)
{
    FuncDecl *copy = ast_clone_func(method, false, s->arena);
    copy->bindings = bind_this(s, type);
    check_signature(s, copy);
    for (uint32_t i = 0; i < copy->attributes.count; ++i)
        copy->is_differentiable =
            copy->is_differentiable || copy->attributes.items[i].kind == MARK_DIFFERENTIABLE;
    return copy;
}

static bool is_like(const FuncDecl *a, const FuncDecl *b)
{
    bool is_same = a->type_params.count == 0 && a->name == b->name &&
                   a->params.count == b->params.count && type_same(a->return_type, b->return_type);
    for (uint32_t i = 1; is_same && i < a->params.count; ++i)
        is_same = a->params.items[i]->direction == b->params.items[i]->direction &&
                  type_same(a->params.items[i]->type, b->params.items[i]->type);
    return is_same;
}

/* Whether a method may stand where the interface has `wanted`: what it changes, what calls may leave out, and what has
 * derivatives. */
static bool is_fit(const FuncDecl *method, const FuncDecl *wanted)
{
    if (method->params.items[0]->direction != DIRECTION_IN &&
        wanted->params.items[0]->direction == DIRECTION_IN)
        return false;
    for (uint32_t i = 0; i < wanted->params.count; ++i)
        if (wanted->params.items[i]->init && !method->params.items[i]->init)
            return false;
    for (uint32_t i = 0; wanted->is_differentiable && i < wanted->params.count; ++i)
        if (method->params.items[i]->is_no_diff != wanted->params.items[i]->is_no_diff)
            return false;
    return !wanted->is_differentiable || method->is_no_diff == wanted->is_no_diff;
}

static const char *attributes_text(Sema *s, const FuncDecl *f)
{
    const char *text = "";
    if (f->is_differentiable)
        text = "[Differentiable] ";
    if (f->params.items[0]->is_no_diff)
        text = arena_printf(s->arena, "%s[NoDiffThis] ", text);
    if (f->params.items[0]->direction == DIRECTION_INOUT)
        text = arena_printf(s->arena, "%s[mutating] ", text);
    return text;
}

static void note_wanted(Sema *s, const FuncDecl *wanted)
{
    FuncDecl written = *wanted; /* without `this` */
    written.params = (VarList){wanted->params.items + 1, wanted->params.count - 1};
    report(s->diags, NOTE_WRITE, (Span){0},
           arena_printf(s->arena, "%s%s", attributes_text(s, wanted),
                        sema_func_text(&written, s->arena)));
    report(s->diags, NOTE_DECLARED, wanted->span, NULL);
}

/* Reports a method that a struct needs because it says that it is an `interface`. */
static void check_has_method(Sema *s, const StructDecl *decl, const InterfaceName *interface,
                             const FuncDecl *wanted)
{
    const FuncDecl *found = NULL, *of_name = NULL;
    for (const FuncDecl *f = decl->methods; f; f = f->next_overload) {
        of_name = f->name == wanted->name ? f : of_name;
        found = is_like(f, wanted) ? f : found;
    }
    const char *is = decl->name, *name = wanted->name;
    if (found && is_fit(found, wanted) && wanted->is_differentiable && !found->is_differentiable) {
        report(s->diags, METHOD_UNMARKED, found->span, is, interface->name, name);
        note_wanted(s, wanted);
    } else if (found ? !is_fit(found, wanted) : of_name != NULL) {
        report(s->diags, METHOD_DIFFERS, found ? found->span : of_name->span, is, interface->name,
               name);
        note_wanted(s, wanted);
    } else if (!found) {
        report(s->diags, METHOD_MISSING, interface->span, is, interface->name, name);
        note_wanted(s, wanted);
    }
}

/* Reports what a struct lacks of each interface that it names, and of those that this includes. */
static void check_is_what_it_says(Sema *s, const StructDecl *decl)
{
    InterfaceList met = {0};
    ++s->interface_walks;
    for (uint32_t i = 0; i < decl->interfaces.count; ++i) {
        InterfaceName *said = &decl->interfaces.items[i];
        const uint32_t first = met.count;
        add_unmet(s, &(InterfaceNames){said, 1}, &met);
        add_included(s, first, &met);
        for (uint32_t k = first; k < met.count; ++k)
            if (met.data[k] == s->differentiable && !differential_of(s, decl->type))
                report(s->diags, NOT_IDIFFERENTIABLE, said->span, decl->name, said->name);
        for (uint32_t k = first; k < met.count; ++k)
            for (uint32_t m = 0; m < met.data[k]->methods.count; ++m)
                check_has_method(s, decl, said,
                                 method_for(s, met.data[k]->methods.data[m], decl->type));
    }
}

void check_structs_are_interfaces(Sema *s)
{
    const Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->structs.count && !report_is_full(s->diags); ++i) {
        const StructDecl *decl = ast->structs.data[i];
        decl = decl->first ? decl->first : decl;
        if (!type_is_error(decl->type))
            check_is_what_it_says(s, decl);
    }
}

/* --- unknown types ---------------------------------------------------------------------------- */

static void add_methods(Sema *s, StructDecl *decl)
{
    for (uint32_t i = 0; i < decl->all.count; ++i) {
        const InterfaceDecl *interface = decl->all.data[i];
        for (uint32_t k = 0; k < interface->methods.count; ++k) {
            FuncDecl *method = method_for(s, interface->methods.data[k], decl->type);
            FuncDecl **last = &decl->methods;
            bool is_there = false; /* two interfaces may ask for one method */
            for (; *last; last = &(*last)->next_overload)
                is_there = is_there || is_like(*last, method);
            method->owner = decl;
            method->is_abstract = true;
            if (!is_there)
                *last = method;
        }
    }
}

/* The differential of a type of which it is only known that it has one. It is its own differential. */
static const Type *unknown_differential(Sema *s, const StructDecl *of)
{
    StructDecl *decl = ARENA_NEW(s->arena, StructDecl);
    Type *type = ARENA_NEW(s->arena, Type);
    *type = (Type){.kind = TYPE_STRUCT, .decl = decl, .scalars = 1, .leaves = 1, .nesting = 1};
    *decl = (StructDecl){.span = of->span,
                         .name = arena_printf(s->arena, "differential<%s>", of->name),
                         .type = type,
                         .is_abstract = true,
                         .has_unknown = true,
                         .differential = type};
    return type;
}

const Type *make_unknown_type(Sema *s, const char *name, Span span,
                              const InterfaceNames *interfaces)
{
    StructDecl *decl = ARENA_NEW(s->arena, StructDecl);
    Type *type = ARENA_NEW(s->arena, Type);
    *type = (Type){.kind = TYPE_STRUCT, .decl = decl, .scalars = 1, .leaves = 1, .nesting = 1};
    *decl = (StructDecl){.span = span,
                         .name = name,
                         .interfaces = *interfaces,
                         .all = all_of(s, interfaces),
                         .type = type,
                         .is_abstract = true,
                         .has_unknown = true};
    if (s->differentiable && interface_is_among(&decl->all, s->differentiable->name))
        decl->differential = unknown_differential(s, decl);
    add_methods(s, decl);
    return type;
}

void check_interfaces(Sema *s)
{
    const Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->interfaces.count; ++i) {
        check_interface_names(s, &ast->interfaces.data[i]->interfaces);
        check_nesting(s, ast->interfaces.data[i]);
    }
    for (uint32_t i = 0; i < ast->structs.count; ++i) {
        check_interface_names(s, &ast->structs.data[i]->interfaces);
    }
    for (uint32_t i = 0; i < ast->interfaces.count; ++i) { /* finds what is wrong in the methods */
        const InterfaceDecl *decl = ast->interfaces.data[i];
        const Type *type = make_unknown_type(s, decl->name, decl->span, &(InterfaceNames){0});
        for (uint32_t k = 0; k < decl->methods.count; ++k)
            (void)method_for(s, decl->methods.data[k], type);
    }
}
