/* sort-render serve: a renderer that stays. It reads commands from standard input and answers on standard output
 * (docs/reference/serve.md), and renders many pictures of a scene that it has loaded once.
 *
 *   serve_input    the reader, the queue and the stop flag
 *   serve_command  a line to a command
 *   serve_event    answers
 *
 * A picture is that of 'sort-render SCENE' with the same options, bit by bit. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "sort/render/stats_json.h"
#include "tools/sort_render/cache_folder.h"
#include "tools/sort_render/interrupt.h"
#include "tools/sort_render/render_command.h"
#include "tools/sort_render/render_report.h"
#include "tools/sort_render/serve_event.h"
#include "tools/sort_render/serve_input.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A scene that pictures can be rendered of. It does not move: options point into it. */
typedef struct Loaded {
    ServeCommand *source; /* owned; its texts are used */
    RenderCommand command;
    FileClaims claims; /* what the scene is read from */
    Render *render;
} Loaded;

typedef struct Session {
    ServeInput *input;
    RenderStore *store; /* owned; what scenes share */
    Log log;
    Loaded *loaded;     /* owned; NULL: none yet */
    _Atomic int64_t id; /* of the command that runs; threads that warn read it */
} Session;

static void write_log(void *data, LogLevel level, const char *text)
{
    const Session *s = data;
    serve_tell(level == LOG_LEVEL_ERROR ? "warning" : log_level_name(level), s->id, text);
}

static void show_stage(void *data, const char *what)
{
    const Session *s = data;
    ServeEvent event;
    serve_event_begin(&event, "stage", s->id);
    json_write_string(&event.json, "stage", what);
    serve_event_send(&event);
}

/* --- loading ---------------------------------------------------------------------------------------- */

static void loaded_destroy(Loaded *l)
{
    if (!l)
        return;
    render_destroy(l->render);
    file_claims_free(&l->claims);
    serve_command_destroy(l->source);
    mem_free(l);
}

/* Reads the options of one or two commands, those of the scene first, as a command line would have them. */
static Status read_options(const ServeCommand *scene, const ServeCommand *picture,
                           RenderCommand *out_command, Error *err)
{
    union {
        const char *constant;
        char *text;
    } argv[2 * SERVE_OPTIONS_MAX + 3] = {{"sort-render"}};
    int argc = 1;
    argv[argc++].constant =
        scene->scene; /* before the options, so that none takes it for its value */
    for (uint32_t i = 0; i < scene->option_count; ++i)
        argv[argc++].constant = scene->options[i];
    for (uint32_t i = 0; picture && i < picture->option_count; ++i)
        argv[argc++].constant = picture->options[i];
    ASSERT((size_t)argc < SORT_COUNT_OF(argv));
    return render_command_read(argc, &argv[0].text, out_command, err);
}

static void use_session(Session *s, RenderCommand *c, Loaded *l)
{
    c->render.log = &s->log;
    c->render.claims = &l->claims;
    c->render.store = s->store;
    c->render.is_in_parts = l->source->is_edited;
    c->render.stop = serve_input_stop(s->input);
    c->render.stage = show_stage;
    c->render.stage_data = s;
}

static Status load(Session *s, ServeCommand *command, Loaded **out_loaded, Error *err)
{
    Loaded *l = MEM_NEW(Loaded);
    StrBuf diagnostics = {0};
    *out_loaded = l;
    if (!l)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    l->source = command;
    TRY(read_options(command, NULL, &l->command, err));
    if (!file_exists(l->command.scene))
        return error_set_at(err, STATUS_NOT_FOUND, l->command.scene,
                            "there is no such file or folder");
    cache_folder_warn(&s->log);
    use_session(s, &l->command, l);
    l->command.render.is_fleeting = true; /* pictures say what they need */
    Status status = render_create(&l->command.render, &l->render, &diagnostics, err);
    serve_warn_lines(s->id, strbuf_text(&diagnostics));
    strbuf_free(&diagnostics);
    return status;
}

