/* Runs files on several threads, each file within a limit of time. Compiled code that does not return cannot be stopped inside of
 * a process: its thread is left behind with its file, another takes its place, and it ends with the process. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "tools/ssl_test/ssl_test.h"

enum { LOOK_MILLISECONDS = 50 };

typedef struct Runner Runner;

typedef struct Worker {
    Runner *runner;
    Thread *thread;
    uint32_t index; /* of the file that it runs */
    uint64_t start_ns;
    bool is_running, is_done, is_left;
} Worker;

struct Runner {
    Mutex mutex;  /* of all but the fields that never change */
    Cond changed; /* a worker is done */
    TestFile *files;
    uint32_t file_count, next_file;
    double limit_seconds;
    Worker *workers; /* [worker_count], of room for one a file and one a thread */
    uint32_t worker_count, left_count;
};

/* A worker runs its file apart from the list, which belongs to others when it is left. */
static void work(void *data)
{
    Worker *w = data;
    Runner *r = w->runner;
    mutex_lock(&r->mutex);
    while (!w->is_left && r->next_file < r->file_count) {
        w->index = r->next_file++;
        w->start_ns = clock_now_ns();
        w->is_running = true;
        TestFile file = {.path = r->files[w->index].path};
        mutex_unlock(&r->mutex);
        test_file_run(&file);
        mutex_lock(&r->mutex);
        w->is_running = false;
        if (w->is_left)
            strbuf_free(&file.out);
        else
            r->files[w->index] = file;
    }
    w->is_done = true;
    cond_signal(&r->changed);
    mutex_unlock(&r->mutex);
}

static Status add_worker(Runner *r, Error *err)
{
    Worker *w = &r->workers[r->worker_count];
    *w = (Worker){.runner = r};
    TRY(thread_create("ssl-test", 0, work, w, &w->thread, err));
    ++r->worker_count;
    return STATUS_OK;
}

/* Leaves a worker that takes too long. Without a thread in its place, the other workers run the files that remain. */
static void leave(Runner *r, Worker *w)
{
    TestFile *file = &r->files[w->index];
    w->is_left = true;
    file->failed = 1;
    file->seconds = clock_seconds_since(w->start_ns);
    strbuf_printf(&file->out,
                  "%s: error: it was not done after %g s, and was given up (--time-limit)\n",
                  file->path, r->limit_seconds);
    ++r->left_count;
    if (r->next_file < r->file_count)
        (void)add_worker(r, NULL);
}

/* Returns whether a worker that is not left goes on. */
static bool look(Runner *r)
{
    bool goes_on = false;
    for (uint32_t i = 0; i < r->worker_count; ++i) {
        Worker *w = &r->workers[i];
        bool is_late = w->is_running && !w->is_left && r->limit_seconds > 0 &&
                       clock_seconds_since(w->start_ns) > r->limit_seconds;
        if (is_late)
            leave(r, w);
        goes_on = goes_on || (!w->is_done && !w->is_left);
    }
    return goes_on;
}

/* If every thread is stuck and none could be added, files remain. */
static void give_up_rest(Runner *r)
{
    for (; r->next_file < r->file_count; ++r->next_file) {
        TestFile *file = &r->files[r->next_file];
        file->failed = 1;
        strbuf_printf(&file->out, "%s: error: no thread could be started for it\n", file->path);
    }
}

Status test_run_files(TestFile *files, uint32_t count, uint32_t threads, double limit_seconds,
                      uint32_t *out_left, Error *err)
{
    uint32_t wanted = threads ? threads : thread_cpu_count();
    wanted = wanted < count ? wanted : count;
    *out_left = 0;
    Runner *r = MEM_NEW(Runner);
    Worker *workers = MEM_ARRAY(Worker, (size_t)wanted + count);
    if (!r || !workers) {
        mem_free(r);
        mem_free(workers);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *r = (Runner){
        .files = files, .file_count = count, .limit_seconds = limit_seconds, .workers = workers};
    mutex_init(&r->mutex);
    cond_init(&r->changed);
    mutex_lock(&r->mutex);
    Status status = STATUS_OK;
    while (r->worker_count < wanted && status == STATUS_OK)
        status = add_worker(r, err);
    bool has_started = r->worker_count > 0 || count == 0;
    while (look(r))
        (void)cond_wait_for(&r->changed, &r->mutex, LOOK_MILLISECONDS);
    if (has_started)
        give_up_rest(r);
    *out_left = r->left_count;
    mutex_unlock(&r->mutex);
    if (r->left_count)
        return STATUS_OK; /* the threads that were left use the runner */
    for (uint32_t i = 0; i < r->worker_count; ++i)
        thread_join(r->workers[i].thread);
    cond_destroy(&r->changed);
    mutex_destroy(&r->mutex);
    mem_free(workers);
    mem_free(r);
    return has_started ? STATUS_OK : status;
}
