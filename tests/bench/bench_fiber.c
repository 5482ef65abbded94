/* What a switch costs: two switches a round trip, first with one fiber, then in turn through many,
 * whose stacks no longer share the cache; then a park and wake-up through the scheduler. */
#include "base/clock.h"
#include "base/fiber.h"
#include "base/sched.h"
#include "tests/bench/bench_options.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIBERS_MAX = 1024 };

/* Set by main, once. */
static uint32_t round_count = 4000000, step_count = 400000;

typedef struct Partner {
    Fiber *fiber;
    bool is_over;
} Partner;

static void give_back(void *data)
{
    Partner *partner = data;
    while (!partner->is_over)
        fiber_suspend(partner->fiber);
}

static double switch_ns(uint32_t fiber_count)
{
    static Partner partners[FIBERS_MAX];
    for (uint32_t i = 0; i < fiber_count; ++i) {
        partners[i].is_over = false;
        if (fiber_create(give_back, &partners[i], 64 * 1024, &partners[i].fiber, NULL) != STATUS_OK)
            return -1;
    }
    uint32_t rounds = round_count / fiber_count;
    double best_ns = 1e30;
    for (int attempt = 0; attempt < 5; ++attempt) {
        uint64_t start_ns = clock_now_ns();
        for (uint32_t round = 0; round < rounds; ++round)
            for (uint32_t i = 0; i < fiber_count; ++i)
                fiber_resume(partners[i].fiber);
        double ns = (double)(clock_now_ns() - start_ns) / (2.0 * rounds * fiber_count);
        if (ns < best_ns)
            best_ns = ns;
    }
    for (uint32_t i = 0; i < fiber_count; ++i) {
        partners[i].is_over = true;
        fiber_resume(partners[i].fiber);
        fiber_destroy(partners[i].fiber);
    }
    return best_ns;
}

/* Every fiber waits for the one before it: each step parks once and wakes another. */
typedef struct Chain {
    Waiter *last;
    uint32_t left;
} Chain;

static void *remember_waiter(void *data, void *worker_state, Waiter *w)
{
    SORT_UNUSED(data);
    SORT_UNUSED(worker_state);
    return w;
}

static bool wake_and_park(void *data, void *fiber_state)
{
    Chain *chain = data;
    Waiter *self = fiber_state, *other = chain->last;
    bool goes_on = chain->left > 0 && --chain->left > 0;
    chain->last = NULL;
    if (goes_on) {
        waiter_arm(self, 1);
        chain->last = self;
    }
    if (other)
        waiter_fire(other);
    if (goes_on)
        waiter_wait(self);
    return goes_on;
}

static double park_ns(void)
{
    Chain chain = {NULL, step_count};
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = 1,
                      .data = &chain,
                      .fiber_begin = remember_waiter,
                      .fiber_step = wake_and_park};
    Sched *sched;
    if (sched_create(&desc, &sched, NULL) != STATUS_OK)
        return -1;
    uint64_t start_ns = clock_now_ns();
    if (sched_run(sched, NULL) != STATUS_OK)
        return -1;
    double ns = (double)(clock_now_ns() - start_ns) / step_count;
    sched_destroy(sched);
    return ns;
}

int main(int argc, char **argv)
{
    bool has_failed = false;
    if (bench_is_quick(argc, argv)) {
        round_count = 4 * FIBERS_MAX;
        step_count = 1000;
    }
    printf("%-28s %8s\n", "fiber", "ns");
    for (uint32_t count = 1; count <= FIBERS_MAX; count *= 32) {
        double ns = switch_ns(count);
        has_failed |= ns < 0.0;
        printf("switch, %4u fibers %17.1f\n", count, ns);
    }
    double ns = park_ns();
    has_failed |= ns < 0.0;
    printf("park and wake-up %19.1f\n", ns);
    if (has_failed)
        fprintf(stderr, "bench_fiber: what shows less than 0 could not be run\n");
    return has_failed;
}
