/* texcache watch: a live, read-only view of a running render's texture cache. On a terminal a screen that
 * redraws itself, else a line a second. */
#define _DEFAULT_SOURCE /* SIGWINCH */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "tools/kit/watch_folder.h"
#include "tools/texcache/texcache_commands.h"
#include "tools/texcache/watch_view.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 250, BEFORE_COUNT = 4, LINE_PERIOD_MS = 1000 };

static volatile sig_atomic_t is_asked_to_end, is_resized;

typedef struct Watch {
    Arena *arena;                /* owned: paths */
    const char *const *paths;    /* of live renders */
    uint32_t path_count, chosen; /* index */
    char path[PATH_BYTES];       /* that is shown */
    bool has_path, is_named;     /* named: on the command line */
    TexLive now, ring[BEFORE_COUNT];
    uint32_t ring_count;
    WatchHistory history;
} Watch;

/* --- what is shown ------------------------------------------------------------------------------ */

static void forget(Watch *w)
{
    w->ring_count = 0;
    w->history.count = 0;
    memset(&w->now, 0, sizeof w->now);
}

/* Lists the live renders anew, and stays with the one that is shown. */
static Status list_renders(Watch *w, Error *err)
{
    if (w->is_named)
        return STATUS_OK;
    arena_reset(w->arena);
    TRY(watch_list(w->arena, &w->paths, &w->path_count, err));
    for (uint32_t i = 0; i < w->path_count; ++i) {
        if (w->has_path && strcmp(w->paths[i], w->path) == 0) {
            w->chosen = i;
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

static void choose(Watch *w, uint32_t index)
{
    if (index >= w->path_count)
        return;
    w->chosen = index;
    snprintf(w->path, sizeof w->path, "%s", w->paths[index]);
    w->has_path = true;
    forget(w);
}

/* False: the file is gone, or cannot be read. */
static bool take(Watch *w, Error *err)
{
    TexLive *live = MEM_NEW(TexLive);
    bool ok = live && tex_live_read(w->path, live, err) == STATUS_OK;
    if (ok && live->sequence != w->now.sequence) {
        if (live->process_id != w->now.process_id)
            forget(w);
        if (w->now.sequence > 0) { /* the oldest of the ring is compared with */
            if (w->ring_count == BEFORE_COUNT)
                memmove(w->ring, w->ring + 1, (BEFORE_COUNT - 1) * sizeof *w->ring);
            else
                ++w->ring_count;
            ASSERT(w->ring_count > 0 && w->ring_count <= BEFORE_COUNT);
            w->ring[w->ring_count - 1] = w->now;
            double seconds = (double)(live->elapsed_ms - w->now.elapsed_ms) * 1e-3;
            if (w->history.count == WATCH_HISTORY) {
                --w->history.count;
                memmove(w->history.loads_per_s, w->history.loads_per_s + 1,
                        w->history.count * sizeof *w->history.loads_per_s);
            }
            ASSERT(w->history.count < WATCH_HISTORY);
            w->history.loads_per_s[w->history.count++] =
                seconds > 0.0 ? (double)(live->stats.loads - w->now.stats.loads) / seconds : 0.0;
        }
        w->now = *live;
    }
    mem_free(live);
    return ok;
}

static double silence_of(const TexLive *live)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return (ms - (double)live->wall_ms) * 1e-3;
}

static WatchFrame frame_of(const Watch *w)
{
    ASSERT(w->ring_count <= BEFORE_COUNT && w->history.count <= WATCH_HISTORY);
    return (WatchFrame){.now = &w->now,
                        .before = w->ring_count ? &w->ring[0] : NULL,
                        .history = &w->history,
                        .render_count = w->path_count,
                        .render_index = w->chosen,
                        .silent_s = silence_of(&w->now),
                        .is_alive = tex_live_is_alive(&w->now)};
}

/* --- lines ---------------------------------------------------------------------------------------- */

static int show_lines(Watch *w, bool is_once)
{
    Error err = {0};
    do {
        if (!take(w, &err)) {
            if (w->now.sequence == 0)
                return tool_fail(&err, TOOL_FAILED);
            puts("The render has ended.");
            return TOOL_DONE;
        }
        StrBuf text = {0};
        WatchFrame frame = frame_of(w);
        watch_line(&frame, &text);
        puts(strbuf_text(&text));
        fflush(stdout);
        strbuf_free(&text);
        if (!frame.is_alive) {
            puts("The render is gone.");
            return TOOL_FAILED;
        }
        if (!is_once)
            clock_sleep_ns((uint64_t)LINE_PERIOD_MS * 1000000);
    } while (!is_once && !is_asked_to_end);
    return TOOL_DONE;
}

/* --- the screen ----------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    if (number == SIGWINCH)
        is_resized = 1;
    else
        is_asked_to_end = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    for (size_t i = 0; i < SORT_COUNT_OF(numbers); ++i)
        sigaction(numbers[i], &action, NULL);
}

static void write_all(const char *text, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t count = write(STDOUT_FILENO, text, size_bytes);
        if (count < 0 && errno != EINTR)
            return;
        if (count > 0) {
            text += count;
            size_bytes -= (size_t)count;
        }
    }
}

static void draw(const Watch *w)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    struct winsize asked;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &asked) == 0 && asked.ws_row > 0 && asked.ws_col > 0)
        size = asked;
    WatchFrame frame = frame_of(w);
    frame.rows = size.ws_row;
    frame.columns = size.ws_col;
    frame.has_colors = !getenv("NO_COLOR");
    StrBuf text = {0}, screen = {0};
    watch_draw(&frame, &text);
    strbuf_append_c(&screen, "\x1b[H");
    for (const char *at = strbuf_text(&text); *at; ++at) { /* each line erases what stood there */
        if (*at == '\n')
            strbuf_append_c(&screen, "\x1b[K\r\n");
        else
            strbuf_append_char(&screen, *at);
    }
    strbuf_append_c(&screen, "\x1b[K\x1b[J");
    write_all(strbuf_text(&screen), screen.size_bytes);
    strbuf_free(&text);
    strbuf_free(&screen);
}

