/* Which tile goes when memory is full. A part of the slab pool (slab.h): what is in memory of one size is in one of
 * two places, and time is counted in loads.
 *
 *   load --> window: a queue, oldest first --not used again--> evicted
 *              ^ used in the older half: to its end again --/
 *   load of a tile whose last use is more recent than that of a kept one --> kept, in its place
 *
 * The window is a clock with second chances: what a picture uses now. A lookup's burst of uses just after a load says
 * nothing, so a use counts only in the older half of the queue. Where more is used in turns than memory holds, a clock
 * evicts each tile just before it is used again; there the kept tiles stay. Who is kept is decided as LIRS does
 * [JiangZhang2002]: by the distance between two uses. It is known without a ghost list, since the word of an evicted tile
 * says when it was used last.
 *
 * How much memory each place gets follows from what the last of it was good for: a tile that was used in the
 * older half of the window only, a kept one that was used after the window would have dropped it. */
#ifndef SORT_TEXTURES_CACHE_SLAB_EVICT_H
#define SORT_TEXTURES_CACHE_SLAB_EVICT_H

#include "textures/cache/slab.h"

void evict_init(SlabPool *p);
/* A resident slot takes its place; `is_kept` as evict_pick() said of it. */
void evict_enter(SlabPool *p, uint32_t slot);
/* It is resident no more. */
void evict_leave(SlabPool *p, uint32_t slot);
/* The slot of that size that goes for a tile that was used last at `last_use` (0: never before), and whether that tile is to be
 * kept. SLAB_NONE: all are pinned. */
uint32_t evict_pick(SlabPool *p, uint32_t size_class, uint32_t last_use, bool *out_is_kept);
/* The oldest slot of the window that has no second chance left, after at most `steps_max` chances; SLAB_NONE: there is none. */
uint32_t evict_oldest(SlabPool *p, uint32_t size_class, uint32_t steps_max);
/* Loads since a slot was known to be used. */
uint32_t evict_age(const SlabPool *p, uint32_t slot);
/* What the word of a tile that is evicted now keeps: never 0. */
uint32_t evict_stamp(const SlabPool *p, uint32_t slot);

#endif
