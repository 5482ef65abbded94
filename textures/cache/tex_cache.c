/* A cache's life, its budget, its threads' registration. The picture is in texcache_state.h.
 *
 *   budget = fixed (this struct, requests, colours, chunk table, I/O threads)
 *          + tables (textures' entries, TexThreads: while they are open)
 *          + committed chunks, as many as fit beside the tables */
#include "base/alloc.h"
#include "base/cast.h"
#include "textures/cache/texcache_state.h"
#include "textures/texcache.h"
#include <inttypes.h>
#include <math.h>

enum { DEFAULT_IO_THREADS = 16, DEFAULT_OPEN_FILES = 256 };
#define DEFAULT_BUDGET_BYTES ((uint64_t)1 << 30)
/* A slot's id takes 29 bits of a tile's entry. */
#define CHUNKS_MAX ((uint64_t)1 << (29 - SLAB_SLOT_SHIFT))

/* --- the budget; under the lock ----------------------------------------------------------- */

static uint64_t chunk_bytes(const TexCache *c)
{
    return (uint64_t)c->slabs.chunk_count * SLAB_CHUNK_BYTES;
}

void cache_note_peak(TexCache *c)
{
    uint64_t now = c->fixed_bytes + c->table_bytes + chunk_bytes(c);
    ASSERT(now <= c->budget_bytes);
    if (now > c->peak_bytes)
        c->peak_bytes = now;
}

void cache_sleep(TexCache *c)
{
    atomic_fetch_add(&c->sleepers, 1);
    cond_wait_for(&c->changed, &c->lock, 1);
    atomic_fetch_sub(&c->sleepers, 1);
}

void cache_wake_sleepers(TexCache *c)
{
    mutex_lock(&c->lock);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
}

void cache_wait_for_readers(TexCache *c, uint64_t tag)
{
    while (!epoch_passed(&c->epochs, tag)) {
        atomic_fetch_add(&c->epochs.sleepers, 1);
        cond_wait_for(&c->changed, &c->lock, 1);
        atomic_fetch_sub(&c->epochs.sleepers, 1);
    }
}

/* Limits the chunks to what the tables leave of the budget. */
static void set_chunk_limit(TexCache *c)
{
    uint64_t room = c->budget_bytes - c->fixed_bytes - c->promised_bytes;
    uint64_t limit = room / SLAB_CHUNK_BYTES;
    c->slabs.chunk_limit = limit < c->slabs.chunk_max ? (uint32_t)limit : c->slabs.chunk_max;
}

/* Returns a budget that suffices for every texture opened or refused so far, and for the directory of those
 * refused. The caller holds the lock. */
static uint64_t least_for_all(const TexCache *c)
{
    uint64_t block_bytes = sizeof(TextureBlock);
    for (const TexThread *t = c->threads; t; t = t->next)
        block_bytes += sizeof(LookupBlock);
    uint64_t blocks = (c->refused_textures + TEXTURE_BLOCK - 1) / TEXTURE_BLOCK;
    return cache_chunk_budget(c->budget_bytes, c->io_thread_count,
                              c->promised_bytes + c->refused_bytes + blocks * block_bytes)
        .least_bytes;
}

uint64_t texcache_refused(TexCache *c, uint64_t *out_least_bytes)
{
    mutex_lock(&c->lock);
    uint64_t least = least_for_all(c);
    *out_least_bytes = least > c->refused_least_bytes ? least : c->refused_least_bytes;
    uint64_t refused = c->refused_textures;
    mutex_unlock(&c->lock);
    return refused;
}

Status cache_reserve_tables(TexCache *c, uint64_t bytes, const char *path, Error *err)
{
    uint64_t needed = c->fixed_bytes + c->promised_bytes + SLAB_CHUNK_BYTES;
    if (bytes > UINT64_MAX - needed || needed + bytes > c->budget_bytes) {
        uint64_t most = UINT64_MAX / 4;
        c->refused_bytes = bytes < most - c->refused_bytes ? c->refused_bytes + bytes : most;
        c->refused_textures += path != NULL;
        c->refused_least_bytes = least_for_all(c);
        return error_set_at(err, STATUS_LIMIT, path ? path : "",
                            "%s not fit the texture memory of %" PRIu64
                            " bytes; for all that was asked for so far at least %" PRIu64
                            " are needed",
                            path ? "its tables do" : "one more thread does", c->budget_bytes,
                            c->refused_least_bytes);
    }
    c->promised_bytes += bytes;
    set_chunk_limit(c);
    while (c->slabs.chunk_count > c->slabs.chunk_limit) {
        uint32_t chunk;
        uint64_t tag;
        if (slab_retire_chunk(&c->slabs, &chunk, &tag)) {
            cache_wait_for_readers(c, tag);
            slab_decommit(&c->slabs, chunk);
        } else {
            cache_sleep(c);
        }
    }
    c->table_bytes += bytes;
    if (c->table_bytes > c->table_peak_bytes)
        c->table_peak_bytes = c->table_bytes;
    cache_note_peak(c);
    return STATUS_OK;
}

