/* One pixel's texture lookups: renders its samples on the calling thread and tells of each lookup. They are
 * the very lookups of a whole render, since no path sees its neighbours. */
#ifndef SORT_RENDER_PROBE_H
#define SORT_RENDER_PROBE_H

#include "sort/render/render.h"

typedef struct ProbeLookup {
    uint32_t sample, depth;
    const char *kind;     /* "shade", "opacity", "emission", "environment" */
    const char *material; /* NULL: the environment */
    const char *source;   /* of the call; "" if it is not known, as for the environment */
    uint32_t line, column;
    /* Derivatives by the pixel's position, scaled to a sample's share of it: d s/dx, d t/dx, d s/dy, d t/dy;
     * and the blur. */
    float derivs[4], blur;
    float rgba[4]; /* what came of it */
    TexExplain explain;
} ProbeLookup;

typedef struct ProbeDesc {
    uint32_t x, y;         /* in the frame */
    uint32_t sample_count; /* the first of the render's samples; at least 1 */
    /* Called for each lookup in turn; its argument holds during the call. */
    void (*lookup)(void *data, const ProbeLookup *lookup);
    void *data;
} ProbeDesc;

/* *out_rgba is the mean of the samples, which a whole render of them has there. The render's film holds these samples
 * afterwards. STATUS_INVALID: outside of the picture. */
Status render_probe(Render *render, const ProbeDesc *desc, float out_rgba[4],
                    Error *err) SORT_MUST_CHECK;

#endif
