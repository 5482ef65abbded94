/* texcache convert: the process in which images are converted for a renderer that starts it. It ends when the
 * renderer closes its input, or with SIGTERM. */
#include "plugins/plugin_host.h"
#include "textures/texcache.h"
#include "tools/texcache/texcache_commands.h"
#include <signal.h>
#include <stdatomic.h>

static _Atomic bool is_terminated;

static void on_signal(int signal_number)
{
    atomic_store(&is_terminated, true);
    signal(signal_number, SIG_DFL);
}

static bool is_cancelled(void *data)
{
    SORT_UNUSED(data);
    return atomic_load(&is_terminated);
}

static Status find_decoder(void *data, const char *path, const SortImageDecoder **out_decoder,
                           const SortHostApi **out_api, Error *err)
{
    PluginHost *host = data;
    TRY(plugin_host_decoder_for(host, path, out_decoder, err));
    *out_api = plugin_host_decoder_api(host, *out_decoder);
    return STATUS_OK;
}

int texcache_run_convert(int argc, char **argv)
{
    const CliProgram program = {
        .name = "texcache convert",
        .usage = "",
        .summary = "Converts images that a renderer asks for on its standard input."};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    struct sigaction act = {.sa_handler = on_signal}; /* a read that waits is interrupted */
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGPIPE, &act, NULL); /* the renderer is gone */
    signal(SIGINT, SIG_IGN);        /* from a terminal: the renderer decides */
    signal(SIGXFSZ, SIG_IGN);       /* a file that may not grow is a write error like a full disk */
    Error err = {0};
    PluginHostDesc desc = {.size_bytes = sizeof desc, .cancelled = is_cancelled};
    PluginHost *plugins;
    if (plugin_host_create(&desc, &plugins, &err) != STATUS_OK)
        return tool_fail(&err, TOOL_FAILED);
    TexDecoderHost host = {.size_bytes = sizeof host, .find = find_decoder, .data = plugins};
    Status status = texcache_serve_converter(&host, &err);
    plugin_host_destroy(plugins);
    return status == STATUS_OK ? TOOL_DONE : tool_fail(&err, TOOL_FAILED);
}
