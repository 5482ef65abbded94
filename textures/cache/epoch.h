/* When memory that readers may still be looking at can be used again.
 *
 * Readers take no lock and count nothing: a reader enters (publishes the epoch it saw), reads, and
 * leaves. Whoever takes something away first makes it unreachable, then retires it, which ends the
 * epoch, and touches the memory only when every reader that is still inside entered later.
 *
 *   reader:  slot = now; load entry; read texels; slot = 0
 *   evictor: entry = EMPTY; tag = now++; ... all slots 0 or > tag? -> the memory is free
 *
 * All of this but the reads of texels is sequentially consistent, so either the evictor sees the
 * reader's slot, or the reader sees the empty entry. A reader never waits inside. */
#ifndef SORT_TEXTURES_CACHE_EPOCH_H
#define SORT_TEXTURES_CACHE_EPOCH_H

#include "base/compiler.h"
#include <stdatomic.h>

typedef struct EpochReader {
    /* the epoch that the reader saw when it entered; 0 while it is outside */
    _Alignas(SORT_CACHE_LINE) _Atomic uint64_t entered;
    struct EpochReader *next;
} EpochReader;

typedef struct EpochSet {
    _Atomic uint64_t now; /* from 1 */
    /* guarded by the owner's lock, which epoch_add, epoch_remove and epoch_passed require */
    EpochReader *readers;
    _Atomic uint32_t sleepers; /* how many threads wait for readers to leave */
} EpochSet;

static inline void epoch_init(EpochSet *set)
{
    atomic_init(&set->now, 1);
    set->readers = NULL;
    atomic_init(&set->sleepers, 0);
}

static inline void epoch_add(EpochSet *set, EpochReader *r)
{
    atomic_init(&r->entered, 0);
    r->next = set->readers;
    set->readers = r;
}

static inline void epoch_remove(EpochSet *set, EpochReader *r)
{
    EpochReader **at = &set->readers;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
}

static inline void epoch_enter(EpochSet *set, EpochReader *r)
{
    atomic_store(&r->entered, atomic_load(&set->now));
}

/* Leaves the epoch. Returns true if a thread that waits for readers should be woken. This is only a hint:
 * waiting threads also look again by themselves after a while. */
static inline bool epoch_leave(EpochSet *set, EpochReader *r)
{
    atomic_store_explicit(&r->entered, 0, memory_order_release);
    return SORT_UNLIKELY(atomic_load_explicit(&set->sleepers, memory_order_relaxed) != 0);
}

/* Ends the epoch and returns its tag. Memory that was made unreachable before the call is free once
 * epoch_passed(tag) is true. */
static inline uint64_t epoch_retire(EpochSet *set)
{
    return atomic_fetch_add(&set->now, 1);
}

static inline bool epoch_passed(const EpochSet *set, uint64_t tag)
{
    for (const EpochReader *r = set->readers; r; r = r->next) {
        uint64_t entered = atomic_load(&r->entered);
        if (entered != 0 && entered <= tag)
            return false;
    }
    return true;
}

#endif
