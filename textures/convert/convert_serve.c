/* The body of the converter process: it converts the images requested on standard input, one after the other,
 * until the input ends. Foreign image libraries run here and may crash here. */
#include "base/process.h"
#include "textures/convert/convert_wire.h"
#include <stdio.h>
#include <sys/stat.h>

/* A failed write needs no report: if the other end has closed, the next read of a request ends the process. */
static void say(const ConvertMessage *m)
{
    bool is_sent = process_send_to_parent(m, sizeof *m);
    SORT_UNUSED(is_sent);
}

static void on_progress(void *data, float done)
{
    SORT_UNUSED(data);
    SORT_UNUSED(done);
    ConvertMessage m = {.kind = CONVERT_PROGRESS};
    say(&m);
}

static Status convert(const TexDecoderHost *host, const ConvertRequest *request, const char *source,
                      const char *output, Error *err)
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
    return texcache_convert(&desc, NULL, err);
}

Status texcache_serve_converter(const TexDecoderHost *host, Error *err)
{
    ConvertRequest request;
    char source[PATH_BYTES], output[PATH_BYTES];
    /* Files that other users can write are not accepted from a cache, so the umask removes that permission. */
    (void)umask(umask(077) | 022);
    while (process_receive_from_parent(&request, sizeof request)) {
        if (request.version != CONVERT_VERSION || request.source_bytes >= sizeof source ||
            request.output_bytes >= sizeof output || request.color_space > SORT_COLOR_RAW)
            return error_set(err, STATUS_FORMAT, "the request is not one of this version");
        if (!process_receive_from_parent(source, request.source_bytes) ||
            !process_receive_from_parent(output, request.output_bytes))
            return STATUS_OK;
        source[request.source_bytes] = output[request.output_bytes] = '\0';
        Error why = {0};
        Status status = convert(host, &request, source, output, &why);
        ConvertMessage m = {.kind = CONVERT_DONE, .status = status};
        snprintf(m.path, sizeof m.path, "%s", why.path);
        snprintf(m.text, sizeof m.text, "%s", why.text);
        say(&m);
    }
    return STATUS_OK;
}