static void tell_loaded(const Session *s, double seconds)
{
    RenderStats stats;
    ServeEvent event;
    const Scene *scene = render_scene(s->loaded->render);
    render_stats(s->loaded->render, &stats);
    serve_event_begin(&event, "done", s->id);
    json_write_double(&event.json, "seconds", seconds);
    json_write_double(&event.json, "load_s", stats.load_s);
    json_write_double(&event.json, "compile_s", stats.compile_s);
    json_write_double(&event.json, "textures_s", stats.textures_s);
    json_write_double(&event.json, "accel_s", stats.accel_s);
    json_write_double(&event.json, "lights_s", stats.lights_s);
    json_write_u64(&event.json, "instances", scene->instance_count);
    json_write_u64(&event.json, "triangles", stats.accel.triangle_count);
    RenderStoreStats store = render_store_stats(s->store);
    json_write_u64(&event.json, "built_meshes", store.built_meshes);
    json_write_u64(&event.json, "kept_bytes", store.array_bytes);
    serve_event_send(&event);
}

/* Takes the command. The scene before stays if this one cannot be loaded. */
static void run_load(Session *s, ServeCommand *command)
{
    Error err = {0};
    Loaded *loaded;
    uint64_t start_ns = clock_now_ns();
    if (load(s, command, &loaded, &err) != STATUS_OK) {
        if (!loaded)
            serve_command_destroy(command);
        loaded_destroy(loaded);
        serve_fail(s->id, &err);
        return;
    }
    loaded_destroy(s->loaded);
    s->loaded = loaded;
    tell_loaded(s, clock_seconds_since(start_ns));
}

/* --- rendering -------------------------------------------------------------------------------------- */

typedef struct Picture {
    Session *session;
    const ServeCommand *command;
    RenderCommand *options;
    uint64_t start_ns;
    bool is_damaged;
} Picture;

static void tell_picture(const Picture *p, const char *event_name, const Film *film)
{
    const FilmDesc *desc = film_desc(film);
    ServeEvent event;
    serve_event_begin(&event, event_name, p->session->id);
    json_write_u64(&event.json, "width", desc->crop_width);
    json_write_u64(&event.json, "height", desc->crop_height);
    json_write_double(&event.json, "seconds", clock_seconds_since(p->start_ns));
    if (strcmp(event_name, "done") == 0)
        json_write_bool(&event.json, "is_damaged", p->is_damaged);
    serve_event_send(&event);
}

/* RenderOptions.quiet: writes an unfinished picture. */
static Status update(void *data, Render *render, Error *err)
{
    const Picture *p = data;
    OutputCommand pictures = p->options->output;
    pictures.partial = NULL;
    pictures.denoises = false;
    TRY(output_command_write(&pictures, render_film(render), err));
    tell_picture(p, "picture", render_film(render));
    return STATUS_OK;
}

/* No output is another one, or a file that is read, and all can be made. */
static Status check_outputs(const RenderCommand *c, Loaded *l, Error *err)
{
    const OutputCommand *o = &c->output;
    FileClaims claims = {0};
    Status status = render_command_claim(c, &claims, err);
    file_claims_free(&claims);
    TRY(status);
    TRY(file_check_output(&l->claims, "-o", o->exr, err));
    TRY(file_check_output(&l->claims, "--png", o->png, err));
    TRY(file_check_output(&l->claims, "pixels", o->pixels, err));
    TRY(file_check_output(&l->claims, "--partial", o->partial, err));
    TRY(file_check_output(&l->claims, "--stats", c->stats, err));
    return render_command_check_places(c, err);
}

/* Makes the loaded render that of the command's picture. */
static Status prepare(Picture *p, Loaded *l, Error *err)
{
    enum { FIRST_UPDATE_MS = 100 };
    const double first_s = FIRST_UPDATE_MS * 1e-3;
    RenderCommand *c = p->options;
    TRY(read_options(l->source, p->command, c, err));
    c->output.pixels = p->command->pixels;
    TRY(output_command_sort(&c->output, err));
    TRY(check_outputs(c, l, err));
    if (c->output.denoises)
        TRY(render_denoiser_check(&c->output.denoiser, err));
    use_session(p->session, c, l);
    c->render.is_fleeting = !c->output.exr && !c->output.partial;
    c->render.eye = p->command->has_camera ? &p->command->camera : NULL;
    c->render.quiet = c->update_s > 0.0 ? update : NULL;
    c->render.quiet_data = p;
    c->render.quiet_interval_s = c->update_s;
    c->render.quiet_first_s = c->update_s < first_s ? c->update_s : first_s;
    if (!render_shares_scene(&l->command.render, &c->render))
        return error_set(
            err, STATUS_INVALID,
            "options of threads, textures, CPU and cache belong to the command 'load'");
    return render_again(l->render, &c->render, err);
}

