/* What the files that read `bsdf` definitions share: a definition as it was read. */
#ifndef SSL_FRONT_PARSE_BSDF_H
#define SSL_FRONT_PARSE_BSDF_H

#include "ssl/front/parse.h"

typedef struct Tokens { /* a range of the parser's tokens */
    uint32_t begin, end;
} Tokens;

/* A value that `prepare` computes and that eval and sample may read. */
typedef struct StateVar {
    const char *name, *type, *sizes; /* texts: "alpha", "float", "[4]" */
    int lobe;                        /* of all lobes: -1 */
    bool is_argument;
    Span span;
} StateVar;

typedef struct Lobe {
    Span span;
    uint32_t flags;
    Stmt *body;          /* a block: the statements of the lobe */
    Stmt *eval, *sample; /* blocks; NULL: none */
    Tokens all, eval_tokens, sample_tokens;
} Lobe;

typedef struct Bsdf {
    Parser *p;
    Span span;
    const char *name;
    MetadataList metadata;
    VarList args;
    Tokens tokens, body; /* all of it, and what stands in its braces */
    ARRAY(Stmt *) state;
    ARRAY(Lobe) lobes;
    ARRAY(StateVar) vars;
} Bsdf;

/* Returns whether the range has the word as a name. */
bool bsdf_mentions(const Bsdf *b, Tokens range, const char *name);
/* Returns the argument of this name, or NULL. */
VarDecl *bsdf_argument(const Bsdf *b, const char *name);

/* bsdf_rules.c: reports what a definition that could be read may not have, or lacks. */
void bsdf_check_rules(Bsdf *b);

#endif
