/* Where LLVM releases differ (16 to 19 are meant to work; 19 is what is tested), and what the C API
 * leaves to its user: errors and messages become ours here, so that nothing leaks and nothing prints. */
#ifndef SSL_JIT_COMPAT_H
#define SSL_JIT_COMPAT_H

#include "base/error.h"
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Orc.h>
#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 16
#    error "SSL needs LLVM 16 or later"
#endif

/* Since LLVM 18 the pass, named in a pipeline, stops the process when one round was not enough. */
#if LLVM_VERSION_MAJOR >= 18
#    define JIT_INSTCOMBINE "instcombine<no-verify-fixpoint>"
#else
#    define JIT_INSTCOMBINE "instcombine"
#endif

/* Consumes an error of the Orc and pass-manager calls. `doing`: "link the kernel". */
static inline Status jit_check(LLVMErrorRef llvm_error, const char *doing, Error *err)
{
    if (!llvm_error)
        return STATUS_OK;
    char *text = LLVMGetErrorMessage(llvm_error);
    Status status = error_set(err, STATUS_INTERNAL, "LLVM could not %s: %s", doing, text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* The same for calls that fail with a message. */
static inline Status jit_fail(char *message, const char *doing, Error *err)
{
    Status status = error_set(err, STATUS_INTERNAL, "LLVM could not %s: %s", doing,
                              message ? message : "no reason given");
    LLVMDisposeMessage(message);
    return status;
}

/* LLVM 17 renamed the symbol/address pair's halves; the order stayed. */
static inline LLVMOrcCSymbolMapPair jit_symbol_pair(LLVMOrcSymbolStringPoolEntryRef name,
                                                    LLVMOrcExecutorAddress address)
{
    LLVMJITSymbolFlags flags = {
        LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    return (LLVMOrcCSymbolMapPair){name, {address, flags}};
}

#endif
