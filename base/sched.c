/* One Worker a thread; its fibers stay with it.
 *
 *   any thread: waiter_fire -> unpark -> [inbox] --worker, between switches--> [ready]
 *   worker:     ready (mid-step, oldest first) > idle (between steps, latest first) > a new fiber
 *               > sleep; the two in the middle only while fewer are parked than fibers_wanted
 *
 * Steps that have begun are finished first: they hold memory, and they were waiting. Between steps
 * a fiber yields only to such steps, so a run without waits stays in one fiber and one set of
 * buffers, which keeps a wave in the CPU's cache.
 *
 * Locks: `inbox` and `is_asleep` belong to Worker.mutex; all else in a Worker to its thread. A
 * fiber that fires its own waiter's last event early, before it has left its stack, is put in the
 * inbox like any other, and the inbox is read only after the switch. */
#include "base/sched.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fiber.h"
#include "base/thread.h"

#include <string.h>

typedef struct Worker Worker;

typedef struct Slot {
    Waiter waiter; /* first, so that a pointer to it is a pointer to the Slot */
    Worker *worker;
    Fiber *fiber;
    void *state;       /* the state that fiber_begin returned */
    struct Slot *next; /* next in inbox, ready or idle */
    bool is_parked;    /* suspended by its waiter in the middle of a step */
} Slot;

typedef struct Queue {
    Slot *first, *last;
} Queue;

struct Worker {
    Sched *sched;
    Thread *thread;
    void *state; /* the state that worker_begin returned */
    uint32_t index;
    uint32_t live_count, parked_count;
    Queue ready;
    Slot *idle; /* a stack (last in, first out) */
    bool can_grow;
    SchedStats stats;
    Status status;
    Error error;

    _Alignas(SORT_CACHE_LINE) Mutex mutex;
    Cond cond;
    Queue inbox;
    bool is_asleep;
    _Atomic bool has_inbox; /* written under the mutex, and read without it as a hint */
};

struct Sched {
    SchedDesc desc;
    Worker *workers;
    _Atomic bool is_drained; /* a step found no more work: no more fibers are made */
    _Atomic bool is_aborted; /* no more steps are begun either */
    bool has_run;
    SchedStats stats;
};

enum { FIBERS_MIN_DEFAULT = 2, FIBERS_MAX_DEFAULT = 64, STACK_DEFAULT = 256 * 1024 };
enum { WORKERS_MAX = 1024, FIBERS_LIMIT = 4096 };

static void queue_push(Queue *q, Slot *slot)
{
    slot->next = NULL;
    if (q->last)
        q->last->next = slot;
    else
        q->first = slot;
    q->last = slot;
}

static Slot *queue_pop(Queue *q)
{
    Slot *slot = q->first;
    if (slot) {
        q->first = slot->next;
        if (!q->first)
            q->last = NULL;
    }
    return slot;
}

static void slot_park(Waiter *w)
{
    Slot *slot = (Slot *)w;
    Worker *worker = slot->worker;
    slot->is_parked = true;
    ++worker->parked_count;
    ++worker->stats.parks;
    if (worker->parked_count > worker->stats.fibers_peak_parked)
        worker->stats.fibers_peak_parked = worker->parked_count;
    fiber_suspend(slot->fiber);
}

static void slot_unpark(Waiter *w)
{
    Slot *slot = (Slot *)w;
    Worker *worker = slot->worker;
    mutex_lock(&worker->mutex);
    queue_push(&worker->inbox, slot);
    atomic_store_explicit(&worker->has_inbox, true, memory_order_relaxed);
    /* signalled under the lock: after the unlock the worker may be gone */
    if (worker->is_asleep)
        cond_signal(&worker->cond);
    mutex_unlock(&worker->mutex);
}

static const WaiterOps slot_ops = {slot_park, slot_unpark};

static bool is_set(const _Atomic bool *flag)
{
    return atomic_load_explicit(flag, memory_order_relaxed);
}

static void set(_Atomic bool *flag)
{
    atomic_store_explicit(flag, true, memory_order_relaxed);
}

/* Returns whether the steps that are waiting leave no room for one more. */
static bool is_full(const Worker *worker)
{
    const SchedDesc *desc = &worker->sched->desc;
    return worker->parked_count > 0 && desc->fibers_wanted &&
           worker->parked_count >= desc->fibers_wanted(desc->data);
}

/* The body of a fiber: runs steps until no work is left. */
static void slot_run(void *data)
{
    Slot *slot = data;
    Worker *worker = slot->worker;
    Sched *s = worker->sched;
    while (!is_set(&s->is_aborted) && s->desc.fiber_step(s->desc.data, slot->state)) {
        ++worker->stats.steps;
        if (worker->ready.first || is_set(&worker->has_inbox) || is_full(worker))
            fiber_suspend(slot->fiber);
    }
    set(&s->is_drained);
}

