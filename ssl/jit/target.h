/* The CPU that code is compiled for: this machine's, or a baseline that all machines of a render farm support. */
#ifndef SSL_JIT_TARGET_H
#define SSL_JIT_TARGET_H

#include "base/error.h"
#include <llvm-c/TargetMachine.h>

enum { JIT_CPU_CLASS_BYTES = 64 };

typedef struct JitTarget {
    LLVMTargetRef target;          /* LLVM's own */
    char *triple, *cpu, *features; /* owned: LLVM's messages */
    uint32_t lanes;                /* floats in a register: 4, 8 (AVX2) or 16 (AVX-512) */
    bool has_fma;                  /* fused multiply-adds */
    char cpu_class
        [JIT_CPU_CLASS_BYTES]; /* a baseline, as "x86-64-v3", or a machine, as "znver3-1f8a20c4" */
} JitTarget;

/* `cpu` is NULL or "native" for this machine, or the name of a baseline or of this machine's CPU. STATUS_INVALID: the
 * name is unknown; the message lists the names. The first call in the process initialises LLVM. */
Status jit_target_create(const char *cpu, JitTarget *out_target, Error *err) SORT_MUST_CHECK;
/* Returns the names of the baselines, static and NULL-terminated. */
const char *const *jit_target_baselines(void);
void jit_target_destroy(JitTarget *t);
/* Returns a new target machine, which is the caller's, or NULL if LLVM refuses. Each compile needs its own, because
 * threads cannot share one. */
LLVMTargetMachineRef jit_target_machine(const JitTarget *t, LLVMCodeGenOptLevel level);

#endif
