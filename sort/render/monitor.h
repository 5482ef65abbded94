/* Watches a render's texture cache from a thread of its own, ten times a second: publishes its counters for
 * `texcache watch`, and keeps how they grew for the statistics. */
#ifndef SORT_RENDER_MONITOR_H
#define SORT_RENDER_MONITOR_H

#include "sort/render/render.h"

enum { MONITOR_SAMPLES_MAX = 240 }; /* when they are full, every second one goes */

typedef struct MonitorSample {
    double time_s; /* since monitor_start */
    uint64_t paths, lookups, tile_requests, tile_misses, loads, evictions, bytes_loaded, wait_ns;
    uint64_t bytes_now, reads_pending;
} MonitorSample;

typedef struct MonitorTimeline {
    MonitorSample samples[MONITOR_SAMPLES_MAX];
    uint32_t count;
} MonitorTimeline;

typedef struct Monitor Monitor;

/* Before render_run. live_path: where to publish; NULL: nowhere. Errors: those of tex_live_begin. */
Status monitor_start(Render *render, const char *live_path, Monitor **out_monitor,
                     Error *err) SORT_MUST_CHECK;
/* After render_run: publishes for the last time, and takes the published file away. *out_timeline may be
 * NULL. A NULL monitor is fine and has no samples. */
void monitor_stop(Monitor *m, MonitorTimeline *out_timeline);

#endif
