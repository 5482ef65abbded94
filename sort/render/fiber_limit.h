/* How many fibers of a worker work at once, by what textures cost (docs/decisions/0066). Each fiber comes back to the
 * tiles of its own place of the picture; where the places' tiles do not fit together, fewer places load less, and where
 * all fits, or fewer do not help, more of them hide more waiting. So it tries. */
#ifndef SORT_RENDER_FIBER_LIMIT_H
#define SORT_RENDER_FIBER_LIMIT_H

#include "base/compiler.h"

typedef enum FiberTrial {
    FIBER_TRIAL_NONE,
    FIBER_TRIAL_FEW,  /* the fewest: does that help at all? */
    FIBER_TRIAL_CLIMB /* it did; twice as many, as long as that does not cost it */
} FiberTrial;

typedef struct FiberLimit {
    uint32_t limit, most;
    FiberTrial trial;
    uint32_t before; /* the limit when the trial began */
    double
        share; /* of loads that were repeated: before the trial; when climbing, with the fewest */
    uint32_t hold;           /* windows until the next trial */
    uint32_t settling;       /* windows that are still of the limit before, too */
    uint64_t loaded, unique; /* when the window began */
} FiberLimit;

enum { FIBER_LIMIT_LEAST = 2 };

void fiber_limit_init(FiberLimit *f, uint32_t begin, uint32_t most);
/* bytes_loaded and bytes_unique of TexStats, now; room: bytes that tiles may take. Returns f->limit. One thread at a
 * time. */
uint32_t fiber_limit_watch(FiberLimit *f, uint64_t loaded, uint64_t unique, uint64_t room);

#endif
