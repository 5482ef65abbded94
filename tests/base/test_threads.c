/* thread, waiter, fiber: under load, and with the sanitizer presets. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fiber.h"
#include "base/hash.h"
#include "base/thread.h"
#include "base/waiter.h"

#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* --- threads --- */

typedef struct Counter {
    Mutex mutex;
    uint64_t value;
} Counter;

static void count_up(void *data)
{
    Counter *counter = data;
    for (int i = 0; i < 10000; ++i) {
        mutex_lock(&counter->mutex);
        ++counter->value;
        mutex_unlock(&counter->mutex);
    }
}

static void test_thread_mutex_excludes(void **state)
{
    SORT_UNUSED(state);
    Counter counter = {MUTEX_INIT, 0};
    Thread *threads[4];
    for (int i = 0; i < 4; ++i)
        assert_int_equal(thread_create("a name of more than 15", 64 * 1024, count_up, &counter,
                                       &threads[i], NULL),
                         STATUS_OK);
    for (int i = 0; i < 4; ++i)
        thread_join(threads[i]);
    assert_int_equal(counter.value, 40000);
    mutex_destroy(&counter.mutex);
    assert_in_range(thread_cpu_count(), 1, 4096);
    mem_fail_nth(1);
    assert_int_equal(thread_create("x", 0, count_up, &counter, &threads[0], NULL),
                     STATUS_NO_MEMORY);
    mem_fail_nth(0);
}

static void test_cond_wait_for_times_out(void **state)
{
    SORT_UNUSED(state);
    Mutex mutex = MUTEX_INIT;
    Cond made = COND_INIT, initialised;
    cond_init(&initialised);
    mutex_lock(&mutex);
    uint64_t start_ns = clock_now_ns();
    assert_false(cond_wait_for(&made, &mutex, 20));
    assert_false(cond_wait_for(&initialised, &mutex, 20));
    assert_in_range(clock_now_ns() - start_ns, 40000000, 5000000000);
    mutex_unlock(&mutex);
    cond_destroy(&initialised);
    cond_destroy(&made);
    mutex_destroy(&mutex);
}

enum { LOOP_COUNT = 5000 };

static void visit(void *data, uint32_t index)
{
    _Atomic uint32_t *seen = data;
    atomic_fetch_add(&seen[index], 1);
}

static void test_parallel_for_visits_each_once(void **state)
{
    SORT_UNUSED(state);
    static _Atomic uint32_t seen[LOOP_COUNT];
    for (uint32_t threads = 0; threads < 9; ++threads) {
        parallel_for(threads, LOOP_COUNT, visit, seen);
        for (uint32_t i = 0; i < LOOP_COUNT; ++i)
            assert_int_equal(atomic_load(&seen[i]), threads + 1);
    }
    parallel_for(4, 0, visit, NULL);
    mem_fail_nth(2); /* with as many threads as there are */
    parallel_for(8, LOOP_COUNT, visit, seen);
    mem_fail_nth(0);
    for (uint32_t i = 0; i < LOOP_COUNT; ++i)
        assert_int_equal(atomic_load(&seen[i]), 10);
}

/* --- waiters --- */

/* A ring of waiters to fire, from which two threads fire as fast as they can. */
enum { ROUNDS = 20000, FIRERS = 2, RING = 64 };

typedef struct Ring {
    Mutex mutex;
    Cond not_empty;
    Waiter *slots[RING];
    uint32_t begin, end;
    bool is_closed;
} Ring;

static void ring_push(Ring *r, Waiter *w)
{
    mutex_lock(&r->mutex);
    r->slots[r->end++ % RING] = w;
    cond_signal(&r->not_empty);
    mutex_unlock(&r->mutex);
}

static void fire_all(void *data)
{
    Ring *r = data;
    for (;;) {
        mutex_lock(&r->mutex);
        while (r->begin == r->end && !r->is_closed)
            cond_wait(&r->not_empty, &r->mutex);
        Waiter *w = r->begin != r->end ? r->slots[r->begin++ % RING] : NULL;
        mutex_unlock(&r->mutex);
        if (!w)
            return;
        waiter_fire(w);
    }
}

