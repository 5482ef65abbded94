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
#include "tools/texcache/texcache_commands.h"
#include <stdio.h>
#include <string.h>

const char *const texcache_color_spaces[] = {"auto", "srgb", "linear", "raw", NULL};
const char *const texcache_wraps[] = {"file", "periodic", "clamp", "mirror", "black", NULL};

static const CliCommand commands[] = {
    {"make", "converts an image to a paged texture", texcache_run_make},
    {"info", "prints the contents of a paged texture", texcache_run_info},
    {"verify", "verifies every checksum of paged textures", texcache_run_verify},
    {"view", "writes a level or a tile of a paged texture as PNG", texcache_run_view},
    {"convert", "converts images for a renderer (internal)", texcache_run_convert},
    {"decode", "answers a renderer's requests for texels (internal)", texcache_run_decode},
    {"stats", "explains what the cache did during a render", texcache_run_stats},
    {"report", "makes a web page of these statistics: findings, charts, tile maps",
     texcache_run_report},
    {"watch", "shows a running render's cache", texcache_run_watch},
    {"replay", "prints what a recorded render would load under other budgets", texcache_run_replay},
};

static const ToolRow exit_codes[] = {
    {"0", "done"},
    {"1", "failed, or damage was found: the message says which file and where"},
    {"2", "the command line makes no sense"},
    {"4", "interrupted"},
};

static const ToolRow environment[] = {
    {"SORT_PLUGIN_PATH", "Folders with plugins, with colons between, searched after --plugin-path"},
    {"XDG_RUNTIME_DIR", "Where 'texcache watch' finds renders that are under way"},
};

int main(int argc, char **argv)
{
    static const Tool program = {.name = "texcache",
                                 .purpose = "make and inspect paged textures",
                                 .summary = "Makes and inspects paged textures (.stex).",
                                 .commands = commands,
                                 .command_count = SORT_COUNT_OF(commands),
                                 .exit_codes = exit_codes,
                                 .exit_code_count = SORT_COUNT_OF(exit_codes),
                                 .environment = environment,
                                 .environment_count = SORT_COUNT_OF(environment),
                                 .see_also = "sort-render (1), sslc (1)"};
    return tool_main(&program, argc, argv);
}
