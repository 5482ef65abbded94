/* Final IR to LLVM IR: `void symbol(const SslBatch *)` that loops over the blocks of a
 * batch and the live lanes of a block. Knows nothing of derivatives, of optimisation or of linking.
 *
 * The module that comes out names no target: who compiles it sets triple and data layout.
 * Floating point is strict: no fast-math flag, no contraction. The only symbols that it refers to are
 * those of rt/rt_math.inc, and those that LLVM's code generator may add (memcpy, fmodf ...): see
 * jit/symbols.h. */
#ifndef SSL_CODEGEN_H
#define SSL_CODEGEN_H

#include "ssl/codegen/kernel_layout.h"
#include <llvm-c/Core.h>

enum {
    CODEGEN_MAX_STACK_BYTES = 64 * 1024, /* for arrays; a kernel runs on a fiber's stack */
    CODEGEN_INLINE_INSTRUCTIONS = 256    /* of IR */
};
/* The attribute by which a recursive function says how large its frame may be. LLVM reports frames that are
 * larger; who compiles the module must then refuse it, for the stack that it takes was planned by that. */
#define GEN_FRAME_LIMIT "warn-stack-size"

/* The shader's code stands inside the loop over lanes, and is worth all that LLVM can do to loops: it is
 * small and looks up no texture. Else it is a function of its own, called for each lane. */
bool codegen_is_inline(const IrModule *m);

/* `m`: after ir_pipeline. *out_module is the caller's (LLVMDisposeModule); it lives in `context`.
 * STATUS_LIMIT: the arrays take more stack than CODEGEN_MAX_STACK_BYTES. STATUS_NO_MEMORY. */
Status codegen_module(const IrModule *m, const KernelLayout *layout, const char *symbol,
                      LLVMContextRef context, LLVMModuleRef *out_module,
                      Error *err) SORT_MUST_CHECK;

#endif
