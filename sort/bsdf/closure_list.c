#include "sort/bsdf/closure_list.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/thread.h"
#include "sort/bsdf/closure_programs.h"
#include <string.h>

/* A bsdf of a source. */
typedef struct OwnClosure {
    const SslSource *source;
    SslBsdfInfo info;
    BsdfBuild *build;
    DiagList *diags;
    Status status;
    Error error;
} OwnClosure;

struct ClosureList {
    Arena *arena;
    SslSource *sources; /* [source_count] */
    uint32_t source_count, own_count;
    SslContext *ctx;      /* while the bsdfs are built */
    SslClosureRow *rows;  /* [SSL_MAX_CLOSURES] */
    const BsdfDef **defs; /* [SSL_MAX_CLOSURES] */
    OwnClosure *own;      /* [own_count], with room for own_room */
    uint32_t own_room;
};

/* --- sources -------------------------------------------------------------------------------------- */

static Status check_name(const ClosureList *list, const OwnClosure *own, Error *err)
{
    const char *path = own->source->name;
    if (closure_find(own->info.name) < closure_count)
        return error_set_at(err, STATUS_INVALID, path,
                            "bsdf '%s' has the name of a built-in closure: take another",
                            own->info.name);
    for (uint32_t i = 0; i < list->own_count; ++i)
        if (strcmp(list->own[i].info.name, own->info.name) == 0)
            return error_set_at(
                err, STATUS_INVALID, path,
                "bsdf '%s' is defined in '%s' too; shaders of all sources see it, so one "
                "definition is enough",
                own->info.name, list->own[i].source->name);
    return STATUS_OK;
}

/* Returns memory for one more bsdf, zero. */
static OwnClosure *next_own(ClosureList *list)
{
    if (list->own_count == list->own_room) {
        uint32_t room = list->own_room ? 2 * list->own_room : 8;
        OwnClosure *own = ARENA_ARRAY(list->arena, OwnClosure, room);
        if (!own)
            return NULL;
        if (list->own_count > 0)
            memcpy(own, list->own, list->own_count * sizeof *own);
        list->own = own;
        list->own_room = room;
    }
    return &list->own[list->own_count];
}

static Status add_own(ClosureList *list, const SslSource *source, const SslBsdfInfo *info,
                      DiagList *diags, Error *err)
{
    uint32_t at = closure_count + list->own_count, scalars = 0;
    ASSERT(at < SSL_MAX_CLOSURES);
    OwnClosure *own = next_own(list);
    if (!own)
        return error_set(err, STATUS_NO_MEMORY, "out of memory reading shaders");
    own->source = source;
    own->info = *info;
    TRY(check_name(list, own, err));
    SslClosureRow *row = &list->rows[at];
    if (ssl_source_closure(NULL, source, info->name, diags, list->arena, row) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "out of memory reading shaders");
    for (uint32_t i = 0; i < row->arg_count; ++i)
        scalars += ssl_type_scalars(row->args[i].type);
    if (scalars > CLOSURE_MAX_SCALARS)
        return error_set_at(err, STATUS_LIMIT, source->name,
                            "the arguments of bsdf '%s' are %u numbers; there may be %d",
                            info->name, scalars, CLOSURE_MAX_SCALARS);
    ++list->own_count;
    return STATUS_OK;
}

static Status add_source(ClosureList *list, const SslSource *source, Error *err)
{
    uint32_t count = 0;
    SslBsdfInfo *infos = MEM_ARRAY(SslBsdfInfo, SSL_MAX_CLOSURES);
    DiagList *diags = diag_list_create();
    Status status = diags && infos
                        ? ssl_source_bsdfs(NULL, source, diags, infos, SSL_MAX_CLOSURES, &count)
                        : STATUS_NO_MEMORY;
    if (status == STATUS_SOURCE)
        status = STATUS_OK; /* whoever compiles its shader says so */
    else if (status != STATUS_OK)
        (void)error_set_at(err, status, source->name, "%s", status_name(status));
    uint32_t room = SSL_MAX_CLOSURES - closure_count - list->own_count;
    if (status == STATUS_OK && count > room)
        status = error_set_at(err, STATUS_LIMIT, source->name,
                              "bsdf '%s' is one too many: a scene has at most %u of its own",
                              infos[room].name, SSL_MAX_CLOSURES - closure_count);
    for (uint32_t i = 0; i < count && status == STATUS_OK; ++i)
        status = add_own(list, source, &infos[i], diags, err);
    diag_list_destroy(diags);
    mem_free(infos);
    return status;
}

