/* texcache make: converts images through the decoder plugins. */
#include "base/path.h"
#include "plugins/plugin_host.h"
#include "textures/texcache.h"
#include "tools/texcache_commands.h"
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic bool is_interrupted;

static const char *const compression_words[] = {"none", "zlib", NULL};
static const char *const non_finite_words[] = {"replace", "refuse", NULL};

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
    for (uint32_t i = 0; texcache_wraps[i]; i++) {
        if (strcmp(text, texcache_wraps[i]) == 0) {
            o->wrap_s = o->wrap_t = i;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INVALID, "'%s' is none of periodic, clamp, mirror, black", text);
}

/* One image. */
static Status make_file(const MakeOptions *o, PluginHost *host, const char *input,
                        const char *output, Error *err)
{
    const SortImageDecoder *decoder;
    TRY(plugin_host_decoder_for(host, input, &decoder, err));
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
    TexConvertReport report;
    TRY(texcache_convert(&desc, &report, err));
    if (o->is_quiet)
        return STATUS_OK;
    if (report.non_finite_texels > 0) {
        fprintf(stderr, "texcache: %s: %" PRIu64 " texels were not finite and have been replaced\n",
                input, report.non_finite_texels);
    }
    char size[32];
    printf("%s: %" PRIu32 " x %" PRIu32 ", %" PRIu32 " levels, %" PRIu64 " tiles (%" PRIu64
           " of one colour), %s\n",
           output, report.width, report.height, report.level_count, report.tile_count,
           report.constant_tiles, cli_format_size(report.file_bytes, size));
    return STATUS_OK;
}

/* The files of a UDIM set, each to its own. */
static Status make_set(const MakeOptions *o, PluginHost *host, const char *input,
                       const char *output, Error *err)
{
    if (!texcache_is_udim(output)) {
        return error_set_at(err, STATUS_INVALID, output,
                            "a set of images makes a set of textures: <UDIM> must be in its name");
    }
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    TRY(texcache_udim_list(input, is_present, &count, err));
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; i++) {
        char from[PATH_BYTES], to[PATH_BYTES];
        if (!is_present[i])
            continue;
        TRY(texcache_udim_path(input, i, from, sizeof from, err));
        TRY(texcache_udim_path(output, i, to, sizeof to, err));
        TRY(make_file(o, host, from, to, err));
    }
    return STATUS_OK;
}

static Status make(const MakeOptions *o, const char *input, const char *output, Error *err)
{
    PluginHostDesc host_desc = {.size_bytes = sizeof host_desc,
                                .folders = o->plugin_paths.items,
                                .folder_count = o->plugin_paths.count,
                                .data = (void *)(uintptr_t)&o->is_quiet,
                                .log = log_plugin,
                                .cancelled = plugin_is_cancelled};
    PluginHost *host;
    TRY(plugin_host_create(&host_desc, &host, err));
    Status status = texcache_is_udim(input) ? make_set(o, host, input, output, err)
                                            : make_file(o, host, input, output, err);
    plugin_host_destroy(host);
    return status;
}

int texcache_run_make(int argc, char **argv)
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
         .choices = texcache_color_spaces,
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
         .choices = texcache_wraps,
         .value_name = "MODE",
         .help = "the same for the horizontal axis alone"},
        {.name = "wrap-t",
         .kind = CLI_CHOICE,
         .out = &o.wrap_t,
         .choices = texcache_wraps,
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
    static const char *const examples[] = {"texcache make wood.png -o wood.stex",
                                           "with what the file says of its colours",
                                           "texcache make bump.tif --color-space raw",
                                           "to bump.stex, values as they are",
                                           "texcache make 'skin.<UDIM>.png'",
                                           "every image of a set: skin.1001.png ...",
                                           NULL};
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
    if (!texcache_understand(&program, argc, argv, &parsed, &code))
        return code;
    Error err = {0};
    const char *input = parsed.args[0];
    char output[PATH_BYTES];
    if (!o.output && path_replace_extension(input, ".stex", output, &err) != STATUS_OK)
        return texcache_fail(&err, EXIT_USAGE);
    const char *path = o.output ? o.output : output;

    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    Status status = make(&o, input, path, &err);
    if (status == STATUS_OK)
        return EXIT_DONE;
    int failed = status == STATUS_CANCELLED ? EXIT_INTERRUPTED : EXIT_FAILED;
    return texcache_fail(&err, failed);
}
