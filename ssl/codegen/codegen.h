/* The generator of LLVM IR from final IR. The result is a function `void symbol(const SslBatch *)` that loops
 * over the blocks of a batch and the live lanes of a block. Derivatives, optimisation and linking are the
 * work of other parts.
 *
 * The LLVM module names no target; its compiler sets triple and data layout. Floating point is strict: no
 * fast-math flag, no contraction. The module refers only to the symbols of rt/rt.h and rt/rt_lanes.h, and
 * to those that LLVM's code generator may add (memcpy, fmodf ...); jit/symbols.h has the list. */
#ifndef SSL_CODEGEN_H
#define SSL_CODEGEN_H

#include "ssl/codegen/kernel_layout.h"
#include <llvm-c/Core.h>

enum {
    CODEGEN_INLINE_INSTRUCTIONS = 256 /* the most IR instructions of a shader that is inlined */
};
/* The attribute with the planned frame size of a recursive function, and the prefix of its name. A module with a
 * frame that is larger than planned must be refused, because the stack was divided by the plan (frame_check.h). */
#define GEN_FRAME_PLAN      "ssl-frame-bytes"
#define GEN_FUNCTION_PREFIX "f."

/* Returns whether the shader's code is inlined into the loop over blocks: it is small and looks up no texture.
 * Otherwise it becomes a function of its own. */
bool codegen_is_inline(const IrModule *m);
/* Returns whether the module still has recursive functions, which need code of one lane. */
bool codegen_is_recursive(const IrModule *m);

typedef struct CodegenDesc {
    const char *symbol; /* the kernel's name */
    /* Points computed at once: 1, 4, 8 or 16; results have equal bits at every width. */
    uint32_t lanes;
    /* Width of the functions of rt_lanes.h that the CPU supports: 4, 8 or 16. */
    uint32_t math_lanes;
    bool
        has_fma; /* the CPU has fused multiply-adds; otherwise rt_fma computes them, with equal bits */
} CodegenDesc;

/* Generates the kernel of `m`, which has gone through ir_pipeline. *out_module is the caller's
 * (LLVMDisposeModule); it lives in `context`. STATUS_LIMIT: the arrays take more stack than
 * SSL_MAX_ARRAY_BYTES; fewer lanes may fit. The only other error is STATUS_NO_MEMORY. */
Status codegen_module(const IrModule *m, const KernelLayout *layout, const CodegenDesc *desc,
                      LLVMContextRef context, LLVMModuleRef *out_module,
                      Error *err) SORT_MUST_CHECK;

#endif
