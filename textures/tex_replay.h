/* What a recorded trace would have cost under other budgets.
 *
 *   trace --tex_replay--> loads under the cache's own eviction, for budgets that are named
 *         --tex_replay_best--> the least that any eviction could load, for budgets that are named
 *         --tex_replay_curve--> loads under least-recently-used eviction, for all budgets at once
 *
 * A replay runs the cache's eviction (slab.h) over the requests one after the other, as if each read
 * took no time: a tile that is missing is loaded, and with it, as texcache_lookup asks ahead, the other
 * missing ones of its request. One thread with one fiber and one I/O thread does the same; with many, reads
 * that overlap change a few per cent. The curve is Mattson's: the bytes of all different tiles since a
 * tile's last use tell which budgets would still hold it [Mattson1970]. */
#ifndef SORT_TEXTURES_TEX_REPLAY_H
#define SORT_TEXTURES_TEX_REPLAY_H

#include "textures/tex_trace.h"

enum {
    TEX_REPLAY_BUDGETS_MAX = 64,
    TEX_CURVE_OCTAVES = 30, /* from 4 KiB on */
    TEX_CURVE_STEPS = 32    /* of an octave */
};

typedef struct TexReplay {
    uint64_t budget_bytes;
    /* A budget that holds one chunk beside the recorded tables; below it nothing is simulated. */
    bool is_workable;
    uint64_t least_bytes;
    uint64_t loads, evictions;
    uint64_t unique_loads; /* each tile once */
    uint64_t bytes_loaded, bytes_unique;
    uint64_t best_loads; /* of tex_replay_best */
} TexReplay;

/* Replays against `count` budgets in one pass. results[i].budget_bytes is given, the rest filled. Memory:
 * four bytes a tile of all textures, and a table of the chunks, for each budget. Rewinds the reader.
 * STATUS_LIMIT: the textures have more than 2^28 tiles, or the count is beyond TEX_REPLAY_BUDGETS_MAX. */
Status tex_replay(TexTraceReader *trace, TexReplay *results, uint32_t count,
                  Error *err) SORT_MUST_CHECK;

/* Adds best_loads: those of a cache that knows the future (optimal_loads.h) and has the same memory for tiles. Takes eight bytes a
 * request for another tile than the one before, and seconds for each budget. */
Status tex_replay_best(TexTraceReader *trace, TexReplay *results, uint32_t count,
                       Error *err) SORT_MUST_CHECK;

typedef struct TexCurve {
    uint64_t overhead_bytes; /* of a budget: what is not memory for tiles, approximately */
    uint64_t unique_loads, bytes_unique;
    uint64_t reuses; /* requests for tiles that had been asked for before */
    /* Of those, by the tile memory that just holds the tile until then:
     * bin i ends at 4096 * 2^((i + 1) / TEX_CURVE_STEPS) bytes. */
    uint64_t reuse_loads[TEX_CURVE_OCTAVES * TEX_CURVE_STEPS];
    uint64_t reuse_bytes[TEX_CURVE_OCTAVES * TEX_CURVE_STEPS];
} TexCurve;

/* Rewinds the reader. Memory: 4 bytes a tile of all textures, 40 bytes a tile that was touched. */
Status tex_replay_curve(TexTraceReader *trace, TexCurve *out_curve, Error *err) SORT_MUST_CHECK;
/* The tile memory at the end of a bin. */
double tex_curve_bin_bytes(uint32_t bin);
/* Loads, and bytes if out_bytes is not NULL, of a least-recently-used cache with that budget. */
uint64_t tex_curve_loads(const TexCurve *curve, uint64_t budget_bytes, uint64_t *out_bytes);
/* The smallest budget whose loads are at most `times` the unique ones; the curve's resolution. */
uint64_t tex_curve_budget_for(const TexCurve *curve, double times);

#endif
