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

/* Returns the mean limit of the later half of 400 windows. Fibers that are too many leave one at a time, one each
 * `leave_after` looks; 0: at once. */
static double play_slowly(Share share, uint32_t begin, uint32_t most, uint32_t leave_after)
{
    const uint64_t room = 64 << 20;
    uint64_t loaded = 0, unique = 0;
    uint32_t limit = begin, sum = 0, working = begin, looks = 0;
    FiberLimit f;
    fiber_limit_init(&f, begin, most);
    for (uint32_t i = 0; i < 400; ++i) {
        for (uint32_t k = 0; k < 10; ++k) { /* looked at more often than windows end */
            loaded += room / 40;
            bool may_leave = leave_after == 0 || ++looks % leave_after == 0;
            if (working < limit || leave_after == 0)
                working = limit;
            else if (working > limit && may_leave)
                --working;
            unique += (uint64_t)((1.0 - share(working)) * (double)(room / 40));
            limit = fiber_limit_watch(&f, loaded, unique, room);
            assert_in_range(limit, FIBER_LIMIT_LEAST, most);
        }
        sum += i >= 200 ? limit : 0;
    }
    return sum / 200.0;
}

static double play(Share share, uint32_t begin, uint32_t most)
{
    return play_slowly(share, begin, most, 0);
}

/* A trial is judged when the fibers that it gives up have finished what they were at. */
static void test_fiber_limit_waits_until_fibers_have_left(void **state)
{
    (void)state;
    assert_true(play_slowly(cliff, 40, 64, 1) < 7.0);
    assert_true(play_slowly(cliff, 12, 64, 3) < 7.0);
    assert_true(play_slowly(slope, 40, 64, 1) < 3.0);
    assert_true(play_slowly(passes, 14, 64, 1) > 12.0);
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

static void test_fiber_limit_waits_for_evidence(void **state)
{
    (void)state;
    FiberLimit f;
    fiber_limit_init(&f, 10, 64);
    assert_int_equal(fiber_limit_watch(&f, 0, 0, 1000), 10);
    assert_int_equal(fiber_limit_watch(&f, 900, 90, 1000), 10); /* there is room yet */
    /* A tenth of the room says nothing. */
    assert_int_equal(fiber_limit_watch(&f, 1000, 100, 1000), 10);
    assert_int_equal(fiber_limit_watch(&f, 1300, 130, 1000), FIBER_LIMIT_LEAST);
    assert_int_equal(fiber_limit_watch(&f, 1300, 130, 0), FIBER_LIMIT_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fiber_limit_finds_what_fits),
        cmocka_unit_test(test_fiber_limit_waits_for_evidence),
        cmocka_unit_test(test_fiber_limit_waits_until_fibers_have_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
