/* Compiling a source to a unit. A unit owns one arena with all its memory. When memory runs out in any function below,
 * the arena's jump returns to this file, which frees the arena as a whole. */
#include "base/alloc.h"
#include "base/check.h"
#include "ssl/context.h"
#include "ssl/derivative.h"
#include "ssl/memory_guard.h"
#include "ssl/passes/pass.h"
#include "ssl/report.h"
#include <string.h>

static const char *fault_text(SslFaultKind kind)
{
    switch (kind) {
    case SSL_FAULT_INDEX:
        return "array index out of range";
    case SSL_FAULT_LOOP:
        return "loop stopped: it ran past the host's limit";
    case SSL_FAULT_RECURSION:
        return "recursion stopped: it ran past the host's limit";
    case SSL_FAULT_CLOSURES:
        return "a closure that grew beyond what it has room for";
    case SSL_FAULT_TAPE:
        return "bwd_diff of a loop with more turns than [MaxIters] allows: it has no derivative";
    }
    UNREACHABLE();
}

/* Fills in lines and columns, while the source texts exist. */
static void place_faults(SslUnit *unit, const DiagList *diags)
{
    const IrModule *m = unit->module;
    unit->fault = ARENA_ARRAY(unit->arena, SslFaultInfo, m->fault_sites.count);
    for (uint32_t i = 0; i < m->fault_sites.count; ++i) {
        const IrFaultSite *site = &m->fault_sites.data[i];
        SslFaultInfo *fault = &unit->fault[i];
        *fault = (SslFaultInfo){.kind = site->kind,
                                .span = site->span,
                                .source_name = "",
                                .text = fault_text(site->kind)};
        if (!site->span.file)
            continue;
        const char *name = diag_source_name(diags, site->span.file);
        fault->source_name = arena_strndup(unit->arena, name, strlen(name));
        diag_position(diags, site->span.file, site->span.begin, &fault->line, &fault->column);
    }
}

typedef struct Compile {
    SslContext *ctx;
    const SslSource *src;
    DiagList *diags;
    Arena *arena;
    const SslDerivativeDesc *derivative; /* NULL: the shader itself */
    SslUnit *unit;                       /* in the arena */
    Error *err;                          /* what `derivative` has wrong */
} Compile;

/* Filters what is to be filtered, and builds what fwd_diff and bwd_diff stand for, and the derivative that the host asks for. */
static Status derive(const Compile *c, IrModule *m)
{
    Error err = {0};
    Status status = ir_filter(m, c->diags, &err);
    if (status == STATUS_OK)
        status = c->derivative ? derivative_take(m, c->derivative, c->diags, &err)
                               : ir_derive(m, c->diags, &err);
    if (status == STATUS_OK || status == STATUS_SOURCE || status == STATUS_NO_MEMORY)
        return status;
    if (status != STATUS_INTERNAL) {
        *c->err = err;
        return status;
    }
    report(c->diags, INTERNAL, ir_func(m, m->entry)->span, err.text);
    return STATUS_SOURCE;
}

static Status compile(void *data)
{
    Compile *c = data;
    SslUnit *unit = c->unit = ARENA_NEW(c->arena, SslUnit);
    unit->ctx = c->ctx;
    unit->arena = c->arena;
    atomic_init(&unit->holders, 1);
    TRY(lower_shader(c->ctx->lib, &c->ctx->tables, c->src, c->arena, c->diags, &unit->module));
    TRY(derive(c, unit->module));
    unit->is_derivative = c->derivative != NULL;
    const SslSource *src = c->src;
    unit->sources = ARENA_NEW(c->arena, UnitSource);
    unit->source_count = 1;
    unit->sources[0] =
        (UnitSource){.file = unit->module->source_file,
                     .name = arena_strndup(c->arena, src->name, strlen(src->name)),
                     .text = {arena_strndup(c->arena, src->text.data, src->text.size_bytes),
                              src->text.size_bytes}};
    unit->file_end = diag_source_count(c->diags) + 1;
    place_faults(unit, c->diags);
    return diag_list_failed(c->diags) ? STATUS_NO_MEMORY : STATUS_OK;
}

static Status run_compile(Compile *c, SslUnit **out_unit)
{
    *out_unit = NULL;
    c->arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!c->arena)
        return STATUS_NO_MEMORY;
    Status status = memory_guard_run(c->arena, NULL, compile, c);
    if (status == STATUS_OK)
        *out_unit = c->unit;
    else
        arena_destroy(c->arena);
    return status;
}

Status ssl_unit_compile(SslContext *ctx, const SslSource *src, DiagList *diags, SslUnit **out_unit)
{
    Compile c = {.ctx = ctx, .src = src, .diags = diags};
    return run_compile(&c, out_unit);
}

/* The IR of a unit has lost what the source says of derivatives (detach, functions with derivatives of their own), so the
 * source is compiled again. */
Status ssl_unit_differentiate(const SslUnit *unit, const SslDerivativeDesc *how, DiagList *diags,
                              SslUnit **out_unit, Error *err)
{
    *out_unit = NULL;
    CHECK(how->size_bytes == sizeof *how);
    if (unit->part_count)
        return error_set(err, STATUS_UNSUPPORTED,
                         "'%s' is a group, which has no derivatives: take those of its shaders",
                         unit->module->info.name);
    if (unit->is_derivative)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "'%s' is a derivative already: take derivatives of derivatives by fwd_diff "
            "and bwd_diff in the source",
            unit->module->info.name);
    const SslSource source = {.name = unit->sources[0].name,
                              .text = unit->sources[0].text,
                              .shader = unit->module->info.name};
    Error own = {0};
    Compile c = {.ctx = unit->ctx,
                 .src = &source,
                 .diags = diags,
                 .derivative = how,
                 .err = err ? err : &own};
    Status status = run_compile(&c, out_unit);
    if (status == STATUS_NO_MEMORY)
        return error_set(err, status, "out of memory");
    return status == STATUS_SOURCE
               ? error_set(err, status, "the derivative of '%s' has errors", source.shader)
               : status;
}

