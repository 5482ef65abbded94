/* The lexer, which turns source text into tokens. */
#ifndef SSL_FRONT_LEX_H
#define SSL_FRONT_LEX_H

#include "ssl/front/names.h"
#include "ssl/front/token.h"

typedef struct TokenList {
    Token *data; /* ends with TOKEN_END */
    uint32_t count, capacity;
} TokenList;

/* Lexes all of `text`; spans get the number `file`. Invalid characters are reported and skipped. */
TokenList lex(Str text, uint32_t file, Names *names, Arena *arena, DiagList *diags);

/* Appends the tokens as text, a line for each: "line:column kind text". */
void lex_print(const TokenList *tokens, const DiagList *diags, StrBuf *out);

#endif
