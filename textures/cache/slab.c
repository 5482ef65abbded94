#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "textures/cache/slab.h"
#include "base/alloc.h"
#include "base/check.h"
#include "textures/cache/slab_evict.h"
#include <sys/mman.h>

#if SORT_ASAN
#    include <sanitizer/asan_interface.h>
#    define HIDE_MEMORY(at, bytes) __asan_poison_memory_region((at), (bytes))
#    define SHOW_MEMORY(at, bytes) __asan_unpoison_memory_region((at), (bytes))
#else
#    define HIDE_MEMORY(at, bytes) ((void)0)
#    define SHOW_MEMORY(at, bytes) ((void)0)
#endif

static const uint32_t slot_bytes_of_class[SLAB_SIZE_COUNT] = {4096, 6144, 8192, 12288, 16384};

uint32_t slab_slot_bytes(uint32_t size_class)
{
    ASSERT(size_class < SLAB_SIZE_COUNT);
    return slot_bytes_of_class[size_class];
}

uint32_t slab_class_of(uint32_t bytes)
{
    for (uint32_t i = 0; i < SLAB_SIZE_COUNT; ++i) {
        if (slot_bytes_of_class[i] >= bytes)
            return i;
    }
    UNREACHABLE();
}

static uint32_t slots_of(const Chunk *chunk)
{
    return SLAB_CHUNK_BYTES / slot_bytes_of_class[chunk->size_class];
}

static uint8_t *chunk_memory(const SlabPool *p, uint32_t chunk)
{
    return p->memory + (size_t)chunk * SLAB_CHUNK_BYTES;
}

static uint32_t units_of(const Chunk *chunk)
{
    return slot_bytes_of_class[chunk->size_class] / SLAB_UNIT_BYTES;
}

static uint32_t slot_id(const SlabPool *p, uint32_t chunk, uint32_t index)
{
    return chunk << SLAB_SLOT_SHIFT | index * units_of(&p->chunks[chunk]);
}

Slot *slab_slot(const SlabPool *p, uint32_t slot)
{
    Chunk *chunk = &p->chunks[slot >> SLAB_SLOT_SHIFT];
    return &chunk->slots[(slot & ((1u << SLAB_SLOT_SHIFT) - 1)) / units_of(chunk)];
}

/* --- lists of chunks ---------------------------------------------------------------------- */

static void list_push(SlabPool *p, uint32_t *head, uint32_t chunk)
{
    ASSERT(chunk < p->chunk_max && *head != chunk);
    p->chunks[chunk].prev = SLAB_NONE;
    p->chunks[chunk].next = *head;
    if (*head != SLAB_NONE)
        p->chunks[*head].prev = chunk;
    *head = chunk;
}

static void list_remove(SlabPool *p, uint32_t *head, uint32_t chunk)
{
    const Chunk *c = &p->chunks[chunk];
    if (c->prev != SLAB_NONE)
        p->chunks[c->prev].next = c->next;
    else
        *head = c->next;
    if (c->next != SLAB_NONE)
        p->chunks[c->next].prev = c->prev;
}

Status slab_init(SlabPool *p, uint32_t chunk_max, EpochSet *epochs,
                 void (*unlink)(void *data, uint32_t texture, uint32_t tile, uint32_t last_use),
                 void *data, Error *err)
{
    *p = (SlabPool){.chunk_max = chunk_max,
                    .chunk_limit = chunk_max,
                    .unassigned = SLAB_NONE,
                    .uncommitted = SLAB_NONE,
                    .epochs = epochs,
                    .unlink = unlink,
                    .data = data};
    for (uint32_t i = 0; i < SLAB_SIZE_COUNT; ++i)
        p->classes[i].with_free = SLAB_NONE;
    evict_init(p);
    p->chunks = MEM_ARRAY(Chunk, chunk_max);
    p->marks = MEM_ARRAY(SlotMark, (size_t)chunk_max << SLAB_SLOT_SHIFT);
    size_t bytes = (size_t)chunk_max * SLAB_CHUNK_BYTES;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    p->memory = memory == MAP_FAILED ? NULL : memory;
    if (!p->chunks || !p->marks || !p->memory) {
        slab_destroy(p);
        return error_set(err, STATUS_NO_MEMORY, "no address space for a texture cache of %zu bytes",
                         bytes);
    }
    HIDE_MEMORY(p->memory, bytes);
    for (uint32_t i = chunk_max; i-- > 0;)
        list_push(p, &p->uncommitted, i);
    return STATUS_OK;
}

void slab_destroy(SlabPool *p)
{
    if (p->memory) {
        size_t bytes = (size_t)p->chunk_max * SLAB_CHUNK_BYTES;
        SHOW_MEMORY(p->memory, bytes);
        munmap(p->memory, bytes);
    }
    mem_free(p->chunks);
    mem_free(p->marks);
    *p = (SlabPool){0};
}

void slab_open_memory(SlabPool *p, uint32_t slot)
{
    const Chunk *chunk = &p->chunks[slot >> SLAB_SLOT_SHIFT];
    uint32_t bytes = slot_bytes_of_class[chunk->size_class];
    SHOW_MEMORY(slab_address(p, slot), bytes);
    SORT_UNUSED(bytes);
}

