/* Fibers: stacks of their own that a thread switches between (Boost.Context's C entry points).
 * A fiber stays on the thread that resumed it first. MXCSR and the x87 control word are saved.
 * Below each stack lie THREAD_GUARD_BYTES that nobody can touch; address and thread sanitizers are told of every switch.
 * Included only by base/, sort/render/ and tests. */
#ifndef SORT_BASE_FIBER_H
#define SORT_BASE_FIBER_H

#include "base/error.h"

typedef struct Fiber Fiber;

Status fiber_create(void (*run)(void *data), void *data, size_t stack_bytes, Fiber **out_fiber,
                    Error *err) SORT_MUST_CHECK;
/* From the owning thread's own stack; returns when the fiber suspends or ends. */
void fiber_resume(Fiber *f);
/* From inside the fiber. */
void fiber_suspend(Fiber *self);
bool fiber_is_done(const Fiber *f);
/* Deepest stack use so far, by watermark; 0 in builds without assertions. */
size_t fiber_stack_peak_bytes(const Fiber *f);
void fiber_destroy(Fiber *f); /* done or never resumed */

#endif
