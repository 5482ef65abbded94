/* Workers and their fibers: each worker thread owns fibers, runs one until it parks on a Waiter,
 * then runs another that is ready, starts one more while all are parked and fibers_max allows, and
 * sleeps only when nothing is ready. A fired Waiter puts its fiber in the owning worker's inbox,
 * which the worker reads between switches, so a half-saved stack is never resumed.
 * Included only by sort/render/ and tests. */
#ifndef SORT_BASE_SCHED_H
#define SORT_BASE_SCHED_H

#include "base/waiter.h"

typedef struct Sched Sched;

typedef struct SchedDesc {
    size_t size_bytes;               /* sizeof(SchedDesc) */
    uint32_t worker_count;           /* 0: one a CPU */
    uint32_t fibers_min, fibers_max; /* per worker; 0: 2 and 64 */
    size_t stack_bytes;              /* 0: 256 KiB */
    void *data;
    /* All optional but fiber_step. A begin that returns NULL aborts the run with STATUS_NO_MEMORY,
     * unless no begin is given. */
    void *(*worker_begin)(void *data, uint32_t worker);
    void *(*fiber_begin)(void *data, void *worker_state, Waiter *w);
    bool (*fiber_step)(void *data, void *fiber_state); /* one whole wave; false: nothing left */
    void (*fiber_end)(void *data, void *fiber_state);
    void (*worker_end)(void *data, void *worker_state);
} SchedDesc;

typedef struct SchedStats {
    uint64_t steps, parks, switches;
    uint32_t fibers_created, fibers_peak_parked;
    uint64_t idle_ns; /* all workers: nothing ready, something parked */
} SchedStats;

Status sched_create(const SchedDesc *desc, Sched **out_sched, Error *err) SORT_MUST_CHECK;
/* Returns when every fiber_step has returned false. Call once. */
Status sched_run(Sched *s, Error *err) SORT_MUST_CHECK;
void sched_stats(const Sched *s, SchedStats *out_stats); /* after sched_run */
void sched_destroy(Sched *s);

#endif
