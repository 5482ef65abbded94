/* The I/O threads: take the next request, reserve a slot, read, check, decompress, publish, wake
 * the waiters. Reading goes straight into the slot, which nobody else can see yet.
 *
 * A read that fails temporarily is repeated, with growing pauses and without holding a slot. If
 * that does not help, the tile fails, and the first lookup that needs it after a longer pause
 * starts another round of tries. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "textures/cache/texcache_state.h"
#include <stdio.h>
#include <string.h>

enum {
    FAILURES_LOGGED_MAX = 16, /* logged failures of one texture */
    ROUND_PAUSE_MS_MAX = 60000
};

/* Pauses before the second and later tries of a round, and before the second round. */
static const uint32_t try_pauses_ms[] = {1, 4, 16, 64};
static const uint32_t round_pause_ms = 500;

/* Returns the pause after a failed round, which doubles with each round. */
static uint32_t pause_after_round(uint32_t rounds)
{
    uint32_t pause_ms = round_pause_ms << (rounds - 1);
    return pause_ms < ROUND_PAUSE_MS_MAX ? pause_ms : ROUND_PAUSE_MS_MAX;
}

static void give_slot_back(TexCache *c, uint32_t slot)
{
    mutex_lock(&c->lock);
    slab_give_back(&c->slabs, slot, 0);
    cond_broadcast(&c->changed);
    mutex_unlock(&c->lock);
}

/* Waits for this thread's turn and for a slot that may be written. Returns the slot. */
static uint32_t reserve_slot(TexCache *c, uint32_t size_class, uint32_t last_use)
{
    uint32_t slot = 0;
    uint64_t tag = 0;
    mutex_lock(&c->lock);
    uint64_t turn = c->turn_next++;
    while (turn != c->turn_served || !slab_take(&c->slabs, size_class, last_use, &slot, &tag))
        cache_sleep(c);
    ++c->turn_served;
    cache_note_peak(c);
    if (c->turn_next != c->turn_served)
        cond_broadcast(&c->changed);
    cache_wait_for_readers(c, tag);
    mutex_unlock(&c->lock);
    slab_open_memory(&c->slabs, slot);
    return slot;
}

/* Logs a tile's failure. `rounds` is the number of rounds made so far, 0 if the failure is final. */
static void log_failure(TexCache *c, Texture *texture, uint32_t tile, const TileFailure *failure,
                        uint32_t rounds)
{
    uint32_t count = atomic_fetch_add_explicit(&texture->failures_logged, 1, memory_order_relaxed);
    if (count > FAILURES_LOGGED_MAX)
        return;
    if (count == FAILURES_LOGGED_MAX) {
        log_error(c->log, "%s: more tiles failed; they are not listed", texture->path);
        return;
    }
    uint32_t level, x, y;
    char reason[256], hope[64] = "", place[64] = "small levels";
    StexHeader header;
    stex_restore(&texture->header, &header);
    if (!texture_is_tail(texture, tile)) {
        stex_tile_place(&header, tile, &level, &x, &y);
        snprintf(place, sizeof place, "level %u, tile (%u, %u)", level, x, y);
    }
    if (rounds > 0) {
        snprintf(hope, sizeof hope, "; to be tried again after %g s",
                 pause_after_round(rounds) * 1e-3);
    }
    log_error(c->log, "%s: %s: %s%s", texture->path, place,
              stex_failure_text(failure, reason, sizeof reason), hope);
}

/* Returns the index of a constant colour, which is added if the table has room; otherwise CONSTANT_COUNT. The
 * caller holds the lock. */
static uint32_t intern_constant(TexCache *c, const float rgba[4])
{
    for (uint32_t i = 0; i < c->constant_count; ++i) {
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): -0 and 0 are two colours, a NaN is one */
        if (memcmp(c->constants[i], rgba, sizeof c->constants[i]) == 0)
            return i;
    }
    if (c->constant_count == CONSTANT_COUNT)
        return CONSTANT_COUNT;
    memcpy(c->constants[c->constant_count], rgba, sizeof c->constants[0]);
    return c->constant_count++;
}

/* Makes the entry of a constant tile: an index into the table of colours, or a slot filled with the colour when
 * the table is full. */
static uint32_t make_constant(TexCache *c, const TileRequest *r, const StexTile *record)
{
    const Texture *texture = r->texture;
    float values[4], rgba[4];
    texel_decode_row(&c->texels, texture->format, record->constant, 1, values);
    texel_expand(values, texture->format.channel_count, rgba);
    mutex_lock(&c->lock);
    uint32_t constant = intern_constant(c, rgba);
    mutex_unlock(&c->lock);
    if (constant < CONSTANT_COUNT)
        return entry_make(ENTRY_CONSTANT, constant);
    uint32_t slot =
        reserve_slot(c, slab_class_of(texture_tile_bytes(texture, r->tile)), r->last_use);
    uint8_t *texels = slab_address(&c->slabs, slot);
    for (uint32_t at = 0; at < texture_tile_bytes(texture, r->tile); at += texture->texel_bytes)
        memcpy(texels + at, record->constant, texture->texel_bytes);
    return entry_make(ENTRY_READY, slot);
}

