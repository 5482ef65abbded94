/* File scope: structs and constants in the order of the source, then textures and attributes, then the signatures of
 * all functions, then their bodies. */
#include "base/check.h"
#include "ssl/sema/checker.h"
#include "ssl/ssl_limits.h"

#include <string.h>

/* A source with scattering functions cannot declare again what ssl/stdlib/bsdf does: the parser writes code that names it. */
static bool is_fixed(Sema *s, Span library, Span own, const char *name)
{
    if (library.file < LIBRARY_BSDF_FILE)
        return false;
    report(s->diags, BSDF_LIBRARY_NAME, own, name);
    return true;
}

/* --- structs and constants --- */

void check_members(Sema *s, StructDecl *decl)
{
    Type *type = ARENA_NEW(s->arena, Type);
    *type = (Type){.kind = TYPE_STRUCT, .decl = decl, .nesting = 1};
    const StructDecl *known =
        s->module->library ? name_map_get(&s->module->library->structs, decl->name) : NULL;
    bool is_good =
        decl->members.count > 0 && !(known && is_fixed(s, known->span, decl->span, decl->name));
    NameMap seen;
    name_map_init(&seen, s->arena);
    for (uint32_t i = 0; i < decl->members.count; ++i) {
        VarDecl *member = decl->members.items[i];
        VarDecl *twin = name_map_get(&seen, member->name);
        if (twin) {
            report(s->diags, REDECLARED, member->span, member->name);
            report(s->diags, NOTE_PREVIOUS, twin->span, NULL);
        }
        name_map_set(&seen, member->name, member);
        if (member->init)
            report(s->diags, MEMBER_DEFAULT, member->init->span, NULL);
        member->type = check_type(s, member->type_name, &member->sizes, NULL);
        if (!check_variable_type(s, member->type, "a member", member->type_name->span))
            member->type = &type_error;
        is_good = is_good && !type_is_error(member->type);
        member->leaf = type->leaves;
        type->scalars += member->type->scalars;
        type->leaves += member->type->leaves;
        type->closures += member->type->closures;
        if (type->nesting <= member->type->nesting)
            type->nesting = member->type->nesting + 1;
        if (type->nesting > SSL_MAX_STRUCT_NESTING) {
            report(s->diags, STRUCT_TOO_NESTED, member->span,
                   text_of_number(s, SSL_MAX_STRUCT_NESTING));
            decl->type = &type_error;
            return;
        }
        if (type->scalars > SSL_MAX_VALUE_SCALARS) {
            report(s->diags, VALUE_TOO_LARGE, member->span, "this struct",
                   text_of_number(s, SSL_MAX_VALUE_SCALARS));
            decl->type = &type_error;
            return;
        }
    }
    if (decl->members.count == 0)
        report(s->diags, STRUCT_EMPTY, decl->span, decl->name);
    decl->type = is_good ? type : &type_error;
}

static void check_struct(Sema *s, StructDecl *decl)
{
    StructDecl *other = name_map_get(&s->module->structs, decl->name);
    if (other != decl) {
        report(s->diags, REDECLARED, decl->span, decl->name);
        report(s->diags, NOTE_PREVIOUS, other->span, NULL);
    }
    if (decl->type_params.count > 0)
        check_generic_struct(s, decl);
    else
        check_members(s, decl);
}

static void check_file_constant(Sema *s, VarDecl *var)
{
    s->is_file_constant = true;
    var->type = check_type(s, var->type_name, &var->sizes, var->init);
    s->is_file_constant = false;
    bool is_good = type_is(var->type, SSL_STRING) || var->type->scalars > 0;
    if (!var->is_const) {
        report(s->diags, FILE_SCOPE_VARIABLE, var->span, var->name);
    } else if (!type_is_error(var->type) && (!is_good || var->type->closures > 0)) {
        report(s->diags, BAD_VARIABLE_TYPE, var->type_name->span, "a file-scope constant",
               text_of(s, var->type), "");
        var->type = &type_error;
    } else if (!var->init) {
        report(s->diags, CONST_UNINITIALISED, var->span, var->name);
    }
    if (var->init) {
        var->init = check_initialiser(s, var->init, var->type);
        var->constant = check_constant(s, var->init, "a file-scope constant");
    }
    if (!var->constant)
        var->type = &type_error;
    var->is_assigned = true;
    const VarDecl *known =
        s->module->library ? name_map_get(&s->module->library->variables, var->name) : NULL;
    if (known)
        (void)is_fixed(s, known->span, var->span, var->name);
    scope_declare(s, var);
    name_map_set(&s->module->variables, var->name, var);
}

