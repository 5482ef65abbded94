/* Contexts: the host's tables, checked and copied. */
#include "base/arena.h"
#include "ssl/api/api_check.h"
#include "ssl/api/api_handles.h"
#include "ssl/ssl_limits.h"
#include <string.h>

enum { TYPE_COUNT = SSL_ARRAY + 1 };

static SortSslStatus check_row(const char *name, SortSslType type, const char *table, uint32_t row,
                               SortSslError *err)
{
    if (!name || !*name)
        return api_refuse(err, STATUS_INVALID, "row %u of the table of %s has no name", row, table);
    if ((uint32_t)type >= TYPE_COUNT)
        return api_refuse(err, STATUS_INVALID,
                          "row %u ('%s') of the table of %s: %d is no SortSslType", row, name,
                          table, (int)type);
    return SORT_SSL_OK;
}

static SortSslStatus check_rows(const SortSslContextDesc *desc, SortSslError *err)
{
    if ((desc->global_count && !desc->globals) || (desc->closure_count && !desc->closures) ||
        (desc->attribute_count && !desc->attributes))
        return api_refuse_null(err, "a table of SortSslContextDesc whose count is not 0");
    if (desc->global_count > SSL_MAX_GLOBALS || desc->closure_count > SSL_MAX_CLOSURES ||
        desc->attribute_count > SSL_MAX_ATTRIBUTES)
        return api_refuse(
            err, STATUS_LIMIT,
            "%u globals, %u closures, %u attributes; at most %d, %d and %d are possible",
            desc->global_count, desc->closure_count, desc->attribute_count, SSL_MAX_GLOBALS,
            SSL_MAX_CLOSURES, SSL_MAX_ATTRIBUTES);
    for (uint32_t i = 0; i < desc->global_count; ++i)
        TRY_SSL(check_row(desc->globals[i].name, desc->globals[i].type, "globals", i, err));
    for (uint32_t i = 0; i < desc->attribute_count; ++i)
        TRY_SSL(
            check_row(desc->attributes[i].name, desc->attributes[i].type, "attributes", i, err));
    for (uint32_t i = 0; i < desc->closure_count; ++i) {
        const SortSslClosure *row = &desc->closures[i];
        TRY_SSL(check_row(row->name, SORT_SSL_CLOSURE, "closures", i, err));
        if (row->arg_count > SSL_MAX_CLOSURE_ARGS)
            return api_refuse(err, STATUS_LIMIT, "closure '%s' has %u arguments; at most %d",
                              row->name, row->arg_count, SSL_MAX_CLOSURE_ARGS);
        if (row->arg_count && !row->args)
            return api_refuse_null(err, "args of a SortSslClosure whose arg_count is not 0");
        for (uint32_t j = 0; j < row->arg_count; ++j)
            TRY_SSL(
                check_row(row->args[j].name, row->args[j].type, "a closure's arguments", j, err));
        if (row->flags & ~(uint32_t)(SSL_CLOSURE_EMISSION | SSL_CLOSURE_TRANSPARENT))
            return api_refuse(err, STATUS_INVALID, "closure '%s' has unknown flags", row->name);
    }
    return SORT_SSL_OK;
}

static const char *copy_name(Arena *arena, const char *name, bool *ok)
{
    const char *copy = arena_strndup(arena, name, strlen(name));
    *ok &= copy != NULL;
    return copy;
}

static bool copy_closures(Arena *arena, const SortSslContextDesc *desc, SslClosureRow *rows)
{
    bool ok = true;
    for (uint32_t i = 0; i < desc->closure_count && ok; ++i) {
        const SortSslClosure *from = &desc->closures[i];
        SslClosureArg *args = ARENA_ARRAY(arena, SslClosureArg, from->arg_count);
        if (!args)
            return false;
        for (uint32_t j = 0; j < from->arg_count; ++j)
            args[j] = (SslClosureArg){copy_name(arena, from->args[j].name, &ok),
                                      (SslType)from->args[j].type};
        rows[i] = (SslClosureRow){.name = copy_name(arena, from->name, &ok),
                                  .args = args,
                                  .arg_count = from->arg_count,
                                  .flags = from->flags,
                                  .doc = "",
                                  .citation = ""};
    }
    return ok;
}

