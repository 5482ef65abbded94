/* fork and exec, with a pipe that closes by itself when exec succeeds and carries errno when it
 * does not. Between fork and exec the child calls only what is safe after a fork in a program with
 * threads; all it needs is prepared before.
 *
 * The end of a child is noticed by its captured pipes closing, and then by waitpid. A grandchild
 * that keeps a pipe open cannot block the parent: once the child has ended, the pipes are read until
 * they are empty, and no longer.
 *
 * A child ends with its parent, however the parent ends: it holds the reading end of a pipe whose only
 * writing end belongs to the parent, and asks the kernel for SIGKILL when that end closes. The death
 * signal of prctl would be sent when the thread that made the child ends, but decoders outlive theirs. */
#define _GNU_SOURCE /* pipe2, F_SETSIG */
#include "base/process.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPTURE_DEFAULT = 1024 * 1024, POLL_MS = 10, EXEC_FAILED = 127 };

struct Process {
    pid_t pid;
    int output_fd, error_fd; /* the parent's ends; -1 if not captured, or at the end */
    int talk_fd;             /* the parent's end of a conversation; -1: none */
    int life_fd;             /* closes when the parent ends, which ends the child */
    size_t capture_max_bytes;
    Process *next; /* next in `living` */
};

/* All processes between process_spawn and the end of process_wait. */
static struct {
    Mutex mutex;
    Process *first;
} living = {.mutex = MUTEX_INIT};

static void enter_living(Process *p)
{
    mutex_lock(&living.mutex);
    p->next = living.first;
    living.first = p;
    mutex_unlock(&living.mutex);
}

static void leave_living(Process *p)
{
    mutex_lock(&living.mutex);
    Process **at = &living.first;
    while (*at && *at != p)
        at = &(*at)->next;
    if (*at)
        *at = p->next;
    mutex_unlock(&living.mutex);
}

