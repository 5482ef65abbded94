#include "tools/render_command.h"

#include "base/file.h"
#include "base/process.h"
#include "sort/scene/scene_import.h"
#include "tools/render_list.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int command_fail(const Error *err, int code)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "sort-render: %s\n", error_format(err, text, sizeof text));
    return code;
}

Status output_command_write(const OutputCommand *o, const Film *film, Error *err)
{
    ViewTransform view = {(ViewCurve)o->curve, (float)o->exposure};
    if (o->exr)
        TRY(render_output_exr(film, o->exr, err));
    if (o->png)
        TRY(render_output_png(film, o->png, &view, err));
    if (o->partial)
        TRY(film_write_partial(film, o->partial, err));
    return STATUS_OK;
}

static Status check_writable(const char *path, Error *err)
{
    FileReplace file;
    if (!path)
        return STATUS_OK;
    TRY(file_replace_begin(path, &file, err));
    file_replace_abandon(&file);
    return STATUS_OK;
}

/* Before the work begins, so that none is lost for a mistyped folder. */
static Status check_output(const OutputCommand *o, Error *err)
{
    if (!o->exr && !o->png && !o->partial)
        return error_set(err, STATUS_INVALID,
                         "nothing to write: give -o OUT.exr, --png OUT.png or --partial FILE");
    TRY(check_writable(o->exr, err));
    TRY(check_writable(o->png, err));
    return check_writable(o->partial, err);
}

/* Parses, and answers --help and --version. */
static bool parse(const CliProgram *program, int argc, char **argv, CliResult *out_args,
                  int *out_code)
{
    Error err = {0};
    StrBuf help = {0};
    *out_code = EXIT_DONE;
    if (cli_parse(program, argc, argv, out_args, &err) != STATUS_OK) {
        *out_code = command_fail(&err, EXIT_USAGE);
        return false;
    }
    if (out_args->wants_help) {
        cli_help(program, &help);
        fputs(strbuf_text(&help), stdout);
        strbuf_free(&help);
    } else if (out_args->wants_version) {
        puts("sort-render " SORT_VERSION);
    }
    return !out_args->wants_help && !out_args->wants_version;
}

/* --- merge ------------------------------------------------------------------------------------------- */

bool merge_command_parse(int argc, char **argv, MergeCommand *c, int *out_code)
{
    *c = (MergeCommand){0};
    /* One option a line. */
    /* clang-format off */
    const CliOption options[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &c->output.exr, .value_name = "FILE.exr", .help = "where the picture goes"},
        {.name = "png", .kind = CLI_TEXT, .out = &c->output.png, .value_name = "FILE.png", .help = "a quick look at it"},
        {.name = "partial", .kind = CLI_TEXT, .out = &c->output.partial, .value_name = "FILE", .help = "where the merged exact sums go"},
        {.name = "exposure", .kind = CLI_FLOAT, .out = &c->output.exposure, .min = -64, .max = 64, .value_name = "STOPS", .help = "exposure of the PNG"},
        {.name = "view", .kind = CLI_CHOICE, .out = &c->output.curve, .choices = view_curve_names, .value_name = "CURVE", .help = "tone curve of the PNG"},
    };
    /* clang-format on */
    static const char *const examples[] = {"sort-render merge a.part b.part -o out.exr",
                                           "add two sample ranges of one scene, exactly", NULL};
    const CliProgram program = {.name = "sort-render merge",
                                .usage = "[options] PARTIAL... -o OUT.exr",
                                .summary = "Adds partial results (--partial) of disjoint sample "
                                           "ranges. The picture has the very bits of a "
                                           "single render of all their samples.",
                                .options = options,
                                .option_count = SORT_COUNT_OF(options),
                                .args_min = 1,
                                .args_max = 4096,
                                .args_name = "PARTIAL",
                                .examples = examples};
    CliResult args;
    Error err = {0};
    if (!parse(&program, argc, argv, &args, out_code))
        return false;
    if (check_output(&c->output, &err) != STATUS_OK) {
        *out_code = command_fail(&err, EXIT_USAGE);
        return false;
    }
    c->parts = args.args;
    c->part_count = args.arg_count;
    return true;
}

/* --- compare ----------------------------------------------------------------------------------------- */

