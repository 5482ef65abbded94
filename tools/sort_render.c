/* sort-render: a scene package, or any importable scene file, to a picture.
 *
 *   sort-render SCENE -o OUT.exr      load (importing first in a child process), render, write
 *   sort-render merge A B .. -o OUT   add partial results exactly
 *
 * Arguments in, library calls, messages out. Exit codes: EXIT_* below. */
#include "base/cli.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "sort/render/progress.h"
#include "sort/render/render_output.h"
#include "sort/render/stats_json.h"
#include "sort/scene/scene_import.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Part of the interface: docs/sort-render.md. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DAMAGED = 3, EXIT_INTERRUPTED = 4 };

static _Atomic bool interrupted;

typedef struct Options {
    const char *output, *png, *partial, *stats, *camera, *cache, *cpu, *import, *export_package,
        *texcache;
    RenderOptions render;
    CliTextList texture_paths, plugin_paths;
    double exposure, mip_bias, filter_width;
    uint32_t progress, view, texture_filter, mip_mode, sampler, filter;
    int64_t seed;
    CliTextList aovs;
    bool is_quiet, is_verbose;
} Options;

static const char *const progress_words[] = {"auto", "bar", "json", "none", NULL};
static const char *const texture_filter_words[] = {"aniso", "closest", "bilinear", "trilinear",
                                                   NULL};
static const TexFilter texture_filters[] = {TEX_FILTER_ANISO, TEX_FILTER_CLOSEST,
                                            TEX_FILTER_BILINEAR, TEX_FILTER_TRILINEAR};
static const char *const mip_words[] = {"footprint", "off", "max-of-four", NULL};
static const char *const sampler_words[] = {"sobol", "independent", NULL};
static const char *const filter_words[] = {"blackman-harris", "box", "gaussian", NULL};

/* --- option values of our own --------------------------------------------------------------------- */

static Status parse_size(const char *text, void *out, Error *err)
{
    RenderOptions *o = out;
    char after;
    if (sscanf(text, "%ux%u%c", &o->width_px, &o->height_px, &after) != 2 || o->width_px == 0 ||
        o->height_px == 0 || o->width_px > FILM_MAX_SIDE_PX || o->height_px > FILM_MAX_SIDE_PX)
        return error_set(err, STATUS_INVALID, "'%s' is not a size like 1920x1080", text);
    return STATUS_OK;
}

static Status parse_samples(const char *text, void *out, Error *err)
{
    RenderOptions *o = out;
    char after;
    if (sscanf(text, "%u:%u%c", &o->sample_begin, &o->sample_end, &after) != 2 ||
        o->sample_end <= o->sample_begin)
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a range like 0:64 (first, one past the last)", text);
    return STATUS_OK;
}

/* --- messages ------------------------------------------------------------------------------------------ */

static int fail(const Error *err, int code)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "sort-render: %s\n", error_format(err, text, sizeof text));
    return code;
}

/* A progress line may stand on the terminal: messages start below it. */
typedef struct Terminal {
    ProgressKind kind;
} Terminal;

static void write_log(void *data, LogLevel level, const char *text)
{
    const Terminal *terminal = data;
    if (terminal->kind == PROGRESS_BAR)
        fputs("\r\033[K", stderr);
    log_to_stream(stderr, level, text);
}

static void show_stage(void *data, const char *what)
{
    const Terminal *terminal = data;
    progress_stage(terminal->kind, terminal->kind == PROGRESS_JSON ? stdout : stderr, what);
}

static void on_signal(int signal_number)
{
    atomic_store(&interrupted, true);
    signal(signal_number, SIG_DFL); /* a second one ends us at once */
}

/* --- where things are -------------------------------------------------------------------------------- */

static Status default_cache_folder(char out[PATH_BYTES], Error *err)
{
    const char *base = getenv("XDG_CACHE_HOME");
    if (base && base[0] == '/')
        return path_join(base, "sort", out, err);
    const char *home = getenv("HOME");
    return path_join(home && home[0] ? home : "/tmp", ".cache/sort", out, err);
}

