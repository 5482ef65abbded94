#include "ssl/jit/jit.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "ssl/jit/compat.h"
#include "ssl/jit/compile.h"
#include "ssl/jit/fingerprint.h"
#include "ssl/jit/linker.h"
#include "ssl/jit/object_cache.h"
#include "ssl/rt/rt_lanes.h"
#include <string.h>

typedef enum KernelState { KERNEL_BUILDING, KERNEL_READY, KERNEL_FAILED } KernelState;

/* Guarded by Jit.mutex; `code` and `why` are written once, before the state leaves BUILDING. */
struct JitKernel {
    Hash128 key;
    KernelState state;
    uint32_t holders; /* with those that wait for it */
    LinkedCode code;
    Error why;
    JitKernel *next; /* in its bucket */
};

enum { BUCKETS = 256 };

struct Jit {
    JitTarget target;
    Linker *linker;
    char *cache_folder; /* NULL: none */
    Mutex mutex;
    Cond built; /* a kernel left BUILDING */
    JitKernel *bucket[BUCKETS];
    JitStats stats;
};

Status jit_create(const char *cpu, const char *cache_folder, Jit **out_jit, Error *err)
{
    *out_jit = NULL;
    Jit *jit = MEM_NEW(Jit);
    if (!jit)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    mutex_init(&jit->mutex);
    cond_init(&jit->built);
    Status status = jit_target_create(cpu, &jit->target, err);
    if (status == STATUS_OK)
        status = linker_create(&jit->target, &jit->linker, err);
    if (status == STATUS_OK && cache_folder) {
        status = file_make_private_directory(cache_folder, err);
        jit->cache_folder = mem_strdup(cache_folder);
        if (status == STATUS_OK && !jit->cache_folder)
            status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    if (status != STATUS_OK) {
        jit_destroy(jit);
        return status;
    }
    *out_jit = jit;
    return STATUS_OK;
}

const char *const *jit_baseline_cpus(void)
{
    return jit_target_baselines();
}

Status jit_native_cpu_class(char *out, size_t out_bytes, Error *err)
{
    JitTarget target;
    TRY(jit_target_create(NULL, &target, err));
    snprintf(out, out_bytes, "%s", target.cpu_class);
    jit_target_destroy(&target);
    return STATUS_OK;
}

const char *jit_cpu_class(const Jit *jit)
{
    return jit->target.cpu_class;
}

void jit_destroy(Jit *jit)
{
    if (!jit)
        return;
    CHECK(jit->stats.kernels == 0);
    linker_destroy(jit->linker);
    jit_target_destroy(&jit->target);
    cond_destroy(&jit->built);
    mutex_destroy(&jit->mutex);
    mem_free(jit->cache_folder);
    mem_free(jit);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void hash_layout(HashState *s, const IrModule *m, const KernelLayout *layout)
{
    hash128_update(s, &layout->globals, sizeof layout->globals);
    hash128_update(s, layout->param_offset, m->info.param_count * sizeof *layout->param_offset);
    hash128_update(s, layout->output_offset, m->outputs.count * sizeof *layout->output_offset);
    hash128_update(s, layout->lobes, m->slots.count * sizeof *layout->lobes);
    hash128_update_u64(s, layout->params_bytes);
    hash128_update_u64(s, layout->rows != NULL);
    if (layout->rows) {
        hash128_update(s, layout->rows->params, m->info.param_count * sizeof(SslRowPlace));
        hash128_update(s, layout->rows->outputs, (m->outputs.count + 1) * sizeof(SslRowPlace));
    }
    hash128_update_u64(s, layout->fault_offset);
    hash128_update_u64(s, layout->result_stride_bytes);
}

static Hash128 kernel_key(const Jit *jit, const IrModule *m, const KernelLayout *layout,
                          JitOptions options)
{
    ASSERT(m->entry && layout->result_stride_bytes % 64 == 0);
    Hash128 ir = ir_hash(m);
    HashState s;
    hash128_begin(&s);
    hash128_update_text(&s, ssl_fingerprint); /* of the sources that decide what code comes out */
    hash128_update_text(&s, RT_KEEPS_REGISTERS ? "registers are kept" : "");
    unsigned version[3];
    LLVMGetVersion(&version[0], &version[1], &version[2]);
    for (uint32_t i = 0; i < 3; ++i)
        hash128_update_u64(&s, version[i]);
    hash128_update_text(&s, jit->target.triple);
    hash128_update_text(&s, jit->target.cpu);
    hash128_update_text(&s, jit->target.features);
    hash128_update_u64(&s, options.llvm_level);
    hash128_update_u64(&s, options.lanes);
    hash128_update(&s, ir.bytes, sizeof ir.bytes);
    hash_layout(&s, m, layout);
    return hash128_end(&s);
}

enum { SYMBOL_BYTES = 4 + HASH128_TEXT_BYTES };

static void kernel_symbol(Hash128 key, char out_symbol[SYMBOL_BYTES])
{
    memcpy(out_symbol, "ssl_", sizeof "ssl_");
    hash128_text(key, out_symbol + 4);
}

/* --- building one ----------------------------------------------------------------------------- */

static Status link_timed(Jit *jit, LLVMMemoryBufferRef object, const char *symbol,
                         LinkedCode *out_code, SslBuildTimes *times, Error *err)
{
    uint64_t start_ns = clock_now_ns();
    Status status = linker_add(jit->linker, object, symbol, out_code, err);
    times->link_ms += clock_seconds_since(start_ns) * 1e3;
    return status;
}

static Status build_kernel(Jit *jit, const CompileRequest *request, Hash128 key,
                           LinkedCode *out_code, SslBuildTimes *times, Error *err)
{
    LLVMMemoryBufferRef object = NULL;
    if (jit->cache_folder) {
        object = object_cache_load(jit->cache_folder, key);
        /* An object that passes the checks and yet does not link is compiled anew, like no object. */
        times->from_cache =
            object && link_timed(jit, object, request->symbol, out_code, times, NULL) == STATUS_OK;
        if (times->from_cache)
            return STATUS_OK;
    }
    TRY(compile_object(&jit->target, request, &object, times, err));
    if (jit->cache_folder &&
        object_cache_store(jit->cache_folder, key, object, NULL) != STATUS_OK) {
        /* The next start compiles again: slower, not wrong. */
    }
    return link_timed(jit, object, request->symbol, out_code, times, err);
}

/* --- the registry; all under jit->mutex --------------------------------------------------------- */

static JitKernel **find_kernel(Jit *jit, Hash128 key)
{
    JitKernel **at = &jit->bucket[hash128_low64(key) % BUCKETS];
    while (*at && !hash128_equal((*at)->key, key))
        at = &(*at)->next;
    return at;
}

static void drop_hold(Jit *jit, JitKernel *kernel)
{
    ASSERT(kernel->holders > 0);
    if (--kernel->holders)
        return;
    if (kernel->state == KERNEL_READY) {
        *find_kernel(jit, kernel->key) = kernel->next;
        linker_remove(jit->linker,
                      &kernel->code); /* in the lock: its symbol is free when we leave */
        --jit->stats.kernels;
    }
    mem_free(kernel);
}

static Status wait_for_kernel(Jit *jit, JitKernel *kernel, SslBuildTimes *times, Error *err)
{
    ++kernel->holders;
    while (kernel->state == KERNEL_BUILDING)
        cond_wait(&jit->built, &jit->mutex);
    if (kernel->state == KERNEL_READY) {
        ++jit->stats.shared;
        times->from_cache = true;
        return STATUS_OK;
    }
    if (err)
        *err = kernel->why;
    Status status = kernel->why.code;
    drop_hold(jit, kernel);
    return status;
}

static void finish_build(Jit *jit, JitKernel *kernel, Status status, const SslBuildTimes *times)
{
    ASSERT(kernel->state == KERNEL_BUILDING && kernel->holders > 0);
    if (status == STATUS_OK) {
        kernel->state = KERNEL_READY;
        ++jit->stats.kernels;
        if (times->from_cache)
            ++jit->stats.loaded_from_disk;
        else
            ++jit->stats.compiled;
    } else {
        kernel->state = KERNEL_FAILED;
        *find_kernel(jit, kernel->key) = kernel->next; /* who comes later may try again */
    }
    cond_broadcast(&jit->built);
}

Status jit_acquire(Jit *jit, const IrModule *m, const KernelLayout *layout, JitOptions options,
                   JitKernel **out_kernel, SslBuildTimes *times, Error *err)
{
    Hash128 key = kernel_key(jit, m, layout, options);
    *out_kernel = NULL;
    mutex_lock(&jit->mutex);
    JitKernel **at = find_kernel(jit, key);
    if (*at) {
        JitKernel *kernel = *at;
        Status status = wait_for_kernel(jit, kernel, times, err);
        mutex_unlock(&jit->mutex);
        *out_kernel = status == STATUS_OK ? kernel : NULL;
        return status;
    }
    JitKernel *kernel = MEM_NEW(JitKernel);
    if (!kernel) {
        mutex_unlock(&jit->mutex);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *kernel = (JitKernel){.key = key, .holders = 1};
    *at = kernel;
    mutex_unlock(&jit->mutex);

    char symbol[SYMBOL_BYTES];
    kernel_symbol(key, symbol);
    CompileRequest request = {.module = m,
                              .layout = layout,
                              .symbol = symbol,
                              .llvm_level = options.llvm_level,
                              .lanes = options.lanes};
    Status status = build_kernel(jit, &request, key, &kernel->code, times, &kernel->why);

    mutex_lock(&jit->mutex);
    finish_build(jit, kernel, status, times);
    if (status == STATUS_OK) {
        *out_kernel = kernel;
    } else {
        if (err)
            *err = kernel->why;
        drop_hold(jit, kernel);
    }
    mutex_unlock(&jit->mutex);
    return status;
}

SslKernelFn jit_kernel_entry(const JitKernel *kernel)
{
    ASSERT(kernel->state == KERNEL_READY && kernel->code.entry);
    return kernel->code.entry;
}

void jit_release(Jit *jit, JitKernel *kernel)
{
    if (!kernel)
        return;
    mutex_lock(&jit->mutex);
    drop_hold(jit, kernel);
    mutex_unlock(&jit->mutex);
}

Status jit_dump(Jit *jit, const IrModule *m, const KernelLayout *layout, JitOptions options,
                SslDumpStage stage, StrBuf *out, Error *err)
{
    CompileRequest request = {.module = m,
                              .layout = layout,
                              .symbol = options.symbol ? options.symbol : "kernel",
                              .llvm_level = options.llvm_level,
                              .lanes = options.lanes};
    if (stage != SSL_DUMP_OBJECT)
        return compile_dump(&jit->target, &request, stage, out, err);
    LLVMMemoryBufferRef object;
    SslBuildTimes times = {0};
    request.is_linked = true;
    TRY(compile_object(&jit->target, &request, &object, &times, err));
    strbuf_append(out, (Str){LLVMGetBufferStart(object), LLVMGetBufferSize(object)});
    LLVMDisposeMemoryBuffer(object);
    return out->failed ? error_set(err, STATUS_NO_MEMORY, "out of memory") : STATUS_OK;
}

void jit_stats(Jit *jit, JitStats *out_stats)
{
    mutex_lock(&jit->mutex);
    *out_stats = jit->stats;
    mutex_unlock(&jit->mutex);
}
