/* The file that `sort-render --stats FILE.json` writes, as far as the texture inspector reads it. */
#ifndef SORT_TOOLS_TEXCACHE_STATS_FILE_H
#define SORT_TOOLS_TEXCACHE_STATS_FILE_H

#include "base/json.h"
#include "textures/texcache.h"

typedef struct StatsTimeline {
    uint32_t count;
    double *time_s; /* owned, as all below: [count]; sums since the start */
    double *lookups, *tile_requests, *tile_misses, *loads, *bytes_loaded, *bytes_now;
} StatsTimeline;

typedef struct StatsFile {
    JsonDoc *doc;      /* owned: names are borrowed from it */
    const char *scene; /* "" when it has no name */
    TexStats stats;
    TexTextureStats *textures; /* owned; those that loaded most first */
    uint32_t texture_count;
    uint32_t folder_bytes;  /* length of the folder that all names begin with; it is not printed */
    StatsTimeline timeline; /* may have no sample */
    double render_s;
    double idle_s; /* threads without a fiber to run, summed */
    uint32_t thread_count;
    /* Most fibers of all threads that waited at the same time; 0: the file does not say. */
    uint32_t fiber_count;
    /* Fibers a thread when the render ended; 0: the file does not say. */
    uint32_t fiber_limit;
    uint64_t rays, paths;
} StatsFile;

/* Errors name the field. stats_file_free in any case. */
Status stats_file_read(const char *path, StatsFile *out, Error *err) SORT_MUST_CHECK;
void stats_file_free(StatsFile *f);

/* A budget that would have held all that was touched: in whole chunks of any kind, and the tables. */
uint64_t stats_sufficient_budget(const TexStats *s);
typedef enum StatsFibers { STATS_FIBERS_RIGHT, STATS_FIBERS_FEWER, STATS_FIBERS_MORE } StatsFibers;
/* Whether fewer or more fibers would help, and how many a thread. A fiber that waits needs its tiles again: where
 * the tiles of all fibers do not fit, fibers evict each other's tiles, and fewer fibers load less (decision 0065). More help
 * only where tiles stay and threads are idle all the same. The advice never is the limit that the render already has. */
StatsFibers stats_advise_fibers(const StatsFile *f, uint32_t *out_per_thread);
/* The end of the bucket in which the share of all durations is reached, in microseconds; 0: none. */
double stats_latency_us(const uint64_t buckets[TEX_LATENCY_BUCKETS], double share);

#endif