static void test_waiter_loses_no_wake_up(void **state)
{
    SORT_UNUSED(state);
    Ring ring = {.mutex = MUTEX_INIT, .not_empty = COND_INIT};
    Thread *threads[FIRERS];
    for (int i = 0; i < FIRERS; ++i)
        assert_int_equal(thread_create("fire", 0, fire_all, &ring, &threads[i], NULL), STATUS_OK);
    Waiter *w = NULL;
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        if (round % 16 == 0) { /* made and destroyed often: nothing may touch it after a wait */
            if (w)
                waiter_destroy_for_thread(w);
            assert_int_equal(waiter_create_for_thread(&w, NULL), STATUS_OK);
        }
        uint32_t events = 1 + round % 5, early = round % 3 == 0;
        waiter_arm(w, events);
        waiter_arm(w, early);
        for (uint32_t i = 0; i < events; ++i)
            ring_push(&ring, w);
        if (early)
            waiter_fire(w); /* by the owner itself */
        waiter_wait(w);
        assert_int_equal(atomic_load(&w->outstanding), 1);
    }
    waiter_wait(w); /* nothing armed */
    waiter_destroy_for_thread(w);
    mutex_lock(&ring.mutex);
    ring.is_closed = true;
    cond_broadcast(&ring.not_empty);
    mutex_unlock(&ring.mutex);
    for (int i = 0; i < FIRERS; ++i)
        thread_join(threads[i]);
}

/* --- fibers --- */

typedef struct Steps {
    Fiber *fiber;
    uint64_t sum;
    uint32_t id;
} Steps;

static uint64_t add_deeply(Steps *s, uint32_t depth)
{
    volatile uint64_t local[8];
    for (uint32_t i = 0; i < 8; ++i)
        local[i] = hash_mix64(s->id * 1000 + depth * 8 + i);
    if (depth > 0)
        s->sum += add_deeply(s, depth - 1);
    fiber_suspend(s->fiber);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 8; ++i) {
        assert_true(local[i] == hash_mix64(s->id * 1000 + depth * 8 + i));
        sum += local[i];
    }
    return sum;
}

static void run_steps(void *data)
{
    Steps *s = data;
    s->sum += add_deeply(s, 30);
}

static void test_fiber_keeps_its_stack(void **state)
{
    SORT_UNUSED(state);
    enum { COUNT = 40 };
    Steps steps[COUNT] = {0};
    for (uint32_t i = 0; i < COUNT; ++i) {
        steps[i].id = i;
        assert_int_equal(fiber_create(run_steps, &steps[i], 64 * 1024, &steps[i].fiber, NULL),
                         STATUS_OK);
    }
    for (uint32_t round = 0; round <= 31; ++round)
        for (uint32_t i = 0; i < COUNT; ++i) {
            assert_false(fiber_is_done(steps[i].fiber));
            fiber_resume(steps[i].fiber);
        }
    for (uint32_t i = 0; i < COUNT; ++i) {
        assert_true(fiber_is_done(steps[i].fiber));
#if SORT_ASSERTIONS
        assert_in_range(fiber_stack_peak_bytes(steps[i].fiber), 2000, 64 * 1024);
#endif
        fiber_destroy(steps[i].fiber);
        uint64_t expected = 0;
        for (uint32_t k = 0; k < 31 * 8; ++k)
            expected += hash_mix64(i * 1000 + k);
        assert_true(steps[i].sum == expected);
    }
}

/* Touches one byte so far below its frame. */
static void touch_below(void *data)
{
    volatile char *below = (char *)__builtin_frame_address(0) - *(size_t *)data;
    *below = 1;
}

