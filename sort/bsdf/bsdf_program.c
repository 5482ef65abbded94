#include "sort/bsdf/bsdf_program.h"

#include "base/check.h"
#include <string.h>

void bsdf_count_faults(_Atomic uint64_t *faults, const void *words, uint16_t live)
{
    uint32_t sites[SSL_BLOCK], any = 0;
    ASSERT(faults && words);
    memcpy(sites, words, sizeof sites);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        sites[i] = live & 1u << i ? sites[i] : 0;
        any |= sites[i];
    }
    for (uint32_t i = 0; any && i < SSL_BLOCK; ++i)
        if (sites[i])
            atomic_fetch_add_explicit(&faults[sites[i] - 1], 1, memory_order_relaxed);
}
