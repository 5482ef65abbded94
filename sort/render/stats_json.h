/* Statistics of a render for programs (JSON) and for people (a short table). */
#ifndef SORT_RENDER_STATS_JSON_H
#define SORT_RENDER_STATS_JSON_H

#include "base/str.h"
#include "sort/render/render.h"

void stats_json(const RenderStats *stats, StrBuf *out);
void stats_summary(const RenderStats *stats, StrBuf *out);

#endif
