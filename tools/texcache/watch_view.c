#include "tools/texcache/watch_view.h"

#include "base/check.h"
#include "base/cli.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_CELLS_MAX = 60, LINE_BYTES = 1024 };

typedef struct Screen {
    const WatchFrame *frame;
    StrBuf *out;
    uint32_t lines;
} Screen;

#define BOLD   "1"
#define DIM    "2"
#define RED    "31"
#define GREEN  "32"
#define YELLOW "33"
#define CYAN   "36"

/* --- text ------------------------------------------------------------------------------------- */

/* Returns the number of bytes of the first `cells` characters. */
static size_t bytes_of_cells(const char *text, uint32_t cells)
{
    size_t at = 0;
    while (text[at] && cells > 0) {
        ++at;
        while (((unsigned char)text[at] & 0xc0) == 0x80)
            ++at;
        --cells;
    }
    return at;
}

/* Appends a line in one colour, cut to the width; lines below the last row are left out. */
static void SORT_PRINTF(3, 4) line(Screen *s, const char *color, const char *format, ...)
{
    char text[LINE_BYTES];
    if (s->lines >= s->frame->rows)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; ++c) { /* names of files may hold anything */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
    text[bytes_of_cells(text, s->frame->columns)] = 0;
    if (s->lines++ > 0)
        strbuf_append_char(s->out, '\n');
    bool is_colored = s->frame->has_colors && color;
    strbuf_printf(s->out, "%s%s%s%s%s", is_colored ? "\x1b[" : "", is_colored ? color : "",
                  is_colored ? "m" : "", text, is_colored ? "\x1b[0m" : "");
}

/* "1.2 M" */
static const char *short_number(double value, char out[16])
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    uint32_t unit = 0;
    while (value >= 999.5 && unit + 1 < SORT_COUNT_OF(units)) {
        value /= 1000.0;
        ++unit;
    }
    snprintf(out, 16, unit == 0 || value >= 99.95 ? "%.0f%s" : "%.1f%s", value, units[unit]);
    return out;
}

static const char *bar(double share, uint32_t cells, char out[3 * BAR_CELLS_MAX + 1])
{
    size_t at = 0;
    cells = cells < BAR_CELLS_MAX ? cells : BAR_CELLS_MAX;
    for (uint32_t i = 0; i < cells; ++i) {
        const char *cell = (double)i + 0.5 <= share * cells ? "█" : "░";
        memcpy(out + at, cell, 3);
        at += 3;
    }
    out[at] = 0;
    return out;
}

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

static void format_time(double seconds, char out[16])
{
    uint32_t s = seconds > 359999.0 ? 359999 : (uint32_t)(seconds + 0.5);
    snprintf(out, 16, s >= 3600 ? "%u:%02u:%02u" : "%u:%02u", s >= 3600 ? s / 3600 : s / 60,
             s >= 3600 ? s / 60 % 60 : s % 60, s % 60);
}

/* --- rates ------------------------------------------------------------------------------------ */

typedef struct Rates {
    double lookups, loads, bytes; /* a second */
    double hit_share;             /* of the tiles asked for */
    double read_us, waiting;      /* time of a read; callers that wait at a time */
} Rates;

static Rates rates_of(const WatchFrame *f)
{
    static const TexStats nothing;
    const TexStats *a = f->before ? &f->before->stats : &nothing, *b = &f->now->stats;
    uint64_t begin_ms = f->before ? f->before->elapsed_ms : 0;
    double seconds = fmax(1e-3, (double)(f->now->elapsed_ms - begin_ms) * 1e-3);
    uint64_t requests = b->tile_requests - a->tile_requests;
    uint64_t reads = b->loads + b->constants - a->loads - a->constants;
    return (Rates){
        .lookups = (double)(b->lookups - a->lookups) / seconds,
        .loads = (double)(b->loads - a->loads) / seconds,
        .bytes = (double)(b->bytes_loaded - a->bytes_loaded) / seconds,
        .hit_share =
            requests ? ratio((double)(b->tile_hits - a->tile_hits), (double)requests) : 1.0,
        .read_us = reads ? (double)(b->read_ns - a->read_ns) * 1e-3 / (double)reads : 0.0,
        .waiting = (double)(b->wait_ns - a->wait_ns) * 1e-9 / seconds};
}

