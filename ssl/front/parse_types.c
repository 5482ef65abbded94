/* Types in < >: parameters, as in f<T : IShape>, and arguments, as in f<float>(x) and Pair<float, int> p.
 *
 * A '<' after a name begins arguments if a list of types and a '>' follow, and then what can follow a type alone: a '(', or, where
 * a statement begins, a name or a '['. One type is enough to know: `a < b > (c)` compares a bool, which is never
 * right. `f(a < b, c > (d))` may be two comparisons; it is a list of types only if `a` is the name of something with type
 * parameters. */
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"

#include <string.h>

/* --- names of the file ------------------------------------------------------------------------ */

/* Whether a name may follow the token where something is declared: the type before a function's name. */
static bool is_end_of_type(const Token *token)
{
    SslType type;
    return token->kind == TOKEN_GREATER || token->kind == TOKEN_SHR ||
           token->kind == TOKEN_CLOSE_BRACKET || token->kind == TOKEN_STRUCT ||
           token->kind == TOKEN_NAME || token_is_type(token->kind, &type);
}

void parse_scan_names(Parser *p, uint32_t token_count)
{
    uint32_t braces = 0;
    bool is_in_struct = false; /* the outermost brace is that of a struct */
    name_map_init(&p->struct_names, p->arena);
    name_map_init(&p->generic_names, p->arena);
    for (uint32_t i = 0; i + 1 < token_count; ++i) {
        const Token *token = &p->tokens[i];
        switch ((int)token->kind) {
        case TOKEN_STRUCT:
            if (token[1].kind == TOKEN_NAME)
                name_map_set(&p->struct_names, token[1].text, p->ast);
            is_in_struct = is_in_struct || braces == 0;
            break;
        case TOKEN_OPEN_BRACE:
            ++braces;
            break;
        case TOKEN_CLOSE_BRACE:
            braces -= braces > 0;
            is_in_struct = braces > 0 && is_in_struct;
            break;
        case TOKEN_LESS:
            if (i > 1 && braces <= is_in_struct && token[-1].kind == TOKEN_NAME &&
                is_end_of_type(token - 2))
                name_map_set(&p->generic_names, token[-1].text, p->ast);
            break;
        default:
            break;
        }
    }
}

void parse_name_types(Parser *p, const TypeParamList *params, bool are_types,
                      const TypeParamList *outer)
{
    for (uint32_t i = 0; i < params->count; ++i) {
        const char *name = params->items[i].name;
        bool is_outer = false;
        for (uint32_t k = 0; outer && k < outer->count; ++k)
            is_outer = is_outer || outer->items[k].name == name;
        if (!is_outer && name_map_get(&p->struct_names, name) != p->ast)
            name_map_set(&p->struct_names, name, are_types ? &p->at : NULL);
    }
}

/* --- parameters ------------------------------------------------------------------------------- */

bool parse_close_angle(Parser *p, const char *where)
{
    Token *token = &p->tokens[p->at];
    TokenKind rest = token->kind == TOKEN_SHR             ? TOKEN_GREATER
                     : token->kind == TOKEN_GREATER_EQUAL ? TOKEN_ASSIGN
                     : token->kind == TOKEN_SHR_ASSIGN    ? TOKEN_GREATER_EQUAL
                                                          : TOKEN_END;
    if (rest == TOKEN_END)
        return parse_expect(p, TOKEN_GREATER, where);
    token->kind = rest;
    token->text = token_kind_text(rest);
    ++token->span.begin;
    return true;
}

bool parse_may_have_interface(Parser *p, uint32_t index, Span span)
{
    if (index == SSL_MAX_INTERFACES)
        report(p->diags, TOO_MANY_INTERFACES, span,
               arena_printf(p->arena, "%d", SSL_MAX_INTERFACES));
    return index < SSL_MAX_INTERFACES;
}

InterfaceNames parse_accept_interfaces(Parser *p, TokenKind separator)
{
    ARRAY(InterfaceName) names = {0};
    uint32_t index = 0;
    if (!parse_accept(p, TOKEN_COLON))
        return (InterfaceNames){0};
    do {
        InterfaceName name;
        name.name = parse_name(p, "of an interface", false, &name.span);
        if (!name.name)
            break;
        if (parse_may_have_interface(p, index++, name.span))
            array_push(p->arena, &names, name);
    } while (parse_accept(p, separator));
    return (InterfaceNames){names.data, names.count};
}

/* Reports more types in < > than there may be, the first of which is at `span`. */
static uint32_t at_most(Parser *p, uint32_t count, Span span)
{
    if (count <= SSL_MAX_PARAMS)
        return count;
    parse_report(p, TOO_MANY_PARAMS, span, arena_printf(p->arena, "%d", SSL_MAX_PARAMS));
    return SSL_MAX_PARAMS;
}

