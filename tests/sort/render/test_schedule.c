/* The order of jobs: every sample of every pixel once, whatever happens to the passes. */
#include "base/alloc.h"
#include "sort/render/schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 100, HEIGHT = 70, TILES = 4 * 3, SAMPLES_MAX = 400 };

typedef struct Taken {
    uint8_t samples[TILES][SAMPLES_MAX]; /* how often each was taken */
    uint64_t paths;
    uint32_t widest;
} Taken;

static void take(Schedule *s, Taken *t)
{
    WaveJob job;
    assert_true(schedule_take(s, &job));
    uint32_t end = job.sample_end;
    uint32_t tile = (job.y - 7) / SCHEDULE_TILE * 4 + (job.x - 5) / SCHEDULE_TILE;
    assert_true(tile < TILES && job.sample < end && end <= SAMPLES_MAX);
    for (uint32_t i = job.sample; i < end; ++i)
        ++t->samples[tile][i];
    t->paths += (uint64_t)job.width * job.height * (end - job.sample);
    if (end - job.sample > t->widest)
        t->widest = end - job.sample;
}

/* All jobs, widened before job `at`, and from job `resumed` on by a schedule that only knows what a checkpoint
 * does. */
static void check(uint32_t begin, uint32_t end, uint32_t pass_samples, uint64_t at,
                  uint64_t resumed)
{
    Schedule s, other;
    Taken *t = MEM_NEW(Taken);
    assert_non_null(t);
    schedule_init(&s, &(ScheduleDesc){5, 7, WIDTH, HEIGHT, begin, end, pass_samples});
    schedule_init(&other, &(ScheduleDesc){5, 7, WIDTH, HEIGHT, begin, end, SCHEDULE_PASS_SAMPLES});
    Schedule *now = &s;
    uint64_t k = 0;
    for (; k < schedule_job_count(now); ++k) {
        if (k == at)
            schedule_widen(now);
        if (k == resumed) {
            schedule_resume(&other, s.pass_samples, s.widened_at, s.wide_samples, k);
            now = &other;
        }
        assert_int_equal(schedule_path_count(now, k), t->paths);
        take(now, t);
    }
    WaveJob job;
    assert_false(schedule_take(now, &job));
    assert_int_equal(t->paths, (uint64_t)WIDTH * HEIGHT * (end - begin));
    assert_int_equal(schedule_path_count(now, k), t->paths);
    for (uint32_t tile = 0; tile < TILES; ++tile)
        for (uint32_t i = 0; i < SAMPLES_MAX; ++i)
            assert_int_equal(t->samples[tile][i], i >= begin && i < end);
    bool is_widened = now->widened_at != SCHEDULE_NEVER;
    assert_int_equal(t->widest > pass_samples, is_widened);
    schedule_destroy(&s);
    schedule_destroy(&other);
    mem_free(t);
}

static void test_schedule_takes_each_sample_once(void **state)
{
    (void)state;
    check(0, 64, SCHEDULE_PASS_SAMPLES, UINT64_MAX, UINT64_MAX);
    check(3, 61, SCHEDULE_PASS_SAMPLES, UINT64_MAX, 7);
    check(0, 5, SCHEDULE_PASS_SAMPLES, 0, UINT64_MAX); /* there is nothing to widen */
    for (uint64_t at = 0; at < 5 * TILES; ++at) {
        check(0, 64, SCHEDULE_PASS_SAMPLES, at, at + 3);
        check(10, 333, SCHEDULE_PASS_SAMPLES, at, at + 2 * TILES);
        check(1, 18, SCHEDULE_SHORT_PASS_SAMPLES, at, at + 1);
        check(0, 400, SCHEDULE_PASS_SAMPLES, at, at);
    }
}

/* A tile that has been rendered last comes first in what follows, or one beside it. */
static void test_schedule_turns_where_it_stands(void **state)
{
    (void)state;
    Schedule s;
    WaveJob job;
    schedule_init(&s, &(ScheduleDesc){0, 0, 10 * SCHEDULE_TILE, SCHEDULE_TILE, 0, 600,
                                      SCHEDULE_PASS_SAMPLES});
    schedule_widen(&s);
    uint32_t turns = 0, last = 0;
    for (uint32_t i = 0; schedule_take(&s, &job); ++i) {
        uint32_t x = job.x / SCHEDULE_TILE;
        if (i % 10 == 0 && i > 0) {
            assert_int_equal(x, last);
            ++turns;
        } else if (i > 0) {
            assert_int_equal(x > last ? x - last : last - x, 1);
        }
        last = x;
    }
    assert_int_equal(turns, (600 + 127) / 128 - 1);
    schedule_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_takes_each_sample_once),
        cmocka_unit_test(test_schedule_turns_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
