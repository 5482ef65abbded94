/* The program that denoises by Open Image Denoise, as the renderer asks it to (denoise_protocol.h). */
#include "plugins/denoise_protocol.h"
#include "plugins/oidn/oidn_library.h"
#include "plugins/plugin_check.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The pictures of a request; owned. */
typedef struct Job {
    DenoiseRequest request;
    size_t bytes; /* of a picture */
    float *color, *albedo, *normal, *result;
} Job;

/* A picture of a sound request has no more; static analysis does not see that. */
#define BYTES_MAX ((size_t)DENOISE_SIDE_MAX * DENOISE_SIDE_MAX * 3 * sizeof(float))

/* Returns false at the end of the input. */
static bool take(void *data, size_t size_bytes)
{
    return fread(data, size_bytes, 1, stdin) == 1;
}

static bool is_sound(const DenoiseRequest *r)
{
    return r->magic == DENOISE_MAGIC && r->width > 0 && r->height > 0 &&
           r->width <= DENOISE_SIDE_MAX && r->height <= DENOISE_SIDE_MAX && r->has_albedo <= 1 &&
           r->has_normal <= 1 && memchr(r->oidn_path, 0, sizeof r->oidn_path) != NULL;
}

static bool read_picture(bool is_there, size_t bytes, float **out)
{
    *out = is_there ? malloc(bytes) : NULL;
    return !is_there || (*out && take(*out, bytes));
}

/* Returns false if the request makes no sense, or memory is short. */
static bool read_job(Job *job)
{
    if (!take(&job->request, sizeof job->request) || !is_sound(&job->request))
        return false;
    job->bytes = (size_t)job->request.width * job->request.height * 3 * sizeof(float);
    if (job->bytes > BYTES_MAX)
        return false;
    job->result = malloc(job->bytes);
    return job->result && read_picture(true, job->bytes, &job->color) &&
           read_picture(job->request.has_albedo, job->bytes, &job->albedo) &&
           read_picture(job->request.has_normal, job->bytes, &job->normal);
}

/* --- the library ------------------------------------------------------------------------------ */

typedef struct Session {
    const OidnLibrary *library;
    const Job *job;
    void *device;
    char *why; /* [DENOISE_TEXT_BYTES] */
} Session;

static bool has_failed(const Session *s)
{
    const char *message = NULL;
    if (s->library->get_device_error(s->device, &message) == 0)
        return false;
    (void)snprintf(s->why, DENOISE_TEXT_BYTES, "Open Image Denoise fails: %s",
                   message ? message : "it does not say why");
    return true;
}

static void set_image(const Session *s, void *filter, const char *name, float *pixels)
{
    if (pixels)
        s->library->set_image(filter, name, pixels, OIDN_FLOAT3, s->job->request.width,
                              s->job->request.height, 0, 0, 0);
}

static bool run_filter(const Session *s, void *filter)
{
    s->library->commit_filter(filter);
    s->library->execute_filter(filter);
    s->library->release_filter(filter);
    return !has_failed(s);
}

/* Removes the noise of a guide, in its place. */
static bool filter_guide(const Session *s, const char *name, float *guide)
{
    if (!guide)
        return true;
    void *filter = s->library->new_filter(s->device, "RT");
    set_image(s, filter, name, guide);
    set_image(s, filter, "output", guide);
    return run_filter(s, filter);
}

static bool filter_picture(const Session *s)
{
    const Job *job = s->job;
    /* The library takes normals only beside albedo. */
    float *normal = job->albedo ? job->normal : NULL;
    if (!filter_guide(s, "albedo", job->albedo) || !filter_guide(s, "normal", normal))
        return false;
    void *filter = s->library->new_filter(s->device, "RT");
    set_image(s, filter, "color", job->color);
    set_image(s, filter, "albedo", job->albedo);
    set_image(s, filter, "normal", normal);
    set_image(s, filter, "output", job->result);
    s->library->set_bool(filter, "hdr", true);
    s->library->set_bool(filter, "cleanAux", job->albedo != NULL);
    return run_filter(s, filter);
}

/* Fills job->result. Sets the reply's text in any case. */
static bool denoise(const Job *job, char text[DENOISE_TEXT_BYTES])
{
    OidnLibrary library;
    if (!oidn_library_open(job->request.oidn_path, &library, text, DENOISE_TEXT_BYTES))
        return false;
    Session s = {&library, job, library.new_device(OIDN_CPU), text};
    if (!s.device) {
        (void)snprintf(text, DENOISE_TEXT_BYTES, "Open Image Denoise does not run on this CPU");
        return false;
    }
    if (job->request.thread_count > 0)
        library.set_device_int(s.device, "numThreads", (int)job->request.thread_count);
    library.commit_device(s.device);
    bool ok = !has_failed(&s) && filter_picture(&s);
    int version = library.get_device_int(s.device, "version");
    if (ok)
        (void)snprintf(text, DENOISE_TEXT_BYTES, "Open Image Denoise %d.%d.%d", version / 10000,
                       version / 100 % 100, version % 100);
    library.release_device(s.device);
    return ok;
}

int main(void)
{
    Job job = {.bytes = 0};
    DenoiseReply reply = {.magic = DENOISE_MAGIC};
    (void)signal(SIGPIPE, SIG_IGN); /* the renderer may be gone before the answer */
    /* What the library prints must not get between the answers. */
    int kept = dup(STDOUT_FILENO);
    FILE *out = kept >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? fdopen(kept, "wb") : NULL;
    if (!out)
        return 1;
    if (!read_job(&job))
        (void)snprintf(reply.text, sizeof reply.text,
                       "the request makes no sense, or memory is short");
    else
        reply.is_done = denoise(&job, reply.text);
    ASSERT(memchr(reply.text, 0, sizeof reply.text));
    bool is_written = fwrite(&reply, sizeof reply, 1, out) == 1 &&
                      (!reply.is_done || fwrite(job.result, job.bytes, 1, out) == 1);
    is_written = fclose(out) == 0 && is_written;
    free(job.color);
    free(job.albedo);
    free(job.normal);
    free(job.result);
    return is_written && reply.is_done ? 0 : 1;
}
