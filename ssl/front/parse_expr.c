/* Expressions, by precedence climbing: parse_binary(level) reads operators of that level and above. */
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"

#include <string.h>

static Expr *error_expr(Parser *p, Span span)
{
    Expr *e = ARENA_NEW(p->arena, Expr);
    *e = (Expr){.kind = EXPR_ERROR, .span = span, .depth = 1};
    return e;
}

static Expr *parse_unary(Parser *p);

static uint16_t deeper(uint16_t depth, const Expr *child)
{
    return child && child->depth > depth ? child->depth : depth;
}

/* Copies a node into the arena, and counts its depth. */
static Expr *make(Parser *p, Expr node)
{
    ASSERT(node.kind != EXPR_BINARY || (node.a && node.b));
    uint16_t depth = deeper(deeper(0, node.b), node.c);
    if (node.kind == EXPR_BINARY && node.a->kind == EXPR_BINARY)
        depth = deeper(depth, &(Expr){.depth = (uint16_t)(node.a->depth - 1)});
    else
        depth = deeper(depth, node.a);
    for (uint32_t i = 0; i < node.args.count; ++i)
        depth = deeper(depth, node.args.items[i]);
    for (uint32_t i = 0; node.texture && i < node.texture->option_count; ++i)
        depth = deeper(depth, node.texture->options[i].value);
    if (depth >= SSL_MAX_EXPR_DEPTH) {
        parse_report(p, TOO_NESTED, node.span, arena_printf(p->arena, "%d", SSL_MAX_EXPR_DEPTH));
        return error_expr(p, node.span);
    }
    node.depth = (uint16_t)(depth + 1);
    Expr *e = ARENA_NEW(p->arena, Expr);
    *e = node;
    return e;
}

/* Returns the precedence of a binary operator, or 0. The comma is left to parse_expression. */
static int level_of(TokenKind kind)
{
    switch ((int)kind) {
    case TOKEN_LOGICAL_OR:
        return 1;
    case TOKEN_LOGICAL_AND:
        return 2;
    case TOKEN_OR:
        return 3;
    case TOKEN_XOR:
        return 4;
    case TOKEN_AND:
        return 5;
    case TOKEN_EQUAL:
    case TOKEN_NOT_EQUAL:
        return 6;
    case TOKEN_LESS:
    case TOKEN_LESS_EQUAL:
    case TOKEN_GREATER:
    case TOKEN_GREATER_EQUAL:
        return 7;
    case TOKEN_SHL:
    case TOKEN_SHR:
        return 8;
    case TOKEN_ADD:
    case TOKEN_SUB:
        return 9;
    case TOKEN_MUL:
    case TOKEN_DIV:
    case TOKEN_MOD:
        return 10;
    default:
        return 0;
    }
}

static bool is_assignment(TokenKind kind)
{
    switch ((int)kind) {
    case TOKEN_ASSIGN:
    case TOKEN_ADD_ASSIGN:
    case TOKEN_SUB_ASSIGN:
    case TOKEN_MUL_ASSIGN:
    case TOKEN_DIV_ASSIGN:
    case TOKEN_MOD_ASSIGN:
    case TOKEN_AND_ASSIGN:
    case TOKEN_OR_ASSIGN:
    case TOKEN_XOR_ASSIGN:
    case TOKEN_SHL_ASSIGN:
    case TOKEN_SHR_ASSIGN:
        return true;
    default:
        return false;
    }
}

/* Parses the items of a list up to and including `close`. */
static ExprList parse_items(Parser *p, TokenKind close, Span open, Expr *(*item)(Parser *),
                            Span *out_close)
{
    ARRAY(Expr *) items = {0};
    if (!parse_is(p, close)) {
        do {
            array_push(p->arena, &items, item(p));
            if (close == TOKEN_CLOSE_BRACE && parse_next_kind(p) == close)
                parse_accept(p, TOKEN_COMMA); /* {1, 2,} */
        } while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    }
    if (items.count > SSL_MAX_PARAMS && close == TOKEN_CLOSE)
        parse_report(p, TOO_MANY_PARAMS, open, arena_printf(p->arena, "%d", SSL_MAX_PARAMS));
    *out_close = parse_token(p)->span;
    parse_close(p, close, open);
    return (ExprList){items.data, items.count};
}

ExprList parse_arguments(Parser *p, Span *out_close)
{
    return parse_items(p, TOKEN_CLOSE, parse_last_span(p), parse_assignment, out_close);
}

