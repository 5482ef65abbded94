/* A growable array in an arena: ARRAY(T) declares the struct, array_push appends. The arena keeps
 * outgrown blocks until it is reset, which at doubling costs at most the final size again.
 * Meant for arenas with arena_on_no_memory() set; with others, check the result of array_reserve(). */
#ifndef SORT_BASE_ARRAY_H
#define SORT_BASE_ARRAY_H

#include "base/arena.h"

#define ARRAY(type)                                                                                \
    struct {                                                                                       \
        type *data;                                                                                \
        uint32_t count, capacity;                                                                  \
    }

/* Grows `array` to hold `count` elements in total. Returns false when out of memory (and no jump is set). */
#define array_reserve(arena, array, wanted)                                                        \
    array_grow((arena), (void **)&(array)->data, &(array)->capacity, (array)->count, (wanted),     \
               sizeof *(array)->data, _Alignof(max_align_t))

#define array_push(arena, array, ...)                                                              \
    ((array)->count < (array)->capacity || array_reserve((arena), (array), (array)->count + 1u)    \
         ? ((array)->data[(array)->count++] = (__VA_ARGS__), true)                                 \
         : false)

bool array_grow(Arena *arena, void **data, uint32_t *capacity, uint32_t count, uint32_t wanted,
                size_t element_bytes, size_t align);

#endif
