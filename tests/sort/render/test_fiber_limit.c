/* The number of fibers follows what textures cost. A cache is played by a formula: of the bytes that are loaded in a
 * window, which share is loaded again depends on the number of fibers. */
#include "sort/render/fiber_limit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef double (*Share)(uint32_t fibers);

/* All that is touched fits. */
static double none(uint32_t fibers)
{
    (void)fibers;
    return 0.0;
}

/* Up to 6 fibers fit; more throw out each other's tiles. */
static double cliff(uint32_t fibers)
{
    return fibers > 6 ? 0.9 : 0.2;
}

/* Passes read everything again, whatever the fibers do. */
static double passes(uint32_t fibers)
{
    (void)fibers;
    return 0.7;
}

/* The more fibers the worse, down to two. */
static double slope(uint32_t fibers)
{
    return 1.0 - 1.0 / fibers;
}

typedef struct Play {
    double limit; /* the mean of the later half */
    double loads; /* of each byte that was wanted */
} Play;

/* 1,000 windows of loads. Fibers that are too many leave one at a time, one each `leave_after` looks; 0: at once. noise: by
 * how much the share of a look may differ from the formula's, as parts of the picture do. */
static Play play_slowly(Share share, uint32_t begin, uint32_t most, uint32_t leave_after,
                        double noise)
{
    const uint64_t room = 64 << 20, path_bytes = 256;
    FiberCost now = {0};
    uint32_t limit = begin, sum = 0, working = begin, looks = 0, random = 1;
    FiberLimit f;
    fiber_limit_init(&f, begin, most);
    for (uint32_t i = 0; i < 1000; ++i) {
        for (uint32_t k = 0; k < 10; ++k) { /* looked at more often than windows end */
            random = random * 1664525u + 1013904223u;
            double is = share(working) * (1.0 + noise * (random / 2147483648.0 - 1.0));
            double unique = (1.0 - (is < 0.99 ? is : 0.99)) * (double)(room / 40);
            bool may_leave = leave_after == 0 || ++looks % leave_after == 0;
            if (working < limit || leave_after == 0)
                working = limit;
            else if (working > limit && may_leave)
                --working;
            now.loaded += room / 40;
            now.unique += (uint64_t)unique;
            now.paths += (uint64_t)unique / path_bytes; /* each path wants as much */
            limit = fiber_limit_watch(&f, now, room);
            assert_in_range(limit, FIBER_LIMIT_LEAST, most);
        }
        sum += i >= 500 ? limit : 0;
    }
    return (Play){sum / 500.0, (double)now.loaded / (double)now.unique};
}

static double play(Share share, uint32_t begin, uint32_t most)
{
    return play_slowly(share, begin, most, 0, 0.0).limit;
}

/* A trial is judged when the fibers that it gives up have finished what they were at. */
static void test_fiber_limit_waits_until_fibers_have_left(void **state)
{
    (void)state;
    assert_true(play_slowly(cliff, 40, 64, 1, 0.0).limit < 7.0);
    assert_true(play_slowly(cliff, 12, 64, 3, 0.0).limit < 7.0);
    assert_true(play_slowly(slope, 40, 64, 1, 0.0).limit < 3.0);
    assert_true(play_slowly(passes, 14, 64, 1, 0.0).limit > 12.0);
}

static void test_fiber_limit_finds_what_fits(void **state)
{
    (void)state;
    assert_true(play(none, 4, 64) > 60.0);    /* more hide more */
    assert_true(play(cliff, 40, 64) < 7.0);   /* below the cliff, and stays there */
    assert_true(play(passes, 14, 64) > 12.0); /* fewer do not help: few trials */
    assert_true(play(slope, 64, 64) < 3.0);
    assert_true(play(cliff, 40, 4) <= 4.0);
    assert_true(play(none, 1, 64) > 60.0);
}

static uint32_t watch(FiberLimit *f, uint64_t loaded, uint64_t unique, uint64_t room)
{
    return fiber_limit_watch(
        f, (FiberCost){.loaded = loaded, .unique = unique, .paths = unique / 10}, room);
}

static void test_fiber_limit_waits_for_evidence(void **state)
{
    (void)state;
    FiberLimit f;
    fiber_limit_init(&f, 10, 64);
    assert_int_equal(watch(&f, 0, 0, 1000), 10);
    assert_int_equal(watch(&f, 900, 90, 1000), 10); /* there is room yet */
    /* A tenth of the room says nothing. */
    assert_int_equal(watch(&f, 1000, 100, 1000), 10);
    assert_int_equal(watch(&f, 1300, 130, 1000), FIBER_LIMIT_LEAST);
    assert_int_equal(watch(&f, 1300, 130, 0), FIBER_LIMIT_LEAST);
}

/* Where most loads are repeated anyway, shares hardly differ: 0.87 with the fewest, 0.94 with three. */
static double steep(uint32_t fibers)
{
    return fibers > 2 ? 0.94 : 0.87;
}

/* Nearly as few loads as with the best fixed number, whatever the number to begin with and however uneven the
 * picture. */
static void test_fiber_limit_loads_little_more_than_the_best(void **state)
{
    (void)state;
    static const Share shares[] = {none, cliff, passes, slope, steep};
    static const uint32_t begins[] = {2, 3, 7, 20, 64};
    static const double noises[] = {0.0, 0.05, 0.1};
    for (uint32_t i = 0; i < SORT_COUNT_OF(shares); ++i) {
        for (uint32_t k = 0; k < SORT_COUNT_OF(begins); ++k) {
            for (uint32_t n = 0; n < SORT_COUNT_OF(noises); ++n) {
                double found = play_slowly(shares[i], begins[k], 64, 1, noises[n]).loads;
                double best = 1.0 / (1.0 - shares[i](2));
                if (!(found < 1.15 * best))
                    fail_msg("formula %u from %u, noise %g: %g loads, %g at best", i, begins[k],
                             noises[n], found, best);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fiber_limit_loads_little_more_than_the_best),
        cmocka_unit_test(test_fiber_limit_finds_what_fits),
        cmocka_unit_test(test_fiber_limit_waits_for_evidence),
        cmocka_unit_test(test_fiber_limit_waits_until_fibers_have_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