bool compare_command_parse(int argc, char **argv, CompareCommand *c, int *out_code)
{
    *c = (CompareCommand){0};
    /* clang-format off */
    const CliOption options[] = {
        {.name = "layer", .kind = CLI_TEXT, .out = &c->layer, .value_name = "NAME", .help = "compare this layer, such as albedo"},
        {.name = "json", .kind = CLI_FLAG, .out = &c->is_json, .help = "print one JSON record"},
    };
    /* clang-format on */
    static const char *const examples[] = {"sort-render compare noisy.exr reference.exr",
                                           "how far the first is from the second", NULL};
    const CliProgram program = {.name = "sort-render compare",
                                .usage = "[options] PICTURE.exr REFERENCE.exr",
                                .summary = "Says how far two pictures of one size are apart, over "
                                           "all pixels and R, G, B. Relative MSE divides squared "
                                           "differences by the reference's squares plus 0.01.",
                                .options = options,
                                .option_count = SORT_COUNT_OF(options),
                                .args_min = 2,
                                .args_max = 2,
                                .args_name = "PICTURE",
                                .examples = examples};
    CliResult args;
    if (!parse(&program, argc, argv, &args, out_code))
        return false;
    c->paths[0] = args.args[0];
    c->paths[1] = args.args[1];
    return true;
}

/* --- render ------------------------------------------------------------------------------------------ */

static const char *const progress_words[] = {"auto", "bar", "json", "none", NULL};
static const char *const texture_filter_words[] = {
    "aniso", "closest", "bilinear", "trilinear", "stochastic", "catmull-rom", "bspline", NULL};
static const TexFilter texture_filters[] = {
    TEX_FILTER_ANISO,      TEX_FILTER_CLOSEST,     TEX_FILTER_BILINEAR, TEX_FILTER_TRILINEAR,
    TEX_FILTER_STOCHASTIC, TEX_FILTER_CATMULL_ROM, TEX_FILTER_BSPLINE};
static const char *const mip_words[] = {"footprint", "off", "max-of-four", NULL};
static const char *const sampler_words[] = {"sobol", "independent", NULL};
static const char *const filter_words[] = {"blackman-harris", "box", "gaussian", NULL};

/* What the option table fills and the command does not keep. */
typedef struct Words {
    CliTextList aovs;
    const char *cache, *texcache, *list, *integrator;
    double mip_bias, filter_width, adaptive, ao_distance;
    uint32_t progress, texture_filter, mip_mode, sampler, filter;
    int64_t seed;
    bool is_verbose;
} Words;

static Status parse_probe(const char *text, void *out, Error *err)
{
    struct ProbePixel *p = out;
    char after;
    if (sscanf(text, "%u,%u%c", &p->x, &p->y, &after) != 2 || text[0] == '-')
        return error_set(err, STATUS_INVALID, "'%s' is no pixel such as 320,240", text);
    p->is_wanted = true;
    return STATUS_OK;
}

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

/* Up to SHADE_BIAS_DEPTHS numbers with commas between them; the last stands for all deeper. */
static Status parse_depth_bias(const char *text, void *out, Error *err)
{
    float *bias = out;
    const char *at = text;
    for (uint32_t i = 0; *text && i < SHADE_BIAS_DEPTHS; ++i) {
        char *end = NULL;
        bias[i] = *at ? strtof(at, &end) : bias[i - 1];
        if (end && (end == at || !(bias[i] >= -32.0f && bias[i] <= 32.0f) || (*end && *end != ',')))
            break;
        if (end)
            at = *end ? end + 1 : end;
        if (i + 1 == SHADE_BIAS_DEPTHS && !*at)
            return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID,
                     "'%s' is not a list of at most %d biases from -32 to 32, like 0,0.5,1", text,
                     SHADE_BIAS_DEPTHS);
}

static Status parse_crop(const char *text, void *out, Error *err)
{
    RenderCrop *c = out;
    char after;
    if (sscanf(text, "%u,%u,%u,%u%c", &c->x, &c->y, &c->width, &c->height, &after) != 4 ||
        c->width == 0 || c->height == 0)
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a crop like 100,50,640,480 (left, top, width, height)", text);
    return STATUS_OK;
}

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

