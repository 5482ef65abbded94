/* Charts as inline SVG. Colours come from the page's style; every chart has a title, a text for who cannot
 * see it, and its numbers as the titles of its parts. */
#include "tools/texcache/texture_report.h"

#include "base/check.h"
#include "base/cli.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { WIDTH = 640, HEIGHT = 280, LEFT = 64, RIGHT = 14, TOP = 12, BOTTOM = 40 };
enum { PLOT_WIDTH = WIDTH - LEFT - RIGHT, PLOT_HEIGHT = HEIGHT - TOP - BOTTOM };

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

/* 0 to 1 inside of the frame. */
static double at_x(double share)
{
    return LEFT + share * PLOT_WIDTH;
}

static double at_y(double share)
{
    return TOP + (1.0 - share) * PLOT_HEIGHT;
}

static void begin_chart(StrBuf *out, const char *title, const char *description)
{
    strbuf_printf(out,
                  "<figure><figcaption>%s</figcaption>"
                  "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
                  title, WIDTH, HEIGHT, description);
    strbuf_printf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
                  WIDTH - RIGHT);
}

static void end_chart(StrBuf *out)
{
    strbuf_append_c(out, "</svg></figure>\n");
}

static void x_label(StrBuf *out, double share, const char *text)
{
    strbuf_printf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                  at_x(share), HEIGHT - BOTTOM + 16, share > 0.97 ? "end" : "middle", text);
}

static void y_label(StrBuf *out, double share, const char *text)
{
    strbuf_printf(
        out,
        "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick\" x=\"%d\" y=\"%.1f\" "
        "text-anchor=\"end\">%s</text>\n",
        LEFT, at_y(share), WIDTH - RIGHT, LEFT - 6, at_y(share) + 4.0, text);
}

