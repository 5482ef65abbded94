/* The eviction policy of the slab pool (slab.h): which tile is evicted when memory is full. The resident slots of
 * one size class are in one of two places, and time is counted in loads.
 *
 *   load --> window: a queue, oldest first --not used again--> evicted
 *              ^ used in the older half: to its end again --/
 *   load of a tile whose last use is more recent than a kept tile's --> kept, in the place of that tile
 *
 * The window is a clock with second chances. It holds the tiles that the picture uses now. A lookup uses a tile in a
 * burst just after its load, which predicts nothing, so a use counts only in the older half of the queue. Where more
 * tiles are used in rotation than memory holds, a clock evicts each tile just before its next use; kept tiles stay.
 * Which tiles are kept is decided as in LIRS [JiangZhang2002], by the distance between two uses. No ghost list is
 * needed for that, since the entry of an evicted tile holds the time of its last use.
 *
 * The sizes of the two places adapt. The window grows when a tile is used in its older half only, and the ring of
 * kept tiles grows when one of them is used after the window would have evicted it. */
#ifndef SORT_TEXTURES_CACHE_SLAB_EVICT_H
#define SORT_TEXTURES_CACHE_SLAB_EVICT_H

#include "textures/cache/slab.h"

void evict_init(SlabPool *p);
/* Inserts a slot that has become resident. `is_kept` is the value that evict_pick() returned for it. */
void evict_enter(SlabPool *p, uint32_t slot);
/* Removes a slot that is no longer resident. */
void evict_leave(SlabPool *p, uint32_t slot);
/* Chooses the slot of a size class to evict for a tile that was last used at `last_use` (0: never before), and
 * whether that tile is to be kept. Returns SLAB_NONE if all slots are pinned. */
uint32_t evict_pick(SlabPool *p, uint32_t size_class, uint32_t last_use, bool *out_is_kept);
/* Returns the oldest slot of the window that has no second chance left, granting at most `steps_max` chances on
 * the way; SLAB_NONE if there is none. */
uint32_t evict_oldest(SlabPool *p, uint32_t size_class, uint32_t steps_max);
/* Returns the number of loads since a slot's last known use. */
uint32_t evict_age(const SlabPool *p, uint32_t slot);
/* Returns the stamp that the entry of a tile keeps if it is evicted now: never 0. */
uint32_t evict_stamp(const SlabPool *p, uint32_t slot);

#endif
