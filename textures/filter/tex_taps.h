/* Enumerates the texels that a lookup reads, without reading them: for requests ahead, traces and
 * texcache_explain(). */
#ifndef SORT_TEXTURES_FILTER_TEX_TAPS_H
#define SORT_TEXTURES_FILTER_TEX_TAPS_H

#include "textures/cache/texcache_state.h"

/* Calls `visit` for the taps of all wanted lanes from `first_lane` on, in the order in which a lookup samples
 * them. Taps that are entirely black and lanes without a place are skipped. `texture` is not a UDIM set. */
void taps_visit(Texture *texture, const TexRequest *r, uint32_t first_lane,
                void (*visit)(void *data, const TexTap *tap), void *data);

/* Lists the paged tiles that hold a tap's texels, each once, in the order in which they are requested; a level
 * of the tail has none. Returns their number, at most 4. */
uint32_t tap_tiles(const Texture *texture, const TexTap *tap, uint32_t out_tiles[4]);

#endif
