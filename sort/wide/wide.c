#include "sort/wide/wide.h"

#include "base/check.h"

const char *const wide_classes[WIDE_CLASSES] = {"x86-64", "x86-64-v3", "x86-64-v4"};

uint32_t wide_class_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("x86-64-v4"))
        return 2;
    if (__builtin_cpu_supports("x86-64-v3"))
        return 1;
#endif
    return 0;
}

SORT_ALWAYS_INLINE void run(SslKernelFn kernel, void *rows, uint16_t live)
{
    ASSERT((uintptr_t)rows % 64 == 0);
    void *const lists[] = {rows};
    const SslBatch batch = {.live = &live, .params = lists, .block_count = 1};
    kernel(&batch);
}

void wide_run_as(const WideProgram *program, uint32_t cpu_class, void *rows, uint16_t live)
{
    ASSERT(cpu_class < WIDE_CLASSES);
    run(program->kernels[cpu_class], rows, live);
}

void wide_run(const WideProgram *program, void *rows, uint16_t live)
{
    run(program->kernels[wide_class_here()], rows, live);
}
