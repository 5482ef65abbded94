/* Time for measuring and for time-outs; never for anything that reaches a pixel. */
#ifndef SORT_BASE_CLOCK_H
#define SORT_BASE_CLOCK_H

#include "base/compiler.h"

/* Nanoseconds since a fixed but unstated moment; never goes back. Any thread; about 20 ns. */
uint64_t clock_now_ns(void);
/* CPU time of the whole process, all threads, user and system, in nanoseconds. */
uint64_t clock_process_cpu_ns(void);
/* Seconds from `start_ns` (of clock_now_ns) to now. */
double clock_seconds_since(uint64_t start_ns);
/* Returns after at least that long. Not for fibers: it stops the thread. */
void clock_sleep_ns(uint64_t duration_ns);

#endif
