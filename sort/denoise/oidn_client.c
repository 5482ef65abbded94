#include "sort/denoise/oidn_client.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "plugins/denoise_protocol.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program_name[] = "sort_denoiser_oidn";

/* --- the program ------------------------------------------------------------------------------ */

static bool is_in(const char *folder, char out_path[PATH_BYTES])
{
    return path_join(folder, program_name, out_path, NULL) == STATUS_OK && file_exists(out_path);
}

static bool is_in_environment(char out_path[PATH_BYTES])
{
    const char *at = getenv("SORT_PLUGIN_PATH");
    while (at && *at) {
        char folder[PATH_BYTES];
        size_t size = strcspn(at, ":");
        if (size > 0 && size < sizeof folder) {
            memcpy(folder, at, size);
            folder[size] = '\0';
            if (is_in(folder, out_path))
                return true;
        }
        at += size + (at[size] == ':');
    }
    return false;
}

static Status find_program(const OidnInput *in, char out_path[PATH_BYTES], Error *err)
{
    char self[PATH_BYTES], folder[PATH_BYTES];
    for (uint32_t i = 0; i < in->plugin_folder_count; ++i)
        if (is_in(in->plugin_folders[i], out_path))
            return STATUS_OK;
    if (is_in_environment(out_path))
        return STATUS_OK;
    TRY(process_executable_path(self, err));
    Str own = path_dirname(self);
    int length = snprintf(folder, sizeof folder, "%.*s/../lib/sort-renderer", STR_ARG(own));
    if (length < (int)sizeof folder && is_in(folder, out_path))
        return STATUS_OK;
    return error_set(err, STATUS_NOT_FOUND, "the program %s is not there; it belongs to %s",
                     program_name, folder);
}

/* --- the picture ------------------------------------------------------------------------------ */

/* Values beyond this are cut: networks may compute in half floats. The picture is scaled so that its mean is near 1. */
#define VALUE_MAX 65504.0f

static bool is_finite_pixel(const float *rgba)
{
    return isfinite(rgba[0]) && isfinite(rgba[1]) && isfinite(rgba[2]);
}

/* Returns the power of two that the picture is multiplied by. */
static float scale_of(const float *rgba, size_t count)
{
    double sum = 0.0;
    size_t finite = 0;
    for (size_t i = 0; i < count; ++i)
        if (is_finite_pixel(rgba + 4 * i)) {
            ++finite;
            for (int c = 0; c < 3; ++c)
                sum += fabs((double)rgba[4 * i + c]) / 3.0;
        }
    if (finite == 0 || !(sum > 0.0))
        return 1.0f;
    int exponent;
    (void)frexp(sum / (double)finite, &exponent);
    exponent = exponent > 120 ? 120 : exponent < -120 ? -120 : exponent;
    return ldexpf(1.0f, -exponent);
}

static float clamp_value(float value)
{
    return fminf(fmaxf(value, -VALUE_MAX), VALUE_MAX);
}

static void take_picture(const float *rgba, size_t count, float scale, float *out_rgb)
{
    for (size_t i = 0; i < count; ++i)
        for (int c = 0; c < 3; ++c)
            out_rgb[3 * i + c] =
                is_finite_pixel(rgba + 4 * i) ? clamp_value(rgba[4 * i + c] * scale) : 0.0f;
}

static void take_guide(const float *guide, size_t count, float least, float *out)
{
    for (size_t i = 0; i < 3 * count; ++i)
        out[i] = isfinite(guide[i]) ? fminf(fmaxf(guide[i], least), 1.0f) : 0.0f;
}

static Status put_picture(const float *rgb, size_t count, float scale, float *rgba, Error *err)
{
    for (size_t i = 0; i < count; ++i)
        if (!is_finite_pixel((const float[3]){rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]}))
            return error_set(err, STATUS_UNSUPPORTED,
                             "Open Image Denoise gave numbers that are not finite");
    for (size_t i = 0; i < count; ++i) {
        if (!is_finite_pixel(rgba + 4 * i))
            continue;
        for (int c = 0; c < 3; ++c)
            rgba[4 * i + c] = rgb[3 * i + c] / scale;
    }
    return STATUS_OK;
}

/* --- the conversation ------------------------------------------------------------------------- */

