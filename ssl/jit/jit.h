/* Kernels: final IR in, a function pointer out. Ties together compile.h, linker.h and
 * object_cache.h; the only part of jit/ that the rest of ssl/ sees.
 *
 *   key = hash of (IR, layout, compiler, LLVM, CPU, level)
 *   in memory under that key? share it  :  on disk? link it  :  compile, link, store
 *
 * Kernels are counted; code is unloaded with its last holder. Any thread: two that want the same
 * kernel at once compile it once, others do not wait for them. */
#ifndef SSL_JIT_H
#define SSL_JIT_H

#include "base/hash.h"
#include "ssl/codegen/kernel_layout.h"

typedef struct Jit Jit;
typedef struct JitKernel JitKernel;

/* cpu, cache_folder: as in SslContextDesc; copied. */
Status jit_create(const char *cpu, const char *cache_folder, Jit **out_jit,
                  Error *err) SORT_MUST_CHECK;
const char *const *jit_baseline_cpus(void);
Status jit_native_cpu_class(char *out, size_t out_bytes, Error *err) SORT_MUST_CHECK;
/* The class of machines that kernels are made for; two of one class compile the same code. */
const char *jit_cpu_class(const Jit *jit);
void jit_destroy(Jit *jit); /* NULL is fine; all kernels released */

/* As in SslBuildDesc; all zero: the default. */
typedef struct JitOptions {
    uint32_t llvm_level, lanes;
} JitOptions;

/* `m`: after ir_pipeline. Adds to the times. *out_kernel: one hold, the caller's. */
Status jit_acquire(Jit *jit, const IrModule *m, const KernelLayout *layout, JitOptions options,
                   JitKernel **out_kernel, SslBuildTimes *times, Error *err) SORT_MUST_CHECK;
SslKernelFn jit_kernel_entry(const JitKernel *kernel);
void jit_release(Jit *jit, JitKernel *kernel); /* NULL is fine */

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