Expr *parse_initialiser(Parser *p)
{
    if (!parse_is(p, TOKEN_OPEN_BRACE))
        return parse_assignment(p);
    Span open = parse_token(p)->span, close;
    if (!parse_enter(p))
        return error_expr(p, open);
    parse_advance(p);
    ExprList items = parse_items(p, TOKEN_CLOSE_BRACE, open, parse_initialiser, &close);
    parse_leave(p);
    return make(p, (Expr){.kind = EXPR_LIST, .span = span_join(open, close), .args = items});
}

/* <name>, any word; `>` may be the first half of `>>` or `>=`. NULL after a report. */
static const char *parse_angle_name(Parser *p, const char *what, Span *out_span)
{
    const char *where = arena_printf(p->arena, "after %s", what);
    *out_span = parse_token(p)->span;
    if (!parse_expect(p, TOKEN_LESS, where))
        return NULL;
    const char *name =
        parse_name(p, arena_printf(p->arena, "between < and > of %s", what), true, out_span);
    return name && parse_close_angle(p, "after the name") ? name : NULL;
}

/* u, v ..., option = value ...; after '('. */
static void parse_texture_arguments(Parser *p, Expr *e, Span *out_close)
{
    ARRAY(Expr *) args = {0};
    ARRAY(TextureOption) options = {0};
    Span open = parse_last_span(p);
    if (!parse_is(p, TOKEN_CLOSE)) {
        do {
            if (token_is_word(parse_token(p)->kind) && parse_next_kind(p) == TOKEN_ASSIGN) {
                const Token *name = parse_advance(p);
                parse_advance(p);
                TextureOption option = {name->text, name->span, parse_assignment(p)};
                array_push(p->arena, &options, option);
            } else {
                if (options.count > 0)
                    parse_report(p, OPTION_PLACE, parse_token(p)->span, NULL);
                array_push(p->arena, &args, parse_assignment(p));
            }
        } while (!p->is_panicking && parse_accept(p, TOKEN_COMMA));
    }
    if (args.count + options.count > SSL_MAX_PARAMS)
        parse_report(p, TOO_MANY_PARAMS, open, arena_printf(p->arena, "%d", SSL_MAX_PARAMS));
    *out_close = parse_token(p)->span;
    parse_close(p, TOKEN_CLOSE, open);
    e->args = (ExprList){args.data, args.count};
    e->texture->options = options.data;
    e->texture->option_count = options.count;
}

static const char *host_value_form(const Parser *p, const Token *word)
{
    bool is_value = word->kind == TOKEN_GLOBAL_VALUE || word->kind == TOKEN_ATTRIBUTE ||
                    word->kind == TOKEN_ATTRIBUTE_EXISTS;
    return arena_printf(p->arena, "%s<name>%s", word->text,
                        is_value ? ""
                        : word->kind == TOKEN_MAKE_CLOSURE || word->kind == TOKEN_ASK_HOST
                            ? "(arguments)"
                            : "(u, v)");
}

/* global_value<name>, make_closure<name>(...), ask_host<name>(...), texture2d_sample<name>(...) */
static Expr *parse_host_value(Parser *p)
{
    const Token *token = parse_advance(p);
    bool is_attribute = token->kind == TOKEN_ATTRIBUTE || token->kind == TOKEN_ATTRIBUTE_EXISTS;
    Expr e = {.kind = token->kind == TOKEN_GLOBAL_VALUE   ? EXPR_GLOBAL
                      : token->kind == TOKEN_MAKE_CLOSURE ? EXPR_CLOSURE
                      : token->kind == TOKEN_ASK_HOST     ? EXPR_ASK
                      : is_attribute                      ? EXPR_ATTRIBUTE
                                                          : EXPR_TEXTURE,
              .op = token->kind,
              .span = token->span};
    Span close;
    ASSERT(e.kind != EXPR_TEXTURE || token->kind == TOKEN_SAMPLE ||
           token->kind == TOKEN_SAMPLE_ALPHA || token->kind == TOKEN_SAMPLE_RGBA);
    bool is_reported = parse_may_report(p) && !parse_is(p, TOKEN_LESS);
    e.name = parse_angle_name(p, token->text, &e.name_span);
    if (is_reported)
        report(p->diags, NOTE_WRITE, (Span){0}, host_value_form(p, token));
    close = parse_last_span(p);
    if (!e.name)
        return error_expr(p, token->span);
    if (e.kind == EXPR_CLOSURE || e.kind == EXPR_ASK || e.kind == EXPR_TEXTURE) {
        if (!parse_expect(p, TOKEN_OPEN, "before the arguments"))
            return error_expr(p, token->span);
        if (e.kind != EXPR_TEXTURE) {
            e.args = parse_arguments(p, &close);
        } else {
            e.texture = ARENA_NEW(p->arena, TextureCall);
            e.texture->form = token->kind;
            parse_texture_arguments(p, &e, &close);
        }
    }
    e.span = span_join(token->span, close);
    return make(p, e);
}

