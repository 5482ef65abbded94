/* sort-render: a scene package, or any importable scene file, to a picture.
 *
 *   sort-render SCENE -o OUT.exr      load (importing first in a child process), render, write
 *   sort-render merge A B .. -o OUT   add partial results exactly
 *   sort-render denoise A -o OUT      a picture that was rendered with --denoising-data, without its noise
 *   sort-render verify A B ..         are partial results whole, and what do they hold
 *   sort-render compare A B           how far two pictures are apart
 *   sort-render serve                 stays, and renders what it is told on standard input
 *   sort-render manual, completion    pages made from the tables of options (tools/kit/tool.h)
 *
 * Arguments in (render_command.h), library calls, messages out. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/temp_folder.h"
#include "sort/import/scene_import.h"
#include "sort/package/scene_load.h"
#include "sort/render/stats_json.h"
#include "tools/kit/watch_folder.h"
#include "tools/sort_render/cache_folder.h"
#include "tools/sort_render/interrupt.h"
#include "tools/sort_render/render_check.h"
#include "tools/sort_render/render_command.h"
#include "tools/sort_render/render_frames.h"
#include "tools/sort_render/render_report.h"
#include <string.h>

/* --- messages ------------------------------------------------------------------------------------------ */

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

/* --- rendering ---------------------------------------------------------------------------------------- */

static Status write_text(const char *path, const StrBuf *text, Error *err)
{
    if (strcmp(path, "-") == 0) {
        fputs(strbuf_text(text), stdout);
        return STATUS_OK;
    }
    return file_write(path, strbuf_text(text), text->size_bytes, err);
}

static Status write_stats(const RenderCommand *c, Render *render, const MonitorTimeline *timeline,
                          Error *err)
{
    RenderStats stats;
    StrBuf text = {0};
    Status status = STATUS_OK;
    render_stats(render, &stats);
    if (c->stats) {
        uint32_t capacity = texcache_texture_stats(render_textures(render), NULL, 0);
        TexTextureStats *textures = MEM_ARRAY(TexTextureStats, capacity + 1);
        StatsParts parts = {.stats = &stats,
                            .scene = render_scene(render)->name,
                            .textures = textures,
                            .timeline = timeline};
        if (textures)
            parts.texture_count =
                texcache_texture_stats(render_textures(render), textures, capacity);
        stats_json(&parts, &text);
        status = write_text(c->stats, &text, err);
        mem_free(textures);
    } else if (!c->is_quiet) {
        stats_summary(&stats, &text);
        fputs(strbuf_text(&text), stderr);
    }
    strbuf_free(&text);
    return status;
}

/* Prints the failures that did not stop the render. Returns whether the picture is damaged, which the exit code tells. */
static bool report_damage(const Render *render)
{
    StrBuf text = {0};
    bool is_damaged = render_report(render, &text);
    fputs(strbuf_text(&text), stderr);
    strbuf_free(&text);
    return is_damaged;
}

#define FIRST_UPDATE_S 0.1

/* When the checkpoint and the pictures of an unfinished render are due; UINT64_MAX: never. */
typedef struct Upkeep {
    const RenderCommand *command;
    const Log *log;
    uint64_t checkpoint_ns, update_ns;
    bool checkpoint_fails, update_fails; /* the last one did */
} Upkeep;

static uint64_t due_in(bool is_wanted, double seconds)
{
    ASSERT(!is_wanted || seconds >= 0.0);
    return is_wanted ? clock_now_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

/* A file that cannot be written now, as a disk is full, may be later, and the samples are worth more than it: the render goes on. Tells
 * the first of failures in a row. Returns whether this is one. */
static bool is_put_off(const Upkeep *u, Status status, const Error *why, bool has_failed)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    if (status != STATUS_OK && !has_failed)
        log_error(u->log, "%s; the render goes on, and tries again",
                  error_format(why, text, sizeof text));
    return status != STATUS_OK;
}