/* In a process of its own: does it live on? */
static bool lives_on_after(size_t bytes_below)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        Fiber *fiber;
        if (!freopen("/dev/null", "w", stderr)) /* a sanitizer would tell the whole story */
            _exit(0);
        if (fiber_create(touch_below, &bytes_below, 64 * 1024, &fiber, NULL) == STATUS_OK)
            fiber_resume(fiber);
        _exit(0);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static void test_what_lies_below_a_fiber_is_out_of_reach(void **state)
{
    SORT_UNUSED(state);
#if SORT_ASAN || SORT_TSAN
    skip(); /* they catch the signal to tell about it */
#endif
    assert_true(lives_on_after(32 * 1024));
    for (size_t bytes = 64 * 1024; bytes < 64 * 1024 + THREAD_GUARD_BYTES; bytes += 48 * 1024)
        assert_false(lives_on_after(bytes));
}

static void round_up_inside(void *data)
{
    Fiber **self = data;
    assert_int_equal(fesetround(FE_UPWARD), 0);
    fiber_suspend(*self);
    assert_int_equal(fegetround(), FE_UPWARD);
}

static void test_fiber_has_its_own_float_modes(void **state)
{
    SORT_UNUSED(state);
    Fiber *fiber;
    assert_int_equal(fiber_create(round_up_inside, &fiber, 0, &fiber, NULL), STATUS_OK);
    fiber_resume(fiber);
    assert_int_equal(fegetround(), FE_TONEAREST);
    fiber_resume(fiber);
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_true(fiber_is_done(fiber));
    fiber_destroy(fiber);
}

static void do_nothing(void *data)
{
    SORT_UNUSED(data);
}

static void test_fiber_create_fails_cleanly(void **state)
{
    SORT_UNUSED(state);
    Fiber *fiber;
    Error err = {0};
    assert_int_equal(fiber_create(do_nothing, NULL, 0, &fiber, &err), STATUS_OK);
    fiber_destroy(fiber); /* never resumed */
    fiber_destroy(NULL);
    mem_fail_nth(1);
    assert_int_equal(fiber_create(do_nothing, NULL, 0, &fiber, &err), STATUS_NO_MEMORY);
    mem_fail_nth(0);
    assert_null(fiber);
    assert_int_equal(fiber_create(do_nothing, NULL, SIZE_MAX, &fiber, &err), STATUS_INVALID);
    assert_int_equal(fiber_create(do_nothing, NULL, (size_t)1 << 60, &fiber, &err),
                     STATUS_NO_MEMORY);
}

static uint32_t overflow(uint32_t depth)
{
    volatile char local[1024];
    local[0] = (char)depth;
    return depth == UINT32_MAX ? 0 : overflow(depth + 1) + (uint32_t)local[0];
}

static void overflow_inside(void *data)
{
    *(uint32_t *)data = overflow(0);
}

static void test_fiber_overflow_hits_the_guard_page(void **state)
{
    SORT_UNUSED(state);
#if SORT_ASAN || SORT_TSAN
    skip(); /* they catch the signal to tell about it */
#endif
    pid_t child = fork();
    if (child == 0) {
        Fiber *fiber;
        uint32_t sum;
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's handler needs the stack that is full */
        (void)signal(SIGBUS, SIG_DFL);
        if (fiber_create(overflow_inside, &sum, 32 * 1024, &fiber, NULL) == STATUS_OK)
            fiber_resume(fiber);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_mutex_excludes),
        cmocka_unit_test(test_cond_wait_for_times_out),
        cmocka_unit_test(test_parallel_for_visits_each_once),
        cmocka_unit_test(test_waiter_loses_no_wake_up),
        cmocka_unit_test(test_fiber_keeps_its_stack),
        cmocka_unit_test(test_what_lies_below_a_fiber_is_out_of_reach),
        cmocka_unit_test(test_fiber_has_its_own_float_modes),
        cmocka_unit_test(test_fiber_create_fails_cleanly),
        cmocka_unit_test(test_fiber_overflow_hits_the_guard_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