static bool is_same_site(const SslFaultInfo *known, const IrFaultSite *site)
{
    return known->kind == site->kind && known->span.file == site->span.file &&
           known->span.begin == site->span.begin && known->span.end == site->span.end;
}

/* Returns the index of the source with that file number, or source_count if there is none. */
static uint32_t find_source(const SslUnit *unit, uint32_t file)
{
    uint32_t k = 0;
    while (k < unit->source_count && (!file || unit->sources[k].file != file))
        ++k;
    return k;
}

SslFaultInfo ssl_unit_fault(const SslUnit *unit, const IrFaultSite *site)
{
    for (uint32_t i = 0; i < unit->module->fault_sites.count; ++i)
        if (is_same_site(&unit->fault[i], site))
            return unit->fault[i];
    SslFaultInfo fault = {
        .kind = site->kind, .span = site->span, .source_name = "", .text = fault_text(site->kind)};
    uint32_t k = find_source(unit, site->span.file);
    if (k == unit->source_count)
        return fault;
    DiagList *places = diag_list_create();
    uint32_t file =
        places ? diag_add_source(places, unit->sources[k].name, unit->sources[k].text) : 0;
    if (file) {
        fault.source_name = unit->sources[k].name;
        diag_position(places, file, site->span.begin, &fault.line, &fault.column);
    }
    diag_list_destroy(places);
    return fault;
}

const SslUnitInfo *ssl_unit_info(const SslUnit *unit)
{
    return &unit->module->info;
}

SslUnit *ssl_unit_retain(SslUnit *unit)
{
    atomic_fetch_add_explicit(&unit->holders, 1, memory_order_relaxed);
    return unit;
}

void ssl_unit_release(SslUnit *unit)
{
    if (!unit || atomic_fetch_sub_explicit(&unit->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < unit->part_count; ++i)
        ssl_unit_release(unit->parts[i]);
    arena_destroy(unit->arena); /* also frees the unit itself */
}

void unit_forward_diags(const SslUnit *unit, const DiagList *from, DiagList *to)
{
    uint32_t last = UINT32_MAX, file = 0; /* the source that was added last, and its file number */
    for (uint32_t i = 0; i < diag_count(from); ++i) {
        const Diag *diag = diag_get(from, i);
        Span span = {0};
        uint32_t k = find_source(unit, diag->span.file);
        if (k < unit->source_count) {
            if (k != last)
                file = diag_add_source(to, unit->sources[k].name, unit->sources[k].text);
            last = k;
            span = (Span){file, diag->span.begin, diag->span.end};
        }
        diag_add(to, diag->severity, diag->code, span, "%s", diag->message);
        if (diag->label)
            diag_label(to, "%s", diag->label);
    }
}

typedef struct BsdfListing {
    const SslSource *src;
    DiagList *diags;
    Arena *arena;
    SslBsdfInfo *out;
    uint32_t room, *out_count;
} BsdfListing;

static Status list_bsdfs(void *data)
{
    BsdfListing *l = data;
    return lower_list_bsdfs(l->src, l->arena, l->diags, l->out, l->room, l->out_count);
}

Status ssl_source_bsdfs(SslContext *ctx, const SslSource *src, DiagList *diags, SslBsdfInfo *out,
                        uint32_t room, uint32_t *out_count)
{
    SORT_UNUSED(ctx);
    *out_count = 0;
    Arena *arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!arena)
        return STATUS_NO_MEMORY;
    BsdfListing l = {src, diags, arena, out, room, out_count};
    Status status = memory_guard_run(arena, NULL, list_bsdfs, &l);
    arena_destroy(arena);
    return status;
}

typedef struct ClosureDescribing {
    const SslSource *src;
    const char *name;
    DiagList *diags;
    Arena *arena, *keep;
    SslClosureRow *out;
} ClosureDescribing;

static Status describe_closure(void *data)
{
    ClosureDescribing *d = data;
    return lower_bsdf_closure(d->src, d->name, d->arena, d->diags, d->keep, d->out);
}

Status ssl_source_closure(SslContext *ctx, const SslSource *src, const char *name, DiagList *diags,
                          Arena *arena, SslClosureRow *out_row)
{
    SORT_UNUSED(ctx);
    Arena *own = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!own)
        return STATUS_NO_MEMORY;
    ClosureDescribing d = {src, name, diags, own, arena, out_row};
    Status status = memory_guard_run(own, NULL, describe_closure, &d);
    arena_destroy(own);
    return status;
}

typedef struct Listing {
    const SslSource *src;
    DiagList *diags;
    Arena *arena;
    StrBuf *out;
} Listing;

static Status list_shaders(void *data)
{
    Listing *l = data;
    return lower_list_shaders(l->src, l->arena, l->diags, l->out);
}

Status ssl_source_shaders(SslContext *ctx, const SslSource *src, DiagList *diags, StrBuf *out)
{
    SORT_UNUSED(ctx);
    Arena *arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!arena)
        return STATUS_NO_MEMORY;
    Listing l = {.src = src, .diags = diags, .arena = arena, .out = out};
    Status status = memory_guard_run(arena, NULL, list_shaders, &l);
    arena_destroy(arena);
    return status;
}
