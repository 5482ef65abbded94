#include "ssl/front/token.h"
#include "base/check.h"

static const char *const texts[TOKEN_KIND_COUNT] = {
    [TOKEN_END] = "the end of the source",
    [TOKEN_BAD] = "an unknown character",
    [TOKEN_NAME] = "a name",
    [TOKEN_INT] = "a number",
    [TOKEN_FLOAT] = "a number",
    [TOKEN_STRING] = "a string",
#define TOKEN_TYPE(name, text, type)  [TOKEN_##name] = text,
#define TOKEN_WORD(name, text)        [TOKEN_##name] = text,
#define TOKEN_PUNCTUATION(name, text) [TOKEN_##name] = text,
#include "ssl/front/token.inc"
#undef TOKEN_TYPE
#undef TOKEN_WORD
#undef TOKEN_PUNCTUATION
};

const char *token_kind_text(TokenKind kind)
{
    ASSERT((uint32_t)kind < TOKEN_KIND_COUNT);
    return texts[kind];
}

bool token_is_type(TokenKind kind, SslType *out_type)
{
    switch ((int)kind) {
#define TOKEN_TYPE(name, text, type)                                                               \
    case TOKEN_##name:                                                                             \
        *out_type = type;                                                                          \
        return true;
#define TOKEN_WORD(name, text)
#define TOKEN_PUNCTUATION(name, text)
#include "ssl/front/token.inc"
#undef TOKEN_TYPE
#undef TOKEN_WORD
#undef TOKEN_PUNCTUATION
    default:
        return false;
    }
}

bool token_is_word(TokenKind kind)
{
    switch ((int)kind) {
    case TOKEN_NAME:
#define TOKEN_TYPE(name, text, type) case TOKEN_##name:
#define TOKEN_WORD(name, text)       case TOKEN_##name:
#define TOKEN_PUNCTUATION(name, text)
#include "ssl/front/token.inc"
#undef TOKEN_TYPE
#undef TOKEN_WORD
#undef TOKEN_PUNCTUATION
        return true;
    default:
        return false;
    }
}