/* --- taking and giving back --------------------------------------------------------------- */

/* Assigns a size class to an unassigned chunk. */
static void assign(SlabPool *p, uint32_t chunk, uint32_t size_class)
{
    Chunk *c = &p->chunks[chunk];
    ASSERT(c->state != CHUNK_ASSIGNED);
    c->state = CHUNK_ASSIGNED;
    c->size_class = (uint8_t)size_class;
    c->free_count = (uint8_t)slots_of(c);
    for (uint32_t i = 0; i < c->free_count; ++i)
        c->slots[i].state = SLOT_FREE;
    list_push(p, &p->classes[size_class].with_free, chunk);
}

/* Returns an unassigned chunk, or commits a new one. */
static uint32_t fresh_chunk(SlabPool *p)
{
    uint32_t chunk = p->unassigned;
    if (chunk != SLAB_NONE) {
        list_remove(p, &p->unassigned, chunk);
        return chunk;
    }
    if (p->chunk_count >= p->chunk_limit || p->uncommitted == SLAB_NONE)
        return SLAB_NONE;
    chunk = p->uncommitted;
    list_remove(p, &p->uncommitted, chunk);
    ++p->chunk_count;
    ASSERT(p->chunk_count <= p->chunk_max);
    p->chunks[chunk].free_tag = 0;
    return chunk;
}

static uint32_t take_free(SlabPool *p, uint32_t size_class, uint64_t *out_tag)
{
    uint32_t chunk = p->classes[size_class].with_free;
    Chunk *c = &p->chunks[chunk];
    ASSERT(c->state == CHUNK_ASSIGNED && c->free_count > 0);
    uint32_t i = 0;
    while (c->slots[i].state != SLOT_FREE)
        ++i;
    c->slots[i].state = SLOT_LOADING;
    c->slots[i].is_kept = false;
    if (--c->free_count == 0)
        list_remove(p, &p->classes[size_class].with_free, chunk);
    *out_tag = c->free_tag;
    return slot_id(p, chunk, i);
}

static bool is_evictable(const Slot *s)
{
    return s->state == SLOT_RESIDENT && atomic_load_explicit(&s->pins, memory_order_acquire) == 0;
}

static void unlink_slot(SlabPool *p, uint32_t slot)
{
    const Slot *s = slab_slot(p, slot);
    ASSERT(is_evictable(s));
    p->unlink(p->data, s->texture, s->tile, evict_stamp(p, slot));
    evict_leave(p, slot);
    --p->resident_count;
    ++p->eviction_count;
}

/* Evicts every tile of a chunk and unassigns it. None of its slots is loading or pinned. */
static void empty_chunk(SlabPool *p, uint32_t chunk)
{
    Chunk *c = &p->chunks[chunk];
    if (c->free_count > 0)
        list_remove(p, &p->classes[c->size_class].with_free, chunk);
    for (uint32_t i = 0; i < slots_of(c); ++i) {
        if (c->slots[i].state == SLOT_RESIDENT)
            unlink_slot(p, slot_id(p, chunk, i));
        c->slots[i].state = SLOT_FREE;
    }
    c->state = CHUNK_UNASSIGNED;
    c->free_tag = epoch_retire(p->epochs);
}

static bool may_be_emptied(const Chunk *c)
{
    for (uint32_t i = 0; i < slots_of(c); ++i) {
        if (c->slots[i].state != SLOT_FREE && !is_evictable(&c->slots[i]))
            return false;
    }
    return true;
}

/* Returns the chunk that holds the oldest slot of all size classes except one, provided that the slot has at
 * least the given age; otherwise SLAB_NONE. */
static uint32_t find_oldest_chunk(SlabPool *p, uint32_t but_size_class, uint64_t least_age)
{
    /* second chances for each size class; a class whose slots are all in use offers no chunk */
    enum { CHANCES_MAX = 4 };
    uint32_t found = SLAB_NONE;
    for (uint32_t i = 0; i < SLAB_SIZE_COUNT; ++i) {
        uint32_t slot = i == but_size_class ? SLAB_NONE : evict_oldest(p, i, CHANCES_MAX);
        if (slot != SLAB_NONE && evict_age(p, slot) >= least_age &&
            may_be_emptied(&p->chunks[slot >> SLAB_SLOT_SHIFT])) {
            least_age = evict_age(p, slot);
            found = slot >> SLAB_SLOT_SHIFT;
        }
    }
    return found;
}

/* Returns any chunk without loading or pinned slots. */
static uint32_t find_any_chunk(const SlabPool *p)
{
    for (uint32_t i = 0; i < p->chunk_max; ++i) {
        if (p->chunks[i].state == CHUNK_ASSIGNED && may_be_emptied(&p->chunks[i]))
            return i;
    }
    return SLAB_NONE;
}

static void take_over(SlabPool *p, uint32_t chunk, uint32_t size_class, uint32_t *out_slot,
                      uint64_t *out_tag)
{
    empty_chunk(p, chunk);
    assign(p, chunk, size_class);
    *out_slot = take_free(p, size_class, out_tag);
}