static void x_name(StrBuf *out, const char *name)
{
    strbuf_printf(out,
                  "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                  at_x(0.5), HEIGHT - 6, name);
}

/* --- loads a tile by budget --------------------------------------------------------------------- */

typedef struct CurveFrame {
    double low_bytes, high_bytes; /* budgets, logarithmic */
    double most;                  /* loads a tile, logarithmic from 1 */
} CurveFrame;

static double curve_x(const CurveFrame *f, double bytes)
{
    double share = log2(bytes / f->low_bytes) / log2(f->high_bytes / f->low_bytes);
    return at_x(fmin(1.0, fmax(0.0, share)));
}

static double curve_y(const CurveFrame *f, double times)
{
    return at_y(fmin(1.0, log2(fmax(1.0, times)) / log2(f->most)));
}

static void draw_curve(const Report *r, const CurveFrame *f, StrBuf *out)
{
    enum { STEPS = 160 };
    strbuf_append_c(out, "<path class=\"line c1\" d=\"");
    for (uint32_t i = 0; i <= STEPS; ++i) {
        double bytes = f->low_bytes * pow(f->high_bytes / f->low_bytes, (double)i / STEPS);
        double times = ratio((double)tex_curve_loads(&r->curve, (uint64_t)bytes, NULL),
                             (double)r->curve.unique_loads);
        strbuf_printf(out, "%c%.1f %.1f", i ? 'L' : 'M', curve_x(f, bytes), curve_y(f, times));
    }
    strbuf_append_c(out, "\"/>\n");
}

static void draw_point(const CurveFrame *f, const char *what, uint64_t budget, uint64_t loads,
                       uint64_t unique, const char *class_name, StrBuf *out)
{
    char size[32];
    double times = ratio((double)loads, (double)unique);
    strbuf_printf(
        out,
        "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"><title>%s: %s, %.2f loads a "
        "tile</title></circle>\n",
        class_name, curve_x(f, (double)budget), curve_y(f, times), what,
        cli_format_size(budget, size), times);
}

void report_curve_chart(const Report *r, StrBuf *out)
{
    const TexStats *s = &r->stats.stats;
    if (!r->trace || r->curve.unique_loads == 0)
        return;
    CurveFrame f = {.low_bytes = (double)s->budget_bytes / 16.0,
                    .high_bytes = (double)s->budget_bytes * 4.0};
    double whole = (double)(r->curve.overhead_bytes + r->curve.bytes_unique) * 1.3;
    f.high_bytes = fmax(f.high_bytes, whole);
    f.low_bytes = fmax(f.low_bytes, (double)r->curve.overhead_bytes);
    f.most = fmax(2.0, ratio((double)tex_curve_loads(&r->curve, (uint64_t)f.low_bytes, NULL),
                             (double)r->curve.unique_loads));
    begin_chart(out, "Loads a tile, by budget",
                "How often each tile would be loaded under each budget");
    for (int power = 0; exp2(power) <= f.most; ++power) {
        double times = exp2(power);
        char text[16];
        snprintf(text, sizeof text, "%.0f", times);
        y_label(out, log2(times) / log2(f.most), text);
    }
    ASSERT(f.low_bytes >= 1.0);
    double ratio_low = log2(f.high_bytes / f.low_bytes);
    for (int power = (int)ceil(log2(f.low_bytes)); exp2(power) <= f.high_bytes; ++power) {
        double bytes = exp2(power);
        char text[32];
        x_label(out, log2(bytes / f.low_bytes) / ratio_low, cli_format_size((uint64_t)bytes, text));
    }
    draw_curve(r, &f, out);
    for (uint32_t i = 0; i < REPORT_REPLAYS; ++i) {
        const TexReplay *p = &r->replays[i];
        if (p->is_workable && (double)p->budget_bytes >= f.low_bytes)
            draw_point(&f, "replayed", p->budget_bytes, p->loads, p->unique_loads, "dot c2", out);
    }
    draw_point(&f, "this render", s->budget_bytes, s->loads, r->curve.unique_loads, "dot c3", out);
    strbuf_printf(out,
                  "<text class=\"key c1\" x=\"%d\" y=\"26\">&#8212; least recently used, all "
                  "budgets</text><text class=\"key c2\" x=\"%d\" y=\"42\">&#9679; replayed with "
                  "SORT's own eviction</text><text class=\"key c3\" x=\"%d\" y=\"58\">&#9679; this "
                  "render</text>\n",
                  WIDTH - 270, WIDTH - 270, WIDTH - 270);
    x_name(out, "budget");
    end_chart(out);
}

/* --- probes by level ------------------------------------------------------------------------------ */

void report_levels_chart(const Report *r, StrBuf *out)
{
    const TexStats *s = &r->stats.stats;
    uint32_t levels = 1, rows = 0;
    uint64_t sums[TEX_DEPTH_BUCKETS] = {0};
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l) {
            sums[d] += s->mip_probes[d][l];
            if (s->mip_probes[d][l] > 0 && l >= levels)
                levels = l + 1;
        }
        rows += sums[d] > 0;
    }
    if (rows == 0)
        return;
    begin_chart(out, "Probes by level, at each path depth",
                "The share of each mip level in the probes of each path depth");
    ASSERT(levels <= TEX_MAX_LEVELS && rows <= TEX_DEPTH_BUCKETS);
    double height = (double)PLOT_HEIGHT / TEX_DEPTH_BUCKETS, cell = (double)PLOT_WIDTH / levels;
    for (uint32_t l = 0; l < levels; ++l) {
        char text[16];
        snprintf(text, sizeof text, "%" PRIu32, l);
        x_label(out, ((double)l + 0.5) / levels, text);
    }
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        double top = TOP + d * height;
        strbuf_printf(out,
                      "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">depth "
                      "%" PRIu32 "%s</text>\n",
                      LEFT - 6, top + 0.5 * height + 4.0, d, d + 1 == TEX_DEPTH_BUCKETS ? "+" : "");
        for (uint32_t l = 0; l < levels; ++l) {
            double share = ratio((double)s->mip_probes[d][l], (double)sums[d]);
            if (s->mip_probes[d][l] == 0)
                continue;
            strbuf_printf(out,
                          "<rect class=\"c1f\" fill-opacity=\"%.3f\" x=\"%.1f\" y=\"%.1f\" "
                          "width=\"%.1f\" height=\"%.1f\"><title>depth %" PRIu32 ", level %" PRIu32
                          ": %.2f %%, %" PRIu64 " probes</title></rect>",
                          0.06 + 0.94 * sqrt(share), LEFT + l * cell + 1.0, top + 1.0, cell - 2.0,
                          height - 2.0, d, l, 100.0 * share, s->mip_probes[d][l]);
            if (share >= 0.01)
                strbuf_printf(out,
                              "<text class=\"cell%s\" x=\"%.1f\" y=\"%.1f\" "
                              "text-anchor=\"middle\">%.0f %%</text>",
                              share > 0.25 ? " strong" : "", LEFT + (l + 0.5) * cell,
                              top + 0.5 * height + 4.0, 100.0 * share);
            strbuf_append_char(out, '\n');
        }
    }
    x_name(out, "level (0 is the finest); shares of a row");
    end_chart(out);
}

/* --- durations -------------------------------------------------------------------------------------- */

static void format_us(double us, char out[16])
{
    if (us < 1000.0)
        snprintf(out, 16, "%.0f us", us);
    else if (us < 1e6)
        snprintf(out, 16, "%.0f ms", us * 1e-3);
    else
        snprintf(out, 16, "%.0f s", us * 1e-6);
}

static uint32_t last_bucket(const uint64_t *a, const uint64_t *b)
{
    uint32_t last = TEX_LATENCY_BUCKETS - 1;
    while (last > 0 && a[last] == 0 && b[last] == 0)
        --last;
    return last;
}

