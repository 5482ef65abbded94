/* Child processes: foreign files are decoded and imported there, since those libraries can crash
 * or exhaust memory, and the renderer must not. No shell is involved. Any thread, one thread a Process. Children
 * are killed (SIGKILL) when this process ends, however it does. */
#ifndef SORT_BASE_PROCESS_H
#define SORT_BASE_PROCESS_H

#include "base/error.h"
#include "base/path.h"
#include "base/str.h"

typedef struct Process Process;

typedef enum ProcessStream {
    PROCESS_INHERIT, /* inherits the parent's stream */
    PROCESS_CAPTURE, /* kept, up to capture_max_bytes; the rest is read and dropped */
    PROCESS_DISCARD
} ProcessStream;

typedef struct ProcessDesc {
    size_t size_bytes;       /* sizeof(ProcessDesc) */
    const char *const *argv; /* NULL-terminated; argv[0] is a path, or a name looked up in PATH */
    ProcessStream standard_output, standard_error; /* standard input is empty */
    size_t capture_max_bytes;                      /* limit for each stream; 0: 1 MiB */
    uint64_t memory_limit_bytes;                   /* limit of the child's address space; 0: none */
    /* The child's standard input and output are a conversation with the parent: process_send, process_receive.
     * standard_output must be PROCESS_INHERIT then. When the parent ends, the child reads the end of its input. */
    bool converses;
} ProcessDesc;

typedef struct ProcessResult {
    bool has_exited; /* the child exited and exit_code is valid; otherwise `signal` ended it */
    int exit_code, signal;
    bool has_timed_out;    /* it was killed because the time was up */
    StrBuf output, errors; /* the captured output; NUL-terminated, any bytes */
    bool is_output_cut;    /* the output exceeded capture_max_bytes */
} ProcessResult;

/* Starts a child. A program that cannot be executed is reported here. On success *out_process is the caller's
 * (process_wait). Errors: STATUS_NOT_FOUND, STATUS_IO, STATUS_NO_MEMORY. */
Status process_spawn(const ProcessDesc *desc, Process **out_process, Error *err) SORT_MUST_CHECK;
/* Waits for the child's end, reading the captured streams meanwhile, and frees the Process in any case.
 * timeout_ms 0: no limit; after it the child is killed (SIGKILL). A child that fails is not an error of this
 * call: see the result, which process_result_free releases (on error it is empty). */
Status process_wait(Process *p, uint32_t timeout_ms, ProcessResult *out_result,
                    Error *err) SORT_MUST_CHECK;
/* Requests the child to end (SIGTERM); process_wait is still required. */
void process_terminate(Process *p);
void process_kill(Process *p); /* sends SIGKILL; process_wait is still required */
/* Kills all children of this process (SIGKILL), before it ends by itself; process_wait is still required. */
void process_kill_all(void);

/* Send or receive a whole message, in a conversation with a child. Errors: STATUS_IO if the child has ended or
 * closed its end; STATUS_LIMIT after timeout_ms (0: no limit). After an error the conversation cannot continue. */
Status process_send(Process *p, const void *data, size_t size_bytes, Error *err) SORT_MUST_CHECK;
Status process_receive(Process *p, void *out_data, size_t size_bytes, uint32_t timeout_ms,
                       Error *err) SORT_MUST_CHECK;
/* Returns whether there is something to receive, or the end; waits up to wait_ms for it. */
bool process_has_message(Process *p, uint32_t wait_ms);
/* The child's side of a conversation, on its standard input and output, in whole messages. Both return false if
 * the other end is closed. One thread at a time in each direction. */
bool process_receive_from_parent(void *out_data, size_t size_bytes) SORT_MUST_CHECK;
bool process_send_to_parent(const void *data, size_t size_bytes) SORT_MUST_CHECK;
/* Spawns a child and waits for it. */
Status process_run(const ProcessDesc *desc, uint32_t timeout_ms, ProcessResult *out_result,
                   Error *err) SORT_MUST_CHECK;
void process_result_free(ProcessResult *result);
/* Describes the end of a child: "exit code 3", "killed by signal 11 (Segmentation fault)", "timed out". Returns
 * `out`. */
const char *process_result_describe(const ProcessResult *result, char out[96]);

/* Returns the absolute path of the running program, relative to which its siblings and plugins are found. */
Status process_executable_path(char out_path[PATH_BYTES], Error *err) SORT_MUST_CHECK;

#endif
