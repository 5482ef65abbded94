/* Explains the numbers of a report in plain sentences, the most important first. */
#include "tools/texcache/texture_report.h"

#include "base/check.h"
#include "base/cli.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { REREAD_SHOWN = 3 };

typedef enum Mood { MOOD_GOOD, MOOD_NOTE, MOOD_BAD } Mood;

static void begin(StrBuf *out, Mood mood)
{
    static const char *const classes[] = {"good", "note", "bad"};
    static const char *const words[] = {"Good", "Note", "Problem"};
    ASSERT((size_t)mood < SORT_COUNT_OF(words));
    strbuf_printf(out, "<li class=\"%s\"><b>%s.</b> ", classes[mood], words[mood]);
}

static void end(StrBuf *out)
{
    strbuf_append_c(out, "</li>\n");
}

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

static void find_faults(const StatsFile *f, StrBuf *out)
{
    const TexStats *s = &f->stats;
    if (s->failed_tiles > 0) {
        begin(out, MOOD_BAD);
        strbuf_printf(
            out,
            "%" PRIu64 " reads failed, and %" PRIu64
            " lookups show the missing colour: the picture is not what it should be. The "
            "render's log names files and tiles; <code>texcache verify</code> checks whole "
            "files.",
            s->failed_tiles, s->missing);
        end(out);
    }
    if (s->bad_lookups > 0) {
        begin(out, MOOD_BAD);
        strbuf_printf(out,
                      "%" PRIu64 " lookups had coordinates or derivatives that are no numbers: a "
                      "shader divides by zero, or takes the root of something negative.",
                      s->bad_lookups);
        end(out);
    }
    if (s->retries > 0) {
        begin(out, MOOD_NOTE);
        strbuf_printf(out, "Storage faltered: %" PRIu64 " reads had to be repeated.", s->retries);
        end(out);
    }
}

/* Tells the effect of a larger budget: measured by the trace, else estimated. */
static void say_better_budget(const Report *r, StrBuf *out)
{
    char size[32];
    if (!r->trace) {
        strbuf_printf(out, " %s would hold everything that was touched.",
                      cli_format_size(stats_sufficient_budget(&r->stats.stats), size));
        return;
    }
    uint64_t budget = tex_curve_budget_for(&r->curve, 1.1);
    strbuf_printf(
        out, " %s would give %.1f.", cli_format_size(budget, size),
        ratio((double)tex_curve_loads(&r->curve, budget, NULL), (double)r->curve.unique_loads));
}

static void find_budget(const Report *r, StrBuf *out)
{
    const TexStats *s = &r->stats.stats;
    double pressure = texcache_stats_pressure(s);
    char budget[32], unique[32], peak[32];
    cli_format_size(s->budget_bytes, budget);
    cli_format_size(s->bytes_unique, unique);
    if (s->evictions == 0) {
        begin(out, MOOD_GOOD);
        strbuf_printf(out, "The budget of %s held every tile that was touched (%s at most).",
                      budget, cli_format_size(s->bytes_peak, peak));
    } else if (pressure < 1.1) {
        begin(out, MOOD_GOOD);
        strbuf_printf(out,
                      "The budget of %s is right: tiles were evicted, but hardly any was wanted "
                      "again (%.2f loads a tile).",
                      budget, pressure);
    } else {
        begin(out, pressure < 2.0 ? MOOD_NOTE : MOOD_BAD);
        strbuf_printf(out,
                      "Budget below the working set (%s of tiles): %s gives %.1f loads a tile,",
                      unique, budget, pressure);
        say_better_budget(r, out);
    }
    end(out);
}

static void find_waits(const StatsFile *f, StrBuf *out)
{
    const TexStats *s = &f->stats;
    double thread_s = f->render_s * f->thread_count, idle = ratio(f->idle_s, thread_s);
    if (s->waits == 0)
        return;
    uint32_t fibers;
    StatsFibers advice = stats_advise_fibers(f, &fibers);
    if (advice == STATS_FIBERS_FEWER) {
        begin(out, MOOD_BAD);
        strbuf_printf(out,
                      "Fibers throw out each other's tiles: %" PRIu32
                      " waited at once. Fewer load less: <code>--fibers %" PRIu32 "</code>.",
                      f->fiber_count, fibers);
        end(out);
    }
    begin(out, idle > 0.1 ? MOOD_BAD : MOOD_GOOD);
    if (idle > 0.1) {
        strbuf_printf(
            out, "Storage is the bottleneck: threads had nothing to run for %.0f %% of the time. ",
            100.0 * idle);
        if (texcache_stats_pressure(s) > 1.5)
            strbuf_append_c(out, "A larger budget would help most; then faster storage.");
        else if (advice == STATS_FIBERS_MORE)
            strbuf_printf(out,
                          "More fibers (<code>--fibers %" PRIu32
                          "</code>), or faster storage would help.",
                          fibers);
        else
            strbuf_append_c(out, "Faster storage would help.");
    } else {
        strbuf_printf(
            out,
            "Waits were hidden: lookups waited %" PRIu64
            " times for a tile, and threads were idle for %.1f %% of the time all the same.",
            s->waits, 100.0 * idle);
    }
    end(out);
}

