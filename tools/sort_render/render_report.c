#include "tools/sort_render/render_report.h"

#include "base/check.h"

static void add_textures(StrBuf *out, uint32_t count, const char *what)
{
    if (count > 0)
        strbuf_printf(out, "%u texture%s %s and magenta\n", count, count == 1 ? " is" : "s are",
                      what);
}

static void add_points(StrBuf *out, const RenderStats *stats)
{
    if (stats->dropped.count)
        strbuf_printf(
            out,
            "%llu samples were not finite and were dropped, in %llu pixels, the first at %u,%u\n",
            (unsigned long long)stats->dropped.count,
            (unsigned long long)stats->dropped.pixel_count, stats->dropped.x, stats->dropped.y);
    if (stats->wave.bsdf_faults)
        strbuf_printf(
            out, "%llu points had closures that were left out: a number of them was not finite\n",
            (unsigned long long)stats->wave.bsdf_faults);
    if (stats->textures.failed_tiles)
        strbuf_printf(
            out,
            "%llu texture tiles could not be read; what touches them shows the missing colour\n",
            (unsigned long long)stats->textures.failed_tiles);
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