/* Checks after a read that the data belong to the texture that was opened. */
static bool confirm_file(TexCache *c, Texture *texture, TileFailure *out_failure)
{
    bool is_news;
    bool ok = descriptor_confirm(&c->descriptors, &texture->descriptor, &is_news, out_failure);
    if (is_news) {
        log_warning(
            c->log,
            "%s: has been replaced or removed on disk; what was opened is read on as long as "
            "it can stay open",
            texture->path);
    }
    return ok;
}

/* Loads a tile that holds small levels. All of them are read, since they share one check sum. */
static uint32_t read_small_levels(IoThread *io, const TileRequest *r, int fd, const StexHeader *h,
                                  uint32_t *out_bytes_read, TileFailure *out_failure)
{
    TexCache *c = io->cache;
    const Texture *texture = r->texture;
    uint32_t tail = r->tile - (uint32_t)h->tile_count, first[TEXTURE_TAILS_MAX + 1];
    ASSERT(h->tail_bytes <= RUN_BYTES_MAX);
    /* the run's buffer is free, since tiles of the tail are never part of a run */
    read_run_clear(&io->run);
    if (!stex_check_tail(fd, h, io->run.bytes, out_failure))
        return 0;
    (void)texture_tail_tiles(h, first);
    *out_bytes_read = (uint32_t)h->tail_bytes;
    const uint8_t *texels = io->run.bytes + h->levels[first[tail]].tail_offset;
    uint32_t bytes = texture->tail_bytes[tail], texel_bytes = texture->texel_bytes;
    if (memcmp(texels, texels + texel_bytes, bytes - texel_bytes) == 0) {
        StexTile record = {.flags = STEX_TILE_CONSTANT};
        memcpy(record.constant, texels, texel_bytes);
        return make_constant(c, r, &record);
    }
    uint32_t slot = reserve_slot(c, slab_class_of(bytes), r->last_use);
    memcpy(slab_address(&c->slabs, slot), texels, bytes);
    return entry_make(ENTRY_READY, slot);
}

/* Reads a tile's record and payload from the run, or through the open file. Returns its entry, or 0 on failure. */
static uint32_t read_tile(IoThread *io, const TileRequest *r, int fd, uint32_t *out_bytes_read,
                          TileFailure *out_failure)
{
    TexCache *c = io->cache;
    const Texture *texture = r->texture;
    uint32_t tile = r->tile;
    StexHeader header;
    const StexHeader *h = &header;
    stex_restore(&texture->header, &header);
    if (texture_is_tail(texture, tile))
        return read_small_levels(io, r, fd, h, out_bytes_read, out_failure);
    StexTile record;
    bool is_in_run = read_run_has(&io->run, tile);
    if (!(is_in_run ? read_run_record(&io->run, h, tile, &record, out_failure)
                    : stex_read_record(fd, h, tile, &record, out_failure)))
        return 0;
    if (record.flags & STEX_TILE_CONSTANT)
        return make_constant(c, r, &record);
    uint32_t slot =
        reserve_slot(c, slab_class_of(texture_tile_bytes(texture, r->tile)), r->last_use);
    uint8_t *texels = slab_address(&c->slabs, slot);
    if (is_in_run ? read_run_payload(&io->run, h, &record, io->inflater, texels, out_failure)
                  : stex_read_payload(fd, h, &record, io->inflater, texels, out_failure)) {
        *out_bytes_read = record.stored_bytes;
        return entry_make(ENTRY_READY, slot);
    }
    give_slot_back(c, slot);
    return 0;
}

/* Gets a tile from a decoder process. Returns its entry, or 0 on failure. */
static uint32_t decode_tile(IoThread *io, const TileRequest *r, uint32_t *out_bytes_read,
                            TileFailure *out_failure)
{
    TexCache *c = io->cache;
    const Texture *texture = r->texture;
    StexHeader header;
    stex_restore(&texture->header, &header);
    DecodedFile file = texture_decoded_file(c, texture, &header);
    uint32_t slot =
        reserve_slot(c, slab_class_of(texture_tile_bytes(texture, r->tile)), r->last_use);
    uint32_t first[TEXTURE_TAILS_MAX + 1], tail = r->tile - (uint32_t)header.tile_count;
    (void)texture_tail_tiles(&header, first);
    void *out = slab_address(&c->slabs, slot);
    if (texture_is_tail(texture, r->tile)
            ? decoded_read_levels(&file, first[tail], first[tail + 1], out, out_failure)
            : decoded_read_tile(&file, r->tile, out, out_failure)) {
        *out_bytes_read = texture_tile_bytes(texture, r->tile);
        return entry_make(ENTRY_READY, slot);
    }
    give_slot_back(c, slot);
    return 0;
}