static bool is_before(Span a, Span b)
{
    return a.file != b.file ? a.file < b.file : a.begin < b.begin;
}

/* A struct may have constants in its array sizes, and a constant may be a struct. */
static void check_structs_and_constants(Sema *s)
{
    Ast *ast = s->module->ast;
    uint32_t next_struct = 0, next_constant = 0;
    while (next_struct < ast->structs.count || next_constant < ast->constants.count) {
        bool is_struct = next_constant == ast->constants.count ||
                         (next_struct < ast->structs.count &&
                          is_before(ast->structs.data[next_struct]->span,
                                    ast->constants.data[next_constant]->span));
        if (is_struct)
            check_struct(s, ast->structs.data[next_struct++]);
        else
            check_file_constant(s, ast->constants.data[next_constant++]);
    }
}

static void check_textures(Sema *s)
{
    Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->textures.count; ++i) {
        VarDecl *var = ast->textures.data[i];
        if (var->init || var->sizes.count > 0 || var->type_name->sizes.count > 0)
            report(s->diags, TEXTURE_DECLARATION, var->span, NULL);
        if (i == SSL_MAX_TEXTURES)
            report(s->diags, TOO_MANY_TEXTURES, var->span, text_of_number(s, SSL_MAX_TEXTURES));
        var->type = type_basic(SSL_TEXTURE2D);
        var->is_assigned = true;
        scope_declare(s, var);
        name_map_set(&s->module->variables, var->name, var);
    }
}

/* --- metadata --- */

static void check_metadata(Sema *s, MetadataList *list)
{
    for (uint32_t i = 0; i < list->count; ++i) {
        Metadata *item = &list->items[i];
        const Type *type = check_type(s, &item->type_name, NULL, NULL);
        bool is_good =
            type->kind == TYPE_BASIC && (type_lanes(type) > 0 || type_is(type, SSL_INT) ||
                                         type_is(type, SSL_BOOL) || type_is(type, SSL_STRING));
        if (!is_good && !type_is_error(type)) {
            report(s->diags, METADATA_VALUE, item->type_name.span, text_of(s, type));
            continue;
        }
        item->value = check_initialiser(s, item->value, type);
        const Constant *c = check_constant(s, item->value, "metadata");
        if (!c)
            continue;
        item->constant.type = type->basic;
        if (type_is(type, SSL_STRING))
            item->constant.s = c->text;
        else if (type_is(type, SSL_BOOL))
            item->constant.b = c->scalars[0].b;
        else if (type_is(type, SSL_INT))
            item->constant.i = c->scalars[0].i;
        for (uint32_t k = 0; k < type_lanes(type); ++k)
            item->constant.f[k] = c->scalars[k].f;
    }
}

/* --- functions --- */

const char *sema_func_name(const FuncDecl *f, Arena *arena)
{
    bool has_types = f->generic && f->generic->type_params.count > 0;
    const char *name = has_types ? instance_name(f, arena) : f->name;
    return f->owner ? arena_printf(arena, "%s.%s", f->owner->name, name) : name;
}

