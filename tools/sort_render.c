/* sort-render: a scene package, or any importable scene file, to a picture.
 *
 *   sort-render SCENE -o OUT.exr      load (importing first in a child process), render, write
 *   sort-render merge A B .. -o OUT   add partial results exactly
 *
 * Arguments in (render_command.h), library calls, messages out. */
#include "base/file.h"
#include "sort/render/stats_json.h"
#include "sort/scene/scene_import.h"
#include "tools/render_command.h"
#include <signal.h>
#include <string.h>

static _Atomic bool interrupted;

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

static void on_signal(int signal_number)
{
    atomic_store(&interrupted, true);
    signal(signal_number, SIG_DFL); /* a second one ends us at once */
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

static Status write_stats(const RenderCommand *c, const Render *render, Error *err)
{
    RenderStats stats;
    StrBuf text = {0};
    Status status = STATUS_OK;
    render_stats(render, &stats);
    if (c->stats) {
        stats_json(&stats, &text);
        status = write_text(c->stats, &text, err);
    } else if (!c->is_quiet) {
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
    if (stats.wave.bsdf_faults)
        fprintf(
            stderr,
            "%llu points had closures that were left out: not finite, or more than %d at once\n",
            (unsigned long long)stats.wave.bsdf_faults, BSDF_MAX_LOBES);
    if (stats.textures.failed_tiles)
        fprintf(
            stderr,
            "%llu texture tiles could not be read; what touches them shows the missing colour\n",
            (unsigned long long)stats.textures.failed_tiles);
    bool is_damaged = faults.size_bytes || stats.textures.failed_tiles;
    strbuf_free(&faults);
    return is_damaged;
}

static int trace_and_write(const RenderCommand *c, Render *render, ProgressKind kind)
{
    Error err = {0};
    Progress *progress;
    if (progress_start(render, kind, kind == PROGRESS_JSON ? stdout : stderr, &progress, &err) !=
        STATUS_OK)
        return command_fail(&err, EXIT_FAILED);
    Status status = render_run(render, &err);
    progress_stop(progress);
    if (status != STATUS_OK && status != STATUS_CANCELLED)
        return command_fail(&err, EXIT_FAILED);
    if (output_command_write(&c->output, render_film(render), render_scene(render), &err) !=
            STATUS_OK ||
        write_stats(c, render, &err) != STATUS_OK)
        return command_fail(&err, EXIT_FAILED);
    if (status == STATUS_CANCELLED) {
        fprintf(stderr, "sort-render: interrupted; the picture holds the samples taken so far\n");
        return EXIT_INTERRUPTED;
    }
    return report_damage(render) ? EXIT_DAMAGED : EXIT_DONE;
}

static int render_package(const RenderCommand *c, const Log *log, Terminal *terminal)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render;
    RenderOptions options = c->render;
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
        return command_fail(&err, EXIT_FAILED);
    int code = trace_and_write(c, render, terminal->kind);
    render_destroy(render);
    return code;
}

/* A foreign scene file becomes a package in a temporary folder first. */
static int render_foreign(RenderCommand *c, const char *scene, const Log *log, Terminal *terminal)
{
    Error err = {0};
    char folder[PATH_BYTES], package[PATH_BYTES];
    SceneImportOptions import = {.size_bytes = sizeof import,
                                 .log = log,
                                 .plugin_folders = c->plugin_paths.items,
                                 .plugin_folder_count = c->plugin_paths.count};
    if (file_make_temp_directory("sort-import", folder, &err) != STATUS_OK ||
        path_join(folder, "package", package, &err) != STATUS_OK)
        return command_fail(&err, EXIT_FAILED);
    show_stage(terminal, "importing");
    int code;
    if (scene_import_in_child(scene, package, &import, &err) == STATUS_OK) {
        c->render.scene_path = package;
        code = render_package(c, log, terminal);
    } else {
        code = command_fail(&err, EXIT_FAILED);
    }
    if (file_remove_tree(folder, &err) != STATUS_OK)
        return command_fail(&err, EXIT_FAILED);
    return code;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "merge") == 0)
        return merge_main(argc - 1, argv + 1);

    RenderCommand command;
    int code;
    if (!render_command_parse(argc, argv, &command, &code))
        return code;
    if (command.import)
        return scene_import_main(command.import, command.export_package, command.plugin_paths.items,
                                 command.plugin_paths.count);
    Terminal terminal = {command.progress};
    Log log = {command.log_level, write_log, &terminal};
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (!scene_import_is_package(command.scene))
        return render_foreign(&command, command.scene, &log, &terminal);
    command.render.scene_path = command.scene;
    return render_package(&command, &log, &terminal);
}
