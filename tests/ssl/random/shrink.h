/* Makes a failing sequence of choices smaller while it still fails: by cutting pieces out, then by making
 * single choices simpler, until nothing helps any more or the tries are spent. */
#ifndef TESTS_SSL_RANDOM_SHRINK_H
#define TESTS_SSL_RANDOM_SHRINK_H

#include "base/compiler.h"

typedef struct Shrink {
    /* Does this sequence fail? */
    bool (*fails)(void *data, const uint32_t *list, uint32_t count);
    void *data;
    uint32_t tries_left;
} Shrink;

/* In place; list[0 .. *count) fails before and after. */
void shrink(Shrink *s, uint32_t *list, uint32_t *count);

#endif
