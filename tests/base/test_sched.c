/* The scheduler: fibers that wait for events from other threads, growth, failures. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/sched.h"
#include "base/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Threads that fire waiters a little later: the part that storage plays in a render. */
enum { TIMERS = 3, PENDING_MAX = 4096 };

typedef struct Timers {
    Mutex mutex;
    Cond changed;
    struct {
        Waiter *waiter;
        uint64_t due_ns;
    } pending[PENDING_MAX];
    uint32_t count;
    bool is_closed;
    Thread *threads[TIMERS];
} Timers;

static void timers_run(void *data)
{
    Timers *t = data;
    mutex_lock(&t->mutex);
    while (t->count > 0 || !t->is_closed) {
        uint64_t now_ns = clock_now_ns();
        Waiter *due = NULL;
        for (uint32_t i = 0; i < t->count && !due; ++i)
            if (t->pending[i].due_ns <= now_ns) {
                due = t->pending[i].waiter;
                t->pending[i] = t->pending[--t->count];
            }
        if (due) {
            mutex_unlock(&t->mutex);
            waiter_fire(due);
            mutex_lock(&t->mutex);
        } else {
            (void)cond_wait_for(&t->changed, &t->mutex, 1);
        }
    }
    mutex_unlock(&t->mutex);
}

static void timers_open(Timers *t)
{
    memset(t, 0, sizeof *t);
    mutex_init(&t->mutex);
    cond_init(&t->changed);
    for (int i = 0; i < TIMERS; ++i)
        assert_int_equal(thread_create("timer", 0, timers_run, t, &t->threads[i], NULL), STATUS_OK);
}

static void timers_add(Timers *t, Waiter *w, uint64_t delay_ns)
{
    mutex_lock(&t->mutex);
    CHECK(t->count < PENDING_MAX);
    t->pending[t->count].waiter = w;
    t->pending[t->count].due_ns = clock_now_ns() + delay_ns;
    ++t->count;
    cond_signal(&t->changed);
    mutex_unlock(&t->mutex);
}

static void timers_close(Timers *t)
{
    mutex_lock(&t->mutex);
    t->is_closed = true;
    cond_broadcast(&t->changed);
    mutex_unlock(&t->mutex);
    for (int i = 0; i < TIMERS; ++i)
        thread_join(t->threads[i]);
    mutex_destroy(&t->mutex);
    cond_destroy(&t->changed);
}

/* A job is to visit each number once; some of the visits wait. */
enum { NUMBERS = 4000 };

typedef struct Job {
    Timers *timers;
    _Atomic uint32_t next;
    _Atomic uint32_t seen[NUMBERS];
    _Atomic int32_t worker_states, fiber_states;
    uint32_t number_count;
    uint32_t fail_worker;   /* its begin fails; UINT32_MAX: none */
    uint32_t fibers_before; /* fiber begins that succeed in all */
    _Atomic uint32_t fiber_begins;
    uint64_t delay_ns;      /* 0: nobody waits */
    uint32_t fibers_wanted; /* 0: as many as there may be */
} Job;

typedef struct FiberState {
    Job *job;
    Waiter *waiter;
    uint32_t *worker; /* the worker's state */
    uint32_t step_count;
} FiberState;

static void *worker_begin(void *data, uint32_t worker)
{
    Job *job = data;
    if (worker == job->fail_worker)
        return NULL;
    uint32_t *state = MEM_NEW(uint32_t);
    CHECK(state);
    *state = worker;
    atomic_fetch_add(&job->worker_states, 1);
    return state;
}

static void worker_end(void *data, void *worker_state)
{
    Job *job = data;
    atomic_fetch_sub(&job->worker_states, 1);
    mem_free(worker_state);
}

static void *fiber_begin(void *data, void *worker_state, Waiter *w)
{
    Job *job = data;
    if (atomic_fetch_add(&job->fiber_begins, 1) >= job->fibers_before)
        return NULL;
    FiberState *f = MEM_NEW(FiberState);
    CHECK(f);
    *f = (FiberState){.job = job, .waiter = w, .worker = worker_state};
    atomic_fetch_add(&job->fiber_states, 1);
    return f;
}

static void fiber_end(void *data, void *fiber_state)
{
    Job *job = data;
    atomic_fetch_sub(&job->fiber_states, 1);
    mem_free(fiber_state);
}

static void wait_some(FiberState *f, uint32_t number)
{
    Job *job = f->job;
    uint32_t events = number % 3; /* 0: nothing to wait for */
    uint64_t local[16], seed = hash_mix64(number);
    for (uint32_t i = 0; i < 16; ++i)
        local[i] = seed + i;
    waiter_arm(f->waiter, events + 1);
    for (uint32_t i = 0; i < events; ++i)
        timers_add(job->timers, f->waiter, (seed >> (i * 8) & 255) * job->delay_ns / 128);
    waiter_fire(f->waiter); /* the owner's own, before the wait */
    waiter_wait(f->waiter);
    for (uint32_t i = 0; i < 16; ++i)
        CHECK(local[i] == seed + i);
}

