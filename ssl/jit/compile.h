/* The compiler from final IR to an object file in memory: code generation, LLVM's passes, machine code. Each call has
 * an LLVM context and a target machine of its own, so calls run in parallel without a lock.
 *
 * If LLVM itself runs out of memory, it ends the process; it offers no other way. */
#ifndef SSL_JIT_COMPILE_H
#define SSL_JIT_COMPILE_H

#include "ssl/codegen/kernel_layout.h"
#include "ssl/jit/target.h"

typedef struct CompileRequest {
    const IrModule *module; /* has gone through ir_pipeline */
    const KernelLayout *layout;
    const char *symbol;
    uint32_t llvm_level, lanes; /* as in SslBuildDesc; 0 is the default */
    bool is_linked; /* into a program, so that indirect calls must find marks where they land */
} CompileRequest;

/* Compiles a module and adds the time to `times`. *out_object is the caller's (LLVMDisposeMemoryBuffer). */
Status compile_object(const JitTarget *t, const CompileRequest *request,
                      LLVMMemoryBufferRef *out_object, SslBuildTimes *times,
                      Error *err) SORT_MUST_CHECK;
/* Appends the text of SSL_DUMP_LLVM, SSL_DUMP_LLVM_OPTIMISED or SSL_DUMP_ASM. */
Status compile_dump(const JitTarget *t, const CompileRequest *request, SslDumpStage stage,
                    StrBuf *out, Error *err) SORT_MUST_CHECK;

#endif
