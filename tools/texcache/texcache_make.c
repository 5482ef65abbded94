/* texcache make: converts images through the decoder plugins. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file_claims.h"
#include "base/path.h"
#include "base/str.h"
#include "base/thread.h"
#include "plugins/plugin_host.h"
#include "textures/texcache.h"
#include "tools/texcache/texcache_commands.h"
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
    signal(signal_number, SIG_DFL); /* a second signal ends the program at once */
}

static bool plugin_is_cancelled(void *data)
{
    SORT_UNUSED(data);
    return atomic_load(&is_interrupted);
}

/* --- what the terminal shows meanwhile ---------------------------------------------------- */

/* A line that shows the progress of all images together, each with equal weight. Any thread may advance it. */
typedef struct MakeProgress {
    Mutex mutex; /* guards the fields below and both output streams */
    bool is_shown;
    uint32_t image_count, finished_count;
    double done;     /* sum over images, 0 to image_count */
    int32_t percent; /* on the terminal; -1: nothing is */
} MakeProgress;

typedef struct ImageProgress {
    MakeProgress *all;
    float done;
} ImageProgress;

static void clear_line(MakeProgress *p)
{
    if (p->percent >= 0)
        fputs("\r\033[K", stderr);
    p->percent = -1;
}

static void advance(void *data, float done)
{
    ImageProgress *image = data;
    MakeProgress *all = image->all;
    mutex_lock(&all->mutex);
    all->finished_count += done >= 1.0f && image->done < 1.0f;
    all->done += (double)(done - image->done);
    image->done = done;
    ASSERT(all->finished_count <= all->image_count);
    int32_t percent = (int32_t)(100.0 * all->done / all->image_count);
    if (all->finished_count == all->image_count) {
        clear_line(all);
    } else if (all->is_shown && percent != all->percent) {
        fprintf(stderr, "\r%3" PRId32 " %%", percent);
        if (all->image_count > 1)
            fprintf(stderr, ", %" PRIu32 " of %" PRIu32 " images", all->finished_count,
                    all->image_count);
        all->percent = percent;
    }
    mutex_unlock(&all->mutex);
}

/* The caller prints whole lines between begin_lines and end_lines. */
static void begin_lines(MakeProgress *p)
{
    mutex_lock(&p->mutex);
    clear_line(p);
}

static void end_lines(MakeProgress *p)
{
    mutex_unlock(&p->mutex);
}

typedef struct MakeOptions {
    const char *output;
    uint32_t color_space, wrap_s, wrap_t, compression, compression_level, non_finite, subimage;
    uint32_t thread_count;
    CliTextList plugin_paths;
    bool is_quiet;
} MakeOptions;

