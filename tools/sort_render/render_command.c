#include "tools/sort_render/render_command.h"

#include "base/check.h"
#include "base/file.h"
#include "base/process.h"
#include "sort/import/scene_import.h"
#include "tools/sort_render/cache_folder.h"
#include "tools/sort_render/render_frames.h"
#include "tools/sort_render/render_list.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const progress_words[] = {"auto", "bar", "json", "none", NULL};
static const char *const texture_filter_words[] = {
    "aniso", "closest", "bilinear", "trilinear", "stochastic", "catmull-rom", "bspline", NULL};
static const TexFilter texture_filters[] = {
    TEX_FILTER_ANISO,      TEX_FILTER_CLOSEST,     TEX_FILTER_BILINEAR, TEX_FILTER_TRILINEAR,
    TEX_FILTER_STOCHASTIC, TEX_FILTER_CATMULL_ROM, TEX_FILTER_BSPLINE};
_Static_assert(SORT_COUNT_OF(texture_filter_words) == SORT_COUNT_OF(texture_filters) + 1,
               "each word has a filter");
static const char *const mip_words[] = {"footprint", "off", "max-of-four", NULL};
static const char *const caustics_words[] = {"package", "flags", "auto", "all", NULL};
static const char *const guiding_words[] = {"package", "off", "on", "auto", NULL};
static const char *const sampler_words[] = {"sobol", "independent", "blue-noise", NULL};
static const char *const missing_words[] = {"error", "magenta", NULL};
static const char *const bake_looks[] = {"above", "camera", "environment", NULL};
_Static_assert(SORT_COUNT_OF(bake_looks) == BAKE_AT_ENVIRONMENT + 2, "each look has a word");
static const char *const filter_words[] = {"blackman-harris", "box", "gaussian", NULL};

/* Values that the option table fills and the command does not keep. */
typedef struct Words {
    CliTextList aovs;
    const char *cache, *texcache, *integrator;
    double mip_bias, filter_width, adaptive;
    SettingWord settings[SETTING_COUNT];
    uint32_t guiding;              /* of guiding_words */
    uint32_t caustics;             /* of caustics_words */
    uint32_t bake_look, bake_udim; /* udim: 0: not given */
    uint32_t progress, texture_filter, mip_mode, sampler, filter, missing, light_units;
    uint32_t list; /* of render_list_names, or the count of them: nothing */
    bool is_verbose;
} Words;

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
        TRY(cache_folder_find(c->cache, err));
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
    ASSERT(word < SORT_COUNT_OF(kinds));
    return word == 0 && isatty(STDERR_FILENO) ? PROGRESS_BAR : kinds[word];
}

enum { UDIM_FIRST = 1001, UDIM_COLUMNS = 10, UDIM_LAST = 9999 };

static Status apply_bake(RenderOptions *r, const Words *words, Error *err)
{
    RenderBake *bake = &r->bake;
    bool is_detailed = bake->points || bake->uv_set || words->bake_look || words->bake_udim;
    if (!bake->instance)
        return is_detailed ? error_set(err, STATUS_INVALID,
                                       "--bake-points, --bake-uv, --bake-udim and --bake-look need "
                                       "--bake NAME")
                           : STATUS_OK;
    if (words->filter || words->filter_width > 0.0)
        return error_set(err, STATUS_INVALID,
                         "--bake averages over each pixel: it takes neither --pixel-filter nor "
                         "--filter-width");
    if (bake->points && (bake->uv_set || words->bake_udim || r->width_px))
        return error_set(err, STATUS_INVALID,
                         "--bake-points says what each pixel shows: it takes neither --bake-uv nor "
                         "--bake-udim nor --size");
    bake->look = (BakeLook)words->bake_look;
    if (words->bake_udim) {
        bake->tile[0] = (words->bake_udim - UDIM_FIRST) % UDIM_COLUMNS;
        bake->tile[1] = (words->bake_udim - UDIM_FIRST) / UDIM_COLUMNS;
    }
    return STATUS_OK;
}

