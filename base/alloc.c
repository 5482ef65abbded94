/* The one place that calls malloc.
 *
 * The test hook is the only mutable global state of base/: two counters, atomic because any thread
 * allocates. `fail_at` is 0 in normal use, so its cost is one relaxed load for each call. */
#include "base/alloc.h"
#include "base/cast.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic uint64_t allocation_count;
static _Atomic uint64_t fail_at;

static bool may_allocate(void)
{
    uint64_t number = atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed) + 1;
    return SORT_LIKELY(number != atomic_load_explicit(&fail_at, memory_order_relaxed));
}

void *mem_alloc(size_t count, size_t bytes)
{
    size_t total;
    if (!size_mul(count, bytes, &total) || !may_allocate())
        return NULL;
    return calloc(1, total ? total : 1);
}

void *mem_alloc_aligned(size_t bytes, size_t align)
{
    ASSERT(align != 0 && (align & (align - 1)) == 0);
    if (!may_allocate())
        return NULL;
    void *block = NULL;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align;
    return posix_memalign(&block, least, bytes ? bytes : 1) == 0 ? block : NULL;
}

void *mem_realloc(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (!size_mul(count, bytes, &total) || !may_allocate())
        return NULL;
    return realloc(block, total ? total : 1);
}

char *mem_strdup(const char *text)
{
    size_t size_bytes = strlen(text) + 1;
    char *copy = mem_alloc(1, size_bytes);
    if (copy)
        memcpy(copy, text, size_bytes);
    return copy;
}

void mem_free(void *block)
{
    free(block);
}

void mem_fail_nth(uint64_t n)
{
    atomic_store(&allocation_count, 0);
    atomic_store(&fail_at, n);
}

uint64_t mem_allocation_count(void)
{
    return atomic_load(&allocation_count);
}

uint64_t mem_machine_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}
