/* texcache: makes and inspects paged textures.
 *
 *   texcache make IMAGE [-o OUT.stex]       convert an image, through the decoder plugins
 *   texcache info FILE.stex                 what a paged texture holds
 *   texcache verify FILE.stex ...           every check sum; a line for each damage
 *   texcache view FILE.stex -o OUT.png      a level, or a tile, as a picture
 *   texcache convert                        converts images for a renderer that starts it
 *   texcache decode                         reads foreign files for a renderer that starts it
 *   texcache stats FILE.json                what the cache did during a render, in plain words
 *   texcache watch                          what the cache of a running render does
 *   texcache report FILE.json [TRACE]       the same as a page with charts and tile maps
 *   texcache replay TRACE                   what other budgets would have loaded
 *
 * Arguments in, library calls, messages out. Exit codes: 0 done, 1 failed (or damage was found),
 * 2 wrong usage, 4 interrupted. */
#include "tools/start.h"
#include "tools/texcache_commands.h"
#include <stdio.h>
#include <string.h>

const char *const texcache_color_spaces[] = {"auto", "srgb", "linear", "raw", NULL};
const char *const texcache_wraps[] = {"file", "periodic", "clamp", "mirror", "black", NULL};

int texcache_fail(const Error *err, int code)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "texcache: %s\n", error_format(err, text, sizeof text));
    return code;
}

/* Parses; true when the command is to run, else *out_code is what to exit with. */
bool texcache_understand(const CliProgram *program, int argc, char **argv, CliResult *out_result,
                         int *out_code)
{
    Error err = {0};
    if (cli_parse(program, argc, argv, out_result, &err) != STATUS_OK) {
        *out_code = texcache_fail(&err, EXIT_USAGE);
        return false;
    }
    if (out_result->wants_help) {
        StrBuf help = {0};
        cli_help(program, &help);
        fputs(strbuf_text(&help), stdout);
        strbuf_free(&help);
    } else if (out_result->wants_version) {
        puts("texcache " SORT_VERSION);
    } else {
        return true;
    }
    *out_code = EXIT_DONE;
    return false;
}

static const CliCommand commands[] = {
    {"make", "converts an image to a paged texture", texcache_run_make},
    {"info", "tells what a paged texture holds", texcache_run_info},
    {"verify", "compares every check sum of paged textures", texcache_run_verify},
    {"view", "writes a level or a tile of a paged texture as PNG", texcache_run_view},
    {"convert", "converts images for a renderer; not for people", texcache_run_convert},
    {"decode", "answers a renderer's requests for texels; not for people", texcache_run_decode},
    {"stats", "explains what the cache did during a render", texcache_run_stats},
    {"report", "makes a page of it: findings, charts, tile maps", texcache_run_report},
    {"watch", "shows a running render's cache", texcache_run_watch},
    {"replay", "tells what a recorded render would load under other budgets", texcache_run_replay},
};

int main(int argc, char **argv)
{
    program_begin("texcache");
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        StrBuf help = {0};
        cli_commands_help("texcache", "Makes and inspects paged textures (.stex).", commands,
                          SORT_COUNT_OF(commands), &help);
        fputs(strbuf_text(&help), argc > 1 ? stdout : stderr);
        strbuf_free(&help);
        return argc > 1 ? EXIT_DONE : EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0) {
        puts("texcache " SORT_VERSION);
        return EXIT_DONE;
    }
    Error err = {0};
    const CliCommand *command = cli_find_command(commands, SORT_COUNT_OF(commands), name, &err);
    return command ? command->run(argc - 1, argv + 1) : texcache_fail(&err, EXIT_USAGE);
}
