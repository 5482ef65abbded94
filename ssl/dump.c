/* The stages of a compile as text. Compiles anew each time: nothing is kept for this. */
#include "base/check.h"
#include "ssl/context.h"
#include "ssl/ir/ir_passes.h"
#include "ssl/memory_guard.h"
#include "ssl/output_derivs.h"

typedef struct Dump {
    SslContext *ctx;
    const SslSource *src;
    const SslBuildDesc *how;
    SslDumpStage stage;
    DiagList *diags;
    StrBuf *out;
    Arena *arena;
    Error *err;
} Dump;

static void print_pass(void *data, const char *pass, const IrModule *m)
{
    StrBuf *out = data;
    strbuf_printf(out, "; after %s\n", pass);
    ir_print_module(m, out);
    strbuf_append_char(out, '\n');
}

static Status dump_ir(const Dump *d)
{
    IrModule *m;
    TRY(lower_shader(d->ctx->lib, &d->ctx->tables, d->src, d->arena, d->diags, &m));
    if (d->how->output_derivatives)
        output_derivs_add(m);
    if (d->stage == SSL_DUMP_IR) {
        ir_print_module(m, d->out);
        return STATUS_OK;
    }
    if (d->stage == SSL_DUMP_IR_PASSES)
        print_pass(d->out, "lowering", m);
    IrPipelineDesc desc = {.kind = d->how->kind,
                           .constants = d->how->constants,
                           .constant_count = d->how->constant_count,
                           .without_derivatives = d->how->without_derivatives,
                           .merged_summaries = d->how->merged_summaries,
                           .observe = d->stage == SSL_DUMP_IR_PASSES ? print_pass : NULL,
                           .observe_data = d->out};
    IrReport report = {0};
    TRY(ir_pipeline(m, &desc, d->diags, &report, d->err));
    if (d->stage == SSL_DUMP_IR_PASSES)
        return STATUS_OK;
    if (d->stage == SSL_DUMP_IR_FINAL) {
        ir_print_module(m, d->out);
        return STATUS_OK;
    }
    KernelLayout layout;
    kernel_layout_compute(m, d->arena, &layout);
    return jit_dump(d->ctx->jit, m, &layout, d->how->llvm_level, d->stage, d->out, d->err);
}

static Status dump_stage(void *data)
{
    const Dump *d = data;
    switch (d->stage) {
    case SSL_DUMP_TOKENS:
        return lower_dump_tokens(d->src, d->arena, d->diags, d->out);
    case SSL_DUMP_AST:
        return lower_dump_ast(d->ctx->lib, &d->ctx->tables, d->src, d->arena, d->diags, d->out);
    case SSL_DUMP_IR:
    case SSL_DUMP_IR_PASSES:
    case SSL_DUMP_IR_FINAL:
    case SSL_DUMP_LLVM:
    case SSL_DUMP_LLVM_OPTIMISED:
    case SSL_DUMP_ASM:
        return dump_ir(d);
    }
    UNREACHABLE();
}

Status ssl_dump(SslContext *ctx, const SslSource *src, const SslBuildDesc *how, SslDumpStage stage,
                DiagList *diags, StrBuf *out, Error *err)
{
    const SslBuildDesc defaults = {.size_bytes = sizeof defaults};
    Arena *arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
    if (!arena)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    Dump d = {.ctx = ctx,
              .src = src,
              .how = how ? how : &defaults,
              .stage = stage,
              .diags = diags,
              .out = out,
              .arena = arena,
              .err = err};
    Status status = memory_guard_run(arena, NULL, dump_stage, &d);
    arena_destroy(arena);
    if (status == STATUS_NO_MEMORY || (status == STATUS_OK && out->failed))
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_SOURCE)
        return error_set(err, STATUS_SOURCE, "the source has errors");
    return status;
}
