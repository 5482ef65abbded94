/* The count protocol is in waiter.h. Why nothing is lost: every decrement, the owner's and the
 * events', is one atomic step, so exactly one of them sees zero. If it is the owner, all events
 * have fired and nobody will unpark. If it is an event, the owner has committed itself to park, and
 * stays until this very unpark: the waiter is alive for as long as the event touches it. */
#include "base/waiter.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"

enum { BIAS = 1 };

void waiter_init(Waiter *w, const WaiterOps *ops)
{
    w->ops = ops;
    atomic_init(&w->outstanding, BIAS);
}

void waiter_arm(Waiter *w, uint32_t event_count)
{
    /* The order is relaxed: handing the waiter to those who fire it synchronises. */
    uint32_t before = atomic_fetch_add_explicit(&w->outstanding, event_count, memory_order_relaxed);
    ASSERT(before >= BIAS && before + event_count >= before);
    SORT_UNUSED(before);
}

void waiter_fire(Waiter *w)
{
    uint32_t before = atomic_fetch_sub_explicit(&w->outstanding, 1, memory_order_acq_rel);
    ASSERT(before != 0); /* fails if a waiter was fired more often than armed */
    if (before == 1)
        w->ops->unpark(w);
}

void waiter_wait(Waiter *w)
{
    uint32_t before = atomic_fetch_sub_explicit(&w->outstanding, BIAS, memory_order_acq_rel);
    ASSERT(before >= BIAS);
    if (before != BIAS)
        w->ops->park(w);
    ASSERT(atomic_load_explicit(&w->outstanding, memory_order_relaxed) == 0);
    atomic_store_explicit(&w->outstanding, BIAS, memory_order_relaxed);
}

/* `is_woken` carries one unpark, which may come before the park. */
typedef struct ThreadWaiter {
    Waiter base; /* first, so that a pointer to it is a pointer to the ThreadWaiter */
    Mutex mutex;
    Cond cond;
    bool is_woken; /* guarded by the mutex */
} ThreadWaiter;

static void thread_park(Waiter *w)
{
    ThreadWaiter *t = (ThreadWaiter *)w;
    mutex_lock(&t->mutex);
    while (!t->is_woken)
        cond_wait(&t->cond, &t->mutex);
    t->is_woken = false;
    mutex_unlock(&t->mutex);
}

static void thread_unpark(Waiter *w)
{
    ThreadWaiter *t = (ThreadWaiter *)w;
    mutex_lock(&t->mutex);
    t->is_woken = true;
    /* signalled under the lock: after the unlock the owner may destroy the waiter */
    cond_signal(&t->cond);
    mutex_unlock(&t->mutex);
}

Status waiter_create_for_thread(Waiter **out_waiter, Error *err)
{
    static const WaiterOps ops = {thread_park, thread_unpark};
    *out_waiter = NULL;
    ThreadWaiter *t = MEM_NEW(ThreadWaiter);
    if (!t)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a waiter");
    waiter_init(&t->base, &ops);
    mutex_init(&t->mutex);
    cond_init(&t->cond);
    *out_waiter = &t->base;
    return STATUS_OK;
}

void waiter_destroy_for_thread(Waiter *w)
{
    ThreadWaiter *t = (ThreadWaiter *)w;
    if (!t)
        return;
    ASSERT(atomic_load(&w->outstanding) == BIAS);
    mutex_destroy(&t->mutex);
    cond_destroy(&t->cond);
    mem_free(t);
}
