#include "textures/cache/texcache_state.h"
#include <string.h>

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
    X(waits)                                                                                       \
    X(wait_ns)

static uint64_t value_of(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void cache_counters_add(ThreadCounters *to, const ThreadCounters *from)
{
#define ADD(name) counter_add(&to->name, value_of(&from->name));
    SHARED_COUNTERS(ADD)
#undef ADD
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            counter_add(&to->mip_probes[d][l], value_of(&from->mip_probes[d][l]));
    }
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i)
        counter_add(&to->wait_latency[i], value_of(&from->wait_latency[i]));
}

uint32_t cache_latency_bucket(uint64_t duration_ns)
{
    uint64_t us = duration_ns / 1000;
    uint32_t bucket = us == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(us);
    return bucket < TEX_LATENCY_BUCKETS ? bucket : TEX_LATENCY_BUCKETS - 1;
}

static void add_to_stats(const ThreadCounters *from, TexStats *stats)
{
#define ADD(name) stats->name += value_of(&from->name);
    SHARED_COUNTERS(ADD)
#undef ADD
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            stats->mip_probes[d][l] += value_of(&from->mip_probes[d][l]);
    }
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i)
        stats->wait_latency[i] += value_of(&from->wait_latency[i]);
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
    out_stats->reads_pending = REQUEST_COUNT - c->free_request_count;
    out_stats->retries = c->loads.retries;
    out_stats->recovered_tiles = c->loads.recovered_tiles;
    out_stats->reads_merged = c->loads.reads_merged;
    out_stats->bytes_read = c->loads.bytes_read;
    out_stats->bytes_loaded = c->loads.bytes_loaded;
    out_stats->bytes_unique = c->loads.bytes_unique;
    out_stats->read_ns = c->loads.read_ns;
    memcpy(out_stats->read_latency, c->loads.read_latency, sizeof out_stats->read_latency);
    out_stats->evictions = c->slabs.eviction_count;
    out_stats->resident_tiles = c->slabs.resident_count;
    out_stats->bytes_tables = c->fixed_bytes + c->table_bytes;
    out_stats->bytes_now =
        out_stats->bytes_tables + (uint64_t)c->slabs.chunk_count * SLAB_CHUNK_BYTES;
    out_stats->bytes_peak = c->peak_bytes;
    out_stats->budget_bytes = c->budget_bytes;
    mutex_unlock(&c->lock);
}

/* --- as JSON ------------------------------------------------------------------------------ */

typedef struct StatsField {
    const char *name;
    size_t offset;
} StatsField;
#define FIELD(name)        {#name, offsetof(TexStats, name)}
#define SHARED_FIELD(name) FIELD(name),

/* All of TexStats but the histogram. */
static const StatsField stats_fields[] = {SHARED_COUNTERS(SHARED_FIELD) FIELD(loads),
                                          FIELD(constants),
                                          FIELD(failed_tiles),
                                          FIELD(reads_pending),
                                          FIELD(retries),
                                          FIELD(recovered_tiles),
                                          FIELD(reads_merged),
                                          FIELD(evictions),
                                          FIELD(resident_tiles),
                                          FIELD(bytes_read),
                                          FIELD(bytes_loaded),
                                          FIELD(bytes_unique),
                                          FIELD(file_opens),
                                          FIELD(open_files),
                                          FIELD(bytes_now),
                                          FIELD(bytes_peak),
                                          FIELD(bytes_tables),
                                          FIELD(budget_bytes),
                                          FIELD(read_ns)};
_Static_assert(sizeof stats_fields / sizeof stats_fields[0] * sizeof(uint64_t) ==
                   offsetof(TexStats, mip_probes),
               "as many as TexStats has");

static void write_latency(JsonWriter *w, const char *name, const uint64_t *buckets)
{
    json_write_array(w, name);
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i)
        json_write_u64(w, NULL, buckets[i]);
    json_write_end(w);
}

void texcache_stats_write(const TexStats *stats, JsonWriter *w)
{
    for (uint32_t i = 0; i < SORT_COUNT_OF(stats_fields); ++i) {
        uint64_t value;
        memcpy(&value, (const char *)stats + stats_fields[i].offset, sizeof value);
        json_write_u64(w, stats_fields[i].name, value);
    }
    json_write_array(w, "mip_probes");
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        json_write_array(w, NULL);
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            json_write_u64(w, NULL, stats->mip_probes[d][l]);
        json_write_end(w);
    }
    json_write_end(w);
    write_latency(w, "read_latency", stats->read_latency);
    write_latency(w, "wait_latency", stats->wait_latency);
}