/* The key that was pressed within the period; 0: none. */
static char wait_for_key(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char key = 0;
    if (poll(&in, 1, PERIOD_MS) > 0 && read(STDIN_FILENO, &key, 1) != 1)
        is_asked_to_end = 1; /* the terminal is gone */
    return key;
}

static void run_screen(Watch *w)
{
    Error err = {0};
    char key = 0;
    while (!is_asked_to_end && key != 'q' && key != 3) {
        Error ignored = {0};
        (void)!list_renders(w, &ignored);
        bool is_there = w->has_path && take(w, &err);
        if (!is_there && w->path_count > 0 && !w->is_named) {
            choose(w, 0);
            continue;
        }
        if (!is_there)
            w->now.is_finished = 1;
        draw(w);
        key = wait_for_key();
        if (key == '\t' && w->path_count > 1)
            choose(w, (w->chosen + 1) % w->path_count);
    }
}

static int show_screen(Watch *w)
{
    struct termios before, raw;
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return show_lines(w, false);
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    static const char enter[] = "\x1b[?1049h\x1b[?25l", leave[] = "\x1b[?25h\x1b[?1049l";
    write_all(enter, sizeof enter - 1);
    run_screen(w);
    write_all(leave, sizeof leave - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    return TOOL_DONE;
}

/* --- the command ---------------------------------------------------------------------------------- */

static int begin(Watch *w, const char *path, bool is_plain, bool is_once)
{
    Error err = {0};
    if (path) {
        snprintf(w->path, sizeof w->path, "%s", path);
        w->has_path = w->is_named = true;
    } else if (list_renders(w, &err) != STATUS_OK) {
        return tool_fail(&err, TOOL_FAILED);
    } else if (w->path_count == 0) {
        fputs(
            "texcache: no render of yours is running (on this machine, and without --unwatched)\n",
            stderr);
        return TOOL_FAILED;
    } else {
        choose(w, 0);
    }
    if (!take(w, &err))
        return tool_fail(&err, TOOL_FAILED);
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    return is_plain || is_once || !is_terminal ? show_lines(w, is_once) : show_screen(w);
}

int texcache_run_watch(int argc, char **argv)
{
    bool is_plain = false, is_once = false;
    const CliOption options[] = {
        {.name = "plain",
         .kind = CLI_FLAG,
         .out = &is_plain,
         .help = "print a line per second, as without a terminal"},
        {.name = "once", .kind = CLI_FLAG, .out = &is_once, .help = "print one line and end"},
    };
    static const char *const examples[] = {
        "texcache watch", "watch the running render; tab: the next one",
        "texcache watch --plain | tee log", "print a line per second", NULL};
    const CliProgram program = {
        .name = "texcache watch",
        .usage = "[options] [FILE]",
        .summary =
            "Shows the texture cache of a running sort-render: use of the budget, hits, reads, and "
            "the textures that are read most. FILE is the one of sort-render's --watch. Keys: q "
            "quits, tab switches to the next render. The render is not affected.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(0, 1, "FILE"),
        .examples = examples};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    Watch *w = MEM_NEW(Watch);
    if (w)
        w->arena = arena_create(1 << 16, 0);
    if (!w || !w->arena) {
        mem_free(w);
        Error err = {0};
        Status status = error_set(&err, STATUS_NO_MEMORY, "out of memory");
        SORT_UNUSED(status);
        return tool_fail(&err, TOOL_FAILED);
    }
    catch_signals();
    code = begin(w, parsed.arg_count ? parsed.args[0] : NULL, is_plain, is_once);
    arena_destroy(w->arena);
    mem_free(w);
    return code;
}
