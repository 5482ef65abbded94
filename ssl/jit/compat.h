/* The differences between LLVM releases (16 to 19 should work; 19 is tested), and the conversion of LLVM's errors and
 * messages to Error, so that nothing leaks and nothing prints. */
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

/* Since LLVM 18, `instcombine` in a pipeline ends the process if one round did not reach a fixpoint. */
#if LLVM_VERSION_MAJOR >= 18
#    define JIT_INSTCOMBINE "instcombine<no-verify-fixpoint>"
#else
#    define JIT_INSTCOMBINE "instcombine"
#endif

/* Converts and frees an error of the Orc and pass-manager calls. `doing` says what failed: "link the kernel". */
static inline Status jit_check(LLVMErrorRef llvm_error, const char *doing, Error *err)
{
    if (!llvm_error)
        return STATUS_OK;
    char *text = LLVMGetErrorMessage(llvm_error);
    Status status = error_set(err, STATUS_INTERNAL, "LLVM could not %s: %s", doing, text);
    LLVMDisposeErrorMessage(text);
    return status;
}

/* Converts and frees the message of a call that failed. */
static inline Status jit_fail(char *message, const char *doing, Error *err)
{
    Status status = error_set(err, STATUS_INTERNAL, "LLVM could not %s: %s", doing,
                              message ? message : "no reason given");
    LLVMDisposeMessage(message);
    return status;
}

/* LLVM 17 renamed the members of this pair, but kept their order. */
static inline LLVMOrcCSymbolMapPair jit_symbol_pair(LLVMOrcSymbolStringPoolEntryRef name,
                                                    LLVMOrcExecutorAddress address)
{
    LLVMJITSymbolFlags flags = {
        LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    return (LLVMOrcCSymbolMapPair){name, {address, flags}};
}

#endif
