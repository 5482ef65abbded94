#include "tools/sort_render/probe_draw.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/srgb.h"
#include <inttypes.h>
#include <math.h>

enum { SIDE = 360, GAP = 16, TEXT_WIDTH = 780, WINDOW_MAX = 48, WINDOW_MIN = 6 };

static const char *const filter_names[] = {"default", "closest",    "bilinear",    "trilinear",
                                           "aniso",   "stochastic", "catmull-rom", "bspline"};

/* --- text ------------------------------------------------------------------------------------------- */

static void describe_place(const ProbeLookup *l, StrBuf *out)
{
    if (l->source[0])
        strbuf_printf(out, "%s:%" PRIu32 ":%" PRIu32, l->source, l->line, l->column);
    else
        strbuf_append_c(out, l->material ? "in the standard library" : "environment");
    if (l->material)
        strbuf_printf(out, ", %s of material '%s'", l->kind, l->material);
}

void probe_print(const ProbeLookup *l, uint32_t number, StrBuf *out)
{
    const TexExplain *e = &l->explain;
    strbuf_printf(out, "%" PRIu32 ": sample %" PRIu32 ", depth %" PRIu32 ", ", number, l->sample,
                  l->depth);
    describe_place(l, out);
    strbuf_append_char(out, '\n');
    if (!e->name) {
        strbuf_append_c(out, "   no texture is there: the missing colour\n");
        return;
    }
    strbuf_printf(out, "   %s, %" PRIu32 " x %" PRIu32 "\n", e->name, e->width, e->height);
    strbuf_printf(out, "   uv %.6g %.6g   d/dx %.4g %.4g   d/dy %.4g %.4g   blur %.4g\n",
                  (double)e->s, (double)e->t, (double)l->derivs[0], (double)l->derivs[1],
                  (double)l->derivs[2], (double)l->derivs[3], (double)l->blur);
    if (!e->has_place || e->is_bad)
        strbuf_printf(out, "   %s\n",
                      e->has_place ? "derivatives are no numbers: the coarsest level"
                                   : "uv are no numbers, or far away: the missing colour");
    ASSERT((size_t)e->filter < SORT_COUNT_OF(filter_names));
    double w = e->width, h = e->height;
    double major = 2.0 * hypot((double)e->major[0] * w, (double)e->major[1] * h);
    double minor = 2.0 * hypot((double)e->minor[0] * w, (double)e->minor[1] * h);
    strbuf_printf(out,
                  "   ellipse %.2f x %.2f texels   %s: level %.3f, %" PRIu32 " probe%s, %" PRIu32
                  " texels\n",
                  major, minor, filter_names[e->filter], (double)e->level, e->probe_count,
                  e->probe_count == 1 ? "" : "s", e->texel_count);
    strbuf_printf(out, "   rgba %.5g %.5g %.5g %.5g\n", (double)l->rgba[0], (double)l->rgba[1],
                  (double)l->rgba[2], (double)l->rgba[3]);
}

static void xml_text(StrBuf *out, const char *text)
{
    Str s = str_from(text);
    for (size_t at = 0; at < s.size_bytes;) {
        uint32_t length = str_utf8_length(s, at);
        char c = s.data[at];
        if (length == 0 || (unsigned char)c < 0x20)
            strbuf_append_c(out, "&#xFFFD;");
        else if (c == '&')
            strbuf_append_c(out, "&amp;");
        else if (c == '<')
            strbuf_append_c(out, "&lt;");
        else
            strbuf_append(out, (Str){s.data + at, length});
        at += length ? length : 1;
    }
}

/* --- the window: a square of texels of the finest level that was used --------------------------------- */

typedef struct Window {
    uint32_t level, width, height; /* of the level */
    double center_x, center_y;     /* the lookup's place, in its texels */
    int64_t x, y;                  /* first texel; may lie outside of the level */
    uint32_t side;                 /* texels */
    double scale;                  /* cells of the picture a texel */
} Window;

static uint32_t level_size(uint32_t finest, uint32_t level)
{
    uint32_t size = finest >> level;
    return size > 0 ? size : 1;
}

/* Texel numbers are wrapped; the copy nearest to the lookup is the one that was meant. */
static double unwrap(double texel, double center, double count)
{
    return texel + count * floor((center - texel) / count + 0.5);
}

static Window place_window(const TexExplain *e)
{
    Window w = {.level = (uint32_t)e->level};
    w.width = level_size(e->width, w.level);
    w.height = level_size(e->height, w.level);
    w.center_x = (double)e->s * w.width;
    w.center_y = (1.0 - (double)e->t) * w.height;
    double reach = WINDOW_MIN / 2.0;
    for (uint32_t i = 0; i < e->texel_count; ++i) {
        const TexExplainTexel *t = &e->texels[i];
        double zoom = exp2((double)t->level - w.level);
        double x = unwrap((t->x + 0.5) * zoom, w.center_x, w.width);
        double y = unwrap((t->y + 0.5) * zoom, w.center_y, w.height);
        reach = fmax(reach, fmax(fabs(x - w.center_x), fabs(y - w.center_y)) + 0.5 * zoom);
    }
    reach = fmin(reach + 1.0, WINDOW_MAX / 2.0);
    w.side = (uint32_t)ceil(2.0 * reach);
    ASSERT(w.side >= WINDOW_MIN && w.side <= WINDOW_MAX);
    w.x = (int64_t)floor(w.center_x - reach);
    w.y = (int64_t)floor(w.center_y - reach);
    w.scale = (double)SIDE / w.side;
    return w;
}

