/* alloc, arena, array: zeroing, limits, failing allocations, marks, the jump on no memory. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/cast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#if SORT_ASAN
#    include <sanitizer/asan_interface.h>
#endif

static bool is_zero(const void *block, size_t bytes)
{
    const unsigned char *at = block;
    for (size_t i = 0; i < bytes; ++i)
        if (at[i])
            return false;
    return true;
}

static void test_alloc_zeroes_and_refuses_overflow(void **state)
{
    SORT_UNUSED(state);
    uint64_t *numbers = MEM_ARRAY(uint64_t, 1000);
    assert_non_null(numbers);
    assert_true(is_zero(numbers, 8000));
    mem_free(numbers);
    assert_null(mem_alloc(SIZE_MAX / 2, 3));
    assert_null(mem_realloc(NULL, SIZE_MAX, 2));
    void *empty = mem_alloc(0, 8);
    assert_non_null(empty);
    mem_free(empty);
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *block = mem_alloc_aligned(10, align);
        assert_int_equal((uintptr_t)block % align, 0);
        mem_free(block);
    }
}

static void test_alloc_fails_exactly_the_nth(void **state)
{
    SORT_UNUSED(state);
    mem_fail_nth(3);
    void *first = mem_alloc(1, 1), *second = mem_alloc(1, 1), *third = mem_alloc(1, 1),
         *fourth = mem_alloc(1, 1);
    assert_int_equal(mem_allocation_count(), 4);
    mem_fail_nth(1);
    void *kept = mem_realloc(fourth, 100, 1);
    mem_fail_nth(0);
    assert_true(first && second && !third && fourth && !kept);
    mem_free(first);
    mem_free(second);
    mem_free(fourth);
}

static void test_cast_checks_sizes(void **state)
{
    SORT_UNUSED(state);
    size_t out = 7;
    assert_true(size_mul(1 << 20, 1 << 20, &out));
    assert_int_equal(out, (size_t)1 << 40);
    assert_false(size_mul(SIZE_MAX / 2 + 1, 2, &out));
    assert_false(size_add(SIZE_MAX, 1, &out));
    assert_int_equal(out, (size_t)1 << 40);
    assert_int_equal(size_align(0, 64), 0);
    assert_int_equal(size_align(65, 64), 128);
}

static void test_arena_aligns_and_zeroes(void **state)
{
    SORT_UNUSED(state);
    Arena *a = arena_create(1024, 0);
    for (unsigned round = 0; round < 3; ++round) {
        for (size_t i = 0; i < 200; ++i) {
            size_t align = (size_t)1 << (i % 13);
            size_t bytes = i * 37 % 301;
            unsigned char *block = arena_alloc(a, bytes, align);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % align, 0);
            assert_true(is_zero(block, bytes));
            memset(block, 0xff, bytes);
        }
        arena_reset(a);
        assert_int_equal(arena_used_bytes(a), 0);
    }
    arena_destroy(a);
}

static void test_arena_blocks_do_not_overlap(void **state)
{
    SORT_UNUSED(state);
    enum { COUNT = 300 };
    Arena *a = arena_create(256, 0);
    unsigned char *blocks[COUNT];
    for (size_t i = 0; i < COUNT; ++i) {
        blocks[i] = arena_alloc(a, i + 1, 1);
        memset(blocks[i], (int)(i & 0xff), i + 1);
    }
    for (size_t i = 0; i < COUNT; ++i)
        for (size_t j = 0; j <= i; ++j)
            assert_int_equal(blocks[i][j], i & 0xff);
    arena_destroy(a);
}

static void test_arena_rewind_reuses_chunks(void **state)
{
    SORT_UNUSED(state);
    Arena *a = arena_create(1000, 0);
    uint32_t *kept = ARENA_ARRAY(a, uint32_t, 10);
    kept[9] = 42;
    ArenaMark mark = arena_mark(a);
    size_t used = arena_used_bytes(a);
    for (int i = 0; i < 10; ++i)
        assert_non_null(arena_alloc(a, 700, 8));
    size_t high = arena_high_water_bytes(a);
    mem_fail_nth(0);
    for (int round = 0; round < 5; ++round) {
        arena_rewind(a, mark);
        assert_int_equal(arena_used_bytes(a), used);
        for (int i = 0; i < 10; ++i)
            assert_true(is_zero(arena_alloc(a, 700, 8), 700));
    }
    assert_int_equal(mem_allocation_count(), 0); /* all from kept chunks */
    assert_int_equal(arena_high_water_bytes(a), high);
    assert_int_equal(kept[9], 42);
    arena_rewind(a, mark);
    void *large = arena_alloc(a, 5000, 8); /* larger than any kept chunk */
    assert_true(is_zero(large, 5000));
    assert_true(is_zero(arena_alloc(a, 700, 8), 700));
    arena_destroy(a);
}

