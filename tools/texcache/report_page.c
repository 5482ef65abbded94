#include "tools/texcache/texture_report.h"

#include "base/cli.h"
#include "base/path.h"
#include <inttypes.h>
#include <stdio.h>

void html_text(StrBuf *out, const char *text)
{
    Str s = str_from(text);
    for (size_t at = 0; at < s.size_bytes;) {
        uint32_t length = str_utf8_length(s, at);
        unsigned char c = (unsigned char)s.data[at];
        if (length == 0 || c < 0x20 || c == 0x7f)
            strbuf_append_c(out, "&#xFFFD;");
        else if (c == '&')
            strbuf_append_c(out, "&amp;");
        else if (c == '<')
            strbuf_append_c(out, "&lt;");
        else if (c == '>')
            strbuf_append_c(out, "&gt;");
        else if (c == '"')
            strbuf_append_c(out, "&quot;");
        else if (c == '\'')
            strbuf_append_c(out, "&#39;");
        else
            strbuf_append(out, (Str){s.data + at, length});
        at += length ? length : 1;
    }
}

void html_count(StrBuf *out, uint64_t value)
{
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value);
    for (int i = 0; i < count; ++i) {
        if (i > 0 && (count - i) % 3 == 0)
            strbuf_append_char(out, ',');
        strbuf_append_char(out, digits[i]);
    }
}

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#5b6470;--line:#d5dae1;"
    "--card:#f5f7f9;--c1:#1f6fb5;--c2:#b8500f;--c3:#177a47;--bad:#b3261e;"
    "--h0:#e3e7ec;--h1:#c3ccd6;--h2:#9ecae1;--h3:#4292c6;--h4:#f6c344;--h5:#e8762c;--h6:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--dim:#9aa4b0;--line:#"
    "343b44;"
    "--card:#1d2127;--c1:#6db3f2;--c2:#f2a365;--c3:#63c98f;--bad:#ff8a80;"
    "--h0:#262c33;--h1:#3c454f;--h2:#22567c;--h3:#4fa3dc;--h4:#d9a520;--h5:#ee7d33;--h6:#ff6b5e}}\n"
    "body{margin:0 auto;max-width:1180px;padding:1.2rem 1.5rem 4rem;background:var(--bg);"
    "color:var(--fg);font:16px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;"
    "border-bottom:1px solid var(--line)}\n"
    "nav a{margin-right:1rem}a{color:var(--c1)}:focus-visible{outline:2px solid var(--c1);"
    "outline-offset:2px}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.7rem;"
    "margin:1rem 0;padding:0}.facts div{background:var(--card);border-radius:8px;padding:.5rem "
    ".8rem}"
    ".facts dt{color:var(--dim);font-size:.85rem}.facts dd{margin:0;font-size:1.25rem;"
    "font-variant-numeric:tabular-nums}\n"
    ".findings{padding:0;list-style:none}.findings li{background:var(--card);margin:.4rem 0;"
    "padding:.5rem .9rem;border-left:5px solid var(--dim);border-radius:4px;overflow-wrap:anywhere}"
    ".findings .good{border-color:var(--c3)}.findings .bad{border-color:var(--bad)}"
    ".findings .note{border-color:var(--c2)}.name{font-family:ui-monospace,monospace;"
    "font-size:.92em}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(460px,1fr));gap:1rem}"
    "figure{margin:0;background:var(--card);border-radius:8px;padding:.6rem .8rem}"
    "figcaption{font-weight:600;margin-bottom:.3rem;overflow-wrap:anywhere}svg{width:100%;height:"
    "auto;"
    "display:block}.keys{margin:.3rem .8rem;font-size:.9rem}.keys span{white-space:nowrap}\n"
    ".axis{fill:none;stroke:var(--dim)}.grid{stroke:var(--line);stroke-width:.7}"
    ".tick{fill:var(--dim);font-size:12px}.key{font-size:12.5px}.line{fill:none;stroke-width:2}"
    ".c1{stroke:var(--c1);color:var(--c1)}.c2{stroke:var(--c2);color:var(--c2)}"
    ".c3{stroke:var(--c3);color:var(--c3)}text.c1{fill:var(--c1);stroke:none}"
    "text.c2{fill:var(--c2);stroke:none}text.c3{fill:var(--c3);stroke:none}"
    ".dot.c1,.c1f{fill:var(--c1)}.dot.c2,.c2f{fill:var(--c2)}.dot.c3,.c3f{fill:var(--c3)}"
    ".cell{font-size:11px;fill:var(--fg)}.cell.strong{fill:var(--bg)}\n"
    ".h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)"
    "}"
    ".h5{fill:var(--h5)}.h6{fill:var(--h6)}.maps{display:grid;grid-template-columns:repeat(auto-"
    "fit,minmax(460px,1fr));gap:.8rem}.legend svg{display:inline;width:1em;"
    "height:1em;vertical-align:-.15em;margin:0 .2em 0 .9em}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;"
    "font-variant-numeric:tabular-nums}th,td{padding:.25rem .6rem;text-align:right;"
    "border-bottom:1px solid var(--line);white-space:nowrap}th:first-child,td:first-child{"
    "text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:16rem}"
    "th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid "
    "var(--c1)}th[aria-sort=descending] button::after{content:' \\25BE'}"
    "th[aria-sort=ascending] button::after{content:' \\25B4'}\n"
    "@media print{body{max-width:none}}\n";

