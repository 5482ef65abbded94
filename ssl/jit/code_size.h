/* An estimate of LLVM's work. Compiling takes some 15 to 40 microseconds per counted instruction, and a little more in
 * large modules. */
#ifndef SSL_JIT_CODE_SIZE_H
#define SSL_JIT_CODE_SIZE_H

#include <llvm-c/Core.h>
#include <stdint.h>

/* Returns the number of LLVM instructions. A call counts as 2, and an access to array elements of many lanes as 32. */
uint64_t code_size(LLVMModuleRef module);

#endif