void cache_release_tables(TexCache *c, uint64_t bytes)
{
    ASSERT(bytes <= c->table_bytes);
    c->table_bytes -= bytes;
    c->promised_bytes -= bytes;
    set_chunk_limit(c);
}

/* --- create and destroy ------------------------------------------------------------------- */

/* Returns the bytes of everything except chunks, their table, and what is opened later. */
static uint64_t base_bytes(uint32_t io_thread_count)
{
    return sizeof(TexCache) + REQUEST_COUNT * sizeof(TileRequest) +
           CONSTANT_COUNT * sizeof(float[4]) +
           (uint64_t)io_thread_count * (sizeof(IoThread) + STEX_INFLATER_BYTES + RUN_BYTES_MAX);
}

ChunkBudget cache_chunk_budget(uint64_t budget_bytes, uint32_t io_thread_count,
                               uint64_t table_bytes)
{
    const uint64_t per_chunk = SLAB_CHUNK_BYTES + SLAB_CHUNK_TABLE_BYTES;
    uint64_t base = base_bytes(io_thread_count);
    uint64_t chunk_max = budget_bytes > base ? (budget_bytes - base) / per_chunk : 0;
    ChunkBudget b = {.chunk_max = chunk_max < CHUNKS_MAX ? (uint32_t)chunk_max : CHUNKS_MAX};
    b.fixed_bytes = base + (uint64_t)b.chunk_max * SLAB_CHUNK_TABLE_BYTES;
    if (b.fixed_bytes + table_bytes < budget_bytes)
        b.chunk_limit = (uint32_t)((budget_bytes - b.fixed_bytes - table_bytes) / SLAB_CHUNK_BYTES);
    if (b.chunk_limit > b.chunk_max)
        b.chunk_limit = b.chunk_max;
    /* The budget also pays for the tables of chunks whose memory later goes to textures' tables. */
    double whole = (double)(table_bytes + SLAB_CHUNK_BYTES);
    b.least_bytes = base + (uint64_t)ceil(whole * (double)per_chunk / SLAB_CHUNK_BYTES);
    return b;
}

static Status start_io_threads(TexCache *c, Error *err)
{
    for (uint32_t i = 0; i < c->io_thread_count; ++i) {
        IoThread *io = &c->io_threads[i];
        io->cache = c;
        io->inflater = stex_inflater_create();
        io->run.bytes = mem_alloc(1, RUN_BYTES_MAX);
        if (!io->inflater || !io->run.bytes)
            return error_set(err, STATUS_NO_MEMORY, "out of memory for the texture I/O threads");
        TRY(thread_create("texture-io", IO_STACK_BYTES, tile_io_run, io, &io->thread, err));
        ++c->io_threads_running;
    }
    return STATUS_OK;
}

static Status allocate_tables(TexCache *c, uint32_t chunk_max, Error *err)
{
    c->requests = MEM_ARRAY(TileRequest, REQUEST_COUNT);
    c->constants = mem_alloc(CONSTANT_COUNT, sizeof *c->constants);
    c->io_threads = MEM_ARRAY(IoThread, c->io_thread_count);
    if (!c->requests || !c->constants || !c->io_threads)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for the texture cache");
    for (uint32_t i = 0; i < REQUEST_COUNT; ++i)
        c->requests[i].next = i + 1 < REQUEST_COUNT ? i + 1 : NO_REQUEST;
    c->free_request_count = REQUEST_COUNT;
    c->queue_first = c->queue_last = c->batch_first = NO_REQUEST;
    return slab_init(&c->slabs, chunk_max, &c->epochs, tile_unlink, c, err);
}

Status texcache_create(const TexCacheDesc *desc, TexCache **out_cache, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    *out_cache = NULL;
    uint32_t io_thread_count = desc->io_thread_count ? desc->io_thread_count : DEFAULT_IO_THREADS;
    if (io_thread_count > TEX_MAX_IO_THREADS) {
        return error_set(err, STATUS_INVALID,
                         "%" PRIu32 " texture I/O threads; at most %d are possible",
                         io_thread_count, TEX_MAX_IO_THREADS);
    }
    uint64_t budget_bytes = desc->budget_bytes ? desc->budget_bytes : DEFAULT_BUDGET_BYTES;
    uint64_t least =
        base_bytes(io_thread_count) + sizeof(TexThread) + SLAB_CHUNK_BYTES + SLAB_CHUNK_TABLE_BYTES;
    if (budget_bytes < least) {
        return error_set(err, STATUS_LIMIT,
                         "a texture memory of %" PRIu64 " bytes is too small: with %" PRIu32
                         " I/O threads at least %" PRIu64
                         " bytes are needed, besides the tables of each texture",
                         budget_bytes, io_thread_count, least);
    }
    ChunkBudget chunks = cache_chunk_budget(budget_bytes, io_thread_count, 0);

    TexCache *c = MEM_NEW(TexCache);
    if (!c)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for the texture cache");
    c->budget_bytes = budget_bytes;
    c->fixed_bytes = chunks.fixed_bytes;
    c->io_thread_count = io_thread_count;
    c->read_delay_us = desc->read_delay_us;
    c->log = desc->log;
    texel_tables_fill(&c->texels);
    epoch_init(&c->epochs);
    mutex_init(&c->lock);
    cond_init(&c->work);
    cond_init(&c->changed);
    descriptor_pool_init(&c->descriptors,
                         desc->max_open_files ? desc->max_open_files : DEFAULT_OPEN_FILES);
    uint32_t cpus = thread_cpu_count(), decoders = cpus < 8 ? cpus : 8;
    decode_pool_init(&c->decoders, desc->decoder_command,
                     desc->decoder_count ? desc->decoder_count : decoders);
    Status status = allocate_tables(c, chunks.chunk_max, err);
    if (status == STATUS_OK && desc->trace_path) {
        status =
            trace_writer_begin(desc->trace_path, budget_bytes, io_thread_count, &c->trace, err);
    }
    if (status == STATUS_OK) {
        cache_note_peak(c);
        status = start_io_threads(c, err);
    }
    if (status != STATUS_OK) {
        texcache_destroy(c);
        return status;
    }
    *out_cache = c;
    return STATUS_OK;
}