const char *sema_func_text(const FuncDecl *f, Arena *arena)
{
    static const char *const directions[] = {"", "out ", "inout "};
    const char *text = f->is_shader
                           ? arena_printf(arena, "shader %s(", f->name)
                           : arena_printf(arena, "%s %s(", type_text(f->return_type, arena),
                                          sema_func_name(f, arena));
    uint32_t first = f->owner ? 1 : 0; /* without `this` */
    for (uint32_t i = first; i < f->params.count; ++i) {
        const VarDecl *p = f->params.items[i];
        text = arena_printf(arena, "%s%s%s%s%s%s%s", text, i > first ? ", " : "",
                            directions[p->direction], type_text(p->type, arena), p->name ? " " : "",
                            p->name ? p->name : "", p->init ? " = ..." : "");
    }
    return arena_printf(arena, "%s)", text);
}

/* Numbers, closures, structs and arrays of numbers; strings as inputs only, since they are constants of
 * each instance. */
static void check_shader_param(Sema *s, const FuncDecl *f, VarDecl *param)
{
    const Type *t = param->type;
    bool is_output = param->direction == DIRECTION_OUT;
    bool is_string = type_is(t, SSL_STRING);
    bool is_good =
        is_string ? !is_output : t->scalars > 0 && (t->kind == TYPE_BASIC || t->closures == 0);
    if (is_string)
        param->is_const = true;
    if (param->direction == DIRECTION_INOUT)
        report(s->diags, SHADER_INOUT, param->span, NULL);
    if (!type_is_error(t) && !is_good && f->is_of_bsdf && is_output)
        report(s->diags, BSDF_STATE_TYPE, param->type_name->span, "this", text_of(s, t));
    else if (!type_is_error(t) && !is_good && !f->is_of_bsdf) /* only once, as what prepare gives */
        report(s->diags, SHADER_PARAM_TYPE, param->type_name->span,
               is_output ? "output" : "parameter", text_of(s, t));
    if (type_is(t, SSL_TEXTURE2D))
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena,
                            "'texture2d %s;' at file scope: it is an input of the material",
                            param->name ? param->name : "name"));
    if (!param->name)
        report(s->diags, EXPECTED, param->span, "a name", "for the parameter", "none");
}

static void check_default(Sema *s, const FuncDecl *f, VarDecl *param)
{
    if (param->direction != DIRECTION_IN) {
        report(s->diags, DEFAULT_OF_OUT, param->init->span,
               param->direction == DIRECTION_OUT ? "out" : "inout");
        param->init = NULL;
        return;
    }
    param->init = check_initialiser(s, param->init, param->type);
    param->constant =
        check_constant(s, param->init, f->is_shader ? "a parameter's default" : "a default");
    if (!param->constant && param->type->scalars > 0)
        param->constant = const_of_zero(param->type, s->arena);
}

/* `float knots[]`, which the library may have: each size of the argument makes a function of its own when
 * it is lowered. */
static bool is_unsized_param(const FuncDecl *f, const VarDecl *param)
{
    return f->is_library && param->direction == DIRECTION_IN && param->sizes.count == 1 &&
           !param->sizes.items[0];
}

static const Type *check_param_type(Sema *s, FuncDecl *f, const VarDecl *param)
{
    if (is_unsized_param(f, param)) {
        f->is_sized = true;
        return type_array(s->arena, check_type(s, param->type_name, NULL, NULL), 0);
    }
    uint32_t errors = diag_error_count(s->diags);
    const Type *type = check_type(s, param->type_name, &param->sizes, NULL);
    if (!param->name && type_is_error(type) && diag_error_count(s->diags) > errors)
        report(s->diags, NOTE_WRITE, (Span){0}, "the type and the name of each parameter: float x");
    bool is_good =
        f->is_shader || check_variable_type(s, type, "a parameter", param->type_name->span);
    return is_good ? type : &type_error;
}

