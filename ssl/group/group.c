/* The entry point of the linker. It links the groups inside a group first, each once, and then the group itself. */
#include "ssl/group/group.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "ssl/memory_guard.h"

void group_complain(Group *g, const char *place, SslDiag diag, const char *const *args,
                    size_t arg_count)
{
    Span span = {0};
    if (place && g->host->locate)
        span = g->host->locate(g->host->data, place);
    report_args(g->diags, diag, span, args, arg_count);
    if (place && !span.file)
        report(g->diags, NOTE_PLACE, span, place);
}

/* The description of a group inside another, and its unit. */
typedef struct Inner {
    const SslGroupDesc *desc;
    SslUnit *unit;
    bool is_open; /* linking it has not ended; a node that needs it now would make a cycle */
} Inner;

typedef struct Linker {
    SslContext *ctx;
    const SslGroupHost *host;
    DiagList *diags;
    Inner *inner; /* not in an arena, because it must survive every out-of-memory jump */
    uint32_t inner_count, inner_capacity;
} Linker;

typedef struct Job {
    Linker *linker;
    const SslGroupDesc *desc;
    uint32_t depth;
    Arena *arena;
    SslUnit *unit; /* in the arena */
    Group group;
} Job;

static Status link_group(Linker *l, const SslGroupDesc *desc, uint32_t depth, SslUnit **out_unit);

static Status add_inner(Linker *l, const SslGroupDesc *desc, uint32_t *out_index)
{
    if (l->inner_count == l->inner_capacity) {
        uint32_t capacity = l->inner_capacity ? 2 * l->inner_capacity : 16;
        Inner *inner = mem_realloc(l->inner, capacity, sizeof *inner);
        if (!inner)
            return STATUS_NO_MEMORY;
        l->inner = inner;
        l->inner_capacity = capacity;
    }
    *out_index = l->inner_count++;
    l->inner[*out_index] = (Inner){.desc = desc, .is_open = true};
    return STATUS_OK;
}

/* Links an inner group or finds it linked. *out_unit is NULL after a report. */
static Status find_inner(Job *job, const SslGroupNode *node, SslUnit **out_unit)
{
    Linker *l = job->linker;
    uint32_t i = 0;
    *out_unit = NULL;
    while (i < l->inner_count && l->inner[i].desc != node->group)
        ++i;
    if (i < l->inner_count) {
        if (l->inner[i].is_open)
            complain(&job->group, node->place, GROUP_IN_ITSELF,
                     node->group->name ? node->group->name : "group");
        *out_unit = l->inner[i].unit;
        return STATUS_OK;
    }
    if (job->depth + 1 >= SSL_MAX_GROUP_NESTING) {
        complain(&job->group, node->place, GROUP_TOO_NESTED,
                 arena_printf(job->arena, "%d", SSL_MAX_GROUP_NESTING));
        return STATUS_OK;
    }
    TRY(add_inner(l, node->group, &i));
    Status status = link_group(l, node->group, job->depth + 1, out_unit);
    l->inner[i].unit = *out_unit; /* link_group may have moved the list */
    l->inner[i].is_open = false;
    return status == STATUS_SOURCE ? STATUS_OK : status;
}

static Status find_unit(Job *job, const SslGroupNode *node, SslUnit **out_unit)
{
    const SslGroupHost *host = job->linker->host;
    const SslUnit *unit = node->unit;
    Status status = STATUS_NOT_FOUND;
    if (!unit && !node->group && host->find_unit)
        status = host->find_unit(host->data, node, &unit);
    *out_unit = cast_away_const(unit); /* changes only the reference count */
    if (unit) {
        CHECK(unit->ctx == job->linker->ctx);
        if (job->depth + unit->nesting + 1 > SSL_MAX_GROUP_NESTING) {
            complain(&job->group, node->place, GROUP_TOO_NESTED,
                     arena_printf(job->arena, "%d", SSL_MAX_GROUP_NESTING));
            *out_unit = NULL;
        }
        return STATUS_OK;
    }
    if (node->group)
        return find_inner(job, node, out_unit);
    if (status != STATUS_NOT_FOUND)
        return status == STATUS_SOURCE ? STATUS_OK : status;
    const char *shader = node->shader ? node->shader : "";
    if (node->entry)
        shader = arena_printf(job->arena, "%s%s%s", shader, *shader ? ":" : "", node->entry);
    complain(&job->group, node->place, GROUP_UNKNOWN_UNIT, node->name, shader);
    return STATUS_OK;
}

static Status link_body(void *data)
{
    Job *job = data;
    Group *g = &job->group;
    const SslGroupDesc *desc = job->desc;
    CHECK(desc->size_bytes == sizeof *desc);
    uint32_t errors_before = diag_error_count(job->linker->diags);
    *g = (Group){
        .desc = desc, .host = job->linker->host, .arena = job->arena, .diags = job->linker->diags};
    bool has_units = true;
    group_check_names(g);
    if (diag_error_count(g->diags) > errors_before)
        return STATUS_SOURCE;
    g->nodes = ARENA_ARRAY(g->arena, GroupNode, desc->node_count);
    for (uint32_t i = 0; i < desc->node_count; ++i) {
        g->nodes[i].desc = &desc->nodes[i];
        TRY(find_unit(job, &desc->nodes[i], &g->nodes[i].unit));
        has_units = has_units && g->nodes[i].unit;
    }
    TRY(group_resolve(g));
    if (!has_units)
        return STATUS_SOURCE;
    SslUnit *unit = job->unit = ARENA_NEW(job->arena, SslUnit);
    unit->ctx = job->linker->ctx;
    unit->arena = job->arena;
    atomic_init(&unit->holders, 1);
    return group_emit(g, unit);
}

static Status link_group(Linker *l, const SslGroupDesc *desc, uint32_t depth, SslUnit **out_unit)
{
    *out_unit = NULL;
    Arena *arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!arena)
        return STATUS_NO_MEMORY;
    Job job = {.linker = l, .desc = desc, .depth = depth, .arena = arena};
    Status status = memory_guard_run(arena, NULL, link_body, &job);
    if (status == STATUS_OK)
        status = unit_complete(job.unit, l->diags);
    if (status == STATUS_OK)
        *out_unit = job.unit;
    else if (job.unit)
        ssl_unit_release(job.unit); /* with the parts that it holds already */
    else
        arena_destroy(arena);
    return status;
}

Status ssl_group_link(SslContext *ctx, const SslGroupDesc *desc, const SslGroupHost *host,
                      DiagList *diags, SslUnit **out_unit)
{
    static const SslGroupHost nothing = {.size_bytes = sizeof nothing};
    CHECK(!host || host->size_bytes == sizeof *host);
    Linker l = {.ctx = ctx, .host = host ? host : &nothing, .diags = diags};
    uint32_t self;
    *out_unit = NULL;
    if (report_is_full(diags))
        return STATUS_SOURCE;
    Status status = add_inner(&l, desc, &self);
    if (status == STATUS_OK)
        status = link_group(&l, desc, 0, out_unit);
    for (uint32_t i = 0; i < l.inner_count; ++i)
        ssl_unit_release(l.inner[i].unit);
    mem_free(l.inner);
    return status;
}
