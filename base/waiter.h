/* A counted wake-up. Whoever must wait for slow storage arms a Waiter with the number of events,
 * hands it to whoever will fire them, and waits. What "wait" means is the host's choice: a fiber
 * is parked (base/sched.h), a plain thread sleeps on a condition variable. Libraries such as
 * textures/ see only this header and never know of fibers.
 *
 * `outstanding` starts with a bias of one that waiter_wait drops, so that events which fire before
 * the wait cannot be lost, and whoever brings it to zero acts: the waiter itself returns at once,
 * anyone else calls ops->unpark. */
#ifndef SORT_BASE_WAITER_H
#define SORT_BASE_WAITER_H

#include "base/error.h"
#include <stdatomic.h>

typedef struct Waiter Waiter;
typedef struct WaiterOps {
    void (*park)(Waiter *w);   /* owner; returns after unpark */
    void (*unpark)(Waiter *w); /* any thread; exactly once a park */
} WaiterOps;

struct Waiter {
    const WaiterOps *ops;
    _Atomic uint32_t outstanding;
};

void waiter_init(Waiter *w, const WaiterOps *ops);
/* Owner, before the events can fire. May be called again to add events before waiter_wait. */
void waiter_arm(Waiter *w, uint32_t event_count);
/* Any thread; exactly once an event, on failure and shutdown too. The waiter may be gone the
 * moment this returns. */
void waiter_fire(Waiter *w);
/* Owner; returns when all armed events have fired. No lock may be held. */
void waiter_wait(Waiter *w);

/* The form for plain threads. */
Status waiter_create_for_thread(Waiter **out_waiter, Error *err) SORT_MUST_CHECK;
void waiter_destroy_for_thread(Waiter *w);

#endif
