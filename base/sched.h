/* Workers and their fibers: each worker thread owns fibers, runs one until it parks on a Waiter,
 * then runs another that is ready, starts one more while all are parked and fibers_max allows, and
 * sleeps only when nothing is ready. A fired Waiter puts its fiber in the owning worker's inbox,
 * which the worker reads between switches, so a half-saved stack is never resumed. Between two
 * steps a fiber yields to fibers that were woken in the middle of a step.
 * Included only by sort/render/ and tests. */
#ifndef SORT_BASE_SCHED_H
#define SORT_BASE_SCHED_H

#include "base/waiter.h"

typedef struct Sched Sched;

typedef struct SchedDesc {
    size_t size_bytes;               /* sizeof(SchedDesc) */
    uint32_t worker_count;           /* 0: one for each CPU */
    uint32_t fibers_min, fibers_max; /* per worker; 0: 2 and 64 */
    size_t stack_bytes;              /* 0: 256 KiB */
    void *data;
    /* All callbacks but fiber_step are optional. Begin and end run on the worker's own stack, steps on a
     * fiber's; all calls for one worker come from its thread. If a worker_begin returns NULL, or a fiber_begin
     * among the first fibers_min, the run ends with STATUS_NO_MEMORY after the steps that have begun; a later
     * fiber_begin that returns NULL only means that no more fibers are made. */
    void *(*worker_begin)(void *data, uint32_t worker);
    void *(*fiber_begin)(void *data, void *worker_state, Waiter *w);
    /* runs one whole wave; false: no work is left */
    bool (*fiber_step)(void *data, void *fiber_state);
    void (*fiber_end)(void *data, void *fiber_state);
    void (*worker_end)(void *data, void *worker_state);
    /* Returns how many fibers of a worker may be in the middle of a step, at least 1; called before each step.
     * NULL: fibers_max. Fibers beyond the number finish their steps first. */
    uint32_t (*fibers_wanted)(void *data);
} SchedDesc;

typedef struct SchedStats {
    uint64_t steps;                              /* steps that returned true */
    uint64_t parks;                              /* waits that could not return at once */
    uint64_t switches;                           /* switches into a fiber */
    uint32_t workers;                            /* threads that could be started */
    uint32_t fibers_created, fibers_peak_parked; /* sums over workers */
    /* time, summed over workers, in which nothing was ready and something was parked */
    uint64_t idle_ns;
    size_t stack_peak_bytes; /* deepest fiber stack; see fiber.h */
} SchedStats;

Status sched_create(const SchedDesc *desc, Sched **out_sched, Error *err) SORT_MUST_CHECK;
/* Runs the workers and returns when every fiber_step has returned false. After the first one has, no more
 * fibers are made. Call once. Fewer threads than requested are no error (see SchedStats.workers), not even
 * none. */
Status sched_run(Sched *s, Error *err) SORT_MUST_CHECK;
void sched_stats(const Sched *s, SchedStats *out_stats);        /* valid after sched_run */
void sched_stats_add(SchedStats *sum, const SchedStats *stats); /* sums over consecutive runs */
void sched_destroy(Sched *s);

#endif
