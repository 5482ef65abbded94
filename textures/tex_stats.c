#include "textures/texcache_state.h"

/* The counters of ThreadCounters that TexStats has under the same name. */
#define SHARED_COUNTERS(X)                                                                         \
    X(lookups)                                                                                     \
    X(bad_lookups)                                                                                 \
    X(missing)                                                                                     \
    X(probes)                                                                                      \
    X(tile_requests)                                                                               \
    X(tile_hits)                                                                                   \
    X(tile_misses)                                                                                 \
    X(reads_awaited)                                                                               \
    X(reads_ahead)                                                                                 \
    X(coalesced)                                                                                   \
    X(failed_fast)                                                                                 \
    X(waits)

static uint64_t value_of(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void tex_counters_add(ThreadCounters *to, const ThreadCounters *from)
{
#define ADD(name) counter_add(&to->name, value_of(&from->name));
    SHARED_COUNTERS(ADD)
#undef ADD
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; d++) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; l++)
            counter_add(&to->mip_probes[d][l], value_of(&from->mip_probes[d][l]));
    }
}

static void add_to_stats(const ThreadCounters *from, TexStats *stats)
{
#define ADD(name) stats->name += value_of(&from->name);
    SHARED_COUNTERS(ADD)
#undef ADD
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; d++) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; l++)
            stats->mip_probes[d][l] += value_of(&from->mip_probes[d][l]);
    }
}

void texcache_stats(TexCache *c, TexStats *out_stats)
{
    *out_stats = (TexStats){0};
    descriptor_pool_counts(&c->descriptors, &out_stats->file_opens, &out_stats->open_files);
    mutex_lock(&c->lock);
    add_to_stats(&c->retired, out_stats);
    for (const TexThread *t = c->threads; t; t = t->next)
        add_to_stats(&t->counters, out_stats);
    out_stats->loads = c->loads.loads;
    out_stats->constants = c->loads.constants;
    out_stats->failed_tiles = c->loads.failed_tiles;
    out_stats->retries = c->loads.retries;
    out_stats->recovered_tiles = c->loads.recovered_tiles;
    out_stats->bytes_read = c->loads.bytes_read;
    out_stats->bytes_loaded = c->loads.bytes_loaded;
    out_stats->bytes_unique = c->loads.bytes_unique;
    out_stats->read_ns = c->loads.read_ns;
    out_stats->evictions = c->slabs.eviction_count;
    out_stats->resident_tiles = c->slabs.resident_count;
    out_stats->bytes_tables = c->fixed_bytes + c->table_bytes;
    out_stats->bytes_now =
        out_stats->bytes_tables + (uint64_t)c->slabs.chunk_count * SLAB_CHUNK_BYTES;
    out_stats->bytes_peak = c->peak_bytes;
    out_stats->budget_bytes = c->budget_bytes;
    mutex_unlock(&c->lock);
}