static void delay_read(const TexCache *c)
{
    if (c->read_delay_us > 0)
        clock_sleep_ns((uint64_t)c->read_delay_us * 1000);
}

/* Tries once to load a tile. Returns its entry, or 0 on failure. */
static uint32_t try_tile(IoThread *io, const TileRequest *r, uint32_t *out_bytes_read,
                         TileFailure *out_failure)
{
    TexCache *c = io->cache;
    Texture *texture = r->texture;
    if (!read_run_has(&io->run, r->tile))
        delay_read(c);
    if (texture->is_decoded)
        return decode_tile(io, r, out_bytes_read, out_failure);
    int fd;
    if (!descriptor_acquire(&c->descriptors, &texture->descriptor, &fd, out_failure, NULL))
        return 0;
    uint32_t entry = read_tile(io, r, fd, out_bytes_read, out_failure);
    if (!confirm_file(c, texture, out_failure)) {
        if (entry_tag(entry) == ENTRY_READY)
            give_slot_back(c, entry_payload(entry));
        entry = 0;
    }
    descriptor_release(&c->descriptors, &texture->descriptor);
    return entry;
}

/* Counts a repeated try and pauses before it. Returns false if the cache is about to stop. */
static bool pause_before_retry(TexCache *c, Texture *texture, uint32_t pause_ms,
                               const TileFailure *failure)
{
    mutex_lock(&c->lock);
    bool is_stopping = c->is_stopping;
    c->loads.retries += !is_stopping;
    mutex_unlock(&c->lock);
    if (is_stopping)
        return false;
    if (!atomic_exchange_explicit(&texture->has_logged_retry, true, memory_order_relaxed)) {
        char reason[256];
        log_warning(c->log, "%s: %s; trying again, here and wherever else it happens",
                    texture->path, stex_failure_text(failure, reason, sizeof reason));
    }
    clock_sleep_ns((uint64_t)pause_ms * 1000000);
    return true;
}

/* Asks the caller to remake a file whose content is damaged. Returns whether another try is worthwhile. */
static bool remake_file(IoThread *io, const TileRequest *r)
{
    Texture *texture = r->texture;
    if (!texture->remake || texture->is_decoded ||
        !texture->remake(texture->remake_data, texture->path))
        return false;
    descriptor_renew(&io->cache->descriptors, &texture->descriptor);
    read_run_clear(&io->run);
    return true;
}

/* Carries out a request and returns the tile's new entry. */
static uint32_t load_tile(IoThread *io, const TileRequest *r, uint32_t *out_bytes_read)
{
    TexCache *c = io->cache;
    TileFailure failure = {0};
    *out_bytes_read = 0;
    uint32_t entry = try_tile(io, r, out_bytes_read, &failure);
    if (entry == 0 && read_run_has(&io->run, r->tile)) { /* the tile is read again by itself */
        read_run_clear(&io->run);
        entry = try_tile(io, r, out_bytes_read, &failure);
    }
    for (uint32_t i = 0; i < SORT_COUNT_OF(try_pauses_ms); ++i) {
        if (entry != 0 || !stex_failure_is_transient(&failure) ||
            !pause_before_retry(c, r->texture, try_pauses_ms[i], &failure))
            break;
        entry = try_tile(io, r, out_bytes_read, &failure);
    }
    if (entry == 0 && !stex_failure_is_transient(&failure) && remake_file(io, r))
        entry = try_tile(io, r, out_bytes_read, &failure);
    if (entry != 0)
        return entry;
    TileFailed failed = {.fault = failure.fault, .was_loaded = r->last_use != 0};
    if (stex_failure_is_transient(&failure)) {
        failed.rounds = r->rounds < FAILED_ROUNDS_MAX ? r->rounds + 1 : FAILED_ROUNDS_MAX;
        uint64_t pause_ns = (uint64_t)pause_after_round(failed.rounds) * 1000000;
        failed.when = (uint32_t)((clock_now_ns() + pause_ns) >> FAILED_TICK_SHIFT);
    }
    log_failure(c, r->texture, r->tile, &failure, failed.rounds);
    return entry_make_failed(failed);
}

