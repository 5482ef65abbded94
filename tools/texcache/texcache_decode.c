/* texcache decode: the process in which foreign image libraries run, for a texture cache that reads files
 * of theirs tile by tile. It ends when the cache closes its input. */
#include "plugins/plugin_host.h"
#include "textures/texcache.h"
#include "tools/texcache/texcache_commands.h"

static Status find_decoder(void *data, const char *path, const SortImageDecoder **out_decoder,
                           const SortHostApi **out_api, Error *err)
{
    PluginHost *host = data;
    TRY(plugin_host_decoder_for(host, path, out_decoder, err));
    *out_api = plugin_host_decoder_api(host, *out_decoder);
    return STATUS_OK;
}

int texcache_run_decode(int argc, char **argv)
{
    CliTextList plugin_paths = {0};
    const CliOption options[] = {
        {.name = "plugin-path",
         .kind = CLI_TEXT_LIST,
         .is_folder = true,
         .out = &plugin_paths,
         .value_name = "FOLDER",
         .help = "folder to search for decoder plugins first"},
    };
    const CliProgram program = {
        .name = "texcache decode",
        .usage = "[options]",
        .summary =
            "Answers requests for texels on its standard input, which a texture cache sends.",
        .options = options,
        .option_count = SORT_COUNT_OF(options)};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    Error err = {0};
    PluginHostDesc desc = {.size_bytes = sizeof desc,
                           .folders = plugin_paths.items,
                           .folder_count = plugin_paths.count};
    PluginHost *plugins;
    if (plugin_host_create(&desc, &plugins, &err) != STATUS_OK)
        return tool_fail(&err, TOOL_FAILED);
    TexDecoderHost host = {.size_bytes = sizeof host, .find = find_decoder, .data = plugins};
    Status status = texcache_serve_decoder(&host, &err);
    plugin_host_destroy(plugins);
    return status == STATUS_OK ? TOOL_DONE : tool_fail(&err, TOOL_FAILED);
}
