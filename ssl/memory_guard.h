/* The one place where an arena that is out of memory jumps to. */
#ifndef SSL_MEMORY_GUARD_H
#define SSL_MEMORY_GUARD_H

#include "base/arena.h"
#include "base/error.h"

/* Runs body(data). When one of the arenas (`second` may be NULL) runs out of memory meanwhile, the body
 * ends there and then and STATUS_NO_MEMORY comes back: whatever else it holds must be known to the caller,
 * through `data`. Not to be nested on one arena. */
Status memory_guard_run(Arena *first, Arena *second, Status (*body)(void *data),
                        void *data) SORT_MUST_CHECK;

#endif
