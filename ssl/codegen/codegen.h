/* Final IR to LLVM IR: `void symbol(const SslBatch *)` that loops over the blocks of a
 * batch and the live lanes of a block. Knows nothing of derivatives, of optimisation or of linking.
 *
 * The module that comes out names no target: who compiles it sets triple and data layout.
 * Floating point is strict: no fast-math flag, no contraction. The only symbols that it refers to are
 * those of rt/rt.h and rt/rt_lanes.h, and those that LLVM's code generator may add (memcpy, fmodf ...): see
 * jit/symbols.h. */
#ifndef SSL_CODEGEN_H
#define SSL_CODEGEN_H

#include "ssl/codegen/kernel_layout.h"
#include <llvm-c/Core.h>

enum {
    CODEGEN_INLINE_INSTRUCTIONS = 256 /* of IR */
};
/* The attribute by which a recursive function says how large its frame may be, and the beginning of its name. Who
 * compiles the module must refuse it when a frame is larger, for its stack was planned by that (frame_check.h). */
#define GEN_FRAME_PLAN      "ssl-frame-bytes"
#define GEN_FUNCTION_PREFIX "f."

/* The shader's code stands inside the loop over blocks: it is small and looks up no texture. Else it is a
 * function of its own. */
bool codegen_is_inline(const IrModule *m);
/* Functions are left that call themselves: only code of one lane can do that. */
bool codegen_is_recursive(const IrModule *m);

typedef struct CodegenDesc {
    const char *symbol;  /* the kernel's name */
    uint32_t lanes;      /* computed at once: 1, 4, 8 or 16. No bit of a result depends on it */
    uint32_t math_lanes; /* of rt_lanes.h: as many as the CPU has registers for; 4, 8 or 16 */
} CodegenDesc;

/* `m`: after ir_pipeline. *out_module is the caller's (LLVMDisposeModule); it lives in `context`.
 * STATUS_LIMIT: the arrays take more stack than SSL_MAX_ARRAY_BYTES, which fewer lanes may not.
 * STATUS_NO_MEMORY. */
Status codegen_module(const IrModule *m, const KernelLayout *layout, const CodegenDesc *desc,
                      LLVMContextRef context, LLVMModuleRef *out_module,
                      Error *err) SORT_MUST_CHECK;

#endif
