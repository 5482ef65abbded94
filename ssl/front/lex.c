/* The lexer reads the text once, from left to right, without lookahead beyond the end of a token. All text is checked
 * to be UTF-8 before, so that later stages may print any piece of it. */
#include "ssl/front/lex.h"
#include "base/array.h"
#include "base/check.h"
#include "ssl/front/decimal.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *text;
    TokenKind kind;
} words[] =
    {
#define TOKEN_TYPE(name, text, type) {text, TOKEN_##name},
#define TOKEN_WORD(name, text)       {text, TOKEN_##name},
#define TOKEN_PUNCTUATION(name, text)
#include "ssl/front/token.inc"
#undef TOKEN_TYPE
#undef TOKEN_WORD
#undef TOKEN_PUNCTUATION
},
  punctuation[] = {
#define TOKEN_TYPE(name, text, type)
#define TOKEN_WORD(name, text)
#define TOKEN_PUNCTUATION(name, text) {text, TOKEN_##name},
#include "ssl/front/token.inc"
#undef TOKEN_TYPE
#undef TOKEN_WORD
#undef TOKEN_PUNCTUATION
};

typedef struct Lexer {
    Str text;
    uint32_t file, at;
    Names *names;
    Arena *arena;
    DiagList *diags;
    NameMap keywords; /* to TokenKind */
    NameMap rejected; /* names with other letters than ASCII's that were reported */
    TokenList tokens;
} Lexer;

static char peek(const Lexer *l, uint32_t ahead)
{
    return l->at + ahead < l->text.size_bytes ? l->text.data[l->at + ahead] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || is_digit(c);
}

static Span span_from(const Lexer *l, uint32_t begin)
{
    ASSERT(begin <= l->at && l->at <= l->text.size_bytes);
    return (Span){l->file, begin, l->at};
}

/* Letters of Latin, Greek, Cyrillic and what follows up to the punctuation of U+2000, and from U+2C00 on. */
static bool is_letter_beyond_ascii(Str text, uint32_t at)
{
    if (at >= text.size_bytes)
        return false;
    const unsigned char *c = (const unsigned char *)text.data + at;
    if (c[0] == 0xc3)
        return c[1] != 0x97 && c[1] != 0xb7; /* the signs for times and divided by */
    return (c[0] > 0xc3 && c[0] < 0xe2) || (c[0] == 0xe2 && c[1] >= 0xb0) ||
           (c[0] > 0xe2 && c[0] != 0xef);
}

static void push(Lexer *l, Token token)
{
    ASSERT(l->tokens.count == 0 ||
           l->tokens.data[l->tokens.count - 1].span.end <= token.span.begin);
    array_push(l->arena, &l->tokens, token);
}