/* Sorts the table by a column when its head is pressed; without scripts the table stays as it is. */
static const char script[] =
    "for(const table of document.querySelectorAll('table.sortable')){\n"
    " const heads=[...table.tHead.rows[0].cells];\n"
    " heads.forEach((head,column)=>{head.firstElementChild.addEventListener('click',()=>{\n"
    "  const down=head.getAttribute('aria-sort')!=='descending';\n"
    "  heads.forEach(h=>h.removeAttribute('aria-sort'));\n"
    "  head.setAttribute('aria-sort',down?'descending':'ascending');\n"
    "  const key=row=>row.cells[column].dataset.v??row.cells[column].textContent;\n"
    "  const rows=[...table.tBodies[0].rows].sort((a,b)=>{const x=key(a),y=key(b);\n"
    "   return isNaN(x)||isNaN(y)?x.localeCompare(y):x-y;});\n"
    "  if(down)rows.reverse();\n"
    "  table.tBodies[0].append(...rows);});});}\n";

/* --- parts -------------------------------------------------------------------------------------- */

static void SORT_PRINTF(3, 4) fact(StrBuf *out, const char *name, const char *format, ...)
{
    va_list args;
    strbuf_printf(out, "<div><dt>%s</dt><dd>", name);
    va_start(args, format);
    strbuf_vprintf(out, format, args);
    va_end(args);
    strbuf_append_c(out, "</dd></div>\n");
}

static void write_facts(const StatsFile *f, StrBuf *out)
{
    const TexStats *s = &f->stats;
    char text[32];
    double hits = s->tile_requests ? (double)s->tile_hits / (double)s->tile_requests : 1.0;
    strbuf_append_c(out, "<dl class=\"facts\">\n");
    fact(out, "budget", "%s", cli_format_size(s->budget_bytes, text));
    fact(out, "peak in memory", "%s", cli_format_size(s->bytes_peak, text));
    fact(out, "loads a tile", "%.2f", texcache_stats_pressure(s));
    fact(out, "loaded", "%s", cli_format_size(s->bytes_loaded, text));
    fact(out, "different tiles", "%s", cli_format_size(s->bytes_unique, text));
    fact(out, "tiles that were there", "%.3f %%", 100.0 * hits);
    fact(out, "lookups", "%.2f M", (double)s->lookups * 1e-6);
    fact(out, "waits", "%" PRIu64, s->waits);
    fact(out, "textures", "%" PRIu32, f->texture_count);
    fact(out, "rendered in", "%.1f s", f->render_s);
    fact(out, "threads", "%" PRIu32, f->thread_count);
    fact(out, "threads idle", "%.1f %%",
         f->render_s > 0.0 ? 100.0 * f->idle_s / (f->render_s * f->thread_count) : 0.0);
    strbuf_append_c(out, "</dl>\n");
}

static void write_number(StrBuf *out, uint64_t value)
{
    strbuf_printf(out, "<td data-v=\"%" PRIu64 "\">", value);
    html_count(out, value);
    strbuf_append_c(out, "</td>");
}

static void write_cell(StrBuf *out, uint64_t sort_key, const char *text)
{
    strbuf_printf(out, "<td data-v=\"%" PRIu64 "\">%s</td>", sort_key, text);
}

static void write_row(const TexTextureStats *t, StrBuf *out)
{
    char text[64];
    double times = t->unique_loads ? (double)t->loads / (double)t->unique_loads : 0.0;
    strbuf_append_c(out, "<tr><td title=\"");
    html_text(out, t->path);
    strbuf_append_c(out, "\">");
    html_text(out, t->name);
    strbuf_append_c(out, "</td>");
    snprintf(text, sizeof text, "%" PRIu32 " &#215; %" PRIu32, t->width, t->height);
    write_cell(out, (uint64_t)t->width * t->height, text);
    write_number(out, t->lookups);
    snprintf(text, sizeof text, "%.1f %%",
             t->tile_count
                 ? 100.0 * (double)(t->unique_loads + t->constants) / (double)t->tile_count
                 : 0.0);
    write_cell(out, t->tile_count ? 1000000 * t->unique_loads / t->tile_count : 0, text);
    write_number(out, t->loads);
    snprintf(text, sizeof text, "%.2f", times);
    write_cell(out, (uint64_t)(times * 1000.0), text);
    write_cell(out, t->bytes_loaded, cli_format_size(t->bytes_loaded, text));
    write_number(out, t->waits);
    snprintf(text, sizeof text, "%.2f s", (double)t->wait_ns * 1e-9);
    write_cell(out, t->wait_ns, text);
    write_number(out, t->failed_tiles);
    strbuf_append_c(out, "</tr>\n");
}