static Status sibling_program(const char *name, char out[PATH_BYTES], Error *err)
{
    char self[PATH_BYTES], folder[PATH_BYTES];
    TRY(process_executable_path(self, err));
    snprintf(folder, sizeof folder, "%.*s", STR_ARG(path_dirname(self)));
    return path_join(folder, name, out, err);
}

/* --- rendering ---------------------------------------------------------------------------------------- */

static Status write_text(const char *path, const StrBuf *text, Error *err)
{
    if (strcmp(path, "-") == 0) {
        fputs(strbuf_text(text), stdout);
        return STATUS_OK;
    }
    return file_write(path, strbuf_text(text), text->size_bytes, err);
}

static Status write_pictures(const Options *o, Render *render, Error *err)
{
    const Scene *scene = render_scene(render);
    const Film *film = render_film(render);
    ViewTransform view = {(ViewCurve)o->view, (float)o->exposure};
    if (o->output)
        TRY(render_output_exr(film, o->output, scene->name, scene->credits, scene->credit_count,
                              err));
    if (o->png)
        TRY(render_output_png(film, o->png, &view, err));
    if (o->partial)
        TRY(film_write_partial(film, o->partial, err));
    return STATUS_OK;
}

static Status write_stats(const Options *o, const Render *render, Error *err)
{
    RenderStats stats;
    StrBuf text = {0};
    Status status = STATUS_OK;
    render_stats(render, &stats);
    if (o->stats) {
        stats_json(&stats, &text);
        status = write_text(o->stats, &text, err);
    } else if (!o->is_quiet) {
        stats_summary(&stats, &text);
        fputs(strbuf_text(&text), stderr);
    }
    strbuf_free(&text);
    return status;
}

/* What went wrong without stopping the render: said once, and told by the exit code. */
static bool report_damage(const Render *render)
{
    RenderStats stats;
    StrBuf faults = {0};
    render_stats(render, &stats);
    render_faults(render, &faults);
    if (faults.size_bytes)
        fprintf(stderr, "shader faults (the points show magenta):\n%s", strbuf_text(&faults));
    if (stats.dropped.count)
        fprintf(
            stderr,
            "%llu samples were not finite and were dropped, in %llu pixels, the first at %u,%u\n",
            (unsigned long long)stats.dropped.count, (unsigned long long)stats.dropped.pixel_count,
            stats.dropped.x, stats.dropped.y);
    if (stats.textures.failed_tiles)
        fprintf(
            stderr,
            "%llu texture tiles could not be read; what touches them shows the missing colour\n",
            (unsigned long long)stats.textures.failed_tiles);
    bool is_damaged = faults.size_bytes || stats.textures.failed_tiles;
    strbuf_free(&faults);
    return is_damaged;
}

static int trace_and_write(const Options *o, Render *render, ProgressKind kind)
{
    Error err = {0};
    Progress *progress;
    if (progress_start(render, kind, kind == PROGRESS_JSON ? stdout : stderr, &progress, &err) !=
        STATUS_OK)
        return fail(&err, EXIT_FAILED);
    Status status = render_run(render, &err);
    progress_stop(progress);
    if (status != STATUS_OK && status != STATUS_CANCELLED)
        return fail(&err, EXIT_FAILED);
    if (write_pictures(o, render, &err) != STATUS_OK || write_stats(o, render, &err) != STATUS_OK)
        return fail(&err, EXIT_FAILED);
    if (status == STATUS_CANCELLED) {
        fprintf(stderr, "sort-render: interrupted; the picture holds the samples taken so far\n");
        return EXIT_INTERRUPTED;
    }
    return report_damage(render) ? EXIT_DAMAGED : EXIT_DONE;
}

static int render_package(const Options *o, const Log *log, Terminal *terminal)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render;
    RenderOptions options = o->render;
    options.log = log;
    options.cancel = &interrupted;
    options.stage = show_stage;
    options.stage_data = terminal;
    Status status = render_create(&options, &render, &diagnostics, &err);
    if (terminal->kind == PROGRESS_BAR)
        fputs("\r\033[K", stderr);
    fputs(strbuf_text(&diagnostics), stderr);
    strbuf_free(&diagnostics);
    if (status != STATUS_OK)
        return fail(&err, EXIT_FAILED);
    int code = trace_and_write(o, render, terminal->kind);
    render_destroy(render);
    return code;
}