/* Bytes of the UTF-8 character at `at`, without surrogates and over-long forms; 0 if it is none. */
static uint32_t character_bytes(Str text, uint32_t at)
{
    ASSERT(at < text.size_bytes);
    const unsigned char *p = (const unsigned char *)text.data + at;
    size_t left = text.size_bytes - at;
    uint32_t length = p[0] < 0x80   ? 1
                      : p[0] < 0xc2 ? 0
                      : p[0] < 0xe0 ? 2
                      : p[0] < 0xf0 ? 3
                      : p[0] < 0xf5 ? 4
                                    : 0;
    if (length > left)
        return 0;
    for (uint32_t i = 1; i < length; ++i)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

/* Returns whether the text is UTF-8, and reports the first byte that is not. */
static bool check_utf8(Lexer *l)
{
    for (uint32_t at = 0; at < l->text.size_bytes;) {
        uint32_t length = character_bytes(l->text, at);
        if (length == 0) {
            report(l->diags, NOT_UTF8, ((Span){l->file, at, at + 1}), NULL);
            return false;
        }
        at += length;
    }
    return true;
}

/* Returns the replacement of a character that word processors and mathematicians use, or NULL. */
static const char *plain_character(Str character)
{
    static const struct {
        const char *fancy, *plain;
    } rows[] = {
        {"\xe2\x80\x9c", "'\"', the straight quote"},
        {"\xe2\x80\x9d", "'\"', the straight quote"},
        {"\xe2\x80\x9e", "'\"', the straight quote"},
        {"\xc2\xab", "'\"', the straight quote"},
        {"\xc2\xbb", "'\"', the straight quote"},
        {"\xe2\x80\x98", "'\"', the straight quote"},
        {"\xe2\x80\x99", "'\"', the straight quote"},
        {"'", "'\"' for a string; there are no single characters"},
        {"`", "'\"' for a string"},
        {"\xe2\x80\x93", "'-'"},
        {"\xe2\x80\x94", "'-'"},
        {"\xe2\x88\x92", "'-'"},
        {"\xc3\x97", "'*'"},
        {"\xc2\xb7", "'*'"},
        {"\xe2\x8b\x85", "'*'"},
        {"\xc3\xb7", "'/'"},
        {"\xe2\x89\xa4", "'<='"},
        {"\xe2\x89\xa5", "'>='"},
        {"\xe2\x89\xa0", "'!='"},
        {"\xc2\xb2", "pow(x, 2), or x * x"},
        {"\xc2\xb3", "pow(x, 3), or x * x * x"},
        {"\xe2\x88\x9a", "sqrt(x)"},
        {"\xc2\xb0", "radians(x) for an angle in degrees"},
        {"\xc2\xa0", "a blank: this one is a no-break space"},
        {"\xe2\x80\xaf", "a blank: this one is a no-break space"},
        {"\xe2\x80\x8b", "nothing: this is a blank of no width"},
        {"\xef\xbb\xbf", "nothing: this is a byte order mark"},
        {"\\", "nothing: a statement goes on over lines until its ';'"},
        {"@", "nothing: there are no decorators"},
        {"$", "names of letters, digits and '_'"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        if (str_equal_c(character, rows[i].fancy))
            return rows[i].plain;
    return NULL;
}

/* Reports "#" and the rest of its line: a directive of C's preprocessor, or another language's comment. */
static void reject_hash(Lexer *l)
{
    static const char *const directives[] = {"include", "define",    "undef", "if",    "ifdef",
                                             "ifndef",  "else",      "elif",  "endif", "pragma",
                                             "version", "extension", "line",  "error", "import"};
    uint32_t begin = l->at++, word;
    bool is_directive = false;
    report(l->diags, UNKNOWN_CHARACTER, span_from(l, begin), "'#'");
    while (peek(l, 0) == ' ')
        ++l->at;
    for (word = l->at; is_name_part(peek(l, 0));)
        ++l->at;
    for (size_t i = 0; i < SORT_COUNT_OF(directives); ++i)
        is_directive |= str_equal_c((Str){l->text.data + word, l->at - word}, directives[i]);
    bool is_colour = (l->at - word == 3 || l->at - word == 6) && word == begin + 1;
    for (uint32_t at = word; at < l->at; ++at)
        is_colour &= isxdigit((unsigned char)l->text.data[at]) != 0;
    if (is_directive)
        report(l->diags, NOTE_PREPROCESSOR, (Span){0}, NULL);
    else if (is_colour)
        report(l->diags, NOTE_WRITE, (Span){0},
               "color(r, g, b) for a colour, of numbers from 0 to 1");
    else
        report(l->diags, NOTE_WRITE, (Span){0}, "'//' before a comment");
    while (l->at < l->text.size_bytes && peek(l, 0) != '\n')
        ++l->at;
    uint32_t line = begin;
    while (line > 0 && (l->text.data[line - 1] == ' ' || l->text.data[line - 1] == '\t'))
        --line;
    if (line > 0 && l->text.data[line - 1] != '\n') /* within a statement */
        push(l, (Token){.kind = TOKEN_BAD, .span = span_from(l, begin)});
}

/* Reports a name with letters that are not ASCII, as a whole and once per name. */
static void reject_name(Lexer *l, uint32_t begin)
{
    while (is_name_part(peek(l, 0)) || is_letter_beyond_ascii(l->text, l->at))
        l->at += character_bytes(l->text, l->at);
    Span span = span_from(l, begin);
    const char *name = names_intern(l->names, (Str){l->text.data + begin, l->at - begin});
    if (!name_map_get(&l->rejected, name))
        report(l->diags, NAME_BEYOND_ASCII, span, name);
    name_map_set(&l->rejected, name, l);
    push(l, (Token){.kind = TOKEN_BAD, .span = span});
}

static void reject_character(Lexer *l, uint32_t at)
{
    uint32_t bytes = character_bytes(l->text, at);
    unsigned char c = (unsigned char)l->text.data[at];
    const char *shown = c < 0x20 || c == 0x7f
                            ? arena_printf(l->arena, "with the code %u", c)
                            : arena_printf(l->arena, "'%.*s'", (int)bytes, l->text.data + at);
    report(l->diags, UNKNOWN_CHARACTER, ((Span){l->file, at, at + bytes}), shown);
    const char *plain = plain_character((Str){l->text.data + at, bytes});
    const uint8_t *code = (const uint8_t *)l->text.data + at;
    /* U+FF01 to U+FF5E: ASCII as wide as Chinese characters */
    uint32_t wide = bytes == 3 && code[0] == 0xef ? (code[1] & 0x3fu) << 6 | (code[2] & 0x3fu) : 0;
    if (wide > 0xf00 && wide < 0xf5f)
        plain =
            arena_printf(l->arena, "'%c': this one is of full width", (int)(wide - 0xf00 + 0x20));
    if (plain)
        report(l->diags, NOTE_WRITE, (Span){0}, plain);
}

/* Skips white space and comments. */
static void skip(Lexer *l)
{
    for (;;) {
        char c = peek(l, 0);
        if (l->at < l->text.size_bytes && (c == ' ' || (c >= '\t' && c <= '\r'))) {
            ++l->at;
        } else if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->text.size_bytes && peek(l, 0) != '\n')
                ++l->at;
        } else if (c == '/' && peek(l, 1) == '*') {
            uint32_t begin = l->at;
            l->at += 2;
            while (l->at < l->text.size_bytes && !(peek(l, 0) == '*' && peek(l, 1) == '/'))
                ++l->at;
            if (l->at >= l->text.size_bytes) {
                report(l->diags, UNTERMINATED_COMMENT, ((Span){l->file, begin, begin + 2}), NULL);
                return;
            }
            l->at += 2;
        } else {
            return;
        }
    }
}

static void lex_name(Lexer *l)
{
    uint32_t begin = l->at;
    while (is_name_part(peek(l, 0)))
        ++l->at;
    if (is_letter_beyond_ascii(l->text, l->at)) {
        reject_name(l, begin);
        return;
    }
    Str text = {l->text.data + begin, l->at - begin};
    if (text.size_bytes > SSL_MAX_NAME_BYTES) {
        report(l->diags, NAME_TOO_LONG, span_from(l, begin),
               arena_printf(l->arena, "%d", SSL_MAX_NAME_BYTES));
        text.size_bytes = SSL_MAX_NAME_BYTES;
    }
    const char *name = names_intern(l->names, text);
    const TokenKind *keyword = name_map_get(&l->keywords, name);
    push(l, (Token){.kind = keyword ? *keyword : TOKEN_NAME,
                    .span = span_from(l, begin),
                    .text = name});
}

static Token hex_token(Lexer *l, Span span, Str digits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size_bytes && value <= UINT32_MAX; ++i) {
        char c = digits.data[i];
        uint32_t digit = is_digit(c) ? (uint32_t)(c - '0') : ((uint32_t)c | 0x20u) - 'a' + 10u;
        value = value << 4 | digit;
    }
    if (value > UINT32_MAX) {
        report(l->diags, INT_RANGE, span, arena_printf(l->arena, "0x%.*s", STR_ARG(digits)));
        value = 0;
    }
    return (Token){.kind = TOKEN_INT, .span = span, .int_bits = (uint32_t)value};
}

