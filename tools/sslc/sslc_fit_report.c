/* The page of a fit: how the loss fell, the parameters, and the pictures, which are in the page itself. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "base/temp_folder.h"
#include "tools/sslc/sslc_fit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHART_WIDTH = 720, CHART_HEIGHT = 260, CHART_POINTS_MAX = 600 };

static void put_escaped(StrBuf *out, const char *text)
{
    for (; *text; ++text) {
        switch (*text) {
        case '&':
            strbuf_append_c(out, "&amp;");
            break;
        case '<':
            strbuf_append_c(out, "&lt;");
            break;
        case '>':
            strbuf_append_c(out, "&gt;");
            break;
        case '"':
            strbuf_append_c(out, "&quot;");
            break;
        default:
            strbuf_append_char(out, *text);
        }
    }
}

static void put_base64(StrBuf *out, const uint8_t *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t left = size - i < 3 ? (uint32_t)(size - i) : 3;
        uint32_t bits = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0u) |
                        (left > 2 ? data[i + 2] : 0u);
        for (uint32_t k = 0; k < 4; ++k)
            strbuf_append_char(out, k <= left ? digits[bits >> (18 - 6 * k) & 63] : '=');
    }
}

/* --- the curve ------------------------------------------------------------------------------------ */

typedef struct Scale {
    double low, high; /* of log10 of the loss */
    uint32_t longest; /* iterations */
} Scale;

static double height_of(const Scale *s, double value)
{
    ASSERT(s->low < s->high);
    double part = (log10(fmax(value, 1e-30)) - s->low) / (s->high - s->low);
    return CHART_HEIGHT * (1 - part);
}

static Scale find_scale(const double *values, uint32_t count, const uint32_t *firsts,
                        uint32_t starts)
{
    Scale s = {.low = (double)INFINITY, .high = -(double)INFINITY, .longest = 2};
    for (uint32_t i = 0; i < count; ++i) {
        if (!isfinite(values[i]))
            continue;
        double x = log10(fmax(values[i], 1e-30));
        s.low = fmin(s.low, x);
        s.high = fmax(s.high, x);
    }
    s.low = isfinite(s.low) ? floor(s.low) : -1;
    s.high = isfinite(s.high) ? floor(s.high) + 1 : 0;
    for (uint32_t i = 0; i < starts; ++i) {
        uint32_t length = (i + 1 < starts ? firsts[i + 1] : count) - firsts[i];
        s.longest = length > s.longest ? length : s.longest;
    }
    return s;
}

static void put_curve(StrBuf *out, const Scale *s, const double *values, uint32_t count)
{
    uint32_t step = (count + CHART_POINTS_MAX - 1) / CHART_POINTS_MAX;
    strbuf_append_c(out, "<polyline points=\"");
    for (uint32_t i = 0; i < count; i += step)
        if (isfinite(values[i]))
            strbuf_printf(out, "%.1f,%.1f ", (double)i * CHART_WIDTH / (s->longest - 1),
                          height_of(s, values[i]));
    strbuf_append_c(out, "\"/>\n");
}

static void put_chart(StrBuf *out, const Fit *fit)
{
    const uint32_t *firsts;
    uint32_t count, starts;
    const double *values = fit_history(fit, &count, &firsts, &starts);
    Scale s = find_scale(values, count, firsts, starts);
    strbuf_printf(out, "<h2>Loss by iteration</h2>\n<svg viewBox=\"-60 -10 %d %d\" role=\"img\">\n",
                  CHART_WIDTH + 80, CHART_HEIGHT + 40);
    for (int tick = (int)s.low; tick <= (int)s.high; ++tick) {
        double y = CHART_HEIGHT * (1 - (tick - s.low) / (s.high - s.low));
        strbuf_printf(
            out,
            "<line class=\"grid\" x1=\"0\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"-8\" "
            "y=\"%.1f\" text-anchor=\"end\">1e%d</text>\n",
            CHART_WIDTH, y, y, y + 4, tick);
    }
    strbuf_printf(
        out,
        "<text x=\"0\" y=\"%d\">1</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%u</text>\n",
        CHART_HEIGHT + 20, CHART_WIDTH, CHART_HEIGHT + 20, s.longest);
    for (uint32_t i = 0; i < starts; ++i)
        put_curve(out, &s, values + firsts[i],
                  (i + 1 < starts ? firsts[i + 1] : count) - firsts[i]);
    strbuf_append_c(out, "</svg>\n");
}

/* --- parameters and pictures ------------------------------------------------------------------------ */

static void put_parameters(StrBuf *out, const FitReport *r)
{
    const double *best = fit_best(r->fit);
    if (r->space->count == 0)
        return;
    strbuf_append_c(out,
                    "<h2>Parameters</h2>\n<table><tr><th>parameter</th><th>from</th><th>to</th>"
                    "<th>start</th><th>result</th></tr>\n");
    for (uint32_t i = 0; i < r->space->count; ++i) {
        const FitParam *p = &r->space->params[i];
        strbuf_append_c(out, "<tr><td>");
        put_escaped(out, p->name);
        strbuf_printf(out, "</td><td>%g</td><td>%g</td><td>%.6g</td><td>%.6g%s</td></tr>\n", p->low,
                      p->high, p->start, best[i],
                      best[i] <= p->low || best[i] >= p->high ? " (at its bound)" : "");
    }
    strbuf_append_c(out, "</table>\n");
}

