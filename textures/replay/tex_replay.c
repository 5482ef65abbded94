#include "textures/tex_replay.h"
#include "base/alloc.h"
#include "base/check.h"
#include "textures/cache/texcache_state.h"
#include "textures/replay/optimal_loads.h"
#include "textures/replay/stack_distance.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILES_TOTAL_MAX = 1 << 28, CURVE_BINS = TEX_CURVE_OCTAVES * TEX_CURVE_STEPS };
#define CURVE_FIRST_BYTES 4096.0

/* --- what is common: tiles of all textures in one row --------------------------------------- */

typedef struct TileSpace {
    uint32_t *first; /* owned, by texture: the number of its tile 0 */
    /* owned, by number: the tile is constant or unreadable and takes no slot */
    uint8_t *is_memory_free;
    uint32_t tile_total;
} TileSpace;

static void space_destroy(TileSpace *s)
{
    mem_free(s->first);
    mem_free(s->is_memory_free);
}

/* Reads on to the next event of a kind. False: there is none, or *status says why it cannot be had. */
static bool next_of_kind(TexTraceReader *trace, TexTraceKind kind, TexTraceEvent *event,
                         Status *status, Error *err)
{
    bool more = true;
    while (*status == STATUS_OK && more) {
        *status = tex_trace_next(trace, event, &more, err);
        if (*status == STATUS_OK && more && event->kind == kind)
            return true;
    }
    return false;
}

/* The first pass: finds the tiles that take no memory. */
static Status note_constants(TileSpace *s, TexTraceReader *trace, Error *err)
{
    TexTraceEvent event;
    Status status = STATUS_OK;
    tex_trace_rewind(trace);
    while (next_of_kind(trace, TEX_TRACE_READ, &event, &status, err))
        s->is_memory_free[s->first[event.texture] + event.tiles[0]] =
            event.outcome != TEX_TRACE_LOADED;
    return status;
}

static Status space_init(TileSpace *s, TexTraceReader *trace, Error *err)
{
    const TexTraceSummary *summary = tex_trace_summary(trace);
    const TexTraceTexture *textures = tex_trace_textures(trace);
    *s = (TileSpace){0};
    s->first = MEM_ARRAY(uint32_t, (size_t)summary->texture_count + 1);
    if (!s->first)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    for (uint32_t i = 0; i < summary->texture_count; ++i) {
        s->first[i] = s->tile_total;
        if (textures[i].tile_count > TILES_TOTAL_MAX - s->tile_total)
            return error_set(err, STATUS_LIMIT, "the trace's textures have more than %d tiles",
                             TILES_TOTAL_MAX);
        s->tile_total += textures[i].tile_count;
    }
    s->is_memory_free = MEM_ARRAY(uint8_t, (size_t)s->tile_total + 1);
    if (!s->is_memory_free)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    return note_constants(s, trace, err);
}

/* --- the cache, simulated ------------------------------------------------------------------- */

typedef struct Simulation {
    const TexTraceTexture *textures;
    const TileSpace *space;
    TexReplay *result;
    EpochSet epochs; /* without readers */
    SlabPool slabs;
    uint32_t *words; /* owned, by number: entries like those of the cache */
    bool has_asked_ahead;
    bool is_running;
} Simulation;

static void unlink_tile(void *data, uint32_t texture, uint32_t tile, uint32_t last_use)
{
    const Simulation *sim = data;
    sim->words[sim->space->first[texture] + tile] = entry_make(ENTRY_EMPTY, last_use);
}

