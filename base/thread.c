/* pthreads behind the names of thread.h. A call that can only fail through misuse (locking what is
 * not a mutex) is CHECKed; only creating a thread can fail for outside reasons. */
#define _GNU_SOURCE /* pthread_setname_np, pthread_cond_clockwait, sched_getaffinity */
#include "base/thread.h"
#include "base/alloc.h"
#include "base/check.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#    include <xmmintrin.h>
#endif

struct Thread {
    pthread_t native;
    void (*run)(void *data);
    void *data;
    char name[16];
};

void mutex_init(Mutex *m)
{
    CHECK(pthread_mutex_init(&m->native, NULL) == 0);
}

void mutex_destroy(Mutex *m)
{
    CHECK(pthread_mutex_destroy(&m->native) == 0);
}

void mutex_lock(Mutex *m)
{
    CHECK(pthread_mutex_lock(&m->native) == 0);
}

void mutex_unlock(Mutex *m)
{
    CHECK(pthread_mutex_unlock(&m->native) == 0);
}

void cond_init(Cond *c)
{
    CHECK(pthread_cond_init(&c->native, NULL) == 0);
}

void cond_destroy(Cond *c)
{
    CHECK(pthread_cond_destroy(&c->native) == 0);
}

void cond_wait(Cond *c, Mutex *m)
{
    CHECK(pthread_cond_wait(&c->native, &m->native) == 0);
}

bool cond_wait_for(Cond *c, Mutex *m, uint32_t milliseconds)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        ++until.tv_sec;
        until.tv_nsec -= 1000000000;
    }
    /* The clock is chosen here, and not when the condition is made, so that COND_INIT works too. */
    int result = pthread_cond_clockwait(&c->native, &m->native, CLOCK_MONOTONIC, &until);
    CHECK(result == 0 || result == ETIMEDOUT);
    return result == 0;
}

void cond_signal(Cond *c)
{
    CHECK(pthread_cond_signal(&c->native) == 0);
}

void cond_broadcast(Cond *c)
{
    CHECK(pthread_cond_broadcast(&c->native) == 0);
}

static void *thread_main(void *data)
{
    Thread *t = data;
    if (t->name[0])
        (void)pthread_setname_np(pthread_self(), t->name);
    t->run(t->data);
    return NULL;
}

/* Sets the stack to whole pages, at least the system's minimum, plus the guard, which glibc takes from the
 * stack. */
static void set_stack(pthread_attr_t *attributes, size_t wanted_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN), bytes = wanted_bytes;
    /* fetches the system's default */
    if (!bytes)
        CHECK(pthread_attr_getstacksize(attributes, &bytes) == 0);
    bytes = (bytes < least ? least : bytes) + THREAD_GUARD_BYTES;
    CHECK(pthread_attr_setguardsize(attributes, THREAD_GUARD_BYTES) == 0);
    CHECK(pthread_attr_setstacksize(attributes, (bytes + page - 1) / page * page) == 0);
}

Status thread_create(const char *name, size_t stack_bytes, void (*run)(void *data), void *data,
                     Thread **out_thread, Error *err)
{
    *out_thread = NULL;
    Thread *t = MEM_NEW(Thread);
    if (!t)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a thread");
    t->run = run;
    t->data = data;
    (void)snprintf(t->name, sizeof t->name, "%.15s", name ? name : "");
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    set_stack(&attributes, stack_bytes);
    int result = pthread_create(&t->native, &attributes, thread_main, t);
    (void)pthread_attr_destroy(&attributes);
    if (result != 0) {
        mem_free(t);
        return error_set(err, STATUS_IO, "cannot start a thread: %s", strerror(result));
    }
    *out_thread = t;
    return STATUS_OK;
}

void thread_join(Thread *t)
{
    ASSERT(t);
    CHECK(pthread_join(t->native, NULL) == 0);
    mem_free(t);
}

uint32_t thread_cpu_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                            : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1;
}

void thread_flush_denormals(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040u); /* FTZ, DAZ */
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    __asm__ volatile("msr fpcr, %0" : : "r"(mode | (1u << 24)));
#endif
}

/* State of parallel_for: every thread takes the next index until none is left. */
typedef struct Loop {
    void (*body)(void *data, uint32_t index);
    void *data;
    uint32_t count;
    _Atomic uint32_t next;
} Loop;

static void loop_run(void *data)
{
    Loop *loop = data;
    /* Each thread passes `count` once, so `next` ends at most at count + threads. */
    uint32_t index;
    while ((index = atomic_fetch_add(&loop->next, 1)) < loop->count)
        loop->body(loop->data, index);
}

enum { LOOP_THREADS_MAX = 256 };

void parallel_for(uint32_t thread_count, uint32_t count, void (*body)(void *data, uint32_t index),
                  void *data)
{
    CHECK(count <= UINT32_MAX - LOOP_THREADS_MAX);
    Loop loop = {.body = body, .data = data, .count = count};
    uint32_t wanted = thread_count ? thread_count : thread_cpu_count();
    if (wanted > count)
        wanted = count;
    if (wanted > LOOP_THREADS_MAX)
        wanted = LOOP_THREADS_MAX;
    Thread *helpers[LOOP_THREADS_MAX];
    uint32_t helper_count = 0;
    while (helper_count + 1 < wanted &&
           thread_create("parallel", 0, loop_run, &loop, &helpers[helper_count], NULL) == STATUS_OK)
        ++helper_count;
    loop_run(&loop);
    for (uint32_t i = 0; i < helper_count; ++i)
        thread_join(helpers[i]);
}
