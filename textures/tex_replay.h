/* Simulates a recorded trace under other budgets.
 *
 *   trace --tex_replay--> loads under the cache's own eviction, for given budgets
 *         --tex_replay_best--> the fewest loads of any eviction, for given budgets
 *         --tex_replay_curve--> loads under least-recently-used eviction, for all budgets at once
 *
 * A replay runs the cache's eviction (slab.h) over the requests one after the other, as if reads took
 * no time: a missing tile is loaded together with the other missing tiles of its request, since
 * texcache_lookup requests those ahead. The result equals that of one thread with one fiber and one I/O
 * thread; with several, overlapping reads change it by a few per cent. The curve is Mattson's: the bytes
 * of the distinct tiles used since a tile's last use determine which budgets would still hold it
 * [Mattson1970].
 *
 * Thread rule: a reader and its results belong to one thread at a time. */
#ifndef SORT_TEXTURES_TEX_REPLAY_H
#define SORT_TEXTURES_TEX_REPLAY_H

#include "textures/tex_trace.h"

enum {
    TEX_REPLAY_BUDGETS_MAX = 64,
    TEX_CURVE_OCTAVES = 30, /* beginning at 4 KiB */
    TEX_CURVE_STEPS = 32    /* bins in an octave */
};

typedef struct TexReplay {
    uint64_t budget_bytes;
    /* Whether the budget holds one chunk beside the recorded tables; otherwise nothing is simulated. */
    bool is_workable;
    uint64_t least_bytes;
    uint64_t loads, evictions;
    uint64_t unique_loads; /* loads that count each tile once */
    uint64_t bytes_loaded, bytes_unique;
    uint64_t best_loads; /* filled by tex_replay_best() */
} TexReplay;

/* Replays against `count` budgets in one pass. The caller sets results[i].budget_bytes; the other fields are
 * filled. Memory: four bytes for each tile of all textures, and a table of the chunks, for each budget. Rewinds
 * the reader. Errors: STATUS_LIMIT if the textures have more than 2^28 tiles or the count is above
 * TEX_REPLAY_BUDGETS_MAX; STATUS_NO_MEMORY; those of tex_trace_next(). */
Status tex_replay(TexTraceReader *trace, TexReplay *results, uint32_t count,
                  Error *err) SORT_MUST_CHECK;

/* Fills best_loads: the loads of a cache that knows the future (optimal_loads.h) with the same memory for
 * tiles. Memory: eight bytes for each request of another tile than the one before. Takes seconds for each
 * budget. Errors: as tex_replay(). */
Status tex_replay_best(TexTraceReader *trace, TexReplay *results, uint32_t count,
                       Error *err) SORT_MUST_CHECK;

typedef struct TexCurve {
    uint64_t overhead_bytes; /* approximately the part of a budget that does not hold tiles */
    uint64_t unique_loads, bytes_unique;
    uint64_t reuses; /* requests for tiles that were requested before */
    /* The reuses, by the tile memory that just holds the tile until its next use: bin i ends at 4096 * 2^((i +
     * 1) / TEX_CURVE_STEPS) bytes. */
    uint64_t reuse_loads[TEX_CURVE_OCTAVES * TEX_CURVE_STEPS];
    uint64_t reuse_bytes[TEX_CURVE_OCTAVES * TEX_CURVE_STEPS];
} TexCurve;

/* Computes the curve. Rewinds the reader. Memory: 4 bytes for each tile of all textures and 40 bytes for each
 * tile that was used. Errors: as tex_replay(). */
Status tex_replay_curve(TexTraceReader *trace, TexCurve *out_curve, Error *err) SORT_MUST_CHECK;
/* Returns the tile memory, in bytes, at the end of a bin. */
double tex_curve_bin_bytes(uint32_t bin);
/* Returns the loads of a least-recently-used cache with that budget, and the bytes loaded if out_bytes is not
 * NULL. */
uint64_t tex_curve_loads(const TexCurve *curve, uint64_t budget_bytes, uint64_t *out_bytes);
/* Returns the smallest budget, at the curve's resolution, whose loads are at most `times` the unique ones. */
uint64_t tex_curve_budget_for(const TexCurve *curve, double times);

#endif
