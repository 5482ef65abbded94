/* The converter process: converts what its standard input asks for, one image after the other, until that ends.
 * Foreign image libraries run here, and may crash here. */
#include "base/process.h"
#include "base/thread.h"
#include "textures/convert_wire.h"
#include <stdio.h>

/* One writer at a time: progress comes from the thread that converts, warnings from the one that decodes. */
static Mutex output_lock = MUTEX_INIT;

static void say(const ConvertMessage *m)
{
    mutex_lock(&output_lock);
    bool is_sent = process_send_to_parent(m, sizeof *m);
    SORT_UNUSED(is_sent); /* when the other end is gone, so is the next request */
    mutex_unlock(&output_lock);
}

void texcache_converter_warn(const char *text)
{
    ConvertMessage m = {.kind = CONVERT_WARNING};
    snprintf(m.text, sizeof m.text, "%s", text);
    say(&m);
}

static void on_progress(void *data, float done)
{
    SORT_UNUSED(data);
    SORT_UNUSED(done);
    ConvertMessage m = {.kind = CONVERT_PROGRESS};
    say(&m);
}

static Status convert(const TexDecoderHost *host, const ConvertRequest *request, const char *source,
                      const char *output, TexConvertReport *out_report, Error *err)
{
    const SortImageDecoder *decoder;
    const SortHostApi *api;
    TRY(host->find(host->data, source, &decoder, &api, err));
    TexConvertDesc desc = {.size_bytes = sizeof desc,
                           .decoder = decoder,
                           .host = api,
                           .source_path = source,
                           .output_path = output,
                           .color_space = (SortColorSpace)request->color_space,
                           .progress = on_progress,
                           .thread_count = request->thread_count};
    return texcache_convert(&desc, out_report, err);
}

Status texcache_serve_converter(const TexDecoderHost *host, Error *err)
{
    ConvertRequest request;
    char source[PATH_BYTES], output[PATH_BYTES];
    while (process_receive_from_parent(&request, sizeof request)) {
        if (request.version != CONVERT_VERSION || request.source_bytes >= sizeof source ||
            request.output_bytes >= sizeof output || request.color_space > SORT_COLOR_RAW)
            return error_set(err, STATUS_FORMAT, "the request is not one of this version");
        if (!process_receive_from_parent(source, request.source_bytes) ||
            !process_receive_from_parent(output, request.output_bytes))
            return STATUS_OK;
        source[request.source_bytes] = output[request.output_bytes] = '\0';
        TexConvertReport report = {0};
        Error why = {0};
        Status status = convert(host, &request, source, output, &report, &why);
        ConvertMessage m = {
            .kind = CONVERT_DONE, .status = status, .non_finite_texels = report.non_finite_texels};
        snprintf(m.path, sizeof m.path, "%s", why.path);
        snprintf(m.text, sizeof m.text, "%s", why.text);
        say(&m);
    }
    return STATUS_OK;
}
