/* Fibers: a thread switches between their separate stacks (Boost.Context's C entry points).
 * A fiber stays on the thread that resumed it first. MXCSR and the x87 control word are saved.
 * Below each stack lie THREAD_GUARD_BYTES of inaccessible memory. Address and thread sanitizers are notified of every switch.
 * Included only by base/, sort/render/ and tests. */
#ifndef SORT_BASE_FIBER_H
#define SORT_BASE_FIBER_H

#include "base/error.h"

typedef struct Fiber Fiber;

Status fiber_create(void (*run)(void *data), void *data, size_t stack_bytes, Fiber **out_fiber,
                    Error *err) SORT_MUST_CHECK;
/* Runs the fiber until it suspends or ends. Called from the owning thread's own stack. */
void fiber_resume(Fiber *f);
/* Suspends the fiber. Called from inside it. */
void fiber_suspend(Fiber *self);
bool fiber_is_done(const Fiber *f);
/* Returns the deepest stack use so far, by watermark; 0 in builds without assertions. */
size_t fiber_stack_peak_bytes(const Fiber *f);
void fiber_destroy(Fiber *f); /* the fiber has ended or was never resumed */

#endif