static Status simulation_init(Simulation *sim, TexTraceReader *trace, const TileSpace *space,
                              TexReplay *result, Error *err)
{
    const TexTraceSummary *summary = tex_trace_summary(trace);
    uint64_t budget_bytes = result->budget_bytes;
    *sim = (Simulation){.textures = tex_trace_textures(trace), .space = space, .result = result};
    *result = (TexReplay){.budget_bytes = budget_bytes};
    ChunkBudget chunks =
        cache_chunk_budget(budget_bytes, summary->io_thread_count, summary->table_bytes);
    result->least_bytes = chunks.least_bytes;
    sim->is_running = chunks.chunk_limit >= 1;
    result->is_workable = sim->is_running;
    if (!sim->is_running)
        return STATUS_OK;
    epoch_init(&sim->epochs);
    sim->words = MEM_ARRAY(uint32_t, (size_t)space->tile_total + 1);
    if (!sim->words)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    TRY(slab_init(&sim->slabs, chunks.chunk_max, &sim->epochs, unlink_tile, sim, err));
    sim->slabs.chunk_limit = chunks.chunk_limit;
    return STATUS_OK;
}

static void simulation_destroy(Simulation *sim)
{
    slab_destroy(&sim->slabs);
    mem_free(sim->words);
}

/* Loads a tile into a slot with `pins` pins. Returns false if all slots are pinned. */
static bool load_tile(Simulation *sim, uint32_t texture, uint32_t tile, uint32_t pins)
{
    uint32_t *word = &sim->words[sim->space->first[texture] + tile];
    uint32_t bytes = tex_trace_tile_bytes(&sim->textures[texture], tile), slot;
    uint64_t tag;
    ASSERT(entry_tag(*word) == ENTRY_EMPTY);
    if (!slab_take(&sim->slabs, slab_class_of(bytes), entry_payload(*word), &slot, &tag))
        return false;
    TexReplay *n = sim->result;
    ++n->loads;
    n->bytes_loaded += bytes;
    if (entry_payload(*word) == 0) {
        ++n->unique_loads;
        n->bytes_unique += bytes;
    }
    slab_publish(&sim->slabs, slot, texture, tile, pins);
    *word = entry_make(ENTRY_READY, slot);
    return true;
}