static Token int_token(Lexer *l, Span span, Str digits)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size_bytes && value <= UINT32_MAX; ++i)
        value = value * 10 + (uint64_t)(digits.data[i] - '0');
    if (digits.size_bytes > 1 && digits.data[0] == '0')
        report(l->diags, OCTAL, span, NULL);
    else if (value > (uint64_t)INT32_MAX + 1) {
        report(l->diags, INT_RANGE, span, arena_printf(l->arena, "%.*s", STR_ARG(digits)));
        value = 0;
    }
    return (Token){
        .kind = TOKEN_INT, .span = span, .int_bits = (uint32_t)value, .is_decimal = true};
}

static Token float_token(Lexer *l, Span span, Str digits)
{
    Token token = {.kind = TOKEN_FLOAT, .span = span};
    if (!decimal_to_float(digits, &token.float_value)) {
        report(l->diags, FLOAT_RANGE, span, arena_printf(l->arena, "%.*s", STR_ARG(digits)));
        token.float_value = 0.0f;
    }
    return token;
}

/* Returns what to write in place of `number` followed by `rest`. */
static const char *number_instead(Lexer *l, Str number, Str rest)
{
    static const char *const suffixes[] = {"u",  "U",   "l",   "L",  "ul",  "UL",  "ll",
                                           "LL", "ull", "ULL", "h",  "H",   "hf",  "HF",
                                           "d",  "D",   "lf",  "LF", "i32", "u32", "j"};
    if (number.size_bytes == 0)
        return NULL;
    for (size_t i = 0; i < SORT_COUNT_OF(suffixes); ++i)
        if (str_equal_c(rest, suffixes[i]))
            return arena_printf(l->arena, "%.*s: the only suffix is 'f'", STR_ARG(number));
    if (rest.size_bytes > 1 && rest.data[0] == '_')
        return "the digits without '_'";
    if (rest.size_bytes > 1 && (rest.data[0] | 0x20) == 'b' && str_equal_c(number, "0"))
        return "a decimal or a hexadecimal number, as 5 or 0x5: there are no binary ones";
    if (str_equal_c(rest, "deg"))
        return arena_printf(l->arena, "radians(%.*s): angles are in radians", STR_ARG(number));
    if (rest.size_bytes > 0 && is_name_start(rest.data[0]) &&
        number.data[number.size_bytes - 1] != 'e')
        return arena_printf(
            l->arena, "an operator between %.*s and '%.*s', or a name that begins with a letter",
            STR_ARG(number), STR_ARG(rest));
    return NULL;
}

