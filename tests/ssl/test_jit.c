/* The JIT around code generation: sharing, the object cache on disk against every kind of damage,
 * threads, unloading, memory protection, refusals. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/thread.h"
#include "ssl/jit/object_cache.h"
#include "tests/ssl/ir_kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

/* A kernel that gives f * factor + g, so that different factors are different kernels. */
static void build_scale(IrKernel *k, float factor)
{
    ir_kernel_begin(k);
    IrBuilder *b = k->builder;
    IrValue f = ir_build_global(b, IR_FLOAT, ROW_F, IR_SHADOW_VALUE, 0);
    IrValue g = ir_build_global(b, IR_FLOAT, ROW_G, IR_SHADOW_VALUE, 0);
    IrValue scaled = ir_build2(b, IR_FMUL, f, ir_const_float(b, factor));
    IrValue result = ir_build2(b, IR_FADD, scaled, ir_build1(b, IR_SIN, g));
    ir_kernel_end(k, &result, 1);
}

static Jit *create_jit(const char *cache_folder)
{
    Error err = {0};
    Jit *jit;
    if (jit_create(NULL, cache_folder, &jit, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return jit;
}

static JitKernel *acquire(Jit *jit, const IrKernel *k, const KernelLayout *layout,
                          SslBuildTimes *times)
{
    Error err = {0};
    JitKernel *kernel;
    *times = (SslBuildTimes){0};
    if (jit_acquire(jit, k->module, layout, (JitOptions){0}, &kernel, times, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return kernel;
}

static JitStats stats_of(Jit *jit)
{
    JitStats stats;
    jit_stats(jit, &stats);
    return stats;
}

static void make_folder(char path[PATH_BYTES])
{
    Error err = {0};
    if (file_make_temp_directory("sort-test-jit", path, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void remove_folder(const char *path)
{
    Error err = {0};
    assert_int_equal(file_remove_tree(path, &err), STATUS_OK);
}

/* --- sharing ---------------------------------------------------------------------------------- */

static void test_equal_ir_shares_one_kernel(void **state)
{
    (void)state;
    Jit *jit = create_jit(NULL);
    IrKernel a, b, c;
    build_scale(&a, 2.0f);
    build_scale(&b, 2.0f);
    build_scale(&c, 3.0f);
    KernelLayout layout;
    kernel_layout_compute(a.module, NULL, a.arena, &layout);
    SslBuildTimes times;
    JitKernel *first = acquire(jit, &a, &layout, &times);
    assert_false(times.from_cache);
    assert_true(times.llvm_ir_ms > 0 && times.optimise_ms > 0 && times.codegen_ms > 0 &&
                times.link_ms > 0);
    JitKernel *second = acquire(jit, &b, &layout, &times);
    assert_true(times.from_cache);
    JitKernel *other = acquire(jit, &c, &layout, &times);
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    JitStats stats = stats_of(jit);
    assert_int_equal(stats.compiled, 2);
    assert_int_equal(stats.shared, 1);
    assert_int_equal(stats.kernels, 2);

    jit_release(jit, first);
    assert_int_equal(stats_of(jit).kernels, 2); /* `second` still holds it */
    jit_release(jit, second);
    assert_int_equal(stats_of(jit).kernels, 1); /* unloaded */
    JitKernel *again = acquire(jit, &a, &layout, &times);
    assert_int_equal(stats_of(jit).compiled, 3);
    jit_release(jit, again);
    jit_release(jit, other);
    jit_destroy(jit);
    ir_kernel_free(&a);
    ir_kernel_free(&b);
    ir_kernel_free(&c);
}

enum { THREADS = 8, ROUNDS = 12 };

typedef struct Race {
    Jit *jit;
    _Atomic uint32_t wrong;
} Race;

/* Everybody wants the same few kernels, and lets them go again. */
static void race_thread(void *data, uint32_t index)
{
    Race *race = data;
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        IrKernel k;
        float factor = (float)(round % 3 + 1);
        ir_kernel_begin(&k);
        IrBuilder *b = k.builder;
        IrValue f = ir_build_global(b, IR_FLOAT, ROW_F, IR_SHADOW_VALUE, 0);
        IrValue result = ir_build2(b, IR_FMUL, f, ir_const_float(b, factor));
        ir_kernel_end(&k, &result, 1);
        IrBatch batch;
        ir_batch_init(&batch, &k, index + 1);
        *ir_batch_global(&batch, ROW_F, 0, 0, 3) = 2.5f;
        SslBuildTimes times = {0};
        JitKernel *kernel;
        if (jit_acquire(race->jit, k.module, &batch.layout, (JitOptions){0}, &kernel, &times,
                        NULL) == STATUS_OK) {
            jit_kernel_entry(kernel)(&batch.batch);
            if (ir_batch_output_float(&batch, 0, 0, 3) != 2.5f * factor)
                ++race->wrong;
            jit_release(race->jit, kernel);
        } else {
            ++race->wrong;
        }
        ir_batch_free(&batch);
        ir_kernel_free(&k);
    }
}

static void test_threads_build_and_drop_the_same_kernels(void **state)
{
    (void)state;
    Race race = {.jit = create_jit(NULL)};
    parallel_for(THREADS, THREADS, race_thread, &race);
    assert_int_equal(race.wrong, 0);
    JitStats stats = stats_of(race.jit);
    assert_int_equal(stats.compiled + stats.shared, THREADS * ROUNDS);
    assert_int_equal(stats.kernels, 0);
    jit_destroy(race.jit);
}

typedef struct Flight {
    Jit *jit;
    const IrKernel *kernels; /* one a thread: hashing uses the module's arena */
    const KernelLayout *layout;
    JitKernel *found[THREADS];
} Flight;

static void fly(void *data, uint32_t index)
{
    Flight *flight = data;
    SslBuildTimes times = {0};
    if (jit_acquire(flight->jit, flight->kernels[index].module, flight->layout, (JitOptions){0},
                    &flight->found[index], &times, NULL) != STATUS_OK)
        flight->found[index] = NULL;
}

static void test_one_kernel_wanted_by_all_is_compiled_once(void **state)
{
    (void)state;
    IrKernel kernels[THREADS];
    for (uint32_t i = 0; i < THREADS; ++i)
        build_scale(&kernels[i], 5.0f);
    KernelLayout layout;
    kernel_layout_compute(kernels[0].module, NULL, kernels[0].arena, &layout);
    Flight flight = {.jit = create_jit(NULL), .kernels = kernels, .layout = &layout};
    parallel_for(THREADS, THREADS, fly, &flight);
    for (uint32_t i = 0; i < THREADS; ++i) {
        assert_non_null(flight.found[i]);
        assert_ptr_equal(flight.found[i], flight.found[0]);
    }
    assert_int_equal(stats_of(flight.jit).compiled, 1);
    assert_int_equal(stats_of(flight.jit).shared, THREADS - 1);
    for (uint32_t i = 0; i < THREADS; ++i) {
        jit_release(flight.jit, flight.found[i]);
        ir_kernel_free(&kernels[i]);
    }
    jit_destroy(flight.jit);
}

/* --- the disk --------------------------------------------------------------------------------- */

/* The one file of a cache folder. */
static void cached_file(const char *folder, char path[PATH_BYTES])
{
    Arena *arena = arena_create(0, 0);
    Error err = {0};
    const char *const *names;
    uint32_t count;
    assert_int_equal(file_list_directory(folder, arena, &names, &count, &err), STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(path_join(folder, names[0], path, &err), STATUS_OK);
    arena_destroy(arena);
}

/* A new process, as far as the cache can tell: builds the kernel, checks what it computes, and returns
 * the counts. */
static JitStats start_anew(const char *folder, const IrKernel *k)
{
    Jit *jit = create_jit(folder);
    IrBatch batch;
    ir_batch_init(&batch, k, 1);
    *ir_batch_global(&batch, ROW_F, 0, 0, 3) = 2.5f;
    *ir_batch_global(&batch, ROW_G, 0, 0, 3) = 0.0f;
    SslBuildTimes times;
    JitKernel *kernel = acquire(jit, k, &batch.layout, &times);
    jit_kernel_entry(kernel)(&batch.batch);
    assert_float_equal(ir_batch_output_float(&batch, 0, 0, 3), 5.0f, 0.0f);
    JitStats stats = stats_of(jit);
    assert_int_equal(times.from_cache, stats.loaded_from_disk == 1);
    assert_int_equal(stats.compiled + stats.loaded_from_disk, 1);
    jit_release(jit, kernel);
    ir_batch_free(&batch);
    jit_destroy(jit);
    return stats;
}

static void test_second_start_compiles_nothing(void **state)
{
    (void)state;
    char folder[PATH_BYTES], deeper[PATH_BYTES];
    make_folder(folder);
    Error err = {0};
    assert_int_equal(path_join(folder, "a/b", deeper, &err), STATUS_OK); /* made when missing */
    IrKernel k;
    build_scale(&k, 2.0f);
    assert_int_equal(start_anew(deeper, &k).compiled, 1);
    assert_int_equal(start_anew(deeper, &k).loaded_from_disk, 1);
    assert_int_equal(start_anew(deeper, &k).loaded_from_disk, 1);
    remove_folder(folder);
    ir_kernel_free(&k);
}

static void check_damage(const char *folder, const char *path, const IrKernel *k, const char *data,
                         size_t size_bytes)
{
    Error err = {0};
    assert_int_equal(file_write(path, data, size_bytes, &err), STATUS_OK);
    assert_int_equal(start_anew(folder, k).compiled, 1);         /* not believed */
    assert_int_equal(start_anew(folder, k).loaded_from_disk, 1); /* and put right */
}

static void test_damaged_objects_are_replaced(void **state)
{
    (void)state;
    char folder[PATH_BYTES], path[PATH_BYTES];
    make_folder(folder);
    Error err = {0};
    IrKernel k, other;
    build_scale(&k, 2.0f);
    build_scale(&other, 4.0f);
    (void)start_anew(folder, &k);
    cached_file(folder, path);
    char *good;
    size_t size;
    assert_int_equal(file_read(path, OBJECT_CACHE_MAX_BYTES, &good, &size, &err), STATUS_OK);
    assert_true(size > sizeof(ObjectHeader) + 64);
    char *bad = mem_alloc(size + 1, 1);
    assert_non_null(bad);
    /* One bit anywhere: in each field of the header, in the object's first, middle and last byte. */
    const size_t places[] = {0, 7, 8, 15, 16, 31, 32, 47, sizeof(ObjectHeader), size / 2, size - 1};
    for (uint32_t i = 0; i < SORT_COUNT_OF(places); ++i) {
        memcpy(bad, good, size);
        bad[places[i]] = (char)(bad[places[i]] ^ 0x10);
        check_damage(folder, path, &k, bad, size);
    }
    const size_t lengths[] = {0, 1, 47, 48, size / 2, size - 1};
    for (uint32_t i = 0; i < SORT_COUNT_OF(lengths); ++i)
        check_damage(folder, path, &k, good, lengths[i]);
    memcpy(bad, good, size);
    bad[size] = 0;
    check_damage(folder, path, &k, bad, size + 1);
    check_damage(folder, path, &k, "#!/bin/sh\nexit 1\n", 17);

    /* A sound file under the wrong name. */
    char other_folder[PATH_BYTES], other_path[PATH_BYTES];
    make_folder(other_folder);
    Jit *jit = create_jit(other_folder);
    KernelLayout layout;
    kernel_layout_compute(other.module, NULL, other.arena, &layout);
    SslBuildTimes times;
    jit_release(jit, acquire(jit, &other, &layout, &times));
    jit_destroy(jit);
    cached_file(other_folder, other_path);
    char *foreign;
    size_t foreign_size;
    assert_int_equal(file_read(other_path, OBJECT_CACHE_MAX_BYTES, &foreign, &foreign_size, &err),
                     STATUS_OK);
    check_damage(folder, path, &k, foreign, foreign_size);
    /* One that claims this very key, a forged collision: its kernel has the name of its own key, so it does not link. */
    memcpy(foreign + offsetof(ObjectHeader, key), good + offsetof(ObjectHeader, key),
           sizeof(Hash128));
    check_damage(folder, path, &k, foreign, foreign_size);

    mem_free(foreign);
    mem_free(bad);
    mem_free(good);
    remove_folder(folder);
    remove_folder(other_folder);
    ir_kernel_free(&k);
    ir_kernel_free(&other);
}

/* Files that pass all checks but are no object, or call functions that kernels may not call. */
static void test_objects_that_do_not_link_are_replaced(void **state)
{
    (void)state;
    char folder[PATH_BYTES], path[PATH_BYTES];
    make_folder(folder);
    IrKernel k;
    build_scale(&k, 2.0f);
    (void)start_anew(folder, &k);
    cached_file(folder, path);
    Error err = {0};
    char *good;
    size_t size;
    assert_int_equal(file_read(path, OBJECT_CACHE_MAX_BYTES, &good, &size, &err), STATUS_OK);
    Hash128 key;
    memcpy(&key, good + offsetof(ObjectHeader, key), sizeof key);

    LLVMMemoryBufferRef junk =
        LLVMCreateMemoryBufferWithMemoryRangeCopy("this is no object file", 22, "junk");
    assert_int_equal(object_cache_store(folder, key, junk, &err), STATUS_OK);
    LLVMDisposeMemoryBuffer(junk);
    assert_int_equal(start_anew(folder, &k).compiled, 1);

    /* rt_sin becomes system, in the object's table of names. */
    size_t object_bytes = size - sizeof(ObjectHeader);
    char *object = good + sizeof(ObjectHeader);
    bool is_changed = false;
    for (size_t i = 0; i + 7 <= object_bytes; ++i)
        if (memcmp(object + i, "rt_sin", 6) == 0) { /* rt_sin, rt_sin_16 ... */
            memcpy(object + i, "system", 7);
            is_changed = true;
        }
    assert_true(is_changed);
    LLVMMemoryBufferRef hostile =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(object, object_bytes, "hostile");
    assert_int_equal(object_cache_store(folder, key, hostile, &err), STATUS_OK);
    LLVMDisposeMemoryBuffer(hostile);
    assert_int_equal(start_anew(folder, &k).compiled, 1);
    assert_int_equal(start_anew(folder, &k).loaded_from_disk, 1);
    mem_free(good);
    remove_folder(folder);
    ir_kernel_free(&k);
}

static void test_folder_that_cannot_be_written_only_costs_time(void **state)
{
    (void)state;
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    make_folder(folder);
    IrKernel k;
    build_scale(&k, 2.0f);
    (void)start_anew(folder, &k);
    cached_file(folder, path);
    /* A folder stands where the file should: reading and replacing it both fail, even for root. */
    assert_int_equal(file_remove(path, &err), STATUS_OK);
    assert_int_equal(file_make_directories(path, &err), STATUS_OK);
    assert_int_equal(start_anew(folder, &k).compiled, 1);
    assert_int_equal(start_anew(folder, &k).compiled, 1);
    remove_folder(folder);
    ir_kernel_free(&k);
}

typedef struct Writers {
    const char *folder;
    _Atomic uint32_t failures;
} Writers;

/* Processes that start at the same time: each with a JIT of its own on one folder. */
static void write_thread(void *data, uint32_t index)
{
    Writers *writers = data;
    for (uint32_t round = 0; round < 6; ++round) {
        IrKernel k;
        build_scale(&k, (float)((index + round) % 2 + 1));
        Jit *jit;
        IrBatch batch;
        ir_batch_init(&batch, &k, 1);
        JitKernel *kernel;
        SslBuildTimes times = {0};
        if (jit_create(NULL, writers->folder, &jit, NULL) != STATUS_OK) {
            ++writers->failures;
        } else {
            if (jit_acquire(jit, k.module, &batch.layout, (JitOptions){0}, &kernel, &times, NULL) ==
                STATUS_OK)
                jit_kernel_entry(kernel)(&batch.batch);
            else
                ++writers->failures;
            jit_release(jit, kernel);
            jit_destroy(jit);
        }
        ir_batch_free(&batch);
        ir_kernel_free(&k);
    }
}

static void test_many_writers_on_one_folder(void **state)
{
    (void)state;
    char folder[PATH_BYTES];
    make_folder(folder);
    Writers writers = {.folder = folder};
    parallel_for(4, 4, write_thread, &writers);
    assert_int_equal(writers.failures, 0);
    Arena *arena = arena_create(0, 0);
    Error err = {0};
    const char *const *names;
    uint32_t count;
    assert_int_equal(file_list_directory(folder, arena, &names, &count, &err), STATUS_OK);
    assert_int_equal(count, 2); /* no temporary file is left */
    arena_destroy(arena);
    remove_folder(folder);
}

/* --- memory and refusals ------------------------------------------------------------------------ */

static void test_no_page_is_writable_and_executable(void **state)
{
    (void)state;
    Jit *jit = create_jit(NULL);
    IrKernel k;
    build_scale(&k, 2.0f);
    KernelLayout layout;
    kernel_layout_compute(k.module, NULL, k.arena, &layout);
    SslBuildTimes times;
    JitKernel *kernel = acquire(jit, &k, &layout, &times);
    uintptr_t entry = (uintptr_t)jit_kernel_entry(kernel);
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    char line[512];
    bool is_found = false;
    while (fgets(line, sizeof line, maps)) {
        char *rest;
        uintptr_t first = strtoull(line, &rest, 16), last = strtoull(rest + 1, &rest, 16);
        bool is_writable = rest[2] == 'w', is_executable = rest[3] == 'x';
        assert_false(is_writable && is_executable);
        if (entry >= first && entry < last) {
            assert_true(is_executable);
            is_found = true;
        }
    }
    (void)fclose(maps);
    assert_true(is_found);
    jit_release(jit, kernel);
    jit_destroy(jit);
    ir_kernel_free(&k);
}

static void test_cpu_names(void **state)
{
    (void)state;
    Jit *jit;
    Error err = {0};
    assert_int_equal(jit_create("x86-46", NULL, &jit, &err), STATUS_INVALID);
    assert_null(jit);
    assert_non_null(strstr(err.text, "unknown CPU 'x86-46'; give one of "));
    assert_int_equal(jit_create("native", NULL, &jit, &err), STATUS_OK);
    jit_destroy(jit);
#if defined(__x86_64__)
    IrKernel k;
    build_scale(&k, 2.0f);
    assert_int_equal(jit_create("x86-64", NULL, &jit, &err), STATUS_OK);
    ir_kernel_check(jit, &k, 3);
    KernelLayout layout;
    StrBuf text = {0};
    kernel_layout_compute(k.module, NULL, k.arena, &layout);
    assert_int_equal(jit_dump(jit, k.module, &layout, (JitOptions){0}, SSL_DUMP_ASM, &text, &err),
                     STATUS_OK);
    assert_non_null(strstr(strbuf_text(&text), "rt_sin"));
    assert_null(strstr(strbuf_text(&text), "ymm")); /* the baseline has no AVX */
    strbuf_free(&text);
    jit_destroy(jit);
    ir_kernel_free(&k);
#endif
}

static void test_dumps(void **state)
{
    (void)state;
    Jit *jit = create_jit(NULL);
    IrKernel k;
    build_scale(&k, 2.0f);
    KernelLayout layout;
    Error err = {0};
    kernel_layout_compute(k.module, NULL, k.arena, &layout);
    StrBuf plain = {0}, optimised = {0};
    assert_int_equal(
        jit_dump(jit, k.module, &layout, (JitOptions){.lanes = 1}, SSL_DUMP_LLVM, &plain, &err),
        STATUS_OK);
    assert_int_equal(jit_dump(jit, k.module, &layout, (JitOptions){.lanes = 1},
                              SSL_DUMP_LLVM_OPTIMISED, &optimised, &err),
                     STATUS_OK);
    assert_non_null(strstr(strbuf_text(&plain), "alloca"));
    assert_null(strstr(strbuf_text(&optimised), "alloca"));
    /* No licence to change results. */
    assert_null(strstr(strbuf_text(&optimised), "fast"));
    assert_null(strstr(strbuf_text(&optimised), "contract"));
    assert_null(strstr(strbuf_text(&optimised), "llvm.fma"));
    strbuf_free(&plain);
    strbuf_free(&optimised);
    jit_destroy(jit);
    ir_kernel_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_ir_shares_one_kernel),
        cmocka_unit_test(test_threads_build_and_drop_the_same_kernels),
        cmocka_unit_test(test_one_kernel_wanted_by_all_is_compiled_once),
        cmocka_unit_test(test_second_start_compiles_nothing),
        cmocka_unit_test(test_damaged_objects_are_replaced),
        cmocka_unit_test(test_objects_that_do_not_link_are_replaced),
        cmocka_unit_test(test_folder_that_cannot_be_written_only_costs_time),
        cmocka_unit_test(test_many_writers_on_one_folder),
        cmocka_unit_test(test_no_page_is_writable_and_executable),
        cmocka_unit_test(test_cpu_names),
        cmocka_unit_test(test_dumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