static Status apply_words(RenderCommand *c, const Words *words, Error *err)
{
    RenderOptions *r = &c->render;
    r->size_bytes = sizeof *r;
    r->sampler = (SamplerKind)words->sampler;
    r->guiding = words->guiding;
    r->caustics = words->caustics;
    r->filter = (PixelFilterKind)words->filter;
    r->filter_width_px = (float)words->filter_width;
    ASSERT(words->texture_filter < SORT_COUNT_OF(texture_filters));
    r->texture_filter = texture_filters[words->texture_filter];
    r->mip = (TexMip)words->mip_mode;
    r->mip_bias = (float)words->mip_bias;
    r->wants_short_passes = c->update_s > 0.0;
    r->adaptive_error = (float)words->adaptive;
    if (words->integrator)
        TRY(find_integrator(words->integrator, &r->view, err));
    r->texture_paths = c->texture_paths.items;
    r->texture_path_count = c->texture_paths.count;
    r->missing = (SceneMissing)words->missing;
    c->light_units = (ImportLightUnits)words->light_units;
    for (uint32_t i = 0; i < words->aovs.count; ++i)
        TRY(add_aovs(words->aovs.items[i], r, err));
    c->output.denoising_layers = r->aovs & FILM_DENOISING;
    c->output.denoiser.thread_count = r->thread_count;
    c->output.denoiser.plugin_folders = c->plugin_paths.items;
    c->output.denoiser.plugin_folder_count = c->plugin_paths.count;
    TRY(output_command_denoiser(&c->output, err));
    if (c->output.denoises)
        r->aovs |= render_denoiser_aovs(&c->output.denoiser);
    if (c->output.keeps_denoising_data)
        r->aovs |= FILM_DENOISING;
    TRY(apply_bake(r, words, err));
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
    if (r->sample_end > 0 && r->time_limit_s > 0.0)
        return error_set(
            err, STATUS_INVALID,
            "--samples A:B promises those samples; it cannot be combined with --time-limit");
    if (r->sample_end > RENDER_ADAPTIVE_MIN && r->adaptive_error > 0.0f && !c->after)
        return error_set(
            err, STATUS_INVALID,
            "--samples A:B beyond the first %d needs --after FILE if it is combined with "
            "--adaptive: the sums of the samples before tell which pixels go on",
            RENDER_ADAPTIVE_MIN);
    if (c->after && (r->adaptive_error <= 0.0f || r->sample_end == 0))
        return error_set(
            err, STATUS_INVALID,
            "--after FILE is for a part of an adaptive round: it needs --adaptive E and "
            "--samples A:B");
    if (r->view == WAVE_VIEW_COST && r->adaptive_error > 0.0f)
        return error_set(err, STATUS_INVALID,
                         "--integrator cost shows times, which --adaptive cannot judge");
    if (c->is_resuming && !c->checkpoint)
        return error_set(err, STATUS_INVALID, "--resume needs --checkpoint FILE");
    if (c->keeps_checkpoint && !c->checkpoint)
        return error_set(err, STATUS_INVALID, "--keep-checkpoint needs --checkpoint FILE");
    return STATUS_OK;
}

/* Only what the cache keeps is its own: pictures may lie beside it. */
static Status claim_cache(const RenderCommand *c, FileClaims *claims, Error *err)
{
    static const char *const folders[] = {"kernels", "textures"};
    for (size_t i = 0; i < SORT_COUNT_OF(folders); ++i) {
        char path[PATH_BYTES];
        TRY(path_join(c->cache, folders[i], path, err));
        TRY(file_claim_folder(claims, "the cache", path, err));
    }
    return STATUS_OK;
}

Status render_command_claim(const RenderCommand *c, FileClaims *claims, Error *err)
{
    TRY(claim_cache(c, claims, err));
    if (c->progress == PROGRESS_JSON)
        TRY(file_claim_output(claims, "--progress", "-", err));
    if (!c->only_check)
        TRY(output_command_claim(&c->output, claims, err));
    TRY(file_claim_output(claims, "--checkpoint", c->checkpoint, err));
    if (c->after)
        TRY(file_claim_input(claims, "--after", c->after, err));
    if (c->render.bake.points)
        TRY(file_claim_input(claims, "--bake-points", c->render.bake.points, err));
    TRY(file_claim_output(claims, "--stats", c->stats, err));
    TRY(file_claim_output(claims, "--trace", c->render.trace_path, err));
    TRY(file_claim_output(claims, "--probe-out", c->probe_out, err));
    TRY(file_claim_output(claims, "--watch", c->watch, err));
    return file_claim_input(claims, "the scene", c->scene, err);
}

