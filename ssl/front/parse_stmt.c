/* Statements. Each ends in a recovered state: panicking is over when parse_statement returns. */
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/report.h"

static Stmt *make(Parser *p, Stmt node)
{
    ASSERT(node.kind != STMT_EXPR || node.expr);
    Stmt *s = ARENA_NEW(p->arena, Stmt);
    *s = node;
    return s;
}

/* Parses the body of an if or a loop: any statement except a lone declaration. */
static Stmt *parse_body(Parser *p, const char *owner)
{
    bool is_declaration = parse_is(p, TOKEN_CONST) || parse_at_type(p);
    Stmt *body = parse_statement(p);
    if (is_declaration && body->kind == STMT_DECLARE)
        report(p->diags, DECLARATION_AS_BODY, body->span, owner);
    return body;
}

/* ( expression ) */
static Expr *parse_condition(Parser *p, const char *where)
{
    Span open = parse_token(p)->span;
    bool is_open = parse_expect(p, TOKEN_OPEN, where);
    Expr *e = parse_expression(p);
    if (is_open)
        parse_close(p, TOKEN_CLOSE, open);
    return e;
}

static Stmt *parse_declaration(Parser *p)
{
    Span begin = parse_token(p)->span;
    bool is_const = parse_accept(p, TOKEN_CONST);
    TypeName *type_name = ARENA_NEW(p->arena, TypeName);
    *type_name = parse_type_name(p);
    if (!p->is_panicking && parse_is(p, TOKEN_NAME) && parse_next_kind(p) == TOKEN_OPEN)
        parse_report(p, NESTED_FUNCTION, parse_token(p)->span, NULL);
    VarList vars = parse_declarators(p, VAR_LOCAL, is_const, type_name);
    parse_semicolon(p, "after the declaration");
    return make(
        p,
        (Stmt){.kind = STMT_DECLARE, .span = span_join(begin, parse_last_span(p)), .vars = vars});
}

/* if (a) x else if (b) y else z: a chain, which does not nest. */
static Stmt *parse_if(Parser *p)
{
    Stmt *first = NULL, **place = &first;
    ARRAY(Stmt *) chain = {0};
    do {
        Stmt s = {.kind = STMT_IF, .span = parse_advance(p)->span};
        s.expr = parse_condition(p, "after 'if'");
        if (p->is_panicking) {
            *place = make(p, (Stmt){.kind = STMT_ERROR, .span = s.span});
            break;
        }
        s.body = parse_body(p, "if");
        if (s.body->kind == STMT_EMPTY && !parse_is(p, TOKEN_ELSE))
            report(p->diags, EMPTY_BODY, s.body->span, "if");
        *place = make(p, s);
        array_push(p->arena, &chain, *place);
        place = &(*place)->other;
        if (!parse_accept(p, TOKEN_ELSE))
            break;
        if (!parse_is(p, TOKEN_IF)) {
            *place = parse_body(p, "else");
            break;
        }
    } while (true);
    for (uint32_t i = 0; i < chain.count; ++i)
        chain.data[i]->span = span_join(chain.data[i]->span, parse_last_span(p));
    return first;
}

static Stmt *parse_while(Parser *p)
{
    Stmt s = {.kind = STMT_WHILE, .span = parse_advance(p)->span};
    s.expr = parse_condition(p, "after 'while'");
    if (p->is_panicking)
        return make(p, (Stmt){.kind = STMT_ERROR, .span = s.span});
    s.body = parse_body(p, "while");
    s.span = span_join(s.span, parse_last_span(p));
    return make(p, s);
}

static Stmt *parse_do(Parser *p)
{
    Stmt s = {.kind = STMT_DO, .span = parse_advance(p)->span};
    s.body = parse_body(p, "do");
    if (parse_expect(p, TOKEN_WHILE, "after the body of 'do'"))
        s.expr = parse_condition(p, "after 'while'");
    parse_semicolon(p, "after 'do ... while (...)'");
    s.span = span_join(s.span, parse_last_span(p));
    return make(p, s.expr ? s : (Stmt){.kind = STMT_ERROR, .span = s.span});
}

static Stmt *parse_expression_statement(Parser *p)
{
    Expr *e = parse_expression(p);
    parse_semicolon(p, "after the expression");
    return make(
        p, (Stmt){.kind = STMT_EXPR, .span = span_join(e->span, parse_last_span(p)), .expr = e});
}

/* ( init ; condition ; step ) */
static void parse_for_head(Parser *p, Stmt *s)
{
    Span open = parse_token(p)->span;
    if (!parse_expect(p, TOKEN_OPEN, "after 'for'"))
        return;
    if (!parse_accept(p, TOKEN_SEMICOLON)) {
        bool is_declaration = parse_is(p, TOKEN_CONST) || parse_at_type(p);
        s->init = is_declaration ? parse_declaration(p) : parse_expression_statement(p);
    }
    if (p->is_panicking)
        return;
    if (!parse_is(p, TOKEN_SEMICOLON))
        s->expr = parse_expression(p);
    if (!parse_expect(p, TOKEN_SEMICOLON, "after the condition of 'for'"))
        return;
    if (!parse_is(p, TOKEN_CLOSE))
        s->step = parse_expression(p);
    parse_close(p, TOKEN_CLOSE, open);
}

/* Skips the rest of a loop head that could not be parsed, up to its ')', so that its ';' do not end statements. If the
 * line has no such ')', nothing is skipped. */
