#define _GNU_SOURCE /* RLIMIT_DATA and its like */
#include "sort/import/import_limits.h"

#include "base/compiler.h"
#include <sys/resource.h>
#include <sys/time.h>

static void set_soft(int resource, uint64_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    (void)setrlimit(resource, &limit);
}

void import_limits_allow(void *data, uint64_t total_bytes)
{
    SORT_UNUSED(data);
    uint64_t megabytes = total_bytes / 1000000u;
    uint64_t cpu_s = IMPORT_CPU_S + IMPORT_CPU_S_PER_MB * megabytes;
    struct itimerval wait = {.it_value = {.tv_sec = (time_t)(IMPORT_WAIT * cpu_s)}};
    set_soft(RLIMIT_CORE, 0);
#if !SORT_ASAN && !SORT_TSAN /* which take more of all */
    set_soft(RLIMIT_CPU, cpu_s);
    set_soft(RLIMIT_DATA, IMPORT_DATA_BYTES + IMPORT_DATA_FACTOR * total_bytes);
#endif
    (void)setitimer(ITIMER_REAL, &wait, 0);
}
