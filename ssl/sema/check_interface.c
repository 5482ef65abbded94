/* Interfaces: lists of methods that a struct says it has. They are no types of values; they say which types a generic
 * function takes (instance.c). */
#include "base/check.h"
#include "ssl/front/ast_clone.h"
#include "ssl/sema/checker.h"

enum { INTERFACE_NESTING_MAX = 16 };

InterfaceDecl *find_interface(const Sema *s, const char *name)
{
    return name_map_get(&s->module->interfaces, name);
}

const Binding *bind(Sema *s, const char *name, const Type *type, const Binding *next)
{
    ASSERT(name && type);
    Binding *binding = ARENA_NEW(s->arena, Binding);
    *binding = (Binding){name, type, next};
    return binding;
}

static const Binding *bind_this(Sema *s, const Type *type)
{
    return bind(s, names_intern(&s->module->names, STR_LIT("This")), type, NULL);
}

void method_bind_this(Sema *s, FuncDecl *method)
{
    if (!method->bindings && method->owner->type)
        method->bindings = bind_this(s, method->owner->type);
}

bool interface_includes(const Sema *s, const InterfaceNames *names, const char *wanted)
{
    for (uint32_t i = 0; i < names->count; ++i) {
        const InterfaceDecl *decl = find_interface(s, names->items[i].name);
        if (names->items[i].name == wanted ||
            (decl && interface_includes(s, &decl->interfaces, wanted)))
            return true;
    }
    return false;
}

/* --- the declarations ------------------------------------------------------------------------- */

void check_interface_names(Sema *s, const InterfaceNames *names)
{
    ARRAY(const char *) known = {0};
    for (uint32_t i = 0; i < s->module->ast->interfaces.count; ++i)
        array_push(s->arena, &known, s->module->ast->interfaces.data[i]->name);
    for (uint32_t i = 0; i < names->count; ++i) {
        if (find_interface(s, names->items[i].name))
            continue;
        report(s->diags, UNKNOWN_INTERFACE, names->items[i].span, names->items[i].name);
        report_suggestion(s->diags, names->items[i].name, known.data, known.count);
    }
}

void declare_interfaces(Sema *s)
{
    const Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->interfaces.count; ++i) {
        InterfaceDecl *decl = ast->interfaces.data[i];
        const InterfaceDecl *other = find_interface(s, decl->name);
        const StructDecl *twin = find_struct(s, decl->name);
        if (other || (twin && !twin->is_library)) {
            report(s->diags, REDECLARED, decl->span, decl->name);
            report(s->diags, NOTE_PREVIOUS, other ? other->span : twin->span, NULL);
        } else {
            name_map_set(&s->module->interfaces, decl->name, decl);
        }
    }
}

static bool is_too_deep(const Sema *s, const InterfaceDecl *decl, uint32_t depth)
{
    if (depth > INTERFACE_NESTING_MAX)
        return true;
    for (uint32_t i = 0; i < decl->interfaces.count; ++i) {
        const InterfaceDecl *part = find_interface(s, decl->interfaces.items[i].name);
        if (part && is_too_deep(s, part, depth + 1))
            return true;
    }
    return false;
}

/* Reports interfaces that include themselves, and takes what they include away. */
static void check_nesting(Sema *s, InterfaceDecl *decl)
{
    if (!is_too_deep(s, decl, 1))
        return;
    report(s->diags, INTERFACE_OF_ITSELF, decl->span, decl->name,
           text_of_number(s, INTERFACE_NESTING_MAX));
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
    bool is_same = a->name == b->name && a->params.count == b->params.count &&
                   type_same(a->return_type, b->return_type);
    for (uint32_t i = 1; is_same && i < a->params.count; ++i)
        is_same = a->params.items[i]->direction == b->params.items[i]->direction &&
                  type_same(a->params.items[i]->type, b->params.items[i]->type);
    return is_same;
}

/* Whether a method may stand where the interface has `wanted`: what it changes, and what has derivatives. */
static bool is_fit(const FuncDecl *method, const FuncDecl *wanted)
{
    if (method->params.items[0]->direction != DIRECTION_IN &&
        wanted->params.items[0]->direction == DIRECTION_IN)
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

static void check_is_interface(Sema *s, const StructDecl *decl, const InterfaceName *said,
                               const InterfaceDecl *interface)
{
    for (uint32_t i = 0; i < interface->methods.count; ++i)
        check_has_method(s, decl, said, method_for(s, interface->methods.data[i], decl->type));
    for (uint32_t i = 0; i < interface->interfaces.count; ++i) {
        const InterfaceDecl *part = find_interface(s, interface->interfaces.items[i].name);
        if (part)
            check_is_interface(s, decl, said, part);
    }
}

void check_structs_are_interfaces(Sema *s)
{
    const Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->structs.count && !report_is_full(s->diags); ++i) {
        const StructDecl *decl = ast->structs.data[i];
        for (uint32_t k = 0; k < decl->interfaces.count && !type_is_error(decl->type); ++k) {
            const InterfaceName *said = &decl->interfaces.items[k];
            const InterfaceDecl *interface = find_interface(s, said->name);
            if (interface)
                check_is_interface(s, decl, said, interface);
        }
    }
}

/* --- unknown types ---------------------------------------------------------------------------- */

static void add_methods(Sema *s, StructDecl *decl, const InterfaceNames *names)
{
    for (uint32_t i = 0; i < names->count; ++i) {
        const InterfaceDecl *interface = find_interface(s, names->items[i].name);
        for (uint32_t k = 0; interface && k < interface->methods.count; ++k) {
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
        if (interface)
            add_methods(s, decl, &interface->interfaces);
    }
}

const Type *make_unknown_type(Sema *s, const char *name, Span span,
                              const InterfaceNames *interfaces)
{
    StructDecl *decl = ARENA_NEW(s->arena, StructDecl);
    Type *type = ARENA_NEW(s->arena, Type);
    *type = (Type){.kind = TYPE_STRUCT, .decl = decl, .scalars = 1, .leaves = 1, .nesting = 1};
    *decl = (StructDecl){
        .span = span, .name = name, .interfaces = *interfaces, .type = type, .is_abstract = true};
    add_methods(s, decl, interfaces);
    return type;
}

void check_interfaces(Sema *s)
{
    const Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->interfaces.count; ++i) {
        check_interface_names(s, &ast->interfaces.data[i]->interfaces);
        check_nesting(s, ast->interfaces.data[i]);
    }
    for (uint32_t i = 0; i < ast->structs.count; ++i)
        check_interface_names(s, &ast->structs.data[i]->interfaces);
    for (uint32_t i = 0; i < ast->interfaces.count; ++i) { /* finds what is wrong in the methods */
        const InterfaceDecl *decl = ast->interfaces.data[i];
        const Type *type = make_unknown_type(s, decl->name, decl->span, &(InterfaceNames){0});
        for (uint32_t k = 0; k < decl->methods.count; ++k)
            (void)method_for(s, decl->methods.data[k], type);
    }
}