/* Lexes a number with all letters, digits and points that touch it: 0x1F, 12, 1.0, 1., .5, 1e-3, 2f. */
static void lex_number(Lexer *l)
{
    uint32_t begin = l->at;
    bool is_hex = peek(l, 0) == '0' && (peek(l, 1) | 0x20) == 'x';
    while (is_name_part(peek(l, 0)) || peek(l, 0) == '.' ||
           (!is_hex && (peek(l, 0) == '+' || peek(l, 0) == '-') &&
            (l->text.data[l->at - 1] | 0x20) == 'e'))
        ++l->at;
    Span span = span_from(l, begin);
    Str text = {l->text.data + begin, l->at - begin};
    if (text.size_bytes > SSL_MAX_NUMBER_BYTES) {
        report(l->diags, NUMBER_TOO_LONG, span, arena_printf(l->arena, "%d", SSL_MAX_NUMBER_BYTES));
        push(l, (Token){.kind = TOKEN_INT, .span = span});
        return;
    }
    /* digits [. digits] [e [+-] digits] [f], or 0x and hexadecimal digits */
    const char *at = text.data, *end = text.data + text.size_bytes;
    bool is_float = false;
    size_t digits = 0;
    if (is_hex) {
        for (at += 2; at < end && is_hex_digit(*at); ++at)
            ++digits;
    } else {
        for (; at < end && (is_digit(*at) || (*at == '.' && !is_float)); ++at)
            if (*at == '.')
                is_float = true;
            else
                ++digits;
        if (digits > 0 && at < end && (*at | 0x20) == 'e') {
            is_float = true;
            at += at + 1 < end && (at[1] == '+' || at[1] == '-') ? 2 : 1;
            for (digits = 0; at < end && is_digit(*at); ++at)
                ++digits;
        }
    }
    Str number = {text.data, (size_t)(at - text.data)};
    if (!is_hex && at < end && (*at | 0x20) == 'f') {
        is_float = true;
        ++at;
    }
    if (digits == 0 || at != end) {
        report(l->diags, BAD_NUMBER, span, arena_printf(l->arena, "%.*s", STR_ARG(text)));
        const char *instead = number_instead(l, number, (Str){at, (size_t)(end - at)});
        if (instead)
            report(l->diags, NOTE_WRITE, (Span){0}, instead);
        push(l, (Token){.kind = TOKEN_INT, .span = span});
    } else if (is_hex) {
        push(l, hex_token(l, span, (Str){text.data + 2, text.size_bytes - 2}));
    } else {
        push(l, is_float ? float_token(l, span, number) : int_token(l, span, number));
    }
}

static void lex_string(Lexer *l)
{
    uint32_t begin = l->at++;
    char *text = NULL;
    size_t size = 0;
    for (int pass = 0; pass < 2; ++pass) { /* measure, then copy */
        l->at = begin + 1;
        size = 0;
        for (; l->at < l->text.size_bytes && peek(l, 0) != '"' && peek(l, 0) != '\n'; ++l->at) {
            char c = peek(l, 0);
            if ((unsigned char)c < 0x20 && c != '\t' && pass == 0)
                reject_character(l, l->at);
            if (c == '\\') {
                ++l->at;
                char e = peek(l, 0);
                c = e == 'n' ? '\n' : e == 't' ? '\t' : e;
                if (e != 'n' && e != 't' && e != '\\' && e != '"') {
                    if (pass == 0)
                        report(l->diags, UNKNOWN_ESCAPE, ((Span){l->file, l->at - 1, l->at}), NULL);
                    --l->at; /* the character is seen again, for itself */
                }
            }
            if (text && c != '\0')
                text[size] = c;
            size += c != '\0';
        }
        if (!text)
            text = arena_alloc(l->arena, size + 1, 1);
    }
    if (peek(l, 0) == '"')
        ++l->at;
    else
        report(l->diags, UNTERMINATED_STRING, span_from(l, begin), NULL);
    push(l, (Token){.kind = TOKEN_STRING, .span = span_from(l, begin), .text = text});
}

