/* Exact sums at many places: the same bits for any order, division and budget, and memory that stays below the budget. */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/temp_folder.h"
#include "ssl/ssl_texel_sum.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

enum { PLACES = 100003, ADDITIONS = 40000, WIDTH = 3, SMALL_BUDGET = 64 * 1024 };

static SslTexelSum *new_sum(uint64_t budget, const char *folder)
{
    const SslTexelSumDesc desc = {
        .size_bytes = sizeof desc, .place_count = PLACES, .budget_bytes = budget, .folder = folder};
    SslTexelSum *sum;
    Error err = {0};
    if (ssl_texel_sum_create(&desc, &sum, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return sum;
}

static double unit(uint64_t key)
{
    return (double)(hash_mix64(key) >> 11) * 0x1p-53;
}

/* Addition number i: some numbers at a place, of sizes far apart. */
static uint64_t addition(uint32_t i, float out[WIDTH])
{
    for (uint32_t k = 0; k < WIDTH; ++k)
        out[k] = (float)((unit(i * 7 + k) - 0.5) * exp2(30 * unit(i * 7 + 5) - 20));
    return (uint64_t)(unit(i * 7 + 6) * (PLACES - WIDTH));
}

static void add(SslTexelSum *sum, uint32_t i)
{
    float numbers[WIDTH];
    Error err = {0};
    uint64_t place = addition(i, numbers);
    if (ssl_texel_sum_add(sum, place, numbers, WIDTH, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static double *read_all(SslTexelSum *sum)
{
    double *out = malloc(PLACES * sizeof *out);
    Error err = {0};
    assert_non_null(out);
    assert_int_equal(ssl_texel_sum_read(sum, 0, PLACES, out, &err), STATUS_OK);
    return out;
}

static void test_same_bits(void **state)
{
    (void)state;
    TempFolder folder;
    Error err = {0};
    assert_int_equal(temp_folder_create("test", &folder, &err), STATUS_OK);
    SslTexelSum *whole = new_sum(0, NULL);
    for (uint32_t i = 0; i < ADDITIONS; ++i)
        add(whole, i);
    double *expected = read_all(whole), sum = 0, direct = 0;
    assert_int_equal(ssl_texel_sum_stats(whole).writes, 0);
    for (uint32_t i = 0; i < ADDITIONS; ++i) {
        float numbers[WIDTH];
        (void)addition(i, numbers);
        for (uint32_t k = 0; k < WIDTH; ++k)
            direct += (double)numbers[k];
    }
    for (uint32_t i = 0; i < PLACES; ++i)
        sum += expected[i];
    assert_true(fabs(sum - direct) < 1e-6);

    /* In three parts, the last one first, from the last addition on, each with a budget of a few pages. */
    SslTexelSum *parts[3];
    for (uint32_t part = 0; part < 3; ++part) {
        parts[part] = new_sum(SMALL_BUDGET, folder.path);
        for (uint32_t i = ADDITIONS; i-- > 0;)
            if (i % 3 == part) {
                add(parts[part], i);
                SslTexelSumStats stats = ssl_texel_sum_stats(parts[part]);
                assert_true(stats.bytes <= SMALL_BUDGET);
            }
    }
    for (uint32_t part = 1; part < 3; ++part)
        assert_int_equal(ssl_texel_sum_merge(parts[0], parts[part], &err), STATUS_OK);
    SslTexelSumStats stats = ssl_texel_sum_stats(parts[0]);
    assert_true(stats.writes > 100 && stats.reads > 100 && stats.pages > 100);
    assert_true(stats.bytes <= SMALL_BUDGET);
    double *found = read_all(parts[0]);
    assert_memory_equal(found, expected, PLACES * sizeof *found);

    /* A sum that is used again. */
    ssl_texel_sum_clear(parts[0]);
    free(found);
    found = read_all(parts[0]);
    for (uint32_t i = 0; i < PLACES; ++i)
        assert_true(found[i] == 0);
    for (uint32_t i = 0; i < ADDITIONS; ++i)
        add(parts[0], i);
    free(found);
    found = read_all(parts[0]);
    assert_memory_equal(found, expected, PLACES * sizeof *found);
    free(found);
    free(expected);
    ssl_texel_sum_destroy(whole);
    for (uint32_t part = 0; part < 3; ++part)
        ssl_texel_sum_destroy(parts[part]);
    assert_int_equal(temp_folder_remove(&folder, &err), STATUS_OK);
}

static void expect(Status found, const Error *err, Status status, const char *text)
{
    assert_int_equal(found, status);
    if (!strstr(err->text, text))
        fail_msg("'%s' is not in '%s'", text, err->text);
}

static void test_refusals(void **state)
{
    (void)state;
    const float numbers[] = {1, 2}, bad[] = {1, NAN}, large[] = {0x1p24f, 1};
    Error err = {0};
    SslTexelSum *sum;
    SslTexelSumDesc desc = {.size_bytes = sizeof desc, .place_count = PLACES, .budget_bytes = 1000};
    expect(ssl_texel_sum_create(&desc, &sum, &err), &err, STATUS_LIMIT, "need a budget of");
    assert_null(sum);
    desc.place_count = 0;
    expect(ssl_texel_sum_create(&desc, &sum, &err), &err, STATUS_INVALID, "1 to 2^40");

    /* Without a folder, the budget is where it ends; what is there stays. */
    sum = new_sum(SMALL_BUDGET, NULL);
    uint32_t added = 0;
    while (ssl_texel_sum_add(sum, (uint64_t)added * 512, numbers, 2, &err) == STATUS_OK)
        ++added;
    expect(err.code, &err, STATUS_LIMIT, "exceed their budget of 65536 bytes");
    assert_in_range(added, 2, 8);
    double value[2];
    assert_int_equal(ssl_texel_sum_read(sum, 512, 2, value, &err), STATUS_OK);
    assert_true(value[0] == 1 && value[1] == 2);
    err = (Error){0};
    expect(ssl_texel_sum_add(sum, 512, bad, 2, &err), &err, STATUS_INVALID,
           "a part of the gradient at place 513 is nan, which cannot be summed");
    expect(ssl_texel_sum_add(sum, 512, large, 2, &err), &err, STATUS_INVALID, "scale the adjoints");
    assert_int_equal(ssl_texel_sum_read(sum, 512, 2, value, &err), STATUS_OK);
    assert_true(value[0] == 1 && value[1] == 2);
    ssl_texel_sum_destroy(sum);

    sum = new_sum(SMALL_BUDGET, "/nowhere/at/all");
    err = (Error){0};
    for (uint32_t i = 0; i < 20 && err.code == STATUS_OK; ++i)
        (void)!ssl_texel_sum_add(sum, (uint64_t)i * 512, numbers, 2, &err);
    expect(err.code, &err, STATUS_IO, "no file for sums");
    ssl_texel_sum_destroy(sum);
}

/* The budgets that are named are the least that do, to the byte, with a file and without one. */
static void test_budgets(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 512, 513, 1024, 1025, PLACES};
    const float one = 1;
    for (size_t i = 0; i < SORT_COUNT_OF(counts); ++i)
        for (uint32_t lacks = 0; lacks < 2; ++lacks)
            for (uint32_t has_file = 0; has_file < 2; ++has_file) {
                uint64_t least = ssl_texel_sum_least(counts[i]),
                         most = ssl_texel_sum_most(counts[i]);
                const SslTexelSumDesc desc = {.size_bytes = sizeof desc,
                                              .place_count = counts[i],
                                              .budget_bytes = (has_file ? least : most) - lacks,
                                              .folder = has_file ? "/tmp" : NULL};
                Error err = {0};
                SslTexelSum *sum;
                Status status = ssl_texel_sum_create(&desc, &sum, &err);
                for (uint64_t place = 0; place < counts[i] && status == STATUS_OK; place += 512)
                    status = ssl_texel_sum_add(sum, place, &one, 1, &err);
                assert_int_equal(status, lacks ? STATUS_LIMIT : STATUS_OK);
                ssl_texel_sum_destroy(sum);
            }
}

/* Out of memory at every allocation. */
static void test_no_memory(void **state)
{
    (void)state;
    const float numbers[] = {1, 2};
    for (uint64_t n = 1; n < 20; ++n) {
        const SslTexelSumDesc desc = {.size_bytes = sizeof desc,
                                      .place_count = PLACES,
                                      .budget_bytes = SMALL_BUDGET,
                                      .folder = "/tmp"};
        Error err = {0};
        SslTexelSum *sum;
        mem_fail_nth(n);
        Status status = ssl_texel_sum_create(&desc, &sum, &err);
        for (uint32_t i = 0; i < 12 && status == STATUS_OK; ++i)
            status = ssl_texel_sum_add(sum, (uint64_t)i * 512, numbers, 2, &err);
        mem_fail_nth(0);
        assert_true(status == STATUS_OK || status == STATUS_NO_MEMORY);
        ssl_texel_sum_destroy(sum);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