static void test_arena_limit(void **state)
{
    SORT_UNUSED(state);
    Arena *a = arena_create(256, 1000);
    assert_non_null(arena_alloc(a, 900, 1));
    assert_null(arena_alloc(a, 200, 1));
    assert_non_null(arena_alloc(a, 50, 1));
    assert_null(arena_alloc_array(a, SIZE_MAX / 2, 4, 1));
    assert_null(arena_alloc(a, SIZE_MAX - 3, 8));
    arena_reset(a);
    assert_non_null(arena_alloc(a, 900, 1));
    arena_destroy(a);
}

static int allocate_until_jump(Arena *a, volatile int *count)
{
    jmp_buf jump;
    if (setjmp(jump))
        return 1;
    arena_on_no_memory(a, &jump);
    for (;; ++(*count)) {
        unsigned char *block = arena_alloc(a, 100, 8);
        block[0] = 1; /* never NULL */
    }
}

static void test_arena_jumps_when_memory_ends(void **state)
{
    SORT_UNUSED(state);
    volatile int count = 0;
    Arena *a = arena_create(512, 4000);
    assert_int_equal(allocate_until_jump(a, &count), 1);
    assert_in_range(count, 30, 40);
    arena_destroy(a);

    count = 0;
    a = arena_create(512, 0);
    mem_fail_nth(3);
    assert_int_equal(allocate_until_jump(a, &count), 1);
    mem_fail_nth(0);
    assert_in_range(count, 6, 10); /* two chunks */
    arena_destroy(a);

    mem_fail_nth(1);
    assert_null(arena_create(0, 0));
    mem_fail_nth(0);
}

static void test_arena_text(void **state)
{
    SORT_UNUSED(state);
    Arena *a = arena_create(64, 0);
    assert_string_equal(arena_printf(a, "%s-%d", "tile", 42), "tile-42");
    assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(a, NULL, 0), "");
    arena_destroy(a);
}

static void test_arena_poisons_free_memory(void **state)
{
    SORT_UNUSED(state);
#if SORT_ASAN
    Arena *a = arena_create(4096, 0);
    ArenaMark mark = arena_mark(a);
    char *block = arena_alloc(a, 40, 8);
    assert_null(__asan_region_is_poisoned(block, 40));
    assert_ptr_equal(__asan_region_is_poisoned(block, 41), block + 40);
    arena_rewind(a, mark);
    assert_ptr_equal(__asan_region_is_poisoned(block, 40), block);
    arena_destroy(a);
#else
    skip();
#endif
}

static void test_array_grows_and_keeps_values(void **state)
{
    SORT_UNUSED(state);
    Arena *a = arena_create(128, 0);
    ARRAY(uint32_t) numbers = {0};
    for (uint32_t i = 0; i < 5000; ++i)
        assert_true(array_push(a, &numbers, i * i));
    assert_int_equal(numbers.count, 5000);
    for (uint32_t i = 0; i < 5000; ++i)
        assert_int_equal(numbers.data[i], i * i);
    arena_destroy(a);

    a = arena_create(128, 300);
    ARRAY(uint64_t) few = {0};
    while (array_push(a, &few, 1u))
        assert_true(few.count < 100);
    assert_int_equal(few.count, 16); /* 64 + 128 bytes; 256 more are too many */
    assert_false(array_reserve(a, &few, UINT32_MAX));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc_zeroes_and_refuses_overflow),
        cmocka_unit_test(test_alloc_fails_exactly_the_nth),
        cmocka_unit_test(test_cast_checks_sizes),
        cmocka_unit_test(test_arena_aligns_and_zeroes),
        cmocka_unit_test(test_arena_blocks_do_not_overlap),
        cmocka_unit_test(test_arena_rewind_reuses_chunks),
        cmocka_unit_test(test_arena_limit),
        cmocka_unit_test(test_arena_jumps_when_memory_ends),
        cmocka_unit_test(test_arena_text),
        cmocka_unit_test(test_arena_poisons_free_memory),
        cmocka_unit_test(test_array_grows_and_keeps_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
