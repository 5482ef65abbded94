/* The I/O threads: take the oldest request, reserve a slot, read, check, decompress, publish, wake
 * the waiters. Reading goes straight into the slot, which nobody else can see yet. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "textures/texcache_state.h"
#include <string.h>

enum { FAILURES_LOGGED_MAX = 16 /* of one texture */ };

/* Waits for this thread's turn and a slot that can be written. */
static uint32_t reserve_slot(TexCache *c, uint32_t size_class)
{
    uint32_t slot = 0;
    uint64_t tag = 0;
    mutex_lock(&c->lock);
    uint64_t turn = c->turn_next++;
    while (turn != c->turn_served || !slab_take(&c->slabs, size_class, &slot, &tag))
        texcache_sleep(c);
    c->turn_served++;
    texcache_note_peak(c);
    if (c->turn_next != c->turn_served)
        cond_broadcast(&c->changed);
    texcache_wait_for_readers(c, tag);
    mutex_unlock(&c->lock);
    slab_open_memory(&c->slabs, slot);
    return slot;
}

static void log_failure(TexCache *c, Texture *texture, uint32_t tile, const TileFailure *failure)
{
    uint32_t count = atomic_fetch_add_explicit(&texture->failures_logged, 1, memory_order_relaxed);
    if (count > FAILURES_LOGGED_MAX)
        return;
    if (count == FAILURES_LOGGED_MAX) {
        log_error(c->log, "%s: more tiles failed; they are not listed", texture->path);
        return;
    }
    uint32_t level, x, y;
    char reason[256];
    stex_tile_place(&texture->header, tile, &level, &x, &y);
    log_error(c->log, "%s: level %u, tile (%u, %u): %s", texture->path, level, x, y,
              stex_failure_text(failure, reason, sizeof reason));
}

/* Under the lock: the index of a colour, added if there is room; CONSTANT_COUNT if there is not. */
static uint32_t intern_constant(TexCache *c, const float rgba[4])
{
    for (uint32_t i = 0; i < c->constant_count; i++) {
        if (memcmp(c->constants[i], rgba, sizeof c->constants[i]) == 0)
            return i;
    }
    if (c->constant_count == CONSTANT_COUNT)
        return CONSTANT_COUNT;
    memcpy(c->constants[c->constant_count], rgba, sizeof c->constants[0]);
    return c->constant_count++;
}

/* A constant tile: a colour of the table, or a slot filled with it when the table is full. */
static uint32_t make_constant(TexCache *c, const Texture *texture, const StexTile *record)
{
    float values[4], rgba[4];
    texel_decode_row(&c->texels, texture->format, record->constant, 1, values);
    texel_expand(values, texture->format.channel_count, rgba);
    mutex_lock(&c->lock);
    uint32_t constant = intern_constant(c, rgba);
    mutex_unlock(&c->lock);
    if (constant < CONSTANT_COUNT)
        return entry_make(ENTRY_CONSTANT, constant);
    uint32_t slot = reserve_slot(c, texture->size_class);
    uint8_t *texels = slab_address(&c->slabs, slot, texture->tile_bytes);
    for (uint32_t at = 0; at < texture->tile_bytes; at += texture->texel_bytes)
        memcpy(texels + at, record->constant, texture->texel_bytes);
    return entry_make(ENTRY_READY, slot);
}

/* The outcome of a request as an entry. */
static uint32_t load_tile(IoThread *io, Texture *texture, uint32_t tile, uint32_t *out_bytes_read,
                          TileFailure *out_failure)
{
    TexCache *c = io->cache;
    if (c->read_delay_us > 0)
        clock_sleep_ns((uint64_t)c->read_delay_us * 1000);
    *out_failure = (TileFailure){0};
    *out_bytes_read = 0;
    uint32_t entry = 0;
    int fd;
    if (!descriptor_acquire(&c->descriptors, &texture->descriptor, &fd, out_failure, NULL))
        return entry_make(ENTRY_FAILED, out_failure->fault);
    StexTile record;
    bool ok = stex_read_record(fd, &texture->header, tile, &record, out_failure);
    if (ok && (record.flags & STEX_TILE_CONSTANT)) {
        entry = make_constant(c, texture, &record);
    } else if (ok) {
        uint32_t slot = reserve_slot(c, texture->size_class);
        ok = stex_read_payload(fd, &texture->header, &record, io->inflater,
                               slab_address(&c->slabs, slot, texture->tile_bytes), out_failure);
        if (ok) {
            *out_bytes_read = record.stored_bytes;
            entry = entry_make(ENTRY_READY, slot);
        } else {
            mutex_lock(&c->lock);
            slab_give_back(&c->slabs, slot, 0);
            cond_broadcast(&c->changed);
            mutex_unlock(&c->lock);
        }
    }
    descriptor_release(&c->descriptors, &texture->descriptor);
    return ok ? entry : entry_make(ENTRY_FAILED, out_failure->fault);
}

static void count_load(TexCache *c, const TileRequest *r, uint32_t entry, uint32_t bytes_read,
                       uint64_t elapsed_ns)
{
    LoadCounters *n = &c->loads;
    n->read_ns += elapsed_ns;
    n->bytes_read += bytes_read;
    switch (entry_tag(entry)) {
    case ENTRY_READY:
        n->loads++;
        n->bytes_loaded += r->texture->tile_bytes;
        if (!r->was_loaded)
            n->bytes_unique += r->texture->tile_bytes;
        break;
    case ENTRY_CONSTANT:
        n->constants++;
        break;
    case ENTRY_FAILED:
        n->failed_tiles++;
        break;
    case ENTRY_EMPTY:
    case ENTRY_QUEUED:
        UNREACHABLE();
    }
}

/* Called and returns with the lock held. */
static void serve(IoThread *io, uint32_t request)
{
    TexCache *c = io->cache;
    TileRequest *r = &c->requests[request];
    Texture *texture = r->texture;
    uint32_t tile = r->tile;
    mutex_unlock(&c->lock);

    uint64_t begin_ns = clock_now_ns();
    uint32_t bytes_read;
    TileFailure failure;
    uint32_t entry = load_tile(io, texture, tile, &bytes_read, &failure);
    if (entry_tag(entry) == ENTRY_FAILED)
        log_failure(c, texture, tile, &failure);
    uint64_t elapsed_ns = clock_now_ns() - begin_ns;

    mutex_lock(&c->lock);
    count_load(c, r, entry, bytes_read, elapsed_ns);
    TexCaller *waiters = tile_publish(c, request, entry);
    cond_broadcast(&c->changed); /* a slot that can be evicted, or a texture that can be closed */
    mutex_unlock(&c->lock);
    tile_fire(waiters);
    mutex_lock(&c->lock);
}

void tile_io_run(void *io_thread)
{
    IoThread *io = io_thread;
    TexCache *c = io->cache;
    mutex_lock(&c->lock);
    while (!c->is_stopping) {
        uint32_t request = tile_queue_pop(c);
        if (request == NO_REQUEST)
            cond_wait(&c->work, &c->lock);
        else
            serve(io, request);
    }
    mutex_unlock(&c->lock);
}