Status render_command_check_places(const RenderCommand *c, Error *err)
{
    TRY(command_check_writable(c->stats, err));
    TRY(command_check_writable(c->checkpoint, err));
    TRY(command_check_writable(c->render.trace_path, err));
    TRY(command_check_writable(c->probe_out, err));
    return c->only_check ? STATUS_OK : output_command_check(&c->output, err);
}

static Status check_files(const RenderCommand *c, Error *err)
{
    FileClaims claims = {0};
    Status status = render_command_claim(c, &claims, err);
    file_claims_free(&claims);
    return status == STATUS_OK ? render_command_check_places(c, err) : status;
}

/* A probe makes no picture. */
static Status check_probe(const RenderCommand *c, Error *err)
{
    const OutputCommand *o = &c->output;
    if (o->output || o->png || o->partial || c->stats || c->render.trace_path)
        return error_set(
            err, STATUS_INVALID,
            "--probe renders one pixel and makes no picture, statistics or trace: leave "
            "out the options that name them");
    return STATUS_OK;
}

/* Checks that the command line asks for a render, or for an import alone. */
static Status check_command(RenderCommand *c, const CliResult *args, Error *err)
{
    if (c->import || c->export_package) {
        if (!c->import || !c->export_package || args->arg_count > 0)
            return error_set(err, STATUS_INVALID,
                             "--import FILE and --export-package DIR go together, without a SCENE");
        return file_exists(c->import) ? STATUS_OK
                                      : error_set_at(err, STATUS_NOT_FOUND, c->import,
                                                     "there is no such file or folder");
    }
    if (args->arg_count == 0)
        return error_set(err, STATUS_INVALID, "no scene given; see sort-render --help");
    c->scene = args->args[0];
    if (!c->frames.is_wanted && !file_exists(c->scene))
        return error_set_at(err, STATUS_NOT_FOUND, c->scene, "there is no such file or folder");
    TRY(check_options(c, err));
    if (c->probe.is_wanted)
        TRY(check_probe(c, err));
    else if (c->only_check)
        c->render.trace_path = NULL;
    else
        TRY(output_command_sort(&c->output, err));
    return c->frames.is_wanted ? frames_check(c, err) : check_files(c, err);
}

/* The option table in the order of the help: groups one after the other. One option a line. */
enum { OPTIONS_MAX = 96 };
typedef struct OptionTable {
    CliOption rows[OPTIONS_MAX];
    uint32_t count;
} OptionTable;

static void add_group(OptionTable *table, const char *heading, const CliOption *rows, size_t count)
{
    CHECK(table->count + count <= OPTIONS_MAX);
    memcpy(&table->rows[table->count], rows, count * sizeof *rows);
    table->rows[table->count].group = heading;
    table->count += (uint32_t)count;
}

