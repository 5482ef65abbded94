/* Jobs in parts: every sample once, in parts that a wave takes, and squares that bundles of camera rays do not straddle. */
#include "sort/render/job_parts.h"
#include "sort/render/schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES_MAX = SCHEDULE_WIDE_PASS_SAMPLES };

typedef struct Taken {
    uint8_t times[SCHEDULE_TILE][SCHEDULE_TILE][SAMPLES_MAX];
    uint32_t parts;
} Taken;

/* Parts that lie in a row or column of bundles have no bundle in common with those beside them. */
static bool is_aligned(uint32_t begin, uint32_t end, const WaveJob *job, bool is_x)
{
    uint32_t first = is_x ? job->x : job->y, size = is_x ? job->width : job->height;
    return (begin == first || begin % WAVE_BUNDLE_SIDE == 0) &&
           (end == first + size || end % WAVE_BUNDLE_SIDE == 0);
}

static uint32_t check(WaveJob job, uint32_t capacity)
{
    static Taken t;
    JobParts parts;
    WaveJob part;
    memset(&t, 0, sizeof t);
    job_parts_begin(&parts, &job, capacity);
    while (job_parts_next(&parts, &part)) {
        assert_in_range(wave_job_samples(&part), 1, capacity);
        for (uint32_t y = part.y - job.y; y < part.y - job.y + part.height; ++y)
            for (uint32_t x = part.x - job.x; x < part.x - job.x + part.width; ++x)
                for (uint32_t k = part.sample; k < part.sample_end; ++k)
                    ++t.times[y][x][k - job.sample];
        if (capacity >= WAVE_BUNDLE_SIDE * WAVE_BUNDLE_SIDE) {
            assert_true(is_aligned(part.x, part.x + part.width, &job, true));
            assert_true(is_aligned(part.y, part.y + part.height, &job, false));
        }
        ++t.parts;
    }
    assert_false(job_parts_next(&parts, &part));
    for (uint32_t y = 0; y < SCHEDULE_TILE; ++y)
        for (uint32_t x = 0; x < SCHEDULE_TILE; ++x)
            for (uint32_t k = 0; k < SAMPLES_MAX; ++k)
                assert_int_equal(t.times[y][x][k], y < job.height && x < job.width &&
                                                       k < job.sample_end - job.sample);
    return t.parts;
}

static void test_job_parts_take_each_sample_once(void **state)
{
    (void)state;
    const uint32_t capacities[] = {1, 2, 3, 8, 16, 24, 100, 1024, 1040, 4096, 65536};
    for (uint32_t i = 0; i < sizeof capacities / sizeof capacities[0]; ++i) {
        check((WaveJob){0, 0, 32, 32, 0, 16}, capacities[i]);
        check((WaveJob){32, 64, 17, 3, 5, 9}, capacities[i]);
        check((WaveJob){13, 7, 32, 32, 0, 1}, capacities[i]);
        check((WaveJob){1000003, 999, 1, 1, 4000000000u, 4000000128u}, capacities[i]);
        check((WaveJob){30, 2, 5, 32, 7, 135}, capacities[i]);
    }
}

/* Waves are full wherever a job has enough samples. */
static void test_job_parts_fill_waves(void **state)
{
    (void)state;
    const WaveJob tile = {64, 96, SCHEDULE_TILE, SCHEDULE_TILE, 0, 1};
    for (uint32_t samples = 1; samples <= SAMPLES_MAX; samples *= 2) {
        WaveJob job = tile;
        job.sample_end = samples;
        assert_int_equal(check(job, 1024), samples);
    }
}

static void test_job_parts_of_nothing(void **state)
{
    (void)state;
    JobParts parts = {0};
    WaveJob part;
    assert_false(job_parts_next(&parts, &part));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_parts_take_each_sample_once),
        cmocka_unit_test(test_job_parts_fill_waves),
        cmocka_unit_test(test_job_parts_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