static Status slot_create(Worker *worker, Slot **out_slot, Error *err)
{
    const SchedDesc *desc = &worker->sched->desc;
    Slot *slot = MEM_NEW(Slot);
    *out_slot = NULL;
    if (!slot)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a fiber");
    slot->worker = worker;
    waiter_init(&slot->waiter, &slot_ops);
    Status status = fiber_create(slot_run, slot, desc->stack_bytes, &slot->fiber, err);
    if (status != STATUS_OK) {
        mem_free(slot);
        return status;
    }
    if (desc->fiber_begin &&
        !(slot->state = desc->fiber_begin(desc->data, worker->state, &slot->waiter))) {
        fiber_destroy(slot->fiber);
        mem_free(slot);
        return error_set(err, STATUS_NO_MEMORY, "out of memory for the state of a fiber");
    }
    ++worker->live_count;
    ++worker->stats.fibers_created;
    *out_slot = slot;
    return STATUS_OK;
}

static void slot_destroy(Slot *slot)
{
    Worker *worker = slot->worker;
    const SchedDesc *desc = &worker->sched->desc;
    size_t peak = fiber_stack_peak_bytes(slot->fiber);
    if (peak > worker->stats.stack_peak_bytes)
        worker->stats.stack_peak_bytes = peak;
    if (desc->fiber_end)
        desc->fiber_end(desc->data, slot->state);
    fiber_destroy(slot->fiber);
    mem_free(slot);
    --worker->live_count;
}

static void slot_resume(Slot *slot)
{
    Worker *worker = slot->worker;
    ++worker->stats.switches;
    fiber_resume(slot->fiber);
    if (fiber_is_done(slot->fiber)) {
        slot_destroy(slot);
    } else if (!slot->is_parked) { /* it yielded between steps */
        slot->next = worker->idle;
        worker->idle = slot;
    }
}

/* Moves woken fibers to `ready`. With `may_sleep`, waits until there is one. */
static void read_inbox(Worker *worker, bool may_sleep)
{
    if (!may_sleep && !is_set(&worker->has_inbox))
        return;
    mutex_lock(&worker->mutex);
    if (may_sleep && !worker->inbox.first) {
        uint64_t start_ns = clock_now_ns();
        worker->is_asleep = true;
        while (!worker->inbox.first)
            cond_wait(&worker->cond, &worker->mutex);
        worker->is_asleep = false;
        worker->stats.idle_ns += clock_now_ns() - start_ns;
    }
    Queue woken = worker->inbox;
    worker->inbox = (Queue){NULL, NULL};
    atomic_store_explicit(&worker->has_inbox, false, memory_order_relaxed);
    mutex_unlock(&worker->mutex);
    for (Slot *slot; (slot = queue_pop(&woken)) != NULL;) {
        slot->is_parked = false;
        --worker->parked_count;
        queue_push(&worker->ready, slot);
    }
}

static Slot *next_slot(Worker *worker)
{
    Slot *slot = queue_pop(&worker->ready);
    if (slot)
        return slot;
    if (is_full(worker))
        return NULL;
    if ((slot = worker->idle) != NULL) {
        worker->idle = slot->next;
        return slot;
    }
    const Sched *s = worker->sched;
    if (worker->can_grow && worker->live_count < s->desc.fibers_max && !is_set(&s->is_drained)) {
        /* More fibers only hide more waiting: without memory for another, the existing ones go on. */
        if (slot_create(worker, &slot, NULL) == STATUS_OK)
            return slot;
        worker->can_grow = false;
    }
    return NULL;
}

static Status worker_fill(Worker *worker)
{
    const SchedDesc *desc = &worker->sched->desc;
    if (desc->worker_begin && !(worker->state = desc->worker_begin(desc->data, worker->index)))
        return error_set(&worker->error, STATUS_NO_MEMORY,
                         "out of memory for the state of worker %u", worker->index);
    for (uint32_t i = 0; i < desc->fibers_min; ++i) {
        Slot *slot;
        TRY(slot_create(worker, &slot, &worker->error));
        ASSERT(slot);
        slot->next = worker->idle;
        worker->idle = slot;
    }
    return STATUS_OK;
}

static void worker_main(void *data)
{
    Worker *worker = data;
    const SchedDesc *desc = &worker->sched->desc;
    worker->status = worker_fill(worker);
    if (worker->status != STATUS_OK)
        set(&worker->sched->is_aborted); /* the existing fibers see the flag and end */
    worker->can_grow = true;
    while (worker->live_count > 0) {
        read_inbox(worker, false);
        Slot *slot = next_slot(worker);
        if (slot)
            slot_resume(slot);
        else
            read_inbox(worker, true);
    }
    if (desc->worker_end && (worker->state || !desc->worker_begin))
        desc->worker_end(desc->data, worker->state);
}

