/* Declarations: structs, functions, shaders, textures, attributes, constants, and the declarators they share. */
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"

#include <string.h>

typedef ARRAY(VarDecl *) VarArray;

static VarDecl *make_var(Parser *p, VarDecl node)
{
    ASSERT(node.type_name);
    VarDecl *var = ARENA_NEW(p->arena, VarDecl);
    *var = node;
    return var;
}

VarList parse_declarators(Parser *p, VarKind kind, bool is_const, TypeName *type_name)
{
    ARRAY(VarDecl *) vars = {0};
    do {
        VarDecl var = {.kind = kind, .is_const = is_const, .type_name = type_name};
        var.name = parse_name(p, "in the declaration", false, &var.span);
        if (!var.name)
            break;
        var.sizes = parse_sizes(p);
        if (parse_accept(p, TOKEN_ASSIGN))
            var.init = parse_initialiser(p);
        if (!p->is_panicking && (kind == VAR_TEXTURE || kind == VAR_ATTRIBUTE))
            var.metadata = parse_metadata(p);
        array_push(p->arena, &vars, make_var(p, var));
    } while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    if (!p->is_panicking && parse_at_metadata(p))
        parse_report(p, METADATA_PLACE, parse_token(p)->span, NULL);
    return (VarList){vars.data, vars.count};
}

bool parse_at_metadata(const Parser *p)
{
    return parse_is(p, TOKEN_OPEN_BRACKET) && parse_next_kind(p) == TOKEN_OPEN_BRACKET &&
           parse_token(p)->span.end == p->tokens[p->at + 1].span.begin;
}

/* [[ string label = "Roughness", float min = 0 ]] */
MetadataList parse_metadata(Parser *p)
{
    ARRAY(Metadata) list = {0};
    if (!parse_at_metadata(p))
        return (MetadataList){0};
    Span open = parse_advance(p)->span;
    parse_advance(p);
    if (!parse_is(p, TOKEN_CLOSE_BRACKET)) {
        do {
            Metadata item = {.span = parse_token(p)->span};
            Span name_span;
            item.type_name = parse_type_name(p);
            item.name = parse_name(p, "in the metadata", true, &name_span);
            if (!item.name || !parse_expect(p, TOKEN_ASSIGN, "after the metadata's name"))
                break;
            item.value = parse_assignment(p);
            item.span = span_join(item.span, item.value->span);
            array_push(p->arena, &list, item);
        } while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    }
    if (parse_close(p, TOKEN_CLOSE_BRACKET, open))
        parse_close(p, TOKEN_CLOSE_BRACKET, open);
    return (MetadataList){list.data, list.count};
}

static bool accept_no_diff(Parser *p)
{
    bool is_there = parse_at_no_diff(p);
    if (is_there)
        parse_advance(p);
    return is_there;
}

static VarDecl *parse_param(Parser *p)
{
    VarDecl var = {.kind = VAR_PARAM};
    var.is_no_diff = accept_no_diff(p);
    var.is_const = parse_accept(p, TOKEN_CONST);
    if (parse_accept(p, TOKEN_OUT))
        var.direction = DIRECTION_OUT;
    else if (parse_accept(p, TOKEN_INOUT))
        var.direction = DIRECTION_INOUT;
    else
        parse_accept(p, TOKEN_IN);
    var.type_name = ARENA_NEW(p->arena, TypeName);
    *var.type_name = parse_type_name(p);
    var.span = var.type_name->span;
    if (!parse_is(p, TOKEN_COMMA) && !parse_is(p, TOKEN_CLOSE)) {
        Span span;
        var.name = parse_name(p, "for the parameter", false, &span);
        var.span = var.name ? span : var.span;
    }
    if (!p->is_panicking)
        var.sizes = parse_sizes(p);
    if (!p->is_panicking && parse_accept(p, TOKEN_ASSIGN))
        var.init = parse_initialiser(p);
    if (!p->is_panicking)
        var.metadata = parse_metadata(p);
    return make_var(p, var);
}

