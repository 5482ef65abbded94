#include "textures/converter.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/process.h"
#include "textures/convert/convert_wire.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STALL_DEFAULT_MS = 120000, POLL_MS = 20, END_MS = 500 };

struct Converter {
    ConverterDesc desc;
    Process *process; /* owned; NULL if no process runs */
};

Status converter_create(const ConverterDesc *desc, Converter **out_converter, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->command);
    Converter *c = MEM_NEW(Converter);
    *out_converter = c;
    if (!c)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a converter");
    c->desc = *desc;
    if (c->desc.stall_ms == 0)
        c->desc.stall_ms = STALL_DEFAULT_MS;
    return STATUS_OK;
}

/* Waits for the end of the process and describes how it ended. */
static void bury(Converter *c, char out_how[96])
{
    ProcessResult result;
    out_how[0] = '\0';
    if (process_wait(c->process, END_MS, &result, NULL) == STATUS_OK) {
        process_result_describe(&result, out_how);
        process_result_free(&result);
    }
    c->process = NULL;
}

void converter_destroy(Converter *c)
{
    char how[96];
    if (!c)
        return;
    if (c->process)
        bury(c, how); /* the process ends when its input does */
    mem_free(c);
}

static bool is_cancelled(const Converter *c)
{
    return c->desc.is_cancelled && c->desc.is_cancelled(c->desc.data);
}

static Status start(Converter *c, Error *err)
{
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = c->desc.command,
                        .standard_error = PROCESS_DISCARD,
                        .memory_limit_bytes = c->desc.memory_limit_bytes,
                        .converses = true};
    return process_spawn(&desc, &c->process, err);
}

static Status send_wish(Converter *c, const ConverterWish *wish, Error *err)
{
    ConvertRequest request = {.version = CONVERT_VERSION,
                              .color_space = wish->color_space,
                              .thread_count = wish->thread_count,
                              .source_bytes = (uint32_t)strlen(wish->source_path),
                              .output_bytes = (uint32_t)strlen(wish->output_path)};
    TRY(process_send(c->process, &request, sizeof request, err));
    TRY(process_send(c->process, wish->source_path, request.source_bytes, err));
    return process_send(c->process, wish->output_path, request.output_bytes, err);
}

/* Receives the next message. Errors: STATUS_IO if the process has ended; STATUS_LIMIT if it makes no progress;
 * STATUS_CANCELLED. */
static Status next_message(const Converter *c, ConvertMessage *out, Error *err)
{
    uint64_t begin_ns = clock_now_ns();
    while (!process_has_message(c->process, POLL_MS)) {
        if (is_cancelled(c))
            return error_set(err, STATUS_CANCELLED, "cancelled");
        if (clock_now_ns() - begin_ns > (uint64_t)c->desc.stall_ms * 1000000u)
            return error_set(err, STATUS_LIMIT, "no progress");
    }
    TRY(process_receive(c->process, out, sizeof *out, c->desc.stall_ms, err));
    out->path[sizeof out->path - 1] = '\0';
    out->text[sizeof out->text - 1] = '\0';
    return STATUS_OK;
}

/* Converts the process's final message about an image to a Status. */
static Status take_result(const ConvertMessage *m, Error *err)
{
    if (m->status == STATUS_OK)
        return STATUS_OK;
    Status status = m->status <= STATUS_INTERNAL ? (Status)m->status : STATUS_FORMAT;
    return error_set_at(err, status, m->path, "%s", m->text);
}

static Status converse(Converter *c, const ConverterWish *wish, ConvertMessage *m, Error *err)
{
    TRY(send_wish(c, wish, err));
    for (;;) {
        TRY(next_message(c, m, err));
        if (m->kind == CONVERT_DONE)
            return STATUS_OK;
        if (m->kind != CONVERT_PROGRESS)
            return error_set(err, STATUS_IO, "it talks nonsense");
    }
}

Status converter_run(Converter *c, const ConverterWish *wish, Error *err)
{
    if (strlen(wish->source_path) >= PATH_BYTES || strlen(wish->output_path) >= PATH_BYTES)
        return error_set_at(err, STATUS_LIMIT, wish->source_path, "is too long a path");
    if (is_cancelled(c))
        return error_set_at(err, STATUS_CANCELLED, wish->source_path, "cancelled");
    ConvertMessage *m = MEM_NEW(ConvertMessage);
    if (!m)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a converter");
    Status status = c->process ? STATUS_OK : start(c, err);
    if (status != STATUS_OK) {
        mem_free(m);
        return status;
    }
    Error why = {0};
    status = converse(c, wish, m, &why);
    if (status == STATUS_OK) {
        status = take_result(m, err);
        mem_free(m);
        return status;
    }
    mem_free(m);
    char how[96];
    if (status == STATUS_CANCELLED)
        process_terminate(c->process); /* SIGTERM lets it remove its unfinished file */
    else if (status == STATUS_LIMIT)
        process_kill(c->process);
    bury(c, how);
    if (status == STATUS_CANCELLED)
        return error_set_at(err, STATUS_CANCELLED, wish->source_path, "cancelled");
    if (status == STATUS_LIMIT)
        return error_set_at(err, STATUS_LIMIT, wish->source_path,
                            "its conversion made no progress for %" PRIu32 " seconds",
                            c->desc.stall_ms / 1000);
    return error_set_at(err, STATUS_FORMAT, wish->source_path, "its conversion crashed (%s)", how);
}
