/* The report of `texcache report`: data in, one self-contained HTML page out. A file each: the data, the
 * findings in words, the charts, the tile maps, the page. */
#ifndef SORT_TOOLS_TEXCACHE_TEXTURE_REPORT_H
#define SORT_TOOLS_TEXCACHE_TEXTURE_REPORT_H

#include "base/str.h"
#include "textures/tex_replay.h"
#include "tools/texcache/stats_file.h"

enum { REPORT_REPLAYS = 9, REPORT_MAPS_MAX = 40 };

/* How often each tile of a texture was read, from a trace. */
typedef struct ReportMap {
    const TexTraceTexture *texture; /* borrowed: the trace */
    const char *name;
    uint32_t *loads, *requests; /* owned: [texture->tile_count] */
    uint64_t load_count, request_count;
} ReportMap;

typedef struct Report {
    StatsFile stats;
    TexTraceReader *trace; /* owned; NULL: none */
    TexCurve curve;
    TexReplay replays[REPORT_REPLAYS];
    ReportMap *maps; /* owned; of all textures of the trace, those that loaded most first */
    uint32_t map_count;
} Report;

/* trace_path: NULL: none. report_free in any case. STATUS_INVALID: the trace is another render's. */
Status report_load(const char *stats_path, const char *trace_path, Report *out,
                   Error *err) SORT_MUST_CHECK;
void report_free(Report *r);

/* --- text ------------------------------------------------------------------------------------- */

/* Any bytes as text of HTML, elements and attributes alike: marks are escaped, what is no UTF-8 or a control
 * character becomes U+FFFD. */
void html_text(StrBuf *out, const char *text);
/* "1,234,567" */
void html_count(StrBuf *out, uint64_t value);

/* --- parts of the page ---------------------------------------------------------------------------- */

void report_findings(const Report *r, StrBuf *out); /* <li> elements */
void report_curve_chart(const Report *r, StrBuf *out);
void report_levels_chart(const Report *r, StrBuf *out);
void report_latency_chart(const Report *r, StrBuf *out);
void report_timeline_chart(const Report *r, StrBuf *out);
void report_map(const ReportMap *map, StrBuf *out);
void report_page(const Report *r, StrBuf *out);

#endif