static void count_load(TexCache *c, const TileRequest *r, uint32_t entry, uint32_t bytes_read,
                       uint64_t elapsed_ns)
{
    LoadCounters *n = &c->loads;
    TextureCounters *t = &r->texture->counters;
    uint32_t tile_bytes = texture_tile_bytes(r->texture, r->tile);
    n->read_ns += elapsed_ns;
    t->read_ns += elapsed_ns;
    ++n->read_latency[cache_latency_bucket(elapsed_ns)];
    n->bytes_read += bytes_read;
    switch (entry_tag(entry)) {
    case ENTRY_READY:
        ++n->loads;
        ++t->loads;
        t->unique_loads += r->last_use == 0;
        n->bytes_loaded += tile_bytes;
        t->bytes_loaded += tile_bytes;
        if (r->last_use == 0) {
            n->bytes_unique += tile_bytes;
            t->bytes_unique += tile_bytes;
        }
        break;
    case ENTRY_CONSTANT:
        ++n->constants;
        ++t->constants;
        break;
    case ENTRY_FAILED:
        ++n->failed_tiles;
        ++t->failed_tiles;
        return;
    case ENTRY_EMPTY:
    case ENTRY_QUEUED:
        UNREACHABLE();
    }
    n->recovered_tiles += r->rounds > 0;
}

static TexTraceOutcome outcome_of(uint32_t entry)
{
    return entry_tag(entry) == ENTRY_READY      ? TEX_TRACE_LOADED
           : entry_tag(entry) == ENTRY_CONSTANT ? TEX_TRACE_CONSTANT
                                                : TEX_TRACE_FAILED;
}

/* Reads adjacent tiles into the run. If that fails, the run stays empty. */
static void fill_run(IoThread *io, const TileRequest *first, uint32_t tile_count)
{
    TexCache *c = io->cache;
    Texture *texture = first->texture;
    int fd;
    TileFailure failure;
    if (!descriptor_acquire(&c->descriptors, &texture->descriptor, &fd, &failure, NULL))
        return;
    delay_read(c);
    StexHeader header;
    stex_restore(&texture->header, &header);
    read_run_fill(&io->run, fd, &header, first->tile, tile_count);
    descriptor_release(&c->descriptors, &texture->descriptor);
}

/* Serves one request. begin_ns is the start of its read. Called and returns with the lock held. */
static void serve(IoThread *io, uint32_t request, uint64_t begin_ns)
{
    TexCache *c = io->cache;
    const TileRequest *r = &c->requests[request];
    mutex_unlock(&c->lock);

    uint32_t bytes_read;
    uint32_t entry = load_tile(io, r, &bytes_read);
    uint64_t elapsed_ns = clock_now_ns() - begin_ns;

    mutex_lock(&c->lock);
    c->loads.reads_merged += read_run_has(&io->run, r->tile) && r->tile != io->run.first_tile;
    count_load(c, r, entry, bytes_read, elapsed_ns);
    uint32_t traced_texture = r->texture->trace_number, traced_tile = r->tile;
    TraceWriter *trace = c->trace;
    c->trace_users += trace != NULL;
    TexCaller *waiters = tile_publish(c, request, entry);
    cond_broadcast(&c->changed); /* there may be a slot to evict, or a texture to close */
    mutex_unlock(&c->lock);
    tile_fire(waiters);
    if (trace)
        trace_add_read(trace, traced_texture, traced_tile, outcome_of(entry), elapsed_ns / 1000);
    mutex_lock(&c->lock);
    if (trace && --c->trace_users == 0)
        cond_broadcast(&c->changed);
}

/* Serves requests for adjacent tiles. Called and returns with the lock held. */
static void serve_run(IoThread *io, const uint32_t *requests, uint32_t count)
{
    TexCache *c = io->cache;
    uint64_t begin_ns = clock_now_ns();
    read_run_clear(&io->run);
    if (count > 1) {
        mutex_unlock(&c->lock);
        fill_run(io, &c->requests[requests[0]], count);
        mutex_lock(&c->lock);
    }
    for (uint32_t i = 0; i < count; ++i)
        serve(io, requests[i], i == 0 ? begin_ns : clock_now_ns());
}

/* Sleeps until there may be a request. Called and returns with the lock held. */
static void await_work(TexCache *c)
{
    ++c->readers_idle;
    cond_wait(&c->work, &c->lock);
    if (c->readers_waking > 0)
        --c->readers_waking;
    else
        --c->readers_idle; /* nobody has woken it */
}

void tile_io_run(void *io_thread)
{
    IoThread *io = io_thread;
    TexCache *c = io->cache;
    mutex_lock(&c->lock);
    while (!c->is_stopping) {
        uint32_t requests[RUN_TILES_MAX];
        uint32_t count = tile_queue_pop(c, requests);
        if (count == 0)
            await_work(c);
        else
            serve_run(io, requests, count);
    }
    mutex_unlock(&c->lock);
}
