/* Counters by texture. The costs of storage and of waits are counted in the Texture. Lookups are counted by
 * each thread for itself, in blocks of counters whose places match those of the textures in the directory; a
 * lookup therefore increments a number that no other thread writes. */
#include "base/alloc.h"
#include "textures/cache/texcache_state.h"

Status cache_give_counters(TexCache *c, TexThread *t, const char *path, Error *err)
{
    /* Blocks are only ever added at the end. Reserving memory may drop the lock. */
    for (uint32_t b = 0; b < TEXTURE_BLOCK_COUNT && atomic_load(&c->blocks[b]); ++b) {
        if (t->lookups[b])
            continue;
        TRY(cache_reserve_tables(c, sizeof(LookupBlock), path, err));
        t->lookups[b] = MEM_NEW(LookupBlock);
        if (!t->lookups[b]) {
            cache_release_tables(c, sizeof(LookupBlock));
            return error_set(err, STATUS_NO_MEMORY, "out of memory for a thread's texture state");
        }
    }
    return STATUS_OK;
}

Status cache_give_counters_to_all(TexCache *c, const Texture *texture, uint32_t block, Error *err)
{
    for (TexThread *t = c->threads; t;) {
        if (t->lookups[block]) {
            t = t->next;
            continue;
        }
        TRY(cache_give_counters(c, t, texture->path, err));
        t = c->threads; /* the list may have changed while the lock was dropped */
    }
    return STATUS_OK;
}

void cache_take_counters(TexCache *c, TexThread *t)
{
    for (uint32_t b = 0; b < TEXTURE_BLOCK_COUNT && t->lookups[b]; ++b) {
        for (uint32_t i = 0; i < TEXTURE_BLOCK; ++i) {
            Texture *texture = texture_at(c, b * TEXTURE_BLOCK + i);
            if (texture)
                texture->counters.lookups +=
                    atomic_load_explicit(&t->lookups[b]->counts[i], memory_order_relaxed);
        }
        cache_release_tables(c, sizeof(LookupBlock));
        mem_free(t->lookups[b]);
    }
}

void cache_forget_counters(TexCache *c, const Texture *texture)
{
    for (TexThread *t = c->threads; t; t = t->next) {
        const LookupBlock *block = t->lookups[texture->index / TEXTURE_BLOCK];
        if (block)
            atomic_store_explicit(cache_lookup_counter(t, texture), 0, memory_order_relaxed);
    }
}

static uint64_t lookups_of(const TexCache *c, const Texture *texture)
{
    uint64_t sum = texture->counters.lookups;
    for (const TexThread *t = c->threads; t; t = t->next) {
        if (t->lookups[texture->index / TEXTURE_BLOCK])
            sum += atomic_load_explicit(cache_lookup_counter(t, texture), memory_order_relaxed);
    }
    return sum;
}

static TexTextureStats describe(const TexCache *c, const Texture *texture)
{
    const TextureCounters *n = &texture->counters;
    return (TexTextureStats){.name = texture->name,
                             .path = texture->path,
                             .width = texture->levels[0].width,
                             .height = texture->levels[0].height,
                             .tile_count = texture_tile_count(texture),
                             .tile_bytes = texture->tile_bytes,
                             .lookups = lookups_of(c, texture),
                             .loads = n->loads,
                             .unique_loads = n->unique_loads,
                             .constants = n->constants,
                             .failed_tiles = n->failed_tiles,
                             .bytes_loaded = n->bytes_loaded,
                             .bytes_unique = n->bytes_unique,
                             .read_ns = n->read_ns,
                             .waits = atomic_load_explicit(&texture->waits, memory_order_relaxed),
                             .wait_ns =
                                 atomic_load_explicit(&texture->wait_ns, memory_order_relaxed)};
}

uint32_t texcache_texture_stats(TexCache *c, TexTextureStats *out, uint32_t capacity)
{
    uint32_t count = 0;
    mutex_lock(&c->lock);
    for (uint32_t b = 0; b < TEXTURE_BLOCK_COUNT && atomic_load(&c->blocks[b]); ++b) {
        for (uint32_t i = 0; i < TEXTURE_BLOCK; ++i) {
            const Texture *texture = texture_at(c, b * TEXTURE_BLOCK + i);
            if (!texture || texture->udim)
                continue;
            if (count < capacity)
                out[count] = describe(c, texture);
            ++count;
        }
    }
    mutex_unlock(&c->lock);
    return count;
}
