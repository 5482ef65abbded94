#include "ssl/context.h"
#include "base/alloc.h"
#include "base/check.h"
#include "ssl/ssl_limits.h"
#include <string.h>

static Status check_globals(const SslContextDesc *desc, Error *err)
{
    if (desc->global_count > SSL_MAX_GLOBALS)
        return error_set(err, STATUS_LIMIT, "%u globals; at most %d are possible",
                         desc->global_count, SSL_MAX_GLOBALS);
    for (uint32_t i = 0; i < desc->global_count; ++i) {
        const SslGlobalRow *row = &desc->globals[i];
        bool is_discrete = row->type == SSL_BOOL || row->type == SSL_INT;
        bool is_value = is_discrete || (row->type >= SSL_FLOAT && row->type <= SSL_NORMAL);
        if (!is_value)
            return error_set(err, STATUS_INVALID, "global '%s' cannot be a %s", row->name,
                             ssl_type_name(row->type));
        if (is_discrete && row->has_derivs)
            return error_set(err, STATUS_INVALID, "global '%s': a %s has no derivatives", row->name,
                             ssl_type_name(row->type));
        for (uint32_t j = 0; j < i; ++j)
            if (strcmp(desc->globals[j].name, row->name) == 0)
                return error_set(err, STATUS_INVALID, "global '%s' stands twice in the table",
                                 row->name);
    }
    return STATUS_OK;
}

static Status check_attributes(const SslContextDesc *desc, Error *err)
{
    if (desc->attribute_count > SSL_MAX_ATTRIBUTES)
        return error_set(err, STATUS_LIMIT, "%u attributes; at most %d are possible",
                         desc->attribute_count, SSL_MAX_ATTRIBUTES);
    for (uint32_t i = 0; i < desc->attribute_count; ++i) {
        const SslAttributeRow *row = &desc->attributes[i];
        bool is_float = row->type >= SSL_FLOAT && row->type <= SSL_NORMAL;
        if (!is_float && row->type != SSL_BOOL && row->type != SSL_INT)
            return error_set(err, STATUS_INVALID, "attribute '%s' cannot be a %s", row->name,
                             ssl_type_name(row->type));
        if (!is_float && row->has_derivs)
            return error_set(err, STATUS_INVALID, "attribute '%s': a %s has no derivatives",
                             row->name, ssl_type_name(row->type));
        for (uint32_t j = 0; j < i; ++j)
            if (strcmp(desc->attributes[j].name, row->name) == 0)
                return error_set(err, STATUS_INVALID, "attribute '%s' stands twice in the table",
                                 row->name);
    }
    return STATUS_OK;
}

static Status check_closures(const SslContextDesc *desc, Error *err)
{
    if (desc->closure_count > SSL_MAX_CLOSURES)
        return error_set(err, STATUS_LIMIT, "%u closures; at most %d are possible",
                         desc->closure_count, SSL_MAX_CLOSURES);
    for (uint32_t i = 0; i < desc->closure_count; ++i) {
        const SslClosureRow *row = &desc->closures[i];
        if (row->arg_count > SSL_MAX_CLOSURE_ARGS)
            return error_set(err, STATUS_LIMIT, "closure '%s' has %u arguments; at most %d",
                             row->name, row->arg_count, SSL_MAX_CLOSURE_ARGS);
        for (uint32_t j = 0; j < row->arg_count; ++j)
            if (row->args[j].type != SSL_CLOSURE && ssl_type_scalars(row->args[j].type) == 0)
                return error_set(err, STATUS_INVALID,
                                 "argument '%s' of closure '%s' cannot be a %s", row->args[j].name,
                                 row->name, ssl_type_name(row->args[j].type));
        for (uint32_t j = 0; j < i; ++j)
            if (strcmp(desc->closures[j].name, row->name) == 0)
                return error_set(err, STATUS_INVALID, "closure '%s' stands twice in the table",
                                 row->name);
    }
    return STATUS_OK;
}

static bool is_number_type(SslType type)
{
    return type == SSL_BOOL || type == SSL_INT || (type >= SSL_FLOAT && type <= SSL_NORMAL);
}

static Status check_questions(const SslContextDesc *desc, Error *err)
{
    if (desc->question_count > SSL_MAX_QUESTIONS)
        return error_set(err, STATUS_LIMIT, "%u questions; at most %d are possible",
                         desc->question_count, SSL_MAX_QUESTIONS);
    for (uint32_t i = 0; i < desc->question_count; ++i) {
        const SslQuestionRow *row = &desc->questions[i];
        if (row->arg_count < 1 || row->arg_count > SSL_MAX_CLOSURE_ARGS)
            return error_set(err, STATUS_LIMIT, "question '%s' has %u arguments; from 1 to %d",
                             row->name, row->arg_count, SSL_MAX_CLOSURE_ARGS);
        for (uint32_t j = 0; j < row->arg_count; ++j)
            if (!is_number_type(row->args[j].type))
                return error_set(err, STATUS_INVALID,
                                 "argument '%s' of question '%s' cannot be a %s", row->args[j].name,
                                 row->name, ssl_type_name(row->args[j].type));
        if (!is_number_type(row->result))
            return error_set(err, STATUS_INVALID, "the answer to question '%s' cannot be a %s",
                             row->name, ssl_type_name(row->result));
        for (uint32_t j = 0; j < i; ++j)
            if (strcmp(desc->questions[j].name, row->name) == 0)
                return error_set(err, STATUS_INVALID, "question '%s' stands twice in the table",
                                 row->name);
    }
    return STATUS_OK;
}

Status ssl_context_create(const SslContextDesc *desc, SslContext **out_context, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    *out_context = NULL;
    TRY(check_globals(desc, err));
    TRY(check_closures(desc, err));
    TRY(check_attributes(desc, err));
    TRY(check_questions(desc, err));
    SslContext *ctx = MEM_NEW(SslContext);
    if (!ctx)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    ctx->tables = (LowerTables){.globals = desc->globals,
                                .closures = desc->closures,
                                .attributes = desc->attributes,
                                .questions = desc->questions,
                                .global_count = desc->global_count,
                                .closure_count = desc->closure_count,
                                .attribute_count = desc->attribute_count,
                                .question_count = desc->question_count};
    Status status = stdlib_create(&ctx->lib, err);
    if (status == STATUS_OK)
        status = jit_create(desc->cpu, desc->cache_folder, &ctx->jit, err);
    if (status != STATUS_OK) {
        ssl_context_destroy(ctx);
        return status;
    }
    *out_context = ctx;
    return STATUS_OK;
}

const char *const *ssl_baseline_cpus(void)
{
    return jit_baseline_cpus();
}

Status ssl_native_cpu_class(char out[SSL_CPU_CLASS_BYTES], Error *err)
{
    return jit_native_cpu_class(out, SSL_CPU_CLASS_BYTES, err);
}

const char *ssl_context_cpu_class(const SslContext *ctx)
{
    return jit_cpu_class(ctx->jit);
}

void ssl_context_destroy(SslContext *ctx)
{
    if (!ctx)
        return;
    jit_destroy(ctx->jit);
    stdlib_destroy(ctx->lib);
    mem_free(ctx);
}
