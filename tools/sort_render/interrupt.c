#include "tools/sort_render/interrupt.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/temp_folder.h"
#include "base/thread.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A signal to a group of processes comes once more from the parent that passes it on; a person takes longer to ask again. */
static const double REPEATED_S = 1.0;

static struct {
    _Atomic bool is_held, is_asked;
    int code;
    sigset_t set;
} stop;

/* Other threads are at work. */
static void leave_nothing(void)
{
    process_kill_all();
    temp_folder_remove_all();
}

_Noreturn void interrupt_end(int code)
{
    leave_nothing();
    _Exit(code);
}

static void end_now(int signal_number, bool is_second)
{
    leave_nothing();
    if (is_second) { /* as if nobody had caught it */
        (void)signal(signal_number, SIG_DFL);
        (void)sigprocmask(SIG_UNBLOCK, &stop.set, NULL);
        (void)raise(signal_number);
    }
    static const char text[] = "\nsort-render: interrupted\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _Exit(stop.code);
}

static void wait_for_signals(void *data)
{
    SORT_UNUSED(data);
    uint64_t asked_ns = 0;
    for (;;) {
        int signal_number;
        if (sigwait(&stop.set, &signal_number) != 0)
            continue;
        if (atomic_load(&stop.is_asked) && clock_seconds_since(asked_ns) < REPEATED_S)
            continue;
        if (!atomic_load(&stop.is_held) || atomic_load(&stop.is_asked))
            end_now(signal_number, atomic_load(&stop.is_asked));
        asked_ns = clock_now_ns();
        atomic_store(&stop.is_asked, true);
    }
}

Status interrupt_start(int code, Error *err)
{
    static Thread *thread; /* never joined: it ends with the program */
    stop.code = code;
    (void)sigemptyset(&stop.set);
    (void)sigaddset(&stop.set, SIGINT);
    (void)sigaddset(&stop.set, SIGTERM);
    (void)signal(SIGINT, SIG_DFL); /* shells have it ignored in the background */
    (void)signal(SIGTERM, SIG_DFL);
    (void)sigprocmask(SIG_BLOCK, &stop.set, NULL); /* in all threads that come */
    return thread_create("signals", 0, wait_for_signals, NULL, &thread, err);
}

void interrupt_hold(bool is_rendering)
{
    atomic_store(&stop.is_held, is_rendering);
}

const _Atomic bool *interrupt_asked(void)
{
    return &stop.is_asked;
}