/* --wrap sets both axes. */
static Status parse_both_wraps(const char *text, void *out, Error *err)
{
    MakeOptions *o = out;
    for (uint32_t i = 0; texcache_wraps[i]; ++i) {
        if (strcmp(text, texcache_wraps[i]) == 0) {
            o->wrap_s = o->wrap_t = i;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INVALID, "'%s' is none of file, periodic, clamp, mirror, black",
                     text);
}

typedef struct MakeJob {
    char from[PATH_BYTES], to[PATH_BYTES];
    uint32_t thread_count;
    ImageProgress progress;
    Status status;
    Error error;
} MakeJob;

static void tell_result(const MakeJob *job, const TexConvertReport *report)
{
    char size[32];
    begin_lines(job->progress.all);
    if (report->non_finite_texels > 0)
        fprintf(stderr, "texcache: %s: %" PRIu64 " texels were not finite and have been replaced\n",
                job->from, report->non_finite_texels);
    printf("%s: %" PRIu32 " x %" PRIu32 ", %" PRIu32 " levels, %" PRIu64 " tiles (%" PRIu64
           " of one colour), %s\n",
           job->to, report->width, report->height, report->level_count, report->tile_count,
           report->constant_tiles, cli_format_size(report->file_bytes, size));
    (void)fflush(stdout);
    end_lines(job->progress.all);
}

/* Converts one image. */
static Status make_file(const MakeOptions *o, PluginHost *host, MakeJob *job, Error *err)
{
    const SortImageDecoder *decoder;
    const char *input = job->from;
    TRY(plugin_host_decoder_for(host, input, &decoder, err));
    TexConvertDesc desc = {
        .size_bytes = sizeof desc,
        .decoder = decoder,
        .host = plugin_host_decoder_api(host, decoder),
        .source_path = input,
        .output_path = job->to,
        .subimage = o->subimage,
        .color_space = (SortColorSpace)o->color_space,
        .wrap_s = (TexWrap)o->wrap_s,
        .wrap_t = (TexWrap)o->wrap_t,
        .compression = (TexCompression)o->compression,
        .compression_level = o->compression_level,
        .non_finite = (TexNonFinite)o->non_finite,
        .progress = advance,
        .progress_data = &job->progress,
        .thread_count = job->thread_count,
    };
    TexConvertReport report;
    TRY(texcache_convert(&desc, &report, err));
    if (!o->is_quiet)
        tell_result(job, &report);
    return STATUS_OK;
}

/* --- many images, several at once --------------------------------------------------------- */

typedef struct MakeList {
    const MakeOptions *options;
    PluginHost *host;
    MakeJob *jobs; /* owned */
    uint32_t count;
    MakeProgress progress;
} MakeList;

static void log_plugin(void *data, SortLogLevel level, const char *plugin, const char *text)
{
    MakeList *list = data;
    if (level < SORT_LOG_WARNING || (level == SORT_LOG_WARNING && list->options->is_quiet))
        return;
    char shown[2048]; /* libraries quote from files */
    begin_lines(&list->progress);
    fprintf(stderr, "texcache: %s%s%s\n", plugin, plugin[0] ? ": " : "",
            str_printable(str_from(text), shown, sizeof shown));
    end_lines(&list->progress);
}

static Status list_add(MakeList *list, const char *from, const char *to, Error *err)
{
    MakeJob *grown = mem_realloc(list->jobs, list->count + 1u, sizeof *grown);
    if (!grown)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    list->jobs = grown;
    MakeJob *job = &grown[list->count];
    *job = (MakeJob){.progress = {.all = &list->progress}};
    if (snprintf(job->from, sizeof job->from, "%s", from) >= (int)sizeof job->from ||
        snprintf(job->to, sizeof job->to, "%s", to) >= (int)sizeof job->to)
        return error_set_at(err, STATUS_LIMIT, from, "is too long a path");
    ++list->count;
    return STATUS_OK;
}

/* Adds a job for each file of a UDIM set. */
static Status list_add_set(MakeList *list, const char *from, const char *to, Error *err)
{
    if (!texcache_is_udim(to)) {
        return error_set_at(err, STATUS_INVALID, to,
                            "a set of images makes a set of textures: <UDIM> must be in its name");
    }
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    TRY(texcache_udim_list(from, is_present, &count, err));
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i) {
        char source[PATH_BYTES], target[PATH_BYTES];
        if (!is_present[i])
            continue;
        TRY(texcache_udim_path(from, i, source, sizeof source, err));
        TRY(texcache_udim_path(to, i, target, sizeof target, err));
        TRY(list_add(list, source, target, err));
    }
    return STATUS_OK;
}

static Status list_inputs(MakeList *list, const CliResult *parsed, Error *err)
{
    const char *wanted = list->options->output;
    for (uint32_t i = 0; i < parsed->arg_count; ++i) {
        char output[PATH_BYTES];
        const char *input = parsed->args[i];
        if (!wanted)
            TRY(path_replace_extension(input, ".stex", output, err));
        const char *to = wanted ? wanted : output;
        TRY(texcache_is_udim(input) ? list_add_set(list, input, to, err)
                                    : list_add(list, input, to, err));
    }
    return STATUS_OK;
}

/* Checks that no texture replaces an image or another texture. */
static Status claim_files(const MakeList *list, Error *err)
{
    FileClaims claims = {0};
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < list->count; ++i)
        status = file_claim_input(&claims, "an image", list->jobs[i].from, err);
    for (uint32_t i = 0; status == STATUS_OK && i < list->count; ++i)
        status = file_claim_output(&claims, "a texture to make", list->jobs[i].to, err);
    file_claims_free(&claims);
    return status;
}

static void make_one(void *data, uint32_t index)
{
    MakeList *list = data;
    ASSERT(index < list->count);
    MakeJob *job = &list->jobs[index];
    job->status = plugin_is_cancelled(NULL)
                      ? error_set_at(&job->error, STATUS_CANCELLED, job->from, "cancelled")
                      : make_file(list->options, list->host, job, &job->error);
    advance(&job->progress, 1.0f); /* whatever became of it */
}

/* Converts all images and prints a message for each that failed; returns the exit code of the first failure. */
static int make_all(MakeList *list)
{
    int code = TOOL_DONE;
    uint32_t threads = list->options->thread_count;
    if (threads == 0)
        threads = thread_cpu_count();
    for (uint32_t i = 0; i < list->count; ++i)
        list->jobs[i].thread_count = threads > list->count ? threads / list->count : 1;
    ASSERT(threads > 0 && list->host);
    list->progress.image_count = list->count;
    parallel_for(threads, list->count, make_one, list);
    for (uint32_t i = 0; i < list->count; ++i) {
        const MakeJob *job = &list->jobs[i];
        if (job->status == STATUS_OK)
            continue;
        int failed = job->status == STATUS_CANCELLED ? EXIT_INTERRUPTED : TOOL_FAILED;
        tool_fail(&job->error, failed);
        code = code == TOOL_DONE ? failed : code;
    }
    return code;
}