void process_kill_all(void)
{
    mutex_lock(&living.mutex);
    for (const Process *p = living.first; p; p = p->next)
        (void)kill(p->pid, SIGKILL);
    mutex_unlock(&living.mutex);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void close_pipe(int ends[2])
{
    close_fd(&ends[0]);
    close_fd(&ends[1]);
}

/* Runs in the child. Returns true if the parent is alive and the kernel will kill the child with it. */
static bool tie_to_parent(int life[2])
{
    (void)close(life[1]);
    struct pollfd set = {.fd = life[0]};
    return fcntl(life[0], F_SETFD, 0) == 0 && fcntl(life[0], F_SETOWN, getpid()) == 0 &&
           fcntl(life[0], F_SETSIG, SIGKILL) == 0 &&
           fcntl(life[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
           poll(&set, 1, 0) == 0; /* otherwise the parent ended before the signal was requested */
}

/* Runs in the child and makes only calls that are safe there; all else was prepared. Does not return. */
static void run_child(const ProcessDesc *desc, int input_fd, int output_fd, int error_fd,
                      int report_fd, int life[2])
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    bool is_ready = tie_to_parent(life) && dup2(input_fd, STDIN_FILENO) >= 0 &&
                    (output_fd < 0 || dup2(output_fd, STDOUT_FILENO) >= 0) &&
                    (error_fd < 0 || dup2(error_fd, STDERR_FILENO) >= 0);
    if (is_ready && desc->memory_limit_bytes > 0) {
        struct rlimit limit = {desc->memory_limit_bytes, desc->memory_limit_bytes};
        is_ready = setrlimit(RLIMIT_AS, &limit) == 0;
    }
    if (is_ready) {
        /* execvp takes pointers to non-const only for historical reasons. */
        union {
            const char *const *given;
            char *const *wanted;
        } argv = {.given = desc->argv};
        (void)execvp(argv.wanted[0], argv.wanted);
    }
    int reason = errno;
    (void)!write(report_fd, &reason, sizeof reason);
    _exit(EXEC_FAILED);
}

/* Returns the descriptor for a stream of the child: the pipe, the null device, or -1 to inherit the parent's. */
static int child_end(ProcessStream stream, const int pipe_ends[2], int null_fd)
{
    return stream == PROCESS_CAPTURE ? pipe_ends[1] : stream == PROCESS_DISCARD ? null_fd : -1;
}

static bool open_pipe(ProcessStream stream, int ends[2])
{
    return stream != PROCESS_CAPTURE || pipe2(ends, O_CLOEXEC) == 0;
}

/* Returns 0, or the errno of a child that could not exec. */
static int read_report(int fd)
{
    int reason = 0;
    ssize_t got;
    do
        got = read(fd, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof reason ? reason : 0;
}

static Status fail_spawn(const ProcessDesc *desc, int reason, Error *err)
{
    Status code = reason == ENOENT   ? STATUS_NOT_FOUND
                  : reason == ENOMEM ? STATUS_NO_MEMORY
                                     : STATUS_IO;
    return error_set_at(err, code, desc->argv[0], "cannot run it: %s", strerror(reason));
}

Status process_spawn(const ProcessDesc *desc, Process **out_process, Error *err)
{
    *out_process = NULL;
    CHECK(desc->size_bytes == sizeof(ProcessDesc) && desc->argv && desc->argv[0]);
    CHECK(!desc->converses || desc->standard_output == PROCESS_INHERIT);
    int output[2] = {-1, -1}, errors[2] = {-1, -1}, report[2] = {-1, -1}, talk[2] = {-1, -1};
    int life[2] = {-1, -1};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    Process *p = MEM_NEW(Process);
    Status status = STATUS_OK;
    if (!p) {
        status = error_set(err, STATUS_NO_MEMORY, "out of memory for a process");
    } else if (null_fd < 0 || !open_pipe(desc->standard_output, output) ||
               !open_pipe(desc->standard_error, errors) || pipe2(report, O_CLOEXEC) != 0 ||
               pipe2(life, O_CLOEXEC) != 0 ||
               (desc->converses && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) != 0)) {
        status = fail_spawn(desc, errno, err);
    } else {
        pid_t pid = fork();
        if (pid == 0)
            run_child(desc, desc->converses ? talk[1] : null_fd,
                      desc->converses ? talk[1] : child_end(desc->standard_output, output, null_fd),
                      child_end(desc->standard_error, errors, null_fd), report[1], life);
        int reason = pid < 0 ? errno : 0;
        close_fd(&report[1]); /* otherwise the read below would not end */
        if (pid > 0 && (reason = read_report(report[0])) != 0)
            (void)waitpid(pid, NULL, 0);
        if (reason != 0)
            status = fail_spawn(desc, reason, err);
        p->pid = pid;
    }
    close_pipe(report);
    close_fd(&output[1]);
    close_fd(&errors[1]);
    close_fd(&talk[1]);
    close_fd(&life[0]);
    close_fd(&null_fd);
    if (status != STATUS_OK) {
        close_fd(&output[0]);
        close_fd(&errors[0]);
        close_fd(&talk[0]);
        close_fd(&life[1]);
        mem_free(p);
        return status;
    }
    p->output_fd = output[0];
    p->error_fd = errors[0];
    p->talk_fd = talk[0];
    p->life_fd = life[1];
    p->capture_max_bytes = desc->capture_max_bytes ? desc->capture_max_bytes : CAPTURE_DEFAULT;
    enter_living(p);
    *out_process = p;
    return STATUS_OK;
}

/* Reads once. Closes the descriptor at the end of the stream or when it breaks. */
static void read_stream(int *fd, size_t max_bytes, StrBuf *text, bool *is_cut)
{
    char buffer[16384];
    ssize_t got = read(*fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        close_fd(fd);
        return;
    }
    size_t room = max_bytes - text->size_bytes;
    size_t kept = (size_t)got < room ? (size_t)got : room;
    if (kept < (size_t)got)
        *is_cut = true;
    strbuf_append(text, (Str){buffer, kept});
}

/* Waits up to wait_ms for output and reads what is available. Returns false if there was nothing. */
static bool read_streams(Process *p, int wait_ms, ProcessResult *result)
{
    struct pollfd set[2] = {{.fd = p->output_fd, .events = POLLIN},
                            {.fd = p->error_fd, .events = POLLIN}};
    bool is_cut = false;
    if (poll(set, 2, wait_ms) <= 0) /* poll skips negative descriptors */
        return false;
    if (p->output_fd >= 0 && set[0].revents)
        read_stream(&p->output_fd, p->capture_max_bytes, &result->output, &is_cut);
    if (p->error_fd >= 0 && set[1].revents)
        read_stream(&p->error_fd, p->capture_max_bytes, &result->errors, &is_cut);
    result->is_output_cut |= is_cut;
    return true;
}

static void set_end(ProcessResult *result, int wait_status)
{
    result->has_exited = WIFEXITED(wait_status);
    result->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    result->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

Status process_wait(Process *p, uint32_t timeout_ms, ProcessResult *out_result, Error *err)
{
    *out_result = (ProcessResult){0};
    close_fd(&p->talk_fd); /* gives the child the end of its input */
    uint64_t start_ns = clock_now_ns();
    uint64_t limit_ns = timeout_ms ? (uint64_t)timeout_ms * 1000000u : UINT64_MAX;
    Status status = STATUS_OK;
    for (;;) {
        int wait_status;
        siginfo_t info = {0};
        pid_t ended = 0;
        /* The process leaves the list before its number can be reused for another process. */
        if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == p->pid) {
            leave_living(p);
            ended = waitpid(p->pid, &wait_status, WNOHANG);
        }
        if (ended > 0) {
            set_end(out_result, wait_status);
            break;
        }
        if (ended < 0 && errno != EINTR) {
            status = error_set(err, STATUS_IO, "cannot wait for a process: %s", strerror(errno));
            break;
        }
        if (!out_result->has_timed_out && clock_now_ns() - start_ns >= limit_ns) {
            out_result->has_timed_out = true;
            (void)kill(p->pid, SIGKILL);
        }
        (void)read_streams(p, POLL_MS, out_result);
    }
    while ((p->output_fd >= 0 || p->error_fd >= 0) && read_streams(p, 0, out_result))
        continue;
    close_fd(&p->output_fd);
    close_fd(&p->error_fd);
    close_fd(&p->life_fd);
    mem_free(p);
    if (status == STATUS_OK && (out_result->output.failed || out_result->errors.failed))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory for the output of a process");
    if (status != STATUS_OK)
        process_result_free(out_result);
    return status;
}

void process_terminate(Process *p)
{
    (void)kill(p->pid, SIGTERM);
}

void process_kill(Process *p)
{
    (void)kill(p->pid, SIGKILL);
}

/* --- conversation ------------------------------------------------------------------------- */

static Status conversation_over(Error *err)
{
    return error_set(err, STATUS_IO, "the child process has ended");
}

Status process_send(Process *p, const void *data, size_t size_bytes, Error *err)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t sent = send(p->talk_fd, at, size_bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return conversation_over(err);
        at += sent;
        size_bytes -= (size_t)sent;
    }
    return STATUS_OK;
}

bool process_has_message(Process *p, uint32_t wait_ms)
{
    struct pollfd set = {.fd = p->talk_fd, .events = POLLIN};
    return poll(&set, 1, (int)wait_ms) > 0;
}

/* Returns STATUS_OK if there is something to read, or the end. */
static Status await_message(const Process *p, uint64_t deadline_ns, Error *err)
{
    for (;;) {
        int wait_ms = -1;
        if (deadline_ns != UINT64_MAX) {
            uint64_t now_ns = clock_now_ns();
            if (now_ns >= deadline_ns)
                return error_set(err, STATUS_LIMIT, "the child process does not answer");
            wait_ms = (int)((deadline_ns - now_ns) / 1000000u) + 1;
        }
        struct pollfd set = {.fd = p->talk_fd, .events = POLLIN};
        if (poll(&set, 1, wait_ms) > 0)
            return STATUS_OK;
    }
}

Status process_receive(Process *p, void *out_data, size_t size_bytes, uint32_t timeout_ms,
                       Error *err)
{
    char *at = out_data;
    uint64_t deadline_ns =
        timeout_ms ? clock_now_ns() + (uint64_t)timeout_ms * 1000000u : UINT64_MAX;
    while (size_bytes > 0) {
        TRY(await_message(p, deadline_ns, err));
        ssize_t got = recv(p->talk_fd, at, size_bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return conversation_over(err);
        at += got;
        size_bytes -= (size_t)got;
    }
    return STATUS_OK;
}

bool process_receive_from_parent(void *out_data, size_t size_bytes)
{
    char *at = out_data;
    while (size_bytes > 0) {
        ssize_t got = read(STDIN_FILENO, at, size_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size_bytes -= (size_t)got;
    }
    return true;
}

bool process_send_to_parent(const void *data, size_t size_bytes)
{
    const char *at = data;
    while (size_bytes > 0) {
        ssize_t put = write(STDOUT_FILENO, at, size_bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        size_bytes -= (size_t)put;
    }
    return true;
}

Status process_run(const ProcessDesc *desc, uint32_t timeout_ms, ProcessResult *out_result,
                   Error *err)
{
    Process *p;
    *out_result = (ProcessResult){0};
    TRY(process_spawn(desc, &p, err));
    return process_wait(p, timeout_ms, out_result, err);
}

void process_result_free(ProcessResult *result)
{
    strbuf_free(&result->output);
    strbuf_free(&result->errors);
    *result = (ProcessResult){0};
}

const char *process_result_describe(const ProcessResult *result, char out[96])
{
    if (result->has_timed_out)
        (void)snprintf(out, 96, "timed out");
    else if (result->has_exited)
        (void)snprintf(out, 96, "exit code %d", result->exit_code);
    else
        (void)snprintf(out, 96, "killed by signal %d (%s)", result->signal,
                       strsignal(result->signal));
    return out;
}

Status process_executable_path(char out_path[PATH_BYTES], Error *err)
{
    ssize_t length = readlink("/proc/self/exe", out_path, PATH_BYTES - 1);
    if (length < 0) {
        out_path[0] = '\0';
        return error_set_at(err, STATUS_IO, "/proc/self/exe", "%s", strerror(errno));
    }
    out_path[length] = '\0';
    return STATUS_OK;
}