static void draw_bars(StrBuf *out, const char *what, const uint64_t *buckets, uint32_t count,
                      uint64_t most, double offset, const char *class_name)
{
    double cell = (double)PLOT_WIDTH / count, scale = log2(1.0 + (double)most);
    for (uint32_t i = 0; i < count; ++i) {
        if (buckets[i] == 0)
            continue;
        double height = log2(1.0 + (double)buckets[i]) / scale * PLOT_HEIGHT;
        char from[16], to[16];
        format_us(i == 0 ? 0.0 : exp2(i - 1.0), from);
        format_us(exp2(i), to);
        strbuf_printf(
            out,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>"
            "%" PRIu64 " %s of %s to %s</title></rect>\n",
            class_name, LEFT + (i + offset) * cell + 1.0, HEIGHT - BOTTOM - height,
            cell * 0.5 - 1.5, height, buckets[i], what, from, to);
    }
}

void report_latency_chart(const Report *r, StrBuf *out)
{
    const TexStats *s = &r->stats.stats;
    uint32_t count = last_bucket(s->read_latency, s->wait_latency) + 1;
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; ++i) {
        most = s->read_latency[i] > most ? s->read_latency[i] : most;
        most = s->wait_latency[i] > most ? s->wait_latency[i] : most;
    }
    if (most == 0)
        return;
    begin_chart(out, "How long reads and waits took",
                "Histograms of the durations of reads and of waits, both axes logarithmic");
    for (uint64_t n = 1; n <= most; n = n <= most / 10 ? 10 * n : UINT64_MAX) {
        char text[32];
        snprintf(text, sizeof text, "%" PRIu64, n);
        y_label(out, log2(1.0 + (double)n) / log2(1.0 + (double)most), text);
    }
    for (uint32_t i = 0; i < count; i += count > 12 ? 3 : 1) {
        char text[16];
        format_us(i == 0 ? 0.0 : exp2(i - 1.0), text);
        x_label(out, (double)i / count, text);
    }
    draw_bars(out, "reads", s->read_latency, count, most, 0.0, "c1f");
    draw_bars(out, "waits", s->wait_latency, count, most, 0.5, "c2f");
    x_name(out, "duration");
    strbuf_append_c(out, "</svg><p class=\"keys\"><span class=\"c1\">&#9632; reads of tiles</span> "
                         "<span class=\"c2\">&#9632; waits of lookups</span></p></figure>\n");
}

/* --- over time ---------------------------------------------------------------------------------------- */

/* The growth between samples, a second, as a line; returns the largest. */
static double draw_rate(StrBuf *out, const StatsTimeline *t, const double *sums,
                        const char *class_name)
{
    double most = 0.0, end_s = t->time_s[t->count - 1];
    for (uint32_t pass = 0; pass < 2; ++pass) {
        if (pass == 1)
            strbuf_printf(out, "<path class=\"line %s\" d=\"", class_name);
        for (uint32_t i = 1; i < t->count; ++i) {
            double step = t->time_s[i] - t->time_s[i - 1];
            double rate = step > 0.0 ? fmax(0.0, sums[i] - sums[i - 1]) / step : 0.0;
            most = fmax(most, rate);
            if (pass == 1)
                strbuf_printf(out, "%c%.1f %.1f", i > 1 ? 'L' : 'M', at_x(t->time_s[i] / end_s),
                              at_y(ratio(rate, most)));
        }
        if (pass == 1)
            strbuf_append_c(out, "\"/>\n");
    }
    return most;
}

void report_timeline_chart(const Report *r, StrBuf *out)
{
    const StatsTimeline *t = &r->stats.timeline;
    if (t->count < 3 || !(t->time_s[t->count - 1] > 0.0))
        return;
    double end_s = t->time_s[t->count - 1], budget = (double)r->stats.stats.budget_bytes;
    char text[64];
    begin_chart(out, "Over time", "Lookups and loads a second, and memory in use, over time");
    for (uint32_t i = 0; i <= 4; ++i) {
        snprintf(text, sizeof text, "%.3g s", end_s * i / 4.0);
        x_label(out, i / 4.0, text);
        snprintf(text, sizeof text, "%u %%", i * 25);
        y_label(out, i / 4.0, text);
    }
    double loads = draw_rate(out, t, t->loads, "c2");
    double lookups = draw_rate(out, t, t->lookups, "c1");
    strbuf_append_c(out, "<path class=\"line c3\" d=\"");
    for (uint32_t i = 0; i < t->count; ++i)
        strbuf_printf(out, "%c%.1f %.1f", i ? 'L' : 'M', at_x(t->time_s[i] / end_s),
                      at_y(fmin(1.0, ratio(t->bytes_now[i], budget))));
    strbuf_append_c(out, "\"/>\n");
    x_name(out, "time");
    strbuf_printf(out,
                  "</svg><p class=\"keys\"><span class=\"c1\">&#8212; lookups, 100 %% is %.0f a "
                  "second</span> "
                  "<span class=\"c2\">&#8212; loads, 100 %% is %.0f a second</span> "
                  "<span class=\"c3\">&#8212; memory, 100 %% is the budget</span></p></figure>\n",
                  lookups, loads);
}
