/* The memory of tiles: chunks of 48 KiB, each cut into slots of one size.
 *
 * Slots have five sizes (4, 6, 8, 12, 16 KiB), all of which divide 48 KiB; whole tiles fill theirs. A chunk holds slots of one size until all of them are free or cold; then it may serve
 * another size. Address space for the whole budget is reserved at the start; chunks become real
 * memory when they are first used.
 *
 * What goes when all is full: slab_evict.h. Readers of a slot mark it, and nothing else; all the rest is done when
 * a slot is wanted. A chunk changes its size when what is oldest in it is twice as old as what is oldest of the size
 * that is wanted.
 *
 * Every function is called under the cache's lock; only slab_address and slab_mark_used are for
 * readers, inside an epoch or with a pin. */
#ifndef SORT_TEXTURES_CACHE_SLAB_H
#define SORT_TEXTURES_CACHE_SLAB_H

#include "base/error.h"
#include "textures/cache/epoch.h"

enum {
    SLAB_CHUNK_BYTES = 48 * 1024,
    SLAB_SIZE_COUNT = 5,
    SLAB_SLOTS_MAX = 12, /* of a chunk */
    SLAB_UNIT_BYTES = 2048,
    SLAB_SLOT_SHIFT =
        5, /* a slot's id is chunk << 5 | place in it in units: where it is follows from that alone */
    SLAB_STAMP_MAX = (1 << 28) - 1
};

typedef enum SlotState { SLOT_FREE, SLOT_LOADING, SLOT_RESIDENT } SlotState;

typedef struct Slot {
    uint32_t texture, tile; /* whose tile, when resident */
    _Atomic uint32_t pins;  /* waiters that have not copied their texels yet */
    /* Of eviction: */
    uint32_t newer, older; /* in the window of its size, or in the ring of the kept */
    uint32_t used;         /* when it was last known to be used, in loads */
    uint8_t state;
    bool is_kept, is_old, was_used_young, has_returned;
} Slot;

/* Set by readers: the slot was used since the hand passed last. */
typedef struct SlotMark {
    _Atomic uint8_t is_used;
} SlotMark;

typedef enum ChunkState {
    CHUNK_UNCOMMITTED, /* address space only */
    CHUNK_UNASSIGNED,  /* memory, no size yet */
    CHUNK_ASSIGNED
} ChunkState;

typedef struct Chunk {
    uint8_t state, size_class, free_count;
    uint64_t free_tag;   /* free slots may be written once this epoch has passed */
    uint32_t prev, next; /* ring of its class's chunks with free slots, or stack of its state */
    Slot slots[SLAB_SLOTS_MAX];
} Chunk;

enum { SLAB_CHUNK_TABLE_BYTES = sizeof(Chunk) + (1 << SLAB_SLOT_SHIFT) }; /* per chunk, beside it */

/* The slots of one size. */
typedef struct SlabClass {
    uint32_t with_free; /* chunk list; SLAB_NONE: empty */
    /* The window, oldest first; the first old_count are its older half, and `middle` is the next. */
    uint32_t oldest, newest, middle;
    uint32_t window_count, old_count;
    uint32_t hand, kept_count; /* the ring of the kept */
    uint32_t reach;            /* age at which the window drops, in the mean */
} SlabClass;

typedef struct SlabPool {
    uint8_t *memory; /* address space of chunk_max chunks */
    uint32_t chunk_max;
    uint32_t chunk_limit; /* how many may be committed now */
    uint32_t chunk_count; /* how many are */
    Chunk *chunks;
    SlotMark *marks; /* by slot id */
    SlabClass classes[SLAB_SIZE_COUNT];
    uint32_t unassigned, uncommitted; /* chunk lists */
    uint32_t now;                     /* loads so far; from 1 */
    float window_share;               /* of the slots of a size */
    uint64_t resident_count, eviction_count;
    EpochSet *epochs; /* borrowed */
    /* Makes a tile unreachable for readers. last_use, from 1 to SLAB_STAMP_MAX, is for slab_take when the tile is wanted again. */
    void (*unlink)(void *data, uint32_t texture, uint32_t tile, uint32_t last_use);
    void *data;
} SlabPool;
#define SLAB_NONE UINT32_MAX

/* chunk_limit starts at chunk_max. Errors: STATUS_NO_MEMORY. */
Status slab_init(SlabPool *p, uint32_t chunk_max, EpochSet *epochs,
                 void (*unlink)(void *data, uint32_t texture, uint32_t tile, uint32_t last_use),
                 void *data, Error *err) SORT_MUST_CHECK;
void slab_destroy(SlabPool *p);

/* The smallest class whose slots have that many bytes; CHECKs that there is one. */
uint32_t slab_class_of(uint32_t bytes);

/* Takes a slot: a free one, one of a new chunk, or an evicted one. last_use: of the tile that it is for, as
 * SlabPool.unlink told; 0: it was never here. The slot is LOADING and must not be written before *out_tag has passed. False:
 * everything is loading or pinned; try again when a pin was dropped or a slot given back. */
bool slab_take(SlabPool *p, uint32_t size_class, uint32_t last_use, uint32_t *out_slot,
               uint64_t *out_tag);
/* LOADING to RESIDENT, with `pins` pins. */
void slab_publish(SlabPool *p, uint32_t slot, uint32_t texture, uint32_t tile, uint32_t pins);
/* LOADING to FREE, or RESIDENT and unlinked by the caller to FREE from epoch `tag` on. */
void slab_give_back(SlabPool *p, uint32_t slot, uint64_t tag);
void slab_pin(SlabPool *p, uint32_t slot);
/* Any thread, without the lock. True: that was the last pin. */
bool slab_unpin(SlabPool *p, uint32_t slot);

/* Lowers the number of committed chunks by one: picks a chunk and empties it. The caller waits until
 * *out_tag has passed, then calls slab_decommit. False: as for slab_take. */
bool slab_retire_chunk(SlabPool *p, uint32_t *out_chunk, uint64_t *out_tag);
void slab_decommit(SlabPool *p, uint32_t chunk);

/* For sanitizers: the slot's memory may, or may not, be touched from now on. */
void slab_open_memory(SlabPool *p, uint32_t slot);

uint32_t slab_slot_bytes(uint32_t size_class);

/* What is known of a slot. */
Slot *slab_slot(const SlabPool *p, uint32_t slot);

static inline uint8_t *slab_address(const SlabPool *p, uint32_t slot)
{
    return p->memory + (size_t)(slot >> SLAB_SLOT_SHIFT) * SLAB_CHUNK_BYTES +
           (size_t)(slot & ((1u << SLAB_SLOT_SHIFT) - 1)) * SLAB_UNIT_BYTES;
}

static inline void slab_mark_used(const SlabPool *p, uint32_t slot)
{
    /* Written only when clear: hot tiles' marks stay shared in all caches. */
    if (!atomic_load_explicit(&p->marks[slot].is_used, memory_order_relaxed))
        atomic_store_explicit(&p->marks[slot].is_used, 1, memory_order_relaxed);
}

#endif
