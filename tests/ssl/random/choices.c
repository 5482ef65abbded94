#include "tests/ssl/random/choices.h"
#include <string.h>

uint64_t random_u64(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

Choices choices_random(Arena *arena, uint64_t seed)
{
    return (Choices){.arena = arena, .random = seed * 2 + 1};
}

Choices choices_replay(Arena *arena, const uint32_t *list, uint32_t count)
{
    Choices c = {.arena = arena};
    for (uint32_t i = 0; i < count; ++i)
        array_push(arena, &c.list, list[i]);
    return c;
}

uint32_t choose(Choices *c, uint32_t count)
{
    if (c->at == c->list.count) {
        if (c->random == 0)
            return 0;
        array_push(c->arena, &c->list, (uint32_t)(random_u64(&c->random) >> 32) % count);
    }
    return c->list.data[c->at++] % count;
}