typedef struct Talk {
    Process *process;
    float *rgb; /* owned: what is sent, and comes back */
    size_t count;
    uint32_t timeout_ms;
} Talk;

static Status send_guide(const Talk *t, const float *guide, float least, Error *err)
{
    if (!guide)
        return STATUS_OK;
    take_guide(guide, t->count, least, t->rgb);
    return process_send(t->process, t->rgb, 3 * t->count * sizeof *t->rgb, err);
}

static Status send_request(const Talk *t, const OidnInput *in, const float *rgba, float scale,
                           Error *err)
{
    DenoiseRequest request = {.magic = DENOISE_MAGIC,
                              .width = in->width,
                              .height = in->height,
                              .thread_count = in->thread_count,
                              .has_albedo = in->albedo != NULL,
                              .has_normal = in->normal != NULL};
    if (in->oidn_path && strlen(in->oidn_path) >= sizeof request.oidn_path)
        return error_set(err, STATUS_LIMIT, "the library's path is too long");
    (void)snprintf(request.oidn_path, sizeof request.oidn_path, "%s",
                   in->oidn_path ? in->oidn_path : "");
    TRY(process_send(t->process, &request, sizeof request, err));
    take_picture(rgba, t->count, scale, t->rgb);
    TRY(process_send(t->process, t->rgb, 3 * t->count * sizeof *t->rgb, err));
    TRY(send_guide(t, in->albedo, 0.0f, err));
    return send_guide(t, in->normal, -1.0f, err);
}

static Status receive_reply(const Talk *t, Error *err)
{
    DenoiseReply reply;
    TRY(process_receive(t->process, &reply, sizeof reply, t->timeout_ms, err));
    if (reply.magic != DENOISE_MAGIC || !memchr(reply.text, 0, sizeof reply.text))
        return error_set(err, STATUS_FORMAT, "its answer makes no sense");
    if (!reply.is_done)
        return error_set(err, STATUS_UNSUPPORTED, "%s", reply.text);
    return process_receive(t->process, t->rgb, 3 * t->count * sizeof *t->rgb, t->timeout_ms, err);
}

/* Ends the child, and says what became of it where the conversation broke off. */
static Status end_child(Talk *t, Status status, Error *err)
{
    char how[96];
    ProcessResult result;
    if (status != STATUS_OK)
        process_kill(t->process);
    Status waited = process_wait(t->process, 10000, &result, status == STATUS_OK ? err : NULL);
    if (status == STATUS_LIMIT)
        (void)error_set(err, status, "the denoising process did not answer in %u s and was ended",
                        t->timeout_ms / 1000);
    else if (status == STATUS_IO || status == STATUS_FORMAT)
        status =
            error_set(err, STATUS_INTERNAL, "the denoising process failed: %s",
                      waited == STATUS_OK ? process_result_describe(&result, how) : "it is gone");
    process_result_free(&result);
    return status != STATUS_OK ? status : waited;
}

static uint32_t default_timeout_ms(size_t count)
{
    return 120000u + (uint32_t)(count / 1000u * 30u);
}

Status oidn_denoise(const OidnInput *in, float *rgba, Error *err)
{
    char program[PATH_BYTES];
    Talk talk = {.count = (size_t)in->width * in->height};
    ASSERT(in->size_bytes == sizeof *in && talk.count > 0);
    TRY(find_program(in, program, err));
    talk.timeout_ms = in->timeout_ms ? in->timeout_ms : default_timeout_ms(talk.count);
    talk.rgb = mem_alloc(talk.count, 3 * sizeof *talk.rgb);
    if (!talk.rgb)
        return error_set(err, STATUS_NO_MEMORY, "no memory to denoise %u x %u pixels", in->width,
                         in->height);
    const char *const argv[] = {program, NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc, .argv = argv, .converses = true};
    float scale = scale_of(rgba, talk.count);
    Status status = process_spawn(&desc, &talk.process, err);
    if (status == STATUS_OK) {
        status = send_request(&talk, in, rgba, scale, err);
        if (status == STATUS_OK)
            status = receive_reply(&talk, err);
        status = end_child(&talk, status, err);
    }
    if (status == STATUS_OK)
        status = put_picture(talk.rgb, talk.count, scale, rgba, err);
    mem_free(talk.rgb);
    return status;
}
