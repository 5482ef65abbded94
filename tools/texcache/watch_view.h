/* The screen of `texcache watch`, made from two successive publications as lines of text. */
#ifndef SORT_TOOLS_TEXCACHE_WATCH_VIEW_H
#define SORT_TOOLS_TEXCACHE_WATCH_VIEW_H

#include "base/str.h"
#include "textures/tex_live.h"

enum { WATCH_HISTORY = 120 };

/* Rates over the last second or so, kept for the curve. */
typedef struct WatchHistory {
    double loads_per_s[WATCH_HISTORY];
    uint32_t count;
} WatchHistory;

typedef struct WatchFrame {
    const TexLive *now, *before; /* before: some time ago; NULL: the first */
    const WatchHistory *history;
    uint32_t columns, rows; /* of the terminal */
    bool has_colors;
    uint32_t render_count, render_index; /* of those that can be watched; index from 0 */
    double silent_s;                     /* since the last publication */
    bool is_alive;
} WatchFrame;

/* A screen: exactly `rows` lines of at most `columns` cells, "\n" between them. */
void watch_draw(const WatchFrame *frame, StrBuf *out);
/* One line, for logs. */
void watch_line(const WatchFrame *frame, StrBuf *out);

#endif
