/* Tokens of SSL. Texts of names are interned (names.h): equal names have equal pointers. */
#ifndef SSL_FRONT_TOKEN_H
#define SSL_FRONT_TOKEN_H

#include "base/diag.h"
#include "ssl/ssl.h"

typedef enum TokenKind {
    TOKEN_END, /* the end of the source; its span is empty */
    TOKEN_BAD, /* stands for a character that was reported */
    TOKEN_NAME,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_STRING,
#define TOKEN_TYPE(name, text, type)  TOKEN_##name,
#define TOKEN_WORD(name, text)        TOKEN_##name,
#define TOKEN_PUNCTUATION(name, text) TOKEN_##name,
#include "ssl/front/token.inc"
#undef TOKEN_TYPE
#undef TOKEN_WORD
#undef TOKEN_PUNCTUATION
    TOKEN_KIND_COUNT
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Span span;
    union {
        const char *text;  /* NAME, keywords: interned; STRING: without quotes, escapes resolved */
        uint32_t int_bits; /* INT: decimal up to 2^31, which only a minus sign makes valid */
        float float_value; /* FLOAT */
    };
    bool is_decimal; /* INT: not hexadecimal */
} Token;

/* Returns the token's text, or a description such as "a name" for tokens without a fixed text. */
const char *token_kind_text(TokenKind kind);
/* Returns whether the token is a type, as `float` or `color`, and which. */
bool token_is_type(TokenKind kind, SslType *out_type);
/* Returns whether the token is a name or a keyword. Both may stand where only a name makes sense (metadata,
 * global_value<normal>). */
bool token_is_word(TokenKind kind);

#endif