/* 1, 0.5, "text", true */
static Expr *parse_literal(Parser *p)
{
    const Token *token = parse_advance(p);
    Expr e = {.span = token->span};
    if (token->kind == TOKEN_INT) {
        if (token->is_decimal && token->int_bits > INT32_MAX)
            report(p->diags, INT_RANGE, token->span, "2147483648");
        e.kind = EXPR_INT;
        e.int_value = (int32_t)token->int_bits;
    } else if (token->kind == TOKEN_FLOAT) {
        e.kind = EXPR_FLOAT;
        e.float_value = token->float_value;
    } else if (token->kind == TOKEN_STRING) {
        e.kind = EXPR_STRING;
        e.name = token->text;
    } else {
        ASSERT(token->kind == TOKEN_TRUE || token->kind == TOKEN_FALSE);
        e.kind = EXPR_BOOL;
        e.bool_value = token->kind == TOKEN_TRUE;
    }
    return make(p, e);
}

/* fwd_diff(f)(arguments), at the second '('. */
static Expr *parse_diff_call(Parser *p, const Expr *head)
{
    const DiffTarget *target = parse_diff_target(p, head);
    if (!target)
        return error_expr(p, head->span);
    Span close;
    parse_advance(p);
    ExprList args = parse_arguments(p, &close);
    return make(p, (Expr){.kind = EXPR_CALL,
                          .span = span_join(head->span, close),
                          .name = head->name,
                          .name_span = head->span,
                          .target = target,
                          .args = args});
}

/* Takes the <types> after the name, if a call names some. Returns false after a report. */
static bool parse_call_types(Parser *p, Expr *e)
{
    if (!parse_is(p, TOKEN_LESS) || !parse_at_call_types(p))
        return true;
    e->type_args = ARENA_NEW(p->arena, TypeArgs);
    *e->type_args = parse_type_args(p);
    return !p->is_panicking;
}

/* name, name(arguments) or name<types>(arguments); name<types> alone in fwd_diff( ) */
static Expr *parse_name_or_call(Parser *p)
{
    const Token *token = parse_advance(p);
    Expr e = {
        .kind = EXPR_NAME, .span = token->span, .name = token->text, .name_span = token->span};
    bool is_backward;
    if (!parse_call_types(p, &e))
        return error_expr(p, token->span);
    if (e.type_args)
        e.span = span_join(e.span, e.type_args->span);
    if (parse_accept(p, TOKEN_OPEN)) {
        Span close;
        e.kind = EXPR_CALL;
        e.args = parse_arguments(p, &close);
        e.span = span_join(token->span, close);
        if (parse_is(p, TOKEN_OPEN) && parse_is_diff_word(e.name, &is_backward))
            return parse_diff_call(p, &e);
    }
    return make(p, e);
}

/* (expression) */
static Expr *parse_parentheses(Parser *p)
{
    const Token *open = parse_advance(p);
    Expr *inner = parse_expression(p);
    Span close = parse_token(p)->span;
    if (parse_close(p, TOKEN_CLOSE, open->span))
        inner->span = span_join(open->span, close);
    return inner;
}

/* type(arguments) */
static Expr *parse_construction(Parser *p, SslType type)
{
    const Token *token = parse_advance(p);
    TypeName *name = ARENA_NEW(p->arena, TypeName);
    *name = (TypeName){.span = token->span, .basic = type};
    if (!parse_expect(p, TOKEN_OPEN, "after the type"))
        return error_expr(p, token->span);
    Span close;
    ExprList args = parse_arguments(p, &close);
    return make(p, (Expr){.kind = EXPR_CONSTRUCT,
                          .span = span_join(token->span, close),
                          .type_name = name,
                          .args = args});
}

/* diff_pair<float>(value, derivative) */
static Expr *parse_diff_construction(Parser *p)
{
    TypeName *name = ARENA_NEW(p->arena, TypeName);
    *name = parse_type_name(p);
    if (p->is_panicking || !parse_expect(p, TOKEN_OPEN, "after the type"))
        return error_expr(p, name->span);
    Span close;
    ExprList args = parse_arguments(p, &close);
    return make(p, (Expr){.kind = EXPR_CONSTRUCT,
                          .span = span_join(name->span, close),
                          .type_name = name,
                          .args = args});
}

