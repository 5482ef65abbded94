/* The primitives of the parser: taking tokens, reporting, recovering. */
#include "ssl/front/parse.h"
#include "base/check.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"

#include <string.h>

TokenKind parse_next_kind(const Parser *p)
{
    return parse_is(p, TOKEN_END) ? TOKEN_END : p->tokens[p->at + 1].kind;
}

const Token *parse_advance(Parser *p)
{
    const Token *token = parse_token(p);
    if (token->kind != TOKEN_END)
        ++p->at;
    return token;
}

bool parse_accept(Parser *p, TokenKind kind)
{
    if (!parse_is(p, kind))
        return false;
    parse_advance(p);
    return true;
}

const char *parse_describe(const Parser *p)
{
    const Token *token = parse_token(p);
    switch ((int)token->kind) {
    case TOKEN_END:
    case TOKEN_BAD:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
        return token_kind_text(token->kind);
    default:
        return arena_printf(p->arena, "'%s'", token->text);
    }
}

Span parse_last_span(const Parser *p)
{
    return p->at > 0 ? p->tokens[p->at - 1].span : (Span){p->file, 0, 0};
}

/* A syntax error after a word of another language is often caused by that word. */
static void note_foreign_word(Parser *p, TokenKind wanted)
{
    if (p->at > 0 && p->tokens[p->at - 1].kind == TOKEN_NAME)
        report_foreign(p->diags, p->tokens[p->at - 1].text);
    if (p->at > 1 && p->tokens[p->at - 2].kind == TOKEN_NAME)
        report_foreign(p->diags, p->tokens[p->at - 2].text);
    if (p->at > 2 && p->tokens[p->at - 2].kind == TOKEN_OPEN &&
        p->tokens[p->at - 3].kind == TOKEN_NAME)
        report_foreign(p->diags, p->tokens[p->at - 3].text);
    parse_note_habit(p, wanted);
}

bool parse_expect(Parser *p, TokenKind kind, const char *where)
{
    if (parse_accept(p, kind))
        return true;
    const char *wanted = kind == TOKEN_NAME ? token_kind_text(kind)
                                            : arena_printf(p->arena, "'%s'", token_kind_text(kind));
    if (parse_reports(p, EXPECTED, parse_token(p)->span, wanted, where, parse_describe(p)))
        note_foreign_word(p, kind);
    return false;
}

bool parse_at_new_line(const Parser *p)
{
    ASSERT(parse_token(p)->span.end <= p->text.size_bytes);
    uint32_t begin = parse_last_span(p).end, end = parse_token(p)->span.begin;
    return end > begin && memchr(p->text.data + begin, '\n', end - begin);
}

void parse_semicolon(Parser *p, const char *where)
{
    if (parse_accept(p, TOKEN_SEMICOLON)) {
        p->is_panicking = false; /* parsing can resume here */
        return;
    }
    bool was_panicking = p->is_panicking;
    uint32_t end = parse_last_span(p).end;
    if (parse_reports(p, EXPECTED, ((Span){p->file, end, end}), "';'", where, parse_describe(p)))
        note_foreign_word(p, TOKEN_SEMICOLON);
    if (!was_panicking && parse_at_new_line(p))
        p->is_panicking = false;
}

bool parse_close(Parser *p, TokenKind kind, Span open)
{
    if (parse_accept(p, kind))
        return true;
    if (!parse_reports(p, UNCLOSED, parse_token(p)->span, token_kind_text(kind), parse_describe(p)))
        return false;
    report(p->diags, NOTE_OPENED, open, NULL);
    parse_note_habit(p, kind);
    return false;
}

/* Returns whether the current token is a reserved word that is used as a name. */
static bool is_at_misnamed(const Parser *p)
{
    if (parse_is(p, TOKEN_NAME) || !token_is_word(parse_token(p)->kind))
        return false;
    switch ((int)parse_next_kind(p)) {
    case TOKEN_ASSIGN:
    case TOKEN_SEMICOLON:
    case TOKEN_COMMA:
    case TOKEN_CLOSE:
    case TOKEN_OPEN:
    case TOKEN_OPEN_BRACE:
    case TOKEN_OPEN_BRACKET:
        return true;
    default:
        return false;
    }
}

