/* Which machine code is made for: this CPU, or a baseline that all machines of a farm have. */
#ifndef SSL_JIT_TARGET_H
#define SSL_JIT_TARGET_H

#include "base/error.h"
#include <llvm-c/TargetMachine.h>

enum { JIT_CPU_CLASS_BYTES = 64 };

typedef struct JitTarget {
    LLVMTargetRef target;                /* LLVM's own */
    char *triple, *cpu, *features;       /* owned: LLVM's messages */
    uint32_t lanes;                      /* floats in a register: 4, 8 (AVX2) or 16 (AVX-512) */
    char cpu_class[JIT_CPU_CLASS_BYTES]; /* "x86-64-v3"; of a machine as it is, "znver3-1f8a20c4" */
} JitTarget;

/* cpu: NULL or "native": this machine; else one of the names in the error message, or this machine's
 * own. Initialises LLVM on the first call in the process. STATUS_INVALID: an unknown name. */
Status jit_target_create(const char *cpu, JitTarget *out_target, Error *err) SORT_MUST_CHECK;
/* The names of baselines; NULL-terminated. */
const char *const *jit_target_baselines(void);
void jit_target_destroy(JitTarget *t);
/* A machine of one's own for each compile: LLVM's are not shared between threads. NULL: refused. */
LLVMTargetMachineRef jit_target_machine(const JitTarget *t, LLVMCodeGenOptLevel level);

#endif