VarList parse_params(Parser *p)
{
    ARRAY(VarDecl *) params = {0};
    Span open = parse_token(p)->span;
    if (!parse_expect(p, TOKEN_OPEN, "before the parameters"))
        return (VarList){0};
    if (parse_is(p, TOKEN_VOID) && parse_next_kind(p) == TOKEN_CLOSE)
        parse_advance(p); /* f(void) */
    else if (!parse_is(p, TOKEN_CLOSE)) {
        do
            array_push(p->arena, &params, parse_param(p));
        while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    }
    if (params.count > SSL_MAX_PARAMS)
        parse_report(p, TOO_MANY_PARAMS, open, arena_printf(p->arena, "%d", SSL_MAX_PARAMS));
    parse_close(p, TOKEN_CLOSE, open);
    return (VarList){params.data, params.count};
}

/* Whether method number `index` of a struct or an interface may be there. Reports the first that may not. */
static bool may_have_method(Parser *p, uint32_t index, Span span, const char *owner)
{
    if (index == SSL_MAX_METHODS)
        report(p->diags, TOO_MANY_METHODS, span, arena_printf(p->arena, "%d", SSL_MAX_METHODS),
               owner);
    return index < SSL_MAX_METHODS;
}

/* After the parameters. The body is read even if there was something wrong in these. */
static void parse_body_or_end(Parser *p, FuncDecl *node)
{
    p->is_panicking = false;
    if (node->is_shader || node->type_params.count > 0 || parse_is(p, TOKEN_OPEN_BRACE))
        node->body = parse_block(p);
    else
        parse_semicolon(p, "after the function's declaration");
}

/* After the return type: name (params) body or ; */
static void parse_function(Parser *p, FuncDecl node)
{
    uint32_t errors_before = diag_error_count(p->diags);
    node.name =
        parse_name(p, node.is_shader ? "after 'shader'" : "for the function", false, &node.span);
    if (!node.name)
        return;
    node.is_library = p->is_library;
    if (node.is_shader)
        node.metadata = parse_metadata(p);
    else if (parse_is(p, TOKEN_LESS))
        node.type_params = parse_type_params(p);
    if (p->is_panicking)
        return;
    parse_name_types(p, &node.type_params, true, NULL);
    node.params = parse_params(p);
    bool is_lost = p->is_panicking && !parse_is(p, TOKEN_OPEN_BRACE);
    if (!is_lost)
        parse_body_or_end(p, &node);
    parse_name_types(p, &node.type_params, false, NULL);
    if (is_lost)
        return;
    node.is_bad = diag_error_count(p->diags) > errors_before;
    FuncDecl *func = ARENA_NEW(p->arena, FuncDecl);
    *func = node;
    array_push(p->arena, &p->ast->funcs, func);
}

/* The first parameter of a method: the value that it is called on. */
static VarDecl *make_this(Parser *p, const FuncDecl *method)
{
    TypeName *type_name = ARENA_NEW(p->arena, TypeName);
    const char *this_type = names_intern(p->names, STR_LIT("This"));
    *type_name = (TypeName){.span = method->span, .struct_name = this_type};
    VarDecl this = {.kind = VAR_PARAM,
                    .span = method->span,
                    .name = names_intern(p->names, STR_LIT("this")),
                    .type_name = type_name,
                    .is_const = true};
    for (uint32_t i = 0; i < method->attributes.count; ++i) {
        this.is_no_diff = this.is_no_diff || method->attributes.items[i].kind == MARK_NO_DIFF_THIS;
        if (method->attributes.items[i].kind == MARK_MUTATING) {
            this.direction = DIRECTION_INOUT;
            this.is_const = false;
        }
    }
    return make_var(p, this);
}

/* After the name of what stands in a struct or an interface: (params). Returns false if it could not be read. */
static bool parse_method_params(Parser *p, FuncDecl *node)
{
    VarList own = parse_params(p);
    if (p->is_panicking)
        return false;
    node->params.items = ARENA_ARRAY(p->arena, VarDecl *, own.count + 1);
    node->params.items[node->params.count++] = make_this(p, node);
    for (uint32_t i = 0; i < own.count; ++i)
        node->params.items[node->params.count++] = own.items[i];
    return true;
}

/* The name of what stands in a struct or an interface. */
static void parse_method_name(Parser *p, FuncDecl *node)
{
    ASSERT(parse_is(p, TOKEN_NAME));
    node->is_library = p->is_library;
    node->name = parse_advance(p)->text;
    node->span = parse_last_span(p);
}

