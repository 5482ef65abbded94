/* Machine code of long kernels, without passes of LLVM whose time is the square of a function's length. */
#ifndef SSL_JIT_LONG_CODE_H
#define SSL_JIT_LONG_CODE_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* LLVMTargetMachineEmitToMemoryBuffer without these passes. Returns false if the target cannot do it. */
bool jit_emit_long_code(LLVMTargetMachineRef machine, LLVMModuleRef module,
                        LLVMCodeGenFileType type, LLVMMemoryBufferRef *out_buffer);

#ifdef __cplusplus
}
#endif

#endif