static void check_types_of(Sema *s, FuncDecl *f)
{
    bool has_default = false;
    f->return_type = check_type(s, &f->return_name, NULL, NULL);
    if (!type_is_error(f->return_type) && f->return_type->scalars == 0 &&
        !type_is(f->return_type, SSL_VOID)) {
        report(s->diags, BAD_VARIABLE_TYPE, f->return_name.span, "a function's result",
               text_of(s, f->return_type), "");
        f->return_type = &type_error;
    }
    for (uint32_t i = 0; i < f->params.count; ++i) {
        VarDecl *param = f->params.items[i];
        param->type = check_param_type(s, f, param);
        param->is_assigned = param->direction != DIRECTION_OUT;
        if (param->init)
            check_default(s, f, param);
        else if (has_default && !f->is_shader && param->direction == DIRECTION_IN)
            report(s->diags, DEFAULT_MISSING, param->span, param->name ? param->name : "this");
        has_default = has_default || param->init;
        if (f->is_shader)
            check_shader_param(s, f, param);
        else if (param->metadata.count > 0)
            report(s->diags, METADATA_PLACE, param->metadata.items[0].span, NULL);
        check_metadata(s, &param->metadata);
    }
    check_metadata(s, &f->metadata);
}

void check_signature(Sema *s, FuncDecl *f)
{
    const Binding *outer = s->bindings;
    f->id = s->module->func_count++;
    if (f->owner)
        method_bind_this(s, f);
    s->bindings = f->bindings;
    check_types_of(s, f);
    s->bindings = outer;
}

static bool has_same_params(const FuncDecl *a, const FuncDecl *b)
{
    if (a->params.count != b->params.count || a->type_params.count > 0 || b->type_params.count > 0)
        return false;
    for (uint32_t i = 0; i < a->params.count; ++i) {
        const Type *ta = a->params.items[i]->type, *tb = b->params.items[i]->type;
        if (type_is_error(ta) || type_is_error(tb) || !type_same(ta, tb))
            return false;
    }
    return true;
}

/* `later` declares or defines what `earlier` declared: one function, with the defaults of both. */
static void merge_declarations(Sema *s, FuncDecl *earlier, FuncDecl *later)
{
    ASSERT(earlier != later && has_same_params(earlier, later));
    if (earlier->body && later->body) {
        report(s->diags, FUNCTION_REDEFINED, later->span, sema_func_text(later, s->arena));
        report(s->diags, NOTE_PREVIOUS, earlier->span, NULL);
        return;
    }
    if (!type_same(earlier->return_type, later->return_type)) {
        report(s->diags, RETURN_TYPE_DIFFERS, later->return_name.span,
               sema_func_text(later, s->arena), text_of(s, earlier->return_type));
        report(s->diags, NOTE_PREVIOUS, earlier->span, NULL);
    }
    static const char *const directions[] = {"in", "out", "inout"};
    for (uint32_t i = 0; i < later->params.count; ++i) {
        VarDecl *a = earlier->params.items[i], *b = later->params.items[i];
        if (a->direction != b->direction) {
            report(s->diags, PARAM_DIFFERS, b->span, b->name ? b->name : "this",
                   directions[a->direction]);
            report(s->diags, NOTE_PREVIOUS, a->span, NULL);
        }
        if (a->init && b->init) {
            report(s->diags, DEFAULT_TWICE, b->init->span, b->name ? b->name : "this");
            report(s->diags, NOTE_PREVIOUS, a->init->span, NULL);
        }
        VarDecl *with = a->init ? a : b, *without = a->init ? b : a;
        without->init = with->init;
        without->constant = with->constant;
    }
}

/* Returns false after a report: shaders have no overloads, and functions do not shadow what the parser needs. */
static bool may_overload(Sema *s, const FuncDecl *f, FuncDecl *first)
{
    const FuncDecl *known =
        s->module->library ? name_map_get(&s->module->library->functions, f->name) : NULL;
    for (; known && !f->owner; known = known->next_overload)
        if (has_same_params(f, known) && is_fixed(s, known->span, f->span, f->name))
            return false;
    if (!first || (!f->is_shader && !first->is_shader))
        return true;
    report(s->diags, REDECLARED, f->span, f->name);
    report(s->diags, NOTE_PREVIOUS, first->span, NULL);
    return false;
}

