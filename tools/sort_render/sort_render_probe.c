/* sort-render --probe X,Y: one pixel's texture lookups, as text on standard output and as a picture. */
#include "base/file.h"
#include "tools/sort_render/probe_draw.h"
#include "tools/sort_render/render_command.h"

typedef struct Telling {
    ProbeDrawing drawing;
    bool is_drawn;
    uint32_t count;
} Telling;

static void tell(void *data, const ProbeLookup *lookup)
{
    Telling *t = data;
    StrBuf text = {0};
    probe_print(lookup, ++t->count, &text);
    fputs(strbuf_text(&text), stdout);
    strbuf_free(&text);
    if (t->is_drawn)
        probe_draw(&t->drawing, lookup);
}

int probe_pixel(const RenderCommand *c, Render *render)
{
    Telling t = {.is_drawn = c->probe_out != NULL};
    float rgba[4];
    char title[256];
    Error err = {0};
    uint32_t x = c->probe.x, y = c->probe.y;
    const ProbeDesc probe = {x, y, c->probe_samples ? c->probe_samples : 1, tell, &t};
    Status status = render_probe(render, &probe, rgba, &err);
    if (status == STATUS_OK) {
        printf("pixel %u,%u: %u lookups, rgba %.6g %.6g %.6g %.6g\n", x, y, t.count,
               (double)rgba[0], (double)rgba[1], (double)rgba[2], (double)rgba[3]);
        if (t.is_drawn) {
            StrBuf svg = {0};
            snprintf(title, sizeof title, "%s, pixel %u,%u: %u texture lookups",
                     render_scene(render)->name, x, y, t.count);
            probe_drawing_end(&t.drawing, title, &svg);
            status = svg.failed || t.drawing.panels.failed
                         ? error_set(&err, STATUS_NO_MEMORY, "out of memory")
                         : file_write(c->probe_out, strbuf_text(&svg), svg.size_bytes, &err);
            strbuf_free(&svg);
        }
    }
    strbuf_free(&t.drawing.panels);
    if (status != STATUS_OK)
        return tool_fail(&err, status == STATUS_INVALID ? EXIT_USAGE : EXIT_FAILED);
    return EXIT_DONE;
}
