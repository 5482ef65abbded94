#include "tools/sort_render/serve_input.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "tools/sort_render/command_line.h"
#include "tools/sort_render/interrupt.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 };

struct ServeInput {
    Thread *thread;
    StrBuf line;      /* the reader's: what has arrived of a line */
    bool is_too_long; /* the reader's: the line is dropped up to its end */
    _Atomic bool stop;

    Mutex lock;
    Cond arrived;
    ServeCommand *first, *last; /* guarded by lock, as all below */
    uint32_t waiting_count;
    bool is_rendering, is_idle, is_over;
};

/* Under the lock. */
static void append(ServeInput *in, ServeCommand *c)
{
    if (in->last)
        in->last->next = c;
    else
        in->first = c;
    in->last = c;
    ++in->waiting_count;
}

/* Under the lock: renders that were asked for until now shall not be. */
static void stop_renders(ServeInput *in)
{
    for (ServeCommand *c = in->first; c; c = c->next)
        c->is_stopped = c->is_stopped || c->kind == SERVE_RENDER;
    if (in->is_rendering)
        atomic_store(&in->stop, true);
}

/* Returns whether commands may follow. */
static bool arrive(ServeInput *in, ServeCommand *c)
{
    bool is_last = c->kind == SERVE_QUIT;
    mutex_lock(&in->lock);
    if (c->kind == SERVE_STOP)
        stop_renders(in);
    if (in->waiting_count >= SERVE_WAITING_MAX &&
        (c->kind == SERVE_LOAD || c->kind == SERVE_RENDER)) {
        c->kind = SERVE_MISTAKE;
        (void)error_set(&c->error, STATUS_LIMIT, "%d commands are waiting already",
                        SERVE_WAITING_MAX);
    }
    bool is_flood = !is_last && in->waiting_count >= 2 * SERVE_WAITING_MAX;
    if (!is_flood)
        append(in, c);
    in->is_over = is_last;
    cond_signal(&in->arrived);
    mutex_unlock(&in->lock);
    if (is_flood)
        serve_command_destroy(c);
    return !is_last;
}

/* A line has ended. Returns whether more may follow. */
static bool take_line(ServeInput *in)
{
    Error reason = {0};
    bool goes_on = true;
    size_t blank = strspn(strbuf_text(&in->line), " \t\r");
    if (in->line.failed)
        (void)error_set(&reason, STATUS_NO_MEMORY, "no memory for a command");
    if (in->is_too_long)
        (void)error_set(&reason, STATUS_LIMIT, "a command is longer than %d bytes",
                        SERVE_LINE_BYTES_MAX);
    ServeCommand *c = NULL;
    if (reason.code != STATUS_OK)
        c = serve_command_mistake(&reason);
    else if (in->line.size_bytes > blank)
        c = serve_command_read((Str){in->line.data, in->line.size_bytes});
    if (c)
        goes_on = arrive(in, c);
    if (in->line.capacity_bytes > READ_BYTES || in->line.failed)
        strbuf_free(&in->line);
    else
        strbuf_clear(&in->line);
    in->is_too_long = false;
    return goes_on;
}

/* Returns whether more may follow. */
static bool take_bytes(ServeInput *in, const char *data, size_t size_bytes)
{
    while (size_bytes > 0) {
        const char *end = memchr(data, '\n', size_bytes);
        size_t part = end ? (size_t)(end - data) : size_bytes;
        in->is_too_long = in->is_too_long || in->line.size_bytes + part > SERVE_LINE_BYTES_MAX;
        if (!in->is_too_long)
            strbuf_append(&in->line, (Str){data, part});
        if (end && !take_line(in))
            return false;
        part += end != NULL;
        data += part;
        size_bytes -= part;
    }
    return true;
}

static void read_input(void *data)
{
    ServeInput *in = data;
    char bytes[READ_BYTES];
    for (;;) {
        ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            Error err = {0};
            (void)error_set(&err, STATUS_IO, "standard input cannot be read: %s", strerror(errno));
            interrupt_end(tool_fail(&err, EXIT_FAILED));
        }
        if (count == 0)
            break;
        if (!take_bytes(in, bytes, (size_t)count))
            return;
    }
    mutex_lock(&in->lock);
    bool is_idle = in->is_idle && !in->first;
    mutex_unlock(&in->lock);
    interrupt_end(is_idle ? EXIT_DONE : EXIT_INTERRUPTED);
}

Status serve_input_start(ServeInput **out_input, Error *err)
{
    ServeInput *in = MEM_NEW(ServeInput);
    *out_input = NULL;
    if (!in)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    in->is_idle = true;
    mutex_init(&in->lock);
    cond_init(&in->arrived);
    Status status = thread_create("input", 0, read_input, in, &in->thread, err);
    if (status != STATUS_OK) {
        mem_free(in);
        return status;
    }
    *out_input = in;
    return STATUS_OK;
}

ServeCommand *serve_input_take(ServeInput *in)
{
    mutex_lock(&in->lock);
    in->is_rendering = false;
    in->is_idle = true;
    while (!in->first)
        cond_wait(&in->arrived, &in->lock);
    ServeCommand *c = in->first;
    in->first = c->next;
    in->last = in->first ? in->last : NULL;
    --in->waiting_count;
    in->is_idle = false;
    in->is_rendering = c->kind == SERVE_RENDER;
    atomic_store(&in->stop, false);
    ASSERT(c->kind != SERVE_QUIT || !in->first);
    mutex_unlock(&in->lock);
    return c;
}

const _Atomic bool *serve_input_stop(const ServeInput *in)
{
    return &in->stop;
}

void serve_input_destroy(ServeInput *in)
{
    ASSERT(in->is_over && !in->first);
    thread_join(in->thread);
    strbuf_free(&in->line);
    cond_destroy(&in->arrived);
    mutex_destroy(&in->lock);
    mem_free(in);
}
