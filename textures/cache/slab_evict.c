#include "textures/cache/slab_evict.h"
#include "base/check.h"

/* The initial fraction of a class's slots that the window gets. On traces of renders every starting value led
 * to the same loads, and from one half the policy adapts soonest to a scan that repeats. */
#define SHARE_FIRST 0.5f
#define SHARE_MIN   0.05f
#define SHARE_MAX   0.95f
/* How far one observation moves the fraction: towards the window, or towards the kept slots. */
#define WINDOW_GAIN 0.25f
#define KEPT_GAIN   0.5f

enum { KEPT_SEEN = 4 /* kept slots that are examined for each load */ };

static SlabClass *class_of(SlabPool *p, uint32_t slot)
{
    return &p->classes[p->chunks[slot >> SLAB_SLOT_SHIFT].size_class];
}

static bool is_pinned(const Slot *s)
{
    return atomic_load_explicit(&s->pins, memory_order_acquire) != 0;
}

/* Reads and clears a slot's mark. Returns whether readers have used the slot since the last call. */
static bool take_mark(const SlabPool *p, uint32_t slot)
{
    _Atomic uint8_t *used = &p->marks[slot].is_used;
    if (!atomic_load_explicit(used, memory_order_relaxed))
        return false;
    atomic_store_explicit(used, 0, memory_order_relaxed);
    return true;
}

void evict_init(SlabPool *p)
{
    p->now = 1;
    p->window_share = SHARE_FIRST;
    for (uint32_t i = 0; i < SLAB_SIZE_COUNT; ++i) {
        SlabClass *c = &p->classes[i];
        c->oldest = c->newest = c->middle = c->hand = SLAB_NONE;
    }
}

uint32_t evict_age(const SlabPool *p, uint32_t slot)
{
    return p->now - slab_slot(p, slot)->used;
}

uint32_t evict_stamp(const SlabPool *p, uint32_t slot)
{
    uint32_t stamp = slab_slot(p, slot)->used & SLAB_STAMP_MAX;
    return stamp ? stamp : SLAB_STAMP_MAX;
}

static float slot_count(const SlabClass *c)
{
    return (float)(c->window_count + c->kept_count);
}

/* Returns how many slots of a class may be kept, which is what the window's fraction leaves. */
static float kept_room(const SlabPool *p, const SlabClass *c)
{
    float all = slot_count(c), room = all * (1.0f - p->window_share);
    return room < 1.0f && all >= 3.0f ? 1.0f : room;
}

static void move_share(SlabPool *p, const SlabClass *c, float gain, float count)
{
    float all = slot_count(c), most = 1.0f / 64.0f + 1.0f / (all + 1.0f);
    float step = gain / (count + all / 32.0f + 1.0f);
    float share = p->window_share;
    if (gain > 0.0f)
        share += step < most ? step : most;
    else
        share += step > -most ? step : -most;
    p->window_share = share < SHARE_MIN ? SHARE_MIN : share > SHARE_MAX ? SHARE_MAX : share;
}

/* --- the window --------------------------------------------------------------------------- */

/* A slot that enters the older half loses the mark of its first uses. */
static void balance(const SlabPool *p, SlabClass *c)
{
    while (c->old_count < c->window_count / 2) {
        ASSERT(c->middle != SLAB_NONE);
        Slot *s = slab_slot(p, c->middle);
        s->is_old = true;
        s->was_used_young = take_mark(p, c->middle);
        ++c->old_count;
        c->middle = s->newer;
    }
}

static void window_append(const SlabPool *p, SlabClass *c, uint32_t slot)
{
    Slot *s = slab_slot(p, slot);
    s->is_kept = s->is_old = s->was_used_young = false;
    s->older = c->newest;
    s->newer = SLAB_NONE;
    if (c->newest != SLAB_NONE)
        slab_slot(p, c->newest)->newer = slot;
    else
        c->oldest = slot;
    c->newest = slot;
    if (c->middle == SLAB_NONE)
        c->middle = slot;
    ++c->window_count;
    balance(p, c);
}

static void window_remove(const SlabPool *p, SlabClass *c, uint32_t slot)
{
    const Slot *s = slab_slot(p, slot);
    ASSERT(!s->is_kept && c->window_count > 0);
    if (c->middle == slot)
        c->middle = s->newer;
    if (s->older != SLAB_NONE)
        slab_slot(p, s->older)->newer = s->newer;
    else
        c->oldest = s->newer;
    if (s->newer != SLAB_NONE)
        slab_slot(p, s->newer)->older = s->older;
    else
        c->newest = s->older;
    --c->window_count;
    c->old_count -= s->is_old;
}

/* --- the kept: a ring with a hand --------------------------------------------------------- */