static void find_latency(const StatsFile *f, StrBuf *out)
{
    double half_us = stats_latency_us(f->stats.read_latency, 0.5);
    double most_us = stats_latency_us(f->stats.read_latency, 0.99);
    if (half_us <= 1000.0)
        return;
    begin(out, MOOD_NOTE);
    strbuf_printf(out,
                  "Reads are slow: half of them took longer than %.1f ms, one of a hundred %.1f ms "
                  "and more. Local disks help, or tiles that need no decompression "
                  "(<code>texcache make --compression none</code>).",
                  half_us * 0.5e-3, most_us * 0.5e-3);
    end(out);
}

static void find_rereads(const StatsFile *f, StrBuf *out)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < f->texture_count && shown < REREAD_SHOWN; ++i) {
        const TexTextureStats *t = &f->textures[i];
        double times = ratio((double)t->loads, (double)t->unique_loads);
        char loaded[32], unique[32];
        if (times < 2.0)
            continue;
        ++shown;
        begin(out, MOOD_NOTE);
        strbuf_append_c(out, "<span class=\"name\">");
        html_text(out, t->name);
        strbuf_printf(out, "</span> was loaded %.1f times over: %s for %s of its tiles.", times,
                      cli_format_size(t->bytes_loaded, loaded),
                      cli_format_size(t->bytes_unique, unique));
        end(out);
    }
}

/* The share of a depth's probes in level 0 and 1. */
static double fine_share(const TexStats *s, uint32_t first, uint32_t last, double *out_all)
{
    double fine = 0.0, all = 0.0;
    ASSERT(first <= last && last < TEX_DEPTH_BUCKETS);
    for (uint32_t d = first; d <= last; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l) {
            all += (double)s->mip_probes[d][l];
            fine += l < 2 ? (double)s->mip_probes[d][l] : 0.0;
        }
    }
    *out_all = all;
    return ratio(fine, all);
}

static void find_levels(const StatsFile *f, StrBuf *out)
{
    const TexStats *s = &f->stats;
    double camera, deep;
    double camera_finest = 0.0, camera_fine = fine_share(s, 0, 0, &camera);
    double deep_fine = fine_share(s, 1, TEX_DEPTH_BUCKETS - 1, &deep);
    camera_finest = ratio((double)s->mip_probes[0][0], camera);
    if (camera > 0.0 && camera_finest > 0.6) {
        begin(out, MOOD_NOTE);
        strbuf_printf(out,
                      "%.0f %% of what the camera sees directly is read from level 0: textures are "
                      "coarser than the picture. Nothing is wrong; finer textures would show.",
                      100.0 * camera_finest);
        end(out);
    }
    if (deep > 0.0 && deep > 0.2 * camera && deep_fine > 0.5 && deep_fine > camera_fine) {
        begin(out, MOOD_NOTE);
        strbuf_printf(
            out,
            "After bounces %.0f %% of the probes are in levels 0 and 1, finer than what the "
            "camera sees: look at the derivatives of those materials, or give "
            "<code>--mip-bias</code>.",
            100.0 * deep_fine);
        end(out);
    }
}

static void find_unused(const StatsFile *f, StrBuf *out)
{
    uint32_t unused = 0;
    for (uint32_t i = 0; i < f->texture_count; ++i)
        unused += f->textures[i].lookups == 0;
    if (unused == 0)
        return;
    begin(out, MOOD_NOTE);
    strbuf_printf(out, "%" PRIu32 " of %" PRIu32 " textures were opened and never looked up.",
                  unused, f->texture_count);
    end(out);
}

void report_findings(const Report *r, StrBuf *out)
{
    const StatsFile *f = &r->stats;
    find_faults(f, out);
    if (f->stats.lookups == 0) {
        begin(out, MOOD_NOTE);
        strbuf_append_c(out, "No texture was looked up.");
        end(out);
        return;
    }
    find_budget(r, out);
    find_waits(f, out);
    find_latency(f, out);
    find_rereads(f, out);
    find_levels(f, out);
    find_unused(f, out);
}
