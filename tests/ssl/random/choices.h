/* A sequence of choices: all that a random program is made of. A program that fails is made smaller by
 * making its sequence smaller (shrink.h): where it ends, every further choice is 0, the simplest. */
#ifndef TESTS_SSL_RANDOM_CHOICES_H
#define TESTS_SSL_RANDOM_CHOICES_H

#include "base/array.h"

typedef struct Choices {
    Arena *arena; /* borrowed; its out-of-memory jump is set */
    ARRAY(uint32_t) list;
    uint32_t at;
    uint64_t random; /* state; 0: only what is in the list */
} Choices;

Choices choices_random(Arena *arena, uint64_t seed);
Choices choices_replay(Arena *arena, const uint32_t *list, uint32_t count);
/* In [0, count). */
uint32_t choose(Choices *c, uint32_t count);

/* The mixing step of SplitMix64 [Steele2014]: for seeds and inputs. */
uint64_t random_u64(uint64_t *state);

#endif