static int compare_tiles(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Loads the missing tiles of the event after its `next`-th, in the order in which storage serves them, as
 * lookup_ask_ahead() and tile_request_ahead() do. */
static void load_ahead(Simulation *sim, const TexTraceEvent *event, uint32_t next)
{
    uint32_t missing[TEX_TRACE_TILES_MAX], count = 0;
    uint32_t limit = cache_ahead_limit(&sim->slabs, sim->textures[event->texture].tile_bytes);
    uint32_t first = sim->space->first[event->texture];
    for (uint32_t i = next; i < event->tile_count && count < limit; ++i) {
        uint32_t number = first + event->tiles[i];
        if (!sim->space->is_memory_free[number] && entry_tag(sim->words[number]) == ENTRY_EMPTY)
            missing[count++] = event->tiles[i];
    }
    if (count > 1)
        qsort(missing, count, sizeof *missing, compare_tiles);
    for (uint32_t i = 0; i < count; ++i) {
        if (entry_tag(sim->words[first + missing[i]]) == ENTRY_EMPTY &&
            !load_tile(sim, event->texture, missing[i], 0))
            return;
    }
}

static void use_tile(Simulation *sim, const TexTraceEvent *event, uint32_t i)
{
    uint32_t number = sim->space->first[event->texture] + event->tiles[i];
    if (sim->space->is_memory_free[number])
        return;
    uint32_t uses = event->taps[i];
    if (entry_tag(sim->words[number]) == ENTRY_EMPTY) {
        bool is_loaded = load_tile(sim, event->texture, event->tiles[i], 1);
        CHECK(is_loaded); /* no other slot is pinned */
        if (!sim->has_asked_ahead) {
            sim->has_asked_ahead = true;
            load_ahead(sim, event, i + 1);
        }
        slab_unpin(&sim->slabs, entry_payload(sim->words[number]));
        --uses; /* the first use of a tile does not set its mark */
    }
    if (uses > 0)
        slab_mark_used(&sim->slabs, entry_payload(sim->words[number]));
}

static Status run(TexTraceReader *trace, Simulation *sims, uint32_t count, Error *err)
{
    TexTraceEvent event;
    Status status = STATUS_OK;
    tex_trace_rewind(trace);
    while (next_of_kind(trace, TEX_TRACE_REQUEST, &event, &status, err)) {
        for (uint32_t k = 0; k < count; ++k) {
            if (!sims[k].is_running)
                continue;
            if (!event.is_continued)
                sims[k].has_asked_ahead = false;
            for (uint32_t i = 0; i < event.tile_count; ++i)
                use_tile(&sims[k], &event, i);
        }
    }
    TRY(status);
    for (uint32_t k = 0; k < count; ++k)
        sims[k].result->evictions = sims[k].slabs.eviction_count;
    return STATUS_OK;
}

Status tex_replay(TexTraceReader *trace, TexReplay *results, uint32_t count, Error *err)
{
    TileSpace space;
    Simulation sims[TEX_REPLAY_BUDGETS_MAX];
    if (count > TEX_REPLAY_BUDGETS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d budgets in one replay",
                         TEX_REPLAY_BUDGETS_MAX);
    Status status = space_init(&space, trace, err);
    uint32_t begun = 0;
    while (status == STATUS_OK && begun < count) {
        status = simulation_init(&sims[begun], trace, &space, &results[begun], err);
        ++begun;
    }
    if (status == STATUS_OK)
        status = run(trace, sims, count, err);
    for (uint32_t k = 0; k < begun; ++k)
        simulation_destroy(&sims[k]);
    space_destroy(&space);
    return status;
}

/* --- what could be had at best -------------------------------------------------------------- */

/* Receives one use of a tile that takes memory. */
typedef Status (*UseTile)(void *data, uint32_t number, uint32_t size_bytes, Error *err);

/* Calls `use` for all uses, in the order of the trace. */
static Status each_use(TexTraceReader *trace, const TileSpace *space, UseTile use, void *data,
                       Error *err)
{
    const TexTraceTexture *textures = tex_trace_textures(trace);
    TexTraceEvent event;
    Status status = STATUS_OK;
    tex_trace_rewind(trace);
    while (next_of_kind(trace, TEX_TRACE_REQUEST, &event, &status, err)) {
        for (uint32_t i = 0; i < event.tile_count; ++i) {
            uint32_t number = space->first[event.texture] + event.tiles[i];
            uint32_t size_bytes = tex_trace_tile_bytes(&textures[event.texture], event.tiles[i]);
            if (!space->is_memory_free[number])
                TRY(use(data, number, size_bytes, err));
        }
    }
    return status;
}

static Status use_at_best(void *data, uint32_t number, uint32_t size_bytes, Error *err)
{
    SORT_UNUSED(size_bytes);
    return optimal_loads_access(data, number, err);
}

static Status begin_best(TexTraceReader *trace, const TileSpace *space, OptimalLoads **out,
                         Error *err)
{
    const TexTraceTexture *textures = tex_trace_textures(trace);
    uint32_t *size_bytes = MEM_ARRAY(uint32_t, (size_t)space->tile_total + 1), number = 0;
    *out = NULL;
    if (!size_bytes)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a replay");
    for (uint32_t i = 0; i < tex_trace_summary(trace)->texture_count; ++i) {
        for (uint32_t k = 0; k < textures[i].tile_count; ++k)
            size_bytes[number++] = tex_trace_tile_bytes(&textures[i], k);
    }
    Status status = optimal_loads_create(size_bytes, space->tile_total, out, err);
    mem_free(size_bytes);
    return status;
}

Status tex_replay_best(TexTraceReader *trace, TexReplay *results, uint32_t count, Error *err)
{
    const TexTraceSummary *summary = tex_trace_summary(trace);
    TileSpace space;
    OptimalLoads *best = NULL;
    Status status = space_init(&space, trace, err);
    if (status == STATUS_OK)
        status = begin_best(trace, &space, &best, err);
    if (status == STATUS_OK)
        status = each_use(trace, &space, use_at_best, best, err);
    for (uint32_t i = 0; i < count && status == STATUS_OK; ++i) {
        ChunkBudget chunks = cache_chunk_budget(results[i].budget_bytes, summary->io_thread_count,
                                                summary->table_bytes);
        if (chunks.chunk_limit > 0)
            status = optimal_loads_count(best, (uint64_t)chunks.chunk_limit * SLAB_CHUNK_BYTES,
                                         &results[i].best_loads, err);
    }
    optimal_loads_destroy(best);
    space_destroy(&space);
    return status;
}

/* --- the curve ------------------------------------------------------------------------------ */

double tex_curve_bin_bytes(uint32_t bin)
{
    return CURVE_FIRST_BYTES * exp2((double)(bin + 1) / TEX_CURVE_STEPS);
}

/* Returns the bin of a distance: the first whose end is not below it. */
static uint32_t bin_of(uint64_t distance_bytes)
{
    double octaves = log2((double)distance_bytes / CURVE_FIRST_BYTES);
    double bin = ceil(octaves * TEX_CURVE_STEPS - 1e-9) - 1.0;
    return bin < 0.0 ? 0 : bin >= CURVE_BINS ? CURVE_BINS - 1 : (uint32_t)bin;
}

typedef struct Measure {
    StackDistance distances;
    TexCurve *curve;
} Measure;

static Status measure_use(void *data, uint32_t number, uint32_t size_bytes, Error *err)
{
    Measure *m = data;
    TexCurve *curve = m->curve;
    uint64_t distance;
    TRY(stack_distance_access(&m->distances, number, size_bytes, &distance, err));
    if (distance == STACK_DISTANCE_FIRST) {
        ++curve->unique_loads;
        curve->bytes_unique += size_bytes;
    } else {
        ++curve->reuses;
        ++curve->reuse_loads[bin_of(distance)];
        curve->reuse_bytes[bin_of(distance)] += size_bytes;
    }
    return STATUS_OK;
}

Status tex_replay_curve(TexTraceReader *trace, TexCurve *out_curve, Error *err)
{
    const TexTraceSummary *summary = tex_trace_summary(trace);
    TileSpace space;
    *out_curve = (TexCurve){0};
    ChunkBudget chunks =
        cache_chunk_budget(summary->budget_bytes, summary->io_thread_count, summary->table_bytes);
    out_curve->overhead_bytes =
        summary->budget_bytes - (uint64_t)chunks.chunk_limit * SLAB_CHUNK_BYTES;
    Measure m = {.curve = out_curve};
    Status status = space_init(&space, trace, err);
    if (status == STATUS_OK)
        status = stack_distance_init(&m.distances, space.tile_total, err);
    if (status == STATUS_OK)
        status = each_use(trace, &space, measure_use, &m, err);
    stack_distance_destroy(&m.distances);
    space_destroy(&space);
    return status;
}

uint64_t tex_curve_loads(const TexCurve *curve, uint64_t budget_bytes, uint64_t *out_bytes)
{
    uint64_t loads = curve->unique_loads, bytes = curve->bytes_unique;
    double memory =
        budget_bytes > curve->overhead_bytes ? (double)(budget_bytes - curve->overhead_bytes) : 0.0;
    for (uint32_t i = 0; i < CURVE_BINS; ++i) {
        if (tex_curve_bin_bytes(i) > memory) {
            loads += curve->reuse_loads[i];
            bytes += curve->reuse_bytes[i];
        }
    }
    if (out_bytes)
        *out_bytes = bytes;
    return loads;
}

uint64_t tex_curve_budget_for(const TexCurve *curve, double times)
{
    double most = times * (double)curve->unique_loads;
    double loads = (double)curve->unique_loads;
    uint32_t bin = CURVE_BINS;
    while (bin > 0 && loads + (double)curve->reuse_loads[bin - 1] <= most)
        loads += (double)curve->reuse_loads[--bin];
    return curve->overhead_bytes +
           (bin > 0 ? (uint64_t)ceil(tex_curve_bin_bytes(bin - 1)) : SLAB_CHUNK_BYTES);
}