/* no_diff a */
static Expr *parse_no_diff(Parser *p)
{
    Span word = parse_advance(p)->span;
    Expr *operand = parse_unary(p);
    return make(p,
                (Expr){.kind = EXPR_DETACH, .span = span_join(word, operand->span), .a = operand});
}

static Expr *parse_primary(Parser *p)
{
    const Token *token = parse_token(p);
    SslType type;
    switch ((int)token->kind) {
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
        return parse_literal(p);
    case TOKEN_NAME:
        return parse_at_no_diff(p)     ? parse_no_diff(p)
               : parse_at_diff_type(p) ? parse_diff_construction(p)
                                       : parse_name_or_call(p);
    case TOKEN_GLOBAL_VALUE:
    case TOKEN_ATTRIBUTE:
    case TOKEN_ATTRIBUTE_EXISTS:
    case TOKEN_MAKE_CLOSURE:
    case TOKEN_ASK_HOST:
    case TOKEN_SAMPLE:
    case TOKEN_SAMPLE_ALPHA:
    case TOKEN_SAMPLE_RGBA:
        return parse_host_value(p);
    case TOKEN_OPEN:
        return parse_parentheses(p);
    default:
        break;
    }
    if (token_is_type(token->kind, &type) &&
        (parse_next_kind(p) == TOKEN_OPEN || !name_map_get(&p->misnamed, token->text)))
        return parse_construction(p, type);
    if (token_is_word(token->kind) && name_map_get(&p->misnamed, token->text)) {
        parse_advance(p);
        return error_expr(p, token->span);
    }
    if (parse_reports(p, EXPECTED_EXPRESSION, token->span, parse_describe(p)))
        parse_note_habit(p, TOKEN_END);
    return error_expr(p, token->span);
}

/* value.name, value.name(arguments) or value.name<types>(arguments), after the '.' */
static Expr *parse_member(Parser *p, Expr *value)
{
    Expr e = {.kind = EXPR_MEMBER, .a = value};
    e.name = parse_name(p, "after '.'", true, &e.name_span);
    if (!e.name)
        return error_expr(p, value->span);
    if (!parse_call_types(p, &e))
        return error_expr(p, value->span);
    Span end = e.type_args ? e.type_args->span : e.name_span;
    if (parse_accept(p, TOKEN_OPEN)) {
        e.kind = EXPR_CALL;
        e.args = parse_arguments(p, &end);
    }
    e.span = span_join(value->span, end);
    return make(p, e);
}

static Expr *parse_postfix(Parser *p)
{
    Expr *e = parse_primary(p);
    while (!p->is_panicking) {
        const Token *token = parse_token(p);
        if (token->kind == TOKEN_OPEN_BRACKET && !parse_at_metadata(p)) {
            parse_advance(p);
            Expr *index = parse_expression(p);
            Span close = parse_token(p)->span;
            parse_close(p, TOKEN_CLOSE_BRACKET, token->span);
            e = make(
                p,
                (Expr){.kind = EXPR_INDEX, .span = span_join(e->span, close), .a = e, .b = index});
        } else if (token->kind == TOKEN_DOT) {
            parse_advance(p);
            e = parse_member(p, e);
        } else if (token->kind == TOKEN_INCREMENT || token->kind == TOKEN_DECREMENT) {
            parse_advance(p);
            e = make(p, (Expr){.kind = EXPR_STEP,
                               .op = token->kind,
                               .span = span_join(e->span, token->span),
                               .a = e});
        } else {
            break;
        }
    }
    return e;
}

/* (type)a */
static Expr *parse_cast(Parser *p)
{
    Span open = parse_advance(p)->span;
    TypeName *name = ARENA_NEW(p->arena, TypeName);
    *name = parse_type_name(p);
    if (!parse_close(p, TOKEN_CLOSE, open))
        return error_expr(p, open);
    Expr **operand = ARENA_NEW(p->arena, Expr *);
    *operand = parse_unary(p);
    return make(p, (Expr){.kind = EXPR_CONSTRUCT,
                          .span = span_join(open, (*operand)->span),
                          .type_name = name,
                          .is_converted = true,
                          .args = {operand, 1}});
}