static void ring_insert(const SlabPool *p, SlabClass *c, uint32_t slot)
{
    Slot *s = slab_slot(p, slot);
    s->is_kept = true;
    ++c->kept_count;
    if (c->hand == SLAB_NONE) {
        c->hand = s->newer = s->older = slot;
        return;
    }
    /* The slot is inserted behind the hand, which therefore visits all others first. */
    Slot *at = slab_slot(p, c->hand);
    s->newer = c->hand;
    s->older = at->older;
    slab_slot(p, at->older)->newer = slot;
    at->older = slot;
}

static void ring_remove(const SlabPool *p, SlabClass *c, uint32_t slot)
{
    const Slot *s = slab_slot(p, slot);
    ASSERT(s->is_kept && c->kept_count > 0);
    if (c->hand == slot)
        c->hand = s->newer == slot ? SLAB_NONE : s->newer;
    slab_slot(p, s->older)->newer = s->newer;
    slab_slot(p, s->newer)->older = s->older;
    --c->kept_count;
}

/* Returns the least recently used of the next `count` kept slots that may be evicted; SLAB_NONE if none of them
 * may. */
static uint32_t sweep_kept(SlabPool *p, SlabClass *c, uint32_t count)
{
    uint32_t best = SLAB_NONE;
    for (uint32_t i = 0; i < count && i < c->kept_count; ++i) {
        uint32_t slot = c->hand;
        Slot *s = slab_slot(p, slot);
        c->hand = s->newer;
        if (take_mark(p, slot)) {
            if (evict_age(p, slot) > c->reach) /* the window would have evicted it by now */
                move_share(p, c, -KEPT_GAIN, (float)c->kept_count);
            s->used = p->now;
        }
        if (!is_pinned(s) && (best == SLAB_NONE || evict_age(p, slot) > evict_age(p, best)))
            best = slot;
    }
    return best;
}

/* --- together ----------------------------------------------------------------------------- */

void evict_enter(SlabPool *p, uint32_t slot)
{
    Slot *s = slab_slot(p, slot);
    s->used = ++p->now;
    s->has_returned = false;
    if (s->is_kept)
        ring_insert(p, class_of(p, slot), slot);
    else
        window_append(p, class_of(p, slot), slot);
}

void evict_leave(SlabPool *p, uint32_t slot)
{
    if (slab_slot(p, slot)->is_kept)
        ring_remove(p, class_of(p, slot), slot);
    else
        window_remove(p, class_of(p, slot), slot);
}

uint32_t evict_oldest(SlabPool *p, uint32_t size_class, uint32_t steps_max)
{
    SlabClass *c = &p->classes[size_class];
    for (uint32_t i = 0; i < steps_max && c->oldest != SLAB_NONE; ++i) {
        uint32_t slot = c->oldest;
        Slot *s = slab_slot(p, slot);
        bool is_used = s->is_old && take_mark(p, slot);
        if (!is_used && !is_pinned(s))
            return slot;
        if (is_used) {
            /* A slot that is used all the time would have been found with half of the window, too. */
            if (!(s->has_returned && s->was_used_young))
                move_share(p, c, WINDOW_GAIN, (float)c->window_count / 2.0f);
            s->used = p->now;
            s->has_returned = true;
        }
        window_remove(p, c, slot);
        window_append(p, c, slot);
    }
    return SLAB_NONE;
}

uint32_t evict_pick(SlabPool *p, uint32_t size_class, uint32_t last_use, bool *out_is_kept)
{
    SlabClass *c = &p->classes[size_class];
    uint32_t kept = sweep_kept(p, c, KEPT_SEEN);
    uint64_t distance = last_use ? (p->now - last_use) & SLAB_STAMP_MAX : UINT64_MAX / 2;
    bool has_room = (float)(c->kept_count + 1) <= kept_room(p, c);
    /* The margin of one eighth keeps tiles that are used equally often from replacing each other. */
    bool is_nearer = kept != SLAB_NONE && distance + distance / 8 < evict_age(p, kept);
    *out_is_kept = last_use && (has_room || is_nearer);
    bool takes_kept = (*out_is_kept && !has_room) || (float)c->kept_count > kept_room(p, c) + 1.0f;
    if (takes_kept && kept != SLAB_NONE)
        return kept;
    uint32_t oldest = evict_oldest(p, size_class, 2 * c->window_count + 1);
    if (oldest != SLAB_NONE) {
        int64_t ahead = (int64_t)evict_age(p, oldest) - (int64_t)c->reach;
        c->reach = (uint32_t)((int64_t)c->reach + ahead / 16);
        return oldest;
    }
    return sweep_kept(p, c, c->kept_count);
}
