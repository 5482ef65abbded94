/* The stages of a compile as text. Each dump compiles again, so that compiles need not keep their stages. */
#include "base/check.h"
#include "ssl/constants.h"
#include "ssl/memory_guard.h"
#include "ssl/output_derivs.h"
#include "ssl/passes/pipeline.h"

typedef struct Dump {
    SslContext *ctx;
    const SslSource *src;
    const SslUnit *unit;
    const SslBuildDesc *how;
    SslDumpStage stage;
    DiagList *diags;
    StrBuf *out;
    Arena *arena;
    Error *err;
} Dump;

static const SslBuildDesc defaults = {.size_bytes = sizeof defaults};

static void print_pass(void *data, const char *pass, const IrModule *m)
{
    StrBuf *out = data;
    strbuf_printf(out, "; after %s\n", pass);
    ir_print_module(m, out);
    strbuf_append_char(out, '\n');
}

/* A line for each comparison of a [Filtered] function. Those of a group stand in the dumps of its shaders. */
static void print_notes(const Dump *d)
{
    const IrModule *m = d->unit->module;
    for (uint32_t i = 0; i < m->filter_notes.count; ++i) {
        const UnitSource *source = &d->unit->sources[0];
        const IrFilterNote *note = &m->filter_notes.data[i];
        uint32_t line, column;
        diag_position_in(source->text, note->span.begin, &line, &column);
        strbuf_printf(d->out, "%s:%u:%u: %s: %.*s: %s%s\n", source->name, line, column,
                      note->function, (int)(note->span.end - note->span.begin),
                      source->text.data + note->span.begin,
                      note->is_filtered ? "filtered " : "not filtered: ", note->rule);
    }
}

static Status dump_ir(void *data)
{
    const Dump *d = data;
    if (d->stage == SSL_DUMP_FILTER) {
        print_notes(d);
        return STATUS_OK;
    }
    IrModule *m = ir_module_clone(d->unit->module, d->arena);
    if (d->how->output_derivatives)
        output_derivs_add(m);
    if (d->stage == SSL_DUMP_IR) {
        ir_print_module(m, d->out);
        return STATUS_OK;
    }
    if (d->stage == SSL_DUMP_IR_PASSES)
        print_pass(d->out, "lowering", m);
    IrPipelineDesc desc = {.kind = d->how->kind,
                           .without_derivatives = d->how->without_derivatives,
                           .merged_summaries = d->how->merged_summaries,
                           .observe = d->stage == SSL_DUMP_IR_PASSES ? print_pass : NULL,
                           .observe_data = d->out};
    TRY(constants_bind(d->unit, d->how, d->arena, &desc.constants, &desc.constant_count, d->err));
    IrReport report = {0};
    TRY(ir_pipeline(m, &desc, d->diags, &report, d->err));
    if (d->stage == SSL_DUMP_IR_PASSES)
        return STATUS_OK;
    if (d->stage == SSL_DUMP_IR_FINAL) {
        ir_print_module(m, d->out);
        return STATUS_OK;
    }
    KernelLayout layout;
    TRY(kernel_rows_check(m, d->how->rows, d->err));
    kernel_layout_compute(m, d->how->rows, d->arena, &layout);
    JitOptions options = {
        .llvm_level = d->how->llvm_level, .lanes = d->how->lanes, .symbol = d->how->symbol};
    return jit_dump(d->ctx->jit, m, &layout, options, d->stage, d->out, d->err);
}

static Status print_text(void *data)
{
    const Dump *d = data;
    return d->stage == SSL_DUMP_TOKENS
               ? lower_dump_tokens(d->src, d->arena, d->diags, d->out)
               : lower_dump_ast(d->ctx->lib, &d->ctx->tables, d->src, d->arena, d->diags, d->out);
}

static Status dump_text(Dump *d)
{
    return memory_guard_run(d->arena, NULL, print_text, d);
}

/* Dumps the IR of a compiled unit, whose spans have the unit's own file numbers. */
static Status dump_unit(Dump *d)
{
    DiagList *host = d->diags;
    DiagList *own = d->diags = diag_list_create();
    if (!own)
        return STATUS_NO_MEMORY;
    Status status = memory_guard_run(d->arena, NULL, dump_ir, d);
    unit_forward_diags(d->unit, own, host);
    diag_list_destroy(own);
    d->diags = host;
    return status;
}

static Status run(Dump *d, Status (*body)(Dump *d))
{
    d->arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!d->arena)
        return error_set(d->err, STATUS_NO_MEMORY, "out of memory");
    Status status = body(d);
    arena_destroy(d->arena);
    if (status == STATUS_NO_MEMORY || (status == STATUS_OK && d->out->failed))
        return error_set(d->err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_SOURCE)
        return error_set(d->err, STATUS_SOURCE, "the source has errors");
    return status;
}

Status ssl_unit_dump(const SslUnit *unit, const SslBuildDesc *how, SslDumpStage stage,
                     DiagList *diags, StrBuf *out, Error *err)
{
    CHECK(stage >= SSL_DUMP_FILTER);
    Dump d = {.ctx = unit->ctx,
              .unit = unit,
              .how = how ? how : &defaults,
              .stage = stage,
              .diags = diags,
              .out = out,
              .err = err};
    return run(&d, dump_unit);
}

Status ssl_dump(SslContext *ctx, const SslSource *src, const SslBuildDesc *how, SslDumpStage stage,
                DiagList *diags, StrBuf *out, Error *err)
{
    if (stage < SSL_DUMP_FILTER) {
        Dump d = {.ctx = ctx, .src = src, .stage = stage, .diags = diags, .out = out, .err = err};
        return run(&d, dump_text);
    }
    SslUnit *unit;
    Status status = ssl_unit_compile(ctx, src, diags, &unit);
    if (status != STATUS_OK)
        return error_set(err, status, "%s",
                         status == STATUS_SOURCE ? "the source has errors" : status_name(status));
    status = ssl_unit_dump(unit, how, stage, diags, out, err);
    ssl_unit_release(unit);
    return status;
}
