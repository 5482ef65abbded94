/* Statistics of a render for programs (JSON) and for people (a short table). */
#ifndef SORT_RENDER_STATS_JSON_H
#define SORT_RENDER_STATS_JSON_H

#include "base/str.h"
#include "sort/render/monitor.h"

/* The schema is in docs/reference/texture-statistics.md. Any but `stats` may be NULL: nothing is told of it. */
typedef struct StatsParts {
    const RenderStats *stats;
    const char *scene;
    const TexTextureStats *textures;
    uint32_t texture_count;
    const MonitorTimeline *timeline;
} StatsParts;
void stats_json(const StatsParts *parts, StrBuf *out);
void stats_summary(const RenderStats *stats, StrBuf *out);

#endif