/* After the name of a method: (params) body. Returns false if it could not be read. */
static bool parse_method_body(Parser *p, FuncDecl *node)
{
    if (!parse_method_params(p, node))
        return false;
    if (!parse_is(p, TOKEN_OPEN_BRACE)) {
        bool is_const = parse_is(p, TOKEN_CONST);
        parse_expect(p, TOKEN_OPEN_BRACE, "before the body: a method is written in its struct");
        if (is_const)
            report(p->diags, NOTE_WRITE, (Span){0},
                   "it without const: only a [mutating] method changes its value");
        return false;
    }
    node->body = parse_block(p);
    return true;
}

/* After the type of what stands in a struct: name <types> (params) body. */
static void parse_method(Parser *p, StructDecl *owner, FuncDecl node)
{
    uint32_t errors_before = diag_error_count(p->diags);
    node.owner = owner;
    parse_method_name(p, &node);
    if (parse_is(p, TOKEN_LESS))
        node.type_params = parse_type_params(p);
    if (p->is_panicking)
        return;
    parse_name_types(p, &node.type_params, true, &owner->type_params);
    bool is_read = parse_method_body(p, &node);
    parse_name_types(p, &node.type_params, false, &owner->type_params);
    node.is_bad = diag_error_count(p->diags) > errors_before;
    if (!is_read || !may_have_method(p, owner->method_count++, node.span, owner->name))
        return;
    FuncDecl *method = ARENA_NEW(p->arena, FuncDecl);
    *method = node;
    if (owner->type_params.count > 0)
        array_push(p->arena, &owner->parsed_methods, method);
    else
        array_push(p->arena, &p->ast->funcs, method);
}

/* type member, ...;   or a method */
static void parse_struct_item(Parser *p, StructDecl *decl, VarArray *members)
{
    FuncDecl method = {.attributes = parse_attributes(p, false)};
    if (p->is_panicking)
        return;
    TypeName *type_name = ARENA_NEW(p->arena, TypeName);
    bool is_no_diff = method.is_no_diff = accept_no_diff(p);
    *type_name = method.return_name = parse_type_name(p);
    if (p->is_panicking)
        return;
    TokenKind next = parse_next_kind(p);
    if (parse_is(p, TOKEN_NAME) && (next == TOKEN_OPEN || next == TOKEN_LESS)) {
        parse_method(p, decl, method);
        return;
    }
    if (method.attributes.count > 0)
        report(p->diags, ATTRIBUTE_PLACE, method.attributes.items[0].span, "this attribute",
               "a function");
    VarList vars = parse_declarators(p, VAR_MEMBER, false, type_name);
    parse_semicolon(p, "after the member");
    for (uint32_t i = 0; i < vars.count; ++i) {
        vars.items[i]->index = members->count;
        vars.items[i]->is_no_diff = is_no_diff;
        array_push(p->arena, members, vars.items[i]);
    }
}

/* Whether another item of a struct or an interface may follow. What was wrong in the one before ends with it. */
static bool may_have_item(Parser *p)
{
    if (p->is_panicking && !parse_is(p, TOKEN_CLOSE_BRACE))
        parse_recover(p);
    return !parse_is(p, TOKEN_CLOSE_BRACE) && !parse_is(p, TOKEN_SHADER) &&
           !parse_is(p, TOKEN_STRUCT) && !parse_is(p, TOKEN_END);
}

/* In the braces of a struct or an interface, This is the name of a type. */
static void name_this(Parser *p, bool is_type)
{
    name_map_set(&p->struct_names, names_intern(p->names, STR_LIT("This")),
                 is_type ? &p->at : NULL);
}