static void skip_head(Parser *p)
{
    uint32_t before = p->at, brackets = 1;
    while (brackets > 0 && !parse_is(p, TOKEN_END) && !parse_is(p, TOKEN_OPEN_BRACE) &&
           !parse_at_new_line(p)) {
        brackets += parse_is(p, TOKEN_OPEN);
        brackets -= parse_is(p, TOKEN_CLOSE);
        parse_advance(p);
    }
    if (brackets > 0)
        p->at = before;
}

static Stmt *parse_for(Parser *p)
{
    Stmt s = {.kind = STMT_FOR, .span = parse_advance(p)->span};
    parse_for_head(p, &s);
    if (p->is_panicking) {
        skip_head(p);
        return make(p, (Stmt){.kind = STMT_ERROR, .span = s.span});
    }
    s.body = parse_body(p, "for");
    s.span = span_join(s.span, parse_last_span(p));
    return make(p, s);
}

static Stmt *parse_jump(Parser *p, StmtKind kind)
{
    ASSERT(kind == STMT_BREAK || kind == STMT_CONTINUE || kind == STMT_RETURN);
    const Token *token = parse_advance(p);
    Stmt s = {.kind = kind, .span = token->span};
    if (kind == STMT_RETURN && !parse_is(p, TOKEN_SEMICOLON) && !parse_is(p, TOKEN_CLOSE_BRACE))
        s.expr = parse_expression(p);
    parse_semicolon(p, arena_printf(p->arena, "after '%s'", token->text));
    s.span = span_join(s.span, parse_last_span(p));
    return make(p, s);
}

Stmt *parse_block(Parser *p)
{
    Span open = parse_token(p)->span;
    ARRAY(Stmt *) list = {0};
    if (!parse_expect(p, TOKEN_OPEN_BRACE, "before the body"))
        return make(p, (Stmt){.kind = STMT_ERROR, .span = open});
    while (!parse_is(p, TOKEN_CLOSE_BRACE) && !parse_is(p, TOKEN_END) &&
           !report_is_full(p->diags)) {
        if (parse_is(p, TOKEN_SHADER) || parse_is(p, TOKEN_STRUCT))
            break; /* a '}' is missing */
        array_push(p->arena, &list, parse_statement(p));
    }
    parse_close(p, TOKEN_CLOSE_BRACE, open);
    return make(p, (Stmt){.kind = STMT_BLOCK,
                          .span = span_join(open, parse_last_span(p)),
                          .list = {list.data, list.count}});
}

/* [MaxIters(n)] for (...) ... */
static Stmt *parse_attributed(Parser *p)
{
    AttributeList list = parse_attributes(p, true);
    if (p->is_panicking || list.count == 0)
        return make(p, (Stmt){.kind = STMT_ERROR, .span = parse_token(p)->span});
    if (!parse_is(p, TOKEN_FOR) && !parse_is(p, TOKEN_WHILE) && !parse_is(p, TOKEN_DO))
        report(p->diags, ATTRIBUTE_PLACE, list.items[0].span, "this attribute", "a loop");
    if (list.count > 1)
        report(p->diags, DERIVATIVE_TWICE, list.items[1].span, "MaxIters");
    Stmt *s = parse_statement(p);
    s->max_iters = &list.items[0];
    return s;
}

static Stmt *parse_any(Parser *p)
{
    const Token *token = parse_token(p);
    switch ((int)token->kind) {
    case TOKEN_OPEN_BRACE:
        return parse_block(p);
    case TOKEN_OPEN_BRACKET:
        return parse_next_kind(p) == TOKEN_NAME ? parse_attributed(p)
                                                : parse_expression_statement(p);
    case TOKEN_SEMICOLON:
        parse_advance(p);
        return make(p, (Stmt){.kind = STMT_EMPTY, .span = token->span});
    case TOKEN_IF:
        return parse_if(p);
    case TOKEN_WHILE:
        return parse_while(p);
    case TOKEN_DO:
        return parse_do(p);
    case TOKEN_FOR:
        return parse_for(p);
    case TOKEN_BREAK:
        return parse_jump(p, STMT_BREAK);
    case TOKEN_CONTINUE:
        return parse_jump(p, STMT_CONTINUE);
    case TOKEN_RETURN:
        return parse_jump(p, STMT_RETURN);
    case TOKEN_CONST:
        return parse_declaration(p);
    case TOKEN_ELSE:
        if (p->recovered == p->at) { /* of what was not understood */
            parse_advance(p);
            return parse_statement(p);
        }
        if (parse_reports(p, STRAY_ELSE, token->span, NULL))
            report(p->diags, NOTE_WRITE, (Span){0},
                   "one statement, or {...}, between if (condition) and else");
        return make(p, (Stmt){.kind = STMT_ERROR, .span = token->span});
    default:
        return parse_at_type(p) ? parse_declaration(p) : parse_expression_statement(p);
    }
}

Stmt *parse_statement(Parser *p)
{
    uint32_t before = p->start = p->at;
    Stmt *s;
    if (parse_enter(p)) {
        s = parse_any(p);
        parse_leave(p);
    } else {
        s = make(p, (Stmt){.kind = STMT_ERROR, .span = parse_token(p)->span});
    }
    if (p->at == before && !parse_is(p, TOKEN_CLOSE_BRACE))
        parse_advance(p); /* always makes progress */
    if (p->is_panicking) {
        parse_recover(p);
        p->recovered = p->is_foreign ? p->at : 0;
        if (p->is_foreign)
            s = make(p, (Stmt){.kind = STMT_ERROR, .span = s->span});
        p->is_foreign = false;
    }
    p->start = p->at;
    return s;
}