/* A foreign scene file becomes a package in a temporary folder first. */
static int render_foreign(Options *o, const char *scene, const Log *log, Terminal *terminal)
{
    Error err = {0};
    char folder[PATH_BYTES], package[PATH_BYTES];
    SceneImportOptions import = {.size_bytes = sizeof import,
                                 .log = log,
                                 .plugin_folders = o->plugin_paths.items,
                                 .plugin_folder_count = o->plugin_paths.count};
    if (file_make_temp_directory("sort-import-", folder, &err) != STATUS_OK ||
        path_join(folder, "package", package, &err) != STATUS_OK)
        return fail(&err, EXIT_FAILED);
    show_stage(terminal, "importing");
    int code;
    if (scene_import_in_child(scene, package, &import, &err) == STATUS_OK) {
        o->render.scene_path = package;
        code = render_package(o, log, terminal);
    } else {
        code = fail(&err, EXIT_FAILED);
    }
    if (file_remove_tree(folder, &err) != STATUS_OK)
        return fail(&err, EXIT_FAILED);
    return code;
}

/* --- merge ---------------------------------------------------------------------------------------------- */

static int merge(int argc, char **argv)
{
    Options o = {0};
    Error err = {0};
    const CliOption options[] = {
        {.name = "output",
         .short_name = 'o',
         .kind = CLI_TEXT,
         .out = &o.output,
         .value_name = "FILE.exr",
         .help = "where the picture goes"},
        {.name = "png",
         .kind = CLI_TEXT,
         .out = &o.png,
         .value_name = "FILE.png",
         .help = "a quick look at it"},
        {.name = "partial",
         .kind = CLI_TEXT,
         .out = &o.partial,
         .value_name = "FILE",
         .help = "where the merged exact sums go"},
        {.name = "exposure",
         .kind = CLI_FLOAT,
         .out = &o.exposure,
         .min = -64,
         .max = 64,
         .value_name = "STOPS",
         .help = "exposure of the PNG"},
        {.name = "view",
         .kind = CLI_CHOICE,
         .out = &o.view,
         .choices = view_curve_names,
         .value_name = "CURVE",
         .help = "tone curve of the PNG: standard or filmic"},
    };
    static const char *const examples[] = {"sort-render merge a.part b.part -o out.exr",
                                           "add two sample ranges of one scene, exactly", NULL};
    const CliProgram program = {
        .name = "sort-render merge",
        .usage = "[options] PARTIAL... -o OUT.exr",
        .summary = "Adds partial results (--partial) of disjoint sample ranges. The picture has "
                   "the very bits of a single render of all their samples.",
        .options = options,
        .option_count = SORT_COUNT_OF(options),
        .args_min = 1,
        .args_max = 4096,
        .args_name = "PARTIAL",
        .examples = examples};
    CliResult args;
    Film *sum = NULL, *film = NULL;
    if (cli_parse(&program, argc, argv, &args, &err) != STATUS_OK)
        return fail(&err, EXIT_USAGE);
    if (args.wants_help) {
        StrBuf help = {0};
        cli_help(&program, &help);
        fputs(strbuf_text(&help), stdout);
        strbuf_free(&help);
        return EXIT_DONE;
    }
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < args.arg_count; ++i) {
        status = film_read_partial(args.args[i], &film, &err);
        if (status != STATUS_OK)
            break;
        if (!sum) {
            sum = film;
            continue;
        }
        status = film_merge(sum, film, &err);
        if (status != STATUS_OK)
            error_prefix(&err, "%s", args.args[i]);
        film_destroy(film);
    }
    ViewTransform view = {(ViewCurve)o.view, (float)o.exposure};
    if (status == STATUS_OK && o.output)
        status = render_output_exr(sum, o.output, NULL, NULL, 0, &err);
    if (status == STATUS_OK && o.png)
        status = render_output_png(sum, o.png, &view, &err);
    if (status == STATUS_OK && o.partial)
        status = film_write_partial(sum, o.partial, &err);
    film_destroy(sum);
    return status == STATUS_OK ? EXIT_DONE : fail(&err, EXIT_FAILED);
}

