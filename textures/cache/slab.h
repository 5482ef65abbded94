/* The memory of tiles: chunks of 48 KiB, each cut into slots of one size.
 *
 * Slots have five sizes (4, 6, 8, 12 and 16 KiB), all of which divide 48 KiB; a whole tile fills its slot. A chunk
 * holds slots of one size until all of them are free or cold; then it may serve another size. Address space for
 * the whole budget is reserved at the start; a chunk is committed when it is first used.
 *
 * slab_evict.h decides which tile is evicted when all slots are full. A reader only sets the mark of the slot it
 * reads; all other bookkeeping happens when a slot is requested. A chunk changes its size class when its oldest
 * slot is twice as old as the oldest slot of the requested class.
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
    SLAB_SLOTS_MAX = 12, /* slots of a chunk, at the smallest size */
    SLAB_UNIT_BYTES = 2048,
    /* a slot's id is chunk << 5 | offset in the chunk in units, so its address follows from the id alone */
    SLAB_SLOT_SHIFT = 5,
    SLAB_STAMP_MAX = (1 << 28) - 1
};

typedef enum SlotState { SLOT_FREE, SLOT_LOADING, SLOT_RESIDENT } SlotState;

typedef struct Slot {
    uint32_t texture, tile; /* the tile that the slot holds while it is resident */
    _Atomic uint32_t pins;  /* number of waiters that have not copied their texels yet */
    /* The fields below belong to slab_evict.c. */
    /* neighbours in the window of its size class, or in the ring of kept slots */
    uint32_t newer, older;
    uint32_t used; /* time of the last known use, counted in loads */
    uint8_t state;
    bool is_kept, is_old, was_used_young, has_returned;
} Slot;

/* Readers set the mark; the eviction's hand clears it when it passes. */
typedef struct SlotMark {
    _Atomic uint8_t is_used;
} SlotMark;

typedef enum ChunkState {
    CHUNK_UNCOMMITTED, /* address space only */
    CHUNK_UNASSIGNED,  /* committed, without a size class */
    CHUNK_ASSIGNED
} ChunkState;

typedef struct Chunk {
    uint8_t state, size_class, free_count;
    uint64_t free_tag; /* the free slots may be written once this epoch has passed */
    /* links in the ring of its class's chunks with free slots, or in the stack of its state */
    uint32_t prev, next;
    Slot slots[SLAB_SLOTS_MAX];
} Chunk;

/* bytes of tables for each chunk */
enum { SLAB_CHUNK_TABLE_BYTES = sizeof(Chunk) + (1 << SLAB_SLOT_SHIFT) };

/* The slots of one size. */
typedef struct SlabClass {
    uint32_t with_free; /* list of chunks with free slots; SLAB_NONE if it is empty */
    /* The window, oldest slot first. The first old_count slots are its older half, and `middle` is the slot
     * after them. */
    uint32_t oldest, newest, middle;
    uint32_t window_count, old_count;
    /* the ring of kept slots: where the hand stands, and how many there are */
    uint32_t hand, kept_count;
    uint32_t reach; /* mean age at which the window evicts */
} SlabClass;

typedef struct SlabPool {
    uint8_t *memory; /* address space of chunk_max chunks */
    uint32_t chunk_max;
    uint32_t chunk_limit; /* the number of chunks that may be committed now */
    uint32_t chunk_count; /* the number that are committed */
    Chunk *chunks;
    SlotMark *marks; /* by slot id */
    SlabClass classes[SLAB_SIZE_COUNT];
    uint32_t unassigned, uncommitted; /* chunk lists */
    uint32_t now;                     /* the clock of eviction: loads so far, starting at 1 */
    float window_share;               /* the window's fraction of the slots of each size class */
    uint64_t resident_count, eviction_count;
    EpochSet *epochs; /* borrowed */
    /* Makes a tile unreachable for readers. The callback stores last_use, from 1 to SLAB_STAMP_MAX, and passes
     * it to slab_take() when the tile is requested again. */
    void (*unlink)(void *data, uint32_t texture, uint32_t tile, uint32_t last_use);
    void *data;
} SlabPool;
#define SLAB_NONE UINT32_MAX

/* Reserves address space for chunk_max chunks; chunk_limit starts at chunk_max. Errors: STATUS_NO_MEMORY. */
Status slab_init(SlabPool *p, uint32_t chunk_max, EpochSet *epochs,
                 void (*unlink)(void *data, uint32_t texture, uint32_t tile, uint32_t last_use),
                 void *data, Error *err) SORT_MUST_CHECK;
void slab_destroy(SlabPool *p);

/* Returns the smallest class whose slots have at least that many bytes, which must exist (CHECK). */
uint32_t slab_class_of(uint32_t bytes);

/* Takes a slot: a free one, one of a new chunk, or an evicted one. last_use is the stamp of the tile that the
 * slot is for, as SlabPool.unlink passed it; 0 if the tile was never resident. The slot becomes LOADING and
 * must not be written before *out_tag has passed. Returns false if every slot is loading or pinned; the caller
 * tries again when a pin was dropped or a slot given back. */
bool slab_take(SlabPool *p, uint32_t size_class, uint32_t last_use, uint32_t *out_slot,
               uint64_t *out_tag);
/* Turns a LOADING slot into a RESIDENT one with `pins` pins. */
void slab_publish(SlabPool *p, uint32_t slot, uint32_t texture, uint32_t tile, uint32_t pins);
/* Frees a slot that is LOADING, or RESIDENT and already unlinked by the caller. It may be written from epoch
 * `tag` on. */
void slab_give_back(SlabPool *p, uint32_t slot, uint64_t tag);
void slab_pin(SlabPool *p, uint32_t slot);
/* Drops a pin; any thread may call it without the lock. Returns true if that was the last pin. */
bool slab_unpin(SlabPool *p, uint32_t slot);

/* Lowers the number of committed chunks by one: picks a chunk and empties it. The caller waits until *out_tag
 * has passed and then calls slab_decommit(). Returns false under the conditions of slab_take(). */
bool slab_retire_chunk(SlabPool *p, uint32_t *out_chunk, uint64_t *out_tag);
void slab_decommit(SlabPool *p, uint32_t chunk);

/* Tell the address sanitizer that the slot's memory may be accessed, or may not. */
void slab_open_memory(SlabPool *p, uint32_t slot);

uint32_t slab_slot_bytes(uint32_t size_class);

/* Returns the record of a slot. */
Slot *slab_slot(const SlabPool *p, uint32_t slot);

static inline uint8_t *slab_address(const SlabPool *p, uint32_t slot)
{
    return p->memory + (size_t)(slot >> SLAB_SLOT_SHIFT) * SLAB_CHUNK_BYTES +
           (size_t)(slot & ((1u << SLAB_SLOT_SHIFT) - 1)) * SLAB_UNIT_BYTES;
}

static inline void slab_mark_used(const SlabPool *p, uint32_t slot)
{
    /* The mark is written only when it is clear, so that the marks of hot tiles stay shared in all CPU caches. */
    if (!atomic_load_explicit(&p->marks[slot].is_used, memory_order_relaxed))
        atomic_store_explicit(&p->marks[slot].is_used, 1, memory_order_relaxed);
}

#endif