/* clang-format off */
static void output_options(RenderCommand *c, Words *words, OptionTable *table)
{
    const CliOption rows[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &c->output.output, .value_name = "FILE.exr", .help = "the picture, in linear colour, with AOVs as layers; FILE.png: as with --png"},
        {.name = "exr-type", .kind = CLI_CHOICE, .out = &c->output.exr_type, .choices = command_exr_types, .value_name = "TYPE", .help = "number type of the EXR's picture; layers are always float"},
        {.name = "metadata", .kind = CLI_CHOICE, .out = &c->output.metadata, .choices = command_metadata_words, .value_name = "WHAT", .help = "metadata of the EXR: all, or without date, host and render time, so that equal pictures are equal files"},
        {.name = "png", .kind = CLI_TEXT, .out = &c->output.png, .value_name = "FILE.png", .help = "a quick view of the picture, with a tone curve"},
        {.name = "view", .kind = CLI_CHOICE, .out = &c->output.curve, .choices = view_curve_names, .value_name = "CURVE", .help = "tone curve of the PNG"},
        {.name = "exposure", .kind = CLI_FLOAT, .out = &c->output.exposure, .min = -64, .max = 64, .value_name = "STOPS", .help = "exposure of the PNG"},
        {.name = "aov", .kind = CLI_TEXT_LIST, .out = &words->aovs, .value_name = "LIST", .help = "also write these layers, such as albedo,normal,depth or light_passes; --list aovs"},
        {.name = "denoise", .kind = CLI_FLAG, .out = &c->output.denoises, .help = "also write the picture without its noise, as the layer denoised, and show it in the PNG"},
        OUTPUT_COMMAND_DENOISER_OPTIONS(&c->output),
        {.name = "denoising-data", .kind = CLI_FLAG, .out = &c->output.keeps_denoising_data, .help = "also write what denoisers read as layers, for 'sort-render denoise'"},
        {.name = "partial", .kind = CLI_TEXT, .out = &c->output.partial, .value_name = "FILE", .help = "write the exact sums, for 'sort-render merge'"},
        {.name = "checkpoint", .kind = CLI_TEXT, .out = &c->checkpoint, .value_name = "FILE", .help = "file that keeps an unfinished render for --resume"},
        {.name = "checkpoint-interval", .kind = CLI_FLOAT, .out = &c->checkpoint_s, .min = 0.01, .max = 1e6, .value_name = "SECONDS", .help = "interval between checkpoints (120)"},
        {.name = "resume", .kind = CLI_FLAG, .out = &c->is_resuming, .help = "continue from the checkpoint, if it exists; with a larger --spp, to more samples"},
        {.name = "keep-checkpoint", .kind = CLI_FLAG, .out = &c->keeps_checkpoint, .help = "keep the checkpoint of a finished render, so that --resume can continue to more samples"},
        {.name = "update-interval", .kind = CLI_FLOAT, .out = &c->update_s, .min = 0.01, .max = 1e6, .value_name = "SECONDS", .help = "also write the pictures during the render, at this interval"},
        {.name = "stats", .kind = CLI_TEXT, .out = &c->stats, .value_name = "FILE.json", .help = "write statistics as JSON; - is standard output"},
    };
    add_group(table, "Output", rows, SORT_COUNT_OF(rows));
}

