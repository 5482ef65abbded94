/* The stack that machine code takes, read from the object itself and held against what was planned.
 *
 * A function of the module that the object does not tell the frame of is refused too: nothing runs whose need of
 * stack is unknown. */
#ifndef SSL_JIT_FRAME_CHECK_H
#define SSL_JIT_FRAME_CHECK_H

#include "base/error.h"
#include <llvm-c/Core.h>

/* `object`: made from `module` by a target machine of jit_keep_stack_sizes. STATUS_LIMIT: the kernel and its point
 * take more than SSL_MAX_FRAME_BYTES together, or a recursive function more than its GEN_FRAME_PLAN; fewer lanes
 * may not. *out_kernel_bytes: what kernel and point take, as far as known. STATUS_INTERNAL: the object does not say. */
Status frame_check(LLVMMemoryBufferRef object, LLVMModuleRef module, const char *shader,
                   uint64_t *out_kernel_bytes, Error *err) SORT_MUST_CHECK;

#endif
