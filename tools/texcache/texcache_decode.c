/* texcache decode: the process in which foreign image libraries run, for a texture cache that reads files
 * of theirs tile by tile. It ends when the cache closes its input. */
#include "tools/texcache/decoder_process.h"
#include "tools/texcache/texcache_commands.h"

int texcache_run_decode(int argc, char **argv)
{
    DecoderProcess process = {0};
    const CliOption options[] = {
        {.name = "plugin-path",
         .kind = CLI_TEXT_LIST,
         .is_folder = true,
         .out = &process.plugin_paths,
         .value_name = "FOLDER",
         .help = "folder to search for decoder plugins first"},
        decoder_process_option(&process),
    };
    const CliProgram program = {
        .name = "texcache decode",
        .usage = "[options]",
        .summary = "Answers requests of a texture cache for texels, on its standard input.",
        TOOL_OPTIONS(options)};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    return decoder_process_run(&process, texcache_serve_decoder);
}
