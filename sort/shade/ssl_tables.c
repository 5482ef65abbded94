#include "sort/shade/ssl_tables.h"

#include "base/check.h"
#include "sort/bsdf/closure_table.h"
#include <string.h>

const SslGlobalRow sort_ssl_globals[GLOBAL_COUNT] = {
#define SORT_GLOBAL(name, type, has_derivs, space, doc) {#name, type, has_derivs, space, doc},
#include "sort/shade/globals.inc"
#undef SORT_GLOBAL
};

const SslAttributeRow sort_ssl_attributes[ATTRIBUTE_COUNT] = {
#define SORT_ATTRIBUTE(name, type, has_derivs, doc) {#name, type, has_derivs, doc},
#include "sort/shade/attributes.inc"
#undef SORT_ATTRIBUTE
};

#define SORT_ARG(name, type)                   {#name, type},
#define SORT_QUESTION(name, result, args, doc) static const SslClosureArg args_##name[] = {args};
#include "sort/shade/questions.inc"
#undef SORT_QUESTION
#undef SORT_ARG

const SslQuestionRow sort_ssl_questions[QUESTION_COUNT] = {
#define SORT_QUESTION(name, result, args, doc)                                                     \
    {#name, args_##name, SORT_COUNT_OF(args_##name), result, doc},
#include "sort/shade/questions.inc"
#undef SORT_QUESTION
};

void ssl_tables_answer(SslHost *host, const SslAskCall *call)
{
    (void)host;
    float *result = call->result;
    uint32_t n = call->lane_count;
    if (call->question == QUESTION_bevel)
        memcpy(result, call->args, 3 * sizeof *result * n);
    for (uint32_t k = 0; k < n && call->question == QUESTION_occlusion; ++k)
        result[k] = 1.0f;
}

void ssl_tables_describe(SslContextDesc *desc)
{
    desc->globals = sort_ssl_globals;
    desc->global_count = GLOBAL_COUNT;
    desc->attributes = sort_ssl_attributes;
    desc->attribute_count = ATTRIBUTE_COUNT;
    desc->questions = sort_ssl_questions;
    desc->question_count = QUESTION_COUNT;
    desc->closures = closure_rows;
    desc->closure_count = closure_count;
}