static Status keep_up(void *data, Render *render, Error *err)
{
    SORT_UNUSED(err);
    Upkeep *u = data;
    const RenderCommand *c = u->command;
    Error why = {0};
    if (clock_now_ns() >= u->checkpoint_ns) {
        Status status = film_write_partial(render_film(render), c->checkpoint, &why);
        u->checkpoint_fails = is_put_off(u, status, &why, u->checkpoint_fails);
        u->checkpoint_ns = due_in(true, c->checkpoint_s);
    }
    if (clock_now_ns() >= u->update_ns) {
        OutputCommand pictures = c->output;
        pictures.partial = NULL;
        pictures.denoises = false;
        Status status = output_command_write(&pictures, render_film(render), &why);
        u->update_fails = is_put_off(u, status, &why, u->update_fails);
        if (status == STATUS_OK && c->progress == PROGRESS_JSON)
            progress_event(stdout, "picture");
        u->update_ns = due_in(true, c->update_s);
    }
    return STATUS_OK;
}

static void plan_upkeep(const RenderCommand *c, const Log *log, Upkeep *u, RenderOptions *options)
{
    /* The first picture soon: somebody waits for it. */
    options->quiet_first_s = c->update_s < FIRST_UPDATE_S ? c->update_s : FIRST_UPDATE_S;
    *u = (Upkeep){.command = c,
                  .log = log,
                  .checkpoint_ns = due_in(c->checkpoint, c->checkpoint_s),
                  .update_ns = c->update_s > 0.0 ? 0 : UINT64_MAX};
    options->quiet = c->checkpoint || c->update_s > 0.0 ? keep_up : NULL;
    options->quiet_data = u;
    options->quiet_interval_s = !c->checkpoint                  ? c->update_s
                                : c->update_s == 0.0            ? c->checkpoint_s
                                : c->update_s < c->checkpoint_s ? c->update_s
                                                                : c->checkpoint_s;
}