/* struct Name <types> : Interfaces { type member, ...; ... }; */
static void parse_struct(Parser *p)
{
    VarArray members = {0};
    StructDecl *decl = ARENA_NEW(p->arena, StructDecl);
    parse_advance(p);
    decl->name = parse_name(p, "after 'struct'", false, &decl->span);
    decl->is_library = p->is_library;
    if (decl->name && parse_is(p, TOKEN_LESS))
        decl->type_params = parse_type_params(p);
    if (p->is_panicking)
        return;
    if (decl->name)
        decl->interfaces = parse_accept_interfaces(p, TOKEN_COMMA);
    Span open = parse_token(p)->span;
    if (!decl->name || !parse_expect(p, TOKEN_OPEN_BRACE, "before the struct's members"))
        return;
    name_this(p, true);
    parse_name_types(p, &decl->type_params, true, NULL);
    while (may_have_item(p))
        parse_struct_item(p, decl, &members);
    parse_name_types(p, &decl->type_params, false, NULL);
    name_this(p, false);
    decl->end = parse_token(p)->span;
    decl->members = (VarList){members.data, members.count};
    array_push(p->arena, &p->ast->structs, decl);
    if (parse_close(p, TOKEN_CLOSE_BRACE, open))
        parse_semicolon(p, "after the struct");
}

static bool at_interface(const Parser *p)
{
    if (!parse_is(p, TOKEN_NAME) || strcmp(parse_token(p)->text, "interface") != 0 ||
        parse_next_kind(p) != TOKEN_NAME)
        return false;
    TokenKind after = p->tokens[p->at + 2].kind;
    bool is_generic = after == TOKEN_LESS && p->tokens[p->at + 3].kind == TOKEN_NAME &&
                      p->tokens[p->at + 4].kind == TOKEN_GREATER &&
                      p->tokens[p->at + 5].kind != TOKEN_OPEN; /* which the parser refuses */
    return after == TOKEN_OPEN_BRACE || after == TOKEN_COLON || is_generic;
}

/* type name (params); */
static void parse_requirement(Parser *p, InterfaceDecl *decl)
{
    FuncDecl method = {.attributes = parse_attributes(p, false)};
    if (p->is_panicking)
        return;
    method.is_no_diff = accept_no_diff(p);
    method.return_name = parse_type_name(p);
    if (p->is_panicking)
        return;
    if (!parse_is(p, TOKEN_NAME) || parse_next_kind(p) != TOKEN_OPEN) {
        parse_report(p, INTERFACE_MEMBER, parse_token(p)->span, decl->name);
        return;
    }
    parse_method_name(p, &method);
    if (!parse_method_params(p, &method))
        return;
    if (parse_is(p, TOKEN_OPEN_BRACE)) {
        parse_report(p, INTERFACE_MEMBER, parse_token(p)->span, decl->name);
        return;
    }
    parse_semicolon(p, "after the method");
    FuncDecl *f = ARENA_NEW(p->arena, FuncDecl);
    *f = method;
    if (may_have_method(p, decl->method_count++, f->span, decl->name))
        array_push(p->arena, &decl->methods, f);
}

/* interface Name : Others { type method(params); ... }   and a ';', as after a struct, or none */
static void parse_interface(Parser *p)
{
    InterfaceDecl *decl = ARENA_NEW(p->arena, InterfaceDecl);
    parse_advance(p);
    decl->name = parse_name(p, "after 'interface'", false, &decl->span);
    if (decl->name)
        decl->interfaces = parse_accept_interfaces(p, TOKEN_COMMA);
    Span open = parse_token(p)->span;
    if (!decl->name || !parse_expect(p, TOKEN_OPEN_BRACE, "before the interface's methods"))
        return;
    name_this(p, true);
    while (may_have_item(p))
        parse_requirement(p, decl);
    name_this(p, false);
    if (parse_may_have_interface(p, p->ast->interface_count++, decl->span))
        array_push(p->arena, &p->ast->interfaces, decl);
    parse_close(p, TOKEN_CLOSE_BRACE, open);
}

/* texture2d name, ...; */
static void parse_texture(Parser *p)
{
    TypeName *type_name = ARENA_NEW(p->arena, TypeName);
    *type_name = parse_type_name(p);
    VarList vars = parse_declarators(p, VAR_TEXTURE, false, type_name);
    for (uint32_t i = 0; i < vars.count; ++i)
        array_push(p->arena, &p->ast->textures, vars.items[i]);
    parse_semicolon(p, "after the texture");
}

