/* texcache info: what a paged texture holds, for people or as JSON. */
#include "base/check.h"
#include "base/json_write.h"
#include "textures/texcache.h"
#include "tools/texcache/texcache_commands.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const type_words[] = {"u8", "u16", "half", "float"};

static const char *digest_text(const TexInfo *info, char out[33])
{
    for (size_t i = 0; i < 16; ++i)
        snprintf(&out[2 * i], 3, "%02x", info->source_digest[i]);
    return out;
}

/* The next line of what a conversion warned of, as it may be shown; NULL: that was all. */
static const char *next_note(const char **notes, char out[TEX_NOTES_BYTES])
{
    size_t bytes = strcspn(*notes, "\n");
    if (**notes == '\0')
        return NULL;
    str_printable((Str){*notes, bytes}, out, TEX_NOTES_BYTES);
    *notes += bytes + ((*notes)[bytes] != '\0');
    return out;
}

static void print_info(const char *path, const TexInfo *info)
{
    char size[32], digest[33];
    ASSERT((size_t)info->type < SORT_COUNT_OF(type_words));
    ASSERT(info->first_tail_level <= info->level_count);
    printf("%s\n", path);
    printf("  image        %" PRIu32 " x %" PRIu32 ", %" PRIu32 " channel%s of %s, %s%s\n",
           info->width, info->height, info->channel_count, info->channel_count == 1 ? "" : "s",
           type_words[info->type], texcache_color_spaces[info->color_space],
           info->is_premultiplied ? ", colour multiplied by alpha" : "");
    printf("  wrap         %s, %s\n", texcache_wraps[info->wrap_s], texcache_wraps[info->wrap_t]);
    printf("  tiles        %" PRIu32 " x %" PRIu32 " texels%s\n", info->tile_width,
           info->tile_height, info->is_compressed ? ", compressed (zlib)" : "");
    printf("  file         %s\n", cli_format_size(info->file_bytes, size));
    printf("  average      %g %g %g %g\n", (double)info->average_rgba[0],
           (double)info->average_rgba[1], (double)info->average_rgba[2],
           (double)info->average_rgba[3]);
    printf("  digest       %s\n", digest_text(info, digest));
    const char *notes = info->notes;
    char note[TEX_NOTES_BYTES];
    while (next_note(&notes, note))
        printf("  warning      %s\n", note);
    puts("");
    printf("  level           size        tiles    constant       stored\n");
    uint64_t tiles = 0, constant = 0, stored = 0;
    for (uint32_t i = 0; i < info->level_count; ++i) {
        const TexLevelInfo *l = &info->levels[i];
        if (i >= info->first_tail_level) {
            printf("  %5" PRIu32 "  %6" PRIu32 " x %-6" PRIu32 "  in the tail\n", i, l->width,
                   l->height);
            continue;
        }
        uint64_t count = (uint64_t)l->tiles_x * l->tiles_y;
        printf("  %5" PRIu32 "  %6" PRIu32 " x %-6" PRIu32 " %9" PRIu64 "  %10" PRIu64 " %12s\n", i,
               l->width, l->height, count, l->constant_tiles,
               cli_format_size(l->stored_bytes, size));
        tiles += count;
        constant += l->constant_tiles;
        stored += l->stored_bytes;
    }
    printf("    all                  %9" PRIu64 "  %10" PRIu64 " %12s\n", tiles, constant,
           cli_format_size(stored, size));
    printf("  The tail has %" PRIu32 " texels.\n", info->tail_texels);
}

static void print_info_json(const char *path, const TexInfo *info)
{
    StrBuf text = {0};
    char digest[33];
    JsonWriter w = json_writer(&text, JSON_INDENTED);
    json_write_object(&w, NULL);
    json_write_string(&w, "file", path);
    json_write_u64(&w, "width", info->width);
    json_write_u64(&w, "height", info->height);
    json_write_u64(&w, "channels", info->channel_count);
    json_write_string(&w, "type", type_words[info->type]);
    json_write_string(&w, "color_space", texcache_color_spaces[info->color_space]);
    json_write_bool(&w, "premultiplied", info->is_premultiplied);
    json_write_bool(&w, "compressed", info->is_compressed);
    json_write_string(&w, "wrap_s", texcache_wraps[info->wrap_s]);
    json_write_string(&w, "wrap_t", texcache_wraps[info->wrap_t]);
    json_write_u64(&w, "tile_width", info->tile_width);
    json_write_u64(&w, "tile_height", info->tile_height);
    json_write_u64(&w, "tile_count", info->tile_count);
    json_write_u64(&w, "tail_texels", info->tail_texels);
    json_write_u64(&w, "file_bytes", info->file_bytes);
    json_write_string(&w, "source_digest", digest_text(info, digest));
    json_write_floats(&w, "average_rgba", info->average_rgba, 4);
    json_write_array(&w, "warnings");
    const char *notes = info->notes;
    char note[TEX_NOTES_BYTES];
    while (next_note(&notes, note))
        json_write_string(&w, NULL, note);
    json_write_end(&w);
    json_write_array(&w, "levels");
    for (uint32_t i = 0; i < info->level_count; ++i) {
        const TexLevelInfo *l = &info->levels[i];
        json_write_object(&w, NULL);
        json_write_u64(&w, "width", l->width);
        json_write_u64(&w, "height", l->height);
        json_write_bool(&w, "in_tail", i >= info->first_tail_level);
        json_write_u64(&w, "tiles_x", l->tiles_x);
        json_write_u64(&w, "tiles_y", l->tiles_y);
        json_write_u64(&w, "constant_tiles", l->constant_tiles);
        json_write_u64(&w, "stored_bytes", l->stored_bytes);
        json_write_end(&w);
    }
    json_write_end(&w);
    json_write_end(&w);
    puts(strbuf_text(&text));
    strbuf_free(&text);
}

int texcache_run_info(int argc, char **argv)
{
    bool is_json = false;
    const CliOption options[] = {
        {.name = "json", .kind = CLI_FLAG, .out = &is_json, .help = "print JSON"},
    };
    const CliProgram program = {
        .name = "texcache info",
        .usage = "[--json] FILE",
        .summary = "Prints the contents of a paged texture, from its verified tables.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 1, "FILE")};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    TexInfo info;
    Error err = {0};
    if (texcache_file_info(parsed.args[0], &info, &err) != STATUS_OK)
        return tool_fail(&err, TOOL_FAILED);
    if (is_json)
        print_info_json(parsed.args[0], &info);
    else
        print_info(parsed.args[0], &info);
    return TOOL_DONE;
}
