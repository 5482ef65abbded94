/* Time for measurements and time-outs; it must never influence a pixel. */
#ifndef SORT_BASE_CLOCK_H
#define SORT_BASE_CLOCK_H

#include "base/compiler.h"

/* Returns nanoseconds since a fixed but unspecified moment; monotonic. Any thread; takes about 20 ns. */
uint64_t clock_now_ns(void);
/* Returns the CPU time of the whole process, all threads, user and system, in nanoseconds. */
uint64_t clock_process_cpu_ns(void);
/* Returns the seconds since `start_ns` (of clock_now_ns). */
double clock_seconds_since(uint64_t start_ns);
/* Sleeps for at least that long. It blocks the thread, so it is not for fibers. */
void clock_sleep_ns(uint64_t duration_ns);

#endif