static void picture_options(RenderCommand *c, Words *words, OptionTable *table)
{
    const CliOption rows[] = {
#define SETTING_OPTION(id, option, value, text) {.name = option, .kind = CLI_CUSTOM, .parse = parse_setting, .out = &words->settings[id], .value_name = value, .help = text},
#define SETTING_OPTION_U32(id, option, value, text)   SETTING_OPTION(id, option, value, text)
#define SETTING_OPTION_FLOAT(id, option, value, text) SETTING_OPTION(id, option, value, text)
#define SETTING_OPTION_BOOL(id, option, value, text) /* a package's alone */
#define SETTING(kind, field, min, max, initial, identity, option, value, help) SETTING_OPTION_##kind(SETTING_##field, option, value, help)
#include "sort/scene/settings.inc"
#undef SETTING
        {.name = "samples", .kind = CLI_CUSTOM, .parse = parse_samples, .out = &c->render, .value_name = "A:B", .help = "render only samples A to B-1 of them"},
        {.name = "size", .kind = CLI_CUSTOM, .parse = parse_size, .out = &c->render, .value_name = "WxH", .help = "picture size in pixels, instead of the package's"},
        {.name = "crop", .kind = CLI_CUSTOM, .parse = parse_crop, .out = &c->render.crop, .value_name = "X,Y,W,H", .help = "render only this rectangle of the picture, in pixels from the top left"},
        {.name = "adaptive", .kind = CLI_FLOAT, .out = &words->adaptive, .min = 1e-5, .max = 1, .value_name = "E", .help = "stop pixels whose error on a display is below E, such as 0.01"},
        {.name = "after", .kind = CLI_TEXT, .out = &c->after, .value_name = "FILE", .help = "merged sums of all samples before those of --samples: with --adaptive, take only pixels that they leave open"},
        {.name = "time-limit", .kind = CLI_FLOAT, .out = &c->render.time_limit_s, .min = 0.001, .max = 1e9, .value_name = "SECONDS", .help = "start no pass over the picture that would end later"},
        {.name = "camera", .kind = CLI_TEXT, .out = &c->render.camera, .value_name = "NAME", .help = "camera to look through"},
        {.name = "frame", .kind = CLI_CUSTOM, .parse = parse_frames, .out = &c->frames, .value_name = "A..B[:STEP]", .help = "render these frames one after another: # in SCENE and in file names is the frame number, ## with two digits, ..."},
        {.name = "frames", .kind = CLI_CUSTOM, .parse = parse_frames, .out = &c->frames, .is_hidden = true, .value_name = "A..B[:STEP]", .help = "alias of --frame"},
        {.name = "integrator", .kind = CLI_TEXT, .out = &words->integrator, .value_name = "NAME", .help = "path, light (paths from the lamps), or a diagnostic view; --list integrators"},
        {.name = "sampler", .kind = CLI_CHOICE, .out = &words->sampler, .choices = sampler_words, .value_name = "NAME", .help = "source of random numbers"},
        {.name = "guiding", .kind = CLI_CHOICE, .out = &words->guiding, .choices = guiding_words, .value_name = "WHEN", .help = "path guiding: learn where light comes from, and send paths there; auto: if it pays; package: as the scene says"},
        {.name = "caustics", .kind = CLI_CHOICE, .out = &words->caustics, .choices = caustics_words, .value_name = "WHAT", .help = "what throws caustics that paths of light look for: objects with flags; without flags all that are smooth or nearly so, if a trial finds that it pays, or in any case; package: as the scene says"},
        {.name = "guiding-memory", .kind = CLI_SIZE, .out = &c->render.guiding_memory_bytes, .min = 1 << 20, .max = 1e12, .value_name = "SIZE", .help = "limit of what path guiding learns (64M)"},
        {.name = "pixel-filter", .kind = CLI_CHOICE, .out = &words->filter, .choices = filter_words, .value_name = "NAME", .help = "shape of the pixel filter"},
        {.name = "filter-width", .kind = CLI_FLOAT, .out = &words->filter_width, .min = 0.01, .max = 16, .value_name = "PX", .help = "full width of the pixel filter"},
    };
    add_group(table, "Picture", rows, SORT_COUNT_OF(rows));
}

static void bake_options(RenderCommand *c, Words *words, OptionTable *table)
{
    RenderBake *bake = &c->render.bake;
    const CliOption rows[] = {
        {.name = "bake", .kind = CLI_TEXT, .out = &bake->instance, .value_name = "NAME", .help = "instead of what the camera sees, the picture is the surface of the object of this name, over its texture coordinates; --aov has what else is there"},
        {.name = "bake-uv", .kind = CLI_U32, .out = &bake->uv_set, .max = SCENE_UV_SETS_MAX - 1, .value_name = "N", .help = "number of these texture coordinates (0)"},
        {.name = "bake-udim", .kind = CLI_U32, .out = &words->bake_udim, .min = UDIM_FIRST, .max = UDIM_LAST, .value_name = "TILE", .help = "the tile of them (1001)"},
        {.name = "bake-points", .kind = CLI_TEXT, .out = &bake->points, .value_name = "FILE", .help = "what each pixel shows of the object, instead of texture coordinates"},
        {.name = "bake-look", .kind = CLI_CHOICE, .out = &words->bake_look, .choices = bake_looks, .value_name = "WHERE", .help = "look at the surface from above each point, or from the camera; environment: show that, in the direction of the point from the origin"},
    };
    add_group(table, "Baking", rows, SORT_COUNT_OF(rows));
}

