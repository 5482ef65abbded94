/* What derivatives add to the grammar: attributes, diff_pair<T>, no_diff, fwd_diff(f)(...). Its words mean something only
 * where nothing else could stand, so that programs may use them as names. */
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/report.h"

#include <string.h>

static bool is_word(const Parser *p, const char *word)
{
    return parse_is(p, TOKEN_NAME) && strcmp(parse_token(p)->text, word) == 0;
}

/* --- attributes ------------------------------------------------------------------------------- */

typedef enum AttributeArgument {
    ARGUMENT_NONE,
    ARGUMENT_FUNCTION,
    ARGUMENT_VALUE
} AttributeArgument;
typedef enum AttributePlace { PLACE_FUNCTION, PLACE_LOOP } AttributePlace;

static const struct AttributeRow {
    const char *text;
    AttributeArgument argument;
    AttributePlace place;
} rows[MARK_COUNT] = {
#define SSL_ATTRIBUTE(name, text, argument, place) {text, ARGUMENT_##argument, PLACE_##place},
#include "ssl/front/attribute.inc"
#undef SSL_ATTRIBUTE
};

static void report_unknown(Parser *p, const Token *word)
{
    const char *names[MARK_COUNT];
    for (uint32_t i = 0; i < MARK_COUNT; ++i)
        names[i] = rows[i].text;
    if (parse_reports(p, UNKNOWN_DIFF_ATTRIBUTE, word->span, word->text))
        report_suggestion(p->diags, word->text, names, MARK_COUNT);
}

/* (argument), or nothing where the attribute takes none. */
static void parse_argument(Parser *p, Attribute *a)
{
    ASSERT((uint32_t)a->kind < MARK_COUNT);
    AttributeArgument wanted = rows[a->kind].argument;
    if (wanted == ARGUMENT_NONE)
        return;
    Span open = parse_token(p)->span;
    if (!parse_expect(p, TOKEN_OPEN, "after the attribute's name"))
        return;
    if (wanted == ARGUMENT_FUNCTION) {
        Span begin = parse_token(p)->span;
        a->function = parse_name(p, "of a function in the attribute", false, &a->function_span);
        if (a->function && parse_accept(p, TOKEN_DOT)) {
            a->owner = a->function;
            a->function = parse_name(p, "of the method after '.'", false, &a->function_span);
            a->function_span = span_join(begin, a->function_span);
        }
    } else {
        a->value = parse_assignment(p);
    }
    if (!p->is_panicking)
        parse_close(p, TOKEN_CLOSE, open);
}

AttributeList parse_attributes(Parser *p, bool is_loop)
{
    ARRAY(Attribute) list = {0};
    while (parse_is(p, TOKEN_OPEN_BRACKET) && !p->is_panicking) {
        Span open = parse_advance(p)->span;
        const Token *word = parse_token(p);
        if (!parse_is(p, TOKEN_NAME)) {
            parse_report(p, EXPECTED, word->span, "the name of an attribute", "after '['",
                         parse_describe(p));
            break;
        }
        Attribute a = {.kind = (AttributeKind)0};
        while (a.kind < MARK_COUNT && strcmp(rows[a.kind].text, word->text) != 0)
            a.kind = (AttributeKind)(a.kind + 1);
        if (a.kind == MARK_COUNT) {
            report_unknown(p, word);
            break;
        }
        parse_advance(p);
        parse_argument(p, &a);
        if (p->is_panicking)
            break;
        a.span = span_join(open, parse_token(p)->span);
        if (!parse_close(p, TOKEN_CLOSE_BRACKET, open))
            break;
        if ((rows[a.kind].place == PLACE_LOOP) == is_loop)
            array_push(p->arena, &list, a);
        else
            report(p->diags, ATTRIBUTE_PLACE, a.span, "this attribute",
                   is_loop ? "a function" : "a loop");
    }
    return (AttributeList){list.data, list.count};
}

/* --- types ------------------------------------------------------------------------------------ */

bool parse_at_diff_type(const Parser *p)
{
    SslType type;
    if (!is_word(p, "diff_pair") && !is_word(p, "differential"))
        return false;
    if (parse_next_kind(p) != TOKEN_LESS || p->tokens[p->at + 1].kind == TOKEN_END)
        return false;
    const Token *inner = &p->tokens[p->at + 2];
    if (token_is_type(inner->kind, &type))
        return true;
    if (inner->kind != TOKEN_NAME)
        return false;
    TokenKind after = p->tokens[p->at + 3].kind; /* no comparison is between a bool and a value */
    return after == TOKEN_GREATER || after == TOKEN_SHR ||
           name_map_get(&p->struct_names, inner->text) || strcmp(inner->text, "diff_pair") == 0 ||
           strcmp(inner->text, "differential") == 0;
}

void parse_diff_type(Parser *p, TypeName *name)
{
    const Token *word = parse_advance(p);
    TypeName *inner = ARENA_NEW(p->arena, TypeName);
    name->diff = word->text[4] == '_' ? DIFF_TYPE_PAIR : DIFF_TYPE_DIFFERENTIAL;
    name->inner = inner;
    parse_advance(p);
    name->is_bad = !parse_enter(p);
    if (name->is_bad)
        return;
    *inner = parse_type_name(p);
    parse_leave(p);
    name->is_bad = p->is_panicking || !parse_close_angle(p, "after the type");
}

/* --- no_diff ---------------------------------------------------------------------------------- */

bool parse_at_no_diff(const Parser *p)
{
    SslType type;
    if (!is_word(p, "no_diff"))
        return false;
    TokenKind next = parse_next_kind(p);
    switch ((int)next) {
    case TOKEN_NAME:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_CONST:
    case TOKEN_IN:
    case TOKEN_OUT:
    case TOKEN_INOUT:
    case TOKEN_GLOBAL_VALUE:
    case TOKEN_ATTRIBUTE:
    case TOKEN_ASK_HOST:
    case TOKEN_SAMPLE:
    case TOKEN_SAMPLE_ALPHA:
    case TOKEN_SAMPLE_RGBA:
        return true;
    default:
        return token_is_type(next, &type);
    }
}

/* --- fwd_diff(f), bwd_diff(f) ----------------------------------------------------------------- */

bool parse_is_diff_word(const char *name, bool *out_is_backward)
{
    *out_is_backward = strcmp(name, "bwd_diff") == 0;
    return *out_is_backward || strcmp(name, "fwd_diff") == 0;
}

const DiffTarget *parse_diff_target(Parser *p, const Expr *head)
{
    DiffTarget *target = ARENA_NEW(p->arena, DiffTarget);
    target->span = head->span;
    bool is_inner_backward;
    bool is_diff = parse_is_diff_word(head->name, &target->is_backward);
    ASSERT(is_diff);
    const Expr *of = is_diff && head->args.count == 1 ? head->args.items[0] : NULL;
    if (of && of->kind == EXPR_NAME) {
        target->name = of->name;
        target->name_span = of->span;
        target->args = of->type_args;
        return target;
    }
    if (of && of->kind == EXPR_MEMBER && of->a->kind == EXPR_NAME) {
        target->owner = of->a->name;
        target->owner_span = of->a->span;
        target->owner_args = of->a->type_args;
        target->name = of->name;
        target->name_span = of->name_span;
        target->args = of->type_args;
        return target;
    }
    if (of && of->kind == EXPR_CALL && !of->target &&
        parse_is_diff_word(of->name, &is_inner_backward)) {
        target->inner = parse_diff_target(p, of);
        return target->inner ? target : NULL;
    }
    parse_report(p, DIFF_OF_WHAT, head->span, head->name);
    return NULL;
}
