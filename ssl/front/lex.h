/* Source text to tokens. */
#ifndef SSL_FRONT_LEX_H
#define SSL_FRONT_LEX_H

#include "ssl/front/names.h"
#include "ssl/front/token.h"

typedef struct TokenList {
    Token *data; /* ends with TOKEN_END */
    uint32_t count, capacity;
} TokenList;

/* The whole of `text`, whose spans get `file`. Faulty characters are reported and left out. */
TokenList lex(Str text, uint32_t file, Names *names, Arena *arena, DiagList *diags);

/* One token a line: "line:column kind text". */
void lex_print(const TokenList *tokens, const DiagList *diags, StrBuf *out);

#endif