static Status find_places(RenderCommand *c, const Words *words, Error *err)
{
    if (words->cache)
        snprintf(c->cache, sizeof c->cache, "%s", words->cache);
    else
        TRY(default_cache_folder(c->cache, err));
    if (words->texcache)
        snprintf(c->texcache, sizeof c->texcache, "%s", words->texcache);
    else
        TRY(sibling_program("texcache", c->texcache, err));
    c->render.cache_folder = c->cache;
    c->render.texcache_program = c->texcache;
    return STATUS_OK;
}

static ProgressKind progress_kind(const RenderCommand *c, uint32_t word)
{
    static const ProgressKind kinds[] = {PROGRESS_NONE, PROGRESS_BAR, PROGRESS_JSON, PROGRESS_NONE};
    if (c->is_quiet)
        return PROGRESS_NONE;
    return word == 0 && isatty(STDERR_FILENO) ? PROGRESS_BAR : kinds[word];
}

static Status refuse_aov(Str name, Error *err)
{
    StrBuf known = {0};
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        strbuf_printf(&known, "%s, ", film_aov_info((FilmAov)i)->name);
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        strbuf_printf(&known, "%s%s", i ? ", " : "", film_id_info((FilmId)i)->name);
    Status status = error_set(err, STATUS_INVALID, "there is no AOV '%.*s'; there are %s",
                              STR_ARG(name), strbuf_text(&known));
    strbuf_free(&known);
    return status;
}

static Status add_aov(Str name, RenderOptions *r, Error *err)
{
    uint32_t aovs = 0, ids = 0;
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        aovs |= (uint32_t)str_equal_c(name, film_aov_info((FilmAov)i)->name) << i;
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        ids |= (uint32_t)str_equal_c(name, film_id_info((FilmId)i)->name) << i;
    r->aovs |= aovs;
    r->ids |= ids;
    return aovs | ids ? STATUS_OK : refuse_aov(name, err);
}

/* Names with commas between them. */
static Status add_aovs(const char *list, RenderOptions *r, Error *err)
{
    for (;;) {
        Str name = {list, strcspn(list, ",")};
        TRY(add_aov(name, r, err));
        if (list[name.size_bytes] == '\0')
            return STATUS_OK;
        list += name.size_bytes + 1;
    }
}

static Status find_integrator(const char *name, WaveView *out_view, Error *err)
{
    StrBuf known = {0};
    for (int i = 0; i < WAVE_VIEW_COUNT; ++i) {
        *out_view = (WaveView)i;
        if (strcmp(name, wave_view_info((WaveView)i)->name) == 0) {
            strbuf_free(&known);
            return STATUS_OK;
        }
        strbuf_printf(&known, "%s%s", i ? ", " : "", wave_view_info((WaveView)i)->name);
    }
    Status status = error_set(err, STATUS_INVALID, "there is no integrator '%s'; there are %s",
                              name, strbuf_text(&known));
    strbuf_free(&known);
    return status;
}

static Status apply_words(RenderCommand *c, const Words *words, Error *err)
{
    RenderOptions *r = &c->render;
    r->size_bytes = sizeof *r;
    r->sampler = (SamplerKind)words->sampler;
    r->filter = (PixelFilterKind)words->filter;
    r->filter_width_px = (float)words->filter_width;
    r->texture_filter = texture_filters[words->texture_filter];
    r->mip = (TexMip)words->mip_mode;
    r->mip_bias = (float)words->mip_bias;
    r->wants_short_passes = c->update_s > 0.0;
    r->adaptive_error = (float)words->adaptive;
    r->ao_distance_m = (float)words->ao_distance;
    if (words->integrator)
        TRY(find_integrator(words->integrator, &r->view, err));
    r->has_seed = words->seed >= 0;
    r->seed = r->has_seed ? (uint32_t)words->seed : 0;
    r->texture_paths = c->texture_paths.items;
    r->texture_path_count = c->texture_paths.count;
    for (uint32_t i = 0; i < words->aovs.count; ++i)
        TRY(add_aovs(words->aovs.items[i], r, err));
    c->progress = progress_kind(c, words->progress);
    c->log_level = c->is_quiet         ? LOG_LEVEL_ERROR
                   : words->is_verbose ? LOG_LEVEL_DEBUG
                                       : LOG_LEVEL_WARNING;
    return find_places(c, words, err);
}