const char *parse_name(Parser *p, const char *where, bool may_be_keyword, Span *out_span)
{
    const Token *token = parse_token(p);
    *out_span = token->span;
    if (token->kind == TOKEN_NAME || (may_be_keyword && token_is_word(token->kind)))
        return parse_advance(p)->text;
    SslType type;
    if (is_at_misnamed(p) && parse_may_report(p) && !parse_blame_foreign(p)) {
        report(p->diags, WORD_AS_NAME, token->span, token->text,
               token_is_type(token->kind, &type) ? "a type" : "a word of the language");
        name_map_set(&p->misnamed, token->text, p->ast);
        return parse_advance(p)->text;
    }
    if (parse_reports(p, EXPECTED, token->span, "a name", where, parse_describe(p)))
        note_foreign_word(p, TOKEN_NAME);
    return NULL;
}

bool parse_enter(Parser *p)
{
    if (p->nesting == SSL_MAX_NESTING) {
        parse_report(p, TOO_NESTED, parse_token(p)->span,
                     arena_printf(p->arena, "%d", SSL_MAX_NESTING));
        return false;
    }
    ++p->nesting;
    return true;
}

void parse_leave(Parser *p)
{
    ASSERT(p->nesting > 0);
    --p->nesting;
}

void parse_recover(Parser *p)
{
    uint32_t braces = 0;
    p->is_panicking = false;
    for (; !parse_is(p, TOKEN_END); parse_advance(p)) {
        switch ((int)parse_token(p)->kind) {
        case TOKEN_OPEN_BRACE:
            ++braces;
            break;
        case TOKEN_CLOSE_BRACE:
            if (braces == 0)
                return;
            if (--braces == 0) {
                parse_advance(p);
                return;
            }
            break;
        case TOKEN_SEMICOLON:
            if (braces == 0) {
                parse_advance(p);
                return;
            }
            break;
        case TOKEN_SHADER: /* of the next declaration: the braces did not match */
        case TOKEN_STRUCT:
            return;
        default:
            break;
        }
    }
}

bool parse_at_type(const Parser *p)
{
    SslType type;
    TokenKind next = parse_next_kind(p);
    if (token_is_type(parse_token(p)->kind, &type)) /* float(x) is an expression */
        return next != TOKEN_OPEN &&
               (next == TOKEN_NAME || !name_map_get(&p->misnamed, parse_token(p)->text));
    if (parse_at_diff_type(p))
        return true;
    if (!parse_is(p, TOKEN_NAME) || parse_at_no_diff(p))
        return false;
    if (next == TOKEN_LESS) /* Pair<float> p, Pair<float>[2] p */
        return parse_at_declared_types(p);
    return next == TOKEN_NAME ||
           (next == TOKEN_OPEN_BRACKET && name_map_get(&p->struct_names, parse_token(p)->text));
}

ExprList parse_sizes(Parser *p)
{
    ARRAY(Expr *) sizes = {0};
    while (parse_is(p, TOKEN_OPEN_BRACKET) && !parse_at_metadata(p) && !p->is_panicking) {
        Span open = parse_advance(p)->span;
        Expr *size = parse_is(p, TOKEN_CLOSE_BRACKET) ? NULL : parse_assignment(p);
        array_push(p->arena, &sizes, size);
        parse_close(p, TOKEN_CLOSE_BRACKET, open);
    }
    return (ExprList){sizes.data, sizes.count};
}

/* Ray, Pair<Ray> */
static void parse_struct_name(Parser *p, TypeName *name)
{
    ASSERT(parse_is(p, TOKEN_NAME));
    name->struct_name = parse_advance(p)->text;
    if (!parse_is(p, TOKEN_LESS))
        return;
    name->args = parse_type_args(p);
    name->is_bad = p->is_panicking;
}

TypeName parse_type_name(Parser *p)
{
    TypeName name = {.span = parse_token(p)->span};
    if (parse_at_diff_type(p))
        parse_diff_type(p, &name);
    else if (parse_is(p, TOKEN_NAME))
        parse_struct_name(p, &name);
    else if (token_is_type(parse_token(p)->kind, &name.basic))
        parse_advance(p);
    else {
        if (parse_reports(p, EXPECTED_TYPE, parse_token(p)->span, parse_describe(p)))
            parse_note_habit(p, TOKEN_FLOAT);
        name.is_bad = true;
    }
    name.sizes = parse_sizes(p);
    name.span = span_join(name.span, parse_last_span(p));
    return name;
}

void parse(const ParseInput *input, Names *names, Arena *arena, DiagList *diags, Ast *ast)
{
    Parser p = {.text = input->text,
                .tokens = input->tokens->data,
                .is_library = input->is_library,
                .componentwise = names_intern(names, STR_LIT("componentwise")),
                .arena = arena,
                .names = names,
                .diags = diags,
                .file = input->file,
                .ast = ast};
    name_map_init(&p.misnamed, arena);
    parse_scan_names(&p, input->tokens->count);
    parse_file(&p);
}
