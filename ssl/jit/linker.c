#include "ssl/jit/linker.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "ssl/jit/compat.h"
#include "ssl/jit/symbols.h"
#include <llvm-c/LLJIT.h>

struct Linker {
    LLVMOrcLLJITRef lljit;
    LLVMOrcExecutionSessionRef session;
    LLVMOrcJITDylibRef kernels; /* made bare: it sees no symbol of the process */
};

/* LLVM's default handler prints errors. They are ignored here, because the failed call returns an error, too. */
static void ignore_report(void *data, LLVMErrorRef llvm_error)
{
    SORT_UNUSED(data);
    LLVMConsumeError(llvm_error);
}

static Status define_symbols(Linker *l, Error *err)
{
    uint32_t count = 0;
    const JitSymbol *symbols = jit_symbols();
    while (symbols[count].name)
        ++count;
    LLVMOrcCSymbolMapPair *pairs = MEM_ARRAY(LLVMOrcCSymbolMapPair, count);
    if (!pairs)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; ++i)
        pairs[i] = jit_symbol_pair(LLVMOrcLLJITMangleAndIntern(l->lljit, symbols[i].name),
                                   (LLVMOrcExecutorAddress)(uintptr_t)symbols[i].address);
    LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, count);
    LLVMErrorRef failed = LLVMOrcJITDylibDefine(l->kernels, unit);
    if (failed)
        LLVMOrcDisposeMaterializationUnit(unit);
    mem_free(pairs);
    return jit_check(failed, "define the runtime's symbols", err);
}

Status linker_create(const JitTarget *t, Linker **out_linker, Error *err)
{
    *out_linker = NULL;
    Linker *l = MEM_NEW(Linker);
    if (!l)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(
                     jit_target_machine(t, LLVMCodeGenLevelDefault)));
    Status status =
        jit_check(LLVMOrcCreateLLJIT(&l->lljit, builder), "start its just-in-time linker", err);
    if (status == STATUS_OK) {
        l->session = LLVMOrcLLJITGetExecutionSession(l->lljit);
        LLVMOrcExecutionSessionSetErrorReporter(l->session, ignore_report, NULL);
        l->kernels = LLVMOrcExecutionSessionCreateBareJITDylib(l->session, "kernels");
        status = define_symbols(l, err);
    }
    if (status != STATUS_OK) {
        linker_destroy(l);
        return status;
    }
    *out_linker = l;
    return STATUS_OK;
}

void linker_destroy(Linker *l)
{
    if (!l)
        return;
    if (l->lljit) {
        LLVMErrorRef failed = LLVMOrcDisposeLLJIT(l->lljit);
        if (failed)
            LLVMConsumeError(failed); /* nobody is left who could use the reason */
    }
    mem_free(l);
}

/* The result of a lookup, which a callback delivers, perhaps on another thread that links the symbol. */
typedef struct Answer {
    Mutex mutex;
    Cond cond;
    bool is_done;
    LLVMErrorRef failed;
    LLVMOrcExecutorAddress address;
} Answer;

static void on_answer(LLVMErrorRef failed, LLVMOrcCSymbolMapPairs pairs, size_t count, void *data)
{
    Answer *answer = data;
    mutex_lock(&answer->mutex);
    answer->failed = failed;
    if (!failed && count == 1)
        answer->address = pairs[0].Sym.Address;
    answer->is_done = true;
    cond_signal(&answer->cond);
    mutex_unlock(&answer->mutex);
}

static Status look_up(Linker *l, const char *symbol, SslKernelFn *out_entry, Error *err)
{
    Answer answer = {.mutex = MUTEX_INIT, .cond = COND_INIT};
    LLVMOrcCJITDylibSearchOrderElement where = {l->kernels,
                                                LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
    LLVMOrcCLookupSetElement what = {LLVMOrcLLJITMangleAndIntern(l->lljit, symbol),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
    LLVMOrcExecutionSessionLookup(l->session, LLVMOrcLookupKindStatic, &where, 1, &what, 1,
                                  on_answer, &answer);
    mutex_lock(&answer.mutex);
    while (!answer.is_done)
        cond_wait(&answer.cond, &answer.mutex);
    mutex_unlock(&answer.mutex);
    cond_destroy(&answer.cond);
    mutex_destroy(&answer.mutex);
    TRY(jit_check(answer.failed, "link the kernel", err));
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of LLVM are numbers */
    *out_entry = (SslKernelFn)(uintptr_t)answer.address;
    return STATUS_OK;
}

Status linker_add(Linker *l, LLVMMemoryBufferRef object, const char *symbol, LinkedCode *out_code,
                  Error *err)
{
    ASSERT(object && *symbol);
    *out_code = (LinkedCode){.tracker = LLVMOrcJITDylibCreateResourceTracker(l->kernels)};
    Status status = jit_check(LLVMOrcLLJITAddObjectFileWithRT(l->lljit, out_code->tracker, object),
                              "add the kernel's object", err);
    if (status == STATUS_OK)
        status = look_up(l, symbol, &out_code->entry, err);
    if (status != STATUS_OK)
        linker_remove(l, out_code);
    return status;
}

void linker_remove(Linker *l, LinkedCode *code)
{
    SORT_UNUSED(l);
    if (!code->tracker)
        return;
    LLVMErrorRef failed = LLVMOrcResourceTrackerRemove(code->tracker);
    CHECK(!failed); /* fails only when the session has ended */
    LLVMOrcReleaseResourceTracker(code->tracker);
    *code = (LinkedCode){0};
}
