/* A counted wake-up. Code that must wait for slow storage arms a Waiter with the number of events,
 * hands it to the code that will fire them, and waits. The host decides how to wait: a fiber is
 * parked (base/sched.h), a plain thread sleeps on a condition variable. Libraries such as textures/
 * include only this header and do not depend on fibers.
 *
 * `outstanding` starts with a bias of one that waiter_wait drops, so that events which fire before
 * the wait cannot be lost. The side that brings it to zero acts: the owner returns at once, and a
 * firing thread calls ops->unpark. */
#ifndef SORT_BASE_WAITER_H
#define SORT_BASE_WAITER_H

#include "base/error.h"
#include <stdatomic.h>

typedef struct Waiter Waiter;
typedef struct WaiterOps {
    void (*park)(Waiter *w);   /* called by the owner; returns after unpark */
    void (*unpark)(Waiter *w); /* called by any thread, exactly once for each park */
} WaiterOps;

struct Waiter {
    const WaiterOps *ops;
    _Atomic uint32_t outstanding;
};

void waiter_init(Waiter *w, const WaiterOps *ops);
/* Adds events. Called by the owner before the events can fire; may be called again before waiter_wait. */
void waiter_arm(Waiter *w, uint32_t event_count);
/* Fires one event. Any thread, exactly once for each event, on failure and shutdown too. The waiter may be
 * destroyed as soon as this returns. */
void waiter_fire(Waiter *w);
/* Waits until all armed events have fired. Called by the owner, which may hold no lock. */
void waiter_wait(Waiter *w);

/* Creates a waiter for a plain thread. */
Status waiter_create_for_thread(Waiter **out_waiter, Error *err) SORT_MUST_CHECK;
void waiter_destroy_for_thread(Waiter *w);

#endif
