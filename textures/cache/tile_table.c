/* Tile requests, their queue and their waiters. texcache_state.h shows the states; tile_io.c does the reading. */
#include "base/check.h"
#include "base/clock.h"
#include "textures/cache/texcache_state.h"

static uint32_t load_entry(const Texture *texture, uint32_t tile)
{
    return atomic_load(&texture->entries[tile].word);
}

/* Returns whether a failed tile may be requested again. */
static bool is_retry_due(uint32_t entry)
{
    TileFailed f = entry_failed(entry);
    uint32_t now = (uint32_t)(clock_now_ns() >> FAILED_TICK_SHIFT);
    return f.rounds > 0 && ((now - f.when) & FAILED_TICK_MASK) <= FAILED_TICK_MASK / 2;
}

void tile_wake_reader(TexCache *c)
{
    if (c->readers_idle == 0 || c->readers_waking > 0)
        return;
    --c->readers_idle;
    ++c->readers_waking;
    cond_signal(&c->work);
}

/* Takes a free request for a tile whose entry is EMPTY or FAILED. The caller holds the lock. */
static uint32_t take_request(TexCache *c, Texture *texture, uint32_t tile, uint32_t entry)
{
    uint32_t request = c->free_requests;
    ASSERT(request != NO_REQUEST && c->free_request_count > 0);
    ASSERT(entry_tag(entry) == ENTRY_EMPTY || entry_tag(entry) == ENTRY_FAILED);
    TileRequest *r = &c->requests[request];
    c->free_requests = r->next;
    --c->free_request_count;
    bool is_retry = entry_tag(entry) == ENTRY_FAILED;
    *r =
        (TileRequest){.texture = texture,
                      .tile = tile,
                      .next = NO_REQUEST,
                      .rounds = is_retry ? entry_failed(entry).rounds : 0,
                      .last_use = is_retry ? entry_failed(entry).was_loaded : entry_payload(entry)};
    if (c->queue_last == NO_REQUEST)
        c->queue_first = request;
    else
        c->requests[c->queue_last].next = request;
    c->queue_last = request;
    ++texture->queued_count;
    atomic_store(&texture->entries[tile].word, entry_make(ENTRY_QUEUED, request));
    tile_wake_reader(c);
    return request;
}

static void add_waiter(TileRequest *r, TexCaller *caller)
{
    caller->next = r->waiters;
    r->waiters = caller;
    ++r->waiter_count;
    waiter_arm(caller->waiter, 1);
}

/* Requests a tile and adds the caller to its waiters, or to those who wait for a free request. The caller holds
 * the lock. */
static TileJoin ask_and_wait(TexCaller *caller, Texture *texture, uint32_t tile, uint32_t entry)
{
    TexCache *c = caller->thread->cache;
    ThreadCounters *counters = &caller->thread->counters;
    if (c->free_requests == NO_REQUEST) {
        caller->next = NULL;
        if (c->request_waiters_last)
            c->request_waiters_last->next = caller;
        else
            c->request_waiters_first = caller;
        c->request_waiters_last = caller;
        waiter_arm(caller->waiter, 1);
        return TILE_NO_ROOM;
    }
    add_waiter(&c->requests[take_request(c, texture, tile, entry)], caller);
    counter_add(&counters->tile_misses, 1);
    counter_add(&counters->reads_awaited, 1);
    return TILE_JOINED;
}

TileJoin tile_join(TexCaller *caller, Texture *texture, uint32_t tile, uint32_t *out_entry)
{
    TexCache *c = caller->thread->cache;
    ThreadCounters *counters = &caller->thread->counters;
    TileJoin join = TILE_RESOLVED;
    ASSERT(tile < texture_tile_count(texture));
    mutex_lock(&c->lock);
    uint32_t entry = load_entry(texture, tile);
    switch (entry_tag(entry)) {
    case ENTRY_READY:
        slab_pin(&c->slabs, entry_payload(entry));
        counter_add(&counters->tile_hits, 1);
        break;
    case ENTRY_CONSTANT:
        counter_add(&counters->tile_hits, 1);
        break;
    case ENTRY_QUEUED:
        add_waiter(&c->requests[entry_payload(entry)], caller);
        counter_add(&counters->tile_misses, 1);
        counter_add(&counters->coalesced, 1);
        join = TILE_JOINED;
        break;
    case ENTRY_FAILED:
        if (is_retry_due(entry)) {
            join = ask_and_wait(caller, texture, tile, entry);
        } else {
            counter_add(&counters->tile_misses, 1);
            counter_add(&counters->failed_fast, 1);
        }
        break;
    case ENTRY_EMPTY:
        join = ask_and_wait(caller, texture, tile, entry);
        break;
    }
    mutex_unlock(&c->lock);
    *out_entry = entry;
    return join;
}

uint32_t tile_resolve(const Texture *texture, uint32_t tile)
{
    uint32_t entry = load_entry(texture, tile);
    ASSERT(entry_tag(entry) >= ENTRY_READY); /* the pin prevents its eviction */
    return entry;
}

