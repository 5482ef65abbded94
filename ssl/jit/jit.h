/* The JIT compiler: it turns final IR into a function that can be called. This header is the interface of jit/; it
 * ties together compile.h, linker.h and object_cache.h.
 *
 *   key = hash of (IR, layout, compiler, LLVM, CPU, level)
 *   in memory under that key? share it  :  on disk? link it  :  compile, link, store
 *
 * Kernels are reference-counted; releasing the last reference unloads the code. Any thread may call these functions.
 * If two threads request the same kernel at once, one compiles it and the other waits; further kernels are
 * compiled in parallel. */
#ifndef SSL_JIT_H
#define SSL_JIT_H

#include "base/hash.h"
#include "ssl/codegen/kernel_layout.h"

typedef struct Jit Jit;
typedef struct JitKernel JitKernel;

/* `cpu` and `cache_folder` are described at SslContextDesc; both are copied. */
Status jit_create(const char *cpu, const char *cache_folder, Jit **out_jit,
                  Error *err) SORT_MUST_CHECK;
const char *const *jit_baseline_cpus(void);
Status jit_native_cpu_class(char *out, size_t out_bytes, Error *err) SORT_MUST_CHECK;
/* Returns the class of machines that kernels are compiled for. Machines of one class compile the same code. */
const char *jit_cpu_class(const Jit *jit);
void jit_destroy(Jit *jit); /* all kernels must have been released; NULL is allowed */

/* These options are described at SslBuildDesc; 0 is the default. */
typedef struct JitOptions {
    uint32_t llvm_level, lanes;
    const char *symbol; /* for dumps only */
} JitOptions;

/* Returns the kernel of `m`, which has gone through ir_pipeline, and adds the time to `times`. *out_kernel is a
 * reference of the caller's (jit_release). */
Status jit_acquire(Jit *jit, const IrModule *m, const KernelLayout *layout, JitOptions options,
                   JitKernel **out_kernel, SslBuildTimes *times, Error *err) SORT_MUST_CHECK;
SslKernelFn jit_kernel_entry(const JitKernel *kernel);
void jit_release(Jit *jit, JitKernel *kernel); /* NULL is allowed */

/* Appends the text of one of LLVM's stages. */
Status jit_dump(Jit *jit, const IrModule *m, const KernelLayout *layout, JitOptions options,
                SslDumpStage stage, StrBuf *out, Error *err) SORT_MUST_CHECK;

/* Counts since creation, for tests and reports. */
typedef struct JitStats {
    uint64_t compiled, loaded_from_disk, shared; /* acquisitions by where the code came from */
    uint32_t kernels;                            /* loaded now */
} JitStats;
void jit_stats(Jit *jit, JitStats *out_stats);

#endif