static bool fiber_step(void *data, void *fiber_state)
{
    Job *job = data;
    FiberState *f = fiber_state;
    uint32_t number = atomic_fetch_add(&job->next, 1);
    if (number >= job->number_count)
        return false;
    ++f->step_count;
    if (job->delay_ns) {
        wait_some(f, number);
        wait_some(f, number + 1);
    }
    atomic_fetch_add(&job->seen[number], 1);
    return true;
}

static Job *job_create(uint32_t number_count, uint64_t delay_ns, Timers *timers)
{
    Job *job = MEM_NEW(Job);
    assert_non_null(job);
    job->number_count = number_count;
    job->delay_ns = delay_ns;
    job->timers = timers;
    job->fail_worker = UINT32_MAX;
    job->fibers_before = UINT32_MAX;
    return job;
}

static uint32_t fibers_wanted(void *data)
{
    const Job *job = data;
    return job->fibers_wanted;
}

static Status job_run(Job *job, uint32_t workers, uint32_t fibers_min, uint32_t fibers_max,
                      SchedStats *out_stats)
{
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = workers,
                      .fibers_min = fibers_min,
                      .fibers_max = fibers_max,
                      .stack_bytes = 64 * 1024,
                      .data = job,
                      .worker_begin = worker_begin,
                      .fiber_begin = fiber_begin,
                      .fiber_step = fiber_step,
                      .fiber_end = fiber_end,
                      .worker_end = worker_end,
                      .fibers_wanted = job->fibers_wanted ? fibers_wanted : NULL};
    Sched *sched;
    Error err = {0};
    assert_int_equal(sched_create(&desc, &sched, &err), STATUS_OK);
    Status status = sched_run(sched, &err);
    assert_int_equal(status, err.code);
    sched_stats(sched, out_stats);
    sched_destroy(sched);
    assert_int_equal(atomic_load(&job->worker_states), 0);
    assert_int_equal(atomic_load(&job->fiber_states), 0);
    return status;
}

static void check_all_seen(Job *job)
{
    for (uint32_t i = 0; i < job->number_count; ++i)
        assert_int_equal(atomic_load(&job->seen[i]), 1);
}

static void test_sched_runs_each_step_once(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t workers = 1; workers <= 4; ++workers) {
        SchedStats stats;
        Job *job = job_create(NUMBERS, 0, NULL);
        assert_int_equal(job_run(job, workers, 0, 0, &stats), STATUS_OK);
        check_all_seen(job);
        assert_int_equal(stats.steps, NUMBERS);
        assert_int_equal(stats.parks, 0);
        assert_int_equal(stats.workers, workers);
        /* Without waits the first fiber does it all; each fiber is entered once. */
        assert_int_equal(stats.fibers_created, 2 * workers);
        assert_int_equal(stats.switches, 2 * workers);
        mem_free(job);
    }
}

static void test_sched_hides_waits_behind_64_fibers(void **state)
{
    SORT_UNUSED(state);
    Timers *timers = MEM_NEW(Timers);
    timers_open(timers);
    for (uint32_t workers = 1; workers <= 3; ++workers) {
        SchedStats stats;
        Job *job = job_create(2000, 1000000, timers);
        assert_int_equal(job_run(job, workers, 0, 64, &stats), STATUS_OK);
        check_all_seen(job);
        assert_int_equal(stats.steps, 2000);
        assert_true(stats.parks > 1000);
        assert_in_range(stats.fibers_created, 20 * workers, 64 * workers);
        assert_true(stats.fibers_peak_parked > 16);
#if SORT_ASSERTIONS
        assert_in_range(stats.stack_peak_bytes, 256, 64 * 1024);
#endif
        mem_free(job);
    }
    timers_close(timers);
    mem_free(timers);
}

/* However many there are, few are in the middle of a step. */
static void test_sched_keeps_steps_few_when_told(void **state)
{
    SORT_UNUSED(state);
    Timers *timers = MEM_NEW(Timers);
    timers_open(timers);
    for (uint32_t wanted = 1; wanted <= 5; wanted += 2) {
        SchedStats stats;
        Job *job = job_create(500, 100000, timers);
        job->fibers_wanted = wanted;
        assert_int_equal(job_run(job, 2, 1, 64, &stats), STATUS_OK);
        check_all_seen(job);
        assert_int_equal(stats.steps, 500);
        assert_in_range(stats.fibers_peak_parked, 1, 2 * wanted);
        mem_free(job);
    }
    timers_close(timers);
    mem_free(timers);
}