/* --- parts of the screen ------------------------------------------------------------------------ */

static void draw_head(Screen *s)
{
    const WatchFrame *f = s->frame;
    const TexLive *n = f->now;
    char passed[16], left[16] = "?", text[3 * BAR_CELLS_MAX + 1], number[64] = "";
    double done = ratio((double)n->paths_done, (double)n->paths_total);
    double elapsed = (double)n->elapsed_ms * 1e-3;
    format_time(elapsed, passed);
    if (done > 0.0)
        format_time(elapsed / done - elapsed, left);
    if (f->render_count > 1)
        snprintf(number, sizeof number, "   render %" PRIu32 " of %" PRIu32 " (tab: the next)",
                 f->render_index + 1, f->render_count);
    line(s, BOLD, "%s   process %" PRIu32 "%s", n->scene[0] ? n->scene : "a scene without a name",
         n->process_id, number);
    line(s, NULL, "render   %s %5.1f %%   %s, %s left", bar(done, f->columns / 3, text),
         100.0 * done, passed, left);
    if (!f->is_alive)
        line(s, RED, "%s",
             n->is_finished ? "The render has ended."
                            : "The render is gone: it was killed, or crashed.");
    else if (n->is_finished)
        line(s, GREEN, "The render has ended.");
    else if (f->silent_s > 3.0)
        line(s, YELLOW, "No news for %.0f s: the render is stopped, or its machine overloaded.",
             f->silent_s);
    else
        line(s, NULL, "%s", "");
}

static void draw_memory(Screen *s)
{
    const TexStats *t = &s->frame->now->stats;
    char text[3 * BAR_CELLS_MAX + 1], now[32], budget[32], loaded[32];
    double full = ratio((double)t->bytes_now, (double)t->budget_bytes);
    double pressure = texcache_stats_pressure(t);
    line(s, NULL, "memory   %s %s of %s, %" PRIu64 " tiles", bar(full, s->frame->columns / 3, text),
         cli_format_size(t->bytes_now, now), cli_format_size(t->budget_bytes, budget),
         t->resident_tiles);
    line(s,
         pressure < 1.5   ? GREEN
         : pressure < 3.0 ? YELLOW
                          : RED,
         "pressure %.2f loads a tile, %s loaded, %" PRIu64 " evicted", pressure,
         cli_format_size(t->bytes_loaded, loaded), t->evictions);
}

static void draw_rates(Screen *s, const Rates *r)
{
    const TexStats *t = &s->frame->now->stats;
    char lookups[16], loads[16], bytes[32];
    line(s, NULL, "now      %s lookups/s, %.3f %% of tiles were there, %s loads/s, %s/s",
         short_number(r->lookups, lookups), 100.0 * r->hit_share, short_number(r->loads, loads),
         cli_format_size((uint64_t)r->bytes, bytes));
    line(s, NULL, "storage  %" PRIu64 " reads in flight, %.0f us a read, %.1f callers waiting",
         t->reads_pending, r->read_us, r->waiting);
    if (t->failed_tiles > 0)
        line(s, RED, "%" PRIu64 " tiles could not be read; the log of the render names them",
             t->failed_tiles);
}

static void draw_history(Screen *s)
{
    static const char *const steps[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const WatchHistory *h = s->frame->history;
    ASSERT(h->count <= WATCH_HISTORY);
    uint32_t cells = s->frame->columns > 34 ? s->frame->columns - 34 : 0;
    uint32_t count = h->count < cells ? h->count : cells;
    if (count == 0)
        return;
    char text[3 * WATCH_HISTORY + 1], number[16];
    size_t at = 0;
    double most = 0.0;
    for (uint32_t i = h->count - count; i < h->count; ++i)
        most = fmax(most, h->loads_per_s[i]);
    for (uint32_t i = h->count - count; i < h->count; ++i) {
        const char *step = steps[(uint32_t)(ratio(h->loads_per_s[i], most) * 8.0 + 0.499)];
        memcpy(text + at, step, strlen(step));
        at += strlen(step);
    }
    text[at] = 0;
    line(s, CYAN, "loads    %s  at most %s/s", text, short_number(most, number));
}

static uint32_t level_count(const TexStats *t)
{
    uint32_t count = 1;
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l) {
            if (t->mip_probes[d][l] > 0 && l >= count)
                count = l + 1;
        }
    }
    return count;
}

