/* Checks of attributes: declarations in the source, and reads of these and of the host's table. A declaration hides a
 * row of the same name. */
#include "base/check.h"
#include "ssl/sema/checker.h"
#include "ssl/ssl_limits.h"

#include <string.h>

static bool is_attribute_type(const Type *t)
{
    return type_lanes(t) > 0 || type_is(t, SSL_INT) || type_is(t, SSL_BOOL);
}

static void check_declaration(Sema *s, VarDecl *var)
{
    var->type = check_type(s, var->type_name, &var->sizes, NULL);
    if (!type_is_error(var->type) && !is_attribute_type(var->type)) {
        report(s->diags, ATTRIBUTE_TYPE, var->type_name->span, text_of(s, var->type));
        var->type = &type_error;
    }
    if (var->init) {
        var->init = check_initialiser(s, var->init, var->type);
        var->constant = check_constant(s, var->init, "an attribute's default");
    }
    if (!var->constant && var->type->scalars > 0)
        var->constant = const_of_zero(var->type, s->arena);
    var->is_assigned = true;
    scope_declare(s, var);
    name_map_set(&s->module->variables, var->name, var);
}

void check_attributes(Sema *s)
{
    Ast *ast = s->module->ast;
    for (uint32_t i = 0; i < ast->attributes.count; ++i) {
        if (i == SSL_MAX_ATTRIBUTES)
            report(s->diags, TOO_MANY_ATTRIBUTES, ast->attributes.data[i]->span,
                   text_of_number(s, SSL_MAX_ATTRIBUTES));
        check_declaration(s, ast->attributes.data[i]);
    }
}

static Expr *read_of(Expr *e, const Type *type, uint32_t index, bool is_declared)
{
    ASSERT(e->kind == EXPR_ATTRIBUTE && type);
    e->attribute.index = index;
    e->attribute.is_declared = is_declared;
    e->type = e->op == TOKEN_ATTRIBUTE ? type : type_basic(SSL_BOOL);
    return type_is_error(e->type) ? expr_error(e) : expr_seal(e);
}

Expr *check_attribute(Sema *s, Expr *e)
{
    const Ast *ast = s->module->ast;
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < ast->attributes.count; ++i) {
        const Type *type = ast->attributes.data[i]->type;
        if (ast->attributes.data[i]->name == e->name &&
            !type) { /* file scope: it is not known yet */
            report(s->diags, NOT_CONSTANT, e->span, "this");
            return expr_error(e);
        }
        if (ast->attributes.data[i]->name == e->name)
            return read_of(e, type, i, true);
        array_push(s->arena, &names, ast->attributes.data[i]->name);
    }
    for (uint32_t i = 0; i < s->tables->attribute_count; ++i) {
        const SslAttributeRow *row = &s->tables->attributes[i];
        if (strcmp(row->name, e->name) == 0)
            return read_of(e, type_basic(row->type), i, false);
        array_push(s->arena, &names, row->name);
    }
    report(s->diags, UNKNOWN_ATTRIBUTE, e->name_span, e->name);
    report_suggestion(s->diags, e->name, names.data, names.count);
    return expr_error(e);
}
