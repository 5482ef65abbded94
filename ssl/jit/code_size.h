/* How much there is for LLVM to compile. The time it takes follows this closely, some 15 to 40 microseconds each, and a
 * little more where there are many. */
#ifndef SSL_JIT_CODE_SIZE_H
#define SSL_JIT_CODE_SIZE_H

#include <llvm-c/Core.h>
#include <stdint.h>

/* LLVM instructions; a call counts as 2, and what reads or writes an element of an array for many lanes as 32. */
uint64_t code_size(LLVMModuleRef module);

#endif
