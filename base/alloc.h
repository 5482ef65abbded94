/* The only user of malloc. Tests can make the n-th allocation fail. Thread rule: any thread. */
#ifndef SORT_BASE_ALLOC_H
#define SORT_BASE_ALLOC_H

#include "base/compiler.h"

/* Allocates count * bytes zeroed bytes. Returns NULL when out of memory or when the product overflows. Free
 * with mem_free. */
void *mem_alloc(size_t count, size_t bytes);
/* Like mem_alloc, but aligned to `align`, a power of two, and not zeroed. */
void *mem_alloc_aligned(size_t bytes, size_t align);
/* Grows or shrinks a block; new bytes are not zeroed. On failure it returns NULL and the old block stays valid. */
void *mem_realloc(void *block, size_t count, size_t bytes);
char *mem_strdup(const char *text);
void mem_free(void *block); /* NULL is allowed */

/* Returns the machine's physical memory in bytes; UINT64_MAX if it is unknown. */
uint64_t mem_machine_bytes(void);

/* Test hook: the n-th allocation from now (1 = the next) fails once; 0 switches it off.
 * mem_allocation_count() counts since the last call of mem_fail_nth(). */
void mem_fail_nth(uint64_t n);
uint64_t mem_allocation_count(void);

#define MEM_NEW(type)          ((type *)mem_alloc(1, sizeof(type)))
#define MEM_ARRAY(type, count) ((type *)mem_alloc((count), sizeof(type)))

#endif
