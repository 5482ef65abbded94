#include "sort/render/progress.h"

#include "base/alloc.h"
#include "base/cli.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/thread.h"

enum { BAR_WIDTH = 24, BAR_PERIOD_MS = 200, JSON_PERIOD_MS = 500 };

struct Progress {
    const Render *render;
    ProgressKind kind;
    FILE *out;
    void (*lost)(void); /* NULL: none */
    uint64_t start_ns;
    Mutex lock;
    Cond changed;
    bool is_stopping; /* guarded by lock */
    Thread *thread;
};

static void format_time(double seconds, char out[16])
{
    uint32_t s = seconds < 0 ? 0 : seconds > 359999.0 ? 359999 : (uint32_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, 16, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, 16, "%u:%02u", s / 60, s % 60);
}

static void show_bar(const Progress *p, bool is_last)
{
    RenderProgress state = render_progress(p->render);
    double done = state.paths_total ? (double)state.paths_done / (double)state.paths_total : 1.0;
    double elapsed = clock_seconds_since(p->start_ns);
    char bar[BAR_WIDTH + 1], passed[16], left[16], textures[32], budget[32];
    for (int i = 0; i < BAR_WIDTH; ++i)
        bar[i] = (double)i < done * BAR_WIDTH ? '#' : '-';
    bar[BAR_WIDTH] = 0;
    format_time(elapsed, passed);
    format_time(state.left_s, left);
    fprintf(p->out, "\r[%s] %5.1f %%  %s, %s left  %.2f M rays/s  textures %s of %s\033[K", bar,
            100.0 * done, passed, state.left_s >= 0.0 ? left : "?",
            elapsed > 0 ? (double)state.rays * 1e-6 / elapsed : 0.0,
            cli_format_size(state.texture_bytes, textures),
            cli_format_size(state.texture_budget_bytes, budget));
    if (is_last)
        fputc('\n', p->out);
    fflush(p->out);
}

static void show_json(const Progress *p)
{
    RenderProgress state = render_progress(p->render);
    double done = state.paths_total ? (double)state.paths_done / (double)state.paths_total : 1.0;
    double elapsed = clock_seconds_since(p->start_ns);
    StrBuf line = {0};
    JsonWriter w = json_writer(&line, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    json_write_string(&w, "event", "progress");
    json_write_double(&w, "done", done);
    json_write_double(&w, "elapsed_s", elapsed);
    json_write_double(&w, "left_s", state.left_s);
    json_write_u64(&w, "rays", state.rays);
    json_write_u64(&w, "texture_bytes", state.texture_bytes);
    json_write_u64(&w, "texture_budget_bytes", state.texture_budget_bytes);
    json_write_end(&w);
    fprintf(p->out, "%s\n", strbuf_text(&line));
    fflush(p->out);
    strbuf_free(&line);
}

static void show(const Progress *p, bool is_last)
{
    if (p->kind == PROGRESS_BAR)
        show_bar(p, is_last);
    else
        show_json(p);
    if (p->lost && ferror(p->out))
        p->lost();
}

static void run(void *data)
{
    Progress *p = data;
    mutex_lock(&p->lock);
    while (!p->is_stopping) {
        mutex_unlock(&p->lock);
        show(p, false);
        mutex_lock(&p->lock);
        if (!p->is_stopping)
            cond_wait_for(&p->changed, &p->lock,
                          p->kind == PROGRESS_BAR ? BAR_PERIOD_MS : JSON_PERIOD_MS);
    }
    mutex_unlock(&p->lock);
}

Status progress_start(const Render *render, ProgressKind kind, FILE *out, void (*lost)(void),
                      Progress **out_progress, Error *err)
{
    *out_progress = NULL;
    if (kind == PROGRESS_NONE)
        return STATUS_OK;
    Progress *p = MEM_NEW(Progress);
    if (!p)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    *p = (Progress){
        .render = render, .kind = kind, .out = out, .lost = lost, .start_ns = clock_now_ns()};
    mutex_init(&p->lock);
    cond_init(&p->changed);
    Status status = thread_create("progress", 0, run, p, &p->thread, err);
    if (status != STATUS_OK) {
        mem_free(p);
        return status;
    }
    *out_progress = p;
    return STATUS_OK;
}

void progress_stop(Progress *p)
{
    if (!p)
        return;
    mutex_lock(&p->lock);
    p->is_stopping = true;
    cond_signal(&p->changed);
    mutex_unlock(&p->lock);
    thread_join(p->thread);
    show(p, true);
    cond_destroy(&p->changed);
    mutex_destroy(&p->lock);
    mem_free(p);
}

void progress_event(FILE *out, const char *event)
{
    StrBuf line = {0};
    JsonWriter w = json_writer(&line, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    json_write_string(&w, "event", event);
    json_write_end(&w);
    fprintf(out, "%s\n", strbuf_text(&line));
    fflush(out);
    strbuf_free(&line);
}

void progress_stage(ProgressKind kind, FILE *out, const char *what)
{
    if (kind == PROGRESS_BAR) {
        fprintf(out, "\r%s ...\033[K", what);
    } else if (kind == PROGRESS_JSON) {
        StrBuf line = {0};
        JsonWriter w = json_writer(&line, JSON_ONE_LINE);
        json_write_object(&w, NULL);
        json_write_string(&w, "event", "stage");
        json_write_string(&w, "stage", what);
        json_write_end(&w);
        fprintf(out, "%s\n", strbuf_text(&line));
        strbuf_free(&line);
    }
    fflush(out);
}
