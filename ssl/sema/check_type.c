#include "ssl/sema/checker.h"
#include "ssl/ssl_limits.h"

static const Type *named_type(Sema *s, const TypeName *name)
{
    if (name->is_bad)
        return &type_error;
    if (name->inner)
        return check_diff_type(s, name, check_type(s, name->inner, NULL, NULL));
    if (!name->struct_name)
        return type_basic(name->basic);
    if (name->args.count > 0)
        return check_struct_instance(s, name->struct_name, &name->args, name->span);
    const Type *bound = bound_type(s, name->struct_name);
    if (bound)
        return bound;
    const StructDecl *decl = find_struct(s, name->struct_name);
    if (decl && decl->type)
        return decl->type;
    if (decl && decl->type_params.count > 0) {
        report_types_missing(s, decl, name->span, "");
        return &type_error;
    }
    if (decl) {
        report(s->diags, STRUCT_INCOMPLETE, name->span, name->struct_name);
        return &type_error;
    }
    if (find_interface(s, name->struct_name)) {
        report(s->diags, INTERFACE_AS_TYPE, name->span, name->struct_name);
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "a generic function: f<T : %s>(T x)", name->struct_name));
        return &type_error;
    }
    if (!sema_is_news(s, name->struct_name))
        return &type_error;
    report(s->diags, UNKNOWN_TYPE, name->span, name->struct_name);
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < s->module->ast->structs.count; ++i)
        array_push(s->arena, &names, s->module->ast->structs.data[i]->name);
    for (int basic = SSL_VOID; basic <= SSL_TEXTURE2D; ++basic)
        array_push(s->arena, &names, ssl_type_name((SslType)basic));
    report_suggestion(s->diags, name->struct_name, names.data, names.count);
    return &type_error;
}

/* Returns an array's size, or 0 after a report. */
static uint32_t check_size(Sema *s, Expr *size)
{
    const Expr *culprit;
    size = check_value(s, size);
    if (type_is_error(size->type))
        return 0;
    const Constant *c = type_is(size->type, SSL_INT) ? const_eval(size, s->arena, &culprit) : NULL;
    if (c && c->scalars[0].i >= 1)
        return (uint32_t)c->scalars[0].i;
    report(s->diags, ARRAY_SIZE, size->span, NULL);
    if (!c && size->kind == EXPR_NAME)
        report(s->diags, NOTE_WRITE, (Span){0},
               "'const int n = 16;' at file scope, for the largest size that is needed");
    return 0;
}

static const Type *array_of(Sema *s, const Type *element, uint32_t count, Span span)
{
    uint32_t most = s->is_file_constant ? SSL_MAX_TABLE_SCALARS : SSL_MAX_VALUE_SCALARS;
    if (count == 0 || type_is_error(element))
        return &type_error;
    if (element->closures * (uint64_t)count > SSL_MAX_CLOSURE_ARRAY) {
        report(s->diags, CLOSURE_ARRAY, span, text_of_number(s, SSL_MAX_CLOSURE_ARRAY));
        return &type_error;
    }
    if (element->scalars == 0) {
        report(s->diags, BAD_VARIABLE_TYPE, span, "an array's element", text_of(s, element), "");
        return &type_error;
    }
    if (count > most || element->scalars * count > most) {
        report(s->diags, VALUE_TOO_LARGE, span, "this array", text_of_number(s, most));
        return &type_error;
    }
    return type_array(s->arena, element, count);
}

const Type *check_type(Sema *s, const TypeName *name, const ExprList *sizes,
                       const Expr *initialiser)
{
    const Type *type = named_type(s, name);
    uint32_t dimensions = (sizes ? sizes->count : 0) + name->sizes.count;
    if (dimensions > SSL_MAX_ARRAY_NESTING) {
        report(s->diags, ARRAY_TOO_NESTED, name->span, text_of_number(s, SSL_MAX_ARRAY_NESTING));
        return &type_error;
    }
    for (uint32_t i = dimensions; i-- > 0;) { /* from the innermost */
        uint32_t own = sizes ? sizes->count : 0;
        Expr *size = i < own ? sizes->items[i] : name->sizes.items[i - own];
        uint32_t count = 0;
        if (size)
            count = check_size(s, size);
        else if (i == 0 && initialiser && initialiser->kind == EXPR_LIST)
            count = initialiser->args.count;
        if (!size && count == 0)
            report(s->diags, ARRAY_SIZE_MISSING, name->span, NULL);
        type = array_of(s, type, count, name->span);
    }
    return type;
}

bool check_variable_type(Sema *s, const Type *type, const char *what, Span span)
{
    const char *why = type_is(type, SSL_TEXTURE2D) ? ": textures are declared at file scope"
                      : type_is(type, SSL_STRING)  ? ": strings are constants"
                                                   : "";
    if (type_is_error(type) || type->scalars > 0)
        return true;
    report(s->diags, BAD_VARIABLE_TYPE, span, what, text_of(s, type), why);
    return false;
}
