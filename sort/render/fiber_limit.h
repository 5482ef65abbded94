/* How many fibers of a worker work at once, by what textures cost (docs/decisions/0079). Each fiber comes back to the
 * tiles of its own place of the picture; where the places' tiles do not fit together, fewer places load less, and where
 * all fits, or fewer do not help, more of them hide more waiting.
 *
 *   FREE --tiles come back--> FEW: the fewest, a room of loads --> MORE: as many as there were, a part of a room
 *     ^                        ^--------- that costs more: for long, and with half as many the next time ---|
 *     '---------------------------------- that costs no more -----------------------------------------------'
 *
 * Cost is the bytes that are loaded again for each path. It is averaged over as much as fills the memory, so that neither the
 * place in the picture nor a busy machine decides. */
#ifndef SORT_RENDER_FIBER_LIMIT_H
#define SORT_RENDER_FIBER_LIMIT_H

#include "base/compiler.h"

typedef enum FiberTrial { FIBER_TRIAL_FREE, FIBER_TRIAL_FEW, FIBER_TRIAL_MORE } FiberTrial;

/* The cost of textures up to a moment. */
typedef struct FiberCost {
    uint64_t loaded, unique; /* bytes */
    uint64_t paths;
} FiberCost;

typedef struct FiberLimit {
    uint32_t limit, most;
    FiberTrial trial;
    uint32_t before;            /* FEW, MORE: as many as are worth a trial */
    uint32_t windows;           /* until the next step */
    uint32_t rest;              /* windows of FEW before another trial */
    uint32_t hold;              /* FREE: windows in which tiles may come back as they do */
    uint32_t quiet;             /* FREE: windows in a row in which they hardly did */
    double few_cost;            /* bytes that were loaded again for each path, with the fewest */
    FiberCost window, measured; /* when each began */
} FiberLimit;

enum { FIBER_LIMIT_LEAST = 2 };

void fiber_limit_init(FiberLimit *f, uint32_t begin, uint32_t most);
/* now: bytes_loaded and bytes_unique of TexStats, and the paths done; room: bytes that tiles may take. Returns f->limit.
 * One thread at a time. */
uint32_t fiber_limit_watch(FiberLimit *f, FiberCost now, uint64_t room);

#endif
