/* One pixel's texture lookups as text and as a picture: sort-render --probe. */
#ifndef SORT_TOOLS_SORT_RENDER_PROBE_DRAW_H
#define SORT_TOOLS_SORT_RENDER_PROBE_DRAW_H

#include "base/str.h"
#include "sort/render/probe.h"

enum { PROBE_PANELS_MAX = 48 };

/* Appends some lines of text about a lookup; `number` counts from 1. */
void probe_print(const ProbeLookup *lookup, uint32_t number, StrBuf *out);

/* An SVG: a panel a lookup, one below the other; PROBE_PANELS_MAX of them at most. In each, the texels of the
 * level around the footprint as they are in the file, those that were read with their weights, the
 * parallelogram of the derivatives, the ellipse, the probes. */
typedef struct ProbeDrawing {
    StrBuf panels;
    uint32_t panel_count, lookup_count;
} ProbeDrawing;
void probe_draw(ProbeDrawing *d, const ProbeLookup *lookup);
/* Appends the whole SVG to `out`. */
void probe_drawing_end(const ProbeDrawing *d, const char *title, StrBuf *out);

#endif
