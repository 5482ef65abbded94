/* Threads, mutexes, conditions: the only user of pthreads. */
#ifndef SORT_BASE_THREAD_H
#define SORT_BASE_THREAD_H

#include "base/error.h"
#include <pthread.h>

typedef struct Mutex {
    pthread_mutex_t native;
} Mutex;
typedef struct Cond {
    pthread_cond_t native;
} Cond;
typedef struct Thread Thread;
#define MUTEX_INIT {PTHREAD_MUTEX_INITIALIZER}
#define COND_INIT  {PTHREAD_COND_INITIALIZER}

void mutex_init(Mutex *m);
void mutex_destroy(Mutex *m);
void mutex_lock(Mutex *m);
void mutex_unlock(Mutex *m);
void cond_init(Cond *c);
void cond_destroy(Cond *c);
void cond_wait(Cond *c, Mutex *m);
/* Returns false if `milliseconds` passed without a signal, on the monotonic clock. */
bool cond_wait_for(Cond *c, Mutex *m, uint32_t milliseconds);
void cond_signal(Cond *c);
void cond_broadcast(Cond *c);

/* The inaccessible bytes below a thread's or a fiber's stack: more than the frame of any function that does not
 * touch its pages in order, so that an overflow is stopped and never reaches other memory. */
enum { THREAD_GUARD_BYTES = 256 * 1024 };

/* Starts a thread. name: at most 15 characters, shown by debuggers. stack_bytes: without the guard; 0: the
 * system's default. *out_thread is owned by the caller: thread_join frees it. Errors: STATUS_IO,
 * STATUS_NO_MEMORY. */
Status thread_create(const char *name, size_t stack_bytes, void (*run)(void *data), void *data,
                     Thread **out_thread, Error *err) SORT_MUST_CHECK;
void thread_join(Thread *t);
/* Returns the number of CPUs that this process may run on, at least 1. */
uint32_t thread_cpu_count(void);
/* Makes subnormal floats zero in this thread (FTZ and DAZ), and in fibers that it creates afterwards. */
void thread_flush_denormals(void);

/* Runs body(data, i) for i in [0, count) on up to thread_count threads (the caller is one of
 * them; 0: one a CPU). Returns when all are done. Falls back to fewer threads when some cannot be
 * created. Each index runs exactly once, in no stated order. */
void parallel_for(uint32_t thread_count, uint32_t count, void (*body)(void *data, uint32_t index),
                  void *data);

#endif
