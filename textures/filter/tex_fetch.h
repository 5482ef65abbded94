/* Fetches the texels of taps from tiles, waiting for tiles that are not resident. Private to a lookup. */
#ifndef SORT_TEXTURES_FILTER_TEX_FETCH_H
#define SORT_TEXTURES_FILTER_TEX_FETCH_H

#include "textures/filter/tex_place.h"

/* Enters the epoch: required around all reading of tiles, but not around waiting. */
static inline void lookup_enter(const Lookup *lk)
{
    epoch_enter(&lk->cache->epochs, &lk->thread->epoch);
}

static inline void lookup_leave(const Lookup *lk)
{
    if (epoch_leave(&lk->cache->epochs, &lk->thread->epoch))
        cache_wake_sleepers(lk->cache);
}

/* Requests all tiles that the lanes from `first_lane` on need; the taps are enumerated anew unless lk->left lists them. */
void lookup_ask_ahead(const Lookup *lk, uint32_t first_lane);

/* Fetches a tap if all its tiles are resident and of more than one colour; returns whether it did. */
bool lookup_fetch_resident(Lookup *lk, const Tap *tap, float quad[4][4]);

/* Fetches a tap whose texels lie in several tiles, or in a tile that is not resident; waits for missing tiles.
 * Returns false if a tile has failed. */
bool lookup_fetch_slowly(Lookup *lk, const Tap *tap, float quad[4][4]);

/* Fetches the four texels of a tap as linear rgba, without replacing those outside the texture by black.
 * Returns false if a tile has failed. */
bool lookup_fetch_quad(Lookup *lk, const Tap *tap, float quad[4][4]);

typedef enum TexelPlace {
    TEXELS_TOGETHER, /* all in one resident tile */
    TEXELS_CONSTANT, /* all in one tile of a constant colour */
    TEXELS_ELSEWHERE /* in several tiles, or in one that is not resident */
} TexelPlace;

/* Finds the four texels of a tap in two columns and two rows: pointers to them, or their constant colour. The pointers are valid
 * until the epoch is left. */
SORT_ALWAYS_INLINE TexelPlace find_texels(Lookup *lk, const TexLevel *level, uint32_t x0,
                                          uint32_t x1, uint32_t y0, uint32_t y1,
                                          const uint8_t *out_texels[4], const float **out_constant)
{
    const Texture *texture = lk->texture;
    if ((x0 ^ x1) >> level->tile_log2_x | (y0 ^ y1) >> level->tile_log2_y)
        return TEXELS_ELSEWHERE;
    uint32_t entry = atomic_load(&texture->entries[tile_number(level, x0, y0)].word);
    if (entry_tag(entry) != ENTRY_READY && entry_tag(entry) != ENTRY_CONSTANT)
        return TEXELS_ELSEWHERE;
    ++lk->tile_requests;
    ++lk->tile_hits;
    if (entry_tag(entry) == ENTRY_CONSTANT) {
        *out_constant = lk->cache->constants[entry_payload(entry)];
        return TEXELS_CONSTANT;
    }
    slab_mark_used(&lk->cache->slabs, entry_payload(entry));
    const uint8_t *base = slab_address(&lk->cache->slabs, entry_payload(entry));
    out_texels[0] = base + texel_offset(texture, level, x0, y0);
    out_texels[1] = base + texel_offset(texture, level, x1, y0);
    out_texels[2] = base + texel_offset(texture, level, x0, y1);
    out_texels[3] = base + texel_offset(texture, level, x1, y1);
    return TEXELS_TOGETHER;
}

/* Prefetches the memory that find_texels() will read. */
SORT_ALWAYS_INLINE void prefetch_texels(const Lookup *lk, const Tap *tap)
{
    const Texture *texture = lk->texture;
    const TexLevel *level = tap->level;
    uint32_t x = tap->x.first, y0 = tap->y.first, y1 = tap->y.second;
    uint32_t entry = atomic_load_explicit(&texture->entries[tile_number(level, x, y0)].word,
                                          memory_order_relaxed);
    if (entry_tag(entry) != ENTRY_READY)
        return;
    const uint8_t *base = slab_address(&lk->cache->slabs, entry_payload(entry));
    SORT_PREFETCH(base + texel_offset(texture, level, x, y0));
    SORT_PREFETCH(base + texel_offset(texture, level, x, y1));
}

#endif
