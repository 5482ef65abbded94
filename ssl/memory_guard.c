#include "ssl/memory_guard.h"

static void set_jump(Arena *first, Arena *second, jmp_buf *jump)
{
    arena_on_no_memory(first, jump);
    if (second)
        arena_on_no_memory(second, jump);
}

Status memory_guard_run(Arena *first, Arena *second, Status (*body)(void *data), void *data)
{
    jmp_buf no_memory;
    volatile Status status = STATUS_NO_MEMORY;
    if (setjmp(no_memory) == 0) {
        set_jump(first, second, &no_memory);
        status = body(data);
    }
    set_jump(first, second, NULL);
    return status;
}
