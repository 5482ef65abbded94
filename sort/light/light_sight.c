#include "sort/light/light_sight.h"

#include "base/alloc.h"
#include "base/check.h"
#include <math.h>
#include <stdatomic.h>

/* One ray that arrived is counted beforehand: a source is taken to be seen until rays say that it is not. */
#define SEEN_BEFORE 1.0
/* Sources that the small picture does not see may light a part of the large one. */
#define FACTOR_MIN 0.01

typedef struct Count {
    _Atomic uint64_t sent, arrived;
} Count;

struct LightSight {
    uint32_t source_count;
    Count *counts;
};

Status light_sight_create(uint32_t source_count, LightSight **out_sight, Error *err)
{
    *out_sight = NULL;
    LightSight *sight = MEM_NEW(LightSight);
    if (sight)
        *sight = (LightSight){source_count, MEM_ARRAY(Count, (size_t)source_count + 1)};
    if (!sight || !sight->counts) {
        mem_free(sight);
        return error_set(err, STATUS_NO_MEMORY, "no memory for counts of %u light sources",
                         source_count);
    }
    *out_sight = sight;
    return STATUS_OK;
}

void light_sight_destroy(LightSight *sight)
{
    if (!sight)
        return;
    mem_free(sight->counts);
    mem_free(sight);
}

void light_sight_add(LightSight *sight, uint32_t source, bool arrived)
{
    ASSERT(source < sight->source_count);
    Count *count = &sight->counts[source];
    atomic_fetch_add_explicit(&count->sent, 1, memory_order_relaxed);
    if (arrived)
        atomic_fetch_add_explicit(&count->arrived, 1, memory_order_relaxed);
}

float light_sight_factor(const LightSight *sight, uint32_t source)
{
    CHECK(source < sight->source_count);
    const Count *count = &sight->counts[source];
    double seen = ((double)atomic_load(&count->arrived) + SEEN_BEFORE) /
                  ((double)atomic_load(&count->sent) + SEEN_BEFORE);
    return (float)fmax(sqrt(seen), FACTOR_MIN);
}