static Status write_stats(const RenderCommand *c, Render *render, Error *err)
{
    RenderStats stats;
    StrBuf text = {0};
    if (!c->stats)
        return STATUS_OK;
    render_stats(render, &stats);
    uint32_t capacity = texcache_texture_stats(render_textures(render), NULL, 0);
    TexTextureStats *textures = MEM_ARRAY(TexTextureStats, capacity + 1);
    StatsParts parts = {.stats = &stats, .scene = render_scene(render)->name, .textures = textures};
    if (textures)
        parts.texture_count = texcache_texture_stats(render_textures(render), textures, capacity);
    stats_json(&parts, &text);
    Status status = file_write(c->stats, strbuf_text(&text), text.size_bytes, err);
    mem_free(textures);
    strbuf_free(&text);
    return status;
}

static Status render_picture(Picture *p, Loaded *l, Error *err)
{
    Progress *progress;
    StrBuf report = {0};
    TRY(prepare(p, l, err));
    TRY(progress_start(l->render, PROGRESS_JSON, stdout, serve_output_lost, &progress, err));
    Status status = render_run(l->render, err);
    progress_stop(progress);
    TRY(status);
    TRY(output_command_write(&p->options->output, render_film(l->render), err));
    p->is_damaged = render_report(l->render, &report);
    serve_warn_lines(p->session->id, strbuf_text(&report));
    strbuf_free(&report);
    return write_stats(p->options, l->render, err);
}

static void run_render(Session *s, const ServeCommand *command)
{
    Error err = {0};
    RenderCommand options;
    Picture picture = {
        .session = s, .command = command, .options = &options, .start_ns = clock_now_ns()};
    ServeEvent event;
    Status status = STATUS_CANCELLED;
    if (!s->loaded)
        status = error_set(&err, STATUS_INVALID, "there is no scene: the command 'load' names one");
    else if (!command->is_stopped)
        status = render_picture(&picture, s->loaded, &err);
    if (status == STATUS_OK) {
        tell_picture(&picture, "done", render_film(s->loaded->render));
    } else if (status == STATUS_CANCELLED) {
        serve_event_begin(&event, "stopped", s->id);
        serve_event_send(&event);
    } else {
        serve_fail(s->id, &err);
    }
}

/* --- the session ------------------------------------------------------------------------------------ */

/* Takes the command. Returns whether more follow. */
static bool run_command(Session *s, ServeCommand *command)
{
    ServeEvent event;
    ServeKind kind = command->kind;
    s->id = command->id;
    switch (kind) {
    case SERVE_LOAD:
        run_load(s, command);
        return true;
    case SERVE_RENDER:
        run_render(s, command);
        break;
    case SERVE_MISTAKE:
        serve_fail(s->id, &command->error);
        break;
    case SERVE_STOP:
    case SERVE_QUIT:
        serve_event_begin(&event, "done", s->id);
        serve_event_send(&event);
        break;
    }
    serve_command_destroy(command);
    return kind != SERVE_QUIT;
}

static int serve(void)
{
    Error err = {0};
    ServeEvent event;
    Session session = {.log = {.level = LOG_LEVEL_WARNING, .write = write_log}, .id = SERVE_NO_ID};
    session.log.data = &session;
    (void)signal(SIGPIPE,
                 SIG_IGN); /* an event that cannot be written says so, and ends the program */
    if (interrupt_start(EXIT_INTERRUPTED, &err) != STATUS_OK ||
        render_store_create(&session.store, &err) != STATUS_OK ||
        serve_input_start(&session.input, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    serve_event_begin(&event, "ready", SERVE_NO_ID);
    json_write_u64(&event.json, "protocol", SERVE_PROTOCOL);
    json_write_string(&event.json, "version", SORT_VERSION);
    serve_event_send(&event);
    while (run_command(&session, serve_input_take(session.input)))
        continue;
    loaded_destroy(session.loaded);
    render_store_destroy(session.store);
    cache_folder_end();
    serve_input_destroy(session.input);
    return EXIT_DONE;
}

int serve_main(int argc, char **argv)
{
    CliResult args;
    int code;
    const CliProgram program = {
        .name = "sort-render serve",
        .usage = "",
        .summary = "Stays, and renders what it is told on standard input: one JSON object a line, "
                   "as docs/reference/serve.md describes. Answers are JSON on standard output.",
        TOOL_ARGS(0, 0, "")};
    return tool_parse(&program, argc, argv, &args, &code) ? serve() : code;
}