static Expr *parse_prefix(Parser *p)
{
    const Token *token = parse_advance(p);
    const Token *number = parse_token(p);
    if (token->kind == TOKEN_SUB && number->kind == TOKEN_INT && number->is_decimal &&
        number->int_bits == (uint32_t)INT32_MAX + 1) {
        parse_advance(p);
        return make(p, (Expr){.kind = EXPR_INT,
                              .span = span_join(token->span, number->span),
                              .int_value = INT32_MIN});
    }
    Expr *operand = parse_unary(p);
    bool is_step = token->kind == TOKEN_INCREMENT || token->kind == TOKEN_DECREMENT;
    return make(p, (Expr){.kind = is_step ? EXPR_STEP : EXPR_UNARY,
                          .op = token->kind,
                          .is_prefix = true,
                          .span = span_join(token->span, operand->span),
                          .a = operand});
}

static Expr *parse_unary(Parser *p)
{
    SslType type;
    if (!parse_enter(p))
        return error_expr(p, parse_token(p)->span);
    Expr *e;
    switch ((int)parse_token(p)->kind) {
    case TOKEN_SUB:
    case TOKEN_ADD:
    case TOKEN_NOT:
    case TOKEN_COMPLEMENT:
    case TOKEN_INCREMENT:
    case TOKEN_DECREMENT:
        e = parse_prefix(p);
        break;
    case TOKEN_OPEN:
        /* (float)x, but ((float(x)) is a bracket. */
        if (token_is_type(parse_next_kind(p), &type) && p->tokens[p->at + 2].kind != TOKEN_OPEN) {
            e = parse_cast(p);
            break;
        }
        e = parse_postfix(p);
        break;
    default:
        e = parse_postfix(p);
        break;
    }
    parse_leave(p);
    return e;
}

static Expr *parse_binary(Parser *p, int level)
{
    ASSERT(level >= 1);
    Expr *left = parse_unary(p);
    for (;;) {
        TokenKind op = parse_token(p)->kind;
        int own = level_of(op);
        if (own < level || own == 0 || p->is_panicking)
            return left;
        parse_advance(p);
        Expr *right = parse_binary(p, own + 1);
        left = make(p, (Expr){.kind = EXPR_BINARY,
                              .op = op,
                              .span = span_join(left->span, right->span),
                              .a = left,
                              .b = right});
    }
}

/* a ? b : c ? d : e, from the left; what follows the last ':' is the last item. Chains do not nest. */
static Expr *parse_choice(Parser *p)
{
    ARRAY(Expr *) items = {0}; /* condition, value, condition, value ... */
    Expr *last = parse_binary(p, 1);
    while (!p->is_panicking && parse_is(p, TOKEN_QUESTION) && parse_enter(p)) {
        Span open = parse_advance(p)->span;
        array_push(p->arena, &items, last);
        last = parse_expression(p);
        parse_leave(p);
        array_push(p->arena, &items, last);
        if (parse_accept(p, TOKEN_COLON))
            last = parse_binary(p, 1);
        else if (parse_reports(p, EXPECTED, parse_token(p)->span, "':'",
                               "and the other value of '?'", parse_describe(p)))
            report(p->diags, NOTE_OPENED, open, NULL);
    }
    for (uint32_t i = items.count; i > 0; i -= 2)
        last = make(p, (Expr){.kind = EXPR_CHOICE,
                              .span = span_join(items.data[i - 2]->span, last->span),
                              .a = items.data[i - 2],
                              .b = items.data[i - 1],
                              .c = last});
    return last;
}

Expr *parse_assignment(Parser *p)
{
    Expr *target = parse_choice(p);
    TokenKind op = parse_token(p)->kind;
    if (p->is_panicking || !is_assignment(op))
        return target;
    if (!parse_enter(p))
        return target;
    parse_advance(p);
    Expr *value = parse_assignment(p);
    parse_leave(p);
    return make(p, (Expr){.kind = EXPR_ASSIGN,
                          .op = op,
                          .span = span_join(target->span, value->span),
                          .a = target,
                          .b = value});
}

Expr *parse_expression(Parser *p)
{
    Expr *e = parse_assignment(p);
    while (!p->is_panicking && parse_is(p, TOKEN_COMMA)) {
        parse_advance(p);
        Expr *next = parse_assignment(p);
        e = make(p, (Expr){.kind = EXPR_BINARY,
                           .op = TOKEN_COMMA,
                           .span = span_join(e->span, next->span),
                           .a = e,
                           .b = next});
    }
    return e;
}