Status sched_create(const SchedDesc *desc, Sched **out_sched, Error *err)
{
    *out_sched = NULL;
    CHECK(desc->size_bytes == sizeof(SchedDesc) && desc->fiber_step);
    Sched *s = MEM_NEW(Sched);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for the scheduler");
    s->desc = *desc;
    SchedDesc *d = &s->desc;
    if (!d->worker_count)
        d->worker_count = thread_cpu_count();
    if (!d->fibers_min)
        d->fibers_min = FIBERS_MIN_DEFAULT;
    if (!d->fibers_max)
        d->fibers_max = d->fibers_min > FIBERS_MAX_DEFAULT ? d->fibers_min : FIBERS_MAX_DEFAULT;
    if (!d->stack_bytes)
        d->stack_bytes = STACK_DEFAULT;
    if (d->fibers_min > d->fibers_max || d->fibers_max > FIBERS_LIMIT ||
        d->worker_count > WORKERS_MAX) {
        Status status =
            error_set(err, STATUS_INVALID,
                      "%u workers with %u to %u fibers each (at most %d workers and %d "
                      "fibers)",
                      d->worker_count, d->fibers_min, d->fibers_max, WORKERS_MAX, FIBERS_LIMIT);
        mem_free(s);
        return status;
    }
    s->workers = mem_alloc_aligned(d->worker_count * sizeof(Worker), _Alignof(Worker));
    if (!s->workers) {
        mem_free(s);
        return error_set(err, STATUS_NO_MEMORY, "out of memory for %u workers", desc->worker_count);
    }
    memset(s->workers, 0, d->worker_count * sizeof(Worker));
    for (uint32_t i = 0; i < d->worker_count; ++i) {
        Worker *worker = &s->workers[i];
        worker->sched = s;
        worker->index = i;
        mutex_init(&worker->mutex);
        cond_init(&worker->cond);
    }
    *out_sched = s;
    return STATUS_OK;
}

static void stats_add(SchedStats *sum, const SchedStats *part)
{
    sum->steps += part->steps;
    sum->parks += part->parks;
    sum->switches += part->switches;
    sum->fibers_created += part->fibers_created;
    sum->fibers_peak_parked += part->fibers_peak_parked;
    sum->idle_ns += part->idle_ns;
    if (part->stack_peak_bytes > sum->stack_peak_bytes)
        sum->stack_peak_bytes = part->stack_peak_bytes;
}

Status sched_run(Sched *s, Error *err)
{
    CHECK(!s->has_run);
    s->has_run = true;
    uint32_t started = 0;
    Status status = STATUS_OK;
    /* With fewer threads than requested the work is done all the same. */
    while (started < s->desc.worker_count) {
        Worker *worker = &s->workers[started];
        status = thread_create("worker", 0, worker_main, worker, &worker->thread, err);
        if (status != STATUS_OK)
            break;
        ++started;
    }
    s->stats.workers = started;
    if (started > 0)
        status = STATUS_OK;
    for (uint32_t i = 0; i < started; ++i) {
        Worker *worker = &s->workers[i];
        thread_join(worker->thread);
        stats_add(&s->stats, &worker->stats);
        if (worker->status != STATUS_OK && status == STATUS_OK) {
            status = worker->status;
            if (err)
                *err = worker->error;
        }
    }
    return status;
}

void sched_stats(const Sched *s, SchedStats *out_stats)
{
    *out_stats = s->stats;
}

void sched_stats_add(SchedStats *sum, const SchedStats *s)
{
    sum->steps += s->steps;
    sum->parks += s->parks;
    sum->switches += s->switches;
    sum->workers = s->workers > sum->workers ? s->workers : sum->workers;
    sum->fibers_created += s->fibers_created;
    sum->fibers_peak_parked = s->fibers_peak_parked > sum->fibers_peak_parked
                                  ? s->fibers_peak_parked
                                  : sum->fibers_peak_parked;
    sum->idle_ns += s->idle_ns;
    sum->stack_peak_bytes =
        s->stack_peak_bytes > sum->stack_peak_bytes ? s->stack_peak_bytes : sum->stack_peak_bytes;
}

void sched_destroy(Sched *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->desc.worker_count; ++i) {
        mutex_destroy(&s->workers[i].mutex);
        cond_destroy(&s->workers[i].cond);
    }
    mem_free(s->workers);
    mem_free(s);
}