/* Options that make no sense together. */
static Status check_options(const RenderCommand *c, Error *err)
{
    const RenderOptions *r = &c->render;
    if (r->sample_end > 0 && (r->adaptive_error > 0.0f || r->time_limit_s > 0.0))
        return error_set(err, STATUS_INVALID,
                         "--samples A:B promises those samples; it cannot be combined with %s",
                         r->adaptive_error > 0.0f ? "--adaptive" : "--time-limit");
    if (c->is_resuming && !c->checkpoint)
        return error_set(err, STATUS_INVALID, "--resume needs --checkpoint FILE");
    return check_writable(c->checkpoint, err);
}

/* What is asked for: a render, or an import alone. */
/* A probe makes no picture. */
static Status check_probe(const RenderCommand *c, Error *err)
{
    const OutputCommand *o = &c->output;
    if (o->exr || o->png || o->partial || c->stats || c->render.trace_path)
        return error_set(
            err, STATUS_INVALID,
            "--probe renders one pixel and makes no picture, statistics or trace: leave "
            "out the options that name them");
    return check_writable(c->probe_out, err);
}

static Status check_command(RenderCommand *c, const CliResult *args, Error *err)
{
    if (c->import || c->export_package) {
        if (c->import && c->export_package && args->arg_count == 0)
            return STATUS_OK;
        return error_set(err, STATUS_INVALID,
                         "--import FILE and --export-package DIR go together, without a SCENE");
    }
    if (args->arg_count == 0)
        return error_set(err, STATUS_INVALID, "no scene given; see sort-render --help");
    c->scene = args->args[0];
    if (!file_exists(c->scene))
        return error_set_at(err, STATUS_NOT_FOUND, c->scene, "there is no such file or folder");
    TRY(check_options(c, err));
    TRY(check_writable(c->render.trace_path, err));
    if (c->probe.is_wanted)
        return check_probe(c, err);
    return c->render.only_check ? STATUS_OK : check_output(&c->output, err);
}