void tile_unpin(TexCache *c, uint32_t slot)
{
    if (slab_unpin(&c->slabs, slot) &&
        atomic_load_explicit(&c->sleepers, memory_order_relaxed) != 0)
        cache_wake_sleepers(c);
}

uint32_t cache_ahead_limit(const SlabPool *slabs, uint32_t tile_bytes)
{
    uint64_t slots = (uint64_t)slabs->chunk_limit * (SLAB_CHUNK_BYTES / tile_bytes);
    uint64_t limit = slots / 4;
    return limit < REQUEST_COUNT - REQUEST_RESERVE ? (uint32_t)limit
                                                   : REQUEST_COUNT - REQUEST_RESERVE;
}

void tile_request_ahead(TexThread *thread, Texture *texture, const uint32_t *tiles, uint32_t count)
{
    TexCache *c = thread->cache;
    uint64_t asked = 0;
    mutex_lock(&c->lock);
    uint32_t limit = cache_ahead_limit(&c->slabs, texture->tile_bytes);
    for (uint32_t i = 0; i < count; ++i) {
        if (c->request_waiters_first || REQUEST_COUNT - c->free_request_count >= limit)
            break;
        uint32_t entry = load_entry(texture, tiles[i]);
        if (entry_tag(entry) == ENTRY_EMPTY) {
            take_request(c, texture, tiles[i], entry);
            ++asked;
        }
    }
    mutex_unlock(&c->lock);
    counter_add(&thread->counters.reads_ahead, asked);
}

/* A sort key that approximates a tile's position in storage: files hold the tiles of a level in the order of
 * their numbers. */
static uint64_t storage_order(const TileRequest *r)
{
    return (uint64_t)r->texture->index << 32 | r->tile;
}

/* Moves the oldest requests into the batch and sorts it. */
static void begin_batch(TexCache *c)
{
    for (uint32_t i = 0; i < IO_BATCH_MAX && c->queue_first != NO_REQUEST; ++i) {
        uint32_t request = c->queue_first;
        TileRequest *r = &c->requests[request];
        c->queue_first = r->next;
        uint32_t *at = &c->batch_first;
        while (*at != NO_REQUEST && storage_order(&c->requests[*at]) < storage_order(r))
            at = &c->requests[*at].next;
        r->next = *at;
        *at = request;
    }
    if (c->queue_first == NO_REQUEST)
        c->queue_last = NO_REQUEST;
}

uint32_t tile_queue_pop(TexCache *c, uint32_t out_requests[RUN_TILES_MAX])
{
    if (c->batch_first == NO_REQUEST)
        begin_batch(c);
    const TileRequest *last = NULL;
    uint32_t count = 0, limit = 1;
    while (c->batch_first != NO_REQUEST && count < limit) {
        const TileRequest *r = &c->requests[c->batch_first];
        if (last && (r->texture != last->texture || r->tile != last->tile + 1 ||
                     texture_is_tail(r->texture, r->tile)))
            break;
        if (!last && !r->texture->is_decoded)
            limit = read_run_limit(r->texture->tile_bytes);
        out_requests[count++] = c->batch_first;
        c->batch_first = r->next;
        last = r;
    }
    if (c->batch_first != NO_REQUEST || c->queue_first != NO_REQUEST)
        tile_wake_reader(c);
    return count;
}

TexCaller *tile_publish(TexCache *c, uint32_t request, uint32_t entry)
{
    TileRequest *r = &c->requests[request];
    Texture *texture = r->texture;
    TexCaller *waiters = r->waiters;
    ASSERT(entry_tag(entry) >= ENTRY_READY && texture->queued_count > 0);
    ASSERT(load_entry(texture, r->tile) == entry_make(ENTRY_QUEUED, request));
    if (entry_tag(entry) == ENTRY_READY)
        slab_publish(&c->slabs, entry_payload(entry), texture->index, r->tile, r->waiter_count);
    atomic_store(&texture->entries[r->tile].word, entry);
    --texture->queued_count;
    r->next = c->free_requests;
    c->free_requests = request;
    ++c->free_request_count;
    if (c->request_waiters_first) { /* the first caller that found no free request may try again */
        TexCaller *first = c->request_waiters_first;
        c->request_waiters_first = first->next;
        if (!c->request_waiters_first)
            c->request_waiters_last = NULL;
        first->next = waiters;
        waiters = first;
    }
    return waiters;
}

void tile_fire(TexCaller *waiters)
{
    while (waiters) {
        TexCaller *next = waiters->next; /* the caller may be destroyed as soon as it is fired */
        waiter_fire(waiters->waiter);
        waiters = next;
    }
}

void tile_unlink(void *cache, uint32_t texture, uint32_t tile, uint32_t last_use)
{
    const TexCache *c = cache;
    ASSERT(entry_tag(load_entry(texture_at(c, texture), tile)) == ENTRY_READY);
    atomic_store(&texture_at(c, texture)->entries[tile].word, entry_make(ENTRY_EMPTY, last_use));
}
