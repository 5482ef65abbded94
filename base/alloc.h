/* The one place that calls malloc. Tests make the n-th allocation fail. Thread-safe. */
#ifndef SORT_BASE_ALLOC_H
#define SORT_BASE_ALLOC_H

#include "base/compiler.h"

/* Zeroed; NULL when out of memory or when count * bytes overflows. Free with mem_free. */
void *mem_alloc(size_t count, size_t bytes);
/* As mem_alloc but aligned to `align` (a power of two); contents are not zeroed. */
void *mem_alloc_aligned(size_t bytes, size_t align);
/* Grows or shrinks; on failure the old block stays valid and NULL comes back. New bytes are not
 * zeroed. */
void *mem_realloc(void *block, size_t count, size_t bytes);
char *mem_strdup(const char *text);
void mem_free(void *block); /* NULL is fine */

/* Of the machine; UINT64_MAX: unknown. */
uint64_t mem_machine_bytes(void);

/* Test hook: the n-th allocation from now (1 = the next) fails once; 0 switches it off.
 * mem_allocation_count() counts since the last call of mem_fail_nth(). */
void mem_fail_nth(uint64_t n);
uint64_t mem_allocation_count(void);

#define MEM_NEW(type)          ((type *)mem_alloc(1, sizeof(type)))
#define MEM_ARRAY(type, count) ((type *)mem_alloc((count), sizeof(type)))

#endif
