#include "sort/light/light_sight.h"

#include "base/alloc.h"
#include "base/check.h"
#include <math.h>
#include <stdatomic.h>

/* Lights that the small picture does not see may light a part of the large one. */
#define FACTOR_MIN 0.01

typedef struct Count {
    _Atomic uint64_t sent, arrived;
} Count;

struct LightSight {
    uint32_t light_count;
    Count *counts;
};

Status light_sight_create(uint32_t count, LightSight **out_sight, Error *err)
{
    *out_sight = NULL;
    LightSight *sight = MEM_NEW(LightSight);
    if (sight)
        *sight = (LightSight){count, MEM_ARRAY(Count, (size_t)count + 1)};
    if (!sight || !sight->counts) {
        mem_free(sight);
        return error_set(err, STATUS_NO_MEMORY, "no memory for counts of %u lights", count);
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

void light_sight_add(LightSight *sight, uint32_t light, bool arrived)
{
    ASSERT(light < sight->light_count);
    Count *count = &sight->counts[light];
    atomic_fetch_add_explicit(&count->sent, 1, memory_order_relaxed);
    if (arrived)
        atomic_fetch_add_explicit(&count->arrived, 1, memory_order_relaxed);
}

LightTally light_sight_tally(const LightSight *sight, uint32_t light)
{
    CHECK(light < sight->light_count);
    const Count *count = &sight->counts[light];
    return (LightTally){atomic_load(&count->sent), atomic_load(&count->arrived)};
}

double light_tally_share(LightTally tally, double expected, double rays)
{
    ASSERT(tally.arrived <= tally.sent && expected >= 0.0 && expected <= 1.0 && rays > 0.0);
    return ((double)tally.arrived + rays * expected) / ((double)tally.sent + rays);
}

double light_tally_share_alone(LightTally tally)
{
    return light_tally_share(tally, 1.0, 1.0);
}

float light_share_factor(double share)
{
    return (float)fmax(sqrt(share), FACTOR_MIN);
}