/* --- main ------------------------------------------------------------------------------------------------ */

static Status finish_options(Options *o, char cache[PATH_BYTES], char texcache[PATH_BYTES],
                             Error *err)
{
    RenderOptions *r = &o->render;
    r->size_bytes = sizeof *r;
    r->camera = o->camera;
    r->cpu = o->cpu;
    r->sampler = (SamplerKind)o->sampler;
    r->filter = (PixelFilterKind)o->filter;
    r->filter_width_px = (float)o->filter_width;
    r->texture_filter = texture_filters[o->texture_filter];
    r->mip = (TexMip)o->mip_mode;
    r->mip_bias = (float)o->mip_bias;
    r->has_seed = o->seed >= 0;
    r->seed = r->has_seed ? (uint32_t)o->seed : 0;
    r->texture_paths = o->texture_paths.items;
    r->texture_path_count = o->texture_paths.count;
    for (uint32_t i = 0; i < o->aovs.count; ++i) {
        FilmAov aov;
        if (!film_aov_find(o->aovs.items[i], &aov))
            return error_set(err, STATUS_INVALID,
                             "there is no AOV '%s' (albedo, normal, depth, samples)",
                             o->aovs.items[i]);
        r->aovs |= 1u << aov;
    }
    if (o->cache)
        snprintf(cache, PATH_BYTES, "%s", o->cache);
    else
        TRY(default_cache_folder(cache, err));
    if (o->texcache)
        snprintf(texcache, PATH_BYTES, "%s", o->texcache);
    else
        TRY(sibling_program("texcache", texcache, err));
    r->cache_folder = cache;
    r->texcache_program = texcache;
    return STATUS_OK;
}

static ProgressKind progress_kind(const Options *o)
{
    if (o->is_quiet)
        return PROGRESS_NONE;
    switch (o->progress) {
    case 0:
        return isatty(STDERR_FILENO) ? PROGRESS_BAR : PROGRESS_NONE;
    case 1:
        return PROGRESS_BAR;
    case 2:
        return PROGRESS_JSON;
    default:
        return PROGRESS_NONE;
    }
}

