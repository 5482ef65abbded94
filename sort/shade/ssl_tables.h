/* The tables that the renderer hands to the SSL compiler: which globals and attributes shaders may
 * read, what they may ask, and which closures they may make. Made from globals.inc, attributes.inc, questions.inc and the closures (closure_table.h); also what sslc and ssl-test
 * check shaders against. Static, immutable. */
#ifndef SORT_SHADE_SSL_TABLES_H
#define SORT_SHADE_SSL_TABLES_H

#include "ssl/ssl.h"

typedef enum GlobalRow {
#define SORT_GLOBAL(name, type, has_derivs, space, doc) GLOBAL_##name,
#include "sort/shade/globals.inc"
#undef SORT_GLOBAL
    GLOBAL_COUNT
} GlobalRow;

extern const SslGlobalRow sort_ssl_globals[GLOBAL_COUNT];

typedef enum AttributeRow {
#define SORT_ATTRIBUTE(name, type, has_derivs, doc) ATTRIBUTE_##name,
#include "sort/shade/attributes.inc"
#undef SORT_ATTRIBUTE
    ATTRIBUTE_COUNT
} AttributeRow;

extern const SslAttributeRow sort_ssl_attributes[ATTRIBUTE_COUNT];

typedef enum QuestionRow {
#define SORT_QUESTION(name, result, args, doc) QUESTION_##name,
#include "sort/shade/questions.inc"
#undef SORT_QUESTION
    QUESTION_COUNT
} QuestionRow;

extern const SslQuestionRow sort_ssl_questions[QUESTION_COUNT];

/* Answers for a surface that stands alone in the world, as SslServices.ask. */
void ssl_tables_answer(SslHost *host, const SslAskCall *call);

/* Fills the table fields of a context description. */
void ssl_tables_describe(SslContextDesc *desc);

#endif
