/* texcache convert: the process in which images are converted for a renderer that starts it. It ends when the
 * renderer closes its input, or with SIGTERM. */
#include "tools/texcache/decoder_process.h"
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

int texcache_run_convert(int argc, char **argv)
{
    DecoderProcess process = {.is_cancelled = is_cancelled};
    const CliOption options[] = {
        decoder_process_option(&process),
        {.name = "writable",
         .kind = CLI_TEXT,
         .is_folder = true,
         .out = &process.writable,
         .value_name = "FOLDER",
         .help = "folder to write textures to"},
    };
    const CliProgram program = {
        .name = "texcache convert",
        .usage = "[options]",
        .summary = "Converts images that a renderer asks for on its standard input.",
        TOOL_OPTIONS(options)};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    struct sigaction act = {.sa_handler = on_signal}; /* a read that waits is interrupted */
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGPIPE, &act, NULL); /* the renderer is gone */
    signal(SIGINT, SIG_IGN);        /* from a terminal: the renderer decides */
    signal(SIGXFSZ, SIG_IGN);       /* a file that may not grow is a write error like a full disk */
    return decoder_process_run(&process, texcache_serve_converter);
}