bool slab_take(SlabPool *p, uint32_t size_class, uint32_t last_use, uint32_t *out_slot,
               uint64_t *out_tag)
{
    ASSERT(size_class < SLAB_SIZE_COUNT && last_use <= SLAB_STAMP_MAX);
    if (p->classes[size_class].with_free == SLAB_NONE) {
        uint32_t chunk = fresh_chunk(p);
        if (chunk != SLAB_NONE)
            assign(p, chunk, size_class);
    }
    if (p->classes[size_class].with_free != SLAB_NONE) {
        *out_slot = take_free(p, size_class, out_tag);
        return true;
    }
    uint32_t own = evict_oldest(p, size_class, 2 * p->classes[size_class].window_count + 1);
    uint64_t least_age = own == SLAB_NONE ? 0 : 2 * (uint64_t)evict_age(p, own) + 1;
    uint32_t chunk = find_oldest_chunk(p, size_class, least_age);
    if (chunk != SLAB_NONE) {
        take_over(p, chunk, size_class, out_slot, out_tag);
        return true;
    }
    bool is_kept;
    uint32_t slot = evict_pick(p, size_class, last_use, &is_kept);
    if (slot != SLAB_NONE) {
        unlink_slot(p, slot);
        Slot *s = slab_slot(p, slot);
        s->state = SLOT_LOADING;
        s->is_kept = is_kept;
        *out_slot = slot;
        *out_tag = epoch_retire(p->epochs);
        return true;
    }
    chunk = find_any_chunk(p);
    if (chunk == SLAB_NONE)
        return false;
    take_over(p, chunk, size_class, out_slot, out_tag);
    return true;
}

void slab_publish(SlabPool *p, uint32_t slot, uint32_t texture, uint32_t tile, uint32_t pins)
{
    Slot *s = slab_slot(p, slot);
    ASSERT(s->state == SLOT_LOADING);
    s->texture = texture;
    s->tile = tile;
    s->state = SLOT_RESIDENT;
    atomic_store_explicit(&s->pins, pins, memory_order_relaxed);
    atomic_store_explicit(&p->marks[slot].is_used, 0, memory_order_relaxed);
    evict_enter(p, slot);
    ++p->resident_count;
}

void slab_give_back(SlabPool *p, uint32_t slot, uint64_t tag)
{
    uint32_t chunk = slot >> SLAB_SLOT_SHIFT;
    Chunk *c = &p->chunks[chunk];
    Slot *s = slab_slot(p, slot);
    ASSERT(s->state != SLOT_FREE && atomic_load(&s->pins) == 0);
    if (s->state == SLOT_RESIDENT) {
        evict_leave(p, slot);
        --p->resident_count;
        ++p->eviction_count;
    }
    s->state = SLOT_FREE;
    if (tag > c->free_tag)
        c->free_tag = tag;
    if (c->free_count++ == 0)
        list_push(p, &p->classes[c->size_class].with_free, chunk);
    if (c->free_count == slots_of(c)) {
        list_remove(p, &p->classes[c->size_class].with_free, chunk);
        c->state = CHUNK_UNASSIGNED;
        list_push(p, &p->unassigned, chunk);
    }
}

void slab_pin(SlabPool *p, uint32_t slot)
{
    ASSERT(slab_slot(p, slot)->state == SLOT_RESIDENT);
    atomic_fetch_add_explicit(&slab_slot(p, slot)->pins, 1, memory_order_relaxed);
}

bool slab_unpin(SlabPool *p, uint32_t slot)
{
    /* The order is release: the reader's loads from the slot happen before any later eviction. */
    uint32_t before = atomic_fetch_sub_explicit(&slab_slot(p, slot)->pins, 1, memory_order_release);
    ASSERT(before > 0);
    return before == 1;
}

bool slab_retire_chunk(SlabPool *p, uint32_t *out_chunk, uint64_t *out_tag)
{
    uint32_t chunk = p->unassigned;
    if (chunk != SLAB_NONE) {
        list_remove(p, &p->unassigned, chunk);
        *out_chunk = chunk;
        *out_tag = p->chunks[chunk].free_tag;
        return true;
    }
    chunk = find_oldest_chunk(p, SLAB_SIZE_COUNT, 0);
    if (chunk == SLAB_NONE)
        chunk = find_any_chunk(p);
    if (chunk == SLAB_NONE)
        return false;
    empty_chunk(p, chunk);
    *out_chunk = chunk;
    *out_tag = p->chunks[chunk].free_tag;
    return true;
}

void slab_decommit(SlabPool *p, uint32_t chunk)
{
    Chunk *c = &p->chunks[chunk];
    ASSERT(c->state == CHUNK_UNASSIGNED);
    HIDE_MEMORY(chunk_memory(p, chunk), SLAB_CHUNK_BYTES);
    CHECK(madvise(chunk_memory(p, chunk), SLAB_CHUNK_BYTES, MADV_DONTNEED) == 0);
    c->state = CHUNK_UNCOMMITTED;
    --p->chunk_count;
    list_push(p, &p->uncommitted, chunk);
}