Status closure_list_create(const SslSource *sources, uint32_t count, ClosureList **out_list,
                           Error *err)
{
    *out_list = NULL;
    ClosureList *list = MEM_NEW(ClosureList);
    if (list)
        list->arena = arena_create(0, 0);
    if (list && list->arena)
        list->sources = ARENA_ARRAY(list->arena, SslSource, count + 1);
    if (list && list->sources)
        list->rows = ARENA_ARRAY(list->arena, SslClosureRow, SSL_MAX_CLOSURES);
    if (list && list->rows)
        list->defs = ARENA_ARRAY(list->arena, const BsdfDef *, SSL_MAX_CLOSURES);
    if (!list || !list->sources || !list->rows || !list->defs) {
        closure_list_destroy(list);
        return error_set(err, STATUS_NO_MEMORY, "out of memory reading shaders");
    }
    ASSERT(closure_count < SSL_MAX_CLOSURES);
    memcpy(list->rows, closure_rows, closure_count * sizeof *list->rows);
    memcpy(list->defs, closure_programs_here()->defs, closure_count * sizeof(BsdfDef *));
    list->source_count = count;
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < count && status == STATUS_OK; ++i) {
        list->sources[i] = sources[i];
        status = add_source(list, &list->sources[i], err);
    }
    if (status == STATUS_OK)
        *out_list = list;
    else
        closure_list_destroy(list);
    return status;
}

void closure_list_destroy(ClosureList *list)
{
    if (!list)
        return;
    for (uint32_t i = 0; i < list->own_count; ++i) {
        bsdf_build_destroy(list->own[i].build);
        diag_list_destroy(list->own[i].diags);
    }
    arena_destroy(list->arena);
    mem_free(list);
}

/* --- programs ------------------------------------------------------------------------------------- */

void closure_list_describe(const ClosureList *list, SslContextDesc *desc)
{
    desc->closures = list->rows;
    desc->closure_count = closure_count + list->own_count;
}

static void build_own(void *data, uint32_t index)
{
    ClosureList *list = data;
    OwnClosure *own = &list->own[index];
    own->diags = diag_list_create();
    own->status = own->diags ? bsdf_build(list->ctx, own->source, &own->info, 0, own->diags,
                                          &own->build, &own->error)
                             : error_set(&own->error, STATUS_NO_MEMORY, "out of memory");
}

Status closure_list_build(ClosureList *list, SslContext *ctx, uint32_t thread_count,
                          StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    list->ctx = ctx;
    parallel_for(thread_count, list->own_count, build_own, list);
    for (uint32_t i = 0; i < list->own_count; ++i) {
        OwnClosure *own = &list->own[i];
        if (own->diags)
            diag_print(own->diags, diagnostics);
        if (own->status == STATUS_OK)
            list->defs[closure_count + i] = bsdf_build_def(own->build);
        else if (first == STATUS_OK)
            first = error_set_at(err, own->status, own->source->name, "%s", own->error.text);
    }
    return first;
}

void closure_list_faults(const ClosureList *list, StrBuf *out)
{
    for (uint32_t i = 0; i < list->own_count; ++i)
        if (list->own[i].build)
            bsdf_build_faults(list->own[i].build, out);
}

void closure_list_clear_faults(ClosureList *list)
{
    for (uint32_t i = 0; i < list->own_count; ++i)
        if (list->own[i].build)
            bsdf_build_clear_faults(list->own[i].build);
}

uint32_t closure_list_own_count(const ClosureList *list)
{
    return list->own_count;
}

const char *closure_list_source(const ClosureList *list, uint32_t own)
{
    ASSERT(own < list->own_count);
    return list->own[own].source->name;
}

const BsdfDef *const *closure_list_defs(const ClosureList *list)
{
    return list->defs;
}
