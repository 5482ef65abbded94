#include "tests/ssl/random/shrink.h"
#include "base/alloc.h"
#include <string.h>

static bool fails(Shrink *s, const uint32_t *list, uint32_t count)
{
    if (s->tries_left == 0)
        return false;
    --s->tries_left;
    return s->fails(s->data, list, count);
}

/* Without [at, at + length). */
static bool cut(Shrink *s, uint32_t *list, uint32_t *count, uint32_t *spare, uint32_t at,
                uint32_t length)
{
    uint32_t left = *count - length;
    memcpy(spare, list, at * sizeof *list);
    memcpy(spare + at, list + at + length, (left - at) * sizeof *list);
    if (!fails(s, spare, left))
        return false;
    memcpy(list, spare, left * sizeof *list);
    *count = left;
    return true;
}

static bool replace(Shrink *s, uint32_t *list, uint32_t count, uint32_t at, uint32_t value)
{
    uint32_t old = list[at];
    if (old == value)
        return false;
    list[at] = value;
    if (fails(s, list, count))
        return true;
    list[at] = old;
    return false;
}

static bool clear(Shrink *s, uint32_t *list, uint32_t count, uint32_t *spare, uint32_t at,
                  uint32_t length)
{
    bool is_clear = true;
    for (uint32_t i = 0; i < length; ++i)
        is_clear = is_clear && list[at + i] == 0;
    if (is_clear)
        return false;
    memcpy(spare, list, count * sizeof *list);
    memset(spare + at, 0, length * sizeof *list);
    if (!fails(s, spare, count))
        return false;
    memcpy(list, spare, count * sizeof *list);
    return true;
}

static bool shrink_once(Shrink *s, uint32_t *list, uint32_t *count, uint32_t *spare)
{
    bool is_smaller = false;
    for (uint32_t length = *count / 2; length > 0; length /= 2)
        for (uint32_t at = *count; at > 0;) {
            uint32_t first = at > length ? at - length : 0;
            uint32_t now = at - first;
            if (at <= *count && cut(s, list, count, spare, first, now))
                is_smaller = true;
            at = first;
        }
    for (uint32_t length = 16; length > 0; length /= 4)
        for (uint32_t at = 0; at + length <= *count; at += length)
            is_smaller |= clear(s, list, *count, spare, at, length);
    for (uint32_t at = 0; at < *count; ++at)
        is_smaller |= replace(s, list, *count, at, list[at] / 2) ||
                      (list[at] > 0 && replace(s, list, *count, at, list[at] - 1));
    return is_smaller;
}

void shrink(Shrink *s, uint32_t *list, uint32_t *count)
{
    uint32_t *spare = MEM_ARRAY(uint32_t, *count + 1u);
    while (spare && s->tries_left > 0 && shrink_once(s, list, count, spare))
        continue;
    mem_free(spare);
}