static double draw_x(const Window *w, double texels)
{
    return (texels - (double)w->x) * w->scale;
}

static double draw_y(const Window *w, double texels)
{
    return (texels - (double)w->y) * w->scale;
}

static int byte_of(float linear)
{
    float limited = linear > 0.0f ? (linear < 1.0f ? linear : 1.0f) : 0.0f;
    return (int)(srgb_from_linear(limited) * 255.0f + 0.5f);
}

/* The texels of the file, where the level has any; files that only a decoder reads stay grey. */
static void draw_texels(const TexExplain *e, const Window *w, StrBuf *out)
{
    int64_t right = w->x + w->side, below = w->y + w->side;
    TexRegion region = {.level = w->level,
                        .x = (uint32_t)(w->x > 0 ? w->x : 0),
                        .y = (uint32_t)(w->y > 0 ? w->y : 0)};
    right = right < w->width ? right : w->width;
    below = below < w->height ? below : w->height;
    if (right <= region.x || below <= region.y)
        return;
    region.width = (uint32_t)right - region.x;
    region.height = (uint32_t)below - region.y;
    float *rgba = mem_alloc((size_t)region.width * region.height, 4 * sizeof(float));
    uint64_t damaged;
    Error ignored = {0};
    if (rgba && texcache_file_read(e->path, &region, rgba, &damaged, &ignored) == STATUS_OK) {
        for (uint32_t y = 0; y < region.height; ++y) {
            for (uint32_t x = 0; x < region.width; ++x) {
                const float *c = rgba + 4 * ((size_t)y * region.width + x);
                strbuf_printf(out,
                              "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                              "fill=\"#%02x%02x%02x\"/>\n",
                              draw_x(w, region.x + x), draw_y(w, region.y + y), w->scale + 0.4,
                              w->scale + 0.4, (unsigned)byte_of(c[0]), (unsigned)byte_of(c[1]),
                              (unsigned)byte_of(c[2]));
            }
        }
    }
    mem_free(rgba);
}

/* Those that were read: an outline, thicker for more weight; of the coarser level dashed. */
static void draw_reads(const TexExplain *e, const Window *w, StrBuf *out)
{
    for (uint32_t i = 0; i < e->texel_count; ++i) {
        const TexExplainTexel *t = &e->texels[i];
        double zoom = exp2((double)t->level - w->level), share = fabs((double)t->weight);
        double x = unwrap((t->x + 0.5) * zoom, w->center_x, w->width) - 0.5 * zoom;
        double y = unwrap((t->y + 0.5) * zoom, w->center_y, w->height) - 0.5 * zoom;
        const char *color = t->level == w->level ? "#ffd400" : "#00e0ff";
        strbuf_printf(out,
                      "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
                      "stroke=\"%s\" stroke-width=\"%.2f\"%s><title>level %" PRIu32
                      ", texel %" PRIu32 " %" PRIu32 ", weight %.4f</title></rect>\n",
                      draw_x(w, x) + 1.0, draw_y(w, y) + 1.0, zoom * w->scale - 2.0,
                      zoom * w->scale - 2.0, color, 0.7 + 4.0 * sqrt(share),
                      t->level == w->level ? "" : " stroke-dasharray=\"5 3\"", t->level, t->x, t->y,
                      (double)t->weight);
    }
}

static void draw_footprint(const ProbeLookup *l, const Window *w, StrBuf *out)
{
    const TexExplain *e = &l->explain;
    double cx = draw_x(w, w->center_x), cy = draw_y(w, w->center_y);
    double unit_x = w->width * w->scale, unit_y = -(double)w->height * w->scale;
    double ax = 0.5 * (double)l->derivs[0] * unit_x, ay = 0.5 * (double)l->derivs[1] * unit_y;
    double bx = 0.5 * (double)l->derivs[2] * unit_x, by = 0.5 * (double)l->derivs[3] * unit_y;
    double px = (double)e->major[0] * unit_x, py = (double)e->major[1] * unit_y;
    double qx = (double)e->minor[0] * unit_x, qy = (double)e->minor[1] * unit_y;
    strbuf_printf(out,
                  "<path d=\"M%.2f %.2fL%.2f %.2fL%.2f %.2fL%.2f %.2fz\" fill=\"none\" "
                  "stroke=\"#ff2fd0\" stroke-width=\"2\"><title>what the derivatives span"
                  "</title></path>\n",
                  cx - ax - bx, cy - ay - by, cx + ax - bx, cy + ay - by, cx + ax + bx,
                  cy + ay + by, cx - ax + bx, cy - ay + by);
    strbuf_append_c(out, "<path fill=\"none\" stroke=\"#fff\" stroke-width=\"2\" d=\"");
    enum { STEPS = 48 };
    for (uint32_t i = 0; i < STEPS; ++i) {
        double angle = 6.283185307179586 * i / STEPS;
        strbuf_printf(out, "%c%.2f %.2f", i ? 'L' : 'M', cx + cos(angle) * px + sin(angle) * qx,
                      cy + cos(angle) * py + sin(angle) * qy);
    }
    strbuf_append_c(out, "z\"><title>the ellipse</title></path>\n");
    for (uint32_t i = 0; i < e->probe_count; ++i) {
        double offset = (double)i - 0.5 * (double)(e->probe_count - 1);
        strbuf_printf(out,
                      "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"#fff\" stroke=\"#000\"/>\n",
                      cx + offset * (double)e->probe_step[0] * unit_x,
                      cy + offset * (double)e->probe_step[1] * unit_y);
    }
}

