#include "textures/convert/decode_client.h"
#include "base/check.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

void decode_pool_init(DecodePool *p, const char *const *command, uint32_t limit)
{
    *p = (DecodePool){.command = command, .limit = limit < DECODERS_MAX ? limit : DECODERS_MAX};
    mutex_init(&p->lock);
    cond_init(&p->changed);
}

/* Waits for the end of a process and describes how it ended. */
static void bury(Process *process, char out_how[96])
{
    ProcessResult result;
    if (process_wait(process, 1000, &result, NULL) == STATUS_OK) {
        process_result_describe(&result, out_how);
        process_result_free(&result);
    } else {
        out_how[0] = '\0';
    }
}

void decode_pool_destroy(DecodePool *p)
{
    char how[96];
    for (uint32_t i = 0; i < p->idle_count; ++i)
        bury(p->idle[i], how); /* the process ends when its input does */
    mutex_destroy(&p->lock);
    cond_destroy(&p->changed);
}

static Status start(const DecodePool *p, Process **out_process, Error *err)
{
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = p->command,
                        .standard_error = PROCESS_DISCARD,
                        .converses = true};
    return process_spawn(&desc, out_process, err);
}

/* Takes an idle process, or starts one if the limit allows. */
static Status take(DecodePool *p, Process **out_process, Error *err)
{
    mutex_lock(&p->lock);
    while (p->idle_count == 0 && p->started == p->limit)
        cond_wait(&p->changed, &p->lock);
    Process *process = p->idle_count > 0 ? p->idle[--p->idle_count] : NULL;
    p->started += process == NULL;
    mutex_unlock(&p->lock);
    Status status = process ? STATUS_OK : start(p, &process, err);
    if (status != STATUS_OK) {
        mutex_lock(&p->lock);
        --p->started;
        cond_signal(&p->changed);
        mutex_unlock(&p->lock);
    }
    *out_process = process;
    return status;
}

/* Returns a process to the pool; NULL if it has ended. */
static void give_back(DecodePool *p, Process *process)
{
    mutex_lock(&p->lock);
    ASSERT(p->started > 0 && p->idle_count < p->started);
    if (process)
        p->idle[p->idle_count++] = process;
    else
        --p->started;
    cond_signal(&p->changed);
    mutex_unlock(&p->lock);
}

/* Sends one request and receives its answer with up to `bytes` of texels or a DecodeFile. A failure of the
 * conversation is reported in the form of a decoder's answer. */
static DecodeAnswer converse(DecodePool *p, DecodeRequest *request, const char *path,
                             void *out_data, size_t bytes)
{
    DecodeAnswer answer = {.result = DECODE_FAILED};
    Process *process;
    Error err = {0};
    if (take(p, &process, &err) != STATUS_OK) {
        snprintf(answer.text, sizeof answer.text, "no decoder can be started: %.100s", err.text);
        return answer;
    }
    request->version = DECODE_VERSION;
    request->path_bytes = (uint32_t)strlen(path);
    Status status = process_send(process, request, sizeof *request, &err);
    if (status == STATUS_OK)
        status = process_send(process, path, request->path_bytes, &err);
    if (status == STATUS_OK)
        status = process_receive(process, &answer, sizeof answer, DECODE_TIMEOUT_MS, &err);
    bool is_sound = status == STATUS_OK && answer.result <= DECODE_FAILED &&
                    answer.bytes == (answer.result == DECODE_OK ? bytes : 0);
    if (is_sound && answer.bytes > 0) {
        status = process_receive(process, out_data, bytes, DECODE_TIMEOUT_MS, &err);
        is_sound = status == STATUS_OK;
    }
    if (is_sound) {
        answer.text[sizeof answer.text - 1] = '\0';
        give_back(p, process);
        return answer;
    }
    char how[96];
    if (status != STATUS_IO) /* the process has not ended by itself */
        process_kill(process);
    bury(process, how);
    give_back(p, NULL);
    answer = (DecodeAnswer){.result = DECODE_FAILED};
    snprintf(answer.text, sizeof answer.text, "the decoder process failed (%s)",
             status == STATUS_LIMIT ? "it did not answer" : how);
    return answer;
}

Status decode_describe(DecodePool *p, const char *path, DecodeFile *out_file, Error *err)
{
    if (!p->command)
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "is no paged texture, and there is no decoder for others");
    if (strlen(path) >= PATH_BYTES)
        return error_set_at(err, STATUS_LIMIT, path, "is too long a path");
    DecodeRequest request = {.kind = DECODE_DESCRIBE};
    DecodeAnswer answer = converse(p, &request, path, out_file, sizeof *out_file);
    switch ((DecodeResult)answer.result) {
    case DECODE_OK:
        break;
    case DECODE_NO_FILE:
        return error_set_at(err, answer.error_number == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path,
                            "%s", strerror(answer.error_number));
    case DECODE_REFUSED:
        return error_set_at(err, STATUS_UNSUPPORTED, path, "%s", answer.text);
    case DECODE_REPLACED:
    case DECODE_FAILED:
        return error_set_at(err, STATUS_FORMAT, path, "%s", answer.text);
    }
    const SortLevelInfo *info = &out_file->info;
    bool is_sound = info->channel_count >= 1 && info->channel_count <= 4 &&
                    (uint32_t)info->type <= SORT_TEXEL_FLOAT && info->level_count >= 1 &&
                    info->level_count <= TEX_MAX_LEVELS;
    for (uint32_t i = 0; is_sound && i < info->level_count; ++i)
        is_sound = out_file->widths[i] > 0 && out_file->heights[i] > 0;
    if (!is_sound)
        return error_set_at(err, STATUS_FORMAT, path, "the decoder describes it inconsistently");
    return STATUS_OK;
}

bool decode_read(DecodePool *p, const char *path, const StexStamp *stamp,
                 const DecodeRegion *region, void *out_texels, size_t bytes,
                 TileFailure *out_failure)
{
    DecodeRequest request = {.kind = DECODE_READ,
                             .level = region->level,
                             .x = region->x,
                             .y = region->y,
                             .width = region->width,
                             .height = region->height,
                             .stamp = *stamp};
    DecodeAnswer answer = converse(p, &request, path, out_texels, bytes);
    switch ((DecodeResult)answer.result) {
    case DECODE_OK:
        return true;
    case DECODE_NO_FILE:
        *out_failure = (TileFailure){.fault = TILE_FAULT_OPEN, .error_number = answer.error_number};
        return false;
    case DECODE_REPLACED:
        *out_failure = (TileFailure){.fault = TILE_FAULT_REPLACED};
        return false;
    case DECODE_REFUSED:
    case DECODE_FAILED:
        break;
    }
    *out_failure = (TileFailure){.fault = TILE_FAULT_DECODER};
    memcpy(out_failure->text, answer.text, sizeof out_failure->text);
    return false;
}