static void draw_levels(Screen *s)
{
    const TexStats *t = &s->frame->now->stats;
    uint32_t levels = level_count(t);
    ASSERT(levels > 0 && levels <= TEX_MAX_LEVELS);
    char text[LINE_BYTES];
    int at = snprintf(text, sizeof text, "level   ");
    for (uint32_t l = 0; l < levels; ++l)
        at += snprintf(text + at, sizeof text - (size_t)at, " %5" PRIu32, l);
    line(s, DIM, "%s", text);
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        uint64_t sum = 0;
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            sum += t->mip_probes[d][l];
        if (sum == 0)
            continue;
        at = snprintf(text, sizeof text, "depth %" PRIu32 "%c", d,
                      d + 1 == TEX_DEPTH_BUCKETS ? '+' : ' ');
        for (uint32_t l = 0; l < levels; ++l) {
            double share = 100.0 * ratio((double)t->mip_probes[d][l], (double)sum);
            at += snprintf(text + at, sizeof text - (size_t)at, share > 0.0 ? " %4.1f%%" : "     .",
                           share);
        }
        line(s, NULL, "%s", text);
    }
}

static void draw_textures(Screen *s)
{
    const TexLive *n = s->frame->now;
    line(s, DIM, "%12s %9s %9s %10s  texture (%" PRIu32 " are open)", "loaded", "loads", "a tile",
         "wait", n->texture_count);
    for (uint32_t i = 0; i < n->texture_count && i < TEX_LIVE_TEXTURES; ++i) {
        const TexLiveTexture *t = &n->textures[i];
        char loaded[32], loads[16];
        uint32_t room = s->frame->columns > 46 ? s->frame->columns - 46 : 0;
        size_t length = strlen(t->name);
        const char *name = length > room ? t->name + length - room : t->name;
        while (((unsigned char)*name & 0xc0) == 0x80)
            ++name;
        if (t->lookups == 0 && t->loads == 0)
            continue;
        line(s, NULL, "%12s %9s %9.2f %8.2f s  %s", cli_format_size(t->bytes_loaded, loaded),
             short_number((double)t->loads, loads),
             ratio((double)t->loads, (double)t->unique_loads), (double)t->wait_ns * 1e-9, name);
    }
}

void watch_draw(const WatchFrame *frame, StrBuf *out)
{
    Screen s = {.frame = frame, .out = out};
    Rates rates = rates_of(frame);
    draw_head(&s);
    draw_memory(&s);
    draw_rates(&s, &rates);
    draw_history(&s);
    if (frame->rows >= 20) {
        line(&s, NULL, "%s", "");
        draw_levels(&s);
        line(&s, NULL, "%s", "");
    }
    uint32_t last = frame->rows > 0 ? frame->rows - 1 : 0;
    Screen upper = s;
    WatchFrame shorter = *frame; /* the last row is for the keys */
    shorter.rows = last;
    upper.frame = &shorter;
    draw_textures(&upper);
    s.lines = upper.lines;
    while (s.lines < last)
        line(&s, NULL, "%s", "");
    line(&s, DIM, "q: quit%s", frame->render_count > 1 ? "   tab: the next render" : "");
}

void watch_line(const WatchFrame *f, StrBuf *out)
{
    const TexLive *n = f->now;
    Rates r = rates_of(f);
    char now[32], budget[32], bytes[32], lookups[16];
    strbuf_printf(
        out,
        "%7.1f s  %5.1f %%  memory %s of %s  pressure %.2f  hits %.3f %%  %s lookups/s  "
        "%.0f loads/s  %s/s  %" PRIu64 " in flight%s",
        (double)n->elapsed_ms * 1e-3, 100.0 * ratio((double)n->paths_done, (double)n->paths_total),
        cli_format_size(n->stats.bytes_now, now), cli_format_size(n->stats.budget_bytes, budget),
        texcache_stats_pressure(&n->stats), 100.0 * r.hit_share, short_number(r.lookups, lookups),
        r.loads, cli_format_size((uint64_t)r.bytes, bytes), n->stats.reads_pending,
        n->is_finished ? "  (ended)"
        : !f->is_alive ? "  (gone)"
                       : "");
}