static Status put_picture(StrBuf *out, const char *folder, const char *name,
                          const SslcPicture *picture, Error *err)
{
    char path[PATH_BYTES], *data;
    size_t size;
    TRY(path_join(folder, "picture.png", path, err));
    TRY(sslc_picture_write(path, picture, err));
    TRY(file_read(path, (size_t)1 << 30, &data, &size, err));
    strbuf_printf(out, "<figure><img alt=\"%s\" src=\"data:image/png;base64,", name);
    put_base64(out, (const uint8_t *)data, size);
    strbuf_printf(out, "\"><figcaption>%s</figcaption></figure>\n", name);
    mem_free(data);
    return STATUS_OK;
}

/* The absolute difference of two pictures. */
static Status put_difference(StrBuf *out, const char *folder, const FitReport *r, Error *err)
{
    const SslcPicture *a = r->pictures[0], *b = r->pictures[2];
    size_t count = (size_t)a->width * a->height * a->channels;
    SslcPicture d = {a->width, a->height, a->channels, MEM_ARRAY(float, count)};
    if (!d.numbers)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count; ++i)
        d.numbers[i] = fabsf(a->numbers[i] - b->numbers[i]);
    Status status = put_picture(out, folder, "difference of target and result", &d, err);
    sslc_picture_free(&d);
    return status;
}

/* Where a texture starts, without alpha. */
static Status put_start(StrBuf *out, const char *folder, const FitSpace *space, uint32_t texture,
                        Error *err)
{
    const TexPictureLevel level = tex_picture_level(space->textures[texture].picture, 0);
    const double *start = space->fields[texture].start;
    SslcPicture pixels;
    TRY(sslc_picture_create(level.width, level.height, 3, &pixels, err));
    for (size_t i = 0; i < (size_t)level.width * level.height * 3; ++i)
        pixels.numbers[i] = (float)start[i / 3 * TEX_PICTURE_CHANNELS + i % 3];
    Status status = put_picture(out, folder, "start", &pixels, err);
    sslc_picture_free(&pixels);
    return status;
}

static Status put_texture(StrBuf *out, const char *folder, const FitSpace *space, uint32_t texture,
                          Error *err)
{
    const FitField *field = &space->fields[texture];
    const TexPictureLevel level = tex_picture_level(space->textures[texture].picture, 0);
    SslcPicture pixels;
    strbuf_append_c(out, "</div>\n<h2>Texture ");
    put_escaped(out, space->unit->textures[space->textures[texture].slot]);
    strbuf_printf(out, "</h2>\n<p>%u x %u texels, from %g to %g.</p>\n<div class=\"pictures\">\n",
                  level.width, level.height, field->low[0], field->high[0]);
    TRY(put_start(out, folder, space, texture, err));
    TRY(sslc_texture_pixels(space->textures[texture].picture, &pixels, err));
    Status status = put_picture(out, folder, "result", &pixels, err);
    sslc_picture_free(&pixels);
    return status;
}

static Status put_pictures(StrBuf *out, const FitReport *r, Error *err)
{
    static const char *const names[3] = {"target", "start", "result"};
    TempFolder folder;
    TRY(temp_folder_create("fit", &folder, err));
    strbuf_append_c(out, "<h2>Pictures</h2>\n<div class=\"pictures\">\n");
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < 3 && status == STATUS_OK; ++i)
        status = put_picture(out, folder.path, names[i], r->pictures[i], err);
    if (status == STATUS_OK)
        status = put_difference(out, folder.path, r, err);
    for (uint32_t i = 0; i < r->space->texture_count && status == STATUS_OK; ++i)
        status = put_texture(out, folder.path, r->space, i, err);
    strbuf_append_c(out, "</div>\n");
    Error ignored = {0};
    Status removed = temp_folder_remove(&folder, status == STATUS_OK ? err : &ignored);
    return status == STATUS_OK ? removed : status;
}

static void put_head(StrBuf *out, const FitReport *r)
{
    FitProgress p = fit_progress(r->fit);
    strbuf_append_c(
        out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Fit of ");
    put_escaped(out, r->shader);
    strbuf_append_c(
        out,
        "</title><style>\nbody{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 "
        "1em}\nsvg{width:100%;height:auto}polyline{fill:none;stroke:#1f6feb;stroke-width:1.5;"
        "stroke-opacity:.6}\n.grid{stroke:#ccc}text{font-size:12px;fill:#555}\ntable{border-"
        "collapse:collapse}td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:"
        "right}td:first-child,th:first-child{text-align:left}\n.pictures{display:flex;flex-wrap:"
        "wrap;gap:1em}figure{margin:0}img{width:220px;image-rendering:pixelated}\n</style></head>"
        "<body>\n<h1>");
    put_escaped(out, r->shader);
    strbuf_append_c(out, " fitted to ");
    put_escaped(out, r->target);
    strbuf_printf(out,
                  "</h1>\n<p>Loss %s: %.6g at the start, %.6g at the result. Method %s, %llu "
                  "evaluations.</p>\n",
                  r->loss, r->start_loss, p.best, r->method, (unsigned long long)p.evaluations);
}

Status fit_report_write(const char *path, const FitReport *report, Error *err)
{
    StrBuf out = {0};
    put_head(&out, report);
    put_chart(&out, report->fit);
    put_parameters(&out, report);
    Status status = put_pictures(&out, report, err);
    strbuf_append_c(&out, "</body></html>\n");
    if (status == STATUS_OK && out.failed)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = file_write(path, strbuf_text(&out), strlen(strbuf_text(&out)), err);
    strbuf_free(&out);
    return status;
}