static void write_table(const StatsFile *f, StrBuf *out)
{
    static const char *const heads[] = {"texture", "size",   "lookups", "touched", "loads",
                                        "a tile",  "loaded", "waits",   "waited",  "failed"};
    if (f->folder_bytes > 0 && f->texture_count > 0) {
        char folder[PATH_BYTES];
        snprintf(folder, sizeof folder, "%.*s", (int)f->folder_bytes,
                 f->textures[0].name - f->folder_bytes);
        strbuf_append_c(out, "<p>Names are relative to <span class=\"name\">");
        html_text(out, folder);
        strbuf_append_c(out, "</span>.</p>\n");
    }
    strbuf_append_c(out, "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>");
    for (size_t i = 0; i < SORT_COUNT_OF(heads); ++i)
        strbuf_printf(out, "<th scope=\"col\"%s><button type=\"button\">%s</button></th>",
                      i == 6 ? " aria-sort=\"descending\"" : "", heads[i]);
    strbuf_append_c(out, "</tr></thead><tbody>\n");
    for (uint32_t i = 0; i < f->texture_count; ++i)
        write_row(&f->textures[i], out);
    strbuf_append_c(out, "</tbody></table></div>\n");
}

static void write_maps(const Report *r, StrBuf *out)
{
    static const char *const words[] = {"never asked for", "asked for, not read", "read once",
                                        "twice",           "3 or 4 times",        "5 to 8 times",
                                        "more often"};
    uint32_t shown = 0;
    strbuf_append_c(out, "<p class=\"legend\">A square is a tile; level 0 on the left.");
    for (uint32_t i = 0; i < SORT_COUNT_OF(words); ++i)
        strbuf_printf(out,
                      "<svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><path class=\"h%" PRIu32
                      "\" d=\"M0 0h1v1H0z\"/></svg>%s",
                      i, words[i]);
    strbuf_append_c(out, "</p>\n");
    strbuf_append_c(out, "<div class=\"maps\">\n");
    for (uint32_t i = 0; i < r->map_count && shown < REPORT_MAPS_MAX; ++i) {
        if (r->maps[i].request_count == 0)
            continue;
        report_map(&r->maps[i], out);
        ++shown;
    }
    strbuf_append_c(out, "</div>\n");
    if (shown < r->map_count)
        strbuf_printf(out,
                      "<p>%" PRIu32 " textures of %" PRIu32
                      " are shown: those that were read most.</p>\n",
                      shown, r->map_count);
}

void report_page(const Report *r, StrBuf *out)
{
    const StatsFile *f = &r->stats;
    strbuf_append_c(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                         "<title>Textures of ");
    html_text(out, f->scene[0] ? f->scene : "a render");
    strbuf_append_c(out, "</title>\n<style>\n");
    strbuf_append_c(out, style);
    strbuf_append_c(out, "</style></head><body>\n<main>\n<h1>Textures of ");
    html_text(out, f->scene[0] ? f->scene : "a render");
    strbuf_append_c(out, "</h1>\n<nav aria-label=\"Parts\"><a href=\"#findings\">Findings</a>"
                         "<a href=\"#charts\">Charts</a><a href=\"#textures\">Textures</a>");
    if (r->trace)
        strbuf_append_c(out, "<a href=\"#tiles\">Tiles</a>");
    strbuf_append_c(out, "</nav>\n");
    write_facts(f, out);
    strbuf_append_c(out, "<h2 id=\"findings\">Findings</h2>\n<ul class=\"findings\">\n");
    report_findings(r, out);
    strbuf_append_c(out, "</ul>\n<h2 id=\"charts\">Charts</h2>\n<div class=\"charts\">\n");
    report_curve_chart(r, out);
    report_levels_chart(r, out);
    report_latency_chart(r, out);
    report_timeline_chart(r, out);
    strbuf_append_c(out, "</div>\n");
    if (!r->trace)
        strbuf_append_c(out,
                        "<p>With a trace (<code>sort-render --trace FILE</code>) this page also "
                        "shows what other budgets would load, and which tiles were read.</p>\n");
    strbuf_append_c(out, "<h2 id=\"textures\">Textures</h2>\n");
    write_table(f, out);
    if (r->trace) {
        strbuf_append_c(out, "<h2 id=\"tiles\">Tiles that were read</h2>\n");
        write_maps(r, out);
    }
    strbuf_append_c(out, "</main>\n<script>\n");
    strbuf_append_c(out, script);
    strbuf_append_c(out, "</script></body></html>\n");
}
