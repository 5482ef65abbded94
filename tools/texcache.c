/* texcache: makes and inspects paged textures.
 *
 *   texcache make IMAGE [-o OUT.stex]   convert an image, through the decoder plugins
 *   texcache info FILE.stex             what a paged texture holds
 *
 * Arguments in, library calls, messages out. Exit codes: 0 done, 1 failed, 2 wrong usage,
 * 4 interrupted. */
#include "textures/texcache.h"
#include "base/cli.h"
#include "base/json_write.h"
#include "base/path.h"
#include "plugins/plugin_host.h"
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 4 };

static _Atomic bool is_interrupted;

static const char *const color_space_words[] = {"auto", "srgb", "linear", "raw", NULL};
static const char *const wrap_words[] = {"periodic", "clamp", "mirror", "black", NULL};
static const char *const compression_words[] = {"none", "zlib", NULL};
static const char *const non_finite_words[] = {"replace", "refuse", NULL};
static const char *const type_words[] = {"u8", "u16", "half", "float"};

static int fail(const Error *err, int code)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "texcache: %s\n", error_format(err, text, sizeof text));
    return code;
}

/* Parses; true when the command is to run, else *out_code is what to exit with. */
static bool understand(const CliProgram *program, int argc, char **argv, CliResult *out_result,
                       int *out_code)
{
    Error err = {0};
    if (cli_parse(program, argc, argv, out_result, &err) != STATUS_OK) {
        *out_code = fail(&err, EXIT_USAGE);
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

/* --- make --------------------------------------------------------------------------------- */

static void on_signal(int signal_number)
{
    atomic_store(&is_interrupted, true);
    signal(signal_number, SIG_DFL); /* a second one ends us at once */
}

static bool plugin_is_cancelled(void *data)
{
    SORT_UNUSED(data);
    return atomic_load(&is_interrupted);
}

static void log_plugin(void *data, SortLogLevel level, const char *plugin, const char *text)
{
    const bool *is_quiet = data;
    if (level >= SORT_LOG_ERROR || (level == SORT_LOG_WARNING && !*is_quiet))
        fprintf(stderr, "texcache: %s%s%s\n", plugin, plugin[0] ? ": " : "", text);
}

static void show_progress(void *data, float done)
{
    SORT_UNUSED(data);
    fprintf(stderr, "\r%3.0f %%", (double)done * 100.0);
    if (done >= 1.0f)
        fputs("\r\033[K", stderr);
}

typedef struct MakeOptions {
    const char *output;
    uint32_t color_space, wrap_s, wrap_t, compression, non_finite, subimage;
    CliTextList plugin_paths;
    bool is_quiet;
} MakeOptions;

/* --wrap sets both axes. */
static Status parse_both_wraps(const char *text, void *out, Error *err)
{
    MakeOptions *o = out;
    for (uint32_t i = 0; wrap_words[i]; i++) {
        if (strcmp(text, wrap_words[i]) == 0) {
            o->wrap_s = o->wrap_t = i;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INVALID, "'%s' is none of periodic, clamp, mirror, black", text);
}

static Status make(const MakeOptions *o, const char *input, const char *output,
                   TexConvertReport *out_report, Error *err)
{
    PluginHostDesc host_desc = {.size_bytes = sizeof host_desc,
                                .folders = o->plugin_paths.items,
                                .folder_count = o->plugin_paths.count,
                                .data = (void *)(uintptr_t)&o->is_quiet,
                                .log = log_plugin,
                                .cancelled = plugin_is_cancelled};
    PluginHost *host;
    TRY(plugin_host_create(&host_desc, &host, err));
    const SortImageDecoder *decoder;
    Status status = plugin_host_decoder_for(host, input, &decoder, err);
    if (status == STATUS_OK) {
        TexConvertDesc desc = {
            .size_bytes = sizeof desc,
            .decoder = decoder,
            .host = plugin_host_decoder_api(host, decoder),
            .source_path = input,
            .output_path = output,
            .subimage = o->subimage,
            .color_space = (SortColorSpace)o->color_space,
            .wrap_s = (TexWrap)(TEX_WRAP_PERIODIC + o->wrap_s),
            .wrap_t = (TexWrap)(TEX_WRAP_PERIODIC + o->wrap_t),
            .compression = (TexCompression)o->compression,
            .non_finite = (TexNonFinite)o->non_finite,
            .progress = !o->is_quiet && isatty(STDERR_FILENO) ? show_progress : NULL,
        };
        status = texcache_convert(&desc, out_report, err);
    }
    plugin_host_destroy(host);
    return status;
}

static int run_make(int argc, char **argv)
{
    MakeOptions o = {0};
    const CliOption options[] = {
        {.name = "output",
         .short_name = 'o',
         .kind = CLI_TEXT,
         .out = &o.output,
         .value_name = "FILE",
         .help = "the paged texture; default: IMAGE with the suffix .stex"},
        {.name = "color-space",
         .kind = CLI_CHOICE,
         .out = &o.color_space,
         .choices = color_space_words,
         .value_name = "NAME",
         .help =
             "how the image's colours are encoded: auto (the file's word, else srgb for 8 bits and "
             "linear for more), srgb, linear, or raw for data that is no colour"},
        {.name = "wrap",
         .kind = CLI_CUSTOM,
         .out = &o,
         .parse = parse_both_wraps,
         .value_name = "MODE",
         .help =
             "outside of the image, where a lookup does not say: periodic, clamp, mirror or black"},
        {.name = "wrap-s",
         .kind = CLI_CHOICE,
         .out = &o.wrap_s,
         .choices = wrap_words,
         .value_name = "MODE",
         .help = "the same for the horizontal axis alone"},
        {.name = "wrap-t",
         .kind = CLI_CHOICE,
         .out = &o.wrap_t,
         .choices = wrap_words,
         .value_name = "MODE",
         .help = "the same for the vertical axis alone"},
        {.name = "compression",
         .kind = CLI_CHOICE,
         .out = &o.compression,
         .choices = compression_words,
         .value_name = "NAME",
         .help = "of tiles in the file: none (fastest to read) or zlib"},
        {.name = "non-finite",
         .kind = CLI_CHOICE,
         .out = &o.non_finite,
         .choices = non_finite_words,
         .value_name = "WHAT",
         .help = "replace NaN by 0 and infinities by the largest number, or refuse"},
        {.name = "subimage",
         .kind = CLI_U32,
         .out = &o.subimage,
         .value_name = "N",
         .help = "which picture of a file that holds several"},
        {.name = "plugin-path",
         .kind = CLI_TEXT_LIST,
         .out = &o.plugin_paths,
         .value_name = "FOLDER",
         .help = "where decoder plugins are looked for first"},
        {.name = "quiet",
         .short_name = 'q',
         .kind = CLI_FLAG,
         .out = &o.is_quiet,
         .help = "no progress, no summary, no warnings"},
    };
    static const char *const examples[] = {
        "texcache make wood.png -o wood.stex", "with what the file says of its colours",
        "texcache make bump.tif --color-space raw", "to bump.stex, values as they are", NULL};
    const CliProgram program = {
        .name = "texcache make",
        .usage = "[options] IMAGE",
        .summary = "Converts an image to a paged texture: tiles of all mip levels, "
                   "filtered in linear light, with check sums.",
        .options = options,
        .option_count = SORT_COUNT_OF(options),
        .args_min = 1,
        .args_max = 1,
        .args_name = "IMAGE",
        .examples = examples};
    CliResult parsed;
    int code;
    if (!understand(&program, argc, argv, &parsed, &code))
        return code;
    Error err = {0};
    const char *input = parsed.args[0];
    char output[PATH_BYTES];
    if (!o.output && path_replace_extension(input, ".stex", output, &err) != STATUS_OK)
        return fail(&err, EXIT_USAGE);
    const char *path = o.output ? o.output : output;

    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    TexConvertReport report;
    Status status = make(&o, input, path, &report, &err);
    if (status != STATUS_OK)
        return fail(&err, status == STATUS_CANCELLED ? EXIT_INTERRUPTED : EXIT_FAILED);
    if (report.non_finite_texels > 0 && !o.is_quiet) {
        fprintf(stderr, "texcache: %s: %" PRIu64 " texels were not finite and have been replaced\n",
                input, report.non_finite_texels);
    }
    if (!o.is_quiet) {
        char size[32];
        printf("%s: %" PRIu32 " x %" PRIu32 ", %" PRIu32 " levels, %" PRIu64 " tiles (%" PRIu64
               " of one colour), %s\n",
               path, report.width, report.height, report.level_count, report.tile_count,
               report.constant_tiles, cli_format_size(report.file_bytes, size));
    }
    return EXIT_DONE;
}

/* --- info --------------------------------------------------------------------------------- */

static const char *wrap_word(TexWrap wrap)
{
    return wrap == TEX_WRAP_FILE ? "file" : wrap_words[wrap - TEX_WRAP_PERIODIC];
}

static const char *digest_text(const TexInfo *info, char out[33])
{
    for (uint32_t i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", info->source_digest[i]);
    return out;
}

static void print_info(const char *path, const TexInfo *info)
{
    char size[32], digest[33];
    printf("%s\n", path);
    printf("  image        %" PRIu32 " x %" PRIu32 ", %" PRIu32 " channel%s of %s, %s%s\n",
           info->width, info->height, info->channel_count, info->channel_count == 1 ? "" : "s",
           type_words[info->type], color_space_words[info->color_space],
           info->is_premultiplied ? ", colour multiplied by alpha" : "");
    printf("  wrap         %s, %s\n", wrap_word(info->wrap_s), wrap_word(info->wrap_t));
    printf("  tiles        %" PRIu32 " x %" PRIu32 " texels%s\n", info->tile_size, info->tile_size,
           info->is_compressed ? ", compressed (zlib)" : "");
    printf("  file         %s\n", cli_format_size(info->file_bytes, size));
    printf("  average      %g %g %g %g\n", (double)info->average_rgba[0],
           (double)info->average_rgba[1], (double)info->average_rgba[2],
           (double)info->average_rgba[3]);
    printf("  digest       %s\n\n", digest_text(info, digest));
    printf("  level           size        tiles    constant       stored\n");
    uint64_t tiles = 0, constant = 0, stored = 0;
    for (uint32_t i = 0; i < info->level_count; i++) {
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
    printf("  The tail of %" PRIu32 " texels stays in memory.\n", info->tail_texels);
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
    json_write_string(&w, "color_space", color_space_words[info->color_space]);
    json_write_bool(&w, "premultiplied", info->is_premultiplied);
    json_write_bool(&w, "compressed", info->is_compressed);
    json_write_string(&w, "wrap_s", wrap_word(info->wrap_s));
    json_write_string(&w, "wrap_t", wrap_word(info->wrap_t));
    json_write_u64(&w, "tile_size", info->tile_size);
    json_write_u64(&w, "tile_count", info->tile_count);
    json_write_u64(&w, "tail_texels", info->tail_texels);
    json_write_u64(&w, "file_bytes", info->file_bytes);
    json_write_string(&w, "source_digest", digest_text(info, digest));
    json_write_array(&w, "average_rgba");
    for (uint32_t i = 0; i < 4; i++)
        json_write_float(&w, NULL, info->average_rgba[i]);
    json_write_end(&w);
    json_write_array(&w, "levels");
    for (uint32_t i = 0; i < info->level_count; i++) {
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

static int run_info(int argc, char **argv)
{
    bool is_json = false;
    const CliOption options[] = {
        {.name = "json", .kind = CLI_FLAG, .out = &is_json, .help = "for programs"},
    };
    const CliProgram program = {.name = "texcache info",
                                .usage = "[--json] FILE",
                                .summary =
                                    "Tells what a paged texture holds, from its checked tables.",
                                .options = options,
                                .option_count = SORT_COUNT_OF(options),
                                .args_min = 1,
                                .args_max = 1,
                                .args_name = "FILE"};
    CliResult parsed;
    int code;
    if (!understand(&program, argc, argv, &parsed, &code))
        return code;
    TexInfo info;
    Error err = {0};
    if (texcache_file_info(parsed.args[0], &info, &err) != STATUS_OK)
        return fail(&err, EXIT_FAILED);
    if (is_json)
        print_info_json(parsed.args[0], &info);
    else
        print_info(parsed.args[0], &info);
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------ */

static const CliCommand commands[] = {
    {"make", "converts an image to a paged texture", run_make},
    {"info", "tells what a paged texture holds", run_info},
};

int main(int argc, char **argv)
{
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
    return command ? command->run(argc - 1, argv + 1) : fail(&err, EXIT_USAGE);
}