static Status read_histogram(JsonCursor *object, TexStats *out_stats, Error *err)
{
    JsonCursor depths, levels, value;
    TRY(json_get_array(object, "mip_probes", JSON_REQUIRED, &depths, err));
    if (json_count(&depths) != TEX_DEPTH_BUCKETS)
        return json_fail(&depths, err, "%d depths are expected", TEX_DEPTH_BUCKETS);
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        json_at(&depths, d, &levels);
        TRY(json_as_array(&levels, err));
        if (json_count(&levels) != TEX_MAX_LEVELS)
            return json_fail(&levels, err, "%d levels are expected", TEX_MAX_LEVELS);
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l) {
            int64_t count;
            json_at(&levels, l, &value);
            TRY(json_as_int(&value, 0, INT64_MAX, &count, err));
            out_stats->mip_probes[d][l] = (uint64_t)count;
        }
    }
    return STATUS_OK;
}

static Status read_latency(JsonCursor *object, const char *name, uint64_t *out_buckets, Error *err)
{
    JsonCursor array, value;
    TRY(json_get_array(object, name, JSON_REQUIRED, &array, err));
    if (json_count(&array) != TEX_LATENCY_BUCKETS)
        return json_fail(&array, err, "%d buckets are expected", TEX_LATENCY_BUCKETS);
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i) {
        int64_t count;
        json_at(&array, i, &value);
        TRY(json_as_int(&value, 0, INT64_MAX, &count, err));
        out_buckets[i] = (uint64_t)count;
    }
    return STATUS_OK;
}

Status texcache_stats_read(JsonCursor *object, TexStats *out_stats, Error *err)
{
    *out_stats = (TexStats){0};
    for (uint32_t i = 0; i < SORT_COUNT_OF(stats_fields); ++i) {
        int64_t value;
        TRY(json_get_int(object, stats_fields[i].name, JSON_REQUIRED, 0, INT64_MAX, &value, err));
        memcpy((char *)out_stats + stats_fields[i].offset, &value, sizeof value);
    }
    TRY(read_histogram(object, out_stats, err));
    TRY(read_latency(object, "read_latency", out_stats->read_latency, err));
    return read_latency(object, "wait_latency", out_stats->wait_latency, err);
}

/* --- what they say ------------------------------------------------------------------------ */

double texcache_stats_pressure(const TexStats *stats)
{
    return stats->bytes_unique ? (double)stats->bytes_loaded / (double)stats->bytes_unique : 1.0;
}

void texcache_stats_identities(const TexStats *s, TexIdentity out[TEX_IDENTITY_COUNT])
{
    uint64_t mip_probes = 0;
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            mip_probes += s->mip_probes[d][l];
    }
    out[0] = (TexIdentity){"tile_hits + tile_misses == tile_requests",
                           s->tile_hits + s->tile_misses, s->tile_requests};
    out[1] = (TexIdentity){"reads_awaited + coalesced + failed_fast == tile_misses",
                           s->reads_awaited + s->coalesced + s->failed_fast, s->tile_misses};
    out[2] = (TexIdentity){
        "loads + constants + failed_tiles + reads_pending == reads_awaited + reads_ahead",
        s->loads + s->constants + s->failed_tiles + s->reads_pending,
        s->reads_awaited + s->reads_ahead};
    out[3] = (TexIdentity){"loads - evictions == resident_tiles", s->loads - s->evictions,
                           s->resident_tiles};
    out[4] = (TexIdentity){"sum of mip_probes == probes", mip_probes, s->probes};
    uint64_t reads = 0, waits = 0;
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i) {
        reads += s->read_latency[i];
        waits += s->wait_latency[i];
    }
    out[5] = (TexIdentity){"sum of read_latency == loads + constants + failed_tiles", reads,
                           s->loads + s->constants + s->failed_tiles};
    out[6] = (TexIdentity){"sum of wait_latency == waits", waits, s->waits};
}
