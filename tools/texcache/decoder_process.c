#include "tools/texcache/decoder_process.h"
#include "base/sandbox.h"

static Status find_decoder(void *data, const char *path, const SortImageDecoder **out_decoder,
                           const SortHostApi **out_api, Error *err)
{
    PluginHost *host = data;
    TRY(plugin_host_decoder_for(host, path, out_decoder, err));
    *out_api = plugin_host_decoder_api(host, *out_decoder);
    return STATUS_OK;
}

CliOption decoder_process_option(DecoderProcess *process)
{
    return (CliOption){.name = "readable",
                       .kind = CLI_TEXT_LIST,
                       .is_folder = true,
                       .out = &process->readable,
                       .value_name = "FOLDER",
                       .help = "folder with images; may be repeated. If given and the kernel has "
                               "Landlock, the process reads only these and the system's libraries, "
                               "writes only where it must, and executes nothing"};
}

/* Libraries load others late, and read tables of theirs; what lies there is nobody's secret. */
static const char system_files[] = "/usr";

enum { READABLE_MAX = 1024 };

/* A kernel without Landlock leaves the process as it is; who started it can tell (sandbox_is_supported). */
static Status give_up_the_rest(const DecoderProcess *process, Error *err)
{
    if (process->readable.count == 0 && !process->writable)
        return STATUS_OK;
    const char *readable[READABLE_MAX + 1] = {system_files};
    uint32_t count = process->readable.count;
    if (count > READABLE_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d folders to read", READABLE_MAX);
    for (uint32_t i = 0; i < count; ++i)
        readable[i + 1] = process->readable.items[i];
    plugin_host_load_decoders(process->plugins);
    SandboxDesc desc = {.size_bytes = sizeof desc,
                        .readable = readable,
                        .readable_count = count + 1,
                        .writable = process->writable};
    Status status = sandbox_enter(&desc, err);
    return status == STATUS_UNSUPPORTED ? STATUS_OK : status;
}

static Status begin(DecoderProcess *process, Error *err)
{
    PluginHostDesc desc = {.size_bytes = sizeof desc,
                           .folders = process->plugin_paths.items,
                           .folder_count = process->plugin_paths.count,
                           .cancelled = process->is_cancelled};
    TRY(plugin_host_create(&desc, &process->plugins, err));
    process->host = (TexDecoderHost){
        .size_bytes = sizeof process->host, .find = find_decoder, .data = process->plugins};
    return give_up_the_rest(process, err);
}

static void end(DecoderProcess *process)
{
    plugin_host_destroy(process->plugins);
    process->plugins = NULL;
}

int decoder_process_run(DecoderProcess *p, Status (*serve)(const TexDecoderHost *host, Error *err))
{
    Error err = {0};
    Status status = begin(p, &err);
    if (status == STATUS_OK)
        status = serve(&p->host, &err);
    end(p);
    return status == STATUS_OK ? TOOL_DONE : tool_fail(&err, TOOL_FAILED);
}
