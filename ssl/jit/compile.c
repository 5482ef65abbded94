#include "ssl/jit/compile.h"
#include "base/check.h"
#include "base/clock.h"
#include "ssl/codegen/codegen.h"
#include "ssl/jit/code_size.h"
#include "ssl/jit/compat.h"
#include "ssl/jit/frame_check.h"
#include "ssl/jit/live_values.h"
#include "ssl/jit/long_code.h"
#include "ssl/jit/stack_sizes.h"
#include "ssl/ssl_limits.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* Indexed by SslBuildDesc.llvm_level. On shaders, O3 takes more time than O2 and gains nothing. */
static const struct {
    const char *passes;
    LLVMCodeGenOptLevel code;
} levels[] = {
    {NULL, LLVMCodeGenLevelDefault}, /* see default_passes */
    {"default<O0>", LLVMCodeGenLevelNone},    {"default<O1>", LLVMCodeGenLevelLess},
    {"default<O2>", LLVMCodeGenLevelDefault}, {"default<O3>", LLVMCodeGenLevelDefault},
};

enum { NOT_OPTIMISED = 1 }; /* takes LLVM a quarter of the time */

/* These passes take a third of O2's time. More is not needed, because a shader's IR is already folded, value-numbered
 * and without dead code, and has one function to inline and nothing to vectorise. */
static const char default_passes[] =
    "always-inline,function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg," JIT_INSTCOMBINE
    ",jump-threading,simplifycfg,loop-mssa(loop-rotate,licm),"
    "loop(indvars,loop-unroll-full),gvn," JIT_INSTCOMBINE ",jump-threading,dse,simplifycfg)";
/* The passes for more than LARGE_INSTRUCTIONS. gvn searches hundreds of blocks for the source of each load; what it and a
 * second round of instcombine find in long code, early-cse finds in a fifth of the time. */
static const char large_passes[] =
    "always-inline,function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg," JIT_INSTCOMBINE
    ",jump-threading,simplifycfg,loop-mssa(loop-rotate,licm),"
    "loop(indvars,loop-unroll-full),early-cse<memssa>,dse,simplifycfg)";
enum { LARGE_INSTRUCTIONS = 10000 };
/* What is left of these instructions when they are optimised has a code generator of its own (long_code.cpp). */
enum { LONG_CODE = 10000 };

/* The state of one compile. */
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
    if (severity != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    (void)error_set(c->err, STATUS_INTERNAL, "LLVM could not compile the kernel: %s", text);
    LLVMDisposeMessage(text);
    c->has_error = true;
}

/* Makes the code fit for -fcf-protection, which all objects of a program must have. */
static void mark_branch_targets(Compile *c)
{
    static const char *const flags[] = {"cf-protection-branch", "cf-protection-return"};
    LLVMTypeRef type = LLVMInt32TypeInContext(c->context);
    LLVMMetadataRef on = LLVMValueAsMetadata(LLVMConstInt(type, 1, false));
    for (size_t i = 0; i < SORT_COUNT_OF(flags); ++i)
        LLVMAddModuleFlag(c->module, LLVMModuleFlagBehaviorOverride, flags[i], strlen(flags[i]),
                          on);
}

/* Generates the LLVM module for code of `lanes` lanes. */
static Status begin_compile(const JitTarget *t, const CompileRequest *request, uint32_t lanes,
                            Compile *c, Error *err)
{
    ASSERT(lanes > 0 && SSL_BLOCK % lanes == 0);
    CHECK(request->llvm_level < SORT_COUNT_OF(levels));
    *c = (Compile){.request = request, .err = err};
    c->machine = jit_target_machine(t, levels[request->llvm_level].code);
    if (!c->machine)
        return error_set(err, STATUS_INTERNAL, "LLVM has no target machine for %s", t->cpu);
    jit_keep_stack_sizes(c->machine);
    c->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(c->context, on_diagnostic, c);
    CodegenDesc desc = {
        .symbol = request->symbol, .lanes = lanes, .math_lanes = t->lanes, .has_fma = t->has_fma};
    TRY(codegen_module(request->module, request->layout, &desc, c->context, &c->module, err));
    if (request->is_linked)
        mark_branch_targets(c);
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

static const char *passes_for(const Compile *c)
{
    const char *passes = levels[c->request->llvm_level].passes;
    if (passes)
        return passes;
    return code_size(c->module) > LARGE_INSTRUCTIONS ? large_passes : default_passes;
}

static Status optimise(Compile *c)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failed = LLVMRunPasses(c->module, passes_for(c), c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    TRY(jit_check(failed, "optimise the kernel", c->err));
    return c->has_error ? STATUS_INTERNAL : STATUS_OK;
}

static Status emit(Compile *c, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out_buffer)
{
    char *message = NULL;
    *out_buffer = NULL;
    bool is_long = c->request->llvm_level == 0 && code_size(c->module) > LONG_CODE;
    if (is_long && !jit_emit_long_code(c->machine, c->module, type, out_buffer))
        return error_set(c->err, STATUS_INTERNAL, "LLVM has no code generator for this target");
    if (!is_long &&
        LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->module, type, &message, out_buffer))
        return jit_fail(message, "generate machine code", c->err);
    if (!c->has_error)
        return STATUS_OK;
    LLVMDisposeMemoryBuffer(*out_buffer);
    *out_buffer = NULL;
    return STATUS_INTERNAL;
}