/* The tables as the compiler has them, in the arena. False: out of memory. */
static bool copy_tables(Arena *arena, const SortSslContextDesc *desc, SslContextDesc *out)
{
    bool ok = true;
    SslGlobalRow *globals = ARENA_ARRAY(arena, SslGlobalRow, desc->global_count);
    SslClosureRow *closures = ARENA_ARRAY(arena, SslClosureRow, desc->closure_count);
    SslAttributeRow *attributes = ARENA_ARRAY(arena, SslAttributeRow, desc->attribute_count);
    if (!globals || !closures || !attributes || !copy_closures(arena, desc, closures))
        return false;
    for (uint32_t i = 0; i < desc->global_count; ++i)
        globals[i] = (SslGlobalRow){.name = copy_name(arena, desc->globals[i].name, &ok),
                                    .type = (SslType)desc->globals[i].type,
                                    .has_derivs = desc->globals[i].has_derivs,
                                    .space = "",
                                    .doc = ""};
    for (uint32_t i = 0; i < desc->attribute_count; ++i)
        attributes[i] = (SslAttributeRow){.name = copy_name(arena, desc->attributes[i].name, &ok),
                                          .type = (SslType)desc->attributes[i].type,
                                          .has_derivs = desc->attributes[i].has_derivs,
                                          .doc = ""};
    *out = (SslContextDesc){.size_bytes = sizeof *out,
                            .globals = globals,
                            .closures = closures,
                            .attributes = attributes,
                            .global_count = desc->global_count,
                            .closure_count = desc->closure_count,
                            .attribute_count = desc->attribute_count,
                            .cache_folder = desc->cache_folder,
                            .cpu = desc->cpu};
    return ok;
}

SortSslStatus sort_ssl_context_create(const SortSslContextDesc *desc, SortSslContext **out_context,
                                      SortSslError *err)
{
    if (!out_context)
        return api_refuse_null(err, "out_context");
    *out_context = NULL;
    SortSslContextDesc own = {.size_bytes = sizeof own};
    if (desc)
        TAKE(&own, desc, SortSslContextDesc, err);
    TRY_SSL(check_rows(&own, err));
    Arena *arena = arena_create(0, 0);
    SortSslContext *ctx = arena ? ARENA_NEW(arena, SortSslContext) : NULL;
    SslContextDesc tables;
    if (!ctx || !copy_tables(arena, &own, &tables)) {
        arena_destroy(arena);
        return api_no_memory(err);
    }
    Error error = {0};
    Status status = ssl_context_create(&tables, &ctx->ssl, &error);
    if (status != STATUS_OK) {
        arena_destroy(arena);
        return api_give_error(status, &error, err);
    }
    atomic_init(&ctx->holders, 1);
    ctx->arena = arena;
    ctx->globals = tables.globals;
    ctx->closures = tables.closures;
    ctx->global_count = tables.global_count;
    ssl_globals_layout(ctx->globals, ctx->global_count, &ctx->layout);
    *out_context = ctx;
    return SORT_SSL_OK;
}

SortSslContext *api_hold_context(SortSslContext *ctx)
{
    atomic_fetch_add_explicit(&ctx->holders, 1, memory_order_relaxed);
    return ctx;
}

void sort_ssl_context_destroy(SortSslContext *ctx)
{
    if (!ctx || atomic_fetch_sub_explicit(&ctx->holders, 1, memory_order_acq_rel) != 1)
        return;
    ssl_context_destroy(ctx->ssl);
    arena_destroy(ctx->arena); /* the context itself is in it */
}
