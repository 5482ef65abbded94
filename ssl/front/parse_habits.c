/* What an author who knows another language most likely meant, where the grammar ends: a word of that
 * language takes the blame (ssl_foreign_syntax.inc), and notes say what to write for common patterns. Nothing
 * here decides what is right: all of it runs when an error is certain. */
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/report.h"

#include <string.h>

enum { FIRST, ANYWHERE };

static const struct {
    const char *word;
    int place;
    const char *instead;
} words[] = {
#define SSL_FOREIGN_SYNTAX(word, place, instead) {word, place, instead},
#include "ssl/ssl_foreign_syntax.inc"
#undef SSL_FOREIGN_SYNTAX
};

/* What SSL has instead of the word at that place; NULL: nothing is wrong with it. */
static const char *foreign_word(const Parser *p, uint32_t at)
{
    const Token *token = &p->tokens[at];
    if (token->kind != TOKEN_NAME)
        return NULL;
    TokenKind next = p->tokens[at + 1].kind;
    bool is_first = at == p->start;
    bool leads = token_is_word(next) || next == TOKEN_INT || next == TOKEN_FLOAT ||
                 next == TOKEN_STRING ||
                 (is_first && (next == TOKEN_OPEN || next == TOKEN_LESS || next == TOKEN_COLON ||
                               next == TOKEN_OPEN_BRACE));
    if (!leads && at != p->at)
        return NULL;
    for (size_t i = 0; i < SORT_COUNT_OF(words); i++)
        if (strcmp(words[i].word, token->text) == 0)
            return is_first || words[i].place == ANYWHERE ? words[i].instead : NULL;
    return NULL;
}

bool parse_blame_foreign(Parser *p)
{
    for (uint32_t at = p->start; at <= p->at && p->tokens[at].kind != TOKEN_END; at++) {
        const char *instead = foreign_word(p, at);
        if (!instead)
            continue;
        p->is_foreign = true;
        report(p->diags, FOREIGN_SYNTAX, p->tokens[at].span, p->tokens[at].text, instead);
        return true;
    }
    return false;
}

static TokenKind kind_before(const Parser *p, uint32_t back)
{
    return p->at >= back ? p->tokens[p->at - back].kind : TOKEN_END;
}

/* Where a value should begin. */
static const char *habit_at_value(const Parser *p)
{
    TokenKind before = kind_before(p, 1);
    switch ((int)parse_token(p)->kind) {
    case TOKEN_MUL:
        return before == TOKEN_MUL ? "pow(x, y) for a power" : NULL;
    case TOKEN_GREATER:
        return before == TOKEN_SUB ? "'.' for a member: there are no pointers" : NULL;
    case TOKEN_AND:
        return "the variable itself: there are no pointers, and what a function gives back goes "
               "through "
               "out and inout parameters";
    case TOKEN_OPEN_BRACKET:
        return p->at == p->start ? "the loop or if alone: statements have no attributes"
                                 : "lists as the value of an array: float a[] = {1, 2, 3};";
    case TOKEN_DOT:
        return "the values in the order of the members: {1, 2}";
    case TOKEN_OUT:
    case TOKEN_INOUT:
    case TOKEN_IN:
        return "the variable alone: the function says which parameters are out";
    case TOKEN_OPEN_BRACE:
        return "float3(x, y, z) for a vector; {...} can only initialise an array or a struct";
    default:
        return NULL;
    }
}

/* Where something else should stand. */
static const char *habit_at_punctuation(const Parser *p, TokenKind wanted)
{
    TokenKind before = kind_before(p, 1), is = parse_token(p)->kind;
    SslType type;
    if (wanted == TOKEN_STRUCT && (is == TOKEN_OUT || is == TOKEN_IN || is == TOKEN_INOUT))
        return "a parameter of the shader: shader name(float x = 1, out color result)";
    if (wanted == TOKEN_STRUCT && is == TOKEN_CLOSE_BRACE)
        return "one '}' less: all that was open is closed";
    if (wanted == TOKEN_STRUCT)
        return is == TOKEN_IF || is == TOKEN_FOR || is == TOKEN_WHILE || is == TOKEN_RETURN
                   ? "statements in a shader or a function"
                   : NULL;
    if (wanted == TOKEN_OPEN && before == TOKEN_FOR)
        return "for (int i = 0; i < n; i++)";
    if (wanted == TOKEN_OPEN && (before == TOKEN_IF || before == TOKEN_WHILE))
        return before == TOKEN_IF ? "if (condition) statement" : "while (condition) statement";
    if (wanted == TOKEN_OPEN && is == TOKEN_OPEN_BRACKET && token_is_type(before, &type))
        return "{1, 2, 3} as the value of the declaration";
    if (is == TOKEN_IF)
        return "condition ? this : that";
    if (is == TOKEN_COLON && parse_next_kind(p) == TOKEN_COLON)
        return "the name alone: names have no '::'";
    if (is == TOKEN_COLON && p->tokens[p->start].kind == TOKEN_FOR)
        return "for (int i = 0; i < n; i++)";
    if (is == TOKEN_COLON && wanted == TOKEN_CLOSE)
        return "the parameter alone: semantics are of other languages, and [[ ]] holds metadata";
    if (wanted == TOKEN_NAME && (is == TOKEN_MUL || is == TOKEN_AND))
        return "the parameter or variable alone, with out or inout before its type if it is "
               "written: there are "
               "no pointers and references";
    if (wanted == TOKEN_NAME && is == TOKEN_STRING)
        return "the name of a declaration: 'texture2d name;' stands at file scope, and the "
               "material binds the file";
    if (wanted == TOKEN_NAME && is == TOKEN_OPEN && p->at == p->start + 1)
        return "the type of the result first: float name(float x) { return x; }";
    if (wanted == TOKEN_NAME && is == TOKEN_ASSIGN && token_is_type(before, &type))
        return "a name after the type, and none that is a type: float x = 1;";
    if (wanted == TOKEN_NAME && before == TOKEN_CLOSURE && is == TOKEN_COLOR)
        return "'closure name': a closure has no type of color";
    if (wanted == TOKEN_NAME && is == TOKEN_SHADER)
        return "shader name(parameters): a shader has no type, and gives values by out parameters";
    if (is == TOKEN_OPEN_BRACE && before == TOKEN_NAME)
        return "Name(1, 2), or {1, 2} alone";
    return NULL;
}

void parse_note_habit(Parser *p, TokenKind wanted)
{
    const char *instead = wanted == TOKEN_END ? habit_at_value(p) : habit_at_punctuation(p, wanted);
    if (instead)
        report(p->diags, NOTE_WRITE, (Span){0}, instead);
}