/* --- panels --------------------------------------------------------------------------------------------- */

static void draw_text(const ProbeLookup *l, uint32_t number, StrBuf *out)
{
    StrBuf text = {0};
    uint32_t row = 0;
    probe_print(l, number, &text);
    for (const char *at = strbuf_text(&text); *at; ++row) {
        size_t length = 0;
        while (at[length] && at[length] != '\n')
            ++length;
        char line[512];
        size_t kept = length < sizeof line - 1 ? length : sizeof line - 1;
        for (size_t i = 0; i < kept; ++i)
            line[i] = at[i];
        line[kept] = 0;
        strbuf_printf(out, "<text x=\"%d\" y=\"%" PRIu32 "\">", SIDE + GAP, 22 + 20 * row);
        xml_text(out, line);
        strbuf_append_c(out, "</text>\n");
        at += length + (at[length] == '\n');
    }
    strbuf_free(&text);
    static const char *const keys[][2] = {{"#ff2fd0", "what the two derivatives span"},
                                          {"#ffffff", "ellipse, and probes along it"},
                                          {"#ffd400", "texels read; a thicker line is more weight"},
                                          {"#00e0ff", "texels read from the next coarser level"}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(keys); ++i)
        strbuf_printf(out,
                      "<rect x=\"%d\" y=\"%" PRIu32 "\" width=\"12\" height=\"12\" fill=\"#555\" "
                      "stroke=\"%s\" stroke-width=\"3\"/><text x=\"%d\" y=\"%" PRIu32
                      "\" class=\"key\">%s</text>\n",
                      SIDE + GAP, SIDE - 90 + 22 * i, keys[i][0], SIDE + GAP + 22,
                      SIDE - 79 + 22 * i, keys[i][1]);
}

void probe_draw(ProbeDrawing *d, const ProbeLookup *l)
{
    uint32_t number = ++d->lookup_count;
    if (d->panel_count == PROBE_PANELS_MAX)
        return;
    ASSERT(d->panel_count < d->lookup_count);
    StrBuf *out = &d->panels;
    strbuf_printf(out, "<g transform=\"translate(%d %" PRIu32 ")\">\n", GAP,
                  GAP + 32 + d->panel_count * (SIDE + GAP));
    const TexExplain *e = &l->explain;
    if (e->name && e->has_place) {
        Window w = place_window(e);
        strbuf_printf(out,
                      "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">"
                      "<rect width=\"%d\" height=\"%d\" fill=\"#777\"/>\n",
                      SIDE, SIDE, SIDE, SIDE, SIDE, SIDE);
        draw_texels(e, &w, out);
        draw_reads(e, &w, out);
        if (!e->is_bad)
            draw_footprint(l, &w, out);
        strbuf_append_c(out, "</svg>\n");
    }
    draw_text(l, number, out);
    strbuf_append_c(out, "</g>\n");
    ++d->panel_count;
}

void probe_drawing_end(const ProbeDrawing *d, const char *title, StrBuf *out)
{
    uint32_t width = GAP + SIDE + GAP + TEXT_WIDTH;
    uint32_t height = GAP + 32 + d->panel_count * (SIDE + GAP);
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRIu32
                  "\" height=\"%" PRIu32 "\" viewBox=\"0 0 %" PRIu32 " %" PRIu32
                  "\">\n<style>text{font:13px "
                  "ui-monospace,monospace;fill:#e8e8e8}.title{font-size:17px;font-weight:600}"
                  ".key{fill:#b8b8b8}</style>\n<rect width=\"100%%\" height=\"100%%\" "
                  "fill=\"#1c1f24\"/>\n<text class=\"title\" x=\"%d\" y=\"30\">",
                  width, height, width, height, GAP);
    xml_text(out, title);
    if (d->lookup_count > d->panel_count)
        strbuf_printf(out, " (the first %" PRIu32 ")", d->panel_count);
    strbuf_append_c(out, "</text>\n");
    strbuf_append(out, (Str){strbuf_text(&d->panels), d->panels.size_bytes});
    strbuf_append_c(out, "</svg>\n");
}