/* Before registers are assigned, which takes long for what would be refused when it is done. */
static Status check_live_values(const Compile *c, uint64_t *out_bytes)
{
    LiveValues live;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    bool has_memory = live_values_count(c->module, layout, &live);
    LLVMDisposeTargetData(layout);
    const char *shader = c->request->module->info.name;
    if (!has_memory)
        return error_set(c->err, STATUS_NO_MEMORY, "out of memory");
    *out_bytes = live.most_bytes;
    if (live.most > SSL_MAX_LIVE_VALUES)
        return error_set(c->err, STATUS_LIMIT,
                         "shader '%s' has too many values at once: %llu; a kernel may have %d",
                         shader, (unsigned long long)live.most, SSL_MAX_LIVE_VALUES);
    if (live.into_blocks > SSL_MAX_LIVE_INTO)
        return error_set(c->err, STATUS_LIMIT,
                         "shader '%s' keeps too many values over too many branches and loops: the "
                         "sum over all of them is %llu; a kernel may have %d",
                         shader, (unsigned long long)live.into_blocks, SSL_MAX_LIVE_INTO);
    if (live.most_bytes > SSL_MAX_FRAME_BYTES)
        return error_set(c->err, STATUS_LIMIT,
                         "shader '%s' has too many values at once: they take about %llu bytes of "
                         "stack; a kernel may take %d",
                         shader, (unsigned long long)live.most_bytes, SSL_MAX_FRAME_BYTES);
    return STATUS_OK;
}

/* The most that may be there before it is optimised is twice what may be left. */
static Status check_size(const Compile *c, uint64_t most, uint64_t *out_bytes)
{
    uint64_t size = code_size(c->module);
    if (size <= most)
        return STATUS_OK;
    *out_bytes = UINT64_MAX; /* it is as long for half the lanes */
    return error_set(c->err, STATUS_LIMIT,
                     "shader '%s' is too long: LLVM has to compile %llu instructions; a kernel may "
                     "have %d, and twice as many before they are optimised",
                     c->request->module->info.name, (unsigned long long)size, SSL_MAX_CODE);
}

static Status run_compile(Compile *c, SslBuildTimes *times, LLVMMemoryBufferRef *out_object,
                          uint64_t *out_live_bytes)
{
    uint64_t start_ns = clock_now_ns();
    TRY(check_size(c, 2 * (uint64_t)SSL_MAX_CODE, out_live_bytes));
    TRY(optimise(c));
    if (c->request->llvm_level != NOT_OPTIMISED)
        TRY(check_size(c, SSL_MAX_CODE, out_live_bytes));
    TRY(check_live_values(c, out_live_bytes));
    times->optimise_ms += ms_since(start_ns);
    start_ns = clock_now_ns();
    TRY(emit(c, LLVMObjectFile, out_object));
    times->codegen_ms += ms_since(start_ns);
    return STATUS_OK;
}

static Status compile_lanes(const JitTarget *t, const CompileRequest *request, uint32_t lanes,
                            LLVMMemoryBufferRef *out_object, uint64_t *out_frame_bytes,
                            SslBuildTimes *times, Error *err)
{
    Compile c;
    *out_frame_bytes = 0;
    uint64_t start_ns = clock_now_ns();
    Status status = begin_compile(t, request, lanes, &c, err);
    times->llvm_ir_ms += ms_since(start_ns);
    if (status == STATUS_OK)
        status = run_compile(&c, times, out_object, out_frame_bytes);
    if (status == STATUS_OK) {
        status =
            frame_check(*out_object, c.module, request->module->info.name, out_frame_bytes, err);
        if (status != STATUS_OK) {
            LLVMDisposeMemoryBuffer(*out_object);
            *out_object = NULL;
        }
    }
    end_compile(&c);
    return status;
}

/* Returns the requested width, or that of the CPU's registers. Recursive functions need one lane, because lanes would
 * recurse to different depths. */
static uint32_t first_lanes(const JitTarget *t, const CompileRequest *request)
{
    ASSERT(t->lanes == 4 || t->lanes == 8 || t->lanes == 16);
    if (codegen_is_recursive(request->module))
        return 1;
    return request->lanes ? request->lanes : t->lanes;
}

/* 0: none are left. */
static uint32_t fewer_lanes(uint32_t lanes)
{
    ASSERT(lanes <= SSL_BLOCK && lanes != 2);
    return lanes == 4 ? 1 : lanes / 2;
}

/* A frame is about as large as there are lanes: what cannot fit is not compiled to find out. */
static uint32_t lanes_that_may_fit(uint32_t lanes, uint64_t frame_bytes)
{
    uint32_t fewer = fewer_lanes(lanes);
    while (fewer > 1 && frame_bytes / lanes * fewer > SSL_MAX_FRAME_BYTES)
        fewer = fewer_lanes(fewer);
    return fewer;
}

Status compile_object(const JitTarget *t, const CompileRequest *request,
                      LLVMMemoryBufferRef *out_object, SslBuildTimes *times, Error *err)
{
    Status status = STATUS_LIMIT;
    uint64_t frame_bytes;
    *out_object = NULL;
    /* Large arrays and thousands of live values may not fit for many lanes. */
    for (uint32_t lanes = first_lanes(t, request); lanes && status == STATUS_LIMIT;
         lanes = lanes_that_may_fit(lanes, frame_bytes))
        status = compile_lanes(t, request, lanes, out_object, &frame_bytes, times, err);
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
    Status status = STATUS_LIMIT;
    for (uint32_t lanes = first_lanes(t, request); lanes && status == STATUS_LIMIT;
         lanes = fewer_lanes(lanes)) {
        Compile c;
        status = begin_compile(t, request, lanes, &c, err);
        if (status == STATUS_OK)
            status = run_dump(&c, stage, out);
        end_compile(&c);
    }
    return status;
}