/* attribute type name = default, ...; */
static void parse_attribute(Parser *p)
{
    TypeName *type_name = ARENA_NEW(p->arena, TypeName);
    parse_advance(p);
    *type_name = parse_type_name(p);
    if (p->is_panicking)
        return;
    VarList vars = parse_declarators(p, VAR_ATTRIBUTE, false, type_name);
    for (uint32_t i = 0; i < vars.count; ++i)
        array_push(p->arena, &p->ast->attributes, vars.items[i]);
    parse_semicolon(p, "after the attribute");
}

/* A function, or constants, which begin with a type; or a shader with attributes. */
static void parse_typed(Parser *p)
{
    FuncDecl func = {.attributes = parse_attributes(p, false)};
    Span begin = parse_token(p)->span;
    if (parse_accept(p, TOKEN_SHADER)) {
        func.is_shader = true;
        func.return_name = (TypeName){.span = begin, .basic = SSL_VOID};
        parse_function(p, func);
        return;
    }
    func.is_no_diff = accept_no_diff(p);
    func.is_componentwise =
        p->is_library && parse_is(p, TOKEN_NAME) && parse_token(p)->text == p->componentwise;
    if (func.is_componentwise)
        parse_advance(p);
    bool is_const = parse_accept(p, TOKEN_CONST);
    func.return_name = parse_type_name(p);
    if (p->is_panicking)
        return;
    TokenKind next = parse_next_kind(p);
    if (parse_is(p, TOKEN_NAME) && (next == TOKEN_OPEN || next == TOKEN_LESS) && !is_const) {
        parse_function(p, func);
        return;
    }
    if (func.attributes.count > 0 || func.is_no_diff)
        parse_report(p, ATTRIBUTE_PLACE, func.is_no_diff ? begin : func.attributes.items[0].span,
                     func.is_no_diff ? "no_diff" : "this attribute", "a function");
    TypeName *type_name = ARENA_NEW(p->arena, TypeName);
    *type_name = func.return_name;
    VarList vars = parse_declarators(p, VAR_CONSTANT, is_const, type_name);
    for (uint32_t i = 0; i < vars.count; ++i)
        array_push(p->arena, &p->ast->constants, vars.items[i]);
    parse_semicolon(p, "after the declaration");
}

static void parse_declaration(Parser *p)
{
    SslType type;
    const Token *token = parse_token(p);
    switch ((int)token->kind) {
    case TOKEN_SHADER:
        parse_advance(p);
        parse_function(p, (FuncDecl){.is_shader = true,
                                     .return_name = {.span = token->span, .basic = SSL_VOID}});
        break;
    case TOKEN_STRUCT:
        parse_struct(p);
        break;
    case TOKEN_TEXTURE2D:
        parse_texture(p);
        break;
    case TOKEN_ATTRIBUTE:
        parse_attribute(p);
        break;
    case TOKEN_SEMICOLON:
        parse_advance(p);
        break;
    case TOKEN_OPEN_BRACKET:
        if (parse_next_kind(p) == TOKEN_NAME)
            parse_typed(p);
        else
            parse_report(p, EXPECTED_DECLARATION, token->span, parse_describe(p));
        break;
    case TOKEN_CONST:
    case TOKEN_NAME:
        if (parse_at_bsdf(p))
            parse_bsdf(p);
        else if (at_interface(p))
            parse_interface(p);
        else
            parse_typed(p);
        break;
    default:
        if (token_is_type(token->kind, &type))
            parse_typed(p);
        else if (parse_reports(p, EXPECTED_DECLARATION, token->span, parse_describe(p)))
            parse_note_habit(p, TOKEN_STRUCT);
    }
}

void parse_file(Parser *p)
{
    while (!parse_is(p, TOKEN_END) && !report_is_full(p->diags)) {
        uint32_t before = p->start = p->at;
        uint32_t constants = p->ast->constants.count, funcs = p->ast->funcs.count;
        parse_declaration(p);
        if (p->is_foreign) { /* nothing is to be made of it */
            p->ast->constants.count = constants;
            p->ast->funcs.count = funcs;
            p->is_foreign = false;
        }
        p->start = p->at;
        if (p->at == before)
            parse_advance(p);
        if (p->is_panicking) {
            parse_recover(p);
            parse_accept(p, TOKEN_CLOSE_BRACE);
        }
    }
}