static void texture_options(RenderCommand *c, Words *words, OptionTable *table)
{
    const CliOption rows[] = {
        {.name = "texture-memory", .kind = CLI_SIZE, .out = &c->render.texture_memory_bytes, .min = 1024, .max = 1e18, .value_name = "SIZE", .help = "budget of the texture cache, such as 256M; never exceeded"},
        {.name = "texture-path", .kind = CLI_TEXT_LIST, .is_folder = true, .out = &c->texture_paths, .value_name = "DIR", .help = "folder to search for textures; may be repeated"},
        {.name = "missing", .kind = CLI_CHOICE, .out = &words->missing, .choices = missing_words, .value_name = "WHAT", .help = "missing or damaged textures: an error, or magenta and exit code 3"},
        {.name = "filter", .kind = CLI_CHOICE, .out = &words->texture_filter, .choices = texture_filter_words, .value_name = "NAME", .help = "texture filter, unless a shader sets one"},
        {.name = "mip-mode", .kind = CLI_CHOICE, .out = &words->mip_mode, .choices = mip_words, .value_name = "MODE", .help = "mip level by the footprint, always the finest, or by the largest derivative"},
        {.name = "mip-bias", .kind = CLI_FLOAT, .out = &words->mip_bias, .min = -32, .max = 32, .value_name = "LEVELS", .help = "added to the mip level of the footprint"},
        {.name = "mip-bias-by-depth", .kind = CLI_CUSTOM, .parse = parse_depth_bias, .out = c->render.depth_bias, .value_name = "B0,B1,..", .help = "added to the mip level for camera rays, after one bounce, two, ..."},
        {.name = "texture-delay", .kind = CLI_U32, .out = &c->render.texture_delay_us, .max = 10e6, .is_hidden = true, .value_name = "US", .help = "every tile read takes this much longer, for tests"},
    };
    add_group(table, "Textures", rows, SORT_COUNT_OF(rows));
}

static void inspection_options(RenderCommand *c, OptionTable *table)
{
    const CliOption rows[] = {
        {.name = "trace", .kind = CLI_TEXT, .out = &c->render.trace_path, .value_name = "FILE", .help = "record every texture tile request, for 'texcache replay' and 'report'"},
        {.name = "probe", .kind = CLI_CUSTOM, .parse = parse_probe, .out = &c->probe, .value_name = "X,Y", .help = "render only this pixel, and print its texture lookups"},
        {.name = "probe-samples", .kind = CLI_U32, .out = &c->probe_samples, .min = 1, .max = 65536, .value_name = "N", .help = "samples of that pixel; by default 1"},
        {.name = "probe-out", .kind = CLI_TEXT, .out = &c->probe_out, .value_name = "FILE.svg", .help = "draw the lookups: derivatives, ellipse, probes and the texels read"},
        {.name = "watch", .kind = CLI_TEXT, .out = &c->watch, .value_name = "FILE", .help = "publish counters in this file for 'texcache watch FILE'; by default in a folder of the user"},
        {.name = "unwatched", .kind = CLI_FLAG, .out = &c->is_unwatched, .help = "publish no counters"},
    };
    add_group(table, "Inspecting", rows, SORT_COUNT_OF(rows));
}

static void machine_options(RenderCommand *c, Words *words, OptionTable *table)
{
    const CliOption rows[] = {
        {.name = "threads", .short_name = 't', .kind = CLI_U32, .out = &c->render.thread_count, .min = 1, .max = 1024, .value_name = "N", .help = "worker threads; by default one per CPU"},
        {.name = "fibers", .kind = CLI_U32, .out = &c->render.fibers_max, .min = 1, .max = 4096, .value_name = "N", .help = "fibers per thread that may wait for textures; 1 blocks the thread"},
        {.name = "wave-size", .kind = CLI_U32, .out = &c->render.wave_capacity, .min = 1, .max = 65536, .is_hidden = true, .value_name = "N", .help = "paths in one wave"},
        {.name = "cpu", .kind = CLI_TEXT, .out = &c->render.cpu, .value_name = "NAME", .help = "use the instructions of this CPU class, such as x86-64-v3, so that mixed farms agree; --list cpus"},
        {.name = "cache", .kind = CLI_TEXT, .out = &words->cache, .value_name = "DIR", .help = "folder for compiled shaders and converted textures"},
        {.name = "texcache-program", .kind = CLI_TEXT, .out = &words->texcache, .is_hidden = true, .value_name = "FILE", .help = "the texcache program"},
    };
    add_group(table, "Machine", rows, SORT_COUNT_OF(rows));
}

