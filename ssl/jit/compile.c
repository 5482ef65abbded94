#include "ssl/jit/compile.h"
#include "base/check.h"
#include "base/clock.h"
#include "ssl/codegen/codegen.h"
#include "ssl/jit/compat.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* By SslBuildDesc.llvm_level. O3 costs time and, on shaders, buys nothing over O2. */
static const struct {
    const char *passes;
    LLVMCodeGenOptLevel code;
} levels[] = {
    {NULL, LLVMCodeGenLevelDefault}, /* see default_passes */
    {"default<O0>", LLVMCodeGenLevelNone},    {"default<O1>", LLVMCodeGenLevelLess},
    {"default<O2>", LLVMCodeGenLevelDefault}, {"default<O3>", LLVMCodeGenLevelDefault},
};

/* Shaders that stand in the loop over lanes get O2, which vectorises over them. For the others a third of
 * it does: their IR comes folded, numbered and without dead code, there is nothing to inline and nothing
 * to vectorise, and O2's SLP vectoriser alone takes half of its time, for a gain within the noise. */
static const char *default_passes(const IrModule *m)
{
    return codegen_is_inline(m)
               ? "default<O2>"
               : "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg," JIT_INSTCOMBINE
                 ",jump-threading,simplifycfg,loop-mssa(loop-rotate,licm),"
                 "loop(indvars,loop-unroll-full),gvn," JIT_INSTCOMBINE
                 ",jump-threading,dse,simplifycfg)";
}

/* What one compile holds while it runs. */
typedef struct Compile {
    const CompileRequest *request;
    LLVMContextRef context;
    LLVMTargetMachineRef machine;
    LLVMModuleRef module;
    Error *err;
    bool has_error; /* LLVM's diagnostics said so */
} Compile;

static double ms_since(uint64_t start_ns)
{
    return clock_seconds_since(start_ns) * 1e3;
}

/* Without a handler LLVM prints and, on an error, exits. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
    Compile *c = data;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    if (severity != LLVMDSError && severity != LLVMDSWarning)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    /* The only warning that refuses: GEN_FRAME_LIMIT. The C API tells diagnostics apart by their text. */
    bool is_frame = severity == LLVMDSWarning && strncmp(text, "stack frame size", 16) == 0;
    if (severity == LLVMDSError || is_frame)
        (void)error_set(c->err, STATUS_INTERNAL, "LLVM could not compile the kernel: %s", text);
    LLVMDisposeMessage(text);
    if (severity == LLVMDSWarning && !is_frame)
        return;
    c->has_error = true;
}

static Status begin_compile(const JitTarget *t, const CompileRequest *request, Compile *c,
                            Error *err)
{
    CHECK(request->llvm_level < SORT_COUNT_OF(levels));
    *c = (Compile){.request = request, .err = err};
    c->machine = jit_target_machine(t, levels[request->llvm_level].code);
    if (!c->machine)
        return error_set(err, STATUS_INTERNAL, "LLVM has no target machine for %s", t->cpu);
    c->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(c->context, on_diagnostic, c);
    TRY(codegen_module(request->module, request->layout, request->symbol, c->context, &c->module,
                       err));
    LLVMSetTarget(c->module, t->triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    LLVMSetModuleDataLayout(c->module, layout);
    LLVMDisposeTargetData(layout);
#if SORT_ASSERTIONS
    char *message = NULL;
    if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message))
        return jit_fail(message, "verify the generated code", err);
    LLVMDisposeMessage(message);
#endif
    return STATUS_OK;
}

static void end_compile(Compile *c)
{
    if (c->module)
        LLVMDisposeModule(c->module);
    if (c->context)
        LLVMContextDispose(c->context);
    if (c->machine)
        LLVMDisposeTargetMachine(c->machine);
}

static Status optimise(Compile *c)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    const char *passes = levels[c->request->llvm_level].passes;
    LLVMErrorRef failed = LLVMRunPasses(
        c->module, passes ? passes : default_passes(c->request->module), c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    TRY(jit_check(failed, "optimise the kernel", c->err));
    return c->has_error ? STATUS_INTERNAL : STATUS_OK;
}

static Status emit(Compile *c, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out_buffer)
{
    char *message = NULL;
    *out_buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->module, type, &message, out_buffer))
        return jit_fail(message, "generate machine code", c->err);
    if (!c->has_error)
        return STATUS_OK;
    LLVMDisposeMemoryBuffer(*out_buffer);
    *out_buffer = NULL;
    return STATUS_INTERNAL;
}

static Status run_compile(Compile *c, SslBuildTimes *times, LLVMMemoryBufferRef *out_object)
{
    uint64_t start_ns = clock_now_ns();
    TRY(optimise(c));
    times->optimise_ms += ms_since(start_ns);
    start_ns = clock_now_ns();
    TRY(emit(c, LLVMObjectFile, out_object));
    times->codegen_ms += ms_since(start_ns);
    return STATUS_OK;
}

Status compile_object(const JitTarget *t, const CompileRequest *request,
                      LLVMMemoryBufferRef *out_object, SslBuildTimes *times, Error *err)
{
    Compile c;
    *out_object = NULL;
    uint64_t start_ns = clock_now_ns();
    Status status = begin_compile(t, request, &c, err);
    times->llvm_ir_ms += ms_since(start_ns);
    if (status == STATUS_OK)
        status = run_compile(&c, times, out_object);
    end_compile(&c);
    return status;
}

static Status run_dump(Compile *c, SslDumpStage stage, StrBuf *out)
{
    if (stage != SSL_DUMP_LLVM)
        TRY(optimise(c));
    if (stage == SSL_DUMP_ASM) {
        LLVMMemoryBufferRef text;
        TRY(emit(c, LLVMAssemblyFile, &text));
        strbuf_append(out, (Str){LLVMGetBufferStart(text), LLVMGetBufferSize(text)});
        LLVMDisposeMemoryBuffer(text);
    } else {
        char *text = LLVMPrintModuleToString(c->module);
        strbuf_append_c(out, text);
        LLVMDisposeMessage(text);
    }
    return out->failed ? error_set(c->err, STATUS_NO_MEMORY, "out of memory") : STATUS_OK;
}

Status compile_dump(const JitTarget *t, const CompileRequest *request, SslDumpStage stage,
                    StrBuf *out, Error *err)
{
    Compile c;
    Status status = begin_compile(t, request, &c, err);
    if (status == STATUS_OK)
        status = run_dump(&c, stage, out);
    end_compile(&c);
    return status;
}