/* A typical source, with comments, has this many bytes per token; it determines how much room is reserved. */
enum { BYTES_PER_TOKEN = 4 };

static bool lex_punctuation(Lexer *l)
{
    Str rest = {l->text.data + l->at, l->text.size_bytes - l->at};
    for (size_t i = 0; i < SORT_COUNT_OF(punctuation); ++i) {
        if (rest.size_bytes == 0 || punctuation[i].text[0] != rest.data[0])
            continue;
        size_t length = strlen(punctuation[i].text);
        if (length <= rest.size_bytes && memcmp(rest.data, punctuation[i].text, length) == 0) {
            uint32_t begin = l->at;
            l->at += (uint32_t)length;
            push(l, (Token){.kind = punctuation[i].kind,
                            .span = span_from(l, begin),
                            .text = punctuation[i].text});
            return true;
        }
    }
    return false;
}

static void lex_token(Lexer *l)
{
    char c = peek(l, 0);
    if (is_name_start(c))
        lex_name(l);
    else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1))))
        lex_number(l);
    else if (c == '"')
        lex_string(l);
    else if (c == '#')
        reject_hash(l);
    else if (is_letter_beyond_ascii(l->text, l->at))
        reject_name(l, l->at);
    else if (!lex_punctuation(l)) {
        uint32_t begin = l->at;
        reject_character(l, begin);
        l->at += character_bytes(l->text, begin);
        push(l, (Token){.kind = TOKEN_BAD, .span = span_from(l, begin)});
    }
}

TokenList lex(Str text, uint32_t file, Names *names, Arena *arena, DiagList *diags)
{
    Lexer l = {.text = text, .file = file, .names = names, .arena = arena, .diags = diags};
    name_map_init(&l.keywords, arena);
    name_map_init(&l.rejected, arena);
    TokenKind *kinds = ARENA_ARRAY(arena, TokenKind, SORT_COUNT_OF(words));
    for (size_t i = 0; i < SORT_COUNT_OF(words); ++i) {
        kinds[i] = words[i].kind;
        name_map_set(&l.keywords, names_intern(names, str_from(words[i].text)), &kinds[i]);
    }
    if (text.size_bytes > SSL_MAX_SOURCE_BYTES) {
        report(diags, SOURCE_TOO_LARGE, ((Span){file, 0, 0}),
               arena_printf(arena, "%d", SSL_MAX_SOURCE_BYTES));
        l.text.size_bytes = 0;
    } else if (!check_utf8(&l)) {
        l.text.size_bytes = 0;
    }
    if (l.text.size_bytes >= 3 && memcmp(l.text.data, "\xef\xbb\xbf", 3) == 0)
        l.at = 3; /* byte order mark */
    array_reserve(arena, &l.tokens, (uint32_t)(l.text.size_bytes / BYTES_PER_TOKEN + 16));
    for (skip(&l); l.at < l.text.size_bytes && !report_is_full(diags); skip(&l))
        lex_token(&l);
    l.at = (uint32_t)l.text.size_bytes;
    push(&l, (Token){.kind = TOKEN_END, .span = span_from(&l, l.at)});
    return l.tokens;
}

void lex_print(const TokenList *tokens, const DiagList *diags, StrBuf *out)
{
    for (uint32_t i = 0; i < tokens->count; ++i) {
        const Token *t = &tokens->data[i];
        uint32_t line, column;
        diag_position(diags, t->span.file, t->span.begin, &line, &column);
        strbuf_printf(out, "%u:%u ", line, column);
        if (t->kind == TOKEN_INT)
            strbuf_printf(out, t->is_decimal ? "int %u\n" : "int 0x%x\n", t->int_bits);
        else if (t->kind == TOKEN_FLOAT)
            strbuf_printf(out, "float %.9g\n", (double)t->float_value);
        else if (t->kind == TOKEN_STRING)
            strbuf_printf(out, "string \"%s\"\n", t->text);
        else if (t->kind == TOKEN_NAME)
            strbuf_printf(out, "name %s\n", t->text);
        else
            strbuf_printf(out, "%s\n", token_kind_text(t->kind));
    }
}