static int run(Options *o, const char *scene)
{
    Error err = {0};
    char cache[PATH_BYTES], texcache[PATH_BYTES];
    if (finish_options(o, cache, texcache, &err) != STATUS_OK)
        return fail(&err, EXIT_USAGE);
    if (!o->output && !o->png && !o->partial) {
        error_set(&err, STATUS_INVALID,
                  "nothing to write: give -o OUT.exr, --png OUT.png or --partial FILE");
        return fail(&err, EXIT_USAGE);
    }
    Terminal terminal = {progress_kind(o)};
    Log log = {o->is_quiet     ? LOG_LEVEL_ERROR
               : o->is_verbose ? LOG_LEVEL_DEBUG
                               : LOG_LEVEL_WARNING,
               write_log, &terminal};
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (!scene_import_is_package(scene))
        return render_foreign(o, scene, &log, &terminal);
    o->render.scene_path = scene;
    return render_package(o, &log, &terminal);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "merge") == 0)
        return merge(argc - 1, argv + 1);

    Options o = {.seed = -1};
    RenderOptions *r = &o.render;
    const CliOption options[] = {
        {.name = "output",
         .short_name = 'o',
         .kind = CLI_TEXT,
         .out = &o.output,
         .value_name = "FILE.exr",
         .help = "where the picture goes, linear, with AOVs as layers",
         .group = "Output"},
        {.name = "png",
         .kind = CLI_TEXT,
         .out = &o.png,
         .value_name = "FILE.png",
         .help = "a quick look at it, through a view transform"},
        {.name = "view",
         .kind = CLI_CHOICE,
         .out = &o.view,
         .choices = view_curve_names,
         .value_name = "CURVE",
         .help = "tone curve of the PNG: standard or filmic"},
        {.name = "exposure",
         .kind = CLI_FLOAT,
         .out = &o.exposure,
         .min = -64,
         .max = 64,
         .value_name = "STOPS",
         .help = "exposure of the PNG"},
        {.name = "aov",
         .kind = CLI_TEXT_LIST,
         .out = &o.aovs,
         .value_name = "NAME",
         .help = "also write this: albedo, normal, depth or samples; may be repeated"},
        {.name = "partial",
         .kind = CLI_TEXT,
         .out = &o.partial,
         .value_name = "FILE",
         .help = "write the exact sums, for 'sort-render merge'"},
        {.name = "stats",
         .kind = CLI_TEXT,
         .out = &o.stats,
         .value_name = "FILE.json",
         .help = "write statistics as JSON; - is standard output"},
        {.name = "spp",
         .kind = CLI_U32,
         .out = &r->samples,
         .min = 1,
         .max = FILM_MAX_SAMPLES,
         .value_name = "N",
         .help = "samples per pixel",
         .group = "Picture"},
        {.name = "samples",
         .kind = CLI_CUSTOM,
         .parse = parse_samples,
         .out = r,
         .value_name = "A:B",
         .help = "render only samples A to B-1 of them"},
        {.name = "size",
         .kind = CLI_CUSTOM,
         .parse = parse_size,
         .out = r,
         .value_name = "WxH",
         .help = "picture size in pixels"},
        {.name = "camera",
         .kind = CLI_TEXT,
         .out = &o.camera,
         .value_name = "NAME",
         .help = "camera to look through"},
        {.name = "seed",
         .kind = CLI_INT,
         .out = &o.seed,
         .min = 0,
         .max = 4294967295.0,
         .value_name = "N",
         .help = "another pattern of noise"},
        {.name = "max-depth",
         .kind = CLI_U32,
         .out = &r->max_depth,
         .min = 1,
         .max = 1024,
         .value_name = "N",
         .help = "surface interactions of a path"},
        {.name = "sampler",
         .kind = CLI_CHOICE,
         .out = &o.sampler,
         .choices = sampler_words,
         .value_name = "NAME",
         .help = "sobol or independent"},
        {.name = "pixel-filter",
         .kind = CLI_CHOICE,
         .out = &o.filter,
         .choices = filter_words,
         .value_name = "NAME",
         .help = "blackman-harris, box or gaussian"},
        {.name = "filter-width",
         .kind = CLI_FLOAT,
         .out = &o.filter_width,
         .min = 0.01,
         .max = 16,
         .value_name = "PX",
         .help = "full width of the pixel filter"},
        {.name = "texture-memory",
         .kind = CLI_SIZE,
         .out = &r->texture_memory_bytes,
         .min = 1024,
         .max = 1e18,
         .value_name = "SIZE",
         .help = "budget of the texture cache, such as 256M; never exceeded",
         .group = "Textures"},
        {.name = "texture-path",
         .kind = CLI_TEXT_LIST,
         .out = &o.texture_paths,
         .value_name = "DIR",
         .help = "folder to look for textures in; may be repeated"},
        {.name = "filter",
         .kind = CLI_CHOICE,
         .out = &o.texture_filter,
         .choices = texture_filter_words,
         .value_name = "NAME",
         .help = "aniso, closest, bilinear or trilinear"},
        {.name = "mip-mode",
         .kind = CLI_CHOICE,
         .out = &o.mip_mode,
         .choices = mip_words,
         .value_name = "MODE",
         .help = "footprint, off (always the finest level) or max-of-four"},
        {.name = "mip-bias",
         .kind = CLI_FLOAT,
         .out = &o.mip_bias,
         .min = -32,
         .max = 32,
         .value_name = "LEVELS",
         .help = "added to the level that the footprint chooses"},
        {.name = "texture-delay",
         .kind = CLI_U32,
         .out = &r->texture_delay_us,
         .max = 10e6,
         .is_hidden = true,
         .value_name = "US",
         .help = "every tile read takes this much longer, for tests"},
        {.name = "threads",
         .short_name = 't',
         .kind = CLI_U32,
         .out = &r->thread_count,
         .min = 1,
         .max = 1024,
         .value_name = "N",
         .help = "worker threads; all CPUs when not given",
         .group = "Machine"},
        {.name = "fibers",
         .kind = CLI_U32,
         .out = &r->fibers_max,
         .min = 1,
         .max = 4096,
         .value_name = "N",
         .help = "fibers a thread may have waiting for textures; 1 blocks the thread"},
        {.name = "wave-size",
         .kind = CLI_U32,
         .out = &r->wave_capacity,
         .min = 1,
         .max = 65536,
         .is_hidden = true,
         .value_name = "N",
         .help = "paths in one wave"},
        {.name = "cpu",
         .kind = CLI_TEXT,
         .out = &o.cpu,
         .value_name = "NAME",
         .help = "compile shaders for this CPU, such as x86-64-v3, so that mixed farms agree"},
        {.name = "cache",
         .kind = CLI_TEXT,
         .out = &o.cache,
         .value_name = "DIR",
         .help = "folder for compiled shaders and converted textures"},
        {.name = "texcache-program",
         .kind = CLI_TEXT,
         .out = &o.texcache,
         .is_hidden = true,
         .value_name = "FILE",
         .help = "the texcache program"},
        {.name = "import",
         .kind = CLI_TEXT,
         .out = &o.import,
         .value_name = "FILE",
         .help = "scene file to turn into a package, with --export-package",
         .group = "Import"},
        {.name = "export-package",
         .kind = CLI_TEXT,
         .out = &o.export_package,
         .value_name = "DIR",
         .help = "the package to make of it; nothing is rendered"},
        {.name = "plugin-path",
         .kind = CLI_TEXT_LIST,
         .out = &o.plugin_paths,
         .value_name = "DIR",
         .help = "folder to look for plugins in; may be repeated"},
        {.name = "progress",
         .kind = CLI_CHOICE,
         .out = &o.progress,
         .choices = progress_words,
         .value_name = "KIND",
         .help = "auto, bar, json (a record a line on standard output) or none",
         .group = "Messages"},
        {.name = "quiet",
         .short_name = 'q',
         .kind = CLI_FLAG,
         .out = &o.is_quiet,
         .help = "errors only"},
        {.name = "verbose",
         .short_name = 'v',
         .kind = CLI_FLAG,
         .out = &o.is_verbose,
         .help = "say more"},
    };
    static const char *const examples[] = {
        "sort-render scenes/chess -o chess.exr --png chess.png",
        "render a package",
        "sort-render model.gltf -o model.exr --spp 16",
        "import a file and render it",
        "sort-render big.zip -o a.exr --texture-memory 256M",
        "stay within 256 MiB of textures",
        "sort-render s -o s.exr --spp 8 --samples 0:3 --partial a",
        "render a part, to be merged",
        NULL};
    const CliProgram program = {
        .name = "sort-render",
        .usage = "[options] SCENE -o OUT.exr",
        .summary = "Renders a scene package (docs/scene-package.md), or a scene file that a plugin "
                   "can import, by path tracing. 'sort-render merge' adds partial results.",
        .options = options,
        .option_count = SORT_COUNT_OF(options),
        .args_min = 0,
        .args_max = 1,
        .args_name = "SCENE",
        .examples = examples};
    Error err = {0};
    CliResult args;
    if (cli_parse(&program, argc, argv, &args, &err) != STATUS_OK)
        return fail(&err, EXIT_USAGE);
    if (args.wants_help) {
        StrBuf help = {0};
        cli_help(&program, &help);
        fputs(strbuf_text(&help), stdout);
        strbuf_free(&help);
        return EXIT_DONE;
    }
    if (args.wants_version) {
        puts("sort-render " SORT_VERSION);
        return EXIT_DONE;
    }
    if (o.import || o.export_package) {
        if (o.import && o.export_package && args.arg_count == 0)
            return scene_import_main(o.import, o.export_package, o.plugin_paths.items,
                                     o.plugin_paths.count);
        error_set(&err, STATUS_INVALID,
                  "--import FILE and --export-package DIR go together, without a SCENE");
        return fail(&err, EXIT_USAGE);
    }
    if (args.arg_count == 0) {
        error_set(&err, STATUS_INVALID, "no scene given; see sort-render --help");
        return fail(&err, EXIT_USAGE);
    }
    return run(&o, args.args[0]);
}
