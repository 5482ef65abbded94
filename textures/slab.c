#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "textures/slab.h"
#include "base/alloc.h"
#include "base/check.h"
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

uint32_t slab_class_of(uint32_t tile_bytes)
{
    for (uint32_t i = 0; i < SLAB_SIZE_COUNT; i++) {
        if (slot_bytes_of_class[i] == tile_bytes)
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

static uint32_t slot_id(uint32_t chunk, uint32_t index)
{
    return chunk << SLAB_SLOT_SHIFT | index;
}

static Slot *slot_at(const SlabPool *p, uint32_t slot)
{
    return &p->chunks[slot >> SLAB_SLOT_SHIFT].slots[slot & ((1u << SLAB_SLOT_SHIFT) - 1)];
}

/* --- lists of chunks ---------------------------------------------------------------------- */

static void list_push(SlabPool *p, uint32_t *head, uint32_t chunk)
{
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
                 void (*unlink)(void *data, uint32_t texture, uint32_t tile), void *data,
                 Error *err)
{
    *p = (SlabPool){.chunk_max = chunk_max,
                    .chunk_limit = chunk_max,
                    .unassigned = SLAB_NONE,
                    .uncommitted = SLAB_NONE,
                    .epochs = epochs,
                    .unlink = unlink,
                    .data = data};
    for (uint32_t i = 0; i < SLAB_SIZE_COUNT; i++)
        p->with_free[i] = SLAB_NONE;
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
    SHOW_MEMORY(slab_address(p, slot, bytes), bytes);
    SORT_UNUSED(bytes);
}

/* --- taking and giving back --------------------------------------------------------------- */

/* Gives an unassigned chunk a size. */
static void assign(SlabPool *p, uint32_t chunk, uint32_t size_class)
{
    Chunk *c = &p->chunks[chunk];
    c->state = CHUNK_ASSIGNED;
    c->size_class = (uint8_t)size_class;
    c->free_count = (uint8_t)slots_of(c);
    for (uint32_t i = 0; i < c->free_count; i++)
        c->slots[i].state = SLOT_FREE;
    list_push(p, &p->with_free[size_class], chunk);
}

/* A chunk without a size, from the unassigned or newly committed. */
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
    p->chunk_count++;
    p->chunks[chunk].free_tag = 0;
    return chunk;
}

static uint32_t take_free(SlabPool *p, uint32_t size_class, uint64_t *out_tag)
{
    uint32_t chunk = p->with_free[size_class];
    Chunk *c = &p->chunks[chunk];
    uint32_t i = 0;
    while (c->slots[i].state != SLOT_FREE)
        i++;
    c->slots[i].state = SLOT_LOADING;
    if (--c->free_count == 0)
        list_remove(p, &p->with_free[size_class], chunk);
    *out_tag = c->free_tag;
    return slot_id(chunk, i);
}

static bool is_evictable(const Slot *s)
{
    return s->state == SLOT_RESIDENT && atomic_load_explicit(&s->pins, memory_order_acquire) == 0;
}

/* The hand passes a resident slot: true if it is cold. */
static bool pass_slot(SlabPool *p, uint32_t chunk, uint32_t index)
{
    Slot *s = &p->chunks[chunk].slots[index];
    _Atomic uint8_t *used = &p->marks[slot_id(chunk, index)].is_used;
    if (atomic_load_explicit(used, memory_order_relaxed)) {
        atomic_store_explicit(used, 0, memory_order_relaxed);
        if (s->heat < SLAB_HEAT_MAX)
            s->heat++;
        return false;
    }
    if (s->heat > 1) {
        s->heat--;
        return false;
    }
    return true;
}

static void unlink_slot(SlabPool *p, Slot *s)
{
    p->unlink(p->data, s->texture, s->tile);
    p->resident_count--;
    p->eviction_count++;
}

/* Evicts all of a chunk and takes its size away. Nothing in it is loading or pinned. */
static void empty_chunk(SlabPool *p, uint32_t chunk)
{
    Chunk *c = &p->chunks[chunk];
    if (c->free_count > 0)
        list_remove(p, &p->with_free[c->size_class], chunk);
    for (uint32_t i = 0; i < slots_of(c); i++) {
        if (c->slots[i].state == SLOT_RESIDENT)
            unlink_slot(p, &c->slots[i]);
        c->slots[i].state = SLOT_FREE;
    }
    c->state = CHUNK_UNASSIGNED;
    c->free_tag = epoch_retire(p->epochs);
}

static bool may_be_emptied(const Chunk *c)
{
    for (uint32_t i = 0; i < slots_of(c); i++) {
        if (c->slots[i].state != SLOT_FREE && !is_evictable(&c->slots[i]))
            return false;
    }
    return true;
}

static void advance_chunk(SlabPool *p)
{
    p->hand_slot = 0;
    p->hand_chunk = p->hand_chunk + 1 == p->chunk_max ? 0 : p->hand_chunk + 1;
}

/* The hand stands in a chunk of the wanted size: takes the next cold slot of it. With `by_force`
 * warm ones go too. */
static bool evict_within(SlabPool *p, bool by_force, uint32_t *out_slot, uint64_t *out_tag)
{
    Chunk *c = &p->chunks[p->hand_chunk];
    while (p->hand_slot < slots_of(c)) {
        uint32_t i = p->hand_slot++;
        Slot *s = &c->slots[i];
        if (!is_evictable(s))
            continue;
        if (!pass_slot(p, p->hand_chunk, i) && !by_force)
            continue;
        unlink_slot(p, s);
        s->state = SLOT_LOADING;
        *out_slot = slot_id(p->hand_chunk, i);
        *out_tag = epoch_retire(p->epochs);
        return true;
    }
    return false;
}

/* The hand stands at a chunk of another size: empties it if it is cold, or `by_force`. */
static bool take_over(SlabPool *p, bool by_force)
{
    Chunk *c = &p->chunks[p->hand_chunk];
    bool is_cold = true;
    for (uint32_t i = 0; i < slots_of(c); i++) {
        if (c->slots[i].state == SLOT_RESIDENT && !pass_slot(p, p->hand_chunk, i))
            is_cold = false;
    }
    if ((!is_cold && !by_force) || !may_be_emptied(c))
        return false;
    empty_chunk(p, p->hand_chunk);
    return true;
}

bool slab_take(SlabPool *p, uint32_t size_class, uint32_t *out_slot, uint64_t *out_tag)
{
    if (p->with_free[size_class] == SLAB_NONE) {
        uint32_t chunk = fresh_chunk(p);
        if (chunk != SLAB_NONE)
            assign(p, chunk, size_class);
    }
    if (p->with_free[size_class] != SLAB_NONE) {
        *out_slot = take_free(p, size_class, out_tag);
        return true;
    }
    /* Heat is gone after SLAB_HEAT_MAX revolutions unless readers keep restoring it; then whatever
     * is not pinned goes, so that a request cannot starve. */
    enum { POLITE_REVOLUTIONS = SLAB_HEAT_MAX + 1 };
    uint64_t polite_steps = (uint64_t)POLITE_REVOLUTIONS * p->chunk_max;
    uint64_t all_steps =
        polite_steps + p->chunk_max + 1; /* + 1: the hand may start inside a chunk */
    for (uint64_t step = 0; step < all_steps; step++) {
        const Chunk *c = &p->chunks[p->hand_chunk];
        bool by_force = step >= polite_steps;
        if (c->state == CHUNK_ASSIGNED && c->size_class == size_class) {
            if (evict_within(p, by_force, out_slot, out_tag))
                return true;
        } else if (c->state == CHUNK_ASSIGNED && p->hand_slot == 0 && take_over(p, by_force)) {
            assign(p, p->hand_chunk, size_class);
            *out_slot = take_free(p, size_class, out_tag);
            return true;
        }
        advance_chunk(p);
    }
    return false;
}

void slab_publish(SlabPool *p, uint32_t slot, uint32_t texture, uint32_t tile, uint32_t pins)
{
    Slot *s = slot_at(p, slot);
    ASSERT(s->state == SLOT_LOADING);
    s->texture = texture;
    s->tile = tile;
    s->state = SLOT_RESIDENT;
    s->heat = 0;
    atomic_store_explicit(&s->pins, pins, memory_order_relaxed);
    atomic_store_explicit(&p->marks[slot].is_used, 0, memory_order_relaxed);
    p->resident_count++;
}

void slab_give_back(SlabPool *p, uint32_t slot, uint64_t tag)
{
    uint32_t chunk = slot >> SLAB_SLOT_SHIFT;
    Chunk *c = &p->chunks[chunk];
    Slot *s = slot_at(p, slot);
    ASSERT(s->state != SLOT_FREE && atomic_load(&s->pins) == 0);
    if (s->state == SLOT_RESIDENT) {
        p->resident_count--;
        p->eviction_count++;
    }
    s->state = SLOT_FREE;
    if (tag > c->free_tag)
        c->free_tag = tag;
    if (c->free_count++ == 0)
        list_push(p, &p->with_free[c->size_class], chunk);
    if (c->free_count == slots_of(c)) {
        list_remove(p, &p->with_free[c->size_class], chunk);
        c->state = CHUNK_UNASSIGNED;
        list_push(p, &p->unassigned, chunk);
    }
}

void slab_pin(SlabPool *p, uint32_t slot)
{
    atomic_fetch_add_explicit(&slot_at(p, slot)->pins, 1, memory_order_relaxed);
}

bool slab_unpin(SlabPool *p, uint32_t slot)
{
    /* Release: what the reader read comes before whoever evicts next. */
    uint32_t before = atomic_fetch_sub_explicit(&slot_at(p, slot)->pins, 1, memory_order_release);
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
    for (uint32_t step = 0; step < p->chunk_max; step++, advance_chunk(p)) {
        const Chunk *c = &p->chunks[p->hand_chunk];
        if (c->state == CHUNK_ASSIGNED && may_be_emptied(c)) {
            empty_chunk(p, p->hand_chunk);
            *out_chunk = p->hand_chunk;
            *out_tag = c->free_tag;
            return true;
        }
    }
    return false;
}

void slab_decommit(SlabPool *p, uint32_t chunk)
{
    Chunk *c = &p->chunks[chunk];
    ASSERT(c->state == CHUNK_UNASSIGNED);
    HIDE_MEMORY(chunk_memory(p, chunk), SLAB_CHUNK_BYTES);
    CHECK(madvise(chunk_memory(p, chunk), SLAB_CHUNK_BYTES, MADV_DONTNEED) == 0);
    c->state = CHUNK_UNCOMMITTED;
    p->chunk_count--;
    list_push(p, &p->uncommitted, chunk);
}