TypeParamList parse_type_params(Parser *p)
{
    ARRAY(TypeParam) params = {0};
    ASSERT(parse_is(p, TOKEN_LESS));
    parse_advance(p);
    do {
        TypeParam param = {0};
        param.name = parse_name(p, "of a type", false, &param.span);
        if (!param.name)
            break;
        param.interfaces = parse_accept_interfaces(p, TOKEN_AND);
        array_push(p->arena, &params, param);
    } while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    if (params.count > 0)
        params.count = at_most(p, params.count, params.data[params.count - 1].span);
    if (!p->is_panicking)
        parse_close_angle(p, "after the types");
    return (TypeParamList){params.data, params.count};
}

/* --- arguments -------------------------------------------------------------------------------- */

/* The token after the sizes [a][b] at token `at`, which may be none; 0: they do not end. */
static uint32_t sizes_end(const Parser *p, uint32_t at)
{
    uint32_t open = 0;
    for (;; ++at) {
        switch ((int)p->tokens[at].kind) {
        case TOKEN_OPEN_BRACKET:
            ++open;
            break;
        case TOKEN_CLOSE_BRACKET:
            if (open == 0)
                return at;
            --open;
            break;
        case TOKEN_END:
        case TOKEN_SEMICOLON:
        case TOKEN_OPEN_BRACE:
        case TOKEN_CLOSE_BRACE:
            return open == 0 ? at : 0;
        default:
            if (open == 0)
                return at;
        }
    }
}

/* The token after the '>' that closes the '<' at token `less`, if types are between them; 0: there are others, or several where
 * there may be one only. */
static uint32_t list_end(const Parser *p, uint32_t less, bool may_be_several)
{
    SslType type;
    uint32_t depth = 1, at = less + 1;
    bool is_at_type = true;
    while (at > 0 && depth > 0 && depth <= SSL_MAX_NESTING) {
        TokenKind kind = p->tokens[at++].kind;
        if (is_at_type) {
            if (kind != TOKEN_NAME && !token_is_type(kind, &type))
                return 0;
            is_at_type = kind == TOKEN_NAME && p->tokens[at].kind == TOKEN_LESS;
            depth += is_at_type;
            at = is_at_type ? at + 1 : sizes_end(p, at);
        } else if (kind == TOKEN_COMMA && may_be_several) {
            is_at_type = true;
        } else if (kind == TOKEN_GREATER || (kind == TOKEN_SHR && depth > 1)) {
            depth -= kind == TOKEN_SHR ? 2 : 1;
            at = depth > 0 ? sizes_end(p, at) : at;
        } else {
            return 0;
        }
    }
    return depth == 0 ? at : 0;
}

static bool has_type_params(const Parser *p, uint32_t name)
{
    return name_map_get(&p->generic_names, p->tokens[name].text) != NULL;
}

bool parse_at_declared_types(const Parser *p)
{
    ASSERT(parse_is(p, TOKEN_NAME) && parse_next_kind(p) == TOKEN_LESS);
    uint32_t end = list_end(p, p->at + 1, has_type_params(p, p->at));
    return end > 0 &&
           (p->tokens[end].kind == TOKEN_NAME || p->tokens[end].kind == TOKEN_OPEN_BRACKET);
}

/* What cannot follow a comparison, but <types>: in fwd_diff(f<T>) and fwd_diff(S<T>.f), no call follows at once. */
static bool is_no_operand(TokenKind kind)
{
    return kind == TOKEN_CLOSE || kind == TOKEN_DOT || kind == TOKEN_COMMA ||
           kind == TOKEN_SEMICOLON || kind == TOKEN_CLOSE_BRACKET || kind == TOKEN_CLOSE_BRACE;
}

bool parse_at_call_types(const Parser *p)
{
    ASSERT(p->at > 0 && parse_is(p, TOKEN_LESS));
    bool is_generic = has_type_params(p, p->at - 1);
    uint32_t end = list_end(p, p->at, is_generic);
    TokenKind after = p->tokens[end].kind;
    return end > 0 && (after == TOKEN_OPEN || (is_generic && is_no_operand(after)));
}

TypeArgs parse_type_args(Parser *p)
{
    ARRAY(TypeName) items = {0};
    ASSERT(parse_is(p, TOKEN_LESS));
    Span open = parse_advance(p)->span;
    if (!parse_enter(p))
        return (TypeArgs){.span = open};
    do
        array_push(p->arena, &items, parse_type_name(p));
    while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    items.count = at_most(p, items.count, items.data[items.count - 1].span);
    parse_leave(p);
    if (!p->is_panicking)
        parse_close_angle(p, "after the types");
    return (TypeArgs){span_join(open, parse_last_span(p)), items.data, items.count};
}
