/* texcache verify: reads paged textures whole and compares every check sum. */
#include "textures/texcache.h"
#include "tools/texcache/texcache_commands.h"
#include <inttypes.h>
#include <stdio.h>

static void print_damage(void *data, const TexDamage *damage)
{
    const char *path = data;
    switch (damage->place) {
    case TEX_DAMAGE_TILE:
        printf("%s: level %" PRIu32 ", tile (%" PRIu32 ", %" PRIu32 "): %s\n", path, damage->level,
               damage->x, damage->y, damage->text);
        break;
    case TEX_DAMAGE_TAIL:
        printf("%s: small levels: %s\n", path, damage->text);
        break;
    case TEX_DAMAGE_LENGTH:
        printf("%s: %s\n", path, damage->text);
        break;
    }
}

/* True when nothing is wrong with it. */
static bool verify(char *path, bool is_quiet)
{
    TexVerifyReport report;
    Error err = {0};
    if (texcache_file_verify(path, print_damage, path, &report, &err) != STATUS_OK) {
        char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
        puts(error_format(&err, text, sizeof text));
        return false;
    }
    char size[32];
    if (report.damages == 0 && !is_quiet) {
        printf("%s: sound: %" PRIu64 " tiles (%" PRIu64 " of one colour), %s read\n", path,
               report.tiles, report.constant_tiles, cli_format_size(report.payload_bytes, size));
    } else if (report.damages > 0) {
        printf("%s: DAMAGED: %" PRIu64 " of %" PRIu64 " tiles cannot be had\n", path,
               report.damaged_tiles, report.tiles);
    }
    return report.damages == 0;
}

int texcache_run_verify(int argc, char **argv)
{
    bool is_quiet = false;
    const CliOption options[] = {
        {.name = "quiet",
         .short_name = 'q',
         .kind = CLI_FLAG,
         .out = &is_quiet,
         .help = "print nothing about undamaged files"},
    };
    const CliProgram program = {.name = "texcache verify",
                                .usage = "[options] FILE...",
                                .summary =
                                    "Reads paged textures completely and compares every checksum: "
                                    "header, small levels, index and tiles. Prints a line for each "
                                    "damaged place; the exit code is 1 if there is any.",
                                TOOL_OPTIONS(options),
                                TOOL_ARGS(1, UINT32_MAX, "FILE")};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    code = TOOL_DONE;
    for (uint32_t i = 0; i < parsed.arg_count; ++i) {
        if (!verify(parsed.args[i], is_quiet))
            code = TOOL_FAILED;
    }
    return code;
}