static int make(MakeOptions *o, const CliResult *parsed)
{
    Error err = {0};
    MakeList list = {
        .options = o,
        .progress = {.is_shown = !o->is_quiet && isatty(STDERR_FILENO), .percent = -1}};
    PluginHostDesc host_desc = {.size_bytes = sizeof host_desc,
                                .folders = o->plugin_paths.items,
                                .folder_count = o->plugin_paths.count,
                                .data = &list,
                                .log = log_plugin,
                                .cancelled = plugin_is_cancelled};
    int code;
    if (o->output && parsed->arg_count > 1) {
        error_set(&err, STATUS_INVALID, "several images and one --output");
        return tool_fail(&err, TOOL_USAGE);
    }
    mutex_init(&list.progress.mutex);
    if (list_inputs(&list, parsed, &err) != STATUS_OK || claim_files(&list, &err) != STATUS_OK) {
        code = tool_fail(&err, err.code == STATUS_INVALID ? TOOL_USAGE : TOOL_FAILED);
    } else if (plugin_host_create(&host_desc, &list.host, &err) != STATUS_OK) {
        code = tool_fail(&err, TOOL_FAILED);
    } else {
        code = make_all(&list);
    }
    plugin_host_destroy(list.host);
    mutex_destroy(&list.progress.mutex);
    mem_free(list.jobs);
    return code;
}

static bool parse_make(MakeOptions *o, int argc, char **argv, CliResult *args, int *out_code)
{
    /* clang-format off */
    const CliOption options[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &o->output, .value_name = "FILE", .help = "the paged texture; default: IMAGE with the suffix .stex"},
        {.name = "color-space", .kind = CLI_CHOICE, .out = &o->color_space, .choices = texcache_color_spaces, .value_name = "NAME", .help = "colour encoding of the image: auto (as declared in the file, else srgb for 8 bits and linear for more), srgb, linear, or raw for data other than colour"},
        {.name = "wrap", .kind = CLI_CUSTOM, .out = o, .parse = parse_both_wraps, .value_name = "MODE", .help = "wrap mode, unless a lookup sets one: file (as declared in the image, else periodic), periodic, clamp, mirror or black"},
        {.name = "wrap-s", .kind = CLI_CHOICE, .out = &o->wrap_s, .choices = texcache_wraps, .value_name = "MODE", .help = "wrap mode of the horizontal axis"},
        {.name = "wrap-t", .kind = CLI_CHOICE, .out = &o->wrap_t, .choices = texcache_wraps, .value_name = "MODE", .help = "wrap mode of the vertical axis"},
        {.name = "compression", .kind = CLI_CHOICE, .out = &o->compression, .choices = compression_words, .value_name = "NAME", .help = "compression of tiles: none (fastest to read) or zlib"},
        {.name = "compression-level", .kind = CLI_U32, .out = &o->compression_level, .min = 1, .max = 9, .value_name = "N", .help = "level of zlib: 1 is fast, 9 is small; default: 6"},
        {.name = "non-finite", .kind = CLI_CHOICE, .out = &o->non_finite, .choices = non_finite_words, .value_name = "WHAT", .help = "replace NaN and infinities by the mean of their neighbours and values beyond 1e30 by 1e30, or refuse the image"},
        {.name = "subimage", .kind = CLI_U32, .out = &o->subimage, .value_name = "N", .help = "index of the picture in a file with several"},
        {.name = "threads", .kind = CLI_U32, .out = &o->thread_count, .min = 1, .max = 256, .value_name = "N", .help = "number of threads; default: one per CPU. They convert several images at once, or work together on one"},
        {.name = "plugin-path", .kind = CLI_TEXT_LIST, .is_folder = true, .out = &o->plugin_paths, .value_name = "FOLDER", .help = "folder to search for decoder plugins first"},
        {.name = "quiet", .short_name = 'q', .kind = CLI_FLAG, .out = &o->is_quiet, .help = "no progress, no summary, no warnings"},
    };
    /* clang-format on */
    static const char *const examples[] = {"texcache make wood.png -o wood.stex",
                                           "use the file's own colour encoding",
                                           "texcache make bump.tif --color-space raw",
                                           "to bump.stex, with unchanged values",
                                           "texcache make 'skin.<UDIM>.png'",
                                           "every image of a set: skin.1001.png ...",
                                           "texcache make --threads 8 textures/*.png",
                                           "each next to its image, several at once",
                                           NULL};
    const CliProgram program = {.name = "texcache make",
                                .usage = "[options] IMAGE...",
                                .summary = "Converts images to paged textures: tiles of all mip "
                                           "levels, filtered in linear light, with checksums.",
                                TOOL_OPTIONS(options),
                                TOOL_ARGS(1, UINT32_MAX, "IMAGE"),
                                .examples = examples};
    return tool_parse(&program, argc, argv, args, out_code);
}

int texcache_run_make(int argc, char **argv)
{
    MakeOptions o = {0};
    CliResult parsed;
    int code;
    if (!parse_make(&o, argc, argv, &parsed, &code))
        return code;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    return make(&o, &parsed);
}
