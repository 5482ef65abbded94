/* Objects that carry the size of each function's stack frame, as numbers (frame_check.h reads them). */
#ifndef SSL_JIT_STACK_SIZES_H
#define SSL_JIT_STACK_SIZES_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Objects that `machine` makes from now on have a section .stack_sizes. */
void jit_keep_stack_sizes(LLVMTargetMachineRef machine);

#ifdef __cplusplus
}
#endif

#endif
