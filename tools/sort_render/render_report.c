#include "tools/sort_render/render_report.h"

#include "base/check.h"
#include <inttypes.h>

static void add_textures(StrBuf *out, uint32_t count, const char *what)
{
    if (count > 0)
        strbuf_printf(out, "%u texture%s %s and magenta\n", count, count == 1 ? " is" : "s are",
                      what);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void add_points(StrBuf *out, const RenderStats *stats)
{
    const FilmDropped *d = &stats->dropped;
    uint64_t faults = stats->wave.bsdf_faults, tiles = stats->textures.failed_tiles;
    if (d->count)
        strbuf_printf(out,
                      "%" PRIu64
                      " sample%s with numbers that are not finite, or beyond %g, dropped: in "
                      "%" PRIu64 " pixel%s, the first at %u,%u\n",
                      d->count, plural(d->count), (double)FILM_VALUE_MAX, d->pixel_count,
                      plural(d->pixel_count), d->x, d->y);
    if (faults)
        strbuf_printf(out,
                      "%" PRIu64
                      " point%s had closures that were left out: a number of them was not finite\n",
                      faults, plural(faults));
    if (tiles)
        strbuf_printf(
            out,
            "%" PRIu64
            " texture tile%s could not be read; what touches %s shows the missing colour\n",
            tiles, plural(tiles), tiles == 1 ? "it" : "them");
}

bool render_report(const Render *render, StrBuf *out)
{
    RenderStats stats;
    StrBuf faults = {0}, closure_faults = {0};
    ASSERT(render && out);
    render_stats(render, &stats);
    render_faults(render, &faults);
    render_closure_faults(render, &closure_faults);
    if (faults.size_bytes)
        strbuf_printf(out, "shader faults (the points show magenta):\n%s", strbuf_text(&faults));
    if (closure_faults.size_bytes)
        strbuf_printf(out,
                      "closure faults (the picture has what the closures gave until then):\n%s",
                      strbuf_text(&closure_faults));
    add_points(out, &stats);
    uint32_t missing = render_scene(render)->missing_count;
    add_textures(out, missing, "not there");
    add_textures(out, stats.damaged_textures, "damaged");
    bool is_damaged = faults.size_bytes || closure_faults.size_bytes ||
                      stats.textures.failed_tiles || missing || stats.damaged_textures;
    strbuf_free(&faults);
    strbuf_free(&closure_faults);
    return is_damaged;
}