void texcache_destroy(TexCache *c)
{
    if (!c)
        return;
    ASSERT(!c->threads);
    mutex_lock(&c->lock);
    c->is_stopping = true;
    cond_broadcast(&c->work);
    mutex_unlock(&c->lock);
    for (uint32_t i = 0; i < c->io_threads_running; ++i)
        thread_join(c->io_threads[i].thread);
    for (uint32_t i = 0; c->io_threads && i < c->io_thread_count; ++i) {
        stex_inflater_destroy(c->io_threads[i].inflater);
        mem_free(c->io_threads[i].run.bytes);
    }
    if (c->trace)
        trace_writer_abandon(c->trace);
    texture_destroy_all(c);
    descriptor_pool_destroy(&c->descriptors);
    decode_pool_destroy(&c->decoders);
    slab_destroy(&c->slabs);
    mem_free(c->requests);
    mem_free(c->constants);
    mem_free(c->io_threads);
    cond_destroy(&c->work);
    cond_destroy(&c->changed);
    mutex_destroy(&c->lock);
    mem_free(c);
}

Status texcache_trace_end(TexCache *c, Error *err)
{
    mutex_lock(&c->lock);
    ASSERT(!c->threads);
    TraceWriter *trace = c->trace;
    c->trace = NULL;
    uint64_t table_bytes = c->table_peak_bytes;
    /* I/O threads may still be reading tiles that were requested ahead, and recording the reads in the trace. */
    while (c->trace_users > 0)
        cache_sleep(c);
    mutex_unlock(&c->lock);
    return trace ? trace_writer_end(trace, table_bytes, err) : STATUS_OK;
}

/* --- threads ------------------------------------------------------------------------------ */

Status texcache_thread_create(TexCache *c, TexThread **out_thread, Error *err)
{
    *out_thread = NULL;
    mutex_lock(&c->lock);
    Status status = cache_reserve_tables(c, sizeof(TexThread), NULL, err);
    mutex_unlock(&c->lock);
    TRY(status);
    TexThread *t = mem_alloc_aligned(sizeof *t, _Alignof(TexThread));
    TraceStream *trace = c->trace ? trace_stream_create(c->trace) : NULL;
    if (c->trace && !trace) {
        mem_free(t);
        t = NULL;
    }
    mutex_lock(&c->lock);
    if (t) {
        *t = (TexThread){.cache = c, .trace = trace};
        status = cache_give_counters(c, t, NULL, err);
    } else {
        status = error_set(err, STATUS_NO_MEMORY, "out of memory for a thread's texture state");
    }
    if (status == STATUS_OK) {
        t->next = c->threads;
        c->threads = t;
        epoch_add(&c->epochs, &t->epoch);
    } else {
        if (t)
            cache_take_counters(c, t);
        cache_release_tables(c, sizeof *t);
    }
    mutex_unlock(&c->lock);
    if (status != STATUS_OK) {
        trace_stream_destroy(trace);
        mem_free(t);
        t = NULL;
    }
    *out_thread = t;
    return status;
}

void texcache_thread_destroy(TexThread *t)
{
    if (!t)
        return;
    TexCache *c = t->cache;
    mutex_lock(&c->lock);
    TexThread **at = &c->threads;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    epoch_remove(&c->epochs, &t->epoch);
    cache_counters_add(&c->retired, &t->counters);
    cache_take_counters(c, t);
    cache_release_tables(c, sizeof *t);
    mutex_unlock(&c->lock);
    trace_stream_destroy(t->trace);
    mem_free(t);
}

void texcache_caller_init(TexCaller *caller, TexThread *t, Waiter *w)
{
    *caller = (TexCaller){.thread = t, .waiter = w};
}