static void import_options(RenderCommand *c, Words *words, OptionTable *table)
{
    const CliOption rows[] = {
        {.name = "import", .kind = CLI_TEXT, .out = &c->import, .value_name = "FILE", .help = "scene file to convert to a package, with --export-package"},
        {.name = "export-package", .kind = CLI_TEXT, .out = &c->export_package, .value_name = "DIR", .help = "the package to write; nothing is rendered"},
        {.name = "light-units", .kind = CLI_CHOICE, .out = &words->light_units, .choices = import_light_units_names, .value_name = "UNIT", .help = "conversion of glTF's lux and candela: as nits of its emission, or as watts of 683 lm, as Blender writes them"},
        {.name = "unlimited-import", .kind = CLI_FLAG, .out = &c->is_import_unlimited, .help = "remove the limits of an import's time and memory"},
        {.name = "import-child", .kind = CLI_FLAG, .out = &c->is_import_child, .is_hidden = true, .help = "the exit code is for a renderer that waits for it"},
        {.name = "plugin-path", .kind = CLI_TEXT_LIST, .is_folder = true, .out = &c->plugin_paths, .value_name = "DIR", .help = "folder to search for plugins; may be repeated"},
    };
    add_group(table, "Import", rows, SORT_COUNT_OF(rows));
}

static void message_options(RenderCommand *c, Words *words, OptionTable *table)
{
    const CliOption rows[] = {
        {.name = "check", .kind = CLI_FLAG, .out = &c->only_check, .help = "do everything before the first sample, print the contents of the scene, and end"},
        {.name = "list", .kind = CLI_CHOICE, .out = &words->list, .choices = render_list_names, .value_name = "WHAT", .help = "print the available items, with a SCENE also the closures that its shaders define, and end"},
        {.name = "progress", .kind = CLI_CHOICE, .out = &words->progress, .choices = progress_words, .value_name = "KIND", .help = "progress: a bar on a terminal, or json, one record per line on standard output"},
        {.name = "quiet", .short_name = 'q', .kind = CLI_FLAG, .out = &c->is_quiet, .help = "errors only"},
        {.name = "verbose", .short_name = 'v', .kind = CLI_FLAG, .out = &words->is_verbose, .help = "print more messages"},
    };
    add_group(table, "Messages", rows, SORT_COUNT_OF(rows));
}
/* clang-format on */

static void list_options(RenderCommand *c, Words *words, OptionTable *table)
{
    *table = (OptionTable){.count = 0};
    output_options(c, words, table);
    picture_options(c, words, table);
    bake_options(c, words, table);
    texture_options(c, words, table);
    inspection_options(c, table);
    machine_options(c, words, table);
    import_options(c, words, table);
    message_options(c, words, table);
}

static bool parse(RenderCommand *c, Words *words, int argc, char **argv, CliResult *args,
                  int *out_code)
{
    OptionTable table;
    list_options(c, words, &table);
    static const char *const examples[] = {
        "sort-render scenes/chess -o chess.exr --png chess.png",
        "render a package",
        "sort-render model.gltf -o model.exr --spp 16",
        "import a file and render it",
        "sort-render --check big.zip",
        "check a scene and print its contents",
        "sort-render big.zip -o a.exr --texture-memory 256M",
        "use at most 256 MiB for textures",
        "sort-render s -o s.exr --checkpoint s.checkpoint --resume",
        "continue a killed render",
        "sort-render s -o ao.exr --bake Floor --size 1024x1024 --aov ambient_occlusion",
        "bake a texture of the object Floor",
        "sort-render s -o s.exr --spp 8 --samples 0:3 --partial a",
        "render a part, to be merged",
        "sort-render shot.####.zip --frame 1..24 -o shot.####.exr",
        "render a sequence",
        NULL};
    const CliProgram program = {
        .name = "sort-render",
        .usage = "[options] SCENE -o OUT.exr",
        .summary = "Renders a scene package (docs/reference/scene-package.md), or a scene file "
                   "that a plugin "
                   "can import, by path tracing. 'sort-render merge' adds partial results.",
        .options = table.rows,
        .option_count = table.count,
        TOOL_ARGS(0, 1, "SCENE"),
        .examples = examples};
    return tool_parse(&program, argc, argv, args, out_code);
}