/* Continues from the checkpoint if the command asks for it and the file exists. */
static Status resume(const RenderCommand *c, Render *render, const Log *log, Error *err)
{
    Film *film;
    if (!c->is_resuming)
        return STATUS_OK;
    if (!file_exists(c->checkpoint)) {
        log_info(log, "there is no checkpoint %s: starting from the beginning", c->checkpoint);
        return STATUS_OK;
    }
    TRY(film_read_partial(c->checkpoint, &film, err));
    Status status = render_resume(render, film, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s: cannot be resumed", c->checkpoint);
    return status;
}

/* Takes the judgement of the rounds before, if the command is a part of an adaptive round. */
static Status follow(const RenderCommand *c, Render *render, Error *err)
{
    Film *judged;
    if (!c->after)
        return STATUS_OK;
    TRY(film_read_partial(c->after, &judged, err));
    Status status = render_follow(render, judged, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", c->after);
    film_destroy(judged);
    return status;
}

/* An interrupted render's checkpoint holds the sums that --partial would. */
static Status write_output(const RenderCommand *c, Render *render, bool is_interrupted, Error *err)
{
    OutputCommand output = c->output;
    if (is_interrupted && c->checkpoint && !file_is_special(c->checkpoint))
        output.partial = NULL;
    return output_command_write(&output, render_film(render), err);
}

/* The checkpoint of a render that has ended: of use when it was interrupted, or shall have more samples later. */
static Status settle_checkpoint(const RenderCommand *c, Render *render, bool is_interrupted,
                                Error *err)
{
    if (!c->checkpoint)
        return STATUS_OK;
    if (is_interrupted || c->keeps_checkpoint)
        return film_write_partial(render_film(render), c->checkpoint, err);
    return file_is_special(c->checkpoint) ? STATUS_OK : file_remove(c->checkpoint, err);
}

/* By default in the user's folder, if there can be one; a place that was named must work. */
static Status start_monitor(const RenderCommand *c, Render *render, const Log *log,
                            Monitor **out_monitor, Error *err)
{
    char path[PATH_BYTES];
    if (c->watch || c->is_unwatched)
        return monitor_start(render, c->watch, out_monitor, err);
    Error reason = {0};
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    if (watch_own_file(path, &reason) == STATUS_OK &&
        monitor_start(render, path, out_monitor, &reason) == STATUS_OK)
        return STATUS_OK;
    log_info(log, "this render cannot be watched: %s", error_format(&reason, text, sizeof text));
    return monitor_start(render, NULL, out_monitor, err);
}

static int tell_early_interruption(void)
{
    fputs("sort-render: interrupted while textures were converted; what is converted is kept, no "
          "picture "
          "is written\n",
          stderr);
    return EXIT_INTERRUPTED;
}

/* A render of sums alone has no picture; write_output has put them into one of the two files. */
static int tell_interruption(const RenderCommand *c)
{
    bool has_picture = c->output.exr || c->output.png || c->output.pixels;
    fprintf(stderr, "sort-render: interrupted; the %s the samples taken so far%s\n",
            has_picture     ? "picture holds"
            : c->checkpoint ? "checkpoint holds"
                            : "sums hold",
            c->checkpoint ? "; --resume goes on with it" : "");
    return EXIT_INTERRUPTED;
}

static int trace_and_write(const RenderCommand *c, Render *render, const Log *log,
                           ProgressKind kind)
{
    Error err = {0};
    Progress *progress;
    Monitor *monitor;
    static MonitorTimeline timeline;
    interrupt_hold(true); /* from here on there is something to lose */
    if (start_monitor(c, render, log, &monitor, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    if (progress_start(render, kind, kind == PROGRESS_JSON ? stdout : stderr, NULL, &progress,
                       &err) != STATUS_OK) {
        monitor_stop(monitor, NULL);
        return tool_fail(&err, EXIT_FAILED);
    }
    Status status = render_run(render, &err);
    progress_stop(progress);
    monitor_stop(monitor, &timeline);
    if (status != STATUS_OK && status != STATUS_CANCELLED)
        return tool_fail(&err, EXIT_FAILED);
    bool is_interrupted = status == STATUS_CANCELLED;
    if (is_interrupted && render_is_torn(render))
        return tell_early_interruption();
    Status written = write_output(c, render, is_interrupted, &err);
    if (written !=
        STATUS_OK) { /* the samples are not lost: --resume, or merge, writes them elsewhere */
        (void)tool_fail(&err, EXIT_FAILED);
        is_interrupted = true;
    }
    Status settled = settle_checkpoint(c, render, is_interrupted, &err);
    bool is_kept = c->checkpoint ? settled == STATUS_OK : written == STATUS_OK;
    if (!is_kept && (written != STATUS_OK || (is_interrupted && c->output.partial)))
        output_command_rescue(&c->output, render_film(render));
    if (settled != STATUS_OK || write_stats(c, render, &timeline, &err) != STATUS_OK ||
        render_end_trace(render, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    if (written != STATUS_OK)
        return EXIT_FAILED;
    if (is_interrupted)
        return tell_interruption(c);
    bool is_damaged = report_damage(render);
    if (!is_damaged && film_shot(render_film(render))->has & FILM_SHOT_DAMAGED) {
        fputs("an earlier run of this render met missing or damaged textures or faults, and said "
              "which; its samples are in the picture\n",
              stderr);
        is_damaged = true;
    }
    return is_damaged ? EXIT_DAMAGED : EXIT_DONE;
}

/* Sums have a size that is known; a picture's is known when it is compressed, but one that would fit as it is will
 * fit. */
static Status check_room(const RenderCommand *c, Render *render, const Log *log, Error *err)
{
    const Film *film = render_film(render);
    Error why = {0};
    if (c->checkpoint)
        TRY(file_check_room(c->checkpoint, film_size_bytes(film), err));
    if (c->output.partial)
        TRY(file_check_room(c->output.partial, film_size_bytes(film), err));
    if (!c->output.exr)
        return STATUS_OK;
    TRY(file_check_room(c->output.exr, 4096, err));
    if (file_check_room(c->output.exr, render_output_exr_bytes(film), &why) != STATUS_OK)
        log_warning(log, "%s: there may be no room for the picture: it %s", c->output.exr,
                    why.text);
    return STATUS_OK;
}

static int render_package(const RenderCommand *c, const Log *log, Terminal *terminal)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render;
    RenderOptions options = c->render;
    Upkeep upkeep;
    interrupt_hold(false); /* it may be another frame's */
    if (c->output.denoises && render_denoiser_check(&c->output.denoiser, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    cache_folder_warn(log);
    plan_upkeep(c, log, &upkeep, &options);
    options.log = log;
    options.cancel = interrupt_asked();
    options.stage = show_stage;
    options.stage_data = terminal;
    Status status = render_create(&options, &render, &diagnostics, &err);
    if (terminal->kind == PROGRESS_BAR)
        fputs("\r\033[K", stderr);
    fputs(strbuf_text(&diagnostics), stderr);
    strbuf_free(&diagnostics);
    if (status == STATUS_CANCELLED)
        return tell_early_interruption();
    if (status != STATUS_OK)
        return tool_fail(&err, status == STATUS_INVALID ? EXIT_USAGE : EXIT_FAILED);
    if (c->only_check) {
        status = render_finish_textures(render, &err);
        if (status == STATUS_OK)
            print_scene(render_scene(render), stdout);
        render_destroy(render);
        return status == STATUS_OK ? EXIT_DONE : tool_fail(&err, EXIT_FAILED);
    }
    if (c->probe.is_wanted) {
        int probed = probe_pixel(c, render);
        render_destroy(render);
        return probed;
    }
    int code = follow(c, render, &err) == STATUS_OK && resume(c, render, log, &err) == STATUS_OK &&
                       check_room(c, render, log, &err) == STATUS_OK
                   ? trace_and_write(c, render, log, terminal->kind)
                   : tool_fail(&err, EXIT_FAILED);
    render_destroy(render);
    return code;
}

static SceneImportOptions import_options(const RenderCommand *c)
{
    return (SceneImportOptions){.size_bytes = sizeof(SceneImportOptions),
                                .plugin_folders = c->plugin_paths.items,
                                .plugin_folder_count = c->plugin_paths.count,
                                .texture_paths = c->texture_paths.items,
                                .texture_path_count = c->texture_paths.count,
                                .missing = c->render.missing,
                                .light_units = c->light_units,
                                .is_unlimited = c->is_import_unlimited};
}

/* The package is a copy, but what it was copied from is as much the user's as the scene file. */
static Status claim_files_read(const StrBuf *files, FileClaims *claims, Error *err)
{
    const char *path = strbuf_text(files), *end = path + files->size_bytes;
    for (; path < end; path += strlen(path) + 1)
        TRY(file_claim_input(claims, "a file of the scene", path, err));
    return STATUS_OK;
}

/* A foreign scene file becomes a package in a temporary folder first. */
static int render_foreign(RenderCommand *c, const Log *log, Terminal *terminal)
{
    Error err = {0};
    char package[PATH_BYTES];
    TempFolder folder = {0};
    StrBuf files = {0};
    SceneImportOptions import = import_options(c);
    import.log = log;
    import.files_read = &files;
    if (temp_folder_create("import", &folder, &err) != STATUS_OK ||
        path_join(folder.path, "package", package, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    show_stage(terminal, "importing");
    int code;
    if (scene_import_in_child(c->scene, package, &import, &err) != STATUS_OK) {
        code = tool_fail(&err, EXIT_FAILED);
    } else if (claim_files_read(&files, c->render.claims, &err) != STATUS_OK) {
        code = tool_fail(&err, EXIT_USAGE);
    } else {
        c->render.scene_path = package;
        code = render_package(c, log, terminal);
        c->render.scene_path = NULL; /* the folder goes with this function */
    }
    strbuf_free(&files);
    if (temp_folder_remove(&folder, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    return code;
}

/* A scene that cannot be read is told when its frame comes. A foreign one has to be imported to know its files: only where
 * there is something to lose. */
static Status claim_scene(RenderCommand *c, bool is_replacing, FileClaims *claims, Error *err)
{
    if (scene_import_is_package(c->scene)) {
        SceneLoadOptions options = {.size_bytes = sizeof options,
                                    .texture_paths = c->texture_paths.items,
                                    .texture_path_count = c->texture_paths.count,
                                    .missing = SCENE_MISSING_MAGENTA,
                                    .claims = claims};
        Status status = scene_claim(c->scene, &options, err);
        return status == STATUS_INVALID ? status : STATUS_OK;
    }
    if (!is_replacing)
        return STATUS_OK;
    char package[PATH_BYTES];
    TempFolder folder = {0};
    StrBuf files = {0};
    Log quiet = {0};
    SceneImportOptions import = import_options(c);
    import.log = &quiet;
    import.files_read = &files;
    Status status = temp_folder_create("import", &folder, err);
    if (status == STATUS_OK)
        status = path_join(folder.path, "package", package, err);
    if (status == STATUS_OK && scene_import_in_child(c->scene, package, &import, NULL) == STATUS_OK)
        status = claim_files_read(&files, claims, err);
    strbuf_free(&files);
    Status removed = temp_folder_remove(&folder, status == STATUS_OK ? err : NULL);
    return status == STATUS_OK ? removed : status;
}

static int render_one(RenderCommand *c)
{
    Error err = {0};
    FileClaims claims = {0};
    Terminal terminal = {c->progress};
    Log log = {c->log_level, write_log, &terminal};
    int code;
    if (render_command_claim(c, &claims, &err) != STATUS_OK) {
        code = tool_fail(&err, EXIT_USAGE);
    } else if (scene_import_is_package(c->scene)) {
        c->render.claims = &claims;
        c->render.scene_path = c->scene;
        code = render_package(c, &log, &terminal);
    } else {
        c->render.claims = &claims;
        code = render_foreign(c, &log, &terminal);
    }
    c->render.claims = NULL;
    file_claims_free(&claims);
    return code;
}

/* Imports in a child process, as a render does: the importer's library may crash, and this process reports it. */
static int import_package(const RenderCommand *c)
{
    Error err = {0};
    Log log = {.level = LOG_LEVEL_INFO, .write = log_to_stream, .data = stderr};
    SceneImportOptions import = import_options(c);
    import.log = &log;
    Status status = scene_import_in_child(c->import, c->export_package, &import, &err);
    if (status == STATUS_OK)
        return EXIT_DONE;
    return tool_fail(&err, status == STATUS_INVALID ? EXIT_USAGE : EXIT_FAILED);
}

static int run_command(int argc, char **argv)
{
    static const FrameSteps steps = {claim_scene, render_one};
    RenderCommand command;
    int code;
    if (!render_command_parse(argc, argv, &command, &code))
        return code;
    if (command.is_import_child) {
        SceneImportOptions import = import_options(&command);
        import.files_read_to = stdout;
        return scene_import_main(command.import, command.export_package, &import);
    }
    Error err = {0};
    if (interrupt_start(EXIT_INTERRUPTED, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    if (command.import)
        return import_package(&command);
    return command.frames.is_wanted ? frames_render(&command, &steps) : render_one(&command);
}

static int run(int argc, char **argv)
{
    int code = run_command(argc, argv);
    cache_folder_end();
    return code;
}

static const CliCommand commands[] = {
    {"merge", "adds partial results", merge_main},
    {"denoise", "removes the noise of a picture", denoise_main},
    {"verify", "checks partial results, and tells what they hold", verify_main},
    {"compare", "tells how far two pictures are apart", compare_main},
    {"serve", "stays, and renders what it is told on standard input", serve_main},
};

static const ToolRow exit_codes[] = {
#define EXIT_CODE(name, value, meaning) {#value, meaning},
#include "tools/kit/exit_codes.inc"
#undef EXIT_CODE
};

static const ToolRow environment[] = {
    {"XDG_CACHE_HOME",
     "Compiled shaders and converted textures are kept in its folder sort, else in "
     "~/.cache/sort, else in /tmp/sort-UID/cache; --cache overrides them. Where that cannot be "
     "written they last as long as the process. A folder that other users can change is refused"},
    {"SORT_PLUGIN_PATH", "Folders with plugins, with colons between, searched after --plugin-path"},
    {"TMPDIR",
     "Where textures of a zip, packages made of imported files, and what cannot be kept lie during "
     "the render"},
    {"XDG_RUNTIME_DIR", "Where a render publishes its counters for 'texcache watch'"},
};

static const char description[] =
    "SCENE is a scene package: a folder with a scene.json, that file itself, or a zip of the "
    "folder; or a file that "
    "the import plugin reads, such as glTF, OBJ, PLY or FBX, which is turned into a package in a "
    "temporary folder "
    "first. A file without a camera or a light gets one, and the program says so.\n"
    ".PP\n"
    "The picture is the same for any number of threads, any budget of texture memory, and any cut "
    "into sample ranges "
    "that \\fBsort\\-render merge\\fR adds again.";

int main(int argc, char **argv)
{
    static const Tool program = {
        .name = "sort-render",
        .purpose = "render a scene by path tracing",
        .summary =
            "Renders a scene package, or a scene file that can be imported, by path tracing.",
        .description = description,
        .commands = commands,
        .command_count = SORT_COUNT_OF(commands),
        .run = run,
        .exit_codes = exit_codes,
        .exit_code_count = SORT_COUNT_OF(exit_codes),
        .environment = environment,
        .environment_count = SORT_COUNT_OF(environment),
        .see_also = "texcache (1), sslc (1), ssl-test (1)"};
    return tool_main(&program, argc, argv);
}