/* Adds a function to those of its name, or a method to those of its struct. */
static void add_overload(Sema *s, FuncDecl *f)
{
    FuncDecl *first = f->owner ? f->owner->methods : name_map_get(&s->module->functions, f->name);
    FuncDecl *last = NULL;
    uint32_t count = 0;
    if (!may_overload(s, f, f->owner ? NULL : first))
        return;
    for (FuncDecl *other = first; other; last = other, other = other->next_overload) {
        if (other->name != f->name)
            continue;
        if (!has_same_params(f, other)) {
            if (++count < SSL_MAX_OVERLOADS)
                continue;
            report(s->diags, TOO_MANY_OVERLOADS, f->span, text_of_number(s, SSL_MAX_OVERLOADS),
                   f->name);
            return;
        }
        merge_declarations(s, other, f);
        if (!f->body || other->body)
            return;
        f->next_overload = other->next_overload; /* the definition stands for both from here on */
        break;
    }
    if (last)
        last->next_overload = f;
    else if (f->owner)
        f->owner->methods = f;
    else
        name_map_set(&s->module->functions, f->name, f);
}

static void check_inputs_metadata(Sema *s)
{
    Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->textures.count; ++i)
        check_metadata(s, &ast->textures.data[i]->metadata);
    for (uint32_t i = 0; i < ast->attributes.count; ++i)
        check_metadata(s, &ast->attributes.data[i]->metadata);
}

static void check_has_output(Sema *s, const FuncDecl *shader)
{
    for (uint32_t i = 0; i < shader->params.count; ++i)
        if (shader->params.items[i]->direction != DIRECTION_IN)
            return;
    report(s->diags, NO_OUTPUT, shader->span, shader->name);
}

/* The signature of a function, or of the first instance of a generic one. */
static void check_function(Sema *s, FuncDecl *f)
{
    const uint32_t errors = diag_error_count(s->diags);
    if (f->generic) /* check_generic has made it */
        return;
    if (f->type_params.count > 0)
        check_generic(s, f);
    else
        check_signature(s, f);
    add_overload(s, f);
    if (f->owner)
        check_method_name(s, f);
    if (f->owner && f->owner->generic && diag_error_count(s->diags) > errors)
        struct_method_is_bad(f);
}

/* The body of a function. What is wrong in an instance, but not in the generic function, is said to be of it. */
static void check_body_or_instance(Sema *s, FuncDecl *f)
{
    uint32_t errors = diag_error_count(s->diags);
    bool is_instance = f->generic && !f->is_abstract;
    if (is_instance && has_errors(s))
        return;
    s->bindings = f->bindings;
    check_body(s, f);
    s->bindings = NULL;
    if (is_instance && diag_error_count(s->diags) > errors)
        note_instances(s, f);
}

void check_file(Sema *s)
{
    Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->structs.count; ++i)
        if (!name_map_get(&s->module->structs, ast->structs.data[i]->name))
            name_map_set(&s->module->structs, ast->structs.data[i]->name, ast->structs.data[i]);
    declare_interfaces(s);
    check_structs_and_constants(s);
    check_interfaces(s);
    check_textures(s);
    check_attributes(s);
    check_inputs_metadata(s);
    for (uint32_t i = 0; i < ast->funcs.count && !report_is_full(s->diags); ++i)
        check_function(s, ast->funcs.data[i]);
    if (report_is_full(s->diags))
        return;
    check_diff_attributes(s);
    check_structs_are_interfaces(s);
    /* Instances of generic functions are added meanwhile, and checked in their turn. */
    for (uint32_t i = 0; i < ast->funcs.count && !report_is_full(s->diags); ++i)
        if (ast->funcs.data[i]->body && ast->funcs.data[i]->type_params.count == 0)
            check_body_or_instance(s, ast->funcs.data[i]);
    if (!report_is_full(s->diags))
        check_call_graph(s);
    for (uint32_t i = 0; i < ast->funcs.count && !has_errors(s); ++i)
        if (ast->funcs.data[i]->is_shader)
            check_has_output(s, ast->funcs.data[i]);
}
