/* Compiling a source to a unit. A unit owns one arena with all its memory. When memory runs out in any function below,
 * the arena's jump returns to this file, which frees the arena as a whole. */
#include "base/alloc.h"
#include "base/cast.h"
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
    SslUnit *unit; /* in the arena */
} Compile;

/* Reports an error of a pass that is a defect of it. */
static Status check_pass(Status status, const Error *err, const IrModule *m, DiagList *diags)
{
    if (status != STATUS_INTERNAL)
        return status;
    report(diags, INTERNAL, ir_func(m, m->entry)->span, err->text);
    return STATUS_SOURCE;
}

/* Builds what fwd_diff and bwd_diff in the source stand for. */
static Status build_derivatives(SslUnit *unit, DiagList *diags)
{
    Error err = {0};
    unit->module = unit->lowered;
    if (unit->lowered->derivatives.count == 0)
        return STATUS_OK;
    unit->module = ir_module_clone(unit->lowered, unit->arena);
    return check_pass(ir_derive(unit->module, diags, &err), &err, unit->module, diags);
}

static SslUnit *new_unit(SslContext *ctx, Arena *arena)
{
    SslUnit *unit = ARENA_NEW(arena, SslUnit);
    unit->ctx = ctx;
    unit->arena = arena;
    atomic_init(&unit->holders, 1);
    return unit;
}

static Status compile(void *data)
{
    Compile *c = data;
    const SslSource *src = c->src;
    SslUnit *unit = c->unit = new_unit(c->ctx, c->arena);
    Error err = {0};
    TRY(lower_shader(c->ctx->lib, &c->ctx->tables, src, c->arena, c->diags, &unit->lowered));
    TRY(check_pass(ir_filter(unit->lowered, c->diags, &err), &err, unit->lowered, c->diags));
    TRY(build_derivatives(unit, c->diags));
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

Status ssl_unit_compile(SslContext *ctx, const SslSource *src, DiagList *diags, SslUnit **out_unit)
{
    Compile c = {.ctx = ctx, .src = src, .diags = diags};
    *out_unit = NULL;
    c.arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!c.arena)
        return STATUS_NO_MEMORY;
    Status status = memory_guard_run(c.arena, NULL, compile, &c);
    if (status == STATUS_OK)
        *out_unit = c.unit;
    else
        arena_destroy(c.arena);
    return status;
}

/* --- derivatives ---------------------------------------------------------------------------------- */

typedef struct Differentiation {
    const SslUnit *of;
    const SslDerivativeDesc *how;
    DiagList *diags;
    Arena *arena;
    SslUnit *unit; /* in the arena */
    Error *err;
} Differentiation;

static Status differentiate(void *data)
{
    Differentiation *d = data;
    const SslUnit *of = d->of;
    SslUnit *unit = d->unit = new_unit(of->ctx, d->arena);
    IrModule *m = unit->lowered = unit->module = ir_module_clone(of->lowered, d->arena);
    TRY(check_pass(derivative_take(m, d->how, d->diags, d->err), d->err, m, d->diags));
    unit->sources = of->sources;
    unit->source_count = of->source_count;
    unit->file_end = of->file_end;
    unit->nesting = of->nesting;
    unit->is_derivative = true;
    unit->fault = ARENA_ARRAY(d->arena, SslFaultInfo, m->fault_sites.count);
    for (uint32_t i = 0; i < m->fault_sites.count; ++i)
        unit->fault[i] = ssl_unit_fault(of, &m->fault_sites.data[i]);
    unit->parts = ARENA_NEW(d->arena, SslUnit *);
    unit->parts[0] = ssl_unit_retain(cast_away_const(of)); /* changes only the reference count */
    unit->part_count = 1;
    return STATUS_OK;
}

Status ssl_unit_differentiate(const SslUnit *unit, const SslDerivativeDesc *how, DiagList *diags,
                              SslUnit **out_unit, Error *err)
{
    *out_unit = NULL;
    CHECK(how->size_bytes == sizeof *how);
    const char *name = unit->module->info.name;
    if (unit->is_derivative)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "'%s' %s: take derivatives of derivatives by fwd_diff and bwd_diff in the source", name,
            unit->nesting ? "has a derivative among its units" : "is a derivative already");
    Error own = {0};
    Differentiation d = {
        .of = unit, .how = how, .diags = diag_list_create(), .err = err ? err : &own};
    d.arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    Status status =
        d.arena && d.diags ? memory_guard_run(d.arena, NULL, differentiate, &d) : STATUS_NO_MEMORY;
    if (d.diags)
        unit_forward_diags(unit, d.diags, diags);
    if (status == STATUS_OK && (diag_list_failed(d.diags) || diag_list_failed(diags))) {
        status = STATUS_NO_MEMORY;
        ssl_unit_release(d.unit);
    } else if (status == STATUS_OK) {
        *out_unit = d.unit;
    } else {
        arena_destroy(d.arena);
    }
    diag_list_destroy(d.diags);
    if (status == STATUS_NO_MEMORY)
        return error_set(err, status, "out of memory");
    return status == STATUS_SOURCE
               ? error_set(err, status, "the derivative of '%s' has errors", name)
               : status;
}

/* --- groups --------------------------------------------------------------------------------------- */

/* Describes a fault site of a group as its part does, whose file numbers follow those of the parts before it. */
static SslFaultInfo fault_of_part(const SslUnit *unit, const IrFaultSite *site)
{
    uint32_t base = 1, k = 0;
    while (k + 1 < unit->part_count && site->span.file >= base + unit->parts[k]->file_end)
        base += unit->parts[k++]->file_end;
    IrFaultSite own = *site;
    if (own.span.file)
        own.span.file -= base;
    SslFaultInfo fault = ssl_unit_fault(unit->parts[k], &own);
    fault.span = site->span;
    return fault;
}

typedef struct Completion {
    SslUnit *unit;
    DiagList *diags;
} Completion;

static Status complete(void *data)
{
    const Completion *c = data;
    SslUnit *unit = c->unit;
    TRY(build_derivatives(unit, c->diags));
    const IrModule *m = unit->module;
    unit->fault = ARENA_ARRAY(unit->arena, SslFaultInfo, m->fault_sites.count);
    for (uint32_t i = 0; i < m->fault_sites.count; ++i)
        unit->fault[i] = fault_of_part(unit, &m->fault_sites.data[i]);
    return STATUS_OK;
}

Status unit_complete(SslUnit *unit, DiagList *diags)
{
    Completion c = {unit, diag_list_create()};
    if (!c.diags)
        return STATUS_NO_MEMORY;
    Status status = memory_guard_run(unit->arena, NULL, complete, &c);
    unit_forward_diags(unit, c.diags, diags);
    if (status == STATUS_OK && (diag_list_failed(c.diags) || diag_list_failed(diags)))
        status = STATUS_NO_MEMORY;
    diag_list_destroy(c.diags);
    return status;
}

/* --- places ---------------------------------------------------------------------------------------- */

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
    fault.source_name = unit->sources[k].name;
    diag_position_in(unit->sources[k].text, site->span.begin, &fault.line, &fault.column);
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
