/* Tiles that are not resident. Texels that were copied out of a tile stay valid, and no tile is held during a
 * wait. */
#include "textures/filter/tex_fetch.h"
#include "base/check.h"
#include "base/clock.h"
#include <string.h>

static void wait_for_tile(const Lookup *lk)
{
    uint64_t begin_ns = clock_now_ns();
    waiter_wait(lk->caller->waiter);
    uint64_t elapsed_ns = clock_now_ns() - begin_ns;
    ThreadCounters *n = &lk->thread->counters;
    counter_add(&n->waits, 1);
    counter_add(&n->wait_ns, elapsed_ns);
    counter_add(&n->wait_latency[cache_latency_bucket(elapsed_ns)], 1);
    atomic_fetch_add_explicit(&lk->texture->waits, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&lk->texture->wait_ns, elapsed_ns, memory_order_relaxed);
}

/* Requests a tile that was not resident, waits if necessary, and returns its entry: READY with a pin, CONSTANT
 * or FAILED. */
static uint32_t await_tile(Lookup *lk, uint32_t tile)
{
    uint32_t entry;
    lookup_leave(lk);
    for (;;) {
        TileJoin join = tile_join(lk->caller, lk->texture, tile, &entry);
        if (join == TILE_RESOLVED)
            break;
        if (!lk->has_asked_ahead) {
            lk->has_asked_ahead = true;
            lookup_ask_ahead(lk, lk->lane);
        }
        wait_for_tile(lk);
        if (join == TILE_JOINED) {
            entry = tile_resolve(lk->texture, tile);
            break;
        }
    }
    lookup_enter(lk);
    return entry;
}

/* Loads the texels of a tap that `mask` selects from a tile's memory into the quad. */
static void load_masked(const Lookup *lk, const TexLevel *level, const uint8_t *base,
                        const uint32_t x[4], const uint32_t y[4], uint32_t mask, float quad[4][4])
{
    const Texture *texture = lk->texture;
    const uint8_t *texels[4];
    float loaded[4][4];
    /* Texels that are not selected read any texel of the tile. */
    for (uint32_t k = 0; k < 4; ++k)
        texels[k] = mask >> k & 1u ? base + texel_offset(texture, level, x[k], y[k]) : base;
    texture->load_quad(&lk->cache->texels, texels, loaded);
    for (uint32_t k = 0; k < 4; ++k) {
        if (mask >> k & 1u)
            memcpy(quad[k], loaded[k], sizeof quad[k]);
    }
}

/* Lists the tiles of a tap's texels. */
static void texel_tiles(const Tap *tap, uint32_t out_x[4], uint32_t out_y[4], uint32_t out_tiles[4])
{
    tap_texels(tap, out_x, out_y);
    for (uint32_t k = 0; k < 4; ++k)
        out_tiles[k] = tile_number(tap->level, out_x[k], out_y[k]);
}

bool lookup_fetch_resident(Lookup *lk, const Tap *tap, float quad[4][4])
{
    const SlabPool *slabs = &lk->cache->slabs;
    const uint8_t *texels[4];
    uint32_t x[4], y[4], tiles[4];
    texel_tiles(tap, x, y, tiles);
    for (uint32_t k = 0; k < 4; ++k) {
        uint32_t entry = atomic_load(&lk->texture->entries[tiles[k]].word);
        if (entry_tag(entry) != ENTRY_READY)
            return false;
        slab_mark_used(slabs, entry_payload(entry));
        texels[k] = slab_address(slabs, entry_payload(entry)) +
                    texel_offset(lk->texture, tap->level, x[k], y[k]);
    }
    uint32_t tile_count = (tiles[0] == tiles[1] ? 1 : 2) * (tiles[0] == tiles[2] ? 1 : 2);
    lk->tile_requests += tile_count;
    lk->tile_hits += tile_count;
    lk->texture->load_quad(&lk->cache->texels, texels, quad);
    return true;
}

bool lookup_fetch_slowly(Lookup *lk, const Tap *tap, float quad[4][4])
{
    TexCache *c = lk->cache;
    const Texture *texture = lk->texture;
    uint32_t x[4], y[4], tiles[4];
    texel_tiles(tap, x, y, tiles);
    uint32_t missing = 0xf;
    while (missing) {
        uint32_t tile = tiles[__builtin_ctz(missing)];
        uint32_t mask = 0;
        for (uint32_t k = 0; k < 4; ++k)
            mask |= (uint32_t)((missing >> k & 1u) && tiles[k] == tile) << k;
        missing &= ~mask;
        ++lk->tile_requests;
        uint32_t entry = atomic_load(&texture->entries[tile].word);
        bool is_there = entry_tag(entry) == ENTRY_READY || entry_tag(entry) == ENTRY_CONSTANT;
        if (is_there)
            ++lk->tile_hits;
        else
            entry = await_tile(lk, tile);
        if (entry_tag(entry) == ENTRY_FAILED)
            return false;
        uint32_t payload = entry_payload(entry);
        if (entry_tag(entry) == ENTRY_CONSTANT) {
            for (uint32_t k = 0; k < 4; ++k) {
                if (mask >> k & 1u)
                    memcpy(quad[k], c->constants[payload], sizeof quad[k]);
            }
            continue;
        }
        ASSERT(entry_tag(entry) == ENTRY_READY);
        load_masked(lk, tap->level, slab_address(&c->slabs, payload), x, y, mask, quad);
        /* The pin counts as the first use; the mark is for later ones. */
        if (is_there)
            slab_mark_used(&c->slabs, payload);
        else
            tile_unpin(c, payload);
    }
    return true;
}

bool lookup_fetch_quad(Lookup *lk, const Tap *tap, float quad[4][4])
{
    const uint8_t *texels[4];
    const float *constant = NULL;
    switch (find_texels(lk, tap->level, tap->x.first, tap->x.second, tap->y.first, tap->y.second,
                        texels, &constant)) {
    case TEXELS_TOGETHER:
        lk->texture->load_quad(&lk->cache->texels, texels, quad);
        return true;
    case TEXELS_CONSTANT:
        for (uint32_t k = 0; k < 4; ++k)
            memcpy(quad[k], constant, sizeof quad[k]);
        return true;
    case TEXELS_ELSEWHERE:
        break;
    }
    return lookup_fetch_resident(lk, tap, quad) || lookup_fetch_slowly(lk, tap, quad);
}