static int print_list(const RenderCommand *c, RenderList what, const CliResult *args)
{
    Error err = {0};
    const char *scene = args->arg_count > 0 ? args->args[0] : NULL;
    if (scene && what != RENDER_LIST_CLOSURES) {
        (void)error_set(&err, STATUS_INVALID, "--list %s takes no scene; --list closures does",
                        render_list_names[what]);
        return tool_fail(&err, EXIT_USAGE);
    }
    Status status = render_list_print(what, &c->plugin_paths, scene, stdout, &err);
    if (status == STATUS_OK)
        return EXIT_DONE;
    return tool_fail(&err, scene && status == STATUS_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED);
}

static void begin_words(RenderCommand *c, Words *words)
{
    *words = (Words){.list = RENDER_LIST_COUNT};
    *c = (RenderCommand){.checkpoint_s = 120};
    for (uint32_t i = 0; i < SETTING_COUNT; ++i)
        words->settings[i] = (SettingWord){(SceneSettingId)i, &c->render.settings};
}

/* Refuses options of which a renderer that stays makes no use. */
static Status check_served(const RenderCommand *c, const Words *words, const CliResult *args,
                           Error *err)
{
    const struct {
        bool is_given;
        const char *name;
    } rows[] = {{args->wants_help, "--help"},
                {args->wants_version, "--version"},
                {words->list != RENDER_LIST_COUNT, "--list"},
                {c->frames.is_wanted, "--frame"},
                {c->checkpoint || c->is_resuming || c->keeps_checkpoint, "--checkpoint"},
                {c->after != NULL, "--after"},
                {c->only_check, "--check"},
                {c->render.bake.instance != NULL, "--bake"},
                {c->import || c->export_package || c->is_import_child, "--import"},
                {c->probe.is_wanted || c->probe_out || c->probe_samples, "--probe"},
                {c->watch != NULL, "--watch"},
                {c->render.trace_path != NULL, "--trace"},
                {c->stats && strcmp(c->stats, "-") == 0, "--stats -"},
                {words->progress != 0 || c->is_quiet || words->is_verbose, "--progress"}};
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        if (rows[i].is_given)
            return error_set(err, STATUS_INVALID, "'sort-render serve' does not take %s",
                             rows[i].name);
    return STATUS_OK;
}

Status render_command_read(int argc, char **argv, RenderCommand *out_command, Error *err)
{
    Words words;
    OptionTable table;
    CliResult args;
    begin_words(out_command, &words);
    list_options(out_command, &words, &table);
    const CliProgram program = {.name = "sort-render",
                                .usage = "[options] SCENE",
                                .options = table.rows,
                                .option_count = table.count,
                                TOOL_ARGS(1, 1, "SCENE")};
    TRY(cli_parse(&program, argc, argv, &args, err));
    TRY(check_served(out_command, &words, &args, err));
    TRY(apply_words(out_command, &words, err));
    TRY(check_options(out_command, err));
    out_command->scene = args.args[0];
    out_command->render.scene_path = out_command->scene;
    return STATUS_OK;
}

bool render_command_parse(int argc, char **argv, RenderCommand *c, int *out_code)
{
    Words words;
    CliResult args;
    Error err = {0};
    begin_words(c, &words);
    if (!parse(c, &words, argc, argv, &args, out_code))
        return false;
    if (words.list != RENDER_LIST_COUNT) {
        *out_code = print_list(c, (RenderList)words.list, &args);
        return false;
    }
    if (apply_words(c, &words, &err) != STATUS_OK || check_command(c, &args, &err) != STATUS_OK) {
        *out_code = tool_fail(&err, EXIT_USAGE);
        return false;
    }
    return true;
}
