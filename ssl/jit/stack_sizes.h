/* Lets objects state the size of each function's stack frame, which frame_check.h reads. */
#ifndef SSL_JIT_STACK_SIZES_H
#define SSL_JIT_STACK_SIZES_H

#include <llvm-c/TargetMachine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes `machine` add a section .stack_sizes to its objects from now on. */
void jit_keep_stack_sizes(LLVMTargetMachineRef machine);

#ifdef __cplusplus
}
#endif

#endif