static void test_sched_under_rapid_fire(void **state)
{
    SORT_UNUSED(state);
    Timers *timers = MEM_NEW(Timers);
    timers_open(timers);
    for (uint32_t round = 0; round < 8; ++round) {
        SchedStats stats;
        Job *job = job_create(NUMBERS, 1, timers);
        assert_int_equal(job_run(job, 1 + round % 4, 1 + round % 3, 3 + round, &stats), STATUS_OK);
        check_all_seen(job);
        mem_free(job);
    }
    timers_close(timers);
    mem_free(timers);
}

static void test_sched_grows_only_as_memory_allows(void **state)
{
    SORT_UNUSED(state);
    Timers *timers = MEM_NEW(Timers);
    timers_open(timers);
    SchedStats stats;
    Job *job = job_create(300, 100000, timers);
    job->fibers_before = 5; /* the two that must be, and three more */
    assert_int_equal(job_run(job, 1, 2, 64, &stats), STATUS_OK);
    check_all_seen(job);
    assert_int_equal(stats.fibers_created, 5);
    mem_free(job);
    timers_close(timers);
    mem_free(timers);
}

static void test_sched_aborts_without_memory_to_begin(void **state)
{
    SORT_UNUSED(state);
    SchedStats stats;
    Job *job = job_create(NUMBERS, 0, NULL);
    job->fail_worker = 1;
    assert_int_equal(job_run(job, 3, 2, 4, &stats), STATUS_NO_MEMORY);
    mem_free(job);
    job = job_create(NUMBERS, 0, NULL);
    job->fibers_before = 1;
    assert_int_equal(job_run(job, 1, 2, 4, &stats), STATUS_NO_MEMORY);
    assert_int_equal(stats.steps, 0);
    mem_free(job);
}

/* One fiber waits inside its step; the others have steps without end until it is through. */
typedef struct Starve {
    Timers *timers;
    uint32_t begun;
    bool is_through;
    uint64_t deadline_ns;
} Starve;

static void *take_waiter(void *data, void *worker_state, Waiter *w)
{
    SORT_UNUSED(data);
    SORT_UNUSED(worker_state);
    return w;
}

static bool wait_first(void *data, void *fiber_state)
{
    Starve *s = data;
    if (s->begun++ == 0) {
        waiter_arm(fiber_state, 1);
        timers_add(s->timers, fiber_state, 1000000);
        waiter_wait(fiber_state);
        s->is_through = true;
    }
    return !s->is_through && clock_now_ns() < s->deadline_ns;
}

static void test_sched_prefers_woken_fibers(void **state)
{
    SORT_UNUSED(state);
    Timers *timers = MEM_NEW(Timers);
    timers_open(timers);
    Starve starve = {.timers = timers, .deadline_ns = clock_now_ns() + 20000000000u};
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = 1,
                      .data = &starve,
                      .fiber_begin = take_waiter,
                      .fiber_step = wait_first};
    Sched *sched;
    assert_int_equal(sched_create(&desc, &sched, NULL), STATUS_OK);
    assert_int_equal(sched_run(sched, NULL), STATUS_OK);
    assert_true(clock_now_ns() < starve.deadline_ns);
    assert_true(starve.begun > 2);
    sched_destroy(sched);
    timers_close(timers);
    mem_free(timers);
}

static bool count_to_ten(void *data, void *fiber_state)
{
    assert_null(fiber_state);
    return atomic_fetch_add((_Atomic uint32_t *)data, 1) < 10;
}

static void test_sched_needs_only_steps(void **state)
{
    SORT_UNUSED(state);
    _Atomic uint32_t count = 0;
    SchedDesc desc = {.size_bytes = sizeof desc, .data = &count, .fiber_step = count_to_ten};
    Sched *sched;
    SchedStats stats;
    Error err = {0};
    assert_int_equal(sched_create(&desc, &sched, &err), STATUS_OK);
    assert_int_equal(sched_run(sched, &err), STATUS_OK);
    sched_stats(sched, &stats);
    assert_int_equal(stats.steps, 10);
    sched_destroy(sched);
    sched_destroy(NULL);

    desc.fibers_min = 9;
    desc.fibers_max = 3;
    assert_int_equal(sched_create(&desc, &sched, &err), STATUS_INVALID);
    desc.fibers_min = 0;
    for (uint64_t n = 1; n <= 2; ++n) {
        mem_fail_nth(n);
        assert_int_equal(sched_create(&desc, &sched, &err), STATUS_NO_MEMORY);
        mem_fail_nth(0);
        assert_null(sched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sched_runs_each_step_once),
        cmocka_unit_test(test_sched_hides_waits_behind_64_fibers),
        cmocka_unit_test(test_sched_keeps_steps_few_when_told),
        cmocka_unit_test(test_sched_under_rapid_fire),
        cmocka_unit_test(test_sched_grows_only_as_memory_allows),
        cmocka_unit_test(test_sched_aborts_without_memory_to_begin),
        cmocka_unit_test(test_sched_prefers_woken_fibers),
        cmocka_unit_test(test_sched_needs_only_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
