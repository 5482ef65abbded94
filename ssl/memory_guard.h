/* The place to which an arena jumps when it runs out of memory. */
#ifndef SSL_MEMORY_GUARD_H
#define SSL_MEMORY_GUARD_H

#include "base/arena.h"
#include "base/error.h"

/* Runs body(data) and returns its status. If one of the arenas (`second` may be NULL) runs out of memory, the body is
 * left by a jump and STATUS_NO_MEMORY is returned. Other resources of the body must therefore be reachable by the
 * caller through `data`. Calls on one arena must not be nested. */
Status memory_guard_run(Arena *first, Arena *second, Status (*body)(void *data),
                        void *data) SORT_MUST_CHECK;

#endif