bool render_command_parse(int argc, char **argv, RenderCommand *c, int *out_code)
{
    Words words = {.seed = -1};
    *c = (RenderCommand){.checkpoint_s = 120};
    /* One option a line. */
    /* clang-format off */
    const CliOption options[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &c->output.exr, .value_name = "FILE.exr", .help = "where the picture goes, linear, with AOVs as layers", .group = "Output"},
        {.name = "png", .kind = CLI_TEXT, .out = &c->output.png, .value_name = "FILE.png", .help = "a quick look at it, through a view transform"},
        {.name = "view", .kind = CLI_CHOICE, .out = &c->output.curve, .choices = view_curve_names, .value_name = "CURVE", .help = "tone curve of the PNG"},
        {.name = "exposure", .kind = CLI_FLOAT, .out = &c->output.exposure, .min = -64, .max = 64, .value_name = "STOPS", .help = "exposure of the PNG"},
        {.name = "aov", .kind = CLI_TEXT_LIST, .out = &words.aovs, .value_name = "LIST", .help = "also write these layers, such as albedo,normal,depth; --list aovs"},
        {.name = "partial", .kind = CLI_TEXT, .out = &c->output.partial, .value_name = "FILE", .help = "write the exact sums, for 'sort-render merge'"},
        {.name = "checkpoint", .kind = CLI_TEXT, .out = &c->checkpoint, .value_name = "FILE", .help = "where an unfinished render is kept, to be resumed"},
        {.name = "checkpoint-interval", .kind = CLI_FLOAT, .out = &c->checkpoint_s, .min = 0.01, .max = 1e6, .value_name = "SECONDS", .help = "how often (120)"},
        {.name = "resume", .kind = CLI_FLAG, .out = &c->is_resuming, .help = "go on from the checkpoint, if there is one"},
        {.name = "update-interval", .kind = CLI_FLOAT, .out = &c->update_s, .min = 0.01, .max = 1e6, .value_name = "SECONDS", .help = "also write the pictures while rendering, so often"},
        {.name = "stats", .kind = CLI_TEXT, .out = &c->stats, .value_name = "FILE.json", .help = "write statistics as JSON; - is standard output"},
        {.name = "spp", .kind = CLI_U32, .out = &c->render.samples, .min = 1, .max = FILM_MAX_SAMPLES, .value_name = "N", .help = "samples per pixel", .group = "Picture"},
        {.name = "samples", .kind = CLI_CUSTOM, .parse = parse_samples, .out = &c->render, .value_name = "A:B", .help = "render only samples A to B-1 of them"},
        {.name = "size", .kind = CLI_CUSTOM, .parse = parse_size, .out = &c->render, .value_name = "WxH", .help = "picture size in pixels"},
        {.name = "crop", .kind = CLI_CUSTOM, .parse = parse_crop, .out = &c->render.crop, .value_name = "X,Y,W,H", .help = "render only these pixels of it, from the top left"},
        {.name = "adaptive", .kind = CLI_FLOAT, .out = &words.adaptive, .min = 1e-5, .max = 1, .value_name = "E", .help = "stop pixels whose displayed error is below E, such as 0.01"},
        {.name = "time-limit", .kind = CLI_FLOAT, .out = &c->render.time_limit_s, .min = 0.001, .max = 1e9, .value_name = "SECONDS", .help = "begin no pass over the picture that would end later"},
        {.name = "camera", .kind = CLI_TEXT, .out = &c->render.camera, .value_name = "NAME", .help = "camera to look through"},
        {.name = "seed", .kind = CLI_INT, .out = &words.seed, .min = 0, .max = 4294967295.0, .value_name = "N", .help = "another pattern of noise"},
        {.name = "max-depth", .kind = CLI_U32, .out = &c->render.max_depth, .min = 1, .max = 1024, .value_name = "N", .help = "surface interactions of a path"},
        {.name = "integrator", .kind = CLI_TEXT, .out = &words.integrator, .value_name = "NAME", .help = "path, or a view that shows mistakes; --list integrators"},
        {.name = "ao-distance", .kind = CLI_FLOAT, .out = &words.ao_distance, .min = 1e-6, .max = 1e9, .value_name = "M", .help = "how far the view ao looks; a tenth of the scene when not given"},
        {.name = "sampler", .kind = CLI_CHOICE, .out = &words.sampler, .choices = sampler_words, .value_name = "NAME", .help = "where random numbers come from"},
        {.name = "pixel-filter", .kind = CLI_CHOICE, .out = &words.filter, .choices = filter_words, .value_name = "NAME", .help = "shape of the pixel filter"},
        {.name = "filter-width", .kind = CLI_FLOAT, .out = &words.filter_width, .min = 0.01, .max = 16, .value_name = "PX", .help = "full width of the pixel filter"},
        {.name = "texture-memory", .kind = CLI_SIZE, .out = &c->render.texture_memory_bytes, .min = 1024, .max = 1e18, .value_name = "SIZE", .help = "budget of the texture cache, such as 256M; never exceeded", .group = "Textures"},
        {.name = "texture-path", .kind = CLI_TEXT_LIST, .out = &c->texture_paths, .value_name = "DIR", .help = "folder to look for textures in; may be repeated"},
        {.name = "filter", .kind = CLI_CHOICE, .out = &words.texture_filter, .choices = texture_filter_words, .value_name = "NAME", .help = "how textures are filtered, where a shader does not say"},
        {.name = "mip-mode", .kind = CLI_CHOICE, .out = &words.mip_mode, .choices = mip_words, .value_name = "MODE", .help = "the level by the footprint, always the finest, or by the largest derivative"},
        {.name = "mip-bias", .kind = CLI_FLOAT, .out = &words.mip_bias, .min = -32, .max = 32, .value_name = "LEVELS", .help = "added to the level that the footprint chooses"},
        {.name = "mip-bias-by-depth", .kind = CLI_CUSTOM, .parse = parse_depth_bias, .out = c->render.depth_bias, .value_name = "B0,B1,..", .help = "levels more at what the camera sees, after one bounce, two, ..."},
        {.name = "texture-delay", .kind = CLI_U32, .out = &c->render.texture_delay_us, .max = 10e6, .is_hidden = true, .value_name = "US", .help = "every tile read takes this much longer, for tests"},
        {.name = "trace", .kind = CLI_TEXT, .out = &c->render.trace_path, .value_name = "FILE", .help = "record every texture tile that is asked for, for 'texcache replay' and 'report'", .group = "Inspecting"},
        {.name = "probe", .kind = CLI_CUSTOM, .parse = parse_probe, .out = &c->probe, .value_name = "X,Y", .help = "render nothing but this pixel, and tell its texture lookups"},
        {.name = "probe-samples", .kind = CLI_U32, .out = &c->probe_samples, .min = 1, .max = 65536, .value_name = "N", .help = "samples of it; 1 when not given"},
        {.name = "probe-out", .kind = CLI_TEXT, .out = &c->probe_out, .value_name = "FILE.svg", .help = "draw them: derivatives, ellipse, probes and the texels that were read"},
        {.name = "watch", .kind = CLI_TEXT, .out = &c->watch, .value_name = "FILE", .help = "publish counters there for 'texcache watch FILE'; in a folder of the user when not given"},
        {.name = "unwatched", .kind = CLI_FLAG, .out = &c->is_unwatched, .help = "publish nothing"},
        {.name = "threads", .short_name = 't', .kind = CLI_U32, .out = &c->render.thread_count, .min = 1, .max = 1024, .value_name = "N", .help = "worker threads; all CPUs when not given", .group = "Machine"},
        {.name = "fibers", .kind = CLI_U32, .out = &c->render.fibers_max, .min = 1, .max = 4096, .value_name = "N", .help = "fibers a thread may have waiting for textures; 1 blocks the thread"},
        {.name = "wave-size", .kind = CLI_U32, .out = &c->render.wave_capacity, .min = 1, .max = 65536, .is_hidden = true, .value_name = "N", .help = "paths in one wave"},
        {.name = "cpu", .kind = CLI_TEXT, .out = &c->render.cpu, .value_name = "NAME", .help = "compile shaders for this CPU, such as x86-64-v3, so that mixed farms agree"},
        {.name = "cache", .kind = CLI_TEXT, .out = &words.cache, .value_name = "DIR", .help = "folder for compiled shaders and converted textures"},
        {.name = "texcache-program", .kind = CLI_TEXT, .out = &words.texcache, .is_hidden = true, .value_name = "FILE", .help = "the texcache program"},
        {.name = "import", .kind = CLI_TEXT, .out = &c->import, .value_name = "FILE", .help = "scene file to turn into a package, with --export-package", .group = "Import"},
        {.name = "export-package", .kind = CLI_TEXT, .out = &c->export_package, .value_name = "DIR", .help = "the package to make of it; nothing is rendered"},
        {.name = "plugin-path", .kind = CLI_TEXT_LIST, .out = &c->plugin_paths, .value_name = "DIR", .help = "folder to look for plugins in; may be repeated"},
        {.name = "check", .kind = CLI_FLAG, .out = &c->render.only_check, .help = "read the scene, compile its shaders, say what it holds, and end", .group = "Messages"},
        {.name = "list", .kind = CLI_TEXT, .out = &words.list, .value_name = "WHAT", .help = "print the aovs, closures, globals or integrators there are, and end"},
        {.name = "progress", .kind = CLI_CHOICE, .out = &words.progress, .choices = progress_words, .value_name = "KIND", .help = "bar on a terminal, or json: a record a line on standard output"},
        {.name = "quiet", .short_name = 'q', .kind = CLI_FLAG, .out = &c->is_quiet, .help = "errors only"},
        {.name = "verbose", .short_name = 'v', .kind = CLI_FLAG, .out = &words.is_verbose, .help = "say more"},
    };
    /* clang-format on */
    static const char *const examples[] = {
        "sort-render scenes/chess -o chess.exr --png chess.png",
        "render a package",
        "sort-render model.gltf -o model.exr --spp 16",
        "import a file and render it",
        "sort-render --check big.zip",
        "see whether a scene is sound, and what is in it",
        "sort-render big.zip -o a.exr --texture-memory 256M",
        "stay within 256 MiB of textures",
        "sort-render s -o s.exr --checkpoint s.checkpoint --resume",
        "go on where a killed render was",
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
    CliResult args;
    Error err = {0};
    if (!parse(&program, argc, argv, &args, out_code))
        return false;
    if (words.list) {
        *out_code = print_list(words.list, stdout, &err) == STATUS_OK
                        ? EXIT_DONE
                        : command_fail(&err, EXIT_USAGE);
        return false;
    }
    if (apply_words(c, &words, &err) != STATUS_OK || check_command(c, &args, &err) != STATUS_OK) {
        *out_code = command_fail(&err, EXIT_USAGE);
        return false;
    }
    return true;
}
