/* The check that machine code takes no more stack than planned. Frame sizes are read from the object itself. An object
 * that does not state the frame size of a function is refused, too. */
#ifndef SSL_JIT_FRAME_CHECK_H
#define SSL_JIT_FRAME_CHECK_H

#include "base/error.h"
#include <llvm-c/Core.h>

/* Checks `object`, which a target machine of jit_keep_stack_sizes made from `module`. *out_kernel_bytes is the stack of
 * the kernel and its point function, as far as known. STATUS_LIMIT: they take more than SSL_MAX_FRAME_BYTES together,
 * or a recursive function takes more than its GEN_FRAME_PLAN; fewer lanes may fit. STATUS_INTERNAL: the object
 * lacks the size of a frame. */
Status frame_check(LLVMMemoryBufferRef object, LLVMModuleRef module, const char *shader,
                   uint64_t *out_kernel_bytes, Error *err) SORT_MUST_CHECK;

#endif
