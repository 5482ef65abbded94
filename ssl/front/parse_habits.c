/* Help for authors who know another language. A syntax error at a word of that language is blamed on the word
 * (ssl_foreign_syntax.inc), and notes say what to write in place of common patterns. These functions run only when
 * an error is certain, and do not decide what is valid. */
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

/* Returns what SSL has in place of the word at token `at`, or NULL if it is no word of another language. */
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
    for (size_t i = 0; i < SORT_COUNT_OF(words); ++i)
        if (strcmp(words[i].word, token->text) == 0)
            return is_first || words[i].place == ANYWHERE ? words[i].instead : NULL;
    return NULL;
}

bool parse_blame_foreign(Parser *p)
{
    for (uint32_t at = p->start; at <= p->at && p->tokens[at].kind != TOKEN_END; ++at) {
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
    ASSERT(back > 0);
    return p->at >= back ? p->tokens[p->at - back].kind : TOKEN_END;
}

/* The four functions below return what to write, or NULL, by the token that was expected: here a value. */
static const char *habit_at_value(const Parser *p)
{
    TokenKind before = kind_before(p, 1);
    switch ((int)parse_token(p)->kind) {
    case TOKEN_MUL:
        return before == TOKEN_MUL ? "pow(x, y) for a power" : NULL;
    case TOKEN_ASSIGN:
        return before == TOKEN_EQUAL ? "== to compare" : NULL;
    case TOKEN_GREATER:
        return before == TOKEN_SUB      ? "'.' for a member: there are no pointers"
               : before == TOKEN_LESS   ? "!= to compare"
               : before == TOKEN_ASSIGN ? ">= to compare"
                                        : NULL;
    case TOKEN_AND:
        return "the variable itself: there are no pointers, and what a function gives back goes "
               "through "
               "out and inout parameters";
    case TOKEN_OPEN_BRACKET:
        return p->at == p->start ? "the loop or if alone: statements have no attributes"
                                 : "lists as the value of an array: float a[] = {1, 2, 3};";
    case TOKEN_OR:
        return "abs(x) for a number without its sign";
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

/* Returns whether the current token can begin a value. */
static bool is_at_operand(const Parser *p)
{
    switch ((int)parse_token(p)->kind) {
    case TOKEN_NAME:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_GLOBAL_VALUE:
    case TOKEN_ATTRIBUTE:
    case TOKEN_MAKE_CLOSURE:
    case TOKEN_ASK_HOST:
    case TOKEN_SAMPLE:
        return true;
    default:
        return false;
    }
}

/* Returns whether a comment after the last token, on its line, contains the ';', as in: a // b; */
static bool is_cut_by_comment(const Parser *p)
{
    uint32_t at = parse_last_span(p).end, end = parse_token(p)->span.begin;
    const char *text = p->text.data;
    while (at < end && text[at] == ' ')
        ++at;
    if (at + 1 >= end || text[at] != '/' || text[at + 1] != '/')
        return false;
    while (at < end && text[at] != '\n' && text[at] != ';')
        ++at;
    return at < end && text[at] == ';';
}

/* The expected token is the type of a parameter or the like, or follows a type. */
static const char *habit_at_type(const Parser *p, TokenKind wanted)
{
    TokenKind before = kind_before(p, 1), is = parse_token(p)->kind;
    SslType type;
    if (wanted == TOKEN_FLOAT)
        return is == TOKEN_OPEN_BRACKET ? "metadata behind the parameter: float x = 1 [[ ... ]]"
                                        : NULL;
    if (wanted != TOKEN_OPEN || !token_is_type(before, &type))
        return NULL;
    if (is == TOKEN_OPEN_BRACKET)
        return "{1, 2, 3} as the value of the declaration";
    if (is == TOKEN_NAME && kind_before(p, 2) == TOKEN_OPEN_BRACKET)
        return "metadata between two brackets: [[ string label = \"Name\" ]]";
    if (is == TOKEN_GREATER)
        return "float(x) to make a float of x, and so for other types";
    return before == TOKEN_NORMAL
               ? "global_value<normal> for that of the surface: normal alone is a type"
               : NULL;
}

/* Returns whether the parser is in the parameters of a function or a shader. */
static bool is_in_parameters(const Parser *p)
{
    SslType type;
    const Token *start = &p->tokens[p->start];
    return start->kind == TOKEN_SHADER || (token_is_type(start->kind, &type) &&
                                           p->at > p->start + 2 && start[2].kind == TOKEN_OPEN);
}

/* Help for separators and operators of other languages. */
static const char *habit_of_separators(const Parser *p, TokenKind wanted)
{
    TokenKind before = kind_before(p, 1), is = parse_token(p)->kind;
    SslType type;
    if (wanted == TOKEN_NAME && (is == TOKEN_INT || is == TOKEN_FLOAT) && before == TOKEN_COMMA)
        return "'.' in a number, as 0.5, and a value behind each name: float a = 1, b = 2;";
    if (wanted == TOKEN_NAME && is == TOKEN_OUT)
        return "out before the type: out color result";
    if (wanted == TOKEN_CLOSE_BRACKET && is == TOKEN_COLON)
        return "a swizzle for several components, as v.xy, or a loop over elements";
    if (wanted == TOKEN_CLOSE_BRACKET && is == TOKEN_COMMA)
        return "brackets for each index: a[i][j]";
    if (wanted == TOKEN_CLOSE_BRACKET && is == TOKEN_SEMICOLON)
        return "',' between the entries of metadata";
    if (wanted == TOKEN_CLOSE && is_in_parameters(p) &&
        (is == TOKEN_SEMICOLON || is == TOKEN_OUT || token_is_type(is, &type)))
        return "',' between two parameters";
    if (wanted != TOKEN_SEMICOLON)
        return NULL;
    if (is == TOKEN_SUB && before == TOKEN_NAME && token_is_type(kind_before(p, 2), &type))
        return "names of letters, digits and '_'";
    if (is == TOKEN_SUB && before == TOKEN_CLOSE && parse_next_kind(p) == TOKEN_GREATER)
        return "the type of the result first: float name(float x) { return x; }";
    if (is == TOKEN_ASSIGN && before == TOKEN_CLOSE && is_in_parameters(p))
        return "a body: float name(float x) { return x; }";
    return is == TOKEN_LESS && p->tokens[p->start].kind == TOKEN_FOR ? "for (int i = 0; i < n; i++)"
                                                                     : NULL;
}

/* The expected token is a ';' or a closing bracket. */
static const char *habit_at_end(const Parser *p, TokenKind wanted)
{
    TokenKind is = parse_token(p)->kind, start = p->tokens[p->start].kind;
    SslType type;
    if (wanted == TOKEN_SEMICOLON && is_cut_by_comment(p))
        return "a / b for a quotient, which ints round toward zero: '//' begins a comment";
    if (is == TOKEN_IN)
        return start == TOKEN_FOR ? "for (int i = 0; i < n; i++)"
                                  : "a loop that compares with each element";
    if (is == TOKEN_COLON && wanted == TOKEN_SEMICOLON)
        return p->at == p->start + 1
                   ? "if, a loop or return: there are no labels"
                   : "= and a value, or nothing: names carry no semantics and no sizes";
    if (is == TOKEN_OPEN_BRACE && wanted == TOKEN_SEMICOLON && token_is_type(start, &type))
        return "= and the value: float x = 1;";
    if (wanted == TOKEN_CLOSE_BRACE && (is == TOKEN_SHADER || is == TOKEN_ATTRIBUTE))
        return "one '}' more before it: it stands at file scope";
    if (wanted == TOKEN_CLOSE_BRACE && is == TOKEN_STRUCT)
        return "Name x; for a variable of that struct, which itself stands at file scope";
    if (!is_at_operand(p) || parse_at_new_line(p))
        return NULL;
    if (wanted == TOKEN_SEMICOLON && is == TOKEN_NAME && token_is_type(kind_before(p, 2), &type))
        return "',' between two names, or ';' after each declaration";
    if (wanted == TOKEN_SEMICOLON)
        return "an operator between the two, or ';' to end the statement";
    return wanted == TOKEN_CLOSE ? "',' or an operator between the two" : NULL;
}

static bool is_in_interface(const Parser *p)
{
    const Token *start = &p->tokens[p->start];
    return start->kind == TOKEN_NAME && strcmp(start->text, "interface") == 0;
}

/* The expected token is another one. */
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
    if (is == TOKEN_LESS && is_in_interface(p))
        return "a function for any T, name<T : IShape>(T x): interfaces and their methods have no "
               "type parameters";
    if (wanted == TOKEN_NAME && is == TOKEN_OPEN && p->tokens[p->start].kind == TOKEN_STRUCT)
        return "a type before the method's name, or Name(1, 2), with all members: there are no "
               "constructors";
    if (wanted == TOKEN_OPEN && is == TOKEN_OPEN_BRACE && p->tokens[p->start].kind == TOKEN_SHADER)
        return "the parameters first: shader name(float x = 1, out color result)";
    if (wanted == TOKEN_OPEN && before == TOKEN_FOR)
        return "for (int i = 0; i < n; i++)";
    if (wanted == TOKEN_OPEN && (before == TOKEN_IF || before == TOKEN_WHILE))
        return before == TOKEN_IF ? "if (condition) statement" : "while (condition) statement";
    if (wanted == TOKEN_LESS && before == TOKEN_ATTRIBUTE && token_is_type(is, &type))
        return "'attribute type name;' at file scope, and attribute<name> where it is read";
    if (is == TOKEN_IF)
        return "condition ? this : that";
    if (is == TOKEN_COLON && parse_next_kind(p) == TOKEN_COLON)
        return "the name alone: names have no '::'";
    if (is == TOKEN_COLON && p->tokens[p->start].kind == TOKEN_FOR)
        return "for (int i = 0; i < n; i++)";
    if (is == TOKEN_COLON && parse_next_kind(p) == TOKEN_ASSIGN && wanted == TOKEN_CLOSE)
        return "the assignment, with '=', as a statement of its own";
    if (is == TOKEN_COLON && wanted == TOKEN_CLOSE)
        return "the parameter alone: semantics are of other languages, and [[ ]] holds metadata";
    if (wanted == TOKEN_NAME && (is == TOKEN_MUL || is == TOKEN_AND))
        return "the parameter or variable alone, with out or inout before its type if it is "
               "written: there are "
               "no pointers and references";
    if (wanted == TOKEN_NAME && is == TOKEN_STRING &&
        (kind_before(p, 2) == TOKEN_GLOBAL_VALUE || kind_before(p, 2) == TOKEN_ATTRIBUTE ||
         kind_before(p, 2) == TOKEN_MAKE_CLOSURE || kind_before(p, 2) == TOKEN_ASK_HOST))
        return "the name without quotes: global_value<uvw>, attribute<name>, make_closure<Name>";
    if (wanted == TOKEN_NAME && is == TOKEN_STRING && token_is_type(before, &type))
        return "the name without quotes: [[ float min = 0 ]]";
    if (wanted == TOKEN_NAME && is == TOKEN_STRING)
        return "the name of a declaration: 'texture2d name;' stands at file scope, and the "
               "material binds the file";
    if (wanted == TOKEN_NAME && is == TOKEN_OPEN && before == TOKEN_SHADER)
        return "a name: shader name(out color result)";
    if (wanted == TOKEN_NAME && is == TOKEN_OPEN && p->at == p->start + 1)
        return "the type of the result first: float name(float x) { return x; }";
    if (wanted == TOKEN_NAME && is == TOKEN_ASSIGN && before == TOKEN_NAME)
        return p->at == p->start + 1 ? "statements in a shader or a function"
                                     : "the type first: string label = \"Name\"";
    if (wanted == TOKEN_NAME && is == TOKEN_ASSIGN && token_is_type(before, &type))
        return "a name after the type, and none that is a type: float x = 1;";
    if (wanted == TOKEN_NAME && before == TOKEN_CLOSURE && is == TOKEN_COLOR)
        return "'closure name': a closure has no type of color";
    if (wanted == TOKEN_NAME && is == TOKEN_SHADER)
        return "shader name(parameters): a shader has no type, and gives values by out parameters";
    const char *other = habit_of_separators(p, wanted);
    other = other ? other : habit_at_type(p, wanted);
    other = other ? other : habit_at_end(p, wanted);
    if (!other && is == TOKEN_OPEN_BRACE && before == TOKEN_NAME)
        return "Name(1, 2), or {1, 2} alone";
    return other;
}

void parse_note_habit(Parser *p, TokenKind wanted)
{
    const char *instead = wanted == TOKEN_END ? habit_at_value(p) : habit_at_punctuation(p, wanted);
    if (instead)
        report(p->diags, NOTE_WRITE, (Span){0}, instead);
}
